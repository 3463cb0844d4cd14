//! A million random ticks: the hand never gets more energy than it put in, whatever the simulation does.
//!
//! The judge is the simulated device's own book of true forces and displacements (`hapticd::bench::storm`). The million is
//! split over couplings and devices; `hapticd bench passivity` prints the same figures.

use hapticd::bench::passivity::{devices, storms};
use hapticd::bench::storm::{Kind, StormFigures};
use hapticd::device::DeviceSpec;
use hapticd::shared::Faults;

/// Ticks on each of two devices and three couplings: a million in all.
const TICKS: u64 = 170_000;
/// Most energy the hand may ever have got beyond what it put in, J.
const EXCESS_MAX_J: f64 = 1e-6;

fn specs() -> [(&'static str, DeviceSpec); 2] {
    devices().expect("shipped files are sound")
}

fn weather(kind: Kind) {
    for (name, spec) in specs() {
        let figures = storms(kind, &spec, true, TICKS, 1);
        println!("{kind:?} on {name}: {figures:?}");
        assert!(figures.ticks >= TICKS);
        assert!(figures.excess_max_j <= EXCESS_MAX_J, "{kind:?} on {name} gave {} J", figures.excess_max_j);
        assert!(figures.ledger_min_j >= -EXCESS_MAX_J, "{kind:?} on {name}: ledger at {} J", figures.ledger_min_j);
        assert!(figures.force_share_max <= 1.0 && figures.not_finite == 0, "{kind:?} on {name}: {figures:?}");
        assert!(was_a_storm(&figures), "{kind:?} on {name} was too calm: {figures:?}");
    }
}

/// Enough went wrong, enough was touched, and the bound had work to do.
fn was_a_storm(figures: &StormFigures) -> bool {
    let met = [
        Faults::SNAPSHOT_STALE,
        Faults::SNAPSHOT_INVALID,
        Faults::SNAPSHOT_OVERFULL,
        Faults::DEVICE_INVALID,
        Faults::PASSIVITY_LIMITED,
        Faults::SLEW_LIMITED,
    ];
    let share = |count: u64| count as f64 / figures.ticks as f64;
    met.iter().all(|fault| figures.faults.contains(*fault))
        && share(figures.touching) > 0.3
        // Faults that latch end force until they are acknowledged.
        && share(figures.forced) > 0.25
        && share(figures.bounded) > 0.05
        && figures.absorbed_j > 0.1
}

#[test]
fn a_hand_on_the_spring_coupling_never_gets_more_energy_than_it_put_in() {
    weather(Kind::Spring);
}

#[test]
fn a_hand_on_the_transparent_coupling_never_gets_more_energy_than_it_put_in() {
    weather(Kind::Transparent);
}

#[test]
fn a_hand_on_the_direct_coupling_never_gets_more_energy_than_it_put_in() {
    weather(Kind::Direct);
}

#[test]
fn without_the_energy_bound_the_same_storms_put_energy_into_the_hand() {
    for (name, spec) in specs() {
        for kind in [Kind::Spring, Kind::Transparent, Kind::Direct] {
            let figures = storms(kind, &spec, false, 30_000, 1);
            println!("{kind:?} on {name}: {:.3} J", figures.excess_max_j);
            assert!(figures.excess_max_j > 1000.0 * EXCESS_MAX_J, "{kind:?} on {name}: {}", figures.excess_max_j);
        }
    }
}
