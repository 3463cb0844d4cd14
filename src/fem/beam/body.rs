//! The beam as a body of the mechanism: its shape and its step.
//!
//! Thread: simulation (storage is taken at construction; steps do not allocate).

use super::element::{Element, Stiffness};
use super::factor::{Chain, Factor};
use super::rows::finite;
use super::{BeamError, BeamRow, BeamSpec};
use crate::math::{Pose, Rot, Vec3, Vec6, Wrench, exp_so3, join, pose_is_sound, split};

/// The tangent stiffness serves while its pivots are at least this part of those of the material; nearer to buckling, and
/// beyond, that of the material takes its place. What the beam comes to rest at does not depend on it.
const LEAST_PIVOT: f64 = 0.05;
/// Farthest turn of a node in one step, rad; a step that goes farther is shortened.
const FARTHEST_TURN: f64 = 1.0;

/// A beam in the frame of its hub. See the head of `fem::beam`.
pub struct BeamBody {
    pub(super) spec: BeamSpec,
    stiffness: Stiffness,
    pub(super) hub: Pose,
    /// Chords and rotations are the shape; the rest follows from them. All in the hub's frame.
    pub(super) chords: Vec<Vec3>,
    pub(super) rotations: Vec<Rot>,
    pub(super) nodes: Vec<Vec3>,
    pub(super) elements: Vec<Element>,
    /// Tangent stiffness, and what is tried out.
    matrix: Chain,
    pub(super) factor: Factor,
    trial: Factor,
    tangent_serves: bool,
    /// Of the step under way, on the free nodes: correction without forces of rows, and these forces.
    pub(super) free: Vec<Vec6>,
    pub(super) load: Vec<Vec6>,
    /// What rows put straight onto the hub: in the step under way, and in the last.
    pub(super) onto_hub: Vec6,
    last_onto_hub: Vec6,
    /// Shape that a step would lead to.
    next_chords: Vec<Vec3>,
    next_rotations: Vec<Rot>,
}

impl BeamBody {
    /// A straight beam from the hub's origin along its −z axis, which points into the tissue.
    ///
    /// # Errors
    /// When [`BeamSpec::check`] fails or the hub is nowhere.
    pub fn new(spec: BeamSpec, hub: &Pose) -> Result<Self, BeamError> {
        spec.check()?;
        if !pose_is_sound(hub) {
            return Err(BeamError::Hub);
        }
        let (count, rest) = (spec.nodes - 1, spec.element_m());
        let chord = Vec3::new(0.0, 0.0, -rest);
        let straight = Element::new(rest, &chord, [&Rot::identity(), &Rot::identity()]);
        let mut body = Self {
            spec,
            stiffness: Stiffness {
                axial: spec.axial() / rest,
                bending: 2.0 * spec.bending() / rest,
                torsion: spec.torsion() / rest,
            },
            hub: *hub,
            chords: vec![chord; count],
            rotations: vec![Rot::identity(); count + 1],
            nodes: vec![Vec3::zeros(); count + 1],
            elements: vec![straight; count],
            matrix: Chain::new(count),
            factor: Factor::new(count),
            trial: Factor::new(count),
            tangent_serves: true,
            free: vec![Vec6::zeros(); count],
            load: vec![Vec6::zeros(); count],
            onto_hub: Vec6::zeros(),
            last_onto_hub: Vec6::zeros(),
            next_chords: vec![chord; count],
            next_rotations: vec![Rot::identity(); count + 1],
        };
        body.reshape();
        body.prepare();
        Ok(body)
    }

    /// What the beam is made of.
    #[must_use]
    pub fn spec(&self) -> &BeamSpec {
        &self.spec
    }

    /// Where the hub is.
    #[must_use]
    pub fn hub(&self) -> &Pose {
        &self.hub
    }

    /// Moves the hub, and the whole beam with it rigidly. A pose that is none is ignored.
    pub fn move_hub(&mut self, hub: &Pose) {
        if pose_is_sound(hub) {
            self.hub = *hub;
        }
    }

    /// Makes the beam straight again where its hub is.
    pub fn straighten(&mut self) {
        self.chords.fill(Vec3::new(0.0, 0.0, -self.spec.element_m()));
        self.rotations.fill(Rot::identity());
        self.last_onto_hub = Vec6::zeros();
        self.reshape();
        self.prepare();
    }

    /// Begins a step: factors the stiffness at the present shape and finds the correction that the elastic forces make alone.
    pub fn prepare(&mut self) {
        self.onto_hub = Vec6::zeros();
        self.load.fill(Vec6::zeros());
        self.free.fill(Vec6::zeros());
        if self.spec.rigid {
            return;
        }
        self.factor_stiffness();
        for (i, element) in self.elements.iter().enumerate() {
            let slope = element.gradient(&self.stiffness);
            let part = |k: usize| -> Vec3 { slope.fixed_rows::<3>(3 * k).into() };
            self.free[i] -= join(&part(0), &part(2));
            if i > 0 {
                self.free[i - 1] -= join(&-part(0), &part(1));
            }
        }
        self.factor.solve(&mut self.free);
        if !self.free.iter().all(finite) {
            self.free.fill(Vec6::zeros());
        }
    }

    /// That of the tangent where it serves, otherwise that of the material.
    fn factor_stiffness(&mut self) {
        self.matrix.clear();
        for (i, element) in self.elements.iter().enumerate() {
            self.matrix.add_element(i, &element.material(&self.stiffness));
        }
        // Positive definite but for round-off; should that spoil it, the last good factor stays.
        if self.trial.set(&self.matrix) {
            std::mem::swap(&mut self.factor, &mut self.trial);
        }
        self.assemble_tangent();
        self.tangent_serves = self.trial.set(&self.matrix) && self.trial.least_part_of(&self.factor) > LEAST_PIVOT;
        if self.tangent_serves {
            std::mem::swap(&mut self.factor, &mut self.trial);
        }
    }

    fn assemble_tangent(&mut self) {
        self.matrix.clear();
        for (i, element) in self.elements.iter().enumerate() {
            self.matrix.add_element(i, &element.tangent(&self.stiffness));
        }
    }

    /// False when the last [`Self::prepare`] took the material's stiffness, as the beam by itself is close to buckling or beyond.
    #[must_use]
    pub fn tangent_serves(&self) -> bool {
        self.tangent_serves
    }

    /// Whether the present shape is stable against every small motion in which the points of the `held` rows do not move
    /// along them: whether all pivots of the tangent stiffness are positive.
    pub fn is_stable(&mut self, held: &[BeamRow]) -> bool {
        if self.spec.rigid {
            return true;
        }
        self.assemble_tangent();
        // A million times as stiff as the beam's element is across.
        let weight = 1e6 * 6.0 * self.stiffness.bending / self.spec.element_m().powi(2);
        for row in held {
            let spread = self.spread(row);
            self.matrix.add_square(spread.element, &spread.on, weight);
        }
        self.trial.set(&self.matrix)
    }

    /// Adds a torque at the tip, N·m in the world.
    pub(super) fn apply_tip_torque(&mut self, torque: &Vec3) {
        let torque = join(&Vec3::zeros(), &self.hub.rotation.inverse_transform_vector(torque));
        if let Some(last) = self.load.last_mut().filter(|_| finite(&torque)) {
            *last += torque;
        }
    }

    /// Ends the step: nodes move by the correction of the elastic forces and that of the forces of rows. A step whose
    /// outcome is not finite leaves the shape as it is.
    pub fn finish(&mut self) {
        self.factor.solve(&mut self.load);
        for (total, free) in self.load.iter_mut().zip(&self.free) {
            *total += free;
        }
        if finite(&self.onto_hub) && (self.spec.rigid || self.advance()) {
            self.last_onto_hub = self.onto_hub;
        }
        self.onto_hub = Vec6::zeros();
        self.load.fill(Vec6::zeros());
        self.free.fill(Vec6::zeros());
    }

    /// Moves the nodes by what stands in `load`, unless that leads nowhere.
    fn advance(&mut self) -> bool {
        let farthest = self.load.iter().map(|step| split(step).1.norm()).fold(0.0, f64::max);
        let scale = if farthest > FARTHEST_TURN { FARTHEST_TURN / farthest } else { 1.0 };
        let rest = self.spec.element_m();
        let mut before = Vec3::zeros();
        for (i, step) in self.load.iter().enumerate() {
            let (place, turn) = split(&(step * scale));
            let (chord, change) = (self.chords[i], place - before);
            before = place;
            // Turned to where the linear step points, and as long as it is by that step along the chord.
            let length = (chord.norm() + change.dot(&self.elements[i].e)).clamp(0.5 * rest, 2.0 * rest);
            let direction = (chord + change).try_normalize(1e-3 * rest).unwrap_or(self.elements[i].e);
            self.next_chords[i] = direction * length;
            self.next_rotations[i + 1] = Rot::new_normalize((exp_so3(&turn) * self.rotations[i + 1]).into_inner());
        }
        let sound = self.load.iter().all(finite)
            && self.next_chords.iter().all(|c| c.iter().all(|x| x.is_finite()))
            && self.next_rotations.iter().all(|r| r.coords.iter().all(|x| x.is_finite()));
        if sound {
            self.chords.copy_from_slice(&self.next_chords);
            self.rotations.copy_from_slice(&self.next_rotations);
            self.reshape();
        }
        sound
    }

    /// Nodes and elements of the present chords and rotations.
    fn reshape(&mut self) {
        let rest = self.spec.element_m();
        for (i, chord) in self.chords.iter().enumerate() {
            self.nodes[i + 1] = self.nodes[i] + chord;
            self.elements[i] = Element::new(rest, chord, [&self.rotations[i], &self.rotations[i + 1]]);
        }
    }

    /// Elastic energy, J.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        self.elements.iter().map(|element| element.energy(&self.stiffness)).sum()
    }

    /// What the beam does to its hub: force in the world, torque about the hub's origin in the hub's frame. Elastic, at
    /// the present shape, and what forces of the last step between hub and first node put straight onto the hub; all
    /// of it when the beam is rigid.
    #[must_use]
    pub fn hub_wrench(&self) -> Wrench {
        let mut wrench = self.last_onto_hub;
        if !self.spec.rigid {
            let slope = self.elements[0].gradient(&self.stiffness);
            let part = |k: usize| -> Vec3 { slope.fixed_rows::<3>(3 * k).into() };
            wrench += join(&part(0), &-part(1));
        }
        let (force, torque) = split(&wrench);
        join(&(self.hub.rotation * force), &torque)
    }

    /// Largest force that is out of balance in the step under way, N; torques count by the length of an element.
    pub(super) fn unbalanced(&self) -> f64 {
        let length = self.spec.element_m();
        let mut worst = 0.0_f64;
        let mut rest = Vec6::zeros();
        for (i, element) in self.elements.iter().enumerate() {
            let slope = element.gradient(&self.stiffness);
            let part = |k: usize| -> Vec3 { slope.fixed_rows::<3>(3 * k).into() };
            if i > 0 {
                let (force, torque) = split(&(rest - join(&-part(0), &part(1))));
                worst = worst.max(force.norm()).max(torque.norm() / length);
            }
            rest = self.load[i] - join(&part(0), &part(2));
        }
        let (force, torque) = split(&rest);
        worst.max(force.norm()).max(torque.norm() / length)
    }
}
