//! Joints as written.
//!
//! Thread: cold. Whether the two ends go together is checked when the scene is built ([`super::build_joint`]).

use super::read_operator::read_name;
use super::read_shape::{PLACE_MAX_M, direction};
use super::spec::{JointSpec, Source};
use crate::files::{Dimension, Problem, Table};
use crate::sim::JointKind;

/// Most joints of a scene: each has up to six rows in the solve.
pub(super) const JOINTS_MAX: usize = 32;
/// Softest joint, m/N.
pub(super) const COMPLIANCE_MAX: f64 = 0.1;
/// The second end of a joint that keeps a body at its place.
pub(super) const WORLD: &str = "world";

const KINDS: [(&str, JointKind); 4] = [
    ("fixed", JointKind::Fixed),
    ("hinge", JointKind::Hinge),
    ("slider", JointKind::Slider),
    ("ball", JointKind::Ball),
];

/// All `[[joint]]`; none where one of them is wrong. `bodies` are the names of all bodies in the order of the file.
pub(super) fn read_joints(root: &Table<'_>, bodies: &[&str], source: &mut Source) -> Option<Vec<JointSpec>> {
    let tables = root.tables("joint");
    if let Some(extra) = tables.get(JOINTS_MAX) {
        let message = format!("there are {} joints; at most {JOINTS_MAX} fit", tables.len());
        extra.report(Problem::error(extra.span(), message).help("leave some out, or split the scene"));
    }
    let read = |(index, table): (usize, &Table<'_>)| {
        source.mark(format!("joint.{index}"), table.span());
        for key in ["a", "b", "a_group", "b_group", "name"] {
            source.mark(format!("joint.{index}.{key}"), table.span_of(key));
        }
        read_joint(table, bodies)
    };
    let joints: Vec<Option<JointSpec>> = tables.iter().enumerate().map(read).collect();
    joints.into_iter().collect()
}

fn read_joint(table: &Table<'_>, bodies: &[&str]) -> Option<JointSpec> {
    let name = read_name(table);
    let kind = table.word("kind", &KINDS).required();
    let a = table.reference("a", "body", bodies).required();
    if bodies.contains(&WORLD) {
        let message = "a body is called `world`, which is also what joints call the place that does not move";
        table.error("b", message, "give the body another name");
    }
    let ends: Vec<&str> = bodies.iter().copied().chain([WORLD]).collect();
    let b = table.reference("b", "body", &ends).required();
    let anchor = table.vector("anchor", Dimension::Length).at_least(-PLACE_MAX_M).at_most(PLACE_MAX_M).required();
    let has_axis = kind.is_none_or(|kind| matches!(kind, JointKind::Hinge | JointKind::Slider));
    let axis = if has_axis { direction(table, "axis").map(Some) } else { Some(None) };
    let compliance = table.quantity("compliance", Dimension::Compliance).not_negative().at_most(COMPLIANCE_MAX).or(0.0);
    let group = |key: &str| table.string(key).check(|text| !text.trim().is_empty(), "the name of a group").optional();
    let patches = [group("a_group"), group("b_group")];
    let b = b?;
    Some(JointSpec {
        patches,
        name: name?,
        kind: kind?,
        bodies: [Some(a?), (b < bodies.len()).then_some(b)],
        anchor: anchor?,
        axis: axis?,
        compliance_m_per_n: compliance,
    })
}
