//! Rate independence of snap connectors: a hand that goes a prescribed way feels the same force, and the click at the same time, whatever
//! the rate of the simulation.

#[expect(dead_code, reason = "shared with tests of the tick alone")]
mod common;

#[path = "common/rates.rs"]
mod rates;

use hapticd::haptic::{Coupling, SpringDamper, Surfaces};
use hapticd::math::Vec3;
use hapticd::scene::{Built, build, open, open_device, shipped};
use rates::Rates;

/// The scene as shipped, but for the rate of its simulation.
fn scene(name: &str, rate_hz: u32) -> Built {
    let text = shipped(name).expect("shipped");
    let directory = std::env::temp_dir().join(format!("hapticd-snap-rates-{}-{name}-{rate_hz}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join("scene.toml");
    assert!(text.contains("\"500 Hz\""));
    std::fs::write(&path, text.replace("\"500 Hz\"", &format!("\"{rate_hz} Hz\""))).expect("written");
    let spec = open(&path.to_string_lossy()).expect("readable").value;
    std::fs::remove_dir_all(&directory).expect("removed");
    let device = open_device("simulated-3dof").expect("shipped").value;
    build(&spec, &device).expect("they fit")
}

/// Way of the handle: quickly to the socket, in at this speed, a rest, and out again.
fn way(near_m: f64, home_m: f64, speed: f64) -> Vec<f64> {
    let step = speed * 1e-3;
    let ticks = ((home_m - near_m) / step) as usize;
    let mut way: Vec<f64> = (0..600).map(|k| near_m * f64::from(k) / 600.0).collect();
    way.extend((0..ticks).map(|k| near_m + step * k as f64));
    way.extend(vec![home_m; 100]);
    way.extend((0..ticks).map(|k| home_m - step * k as f64));
    way
}

/// Force on the hand along the axis at every tick; without `surfaces` contacts keep the direction that the last step gave them.
fn felt(name: &str, rate_hz: u32, way: &[f64], surfaces: bool) -> Vec<f64> {
    let built = scene(name, rate_hz);
    let mut haptic = built.haptic.clone();
    // Stiff, so that the plug is where the hand is and the force is a matter of place alone; the stiffer the smaller a share of the force
    // the hand is given.
    let stiff = 20_000.0 / haptic.mapping.force_scale;
    haptic.coupling = Coupling::Spring(SpringDamper::isotropic(stiff, 6.0 * stiff / 20_000.0, 1.5, 0.005));
    (haptic.limits.force.linear, haptic.limits.stiffness.linear) = (60.0, 2.0 * stiff);
    if !surfaces {
        haptic.surfaces = Surfaces::default();
    }
    let start = built.handle_start.translation.vector;
    let mut rig = Rates::new(vec![haptic], built.sim.clone());
    way.iter().map(|z| rig.beat([start - Vec3::z() * *z])[0].wanted.force.z).collect()
}

fn rms(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values {
        sum += value * value;
        count += 1;
    }
    (sum / f64::from(count.max(1))).sqrt()
}

/// The tick in which the force on the plug falls most.
fn click(force: &[f64]) -> usize {
    let fall = |k: &usize| force[*k] - force[*k + 2];
    (0..force.len() / 2).max_by(|a, b| fall(a).total_cmp(&fall(b))).unwrap_or(0)
}

#[test]
fn a_snap_socket_feels_the_same_at_every_rate_of_the_simulation() {
    // The cap lets go within one tick at 30 mm/s: 10 % of a tick earlier or later is 3.5 % rms there.
    let sockets: [(_, _, _, &[f64]); 3] = [
        ("snap_connector", 0.017, 0.0225, &[0.01, 0.03]),
        ("snap_lan", 0.019, 0.0238, &[0.01, 0.03]),
        ("snap_cap", 0.024, 0.0268, &[0.01]),
    ];
    for (name, near_m, home_m, speeds) in sockets {
        for speed in speeds.iter().copied() {
            let way = way(near_m, home_m, speed);
            let reference = felt(name, 1000, &way, true);
            let touching = |k: &usize| reference[*k].abs() > 0.02;
            let size = rms((0..way.len()).filter(touching).map(|k| reference[k]));
            let off = |force: &[f64]| rms((0..way.len()).filter(touching).map(|k| force[k] - reference[k])) / size;
            for rate_hz in [30, 60, 120, 250] {
                let force = felt(name, rate_hz, &way, true);
                let off = off(&force);
                let late = click(&force) as i64 - click(&reference) as i64;
                println!("{name} at {speed} m/s, {rate_hz} Hz: {:.2} % rms, click {late} ms late", 100.0 * off);
                if std::env::var_os("HAPTICD_SNAP_TRACE").is_some() {
                    for (k, z) in way.iter().enumerate().skip(600).step_by(2) {
                        println!("trace {speed} {rate_hz} {k} {z:.6} {:.4} {:.4}", reference[k], force[k]);
                    }
                }
                assert!(off < 0.03, "{rate_hz} Hz at {speed} m/s: {off}");
                assert!(late.abs() <= 2, "{rate_hz} Hz at {speed} m/s: click {late} ms late");
            }
            // The exact surface of the tool is what makes the difference.
            let without = off(&felt(name, 60, &way, false));
            println!("{name} at {speed} m/s, 60 Hz, directions of the last step: {:.2} % rms", 100.0 * without);
            assert!(without > 0.03, "{without}");
        }
    }
}
