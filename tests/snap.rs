//! The snap connector: what it takes to push it together, how it rings, and that a hand feels the same at any rate.

#[path = "common/demos.rs"]
mod demos;

use hapticd::bench::snap::MOTIONS;
use hapticd::bench::snap_rig::SnapRig;

use hapticd::geometry::snap::{Detail, SnapKind};
use hapticd::math::Pose;
use hapticd::shared::{Skin, ToolSample};
use hapticd::sim::{Painter, SimData, Stepping, empty_snapshot, step};
use nalgebra::Point3;
use std::time::{Duration, Instant};

const SPEED: f64 = 0.05;
const STEP_S: f64 = 5e-5;

/// Peak of the force on the coarse socket, N, by scikit-fem 12: quadratic elements on the same tetrahedra, the noses' nodes held on
/// ramp and rounded crest by normal forces with sliding friction of 0.163, the plug lowered by 0.02 mm at a time.
const PEAK_BY_SCIKIT_FEM_N: f64 = 3.1441;

#[test]
fn the_force_rises_peaks_pulls_in_and_ends() {
    let rig = SnapRig::new(SnapKind::TwoProng, Detail::Coarse).expect("a connector");
    let done = rig.insert(Stepping::Static, SPEED, 2e-4).expect("it goes in");
    let (peak, at) = done.peak();
    let (pull, later) = done.pull();
    println!("peak {peak} N at {at} m, pull {pull} N at {later} m, overlap {} m", done.penetration_m);
    assert!((peak / PEAK_BY_SCIKIT_FEM_N - 1.0).abs() < 0.05, "{peak} N");
    assert!(pull < -1.0 && later < at, "it is pulled in by {pull} N");
    let top = done.tip_m.iter().position(|tip| *tip == at).expect("the peak is there");
    let ramp = &done.force_n[..top];
    assert!(ramp.windows(2).all(|pair| pair[1] >= pair[0] - 1e-6), "the ramp rises");
    assert_eq!(done.force_n.last(), Some(&0.0), "home without force");
    assert!(done.penetration_m < 1e-9, "{} m", done.penetration_m);
    let release = rig.release_force(300).expect("it comes out");
    println!("release {release} N");
    assert!(release > 1.2 * peak, "it holds: {release} N to pull it out, {peak} N to push it in");
}

#[test]
fn in_motion_the_peak_is_the_same_and_the_click_rings_at_the_first_frequency() {
    let rig = SnapRig::new(SnapKind::TwoProng, Detail::Coarse).expect("a connector");
    let rest = rig.insert(Stepping::Static, SPEED, 2e-4).expect("it goes in");
    let full = rig.insert(Stepping::Passive, SPEED, STEP_S).expect("it goes in");
    let (exact, found) = (rig.first_hz().expect("modes"), rig.ring_hz(&full, STEP_S).expect("it rings"));
    println!("peak {} N, at rest {} N, rings at {found} Hz, first {exact} Hz", full.peak().0, rest.peak().0);
    assert!((full.peak().0 / rest.peak().0 - 1.0).abs() < 0.02);
    assert!((found / exact - 1.0).abs() < 0.03, "{found} Hz against {exact} Hz");
    let reduced = rig.reduced(MOTIONS.0, MOTIONS.1).expect("reduced");
    let few = rig.insert(Stepping::Reduced(reduced), SPEED, STEP_S).expect("it goes in");
    println!("few motions are off by {}", few.difference(&full));
    assert!(few.difference(&full) < 0.01, "{}", few.difference(&full));
}

/// Of the latch too with `HAPTICD_SNAP_MESHES=1`, best in release.
#[test]
fn forces_of_shipped_meshes_are_within_two_percent_of_those_of_their_halved_cells() {
    let all = [SnapKind::TwoProng, SnapKind::Latch];
    let kinds = if std::env::var_os("HAPTICD_SNAP_MESHES").is_some() { &all[..] } else { &all[..1] };
    for kind in kinds {
        let [shipped, halved] = [Detail::Graded, Detail::Halved(1)].map(|detail| {
            let rig = SnapRig::new(*kind, detail).expect("a connector");
            let push = rig.insert(Stepping::Static, SPEED, 4e-4).expect("it goes in").peak().0;
            [push, rig.release_force(300).expect("it comes out")]
        });
        println!("{kind:?}: push in, pull out {shipped:?} N, halved {halved:?} N");
        for (a, b) in shipped.iter().zip(halved) {
            assert!((a / b - 1.0).abs() < 0.02, "{kind:?}: {a} N, halved {b} N");
        }
    }
}

fn demo(scene: &str, seed: u64) -> serde_json::Value {
    let summary = demos::lockstep(scene, seed, None);
    serde_json::from_str(&summary.to_json()).expect("JSON")
}

#[test]
fn whoever_pushes_it_home_it_stays_there() {
    // With `HAPTICD_SNAP_SEEDS=20` that many of each, best in release.
    let asked: Option<u64> = std::env::var("HAPTICD_SNAP_SEEDS").ok().and_then(|text| text.parse().ok());
    for (scene, seeds) in [("snap_connector", 3), ("snap_lan", 1), ("snap_cap", 1)] {
        for seed in 1..=asked.unwrap_or(seeds) {
            let json = demo(scene, seed);
            assert_eq!(json["success"], true, "{scene}, seed {seed}: {json}");
            assert!(json["energy_min_j"].as_f64() >= Some(-1e-6), "{json}");
        }
    }
}

#[test]
fn the_hand_feels_the_same_at_60_and_at_1000_steps_a_second() {
    let text = hapticd::scene::shipped("snap_connector").expect("shipped");
    let directory = std::env::temp_dir().join(format!("hapticd-snap-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let peak = |rate: &str| {
        let path = directory.join(format!("at_{rate}.toml"));
        std::fs::write(&path, text.replace("\"500 Hz\"", &format!("\"{rate} Hz\""))).expect("written");
        let json = demo(&path.to_string_lossy(), 1);
        assert_eq!(json["success"], true, "{rate} Hz: {json}");
        json["peak_force_n"].as_f64().expect("a force")
    };
    let (slow, fast) = (peak("60"), peak("1000"));
    std::fs::remove_dir_all(&directory).expect("removed");
    println!("peak {slow} N at 60 Hz, {fast} N at 1 kHz");
    assert!((slow / fast - 1.0).abs() < 0.1, "{slow} N against {fast} N");
}

#[test]
fn what_is_drawn_of_a_socket_is_where_its_nodes_are() {
    let spec = hapticd::scene::open("snap_connector").expect("shipped").value;
    let device = hapticd::scene::open_device("simulated-3dof").expect("shipped").value;
    let built = hapticd::scene::build(&spec, &device).expect("they fit");
    let (model, start) = (&built.sim, built.sim.tools[0].start);
    let mut data = SimData::new(model).expect("a scene");
    let (mut painter, mut snapshot) = (Painter::new(model), empty_snapshot());
    let rest = &built.skins[0];
    let mut skins = [Skin { points: rest.points.clone(), stress_pa: vec![0.0; rest.points.len()] }];
    painter.paint(&data, &mut skins);
    let way = |skin: &Skin| {
        let apart = |(a, b): (&[f32; 3], &[f32; 3])| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt();
        skin.points.iter().zip(&rest.points).map(apart).fold(0.0, f32::max)
    };
    // Its own weight: next to nothing.
    assert!(way(&skins[0]) < 1e-6 && skins[0].stress_pa.iter().all(|pa| *pa < 1e-3 * rest.stress_full_pa));
    let (mut farthest, mut hottest, mut compared): (f32, f32, usize) = (0.0, 0.0, 0);
    let mut took = Duration::ZERO;
    for n in 0..230 {
        let pose = Pose::translation(0.0, 0.0, -1e-4 * f64::from(n)) * start;
        step(model, &mut data, &[ToolSample::at_rest(pose)], &mut [&mut *snapshot]);
        let began = Instant::now();
        painter.paint(&data, &mut skins);
        took += began.elapsed();
        let body = data.bodies[0].elastic().expect("it deforms");
        let skin = body.model().skin.as_ref().expect("it is shown");
        for (k, node) in body.model().answer.nodes().iter().enumerate() {
            let Ok(point) = skin.nodes().binary_search(node) else { continue };
            let exact = model.bodies[0].start * Point3::from(body.model().answer.rest(k) + body.shift()[k]);
            let shown = Point3::from(skins[0].points[point].map(f64::from));
            assert!((shown - exact).norm() < 1e-8, "node {node} at {shown}, not {exact}");
            compared += 1;
        }
        farthest = farthest.max(way(&skins[0]));
        hottest = skins[0].stress_pa.iter().fold(hottest, |most, pa| most.max(*pa));
    }
    println!("{} points, moved by up to {farthest} m, stress up to {hottest} Pa", rest.points.len());
    println!("{} µs a frame", took.as_micros() / 230);
    assert!(compared > 1000, "{compared} places compared");
    assert!(farthest > 5e-4, "the prongs open: {farthest} m");
    assert!(hottest > 0.5 * rest.stress_full_pa && hottest < 2.0 * rest.stress_full_pa, "{hottest} Pa");
    // Home: the prongs have come back.
    assert!(way(&skins[0]) < 0.2 * farthest, "{} m", way(&skins[0]));
}
