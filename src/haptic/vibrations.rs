//! Slow vibrations of deformable bodies: what rings in the hand after a click.
//!
//! Thread: haptic (RT; memory is set aside at construction).
//!
//! A snapshot holds what a body with time is at rest, and its slowest vibrations. The tick follows those that it resolves; all other motions
//! of the body are over within a tick and answer at rest. A vibration of amplitude `z` moves a node by `s z`, and a row of direction `d` by
//! `q z`, `q = d·s`:
//!
//! ```text
//!  z̈ + c ż + ω² z = f,   f = −Σ q λ                        (λ presses the node away from the tool)
//!  (z, ż)' = Φ (z, ż) + Γ f                                the exact solution for a force that is constant during the tick
//!  W = (G − Σ q qᵀ/ω²) + Σ Γ_z q qᵀ                        both parts are compliances
//! ```
//!
//! Since the solution is exact, `f (z' − z)` is what the vibration gains and what its damping takes: seed 000 eq. 6 holds, and the frequency
//! is right. Passive midpoint steps of 1 ms would ring at 270 Hz instead of 361 Hz. A simulation step changes nothing of the vibrations:
//! they are a matter of the tool and the body alone, at any rate of the simulation. What other bodies do to the body arrives as its place at
//! rest.

use crate::math::Vec3;
use crate::mechanism::{Anew, MAX_BLOCKS, MAX_ROWS, MAX_VIBRATIONS, MechanismSnapshot, Vibration};

/// Largest phase `ω T` of a tick for a vibration that is followed: 0.45 of the tick's rate. A faster one answers at rest.
const PHASE_MAX: f64 = 0.45 * std::f64::consts::TAU;

/// A vibration that is followed.
#[derive(Clone, Copy)]
struct Followed {
    vibration: Vibration,
    /// `Φ` by rows.
    stays: [[f64; 2]; 2],
    /// `Γ`.
    gains: [f64; 2],
    /// `(z, ż)`; not known before the first forces on it are.
    state: Option<[f64; 2]>,
    /// State at the end of the tick without force.
    free: [f64; 2],
}

impl Followed {
    /// A vibration in ticks of `period_s`; none where it is too fast or hardly vibrates.
    fn new(vibration: Vibration, period_s: f64) -> Option<Self> {
        let half = 0.5 * vibration.rate;
        let omega = (vibration.square - half * half).max(0.0).sqrt();
        if vibration.square.sqrt() * period_s > PHASE_MAX || omega * omega < 0.5 * vibration.square {
            return None;
        }
        let fading = (-half * period_s).exp();
        let (sin, cos) = (omega * period_s).sin_cos();
        let (sin, cos) = (fading * sin / omega, fading * cos);
        let stays = [[cos + half * sin, sin], [-vibration.square * sin, cos - half * sin]];
        let gains = [(1.0 - stays[0][0]) / vibration.square, sin];
        Some(Self { vibration, stays, gains, state: None, free: [0.0; 2] })
    }

    fn now(&self) -> [f64; 2] {
        self.state.unwrap_or_default()
    }
}

/// Share of vibrations in a compliance: `Σ_m weight_m q_m q_mᵀ`.
#[derive(Clone, Copy)]
pub(super) struct Vibrating<'a> {
    /// `q`, a row each.
    pub(super) along: &'a [[f64; MAX_VIBRATIONS]],
    pub(super) weights: [f64; MAX_VIBRATIONS],
    pub(super) count: usize,
}

impl Vibrating<'_> {
    /// `q u` of a row.
    pub(super) fn moved(&self, row: usize, amplitudes: &[f64; MAX_VIBRATIONS]) -> f64 {
        self.along[row][..self.count].iter().zip(amplitudes).map(|(q, u)| q * u).sum()
    }

    /// Between two rows.
    pub(super) fn between(&self, row: usize, column: usize) -> f64 {
        let (a, b) = (&self.along[row], &self.along[column]);
        (0..self.count).map(|k| self.weights[k] * a[k] * b[k]).sum()
    }

    /// Adds what forces on rows from `first` on do to `u`.
    pub(super) fn add(&self, first: usize, forces: &[f64], amplitudes: &mut [f64; MAX_VIBRATIONS]) {
        for (along, force) in self.along[first..].iter().zip(forces) {
            for (k, u) in amplitudes[..self.count].iter_mut().enumerate() {
                *u += self.weights[k] * along[k] * force;
            }
        }
    }
}

/// See the file's head.
#[expect(clippy::disallowed_types, reason = "boxed when it is made: too large for a stack, never moved after")]
pub(super) struct Vibrations {
    count: usize,
    followed: [Option<Followed>; MAX_VIBRATIONS],
    /// `s` of each block.
    shapes: Box<[[Vec3; MAX_VIBRATIONS]; MAX_BLOCKS]>,
    /// `q` of each row.
    along: Box<[[f64; MAX_VIBRATIONS]; MAX_ROWS]>,
}

impl Vibrations {
    /// None.
    #[expect(clippy::disallowed_types, reason = "made before the first tick")]
    pub(super) fn new() -> Self {
        Self {
            count: 0,
            followed: [None; MAX_VIBRATIONS],
            shapes: Box::new([[Vec3::zeros(); MAX_VIBRATIONS]; MAX_BLOCKS]),
            along: Box::new([[0.0; MAX_VIBRATIONS]; MAX_ROWS]),
        }
    }

    fn each(&self) -> impl Iterator<Item = (usize, &Followed)> {
        self.followed[..self.count].iter().enumerate().filter_map(|(k, followed)| Some((k, followed.as_ref()?)))
    }

    /// Nothing to touch.
    pub(super) fn release(&mut self) {
        self.count = 0;
    }

    /// Takes the vibrations of a snapshot over, those that are known in the state they are in, and their share at rest out of the compliance
    /// of `own`, which is a copy of it.
    pub(super) fn adopt(&mut self, own: &mut MechanismSnapshot, new: &MechanismSnapshot, period_s: f64) {
        let (old, old_count) = (self.followed, self.count);
        (self.count, self.followed) = (0, [None; MAX_VIBRATIONS]);
        for (slot, vibration) in new.vibrations().iter().enumerate() {
            let Some(mut followed) = Followed::new(*vibration, period_s) else { continue };
            let same = |other: &&Followed| {
                (other.vibration.body, other.vibration.number) == (vibration.body, vibration.number)
            };
            let known = old[..old_count].iter().flatten().find(same);
            followed.state = known.and_then(|known| known.state);
            for (shapes, given) in self.shapes.iter_mut().zip(&new.shapes[..new.block_count]) {
                shapes[self.count] = given[slot];
            }
            self.followed[self.count] = Some(followed);
            self.count += 1;
        }
        if self.count == 0 {
            return;
        }
        self.align(own);
        let mut squares = [1.0; MAX_VIBRATIONS];
        self.each().for_each(|(k, followed)| squares[k] = followed.vibration.square);
        for row in 0..own.row_count {
            for column in 0..own.row_count {
                let (a, b) = (&self.along[row], &self.along[column]);
                let share: f64 = (0..self.count).map(|k| a[k] * b[k] / squares[k]).sum();
                own.compliance[row * MAX_ROWS + column] -= share;
            }
            // Not below zero, whatever rounding says.
            let own_row = &mut own.compliance[row * MAX_ROWS + row];
            *own_row = own_row.max(0.0);
        }
    }

    /// Vibrations that are new begin at rest under the forces there are.
    pub(super) fn begin(&mut self, own: &MechanismSnapshot, lambda: &[f64; MAX_ROWS]) {
        let forces = self.forces(own, lambda);
        for (followed, force) in self.followed[..self.count].iter_mut().flatten().zip(forces) {
            followed.state.get_or_insert([force / followed.vibration.square, 0.0]);
            followed.free = followed.now();
        }
    }

    /// Forces on the vibrations, in the frames that the rows have.
    fn forces(&self, own: &MechanismSnapshot, lambda: &[f64; MAX_ROWS]) -> [f64; MAX_VIBRATIONS] {
        let mut forces = [0.0; MAX_VIBRATIONS];
        for (index, block) in own.blocks().iter().enumerate().filter(|_| self.count > 0) {
            if !matches!(own.anew[index], Anew::OfNode { .. }) {
                continue;
            }
            let pressed: Vec3 = block.range().map(|row| own.rows[row].direction * lambda[row]).sum();
            for (force, shape) in forces.iter_mut().zip(&self.shapes[index][..self.count]) {
                *force -= shape.dot(&pressed);
            }
        }
        forces
    }

    /// Begins a tick under the forces of the last one; gives the amplitudes that these would lead to, for [`Self::moved`].
    pub(super) fn predict(&mut self, own: &MechanismSnapshot, lambda: &[f64; MAX_ROWS]) -> [f64; MAX_VIBRATIONS] {
        let forces = self.forces(own, lambda);
        let mut coming = [0.0; MAX_VIBRATIONS];
        for (k, followed) in self.followed[..self.count].iter_mut().flatten().enumerate() {
            let [z, speed] = followed.now();
            followed.free = followed.stays.map(|row| row[0] * z + row[1] * speed);
            coming[k] = followed.free[0] + followed.gains[0] * forces[k];
        }
        coming
    }

    /// Amplitudes now.
    pub(super) fn amplitudes(&self) -> [f64; MAX_VIBRATIONS] {
        let mut now = [0.0; MAX_VIBRATIONS];
        self.each().for_each(|(k, followed)| now[k] = followed.now()[0]);
        now
    }

    /// Amplitudes at the end of the tick without force.
    pub(super) fn free(&self) -> [f64; MAX_VIBRATIONS] {
        let mut free = [0.0; MAX_VIBRATIONS];
        self.each().for_each(|(k, followed)| free[k] = followed.free[0]);
        free
    }

    /// How far amplitudes move the node of a block.
    pub(super) fn moved(&self, index: usize, amplitudes: &[f64; MAX_VIBRATIONS]) -> Vec3 {
        self.shapes[index][..self.count].iter().zip(amplitudes).map(|(shape, z)| shape * *z).sum()
    }

    /// Takes a block out: another constraint has its place.
    pub(super) fn clear(&mut self, index: usize) {
        self.shapes[index] = [Vec3::zeros(); MAX_VIBRATIONS];
    }

    /// Brings `q` up to the directions of the rows.
    pub(super) fn align(&mut self, own: &MechanismSnapshot) {
        if self.count == 0 {
            return;
        }
        for (index, block) in own.blocks().iter().enumerate() {
            let of_node = matches!(own.anew[index], Anew::OfNode { .. });
            for row in block.range() {
                let direction = &own.rows[row].direction;
                for (along, shape) in self.along[row].iter_mut().zip(&self.shapes[index][..self.count]) {
                    *along = if of_node { direction.dot(shape) } else { 0.0 };
                }
            }
        }
    }

    /// Their share in the compliance over a tick; none where nothing vibrates.
    pub(super) fn compliance(&self) -> Option<Vibrating<'_>> {
        let mut weights = [0.0; MAX_VIBRATIONS];
        self.each().for_each(|(k, followed)| weights[k] = followed.gains[0]);
        self.weighted(weights)
    }

    /// The same for impulses instead of forces: displacement `square = T²` times the change of velocity.
    pub(super) fn inertia(&self, square: f64) -> Option<Vibrating<'_>> {
        self.weighted([square; MAX_VIBRATIONS])
    }

    fn weighted(&self, weights: [f64; MAX_VIBRATIONS]) -> Option<Vibrating<'_>> {
        (self.count > 0).then_some(Vibrating { along: &self.along[..], weights, count: self.count })
    }

    /// How far a row's node goes along the row in the tick without force.
    pub(super) fn coming(&self, row: usize) -> f64 {
        self.each().map(|(k, followed)| self.along[row][k] * (followed.free[0] - followed.now()[0])).sum()
    }

    /// Velocity of a row's node along the row.
    pub(super) fn speed(&self, row: usize) -> f64 {
        self.each().map(|(k, followed)| self.along[row][k] * followed.now()[1]).sum()
    }

    /// Mobility of a row, `Σ q²`, 1/kg.
    pub(super) fn mobility(&self, row: usize) -> f64 {
        self.along[row][..self.count].iter().map(|q| q * q).sum()
    }

    /// Ends the tick under the forces found.
    pub(super) fn advance(&mut self, own: &MechanismSnapshot, lambda: &[f64; MAX_ROWS]) {
        let forces = self.forces(own, lambda);
        for (followed, force) in self.followed[..self.count].iter_mut().flatten().zip(forces) {
            let end = [0, 1].map(|k| followed.free[k] + followed.gains[k] * force);
            followed.state = Some(if end.iter().all(|x| x.is_finite()) { end } else { [0.0; 2] });
        }
    }

    /// Takes the impulse of a row, N·s.
    pub(super) fn kick(&mut self, row: usize, impulse: f64) {
        for (k, followed) in self.followed[..self.count].iter_mut().flatten().enumerate() {
            let [z, speed] = followed.now();
            followed.state = Some([z, speed - self.along[row][k] * impulse]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn a_vibration_keeps_its_frequency_and_gains_what_the_force_gives_and_no_more() {
        let (hz, period_s) = (361.0, 1e-3);
        let omega = std::f64::consts::TAU * hz;
        let vibration = |rate| Vibration { body: 0, number: 0, square: omega * omega, rate };
        let energy = |[z, speed]: [f64; 2]| 0.5 * (speed * speed + omega * omega * z * z);
        let free = |followed: &Followed, [z, speed]: [f64; 2]| followed.stays.map(|row| row[0] * z + row[1] * speed);
        let ideal = Followed::new(vibration(0.0), period_s).expect("slow enough");
        let mut state = [1.0, 0.0];
        for n in 1..=10_000 {
            state = free(&ideal, state);
            let exact = (omega * period_s * f64::from(n)).cos();
            assert!((state[0] - exact).abs() < 1e-8, "tick {n}: {} and {exact}", state[0]);
        }
        let mut random = Random::new(5);
        for rate in [0.0, 0.02 * omega, omega] {
            let followed = Followed::new(vibration(rate), period_s).expect("slow enough");
            let (mut state, mut given) = ([1e-3, 0.0], energy([1e-3, 0.0]));
            for n in 0..10_000 {
                let force = 1e3 * (random.uniform() - 0.5);
                let end = free(&followed, state);
                let end = [0, 1].map(|k| end[k] + followed.gains[k] * force);
                given += force * (end[0] - state[0]);
                state = end;
                let left = energy(state);
                assert!(left <= given + 1e-9 * given.abs().max(1.0), "tick {n}: {left} J of {given} J");
                assert!(
                    rate > 0.0 || (left - given).abs() < 1e-9 * given.abs().max(1.0),
                    "no damping: all of it is kept"
                );
            }
        }
    }

    #[test]
    fn what_a_tick_cannot_follow_answers_at_rest() {
        let at = |hz: f64, rate: f64| {
            let omega = std::f64::consts::TAU * hz;
            Followed::new(Vibration { body: 0, number: 0, square: omega * omega, rate }, 1e-3).is_some()
        };
        assert!(at(440.0, 10.0) && !at(460.0, 10.0) && !at(300.0, 2.0 * std::f64::consts::TAU * 300.0));
    }
}
