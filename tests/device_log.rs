//! Device logs of H3D and HAPI: read, told, led through a scene, refused with the line that is wrong.

use hapticd::math::Vec3;
use hapticd::record::{DeviceLog, LogError, LogRow};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hapticd-log-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("there is room for tests");
        Self(path)
    }

    fn write(&self, name: &str, text: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("it can be written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn replay(path: &Path, more: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
    let output: Output = command.arg("replay").arg(path).args(more).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// A hand that goes into the shipped wall and back, in their frame and with their five decimals.
fn log_of_a_press() -> String {
    let mut text = String::from("TIME POSITION FORCE BUTTONS RAW_POSITION RAW_ORIENTATION\n");
    for row in 0..800 {
        let time = f64::from(row) * 0.0025;
        let near = 0.02 * (std::f64::consts::PI * time).cos();
        // The calibrated place differs from the device's own, which is the one that counts.
        let (calibrated, raw) = (format!("9.0 9.0 {near:.5}"), format!("0.00100 0.00200 {near:.5}"));
        let button = u8::from(row >= 400);
        text += &format!("{time:.5} {calibrated} 0.00000 1.50000 0.00000 {button} {raw} 0.0 1.0 0.0 0.50000\n");
    }
    text
}

#[test]
fn a_log_is_read_in_our_frame_and_told_for_what_it_is() {
    let scratch = Scratch::new("read");
    let path = scratch.write("press.log", log_of_a_press().as_bytes());
    let log = DeviceLog::read(&path).expect("it is one");
    assert_eq!((log.rows.len(), log.columns.len()), (800, 6));
    let row = log.rows[0];
    // Theirs: x right, y up, z to the operator. Ours: x to the operator, y right, z up.
    assert_eq!(row.pose.translation.vector, Vec3::new(0.02, 0.001, 0.002));
    assert_eq!(row.force, Some(Vec3::new(0.0, 0.0, 1.5)));
    let (axis, angle) = row.pose.rotation.axis_angle().expect("it is turned");
    assert!((angle - 0.5).abs() < 1e-12 && (axis.into_inner() - Vec3::z()).norm() < 1e-12);
    assert_eq!((log.at(0.0).buttons, log.at(1.5).buttons), (0, 1));
    let place = |row: LogRow| row.pose.translation.x;
    let (between, half) = (place(log.at(0.00125)), 0.5 * (place(row) + place(log.rows[1])));
    assert!((between - half).abs() < 1e-12);
    assert_eq!(log.at(99.0), log.rows[799], "the hand stays where it was last");
    let (code, said) = replay(&path, &[]);
    assert_eq!(code, Some(0), "{said}");
    for part in ["800 rows", "400 a second", "RAW_ORIENTATION", "peak 1.50 N"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_log_led_through_a_scene_is_felt_recorded_and_runs_again() {
    let scratch = Scratch::new("led");
    let path = scratch.write("press.log", log_of_a_press().as_bytes());
    let out = scratch.0.join("wall.mcap");
    let record = out.to_str().expect("letters");
    let (code, said) = replay(&path, &["--scene", "virtual_wall", "--device", "simulated-3dof", "--record", record]);
    assert_eq!(code, Some(0), "{said}");
    println!("{said}");
    let peak = said.split("felt     peak ").nth(1).and_then(|rest| rest.split(' ').next());
    let peak: f64 = peak.expect("a figure").parse().expect("a number");
    assert!(peak > 0.5, "the wall was not felt: {said}");
    let (code, said) = replay(&out, &[]);
    assert!(code == Some(0) && said.contains("every bit the same"), "{said}");
    let report = Command::new(env!("CARGO_BIN_EXE_hapticd")).arg("report").arg(&out).output().expect("it runs");
    assert_eq!(report.status.code(), Some(0), "{}", String::from_utf8_lossy(&report.stderr));
    let (code, said) = replay(&path, &["--viewer"]);
    assert!(code == Some(2) && said.contains("--scene"), "{said}");
}

#[test]
fn what_is_no_log_is_refused_with_the_reason() {
    let scratch = Scratch::new("refused");
    let read = |name: &str, text: &[u8]| DeviceLog::read(&scratch.write(name, text));
    let foreign = |text: &[u8], word: &str| match read("x", text) {
        Err(error @ LogError::Foreign { .. }) => assert!(error.to_string().contains(word), "{error}"),
        other => assert!(other.is_err(), "{other:?}"),
    };
    foreign(b"", "no column TIME");
    foreign(b"hello world\n1 2\n", "`hello`");
    foreign(b"TIME\n0\n", "RAW_POSITION");
    foreign(b"TIME POSITION\n", "no rows");
    foreign(b"TIME\0POSITION\0\x01\x02", "binary");
    foreign(&[0xff, 0xfe, 0x00, 0x01, b'\n'], "zero bytes");
    let line = |text: &[u8], wanted: usize, word: &str| match read("x", text) {
        Err(LogError::Line { line, why, .. }) => assert!(line == wanted && why.contains(word), "{line}: {why}"),
        other => assert!(other.is_err(), "{other:?}"),
    };
    line(b"TIME POSITION\n0 1 2 3\n1 1 2\n2 1 2 3\n", 3, "3 numbers");
    line(b"TIME POSITION\n0 1 2 x\n1 1 2 3\n", 2, "`x` is no number");
    line(b"TIME POSITION\n0 1 2 nan\n1 1 2 3\n", 2, "`nan` is no number");
    line(b"TIME POSITION\n1 1 2 3\n1 1 2 3\n2 1 2 3\n", 3, "time");
    // Half a last line is what a killed program leaves.
    let cut = read("cut", b"TIME POSITION\n0 1 2 3\n1 1 2 3\n2 1").expect("the rest is whole");
    assert!(cut.rows.len() == 2 && cut.cut_short.is_some());
    let (code, said) = replay(&scratch.write("y", b"\x00\x01"), &[]);
    assert!(code == Some(2) && said.contains("neither a recording"), "{said}");
}
