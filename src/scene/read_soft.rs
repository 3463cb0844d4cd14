//! Deformable bodies as written: their shapes, `elastic`, groups and regions.
//!
//! Thread: cold. Whether model, step and what holds the body go together is checked when the scene is built ([`super::build_soft`]).

use super::read_operator::{asked_name, read_name};
use super::read_part::UNITS;
use super::read_shape::{LENGTH_M, PLACE_MAX_M, direction, length, offset, one_of, radius};
use super::read_tissue::read_breathing;
use super::spec::{ShapeSpec, Source};
use super::spec_soft::{
    ElasticSpec, GroupSpec, MaterialSpec, RegionSpec, Selection, SoftForm, SoftModelKind, SoftShapeSpec, SoftStepKind,
};
use crate::fem::Rayleigh;
use crate::files::{Dimension, Problem, Table};
use crate::geometry::tet::Region;
use crate::math::Vec3;

/// Softest and stiffest body, Pa: mucus lies below, diamond has 1.2e12.
pub(super) const YOUNG_PA: (f64, f64) = (100.0, 2e12);
/// Largest Poisson's ratio: nearer to ½ elements lock.
pub(super) const POISSON_MAX: f64 = 0.49;
/// Largest density, kg/m³: osmium has 22 600.
const DENSITY_MAX: f64 = 30_000.0;
/// Largest damping of slow motion, 1/s, and of fast motion, s.
pub(super) const DAMPING_MAX: (f64, f64) = (1e4, 1.0);
/// Most groups and most regions of a body.
pub(super) const GROUPS_MAX: usize = 16;
/// See [`GROUPS_MAX`].
pub(super) const REGIONS_MAX: usize = 16;

const MODELS: [(&str, SoftModelKind); 2] =
    [("linear", SoftModelKind::Linear), ("corotational", SoftModelKind::Corotational)];
const STEPS: [(&str, SoftStepKind); 5] = [
    ("static", SoftStepKind::Static),
    ("pmi", SoftStepKind::Pmi),
    ("reduced", SoftStepKind::Reduced),
    ("implicit", SoftStepKind::Implicit),
    ("auto", SoftStepKind::Auto),
];
/// Thickness of a cup at its lip, where the file does not state it, in parts of that in the middle.
const LIP_OF_WALL: f64 = 0.4;
/// Ways to choose a part of space.
const PLACES: [&str; 3] = ["box", "sphere", "above"];

/// What kind of solid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SoftKind {
    Box,
    Cylinder,
    Sphere,
    Shell,
    Tube,
    Torus,
    Cup,
    Mesh,
    Stuffed,
}

/// Reads the keys of deformable solids where the kind of the shape is unknown.
pub(super) fn ask_for(shape: &Table<'_>) {
    for key in ["thickness", "lip", "stem"] {
        length(shape, key).optional();
    }
    shape.boolean("quadratic").optional();
}

/// The solid in the table `shape`.
pub(super) fn read_form(shape: &Table<'_>, kind: SoftKind) -> Option<ShapeSpec> {
    let is_quadratic = shape.boolean("quadratic").or(true);
    let cell_m = match kind {
        SoftKind::Mesh => None,
        _ => length(shape, "cell").required(),
    };
    let thickness = || length(shape, "thickness").required();
    let form = match kind {
        SoftKind::Box => {
            let size = shape.vector("size", Dimension::Length).at_least(LENGTH_M.0).at_most(LENGTH_M.1);
            SoftForm::Box { size: size.required()? }
        }
        SoftKind::Cylinder => {
            let (radius, length) = (radius(shape), length(shape, "length").required());
            SoftForm::Cylinder { radius_m: radius?, length_m: length? }
        }
        SoftKind::Sphere => SoftForm::Sphere { radius_m: radius(shape)? },
        SoftKind::Shell => {
            let (radius, wall) = (radius(shape), thickness());
            SoftForm::Shell { radius_m: radius?, wall_m: wall? }
        }
        SoftKind::Tube => {
            let (radius, length, wall) = (radius(shape), length(shape, "length").required(), thickness());
            SoftForm::Tube { radius_m: radius?, length_m: length?, wall_m: wall? }
        }
        SoftKind::Torus => {
            let (radius, section) = (radius(shape), thickness());
            SoftForm::Torus { radius_m: radius?, section_m: 0.5 * section? }
        }
        SoftKind::Cup => {
            let (radius, height, wall) = (radius(shape), length(shape, "length").required(), thickness());
            let (depth, stem) = (length(shape, "depth").required(), length(shape, "stem").required());
            let lip = length(shape, "lip").optional();
            let wall_m = wall?;
            SoftForm::Cup {
                radius_m: radius?,
                height_m: height?,
                depth_m: depth?,
                wall_m,
                lip_m: lip.unwrap_or(LIP_OF_WALL * wall_m),
                stem_m: 0.5 * stem?,
            }
        }
        SoftKind::Mesh | SoftKind::Stuffed => {
            let file = shape.string("file").check(|text| !text.trim().is_empty(), "the path of a mesh").required();
            let unit = shape.word("unit", &UNITS).required();
            let (file, unit) = (file?, unit?);
            if kind == SoftKind::Mesh { SoftForm::Mesh { file, unit } } else { SoftForm::Stuffed { file, unit } }
        }
    };
    (kind == SoftKind::Mesh || cell_m.is_some()).then_some(ShapeSpec::Soft(SoftShapeSpec {
        form,
        cell_m,
        is_quadratic,
    }))
}

/// What a deformable shape belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Body,
    /// A tool has a mass of its own, that of its proxy.
    Tool,
}

/// `elastic = { … }`, `[[group]]` and `[[region]]` of a body or a tool, for shapes that deform only; `at` is how it is marked.
pub(super) fn read_elastic(
    body: &Table<'_>,
    (deforms, owner): (bool, Owner),
    at: &str,
    source: &mut Source,
) -> Option<ElasticSpec> {
    for key in ["elastic", "group", "region"] {
        if !deforms && body.contains(key) {
            let help = "remove it, or take a shape of kind \"snap-socket\", \"soft-box\" or another that deforms";
            body.error(key, &format!("`{key}` is for shapes that deform"), help);
        }
    }
    for key in ["fixed", "mass", "density"] {
        if deforms && owner == Owner::Body && body.contains(key) {
            let help = "remove it; `held` in `elastic` holds groups of the mesh, `density` in `elastic` gives the mass";
            body.error(key, &format!("`{key}` has no meaning for a shape that deforms"), help);
        }
    }
    let groups = read_some(body, ("group", GROUPS_MAX), (at, &mut *source), read_group);
    let regions = read_some(body, ("region", REGIONS_MAX), (at, &mut *source), read_region);
    let Some(table) = body.table("elastic").optional() else {
        if deforms && !body.contains("elastic") {
            let problem = Problem::error(body.span(), "the shape deforms, but `elastic` is missing");
            body.report(problem.help(format!("write elastic = {{ {} }}", usual_material(body))));
        }
        return None;
    };
    source.mark(format!("{at}.held"), table.span_of("held"));
    source.mark(format!("{at}.reduced"), table.span_of("reduced"));
    source.mark(format!("{at}.step"), table.span_of("step"));
    let material = read_material(&table);
    let damping = read_damping(&table.section("damping"));
    let named = |names: &Vec<String>| names.iter().all(|name| !name.trim().is_empty());
    let held = table.strings("held").check(named, "names of groups, such as \"bottom\"").optional();
    let model = table.word("model", &MODELS).optional();
    let step = table.word("step", &STEPS).or(SoftStepKind::Auto);
    let reduced = table.string("reduced").check(|text| !text.trim().is_empty(), "the path of a reduced model");
    let reduced = reduced.optional();
    let self_contact = table.boolean("self_contact").or(false);
    let breathing = table.table("breathing").optional().map(|table| read_breathing(&table));
    let (groups, regions) = (groups?, regions?);
    let breathing = breathing.map_or(Some(None), |breathing| breathing.map(Some))?;
    Some(ElasticSpec { material, damping, held, model, step, reduced, self_contact, breathing, groups, regions })
}

/// The tables `[[key]]`; none where one of them is wrong.
fn read_some<T>(
    body: &Table<'_>,
    (key, most): (&str, usize),
    (at, source): (&str, &mut Source),
    read: fn(&Table<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let tables = body.tables(key);
    for (index, table) in tables.iter().enumerate() {
        source.mark(format!("{at}.{key}.{index}"), table.span());
    }
    if let Some(extra) = tables.get(most) {
        let message = format!("there are {} of `{key}`; at most {most} fit", tables.len());
        extra.report(Problem::error(extra.span(), message).help("join some of them"));
    }
    let read: Vec<Option<T>> = tables.iter().map(read).collect();
    read.into_iter().collect()
}

fn read_material(table: &Table<'_>) -> MaterialSpec {
    let young = table.quantity("young", Dimension::Pressure).at_least(YOUNG_PA.0).at_most(YOUNG_PA.1);
    MaterialSpec {
        young_pa: young.optional(),
        poisson: table.number("poisson").not_negative().at_most(POISSON_MAX).optional(),
        density: table.quantity("density", Dimension::Density).positive().at_most(DENSITY_MAX).optional(),
    }
}

/// A material to begin with: plastic of a snap connector, or jelly.
fn usual_material(body: &Table<'_>) -> &'static str {
    let kind = body.table("shape").optional().and_then(|shape| shape.string("kind").optional());
    if kind.as_deref() == Some("snap-socket") {
        "young = \"165 MPa\", poisson = 0.35, density = \"1050 kg/m^3\""
    } else {
        "young = \"20 kPa\", poisson = 0.4, density = \"1000 kg/m^3\""
    }
}

/// `damping = { mass, stiffness }`
fn read_damping(table: &Table<'_>) -> Rayleigh {
    let mass = table.quantity("mass", Dimension::Frequency).not_negative().at_most(DAMPING_MAX.0);
    let stiffness = table.quantity("stiffness", Dimension::Time).not_negative().at_most(DAMPING_MAX.1);
    Rayleigh { mass_per_s: mass.or(0.0), stiffness_s: stiffness.or(0.0) }
}

fn read_group(table: &Table<'_>) -> Option<GroupSpec> {
    let name = read_name(table);
    let region = one_of(table, "the place of the group", &PLACES, |key| read_place(table, key));
    Some(GroupSpec { name: name?, region: region? })
}

fn read_region(table: &Table<'_>) -> Option<RegionSpec> {
    let keys = ["group", "box", "sphere", "above"];
    let part = one_of(table, "the place of the region", &keys, |key| {
        if key == "group" {
            let name = table.string(key).check(|text| !text.trim().is_empty(), "the name of a group");
            return name.optional().map(Selection::Group);
        }
        read_place(table, key).map(Selection::Region)
    });
    let material = read_material(table);
    let name = asked_name(table).optional();
    let scatter_m = table.quantity("scatter", Dimension::Length).not_negative().at_most(1.0).or(0.0);
    Some(RegionSpec { name, part: part?, scatter_m, moved: Vec3::zeros(), material })
}

/// One of [`PLACES`].
fn read_place(table: &Table<'_>, key: &str) -> Option<Region> {
    let place = table.table(key).optional()?;
    let point = |key: &str| place.vector(key, Dimension::Length).at_least(-PLACE_MAX_M).at_most(PLACE_MAX_M).required();
    match key {
        "box" => {
            let (a, b): (Option<Vec3>, Option<Vec3>) = (point("from"), point("to"));
            let (a, b) = (a?, b?);
            Some(Region::Box { from: a.inf(&b), to: a.sup(&b) })
        }
        "sphere" => {
            let (center, radius) = (point("center"), length(&place, "radius").required());
            Some(Region::Sphere { center: center?, radius_m: radius? })
        }
        _ => {
            let (axis, offset) = (direction(&place, "axis"), offset(&place, "offset"));
            Some(Region::Above { axis: axis?, offset_m: offset? })
        }
    }
}
