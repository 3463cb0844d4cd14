//! Reads `[turning]`: how the tool is turned other than by the handle.
//!
//! Thread: cold.

use super::read::read_button;
use super::read_shape::direction;
use super::spec::{Source, SpannerSpec, TurningSpec};
use crate::files::{Dimension, Table};
use crate::haptic::Ratchet;

/// Fastest turn by buttons and orders, rad/s: more than a turn a second is no work for a hand.
pub(super) const RATE_MAX: f64 = 10.0;
/// Rate when nothing is said, rad/s.
const RATE_DEFAULT: f64 = 1.5;
/// Longest lever along an axis, m.
pub(super) const LEVER_MAX_M: f64 = 1.0;

const RATCHETS: [(&str, Ratchet); 3] = [("both", Ratchet::Off), ("left", Ratchet::Left), ("right", Ratchet::Right)];

/// Reads the table, if it is there; none as well when it is wrong, which is reported.
pub(super) fn read_turning(root: &Table<'_>, source: &mut Source) -> Option<TurningSpec> {
    let table = root.table("turning").optional()?;
    source.mark("turning", table.span());
    for key in ["left_button", "right_button"] {
        source.mark(format!("turning.{key}"), table.span_of(key));
    }
    let axis = direction(&table, "axis");
    let rate = table.quantity("rate", Dimension::AngularVelocity).positive().at_most(RATE_MAX).or(RATE_DEFAULT);
    let torque = table.quantity("torque", Dimension::Torque).positive().at_most(20.0).required();
    let buttons = ["left_button", "right_button"].map(|key| read_button(&table, key));
    let spanner = table.table("spanner").optional().map(|table| read_spanner(&table, source));
    Some(TurningSpec {
        axis: axis?,
        rate_rad_s: rate,
        torque_nm: torque?,
        buttons,
        spanner: spanner.map_or(Some(None), |spanner| spanner.map(Some))?,
    })
}

fn read_spanner(table: &Table<'_>, source: &mut Source) -> Option<SpannerSpec> {
    source.mark("spanner.lever", table.span_of("lever"));
    source.mark("spanner.button", table.span_of("button"));
    let lever = table.vector("lever", Dimension::Length).at_least(-LEVER_MAX_M).at_most(LEVER_MAX_M);
    let lever = lever.required();
    let button = table.integer("button", 1..=super::read::BUTTONS_MAX).required();
    let ratchet = table.word("ratchet", &RATCHETS).or(Ratchet::Off);
    let button = button.and_then(|number| u8::try_from(number - 1).ok());
    Some(SpannerSpec { lever: lever?, button: button?, ratchet })
}
