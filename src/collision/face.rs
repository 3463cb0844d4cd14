//! Contact manifold of two flat faces that lie on each other: the corners of their common area.
//!
//! Thread: simulation or collision (no heap, pure).
//!
//! The features of one shape against the distance of the other (`contact`) give the corners of each face that lie over the
//! other face. They do not give the places where two level edges, or an edge and a rim, cross: a level edge has no lowest
//! point. Without the crossings the support of a box that overlaps another partly is a line, and the box rocks about it.
//! Here the common area of both faces is found by clipping:
//!
//! * corners of either face over the other face: normal of the face below the corner;
//! * crossings of edges and rims in the projection along the mean normal of both faces: that normal;
//! * eight points of a rim, fixed to its body, and the lowest point of a tilted rim, over the other face.
//!
//! All bounds of the common area are among these points, so the support is exact for boxes. An arc is replaced by chords of
//! 45°: it lacks 8 % of the radius at most, and a rim that starts to tilt there is held by its lowest point.
//!
//! Faces that are parallel within [`FLAT_TILT`] and near each other are described by these points alone. Faces that are
//! tilted further, up to [`MOST_TILT`], or farther apart keep the contacts of their features, and the crossings are added.

use super::Side;
use super::contact::{Placed, identity};
use super::select::{Place, Places};
use crate::geometry::{Feature, FlatFace};
use crate::math::{Pose, Vec3};

/// Angle between two faces, rad, up to which the manifold replaces the contacts of the features. The gap at a crossing is
/// taken along the mean normal; it is too large by the square of half this angle at most.
const FLAT_TILT: f64 = 1e-3;
/// Angle between two faces, rad, up to which crossings are added.
const MOST_TILT: f64 = 0.05;
/// Distance of two faces, in parts of the smaller shape's radius, up to which the manifold replaces the contacts of the features.
const NEAR_PART: f64 = 0.1;
/// How far outside of a face a point may lie and still count as on it, m: faces that are flush but for rounding.
const FLUSH_M: f64 = 1e-9;
/// Sine of the angle below which two edges count as parallel: they have no crossing.
const PARALLEL: f64 = 1e-9;
/// Slope of a rim, rad, below which it counts as level and has no lowest point; as in `minimum`.
const LEVEL: f64 = 1e-8;
/// Points of a rim that are fixed to its body.
const RIM_POINTS: usize = 8;
/// Branches of a contact's identity: from here on the fixed points of a rim, then the crossings with a feature of the other
/// shape, two for each.
const RIM_BRANCH: usize = 64;
const CROSSING_BRANCH: usize = 128;
/// Features of the other shape for which there are branches.
const BRANCHED: usize = 64;
/// Bits of the number of the first feature in the number of a crossing.
const FEATURE_BITS: usize = 16;

/// A face of a placed shape, in the world.
struct Face<'a> {
    placed: &'a Placed<'a>,
    pose: Pose,
    /// Outward.
    normal: Vec3,
    /// `normal·x` of its points, m.
    offset: f64,
    /// Distance within which points count as on it, m.
    flush: f64,
    /// Features that bound it, of a mesh.
    members: Option<&'a [u16]>,
}

impl Face<'_> {
    /// The features that bound the face, by number.
    fn features(&self) -> impl Iterator<Item = (usize, Feature)> + '_ {
        let on = |p: &Vec3| (self.normal.dot(p) - self.offset).abs() < FLUSH_M;
        let bounds = move |index: usize, feature: &Feature| match (self.members, feature) {
            (Some(members), _) => members.contains(&(index as u16)),
            (None, Feature::Point { position, radius }) => *radius == 0.0 && on(position),
            (None, Feature::Segment { a, b, radius }) => *radius == 0.0 && on(a) && on(b),
            (None, Feature::Circle { center, .. }) => on(center),
        };
        self.placed
            .features
            .iter()
            .enumerate()
            .map(|(index, feature)| (index, feature.transformed(&self.pose)))
            .filter(move |(index, feature)| bounds(*index, feature))
    }

    fn height(&self, point: &Vec3) -> f64 {
        self.normal.dot(point) - self.offset
    }

    /// True when the point lies over the face, or under it.
    fn covers(&self, point: &Vec3) -> bool {
        let foot = point - self.normal * self.height(point);
        let local = self.pose.rotation.inverse_transform_vector(&(foot - self.pose.translation.vector));
        self.placed.surface.signed_distance(&local).distance <= self.flush
    }
}

/// Adds the manifold of the two faces that oppose each other, if there are such faces with a common area; true when the
/// manifold replaces the contacts of the features.
pub(super) fn faces(pair: u16, a: &Placed<'_>, b: &Placed<'_>, margin: f64, places: &mut Places) -> bool {
    let Some((face_a, face_b)) = opposed(a, b) else { return false };
    let distance = face_a.height(&middle(&face_b)).max(face_b.height(&middle(&face_a)));
    let tilt = (face_a.normal + face_b.normal).norm();
    if distance - tilt * places.size >= margin {
        return false;
    }
    let alone = tilt < FLAT_TILT && distance.abs() < NEAR_PART * places.size;
    let mut manifold = Manifold { pair, margin, places: Places::exact(places.size) };
    manifold.corners(Side::B, &face_a, &face_b);
    manifold.corners(Side::A, &face_b, &face_a);
    let corners = manifold.places.len();
    manifold.crossings(&face_a, &face_b);
    // Sideways the shapes part after the width of the common area at least: where that is less than the depth, the faces
    // may not be the shortest way out.
    let whole = manifold.places.has_area() && -distance <= manifold.places.width();
    if whole && alone {
        *places = manifold.places;
    } else if whole {
        for place in &manifold.places.as_slice()[corners..] {
            places.push(*place);
        }
    }
    whole && alone
}

/// A point in the middle of a face.
fn middle(face: &Face<'_>) -> Vec3 {
    let center = face.pose.rotation * face.placed.surface.bounding_sphere().center + face.pose.translation.vector;
    center - face.normal * face.height(&center)
}

/// The two faces that oppose each other within [`MOST_TILT`]; of several pairs the one with the most room between its faces,
/// which is the way two convex shapes are to be parted.
fn opposed<'a>(a: &'a Placed<'_>, b: &'a Placed<'_>) -> Option<(Face<'a>, Face<'a>)> {
    let (pose_a, pose_b) = (a.pose_world_shape(), b.pose_world_shape());
    let mut best: Option<(Face<'a>, Face<'a>, f64)> = None;
    for one in 0..face_count(a) {
        let normal_a = pose_a.rotation * face_normal(a, one);
        for other in 0..face_count(b) {
            let normal_b = pose_b.rotation * face_normal(b, other);
            if (normal_a + normal_b).norm_squared() > MOST_TILT * MOST_TILT {
                continue;
            }
            let face_a = face(a, pose_a, one, normal_a);
            let face_b = face(b, pose_b, other, normal_b);
            let room = (face_b.height(&middle(&face_a))).max(face_a.height(&middle(&face_b)));
            if best.as_ref().is_none_or(|(_, _, most)| room > *most) {
                best = Some((face_a, face_b, room));
            }
        }
    }
    best.map(|(face_a, face_b, _)| (face_a, face_b))
}

fn face_count(placed: &Placed<'_>) -> usize {
    placed.outline.map_or_else(|| placed.surface.flat_faces().len(), |outline| outline.faces.len())
}

/// Outward normal of a face, in the frame of the shape.
fn face_normal(placed: &Placed<'_>, index: usize) -> Vec3 {
    placed.outline.map_or_else(|| placed.surface.flat_faces()[index], |outline| outline.faces[index].normal)
}

fn face<'a>(placed: &'a Placed<'_>, pose: Pose, index: usize, normal: Vec3) -> Face<'a> {
    if let Some(outline) = placed.outline {
        let FlatFace { offset, flush, features, .. } = &outline.faces[index];
        let offset = offset + normal.dot(&pose.translation.vector);
        return Face { placed, pose, normal, offset, flush: *flush, members: Some(features) };
    }
    let reach = |feature: &Feature| match feature.transformed(&pose) {
        Feature::Point { position, .. } => normal.dot(&position),
        Feature::Segment { a, b, .. } => normal.dot(&a).max(normal.dot(&b)),
        Feature::Circle { center, .. } => normal.dot(&center),
    };
    let offset = placed.features.iter().map(reach).fold(f64::NEG_INFINITY, f64::max);
    Face { placed, pose, normal, offset, flush: FLUSH_M, members: None }
}

/// The points found so far.
struct Manifold {
    pair: u16,
    margin: f64,
    places: Places,
}

impl Manifold {
    fn push(&mut self, place: Place) {
        if place.gap < self.margin {
            self.places.push(place);
        }
    }

    /// Corners of `holder` and points of its rim that lie over `target`, which is side `surface` of the pair.
    fn corners(&mut self, surface: Side, holder: &Face<'_>, target: &Face<'_>) {
        for (index, feature) in holder.features() {
            match feature {
                Feature::Point { position, .. } => self.corner(surface, index, 0, &position, target),
                Feature::Segment { .. } => {}
                Feature::Circle { center, axis, start, radius } => {
                    let across = axis.cross(&start);
                    for k in 0..RIM_POINTS {
                        let (sin, cos) = (std::f64::consts::TAU * k as f64 / RIM_POINTS as f64).sin_cos();
                        let point = center + (start * cos + across * sin) * radius;
                        self.corner(surface, index, RIM_BRANCH + k, &point, target);
                    }
                    let down = axis * axis.dot(&target.normal) - target.normal;
                    if let Some(down) = down.try_normalize(LEVEL) {
                        self.corner(surface, index, 0, &(center + down * radius), target);
                    }
                }
            }
        }
    }

    fn corner(&mut self, surface: Side, feature: usize, branch: usize, point: &Vec3, target: &Face<'_>) {
        if !target.covers(point) {
            return;
        }
        let id = identity(self.pair, surface, 0, feature, branch as u8);
        let gap = target.height(point);
        let place = Place { id, surface, point_a: *point, normal: target.normal, gap, is_filler: false };
        self.push(match surface {
            Side::B => place,
            Side::A => Place { point_a: point - target.normal * gap, normal: -target.normal, ..place },
        });
    }

    /// Places where edges and rims of the two faces cross.
    fn crossings(&mut self, a: &Face<'_>, b: &Face<'_>) {
        let Some(normal) = (b.normal - a.normal).try_normalize(0.5) else { return };
        for (index_a, feature_a) in a.features() {
            for (index_b, feature_b) in b.features() {
                for (which, point) in cross(&feature_a, &feature_b, &normal).into_iter().enumerate() {
                    let Some(point) = point else { continue };
                    // Along the normal onto both faces.
                    let onto = |face: &Face<'_>| point - normal * (face.height(&point) / face.normal.dot(&normal));
                    let (point_a, point_b) = (onto(a), onto(b));
                    // Features of a mesh beyond the branches are counted in the upper bits of the number.
                    let branch = CROSSING_BRANCH + 2 * (index_b % BRANCHED) + which;
                    let number = index_a | (index_b / BRANCHED) << FEATURE_BITS;
                    let id = identity(self.pair, Side::B, 0, number, branch as u8);
                    let gap = normal.dot(&(point_a - point_b));
                    self.push(Place { id, surface: Side::B, point_a, normal, gap, is_filler: false });
                }
            }
        }
    }
}

/// Where two curves cross in the projection along `normal`; heights along `normal` are not defined.
fn cross(one: &Feature, other: &Feature, normal: &Vec3) -> [Option<Vec3>; 2] {
    match (one, other) {
        (Feature::Segment { a, b, .. }, Feature::Segment { a: from, b: to, .. }) => {
            [cross_edges((a, b), (from, to), normal), None]
        }
        (Feature::Segment { a, b, .. }, Feature::Circle { center, radius, .. })
        | (Feature::Circle { center, radius, .. }, Feature::Segment { a, b, .. }) => {
            cross_edge_and_rim((a, b), center, *radius, normal)
        }
        (
            Feature::Circle { center, radius, .. },
            Feature::Circle { center: other_center, radius: other_radius, .. },
        ) => cross_rims((center, *radius), (other_center, *other_radius), normal),
        _ => [None; 2],
    }
}

fn cross_edges(one: (&Vec3, &Vec3), other: (&Vec3, &Vec3), normal: &Vec3) -> Option<Vec3> {
    let (along, across, from) = (one.1 - one.0, other.1 - other.0, other.0 - one.0);
    let area = normal.dot(&along.cross(&across));
    if area.abs() <= PARALLEL * along.norm() * across.norm() {
        return None;
    }
    let part = normal.dot(&from.cross(&across)) / area;
    let other_part = normal.dot(&from.cross(&along)) / area;
    let within = |part: f64, edge: &Vec3| (part - 0.5).abs() * edge.norm() <= 0.5 * edge.norm() + FLUSH_M;
    (within(part, &along) && within(other_part, &across)).then(|| one.0 + along * part)
}

fn cross_edge_and_rim(edge: (&Vec3, &Vec3), center: &Vec3, radius: f64, normal: &Vec3) -> [Option<Vec3>; 2] {
    let flat = |v: Vec3| v - normal * normal.dot(&v);
    let (along, from) = (flat(edge.1 - edge.0), flat(edge.0 - center));
    let length = along.norm();
    if length == 0.0 {
        return [None; 2];
    }
    let way = along / length;
    let nearest = -from.dot(&way);
    let square = radius * radius - (from + way * nearest).norm_squared();
    if square <= 0.0 {
        return [None; 2];
    }
    [-square.sqrt(), square.sqrt()].map(|half| {
        let s = nearest + half;
        (s >= -FLUSH_M && s <= length + FLUSH_M).then(|| edge.0 + (edge.1 - edge.0) * (s / length))
    })
}

/// The projections of both rims are taken for circles: right to the square of the tilt.
fn cross_rims(one: (&Vec3, f64), other: (&Vec3, f64), normal: &Vec3) -> [Option<Vec3>; 2] {
    let between = other.0 - one.0;
    let flat = between - normal * normal.dot(&between);
    let distance = flat.norm();
    if distance <= FLUSH_M {
        return [None; 2];
    }
    let along = (distance * distance + one.1 * one.1 - other.1 * other.1) / (2.0 * distance);
    let square = one.1 * one.1 - along * along;
    if square <= 0.0 {
        return [None; 2];
    }
    let way = flat / distance;
    let side = normal.cross(&way);
    [-square.sqrt(), square.sqrt()].map(|half| Some(one.0 + way * along + side * half))
}
