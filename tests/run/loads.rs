//! Files that hang, loads that take long, output that nobody reads.

use crate::daemon::{Daemon, Place};
use crate::text;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A scene with one part from a mesh.
fn scene(mesh: &str) -> String {
    format!(
        "format = \"hapticd-scene/1\"\ntitle = \"Part\"\n[material.steel]\nfriction = 0.15\n[body.part]\nfixed = true\n\
         material = \"steel\"\nshape = {{ {mesh} }}\n[tool]\nshape = {{ kind = \"sphere\", radius = \"5 mm\" }}\n\
         mass = \"50 g\"\nmaterial = \"steel\"\npose = {{ xyz = [0, 0, \"190 mm\"] }}\n[coupling]\n\
         stiffness = \"1000 N/m\"\ndamping = \"5 N*s/m\"\n"
    )
}

#[test]
fn a_fifo_as_mesh_model_or_scene_is_refused_and_nothing_hangs() {
    let place = Place::new("fifo");
    let fifo = place.write("scenes/fifo.stl", "");
    std::fs::remove_file(&fifo).expect("it was written");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    place.write("scenes/mesh.toml", &scene("kind = \"mesh\", file = \"fifo.stl\", unit = \"mm\""));
    place.write("scenes/kernel.toml", &scene("kind = \"mesh\", file = \"/proc/kmsg\", unit = \"mm\""));
    let model = "kind = \"peg\", diameter = \"10 mm\", length = \"20 mm\", model = \"fifo.stl\"";
    place.write("scenes/model.toml", &scene(model));
    let daemon = Daemon::start(&place.config(""), &["--scene", "virtual_wall"]);
    for name in ["mesh", "kernel", "model", &fifo.display().to_string()] {
        let (code, said) = daemon.try_do("/hapticd/scene/load", &[text(name)]).expect_err("it cannot be read");
        assert_eq!(code, 422, "{name}: {said}");
    }
    assert_eq!(daemon.get_text("/hapticd/scene/name"), "virtual_wall");
    daemon.enable();
}

/// A cube of this edge as binary STL, mm.
fn cube(edge: f32) -> Vec<u8> {
    let corner = |k: usize| [k & 1, k >> 1 & 1, k >> 2 & 1].map(|bit| bit as f32 * edge);
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let mut bytes = vec![0; 80];
    bytes.extend(12_u32.to_le_bytes());
    for [a, b, c, d] in faces {
        for triangle in [[a, b, c], [a, c, d]] {
            bytes.extend([0; 12]);
            triangle.iter().flat_map(|k| corner(*k)).for_each(|x| bytes.extend(x.to_le_bytes()));
            bytes.extend([0; 2]);
        }
    }
    bytes
}

#[test]
fn a_load_that_takes_long_tells_how_it_goes_and_can_be_cancelled() {
    let place = Place::new("slow");
    let stl = place.write("scenes/cube.stl", "");
    std::fs::write(&stl, cube(99.0)).expect("written");
    place.write("scenes/slow.toml", &scene("kind = \"mesh\", file = \"cube.stl\", unit = \"mm\", model = \"grid\""));
    let daemon = Daemon::start(&place.config(""), &["--scene", "virtual_wall"]);
    daemon.send("/hapticd/scene/load", &[text("slow")]);
    daemon.wait_for_log("loading slow for 2 s: shape of `part`");
    let began = Instant::now();
    // The daemon does not wait for it.
    assert_eq!(daemon.get_text("/hapticd/state"), "DISABLED");
    daemon.must_do("/hapticd/scene/cancel", &[]);
    daemon.wait_for_log("slow was cancelled by a client");
    daemon.wait_for_log("a load that was given up has ended");
    assert_eq!(daemon.try_do("/hapticd/scene/cancel", &[]).expect_err("there is none").0, 409);
    assert_eq!(
        daemon.try_do("/hapticd/scene/load", &[text("box_on_table")]).expect("it is loaded")[0],
        text("box_on_table")
    );
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn commands_whose_reader_has_gone_end_in_peace() {
    for arguments in [&["schema", "scene"][..], &["demo"], &["osc"], &["devices"], &["bench"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let errors = writer.try_clone().expect("a second end");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
        command.args(arguments).stdin(Stdio::null()).stdout(writer).stderr(errors);
        let status = command.status().expect("it runs");
        assert!(status.success(), "{arguments:?}: {status}");
    }
}
