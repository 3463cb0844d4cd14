//! The table: a row for each case, as text or JSON.
//!
//! Thread: main.

use super::strike::{Phase, Strike};
use serde_json::{Value, json as object};
use std::fmt::Write as _;

/// What became of one try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tried {
    /// Force ended so long after the strike, ns.
    Ended(u64),
    /// None was there, or it may go on, and nothing else was wrong.
    Endured,
    /// Force goes on, or began unasked.
    StaysOn,
    /// A guardian died of what it should survive.
    GuardianLost,
    /// The phase was not reached, or over before the strike.
    NotReached(&'static str),
}

/// One case and its tries.
pub(super) struct Row {
    device: String,
    phase: Phase,
    strike: Strike,
    tries: Vec<Tried>,
    /// The largest force of any try, N.
    peak_n: f64,
}

impl Row {
    pub(super) fn new(device: String, phase: Phase, strike: Strike) -> Self {
        Self { device, phase, strike, tries: Vec::new(), peak_n: 0.0 }
    }

    pub(super) fn add(&mut self, tried: Tried, peak_n: Option<f64>) {
        self.tries.push(tried);
        self.peak_n = self.peak_n.max(peak_n.unwrap_or_default());
    }

    /// Where it stands in the table.
    pub(super) fn place(&self) -> (&str, Phase, String) {
        (&self.device, self.phase, self.strike.word())
    }

    fn count(&self, which: impl Fn(&Tried) -> bool) -> usize {
        self.tries.iter().filter(|tried| which(tried)).count()
    }

    /// No try broke a promise.
    pub(super) fn kept(&self) -> bool {
        self.count(|tried| matches!(tried, Tried::StaysOn | Tried::GuardianLost)) == 0
    }

    /// Times from strike to zero force, shortest first, ns.
    fn times(&self) -> Vec<u64> {
        let time = |tried: &Tried| if let Tried::Ended(ns) = tried { Some(*ns) } else { None };
        let mut times: Vec<u64> = self.tries.iter().filter_map(time).collect();
        times.sort_unstable();
        times
    }

    fn verdict(&self) -> &'static str {
        let judged = self.tries.len() - self.count(|tried| matches!(tried, Tried::NotReached(_)));
        match self.times().last() {
            _ if !self.kept() => "BROKEN",
            _ if judged == 0 => "not reached",
            Some(longest) if *longest > self.strike.stated_ns() => "kept, late",
            _ => "kept",
        }
    }

    /// One line for whoever waits.
    pub(super) fn brief(&self) -> String {
        format!("{} {} {}: {}", self.device, self.phase.word(), self.strike.word(), self.verdict())
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 * 1e-6
}

/// The table for people.
pub(super) fn text(rows: &[Row]) -> String {
    let mut out = String::from(
        "| device | phase | strike | tries | zero force after, p50 ms | max ms | in time | peak N | verdict |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let times = row.times();
        let figures = match (times.get(times.len() / 2), times.last()) {
            (Some(middle), Some(longest)) => {
                let within = times.iter().filter(|time| **time <= row.strike.stated_ns()).count();
                format!("{:.1} | {:.1} | {within} of {}", ms(*middle), ms(*longest), times.len())
            }
            _ => "– | – | –".into(),
        };
        let (device, phase, strike) = row.place();
        let verdict = row.verdict();
        // Writing to a string cannot fail.
        let _ =
            writeln!(out, "| {device} | {} | {strike} | {} | {figures} | {verdict} |", phase.word(), row.tries.len());
    }
    let kept = rows.iter().filter(|row| row.kept()).count();
    let _ = writeln!(out, "\n{kept} of {} promises kept", rows.len());
    out
}

/// The same for programs.
pub(super) fn json(scene: &str, seed: u64, rows: &[Row]) -> String {
    let row = |row: &Row| -> Value {
        let (device, phase, strike) = row.place();
        let not_reached: Vec<&str> = row
            .tries
            .iter()
            .filter_map(|tried| if let Tried::NotReached(why) = tried { Some(*why) } else { None })
            .collect();
        object!({
            "device": device,
            "phase": phase.word(),
            "strike": strike,
            "tries": row.tries.len(),
            "stated_ms": ms(row.strike.stated_ns()),
            "zero_force_after_ms": row.times().into_iter().map(ms).collect::<Vec<_>>(),
            "peak_n": row.peak_n,
            "not_reached": not_reached,
            "verdict": row.verdict(),
            "kept": row.kept(),
        })
    };
    let all: Vec<Value> = rows.iter().map(row).collect();
    let kept = rows.iter().all(Row::kept);
    format!("{}\n", object!({ "scene": scene, "seed": seed, "kept": kept, "rows": all }))
}

#[cfg(test)]
mod tests {
    use super::super::strike::STRIKES;
    use super::*;

    #[test]
    fn a_row_is_broken_by_one_try_in_which_force_stays_on() {
        let mut row = Row::new("falcon".into(), Phase::Pressing, STRIKES[0]);
        assert_eq!(row.verdict(), "not reached");
        row.add(Tried::Ended(6_000_000), Some(2.5));
        row.add(Tried::NotReached("never pushed"), None);
        assert_eq!((row.verdict(), row.times()), ("kept", vec![6_000_000]));
        row.add(Tried::Ended(21_000_000), None);
        assert_eq!(row.verdict(), "kept, late");
        assert!(
            text(&[row]).contains("| falcon | pressing | daemon:kill | 3 | 21.0 | 21.0 | 1 of 2 | 2.50 | kept, late |")
        );
        let mut row = Row::new("falcon".into(), Phase::Idle, STRIKES[5]);
        row.add(Tried::Endured, None);
        row.add(Tried::StaysOn, None);
        assert!(!row.kept() && json("virtual_wall", 7, &[row]).contains("\"verdict\":\"BROKEN\""));
    }
}
