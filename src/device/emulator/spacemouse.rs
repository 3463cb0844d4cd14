//! A SpaceMouse from the inside: reports while the cap is moved, three of nothing when it is let go.
//!
//! Thread: whoever tests or plays the device.

use super::{Emulated, Hand};
use crate::device::driver::SpaceMouseScale;
use crate::device::wire::spacemouse::{MouseReport, deflection, reported};
use crate::device::wire::{ByteEnd, Outbox};
use crate::math::Vec3;
use crate::shared::MonoNs;

/// Time between two rounds of reports, ns.
const ROUND_NS: u64 = 8_000_000;
/// Rounds after the cap was let go.
const LAST_WORDS: u32 = 3;

/// A cap and its buttons.
pub struct SpaceMouse {
    /// Push and turn in one report, as newer models have it.
    together: bool,
    push: [i16; 3],
    turn: [i16; 3],
    buttons: u32,
    buttons_told: u32,
    rounds_left: u32,
    told: Option<MonoNs>,
    lit: bool,
    outbox: Outbox,
}

impl SpaceMouse {
    /// An older model, or a newer one that sends all six numbers together.
    #[must_use]
    pub fn new(together: bool) -> Self {
        Self {
            together,
            push: [0; 3],
            turn: [0; 3],
            buttons: 0,
            buttons_told: 0,
            rounds_left: 0,
            told: None,
            lit: false,
            outbox: Outbox::default(),
        }
    }

    /// Pushes and turns the cap, in parts of its full way and the axes of the device's base frame.
    pub fn deflect(&mut self, push: &Vec3, turn: &Vec3) {
        (self.push, self.turn) = (reported(push), reported(turn));
        self.rounds_left = LAST_WORDS;
    }

    /// Holds exactly these buttons.
    pub fn press(&mut self, buttons: u32) {
        self.buttons = buttons;
    }

    /// The lamp is on.
    #[must_use]
    pub fn lit(&self) -> bool {
        self.lit
    }

    fn say(&mut self, report: MouseReport) {
        let (bytes, length) = report.encode();
        self.outbox.push(&bytes[..length]);
    }
}

impl ByteEnd for SpaceMouse {
    fn feed(&mut self, bytes: &[u8], now: MonoNs) {
        if let [4, lamp] = *bytes {
            self.lit = lamp & 1 == 1;
        }
        if self.told.is_some_and(|told| now.since(told) < ROUND_NS) {
            return;
        }
        let moved = self.push != [0; 3] || self.turn != [0; 3];
        if moved || self.rounds_left > 0 {
            self.told = Some(now);
            self.rounds_left = if moved { LAST_WORDS } else { self.rounds_left - 1 };
            if self.together {
                self.say(MouseReport::Both(self.push, self.turn));
            } else {
                self.say(MouseReport::Push(self.push));
                self.say(MouseReport::Turn(self.turn));
            }
        }
        if self.buttons != self.buttons_told {
            self.buttons_told = self.buttons;
            self.say(MouseReport::Buttons(self.buttons));
        }
    }

    fn next_out(&mut self, out: &mut [u8]) -> usize {
        self.outbox.pop(out)
    }
}

impl Emulated for SpaceMouse {
    /// A cap that is pushed as far as the handle of the driver would be from its middle.
    fn hold(&mut self, hand: &Hand) {
        let push = hand.target / SpaceMouseScale::default().reach_m;
        if reported(&push) != self.push {
            self.deflect(&push, &Vec3::zeros());
        }
    }

    /// A cap is never in a hand's way.
    fn resist(&mut self, _friction_n: f64, _drag: f64) {}

    fn press(&mut self, buttons: u32) {
        Self::press(self, buttons);
    }

    fn position(&self) -> Vec3 {
        deflection(self.push) * SpaceMouseScale::default().reach_m
    }

    fn force(&self) -> Vec3 {
        Vec3::zeros()
    }

    fn asked(&self) -> Vec3 {
        Vec3::zeros()
    }

    fn power_cycle(&mut self) {
        self.outbox.clear();
        (self.lit, self.buttons_told) = (false, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::TROUBLES;
    use super::super::{Line, Trouble, exchange};
    use super::*;
    use crate::device::driver::{Driver, DriverEventKind, DriverState, Host, SpaceMouseFamily, SpaceMouseScale};

    /// At rest, moving, held aside: whatever happens to one report, or to all of them for a tenth of a second, the handle is
    /// where the cap is as soon as reports come through again, and at rest when the cap is let go.
    #[test]
    fn every_fault_in_every_state_is_over_with_the_next_report() {
        for (together, moves) in [(false, 0.0), (false, 0.3), (false, 0.6), (true, 0.0), (true, 0.3), (true, 0.6)] {
            let mut driver = Host::new(SpaceMouseFamily::new(SpaceMouseScale::default()));
            let (mut mouse, mut line, mut pose, mut ms) = (SpaceMouse::new(together), Line::default(), None, 0_u64);
            for case in 0..TROUBLES.len() + 3 {
                let begins = ms;
                while ms < begins + 400 {
                    ms += 1;
                    let (now, gone) = (MonoNs(ms * 1_000_000), ms - begins);
                    // Aside for a while, to and fro in the second state, and let go at the end.
                    let swings = if moves == 0.3 { (ms as f64 * 0.05).sin() } else { 1.0 };
                    let push = if gone < 300 { Vec3::new(0.0, moves * swings, 0.0) } else { Vec3::zeros() };
                    if gone == 50 || (case == TROUBLES.len() && gone > 50 && gone < 150) {
                        line.upset(TROUBLES.get(case).copied().unwrap_or(Trouble::Split));
                    }
                    match (case.saturating_sub(TROUBLES.len()), gone) {
                        (1, 50) => line.stall(now.plus(100_000_000)),
                        (2, 50) => {
                            line.cut(true);
                            mouse.power_cycle();
                        }
                        (2, 150) => line.cut(false),
                        _ => {}
                    }
                    mouse.deflect(&push, &Vec3::zeros());
                    exchange(&mut driver, &mut mouse, &mut line, now);
                    pose = driver.sample().or(pose);
                    if gone == 299 && moves == 0.6 {
                        let y = pose.expect("a sample").pose_device_handle.translation.y;
                        assert!((y - 0.03).abs() < 2e-4, "{together} {case}: {y} m");
                    }
                }
                let place = pose.map_or(0.0, |pose| pose.pose_device_handle.translation.vector.norm());
                assert!(place < 1e-9, "{together} {moves} {case}: {place} m");
                assert_eq!((driver.state(), mouse.force().norm()), (DriverState::Ready, 0.0));
            }
        }
    }

    #[test]
    fn a_cap_moves_the_handle_and_lets_it_go_again() {
        for together in [false, true] {
            let mut driver = Host::new(SpaceMouseFamily::new(SpaceMouseScale::default()));
            let (mut mouse, mut line) = (SpaceMouse::new(together), Line::default());
            let mut pose = None;
            for ms in 1..200_u64 {
                let now = MonoNs(ms * 1_000_000);
                match ms {
                    50 => mouse.deflect(&Vec3::new(0.5, -1.0, 0.2), &Vec3::new(0.0, 0.0, 1.0)),
                    100 => {
                        let held = driver.sample().or(pose).expect("a sample").pose_device_handle;
                        assert!((held.translation.vector - Vec3::new(0.025, -0.05, 0.01)).norm() < 1e-4, "{held}");
                        assert!((held.rotation.scaled_axis() - Vec3::new(0.0, 0.0, 0.5)).norm() < 2e-3, "{held}");
                        mouse.deflect(&Vec3::zeros(), &Vec3::zeros());
                        mouse.press(0b10);
                    }
                    _ => {}
                }
                exchange(&mut driver, &mut mouse, &mut line, now);
                pose = driver.sample().or(pose);
            }
            assert!(mouse.lit() && driver.state() == DriverState::Ready);
            let rest = pose.expect("a sample").pose_device_handle;
            assert!(rest.translation.vector.norm() == 0.0 && rest.rotation.angle() == 0.0);
            let events: Vec<_> = std::iter::from_fn(|| driver.next_event()).map(|event| event.kind).collect();
            assert!(events.contains(&DriverEventKind::ButtonDown(1)), "{events:?}");
            assert_eq!(driver.silence_bytes(&mut [0; 64]), 0);
        }
    }
}
