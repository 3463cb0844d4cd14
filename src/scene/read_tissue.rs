//! Needles and tissue as written.
//!
//! Thread: cold. What depends on more than one key, such as layers that do not fill their block, is found when the scene is built.

use super::read_operator::read_name;
use super::read_part::UNITS;
use super::read_shape::{LENGTH_M, PLACE_MAX_M, length};
use super::read_soft::POISSON_MAX;
use super::spec::{LayerSpec, NeedleSpec, ShapeSpec, Source, TissueForm, TissueSpec};
use crate::fem::{BeamSpec, Material, Relaxation};
use crate::files::{Dimension, Problem, Table};
use crate::math::Vec3;
use crate::sim::{Breathing, Forbidden, Layer, Target};

/// Softest and stiffest tissue, Pa: mucus and tendon lie outside.
pub(super) const YOUNG_PA: (f64, f64) = (100.0, 100e6);
/// Softest and stiffest needle, Pa.
pub(super) const NEEDLE_YOUNG_PA: (f64, f64) = (1e6, 2e12);
/// Largest density, kg/m³: bone has 2000.
pub(super) const DENSITY_MAX: f64 = 30_000.0;
/// Largest force at a tip, N.
pub(super) const TIP_MAX_N: f64 = 100.0;
/// Largest friction along the shaft, N/m.
pub(super) const FRICTION_MAX: f64 = 1e4;
/// Softest surface, m/N.
pub(super) const YIELD_MAX: f64 = 0.1;
/// Thickest needle, m.
pub(super) const OUTER_MAX_M: f64 = 0.02;
/// Shortest and longest needle, m.
pub(super) const NEEDLE_M: (f64, f64) = (5e-3, 0.5);
/// Least and largest distance of the points of a needle, and radius of the ball that forces are spread over, m.
pub(super) const SPACING_M: (f64, f64) = (5e-4, 0.05);
/// Sharpest curve of a channel, 1/m.
pub(super) const CURVATURE_MAX: f64 = 100.0;
/// Most nodes of a needle.
pub(super) const NODES_MAX: i64 = 100;
/// Most layers of a body, and most pieces of vessels in one.
pub(super) const LAYERS_MAX: usize = 8;
/// See [`LAYERS_MAX`].
pub(super) const FORBIDDEN_MAX: usize = 16;
/// Largest share that relaxes.
pub(super) const SHARE_MAX: f64 = 0.95;
/// Longest way of breathing along an axis, m, and its shortest and longest time, s.
pub(super) const WAY_MAX_M: f64 = 0.1;
/// See [`WAY_MAX_M`].
pub(super) const PERIOD_S: (f64, f64) = (0.5, 60.0);
/// Largest taper of an organ.
pub(super) const TAPER_MAX: f64 = 0.8;

/// What kind of tissue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TissueKind {
    Block,
    Organ,
    Mesh,
}

/// Asks for the keys of tissue where it is not known whether they belong.
pub(super) fn ask_for(shape: &Table<'_>) {
    length(shape, "cell").optional();
    taper(shape);
}

fn taper(shape: &Table<'_>) -> f64 {
    shape.number("taper").not_negative().at_most(TAPER_MAX).or(0.0)
}

/// `kind = "tissue-…"`
pub(super) fn read_form(shape: &Table<'_>, kind: TissueKind) -> Option<ShapeSpec> {
    if kind == TissueKind::Mesh {
        let file = shape.string("file").check(|text| !text.trim().is_empty(), "the path of a mesh").required();
        let unit = shape.word("unit", &UNITS).required();
        return Some(ShapeSpec::Tissue(TissueForm::Mesh { file: file?, unit: unit? }));
    }
    let size = shape.vector("size", Dimension::Length).at_least(LENGTH_M.0).at_most(LENGTH_M.1).required();
    let cell = length(shape, "cell").required();
    Some(ShapeSpec::Tissue(match kind {
        TissueKind::Organ => {
            let taper = taper(shape);
            TissueForm::Organ { size: size?, taper, cell_m: cell? }
        }
        _ => TissueForm::Block { size: size?, cell_m: cell? },
    }))
}

/// `[needle]`
pub(super) fn read_needle(table: &Table<'_>, source: &mut Source) -> NeedleSpec {
    source.mark("needle", table.span());
    let bore = |key: &str, default: f64| {
        table.quantity(key, Dimension::Length).not_negative().at_most(OUTER_MAX_M).or(default)
    };
    let spaced = |key: &str| table.quantity(key, Dimension::Length).at_least(SPACING_M.0).at_most(SPACING_M.1).or(8e-3);
    let young = table.quantity("young", Dimension::Pressure).at_least(NEEDLE_YOUNG_PA.0).at_most(NEEDLE_YOUNG_PA.1);
    let curvature = table.quantity("curvature", Dimension::Curvature).at_least(-CURVATURE_MAX).at_most(CURVATURE_MAX);
    NeedleSpec {
        beam: BeamSpec {
            length_m: table.quantity("length", Dimension::Length).at_least(NEEDLE_M.0).at_most(NEEDLE_M.1).or(0.15),
            outer_m: bore("outer", 1.27e-3),
            inner_m: bore("inner", 0.84e-3),
            young_pa: young.or(200e9),
            poisson: table.number("poisson").not_negative().at_most(POISSON_MAX).or(0.3),
            nodes: usize::try_from(table.integer("nodes", 2..=NODES_MAX).or(20)).unwrap_or(20),
            rigid: table.boolean("rigid").or(false),
        },
        friction: table.number("friction").not_negative().at_most(5.0).or(0.1),
        curvature_per_m: curvature.or(0.0),
        spacing_m: spaced("spacing"),
        spread_m: spaced("spread"),
    }
}

/// `tissue = { … }` and `[[layer]]` of a body, which tissue needs and nothing else has.
pub(super) fn read_tissue(body: &Table<'_>, is_tissue: bool) -> Option<TissueSpec> {
    for key in ["tissue", "layer"] {
        if is_tissue && !body.contains(key) {
            let problem = Problem::error(body.span(), format!("the body is tissue, but `{key}` is missing"));
            body.report(
                problem.help("write tissue = { held = [\"bottom\"] } and, for each layer, [[body.NAME.layer]]"),
            );
        }
        if !is_tissue && body.contains(key) {
            let help = "remove it, or take a shape of kind \"tissue-block\", \"tissue-organ\" or \"tissue-mesh\"";
            body.error(key, &format!("`{key}` is for tissue only"), help);
        }
    }
    for key in ["fixed", "mass", "density"] {
        if is_tissue && body.contains(key) {
            let message = format!("`{key}` has no meaning: tissue is held by `held` and deforms");
            body.error(key, &message, "remove it; each layer has its own density");
        }
    }
    let table = body.table("tissue").optional();
    let layers = body.tables("layer");
    if let Some(extra) = layers.get(LAYERS_MAX) {
        let message = format!("there are {} layers; at most {LAYERS_MAX} fit", layers.len());
        extra.report(Problem::error(extra.span(), message).help("join some of them"));
    }
    let layers: Vec<Option<LayerSpec>> = layers.iter().map(read_layer).collect();
    let held = table.as_ref().map(|table| {
        table
            .strings("held")
            .check(
                |held| held.iter().all(|name| !name.trim().is_empty()),
                "names of groups of the mesh, such as \"bottom\"",
            )
            .required()
    });
    let about = table.as_ref().map(read_about);
    let (relaxation, breathing, target, forbidden) = about?;
    Some(TissueSpec {
        layers: layers.into_iter().collect::<Option<_>>()?,
        held: held??,
        relaxation: relaxation?,
        breathing: breathing?,
        target: target?,
        forbidden: forbidden?,
    })
}

/// What may be said of tissue: each is none where it is wrong, and empty where it is not there.
type About = (Option<Option<Relaxation>>, Option<Option<Breathing>>, Option<Option<Target>>, Option<Vec<Forbidden>>);

fn read_about(table: &Table<'_>) -> About {
    (
        stated(table, "relaxation", read_relaxation),
        stated(table, "breathing", read_breathing),
        stated(table, "target", read_target),
        read_forbidden(table),
    )
}

/// A table that may be left out: none where it is wrong.
fn stated<T>(table: &Table<'_>, key: &str, read: impl Fn(&Table<'_>) -> Option<T>) -> Option<Option<T>> {
    let inner = table.table(key).optional();
    match (inner, table.contains(key)) {
        (Some(inner), _) => read(&inner).map(Some),
        (None, there) => (!there).then_some(None),
    }
}

fn read_layer(table: &Table<'_>) -> Option<LayerSpec> {
    let name = read_name(table);
    let thickness_m = length(table, "thickness").optional();
    let young = table.quantity("young", Dimension::Pressure).at_least(YOUNG_PA.0).at_most(YOUNG_PA.1).required();
    let poisson = table.number("poisson").not_negative().at_most(POISSON_MAX).or(0.45);
    let density = table.quantity("density", Dimension::Density).positive().at_most(DENSITY_MAX).or(1000.0);
    let force = |key: &str| table.quantity(key, Dimension::Force).not_negative().at_most(TIP_MAX_N).required();
    let (enter, cut) = (force("enter"), force("cut"));
    let friction = table.quantity("friction", Dimension::LineForce).not_negative().at_most(FRICTION_MAX).required();
    let yields = table.quantity("yield", Dimension::Compliance).not_negative().at_most(YIELD_MAX).or(0.0);
    let layer = Layer {
        name: name?,
        material: Material { young_pa: young?, poisson, density },
        enter_n: enter?,
        cut_n: cut?,
        friction_n_per_m: friction?,
        yield_m_per_n: yields,
    };
    Some(LayerSpec { layer, thickness_m })
}

fn read_relaxation(table: &Table<'_>) -> Option<Relaxation> {
    let share = table.number("share").not_negative().at_most(SHARE_MAX).required();
    let time = table.quantity("time", Dimension::Time).positive().at_most(3600.0).required();
    Some(Relaxation { share: share?, time_s: time? })
}

pub(super) fn read_breathing(table: &Table<'_>) -> Option<Breathing> {
    let way = table.vector("way", Dimension::Length).at_least(-WAY_MAX_M).at_most(WAY_MAX_M).required();
    let period = table.quantity("period", Dimension::Time).at_least(PERIOD_S.0).at_most(PERIOD_S.1).required();
    Some(Breathing { way: way?, period_s: period? })
}

/// A place in the frame of the body.
fn inside(table: &Table<'_>, key: &str) -> Option<Vec3> {
    table.vector(key, Dimension::Length).at_least(-PLACE_MAX_M).at_most(PLACE_MAX_M).required()
}

fn read_target(table: &Table<'_>) -> Option<Target> {
    let (name, center, radius) = (read_name(table), inside(table, "center"), length(table, "radius").required());
    Some(Target { name: name?, center: center?, radius_m: radius? })
}

fn read_forbidden(tissue: &Table<'_>) -> Option<Vec<Forbidden>> {
    let tables = tissue.tables("forbidden");
    if let Some(extra) = tables.get(FORBIDDEN_MAX) {
        let message = format!("there are {} things to avoid; at most {FORBIDDEN_MAX} fit", tables.len());
        extra.report(Problem::error(extra.span(), message).help("leave some out"));
    }
    let read = |table: &Table<'_>| {
        let (name, from, to) = (read_name(table), inside(table, "from"), inside(table, "to"));
        let radius = length(table, "radius").required();
        Some(Forbidden { name: name?, from: from?, to: to?, radius_m: radius? })
    };
    let read: Vec<Option<Forbidden>> = tables.iter().map(read).collect();
    read.into_iter().collect()
}
