//! A rigid ball on an elastic block: radius and pressure of the contact against Hertz 1882.

use hapticd::fem::{Compliance, CorotationalBody, FemModel, FemSpec, Mass, Material, Ordering, Rayleigh, Regime, Rows};
use hapticd::geometry::tet::{BlockSpec, Locator, Members, Split, TetMesh};
use hapticd::math::Vec3;
use std::sync::Arc;

/// Ball of 20 mm pressed 0.1 mm deep: the contact has a radius of about 1.4 mm.
const RADIUS: f64 = 0.02;
const DEPTH: f64 = 1e-4;
const GEL: Material = Material { young_pa: 1e5, poisson: 0.3, density: 1000.0 };

/// A block of 40 × 40 × 20 mm whose elements are small around the middle of its top, the origin.
fn graded() -> TetMesh {
    let spec = BlockSpec { size: Vec3::new(2.0, 2.0, 1.0), cells: [14, 14, 7], split: Split::Five };
    let mesh = spec.mesh().expect("sound");
    // Even up to 2.1 mm, then growing to 20 mm.
    let bend = |t: f64| {
        let far = (7.0 * t.abs() - 3.0).max(0.0) / 4.0;
        t.signum() * (4.9e-3 * t.abs() + 15.1e-3 * far * far)
    };
    let place = |p: &Vec3| Vec3::new(bend(p.x - 1.0), bend(p.y - 1.0), -bend(1.0 - p.z));
    let nodes = mesh.nodes().iter().map(place).collect();
    let graded = TetMesh::with_parts(nodes, mesh.tets().to_vec(), Vec::new(), mesh.groups().to_vec());
    graded.expect("sound").with_midsides()
}

/// Six points on each triangle of the top that may touch.
fn samples(mesh: &TetMesh) -> Vec<Vec3> {
    let Members::Triangles(top) = &mesh.group("z1").expect("a block").members else { panic!("faces") };
    let mut points = Vec::new();
    for triangle in top {
        let corners = triangle.map(|n| mesh.nodes()[n as usize]);
        for weights in [[4, 1, 1], [1, 4, 1], [1, 1, 4], [3, 3, 0], [3, 0, 3], [0, 3, 3]] {
            points.push(corners.iter().zip(weights).map(|(c, w)| c * (f64::from(w) / 6.0)).sum::<Vec3>());
        }
    }
    points.retain(|p| p.x.hypot(p.y) < 2.2e-3);
    points
}

/// Forces that open no gap and close all: `0 ≤ λ ⊥ W λ + gap ≥ 0`, by projection.
fn press(w: &[f64], gap: &[f64]) -> Vec<f64> {
    let count = gap.len();
    let mut lambda = vec![0.0; count];
    for _ in 0..4000 {
        let mut change = 0.0_f64;
        for i in 0..count {
            let row = &w[i * count..][..count];
            let delta = gap[i] + row.iter().zip(&lambda).map(|(w, l)| w * l).sum::<f64>();
            let next = (lambda[i] - delta / row[i]).max(0.0);
            change = change.max((next - lambda[i]).abs());
            lambda[i] = next;
        }
        if change < 1e-9 {
            break;
        }
    }
    lambda
}

#[test]
fn a_ball_on_a_block_feels_the_pressure_of_hertz() {
    let mesh = graded();
    let fixed = mesh.group_nodes(mesh.group("z0").expect("a block"));
    let near = mesh.nodes_where(|p| p.z > -1e-9 && p.x.hypot(p.y) < 4e-3);
    let spec = FemSpec {
        mesh: &mesh,
        materials: &[GEL],
        damping: Rayleigh::default(),
        fixed: &fixed,
        mass: Mass::Consistent,
        ordering: Ordering::Last(&near),
    };
    let model = Arc::new(FemModel::new(&spec).expect("sound"));
    let (points, locator) = (samples(&mesh), Locator::new(&mesh));
    let mut rows = Rows::default();
    for p in &points {
        rows.push(&model, &model.attach(&locator.locate(p)), &-Vec3::z());
    }
    let mut body = CorotationalBody::new(model.clone(), Vec3::zeros());
    body.set_regime(Regime::QuasiStatic);
    body.prepare(&vec![0.0; model.size()], 1.0).expect("held");
    let mut w = vec![0.0; rows.len() * rows.len()];
    body.compliance(&rows, &mut Compliance::default(), &mut w).expect("prepared");
    let square = |p: &Vec3| p.x * p.x + p.y * p.y;
    let gap: Vec<f64> = points.iter().map(|p| RADIUS - DEPTH - (RADIUS * RADIUS - square(p)).sqrt()).collect();
    let lambda = press(&w, &gap);
    let force: f64 = lambda.iter().sum();
    // Moments of p₀ √(1 − r²/a²): ⟨r²⟩ = 2a²/5, p₀ = 3F/(2πa²).
    let spread = points.iter().zip(&lambda).map(|(p, f)| f * square(p)).sum::<f64>() / force;
    let radius = (2.5 * spread).sqrt();
    let pressure = 1.5 * force / (std::f64::consts::PI * radius * radius);
    // What the force makes of radius and pressure is a matter of the contact alone. How deep the ball sinks is one of
    // the whole block, which is no half-space but a layer on a rigid ground: Dimitriadis et al. 2002, to the second
    // order of √(Rδ)/h.
    let stiff = GEL.plane_strain_pa();
    let nu = GEL.poisson;
    let bonded = (1.2876 - 1.4678 * nu + 1.3442 * nu * nu) / (1.0 - nu);
    let thin = 2.0 / std::f64::consts::PI * bonded * (RADIUS * DEPTH).sqrt() / 0.02;
    let layer_force = 4.0 / 3.0 * stiff * RADIUS.sqrt() * DEPTH.powf(1.5) * (1.0 + thin + thin * thin);
    let hertz_radius = (0.75 * force * RADIUS / stiff).cbrt();
    let hertz_pressure = (6.0 * force * stiff * stiff / (std::f64::consts::PI.powi(3) * RADIUS * RADIUS)).cbrt();
    println!(
        "nodes {}, rows {}: force {:.4} of the layer's, radius {:.4}, pressure {:.4} of Hertz's",
        mesh.nodes().len(),
        rows.len(),
        force / layer_force,
        radius / hertz_radius,
        pressure / hertz_pressure
    );
    assert!((pressure / hertz_pressure - 1.0).abs() < 0.05);
    assert!((radius / hertz_radius - 1.0).abs() < 0.05);
    assert!((force / layer_force - 1.0).abs() < 0.05);
}
