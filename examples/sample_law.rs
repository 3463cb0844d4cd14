//! A law made to be copied: a magnetic latch, whole, in one file.
//!
//! ```text
//! cargo run --example sample_law
//! ```
//!
//! A latch is a contact that also pulls, up to a force `hold`: with gap `δ` and force `λ`, positive when it pushes,
//!
//! ```text
//!  λ ≥ −hold,   δ ≥ 0,   (λ + hold) δ = 0
//! ```
//!
//! While the gap is closed the latch transmits what the bodies need, pushing without bound and pulling up to `hold`. An open latch
//! pulls with `hold`. The example pulls a block off a latch and prints the force at each pull. `tests/sample_law.rs` has the checks that
//! a law must pass: equal forces from the solvers and from the haptic tick.

use hapticd::mechanism::newton::{Workspace, solve_robustly};
use hapticd::mechanism::solver::{Own, Settings};
use hapticd::mechanism::{Block, BlockId, Law, Meaning, Problem, RowState, Rule};
use nalgebra::Vector3;

/// A latch that pulls with up to `hold_n`.
#[derive(Debug)]
pub(crate) struct Latch {
    pub(crate) hold_n: f64,
}

impl Rule for Latch {
    fn rows(&self) -> usize {
        1
    }

    // Not a gap, whose force pushes only.
    fn meaning(&self, _row: usize) -> Meaning {
        Meaning::Place
    }

    fn is_sound(&self) -> bool {
        self.hold_n.is_finite() && self.hold_n >= 0.0
    }

    // The force that closes the gap, or the largest pull. Rows beyond the first hold themselves at zero.
    fn solve(&self, own: &Own, b: &Vector3<f64>, _near: &Vector3<f64>) -> Vector3<f64> {
        let compliance = own.matrix[(0, 0)];
        let closing = if compliance > 0.0 { -b.x / compliance } else { -self.hold_n };
        Vector3::new(closing.max(-self.hold_n), 0.0, 0.0)
    }

    fn project(&self, force: &Vector3<f64>) -> Vector3<f64> {
        Vector3::new(force.x.max(-self.hold_n), 0.0, 0.0)
    }

    fn state(&self, _force: &[f64; 3], tau: &[f64; 3], _rho: f64) -> [RowState; 3] {
        let closed = tau[0] > -self.hold_n;
        let latch = if closed { RowState::Held } else { RowState::Fixed { force: -self.hold_n, slope: [0.0; 3] } };
        [latch, RowState::Held, RowState::Held]
    }
}

/// The latch of the example.
pub(crate) static LATCH: Latch = Latch { hold_n: 4.0 };

/// Force of a latch on a body of compliance `compliance` that would move by `free_m` in the step.
pub(crate) fn latch_force(compliance: f64, free_m: f64) -> f64 {
    let law = Law::Custom { rule: &LATCH, compliance: 0.0 };
    let blocks = [Block { id: BlockId::Custom(1), first: 0, law }];
    let problem = Problem { blocks: &blocks, compliance: &[compliance], stride: 1, free: &[free_m] };
    let settings = Settings { iterations: 50, tolerance: 1e-12, relaxation: 1.0 };
    let mut force = [0.0];
    solve_robustly(&problem, &mut force, &settings, &mut Workspace::default(), || false);
    force[0]
}

fn main() {
    let compliance = 1e-4;
    println!("A latch that holds 4 N, on a body that yields 0.1 mm per newton.");
    for pull_n in [-2.0, 0.0, 2.0, 3.9, 4.0, 5.0] {
        let force = latch_force(compliance, compliance * pull_n);
        let gap_mm = 1e3 * compliance * (pull_n + force);
        println!("pull {pull_n:5.1} N   latch {force:5.1} N   gap {gap_mm:.2} mm");
    }
}
