//! What the fuzzers call: one function for each decoder, which takes any bytes and must return, whatever they are.
//!
//! Shared by `cargo fuzz` (fuzz_targets) and by `cargo test --test fuzz`, which mutates shipped files with stable Rust.

#![allow(clippy::panic, clippy::expect_used, reason = "a fuzz target reports by panicking")]

use hapticd::collision::field::{Baked, SourceHash};
use hapticd::control::osc;
use hapticd::device::driver::catalogue::{self, DRIVERS, INPUTS};
use hapticd::device::emulator::{Line, exchange};
use hapticd::device::wire::{MESSAGE_MAX, json};
use hapticd::fem::{ReducedModel, source_hash};
use hapticd::files::{Dimension, calibration, config, device_file, parse_quantity};
use hapticd::geometry::mesh::{LengthUnit, TriMesh, Weld, read_obj, read_stl};
use hapticd::geometry::tet::{TetMesh, read_msh, read_vtk, read_vtu};
use hapticd::record::{DeviceLog, Reader};
use hapticd::scene;
use hapticd::shared::MonoNs;
use std::io::{Seek as _, Write as _};
use std::os::fd::AsRawFd as _;

/// A decoder under test.
pub(crate) struct Target {
    /// Its name, which is that of its file in fuzz_targets and of its corpus.
    pub(crate) name: &'static str,
    /// Takes any bytes.
    pub(crate) run: fn(&[u8]),
}

/// Every decoder of bytes that somebody else has made.
pub(crate) const TARGETS: [Target; 17] = [
    Target { name: "osc", run: osc_datagram },
    Target { name: "scene", run: scene_file },
    Target { name: "device", run: device },
    Target { name: "configuration", run: configuration },
    Target { name: "calibration", run: calibration_file },
    Target { name: "quantity", run: quantity },
    Target { name: "stl", run: stl },
    Target { name: "obj", run: obj },
    Target { name: "msh", run: msh },
    Target { name: "vtk", run: vtk },
    Target { name: "vtu", run: vtu },
    Target { name: "field", run: field },
    Target { name: "reduced", run: reduced },
    Target { name: "recording", run: recording },
    Target { name: "device_log", run: device_log },
    Target { name: "json", run: json_text },
    Target { name: "wire", run: wire },
];

pub(crate) fn osc_datagram(bytes: &[u8]) {
    let Ok(packet) = osc::decode(bytes) else { return };
    assert!(packet.messages.len() <= 256 && packet.messages.iter().all(|message| message.arguments.len() <= 64));
}

pub(crate) fn scene_file(bytes: &[u8]) {
    // Meshes that a scene names are not opened before it is built.
    let _ = scene::parse(bytes, "scene.toml");
}

pub(crate) fn device(bytes: &[u8]) {
    let Ok(loaded) = device_file::parse(bytes, "device.toml") else { return };
    let limits = &loaded.value.limits;
    assert!(limits.force.linear > 0.0 && limits.force.linear <= 200.0 && limits.power_w.is_finite());
}

pub(crate) fn configuration(bytes: &[u8]) {
    let Ok(loaded) = config::parse(bytes, "hapticd.toml") else { return };
    assert!((1..=99).contains(&loaded.value.realtime.priority));
}

pub(crate) fn calibration_file(bytes: &[u8]) {
    let _ = calibration::parse(bytes, "7F3A.toml");
}

pub(crate) fn quantity(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for dimension in [Dimension::Length, Dimension::Force] {
        assert!(parse_quantity(text, dimension).is_ok_and(f64::is_finite) || parse_quantity(text, dimension).is_err());
    }
}

fn sound(mesh: Result<TriMesh, impl std::fmt::Display>) {
    match mesh {
        Ok(mesh) => {
            let count = mesh.vertices().len() as u32;
            assert!(mesh.triangles().iter().flatten().all(|corner| *corner < count));
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

fn sound_tets(mesh: Result<TetMesh, impl std::fmt::Display>) {
    match mesh {
        Ok(mesh) => {
            let count = mesh.nodes().len() as u32;
            assert!(mesh.tets().iter().flatten().all(|corner| *corner < count));
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

pub(crate) fn stl(bytes: &[u8]) {
    sound(read_stl(bytes, LengthUnit::Millimetre, Weld::Exact));
}

pub(crate) fn obj(bytes: &[u8]) {
    sound(read_obj(bytes, LengthUnit::Millimetre));
}

pub(crate) fn msh(bytes: &[u8]) {
    sound_tets(read_msh(bytes, LengthUnit::Metre));
}

pub(crate) fn vtk(bytes: &[u8]) {
    sound_tets(read_vtk(bytes, LengthUnit::Metre));
}

pub(crate) fn vtu(bytes: &[u8]) {
    sound_tets(read_vtu(bytes, LengthUnit::Metre));
}

/// The same bytes with the check that the file ends with, so that what lies behind the check is reached too.
fn checked(bytes: &[u8]) -> Vec<u8> {
    let body = &bytes[..bytes.len().saturating_sub(16)];
    [body, &source_hash(&[body])].concat()
}

pub(crate) fn field(bytes: &[u8]) {
    let made_from = bytes.get(12..28).and_then(|hash| hash.try_into().ok()).map(SourceHash);
    let made_from = made_from.unwrap_or(SourceHash([0; 16]));
    let _ = Baked::from_bytes(bytes, &made_from);
    let _ = Baked::from_bytes(&checked(bytes), &made_from);
}

pub(crate) fn reduced(bytes: &[u8]) {
    let _ = ReducedModel::from_bytes(bytes, None);
    let _ = ReducedModel::from_bytes(&checked(bytes), None);
}

/// Calls `read` with the name of a file that holds these bytes and is nowhere on a disk.
fn in_a_file(bytes: &[u8], read: impl FnOnce(&std::path::Path)) {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = std::fs::File::from(rustix::fs::memfd_create("fuzz", flags).expect("memory"));
    file.write_all(bytes).and_then(|()| file.rewind()).expect("memory");
    read(format!("/proc/self/fd/{}", file.as_raw_fd()).as_ref());
}

pub(crate) fn recording(bytes: &[u8]) {
    in_a_file(bytes, |path| {
        let Ok(reader) = Reader::open(path) else { return };
        // An error ends it.
        let entries = reader.count();
        assert!(entries <= bytes.len(), "{entries} entries in {} bytes", bytes.len());
    });
}

pub(crate) fn device_log(bytes: &[u8]) {
    in_a_file(bytes, |path| {
        let Ok(log) = DeviceLog::read(path) else { return };
        assert!(!log.rows.is_empty() && log.rows.len() <= bytes.len());
    });
}

pub(crate) fn json_text(bytes: &[u8]) {
    let mut seen = 0;
    let _ = json::walk(bytes, &mut |_, _| seen += 1);
    assert!(seen <= bytes.len());
}

/// Every driver, and every emulated device, with bytes from a line that somebody else has: first while it starts, then while it works. The
/// first byte says which.
pub(crate) fn wire(bytes: &[u8]) {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let words: Vec<&str> = DRIVERS.into_iter().chain(INPUTS).collect();
    let word = words[usize::from(which >> 1) % words.len()];
    let (mut driver, mut device) =
        (catalogue::driver(word, None).expect("a driver"), catalogue::emulated(word).expect("a device"));
    let (mut line, mut out) = (Line::default(), [0; MESSAGE_MAX]);
    let mut now = MonoNs(1_000_000);
    if which & 1 == 1 {
        for _ in 0..60 {
            now = now.plus(1_000_000);
            exchange(&mut *driver, &mut *device, &mut line, now);
        }
    }
    for piece in bytes.chunks(MESSAGE_MAX) {
        now = now.plus(1_000_000);
        driver.feed(piece, now);
        device.feed(piece, now);
        while driver.next_order().is_some() {}
        while driver.next_out(&mut out) > 0 {}
        while device.next_out(&mut out) > 0 {}
        if let Some(sample) = driver.sample() {
            let place = sample.pose_device_handle;
            assert!(place.translation.vector.iter().all(|x| x.is_finite()), "{word}: {place}");
        }
        assert!(device.force().iter().all(|n| n.is_finite()), "{word}: {}", device.force());
    }
    let _ = driver.weight();
    while driver.next_event().is_some() {}
    let length = driver.silence_bytes(&mut out);
    assert!(length > 0 || !catalogue::gives_force(word), "{word}: no last words");
}
