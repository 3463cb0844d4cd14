//! Cavities between a surface of triangles and another body: which part of the surface encloses air, and how much.
//!
//! Thread: simulation (grows to the largest surface seen).
//!
//! The surface is that of a body that deforms. Every vertex has a *gap*, its distance from the other body, and a *foot*, the nearest point
//! there. Contact regions:
//!
//! ```text
//!  contact    gap ≤ sealing distance                  open   gap > sealing distance
//!  outside    open vertices connected, by edges between open vertices, with the one that is farthest away
//!  seats      open vertices that are not outside, and vertices that have been seats and that the outside has not reached
//!  patch      triangles with a seat and without an outside vertex
//!  volume     between the patch and its feet; closed at the boundary, where the gap is within the sealing distance
//! ```
//!
//! A seat that comes into contact remains a seat: a contact inside the seal is no seal, since the air on both sides of it is the same. A cup that
//! is pressed flat therefore keeps its cavity, with a volume of zero. The pressure acts on the patch, up to the first ring of the seal.
//!
//! A cavity is *opened* when the outside reaches a vertex that was open inside it. A vertex of its boundary that is peeled off from the outside
//! does not open it.

use crate::math::Vec3;

/// Connections of a surface.
#[derive(Clone, Debug, Default)]
pub struct Net {
    triangles: Vec<[u32; 3]>,
    /// Where the neighbours of each vertex begin, and one more at the end.
    first: Vec<u32>,
    neighbours: Vec<u32>,
}

/// A part of a surface that encloses air.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seats {
    /// Sorted.
    vertices: Vec<u32>,
    /// Those that are open, sorted.
    open: Vec<u32>,
}

/// A cavity of now.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its part of the surface.
    pub seats: Seats,
    /// The cavities of before that it is made of, sorted; none for a new one, several after a merger. A cavity that was split is named by each
    /// of its parts.
    pub from: Vec<usize>,
}

/// Volume of a cavity and its derivative.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measure {
    /// Volume, m³; a vertex that is in the other body counts with a negative depth.
    pub volume_m3: f64,
    /// Area of the patch, m².
    pub area_m2: f64,
    /// Derivative of the volume by the place of each vertex of the patch, m². The other body has the opposite sum.
    pub gradient: Vec<(u32, Vec3)>,
    /// Vertices of the patch, three to a triangle.
    pub patch: Vec<[u32; 3]>,
}

impl Seats {
    /// Number of vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// A vertex is a seat.
    #[must_use]
    pub fn has(&self, vertex: u32) -> bool {
        self.vertices.binary_search(&vertex).is_ok()
    }
}

/// Region of a vertex while cavities are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Unknown,
    Outside,
    Seat(usize),
}

impl Net {
    /// Of triangles between `vertices` vertices, whose normals point out of the body.
    #[must_use]
    pub fn new(vertices: usize, triangles: &[[u32; 3]]) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(6 * triangles.len());
        for t in triangles {
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                pairs.extend([(a, b), (b, a)]);
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut first = vec![0; vertices + 1];
        for (a, _) in &pairs {
            first[*a as usize + 1] += 1;
        }
        for at in 0..vertices {
            first[at + 1] += first[at];
        }
        Self { triangles: triangles.to_vec(), first, neighbours: pairs.into_iter().map(|(_, b)| b).collect() }
    }

    /// Number of vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// There are no vertices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn around(&self, vertex: u32) -> &[u32] {
        let at = vertex as usize;
        &self.neighbours[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// Gives `side` to all vertices that are connected with `start` and that `joins` admits.
    fn flood(&self, start: u32, sides: &mut [Side], side: Side, joins: impl Fn(u32) -> bool) {
        let mut left = vec![start];
        sides[start as usize] = side;
        while let Some(vertex) = left.pop() {
            for next in self.around(vertex) {
                if sides[*next as usize] == Side::Unknown && joins(*next) {
                    sides[*next as usize] = side;
                    left.push(*next);
                }
            }
        }
    }

    /// The cavities of now, from those of before; `gaps` has one number for each vertex. Also gives the cavities of before that were opened.
    #[must_use]
    pub fn track(&self, before: &[Seats], gaps: &[f64], seal_m: f64) -> (Vec<Found>, Vec<usize>) {
        let is_open = |vertex: u32| gaps[vertex as usize] > seal_m;
        let farthest = (0..self.len() as u32).max_by(|a, b| gaps[*a as usize].total_cmp(&gaps[*b as usize]));
        let Some(farthest) = farthest.filter(|vertex| is_open(*vertex)) else { return Default::default() };
        let mut sides = vec![Side::Unknown; self.len()];
        self.flood(farthest, &mut sides, Side::Outside, is_open);
        let is_outside = |sides: &[Side], vertex: u32| sides[vertex as usize] == Side::Outside;
        let is_opened = |seats: &Seats| seats.open.iter().any(|vertex| is_outside(&sides, *vertex));
        let opened: Vec<usize> = (0..before.len()).filter(|at| is_opened(&before[*at])).collect();
        // A seat in contact beside the outside belongs to the seal.
        let mut kept = vec![false; self.len()];
        for (_, seats) in before.iter().enumerate().filter(|(at, _)| !opened.contains(at)) {
            for vertex in &seats.vertices {
                let at_seal = self.around(*vertex).iter().any(|next| is_outside(&sides, *next));
                kept[*vertex as usize] = !at_seal;
            }
        }
        let is_seat = |vertex: u32| is_open(vertex) || kept[vertex as usize];
        let mut found = Vec::new();
        for vertex in 0..self.len() as u32 {
            if sides[vertex as usize] == Side::Unknown && is_seat(vertex) {
                self.flood(vertex, &mut sides, Side::Seat(found.len()), is_seat);
                found.push(Found { seats: Seats::default(), from: Vec::new() });
            }
        }
        for (vertex, side) in (0..).zip(&sides) {
            let Side::Seat(at) = side else { continue };
            let seats = &mut found[*at].seats;
            seats.vertices.push(vertex);
            if is_open(vertex) {
                seats.open.push(vertex);
            }
        }
        for (at, seats) in before.iter().enumerate().filter(|(at, _)| !opened.contains(at)) {
            for vertex in &seats.vertices {
                if let Side::Seat(now) = sides[*vertex as usize]
                    && found[now].from.last() != Some(&at)
                {
                    found[now].from.push(at);
                }
            }
        }
        (found, opened)
    }

    /// Volume of a cavity; `points` and `feet` have one place for each vertex.
    #[must_use]
    pub fn measure(&self, seats: &Seats, points: &[Vec3], feet: &[Vec3], gaps: &[f64], seal_m: f64) -> Measure {
        let mut out = Measure::default();
        let belongs = |vertex: u32| seats.has(vertex) || gaps[vertex as usize] <= seal_m;
        for triangle in &self.triangles {
            if !(triangle.iter().any(|v| seats.has(*v)) && triangle.iter().all(|v| belongs(*v))) {
                continue;
            }
            let [a, b, c] = triangle.map(|v| points[v as usize]);
            let area = 0.5 * (b - a).cross(&(c - a));
            out.volume_m3 -= prism(triangle, points, feet);
            out.area_m2 += area.norm();
            // The normal of the surface points into the cavity.
            out.gradient.extend(triangle.map(|v| (v, -area / 3.0)));
            out.patch.push(*triangle);
        }
        out.gradient.sort_by_key(|(vertex, _)| *vertex);
        out.gradient.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        out
    }
}

/// Volume between a triangle and its feet, exact for sides ruled by the ways from foot to vertex, so that the sides of neighbours agree.
fn prism(triangle: &[u32; 3], points: &[Vec3], feet: &[Vec3]) -> f64 {
    let q = triangle.map(|v| feet[v as usize]);
    let d = triangle.map(|v| points[v as usize] - feet[v as usize]);
    let (q_u, q_v, d_u, d_v) = (q[1] - q[0], q[2] - q[0], d[1] - d[0], d[2] - d[0]);
    let mean = (d[0] + d[1] + d[2]) / 3.0;
    let across = q_u.cross(&q_v) + 0.5 * (q_u.cross(&d_v) + d_u.cross(&q_v)) + d_u.cross(&d_v) / 3.0;
    0.5 * mean.dot(&across)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square sheet of `side` × `side` vertices, 1 mm apart, with normals down; closed above by one far vertex joined to its rim.
    fn sheet(side: u32) -> (Net, Vec<Vec3>) {
        let at = |i: u32, j: u32| i * side + j;
        let mut points = Vec::new();
        for i in 0..side {
            points.extend((0..side).map(|j| Vec3::new(1e-3 * f64::from(i), 1e-3 * f64::from(j), 0.0)));
        }
        let apex = points.len() as u32;
        points.push(Vec3::new(0.0, 0.0, 1.0));
        let mut triangles = Vec::new();
        for i in 0..side - 1 {
            for j in 0..side - 1 {
                triangles.push([at(i, j), at(i, j + 1), at(i + 1, j)]);
                triangles.push([at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)]);
            }
        }
        for k in 0..side - 1 {
            triangles.extend([[at(0, k), apex, at(0, k + 1)], [at(side - 1, k), at(side - 1, k + 1), apex]]);
            triangles.extend([[at(k, 0), at(k + 1, 0), apex], [at(k, side - 1), apex, at(k + 1, side - 1)]]);
        }
        (Net::new(points.len(), &triangles), points)
    }

    /// Heights over the plane z = 0: zero on rings of the sheet, `depth` elsewhere.
    fn lift(points: &mut [Vec3], side: u32, depth: impl Fn(u32, u32) -> f64) -> (Vec<f64>, Vec<Vec3>) {
        for i in 0..side {
            for j in 0..side {
                points[(i * side + j) as usize].z = depth(i, j);
            }
        }
        (points.iter().map(|p| p.z).collect(), points.iter().map(|p| Vec3::new(p.x, p.y, 0.0)).collect())
    }

    const SEAL: f64 = 5e-5;

    fn is_rim(i: u32, j: u32, side: u32) -> bool {
        i == 0 || j == 0 || i == side - 1 || j == side - 1
    }

    #[test]
    fn a_sheet_on_its_rim_encloses_its_volume_and_the_gradient_is_its_derivative() {
        let (net, mut points) = sheet(9);
        let dome = |i: u32, j: u32| if is_rim(i, j, 9) { 0.0 } else { 2e-3 + 1e-4 * f64::from(i * j % 5) };
        let (gaps, feet) = lift(&mut points, 9, dome);
        let (found, opened) = net.track(&[], &gaps, SEAL);
        assert!(found.len() == 1 && opened.is_empty() && found[0].from.is_empty());
        assert_eq!(found[0].seats.len(), 49);
        let measure = net.measure(&found[0].seats, &points, &feet, &gaps, SEAL);
        // Over a plane: the sum of area times mean height, by triangle.
        let by_hand: f64 =
            measure.patch.iter().map(|t| 0.5e-6 * t.iter().map(|v| gaps[*v as usize]).sum::<f64>() / 3.0).sum();
        assert!((measure.volume_m3 / by_hand - 1.0).abs() < 1e-12, "{} for {by_hand}", measure.volume_m3);
        for (vertex, gradient) in measure.gradient.iter().filter(|(v, _)| found[0].seats.has(*v)) {
            for k in 0..3 {
                let mut moved = points.clone();
                moved[*vertex as usize][k] += 1e-6;
                let feet: Vec<Vec3> = moved.iter().map(|p| Vec3::new(p.x, p.y, 0.0)).collect();
                let more = net.measure(&found[0].seats, &moved, &feet, &gaps, SEAL).volume_m3 - measure.volume_m3;
                assert!((more / 1e-6 - gradient[k]).abs() < 1e-9, "vertex {vertex}: {more} for {gradient}");
            }
        }
    }

    #[test]
    fn a_leaking_rim_encloses_nothing() {
        let (net, mut points) = sheet(9);
        let (gaps, _) = lift(&mut points, 9, |i, j| if is_rim(i, j, 9) && (i, j) != (0, 4) { 0.0 } else { 2e-3 });
        assert!(net.track(&[], &gaps, SEAL).0.is_empty());
    }

    #[test]
    fn a_sheet_pressed_flat_keeps_its_cavity_until_the_outside_reaches_it() {
        let (net, mut points) = sheet(9);
        let (gaps, _) = lift(&mut points, 9, |i, j| if is_rim(i, j, 9) { 0.0 } else { 2e-3 });
        let dome = net.track(&[], &gaps, SEAL).0.remove(0).seats;
        let (flat, feet) = lift(&mut points, 9, |_, _| 0.0);
        let pressed = net.track(std::slice::from_ref(&dome), &flat, SEAL).0;
        // The apex above is outside and next to the rim alone.
        assert!(pressed.len() == 1 && pressed[0].from == [0] && pressed[0].seats.len() == 49);
        let measure = net.measure(&pressed[0].seats, &points, &feet, &flat, SEAL);
        // Two corners of the square are triangles of the rim alone.
        assert!(measure.volume_m3.abs() < 1e-18 && (measure.area_m2 / 63e-6 - 1.0).abs() < 1e-12);
        // One corner is peeled off from outside: the boundary recedes, the cavity stays.
        let (peeled, _) = lift(&mut points, 9, |i, j| if i + j < 4 { 1e-3 } else { 0.0 });
        let (left, opened) = net.track(&[pressed[0].seats.clone()], &peeled, SEAL);
        assert!(opened.is_empty() && left.len() == 1 && left[0].seats.len() < 49, "{left:?} {opened:?}");
        // Lifted in the middle it stays; lifted there and at the rim the outside reaches what was open.
        let middle = |i: u32, j: u32| if (3..6).contains(&i) && (3..6).contains(&j) { 1e-3 } else { 0.0 };
        let (lifted, _) = lift(&mut points, 9, middle);
        let again = net.track(&[left[0].seats.clone()], &lifted, SEAL).0;
        assert!(again.len() == 1 && again[0].from == [0]);
        let (torn, _) = lift(&mut points, 9, |i, j| if j == 4 { 1e-3 } else { middle(i, j) });
        let (rest, opened) = net.track(&[again[0].seats.clone()], &torn, SEAL);
        assert!(opened == [0] && rest.is_empty(), "{rest:?} {opened:?}");
    }

    #[test]
    fn cavities_merge_and_split() {
        let (net, mut points) = sheet(9);
        let wall = |i: u32, j: u32| is_rim(i, j, 9) || i == 4;
        let (gaps, _) = lift(&mut points, 9, |i, j| if wall(i, j) { 0.0 } else { 1e-3 });
        let two = net.track(&[], &gaps, SEAL).0;
        assert_eq!(two.len(), 2);
        let seats: Vec<Seats> = two.into_iter().map(|found| found.seats).collect();
        let (open, _) = lift(&mut points, 9, |i, j| if is_rim(i, j, 9) { 0.0 } else { 1e-3 });
        let (one, opened) = net.track(&seats, &open, SEAL);
        assert!(one.len() == 1 && one[0].from == [0, 1] && opened.is_empty());
        // The outside comes in along the wall after it has come down: two parts.
        let (down, _) = lift(&mut points, 9, |i, j| if wall(i, j) { 0.0 } else { 1e-3 });
        let whole = net.track(&[one[0].seats.clone()], &down, SEAL).0;
        assert!(whole.len() == 1 && whole[0].from == [0]);
        let (cut, _) = lift(&mut points, 9, |i, j| {
            if i == 4 {
                1e-3
            } else if is_rim(i, j, 9) || i == 3 || i == 5 {
                0.0
            } else {
                1e-3
            }
        });
        let before = net.track(&[], &down, SEAL).0;
        let both: Vec<Seats> = before.into_iter().map(|found| found.seats).collect();
        let (parts, _) = net.track(&both, &cut, SEAL);
        assert!(parts.len() == 2 && parts[0].from == [0] && parts[1].from == [1]);
    }
}
