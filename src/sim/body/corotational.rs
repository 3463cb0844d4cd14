//! Bodies of corotational elements: held or free, by implicit Euler or from equilibrium to equilibrium.
//!
//! Thread: simulation.
//!
//! A body that nothing holds has no equilibrium; its steps have inertia. The haptic tick gets the compliance of the step, `h H A⁻¹ Hᵀ`
//! (Peterlik et al. 2011), which holds its inertia over a step too. To move it in the tick as a rigid body with the compliance of its
//! deformation alone, `W − h² H_r M⁻¹ H_rᵀ`, was tried: the difference is not positive semi-definite where the body is deformed, and the tick's
//! problem has no solution then.

use super::carrier::{CarriedBy, Carrier};
use super::surface::SoftSkin;
use super::{FemRows, Point, SoftBody, SoftRow, When, place_of};
use crate::fem::{CorotationalBody, FemError, FemModel, FemSkin, Regime, RegimeSpec, nearest_rotation};
use crate::geometry::tet::TetMesh;
use crate::math::{Mat3, Pose, Rot, Vec3};
use std::sync::Arc;

/// Share of the damping of implicit Euler that motions between two steps meet. Zero: a rigid body on a soft one swings between two steps at 30 Hz, which the
/// hand feels as 3 % of the peak; one: slow motions are felt as viscous.
const IMPLICIT_SHARE: f64 = 1.0 / 3.0;

/// How a corotational body steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steps {
    /// Always with inertia.
    Implicit,
    /// Always from equilibrium to equilibrium.
    QuasiStatic,
    /// As the rule of coarse steps of Theetten et al. 2007 decides, with hysteresis.
    Auto(RegimeSpec),
}

/// What does not change about a corotational body.
#[derive(Clone, Debug)]
pub struct CorotationalModel {
    /// Elements.
    pub fem: Arc<FemModel>,
    /// How it steps.
    pub steps: Steps,
    /// Acceleration of gravity in the carrier frame, m/s².
    pub gravity: Vec3,
    /// Triangles that are drawn.
    pub skin: FemSkin,
    /// Surface that contacts are detected on.
    pub surface: Arc<SoftSkin>,
    /// Contacts of the body with itself are detected.
    pub self_contact: bool,
    /// No node is fixed.
    pub is_free: bool,
    /// Period of the slowest vibration of a held body, s; zero for a free one.
    period_s: f64,
    /// Mass of each node, kg.
    masses: Vec<f64>,
}

impl CorotationalModel {
    /// The body made of `fem`, which was made from `mesh`.
    #[must_use]
    pub fn new(fem: Arc<FemModel>, mesh: &TetMesh, gravity: Vec3, steps: Steps) -> Self {
        let is_free = (0..fem.node_count() as u32).all(|node| fem.first_of(node).is_some());
        let unit = fem.gravity_force(&Vec3::x());
        let mass_of = |node: u32| fem.first_of(node).map_or(0.0, |first| unit[first]);
        let masses = (0..fem.node_count() as u32).map(mass_of).collect();
        let period_s = if is_free { 0.0 } else { fem.slowest_period_s() };
        Self {
            skin: FemSkin::with_materials(&fem, mesh),
            surface: Arc::new(SoftSkin::new(mesh)),
            fem,
            steps,
            gravity,
            self_contact: false,
            is_free,
            period_s,
            masses,
        }
    }
}

/// See the file's head.
pub struct Corotational {
    model: Arc<CorotationalModel>,
    body: CorotationalBody,
    carrier: Carrier,
    rows: FemRows,
    step_s: f64,
    waited: u32,
    /// State before the step, to return to when it fails.
    safe: (Vec<f64>, Vec<f64>),
    energy_j: f64,
    /// Mean rotation at the end of the last step: the first guess of the next.
    turned: Rot,
}

impl Corotational {
    /// The body at rest at `pose`, on a carrier that `by` moves.
    #[must_use]
    pub(in crate::sim) fn new(model: Arc<CorotationalModel>, pose: Pose, by: Option<CarriedBy>) -> Self {
        let mut body = CorotationalBody::new(model.fem.clone(), model.gravity);
        if model.steps == Steps::QuasiStatic || by.is_some() {
            body.set_regime(Regime::QuasiStatic);
        }
        let zeros = vec![0.0; model.fem.size()];
        Self {
            body,
            carrier: Carrier::new(by, pose),
            rows: FemRows::default(),
            step_s: 0.0,
            waited: 0,
            safe: (zeros.clone(), zeros),
            energy_j: 0.0,
            turned: Rot::identity(),
            model,
        }
    }

    /// What does not change.
    #[must_use]
    pub fn model(&self) -> &Arc<CorotationalModel> {
        &self.model
    }

    /// The finite element body.
    #[must_use]
    pub fn body(&self) -> &CorotationalBody {
        &self.body
    }

    /// Sets displacements and velocities, in the carrier frame.
    ///
    /// # Errors
    /// When a slice is not of the body's size.
    pub fn set_state(&mut self, position: &[f64], velocity: &[f64]) -> Result<(), FemError> {
        self.body.set_state(position, velocity)
    }

    /// Chooses the regime by the length of the step against the slowest vibration. The rule of computing time is not applied: a step that
    /// depends on the clock could not be run again to the bit.
    fn choose_regime(&mut self, step_s: f64) {
        if let (Steps::Auto(spec), false) = (self.model.steps, self.carrier.moves()) {
            let held = !self.model.is_free;
            let coarseness = if self.model.period_s > 0.0 { step_s / self.model.period_s } else { 0.0 };
            let next = spec.next(self.body.regime(), &mut self.waited, held, 0.0, coarseness);
            self.body.set_regime(next);
        }
    }

    /// Place of a point of the body now, in the world.
    #[must_use]
    pub fn place_now(&self, point: &Point) -> Vec3 {
        place_of(&self.model.fem, &self.carrier.pose, point, self.body.position())
    }

    /// Linear momentum, kg·m/s, and angular momentum about the origin of the world, kg·m²/s.
    #[must_use]
    pub fn momentum(&self) -> (Vec3, Vec3) {
        let (mut linear, mut angular) = (Vec3::zeros(), Vec3::zeros());
        self.each_node(|mass, place, velocity| {
            linear += velocity * mass;
            angular += place.cross(&velocity) * mass;
        });
        (linear, angular)
    }

    /// Mass, place and velocity of each free node, in the world.
    fn each_node(&self, mut each: impl FnMut(f64, Vec3, Vec3)) {
        let fem = &self.model.fem;
        for (node, mass) in (0..).zip(&self.model.masses) {
            let Some(first) = fem.first_of(node) else { continue };
            let of = |x: &[f64]| Vec3::new(x[first], x[first + 1], x[first + 2]);
            let local = fem.rest()[node as usize] + of(self.body.position());
            let place = self.carrier.pose.rotation * local + self.carrier.pose.translation.vector;
            each(*mass, place, self.carrier.pose.rotation * of(self.body.velocity()));
        }
    }

    /// Pose that carries the body at rest to where it is on the mean: centre of mass to centre of mass, with the rotation nearest to its
    /// deformation. The carrier frame for a held body.
    #[must_use]
    pub fn mean_pose(&self) -> Pose {
        if !self.model.is_free {
            return self.carrier.pose;
        }
        let fem = &self.model.fem;
        let (mut mass_kg, mut rest, mut now) = (0.0, Vec3::zeros(), Vec3::zeros());
        for (node, mass) in (0..).zip(&self.model.masses) {
            mass_kg += mass;
            rest += fem.rest()[node as usize] * *mass;
            now += (fem.rest()[node as usize] + self.displacement(node, When::Now)) * *mass;
        }
        let (rest, now) = (rest / mass_kg, now / mass_kg);
        let mut deformation = Mat3::zeros();
        for (node, mass) in (0..).zip(&self.model.masses) {
            let arm = fem.rest()[node as usize] - rest;
            deformation += (arm + rest + self.displacement(node, When::Now) - now) * arm.transpose() * *mass;
        }
        let rotation = nearest_rotation(&deformation, &self.turned);
        self.carrier.pose * Pose::from_parts((now - rotation * rest).into(), rotation)
    }
}

impl SoftBody for Corotational {
    fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    fn carrier_mut(&mut self) -> &mut Carrier {
        &mut self.carrier
    }

    fn prepare(&mut self, step_s: f64) -> bool {
        self.choose_regime(step_s);
        self.step_s = step_s;
        self.safe.0.copy_from_slice(self.body.position());
        self.safe.1.copy_from_slice(self.body.velocity());
        self.rows.force.clear();
        self.rows.force.resize(self.model.fem.size(), 0.0);
        self.body.prepare(&self.rows.force, step_s).is_ok()
    }

    fn compliance(&mut self, rows: &[SoftRow<'_>], out: &mut [f64]) {
        self.rows.collect(&self.model.fem, &self.carrier, rows);
        // Fails only before the first step.
        let _ = self.body.compliance(&self.rows.rows, &mut self.rows.work, out);
    }

    /// Time by which the force follows the velocity between two steps, s. The stiffness of the step, `K (1 + β/h)`, holds the damping `β K` as if
    /// all motion took a step; between two steps that is a lead of `β/(1 + β/h)`. The step itself damps faster motions by its method: implicit
    /// Euler takes the force at the end of the step, a lead of `h/2`.
    fn lead_s(&self) -> f64 {
        match self.body.regime() {
            Regime::Dynamic => {
                let damping_s = self.model.fem.damping().stiffness_s;
                let viscous = damping_s * self.step_s / (self.step_s + damping_s).max(f64::MIN_POSITIVE);
                viscous + IMPLICIT_SHARE * 0.5 * self.step_s
            }
            Regime::QuasiStatic => 0.0,
        }
    }

    fn apply(&mut self, rows: &[SoftRow<'_>], forces: &[f64], last: bool) -> f64 {
        if !last {
            return 0.0;
        }
        self.rows.collect(&self.model.fem, &self.carrier, rows);
        let force = self.rows.transposed(&self.model.fem, forces);
        let _ = self.body.apply_contact(force);
        0.0
    }

    /// Changes the velocity by `A⁻¹ Hᵀp/h`, the answer of the step to the impulses `p`.
    fn strike(&mut self, rows: &[SoftRow<'_>], impulses: &[f64]) {
        self.rows.collect(&self.model.fem, &self.carrier, rows);
        // Fails only before the first step and for impulses that are not finite.
        let _ = self.body.strike(self.rows.transposed(&self.model.fem, impulses));
    }

    /// A step that fails leaves the body where it was, at rest.
    fn finish(&mut self, _step_s: f64) -> bool {
        let quasi_static = self.body.regime() == Regime::QuasiStatic;
        let finished = self.body.finish().is_ok();
        let sound = self.body.position().iter().chain(self.body.velocity()).all(|x| x.is_finite());
        if !sound || (!finished && !quasi_static) {
            self.safe.1.fill(0.0);
            // Of the body's own size.
            let _ = self.body.set_state(&self.safe.0, &self.safe.1);
        }
        self.energy_j = self.body.elastic_energy() + self.body.kinetic_energy();
        self.turned = self.carrier.pose.rotation.inverse() * self.mean_pose().rotation;
        finished && sound
    }

    fn rest(&self, node: u32) -> Vec3 {
        self.model.fem.rest()[node as usize]
    }

    fn displacement(&self, node: u32, when: When) -> Vec3 {
        let fem = &self.model.fem;
        let now = fem.at_node(node, self.body.position());
        if when == When::Free { now + fem.at_node(node, self.body.midpoint()) * self.step_s } else { now }
    }

    fn reaches(&self, node: u32) -> bool {
        self.model.fem.first_of(node).is_some()
    }

    fn skin(&self) -> Option<&Arc<SoftSkin>> {
        Some(&self.model.surface)
    }

    fn self_contact(&self) -> bool {
        self.model.self_contact
    }

    fn energy_j(&self) -> f64 {
        self.energy_j
    }
}
