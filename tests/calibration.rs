//! Calibrations: kept by the program, and what they do to a driver.

#[path = "common/wired.rs"]
mod wired;

use hapticd::device::driver::Trim;
use hapticd::device::driver::catalogue::{DRIVERS, INVERSE3, Unit, known_links, links, unit_driver};
use hapticd::device::{HandForce, HandMotion, HandSample, Limiter, Links, SafeForce};
use hapticd::math::Vec3;
use hapticd::shared::Faults;
use std::process::Command;
use wired::{Booth, towards_wall};

const MS: u64 = 1_000_000;

/// What a driver that is trimmed so gives at the handle when it is told to give 1 N, and where it says the handle is.
fn told_one_newton(word: &'static str, trim: &Trim) -> (f64, HandSample) {
    let mut booth = Booth::new(word);
    booth.wired().driver = unit_driver(word, None, &Unit { trim: *trim, links: None }).expect("a driver");
    booth.home();
    let wired = booth.wired();
    let wanted = HandForce { force: towards_wall(word) * -1.0, torque: Vec3::zeros() };
    let mut limiter = Limiter::new(wired.spec.limits);
    let mut force = SafeForce::zero();
    let mut sample = None;
    for _ in 0..200 {
        force = limiter.limit(wanted, &HandMotion::default(), None, 1e-3, &mut Faults::NONE.clone());
        let now = wired.now.plus(MS);
        wired.driver.command(&force, now);
        wired.exchange(now);
        sample = wired.driver.sample().or(sample);
    }
    assert!((force.get().force.norm() - 1.0).abs() < 1e-9);
    (wired.device.force().norm(), sample.expect("it answers"))
}

#[test]
fn a_stronger_unit_is_told_less_and_a_turned_encoder_is_put_right() {
    for word in DRIVERS {
        let (nominal, at) = told_one_newton(word, &Trim::default());
        assert!((nominal - 1.0).abs() < 0.02, "{word}: {nominal} N");
        let (scaled, _) = told_one_newton(word, &Trim { force_scale: 1.25, ..Trim::default() });
        assert!((scaled * 1.25 - nominal).abs() < 0.02, "{word}: {scaled} N of {nominal}");
        if word == INVERSE3 {
            // Its encoders are its service's affair.
            continue;
        }
        let mut trim = Trim::default();
        trim.origin_rad[0] = 0.02;
        let (_, moved) = told_one_newton(word, &trim);
        let way = moved.pose_device_handle.translation.vector - at.pose_device_handle.translation.vector;
        println!("{word}: 20 mrad of the first encoder are {:.2} mm at the handle", way.norm() * 1e3);
        assert!(way.norm() > 5e-5 && way.norm() < 0.01, "{word}: {way}");
    }
}

#[test]
fn shipped_files_state_the_masses_that_the_drivers_know_and_others_are_heeded() {
    for word in DRIVERS {
        let spec = wired::spec(word);
        let known = (!links(word).is_empty()).then(|| known_links(word));
        assert_eq!(spec.mechanics.links, known, "{word}");
        let Some(known) = known else { continue };
        // Twice the mass is twice the weight, where the handle is.
        let weight = |links: Option<Links>| {
            let mut booth = Booth::new(word);
            booth.wired().driver = unit_driver(word, None, &Unit { trim: Trim::default(), links }).expect("a driver");
            booth.home();
            booth.wired().driver.weight().force
        };
        let twice = Links { mass_kg: known.mass_kg.map(|mass| 2.0 * mass), ..known };
        let (once, twice) = (weight(None), weight(Some(twice)));
        assert!(once.z > 0.3 && (twice - once * 2.0).norm() < 0.01 * once.norm(), "{word}: {once} {twice}");
    }
}

#[test]
fn the_program_keeps_shows_and_refuses() {
    let state = std::env::temp_dir().join(format!("hapticd-calibrate-{}", std::process::id()));
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
        let output = command.args(["calibrate", "7F3A", "--state"]).arg(&state).args(more).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, said) = run(&["--driver", "polhem"]);
    assert!(code == Some(0) && said.contains("nothing is kept"), "{said}");
    let (code, said) = run(&["--driver", "polhem", "--origin", "0.3 deg, 0, -5 mrad", "--force-scale", "1.05"]);
    assert!(code == Some(0) && said.contains("7F3A.toml"), "{said}");
    // The other number stays.
    let (code, said) = run(&["--driver", "polhem", "--force-scale", "1.1"]);
    assert_eq!(code, Some(0), "{said}");
    let (_, said) = run(&["--driver", "polhem"]);
    assert!(said.contains("force_scale = 1.1") && said.contains("-0.005 rad"), "{said}");
    let file = state.join("calibration/7F3A.toml");
    let check = Command::new(env!("CARGO_BIN_EXE_hapticd")).arg("check").arg(&file).output().expect("it runs");
    assert!(String::from_utf8_lossy(&check.stdout).contains("calibration, no errors"));
    for (more, says) in [
        (&["--driver", "polhm"][..], "choose one of"),
        (&["--driver", "vintage"][..], "driver polhem, not vintage"),
        (&["--driver", "polhem", "--force-scale", "9"][..], "between 0.5 and 2"),
        (&["--driver", "polhem", "--origin", "1 N"][..], "angles such as"),
    ] {
        let (code, said) = run(more);
        assert!(code == Some(2) && said.contains(says), "{more:?}: {said}");
    }
    std::fs::remove_dir_all(&state).expect("it was made");
}
