//! The point of a triangle nearest to a given one.
//!
//! Thread: any (RT safe).

use crate::math::Vec3;

/// Where on a triangle a point lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Inside it.
    Face,
    /// On the side from corner `.0` to the next.
    Side(u8),
    /// At corner `.0`.
    Corner(u8),
}

/// Nearest point of the triangle `a b c` to `p`, and where on the triangle it is. The plane falls into seven regions by
/// the signs of projections on the sides; each has its own nearest point.
pub(super) fn nearest_on_triangle(p: &Vec3, [a, b, c]: &[Vec3; 3]) -> (Vec3, Part) {
    let (ab, ac) = (b - a, c - a);
    let ap = p - a;
    let (d1, d2) = (ab.dot(&ap), ac.dot(&ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (*a, Part::Corner(0));
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(&bp), ac.dot(&bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (*b, Part::Corner(1));
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (a + ab * share(d1, -d3), Part::Side(0));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(&cp), ac.dot(&cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (*c, Part::Corner(2));
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (a + ac * share(d2, -d6), Part::Side(2));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        return (b + (c - b) * share(d4 - d3, d5 - d6), Part::Side(1));
    }
    let sum = va + vb + vc;
    (a + ab * (vb / sum) + ac * (vc / sum), Part::Face)
}

/// `x / (x + y)` for lengths that are not negative; 0 where both vanish.
fn share(x: f64, y: f64) -> f64 {
    if x + y > 0.0 { x / (x + y) } else { 0.0 }
}
