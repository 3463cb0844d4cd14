//! Bilateral constraint: `δ = 0` on one to three rows, force of any sign.
//!
//! Thread: any (RT safe: closed form).

use super::{Conic, Meaning, RowState, Rule};
use crate::mechanism::solver::{Own, Residuals};
use nalgebra::Vector3;

/// Parameters of the law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bilateral {
    pub(super) rows: u8,
}

impl Rule for Bilateral {
    fn rows(&self) -> usize {
        usize::from(self.rows)
    }

    fn meaning(&self, _row: usize) -> Meaning {
        Meaning::Place
    }

    fn is_sound(&self) -> bool {
        (1..=3).contains(&self.rows)
    }

    fn solve(&self, own: &Own, b: &Vector3<f64>, _near: &Vector3<f64>) -> Vector3<f64> {
        own.inverse.map_or_else(Vector3::zeros, |inverse| -(inverse * b))
    }

    fn project(&self, force: &Vector3<f64>) -> Vector3<f64> {
        *force
    }

    fn residuals(&self, _force: &[f64; 3], violation: &[f64; 3]) -> Option<Residuals> {
        let largest = violation[..self.rows()].iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        Some(Residuals { complementarity: largest, ..Residuals::default() })
    }

    fn state(&self, _force: &[f64; 3], _tau: &[f64; 3], _rho: f64) -> [RowState; 3] {
        [RowState::Held; 3]
    }

    fn conic(&self) -> Option<Conic> {
        Some(Conic::Free)
    }

    fn is_touch(&self) -> bool {
        false
    }
}
