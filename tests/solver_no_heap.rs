//! Once its memory has grown, the robust solver neither allocates nor frees, whatever it has to do.

#[path = "common/counting.rs"]
mod counting;

use counting::CALLS;
use hapticd::math::Random;
use hapticd::mechanism::newton::{Workspace, solve_robustly};
use hapticd::mechanism::samples::{Extras, Kind, sample_with};
use hapticd::mechanism::solver::Settings;

#[test]
fn a_workspace_that_has_met_a_problem_solves_its_like_without_the_heap() {
    let mut random = Random::new(1);
    let mut work = Workspace::default();
    let settings = Settings { iterations: 30, tolerance: 1e-9, relaxation: 1.3 };
    let mut most_work = 0;
    for (kind, joints) in [(Kind::OneBody, false), (Kind::MixedPile, false), (Kind::Tower, false), (Kind::Pile, true)] {
        let extras = Extras { joints, ..Extras::default() };
        let problems: Vec<_> =
            (0..60).map(|i| sample_with(kind, 8 + i % 20, extras, &mut || random.uniform())).collect();
        for round in 0..2 {
            for sample in &problems {
                let mut lambda = vec![0.0; sample.free.len()];
                let before = CALLS.get();
                let outcome = solve_robustly(&sample.problem(), &mut lambda, &settings, &mut work, || false);
                let calls = CALLS.get() - before;
                assert!(round == 0 || calls == 0, "{kind:?}: {calls} calls of the allocator in {outcome:?}");
                most_work = most_work.max(outcome.iterations);
            }
        }
    }
    assert!(most_work > 60, "the path around a fold was among it: {most_work} iterations");
}
