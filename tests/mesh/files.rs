//! Files: what is read is what was written, whatever the bytes.

use crate::solids::{cuboid, sphere, spiky};
use hapticd::geometry::mesh::{
    Checks, LengthUnit, MeshError, TriMesh, Weld, read_obj, read_stl, write_obj, write_stl, write_stl_text,
};
use hapticd::math::{Random, Vec3};

const MM: LengthUnit = LengthUnit::Millimetre;

fn line_of(error: &MeshError) -> usize {
    let MeshError::Line { line, .. } = error else { panic!("{error} names no line") };
    *line
}

#[test]
fn a_mesh_that_was_read_is_read_back_bit_for_bit_from_every_format_and_unit() {
    for unit in LengthUnit::ALL {
        for seed in 0..3 {
            let rough = spiky(3, seed);
            let first = read_stl(&write_stl(&rough, unit), unit, Weld::Exact).expect("readable");
            assert!(first.validate(&Checks::default()).is_sound(), "welding closes it");
            assert_eq!(first.vertices().len(), rough.vertices().len());
            let bytes = write_stl(&first, unit);
            assert_eq!(read_stl(&bytes, unit, Weld::Exact).expect("readable"), first, "{unit:?}");
            let text = write_stl_text(&first, unit);
            assert_eq!(read_stl(text.as_bytes(), unit, Weld::Exact).expect("readable"), first, "{unit:?}");
            let text = write_obj(&first, unit);
            assert_eq!(read_obj(text.as_bytes(), unit).expect("readable"), first, "{unit:?}");
            assert_eq!(write_stl(&first, unit), bytes);
        }
    }
}

#[test]
fn in_metres_text_keeps_every_bit_of_every_double() {
    let mesh = spiky(3, 7);
    assert_eq!(read_obj(write_obj(&mesh, LengthUnit::Metre).as_bytes(), LengthUnit::Metre).expect("readable"), mesh);
    let text = write_stl_text(&mesh, LengthUnit::Metre);
    let back = read_stl(text.as_bytes(), LengthUnit::Metre, Weld::Exact).expect("readable");
    for t in 0..mesh.triangles().len() {
        assert_eq!(back.corners(t), mesh.corners(t));
    }
}

#[test]
fn the_unit_scales() {
    let file = "v 0 0 0\nv 25.4 0 0\nv 0 1 0\nf 1 2 3\n";
    let x = |unit| read_obj(file.as_bytes(), unit).expect("readable").vertices()[1].x;
    assert_eq!((x(LengthUnit::Metre), x(MM), x(LengthUnit::Centimetre)), (25.4, 0.0254, 0.254));
    assert!((x(LengthUnit::Inch) - 0.64516).abs() < 1e-15 && (x(LengthUnit::Micrometre) - 25.4e-6).abs() < 1e-20);
}

#[test]
fn a_binary_file_that_begins_with_solid_is_binary() {
    let mut bytes = write_stl(&sphere(0.01, 2), MM);
    let plain = read_stl(&bytes, MM, Weld::Exact).expect("readable");
    bytes[..16].copy_from_slice(b"solid exported\n ");
    assert_eq!(read_stl(&bytes, MM, Weld::Exact).expect("still readable"), plain);
    // The name may even speak of facets.
    bytes[..32].copy_from_slice(b"solid facet normal endsolid     ");
    assert_eq!(read_stl(&bytes, MM, Weld::Exact).expect("still readable"), plain);
}

#[test]
fn a_count_that_lies_is_refused_without_room_being_made_for_it() {
    let mut bytes = write_stl(&cuboid(Vec3::repeat(0.01)), MM);
    bytes[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = read_stl(&bytes, MM, Weld::Exact).expect_err("no such size");
    assert_eq!(error, MeshError::StlSize { announced: u32::MAX, bytes: 684 });
    assert!(error.to_string().contains("4294967295 triangles (214748364834 bytes) but has 684"), "{error}");
    assert!(matches!(read_stl(b"", MM, Weld::Exact), Err(MeshError::StlTooShort { bytes: 0 })));
    assert_eq!(read_stl(&[0; 84], MM, Weld::Exact), Err(MeshError::Empty));
}

#[test]
fn text_errors_name_the_line() {
    let good = write_stl_text(&cuboid(Vec3::repeat(0.01)), MM);
    let spoil = |from: &str, to: &str| {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        line_of(&read_stl(text.as_bytes(), MM, Weld::Exact).expect_err("spoilt"))
    };
    assert_eq!(spoil("vertex -10 -10 -10", "vertex -10 -10"), 4);
    assert_eq!(spoil("vertex -10 -10 -10", "vertex -10 -10 nan"), 4);
    assert_eq!(spoil("endfacet", "endfact"), 8);
    assert_eq!(spoil("vertex -10 -10 -10\n", ""), 7);
    let cut = &good[..good.len() / 2];
    let error = read_stl(cut.as_bytes(), MM, Weld::Exact).expect_err("cut short");
    assert!(line_of(&error) > 0);

    let obj = |text: &str| read_obj(text.as_bytes(), MM).expect_err("bad");
    assert_eq!(line_of(&obj("v 0 0 0\nv 1 0\n")), 2);
    assert_eq!(line_of(&obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n")), 4);
    assert_eq!(line_of(&obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 0\n")), 4);
    assert_eq!(line_of(&obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 -4\n")), 4);
    assert_eq!(line_of(&obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2\n")), 4);
    assert_eq!(line_of(&obj("v 0 0 0\nsurf 0 1\n")), 2);
    assert_eq!(obj("v 0 0 0\n"), MeshError::Empty);
    assert_eq!(obj("v 1e300 0 0\nv 0 0 0\nv 1 0 0\nf 1 2 3"), MeshError::BadVertex { vertex: 0 });
}

#[test]
fn obj_takes_negative_indices_textures_groups_and_lines_that_go_on() {
    let text = "# a comment\nmtllib x.mtl\no part\ng a b\nv 0 0 0 1.0\nv 1 0 0\nv 1 1 0 0.5 0.5 0.5\nv 0 1 0\nvt 0 0\n\
                vn 0 0 1\ns off\nusemtl steel\nf -4/1/1 -3//1 \\\n -2/1 # the corner\nf 1 3 4\n";
    let mesh = read_obj(text.as_bytes(), MM).expect("readable");
    assert_eq!(mesh.triangles(), [[0, 1, 2], [0, 2, 3]]);
    let windows = text.replace('\n', "\r\n");
    assert_eq!(read_obj(windows.as_bytes(), MM).expect("readable"), mesh);
}

#[test]
fn polygons_convex_or_not_are_cut_into_triangles_of_the_same_area() {
    // An arrow head, a comb, and a pentagon; areas by the shoelace formula.
    let shapes: [&[(f64, f64)]; 3] = [
        &[(0.0, 0.0), (4.0, 2.0), (0.0, 4.0), (1.0, 2.0)],
        &[
            (0.0, 0.0),
            (5.0, 0.0),
            (5.0, 3.0),
            (4.0, 3.0),
            (4.0, 1.0),
            (3.0, 1.0),
            (3.0, 3.0),
            (2.0, 3.0),
            (2.0, 1.0),
            (1.0, 1.0),
            (1.0, 3.0),
            (0.0, 3.0),
        ],
        &[(0.0, 0.0), (2.0, 0.0), (3.0, 1.0), (2.0, 2.0), (0.0, 2.0)],
    ];
    for shape in shapes {
        let pairs = || shape.iter().zip(shape.iter().cycle().skip(1));
        let area: f64 = pairs().map(|(a, b)| 0.5 * (a.0 * b.1 - a.1 * b.0)).sum();
        // In a slanted plane, from every corner as the first.
        for first in 0..shape.len() {
            let turned = shape.iter().cycle().skip(first).take(shape.len());
            let vertices: String = turned.map(|(x, y)| format!("v {x} {y} {}\n", 0.5 * x)).collect();
            let face: String = (1..=shape.len()).map(|k| format!(" {k}")).collect();
            let mesh = read_obj(format!("{vertices}f{face}\n").as_bytes(), LengthUnit::Metre).expect("readable");
            assert_eq!(mesh.triangles().len(), shape.len() - 2);
            let slant = 1.25_f64.sqrt();
            assert!((mesh.area() - area * slant).abs() < 1e-12, "{} against {}", mesh.area(), area * slant);
            for t in 0..mesh.triangles().len() {
                let [a, b, c] = mesh.corners(t);
                assert!((b - a).cross(&(c - a)).z > 0.0, "every piece faces as the polygon does");
            }
        }
    }
}

#[test]
fn welding_with_a_tolerance_closes_what_rounding_opened() {
    let mut random = Random::new(5);
    let round = sphere(0.02, 3);
    // Every corner of every triangle off by up to 0.1 µm.
    let mut noise = || Vec3::new(random.uniform() - 0.5, random.uniform() - 0.5, random.uniform() - 0.5) * 1e-7;
    let vertices: Vec<Vec3> =
        (0..round.triangles().len()).flat_map(|t| round.corners(t)).map(|p| p + noise()).collect();
    let triangles = (0..round.triangles().len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let torn = TriMesh::new(vertices, triangles).expect("a mesh");
    assert!(!torn.welded(Weld::Exact).expect("a mesh").validate(&Checks::default()).is_sound());
    let whole = torn.welded(Weld::Within(1e-6)).expect("a mesh");
    assert!(whole.validate(&Checks { self_intersection: true }).is_sound());
    assert_eq!((whole.vertices().len(), whole.triangles().len()), (round.vertices().len(), round.triangles().len()));
    // A tolerance as wide as the part leaves nothing.
    assert_eq!(torn.welded(Weld::Within(1.0)), Err(MeshError::Empty));
    for silly in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
        assert!(torn.welded(Weld::Within(silly)).is_ok());
    }
}

/// Reads the bytes in every way; what comes out must be a mesh that can be written and read again.
fn survive(bytes: &[u8]) -> usize {
    let mut read = 0;
    let results = [read_stl(bytes, MM, Weld::Exact), read_stl(bytes, MM, Weld::Within(1e-6)), read_obj(bytes, MM)];
    for mesh in results.into_iter().flatten() {
        read += 1;
        assert!(mesh.vertices().iter().flatten().all(|x| x.is_finite()));
        let report = mesh.validate(&Checks { self_intersection: mesh.triangles().len() < 200 });
        assert!(report.is_sound() || !report.to_string().is_empty());
        let again = read_obj(write_obj(&mesh, MM).as_bytes(), MM).expect("what was written is readable");
        assert_eq!(again.triangles(), mesh.triangles());
    }
    read
}

#[test]
fn ten_thousand_damaged_files_give_a_mesh_or_an_error() {
    let mut random = Random::new(11);
    let solid = sphere(0.01, 1);
    let good = [
        write_stl(&solid, MM),
        write_stl_text(&solid, MM).into_bytes(),
        write_obj(&solid, MM).into_bytes(),
        b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 2 2\nf 1 2 3 4\nf -1/2/3 -2//1 -3 \\\n -4\ng x\n".to_vec(),
    ];
    let mut read = 0;
    for case in 0..10_000 {
        let mut bytes = good[case % good.len()].clone();
        let mut below = |n: usize| (random.bits() % n.max(1) as u64) as usize;
        match case / good.len() % 5 {
            0 => (0..1 + below(8)).for_each(|_| {
                let at = below(bytes.len());
                bytes[at] = below(256) as u8;
            }),
            1 => bytes.truncate(below(bytes.len())),
            2 => {
                let (at, count) = (below(bytes.len()), below(60));
                bytes.drain(at..(at + count).min(bytes.len()));
            }
            3 => {
                let words: [&[u8]; 8] =
                    [b" 99999999999 ", b"\nf ", b" nan ", b"-", b"\nvertex ", b"1e999", b"\\\n", b"solid\n"];
                let (at, word) = (below(bytes.len()), words[below(words.len())]);
                bytes.splice(at..at, word.iter().copied());
            }
            _ => bytes = (0..below(300)).map(|_| below(256) as u8).collect(),
        }
        read += survive(&bytes);
    }
    assert!(read > 500, "some damage is harmless, and then the file is read: {read}");
}
