//! Rigid body on SE(3) by PMI.
//!
//! Thread: any (RT safe).
//!
//! Seed 001 eq. 1 and seed 000 eq. 5, with `V = [v; ω]`, `M = diag(m I, J)`, `C = diag(0, −S(h))`:
//!
//! ```text
//!  A V̂ = 2M V_k/T + F − K X_k,   A = 2M/T + C + D + K T/2,   V_{k+1} = 2V̂ − V_k,   pose_{k+1} = pose_k · exp(T V̂)
//! ```
//!
//! Energy. `V̂ᵀC V̂ = 0` for every `h`, so that the kinetic energy changes by the work of the forces and nothing else,
//! at any step. A body without a coupling is computed in increments, `V̂ = V_k + A⁻¹(F + h × ω_k)`: what does not
//! change stays exact.
//!
//! Angular momentum depends on `h`, see [`Coriolis`]. In all cases the rotation advances by the exponential, not by the
//! Cayley map, so that spinning about a fixed axis is exact in angle.

use super::{CompensatedSum, EnergyFlow, EnergyLedger, Gravity};
use crate::math::{Mat3, Mat6, Pose, Twist, Vec3, Vec6, Wrench, advance, join, skew, split};

/// Newton steps for the momentum at the midpoint; three or four reach round-off while `T |ω| < 1`.
const MAX_NEWTON: usize = 8;

/// Half the angle of a step, rad, up to which the angular momentum is kept.
const MOST_HALF_ANGLE: f64 = 1.0;

/// `tan(x)/x` of half the angle `x` of a step: the gyroscopic term with `h = Jω̂ tan(x)/x` turns the angular momentum in the body back by the whole
/// angle that the body turns, so that in the world it stays.
fn tangent(spin: &Vec3, half: f64) -> f64 {
    let x = half * spin.norm();
    match x {
        x if x < 1e-4 => 1.0 + x * x / 3.0,
        x if x < MOST_HALF_ANGLE => x.tan() / x,
        _ => 1.0,
    }
}

/// Mass and inertia tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RigidInertia {
    mass_kg: f64,
    inertia_body: Mat3,
}

impl RigidInertia {
    /// `None` unless the mass is positive and the tensor (body frame, about the centre of mass, kg·m²) symmetric and
    /// positive definite. The triangle inequality of real bodies is not asked for: a virtual tool may break it.
    #[must_use]
    pub fn new(mass_kg: f64, inertia_body: Mat3) -> Option<Self> {
        let symmetric = (inertia_body - inertia_body.transpose()).amax() <= 1e-12 * inertia_body.amax();
        let inertia_body = 0.5 * (inertia_body + inertia_body.transpose());
        let sound = mass_kg > 0.0 && mass_kg.is_finite() && symmetric && inertia_body.cholesky().is_some();
        sound.then_some(Self { mass_kg, inertia_body })
    }

    /// Mass, kg.
    #[must_use]
    pub fn mass_kg(&self) -> f64 {
        self.mass_kg
    }

    /// Inertia tensor in the body frame, kg·m².
    #[must_use]
    pub fn inertia_body(&self) -> &Mat3 {
        &self.inertia_body
    }

    /// `½ VᵀM V`, J.
    #[must_use]
    pub fn kinetic_j(&self, twist: &Twist) -> f64 {
        let (v, w) = split(twist);
        0.5 * (self.mass_kg * v.norm_squared() + w.dot(&(self.inertia_body * w)))
    }

    /// `M⁻¹`.
    #[must_use]
    pub fn inverse_matrix(&self) -> Mat6 {
        let angular = self.inertia_body.cholesky().map_or_else(Mat3::zeros, |factor| factor.inverse());
        blocks(&(Mat3::identity() / self.mass_kg), &angular)
    }

    /// `M`.
    fn matrix(&self) -> Mat6 {
        blocks(&(Mat3::identity() * self.mass_kg), &self.inertia_body)
    }
}

/// Which angular momentum `h` the gyroscopic term is built with. Kinetic energy does not depend on the choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coriolis {
    /// `h = J ω̂ tan(x)/x`, `x = T|ω̂|/2`, of the motion under the given forces: second order; without forces the angular momentum in the world
    /// is kept to round-off while `T |ω| < 1`. Contact is in `h` only as far as it was foreseen
    /// ([`RigidBody::prepare_touching`]).
    #[default]
    Midpoint,
    /// `h = J ω_k`, as in seed 001 eq. 1: first order. The length of the angular momentum grows by `T²‖h × ω̂‖²` a step
    /// (squared), so that a free body settles, at constant energy, into spinning about its axis of largest inertia.
    Start,
}

/// A six-dimensional spring and damper between the body and an anchor, both taken at the midpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coupling {
    /// `D`, symmetric positive semi-definite.
    pub damping: Mat6,
    /// `K`, symmetric positive semi-definite.
    pub stiffness: Mat6,
    /// `X_k`: displacement of the body from the anchor at the start of the step, as [`crate::math::displacement`]
    /// gives it.
    pub displacement: Vec6,
    /// Twist of the anchor over the step.
    pub anchor_twist: Twist,
}

impl Coupling {
    /// Wrench on the body at the midpoint twist `midpoint`.
    #[must_use]
    pub fn wrench(&self, midpoint: &Twist, step_s: f64) -> Wrench {
        let relative = midpoint - self.anchor_twist;
        -(self.damping * relative + self.stiffness * (self.displacement + relative * (0.5 * step_s)))
    }
}

/// One step between `prepare` and `finish`: how the body moves freely and how it yields.
#[derive(Clone, Copy, Debug)]
pub struct RigidStep {
    /// Length of the step `T`, s.
    pub step_s: f64,
    /// `A`, kg/s.
    pub operator: Mat6,
    /// `A⁻¹`, s/kg; times `T` the compliance of the body's motion over the step.
    pub inverse: Mat6,
    /// Free midpoint twist.
    pub free: Twist,
    wrench: Wrench,
    coupling: Option<Coupling>,
}

/// A rigid body in motion.
#[derive(Clone, Copy, Debug)]
pub struct RigidBody {
    inertia: RigidInertia,
    gravity: Gravity,
    coriolis: Coriolis,
    pose_world_body: Pose,
    twist: Twist,
    /// Energy that went into couplings.
    stored: CompensatedSum,
    ledger: EnergyLedger,
}

impl RigidBody {
    /// A body set down at a pose with a twist.
    #[must_use]
    pub fn new(
        inertia: RigidInertia,
        gravity: Gravity,
        coriolis: Coriolis,
        pose_world_body: Pose,
        twist: Twist,
    ) -> Self {
        let potential_j = gravity.energy_j(inertia.mass_kg, &pose_world_body.translation.vector);
        let ledger = EnergyLedger::open(inertia.kinetic_j(&twist), potential_j);
        Self { inertia, gravity, coriolis, pose_world_body, twist, stored: CompensatedSum::default(), ledger }
    }

    /// Mass and inertia.
    #[must_use]
    pub fn inertia(&self) -> &RigidInertia {
        &self.inertia
    }

    /// Pose of the centre of mass in the world.
    #[must_use]
    pub fn pose(&self) -> &Pose {
        &self.pose_world_body
    }

    /// Twist: velocity in the world, angular velocity in the body frame.
    #[must_use]
    pub fn twist(&self) -> &Twist {
        &self.twist
    }

    /// Where the energy went. Potential energy is that of gravity, plus what couplings have taken up since the body was
    /// set down.
    #[must_use]
    pub fn ledger(&self) -> &EnergyLedger {
        &self.ledger
    }

    /// Gravity on it.
    #[must_use]
    pub fn weight(&self) -> Wrench {
        join(&self.gravity.force(self.inertia.mass_kg), &Vec3::zeros())
    }

    /// Begins a step of `step_s` under `wrench` (gravity is added) and, if given, a coupling. `None` when the step is
    /// not a positive time or the outcome would not be finite.
    #[must_use]
    pub fn prepare(&self, wrench: &Wrench, coupling: Option<&Coupling>, step_s: f64) -> Option<RigidStep> {
        if !(step_s > 0.0 && step_s.is_finite()) {
            return None;
        }
        let total = wrench + self.weight();
        let parts = match coupling {
            None => self.prepare_alone(&total, &Vec3::zeros(), step_s)?,
            Some(coupling) => self.prepare_coupled(&total, coupling, step_s)?,
        };
        Self::checked(parts, wrench, coupling, step_s)
    }

    /// As [`Self::prepare`] without a coupling, for a body on which contacts are foreseen to act with `contact` in all. Only
    /// the gyroscopic term looks at that: with the wrench that then comes out, the turning of a body in contact is of second
    /// order too. The free motion stays that without contact.
    #[must_use]
    pub fn prepare_touching(&self, wrench: &Wrench, contact: &Wrench, step_s: f64) -> Option<RigidStep> {
        if !(step_s > 0.0 && step_s.is_finite()) {
            return None;
        }
        let total = wrench + self.weight();
        let parts = self.prepare_alone(&total, &split(contact).1, step_s)?;
        Self::checked(parts, wrench, None, step_s)
    }

    fn checked(
        (operator, inverse, free): (Mat6, Mat6, Twist),
        wrench: &Wrench,
        coupling: Option<&Coupling>,
        step_s: f64,
    ) -> Option<RigidStep> {
        // A sum is finite only if no term is NaN or infinite.
        let sound = (inverse.abs().sum() + free.abs().sum()).is_finite();
        sound.then_some(RigidStep { step_s, operator, inverse, free, wrench: *wrench, coupling: coupling.copied() })
    }

    /// Ends a step with the midpoint twist that the constraints left: `step.free` if there were none, else
    /// `step.free + step.inverse · Hᵀλ`.
    pub fn finish(&mut self, step: &RigidStep, midpoint: &Twist) {
        let step_s = step.step_s;
        let mut flow = EnergyFlow {
            work_in_j: step_s * step.wrench.dot(midpoint),
            contact_work_j: step_s * (step.operator * (midpoint - step.free)).dot(midpoint),
            dissipated_j: 0.0,
        };
        if let Some(coupling) = &step.coupling {
            // The coupling's work on the body: into its spring, into heat, and from the anchor.
            let relative = midpoint - coupling.anchor_twist;
            let middle = coupling.displacement + relative * (0.5 * step_s);
            self.stored.add(step_s * relative.dot(&(coupling.stiffness * middle)));
            flow.dissipated_j += step_s * relative.dot(&(coupling.damping * relative));
            flow.work_in_j += step_s * coupling.wrench(midpoint, step_s).dot(&coupling.anchor_twist);
        }
        self.pose_world_body = advance(&self.pose_world_body, midpoint, step_s);
        self.twist = midpoint * 2.0 - self.twist;
        let position = &self.pose_world_body.translation.vector;
        let potential_j = self.gravity.energy_j(self.inertia.mass_kg, position) + self.stored.value();
        self.ledger.record(&flow, self.inertia.kinetic_j(&self.twist), potential_j);
    }

    /// Puts the body somewhere else, with a fresh ledger.
    pub fn place(&mut self, pose_world_body: Pose, twist: Twist) {
        *self = Self::new(self.inertia, self.gravity, self.coriolis, pose_world_body, twist);
    }

    /// Gives the body another twist at once, as an impulse of contact does; the kinetic energy it loses is booked as
    /// contact work.
    pub fn strike(&mut self, twist: Twist) {
        let kinetic_j = self.inertia.kinetic_j(&twist);
        let flow =
            EnergyFlow { contact_work_j: kinetic_j - self.inertia.kinetic_j(&self.twist), ..EnergyFlow::default() };
        self.twist = twist;
        self.ledger.record(&flow, kinetic_j, self.ledger.potential_j());
    }

    /// Moves the body without giving it speed, as pushing overlapping bodies apart does; what its weight gains is booked
    /// as contact work.
    pub fn shift(&mut self, pose_world_body: Pose) {
        let height = |pose: &Pose| self.gravity.energy_j(self.inertia.mass_kg, &pose.translation.vector);
        let gained = height(&pose_world_body) - height(&self.pose_world_body);
        let flow = EnergyFlow { contact_work_j: gained, ..EnergyFlow::default() };
        self.pose_world_body = pose_world_body;
        self.ledger.record(&flow, self.ledger.kinetic_j(), self.ledger.potential_j() + gained);
    }

    /// Without a coupling `A` falls into a multiple of the identity and a 3×3 block `(2/T) B`, `B = J − S(h) T/2`.
    fn prepare_alone(&self, total: &Wrench, foreseen: &Vec3, step_s: f64) -> Option<(Mat6, Mat6, Twist)> {
        let half = 0.5 * step_s;
        let (v, w) = split(&self.twist);
        let (force, torque) = split(total);
        let (mass, inertia) = (self.inertia.mass_kg, &self.inertia.inertia_body);
        let momentum = match self.coriolis {
            Coriolis::Start => inertia * w,
            Coriolis::Midpoint => {
                let spin = self.free_spin(&(torque + foreseen), half);
                inertia * spin * tangent(&spin, half)
            }
        };
        let block = inertia - skew(&momentum) * half;
        let inverse = block.try_inverse()?;
        let mut spin = w + inverse * (torque + momentum.cross(&w)) * half;
        // Once more on what is left over: the inverse of a slender body's block is not accurate enough for its energy.
        spin += inverse * ((torque + momentum.cross(&spin)) * half - inertia * (spin - w));
        let linear = Mat3::identity() * (mass / half);
        let operator = blocks(&linear, &(block / half));
        let yielding = blocks(&(Mat3::identity() * (half / mass)), &(inverse * half));
        Some((operator, yielding, join(&(v + force * (half / mass)), &spin)))
    }

    /// Midpoint angular velocity of the body under `torque` alone: root of `J(ω̂ − ω) = (Jω̂ × ω̂ + τ) T/2` by Newton's
    /// method, as far as it descends, with `h = Jω̂ tan(x)/x`. Whatever it returns is a lawful choice for the gyroscopic term.
    fn free_spin(&self, torque: &Vec3, half: f64) -> Vec3 {
        let (_, start) = split(&self.twist);
        let inertia = &self.inertia.inertia_body;
        let residual = |w: &Vec3| inertia * (w - start) - ((inertia * w).cross(w) * tangent(w, half) + torque) * half;
        let mut spin = start;
        let mut left = residual(&spin);
        for _ in 0..MAX_NEWTON {
            let jacobian = inertia - (skew(&(inertia * spin)) - skew(&spin) * inertia) * (half * tangent(&spin, half));
            let Some(inverse) = jacobian.try_inverse() else { break };
            let next = spin - inverse * left;
            let next_left = residual(&next);
            let descends = next_left.norm_squared() < left.norm_squared();
            if !descends {
                break;
            }
            (spin, left) = (next, next_left);
        }
        spin
    }

    /// With a coupling the full 6×6 system; the momentum at the midpoint comes from one step with that at the start,
    /// which is enough for second order (the coupling's torque leaves no momentum to be kept).
    fn prepare_coupled(&self, total: &Wrench, coupling: &Coupling, step_s: f64) -> Option<(Mat6, Mat6, Twist)> {
        let base = self.inertia.matrix() * (2.0 / step_s) + coupling.damping + coupling.stiffness * (0.5 * step_s);
        let (_, w) = split(&self.twist);
        // Not in increments: under a stiff coupling `V̂` is a small number beside `V_k`.
        let right =
            self.inertia.matrix() * self.twist * (2.0 / step_s) + total + coupling.wrench(&Twist::zeros(), step_s);
        let solve = |momentum: &Vec3| {
            let gyroscopic = blocks(&Mat3::zeros(), &skew(momentum));
            let operator = base - gyroscopic;
            let inverse = operator.try_inverse()?;
            let mut free = inverse * right;
            free += inverse * (right - operator * free);
            Some((operator, inverse, free))
        };
        let first = solve(&(self.inertia.inertia_body * w))?;
        match self.coriolis {
            Coriolis::Start => Some(first),
            Coriolis::Midpoint => solve(&(self.inertia.inertia_body * split(&first.2).1)),
        }
    }
}

/// Block-diagonal matrix.
fn blocks(linear: &Mat3, angular: &Mat3) -> Mat6 {
    let mut matrix = Mat6::zeros();
    matrix.fixed_view_mut::<3, 3>(0, 0).copy_from(linear);
    matrix.fixed_view_mut::<3, 3>(3, 3).copy_from(angular);
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slender() -> RigidInertia {
        let tilt = crate::math::exp_so3(&Vec3::new(0.4, -0.7, 0.2)).to_rotation_matrix();
        let inertia = tilt.matrix() * Mat3::from_diagonal(&Vec3::new(2e-6, 3e-4, 4e-4)) * tilt.matrix().transpose();
        RigidInertia::new(0.05, 0.5 * (inertia + inertia.transpose())).expect("sound")
    }

    fn free(inertia: RigidInertia, coriolis: Coriolis, spin: Vec3) -> RigidBody {
        RigidBody::new(inertia, Gravity::NONE, coriolis, Pose::identity(), join(&Vec3::zeros(), &spin))
    }

    fn step_freely(body: &mut RigidBody, wrench: &Wrench, step_s: f64) {
        let step = body.prepare(wrench, None, step_s).expect("sound");
        body.finish(&step, &step.free);
    }

    fn coupling() -> Coupling {
        let stiff = Mat6::from_diagonal(&Vec6::new(4e3, 3e3, 2e3, 2.0, 1.5, 1.0));
        Coupling {
            damping: stiff * 1e-3,
            stiffness: stiff,
            displacement: Vec6::new(1e-3, -2e-3, 5e-4, 0.1, -0.05, 0.02),
            anchor_twist: Vec6::new(0.1, 0.0, -0.2, 0.5, 0.1, -0.3),
        }
    }

    #[test]
    fn the_inverse_given_to_the_solver_is_that_of_the_operator() {
        let body = free(slender(), Coriolis::Midpoint, Vec3::new(3.0, -20.0, 8.0));
        let coupling = coupling();
        for coupling in [None, Some(&coupling)] {
            let step = body.prepare(&Vec6::zeros(), coupling, 5e-3).expect("sound");
            assert!((step.operator * step.inverse - Mat6::identity()).amax() < 1e-12);
        }
    }

    #[test]
    fn a_coupling_of_no_strength_changes_nothing() {
        let body = free(slender(), Coriolis::Start, Vec3::new(3.0, -20.0, 8.0));
        let nothing = Coupling { damping: Mat6::zeros(), stiffness: Mat6::zeros(), ..coupling() };
        let wrench = Vec6::new(1.0, 2.0, 3.0, 1e-3, 2e-3, -1e-3);
        let alone = body.prepare(&wrench, None, 5e-3).expect("sound");
        let coupled = body.prepare(&wrench, Some(&nothing), 5e-3).expect("sound");
        assert!((alone.free - coupled.free).amax() < 1e-12, "{} {}", alone.free, coupled.free);
        assert!((alone.operator - coupled.operator).amax() < 1e-12);
    }

    #[test]
    fn a_symmetric_top_precesses_as_euler_says_to_second_order_in_the_step() {
        // J = diag(a, a, c): ω turns about the axis at (c − a)/a ω₃, the body about its momentum h at |h|/a.
        let (a, c, end_s) = (2e-4, 5e-4, 0.5);
        let start = Vec3::new(4.0, 0.0, 10.0);
        let inertia = RigidInertia::new(0.1, Mat3::from_diagonal(&Vec3::new(a, a, c))).expect("sound");
        let h = Vec3::new(a * start.x, 0.0, c * start.z);
        let turned = crate::math::exp_so3(&(Vec3::z() * ((c - a) / a * start.z * end_s)));
        let pose = crate::math::exp_so3(&(h * (end_s / a))) * turned.inverse();
        let errors = |coriolis, steps: u32| {
            let mut body = free(inertia, coriolis, start);
            for _ in 0..steps {
                step_freely(&mut body, &Vec6::zeros(), end_s / f64::from(steps));
            }
            let spin_error = (split(body.twist()).1 - turned * start).norm();
            Vec3::new(spin_error, (pose.inverse() * body.pose().rotation).angle(), 0.0)
        };
        let (coarse, fine) = (errors(Coriolis::Midpoint, 500), errors(Coriolis::Midpoint, 1000));
        assert!(fine.x < 5e-3 && fine.y < 5e-3, "{fine}");
        let order = Vec3::new((coarse.x / fine.x).log2(), (coarse.y / fine.y).log2(), 2.0);
        assert!((order - Vec3::repeat(2.0)).amax() < 0.02, "{order}");
        // With the momentum of the start it is first order: the reason why the midpoint is the default.
        let (coarse, fine) = (errors(Coriolis::Start, 500), errors(Coriolis::Start, 1000));
        assert!(((coarse.x / fine.x).log2() - 1.0).abs() < 0.1, "{coarse} {fine}");
    }

    #[test]
    fn constant_force_and_torque_about_a_principal_axis_give_the_closed_form_at_any_step() {
        let inertia = RigidInertia::new(0.2, Mat3::from_diagonal(&Vec3::new(1e-4, 2e-4, 3e-4))).expect("sound");
        let (force, torque) = (Vec3::new(0.3, -0.1, 0.2), Vec3::new(0.0, 6e-4, 0.0));
        for steps in [7_u32, 1000] {
            let gravity = Gravity::STANDARD;
            let start = Vec6::new(0.5, 0.25, -1.0, 0.0, 1.5, 0.0);
            let mut body = RigidBody::new(inertia, gravity, Coriolis::default(), Pose::identity(), start);
            let t = 0.9;
            for _ in 0..steps {
                step_freely(&mut body, &join(&force, &torque), t / f64::from(steps));
            }
            let acceleration = force / 0.2 + gravity.acceleration;
            let position = Vec3::new(0.5, 0.25, -1.0) * t + acceleration * (0.5 * t * t);
            assert!((body.pose().translation.vector - position).norm() < 1e-12 * position.norm());
            let angle = 1.5 * t + 0.5 * 3.0 * t * t;
            assert!((crate::math::log_so3(&body.pose().rotation) - Vec3::new(0.0, angle, 0.0)).norm() < 1e-12);
            assert!((split(body.twist()).1 - Vec3::new(0.0, 1.5 + 3.0 * t, 0.0)).norm() < 1e-12);
        }
    }

    #[test]
    fn a_free_body_keeps_the_length_of_its_angular_momentum_to_round_off() {
        let mut body = free(slender(), Coriolis::Midpoint, Vec3::new(3.0, -10.0, 8.0));
        let length = |body: &RigidBody| (body.inertia().inertia_body() * split(body.twist()).1).norm();
        let start = length(&body);
        for k in 0..10_000 {
            step_freely(&mut body, &Vec6::zeros(), [1e-3, 1e-2, 3e-4][k % 3]);
        }
        assert!((length(&body) / start - 1.0).abs() < 1e-12, "{:e}", length(&body) / start - 1.0);
    }

    #[test]
    fn momentum_taken_at_the_start_grows_by_the_amount_documented() {
        let mut body = free(slender(), Coriolis::Start, Vec3::new(3.0, -10.0, 8.0));
        let momentum = |body: &RigidBody| body.inertia().inertia_body() * split(body.twist()).1;
        for _ in 0..100 {
            let before = momentum(&body);
            let step = body.prepare(&Vec6::zeros(), None, 5e-3).expect("sound");
            body.finish(&step, &step.free);
            let grown = momentum(&body).norm_squared() - before.norm_squared();
            let expected = (before.cross(&split(&step.free).1) * 5e-3).norm_squared();
            assert!((grown - expected).abs() <= 1e-14 * before.norm_squared(), "{grown} {expected}");
        }
    }

    fn the_ledger_closes(coriolis: Coriolis, coupled: bool) {
        let start = Vec6::new(0.1, 0.2, 0.3, 3.0, -2.0, 1.0);
        let mut body = RigidBody::new(slender(), Gravity::STANDARD, coriolis, Pose::identity(), start);
        let mut anchored = coupling();
        let mut gross = body.ledger().initial_j();
        for k in 0..20_000_u32 {
            let step_s = [1e-4, 2e-2, 1.3e-3, 7e-3][k as usize % 4];
            let phase = f64::from(k).sin();
            anchored.anchor_twist = Vec6::new(0.1, 0.0, -0.2, 0.5, 0.1, -0.3) * phase;
            anchored.displacement = crate::math::displacement(&Pose::identity(), body.pose());
            let wrench = Vec6::new(0.3, phase, 0.2, 1e-3 * phase, -1e-3 * phase, 5e-4);
            let step = body.prepare(&wrench, coupled.then_some(&anchored), step_s).expect("sound");
            // A contact that takes the motion along one direction out of some steps, against a sliding surface.
            let row = Vec6::new(0.0, 0.6, 0.8, 1e-2, 0.0, -2e-2);
            let lambda = (0.1 * phase - row.dot(&step.free)) / row.dot(&(step.inverse * row));
            let contact = if k % 5 == 0 { step.inverse * row * lambda } else { Vec6::zeros() };
            let before = *body.ledger();
            body.finish(&step, &(step.free + contact));
            gross += (body.ledger().work_in_j() - before.work_in_j()).abs();
            gross += (body.ledger().contact_work_j() - before.contact_work_j()).abs();
        }
        let ledger = body.ledger();
        assert!(ledger.balance().abs() < 1e-12 * gross, "{:e} of {gross:e}", ledger.balance());
        assert!((ledger.dissipated_j() > 0.0) == coupled && ledger.contact_work_j() != 0.0);
    }

    #[test]
    fn the_ledger_closes_with_gravity_wrench_coupling_and_contact_at_uneven_steps() {
        for coriolis in [Coriolis::Midpoint, Coriolis::Start] {
            the_ledger_closes(coriolis, false);
            the_ledger_closes(coriolis, true);
        }
    }

    #[test]
    fn a_step_that_is_not_finite_is_refused() {
        let body = free(slender(), Coriolis::default(), Vec3::x());
        for (torque, step_s) in [(0.0, 0.0), (0.0, f64::NAN), (0.0, -1.0), (f64::NAN, 1e-3), (f64::INFINITY, 1e-3)] {
            let wrench = Vec6::new(0.0, 0.0, 0.0, torque, 0.0, 0.0);
            assert!(body.prepare(&wrench, None, step_s).is_none());
            assert!(body.prepare(&wrench, Some(&coupling()), step_s).is_none());
        }
        assert!(RigidInertia::new(1.0, Mat3::from_diagonal(&Vec3::new(1.0, 0.0, 1.0))).is_none());
        assert!(RigidInertia::new(-1.0, Mat3::identity()).is_none());
    }
}
