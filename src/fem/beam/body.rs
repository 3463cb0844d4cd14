//! The beam as a body of the mechanism: shape, step, rows.
//!
//! Thread: simulation (storage is taken at construction; steps do not allocate).

use super::element::{Element, Stiffness};
use super::factor::{Chain, Factor};
use super::{BeamError, BeamRow, BeamSpec};
use crate::math::{Pose, Rot, Vec3, Vec6, Wrench, exp_so3, join, pose_is_sound, split};

/// The tangent stiffness serves while its pivots are at least this part of those of the material; nearer to buckling, and
/// beyond, that of the material takes its place. What the beam comes to rest at does not depend on it.
const LEAST_PIVOT: f64 = 0.05;
/// Farthest turn of a node in one step, rad; a step that goes farther is shortened.
const FARTHEST_TURN: f64 = 1.0;
/// Rows whose compliance is formed at once, on the stack.
const CHUNK: usize = 48;

/// A beam in the frame of its hub. See the head of `fem::beam`.
pub struct BeamBody {
    spec: BeamSpec,
    stiffness: Stiffness,
    hub: Pose,
    /// Chords and rotations are the shape; the rest follows from them. All in the hub's frame.
    chords: Vec<Vec3>,
    rotations: Vec<Rot>,
    nodes: Vec<Vec3>,
    elements: Vec<Element>,
    /// Tangent stiffness, and what is tried out.
    matrix: Chain,
    factor: Factor,
    trial: Factor,
    tangent_serves: bool,
    /// Of the step under way, on the free nodes: correction without forces of rows, and these forces.
    free: Vec<Vec6>,
    load: Vec<Vec6>,
    /// What rows put straight onto the hub: in the step under way, and in the last.
    onto_hub: Vec6,
    last_onto_hub: Vec6,
    /// Shape that a step would lead to.
    next_chords: Vec<Vec3>,
    next_rotations: Vec<Rot>,
}

/// A row as forces and moments on the two nodes of an element.
#[derive(Clone, Copy, Default)]
struct Spread {
    element: usize,
    on: [Vec6; 2],
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
        // Positive definite always; were it not for round-off, the last factor would stay.
        let material = self.trial.set(&self.matrix);
        self.assemble_tangent();
        // Tried in the other's place, so that a factor that is good stays.
        if material {
            std::mem::swap(&mut self.factor, &mut self.trial);
        }
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
    /// along them: whether all pivots of the tangent stiffness are positive. A step under way must be prepared again.
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

    /// Element and part of its length at an arc length.
    fn element_at(&self, at_m: f64) -> (usize, f64) {
        let last = self.elements.len() - 1;
        let along = at_m.clamp(0.0, self.spec.length_m) / self.spec.element_m();
        if !along.is_finite() {
            return (0, 0.0);
        }
        let index = (along as usize).min(last);
        (index, (along - index as f64).clamp(0.0, 1.0))
    }

    fn local_point(&self, at_m: f64) -> Vec3 {
        let (index, xi) = self.element_at(at_m);
        self.nodes[index] + self.elements[index].place(xi)
    }

    /// Slope of the place by arc length, in the hub's frame; nearly of length one.
    fn local_slope(&self, at_m: f64) -> Vec3 {
        let (index, xi) = self.element_at(at_m);
        self.elements[index].direction(xi) / self.spec.element_m()
    }

    /// Where the point at an arc length is.
    #[must_use]
    pub fn point(&self, at_m: f64) -> Vec3 {
        self.to_world(&self.local_point(at_m))
    }

    /// Where it is, to first order, after the correction that elastic forces make alone in the step under way.
    #[must_use]
    pub fn free_point(&self, at_m: f64) -> Vec3 {
        let (index, xi) = self.element_at(at_m);
        let element = &self.elements[index];
        let mut local = self.local_point(at_m);
        for (k, axis) in [Vec3::x(), Vec3::y(), Vec3::z()].iter().enumerate() {
            let on = element.spread(xi, axis);
            local[k] += on[1].dot(&self.free[index]);
            if index > 0 {
                local[k] += on[0].dot(&self.free[index - 1]);
            }
        }
        self.to_world(&local)
    }

    fn to_world(&self, local: &Vec3) -> Vec3 {
        self.hub.translation.vector + self.hub.rotation * local
    }

    /// Unit direction of the beam at an arc length, towards the tip.
    #[must_use]
    pub fn tangent(&self, at_m: f64) -> Vec3 {
        self.hub.rotation * self.local_tangent(at_m)
    }

    fn local_tangent(&self, at_m: f64) -> Vec3 {
        let (index, _) = self.element_at(at_m);
        self.local_slope(at_m).try_normalize(1e-12).unwrap_or(self.elements[index].e)
    }

    /// Rotation of the section at an arc length: z back along the beam, x and y those of the hub, bent and twisted along.
    #[must_use]
    pub fn frame(&self, at_m: f64) -> Rot {
        let (index, xi) = self.element_at(at_m);
        let (a, b) = (&self.rotations[index], &self.rotations[index + 1]);
        let between = exp_so3(&((a.inverse() * b).scaled_axis() * xi));
        let section = a * between;
        let back = -self.local_tangent(at_m);
        let align = Rot::rotation_between(&(section * Vec3::z()), &back).unwrap_or_else(Rot::identity);
        self.hub.rotation * align * section
    }

    /// Arc length of the beam's point that is nearest to `point`, followed from a guess; from the nearest chord where
    /// that leads to no end.
    #[must_use]
    pub fn nearest(&self, point: &Vec3, guess_m: f64) -> f64 {
        let target = self.hub.rotation.inverse_transform_vector(&(point - self.hub.translation.vector));
        let guess = if guess_m.is_finite() { guess_m.clamp(0.0, self.spec.length_m) } else { 0.0 };
        if !target.iter().all(|x| x.is_finite()) {
            return guess;
        }
        if let Some(found) = self.descend(&target, guess) {
            return found;
        }
        let start = self.nearest_on_chords(&target);
        self.descend(&target, start).unwrap_or(start)
    }

    /// Newton's steps on the square of the distance, each of which must make it smaller. None when they do not end.
    fn descend(&self, target: &Vec3, start: f64) -> Option<f64> {
        let (length, tiny) = (self.spec.length_m, 1e-12 * self.spec.length_m);
        let mut at = start;
        let mut distance = (self.local_point(at) - target).norm_squared();
        for _ in 0..30 {
            let slope = self.local_slope(at);
            let step = slope.dot(&(target - self.local_point(at))) / slope.norm_squared().max(1e-12);
            if step.is_nan() {
                return None;
            }
            let mut part = 1.0;
            let (next, nearer) = loop {
                let next = (at + part * step).clamp(0.0, length);
                let nearer = (self.local_point(next) - target).norm_squared();
                // Shorter than this is round-off.
                if (next - at).abs() <= tiny {
                    return Some(at);
                }
                if nearer <= distance {
                    break (next, nearer);
                }
                part *= 0.5;
            };
            (at, distance) = (next, nearer);
        }
        None
    }

    fn nearest_on_chords(&self, target: &Vec3) -> f64 {
        let mut best = (f64::INFINITY, 0.0);
        for (i, chord) in self.chords.iter().enumerate() {
            let from = target - self.nodes[i];
            let part = (from.dot(chord) / chord.norm_squared()).clamp(0.0, 1.0);
            let distance = (from - chord * part).norm_squared();
            if distance < best.0 {
                best = (distance, (i as f64 + part) * self.spec.element_m());
            }
        }
        best.1
    }

    /// A row on the nodes; nothing when its numbers are not finite.
    fn spread(&self, row: &BeamRow) -> Spread {
        let (element, xi) = self.element_at(row.at_m);
        if !(row.at_m.is_finite() && row.direction.iter().all(|x| x.is_finite())) {
            return Spread { element, on: [Vec6::zeros(); 2] };
        }
        let local = self.hub.rotation.inverse_transform_vector(&row.direction);
        Spread { element, on: self.elements[element].spread(xi, &local) }
    }

    /// How far each row moves for a newton on each other, m/N: `H K⁻¹Hᵀ`, square, by rows. Positive semi-definite as it is
    /// formed, `YᵀY` with `Y = C⁻¹Hᵀ`. Zero for a rigid beam. Does nothing when `out` is too small.
    pub fn compliance(&self, rows: &[BeamRow], out: &mut [f64]) {
        let count = rows.len();
        let Some(out) = count.checked_mul(count).and_then(|size| out.get_mut(..size)) else { return };
        out.fill(0.0);
        if self.spec.rigid {
            return;
        }
        for a in (0..count).step_by(CHUNK) {
            for b in (a..count).step_by(CHUNK) {
                let left = &rows[a..count.min(a + CHUNK)];
                let right = &rows[b..count.min(b + CHUNK)];
                self.compliance_between(left, right, |i, j, value| out[(a + i) * count + b + j] += value);
            }
        }
        for i in 0..count {
            for j in 0..i {
                out[i * count + j] = out[j * count + i];
            }
        }
    }

    /// Adds up `YᵀY` of two sets of rows node by node.
    fn compliance_between(&self, left: &[BeamRow], right: &[BeamRow], mut add: impl FnMut(usize, usize, f64)) {
        let same = std::ptr::eq(left, right);
        let mut spreads = [[Spread::default(); CHUNK]; 2];
        let mut values = [[Vec6::zeros(); CHUNK]; 2];
        let sides = if same { 1 } else { 2 };
        for (side, rows) in [left, right].into_iter().take(sides).enumerate() {
            for (spread, row) in spreads[side].iter_mut().zip(rows) {
                *spread = self.spread(row);
            }
        }
        for k in 0..self.elements.len() {
            for (side, rows) in [left, right].into_iter().take(sides).enumerate() {
                for (spread, value) in spreads[side].iter().zip(&mut values[side]).take(rows.len()) {
                    *value = match k + 1 {
                        node if node < spread.element => continue,
                        node if node == spread.element => self.factor.forward(k, value, &spread.on[0]),
                        node if node == spread.element + 1 => self.factor.forward(k, value, &spread.on[1]),
                        _ => self.factor.forward(k, value, &Vec6::zeros()),
                    };
                }
            }
            for i in 0..left.len() {
                if k + 1 < spreads[0][i].element {
                    continue;
                }
                for j in if same { i } else { 0 }..right.len() {
                    if k + 1 >= spreads[sides - 1][j].element {
                        add(i, j, values[0][i].dot(&values[sides - 1][j]));
                    }
                }
            }
        }
    }

    /// Adds forces of rows, N, to the step under way. What is not finite is left out.
    pub fn apply(&mut self, rows: &[BeamRow], forces: &[f64]) {
        for (row, force) in rows.iter().zip(forces).filter(|(_, force)| force.is_finite()) {
            let Spread { element, on } = self.spread(row);
            if self.spec.rigid {
                let force = self.hub.rotation.inverse_transform_vector(&row.direction) * *force;
                let wrench = join(&force, &self.local_point(row.at_m).cross(&force));
                if finite(&wrench) {
                    self.onto_hub += wrench;
                }
                continue;
            }
            self.load[element] += on[1] * *force;
            match element.checked_sub(1) {
                Some(node) => self.load[node] += on[0] * *force,
                None => self.onto_hub += on[0] * *force,
            }
        }
    }

    /// Adds a torque at the tip, N·m in the world.
    pub(super) fn apply_tip_torque(&mut self, torque: &Vec3) {
        let local = self.hub.rotation.inverse_transform_vector(torque);
        if let Some(last) = self.load.last_mut() {
            *last += join(&Vec3::zeros(), &local);
        }
    }

    /// Ends the step: nodes move by the correction of the elastic forces and that of the forces of rows. A step whose
    /// outcome is not finite leaves the shape as it is.
    pub fn finish(&mut self) {
        if !self.spec.rigid {
            self.factor.solve(&mut self.load);
            for (total, free) in self.load.iter_mut().zip(&self.free) {
                *total += free;
            }
            self.advance();
        }
        if finite(&self.onto_hub) {
            self.last_onto_hub = self.onto_hub;
        }
        self.onto_hub = Vec6::zeros();
        self.load.fill(Vec6::zeros());
        self.free.fill(Vec6::zeros());
    }

    /// Moves the nodes by what stands in `load`.
    fn advance(&mut self) {
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
    }

    /// Nodes and elements of the present chords and rotations.
    fn reshape(&mut self) {
        let rest = self.spec.element_m();
        for (i, chord) in self.chords.iter().enumerate() {
            self.nodes[i + 1] = self.nodes[i] + chord;
            self.elements[i] = Element::new(rest, chord, [&self.rotations[i], &self.rotations[i + 1]]);
        }
    }

    /// Places of the nodes, from hub to tip.
    pub fn shape(&self) -> impl Iterator<Item = Vec3> + '_ {
        self.nodes.iter().map(|node| self.to_world(node))
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

fn finite(v: &Vec6) -> bool {
    v.iter().all(|x| x.is_finite())
}
