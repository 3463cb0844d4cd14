//! Machined parts as written: bolts, nuts, pegs, bored blocks and meshes.
//!
//! Thread: cold.
//!
//! Nothing is made here and no file is opened: a part is only checked for whether it can be. [`super::make`] makes it.

use super::read_shape::{chamfer, length, radius};
use super::spec::{ModelChoice, PartForm, PartKind, PartSpec};
use crate::bake::Design;
use crate::files::{Dimension, Problem, Table};
use crate::geometry::mesh::LengthUnit;
use crate::geometry::parts::{
    Body, Bolt, BoreBlock, Facets, Fit, Hand, Limit, Nut, PartError, Peg, Side, ThreadProfile, ThreadSpec,
};

/// How the thread is written, as a regular expression.
pub(super) const THREAD: &str = r"^M[0-9]+(\.[0-9]+)?x[0-9]+(\.[0-9]+)?$";
/// Fewest and most facets around a part.
pub(super) const FACETS: (i64, i64) = (12, 720);
/// Fewest and most rows.
pub(super) const ROWS: (i64, i64) = (1, 200);
/// Largest gap in a thread, m.
const GAP_MAX_M: f64 = 0.01;
/// Largest part, m: the models of distance are made for parts that a hand can hold.
const SIZE_MAX_M: f64 = 1.0;
/// Most nodes of a part. The usual ones have some thousands.
const NODES_MAX: f64 = 100_000.0;
/// The word for the fit of the usual classes.
const CLASS_6: &str = "6H/6g";
/// Chamfer of a bolt when nothing is said, in pitches.
const BOLT_CHAMFER: f64 = 0.3;
/// Width of a nut across flats when nothing is said, in diameters.
const ACROSS_FLATS: f64 = 1.5625;

/// Facets around when nothing is said: two that fit together have numbers without a common factor.
const AROUND: [i64; 2] = [61, 79];
/// Rows on a flank, along a peg, along a hole.
const ROWS_DEFAULT: [i64; 3] = [3, 30, 20];

pub(super) const UNITS: [(&str, LengthUnit); 5] = [
    ("mm", LengthUnit::Millimetre),
    ("m", LengthUnit::Metre),
    ("in", LengthUnit::Inch),
    ("cm", LengthUnit::Centimetre),
    ("µm", LengthUnit::Micrometre),
];

/// Keys that only parts have.
pub(super) const PART_KEYS: [&str; 11] =
    ["thread", "fit", "left_hand", "across_flats", "outer", "floor", "file", "unit", "facets", "rows", "model"];

/// Asks for one of [`PART_KEYS`] where it is not known whether it belongs.
pub(super) fn ask_for(shape: &Table<'_>, key: &str) {
    match key {
        "thread" | "file" | "model" => drop(shape.string(key).optional()),
        "fit" => drop(fit(shape)),
        "left_hand" => drop(shape.boolean(key).optional()),
        "unit" => drop(shape.word(key, &UNITS).optional()),
        "facets" => drop(shape.integer(key, FACETS.0..=FACETS.1).optional()),
        "rows" => drop(shape.integer(key, ROWS.0..=ROWS.1).optional()),
        _ => drop(length(shape, key).optional()),
    }
}

/// The part in the table `shape`.
pub(super) fn read_part(shape: &Table<'_>, kind: PartKind) -> Option<PartSpec> {
    let model = shape.string("model").check(|text| !text.trim().is_empty(), "`grid`, `exact` or a path").optional();
    let model = match model.as_deref() {
        None | Some("grid") => ModelChoice::Grid,
        Some("exact") => ModelChoice::Exact,
        Some(path) => ModelChoice::File(path.to_owned()),
    };
    if kind == PartKind::Mesh {
        let file = shape.string("file").check(|text| !text.trim().is_empty(), "the path of a mesh").required();
        let unit = shape.word("unit", &UNITS).required();
        let form = PartForm::Mesh { file: file?, unit: unit? };
        return Some(PartSpec { form, thread: None, facets: Facets { per_turn: 0, rows: 0 }, model });
    }
    let (around, rows) = match kind {
        PartKind::Bolt => (AROUND[0], ROWS_DEFAULT[0]),
        PartKind::Nut => (AROUND[1], ROWS_DEFAULT[0]),
        PartKind::Peg => (AROUND[1], ROWS_DEFAULT[1]),
        PartKind::BoreBlock | PartKind::Mesh => (AROUND[0], ROWS_DEFAULT[2]),
    };
    let count = |number: i64| usize::try_from(number).unwrap_or(0);
    let facets = Facets {
        per_turn: count(shape.integer("facets", FACETS.0..=FACETS.1).or(around)),
        rows: count(shape.integer("rows", ROWS.0..=ROWS.1).or(rows)),
    };
    let (design, thread) = match kind {
        PartKind::Bolt => bolt(shape)?,
        PartKind::Nut => nut(shape)?,
        PartKind::Peg => (peg(shape)?, None),
        PartKind::BoreBlock | PartKind::Mesh => (bore_block(shape)?, None),
    };
    check_size(shape, &design, facets)?;
    Some(PartSpec { form: PartForm::Design(design), thread, facets, model })
}

/// Shows what is wrong with a part, or gives it.
fn made<T>(shape: &Table<'_>, part: Result<T, PartError>) -> Option<T> {
    part.map_err(|error| {
        shape.report(Problem::error(shape.span(), error.to_string()).label("such a part cannot be"));
    })
    .ok()
}

/// The gap, or none for the classes.
fn fit(shape: &Table<'_>) -> Option<Option<f64>> {
    shape.quantity_or_word("fit", Dimension::Length, CLASS_6).not_negative().at_most(GAP_MAX_M).optional()
}

/// Diameter and pitch in metres of a thread such as `M48x5`.
fn diameter_and_pitch(text: &str) -> Option<(f64, f64)> {
    let number = |text: &str| {
        let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (digits(whole) && digits(rest)).then(|| text.parse::<f64>().ok()).flatten()
    };
    let (diameter, pitch) = text.strip_prefix('M')?.split_once('x')?;
    Some((number(diameter)? * 1e-3, number(pitch)? * 1e-3))
}

/// The nominal thread and its profile on one side.
fn thread(shape: &Table<'_>, side: Side) -> Option<(ThreadSpec, ThreadProfile)> {
    let fits = |text: &String| text.len() <= 24 && diameter_and_pitch(text).is_some();
    let written = shape.string("thread").check(fits, "a thread such as \"M48x5\", diameter and pitch in mm").required();
    let gap = fit(shape).flatten();
    let left = shape.boolean("left_hand").or(false);
    let (diameter, pitch) = diameter_and_pitch(&written?)?;
    let spec = ThreadSpec {
        diameter,
        pitch,
        hand: if left { Hand::Left } else { Hand::Right },
        fit: gap.map_or(Fit::Class6(Limit::Middle), Fit::RadialGap),
    };
    made(shape, spec.profile(side)).map(|profile| (spec, profile))
}

fn bolt(shape: &Table<'_>) -> Option<(Design, Option<ThreadSpec>)> {
    let (thread, length, chamfer) =
        (thread(shape, Side::Bolt), length(shape, "length").required(), chamfer(shape).optional());
    let (spec, profile) = thread?;
    let bolt = Bolt { profile, length: length?, chamfer: chamfer.unwrap_or(BOLT_CHAMFER * spec.pitch), head: None };
    made(shape, bolt.check())?;
    Some((Design::Bolt(bolt), Some(spec)))
}

fn nut(shape: &Table<'_>) -> Option<(Design, Option<ThreadSpec>)> {
    let (thread, height, chamfer) = (thread(shape, Side::Nut), length(shape, "length").required(), chamfer(shape));
    let (chamfer, across) = (chamfer.or(0.0), length(shape, "across_flats").optional());
    let (spec, profile) = thread?;
    let body = Body::Hex { across_flats: across.unwrap_or(ACROSS_FLATS * spec.diameter) };
    let nut = Nut { profile, height: height?, chamfer, body };
    made(shape, nut.check())?;
    Some((Design::Nut(nut), Some(spec)))
}

fn peg(shape: &Table<'_>) -> Option<Design> {
    let (radius, length, chamfer) = (radius(shape), length(shape, "length").required(), chamfer(shape).or(0.0));
    let peg = Peg { diameter: 2.0 * radius?, length: length?, chamfer };
    made(shape, peg.check())?;
    Some(Design::Peg(peg))
}

fn bore_block(shape: &Table<'_>) -> Option<Design> {
    let (radius, depth, chamfer) = (radius(shape), length(shape, "depth").required(), chamfer(shape).or(0.0));
    let (outer, floor) = (length(shape, "outer").required(), length(shape, "floor").optional());
    let body = Body::Round { diameter: outer? };
    let block = BoreBlock { diameter: 2.0 * radius?, depth: depth?, chamfer, floor, body };
    made(shape, block.check())?;
    Some(Design::Bore(block))
}

/// Refuses parts whose models or nodes would not fit.
fn check_size(shape: &Table<'_>, design: &Design, facets: Facets) -> Option<()> {
    let (size, lanes) = match design {
        Design::Bolt(bolt) => (bolt.length.max(2.0 * bolt.profile.major_radius), bolt.length / bolt.profile.pitch),
        Design::Nut(nut) => (nut.height.max(2.0 * nut.profile.major_radius), nut.height / nut.profile.pitch),
        Design::Peg(peg) => (peg.length.max(peg.diameter), 0.5),
        Design::Bore(block) => {
            let Body::Round { diameter } = block.body else { return Some(()) };
            ((block.depth + block.floor.unwrap_or(0.0)).max(diameter), 0.5)
        }
        Design::Mesh(_) => return Some(()),
    };
    let nodes = facets.per_turn as f64 * (2.0 * facets.rows as f64 + 2.0) * (lanes + 1.0);
    let (message, help) = if size > SIZE_MAX_M {
        (format!("the part is {size:.3} m large; at most {SIZE_MAX_M} m"), "make it smaller; are the units right?")
    } else if nodes > NODES_MAX {
        (format!("the part would have some {nodes:.0} nodes; at most {NODES_MAX}"), "take fewer `facets` or `rows`")
    } else {
        return Some(());
    };
    shape.report(Problem::error(shape.span(), message).help(help));
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_its_diameter_and_pitch_in_millimetres() {
        assert_eq!(diameter_and_pitch("M48x5"), Some((0.048, 0.005)));
        let (diameter, pitch) = diameter_and_pitch("M39.5x4.25").unwrap_or_default();
        assert!((diameter - 0.0395).abs() < 1e-15 && (pitch - 0.00425).abs() < 1e-15);
        for wrong in ["", "M", "M48", "48x5", "m48x5", "M48x", "Mx5", "M48X5", "M-48x5", "M48x5 ", "M4e1x5", "M48.x5"] {
            assert_eq!(diameter_and_pitch(wrong), None, "{wrong}");
        }
    }
}
