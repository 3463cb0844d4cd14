//! Needles and tissue in scene files: what is made of them, and what is said about each kind of mistake.

use super::*;
use crate::math::Vec3;
use crate::sim::Motion;

/// A shipped scene with the first of each `from` replaced by its `to`.
fn changed(name: &str, changes: &[(&str, &str)]) -> String {
    let mut text = shipped(name).expect("it is shipped").to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

/// The scene as built, or all that is said against it.
fn built(name: &str, changes: &[(&str, &str)]) -> Result<Built, String> {
    let all = |report: crate::files::Report| report.to_string();
    let spec = parse(changed(name, changes).as_bytes(), "x").map_err(all)?.value;
    let device = open_device("simulated-3dof").expect("it is valid").value;
    build(&spec, &device).map_err(all)
}

#[test]
fn the_phantom_is_what_its_file_says() {
    let built = built("needle_phantom", &[]).expect("they go together");
    let needle = built.sim.needle.as_ref().expect("a needle");
    assert_eq!((needle.beam.outer_m, needle.beam.inner_m, needle.beam.length_m), (1.27e-3, 0.84e-3, 0.15));
    assert_eq!(
        (needle.beam.young_pa, needle.beam.poisson, needle.beam.nodes, needle.beam.rigid),
        (200e9, 0.3, 20, false)
    );
    // It points down from the middle of the hub.
    let hub = built.sim.tools[0].start * needle.pose_tool_hub;
    assert!((hub.translation.vector - Vec3::new(0.0, 0.0, 0.165)).norm() < 1e-12);
    assert!((hub.rotation * Vec3::z() - Vec3::z()).norm() < 1e-12);
    let gel = &built.sim.bodies[0];
    let Motion::Tissue(tissue) = &gel.motion else { unreachable!("tissue") };
    assert_eq!(
        (tissue.layers[0].enter_n, tissue.layers[0].cut_n, tissue.layers[0].friction_n_per_m),
        (2.78, 0.9, 47.0)
    );
    assert_eq!((tissue.layers[0].yield_m_per_n, tissue.lag, tissue.layers[0].material.young_pa), (1e-3, 3, 40e3));
    let top = tissue.fem.rest().iter().map(|node| node.z + gel.start.translation.z).fold(f64::MIN, f64::max);
    assert!(top.abs() < 1e-12, "{top}");
    assert_eq!(built.skins.len(), 1);
}

#[test]
fn the_liver_has_a_wall_of_three_layers_a_lesion_and_vessels() {
    let built = built("liver_biopsy", &[]).expect("they go together");
    let tissues: Vec<_> = built
        .sim
        .bodies
        .iter()
        .filter_map(|body| match &body.motion {
            Motion::Tissue(tissue) => Some(tissue.clone()),
            _ => None,
        })
        .collect();
    let nodes: usize = tissues.iter().map(|tissue| tissue.fem.rest().len()).sum();
    println!("{nodes} nodes");
    assert!((1500..=2200).contains(&nodes), "{nodes} nodes");
    let [wall, liver] = &tissues[..] else { unreachable!("two") };
    for (z, layer) in
        [(0.0149, Some(0)), (0.0125, Some(0)), (0.0115, Some(1)), (0.001, Some(1)), (-0.001, Some(2)), (-0.016, None)]
    {
        assert_eq!(wall.layer_at(&Vec3::new(1e-3, 2e-3, z)), layer, "{z}");
    }
    assert!(wall.breathing.is_some() && liver.breathing.is_some_and(|breathing| breathing.way.y == 0.013));
    let target = liver.target.as_ref().expect("a lesion");
    assert!(liver.layer_at(&target.center).is_some());
    // The straight way to the lesion is clear, and the lesion 30 to 40 mm below the capsule.
    let up = |k: u32| target.center + Vec3::z() * (1e-3 * f64::from(k));
    let capsule = (0..).find(|k| liver.layer_at(&up(*k)).is_none()).expect("it ends");
    assert!((30..=40).contains(&capsule), "{capsule} mm");
    assert_eq!(liver.forbidden.len(), 3);
    for k in 0..capsule {
        assert!(liver.forbidden.iter().all(|vessel| vessel.distance_m(&up(k)) > 5e-3), "{k} mm above");
    }
}

/// A scene, what is changed in it, and what is said then.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

#[test]
fn what_does_not_go_together_is_said() {
    let wall = [("thickness = \"12 mm\"", "thickness = \"13 mm\"")];
    let cases: &[Case<'_>] = &[
        ("liver_biopsy", &wall, "the layers are 31.000 mm high together, the block 30.000 mm"),
        ("liver_biopsy", &[("thickness = \"12 mm\"\n", "")], "layer `fat` has no thickness"),
        ("liver_biopsy", &[("\"fat\"", "\"skin\"")], "two layers of `wall` are called `skin`"),
        ("liver_biopsy", &[("[\"rim\"]", "[\"edge\"]")], "the mesh has no group called \"edge\" to hold it by"),
        ("liver_biopsy", &[("[\"rim\"]", "[]")], "nothing holds `wall`"),
        (
            "liver_biopsy",
            &[("center = [0, 0, \"-4 mm\"]", "center = [0, 0, \"-40 mm\"]")],
            "the target `lesion` is not inside `liver`",
        ),
        ("liver_biopsy", &[("cell = \"22 mm\"", "cell = \"1 mm\"")], "nodes are too many for tissue"),
        ("needle_phantom", &[("young    = \"40 kPa\"", "young    = \"40 GPa\"")], "`young` must be"),
        ("needle_phantom", &[("young    = \"40 kPa\"", "young    = \"40 Pa\"")], "`young` must be"),
        (
            "needle_phantom",
            &[("inner  = \"0.84 mm\"", "inner  = \"2 mm\"")],
            "the outer diameter of a beam must be positive",
        ),
        (
            "needle_phantom",
            &[("[0, 0, \"165 mm\"] }\n\n[needle]", "[0, 0, \"120 mm\"] }\n\n[needle]")],
            "the needle starts in `gel`",
        ),
        (
            "needle_phantom",
            &[("needle_depth_above = \"45 mm\"\n\n", "needle_within = \"5 mm\"\n\n")],
            "this is about a target, but there is none",
        ),
        (
            "needle_phantom",
            &[("[body.gel.tissue]\nheld       = [\"bottom\"]\nrelaxation = { share = 0.3, time = \"2 s\" }\n", "")],
            "`tissue` is missing",
        ),
        ("needle_phantom", &[("pose     = { xyz = [0, 0, \"-40 mm\"] }", "mass = \"1 kg\"")], "`mass` has no meaning"),
        (
            "virtual_wall",
            &[("force_above = \"2.2 N\", for = \"1.5 s\"", "punctures = 1")],
            "this is about a needle, but there is none",
        ),
        (
            "virtual_wall",
            &[("kind = \"sphere\", diameter = \"10 mm\"", "kind = \"tissue-organ\", size = [1, 1, 1], cell = 1")],
            "tissue cannot be held by a hand",
        ),
    ];
    for (name, changes, message) in cases {
        let said = built(name, changes).expect_err("it does not go together");
        assert!(said.contains(message), "{message}: {said}");
    }
    let two = shipped("two_hands").expect("shipped").to_owned() + "\n[needle]\n";
    let spec = parse(two.as_bytes(), "x").expect("it reads").value;
    let device = open_device("simulated-3dof").expect("it is valid").value;
    let said = build(&spec, &device).expect_err("one hand").to_string();
    assert!(said.contains("a needle is for a scene with one hand"), "{said}");
}

#[test]
fn tissue_may_be_there_without_a_needle_and_a_needle_without_tissue() {
    let text = shipped("virtual_wall").expect("shipped").to_owned() + "\n[needle]\nlength = \"60 mm\"\n";
    let device = open_device("simulated-3dof").expect("it is valid").value;
    let alone = build(&parse(text.as_bytes(), "x").expect("it reads").value, &device).expect("it goes");
    assert!(alone.sim.needle.is_some() && alone.skins.is_empty());
    let text = shipped("needle_phantom").expect("shipped");
    let cut = |from: &str, to: &str, text: &str| {
        let (a, b) = (text.find(from).expect("there"), text.find(to).expect("there"));
        text[..a].to_owned() + &text[b..]
    };
    let text = cut("[needle]", "[coupling]", text);
    let text = text[..text.find("[operator]").expect("there")].to_owned();
    let soft = build(&parse(text.as_bytes(), "x").expect("it reads").value, &device).expect("it goes");
    assert!(soft.sim.needle.is_none() && soft.skins.len() == 1);
}

#[test]
fn tissue_is_read_from_a_file_beside_the_scene() {
    use crate::geometry::tet::{LayeredBlock, write_vtu};
    let directory = std::env::temp_dir().join(format!("hapticd-tissue-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let block = LayeredBlock { size: Vec3::new(0.1, 0.1, 0.08), cell_m: 0.04, layers: &[("gel", 0.08)] };
    let mesh = block.mesh().expect("a block");
    std::fs::write(directory.join("gel.vtu"), write_vtu(&mesh, crate::geometry::mesh::LengthUnit::Metre, false))
        .expect("written");
    let kind = "kind = \"tissue-block\", size = [\"100 mm\", \"100 mm\", \"80 mm\"], cell = \"20 mm\"";
    let device = open_device("simulated-3dof").expect("it is valid").value;
    let scene = |file: &str| {
        let text =
            changed("needle_phantom", &[(kind, &format!("kind = \"tissue-mesh\", file = \"{file}\", unit = \"m\""))]);
        let name = directory.join("scene.toml");
        build(&parse(text.as_bytes(), &name.to_string_lossy()).expect("it reads").value, &device)
    };
    let made = scene("gel.vtu").unwrap_or_else(|report| unreachable!("{report}"));
    let Motion::Tissue(tissue) = &made.sim.bodies[0].motion else { unreachable!("tissue") };
    assert_eq!((tissue.fem.rest().len(), tissue.lag), (mesh.nodes().len(), 1));
    let missing = scene("other.vtu").expect_err("it is not there").to_string();
    assert!(missing.contains("cannot read"), "{missing}");
    let wrong = scene("gel.stl").expect_err("no tetrahedra").to_string();
    assert!(wrong.contains("cannot read") || wrong.contains("neither .msh"), "{wrong}");
    std::fs::remove_dir_all(&directory).expect("removed");
}
