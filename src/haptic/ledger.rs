//! The passivity ledger: every joule that crosses the handle, and how many may still be given.
//!
//! Thread: haptic (RT).
//!
//! The port is the hand. What reaches it is the work of the motors less what the device itself loses in friction and drag
//! and less what its moving mass stores; the mass gives back no more than it was given, so it needs no entry.
//!
//! Bounds. Between two readings the device holds one force `f`, so that the work of the motors is `f·Δx` exactly, whatever
//! the hand does in between; there is no error of integration. Coulomb friction `f_c` takes its part on the way to the
//! hand: `f·Δx − f_c ‖Δx‖ ≤ g·Δx` with the effective force `g = (1 − f_c/‖f‖)₊ f`. The ledger books `g·Δx`; where `g = 0`
//! the hand gets nothing and the device loses at least `(f_c − ‖f‖)` times the way, which is credited. Drag loses at
//! least `b ‖Δx‖²/T` (Cauchy–Schwarz). Two things are uncertain:
//!
//! * Readings are rounded: `x = x_read + e`, `‖e‖ ≤ q`. Summed by parts, `Σ g_k·(e_{k+1} − e_k)` is at most
//!   `Σ ‖g_k − g_{k−1}‖ q + ‖g_last‖ q`; the ledger books that much as given.
//! * The coming interval is not known yet. The handle's acceleration is bounded by its device file, so
//!   `‖Δx_next − Δx_last‖ ≤ a_max T²` for true displacements; for those read, with four roundings, and one more for
//!   the change of force to come, the next one lies in a ball of radius `ρ = a_max T² + 5q` about the last, with
//!   `(j + 1) a_max T²` for an interval `j` ticks ahead.
//!
//! A handle that has gone beyond the acceleration bound, for its file is wrong or an encoder noisy, gets a ball that is larger by as much
//! for a while. Readings that come several periods apart count as so many equal displacements.
//!
//! With forces chosen inside the [`EnergyBudget`] made from this (time-domain passivity control, Hannaford and Ryu 2002,
//! with the bound taken before the fact instead of a correction after it), the hand never gets out more than it put in,
//! for true positions and for every motion the acceleration bound allows; and the balance booked never falls below zero.

use crate::device::{EnergyBudget, HandForce, Limits, Mechanics, PerPart, SafeForce};
use crate::math::{Pose, Vec3, log_so3};
use crate::shared::Faults;

/// Most ticks of latency between command and effect that the ledger can account for.
pub const MAX_LATENCY_TICKS: usize = 7;

/// Share of the friction and drag stated in the device file that is relied on: they vary over the workspace and with wear.
const TRUSTED: f64 = 0.8;

/// Rounding errors in the difference of two displacements read one after the other, and one for the change of force.
const ROUNDINGS: f64 = 5.0;
/// Rounding errors in a displacement that was read.
const ROUNDINGS_UNREAD: f64 = 2.0;
/// What is left after a tick of how far a handle has gone beyond its acceleration bound: gone to a hundredth in 90 ticks. Slower would
/// weaken the force for longer after a single knock, faster would forget the noise of a bad encoder between two of its peaks.
const BEYOND_KEPT: f64 = 0.95;
/// Less than this is none, m and rad.
const BEYOND_LEAST: f64 = 1e-9;

/// See the file's head.
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    rounding: PerPart,
    friction: PerPart,
    damping: PerPart,
    /// From where the way has not been counted yet, and the largest force and torque since then.
    anchor: Option<(Pose, PerPart)>,
    acceleration: PerPart,
    cap_j: f64,
    latency: usize,
    /// Forces under way, oldest first: `[0]` acts in the interval that the next reading ends.
    under_way: [HandForce; MAX_LATENCY_TICKS + 1],
    /// What rounding can cost at the change to each of them, J: booked with the interval that it acts in.
    owed: [f64; MAX_LATENCY_TICKS + 1],
    /// The force that acted until the last reading.
    acted: HandForce,
    /// The force that the newest one took the place of.
    replaced: HandForce,
    last_pose: Option<Pose>,
    last_move: (Vec3, Vec3),
    /// Intervals by which `last_move` is older than the last reading.
    missed: usize,
    /// How far the handle has lately gone beyond what its acceleration bound allows, m and rad.
    beyond: PerPart,
    account: Account,
}

/// The figures of the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// Energy the hand has certainly put in and not got back, capped, J: what may still be given.
    pub reserve_j: f64,
    /// The same without the cap, J.
    pub balance_j: f64,
    /// Lowest balance so far, J.
    pub balance_min_j: f64,
    /// Energy taken from the hand, at least, J.
    pub taken_j: f64,
    /// Energy given to the hand, at most, J.
    pub given_j: f64,
}

impl Ledger {
    /// An empty ledger for a device.
    #[must_use]
    pub fn new(limits: &Limits, mechanics: &Mechanics) -> Self {
        // Rounding to the nearest step errs by half a step on each of three axes.
        let rounding = |step: f64| 0.5 * 3f64.sqrt() * step;
        Self {
            rounding: PerPart {
                linear: rounding(mechanics.quantum.linear),
                angular: rounding(mechanics.quantum.angular),
            },
            friction: PerPart {
                linear: TRUSTED * mechanics.friction.linear,
                angular: TRUSTED * mechanics.friction.angular,
            },
            damping: PerPart {
                linear: TRUSTED * mechanics.damping.linear,
                angular: TRUSTED * mechanics.damping.angular,
            },
            anchor: None,
            acceleration: limits.acceleration,
            cap_j: limits.reserve_j,
            latency: (mechanics.latency_ticks as usize).min(MAX_LATENCY_TICKS),
            under_way: [HandForce::zero(); MAX_LATENCY_TICKS + 1],
            owed: [0.0; MAX_LATENCY_TICKS + 1],
            acted: HandForce::zero(),
            replaced: HandForce::zero(),
            last_pose: None,
            last_move: (Vec3::zeros(), Vec3::zeros()),
            missed: 0,
            beyond: PerPart { linear: 0.0, angular: 0.0 },
            account: Account::default(),
        }
    }

    /// The figures so far.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Takes what the hand has got beyond what it put in for settled: a person has acknowledged the fault that told of it. The balance
    /// keeps it.
    pub fn forgive(&mut self) {
        self.account.reserve_j = self.account.reserve_j.max(0.0);
    }

    /// Books the interval that ended with this reading, and that so many slots without a tick have made longer.
    pub fn observe(&mut self, pose_device_handle: &Pose, period_s: f64, skipped: u64, faults: &mut Faults) {
        let (acting, owed_j) = self.take_acting();
        let Some(last) = self.last_pose.replace(*pose_device_handle) else {
            // Where the interval began was not read: neither its work nor the motion now is known but by bounds.
            self.book_worst(&acting, owed_j, period_s, skipped);
            return;
        };
        let linear = pose_device_handle.translation.vector - last.translation.vector;
        let angular = log_so3(&(pose_device_handle.rotation * last.rotation.inverse()));
        self.compare(&linear, &angular, period_s, skipped, faults);
        let effective = self.effective(&acting);
        self.book(effective.force.dot(&linear) + effective.torque.dot(&angular) + owed_j);
        let periods = (1 + skipped) as f64;
        self.credit_losses(pose_device_handle, &acting, (&linear, &angular), periods * period_s);
        self.last_move = (linear / periods, angular / periods);
        // The mean of several periods is as old as their middle.
        self.missed = usize::try_from(skipped.div_ceil(2)).unwrap_or(usize::MAX);
    }

    /// Compares a displacement with what the one before it and the acceleration bound allow. What goes beyond is remembered: the next
    /// one may go as far.
    fn compare(&mut self, linear: &Vec3, angular: &Vec3, period_s: f64, skipped: u64, faults: &mut Faults) {
        // Over n periods the handle goes n times the last displacement, and for a steady acceleration 1 + 2 + … + n times `a T²`; n times
        // more for each period by which the last displacement is older.
        let periods = (1 + skipped) as f64;
        let bound = period_s * period_s * periods * (0.5 * (periods + 1.0) + self.missed as f64);
        let roundings = 2.0 + 2.0 * periods;
        let beyond = |change: Vec3, limit: f64, rounding: f64| change.norm() - limit * bound - roundings * rounding;
        let now = PerPart {
            linear: beyond(linear - self.last_move.0 * periods, self.acceleration.linear, self.rounding.linear),
            angular: beyond(angular - self.last_move.1 * periods, self.acceleration.angular, self.rounding.angular),
        };
        faults.set_if(Faults::ACCELERATION_EXCEEDED, (now.linear > 1e-12) | (now.angular > 1e-12));
        let keep = |before: f64, now: f64| {
            let kept = (BEYOND_KEPT * before).max(now);
            if kept > BEYOND_LEAST { kept } else { 0.0 }
        };
        self.beyond.linear = keep(self.beyond.linear, now.linear);
        self.beyond.angular = keep(self.beyond.angular, now.angular);
    }

    /// What the device has certainly lost by itself in the time since the last reading.
    fn credit_losses(&mut self, pose: &Pose, acting: &HandForce, (linear, angular): (&Vec3, &Vec3), elapsed_s: f64) {
        let certain = |size: f64, rounding: f64| (size - 2.0 * rounding).max(0.0);
        let drag = self.damping.linear * certain(linear.norm(), self.rounding.linear).powi(2)
            + self.damping.angular * certain(angular.norm(), self.rounding.angular).powi(2);
        let mut lost = drag / elapsed_s;
        // The way is at least the chord from the anchor; short chords drown in rounding, so wait for a longer one.
        let (from, largest) = self.anchor.get_or_insert((*pose, PerPart { linear: 0.0, angular: 0.0 }));
        largest.linear = largest.linear.max(acting.force.norm());
        largest.angular = largest.angular.max(acting.torque.norm());
        let chord = (pose.translation.vector - from.translation.vector).norm();
        let turn = log_so3(&(pose.rotation * from.rotation.inverse())).norm();
        let spare = |friction: f64, force: f64| (friction - force).max(0.0);
        let spare = PerPart {
            linear: spare(self.friction.linear, largest.linear),
            angular: spare(self.friction.angular, largest.angular),
        };
        let long = chord > 8.0 * self.rounding.linear || turn > 8.0 * self.rounding.angular;
        if long || spare.linear + spare.angular == 0.0 {
            lost += spare.linear * certain(chord, self.rounding.linear)
                + spare.angular * certain(turn, self.rounding.angular);
            self.anchor = None;
        }
        self.book(-lost);
    }

    /// What is left of a force beyond the device's friction.
    fn effective(&self, force: &HandForce) -> HandForce {
        let beyond = |force: &Vec3, friction: f64| {
            let size = force.norm();
            if size > friction { force * (1.0 - friction / size) } else { Vec3::zeros() }
        };
        HandForce {
            force: beyond(&force.force, self.friction.linear),
            torque: beyond(&force.torque, self.friction.angular),
        }
    }

    /// Books an interval whose end was not read: the worst it can have been.
    pub fn observe_nothing(&mut self, period_s: f64, skipped: u64) {
        let (acting, owed_j) = self.take_acting();
        self.last_pose = None;
        self.anchor = None;
        self.book_worst(&acting, owed_j, period_s, skipped);
    }

    fn book_worst(&mut self, acting: &HandForce, owed_j: f64, period_s: f64, skipped: u64) {
        // No reading ends this interval, so only those of the last displacement can be wrong.
        let mut ball = self.ball(0, period_s, 0.0, ROUNDINGS_UNREAD);
        let periods = (1 + skipped) as f64;
        (ball.linear, ball.angular) = (ball.linear * periods, ball.angular * periods);
        let growth = 0.5 * periods * (periods + 1.0);
        (ball.slack.linear, ball.slack.angular) = (ball.slack.linear * growth, ball.slack.angular * growth);
        self.book(ball.worst_case(acting).max(0.0) + owed_j);
        let missed = usize::try_from(skipped).unwrap_or(usize::MAX).saturating_add(1);
        self.missed = self.missed.saturating_add(missed);
    }

    /// What the force chosen now may give in the interval it will act in.
    #[must_use]
    pub fn budget(&self, period_s: f64) -> EnergyBudget {
        // Rounding of the reading this interval starts from, against the force that acted before it.
        let mut certain = self.account.reserve_j - self.rounding_of(&self.acted, &HandForce::zero());
        // Forces already under way act first.
        for ahead in 0..self.latency {
            certain -= self.ball(ahead, period_s, 0.0, ROUNDINGS).worst_case(&self.under_way[ahead]) + self.owed[ahead];
        }
        self.ball(self.latency, period_s, certain, ROUNDINGS)
    }

    /// Takes note of the force sent in this tick, of which `carried` holds up the device's own weight: what reaches the hand is
    /// the rest.
    pub fn commit(&mut self, force: &SafeForce, carried: &HandForce) {
        let felt = force.get().without(carried);
        let previous = if self.latency == 0 { self.under_way[0] } else { self.under_way[self.latency - 1] };
        self.owed[self.latency] = self.rounding_of(&felt, &previous);
        self.replaced = previous;
        self.under_way[self.latency] = felt;
    }

    /// Takes note that the device did not take the force just committed; gives the one before it, which acts on.
    pub fn unheard(&mut self) -> HandForce {
        self.under_way[self.latency] = self.replaced;
        self.owed[self.latency] = 0.0;
        self.replaced
    }

    /// Displacements that interval `ahead` can bring.
    fn ball(&self, ahead: usize, period_s: f64, reserve_j: f64, roundings: f64) -> EnergyBudget {
        let intervals = self.missed.saturating_add(ahead + 1) as f64;
        let slack = |bound: f64, beyond: f64, rounding: f64| {
            intervals * (bound * period_s * period_s + beyond) + roundings * rounding
        };
        let (linear, still) = settled(&self.last_move.0, self.rounding.linear);
        let (angular, quiet) = settled(&self.last_move.1, self.rounding.angular);
        EnergyBudget {
            reserve_j,
            linear,
            angular,
            slack: PerPart {
                linear: slack(self.acceleration.linear, self.beyond.linear, self.rounding.linear) + still,
                angular: slack(self.acceleration.angular, self.beyond.angular, self.rounding.angular) + quiet,
            },
            friction: self.friction,
        }
    }

    /// `Σ |f_i − g_i| q_i` of what is left beyond friction, both parts. Each axis errs by half a step on its own; the axes
    /// of a rotation turn with it, so that only the length of its error is bounded.
    fn rounding_of(&self, f: &HandForce, g: &HandForce) -> f64 {
        let (f, g) = (self.effective(f), self.effective(g));
        let per_axis = self.rounding.linear / 3f64.sqrt();
        (f.force - g.force).abs().sum() * per_axis + (f.torque - g.torque).norm() * self.rounding.angular
    }

    /// The force that acted until now, and what is owed for the change to it; the queue moves up.
    fn take_acting(&mut self) -> (HandForce, f64) {
        let (acting, owed_j) = (self.under_way[0], self.owed[0]);
        if self.latency > 0 {
            self.under_way.copy_within(1..=self.latency, 0);
            self.owed.copy_within(1..=self.latency, 0);
        }
        // Until the next force is committed, the newest one goes on, at no change.
        self.owed[self.latency] = 0.0;
        self.acted = acting;
        (acting, owed_j)
    }

    fn book(&mut self, given_j: f64) {
        let account = &mut self.account;
        account.balance_j -= given_j;
        account.balance_min_j = account.balance_min_j.min(account.balance_j);
        if given_j > 0.0 {
            account.given_j += given_j
        } else {
            account.taken_j -= given_j
        }
        account.reserve_j = (account.reserve_j - given_j).min(self.cap_j);
    }
}

/// The displacement that is expected again, and by how much it may be wrong. One that rounding alone can have made is
/// taken as none: a reading that flickers between two steps must not make a bounded force flicker, for every change of
/// force costs reserve.
fn settled(last: &Vec3, rounding: f64) -> (Vec3, f64) {
    let most = ROUNDINGS_UNREAD * rounding;
    // One part in 10⁹ for the rounding of the difference itself.
    if last.norm() <= most * (1.0 + 1e-9) { (Vec3::zeros(), most) } else { (*last, 0.0) }
}
