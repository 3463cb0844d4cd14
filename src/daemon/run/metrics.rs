//! The daemon's figures, gathered for the page that Prometheus reads.
//!
//! Thread: control.

use super::supervisor::Supervisor;
use super::trips;
use crate::control::HubFigures;
use crate::control::hub::{HubSettings, MOST_PENDING};
use crate::control::metrics::CODES;
use crate::control::plant::Plant as _;
use crate::control::prometheus::{ControlMetrics, LoopMetrics, Metrics, Queue, SimulationMetrics};
use crate::control::socket::{MOST_SOCKETS, SocketFigures};
use crate::haptic::Trip;
use crate::shared::Parameter;

/// What was lost outside the hub, and how the sockets are.
pub(super) struct Lost {
    /// Datagrams dropped because the control loop was behind.
    pub(super) unheard: u64,
    /// Datagrams the system had no room for.
    pub(super) unsent: u64,
    /// Sockets of the viewer's port.
    pub(super) sockets: SocketFigures,
}

/// Everything that is told.
pub(super) fn metrics(plant: &Supervisor, hub: &HubFigures, lost: &Lost) -> Metrics {
    let status = plant.status();
    Metrics {
        version: env!("CARGO_PKG_VERSION"),
        uptime_s: status.uptime_s,
        state: status.state,
        homed: status.homed,
        latched: latched(plant),
        haptic: haptic(plant, status.realtime),
        simulation: SimulationMetrics {
            running: !plant.simulation_is_down(),
            overruns: plant.sim.skipped,
            unconverged: plant.sim.unconverged,
            step_times: plant.sim.step_times,
        },
        control: control(hub, lost),
        recorder: plant.recording.metrics(),
    }
}

fn latched(plant: &Supervisor) -> Vec<(&'static str, u64)> {
    let codes = Trip::ALL.into_iter().map(Trip::code).chain([trips::ENDED.0]);
    codes.map(|code| (code, plant.book.waiting().filter(|entry| entry.code == code).count() as u64)).collect()
}

fn haptic(plant: &Supervisor, realtime: bool) -> LoopMetrics {
    let figures = &plant.figures;
    let newest = plant.newest.as_ref();
    LoopMetrics {
        realtime,
        ticks: figures.ticks,
        overruns: figures.overruns,
        skipped: figures.skipped,
        unheard: figures.unheard,
        records_dropped: figures.records_dropped,
        lateness: figures.lateness,
        compute: figures.compute,
        faults: figures.fault_counts,
        energy: newest.map(|record| record.account).unwrap_or_default(),
        force_n: newest.map_or(0.0, |record| record.force.force.norm()),
        torque_nm: newest.map_or(0.0, |record| record.force.torque.norm()),
        force_max_n: newest.map_or(0.0, |record| record.parameters.get(Parameter::MaxForce)),
    }
}

fn control(hub: &HubFigures, lost: &Lost) -> ControlMetrics {
    let refused = ["bad_arguments", "not_allowed", "not_found", "wrong_state", "out_of_range", "busy"];
    let mut messages = vec![
        ("received", hub.messages),
        ("unreadable", hub.unreadable),
        ("dropped", hub.dropped),
        ("unheard", lost.unheard),
        ("strangers", hub.strangers),
        ("ignored", hub.ignored),
        ("halts", hub.halts),
        ("sent", hub.sent),
        ("unsent", lost.unsent + lost.sockets.lost),
        ("streamed", hub.streamed),
        ("skipped", hub.skipped),
    ];
    debug_assert_eq!(refused.len(), CODES.len());
    messages.extend(refused.into_iter().zip(hub.refused));
    ControlMetrics {
        clients: hub.clients,
        leases: hub.clients,
        streams: hub.streams,
        messages,
        queues: vec![
            Queue { name: "scheduled", waiting: hub.scheduled, capacity: HubSettings::default().scheduled as u64 },
            Queue { name: "pending", waiting: hub.pending, capacity: MOST_PENDING as u64 },
            Queue { name: "viewers", waiting: lost.sockets.open, capacity: MOST_SOCKETS as u64 },
        ],
    }
}
