//! Machined parts in scene files: what is made of them, and what is said of each kind of mistake.

use super::*;
use crate::bake::{Design, GridPlan, bake_grid};
use crate::files::Report;
use crate::geometry::parts::{Facets, Peg};
use crate::geometry::{Shape, Surface, mesh};
use crate::math::Vec3;
use std::path::{Path, PathBuf};

/// A scene with one part and a ball above it.
fn text(shape: &str) -> String {
    format!(
        "format = \"hapticd-scene/1\"\ntitle = \"Part\"\n[material.steel]\nfriction = 0.15\n[body.part]\nfixed = true\n\
         material = \"steel\"\nshape = {{ {shape} }}\n[tool]\nshape = {{ kind = \"sphere\", radius = \"5 mm\" }}\n\
         mass = \"50 g\"\nmaterial = \"steel\"\npose = {{ xyz = [0, 0, \"90 mm\"] }}\n[coupling]\n\
         stiffness = \"1000 N/m\"\ndamping = \"5 N*s/m\"\n"
    )
}

fn lines(report: &Report) -> Vec<String> {
    report.findings().iter().map(|f| format!("{}:{} {} | {}", f.line, f.column, f.message, f.help)).collect()
}

/// The part of a scene file called `name`, built; or all that is said of it.
fn made(shape: &str, name: &Path) -> Result<Built, Vec<String>> {
    let device = open_device("simulated-3dof").expect("it is valid").value;
    let loaded = parse(text(shape).as_bytes(), &name.display().to_string()).map_err(|report| lines(&report))?;
    build(&loaded.value, &device).map_err(|report| lines(&report))
}

/// A directory of this test's own, gone when it is dropped.
struct Bench(PathBuf);

impl Bench {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hapticd-parts-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    fn scene(&self) -> PathBuf {
        self.0.join("scene.toml")
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).expect("it can be written");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Whatever is left over does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn nodes(built: &Built) -> usize {
    let Shape::Part(part) = &built.sim.bodies[0].shape else { return 0 };
    part.nodes.len()
}

#[test]
fn parts_have_the_dimensions_that_are_written() {
    let cases = [
        ("kind = \"bolt\", thread = \"M48x5\", length = \"20 mm\"", Vec3::new(0.048, 0.048, 0.02), 6e-4),
        (
            "kind = \"nut\", thread = \"M48x5\", fit = \"0.4 mm\", length = \"15 mm\", left_hand = true",
            Vec3::new(0.075, 0.075 / 0.75_f64.sqrt(), 0.015),
            1e-9,
        ),
        ("kind = \"peg\", radius = \"20 mm\", length = \"60 mm\"", Vec3::new(0.04, 0.04, 0.06), 1e-4),
        (
            "kind = \"bore-block\", diameter = \"50 mm\", depth = \"40 mm\", outer = \"80 mm\", floor = \"5 mm\"",
            Vec3::new(0.08, 0.08, 0.045),
            3e-4,
        ),
    ];
    for (shape, size, tolerance) in cases {
        let built = made(shape, Path::new("x")).unwrap_or_else(|said| unreachable!("{said:?}"));
        let bounds = built.sim.bodies[0].shape.aabb();
        assert!((bounds.max - bounds.min - size).amax() < tolerance, "{shape}: {bounds:?}");
        assert!(built.sim.bodies[0].field.is_some() && nodes(&built) > 500);
        // The room of parts is small, and what is near is asked in every step.
        assert!((5e-4..=9e-4).contains(&built.sim.margin_m), "{}", built.sim.margin_m);
    }
    let exact = made("kind = \"peg\", radius = \"20 mm\", length = \"60 mm\", model = \"exact\"", Path::new("x"));
    assert!(exact.is_ok_and(|built| built.sim.bodies[0].field.is_none()));
    let fine = "kind = \"peg\", radius = \"20 mm\", length = \"60 mm\", facets = 200, rows = 4";
    assert!(made(fine, Path::new("x")).is_ok_and(|built| (1000..1500).contains(&nodes(&built))));
}

#[test]
fn each_kind_of_mistake_in_a_part_is_told_apart() {
    let cases = [
        ("kind = \"bolt\", length = \"20 mm\"", "`thread` is missing in [body.part.shape]"),
        ("kind = \"bolt\", thread = \"M48\", length = 1", "`thread` needs a thread such as \"M48x5\""),
        ("kind = \"bolt\", thread = \"M48x5\"", "`length` is missing in [body.part.shape]"),
        ("kind = \"bolt\", thread = \"M48x20\", length = 0.05", "is too coarse for a diameter"),
        ("kind = \"bolt\", thread = \"M48x0\", length = 0.05", "the pitch must be a positive length"),
        ("kind = \"bolt\", thread = \"M48x5\", length = 5", "the part is 5.000 m large; at most 1 m"),
        ("kind = \"bolt\", thread = \"M48x0.2\", length = 0.9", "nodes; at most 100000"),
        ("kind = \"bolt\", thread = \"M48x5\", length = 0.02, fit = \"6H\"", "`fit` has an unknown unit"),
        ("kind = \"bolt\", thread = \"M48x5\", length = 0.02, chamfer = 0.03", "the chamfers are as long as the part"),
        ("kind = \"bolt\", thread = \"M48x5\", length = 0.02, facets = 5", "`facets` is out of range"),
        ("kind = \"bolt\", thread = \"M48x5\", length = 0.02, outer = 0.1", "unknown key `outer`"),
        ("kind = \"peg\", length = 0.05", "`radius` is missing"),
        ("kind = \"peg\", radius = 0.02, diameter = 0.04, length = 0.05", "both `radius` and `diameter` are given"),
        ("kind = \"bore-block\", radius = 0.02, depth = 0.05, outer = 0.03", "as wide as the body"),
        ("kind = \"mesh\", file = \"a.stl\"", "`unit` is missing"),
        ("kind = \"mesh\", file = \"a.stl\", unit = \"ft\"", "`unit` cannot be `ft`"),
        ("kind = \"mesh\", file = \"no/such.stl\", unit = \"mm\"", "cannot read no/such.stl"),
        ("kind = \"peg\", radius = 0.02, length = 0.05, model = \"no.field\"", "cannot read no.field"),
    ];
    for (shape, message) in cases {
        let said = made(shape, Path::new("scene.toml")).err().unwrap_or_default();
        assert!(said.iter().any(|line| line.contains(message)), "{shape}: {said:#?}");
        assert!(said.iter().all(|line| line.starts_with("8:") || line.starts_with("5:")), "{said:#?}");
    }
}

#[test]
fn a_mesh_is_found_beside_the_scene_and_a_broken_one_is_refused() {
    let bench = Bench::new("mesh");
    let peg = Peg { diameter: 0.02, length: 0.03, chamfer: 0.0 };
    let solid = peg.mesh(Facets { per_turn: 24, rows: 2 }).expect("there is such a peg");
    let bytes = mesh::write_stl(&solid, mesh::LengthUnit::Millimetre);
    bench.write("peg.stl", &bytes);
    bench.write("cut.stl", &bytes[..bytes.len() - 50]);
    bench.write("peg.step", &bytes);
    let with = |file: &str, unit: &str| {
        made(&format!("kind = \"mesh\", file = \"{file}\", unit = \"{unit}\", model = \"exact\""), &bench.scene())
    };
    let built = with("peg.stl", "mm").unwrap_or_else(|said| unreachable!("{said:?}"));
    let inside = built.sim.bodies[0].shape.signed_distance(&Vec3::new(0.0, 0.0, 0.01)).distance;
    assert!((inside + 0.01).abs() < 2e-4, "{inside}");
    let refused = |file: &str, unit: &str| with(file, unit).err().unwrap_or_default().join("\n");
    assert!(refused("peg.stl", "m").contains("is the unit right?"), "{}", refused("peg.stl", "m"));
    assert!(refused("peg.step", "mm").contains("neither .stl nor .obj"));
    assert!(refused("cut.stl", "mm").contains("cut.stl"), "{}", refused("cut.stl", "mm"));
}

#[test]
fn a_baked_field_serves_and_a_stale_or_damaged_one_is_refused_with_the_command() {
    let bench = Bench::new("field");
    let peg = Peg { diameter: 0.04, length: 0.06, chamfer: 0.001 };
    let source = Design::Peg(peg).source().expect("there is such a peg");
    let bytes = bake_grid(&source, &GridPlan::profile()).expect("a grid").to_bytes();
    bench.write("peg.field", &bytes);
    bench.write("short.field", &bytes[..bytes.len() / 2]);
    let with = |length: &str, file: &str| {
        let size = format!("diameter = \"40 mm\", length = \"{length}\", chamfer = \"1 mm\"");
        made(&format!("kind = \"peg\", {size}, model = \"{file}\""), &bench.scene())
    };
    assert!(with("60 mm", "peg.field").is_ok_and(|built| built.sim.bodies[0].field.is_some()));
    let stale = with("61 mm", "peg.field").err().unwrap_or_default().join("\n");
    assert!(stale.contains("stale"), "{stale}");
    assert!(stale.contains("hapticd bake peg --diameter 40mm --length 61mm --chamfer 1mm --out peg.field"), "{stale}");
    let short = with("60 mm", "short.field").err().unwrap_or_default().join("\n");
    assert!(short.contains("cut short"), "{short}");
}

#[test]
fn a_nut_that_starts_in_its_bolt_is_refused_unless_the_threads_mesh() {
    let device = open_device("simulated-6dof").expect("it is valid").value;
    let start = |xyz: &str, yaw: &str| {
        let text = shipped("bolting").expect("it is shipped");
        let from = "pose     = { xyz = [0, 0, \"60 mm\"] }";
        assert!(text.contains(from));
        let text = text.replacen(from, &format!("pose = {{ xyz = {xyz}, rpy = [0, 0, \"{yaw}\"] }}"), 1);
        let scene = parse(text.as_bytes(), "x").unwrap_or_else(|report| unreachable!("{report}")).value;
        build(&scene, &device).map(|_| ()).map_err(|report| lines(&report).join("\n"))
    };
    // 22 mm up the bolt are 4.4 turns.
    assert_eq!(start("[0, 0, \"12 mm\"]", "144 deg"), Ok(()));
    for (xyz, yaw) in [("[0, 0, \"12 mm\"]", "-36 deg"), ("[\"1 mm\", 0, \"12 mm\"]", "144 deg")] {
        let said = start(xyz, yaw).err().unwrap_or_default();
        assert!(said.contains("inside `bolt`"), "{said}");
    }
}
