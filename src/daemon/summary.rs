//! What a run came to, for people and for machines.
//!
//! Thread: main.

use crate::device::port::LinkStatus;
use crate::haptic::TickRecord;
use crate::scene::{GoalState, TaskWatcher};
use crate::shared::lifecycle::State;
use crate::shared::{DurationFigures, DurationHistogram, FaultCounts, Faults, MonoNs, SceneView};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Figures gathered tick by tick.
pub struct Tally {
    ticks: u64,
    span: Option<(MonoNs, MonoNs)>,
    pub(super) peak_force_n: f64,
    peak_torque_nm: f64,
    energy_min_j: f64,
    penetration_max_m: f64,
    penetration_sum_m: f64,
    contact_ticks: u64,
    /// Steps of the simulation that did not converge.
    pub(super) unconverged_steps: u64,
    faults: Faults,
    fault_ticks: FaultCounts,
    faulted: bool,
    lateness: DurationHistogram,
    compute: DurationHistogram,
    needle: Option<NeedleScore>,
}

/// How a needle did.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NeedleScore {
    /// Nearest that the tip came to the middle of the target, m; none if it was never in that tissue.
    nearest_m: Option<f64>,
    depth_max_m: f64,
    punctures: u32,
    forbidden: u32,
}

impl Tally {
    /// Nothing gathered yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ticks: 0,
            span: None,
            peak_force_n: 0.0,
            peak_torque_nm: 0.0,
            energy_min_j: 0.0,
            penetration_max_m: 0.0,
            penetration_sum_m: 0.0,
            contact_ticks: 0,
            unconverged_steps: 0,
            faults: Faults::NONE,
            fault_ticks: FaultCounts::default(),
            faulted: false,
            lateness: DurationHistogram::new(),
            compute: DurationHistogram::new(),
            needle: None,
        }
    }

    /// Takes in what is seen of a needle.
    pub fn see(&mut self, view: &SceneView) {
        let Some(needle) = view.needle.filter(|_| view.is_lit()) else { return };
        let before = self.needle;
        let nearest = before.and_then(|score| score.nearest_m).into_iter().chain(needle.target_m).reduce(f64::min);
        self.needle = Some(NeedleScore {
            nearest_m: nearest,
            depth_max_m: before.map_or(0.0, |score| score.depth_max_m).max(needle.depth_m),
            punctures: needle.punctures,
            forbidden: needle.forbidden,
        });
    }

    /// Takes one tick in.
    pub fn add(&mut self, record: &TickRecord) {
        self.ticks += 1;
        let first = self.span.map_or(record.due, |(first, _)| first);
        self.span = Some((first, record.due));
        self.peak_force_n = self.peak_force_n.max(record.force.force.norm());
        self.peak_torque_nm = self.peak_torque_nm.max(record.force.torque.norm());
        self.energy_min_j = self.energy_min_j.min(record.account.balance_min_j);
        if record.contacts > 0 {
            self.contact_ticks += 1;
            self.penetration_max_m = self.penetration_max_m.max(record.penetration_m);
            self.penetration_sum_m += record.penetration_m;
        }
        self.faults = self.faults.with(record.faults);
        self.fault_ticks.add(record.faults);
        self.faulted |= record.state == State::Fault;
        self.lateness.record(record.lateness_ns);
        self.compute.record(record.compute_ns);
    }

    /// Ticks a second that were really made.
    fn rate_hz(&self) -> f64 {
        let span_s = self.span.map_or(0.0, |(first, last)| last.seconds_after(first));
        if span_s > 0.0 { (self.ticks - 1) as f64 / span_s } else { 0.0 }
    }
}

impl NeedleScore {
    fn to_json(self) -> serde_json::Value {
        json!({
            "target_nearest_m": self.nearest_m,
            "depth_max_m": self.depth_max_m,
            "punctures": self.punctures,
            "forbidden": self.forbidden,
        })
    }

    fn write(self, out: &mut String) {
        let _ = write!(out, "needle   {:.1} mm deep, {} punctures", 1e3 * self.depth_max_m, self.punctures);
        if let Some(nearest) = self.nearest_m {
            let _ = write!(out, ", {:.1} mm from the target", 1e3 * nearest);
        }
        let _ = writeln!(out, ", {} forbidden contacts", self.forbidden);
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}

/// How a run kept time.
#[derive(Clone, Copy, Debug)]
pub enum Timing {
    /// Virtual time: lateness means nothing.
    Lockstep {
        /// Hash of the force trace.
        hash: u64,
    },
    /// The real clock.
    Live {
        /// The kernel gave real-time rights.
        realtime: bool,
        /// Times a tick ended after the next was due.
        overruns: u64,
        /// Ticks that were skipped for it.
        skipped: u64,
    },
}

/// The second hand of a run.
pub struct SecondSummary {
    /// Device model.
    pub device: String,
    /// Limits in force, N.
    pub force_limit_n: f64,
    /// N·m.
    pub torque_limit_nm: f64,
    /// Figures.
    pub tally: Tally,
}

/// A finished run.
pub struct Summary {
    /// Scene name.
    pub scene: String,
    /// Device model.
    pub device: String,
    /// Skill of the operator.
    pub skill: &'static str,
    /// Seed.
    pub seed: u64,
    /// All goals were met and the operator came to the end of the script.
    pub achieved: bool,
    /// Each goal and how it ended.
    pub goals: Vec<(String, GoalState)>,
    /// Why it ended early, if it did.
    pub reason: Option<String>,
    /// Time of the run, s.
    pub duration_s: f64,
    /// Limits in force, N and N·m.
    pub force_limit_n: f64,
    /// N·m.
    pub torque_limit_nm: f64,
    /// Figures.
    pub tally: Tally,
    /// Timing.
    pub timing: Timing,
    /// What the line to a real device has done.
    pub link: Option<LinkStatus>,
    /// The other hand, in a scene for two.
    pub second: Option<SecondSummary>,
}

/// A safety rule that was broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Breach(pub String);

impl SecondSummary {
    fn to_json(&self) -> serde_json::Value {
        json!({
            "device": self.device,
            "ticks": self.tally.ticks,
            "rate_hz": self.tally.rate_hz(),
            "peak_force_n": self.tally.peak_force_n,
            "force_limit_n": self.force_limit_n,
            "energy_min_j": self.tally.energy_min_j,
            "faults": self.tally.faults.names().collect::<Vec<_>>(),
        })
    }
}

impl Summary {
    /// Names and states of a watcher's goals.
    #[must_use]
    pub fn goals_of(watcher: &TaskWatcher) -> Vec<(String, GoalState)> {
        watcher.goals().map(|(goal, state)| (goal.name.as_str().to_string(), state)).collect()
    }

    /// Safety rules that were broken. None ever should be: each is a bug.
    #[must_use]
    pub fn breaches(&self) -> Vec<Breach> {
        let mut found = Vec::new();
        let first = (&self.tally, self.force_limit_n, self.torque_limit_nm);
        let second = self.second.as_ref().map(|hand| (&hand.tally, hand.force_limit_n, hand.torque_limit_nm));
        for (tally, force_limit_n, torque_limit_nm) in std::iter::once(first).chain(second) {
            if tally.peak_force_n > force_limit_n || tally.peak_torque_nm > torque_limit_nm {
                found.push(Breach("a force beyond the limit was sent".into()));
            }
            if tally.energy_min_j < -1e-6 {
                found.push(Breach(format!("the hand got {:.1e} J more than it put in", -tally.energy_min_j)));
            }
            let forbidden = Faults::FORCE_INVALID.with(Faults::SOLVER_FAILED);
            for name in Faults::ALL.iter().filter(|(f, _)| forbidden.contains(*f) && tally.faults.contains(*f)) {
                found.push(Breach(format!("fault {}", name.1)));
            }
        }
        found
    }

    /// True when the task was achieved and no safety rule was broken.
    #[must_use]
    pub fn success(&self) -> bool {
        self.achieved && !self.faulted() && self.breaches().is_empty()
    }

    /// A haptic thread was in the FAULT state.
    #[must_use]
    pub fn faulted(&self) -> bool {
        self.tally.faulted || self.second.as_ref().is_some_and(|hand| hand.tally.faulted)
    }

    fn penetration_mean_m(&self) -> f64 {
        self.tally.penetration_sum_m / self.tally.contact_ticks.max(1) as f64
    }

    /// One JSON object; the keys are a contract (docs/benchmarks.md).
    #[must_use]
    pub fn to_json(&self) -> String {
        let us = |ns: u64| ns as f64 / 1e3;
        let spread = |f: DurationFigures| json!({ "p50": us(f.p50_ns), "p99": us(f.p99_ns), "p99.9": us(f.p999_ns), "max": us(f.max_ns) });
        let goals: Vec<_> = self.goals.iter().map(|(n, s)| json!({ "name": n, "met": *s == GoalState::Met })).collect();
        let tally = &self.tally;
        let mut object = json!({
            "scene": self.scene,
            "device": self.device,
            "skill": self.skill,
            "seed": self.seed,
            "success": self.success(),
            "achieved": self.achieved,
            "goals": goals,
            "reason": self.reason,
            "duration_s": self.duration_s,
            "ticks": tally.ticks,
            "peak_force_n": tally.peak_force_n,
            "force_limit_n": self.force_limit_n,
            "peak_torque_nm": tally.peak_torque_nm,
            "torque_limit_nm": self.torque_limit_nm,
            "energy_min_j": tally.energy_min_j,
            "penetration_max_m": tally.penetration_max_m,
            "penetration_mean_m": self.penetration_mean_m(),
            "faults": tally.faults.names().collect::<Vec<_>>(),
            "fault_ticks": tally.fault_ticks.by_name().filter(|(_, n)| *n > 0).collect::<BTreeMap<_, _>>(),
            "contact_ticks": tally.contact_ticks,
            "unconverged_steps": tally.unconverged_steps,
            "breaches": self.breaches().iter().map(|b| b.0.clone()).collect::<Vec<_>>(),
        });
        let more = match self.timing {
            Timing::Lockstep { hash } => json!({ "mode": "lockstep", "hash": format!("{hash:016x}") }),
            Timing::Live { realtime, overruns, skipped } => json!({
                "mode": "live",
                "realtime": realtime,
                "overruns": overruns,
                "skipped_ticks": skipped,
                "lateness_us": spread(tally.lateness.figures()),
                "compute_us": spread(tally.compute.figures()),
                "hash": serde_json::Value::Null,
            }),
        };
        let link = self.link.map(|link| {
            json!({
                "round_trip_us": spread(link.round_trip),
                "requests": link.facts.requests,
                "answers": link.facts.answers,
                "lost": link.facts.lost,
                "garbage": link.facts.garbage,
            })
        });
        if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
            object.extend(more.clone());
            object.extend(link.map(|link| ("link".to_owned(), link)));
            object.extend(tally.needle.map(|score| ("needle".to_owned(), score.to_json())));
            object.extend(self.second.as_ref().map(|hand| ("second_hand".to_owned(), hand.to_json())));
        }
        object.to_string()
    }

    /// A few lines for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for (name, state) in &self.goals {
            let mark = match state {
                GoalState::Met => "met ",
                GoalState::Open => "open",
                GoalState::Lost => "lost",
            };
            let _ = writeln!(out, "goal     {mark}  {name}");
        }
        self.write_figures(&mut out);
        if let Some(score) = self.tally.needle {
            score.write(&mut out);
        }
        if let Some(hand) = &self.second {
            let (peak, limit, lowest) = (hand.tally.peak_force_n, hand.force_limit_n, hand.tally.energy_min_j);
            let _ = writeln!(out, "second   peak {peak:.2} N (limit {limit:.2}), lowest ledger {lowest:+.1e} J");
        }
        self.write_timing(&mut out);
        if let Some(LinkStatus { round_trip, facts, .. }) = self.link {
            let [p50, p99, max] = [round_trip.p50_ns, round_trip.p99_ns, round_trip.max_ns].map(|ns| ns as f64 / 1e3);
            let _ = match facts.requests {
                // It speaks by itself.
                0 => writeln!(out, "device   {} reports", facts.answers),
                _ => writeln!(
                    out,
                    "device   round trip p50 {p50:.0} µs  p99 {p99:.0} µs  max {max:.0} µs   {} answers, {} lost",
                    facts.answers, facts.lost
                ),
            };
        }
        let faults: Vec<_> = self.tally.faults.names().collect();
        if !faults.is_empty() {
            let _ = writeln!(out, "faults   {}", faults.join(", "));
        }
        for breach in self.breaches() {
            let _ = writeln!(out, "BREACH   {}", breach.0);
        }
        let time_s = self.duration_s;
        let _ = match (&self.reason, self.success()) {
            (_, true) => writeln!(out, "result   task achieved in {time_s:.1} s"),
            (Some(reason), false) if time_s > 0.0 => {
                writeln!(out, "result   task NOT achieved after {time_s:.1} s: {reason}")
            }
            (Some(reason), false) => writeln!(out, "result   task NOT achieved: {reason}"),
            (None, false) => writeln!(out, "result   task NOT achieved in {time_s:.1} s"),
        };
        out
    }

    /// Force, contact and energy.
    fn write_figures(&self, out: &mut String) {
        let tally = &self.tally;
        let _ = write!(out, "force    peak {:.2} N (limit {:.2})", tally.peak_force_n, self.force_limit_n);
        if self.torque_limit_nm > 0.0 {
            let (peak, limit) = (tally.peak_torque_nm, self.torque_limit_nm);
            let _ = write!(out, "   torque peak {peak:.3} N·m (limit {limit:.3})");
        }
        let contact_s = tally.contact_ticks as f64 * self.duration_s / tally.ticks.max(1) as f64;
        let (mean_um, max_um) = (1e6 * self.penetration_mean_m(), 1e6 * tally.penetration_max_m);
        let _ = writeln!(
            out,
            "\ncontact  {contact_s:.1} s, overlap of proxy and scene mean {mean_um:.2} µm, max {max_um:.2} µm"
        );
        if tally.unconverged_steps > 0 {
            let _ = writeln!(
                out,
                "steps    {} did not converge; bodies stayed in their last balance",
                tally.unconverged_steps
            );
        }
        let verdict = if tally.energy_min_j >= -1e-6 { ": the hand never got more than it put in" } else { "" };
        let _ = writeln!(out, "energy   lowest ledger {:+.1e} J{verdict}", tally.energy_min_j);
    }

    /// How the loop kept time.
    fn write_timing(&self, out: &mut String) {
        let tally = &self.tally;
        match self.timing {
            Timing::Lockstep { hash } => {
                let _ = writeln!(out, "timing   virtual time, {} ticks, trace {hash:016x}", tally.ticks);
            }
            Timing::Live { overruns, skipped, .. } => {
                let us = |ns: u64| ns as f64 / 1e3;
                let (late, work) = (tally.lateness.figures(), tally.compute.figures());
                let _ = writeln!(
                    out,
                    "timing   {:.1} Hz   late p50 {:.0} µs  p99 {:.0} µs  p99.9 {:.0} µs  max {:.0} µs   overruns {overruns} (skipped {skipped})",
                    tally.rate_hz(),
                    us(late.p50_ns),
                    us(late.p99_ns),
                    us(late.p999_ns),
                    us(late.max_ns)
                );
                let [p50, p99, max] = [work.p50_ns, work.p99_ns, work.max_ns].map(us);
                let _ = writeln!(out, "tick     p50 {p50:.0} µs  p99 {p99:.0} µs  max {max:.0} µs");
            }
        }
    }
}
