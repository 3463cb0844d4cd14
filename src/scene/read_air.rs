//! The air as written.
//!
//! Thread: cold.

use crate::files::{Dimension, Table};
use crate::sim::AirModel;

/// Least and largest pressure, Pa: high vacuum, ten atmospheres.
pub(super) const AIR_PA: (f64, f64) = (1.0, 1_013_250.0);
/// Least and largest gap that seals, m.
pub(super) const SEAL_M: (f64, f64) = (1e-6, 2e-3);
/// Largest flow, W: 10 litres a second at ambient pressure.
pub(super) const LEAK_MAX_W: f64 = 1000.0;
/// Viscosity of air, Pa·s, at 20 °C.
const VISCOSITY_PA_S: f64 = 1.82e-5;

/// `[air]`
pub(super) fn read_air(table: &Table<'_>) -> AirModel {
    let pressure = table.quantity("pressure", Dimension::Pressure).at_least(AIR_PA.0).at_most(AIR_PA.1);
    let excess = table.quantity("excess", Dimension::Pressure).not_negative().at_most(AIR_PA.1);
    let seal = table.quantity("seal", Dimension::Length).at_least(SEAL_M.0).at_most(SEAL_M.1);
    let relaxation = table.quantity("relaxation", Dimension::Time).not_negative().at_most(1e6);
    let leak = table.quantity("leak", Dimension::Power).at_least(-LEAK_MAX_W).at_most(LEAK_MAX_W);
    let gap = table.quantity("leak_gap", Dimension::Length).not_negative().at_most(SEAL_M.1).or(0.0);
    let aspect = table.quantity("leak_aspect", Dimension::Dimensionless).positive().at_most(1e6).or(10.0);
    AirModel {
        pressure_pa: pressure.or(101_325.0),
        excess_pa: excess.or(500.0),
        seal_m: seal.or(1e-4),
        relaxation_s: relaxation.or(0.0),
        leak_w: leak.or(0.0),
        leak_per_pa_s: aspect * gap.powi(3) / (24.0 * VISCOSITY_PA_S),
    }
}
