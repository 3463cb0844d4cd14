//! Deformable bodies and joints in scene files: the data made of them, and the message for each kind of mistake.

use super::*;
use crate::device::operator::Action;
use crate::files::Report;
use crate::geometry::mesh::{LengthUnit, write_stl};
use crate::geometry::tet::{BlockSpec, write_vtu};
use crate::scene::make::make;
use crate::scene::task::Condition;
use crate::scene::workshop::{Watch, Workshop};
use crate::scene::{Built, SceneSpec, build, open_device, parse};
use crate::sim::{BodyId, CarriedBy, HandId, JointKind};
use std::path::{Path, PathBuf};

/// A scene with these bodies and a ball far above them.
fn text(bodies: &str) -> String {
    format!(
        "format = \"hapticd-scene/1\"\ntitle = \"Soft\"\n[material.gel]\nfriction = 0.5\n{bodies}\n[tool]\n\
         shape = {{ kind = \"sphere\", radius = \"5 mm\" }}\nmass = \"50 g\"\nmaterial = \"gel\"\n\
         pose = {{ xyz = [0, 0, \"190 mm\"] }}\n[coupling]\nstiffness = \"1000 N/m\"\ndamping = \"5 N*s/m\"\n\
         [mapping]\npose = {{ xyz = [0, 0, \"170 mm\"] }}\n"
    )
}

const JELLY: &str = "young = \"20 kPa\", poisson = 0.4, density = \"1000 kg/m^3\"";
const BOX: &str = "kind = \"soft-box\", size = [\"40 mm\", \"40 mm\", \"40 mm\"], cell = \"10 mm\"";

/// A body of this shape and `elastic`, and what follows it.
fn body(shape: &str, elastic: &str, more: &str) -> String {
    text(&format!("[body.jelly]\nmaterial = \"gel\"\nshape = {{ {shape} }}\nelastic = {{ {elastic} }}\n{more}\n"))
}

fn lines(report: &Report) -> Vec<String> {
    report.findings().iter().map(|f| format!("{}:{} {} | {}", f.line, f.column, f.message, f.help)).collect()
}

fn spec(text: &str, name: &Path) -> SceneSpec {
    parse(text.as_bytes(), &name.display().to_string()).unwrap_or_else(|report| unreachable!("{report}")).value
}

/// The scene built on a device, or the messages.
fn built(text: &str, name: &Path) -> Result<Built, Vec<String>> {
    let device = open_device("simulated-3dof").expect("it is valid").value;
    let loaded = parse(text.as_bytes(), &name.display().to_string()).map_err(|report| lines(&report))?;
    build(&loaded.value, &device).map_err(|report| lines(&report))
}

/// The first body of a scene as plain data.
fn parts_in(text: &str, name: &Path) -> SoftParts {
    let spec = spec(text, name);
    let body = &spec.bodies[0];
    let solid = make(&body.shape, None, &mut Workshop::new(&spec.source, Watch::default()))
        .unwrap_or_else(|unmade| unreachable!("{}", unmade.message));
    let is_socket = matches!(body.shape, ShapeSpec::Socket { .. });
    let (elastic, mesh) = (body.elastic.as_ref().expect("it deforms"), solid.elements.expect("it has elements"));
    let origin = Origin { name: "x", at: "body.0", is_socket, is_carried: false, gravity: Vec3::zeros() };
    parts_of(elastic, &mesh, &origin, &spec.source).unwrap_or_else(|(_, e)| unreachable!("{}", e.message))
}

fn parts(text: &str) -> SoftParts {
    parts_in(text, Path::new("x"))
}

/// Checks that the first message of each scene begins and goes on as stated.
fn check_mistakes(cases: &[(&str, String, &str, &str)]) {
    for (what, text, message, help) in cases {
        let said = built(text, Path::new("x")).err().unwrap_or_default();
        let fits = said.iter().any(|line| line.contains(message) && line.contains(help));
        assert!(fits, "{what}: {message} | {help}\n{said:#?}");
        // Located: not at the beginning of the file.
        assert!(said.iter().all(|line| !line.starts_with("1:1 ")), "{what}: {said:#?}");
    }
}

/// A directory of this test's own, removed when it is dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hapticd-soft-{}-{name}", std::process::id()));
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

impl Drop for Place {
    fn drop(&mut self) {
        // Whatever is left over does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_free_box_is_corotational_with_ten_nodes_for_each_element() {
    let parts = parts(&body(BOX, JELLY, ""));
    assert_eq!((parts.model, parts.step), (SoftModelKind::Corotational, SoftStepKind::Auto));
    assert!(parts.held.is_empty() && parts.reduced.is_none() && parts.touching.is_none() && !parts.self_contact);
    assert!(parts.mesh.is_quadratic());
    // The grid of halves without the middle of each brick.
    assert_eq!(parts.mesh.nodes().len(), 9 * 9 * 9 - 4 * 4 * 4);
    assert_eq!(parts.materials.len(), 5 * 64);
    let bounds = parts.mesh.aabb();
    assert!((bounds.min + Vec3::repeat(0.02)).norm() < 1e-12 && (bounds.max - Vec3::repeat(0.02)).norm() < 1e-12);
    assert!(parts.materials.iter().all(|m| *m == Material { young_pa: 20e3, poisson: 0.4, density: 1000.0 }));
    let four = format!("{BOX}, quadratic = false");
    assert_eq!(super::tests::parts(&body(&four, JELLY, "")).mesh.nodes().len(), 125);
}

#[test]
fn sides_and_named_groups_hold_nodes_and_regions_have_their_own_material() {
    let elastic = format!(
        "{JELLY}, held = [\"bottom\", \"grip\"], step = \"static\", self_contact = true, \
         damping = {{ mass = \"2 1/s\", stiffness = \"1 ms\" }}"
    );
    let more = "[[body.jelly.group]]\nname = \"grip\"\nbox = { from = [\"-20 mm\", \"-20 mm\", \"19 mm\"], to = [\"-19 mm\", \"20 mm\", \"21 mm\"] }\n\
                [[body.jelly.region]]\nsphere = { center = [0, 0, 0], radius = \"12 mm\" }\nyoung = \"200 kPa\"\n\
                [[body.jelly.region]]\nabove = { axis = [0, 0, 2], offset = \"10 mm\" }\npoisson = 0.1\n\
                [[body.jelly.region]]\ngroup = \"grip\"\ndensity = \"2000 kg/m^3\"\n";
    let text =
        body(BOX, &elastic, &more.replace("[[body.jelly.region]]\ngroup = \"grip\"\ndensity = \"2000 kg/m^3\"\n", ""));
    let parts = parts(&text);
    assert!((parts.damping.mass_per_s - 2.0).abs() < 1e-15 && (parts.damping.stiffness_s - 1e-3).abs() < 1e-18);
    assert!(parts.self_contact && parts.step == SoftStepKind::Static);
    let node = |n: u32| parts.mesh.nodes()[n as usize];
    let wanted = |p: Vec3| p.z < -0.02 + 1e-9 || p.z > 0.019 && p.x < -0.019;
    assert!(parts.held.iter().all(|n| wanted(node(*n))));
    let count = (0..parts.mesh.nodes().len() as u32).filter(|n| wanted(node(*n))).count();
    assert_eq!((parts.held.len(), count), (count, 81 + 9));
    for (tet, material) in parts.materials.iter().enumerate() {
        let centre = 0.25 * parts.mesh.corners(tet).iter().sum::<Vec3>();
        let young = if centre.norm() < 0.012 { 200e3 } else { 20e3 };
        // The later region is on top of the first.
        let expected = if centre.z > 0.01 { (20e3, 0.1) } else { (young, 0.4) };
        assert_eq!((material.young_pa, material.poisson), expected, "{centre:?}");
    }
    let bare = "[[body.jelly.region]]\nsphere = { center = [0, 0, 0], radius = \"12 mm\" }\n";
    check_mistakes(&[(
        "bare region",
        body(BOX, JELLY, bare),
        "this region has no material of its own",
        "state what differs from `elastic`",
    )]);
    // A flat group has no element of its own.
    check_mistakes(&[(
        "flat group",
        body(BOX, &elastic, more),
        "this region selects no element",
        "the body reaches from",
    )]);
}

#[test]
fn a_scattered_region_is_elsewhere_for_every_seed_and_goals_and_hands_find_it() {
    let lump = "[[body.jelly.region]]\nname = \"lump\"\nsphere = { center = [0, 0, \"5 mm\"], radius = \"9 mm\" }\nscatter = \"8 mm\"\n\
                young = \"200 kPa\"\n";
    let palpate = "[operator]\n[[operator.phase]]\nname = \"feel\"\npalpate = { xyz = [0, 0, \"120 mm\"], columns = 3, rows = 2, \
                   spacing = \"9 mm\", force = [0, 0, \"-2 N\"] }\n";
    let goal = "[task]\n[[task.goal]]\nname = \"found\"\ntool_over = { body = \"jelly\", region = \"lump\", tolerance = \"5 mm\" }\n";
    let text = body(BOX, JELLY, lump) + palpate + goal;
    let device = open_device("simulated-3dof").expect("it is valid").value;
    let at = |seed: u64| {
        let spec = spec(&text, Path::new("x")).with_seed(Some(seed));
        let built = build(&spec, &device).unwrap_or_else(|report| unreachable!("{report}"));
        let Condition::ToolOver { position, .. } = built.goals[0].condition else { unreachable!("{:?}", built.goals) };
        position
    };
    assert_eq!(at(3), at(3));
    assert!((at(3) - at(4)).norm() > 1e-3);
    for seed in 0..50 {
        let place = at(seed);
        assert!(place.xy().norm() <= 8e-3 && (place.z - 5e-3).abs() < 1e-12, "{place}");
    }
    let built = built(&text, Path::new("x")).expect("it builds");
    let Action::Palpate { grid, force, .. } = built.script.phases()[0].action else { unreachable!("it palpates") };
    assert_eq!((grid.counts, grid.spacing, grid.middle), ([3, 2], 9e-3, Some(Vec3::z() * 0.12)));
    assert_eq!(force, -Vec3::z() * 2.0);
    let with = |from: &str, to: &str| text.replace(from, to);
    check_mistakes(&[
        (
            "unknown region",
            with("region = \"lump\"", "region = \"bone\""),
            "no region called `bone`",
            "`sphere` or `box`",
        ),
        (
            "endless region",
            with(
                "sphere = { center = [0, 0, \"5 mm\"], radius = \"9 mm\" }",
                "above = { axis = [0, 0, 1], offset = 0 }",
            ),
            "`lump` of `jelly` has no middle",
            "`sphere` or `box`",
        ),
        (
            "group that moves",
            with("sphere = { center = [0, 0, \"5 mm\"], radius = \"9 mm\" }", "group = \"top\""),
            "always in the same place",
            "remove `scatter`",
        ),
        (
            "end of a palpation",
            with("force = [0, 0, \"-2 N\"] }", "force = [0, 0, \"-2 N\"] }\nuntil = { elapsed = \"1 s\" }"),
            "a palpation ends by itself",
            "remove `until`",
        ),
        (
            "scatter out of the body",
            with("scatter = \"8 mm\"", "scatter = \"21 mm\""),
            "`scatter` of 21.000 mm puts the middle of this region outside the body",
            "write 20.000 mm or less",
        ),
        ("too many places", with("columns = 3", "columns = 9"), "`columns` is out of range", "from 1 to 8"),
    ]);
}

#[test]
fn every_shape_becomes_a_mesh_of_its_volume_with_six_sides() {
    use std::f64::consts::PI;
    let cases = [
        (BOX.to_owned(), 6.4e-5),
        ("kind = \"soft-cylinder\", radius = \"20 mm\", length = \"30 mm\", cell = \"6 mm\"".into(), PI * 4e-4 * 0.03),
        ("kind = \"soft-sphere\", diameter = \"40 mm\", cell = \"6 mm\"".into(), 4.0 / 3.0 * PI * 8e-6),
        (
            "kind = \"soft-shell\", radius = \"20 mm\", thickness = \"5 mm\", cell = \"5 mm\"".into(),
            4.0 / 3.0 * PI * (8e-6 - 3.375e-6),
        ),
        (
            "kind = \"soft-tube\", radius = \"20 mm\", length = \"30 mm\", thickness = \"5 mm\", cell = \"5 mm\""
                .into(),
            PI * (4e-4 - 2.25e-4) * 0.03,
        ),
        (
            "kind = \"soft-torus\", radius = \"30 mm\", thickness = \"20 mm\", cell = \"5 mm\"".into(),
            2.0 * PI * PI * 0.03 * 1e-4,
        ),
    ];
    for (shape, volume) in cases {
        let parts = parts(&body(&shape, JELLY, ""));
        assert!((parts.mesh.volume() / volume - 1.0).abs() < 0.06, "{shape}: {}", parts.mesh.volume() / volume);
        for side in ["bottom", "top", "left", "right", "back", "front"] {
            assert!(parts.mesh.group(side).is_some(), "{shape}: {side}");
        }
        let built = built(&body(&shape, JELLY, ""), Path::new("x")).expect("a free body");
        assert!(matches!(&built.sim.bodies[0].motion, Motion::Corotational(model) if model.is_free), "{shape}");
        assert!(built.warnings.is_empty(), "{}", built.warnings);
    }
}

#[test]
fn each_mistake_in_how_a_soft_body_steps_is_located_and_says_what_to_do() {
    let with = |more: &str| body(BOX, &format!("{JELLY}, {more}"), "");
    check_mistakes(&[
        ("unheld linear", with("model = \"linear\""), "nothing holds this linear body", "held = [\"bottom\"]"),
        (
            "unheld static",
            with("step = \"static\""),
            "step = \"static\" needs a body that is held",
            "step = \"implicit\"",
        ),
        (
            "implicit linear",
            with("model = \"linear\", held = [\"bottom\"], step = \"implicit\""),
            "implicit Euler",
            "step = \"pmi\"",
        ),
        ("pmi corotational", with("step = \"pmi\""), "is for linear bodies", "model = \"linear\""),
        (
            "nothing reduced",
            with("model = \"linear\", held = [\"bottom\"], step = \"reduced\""),
            "needs a reduced model",
            "hapticd bake reduce",
        ),
        (
            "linear self-contact",
            with("model = \"linear\", held = [\"bottom\"], self_contact = true"),
            "moves too little to touch itself",
            "model = \"corotational\"",
        ),
        (
            "reduced corotational",
            with("reduced = \"a.reduced\""),
            "a corotational body has no reduced model",
            "remove `reduced`",
        ),
        (
            "reduced unused",
            with("model = \"linear\", held = [\"bottom\"], step = \"pmi\", reduced = \"a\""),
            "does not use the reduced model",
            "step = \"reduced\"",
        ),
        (
            "no such file",
            with("model = \"linear\", held = [\"bottom\"], reduced = \"a.reduced\""),
            "cannot read a.reduced",
            "it starts at the scene file",
        ),
        ("unknown group", with("held = [\"botom\"]"), "no group is called `botom`", "did you mean `bottom`?"),
        ("incompressible", with("held = [\"bottom\"]").replace("0.4", "0.5"), "`poisson` must be at most 0.49", "0.49"),
        (
            "weightless",
            with("held = [\"bottom\"]").replace("1000 kg/m^3", "0 kg/m^3"),
            "`density` must be more than zero",
            "",
        ),
    ]);
}

#[test]
fn each_mistake_in_the_material_of_a_soft_body_is_located_and_says_what_to_do() {
    let shaped = |shape: &str| body(shape, JELLY, "");
    let region = |region: &str| body(BOX, JELLY, &format!("[[body.jelly.region]]\n{region}\n"));
    check_mistakes(&[
        (
            "too fine",
            shaped(&BOX.replace("10 mm", "1 mm")),
            "some 457842 nodes; at most 10000",
            "`cell` of some 3.76 mm or more",
        ),
        (
            "cell too large",
            shaped(&BOX.replace("10 mm", "50 mm")),
            "`cell` is 50.000 mm, larger than the body",
            "20.000 mm or less",
        ),
        (
            "no room inside",
            shaped("kind = \"soft-shell\", radius = \"20 mm\", thickness = \"20 mm\", cell = \"5 mm\""),
            "leaves no room inside",
            "change its dimensions",
        ),
        (
            "empty region",
            region("sphere = { center = [0, 0, \"90 mm\"], radius = \"9 mm\" }\nyoung = \"1 MPa\""),
            "this region selects no element",
            "from (-20.000, -20.000, -20.000) to (20.000, 20.000, 20.000) mm",
        ),
        ("unknown part", region("group = \"lump\"\nyoung = \"1 MPa\""), "no group is called `lump`", "known here: "),
        (
            "two places",
            region("group = \"top\"\nsphere = { center = [0, 0, 0], radius = \"9 mm\" }"),
            "the place of the region is given twice",
            "write one of",
        ),
        (
            "elements without material",
            body(
                BOX,
                "damping = { mass = \"1 1/s\" }",
                &format!(
                    "[[body.jelly.region]]\nabove = {{ axis = [0, 0, 1], offset = 0 }}\n{}\n",
                    JELLY.replace(", ", "\n")
                ),
            ),
            "160 of 320 elements have no material, the first at (",
            "state `young`, `poisson` and `density` in `elastic`",
        ),
        (
            "region without material",
            body(
                BOX,
                "young = \"20 kPa\"",
                "[[body.jelly.region]]\nabove = { axis = [0, 0, 1], offset = 0 }\nyoung = \"1 MPa\"\n",
            ),
            "this region has no material",
            "state all three here, or in `elastic`",
        ),
    ]);
}

#[test]
fn each_mistake_in_the_keys_of_a_soft_body_is_located_and_says_what_to_do() {
    check_mistakes(&[
        (
            "group without nodes",
            body(
                BOX,
                JELLY,
                "[[body.jelly.group]]\nname = \"grip\"\nabove = { axis = [0, 0, 1], offset = \"30 mm\" }\n",
            ),
            "the group `grip` has no node",
            "the body reaches from",
        ),
        (
            "group twice",
            body(
                BOX,
                JELLY,
                "[[body.jelly.group]]\nname = \"top\"\nabove = { axis = [0, 0, 1], offset = \"10 mm\" }\n",
            ),
            "there is a group `top` already",
            "another name",
        ),
        (
            "all held",
            body(
                BOX,
                &format!("{JELLY}, held = [\"all\"]"),
                "[[body.jelly.group]]\nname = \"all\"\nabove = { axis = [0, 0, 1], offset = \"-1 m\" }\n",
            ),
            "all nodes are held",
            "hold fewer groups",
        ),
        (
            "mass",
            body(BOX, JELLY, "mass = \"1 kg\"")
                .replace("mass = \"1 kg\"", "")
                .replace("[body.jelly]\n", "[body.jelly]\nmass = \"1 kg\"\n"),
            "`mass` has no meaning",
            "`density` in `elastic`",
        ),
        (
            "rigid with elastic",
            body("kind = \"sphere\", radius = \"5 mm\"", JELLY, ""),
            "`elastic` is for shapes that deform",
            "soft-box",
        ),
    ]);
}

#[test]
fn a_shape_that_deforms_needs_elastic() {
    let missing = text(&format!("[body.jelly]\nmaterial = \"gel\"\nshape = {{ {BOX} }}\n"));
    check_mistakes(&[("no elastic", missing, "the shape deforms, but `elastic` is missing", "write elastic = {")]);
}

/// A scene with a tool that deforms.
fn soft_tool(elastic: &str) -> String {
    text("").replace("kind = \"sphere\", radius = \"5 mm\" }", &format!("{BOX} }}\n{elastic}"))
}

#[test]
fn a_tool_that_deforms_is_a_body_that_the_hand_carries() {
    let text = soft_tool(&format!("elastic = {{ {JELLY}, held = [\"top\"] }}"));
    let built = built(&text, Path::new("x")).expect("a soft tool");
    let (sim, tool) = (&built.sim, &built.sim.tools[0]);
    assert!(sim.tool_is_soft(HandId(0)) && sim.bodies.len() == 1 && built.skins.len() == 1);
    assert_eq!(tool.inertia.mass_kg(), 0.05);
    assert_eq!(sim.bodies[0].start, tool.start * tool.pose_tool_shape);
    let Motion::Corotational(model) = &sim.bodies[0].motion else { unreachable!("it is corotational") };
    assert_eq!((model.steps, model.gravity), (Steps::QuasiStatic, Vec3::zeros()));
    check_mistakes(&[
        ("no elastic", soft_tool(""), "the shape deforms, but `elastic` is missing", "write elastic = {"),
        ("not held", soft_tool(&format!("elastic = {{ {JELLY} }}")), "nothing clamps this body", "held = [\"top\"]"),
        (
            "with inertia",
            soft_tool(&format!("elastic = {{ {JELLY}, held = [\"top\"], step = \"implicit\" }}")),
            "goes from rest to rest",
            "step = \"static\"",
        ),
        (
            "breathing",
            soft_tool(&format!(
                "elastic = {{ {JELLY}, held = [\"top\"], breathing = {{ way = [0, 0, \"5 mm\"], period = \"4 s\" }} }}"
            )),
            "`breathing` moves a support",
            "remove `breathing`",
        ),
    ]);
}

#[test]
fn what_holds_a_soft_body_can_breathe() {
    let breathing = "breathing = { way = [0, 0, \"5 mm\"], period = \"4 s\" }";
    let text = body(BOX, &format!("{JELLY}, held = [\"bottom\"], {breathing}"), "");
    let built = built(&text, Path::new("x")).expect("a breathing box");
    let Some(CarriedBy::Support(found)) = built.sim.carrier_of(BodyId(0)) else { unreachable!("it breathes") };
    assert_eq!((found.way, found.period_s), (Vec3::new(0.0, 0.0, 0.005), 4.0));
    let free = body(BOX, &format!("{JELLY}, {breathing}"), "");
    check_mistakes(&[("not held", free, "nothing clamps this body to what carries it", "held = [")]);
}

#[test]
fn meshes_from_files_are_checked_for_unit_and_soundness() {
    let place = Place::new("files");
    let mesh = BlockSpec::beam(0.04, 0.02, 2).mesh().expect("a beam");
    place.write("beam.vtu", write_vtu(&mesh, LengthUnit::Millimetre, false).as_bytes());
    let text = |shape: &str, elastic: &str| body(shape, elastic, "");
    let file = "kind = \"tet-mesh\", file = \"beam.vtu\"";
    let parts =
        parts_in(&text(&format!("{file}, unit = \"mm\""), &format!("{JELLY}, held = [\"x0\"]")), &place.scene());
    assert!((parts.mesh.volume() - 1.6e-5).abs() < 1e-15 && parts.held.len() == 25, "{}", parts.held.len());
    let said = |text: String| built(&text, &place.scene()).err().unwrap_or_default().join("\n");
    let wrong = said(text(&format!("{file}, unit = \"m\""), JELLY));
    assert!(
        wrong.contains("beam.vtu is 40.000000 m long: `unit = \"m\"` | bodies have 0.1 mm to 10 m: is `unit` \"mm\"?"),
        "{wrong}"
    );
    let wrong = said(text(&format!("{file}, unit = \"µm\""), JELLY));
    assert!(wrong.contains("is `unit` \"mm\"?"), "{wrong}");

    let mut tets = mesh.tets().to_vec();
    tets[3].swap(0, 1);
    let inverted = TetMesh::new(mesh.nodes().to_vec(), tets).expect("valid indices");
    place.write("inverted.vtu", write_vtu(&inverted, LengthUnit::Millimetre, false).as_bytes());
    let wrong = said(text("kind = \"tet-mesh\", file = \"inverted.vtu\", unit = \"mm\"", JELLY));
    assert!(wrong.contains("tetrahedra inside out: 1, the first is 3 at"), "{wrong}");
    assert!(wrong.starts_with("7:9 ") && wrong.contains("correct the mesh and export it again"), "{wrong}");

    let (skin, _) = mesh.skin().mesh(&mesh).expect("a surface");
    place.write("beam.stl", &write_stl(&skin, LengthUnit::Millimetre));
    let stuffed = "kind = \"stuffed\", file = \"beam.stl\", unit = \"mm\", cell = \"5 mm\"";
    let parts = parts_in(&text(stuffed, &format!("{JELLY}, held = [\"back\"]")), &place.scene());
    assert!((parts.mesh.volume() / 1.6e-5 - 1.0).abs() < 0.1 && parts.held.len() > 8);
    let wrong = said(text(&stuffed.replace("5 mm", "30 mm"), JELLY));
    assert!(wrong.contains("larger than the body"), "{wrong}");
    let wrong = said(text(&stuffed.replace("\"mm\"", "\"m\""), JELLY));
    assert!(wrong.contains("is `unit` \"mm\"?"), "{wrong}");
    let wrong = said(text("kind = \"tet-mesh\", file = \"beam.stl\", unit = \"mm\"", JELLY));
    assert!(wrong.contains("is neither .msh nor .vtk nor .vtu"), "{wrong}");
}

/// Two bodies, the second at `xyz`.
fn two(first: &str, second: &str, xyz: &str) -> Vec<String> {
    let text = text(&format!(
        "[body.first]\nmaterial = \"gel\"\n{first}\n[body.second]\nmaterial = \"gel\"\n{second}\npose = {{ xyz = {xyz} }}\n"
    ));
    let said = built(&text, Path::new("x")).err().unwrap_or_default();
    said.into_iter().filter(|line| line.contains("inside each other")).collect()
}

#[test]
fn soft_bodies_must_not_start_inside_rigid_or_soft_ones() {
    let soft = |size: &str| {
        format!("shape = {{ kind = \"soft-box\", size = {size}, cell = \"10 mm\" }}\nelastic = {{ {JELLY} }}")
    };
    let cube = soft("[\"40 mm\", \"40 mm\", \"40 mm\"]");
    let table = "fixed = true\nshape = { kind = \"box\", size = [\"200 mm\", \"200 mm\", \"20 mm\"] }";
    // On the table, and 1 mm inside of it.
    assert_eq!(two(table, &cube, "[0, 0, \"30 mm\"]"), [""; 0]);
    let said = two(table, &cube, "[0, 0, \"29 mm\"]");
    assert!(
        said.len() == 1 && said[0].contains("start 1.000 mm inside each other | move one of them by 1.000 mm"),
        "{said:?}"
    );
    // Beside each other, and a corner inside.
    assert_eq!(two(&cube, &cube, "[\"40 mm\", 0, 0]"), [""; 0]);
    assert_eq!(two(&cube, &cube, "[\"38 mm\", \"38 mm\", \"38 mm\"]").len(), 1);
    // Two bars that cross by 0.95 mm, without a node of one inside the other.
    let bar = |size: &str| soft(size).replace("10 mm", "9.9 mm");
    let (along, across) = (bar("[\"100 mm\", \"10 mm\", \"10 mm\"]"), bar("[\"10 mm\", \"100 mm\", \"10 mm\"]"));
    let said = two(&along, &across, "[\"5 mm\", \"5 mm\", \"8.95 mm\"]");
    assert!(said.len() == 1 && said[0].contains("start 0.950 mm inside each other"), "{said:?}");
    assert_eq!(two(&along, &across, "[\"5 mm\", \"5 mm\", \"9.95 mm\"]"), [""; 0]);
}

#[test]
fn a_snap_socket_is_a_soft_body_that_its_base_holds() {
    let socket = "kind = \"snap-socket\", connector = \"two-prong\"";
    let parts = parts(&body(socket, JELLY, ""));
    assert_eq!((parts.model, parts.step), (SoftModelKind::Linear, SoftStepKind::Auto));
    let group = |name: &str| parts.mesh.group_nodes(parts.mesh.group(name).expect("a group"));
    assert_eq!(parts.held, group(HELD));
    assert_eq!(parts.touching, Some(group(TOUCHING)));
}

#[test]
fn model_and_step_choose_the_motion() {
    let socket = "kind = \"snap-socket\", connector = \"two-prong\"";
    let motion = |shape: &str, elastic: &str| match motion_of(
        &super::tests::parts(&body(shape, &format!("{JELLY}, {elastic}"), "")),
        &Vec3::zeros(),
    ) {
        Ok(Motion::Elastic(model)) => format!("{:?} {}", model.stepping, model.answer.nodes().len()),
        Ok(Motion::Corotational(model)) => format!("{:?} {} {}", model.steps, model.is_free, model.self_contact),
        other => format!("{other:?}"),
    };
    let touching = super::tests::parts(&body(socket, JELLY, "")).touching.expect("a socket").len();
    assert_eq!(motion(socket, "held = [\"held\"]"), format!("Static {touching}"));
    assert_eq!(motion(socket, "step = \"pmi\""), format!("Passive {touching}"));
    // All of the surface of the grid of halves, but for its bottom.
    let surface = 9 * 9 * 9 - 7 * 7 * 7 - 9 * 9;
    let linear = "held = [\"bottom\"], model = \"linear\"";
    assert_eq!(motion(BOX, &format!("{linear}, step = \"static\"")), format!("Static {surface}"));
    assert_eq!(motion(BOX, &format!("{linear}, step = \"pmi\"")), format!("Passive {surface}"));
    assert_eq!(motion(BOX, "held = [\"bottom\"], step = \"static\", self_contact = true"), "QuasiStatic false true");
    assert_eq!(motion(BOX, "step = \"implicit\""), "Implicit true false");
    assert!(motion(BOX, "step = \"auto\"").starts_with("Auto(RegimeSpec"));
    let fine = BOX.replace("10 mm", "5 mm");
    check_mistakes(&[(
        "too many to touch",
        body(&fine, &format!("{JELLY}, {linear}"), ""),
        "nodes of this linear body can touch; at most 1000",
        "model = \"corotational\"",
    )]);
}

/// Two boxes and what is said of a joint.
fn jointed(joint: &str) -> Vec<String> {
    let bodies = "[body.lid]\nmass = \"100 g\"\nmaterial = \"gel\"\nshape = { kind = \"box\", size = [\"40 mm\", \"40 mm\", \"10 mm\"] }\n\
                  [body.base]\nfixed = true\nmaterial = \"gel\"\nshape = { kind = \"box\", size = [\"40 mm\", \"40 mm\", \"10 mm\"] }\n\
                  pose = { xyz = [0, 0, \"-50 mm\"] }\n";
    built(&text(&format!("{bodies}[[joint]]\nname = \"hinge\"\nanchor = [0, 0, 0]\n{joint}\n")), Path::new("x"))
        .err()
        .unwrap_or_default()
}

#[test]
fn joints_are_read_and_each_kind_of_mistake_is_located() {
    let text = text(
        "[body.lid]\nmass = \"100 g\"\nmaterial = \"gel\"\nshape = { kind = \"sphere\", radius = \"9 mm\" }\n\
         [[joint]]\nname = \"pin\"\nkind = \"hinge\"\na = \"lid\"\nb = \"world\"\nanchor = [\"10 mm\", 0, 0]\naxis = [0, 2, 0]\n\
         compliance = \"1 mm/N\"\n",
    );
    let spec = spec(&text, Path::new("x"));
    let built = super::tests::built(&text, Path::new("x")).expect("a lid on a pin");
    let model = &built.sim.joints[0];
    assert_eq!((model.kind, model.bodies), (JointKind::Hinge, [Some(BodyId(0)), None]));
    assert!((model.frame.rotation * Vec3::z() - Vec3::y()).norm() < 1e-12);
    let joint = &spec.joints[0];
    assert_eq!((joint.kind, joint.bodies, joint.axis), (JointKind::Hinge, [Some(0), None], Some(Vec3::y())));
    assert!(
        (joint.anchor - Vec3::new(0.01, 0.0, 0.0)).norm() < 1e-15 && (joint.compliance_m_per_n - 1e-3).abs() < 1e-18
    );
    let cases = [
        ("kind = \"ball\"\na = \"lid\"\nb = \"lid\"", "connects `lid` with itself", "name another body"),
        ("kind = \"ball\"\na = \"base\"\nb = \"world\"", "neither of them moves", "name a body that moves"),
        ("kind = \"ball\"\na = \"lod\"\nb = \"world\"", "no body is called `lod`", "did you mean `lid`"),
        ("kind = \"ball\"\na = \"lid\"\nb = \"wurld\"", "no body is called `wurld`", "did you mean `world`"),
        (
            "kind = \"hinge\"\na = \"lid\"\nb = \"world\"\naxis = [0, 0, 0]",
            "`axis` needs three numbers that are not all zero",
            "",
        ),
        ("kind = \"hinge\"\na = \"lid\"\nb = \"world\"", "`axis` is missing", "add `axis`"),
        ("kind = \"ball\"\na = \"lid\"\nb = \"world\"\naxis = [0, 0, 1]", "unknown key `axis`", ""),
    ];
    for (joint, message, help) in cases {
        let said = jointed(joint);
        assert!(said.iter().any(|line| line.contains(message) && line.contains(help)), "{joint}: {said:#?}");
        assert!(said.iter().all(|line| !line.starts_with("1:1 ")), "{joint}: {said:#?}");
    }
}
