//! The way of a commanded force to the motors: a delay of whole ticks, then held until the next.
//!
//! Thread: haptic (RT); allocates when it is made, never after.

use super::HandForce;

/// Delays forces by a fixed number of ticks. With delay `n`, a force set in tick `k` acts from tick `k + n` until the
/// force set after it does.
#[expect(clippy::disallowed_types, reason = "filled when it is made; its length never changes")]
#[derive(Clone, Debug)]
pub(super) struct DelayLine {
    /// What acts now, in one tick, in two, … The last is what was set last.
    line: Vec<HandForce>,
}

impl DelayLine {
    /// A line holding zero force.
    #[expect(clippy::disallowed_macros, reason = "made before the first tick")]
    pub(super) fn new(delay_ticks: u32) -> Self {
        Self { line: vec![HandForce::zero(); delay_ticks as usize + 1] }
    }

    /// Sets the force of this tick.
    pub(super) fn set(&mut self, force: HandForce) {
        if let Some(last) = self.line.last_mut() {
            *last = force;
        }
    }

    /// What acts from this tick to the next.
    pub(super) fn acting(&self) -> HandForce {
        self.line.first().copied().unwrap_or_default()
    }

    /// Goes on to the next tick.
    pub(super) fn advance(&mut self) {
        let length = self.line.len();
        self.line.copy_within(1.min(length).., 0);
    }

    /// Zero force everywhere, at once.
    pub(super) fn clear(&mut self) {
        self.line.fill(HandForce::zero());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;

    #[test]
    fn a_force_acts_after_exactly_its_delay_and_is_held() {
        for delay in 0..4_u32 {
            let mut line = DelayLine::new(delay);
            for tick in 0..10_u32 {
                if tick == 2 {
                    line.set(HandForce { force: Vec3::x(), torque: Vec3::zeros() });
                }
                let expected = if tick >= 2 + delay { 1.0 } else { 0.0 };
                assert_eq!(line.acting().force.x, expected, "delay {delay}, tick {tick}");
                line.advance();
            }
        }
    }
}
