//! What a latched fault means to people: the cause of a trip in a sentence, with the figures of the tick it happened in.
//!
//! Thread: control.

use super::faults::Latch;
use crate::haptic::{HapticModel, TickRecord, Trip};

/// What the daemon knows of a trip that the haptic loop cannot: it only saw its switch thrown.
#[derive(Clone, Debug)]
pub(super) enum Reason {
    /// Someone asked for it.
    AskedBy(String),
    /// The simulation thread has ended.
    SimulationEnded,
}

/// The fault that a tick tells of.
pub(super) fn explain(record: &TickRecord, model: &HapticModel, worst_ns: u64, reason: Option<Reason>) -> Latch {
    let trip = match (record.cause, &reason) {
        (Some(Trip::Halt) | None, Some(Reason::SimulationEnded)) => Trip::SimulationDown,
        (cause, _) => cause.unwrap_or(Trip::Halt),
    };
    let cause = match (trip, reason) {
        (Trip::Halt, Some(Reason::AskedBy(by))) => format!("Stopped by {by}."),
        (Trip::SimulationDown, Some(Reason::SimulationEnded)) => "The simulation thread has ended by itself.".into(),
        (trip, _) => sentence(trip, record, model, worst_ns),
    };
    Latch { code: trip.code(), name: trip.name(), cause, remedy: trip.remedy() }
}

/// Code, name and remedy of the fault of a haptic thread that is no more.
pub const ENDED: (&str, &str, &str) =
    ("F09", "loop-ended", "the daemon ends and systemd starts it anew; report what the log says");

/// That fault.
pub(super) fn ended() -> Latch {
    let (code, name, remedy) = ENDED;
    let cause = "The haptic loop ended by itself, and the device was silenced.".into();
    Latch { code, name, cause, remedy }
}

fn sentence(trip: Trip, record: &TickRecord, model: &HapticModel, worst_ns: u64) -> String {
    let (policy, limits) = (&model.policy, &model.limits);
    match trip {
        Trip::Deadline if worst_ns as f64 * 1e-9 > policy.gap_s => {
            format!("The loop stood still for {:.0} ms.", worst_ns as f64 * 1e-6)
        }
        Trip::Deadline => {
            let worst_ms = worst_ns as f64 * 1e-6;
            format!("The loop missed {} deadlines in a row (worst {worst_ms:.1} ms).", policy.overruns_trip)
        }
        Trip::ForceLimit => {
            format!("Force held at its limit of {:.1} N for {:.1} s.", limits.force.linear, policy.force_held_s)
        }
        Trip::Passivity => {
            let (held_s, reserve_j) = (policy.passivity_held_s, record.account.reserve_j);
            format!("The energy bound held back nearly all force for {held_s:.1} s ({reserve_j:.4} J left).")
        }
        Trip::DeviceLost => {
            format!("No data from the device that can be believed for {:.0} ms.", policy.device_lost_s * 1e3)
        }
        Trip::Speed => {
            format!("Handle at {:.2} m/s, limit {:.2}.", record.velocity.norm(), limits.speed.linear)
        }
        Trip::Halt => "Stopped.".into(),
        Trip::Solver => "The contact solver returned a force that is no number.".into(),
        Trip::Silenced => {
            "A guardian put the device to zero force, for the daemon stood still, or a guardian did not watch.".into()
        }
        Trip::Acceleration => {
            let most = limits.acceleration.linear;
            format!("The handle kept accelerating by more than the {most:.0} m/s² of its device file.")
        }
        Trip::Overdrawn => {
            let excess_mj = -1e3 * record.account.reserve_j;
            format!("The hand got {excess_mj:.3} mJ more than it put in.")
        }
        Trip::ControlSilent => {
            format!("The control thread stood still for more than {:.1} s.", policy.control_silent_s)
        }
        Trip::SimulationDown => {
            format!("The simulation has published nothing for {:.0} ms.", record.snapshot_age_ns as f64 * 1e-6)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::plant::Priority;
    use crate::daemon::run::NOTICES;
    use crate::daemon::run::faults::RECORDING_ENDED;
    use crate::math::Pose;
    use crate::scene;

    const PAGE: &str = include_str!("../../../docs/service.md");

    #[test]
    fn the_page_of_the_service_lists_every_fault_with_its_remedy() {
        let row = |code: &str, rest: &[&str]| {
            let line = PAGE.lines().find(|line| line.starts_with(&format!("| {code} |")));
            let line = line.unwrap_or_else(|| unreachable!("{code} is not in docs/service.md"));
            assert!(rest.iter().all(|part| line.contains(&format!("| {part} |"))), "{line}: {rest:?}");
        };
        for trip in Trip::ALL {
            row(trip.code(), &[trip.name(), trip.remedy()]);
        }
        row(ENDED.0, &[ENDED.1, ENDED.2]);
        for notice in NOTICES {
            let priority = if notice.priority == Priority::Medium { "medium" } else { "low" };
            row(notice.code, &[notice.bit.names().next().expect("a name"), priority]);
        }
        let (code, name, _) = RECORDING_ENDED;
        row(code, &[name, "medium"]);
        for column in crate::daemon::run::FAULT_DATA_COLUMNS {
            assert!(PAGE.contains(&format!("`{column}`")), "the column {column} is not explained");
        }
    }

    #[test]
    fn a_cause_has_the_figures_of_its_tick_and_a_halt_says_who() {
        let spec = scene::open("virtual_wall").expect("it is shipped").value;
        let device = scene::open_device("simulated-3dof").expect("it is shipped").value;
        let model = scene::build(&spec, &device).expect("they go together").haptic;
        let mut record = TickRecord::empty(Pose::identity());
        record.velocity.x = 1.3;
        let explain = |cause: Trip, reason: Option<Reason>| {
            explain(&TickRecord { cause: Some(cause), ..record }, &model, 2_400_000, reason)
        };
        assert_eq!(explain(Trip::Halt, Some(Reason::AskedBy("10.0.0.7:9".into()))).cause, "Stopped by 10.0.0.7:9.");
        assert!(explain(Trip::Deadline, None).cause.contains("2.4 ms"));
        assert!(explain(Trip::Speed, None).cause.starts_with("Handle at 1.30 m/s, limit "));
        assert_eq!(explain(Trip::Halt, Some(Reason::SimulationEnded)).code, "F08");
        // What tripped first is the cause, whoever threw the switch at the same moment.
        let lost = explain(Trip::DeviceLost, Some(Reason::AskedBy("x".into())));
        assert!(lost.code == "F04" && lost.cause.contains("20 ms"), "{lost:?}");
    }
}
