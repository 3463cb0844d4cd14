//! The mechanism solver against its laws, on generated problems.

use hapticd::mechanism::newton::{Workspace, solve_robustly};
use hapticd::mechanism::samples::{Kind, sample};
use hapticd::mechanism::solver::{Settings, residuals};

fn rng(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[test]
fn every_generated_problem_is_solved_to_one_in_a_hundred_million() {
    let mut uniform = rng(1);
    let mut work = Workspace::default();
    for kind in [Kind::OneBody, Kind::Pile] {
        for i in 0..640 {
            let sample = sample(kind, 1 + i % 32, &mut uniform);
            let mut lambda = vec![0.0; sample.free.len()];
            let settings = Settings { iterations: 30, tolerance: 1e-9, relaxation: 1.3 };
            solve_robustly(&sample.problem(), &mut lambda, &settings, &mut work, || false);
            let found = residuals(&sample.problem(), &lambda);
            assert!(found.worst() <= 1e-8, "{kind:?} {i}: {found:?}");
        }
    }
}
