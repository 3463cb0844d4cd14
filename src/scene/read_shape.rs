//! Shapes, poses and directions as written. Machined parts are read by [`super::read_part`].
//!
//! Thread: cold.

use super::read_part::{PART_KEYS, ask_for, read_part};
use super::read_snap;
use super::read_soft::{self, SoftKind};
use super::read_tissue::{self, TissueKind};
use super::spec::{PartKind, ShapeSpec};
use crate::files::{Dimension, Field, Problem, Table};
use crate::geometry::{Bore, Capsule, Cuboid, Cylinder, HalfSpace, Shape, Sphere};
use crate::math::{Pose, Rot, Vec3};

/// Smallest and largest length of a shape, m: a slip of a unit lies outside.
pub(super) const LENGTH_M: (f64, f64) = (1e-6, 10.0);
/// Farthest place from the origin along an axis, m.
pub(super) const PLACE_MAX_M: f64 = 10.0;
/// Largest angle of a pose, rad: once around.
const ANGLE_MAX_RAD: f64 = std::f64::consts::TAU;

#[derive(Clone, Copy)]
enum Kind {
    Box,
    Sphere,
    Cylinder,
    Capsule,
    HalfSpace,
    Bore,
    Part(PartKind),
    Plug,
    Socket,
    Tissue(TissueKind),
    Soft(SoftKind),
}

const KINDS: [(&str, Kind); 25] = [
    ("box", Kind::Box),
    ("sphere", Kind::Sphere),
    ("cylinder", Kind::Cylinder),
    ("capsule", Kind::Capsule),
    ("half-space", Kind::HalfSpace),
    ("bore", Kind::Bore),
    ("bolt", Kind::Part(PartKind::Bolt)),
    ("nut", Kind::Part(PartKind::Nut)),
    ("peg", Kind::Part(PartKind::Peg)),
    ("bore-block", Kind::Part(PartKind::BoreBlock)),
    ("mesh", Kind::Part(PartKind::Mesh)),
    ("snap-plug", Kind::Plug),
    ("snap-socket", Kind::Socket),
    ("tissue-block", Kind::Tissue(TissueKind::Block)),
    ("tissue-organ", Kind::Tissue(TissueKind::Organ)),
    ("tissue-mesh", Kind::Tissue(TissueKind::Mesh)),
    ("soft-box", Kind::Soft(SoftKind::Box)),
    ("soft-cylinder", Kind::Soft(SoftKind::Cylinder)),
    ("soft-sphere", Kind::Soft(SoftKind::Sphere)),
    ("soft-shell", Kind::Soft(SoftKind::Shell)),
    ("soft-tube", Kind::Soft(SoftKind::Tube)),
    ("soft-torus", Kind::Soft(SoftKind::Torus)),
    ("suction-cup", Kind::Soft(SoftKind::Cup)),
    ("tet-mesh", Kind::Soft(SoftKind::Mesh)),
    ("stuffed", Kind::Soft(SoftKind::Stuffed)),
];

/// The shape under `shape`.
pub(super) fn read_shape(table: &Table<'_>) -> Option<ShapeSpec> {
    let shape = table.table("shape").required()?;
    let Some(kind) = shape.word("kind", &KINDS).required() else {
        // Ask for all the others, so that they are not called unknown because the kind is.
        size(&shape).optional();
        for key in ["radius", "diameter", "length", "depth", "chamfer"] {
            length(&shape, key).optional();
        }
        PART_KEYS.iter().for_each(|key| ask_for(&shape, key));
        read_snap::ask_for(&shape);
        read_tissue::ask_for(&shape);
        read_soft::ask_for(&shape);
        return None;
    };
    let made = match kind {
        Kind::Box => Shape::Cuboid(Cuboid { half: size(&shape).required()? * 0.5 }),
        Kind::Sphere => Shape::Sphere(Sphere { radius: radius(&shape)? }),
        Kind::Cylinder => {
            let (radius, length) = (radius(&shape), length(&shape, "length").required());
            Shape::Cylinder(Cylinder { radius: radius?, half_length: length? * 0.5 })
        }
        Kind::Capsule => {
            let (radius, length) = (radius(&shape), length(&shape, "length").required());
            Shape::Capsule(Capsule { radius: radius?, half_length: length? * 0.5 })
        }
        Kind::HalfSpace => Shape::HalfSpace(HalfSpace),
        Kind::Bore => bore(&shape)?,
        Kind::Plug => return read_snap::read_plug(&shape),
        Kind::Socket => return read_snap::read_socket(&shape),
        Kind::Tissue(kind) => return read_tissue::read_form(&shape, kind),
        Kind::Soft(kind) => return read_soft::read_form(&shape, kind),
        Kind::Part(kind) => return read_part(&shape, kind).map(ShapeSpec::Part),
    };
    match made.check() {
        Ok(()) => Some(ShapeSpec::Plain(made)),
        Err(error) => {
            table.report(Problem::error(table.span_of("shape"), error.to_string()).label("such a shape cannot be"));
            None
        }
    }
}

fn bore(shape: &Table<'_>) -> Option<Shape> {
    let block = size(shape).required();
    let radius = radius(shape);
    let depth = length(shape, "depth").required();
    let chamfer = chamfer(shape).or(0.0);
    let (block, radius, depth) = (block?, radius?, depth?);
    Some(Shape::Bore(Bore { half_x: block.x * 0.5, half_y: block.y * 0.5, height: block.z, radius, depth, chamfer }))
}

fn size<'t, 'd>(table: &'t Table<'d>) -> Field<'t, 'd, Vec3> {
    table.vector("size", Dimension::Length).at_least(LENGTH_M.0).at_most(LENGTH_M.1)
}

pub(super) fn length<'t, 'd>(table: &'t Table<'d>, key: &str) -> Field<'t, 'd, f64> {
    table.quantity(key, Dimension::Length).at_least(LENGTH_M.0).at_most(LENGTH_M.1)
}

/// `chamfer`, which may be none.
pub(super) fn chamfer<'t, 'd>(table: &'t Table<'d>) -> Field<'t, 'd, f64> {
    table.quantity("chamfer", Dimension::Length).not_negative().at_most(LENGTH_M.1)
}

/// `radius`, or half of `diameter`.
pub(super) fn radius(table: &Table<'_>) -> Option<f64> {
    let (radius, diameter) = (length(table, "radius"), length(table, "diameter"));
    match (table.contains("radius"), table.contains("diameter")) {
        (true, true) => {
            table.error("diameter", "both `radius` and `diameter` are given", "remove one of them");
            None
        }
        (_, false) => radius.required(),
        (false, true) => diameter.required().map(|d| d * 0.5),
    }
}

/// The pose under `key`; no rotation and the origin when nothing is said.
pub(super) fn read_pose(table: &Table<'_>, key: &str) -> Pose {
    table.table(key).optional().map_or_else(Pose::identity, |pose| {
        let place = place(&pose).or(Vec3::zeros());
        Pose::from_parts(place.into(), rotation(&pose).unwrap_or_else(Rot::identity))
    })
}

/// `xyz` of a table.
pub(super) fn place<'t, 'd>(table: &'t Table<'d>) -> Field<'t, 'd, Vec3> {
    table.vector("xyz", Dimension::Length).at_least(-PLACE_MAX_M).at_most(PLACE_MAX_M)
}

/// `rpy` of a table, if it is there.
pub(super) fn rotation(table: &Table<'_>) -> Option<Rot> {
    let rpy = table.vector("rpy", Dimension::Angle).at_least(-ANGLE_MAX_RAD).at_most(ANGLE_MAX_RAD).optional()?;
    Some(Rot::from_euler_angles(rpy.x, rpy.y, rpy.z))
}

/// A direction: any three numbers but zeros, made a unit vector.
pub(super) fn direction(table: &Table<'_>, key: &str) -> Option<Vec3> {
    let written = table.vector(key, Dimension::Dimensionless).at_least(-1e6).at_most(1e6);
    let long_enough = |v: &Vec3| v.norm() > 1e-6;
    written.check(long_enough, "three numbers that are not all zero, such as [0, 0, 1]").required()?.try_normalize(0.0)
}

/// A place along a direction, such as the offset of a plane.
pub(super) fn offset(table: &Table<'_>, key: &str) -> Option<f64> {
    table.quantity(key, Dimension::Length).at_least(-PLACE_MAX_M).at_most(PLACE_MAX_M).required()
}

/// A distance above zero: tolerances, ways.
pub(super) fn distance(table: &Table<'_>, key: &str) -> Option<f64> {
    table.quantity(key, Dimension::Length).positive().at_most(PLACE_MAX_M).required()
}

/// An angle above zero.
pub(super) fn angle(table: &Table<'_>, key: &str) -> Option<f64> {
    table.quantity(key, Dimension::Angle).positive().at_most(ANGLE_MAX_RAD).required()
}

/// Reads the one of `keys` that is written. `read` must ask the table for the key it is given.
pub(super) fn one_of<T>(table: &Table<'_>, what: &str, keys: &[&str], read: impl Fn(&str) -> Option<T>) -> Option<T> {
    let values: Vec<Option<T>> = keys.iter().map(|key| read(key)).collect();
    let written: Vec<&str> = keys.iter().copied().filter(|key| table.contains(key)).collect();
    if let [_] = written[..] {
        return values.into_iter().flatten().next();
    }
    let quoted = |keys: &[&str]| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let problem = match written[..] {
        [] => Problem::error(table.span(), format!("{what} is missing")).label("needed here"),
        _ => Problem::error(table.span(), format!("{what} is given twice: {}", quoted(&written))),
    };
    table.report(problem.help(format!("write one of {}", quoted(keys))));
    None
}
