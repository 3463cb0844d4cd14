//! The same matrices, frequencies and static solutions as scikit-fem: `tests/data/fem/scikit_fem.txt`, written by
//! `tests/peers/scikit_fem.py`.

use hapticd::fem::{
    CorotationalBody, EquilibriumSpec, FemModel, FemSpec, Mass, Material, Ordering, Rayleigh, Regime, StaticBody,
};
use hapticd::geometry::tet::{BlockSpec, Split, TetMesh};
use hapticd::math::Vec3;
use std::sync::Arc;

const REFERENCE: &str = include_str!("../data/fem/scikit_fem.txt");
const MATERIAL: Material = Material { young_pa: 2.5e6, poisson: 0.35, density: 1100.0 };

fn numbers(element: &str, kind: &str) -> Vec<Vec<f64>> {
    let lines = REFERENCE.lines().filter_map(|line| line.strip_prefix(&format!("{element} {kind} ")));
    lines.map(|line| line.split(' ').map(|w| w.parse().expect("a number")).collect()).collect()
}

const GRAVITY: Vec3 = Vec3::new(3.0, -2.0, -9.81);

fn block() -> TetMesh {
    let spec = BlockSpec { size: Vec3::new(0.03, 0.02, 0.015), cells: [3, 2, 2], split: Split::Six };
    spec.mesh().expect("sound")
}

/// The block with elements that are small near the clamp.
fn graded() -> TetMesh {
    let mesh = block();
    let place = |p: &Vec3| {
        let share = p.x / 0.03;
        Vec3::new(0.03 * (0.2 * share + 0.8 * share * share), p.y, p.z)
    };
    TetMesh::new(mesh.nodes().iter().map(place).collect(), mesh.tets().to_vec()).expect("sound")
}

fn shaken() -> TetMesh {
    let mesh = block();
    let shake = |(k, p): (usize, &Vec3)| {
        let k = k as f64;
        let x = if p.x == 0.0 { 0.0 } else { k.sin() };
        p + Vec3::new(x, (2.0 * k + 1.0).sin(), (3.0 * k + 2.0).sin()) * 1e-3
    };
    TetMesh::new(mesh.nodes().iter().enumerate().map(shake).collect(), mesh.tets().to_vec()).expect("sound")
}

/// Frequencies of the free vibrations, Hz, by a decomposition that shares nothing with the product.
fn frequencies(model: &FemModel) -> Vec<f64> {
    let (k, m) = (model.stiffness().dense(), model.mass().dense());
    let lower = m.cholesky().expect("positive").l();
    let half = lower.solve_lower_triangular(&k).expect("regular");
    let whole = lower.solve_lower_triangular(&half.transpose()).expect("regular");
    let mut squares: Vec<f64> = ((&whole + whole.transpose()) * 0.5).symmetric_eigenvalues().iter().copied().collect();
    squares.sort_by(f64::total_cmp);
    squares.iter().map(|w| w.sqrt() / std::f64::consts::TAU).collect()
}

#[test]
fn stiffness_mass_and_frequencies_are_those_of_scikit_fem() {
    for (element, mesh) in [("linear", shaken()), ("quadratic", shaken().with_midsides())] {
        let fixed = mesh.nodes_where(|p| p.x.abs() < 1e-12);
        let spec = FemSpec {
            mesh: &mesh,
            materials: &[MATERIAL],
            damping: Rayleigh::default(),
            fixed: &fixed,
            mass: Mass::Consistent,
            ordering: Ordering::LeastFill,
        };
        let model = FemModel::new(&spec).expect("sound");
        let field = |p: &Vec3| {
            Vec3::new(
                (50.0 * p.x + 20.0 * p.y).sin(),
                (30.0 * p.y - 40.0 * p.z).cos(),
                (60.0 * p.z + 1.0 + 10.0 * p.x).sin(),
            )
        };
        let u = model.gather(|n| field(&mesh.nodes()[n as usize]));
        let (mut ku, mut mu) = (vec![0.0; model.size()], vec![0.0; model.size()]);
        model.stiffness().add_product(1.0, &u, &mut ku);
        model.mass().add_product(1.0, &u, &mut mu);
        let lines = numbers(element, "node");
        assert_eq!(3 * lines.len(), model.size());
        let largest = [&ku, &mu].map(|list| list.iter().fold(0.0_f64, |m, x| m.max(x.abs())));
        let mut worst = [0.0_f64; 2];
        for line in &lines {
            let at = Vec3::new(line[0], line[1], line[2]);
            let first = model.first_of(mesh.nodes_where(|p| (p - at).norm() < 1e-9)[0]).expect("free");
            for k in 0..3 {
                worst[0] = worst[0].max((ku[first + k] - line[3 + k]).abs() / largest[0]);
                worst[1] = worst[1].max((mu[first + k] - line[6 + k]).abs() / largest[1]);
            }
        }
        let (k, m) = (model.stiffness().dense(), model.mass().dense());
        let norms = [k.norm(), m.norm(), k.trace(), m.trace()];
        let found = frequencies(&model);
        let worst_of = |own: &[f64], kind: &str| {
            let wanted = &numbers(element, kind)[0];
            own.iter().zip(wanted).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max)
        };
        let (norm_off, off) = (worst_of(&norms, "norms"), worst_of(&found, "frequencies_hz"));
        println!("{element}: K u {:.1e}, M u {:.1e}, norms {norm_off:.1e}, frequencies {off:.1e}", worst[0], worst[1]);
        assert!(worst[0] < 1e-8 && worst[1] < 1e-8 && norm_off < 1e-8 && off < 1e-8);
        let energy = &numbers(element, "energy_j")[0];
        assert!((model.elastic_energy(&u) / energy[0] - 1.0).abs() < 1e-8);
    }
}

#[test]
fn lumped_masses_are_positive_and_add_up() {
    for mesh in [shaken(), shaken().with_midsides()] {
        let spec = FemSpec {
            mesh: &mesh,
            materials: &[MATERIAL],
            damping: Rayleigh::default(),
            fixed: &[],
            mass: Mass::Lumped,
            ordering: Ordering::LeastFill,
        };
        let model = FemModel::new(&spec).expect("sound");
        let dense = model.mass().dense();
        assert!(dense.diagonal().min() > 0.0);
        assert!((dense.diagonal().sum() - dense.sum()).abs() < 1e-15);
        assert!((dense.trace() / 3.0 / (mesh.volume() * MATERIAL.density) - 1.0).abs() < 1e-12);
    }
}

/// Largest difference of displacements from those of the file, relative to the largest.
fn off_static(name: &str, mesh: &TetMesh, model: &FemModel, shift: &[f64]) -> f64 {
    let lines = numbers(name, "static");
    assert_eq!(3 * lines.len(), model.size());
    let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
    for line in &lines {
        let at = Vec3::new(line[0], line[1], line[2]);
        let first = model.first_of(mesh.nodes_where(|p| (p - at).norm() < 1e-9)[0]).expect("free");
        for k in 0..3 {
            worst = worst.max((shift[first + k] - line[3 + k]).abs());
            largest = largest.max(line[3 + k].abs());
        }
    }
    worst / largest
}

/// The corotational body approaches the linear one as loads get small. The mean of the answers to a load and to its opposite, the second
/// reversed, has an error of second order in the strain, so that strains of 1e-5 leave neither that nor round-off.
#[test]
fn static_displacements_are_those_of_scikit_fem_linear_and_corotational() {
    let meshes = [("linear", shaken()), ("quadratic", shaken().with_midsides()), ("graded", graded().with_midsides())];
    for (name, mesh) in meshes {
        let fixed = mesh.nodes_where(|p| p.x.abs() < 1e-12);
        let model = Arc::new(
            FemModel::new(&FemSpec {
                mesh: &mesh,
                materials: &[MATERIAL],
                damping: Rayleigh::default(),
                fixed: &fixed,
                mass: Mass::Consistent,
                ordering: Ordering::LeastFill,
            })
            .expect("sound"),
        );
        let mut body = StaticBody::new(&model, &GRAVITY).expect("held");
        let exact = off_static(name, &mesh, &model, body.under(&model, std::iter::empty()));
        const SHARE: f64 = 0.1;
        let bent = |sign: f64| {
            let mut body = CorotationalBody::new(model.clone(), GRAVITY * (sign * SHARE));
            body.set_regime(Regime::QuasiStatic);
            body.set_equilibrium(EquilibriumSpec { tolerance: 1e-10, ..EquilibriumSpec::default() });
            body.step(&vec![0.0; model.size()], 1.0).expect("converges");
            body.position().to_vec()
        };
        let pairs: Vec<f64> = bent(1.0).iter().zip(&bent(-1.0)).map(|(a, b)| 0.5 * (a - b) / SHARE).collect();
        let corotational = off_static(name, &mesh, &model, &pairs);
        println!("{name}: linear off by {exact:.1e}, corotational by {corotational:.1e}");
        assert!(exact < 1e-8 && corotational < 1e-8, "{name}: {exact:e}, {corotational:e}");
    }
}
