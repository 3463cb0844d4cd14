//! Compliance from the factor against full matrices, for both orders of elimination.

use super::beams::RUBBER;
use hapticd::fem::{Compliance, CorotationalBody, FemModel, FemSpec, Mass, Ordering, Rayleigh, Rows};
use hapticd::geometry::tet::{BlockSpec, Locator, Split, TetMesh};
use hapticd::math::{Random, Vec3};
use nalgebra::DMatrix;
use std::sync::Arc;

fn post(quadratic: bool) -> TetMesh {
    let mesh =
        BlockSpec { size: Vec3::new(0.02, 0.02, 0.06), cells: [4, 4, 12], split: Split::Five }.mesh().expect("sound");
    if quadratic { mesh.with_midsides() } else { mesh }
}

/// Contacts on the top of the post, three rows each.
fn contacts(mesh: &TetMesh, model: &FemModel, count: usize) -> Rows {
    let locator = Locator::new(mesh);
    let mut random = Random::new(8);
    let mut rows = Rows::default();
    for _ in 0..count {
        let p = Vec3::new(0.02 * random.uniform(), 0.02 * random.uniform(), 0.06);
        let attachment = model.attach(&locator.locate(&p));
        for direction in [Vec3::z(), Vec3::x(), Vec3::y()] {
            rows.push(model, &attachment, &direction);
        }
    }
    rows
}

#[test]
fn compliance_is_that_of_the_full_inverse_in_any_order_of_elimination() {
    for quadratic in [false, true] {
        let mesh = post(quadratic);
        let fixed = mesh.group_nodes(mesh.group("z0").expect("a block"));
        let top = mesh.group_nodes(mesh.group("z1").expect("a block"));
        let mut touched = Vec::new();
        for ordering in [Ordering::LeastFill, Ordering::Last(&top)] {
            let damping = Rayleigh { mass_per_s: 0.1, stiffness_s: 1e-3 };
            let spec =
                FemSpec { mesh: &mesh, materials: &[RUBBER], damping, fixed: &fixed, mass: Mass::Consistent, ordering };
            let model = Arc::new(FemModel::new(&spec).expect("sound"));
            let rows = contacts(&mesh, &model, 40);
            let count = rows.len();
            let mut body = CorotationalBody::new(model.clone(), Vec3::new(0.0, 0.0, -9.81));
            let mut work = Compliance::default();
            let none = vec![0.0; model.size()];
            // Twice, so that memory left from the first use would show.
            for _ in 0..2 {
                body.step(&none, 1e-2).expect("sound");
            }
            body.prepare(&none, 1e-2).expect("sound");
            let mut w = vec![0.0; count * count];
            for _ in 0..2 {
                body.compliance(&rows, &mut work, &mut w).expect("prepared");
            }
            let off = against_columns(&mut body, &rows, &w);
            touched.push(work.touched());
            assert!(off < 1e-12, "{off:e}");
            let matrix = DMatrix::from_row_slice(count, count, &w);
            assert!((&matrix - matrix.transpose()).amax() == 0.0);
        }
        println!("numbers of Y: {} by least fill, {} with the top last", touched[0], touched[1]);
        assert!(touched[1] < touched[0]);
    }
}

/// How far `w` is from the compliance found by pushing on each row by itself, relative to its largest number.
fn against_columns(body: &mut CorotationalBody, rows: &Rows, w: &[f64]) -> f64 {
    let count = rows.len();
    let free: Vec<f64> = (0..count).map(|row| rows.times(row, body.midpoint())).collect();
    let largest = w.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let mut off = 0.0_f64;
    for column in (0..count).step_by(7) {
        let mut lambda = vec![0.0; count];
        lambda[column] = 1.0;
        let mut force = vec![0.0; body.model().size()];
        rows.add_transposed(&lambda, &mut force);
        body.apply_contact(&force).expect("right size");
        for row in 0..count {
            off = off
                .max((1e-2 * (rows.times(row, body.midpoint()) - free[row]) - w[row * count + column]).abs() / largest);
        }
        force.iter_mut().for_each(|f| *f = -*f);
        body.apply_contact(&force).expect("right size");
    }
    off
}

#[test]
fn the_order_of_elimination_does_not_change_the_motion() {
    let mesh = post(false);
    let fixed = mesh.group_nodes(mesh.group("z0").expect("a block"));
    let top = mesh.group_nodes(mesh.group("z1").expect("a block"));
    let run = |ordering: Ordering| {
        let damping = Rayleigh::default();
        let spec =
            FemSpec { mesh: &mesh, materials: &[RUBBER], damping, fixed: &fixed, mass: Mass::Consistent, ordering };
        let model = Arc::new(FemModel::new(&spec).expect("sound"));
        let mut body = CorotationalBody::new(model.clone(), Vec3::new(3.0, 0.0, -9.81));
        let none = vec![0.0; model.size()];
        (0..20).for_each(|_| assert!(body.step(&none, 1e-2).expect("sound").converged));
        (0..mesh.nodes().len() as u32)
            .filter_map(|n| model.first_of(n))
            .map(|at| body.position()[at])
            .collect::<Vec<_>>()
    };
    let (a, b) = (run(Ordering::LeastFill), run(Ordering::Last(&top)));
    assert_eq!(a.len(), b.len());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-14));
}
