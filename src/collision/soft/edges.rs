//! Edge against edge: of two soft surfaces, or of a soft surface and a rigid shape.
//!
//! Thread: simulation (no heap).
//!
//! Two edges are a contact of their own only where both stand out: along the normal, the triangles on both sides of each edge fall
//! away from the other edge. Everywhere else a node lies as near. The normal is the cross product of the edges. Its sign is that of
//! the mean outward normals, not that of the way between the edges, so that edges that have crossed are pushed apart on the
//! side from which they came. Edges that cross within the step are found by continuous detection where the step is longer than the
//! depth up to which that sign holds.

use super::foot::between;
use super::pairs::Side;
use super::surface::NONE;
use super::sweep::edge_through_edge;
use crate::math::Vec3;

/// How much a triangle beside the edge may rise towards the other edge, as a sine: 3°. Smaller values lose contacts of edges that lie
/// almost flat.
pub(super) const RISE: f64 = 0.05;
/// How much the triangles of an edge must fall away together, as a sine: 0.3°. A flatter edge stands out from the nodes beside it
/// by less than a thousandth of its length.
const STANDS_OUT: f64 = 0.005;
/// Depth up to which the present positions tell on which side an edge is, in parts of the shorter edge and of the thickness.
const DEEP: f64 = 0.5;

/// An edge in this step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Ends now and at the start of the step.
    pub(super) now: [Vec3; 2],
    pub(super) before: [Vec3; 2],
    /// Least thickness of the body there, m.
    pub(super) thickness: f64,
}

/// The surface on both sides of an edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slopes {
    /// Unit vectors square to the edge, along the faces on both sides, away from the edge; zero where there is no face.
    pub(super) falls: [Vec3; 2],
    /// Sum of the outward normals on both sides.
    pub(super) outward: Vec3,
}

impl Slopes {
    /// True if the surface faces against `normal`, which points from the partner into the body, and neither side rises.
    pub(super) fn is_lowest(&self, normal: &Vec3) -> bool {
        self.outward.dot(normal) < 0.0 && self.falls.iter().all(|fall| fall.dot(normal) >= -RISE)
    }

    /// The same, and at least one side falls away.
    fn stands_out(&self, normal: &Vec3) -> bool {
        self.is_lowest(normal) && (self.falls[0] + self.falls[1]).dot(normal) >= STANDS_OUT
    }
}

/// An edge of a soft surface.
pub(super) fn line(side: Side<'_>, edge: u32) -> Line {
    let (surface, place) = side;
    let faces = surface.edges[edge as usize].faces;
    let thickness =
        faces.iter().filter_map(|f| surface.thickness.get(*f as usize)).fold(f64::INFINITY, |a, b| a.min(*b));
    Line { now: surface.ends(edge, &place.now), before: surface.ends(edge, &place.before), thickness }
}

/// What is beside an edge of a soft surface.
pub(super) fn slopes(side: Side<'_>, edge: u32) -> Slopes {
    let (surface, place) = side;
    let ends = surface.ends(edge, &place.now);
    let along = (ends[1] - ends[0]).normalize();
    let fall = |face: u32| {
        if face == NONE {
            return Vec3::zeros();
        }
        let corners = surface.corners(face, &place.now);
        let inward = corners.iter().sum::<Vec3>() / 3.0 - ends[0];
        (inward - along * along.dot(&inward)).try_normalize(0.0).unwrap_or_else(Vec3::zeros)
    };
    Slopes { falls: surface.edges[edge as usize].faces.map(fall), outward: place.edge_normal(surface, edge) }
}

/// A contact of two edges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    /// Parameters of the points on both edges.
    pub(super) at: (f64, f64),
    /// From the second edge to the first.
    pub(super) normal: Vec3,
    pub(super) gap: f64,
}

/// The contact of two edges, if there is one. `slopes` is evaluated only for edges that are near or cross.
pub(super) fn edge_on_edge(a: &Line, b: &Line, margin: f64, slopes: impl Fn() -> (Slopes, Slopes)) -> Option<Crossing> {
    let shorter = (a.now[1] - a.now[0]).norm_squared().min((b.now[1] - b.now[0]).norm_squared()).sqrt();
    let deepest = DEEP * shorter.min(a.thickness).min(b.thickness);
    if travel(a, b) > deepest
        && let Some(found) = passed(a, b)
        && found.gap < 0.0
    {
        let (of_a, of_b) = slopes();
        return (of_a.stands_out(&found.normal) && of_b.stands_out(&-found.normal)).then_some(found);
    }
    let (s, t) = between(&a.now, &b.now)?;
    let way = point(&a.now, s) - point(&b.now, t);
    if way.norm_squared() >= margin.max(deepest).powi(2) {
        return None;
    }
    let (of_a, of_b) = slopes();
    let across = (a.now[1] - a.now[0]).cross(&(b.now[1] - b.now[0])).normalize();
    let normal = across * (of_b.outward - of_a.outward).dot(&across).signum();
    let gap = normal.dot(&way);
    let held = gap < margin && gap > -deepest && of_a.stands_out(&normal) && of_b.stands_out(&-normal);
    held.then_some(Crossing { at: (s, t), normal, gap })
}

/// The longest way of an end of one edge relative to an end of the other.
pub(super) fn travel(a: &Line, b: &Line) -> f64 {
    let way = |i: usize, j: usize| (a.now[i] - a.before[i]) - (b.now[j] - b.before[j]);
    [way(0, 0), way(0, 1), way(1, 0), way(1, 1)].iter().map(Vec3::norm_squared).fold(0.0, f64::max).sqrt()
}

/// Edges that cross within the step; the normal points to the side on which the first edge was.
pub(super) fn passed(a: &Line, b: &Line) -> Option<Crossing> {
    let (_, (s, t)) = edge_through_edge(&[a.before, a.now], &[b.before, b.now])?;
    let across = (a.now[1] - a.now[0]).cross(&(b.now[1] - b.now[0])).try_normalize(0.0)?;
    let start = (a.before[1] - a.before[0]).cross(&(b.before[1] - b.before[0]));
    let side = start.dot(&(point(&a.before, s) - point(&b.before, t)));
    let normal = across * side.signum();
    Some(Crossing { at: (s, t), normal, gap: normal.dot(&(point(&a.now, s) - point(&b.now, t))) })
}

/// The point of an edge.
pub(super) fn point(ends: &[Vec3; 2], s: f64) -> Vec3 {
    ends[0] + (ends[1] - ends[0]) * s
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An edge along `along` through `top`, with faces that fall away downwards (`up` 1) or rise (`up` −1, a keel).
    fn roof(along: Vec3, top: Vec3, up: f64, moved: Vec3) -> (Line, Slopes) {
        let side = along.cross(&Vec3::z()).normalize();
        let falls = [side, -side].map(|s| (s - Vec3::z() * up).normalize());
        let now = [top - along, top + along];
        let line = Line { now, before: now.map(|p| p - moved), thickness: 1.0 };
        (line, Slopes { falls, outward: Vec3::z() * up })
    }

    fn touch(a: &(Line, Slopes), b: &(Line, Slopes)) -> Option<Crossing> {
        edge_on_edge(&a.0, &b.0, 0.01, || (a.1, b.1))
    }

    #[test]
    fn a_keel_on_a_roof_is_pushed_up_from_both_sides_of_touching() {
        let below = roof(Vec3::y(), Vec3::zeros(), 1.0, Vec3::zeros());
        for gap in [1e-3, 1e-7, -1e-7, -1e-2] {
            let found = touch(&roof(Vec3::x(), Vec3::z() * gap, -1.0, Vec3::zeros()), &below).expect("touches");
            assert!((found.gap - gap).abs() < 1e-15 && (found.normal - Vec3::z()).norm() < 1e-15);
            assert!((found.at.0 - 0.5).abs() < 1e-12 && (found.at.1 - 0.5).abs() < 1e-12);
        }
        assert!(touch(&roof(Vec3::x(), Vec3::z() * 0.02, -1.0, Vec3::zeros()), &below).is_none());
    }

    #[test]
    fn a_keel_that_fell_through_a_thin_roof_in_one_step_is_pushed_back_up() {
        let mut thin = roof(Vec3::y(), Vec3::zeros(), 1.0, Vec3::zeros());
        thin.0.thickness = 0.01;
        let found = touch(&roof(Vec3::x(), Vec3::new(0.0, 0.1, -0.5), -1.0, Vec3::z() * -0.6), &thin).expect("crossed");
        assert!((found.gap + 0.5).abs() < 1e-12 && (found.normal - Vec3::z()).norm() < 1e-12);
        // From below, out of the body: the two never meet outside.
        assert!(touch(&roof(Vec3::x(), Vec3::new(0.0, 0.1, 0.5), -1.0, Vec3::z() * 0.6), &thin).is_none());
    }

    #[test]
    fn edges_that_do_not_stand_out_are_left_to_the_nodes() {
        let mut flat = roof(Vec3::y(), Vec3::zeros(), 1.0, Vec3::zeros());
        flat.1.falls = [Vec3::x(), -Vec3::x()];
        assert!(touch(&roof(Vec3::x(), Vec3::z() * 1e-4, -1.0, Vec3::zeros()), &flat).is_none());
    }
}
