//! Once its memory has grown, the robust solver neither allocates nor frees, whatever it has to do; nor does a needle that steps.

#[path = "common/counting.rs"]
mod counting;

use counting::CALLS;
use hapticd::fem::{BeamBody, BeamRow, BeamSpec};
use hapticd::math::{Pose, Random, Vec3};
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

#[test]
fn a_needle_steps_without_the_heap() {
    let spec = BeamSpec {
        length_m: 0.15,
        outer_m: 1.27e-3,
        inner_m: 0.84e-3,
        young_pa: 200e9,
        poisson: 0.3,
        nodes: 20,
        rigid: false,
    };
    let mut beam = BeamBody::new(spec, &Pose::identity()).expect("sound");
    let rows: Vec<BeamRow> = (0..100).map(|k| BeamRow { at_m: 1.5e-3 * f64::from(k), direction: Vec3::x() }).collect();
    let (mut compliance, forces) = (vec![0.0; rows.len() * rows.len()], vec![0.01; rows.len()]);
    let before = CALLS.get();
    for k in 0..20 {
        beam.move_hub(&Pose::translation(0.0, 0.0, -1e-3 * f64::from(k)));
        beam.prepare();
        beam.compliance(&rows, &mut compliance);
        beam.apply(&rows, &forces);
        beam.finish();
        let at = beam.nearest(&beam.free_point(0.1), 0.05);
        assert!((beam.frame(at) * Vec3::z() + beam.tangent(at)).norm() < 1e-9 && beam.hub_wrench().norm() > 0.0);
    }
    assert_eq!(CALLS.get() - before, 0, "calls of the allocator");
    assert!(beam.energy_j() > 1e-3 && compliance[rows.len() * rows.len() - 1] > 0.0);
}
