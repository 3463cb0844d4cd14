//! Rigid bodies of the scene, moved by the haptic thread between two snapshots.
//!
//! Thread: haptic (RT; memory is set aside at construction).
//!
//! A box that is pushed gives way by `λ s²/2m` after a time `s`: next to nothing in a tick, much in a step of the
//! simulation. A compliance taken from the step would make it feel soft. So each body of the snapshot is moved here tick by
//! tick with the forces of the ticks:
//!
//! ```text
//!  V' = V + T (a + M⁻¹ Σ Hᵀλ),   X' = X + T V'                 compliance of a row: T² H M⁻¹ Hᵀ
//! ```
//!
//! The velocity at the end of the tick enters the contact law (Moreau's rule): contacts between bodies neither recoil nor
//! need settling, and the bodies are passive: of the work `T λᵀH V'` that rows do, `½ T² λᵀH M⁻¹Hᵀλ` is lost. Rows stay as
//! the snapshot has them; the next one brings new ones.
//!
//! A row with a *lead* `τ` stands for something viscous, `X + τ V` in place of `X` (Kelvin and Voigt): its force follows the velocity at the end of the
//! tick too. Rows of one snapshot may have different leads, so that their compliance over the bodies, `(T² + τ_i T) H_i M⁻¹ H_jᵀ`, is not symmetric.
//!
//! What the hand feels is what the bodies get: the impulses of the tool on each of them are summed up, and the simulation
//! moves its own bodies by these sums instead of by a guess of its own at the tool's force. Both therefore agree, at any
//! rate of the simulation, but for what changes in the geometry of a contact during a step.
//!
//! In a scene for two hands the other hand's tool is one of the bodies: its mass, its velocity, and as acceleration what its
//! hand pulls it with. What is done to it here is not summed up, since its own loop feels it and finds it too.

use crate::math::{Twist, Vec6};
use crate::mechanism::{Block, MAX_ROWS, MAX_SCENE_BODIES, MechanismSnapshot, Row, RowKind, SceneBody};
use crate::shared::{MAX_PUSHED, Push};

/// How bodies answer the forces of rows.
#[derive(Clone, Copy)]
pub(super) struct BodyCompliance<'a> {
    pub(super) rows: &'a [Row],
    /// `T² M⁻¹ Hᵀ` of each row on its two sides.
    pub(super) yielding: &'a [[Vec6; 2]],
    /// Ways of the bodies in a tick count this many times in each row.
    pub(super) leads: &'a [f64],
}

/// See the file's head.
#[expect(clippy::disallowed_types, reason = "boxed when it is made: too large for a stack, never moved after")]
pub(super) struct LocalBodies {
    bodies: [SceneBody; MAX_SCENE_BODIES],
    /// `X`: way since the time of the snapshot.
    ways: [Vec6; MAX_SCENE_BODIES],
    count: usize,
    /// `T² M⁻¹ Hᵀ` of each row on each of its two sides.
    yielding: Box<[[Vec6; 2]; MAX_ROWS]>,
    /// Ways of the bodies in a tick count this many times in each row: `1 + lead/T`.
    leads: [f64; MAX_ROWS],
    pushes: [Push; MAX_PUSHED],
    pushed_s: f64,
}

impl LocalBodies {
    /// None.
    #[expect(clippy::disallowed_types, reason = "made before the first tick")]
    pub(super) fn new() -> Self {
        Self {
            bodies: [SceneBody::fixed(); MAX_SCENE_BODIES],
            ways: [Vec6::zeros(); MAX_SCENE_BODIES],
            count: 0,
            yielding: Box::new([[Vec6::zeros(); 2]; MAX_ROWS]),
            leads: [1.0; MAX_ROWS],
            pushes: [Push::none(); MAX_PUSHED],
            pushed_s: 0.0,
        }
    }

    /// How the bodies answer the forces of `rows`; `None` when there is no body.
    pub(super) fn compliance<'a>(&'a self, rows: &'a [Row]) -> Option<BodyCompliance<'a>> {
        (self.count > 0).then_some(BodyCompliance { rows, yielding: &self.yielding[..], leads: &self.leads })
    }

    /// What the tool has done to each body of the scene, and over what time, s.
    pub(super) fn pushes(&self) -> (&[Push; MAX_PUSHED], f64) {
        (&self.pushes, self.pushed_s)
    }

    /// Takes the bodies of a snapshot over, moved on by the `age_s` since it was true as if the forces `lambda` of its rows
    /// had acted all that time.
    pub(super) fn adopt(&mut self, snapshot: &MechanismSnapshot, lambda: &[f64], age_s: f64, period_s: f64) {
        self.count = snapshot.body_count;
        self.bodies[..self.count].copy_from_slice(snapshot.bodies());
        for ((row, yielding), lead) in snapshot.rows().iter().zip(self.yielding.iter_mut()).zip(&mut self.leads) {
            // What a step of the simulation's length resists is in the compliance already.
            *lead = 1.0 + row.lead_s * (1.0 / period_s - 1.0 / snapshot.step_s).max(0.0);
            for (body, jacobian, side) in row.parts() {
                yielding[side] = self.bodies[body].inverse_mass * jacobian * (period_s * period_s);
            }
        }
        let mut pulled = [Vec6::zeros(); MAX_SCENE_BODIES];
        self.pull(snapshot.rows(), lambda, period_s, &mut pulled);
        // Older than its own step, the last forces say nothing about what happened since.
        let pulled_s = age_s.clamp(0.0, snapshot.step_s);
        for index in 0..self.count {
            let body = &mut self.bodies[index];
            let acceleration = body.acceleration + pulled[index];
            self.ways[index] = body.twist * pulled_s + acceleration * (0.5 * pulled_s * pulled_s);
            body.twist += acceleration * pulled_s;
            self.ways[index] += body.twist * (age_s - pulled_s).max(0.0);
        }
    }

    /// Adds the acceleration of each body under the forces of the rows.
    fn pull(&self, rows: &[Row], lambda: &[f64], period_s: f64, out: &mut [Vec6; MAX_SCENE_BODIES]) {
        let scale = 1.0 / (period_s * period_s);
        for ((row, yielding), force) in rows.iter().zip(&*self.yielding).zip(lambda) {
            for (body, _, side) in row.parts() {
                out[body] += yielding[side] * (force * scale);
            }
        }
    }

    /// How far the bodies have moved a row since the time of the snapshot.
    pub(super) fn moved(&self, row: &Row) -> f64 {
        row.parts().map(|(body, jacobian, _)| jacobian.dot(&self.ways[body])).sum()
    }

    /// How far they would move row `index` in this tick if nothing touched them.
    pub(super) fn coming(&self, index: usize, row: &Row, period_s: f64) -> f64 {
        let twist = |body: &SceneBody| -> Twist { body.twist + body.acceleration * period_s };
        let time_s = period_s * self.leads[index];
        row.parts().map(|(body, jacobian, _)| time_s * jacobian.dot(&twist(&self.bodies[body]))).sum()
    }

    /// How fast they move it.
    pub(super) fn speed(&self, row: &Row) -> f64 {
        row.parts().map(|(body, jacobian, _)| jacobian.dot(&self.bodies[body].twist)).sum()
    }

    /// Moves the bodies by one tick under the forces of the rows, and sums up what the tool did to them. `yields`: the row gives way besides the
    /// tool and the bodies.
    pub(super) fn advance(
        &mut self,
        blocks: &[Block],
        rows: &[Row],
        lambda: &[f64],
        period_s: f64,
        yields: impl Fn(usize) -> bool,
    ) {
        let mut pulled = [Vec6::zeros(); MAX_SCENE_BODIES];
        self.pull(rows, lambda, period_s, &mut pulled);
        for index in 0..self.count {
            let body = &mut self.bodies[index];
            body.twist += (body.acceleration + pulled[index]) * period_s;
            self.ways[index] += body.twist * period_s;
        }
        for (block, row) in blocks.iter().flat_map(|block| block.range().map(move |row| (block, row))) {
            let (given, impulse_row) = (&rows[row], lambda[row] * period_s);
            if given.kind == RowKind::Scene {
                continue;
            }
            let is_smooth = block.law.slides(row - block.first) || yields(row);
            for (body, jacobian, _) in given.parts() {
                if let Some(push) = self.pushes.get_mut(usize::from(self.bodies[body].index)) {
                    push.impulse += jacobian * impulse_row;
                    // Counted below as if it came at the beginning of the tick, as the bodies here take it. A gap makes up for
                    // that at the next step, slip never does, and a soft body between tool and body follows too little: their forces count as
                    // what they are, all through the tick.
                    if is_smooth {
                        push.moment -= jacobian * (0.5 * impulse_row * period_s);
                    }
                }
            }
        }
        for push in &mut self.pushes {
            push.moment += push.impulse * period_s;
        }
        self.pushed_s += period_s;
    }

    /// Gives the bodies of one row an impulse of the tool.
    pub(super) fn kick(&mut self, index: usize, row: &Row, impulse: f64, period_s: f64) {
        for (body, jacobian, side) in row.parts() {
            let body = &mut self.bodies[body];
            body.twist += self.yielding[index][side] * (impulse / (period_s * period_s));
            if let Some(push) = self.pushes.get_mut(usize::from(body.index)) {
                push.impulse += jacobian * impulse;
            }
        }
    }
}
