//! Suction: the gas law in the solvers, cavities, cups pressed on and pulled off.

#[path = "common/demos.rs"]
mod demos;

use hapticd::bench::suction_rig::{Frame, RigSpec, SuctionRig, press_and_pull};
use hapticd::math::Random;
use hapticd::mechanism::newton::{Workspace, solve_robustly};
use hapticd::mechanism::solver::{Settings, residuals};
use hapticd::mechanism::{Block, BlockId, Law, Problem};

/// A cup with contacts at its rim: nodes that yield to each other, and a cavity that acts on all of them.
struct Coupled {
    blocks: Vec<Block>,
    compliance: Vec<f64>,
    free: Vec<f64>,
}

fn coupled(random: &mut Random, contacts: usize, cavities: usize) -> Coupled {
    let mut uniform = move || 2.0 * random.uniform() - 1.0;
    let rows = 3 * contacts + cavities;
    let ways = 3 * contacts + 4;
    // Rows of contacts are of nodes of their own that share some motion; a cavity acts on all ways.
    let mut h = vec![0.0; rows * ways];
    for row in 0..3 * contacts {
        for way in 0..ways {
            h[row * ways + way] = 0.3 * uniform();
        }
        h[row * ways + row] += 1.0;
    }
    for row in 3 * contacts..rows {
        for way in 0..ways {
            h[row * ways + way] = uniform();
        }
    }
    let mut compliance = vec![0.0; rows * rows];
    for i in 0..rows {
        for j in 0..rows {
            let sum: f64 = (0..ways).map(|k| h[i * ways + k] * h[j * ways + k]).sum();
            compliance[i * rows + j] = 1e-4 * sum;
        }
    }
    let contact = Law::Contact { friction: 0.1 + 0.5 * uniform().abs(), compliance: 0.0 };
    let mut blocks: Vec<Block> =
        (0..contacts).map(|k| Block { id: BlockId::Custom(k as u64), first: 3 * k, law: contact }).collect();
    let mut free: Vec<f64> =
        (0..3 * contacts).map(|row| if row % 3 == 0 { 1e-3 * uniform() } else { 3e-4 * uniform() }).collect();
    for k in 0..cavities {
        let (ambient_n, depth_m) = (20.0 + 80.0 * uniform().abs(), 1e-4 + 6e-3 * uniform().abs());
        let filled = 1.0 + 0.2 * uniform();
        let kept = if k % 2 == 0 { 0.0 } else { uniform().abs() };
        let energy = ambient_n * depth_m * filled * if uniform() > 0.8 { 0.01 } else { 1.0 };
        let law = Law::Gas {
            ambient_n,
            most_n: 0.01 * ambient_n,
            bath_j: energy * (1.0 - kept),
            kept_j: energy * kept,
            depth_m,
            compliance: 0.0,
        };
        blocks.push(Block { id: BlockId::Cavity(k as u32), first: 3 * contacts + k, law });
        free.push(depth_m + 3e-3 * uniform());
    }
    Coupled { blocks, compliance, free }
}

#[test]
fn gas_contacts_and_friction_are_solved_together() {
    let mut random = Random::new(3);
    let mut work = Workspace::default();
    let (mut solved, mut all) = (0, 0);
    for case in 0..1000 {
        let Coupled { blocks, compliance, free } = coupled(&mut random, 1 + case % 24, 1 + case % 3);
        let problem = Problem { blocks: &blocks, compliance: &compliance, stride: free.len(), free: &free };
        let mut lambda = vec![0.0; free.len()];
        let settings = Settings::default();
        let outcome = solve_robustly(&problem, &mut lambda, &settings, &mut work, || false);
        all += 1;
        let within = residuals(&problem, &lambda).worst() <= 3e-9;
        if outcome.converged && within {
            solved += 1;
        } else {
            println!("case {case}: {outcome:?}");
        }
        for block in &blocks {
            if let Law::Gas { ambient_n, most_n, .. } = block.law {
                let force = lambda[block.first];
                assert!((-ambient_n..=most_n).contains(&force), "case {case}: {force}");
            }
        }
    }
    println!("{solved} of {all}");
    assert!(1000 * solved >= 999 * all, "{solved} of {all}");
}

fn run(spec: &RigSpec, way: [f64; 3], speed: f64) -> (Vec<Frame>, SuctionRig) {
    let mut rig = SuctionRig::new(spec, way[0]).expect("a cup");
    let mut frames = Vec::new();
    for height in press_and_pull(way, speed, 0.1, spec.rate_hz) {
        let frame = rig.step(height);
        let cavity = frame.cavities.first();
        println!(
            "{:8.4} mm  {:8.3} N  p {:8.3} kPa  V {:8.5} ml  air {:9.6} mJ  A {:7.2} mm²  {} contacts {} rows {} it, res {:.1e} {}",
            1e3 * frame.height_m,
            frame.push_n,
            1e-3 * cavity.map_or(f64::NAN, |c| c.pressure_pa),
            1e6 * cavity.map_or(f64::NAN, |c| c.volume_m3),
            1e3 * cavity.map_or(f64::NAN, |c| c.air_j),
            1e6 * cavity.map_or(f64::NAN, |c| c.area_m2),
            frame.report.touching,
            frame.rows,
            frame.report.iterations,
            frame.report.residual,
            frame.cavities.len(),
        );
        frames.push(frame);
    }
    (frames, rig)
}

#[test]
fn a_cup_pressed_flat_holds_until_it_pops_off() {
    let spec = RigSpec::standard(100.0);
    let (frames, rig) = run(&spec, [0.5e-3, -4e-3, 10e-3], 20e-3);
    let pull = frames.iter().map(|frame| -frame.push_n).fold(0.0, f64::max);
    let most = spec.air.expect("air").pressure_pa * std::f64::consts::PI * spec.cup.radius_m.powi(2);
    println!("pull {pull} N of {most} N");
    assert!(pull > 5.0 && pull < most, "{pull} N");
    let last = frames.last().expect("frames");
    assert!(last.cavities.is_empty() && last.push_n.abs() < 0.1, "{last:?}");
    let air = rig.air();
    assert!((air.held_j()).abs() < 1e-12 * air.enclosed_j, "{air:?}");
}

/// The shipped scene, in lockstep: pressed, held, pulled off, within the limits of the device and its ledger.
#[test]
fn a_hand_presses_a_pane_on_the_cup_and_pulls_it_off() {
    let summary = demos::lockstep("suction_cup", 1, None);
    let json: serde_json::Value = serde_json::from_str(&summary.to_json()).expect("JSON");
    println!("{json}");
    assert_eq!(json["success"], true, "{json}");
    assert!(json["energy_min_j"].as_f64() >= Some(0.0), "{json}");
    assert!(json["peak_force_n"].as_f64() <= json["force_limit_n"].as_f64(), "{json}");
}
