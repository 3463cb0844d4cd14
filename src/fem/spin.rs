//! Rotation of a free corotational body as a whole, which its stiffness does not resist.
//!
//! Thread: simulation (storage is taken at construction).
//!
//! The stiffness of a step, `Σ R_p K R_pᵀ`, resists the rotation of a deformed body: its forces on a rotation have a torque of the order of the
//! strain squared. A body that spins would lose angular momentum to it, and to the damping, which is proportional to it. With unit rotations about
//! the centre of mass `c`, `r_k = e_k × (x − c)`, as the columns of `B`, the inertia `J = BᵀMB`, and `P = 1 − B J⁻¹ BᵀM`, which takes
//! the rotation out of a velocity, the step uses
//!
//! ```text
//!  S = P A⁻¹ Pᵀ + t B J⁻¹ Bᵀ,   t = 1/(1/h + α)    instead of   A⁻¹
//! ```
//!
//! `S` is symmetric and positive definite, and equal to `A⁻¹` while the body is not deformed. `BᵀM S b = t Bᵀb`: elastic forces have no torque,
//! so that the angular momentum changes by that of the loads and of the constraints alone.
//!
//! A constraint may also act with a couple `τ` on the body as a whole ([`Rows::set_couple`]): as the forces `M B J⁻¹ τ`, which turn the body without
//! deforming it, since `S M B J⁻¹ τ = t B J⁻¹ τ`.

use super::factor::Factor;
use super::model::FemModel;
use super::rows::Rows;
use crate::math::{Mat3, Vec3};

/// See the file's head.
#[derive(Clone, Debug)]
pub(super) struct Spin {
    /// Mass along x of all unknowns, kg.
    mass_kg: f64,
    /// Places of the nodes, m, and `M` times them.
    places: Vec<f64>,
    weighted: Vec<f64>,
    /// `B`, `M B` and `A⁻¹ M B`.
    fields: [Vec<f64>; 3],
    momenta: [Vec<f64>; 3],
    answers: [Vec<f64>; 3],
    /// `J⁻¹`, and `J⁻¹ (BᵀM A⁻¹ M B) J⁻¹ + t J⁻¹`.
    inverse: Mat3,
    middle: Mat3,
    time_s: f64,
    ready: bool,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(factor: f64, x: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out += factor * x);
}

fn vector(x: &[f64]) -> Vec3 {
    Vec3::new(x[0], x[1], x[2])
}

/// Components of a body's fields.
fn along(fields: &[Vec<f64>; 3], x: &[f64]) -> Vec3 {
    Vec3::new(dot(&fields[0], x), dot(&fields[1], x), dot(&fields[2], x))
}

impl Spin {
    /// For a body; none where a node is fixed.
    pub(super) fn new(model: &FemModel) -> Option<Self> {
        let is_free = (0..model.node_count() as u32).all(|node| model.first_of(node).is_some());
        let zeros = || vec![0.0; model.size()];
        let none = || [zeros(), zeros(), zeros()];
        is_free.then(|| Self {
            mass_kg: model.gravity_force(&Vec3::x()).iter().sum(),
            places: zeros(),
            weighted: zeros(),
            fields: none(),
            momenta: none(),
            answers: none(),
            inverse: Mat3::zeros(),
            middle: Mat3::zeros(),
            time_s: 0.0,
            ready: false,
        })
    }

    /// Finds the rotations of the body at displacements `position`; `J`, or none for a body without extent.
    fn rotate(&mut self, model: &FemModel, position: &[f64]) -> Option<Mat3> {
        self.places.copy_from_slice(position);
        for node in 0..model.node_count() as u32 {
            let Some(first) = model.first_of(node) else { continue };
            let rest = model.rest()[node as usize];
            (0..3).for_each(|k| self.places[first + k] += rest[k]);
        }
        self.weighted.fill(0.0);
        model.mass().add_product(1.0, &self.places, &mut self.weighted);
        let center = self.weighted.chunks_exact(3).map(vector).sum::<Vec3>() / self.mass_kg;
        self.places.chunks_exact_mut(3).for_each(|place| (0..3).for_each(|k| place[k] -= center[k]));
        let axes = [Vec3::x(), Vec3::y(), Vec3::z()];
        for ((field, momentum), axis) in self.fields.iter_mut().zip(&mut self.momenta).zip(axes) {
            for (out, place) in field.chunks_exact_mut(3).zip(self.places.chunks_exact(3)) {
                out.copy_from_slice(axis.cross(&vector(place)).as_slice());
            }
            momentum.fill(0.0);
            model.mass().add_product(1.0, field, momentum);
        }
        let inertia = Mat3::from_columns(&[0, 1, 2].map(|k| along(&self.fields, &self.momenta[k])));
        self.inverse = inertia.try_inverse()?;
        Some(inertia)
    }

    /// Begins a step from `position` with the factor of `A`; `inertial` is the share of the mass matrix in it.
    pub(super) fn prepare(&mut self, model: &FemModel, position: &[f64], factor: &mut Factor, inertial: f64) {
        self.ready = self.rotate(model, position).is_some();
        if !self.ready {
            return;
        }
        for (answer, momentum) in self.answers.iter_mut().zip(&self.momenta) {
            answer.copy_from_slice(momentum);
            factor.solve(answer);
        }
        let yielding = Mat3::from_columns(&[0, 1, 2].map(|k| along(&self.momenta, &self.answers[k])));
        self.time_s = 1.0 / inertial;
        self.middle = self.inverse * yielding * self.inverse + self.inverse * self.time_s;
    }

    /// Turns `b` into `S b`.
    pub(super) fn solve(&self, factor: &mut Factor, b: &mut [f64]) {
        if !self.ready {
            return factor.solve(b);
        }
        let turn = self.inverse * along(&self.fields, b);
        (0..3).for_each(|k| add(-turn[k], &self.momenta[k], b));
        factor.solve(b);
        let turn = turn * self.time_s - self.inverse * along(&self.momenta, b);
        (0..3).for_each(|k| add(turn[k], &self.fields[k], b));
    }

    /// Turns `H A⁻¹ Hᵀ` times `scale` into `H S Hᵀ` times `scale`; `memory` is for two vectors for each row.
    pub(super) fn change(&self, rows: &Rows, scale: f64, memory: &mut Vec<[Vec3; 2]>, out: &mut [f64]) {
        if !self.ready || out.len() != rows.len() * rows.len() {
            return;
        }
        let of = |fields: &[Vec<f64>; 3], row: usize| Vec3::from(std::array::from_fn(|k| rows.times(row, &fields[k])));
        memory.clear();
        memory.extend((0..rows.len()).map(|row| {
            let turned = of(&self.fields, row);
            [turned, (self.middle * turned * 0.5 - self.inverse * of(&self.answers, row)) * scale]
        }));
        for (row, [turned, answer]) in out.chunks_exact_mut(rows.len().max(1)).zip(&*memory) {
            for (entry, [other, its]) in row.iter_mut().zip(&*memory) {
                *entry += turned.dot(its) + answer.dot(other);
            }
        }
        if !rows.have_couples() {
            return;
        }
        let turn = self.inverse * (self.time_s * scale);
        memory.iter_mut().enumerate().for_each(|(row, [turned, answer])| {
            let couple = *rows.couple(row);
            (*turned, *answer) = (couple, turn * (*turned + couple * 0.5));
        });
        for (row, [couple, answer]) in out.chunks_exact_mut(rows.len().max(1)).zip(&*memory) {
            for (entry, [other, its]) in row.iter_mut().zip(&*memory) {
                *entry += couple.dot(its) + answer.dot(other);
            }
        }
    }

    /// Adds the answer of the step to a couple, N·m, to a velocity.
    pub(super) fn add_couple(&self, couple: &Vec3, velocity: &mut [f64]) {
        if self.ready {
            let turn = self.inverse * couple * self.time_s;
            (0..3).for_each(|k| add(turn[k], &self.fields[k], velocity));
        }
    }

    /// Angular velocity, rad/s, of the rotation in a velocity.
    pub(super) fn rate(&self, velocity: &[f64]) -> Vec3 {
        if self.ready { self.inverse * along(&self.momenta, velocity) } else { Vec3::zeros() }
    }

    /// Adds the rotation to a change of velocity at `position` that makes its angular momentum that of `impulse`.
    pub(super) fn balance(&mut self, model: &FemModel, position: &[f64], impulse: &[f64], change: &mut [f64]) {
        self.ready = false;
        if self.rotate(model, position).is_some() {
            let turn = self.inverse * (along(&self.fields, impulse) - along(&self.momenta, change));
            (0..3).for_each(|k| add(turn[k], &self.fields[k], change));
        }
    }
}
