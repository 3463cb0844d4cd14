//! Every linear displacement is reproduced, and no rigid motion costs energy.

use super::beams::RUBBER;
use super::mesh_checks::block;
use hapticd::fem::{FemModel, FemSpec, Mass, Ordering, Rayleigh};
use hapticd::geometry::tet::{Split, TetMesh};
use hapticd::math::{Mat3, Vec3};
use nalgebra::DVector;

pub(crate) fn model(mesh: &TetMesh, fixed: &[u32], ordering: Ordering) -> FemModel {
    let damping = Rayleigh::default();
    let spec = FemSpec { mesh, materials: &[RUBBER], damping, fixed, mass: Mass::Consistent, ordering };
    FemModel::new(&spec).expect("sound")
}

#[test]
fn a_linear_field_on_the_boundary_is_continued_inside_to_round_off() {
    let gradient = Mat3::new(0.3, -0.2, 0.1, 0.5, 0.4, -0.6, 0.7, 0.1, -0.3);
    for split in [Split::Five, Split::Six] {
        for mesh in [block(split), block(split).with_midsides()] {
            let free = model(&mesh, &[], Ordering::LeastFill);
            let outer = mesh.skin().nodes;
            let inner = model(&mesh, &outer, Ordering::LeastFill);
            let field = |node: u32| gradient * mesh.nodes()[node as usize] + Vec3::new(0.01, 0.02, 0.03);
            // Forces that the displaced boundary exerts on the inner nodes, then the displacement that balances them.
            let boundary = free.gather(|n| if outer.binary_search(&n).is_ok() { field(n) } else { Vec3::zeros() });
            let mut force = vec![0.0; free.size()];
            free.stiffness().add_product(-1.0, &boundary, &mut force);
            let right = inner.gather(|n| {
                let first = free.first_of(n).expect("all are free");
                Vec3::new(force[first], force[first + 1], force[first + 2])
            });
            let found = inner.stiffness().dense().cholesky().expect("held").solve(&DVector::from_vec(right));
            let wanted = DVector::from_vec(inner.gather(field));
            let off = (found - &wanted).amax() / wanted.amax();
            assert!(off < 1e-10, "{off:e}");
        }
    }
}

#[test]
fn rigid_motions_and_only_they_cost_no_energy() {
    for mesh in [block(Split::Six), block(Split::Six).with_midsides()] {
        let model = model(&mesh, &[], Ordering::LeastFill);
        let spin = Vec3::new(1.0, -2.0, 0.5);
        let moved = model.gather(|n| Vec3::new(1.0, 2.0, 3.0) + spin.cross(&mesh.nodes()[n as usize]));
        let bent = model.gather(|n| Vec3::new(mesh.nodes()[n as usize].x.powi(2), 0.0, 0.0));
        let scale = model.stiffness().dense().norm() * moved.iter().map(|x| x * x).sum::<f64>();
        assert!(model.elastic_energy(&moved) < 1e-20 * scale);
        assert!(model.stiffness().quadratic_form(&moved).abs() < 1e-13 * scale);
        assert!((model.elastic_energy(&bent) / (0.5 * model.stiffness().quadratic_form(&bent)) - 1.0).abs() < 1e-10);
        // The mass of a motion without turning is the body's.
        let shift = model.gather(|_| Vec3::x());
        assert!((model.mass().quadratic_form(&shift) / 6e-3 - 1.0).abs() < 1e-12);
    }
}
