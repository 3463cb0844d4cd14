//! Clamped strips of quadratic tetrahedra under a dead load across their end, against the elastica.
//!
//! Two references. The classical elastica has neither stretch nor shear. A strip of height `h` has both: the axial force
//! `P sin θ` stretches it by up to `PL²/EI · (h/L)²/12`, 0.83 % for `PL²/EI = 10` and `L/h = 10`, and shear adds
//! `0.6 (h/L)²` to a small deflection. The elastica with stretch and shear (Reissner 1972) contains both terms, so that
//! the strip is held to it at every slenderness, and to the classical one where those terms are small.

use super::beams::{clamped, traction};
use super::slender::elastica;
use hapticd::fem::{CorotationalBody, EquilibriumSpec, FemError, FemModel, Material, Rayleigh, Regime};
use hapticd::geometry::tet::{BlockSpec, Split, TetMesh};
use hapticd::math::Vec3;
use std::sync::Arc;

const LENGTH_M: f64 = 1.0;
/// Without Poisson's ratio the clamp does not restrain the section, as in the theory of beams.
const STRIP: Material = Material { young_pa: 1e6, poisson: 0.0, density: 1000.0 };

/// A strip of square section, `slenderness` times as long as high, of `cells` bricks along. A material that contracts across
/// warps its sections, which takes two bricks across.
fn strip(slenderness: f64, cells: u32, material: Material) -> (TetMesh, Arc<FemModel>) {
    let side = LENGTH_M / slenderness;
    let across = if material.poisson > 0.0 { 2 } else { 1 };
    let size = Vec3::new(LENGTH_M, side, side);
    let spec = BlockSpec { size, cells: [cells, across, across], split: Split::Six };
    let mesh = spec.mesh().expect("sound").with_midsides();
    let model = clamped(&mesh, material, Rayleigh::default());
    (mesh, model)
}

/// Forces of the load `alpha · EI/L²` across the end.
fn load(mesh: &TetMesh, model: &FemModel, slenderness: f64, alpha: f64) -> Vec<f64> {
    let bending = STRIP.young_pa * (LENGTH_M / slenderness).powi(4) / 12.0;
    traction(mesh, model, Vec3::z() * (alpha * bending / LENGTH_M.powi(2)))
}

/// Deflection across and back of the middle of the end face.
fn tip(mesh: &TetMesh, body: &CorotationalBody, slenderness: f64) -> (f64, f64) {
    let middle = Vec3::new(LENGTH_M, 0.5 / slenderness, 0.5 / slenderness);
    let node = mesh.nodes_where(|p| (p - middle).norm() < 1e-9)[0];
    let first = body.model().first_of(node).expect("free");
    (body.position()[first + 2], -body.position()[first])
}

/// Tip of the elastica with stretch and shear of a square section, in units of `L`: across and back. By shooting for the
/// curvature at the clamp: `θ' = m`, `m' = −α x'`, `x' = (1 + ε) cos θ − γ sin θ`, `z' = (1 + ε) sin θ + γ cos θ`,
/// `ε = α sin θ · EI/(EA L²)`, `γ = α cos θ · EI/(κ G A L²)`, with Cowper's `κ = 10 (1 + ν)/(12 + 11 ν)`.
fn reissner(alpha: f64, slenderness: f64, poisson: f64) -> (f64, f64) {
    let stretch = alpha / (12.0 * slenderness.powi(2));
    let shear = stretch * 2.0 * (12.0 + 11.0 * poisson) / 10.0;
    let slope = |s: &[f64; 4]| {
        let (sin, cos) = s[0].sin_cos();
        let (along, sideways) = (1.0 + stretch * sin, shear * cos);
        let x = along * cos - sideways * sin;
        [s[1], -alpha * x, x, along * sin + sideways * cos]
    };
    let run = |curvature: f64| {
        let (steps, mut s) = (2000, [0.0, curvature, 0.0, 0.0]);
        let h = 1.0 / f64::from(steps);
        let moved = |s: &[f64; 4], k: &[f64; 4], h: f64| std::array::from_fn(|i| s[i] + h * k[i]);
        for _ in 0..steps {
            let a = slope(&s);
            let b = slope(&moved(&s, &a, 0.5 * h));
            let c = slope(&moved(&s, &b, 0.5 * h));
            let d = slope(&moved(&s, &c, h));
            s = std::array::from_fn(|i| s[i] + h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]));
        }
        s
    };
    let (mut low, mut high) = (0.0, 2.0 * alpha.sqrt().max(alpha));
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if run(middle)[1] > 0.0 { high = middle } else { low = middle }
    }
    let [_, _, along, across] = run(low);
    (across, 1.0 - along)
}

/// Norm of the residual under `share` of the load, and of the load.
fn residual(body: &mut CorotationalBody, force: &[f64], share: f64) -> (f64, f64) {
    let sum = body.elastic_force().iter().zip(force).map(|(f, p)| (f + share * p).powi(2)).sum::<f64>();
    (sum.sqrt(), force.iter().map(|p| p * p).sum::<f64>().sqrt())
}

/// Largest error of the tip, relative, against the two references, for the loads `alphas` each applied at once.
fn errors(slenderness: f64, cells: u32, material: Material, alphas: &[f64]) -> Vec<(f64, f64)> {
    let (mesh, model) = strip(slenderness, cells, material);
    let one = |alpha: &f64| {
        let force = load(&mesh, &model, slenderness, *alpha);
        let mut body = CorotationalBody::new(model.clone(), Vec3::zeros());
        body.set_regime(Regime::QuasiStatic);
        let outcome = body.step(&force, 1.0).expect("converges");
        assert!(outcome.converged && outcome.load == 1.0);
        let (unbalanced, size) = residual(&mut body, &force, 1.0);
        assert!(unbalanced < 1e-6 * size, "{unbalanced:e} of {size:e}");
        let (across, back) = tip(&mesh, &body, slenderness);
        let off = |(z, x): (f64, f64)| (across / z - 1.0).abs().max((back / x - 1.0).abs());
        let off = (off(reissner(*alpha, slenderness, material.poisson)), off(elastica(*alpha)));
        println!(
            "L/h {slenderness}, ν {}, {} nodes, PL²/EI {alpha}: off by {:.3} % (Reissner), {:.3} % (classical); {outcome:?}",
            material.poisson,
            mesh.nodes().len(),
            100.0 * off.0,
            100.0 * off.1
        );
        off
    };
    alphas.iter().map(one).collect()
}

const ALPHAS: [f64; 5] = [0.5, 1.0, 4.0, 7.0, 10.0];

#[test]
fn the_elastica_with_stretch_and_shear_becomes_the_classical_one() {
    for alpha in ALPHAS {
        let (slender, classical) = (reissner(alpha, 1e5, 0.0), elastica(alpha));
        assert!((slender.0 - classical.0).abs() < 1e-8 && (slender.1 - classical.1).abs() < 1e-8);
    }
    // A small load: bending PL³/3EI and shear PL/κGA.
    let (across, _) = reissner(1e-4, 10.0, 0.0);
    assert!((across / (1e-4 / 3.0 * 1.006) - 1.0).abs() < 1e-6, "{across:e}");
}

#[test]
fn a_strip_ten_times_as_long_as_high_follows_the_elastica() {
    let off = errors(10.0, 16, STRIP, &ALPHAS);
    assert!(off.iter().all(|off| off.0 < 0.01), "{off:?}");
    // Stretch and shear of this strip reach 1 % of the classical deflection between PL²/EI = 4 and 7.
    assert!(off[..3].iter().all(|off| off.1 < 0.01), "{off:?}");
}

#[test]
fn a_strip_thirty_times_as_long_as_high_follows_the_elastica() {
    let off = errors(30.0, 24, STRIP, &ALPHAS);
    assert!(off.iter().all(|off| off.0 < 0.01 && off.1 < 0.01), "{off:?}");
}

#[test]
fn a_strip_a_hundred_times_as_long_as_high_follows_the_elastica() {
    let off = errors(100.0, 50, STRIP, &ALPHAS);
    assert!(off.iter().all(|off| off.0 < 0.01 && off.1 < 0.01), "{off:?}");
}

#[test]
fn a_strip_that_contracts_across_follows_the_elastica() {
    for poisson in [0.3, 0.45] {
        let off = errors(30.0, 96, Material { poisson, ..STRIP }, &[4.0, 10.0]);
        println!("Poisson's ratio {poisson}: off by {off:?}");
        assert!(off.iter().all(|off| off.0 < 0.01 && off.1 < 0.01), "{off:?}");
    }
}

#[test]
fn a_strip_curls_far_beyond_the_loads_of_the_elastica_and_unloads_to_rest() {
    let (mesh, model) = strip(30.0, 24, STRIP);
    let mut body = CorotationalBody::new(model.clone(), Vec3::zeros());
    body.set_regime(Regime::QuasiStatic);
    let force = load(&mesh, &model, 30.0, 50.0);
    let outcome = body.step(&force, 1.0).expect("converges");
    println!("{outcome:?}, tip {:?}", tip(&mesh, &body, 30.0));
    let none = vec![0.0; model.size()];
    let outcome = body.step(&none, 1.0).expect("converges");
    println!("{outcome:?}, tip {:?}", tip(&mesh, &body, 30.0));
    let farthest = body.position().iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    assert!(farthest < 1e-6 * LENGTH_M, "{farthest:e}");
}

#[test]
fn a_step_that_does_not_converge_is_an_error_and_leaves_the_body_at_an_equilibrium() {
    let (mesh, model) = strip(30.0, 12, STRIP);
    let force = load(&mesh, &model, 30.0, 10.0);
    let mut body = CorotationalBody::new(model.clone(), Vec3::zeros());
    body.set_regime(Regime::QuasiStatic);
    // One iteration does not reach equilibrium under any share of the load that two cuts leave.
    body.set_equilibrium(EquilibriumSpec { iterations: 1, total_iterations: 6, cuts: 2, ..EquilibriumSpec::default() });
    let Err(FemError::NotConverged(outcome)) = body.step(&force, 1.0) else { panic!("one iteration is not enough") };
    assert!(!outcome.converged && outcome.load == 0.0 && outcome.cuts == 3, "{outcome:?}");
    assert!(body.position().iter().chain(body.velocity()).all(|x| *x == 0.0), "the state is the one before");
    // A budget for a part of the load: the state is the equilibrium of that part.
    body.set_equilibrium(EquilibriumSpec { iterations: 4, total_iterations: 40, ..EquilibriumSpec::default() });
    let Err(FemError::NotConverged(outcome)) = body.step(&force, 1.0) else { panic!("the budget is too small") };
    println!("{outcome:?}");
    assert!(outcome.load > 0.0 && outcome.load < 1.0, "{outcome:?}");
    let (unbalanced, size) = residual(&mut body, &force, outcome.load);
    assert!(unbalanced < 1e-6 * size, "{unbalanced:e} of {size:e}");
    // The next step continues from there to the whole load.
    body.set_equilibrium(EquilibriumSpec::default());
    body.step(&force, 1.0).expect("converges");
    let across = tip(&mesh, &body, 30.0).0;
    assert!((across / elastica(10.0).0 - 1.0).abs() < 0.03, "{across}");
}
