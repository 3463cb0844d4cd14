//! Cantilevers: set-up shared by other tests, and how fast their tip deflection converges.

use super::patch::model;
use hapticd::fem::{CorotationalBody, FemModel, FemSpec, Mass, Material, Ordering, Rayleigh, Regime};
use hapticd::geometry::tet::{BlockSpec, Members, Split, TetMesh};
use hapticd::math::Vec3;
use std::sync::Arc;

pub(crate) const RUBBER: Material = Material { young_pa: 1e6, poisson: 0.3, density: 1000.0 };

/// A model clamped at its face `x0`.
pub(crate) fn clamped(mesh: &TetMesh, material: Material, damping: Rayleigh) -> Arc<FemModel> {
    let fixed = mesh.group_nodes(mesh.group("x0").expect("a block"));
    let spec = FemSpec {
        mesh,
        materials: &[material],
        damping,
        fixed: &fixed,
        mass: Mass::Consistent,
        ordering: Ordering::LeastFill,
    };
    Arc::new(FemModel::new(&spec).expect("sound"))
}

pub(crate) fn beam(length: f64, side: f64, across: u32, quadratic: bool) -> TetMesh {
    let mesh = BlockSpec::beam(length, side, across).mesh().expect("sound");
    if quadratic { mesh.with_midsides() } else { mesh }
}

/// Forces of a uniform traction on face `x1` that adds up to `total`: a third of each triangle's share on its corners,
/// or, with ten nodes, on its midsides.
pub(crate) fn traction(mesh: &TetMesh, model: &FemModel, total: Vec3) -> Vec<f64> {
    let Members::Triangles(triangles) = &mesh.group("x1").expect("a block").members else { panic!("faces") };
    let area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|n| mesh.nodes()[n as usize]);
        0.5 * (b - a).cross(&(c - a)).norm()
    };
    let whole: f64 = triangles.iter().map(area).sum();
    let mut force = vec![0.0; model.size()];
    let middle = |a: u32, b: u32| {
        let at = 0.5 * (mesh.nodes()[a as usize] + mesh.nodes()[b as usize]);
        mesh.nodes_where(|p| (p - at).norm() < 1e-9)[0]
    };
    for t in triangles {
        let [a, b, c] = *t;
        let nodes = if mesh.is_quadratic() { [middle(a, b), middle(b, c), middle(c, a)] } else { *t };
        for node in nodes {
            let first = model.first_of(node).expect("free");
            for k in 0..3 {
                force[first + k] += total[k] * area(t) / whole / 3.0;
            }
        }
    }
    force
}

/// Work of a tip force of 1 N on its own deflection, m/N, and the number of nodes.
fn tip_deflection(across: u32, quadratic: bool, poisson: f64) -> (f64, usize) {
    let mesh = beam(0.2, 0.05, across, quadratic);
    let model = clamped(&mesh, Material { poisson, ..RUBBER }, Rayleigh::default());
    let force = traction(&mesh, &model, Vec3::z());
    let mut body = CorotationalBody::new(model, Vec3::zeros());
    body.set_regime(Regime::QuasiStatic);
    // From rest one step of a second is the solution of K x = f.
    body.prepare(&force, 1.0).expect("held");
    (force.iter().zip(body.midpoint()).map(|(f, x)| f * x).sum(), mesh.nodes().len())
}

#[test]
fn quadratic_elements_are_within_three_per_cent_at_five_hundred_nodes() {
    for poisson in [0.3, 0.45] {
        let (fine, _) = tip_deflection(4, true, poisson);
        let (coarse, nodes) = tip_deflection(2, true, poisson);
        assert!(nodes < 500, "{nodes}");
        println!("nu {poisson}: {coarse:.6e} at {nodes} nodes, {fine:.6e} at 2673");
        assert!((coarse / fine - 1.0).abs() < 0.03);
        // Independent meshes and code: quadratic elements with 1453 nodes, fully clamped.
        let reference = if poisson == 0.3 { 5.2580e-3 } else { 5.1067e-3 };
        assert!((coarse / reference - 1.0).abs() < 0.03, "{}", coarse / reference);
        // Timoshenko's beam is held less firmly at its root: it bends more, and not by much.
        let (area, inertia) = (0.05_f64.powi(2), 0.05_f64.powi(4) / 12.0);
        let shear = 10.0 * (1.0 + poisson) / (12.0 + 11.0 * poisson) * 1e6 / (2.0 * (1.0 + poisson));
        let theory = 0.2_f64.powi(3) / (3.0 * 1e6 * inertia) + 0.2 / (shear * area);
        assert!(fine < theory && fine > 0.93 * theory, "{}", fine / theory);
    }
}

#[test]
fn deflections_of_the_beam_converge_from_below() {
    let (exact, _) = tip_deflection(5, true, 0.3);
    let errors = |quadratic: bool, sizes: &[u32]| -> Vec<f64> {
        sizes.iter().map(|n| 1.0 - tip_deflection(*n, quadratic, 0.3).0 / exact).collect()
    };
    let (linear, quadratic) = (errors(false, &[1, 2, 4, 8]), errors(true, &[1, 2, 3]));
    println!("linear {linear:.4?}, quadratic {quadratic:.5?}");
    for errors in [&linear, &quadratic] {
        assert!(errors.iter().all(|e| *e > 0.0) && errors.is_sorted_by(|a, b| a > b));
    }
    // Linear elements lock: with ten times the nodes they are farther off than quadratic ones.
    assert!(linear[3] > 5.0 * quadratic[1]);
}

/// Energy of a cube whose surface is displaced by `u = ∇(x⁴ − 6x²y² + y⁴)`, which has no divergence and is in
/// equilibrium, as a share of the exact one, less one.
fn smooth_energy_error(cells: u32, quadratic: bool) -> f64 {
    let side = 0.1;
    let spec = BlockSpec { size: Vec3::from_element(side), cells: [cells; 3], split: Split::Six };
    let mesh = spec.mesh().expect("sound");
    let mesh = if quadratic { mesh.with_midsides() } else { mesh };
    let outer = mesh.skin().nodes;
    let (free, inner) = (model(&mesh, &[], Ordering::LeastFill), model(&mesh, &outer, Ordering::LeastFill));
    let field = |p: &Vec3| {
        Vec3::new(4.0 * p.x.powi(3) - 12.0 * p.x * p.y * p.y, 4.0 * p.y.powi(3) - 12.0 * p.x * p.x * p.y, 0.0)
    };
    let on_skin = |n: u32| outer.binary_search(&n).is_ok();
    let boundary = free.gather(|n| if on_skin(n) { field(&mesh.nodes()[n as usize]) } else { Vec3::zeros() });
    let mut force = vec![0.0; free.size()];
    free.stiffness().add_product(-1.0, &boundary, &mut force);
    let at = |x: &[f64], model: &FemModel, n: u32| {
        model.first_of(n).map_or_else(Vec3::zeros, |k| Vec3::from_column_slice(&x[k..k + 3]))
    };
    let right = inner.gather(|n| at(&force, &free, n));
    let mut body = CorotationalBody::new(Arc::new(inner), Vec3::zeros());
    body.set_regime(Regime::QuasiStatic);
    body.prepare(&right, 1.0).expect("held");
    let whole = free
        .gather(|n| if on_skin(n) { field(&mesh.nodes()[n as usize]) } else { at(body.midpoint(), body.model(), n) });
    // µ ∫ ε:ε with ε:ε = 288 (x² + y²)²: over a cube of side a, 288 a⁷ (1/5 + 2/9 + 1/5).
    let exact = RUBBER.lame().1 * 288.0 * side.powi(7) * (0.4 + 2.0 / 9.0);
    free.elastic_energy(&whole) / exact - 1.0
}

#[test]
fn energies_of_a_smooth_field_converge_with_twice_the_order_of_the_element() {
    for (quadratic, sizes, order) in [(false, [4, 8, 16], 2.0), (true, [2, 4, 8], 4.0)] {
        let errors = sizes.map(|n| smooth_energy_error(n, quadratic));
        let orders = [(errors[0] / errors[1]).log2(), (errors[1] / errors[2]).log2()];
        println!("quadratic {quadratic}: {errors:?}, orders {orders:.3?}");
        assert!((orders[1] - order).abs() < 0.2, "{orders:?}");
    }
}
