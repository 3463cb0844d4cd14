//! The click of a snap connector in the hand: prongs that have time ring at their own frequency, those that go from rest to rest do not.

#[expect(dead_code, reason = "shared with tests of the tick alone")]
mod common;

#[path = "common/rates.rs"]
mod rates;

use hapticd::fem::Modes;
use hapticd::haptic::{Coupling, SpringDamper};
use hapticd::math::Vec3;
use hapticd::scene::{Built, build, open, open_device, shipped};
use hapticd::sim::Motion;
use rates::Rates;

fn scene(name: &str, changes: &[(&str, &str)]) -> Built {
    let mut text = shipped(name).expect("shipped").to_owned();
    for (old, new) in changes {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    let directory = std::env::temp_dir().join(format!("hapticd-snap-rings-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join("scene.toml");
    std::fs::write(&path, text).expect("written");
    let spec = open(&path.to_string_lossy()).expect("readable").value;
    std::fs::remove_dir_all(&directory).expect("removed");
    let device = open_device("simulated-3dof").expect("shipped").value;
    build(&spec, &device).expect("they fit")
}

/// Force of a light feeler on the hand, N, tick by tick, after it has let go of a prong that it had pushed aside: the finger stays on the
/// prong.
fn finger(step: &str, rate_hz: u32) -> (Vec<f64>, f64) {
    let changes = [
        // A graded socket is made for its plug: a finger between its edges would touch nothing.
        (", detail = \"graded\"".to_owned(), String::new()),
        ("step = \"pmi\", damping = { stiffness = \"15 us\" }".to_owned(), step.to_owned()),
        (
            "{ kind = \"snap-plug\", connector = \"two-prong\" }".to_owned(),
            "{ kind = \"sphere\", radius = \"2.5 mm\" }".to_owned(),
        ),
        ("\"50 g\"".to_owned(), "\"1 mg\"".to_owned()),
        ("\"500 Hz\"".to_owned(), format!("\"{rate_hz} Hz\"")),
    ];
    let built = scene("snap_connector", &changes.each_ref().map(|(old, new)| (old.as_str(), new.as_str())));
    let mut haptic = built.haptic.clone();
    haptic.coupling = Coupling::Spring(SpringDamper::isotropic(30.0, 0.001, 0.1, 1e-4));
    haptic.limits.force.linear = 60.0;
    let Motion::Elastic(socket) = &built.sim.bodies[0].motion else { unreachable!("it deforms") };
    let first_hz = Modes::new(&socket.fem).expect("it is held").frequency_hz(0);
    let start = built.handle_start.translation.vector;
    let mut rig = Rates::new(vec![haptic], built.sim.clone());
    let mut force = Vec::new();
    for k in 0..1500 {
        let share = |from: i32, ticks: f64| (f64::from(k - from) / ticks).clamp(0.0, 1.0);
        // Down between the prongs, aside until the nose has given way by 0.3 mm, and back at once to a tenth of that.
        let aside = if k < 1300 { 0.055 * share(600, 500.0) } else { 0.0055 };
        let [record] = rig.beat([start - Vec3::z() * (0.0172 * share(0, 500.0)) + Vec3::x() * aside]);
        if k >= 1305 {
            force.push(record.wanted.force.x);
        }
    }
    (force, first_hz)
}

/// Amplitude of a force at a frequency.
fn amplitude(force: &[f64], hz: f64) -> f64 {
    let mean = force.iter().sum::<f64>() / force.len() as f64;
    let phase = |k: usize| std::f64::consts::TAU * hz * 1e-3 * k as f64;
    // Hann's window: what leaks of one frequency into others does not move the largest.
    let window = |k: usize| 1.0 - (std::f64::consts::TAU * k as f64 / force.len() as f64).cos();
    let part = |of: fn(f64) -> f64| -> f64 {
        force.iter().enumerate().map(|(k, f)| window(k) * (f - mean) * of(phase(k))).sum()
    };
    2.0 * part(f64::cos).hypot(part(f64::sin)) / force.len() as f64
}

#[test]
fn a_prong_that_is_let_go_rings_in_the_hand_at_its_own_frequency() {
    for rate_hz in [30, 500, 1000] {
        let (force, first_hz) = finger("step = \"pmi\", damping = { stiffness = \"4 us\" }", rate_hz);
        let found = (2000..4900)
            .map(|k| 0.1 * f64::from(k))
            .max_by(|a, b| amplitude(&force, *a).total_cmp(&amplitude(&force, *b)));
        let found = found.expect("frequencies");
        let (rest, _) = finger("step = \"static\"", rate_hz);
        let (rings, still) = (amplitude(&force, found), amplitude(&rest, found));
        println!("{rate_hz} Hz: {found} Hz of {first_hz} Hz, {rings} N; from rest to rest {still} N");
        if std::env::var_os("HAPTICD_SNAP_TRACE").is_some() {
            force.iter().zip(&rest).for_each(|(a, b)| println!("trace {rate_hz} {a:.6} {b:.6}"));
        }
        assert!((found / first_hz - 1.0).abs() < 0.02, "{found} Hz, not {first_hz} Hz");
        assert!(rings > 1e-3 && still < 0.02 * rings, "{rings} N, at rest {still} N");
    }
}
