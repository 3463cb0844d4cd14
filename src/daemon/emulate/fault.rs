//! Faults on demand: what can befall an emulated device's line, when, and how it is asked for.
//!
//! Thread: main.

use crate::device::emulator::{Defect, Trouble};
use crate::math::Random;
use crate::shared::{MonoNs, NS_PER_S};
use std::str::FromStr;

/// A late answer comes this much later, ns: three ticks.
const LATE_NS: u64 = 3_000_000;
/// A stall and collisions last this long, ns: longer than any device may be silent.
const STALL_NS: u64 = 100_000_000;
/// Without a time, one answer in so many is hit.
const ONE_IN: u64 = 20;
/// A device that was disconnected at a time comes back after this, s.
const AWAY_S: f64 = 1.0;
/// Every kind by its word.
const WORDS: &str = "drop, split, duplicate, corrupt, late, short, garbage, stall, collide, disconnect, stuck-encoder, \
                     swapped-encoders, reversed-motor, mend";

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// An answer meets with trouble.
    Line(Trouble),
    /// Nothing arrives for this long, ns.
    Stall(u64),
    /// Both ends talk at once for this long, ns.
    Collide(u64),
    /// The cable is pulled, or put back.
    Disconnect,
    /// An encoder or a motor is wrong from now on.
    Defect(Defect),
    /// None is any more.
    Mend,
}

impl FromStr for FaultKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Ok(match word {
            "drop" => Self::Line(Trouble::Drop),
            "split" => Self::Line(Trouble::Split),
            "duplicate" => Self::Line(Trouble::Duplicate),
            "corrupt" => Self::Line(Trouble::Corrupt(3, 0x20)),
            "late" => Self::Line(Trouble::Late(LATE_NS)),
            "short" => Self::Line(Trouble::Short),
            "garbage" => Self::Line(Trouble::Garbage),
            "stall" => Self::Stall(STALL_NS),
            "collide" => Self::Collide(STALL_NS),
            "disconnect" => Self::Disconnect,
            "stuck-encoder" => Self::Defect(Defect::StuckEncoder(0)),
            "swapped-encoders" => Self::Defect(Defect::SwappedEncoders),
            "reversed-motor" => Self::Defect(Defect::ReversedMotor(0)),
            "mend" => Self::Mend,
            _ => return Err(format!("no fault is called `{word}`; there are {WORDS}")),
        })
    }
}

/// A fault that was asked for: `kind@seconds` after the host was first heard, or `kind` again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mishap {
    kind: FaultKind,
    at_s: Option<f64>,
}

impl FromStr for Mishap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, time) = text.split_once('@').map_or((text, None), |(word, time)| (word, Some(time)));
        let kind = word.parse()?;
        let at_s = match time.map(str::parse::<f64>) {
            None => None,
            Some(Ok(at_s)) if (0.0..=86_400.0).contains(&at_s) => Some(at_s),
            Some(_) => return Err(format!("`{text}`: write the time in seconds, such as {word}@2.5")),
        };
        if at_s.is_none() && !matches!(kind, FaultKind::Line(_)) {
            return Err(format!("`{word}` needs a time, such as {word}@2.5"));
        }
        Ok(Self { kind, at_s })
    }
}

/// What is still to come.
pub(super) struct Mishaps {
    timed: Vec<(f64, FaultKind)>,
    lasting: Vec<Trouble>,
    random: Random,
}

impl Mishaps {
    /// As asked for.
    pub(super) fn new(asked: Vec<Mishap>) -> Self {
        let mut mishaps = Self { timed: Vec::new(), lasting: Vec::new(), random: Random::new(1) };
        for Mishap { kind, at_s } in asked {
            match (kind, at_s) {
                (FaultKind::Disconnect, Some(at_s)) => {
                    mishaps.timed.extend([(at_s, kind), (at_s + AWAY_S, kind)]);
                }
                (_, Some(at_s)) => mishaps.timed.push((at_s, kind)),
                (FaultKind::Line(trouble), None) => mishaps.lasting.push(trouble),
                (_, None) => {}
            }
        }
        mishaps.timed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        mishaps
    }

    /// The next fault whose time has come; times count from `heard`.
    pub(super) fn due(&mut self, heard: Option<MonoNs>, now: MonoNs) -> Option<FaultKind> {
        let (at_s, kind) = *self.timed.last()?;
        let since_s = now.since(heard?) as f64 / NS_PER_S as f64;
        (since_s >= at_s).then(|| {
            self.timed.pop();
            kind
        })
    }

    /// What befalls the next answer.
    pub(super) fn next(&mut self) -> Option<Trouble> {
        if self.lasting.is_empty() || !self.random.bits().is_multiple_of(ONE_IN) {
            return None;
        }
        let index = self.random.bits() % self.lasting.len() as u64;
        self.lasting.get(usize::try_from(index).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_with_and_without_a_time() {
        let drop = FaultKind::Line(Trouble::Drop);
        assert_eq!("drop".parse(), Ok(Mishap { kind: drop, at_s: None }));
        assert_eq!("stall@2.5".parse(), Ok(Mishap { kind: FaultKind::Stall(STALL_NS), at_s: Some(2.5) }));
        for (wrong, hint) in
            [("stall", "stall@2.5"), ("dorp", "drop"), ("late@soon", "late@2.5"), ("drop@-1", "seconds")]
        {
            let said = wrong.parse::<Mishap>().expect_err(wrong);
            assert!(said.contains(hint), "{said}");
        }
    }

    #[test]
    fn a_timed_fault_comes_once_and_a_lasting_one_now_and_then() {
        let asked = ["stall@1", "disconnect@3", "drop"].map(|text| text.parse().expect("it is one"));
        let mut mishaps = Mishaps::new(asked.to_vec());
        let heard = Some(MonoNs(7 * NS_PER_S));
        let mut at = |seconds: u64| mishaps.due(heard, MonoNs((7 + seconds) * NS_PER_S));
        assert_eq!((at(0), at(1), at(1)), (None, Some(FaultKind::Stall(STALL_NS)), None));
        // It goes, and comes back.
        assert_eq!((at(3), at(4), at(9)), (Some(FaultKind::Disconnect), Some(FaultKind::Disconnect), None));
        let hit = (0..2000).filter(|_| mishaps.next() == Some(Trouble::Drop)).count();
        assert!((50..200).contains(&hit), "{hit} of 2000");
    }
}
