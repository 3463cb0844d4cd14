//! Files of tetrahedra: what is written is read back bit for bit, and damage is refused with a reason.

use super::mesh_checks::block;
use hapticd::geometry::mesh::LengthUnit;
use hapticd::geometry::tet::{
    Group, Members, MshForm, Split, TetMesh, TetMeshError, read_msh, read_vtk, read_vtu, write_msh, write_vtk,
    write_vtu,
};
use hapticd::math::Random;

type Reader = fn(&[u8], LengthUnit) -> Result<TetMesh, TetMeshError>;

/// A mesh with every kind of group, some of them sharing elements.
fn rich(quadratic: bool) -> TetMesh {
    let mesh = block(Split::Five);
    let mesh = if quadratic { mesh.with_midsides() } else { mesh };
    let groups = [
        ("soft core", Members::Tets((40..90).collect())),
        ("stiff & <odd> \"end\"", Members::Tets((80..120).collect())),
        ("pins", Members::Nodes(vec![0, 3, 17])),
    ];
    groups.into_iter().fold(mesh, |mesh, (name, members)| {
        mesh.with_group(Group { name: name.replace('"', "'"), members }).expect("members exist")
    })
}

fn written(mesh: &TetMesh, unit: LengthUnit) -> Vec<(&'static str, Vec<u8>, Reader)> {
    vec![
        ("msh text", write_msh(mesh, unit, MshForm::Text), read_msh as Reader),
        ("msh binary", write_msh(mesh, unit, MshForm::Binary), read_msh),
        ("vtk", write_vtk(mesh, unit).into_bytes(), read_vtk),
        ("vtu text", write_vtu(mesh, unit, false).into_bytes(), read_vtu),
        ("vtu base64", write_vtu(mesh, unit, true).into_bytes(), read_vtu),
    ]
}

/// Groups by name, and triangles in one order: files need not keep theirs.
fn sorted(mesh: &TetMesh) -> Vec<Group> {
    let mut groups = mesh.groups().to_vec();
    for group in &mut groups {
        if let Members::Triangles(list) = &mut group.members {
            list.sort_unstable();
        }
    }
    groups.sort_by(|a, b| a.name.cmp(&b.name));
    groups
}

#[test]
fn what_is_written_is_read_back() {
    for mesh in [rich(false), rich(true)] {
        for unit in LengthUnit::ALL {
            for (name, bytes, read) in written(&mesh, unit) {
                let back = read(&bytes, unit).unwrap_or_else(|error| panic!("{name}: {error}"));
                // Not every double of metres has one in another unit: there the last bit may differ.
                let off = back.nodes().iter().zip(mesh.nodes()).map(|(a, b)| (a - b).amax()).fold(0.0, f64::max);
                assert!(off == 0.0 || unit != LengthUnit::Metre && off < 1e-17, "{name}: {off:e}");
                assert_eq!(back.tets(), mesh.tets(), "{name}");
                assert_eq!(back.midsides(), mesh.midsides(), "{name}");
                assert_eq!(sorted(&back), sorted(&mesh), "{name}");
                // Read with another unit it is another size, and the check of size says which unit it was.
                let wrong = if unit == LengthUnit::Metre { LengthUnit::Millimetre } else { LengthUnit::Metre };
                let fault = read(&bytes, wrong).expect("sound").check_size(0.03, wrong).expect_err("wrong unit");
                assert_eq!(fault.likely, Some(unit), "{name}");
            }
        }
    }
}

#[test]
fn damaged_files_are_refused_or_read_but_never_a_disaster() {
    let mut random = Random::new(11);
    let mut refused = 0;
    for (_, bytes, read) in written(&rich(true), LengthUnit::Metre) {
        for _ in 0..400 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + (random.uniform() * 4.0) as usize {
                let at = (random.uniform() * damaged.len() as f64) as usize;
                match (random.uniform() * 4.0) as u32 {
                    0 => damaged.truncate(at.max(1)),
                    1 => damaged[at] = (random.uniform() * 256.0) as u8,
                    2 => damaged.insert(at, b'9'),
                    _ => drop(damaged.remove(at)),
                }
            }
            refused += u32::from(read(&damaged, LengthUnit::Metre).is_err());
        }
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn foreign_and_old_files_are_refused_with_what_to_do() {
    let text = |result: Result<TetMesh, TetMeshError>| result.expect_err("refused").to_string();
    let old = text(read_msh(b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n", LengthUnit::Metre));
    assert!(old.contains("msh41"), "{old}");
    assert!(text(read_msh(b"solid part", LengthUnit::Metre)).contains("$MeshFormat"));
    assert!(text(read_msh(b"", LengthUnit::Metre)).contains("empty"));
    assert!(text(read_vtk(b"solid part", LengthUnit::Metre)).contains("# vtk DataFile"));
    let hexahedra = b"# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 8 double\n\
        0 0 0 1 0 0 1 1 0 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1\nCELLS 1 9\n8 0 1 2 3 4 5 6 7\nCELL_TYPES 1\n12\n";
    assert!(text(read_vtk(hexahedra, LengthUnit::Metre)).contains("tetrahedra"));
    let image = text(read_vtu(b"<VTKFile type=\"ImageData\">", LengthUnit::Metre));
    assert!(image.contains("UnstructuredGrid"), "{image}");
    let packed = b"<VTKFile type=\"UnstructuredGrid\" compressor=\"vtkZLibDataCompressor\">";
    assert!(text(read_vtu(packed, LengthUnit::Metre)).contains("compress"));
    let hole = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 1 1 1\n3 1 0 1\n\
        1\n0 0 0\n$EndNodes\n$Elements\n1 1 1 1\n\
        3 1 4 1\n1 1 2 3 4\n$EndElements\n";
    let reason = text(read_msh(hole.as_bytes(), LengthUnit::Metre));
    assert!(reason.contains("line 13") && reason.contains("node 2"), "{reason}");
}

#[test]
fn other_programs_ways_of_writing_are_read() {
    // The newer form of cells, binary, with regions as numbers on cells.
    let mut bytes = b"# vtk DataFile Version 5.1\nx\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 float\n".to_vec();
    for x in [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0] {
        bytes.extend(x.to_be_bytes());
    }
    bytes.extend(b"\nCELLS 3 8\nOFFSETS vtktypeint64\n");
    [0_i64, 4, 8].iter().for_each(|x| bytes.extend(x.to_be_bytes()));
    bytes.extend(b"\nCONNECTIVITY vtktypeint64\n");
    [0_i64, 1, 2, 3, 1, 2, 3, 4].iter().for_each(|x| bytes.extend(x.to_be_bytes()));
    bytes.extend(b"\nCELL_TYPES 2\n");
    [10_i32, 10].iter().for_each(|x| bytes.extend(x.to_be_bytes()));
    bytes.extend(b"\nCELL_DATA 2\nFIELD FieldData 1\ngmsh:physical 1 2 int\n");
    [7_i32, 8].iter().for_each(|x| bytes.extend(x.to_be_bytes()));
    bytes.push(b'\n');
    let mesh = read_vtk(&bytes, LengthUnit::Centimetre).expect("sound");
    assert_eq!((mesh.nodes().len(), mesh.tets().len(), mesh.nodes()[4].x), (5, 2, 0.01));
    assert_eq!(mesh.group("physical 8").expect("there").members, Members::Tets(vec![1]));
}

/// A Gmsh file with one tetrahedron of four nodes in entity 1, whose physical tags are given, and what else stands in its elements.
fn gmsh(tags: &[usize], blocks: &[(&str, usize, &str)]) -> String {
    let physical: String = tags.iter().map(|tag| format!(" {tag}")).collect();
    let entity = format!("1 0 0 0 1 1 1 {}{physical} 0\n", tags.len());
    let elements: String =
        blocks.iter().map(|(head, count, line)| format!("{head} {count}\n{}", line.repeat(*count))).collect();
    format!(
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 1\n{entity}$EndEntities\n$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n\
         0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n$Elements\n{} 1 1 1\n{elements}$EndElements\n",
        blocks.len()
    )
}

fn refusal(made: Result<TetMesh, TetMeshError>) -> String {
    made.expect_err("it is refused").to_string()
}

#[test]
fn elements_of_a_volume_that_are_no_tetrahedra_are_passed_over() {
    // A triangle, a quad and a point in the entity of a volume that belongs to a group.
    let blocks =
        [("3 1 2", 1, "7 1 2 3\n"), ("3 1 3", 1, "8 1 2 3 4\n"), ("3 1 4", 1, "1 1 2 3 4\n"), ("3 1 15", 1, "9 1\n")];
    let mesh = read_msh(gmsh(&[5], &blocks).as_bytes(), LengthUnit::Metre).expect("one tetrahedron");
    assert_eq!((mesh.tets().len(), &mesh.group("physical 5").expect("there").members), (1, &Members::Tets(vec![0])));
}

#[test]
fn a_small_file_cannot_stand_for_a_large_mesh() {
    // Physical tags times elements: 900 groups of 20,000 elements each would be 18 million members.
    let tags: Vec<usize> = (1..=900).collect();
    let many = gmsh(&tags, &[("3 1 4", 20_000, "1 1 2 3 4\n")]);
    assert!(refusal(read_msh(many.as_bytes(), LengthUnit::Metre)).contains("more numbers than it has bytes"));
    let tags: Vec<usize> = (1..=1100).collect();
    let many = gmsh(&tags, &[("3 1 4", 1, "1 1 2 3 4\n")]);
    assert!(refusal(read_msh(many.as_bytes(), LengthUnit::Metre)).contains("more than 1000 groups"));
    // One appended array that is referred to again and again.
    let mut vtu = String::from("<VTKFile type=\"UnstructuredGrid\" byte_order=\"LittleEndian\"><CellData>");
    for array in 0..500 {
        let name = format!("group:{array}");
        vtu += &format!("<DataArray type=\"Float64\" Name=\"{name}\" format=\"appended\" offset=\"0\"/>");
    }
    vtu += "</CellData><AppendedData encoding=\"raw\">_";
    let mut bytes = vtu.into_bytes();
    bytes.extend(80_000_u32.to_le_bytes());
    bytes.extend([0; 80_000]);
    assert!(refusal(read_vtu(&bytes, LengthUnit::Metre)).contains("more numbers than it has bytes"));
    // As many regions as cells.
    let mut vtk = String::from("# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n");
    vtk += "0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 2000 10000\n";
    vtk += &"4 0 1 2 3\n".repeat(2000);
    vtk += &format!(
        "CELL_TYPES 2000\n{}CELL_DATA 2000\nSCALARS material int 1\nLOOKUP_TABLE default\n",
        "10\n".repeat(2000)
    );
    vtk += &(1..=2000).map(|region| format!("{region}\n")).collect::<String>();
    assert!(refusal(read_vtk(vtk.as_bytes(), LengthUnit::Metre)).contains("more than 1000 groups"));
    // A count that three coordinates of each carry beyond the largest number.
    let vtk =
        "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 6148914691236517206 float\n0 0\n";
    assert!(refusal(read_vtk(vtk.as_bytes(), LengthUnit::Metre)).contains("too short"));
}
