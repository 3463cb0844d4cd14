//! Reduced bodies: as exact as their Hankel values promise, energy kept, segments that do not lock.

use super::beams::{RUBBER, beam, clamped};
use hapticd::fem::{
    CorotationalBody, FemModel, FemSpec, Keep, Mass, Material, Modes, Ordering, Rayleigh, ReduceError, ReduceSpec,
    ReducedBody, ReducedModel, Regime,
};
use hapticd::geometry::tet::{BlockSpec, Split, TetMesh};
use hapticd::math::Vec3;
use hapticd::mechanism::pmi::Accuracy;
use nalgebra::{Complex, DMatrix, DVector};
use std::sync::Arc;

/// ABS, as the two-prong connector of seed 000.
const ABS: Material = Material { young_pa: 1.6476e8, poisson: 0.35, density: 1050.0 };

/// A prong of a connector, 30 mm long, of about as many unknowns as the paper's coarse one, and the nodes near its tip
/// that a plug slides over.
fn prong() -> (TetMesh, Vec<u32>) {
    let spec = BlockSpec { size: Vec3::new(0.03, 0.006, 0.003), cells: [16, 3, 2], split: Split::Five };
    let mesh = spec.mesh().expect("sound");
    let band = mesh.nodes_where(|p| p.z > 0.00299 && p.x > 0.024);
    (mesh, band)
}

fn spec(touching: &[u32], shared: usize, local: usize) -> ReduceSpec<'_> {
    ReduceSpec {
        touching,
        push: Vec3::repeat(1.0),
        rings: 1,
        shared: Keep::Count(shared),
        local: Keep::Count(local),
        least_ratio: 1.0,
        spring: 1e3,
    }
}

/// Displacements of the nodes of the band under a force on one of them, at rest: by the full body and by the reduced
/// one.
fn pressed(
    full: &Arc<FemModel>,
    reduced: &ReducedModel,
    band: &[u32],
    node: u32,
    force: &Vec3,
) -> (Vec<Vec3>, Vec<Vec3>) {
    let mut body = CorotationalBody::new(full.clone(), Vec3::zeros());
    body.set_regime(Regime::QuasiStatic);
    let push = full.gather(|n| if n == node { *force } else { Vec3::zeros() });
    body.prepare(&push, 1.0).expect("held");
    let at =
        |n: &u32| full.first_of(*n).map_or_else(Vec3::zeros, |k| Vec3::from_column_slice(&body.midpoint()[k..k + 3]));
    let exact = band.iter().map(at).collect();
    let row = reduced.row_of(node).expect("in the band");
    let right = reduced.basis.rows(row, 3).transpose() * force;
    let z = right.component_div(&DVector::from_row_slice(&reduced.squares));
    let of = |n: &u32| {
        let row = reduced.row_of(*n).expect("in the band");
        Vec3::from_column_slice((reduced.basis.rows(row, 3) * &z).as_slice())
    };
    (exact, band.iter().map(of).collect())
}

#[test]
fn a_plug_sliding_over_a_reduced_prong_bends_it_as_the_full_one() {
    let (mesh, band) = prong();
    let full = clamped(&mesh, ABS, Rayleigh::default());
    let reduced = ReducedModel::new(&full, &spec(&band, 6, 19)).expect("held");
    println!("{} unknowns in {} nodes of contact: segments of {:?}", full.size(), band.len(), reduced.sizes);
    assert!(full.size() > 550 && reduced.sizes.iter().sum::<usize>() <= 31, "{:?}", reduced.sizes);
    let mut worst = 0.0_f64;
    for node in &band {
        // Pushed down and dragged along, as by a plug with friction.
        let (exact, found) = pressed(&full, &reduced, &band, *node, &Vec3::new(0.163, 0.0, -1.0));
        let off: f64 = exact.iter().zip(&found).map(|(a, b)| (a - b).norm_squared()).sum();
        let size: f64 = exact.iter().map(Vec3::norm_squared).sum();
        worst = worst.max((off / size).sqrt());
    }
    println!("displacements of the band off by {worst:.2e} at most");
    assert!(worst < 0.01, "{worst}");
}

#[test]
fn the_tail_of_the_hankel_values_bounds_what_is_lost_at_every_frequency() {
    let mesh = beam(0.1, 0.02, 1, false);
    let damping = Rayleigh { mass_per_s: 5.0, stiffness_s: 1e-3 };
    let full = clamped(&mesh, RUBBER, damping);
    let all = mesh.nodes_where(|p| p.x > 1e-9);
    let complex = |m: &DMatrix<f64>| m.map(|x| Complex::new(x, 0.0));
    let answer = |m: &DMatrix<f64>, d: &DMatrix<f64>, k: &DMatrix<f64>, w: f64| {
        let system = complex(k) + complex(d) * Complex::new(0.0, w) - complex(m) * Complex::new(w * w, 0.0);
        system.try_inverse().expect("damped")
    };
    let (m, k) = (full.mass().dense(), full.stiffness().dense());
    let d = &m * damping.mass_per_s + &k * damping.stiffness_s;
    let modes = Modes::new(&full).expect("small");
    for kept in [3, 6, 12] {
        let reduced =
            ReducedModel::new(&full, &ReduceSpec { rings: 99, least_ratio: 0.0, ..spec(&all, kept, 0) }).expect("held");
        assert_eq!(reduced.sizes, [kept]);
        // The rows of the reduced basis in the order of the full body's unknowns.
        let mut basis = DMatrix::zeros(full.size(), kept);
        for node in &all {
            let (to, from) = (full.first_of(*node).expect("free"), reduced.row_of(*node).expect("kept"));
            basis.rows_mut(to, 3).copy_from(&reduced.basis.rows(from, 3));
        }
        let tail = 2.0 * reduced.hankel.iter().skip(kept).sum::<f64>();
        let mut worst = 0.0_f64;
        for share in [0.0, 0.5, 0.99, 1.01, 2.0, 5.0, 20.0] {
            let w = share * modes.squares[0].sqrt();
            let diagonal = |values: &[f64]| DMatrix::from_diagonal(&DVector::from_row_slice(values));
            let small =
                answer(&DMatrix::identity(kept, kept), &diagonal(&reduced.rates), &diagonal(&reduced.squares), w);
            let lost = answer(&m, &d, &k, w) - complex(&basis) * small * complex(&basis.transpose());
            worst = worst.max(lost.singular_values().max());
        }
        println!("{kept} of {}: loses {worst:.3e} m/N, tail {tail:.3e}", full.size());
        assert!(worst <= tail && tail > 0.0);
    }
}

#[test]
fn segmented_and_reduced_bodies_keep_their_energy_from_rubber_to_steel() {
    let (mesh, band) = prong();
    for young_pa in [1e4, 1.6476e8, 1e11] {
        let full = clamped(&mesh, Material { young_pa, ..ABS }, Rayleigh::default());
        let reduced = Arc::new(ReducedModel::new(&full, &spec(&band, 6, 12)).expect("held"));
        assert!(reduced.sizes.len() > 1);
        let mut body = ReducedBody::new(reduced.clone(), Vec3::zeros(), Accuracy::Compensated).expect("sound");
        let (rest, speed) =
            (vec![0.0; reduced.size()], (0..reduced.size()).map(|k| 0.1 / (1.0 + k as f64)).collect::<Vec<_>>());
        body.set_state(&rest, &speed).expect("right size");
        let start = body.ledger().total_j();
        let mut worst = 0.0_f64;
        for _ in 0..100_000 {
            body.prepare(&rest, 1e-3).expect("sound");
            body.finish();
            worst = worst.max((body.ledger().total_j() / start - 1.0).abs());
        }
        println!("E {young_pa:e}: energy off by {worst:.1e} at most");
        assert!(worst < 1e-9, "{worst:e}");
    }
}

#[test]
fn contact_on_a_reduced_body_closes_exactly_and_is_in_the_ledger() {
    let (mesh, band) = prong();
    let full = clamped(&mesh, ABS, Rayleigh { mass_per_s: 10.0, stiffness_s: 1e-6 });
    let reduced = Arc::new(ReducedModel::new(&full, &spec(&band, 6, 12)).expect("held"));
    let mut body = ReducedBody::new(reduced.clone(), Vec3::new(0.0, 0.0, -9.81), Accuracy::Compensated).expect("sound");
    let tip = *band.last().expect("some");
    let row: Vec<f64> =
        (0..reduced.size()).map(|j| reduced.basis[(reduced.row_of(tip).expect("there") + 2, j)]).collect();
    let (none, mut w, mut most) = (vec![0.0; reduced.size()], [0.0], 0.0_f64);
    for k in 0..2000 {
        // A plug that presses the tip down by a millimetre and lets go at once.
        let ceiling = if k < 1000 { -1e-6 * f64::from(k) } else { 1.0 };
        body.prepare(&none, 1e-3).expect("sound");
        body.compliance(&row, &mut w);
        let gap = ceiling - body.displacement(tip).z - 1e-3 * body.of_node(tip, body.body().midpoint()).z;
        if gap < 0.0 {
            let mut force = none.clone();
            body.add_force(tip, &Vec3::new(0.0, 0.0, gap / w[0]), &mut force);
            body.apply_contact(&force).expect("right size");
        }
        body.finish();
        assert!(body.displacement(tip).z < ceiling + 1e-12);
        most = most.max(body.ledger().total_j());
    }
    println!("balance {:e} of {most:e} J", body.ledger().balance());
    assert!(body.ledger().balance().abs() < 1e-9 * most && body.ledger().contact_work_j() > 0.0);
}

#[test]
fn bodies_that_cannot_be_reduced_are_refused() {
    let (mesh, band) = prong();
    let held = clamped(&mesh, ABS, Rayleigh::default());
    assert_eq!(ReducedModel::new(&held, &spec(&[], 6, 6)).map(|_| ()), Err(ReduceError::NoInput));
    let free = FemSpec {
        mesh: &mesh,
        materials: &[ABS],
        damping: Rayleigh::default(),
        fixed: &[],
        mass: Mass::Lumped,
        ordering: Ordering::LeastFill,
    };
    let free = FemModel::new(&free).expect("sound");
    assert_eq!(ReducedModel::new(&free, &spec(&band, 6, 6)).map(|_| ()), Err(ReduceError::NotHeld));
}
