//! One point against a soft surface: local minima of the distance, their side, and the triangle through which the point came in.
//!
//! Thread: simulation (no heap once warm).
//!
//! **Minima.** The nearest point of a triangle is a local minimum of the distance to the surface if the point lies inside the
//! triangle, or on an edge or corner that is nearest for every triangle around that edge or corner. On a convex part there is
//! one minimum outside; in a notch there are several, and each of them is a contact.
//!
//! **Side.** The sign comes from the mean normal at the minimum (Bærentzen and Aanæs 2005). Below the surface the nearest minimum
//! is taken; a further one only if the two together form a notch: each lies in front of the plane of the other. Below two faces of a
//! convex edge the way out is through the nearer one alone.
//!
//! **Far side.** Three rules keep a point from being pushed out on the wrong side of a thin body. The probe's own surface must face
//! the triangle. Depth is limited by the thickness at rest. A point that crossed a triangle from front to back in this step
//! belongs to that side, whatever is nearest now.

use super::FacePoint;
use super::foot::{Part, blend, on_triangle};
use super::place::SoftPlace;
use super::surface::{NONE, SoftSurface};
use super::sweep::{ball_meets_triangle, point_through_triangle};
use crate::math::Vec3;
use std::cell::Cell;

/// Distance, m, below which the direction between two points is round-off; then the mean normal of the surface is taken.
const NO_DIRECTION: f64 = 1e-9;
/// Two minima nearer to each other than this, in sizes of the triangle, are one: a point above a shared edge is inside one
/// triangle by round-off.
const SAME: f64 = 1e-7;
/// Cosine below which a contact normal opposes the side from which the point came in.
const OPPOSED: f64 = -0.2;
/// Share of the rest thickness to which a point may have been below the surface at the start of the step and still count as
/// resting on it.
const RESTING: f64 = 0.25;
/// Share of the usual depth within which a node counts as penetrating its own body. The far side of a thin body is then not
/// taken for a partner while the body keeps more than three tenths of its thickness.
const OWN_DEPTH: f64 = 0.3;
/// How much deeper below one face than below the nearest face, or than the margin, a point may be and still be pushed out through the
/// former, which the probe's own surface faces.
const FARTHER: f64 = 5.0;
/// Distance at which a ball counts as touching in continuous detection, in parts of the margin.
const CLOSE: f64 = 1e-3;

/// A point that may touch a surface.
pub(super) struct Probe<'a> {
    pub(super) now: Vec3,
    pub(super) before: Vec3,
    /// Radius of the ball around it, m.
    pub(super) radius: f64,
    /// The point is a node of the surface itself.
    pub(super) is_own: bool,
    /// True if the probe's own body can touch a surface whose outward normal is this one.
    pub(super) can_touch: &'a dyn Fn(&Vec3) -> bool,
}

impl Probe<'_> {
    /// Depth within which the point is taken for a penetrating one, m.
    fn reach(&self, reach: f64) -> f64 {
        if self.is_own { OWN_DEPTH * reach } else { reach }
    }
}

/// A contact of a probe with the surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    pub(super) face: u32,
    pub(super) at: FacePoint,
    /// Out of the surface.
    pub(super) normal: Vec3,
    pub(super) gap: f64,
    /// The point passed through the triangle within this step, and nothing nearer is on that side.
    pub(super) is_entry: bool,
}

/// The feature that holds a nearest point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spot {
    Face(u32),
    Edge(u32),
    Node(u32),
}

/// Nearest point on one triangle.
#[derive(Clone, Copy, Debug)]
struct Foot {
    face: u32,
    spot: Spot,
    part: Part,
    weights: [f64; 3],
    point: Vec3,
    away: Vec3,
    distance: f64,
}

/// An accepted minimum.
#[derive(Clone, Copy, Debug)]
struct Taken {
    point: Vec3,
    normal: Vec3,
}

/// A crossing from front to back.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: f64,
    face: u32,
    weights: [f64; 3],
}

/// Memory for one probe after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Prober {
    feet: Vec<Foot>,
    taken: Vec<Taken>,
}

impl Prober {
    /// Emits the contacts of a probe with the triangles listed, which must include all whose boxes overlap the probe's way.
    pub(super) fn probe(
        &mut self,
        (surface, place): (&SoftSurface, &SoftPlace),
        probe: &Probe<'_>,
        faces: impl Iterator<Item = u32>,
        margin: f64,
        mut emit: impl FnMut(Touch),
    ) {
        self.feet.clear();
        self.taken.clear();
        let within = margin + probe.radius;
        let mut entry: Option<Entry> = None;
        for face in faces {
            let corners = surface.corners(face, &place.now);
            let normal = place.normals[face as usize];
            let side = normal.dot(&(probe.now - corners[0]));
            if side > within {
                continue;
            }
            if side < probe.radius
                && let Some(found) = crossing(surface, place, probe, face, &corners, margin)
                && (found.time > 0.0 || (probe.can_touch)(&normal))
                && entry.is_none_or(|best| (found.time, found.face) < (best.time, best.face))
            {
                entry = Some(found);
            }
            let reach = probe.reach(place.reach(surface, face));
            if side >= -reach {
                let foot = foot(surface, probe, face, &corners);
                if foot.distance < within.max(reach) {
                    self.feet.push(foot);
                }
            }
        }
        self.feet.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.face.cmp(&b.face)));
        let entry_normal = entry.map(|entry| place.normals[entry.face as usize]);
        self.choose((surface, place), probe, margin, entry_normal, &mut emit);
        // Nothing found on the side from which the point came in.
        if let (Some(entry), Some(normal), true) = (entry, entry_normal, self.taken.is_empty())
            && (probe.can_touch)(&normal)
        {
            let at = blend(&entry.weights, &surface.corners(entry.face, &place.now));
            let gap = normal.dot(&(probe.now - at)) - probe.radius;
            let at = FacePoint { points: surface.triangles()[entry.face as usize], weights: entry.weights };
            emit(Touch { face: entry.face, at, normal, gap, is_entry: true });
        }
    }

    fn choose(
        &mut self,
        (surface, place): (&SoftSurface, &SoftPlace),
        probe: &Probe<'_>,
        margin: f64,
        entry_normal: Option<Vec3>,
        emit: &mut impl FnMut(Touch),
    ) {
        // Depth of the nearest minimum seen from below, whether or not the probe can touch there.
        let mut nearest: Option<f64> = None;
        for index in 0..self.feet.len() {
            let foot = self.feet[index];
            // Triangles farther than this are not all listed.
            let is_deep = foot.distance > margin + probe.radius;
            if (index > 0 || is_deep || probe.is_own) && !self.is_minimum(surface, &foot) {
                continue;
            }
            let seam = SAME * surface.face_size[foot.face as usize];
            if self.taken.iter().any(|other| (other.point - foot.point).norm() <= seam) {
                continue;
            }
            let outward = mean_normal(surface, place, &foot.spot);
            let front = foot.away.dot(&outward) >= 0.0;
            let normal = match foot.spot {
                Spot::Face(face) => place.normals[face as usize],
                _ if foot.distance > NO_DIRECTION => foot.away * (if front { 1.0 } else { -1.0 } / foot.distance),
                _ => outward.try_normalize(0.0).unwrap_or_else(Vec3::zeros),
            };
            let gap = if front { foot.distance } else { -foot.distance } - probe.radius;
            let opposed = entry_normal.is_some_and(|entry| normal.dot(&entry) < OPPOSED);
            if opposed || gap >= margin {
                continue;
            }
            if !front {
                let first = *nearest.get_or_insert(foot.distance);
                let is_far = foot.distance > FARTHER * first.max(margin);
                if is_far || !self.is_way_out((surface, place), probe, &foot, &normal) {
                    continue;
                }
            }
            if is_deep && entry_normal.is_none() && !is_inside((surface, place), &probe.now, foot.distance) {
                continue;
            }
            if (probe.can_touch)(&normal) {
                self.taken.push(Taken { point: foot.point, normal });
                let at = face_point(surface, foot.face, foot.weights, foot.part);
                emit(Touch { face: foot.face, at, normal, gap, is_entry: false });
            }
        }
    }

    /// See the file's head.
    fn is_minimum(&self, surface: &SoftSurface, foot: &Foot) -> bool {
        let count = || self.feet.iter().filter(|other| other.spot == foot.spot).count();
        match foot.spot {
            Spot::Face(_) => true,
            Spot::Edge(edge) => {
                count() == surface.edges[edge as usize].faces.iter().filter(|face| **face != NONE).count()
            }
            Spot::Node(node) => count() == surface.faces_about(node).len(),
        }
    }

    /// True if a point below the surface may be pushed out here.
    fn is_way_out(
        &self,
        (surface, place): (&SoftSurface, &SoftPlace),
        probe: &Probe<'_>,
        foot: &Foot,
        normal: &Vec3,
    ) -> bool {
        foot.distance <= probe.reach(place.reach(surface, foot.face))
            && self.taken.iter().all(|other| {
                let way = foot.point - other.point;
                let slack = SAME * surface.face_size[foot.face as usize];
                other.normal.dot(&way) >= -slack && normal.dot(&way) <= slack
            })
    }
}

/// True if the nearest point of the whole surface, which is at most `within` away, is seen from inside.
fn is_inside((surface, place): (&SoftSurface, &SoftPlace), p: &Vec3, within: f64) -> bool {
    // A little more, so that round-off does not hide the point itself.
    let best = Cell::new((within * within * (1.0 + 1e-9), Spot::Face(0), Vec3::zeros()));
    surface.tree.walk(
        |cell| place.cells[cell].distance_squared(p) <= best.get().0,
        |face| {
            let corners = surface.corners(face, &place.now);
            let (weights, part) = on_triangle(p, &corners);
            let away = p - blend(&weights, &corners);
            if away.norm_squared() <= best.get().0 {
                best.set((away.norm_squared(), spot(surface, face, part), away));
            }
        },
    );
    let (_, spot, away) = best.get();
    away.dot(&mean_normal(surface, place, &spot)) < 0.0
}

fn spot(surface: &SoftSurface, face: u32, part: Part) -> Spot {
    match part {
        Part::Inside => Spot::Face(face),
        Part::Side(k) => Spot::Edge(surface.sides[face as usize][usize::from(k)]),
        Part::Corner(k) => Spot::Node(surface.triangles()[face as usize][usize::from(k)]),
    }
}

fn foot(surface: &SoftSurface, probe: &Probe<'_>, face: u32, corners: &[Vec3; 3]) -> Foot {
    let (weights, part) = on_triangle(&probe.now, corners);
    let point = blend(&weights, corners);
    let away = probe.now - point;
    Foot { face, spot: spot(surface, face, part), part, weights, point, away, distance: away.norm() }
}

fn mean_normal(surface: &SoftSurface, place: &SoftPlace, spot: &Spot) -> Vec3 {
    match *spot {
        Spot::Face(face) => place.normals[face as usize],
        Spot::Edge(edge) => place.edge_normal(surface, edge),
        Spot::Node(node) => place.node_normal(surface, node),
    }
}

/// The point of a triangle; a node comes first.
pub(super) fn face_point(surface: &SoftSurface, face: u32, weights: [f64; 3], part: Part) -> FacePoint {
    let points = surface.triangles()[face as usize];
    match part {
        Part::Corner(k) => FacePoint::node(points[usize::from(k)]),
        _ => FacePoint { points, weights },
    }
}

/// The passage of a probe from the front of a triangle to its back within this step.
fn crossing(
    surface: &SoftSurface,
    place: &SoftPlace,
    probe: &Probe<'_>,
    face: u32,
    now: &[Vec3; 3],
    margin: f64,
) -> Option<Entry> {
    let before = surface.corners(face, &place.before);
    let across = (before[1] - before[0]).cross(&(before[2] - before[0]));
    let side = across.dot(&(probe.before - before[0])) / across.norm();
    let way = [probe.before, probe.now];
    if side < probe.radius {
        // Resting on the triangle, or a little below.
        let slack = (RESTING * surface.thickness[face as usize]).min(margin);
        let rests = side >= probe.radius - slack && on_triangle(&probe.before, &before).1 == Part::Inside;
        return rests.then(|| Entry { time: 0.0, face, weights: on_triangle(&probe.before, &before).0 });
    }
    let corners = [before, *now];
    let found = if probe.radius > 0.0 {
        ball_meets_triangle(&way, probe.radius, &corners, CLOSE * margin)
    } else {
        point_through_triangle(&way, &corners)
    };
    found.map(|(time, weights)| Entry { time, face, weights })
}
