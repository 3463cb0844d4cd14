//! The mechanism solver against its laws, on generated problems.

use hapticd::math::Random;
use hapticd::mechanism::newton::{Workspace, solve_robustly};
use hapticd::mechanism::samples::{Extras, Kind, Sample, sample, sample_with};
use hapticd::mechanism::solver::{Settings, residuals, solve};
use hapticd::mechanism::{Block, BlockId, Law, MAX_ROWS, Problem, pgs};

const SETTINGS: Settings = Settings { iterations: 30, tolerance: 1e-9, relaxation: 1.3 };

/// Solves 2,500 problems of 1 to 32 contacts.
fn all_obey_their_laws(kind: Kind, seed: u64) {
    let mut random = Random::new(seed);
    let mut work = Workspace::default();
    let mut worst: f64 = 0.0;
    for i in 0..2500 {
        let sample = sample(kind, 1 + i % 32, &mut || random.uniform());
        let mut lambda = vec![0.0; sample.free.len()];
        solve_robustly(&sample.problem(), &mut lambda, &SETTINGS, &mut work, || false);
        let found = residuals(&sample.problem(), &lambda);
        assert!(found.worst() <= 1e-8, "{kind:?} number {i}: {found:?}");
        worst = worst.max(found.worst());
    }
    println!("{kind:?}: worst residual {worst:.1e}");
}

#[test]
fn many_contacts_on_one_body_obey_their_laws_to_one_in_a_hundred_million() {
    all_obey_their_laws(Kind::OneBody, 1);
}

#[test]
fn piles_of_bodies_obey_their_laws_to_one_in_a_hundred_million() {
    all_obey_their_laws(Kind::Pile, 2);
}

#[test]
fn piles_with_a_million_to_one_in_mass_obey_their_laws_to_one_in_a_hundred_million() {
    all_obey_their_laws(Kind::MixedPile, 3);
}

#[test]
fn towers_with_a_million_times_the_mass_on_top_obey_their_laws_to_one_in_a_hundred_million() {
    all_obey_their_laws(Kind::Tower, 4);
}

/// Solves problems that have something beyond strict closed contacts on bodies at rest.
fn all_obey_their_laws_with(extras: Extras, seed: u64) {
    let mut random = Random::new(seed);
    let mut work = Workspace::default();
    for kind in Kind::ALL {
        for i in 0..320 {
            let sample = sample_with(kind, 1 + i % 32, extras, &mut || random.uniform());
            let mut lambda = vec![0.0; sample.free.len()];
            solve_robustly(&sample.problem(), &mut lambda, &SETTINGS, &mut work, || false);
            let found = residuals(&sample.problem(), &lambda);
            assert!(found.worst() <= 1e-8, "{extras:?} {kind:?} number {i}: {found:?}");
        }
    }
}

#[test]
fn spinning_bodies_with_an_unsymmetric_compliance_obey_their_laws() {
    all_obey_their_laws_with(Extras { spin: true, ..Extras::default() }, 11);
}

#[test]
fn open_gaps_obey_their_laws() {
    all_obey_their_laws_with(Extras { gaps: true, ..Extras::default() }, 12);
}

#[test]
fn laws_that_give_way_obey_themselves() {
    all_obey_their_laws_with(Extras { compliance: true, ..Extras::default() }, 13);
}

#[test]
fn joints_among_contacts_obey_their_laws() {
    all_obey_their_laws_with(Extras { joints: true, ..Extras::default() }, 14);
}

#[test]
fn everything_at_once_obeys_its_laws() {
    all_obey_their_laws_with(Extras { spin: true, gaps: true, compliance: false, joints: true }, 15);
    all_obey_their_laws_with(Extras { spin: true, gaps: true, compliance: true, joints: true }, 16);
}

#[test]
fn a_spinning_body_makes_the_compliance_unsymmetric() {
    let mut random = Random::new(17);
    let extras = Extras { spin: true, ..Extras::default() };
    let sample = sample_with(Kind::OneBody, 4, extras, &mut || random.uniform());
    let rows = sample.free.len();
    let entry = |i: usize, j: usize| sample.compliance[i * rows + j];
    let skew = (0..rows * rows).map(|k| (entry(k / rows, k % rows) - entry(k % rows, k / rows)).abs());
    let largest = sample.compliance.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    assert!(skew.fold(0.0, f64::max) > 1e-3 * largest);
}

#[test]
fn problems_from_a_running_scene_are_solved_from_their_warm_start() {
    let numbers = |line: &str| line.split(' ').map(|x| x.parse().expect("a number")).collect::<Vec<f64>>();
    let lines: Vec<_> = include_str!("data/box_on_table.txt").lines().filter(|l| !l.starts_with('#')).collect();
    let mut work = Workspace::default();
    for case in lines.chunks_exact(18) {
        let (friction, mut lambda, free) = (numbers(case[0]), numbers(case[1]), numbers(case[2]));
        let compliance: Vec<f64> = case[3..].iter().flat_map(|line| numbers(line)).collect();
        let contact = |(i, &friction): (usize, &f64)| Block {
            id: BlockId::Custom(i as u64),
            first: 3 * i,
            law: Law::Contact { friction, compliance: 0.0 },
        };
        let blocks: Vec<_> = friction.iter().enumerate().map(contact).collect();
        let problem = Problem { blocks: &blocks, compliance: &compliance, stride: free.len(), free: &free };
        let outcome = solve_robustly(&problem, &mut lambda, &SETTINGS, &mut work, || false);
        let found = residuals(&problem, &lambda).worst();
        assert!(outcome.converged && found <= 1e-9 && outcome.iterations < 200, "{outcome:?} {found:e}");
    }
}

#[test]
fn projected_gauss_seidel_does_not_converge_where_a_heavy_tower_stands() {
    let mut random = Random::new(5);
    let mut work = Workspace::default();
    let (mut ours, mut baseline) = (0, 0);
    for _ in 0..20 {
        let sample = sample(Kind::Tower, 16, &mut || random.uniform());
        let problem = sample.problem();
        let mut lambda = vec![0.0; sample.free.len()];
        pgs::solve(&problem, &mut lambda, &Settings { iterations: 10_000, tolerance: 1e-12, relaxation: 1.0 });
        baseline += u32::from(residuals(&problem, &lambda).worst() <= 1e-8);
        let mut lambda = vec![0.0; sample.free.len()];
        solve_robustly(&problem, &mut lambda, &SETTINGS, &mut work, || false);
        ours += u32::from(residuals(&problem, &lambda).worst() <= 1e-8);
    }
    assert_eq!((ours, baseline), (20, 0));
}

#[test]
fn a_warm_start_needs_fewer_sweeps() {
    let mut random = Random::new(6);
    let sample = sample(Kind::OneBody, 8, &mut || random.uniform());
    let settings = Settings { iterations: 1000, tolerance: 1e-9, relaxation: 1.3 };
    let mut lambda = vec![0.0; sample.free.len()];
    let cold = solve(&sample.problem(), &mut lambda, &settings, || false);
    // The same problem a little later.
    let moved: Vec<f64> = sample.free.iter().map(|x| x * 1.001).collect();
    let problem = Problem { free: &moved, ..sample.problem() };
    let warm = solve(&problem, &mut lambda, &settings, || false);
    assert!(cold.converged && warm.converged && warm.iterations < cold.iterations, "{cold:?} {warm:?}");
}

#[test]
fn slices_and_the_fixed_arrays_of_a_snapshot_give_the_same_bits() {
    let mut random = Random::new(7);
    for contacts in [1, 5, 20, 42] {
        let sample = sample(Kind::OneBody, contacts, &mut || random.uniform());
        let rows = sample.free.len();
        let mut wide = vec![f64::NAN; MAX_ROWS * MAX_ROWS];
        for i in 0..rows {
            wide[i * MAX_ROWS..][..rows].copy_from_slice(&sample.compliance[i * rows..][..rows]);
        }
        let spread = Problem { compliance: &wide, stride: MAX_ROWS, ..sample.problem() };
        let (mut a, mut b) = (vec![0.0; rows], vec![0.0; rows]);
        let first = solve(&sample.problem(), &mut a, &SETTINGS, || false);
        let second = solve(&spread, &mut b, &SETTINGS, || false);
        assert_eq!((first, &a), (second, &b));
        let mut work = Workspace::default();
        solve_robustly(&sample.problem(), &mut a, &SETTINGS, &mut work, || false);
        solve_robustly(&spread, &mut b, &SETTINGS, &mut work, || false);
        assert_eq!(a, b);
    }
}

#[test]
fn the_iteration_bound_and_the_stop_condition_are_honoured() {
    let mut random = Random::new(8);
    let sample = sample(Kind::Tower, 32, &mut || random.uniform());
    let mut lambda = vec![0.0; sample.free.len()];
    let settings = Settings { iterations: 7, tolerance: 0.0, relaxation: 1.3 };
    assert_eq!(solve(&sample.problem(), &mut lambda, &settings, || false).iterations, 7);
    let mut asked = 0;
    let outcome = solve(&sample.problem(), &mut lambda, &Settings { iterations: 100, ..settings }, || {
        asked += 1;
        asked == 3
    });
    assert!(outcome.timed_out && outcome.iterations == 3 && !outcome.converged, "{outcome:?}");
    // The robust solve asks before every piece of work: stopped at any time it stops at once, with forces that are finite
    // and no worse than those of the sweeps.
    let mut work = Workspace::default();
    let robust = |limit: u32, work: &mut Workspace| {
        let mut asked = 0;
        let mut lambda = vec![0.0; sample.free.len()];
        let outcome = solve_robustly(&sample.problem(), &mut lambda, &SETTINGS, work, || {
            asked += 1;
            asked > limit
        });
        (outcome, asked, residuals(&sample.problem(), &lambda).worst())
    };
    let (whole, questions, _) = robust(u32::MAX, &mut work);
    assert!(whole.converged && !whole.timed_out && questions > 10, "{whole:?} {questions}");
    let (swept, _, most) = robust(5, &mut work);
    assert!(swept.timed_out);
    for limit in 6..questions - 1 {
        let (outcome, asked, residual) = robust(limit, &mut work);
        assert!(outcome.timed_out && asked <= limit + 4, "{limit}: {outcome:?}, asked {asked} times");
        assert!(residual <= most, "{limit}: {residual:e} after {most:e}");
    }
}

fn spoil(sample: &mut Sample, where_to: usize, value: f64) {
    match where_to % 3 {
        0 => sample.free[0] = value,
        1 => sample.compliance[0] = value,
        _ => {
            if let Law::Contact { friction, .. } = &mut sample.blocks[0].law {
                *friction = value;
            }
        }
    }
}

#[test]
fn problems_that_are_not_finite_end_unconverged_with_finite_forces() {
    let mut random = Random::new(9);
    let mut work = Workspace::default();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for where_to in 0..3 {
            let mut sample = sample(Kind::Pile, 6, &mut || random.uniform());
            spoil(&mut sample, where_to, value);
            let mut lambda = vec![0.0; sample.free.len()];
            let outcome = solve_robustly(&sample.problem(), &mut lambda, &SETTINGS, &mut work, || false);
            assert!(lambda.iter().all(|x| x.is_finite()), "{value} {where_to}: {outcome:?} {lambda:?}");
            if where_to < 2 && value.is_nan() {
                assert!(!outcome.converged, "{where_to}: {outcome:?}");
            }
        }
    }
}
