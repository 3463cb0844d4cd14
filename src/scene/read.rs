//! Scene files: `format = "hapticd-scene/1"` to a [`SceneSpec`].
//!
//! Thread: cold.
//!
//! Names follow MJCF and the device files where they have the same thing. Numbers have bounds that no sensible scene
//! reaches and that a slip of a unit passes.

use super::read_air::read_air;
use super::read_joint::read_joints;
use super::read_operator::{Names, read_operator};
use super::read_shape::{read_pose, read_shape};
use super::read_soft::{Owner, read_elastic};
use super::read_task::read_task;
use super::read_tissue::{read_needle, read_tissue};
use super::read_turning::read_turning;
use super::spec::{
    BodySpec, CouplingKind, CouplingSpec, HandSpec, SafetySpec, SceneSpec, ShapeSpec, Source, ToolSpec, Weight,
};
use crate::collision::{MAX_BODIES, Reduction};
use crate::files::{Dimension, Format, LoadError, Loaded, Problem, Report, Table, load as load_file, read};
use crate::geometry::Shape;
use crate::haptic::TRANSPARENT_BANDWIDTH_HZ;
use crate::math::{Mapping, Pose, Rot, Vec3};
use crate::shared::MAX_HANDS;
use crate::sim::{Material, SOFT_CONTACTS};
use std::path::Path;

/// Most bodies besides the tools.
pub(super) const BODIES_MAX: usize = MAX_BODIES - MAX_HANDS;
/// Most materials; the largest scene uses a tenth.
const MATERIALS_MAX: usize = 64;
/// Names of the reductions of contacts.
const CLUSTERINGS: [(&str, Reduction); 2] = [("patches", Reduction::Pressure), ("k-means", Reduction::KMeans)];
/// Slowest and fastest simulation, Hz.
const SIMULATION_HZ: (f64, f64) = (30.0, 1000.0);
/// Simulation when nothing is said, Hz.
const SIMULATION_DEFAULT_HZ: f64 = 250.0;
/// Largest gap at which contacts are kept ready, m.
const MARGIN_MAX_M: f64 = 0.2;
/// Contacts of a pair with a soft body, at least and at most. Fewer than four do not hold a body; more than a few hundred take longer than a step.
pub(super) const SOFT_CONTACTS_BOUNDS: (i64, i64) = (4, 1024);
/// Strongest gravity along an axis, m/s².
const GRAVITY_MAX: f64 = 100.0;
/// Smallest and largest mass of a body, kg.
const MASS_KG: (f64, f64) = (1e-6, 1000.0);
/// Largest density, kg/m³: osmium has 22 600.
const DENSITY_MAX: f64 = 30_000.0;
/// Largest coefficient of friction.
const FRICTION_MAX: f64 = 5.0;
/// Smallest and largest scale of motion or force.
const SCALE: (f64, f64) = (1e-4, 1e4);
/// Shortest and longest ramp from enable to full force, s. Below, the onset would be a jolt.
const RAMP_S: (f64, f64) = (0.1, 10.0);
/// Bandwidth of the transparent coupling, Hz: least, default, most.
const BANDWIDTH_HZ: (f64, f64, f64) = (1.0, TRANSPARENT_BANDWIDTH_HZ, 500.0);
/// Highest number of a button.
pub(super) const BUTTONS_MAX: i64 = 32;

/// Reads a scene file; `name` is what it is called in the report.
///
/// # Errors
/// A [`Report`] with every problem found.
pub fn parse(bytes: &[u8], name: &str) -> Result<Loaded<SceneSpec>, Report> {
    let mut loaded = read(bytes, name, Format::SCENE, scene)?;
    loaded.value.source.name = name.to_owned();
    loaded.value.source.text = String::from_utf8_lossy(bytes).into_owned();
    Ok(loaded)
}

/// Reads the scene file at `path`.
///
/// # Errors
/// [`LoadError`] says whether it could not be read or what is wrong in it.
pub fn load(path: &Path) -> Result<Loaded<SceneSpec>, LoadError> {
    load_file(path, parse)
}

fn scene(root: &Table<'_>) -> Option<SceneSpec> {
    let mut source = Source::default();
    let title = root.string("title").check(|text| !text.trim().is_empty(), "a name for people").required();
    let description = root.string("description").or(String::new());
    let defaults = root.section("defaults");
    let device = defaults.string("device").check(|text| !text.trim().is_empty(), "the name or the path of a device");
    let device = device.optional();
    let world = root.section("world");
    let gravity = world.vector("gravity", Dimension::Acceleration).at_least(-GRAVITY_MAX).at_most(GRAVITY_MAX);
    let gravity = gravity.or(Vec3::new(0.0, 0.0, -9.81));
    let margin_m = world.quantity("margin", Dimension::Length).positive().at_most(MARGIN_MAX_M).optional();
    source.mark("margin", world.span_of("margin"));
    let air = root.table("air").optional().map(|table| read_air(&table));
    let rate = root.section("rate");
    let simulation = rate.quantity("simulation", Dimension::Frequency).at_least(SIMULATION_HZ.0);
    let simulation_hz = simulation.at_most(SIMULATION_HZ.1).or(SIMULATION_DEFAULT_HZ);
    source.mark("simulation", rate.span_of("simulation"));
    let materials = read_materials(root);
    let material_names: Vec<&str> = materials.iter().map(|m| m.name.as_str()).collect();
    let bodies = read_bodies(root, &material_names, &mut source);
    let tool = root.table("tool").required().and_then(|table| read_tool(&table, &material_names, &mut source));
    let needle = root.table("needle").optional().map(|table| read_needle(&table, &mut source));
    let coupling = root.table("coupling").required().and_then(|table| read_coupling(&table, &mut source));
    let (mapping, clutch_button) = read_mapping(&root.section("mapping"), &mut source);
    let turning = read_turning(root, &mut source);
    let safety = read_safety(&root.section("safety"), &mut source);
    let collision = root.section("collision");
    let collision_thread = collision.boolean("thread").or(false);
    let reduction = collision.word("clustering", &CLUSTERINGS).or(Reduction::default());
    let soft_contacts = collision.integer("soft_contacts", SOFT_CONTACTS_BOUNDS.0..=SOFT_CONTACTS_BOUNDS.1);
    let soft_contacts = soft_contacts.or(SOFT_CONTACTS as i64) as usize;
    let body_names: Vec<&str> = bodies.iter().map(|(name, _)| name.as_str()).take(BODIES_MAX).collect();
    let names = Names { bodies: &body_names, upright: upright(tool.as_ref()), clutch: clutch_button };
    let operator = read_operator(&root.section("operator"), &names, &mut source);
    let second = root.table("second_hand").optional().map(|table| read_second(&table, &material_names, &body_names));
    let task = read_task(&root.section("task"), &body_names, &mut source);
    let joints = read_joints(root, &body_names, &mut source);
    Some(SceneSpec {
        title: title?,
        description,
        device,
        gravity,
        margin_m,
        air,
        simulation_hz,
        collision_thread,
        reduction,
        soft_contacts,
        bodies: bodies.into_iter().map(|(_, body)| body).collect::<Option<_>>()?,
        materials,
        joints: joints?,
        tool: tool?,
        needle,
        coupling: coupling?,
        mapping,
        clutch_button,
        turning,
        safety,
        operator,
        task,
        second_hand: second.map(|hand| hand.map(Box::new)).map_or(Some(None), |hand| hand.map(Some))?,
        source,
    })
}

/// Orientation of a target that states none.
fn upright(tool: Option<&ToolSpec>) -> Rot {
    tool.map_or_else(Rot::identity, |tool| tool.pose.rotation)
}

fn read_second(table: &Table<'_>, materials: &[&str], bodies: &[&str]) -> Option<HandSpec> {
    let mut source = Source::default();
    let device = table.string("device").check(|text| !text.trim().is_empty(), "the name or the path of a device");
    let device = device.optional();
    let tool = table.table("tool").required().and_then(|table| read_tool(&table, materials, &mut source));
    let (mapping, clutch_button) = read_mapping(&table.section("mapping"), &mut source);
    let turning = read_turning(table, &mut source);
    let names = Names { bodies, upright: upright(tool.as_ref()), clutch: clutch_button };
    let operator = read_operator(&table.section("operator"), &names, &mut source);
    Some(HandSpec { device, tool: tool?, mapping, clutch_button, turning, operator, source })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 48 && text.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

fn check_name(table: &Table<'_>, name: &str, what: &str) {
    if !is_name(name) {
        let message = format!("this cannot be the name of a {what}");
        table.report(Problem::error(table.span(), message).help("use letters, digits, - and _, at most 48"));
    }
}

/// Reports the first of too many; the rest is read all the same, for what else is wrong in it.
fn check_count(tables: &[(String, Table<'_>)], what: &str, most: usize) {
    if let Some((_, table)) = tables.get(most) {
        let message = format!("there are {} {what}; at most {most} fit", tables.len());
        table.report(Problem::error(table.span(), message).help("leave some out, or split the scene"));
    }
}

/// The materials, but no more than fit.
fn read_materials(root: &Table<'_>) -> Vec<Material> {
    let tables = root.named("material");
    check_count(&tables, "materials", MATERIALS_MAX);
    let read = |(name, table): (String, Table<'_>)| {
        check_name(&table, &name, "material");
        let friction = table.number("friction").not_negative().at_most(FRICTION_MAX).required();
        let restitution = table.number("restitution").not_negative().at_most(1.0).or(0.0);
        // One that is wrong keeps its place, so that bodies made of it are not reported as well.
        Material { name, friction: friction.unwrap_or_default(), restitution }
    };
    let mut materials: Vec<Material> = tables.into_iter().map(read).collect();
    materials.truncate(MATERIALS_MAX);
    materials
}

/// Names of all bodies, and those that could be read.
fn read_bodies(root: &Table<'_>, materials: &[&str], source: &mut Source) -> Vec<(String, Option<BodySpec>)> {
    let tables = root.named("body");
    check_count(&tables, "bodies", BODIES_MAX);
    let read = |(index, (name, table)): (usize, (String, Table<'_>))| {
        check_name(&table, &name, "body");
        source.mark(format!("body.{index}"), table.span());
        source.mark(format!("body.{index}.pose"), table.span_of("pose"));
        let weight = if table.contains("density") { "density" } else { "mass" };
        source.mark(format!("body.{index}.weight"), table.span_of(weight));
        for key in ["shape", "tissue", "layer", "elastic"] {
            source.mark(format!("body.{index}.{key}"), table.span_of(key));
        }
        let body = read_body(&table, (index, &name), materials, source);
        (name, body)
    };
    tables.into_iter().enumerate().map(read).collect()
}

fn read_body(
    table: &Table<'_>,
    (index, name): (usize, &str),
    materials: &[&str],
    source: &mut Source,
) -> Option<BodySpec> {
    let shape = read_shape(table);
    let material = table.reference("material", "material", materials).required();
    let pose = read_pose(table, "pose");
    let fixed = table.boolean("fixed").or(false);
    let mass = table.quantity("mass", Dimension::Mass).at_least(MASS_KG.0).at_most(MASS_KG.1);
    let density = table.quantity("density", Dimension::Density).positive().at_most(DENSITY_MAX);
    let deforms = matches!(shape, Some(ShapeSpec::Socket { .. } | ShapeSpec::Soft(_)));
    let elastic = read_elastic(table, (deforms, Owner::Body), &format!("body.{index}"), source);
    let is_tissue = matches!(shape, Some(ShapeSpec::Tissue(_)));
    let tissue = read_tissue(table, is_tissue);
    let weight = match (fixed, table.contains("mass"), table.contains("density")) {
        _ if deforms => elastic.as_ref().map(|_| Weight::Elastic),
        _ if is_tissue => tissue.as_ref().map(|_| Weight::Tissue),
        (true, ..) => {
            for (key, value) in [("mass", mass.optional()), ("density", density.optional())] {
                if value.is_some() {
                    let message = format!("`{key}` has no effect: the body is fixed");
                    table.warn(key, &message, "remove it, or write fixed = false");
                }
            }
            Some(Weight::Fixed)
        }
        (false, true, true) => {
            table.error("density", "both `mass` and `density` are given", "remove one of them");
            None
        }
        (false, _, false) => mass.required().map(Weight::Mass),
        (false, false, true) => density.required().map(Weight::Density),
    };
    if !fixed && matches!(shape, Some(ShapeSpec::Plain(Shape::HalfSpace(_)))) {
        table.error("shape", "a half-space has no end and cannot move", "write fixed = true, or take a box");
    }
    let name = name.to_owned();
    Some(BodySpec { name, shape: shape?, weight: weight?, material: material?, pose, tissue, elastic })
}

fn read_tool(table: &Table<'_>, materials: &[&str], source: &mut Source) -> Option<ToolSpec> {
    source.mark("tool", table.span());
    source.mark("tool.pose", table.span_of("pose"));
    for key in ["shape", "elastic"] {
        source.mark(format!("tool.{key}"), table.span_of(key));
    }
    let shape = read_shape(table);
    let mass_kg = table.quantity("mass", Dimension::Mass).at_least(MASS_KG.0).at_most(MASS_KG.1).required();
    let material = table.reference("material", "material", materials).required();
    let pose = read_pose(table, "pose");
    if matches!(shape, Some(ShapeSpec::Socket { .. })) {
        table.error("shape", "a socket is held by its base, not by a hand", "take a plug, or another solid");
    }
    if matches!(shape, Some(ShapeSpec::Tissue(_))) {
        table.error("shape", "tissue cannot be held by a hand", "take a cylinder, or another solid, and add [needle]");
    }
    if matches!(shape, Some(ShapeSpec::Plain(Shape::HalfSpace(_)))) {
        table.error("shape", "a half-space has no end and cannot be held", "take a sphere, a box or another solid");
    }
    let deforms = matches!(shape, Some(ShapeSpec::Soft(_)));
    let elastic = read_elastic(table, (deforms, Owner::Tool), "tool", source);
    if deforms && elastic.is_none() {
        return None;
    }
    Some(ToolSpec { shape: shape?, mass_kg: mass_kg?, material: material?, pose, elastic })
}

const COUPLINGS: [(&str, CouplingKind); 3] =
    [("spring", CouplingKind::Spring), ("transparent", CouplingKind::Transparent), ("direct", CouplingKind::Direct)];

fn read_coupling(table: &Table<'_>, source: &mut Source) -> Option<CouplingSpec> {
    source.mark("coupling", table.span());
    for key in ["stiffness", "damping", "angular_stiffness", "angular_damping"] {
        source.mark(format!("coupling.{key}"), table.span_of(key));
    }
    let kind = table.word("kind", &COUPLINGS).or(CouplingKind::Spring);
    let stiffness = table.quantity("stiffness", Dimension::Stiffness).positive().at_most(1e6).required();
    let damping = table.quantity("damping", Dimension::Damping).not_negative().at_most(1e4).required();
    let angular_stiffness = table.quantity("angular_stiffness", Dimension::AngularStiffness).positive().at_most(1e4);
    let angular_damping = table.quantity("angular_damping", Dimension::AngularDamping).not_negative().at_most(100.0);
    let (angular_stiffness, angular_damping) = (angular_stiffness.optional(), angular_damping.optional());
    let bandwidth = table.quantity("bandwidth", Dimension::Frequency).at_least(BANDWIDTH_HZ.0);
    let bandwidth_hz = bandwidth.at_most(BANDWIDTH_HZ.2).or(BANDWIDTH_HZ.1);
    let unused = |key: &str, because: &str| {
        if table.contains(key) {
            table.warn(key, &format!("`{key}` has no effect: {because}"), "remove it, or choose another kind");
        }
    };
    if kind == CouplingKind::Direct {
        unused("angular_stiffness", "without a proxy there is no spring to it");
        unused("angular_damping", "without a proxy there is no damper to it");
    }
    if kind != CouplingKind::Transparent {
        unused("bandwidth", "only the transparent coupling follows the force of the hand");
    }
    Some(CouplingSpec {
        kind,
        stiffness: stiffness?,
        damping: damping?,
        angular_stiffness,
        angular_damping,
        bandwidth_hz,
    })
}

fn read_mapping(table: &Table<'_>, source: &mut Source) -> (Mapping, Option<u8>) {
    source.mark("clutch_button", table.span_of("clutch_button"));
    let scale = |key: &str| table.number(key).at_least(SCALE.0).at_most(SCALE.1).or(1.0);
    let mapping = Mapping {
        motion_scale: scale("motion"),
        force_scale: scale("force"),
        pose_world_device: read_pose(table, "pose"),
    };
    (mapping, read_button(table, "clutch_button"))
}

/// A button by its number from 1, as a number of a bit.
pub(super) fn read_button(table: &Table<'_>, key: &str) -> Option<u8> {
    let number = table.integer(key, 1..=BUTTONS_MAX).optional()?;
    u8::try_from(number - 1).ok()
}

fn read_safety(table: &Table<'_>, source: &mut Source) -> SafetySpec {
    let mut limit = |key: &str, dimension: Dimension, most: f64| {
        source.mark(format!("safety.{key}"), table.span_of(key));
        table.quantity(key, dimension).positive().at_most(most).optional()
    };
    // The upper bounds are those of device files.
    let mut safety = SafetySpec {
        max_force_n: limit("max_force", Dimension::Force, 200.0),
        max_torque_nm: limit("max_torque", Dimension::Torque, 20.0),
        max_speed_m_per_s: limit("max_speed", Dimension::Velocity, 20.0),
        max_angular_speed_rad_per_s: limit("max_angular_speed", Dimension::AngularVelocity, 500.0),
        max_power_w: limit("max_power", Dimension::Power, 1000.0),
        ramp_up_s: None,
        passivity: table.word("passivity", &[("bound", true), ("off", false)]).or(true),
    };
    source.mark("safety.passivity", table.span_of("passivity"));
    let ramp = table.quantity("ramp_up", Dimension::Time).at_least(RAMP_S.0).at_most(RAMP_S.1);
    safety.ramp_up_s = ramp.optional();
    safety
}

/// The pose of a target: where it is said, with the orientation that is said or else `upright`.
pub(super) fn target(table: &Table<'_>, upright: Rot) -> Option<Pose> {
    let place = super::read_shape::place(table).required();
    let rotation = super::read_shape::rotation(table).unwrap_or(upright);
    Some(Pose::from_parts(place?.into(), rotation))
}
