//! The law made to be copied obeys itself in the solvers and in the haptic tick.

#[path = "../examples/sample_law.rs"]
#[expect(dead_code, reason = "its main function is for people")]
mod sample;

use hapticd::haptic::{LocalMechanism, Surfaces, ToolMotion};
use hapticd::math::{Mat6, Pose, Random, Vec3, Vec6};
use hapticd::mechanism::newton::{Workspace, solve_robustly};
use hapticd::mechanism::solver::{Settings, residuals, solve};
use hapticd::mechanism::{Block, BlockId, Law, MechanismSnapshot, Problem, Row, RowKind};
use hapticd::shared::{ManualClock, MonoNs, Stamp, Tick};
use sample::{LATCH, latch_force};

const SETTINGS: Settings = Settings { iterations: 200, tolerance: 1e-12, relaxation: 1.0 };
const PERIOD_S: f64 = 1e-3;

#[test]
fn a_latch_holds_up_to_its_force_and_no_farther() {
    for (pull_n, force_n) in [(-2.0, 2.0), (0.0, 0.0), (3.9, -3.9), (5.0, -4.0)] {
        assert!((latch_force(1e-4, 1e-4 * pull_n) - force_n).abs() < 1e-9, "{pull_n} N");
    }
}

/// Latches, contacts and joints on one compliance.
#[test]
fn sweeps_and_newton_find_the_same_forces() {
    let mut random = Random::new(3);
    let mut uniform = move || 2.0 * random.uniform() - 1.0;
    for case in 0..200 {
        let laws = [
            Law::Custom { rule: &LATCH, compliance: 0.0 },
            Law::Contact { friction: 0.4, compliance: 0.0 },
            Law::Custom { rule: &LATCH, compliance: 0.1 },
            Law::Bilateral { rows: 2, compliance: 0.0 },
        ];
        let mut first = 0;
        let blocks: Vec<_> = (0_u64..)
            .zip(laws)
            .map(|(id, law)| {
                let block = Block { id: BlockId::Custom(id), first, law };
                first += law.rows();
                block
            })
            .collect();
        let root = nalgebra::DMatrix::from_fn(first, first, |_, _| 0.3 * uniform());
        let matrix = &root * root.transpose() + nalgebra::DMatrix::identity(first, first);
        let free: Vec<f64> = (0..first).map(|_| 6.0 * uniform()).collect();
        let problem = Problem { blocks: &blocks, compliance: matrix.as_slice(), stride: first, free: &free };
        let (mut sweeps, mut robust) = (vec![0.0; first], vec![0.0; first]);
        solve(&problem, &mut sweeps, &SETTINGS, || false);
        let outcome = solve_robustly(&problem, &mut robust, &SETTINGS, &mut Workspace::default(), || false);
        assert!(outcome.converged && residuals(&problem, &robust).worst() < 1e-10, "case {case}: {outcome:?}");
        let apart = sweeps.iter().zip(&robust).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        assert!(apart < 1e-6, "case {case}: {apart:.1e} N apart");
    }
}

/// A snapshot with one block on the tool's origin, along x, whose gap at the origin is `gap_m`.
fn snapshot(sequence: u64, id: BlockId, law: Law, gap_m: f64) -> MechanismSnapshot {
    let mut snapshot = MechanismSnapshot::empty();
    snapshot.stamp = Stamp { sequence, at: MonoNs(sequence) };
    snapshot.step_s = 0.02;
    (snapshot.block_count, snapshot.row_count) = (1, law.rows());
    snapshot.blocks[0] = Block { id, first: 0, law };
    for (row, direction) in snapshot.rows[..law.rows()].iter_mut().zip([Vec3::x(), Vec3::y(), Vec3::z()]) {
        *row = Row { kind: RowKind::Point, direction, ..Row::EMPTY };
    }
    snapshot.rows[0].offset = -gap_m;
    snapshot
}

/// Force along x of one tick on a tool at the origin that yields 1 mm/N and has the free velocity `speed`.
fn tick_force(local: &mut LocalMechanism, speed: f64) -> f64 {
    let mut free = Vec6::zeros();
    free[0] = speed;
    let motion = ToolMotion {
        pose: Pose::identity(),
        twist: free,
        free,
        inverse: Mat6::identity(),
        period_s: PERIOD_S,
        lead_s: PERIOD_S,
    };
    let clock = ManualClock::at(MonoNs(1000));
    local.solve(&motion, &SETTINGS, &Tick::begin(1, MonoNs(1000), PERIOD_S, u64::MAX / 2, &clock)).wrench[0]
}

#[test]
fn the_tick_obeys_the_latch() {
    let law = Law::Custom { rule: &LATCH, compliance: 0.0 };
    for (speed, force_n) in [(-2.0, 2.0), (3.0, -3.0), (6.0, -4.0)] {
        let mut local = LocalMechanism::new(0.0, 0.02, Surfaces::default());
        local.adopt(&snapshot(1, BlockId::Custom(1), law, 0.0), &Pose::identity(), MonoNs(1000), PERIOD_S);
        let force = tick_force(&mut local, speed);
        assert!((force - force_n).abs() < 1e-9, "free at {speed} m/s: {force} N");
    }
}

/// A joint is held from both sides, also in its first row: one that starts open by a millimetre is pulled shut as gently as
/// one that starts closed too far.
#[test]
fn a_joint_that_starts_violated_is_blended_in_from_both_sides() {
    for gap_m in [1e-3, -1e-3] {
        let mut local = LocalMechanism::new(0.0, 0.02, Surfaces::default());
        let joint = Law::Bilateral { rows: 3, compliance: 0.0 };
        local.adopt(&snapshot(1, BlockId::Custom(1), joint, 0.0), &Pose::identity(), MonoNs(1000), PERIOD_S);
        local.adopt(&snapshot(2, BlockId::Custom(2), joint, gap_m), &Pose::identity(), MonoNs(1000), PERIOD_S);
        // One tick of a blend of 20: a twentieth of the gap, over 1 mm/N.
        let force = tick_force(&mut local, 0.0);
        assert!((force + 0.05 * gap_m / 1e-3).abs() < 1e-6, "{gap_m} m: {force} N");
    }
}
