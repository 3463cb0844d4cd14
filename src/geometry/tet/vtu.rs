//! A mesh as a VTK XML file (`.vtu`), in text or with its arrays in base64.
//!
//! Thread: cold.

use super::super::mesh::LengthUnit;
use super::TetMesh;
use super::bytes::to_base64;
use super::grid::Grid;
use std::fmt::Write as _;

/// The mesh as a `.vtu` file with its numbers in `unit`: arrays in base64 when `binary`, else as text with as many
/// digits as bring the same double back. Equal meshes give equal bytes.
#[must_use]
pub fn write_vtu(mesh: &TetMesh, unit: LengthUnit, binary: bool) -> String {
    let grid = Grid::of(mesh);
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" \
         header_type=\"UInt64\">\n<UnstructuredGrid>\n",
    );
    let (points, cells) = (grid.points.len(), grid.cells.len());
    // Writing to a string cannot fail.
    let _ = writeln!(text, "<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">");
    for (section, arrays) in [("PointData", &grid.point_marks), ("CellData", &grid.cell_marks)] {
        let _ = writeln!(text, "<{section}>");
        for (name, marks) in arrays {
            integers(&mut text, &escaped(name), marks.iter().copied(), binary);
        }
        let _ = writeln!(text, "</{section}>");
    }
    text.push_str("<Points>\n");
    let numbers: Vec<f64> = grid.points.iter().flatten().map(|x| unit.of_metres(*x)).collect();
    open(&mut text, "Float64", "Points\" NumberOfComponents=\"3", binary);
    if binary {
        bytes(&mut text, numbers.iter().flat_map(|x| x.to_le_bytes()));
    } else {
        numbers.chunks(3).for_each(|p| text.push_str(&format!("{} {} {}\n", p[0], p[1], p[2])));
    }
    text.push_str("</DataArray>\n</Points>\n<Cells>\n");
    let nodes = grid.cells.iter().flat_map(|(_, nodes)| nodes.iter().map(|n| i64::from(*n)));
    integers(&mut text, "connectivity", nodes, binary);
    let mut end = 0;
    let ends = grid.cells.iter().map(|(_, nodes)| {
        end += nodes.len() as i64;
        end
    });
    integers(&mut text, "offsets", ends, binary);
    integers(&mut text, "types", grid.cells.iter().map(|(kind, _)| i64::from(*kind)), binary);
    text.push_str("</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
    text
}

fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn open(text: &mut String, kind: &str, name: &str, binary: bool) {
    let format = if binary { "binary" } else { "ascii" };
    let _ = writeln!(text, "<DataArray type=\"{kind}\" Name=\"{name}\" format=\"{format}\">");
}

fn integers(text: &mut String, name: &str, values: impl Iterator<Item = i64>, binary: bool) {
    open(text, "Int64", name, binary);
    if binary {
        bytes(text, values.flat_map(i64::to_le_bytes));
    } else {
        values.for_each(|value| text.push_str(&format!("{value}\n")));
    }
    text.push_str("</DataArray>\n");
}

/// The number of bytes, then the bytes.
fn bytes(text: &mut String, data: impl Iterator<Item = u8>) {
    let mut all = vec![0; 8];
    all.extend(data);
    let length = all.len() as u64 - 8;
    all[..8].copy_from_slice(&length.to_le_bytes());
    text.push_str(&to_base64(&all));
    text.push('\n');
}
