//! VTK's legacy files: read in text and binary, old and new form of cells; written as text.
//!
//! Thread: cold.

use super::super::mesh::LengthUnit;
use super::budget::Budget;
use super::bytes::{Cursor, Form};
use super::grid::Grid;
use super::{TetMesh, TetMeshError};
use crate::math::Vec3;
use std::fmt::Write as _;

/// Reads a legacy VTK file (`.vtk`) whose numbers are in `unit`.
///
/// # Errors
/// Says what is wrong, where, and what to do.
pub fn read_vtk(bytes: &[u8], unit: LengthUnit) -> Result<TetMesh, TetMeshError> {
    let mut cursor = Cursor::new(bytes, Form::Text);
    let head = cursor.full_line().unwrap_or_default();
    if !head.starts_with("# vtk DataFile") {
        return cursor.fail("a VTK file begins with `# vtk DataFile Version`: is this a .vtk file?");
    }
    cursor.line();
    let form = match cursor.full_line().unwrap_or_default().to_ascii_uppercase().as_str() {
        "ASCII" => Form::Text,
        "BINARY" => Form::Big,
        _ => return cursor.fail("the third line must be ASCII or BINARY"),
    };
    let kind = cursor.full_line().unwrap_or_default().to_ascii_uppercase();
    if kind != "DATASET UNSTRUCTURED_GRID" {
        let reason = "only DATASET UNSTRUCTURED_GRID is read: export the volume mesh, not an image or a surface";
        return cursor.fail(reason);
    }
    let mut reader = Reader {
        cursor,
        form,
        budget: Budget::of(bytes),
        grid: Grid::default(),
        kinds: Vec::new(),
        cells: Cells::None,
        on_cells: true,
    };
    reader.sections(unit)?;
    reader.finish()
}

/// The list of cells as read.
enum Cells {
    None,
    /// Count before each cell.
    Counted(Vec<i64>),
    /// Ends, then nodes.
    Offset(Vec<i64>, Vec<i64>),
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    form: Form,
    budget: Budget,
    grid: Grid,
    kinds: Vec<i64>,
    cells: Cells,
    /// Arrays that follow are on cells, else on points.
    on_cells: bool,
}

impl Reader<'_> {
    fn sections(&mut self, unit: LengthUnit) -> Result<(), TetMeshError> {
        while let Some(line) = self.cursor.full_line() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let count = |k: usize| words.get(k).and_then(|w| w.parse::<usize>().ok()).unwrap_or(0);
            match (words[0].to_ascii_uppercase().as_str(), words.len()) {
                ("POINTS", 3) => {
                    let numbers = self.numbers(count(1).saturating_mul(3), words[2])?;
                    let points = numbers.chunks_exact(3).map(|p| Vec3::new(p[0], p[1], p[2]));
                    self.grid.points = points.map(|p| p.map(|x| unit.to_metres(x))).collect();
                }
                ("CELLS", 3) => self.cells(count(1), count(2))?,
                ("CELL_TYPES", 2) => self.kinds = self.integers(count(1), "int")?,
                ("CELL_DATA", 2) => self.on_cells = true,
                ("POINT_DATA", 2) => self.on_cells = false,
                ("SCALARS", 3 | 4) => {
                    let width = if words.len() == 4 { count(3).max(1) } else { 1 };
                    self.cursor.full_line();
                    let tuples = if self.on_cells { self.kinds.len() } else { self.grid.points.len() };
                    self.array(words[1], tuples, width, words[2])?;
                }
                ("FIELD", 3) => {
                    for _ in 0..count(2) {
                        let line = self.cursor.full_line().unwrap_or_default();
                        let words: Vec<&str> = line.split_ascii_whitespace().collect();
                        let [name, width, tuples, kind] = words[..] else {
                            return self.cursor.fail("an array of a FIELD needs name, components, tuples and type");
                        };
                        let size = |w: &str| w.parse::<usize>().unwrap_or(0);
                        self.array(name, size(tuples), size(width), kind)?;
                    }
                }
                ("METADATA", _) => while self.cursor.line().is_some_and(|line| !line.is_empty()) {},
                ("VECTORS" | "NORMALS", 3) => {
                    let tuples = if self.on_cells { self.kinds.len() } else { self.grid.points.len() };
                    self.array(words[1], tuples, 3, words[2])?;
                }
                _ => {
                    let shown: String = line.chars().take(40).collect();
                    return self.cursor.fail(format!("`{shown}` is not read: export points, cells and scalars only"));
                }
            }
        }
        Ok(())
    }

    fn numbers(&mut self, count: usize, kind: &str) -> Result<Vec<f64>, TetMeshError> {
        if count > self.cursor.left() {
            return self.cursor.fail(format!("{count} numbers are announced, which the file is too short for"));
        }
        self.budget.spend(count)?;
        self.cursor.form = self.form;
        let mut numbers = Vec::with_capacity(count);
        for _ in 0..count {
            numbers.push(match (self.form, kind) {
                (Form::Text, _) | (_, "double") => self.cursor.double()?,
                (_, "float") => f64::from(f32::from_be_bytes(self.cursor.take()?)),
                (_, "int" | "unsigned_int") => f64::from(self.cursor.int()?),
                (_, "long" | "vtktypeint64" | "vtkIdType") => i64::from_be_bytes(self.cursor.take()?) as f64,
                (_, "short" | "unsigned_short") => f64::from(i16::from_be_bytes(self.cursor.take()?)),
                (_, "char" | "unsigned_char") => f64::from(self.cursor.take::<1>()?[0]),
                (_, other) => {
                    return self.cursor.fail(format!("numbers of type `{other}` are not read: use double or int"));
                }
            });
        }
        self.cursor.form = Form::Text;
        // The end of the line the numbers stand on.
        self.cursor.line();
        Ok(numbers)
    }

    fn integers(&mut self, count: usize, kind: &str) -> Result<Vec<i64>, TetMeshError> {
        Ok(self.numbers(count, kind)?.into_iter().map(|x| x as i64).collect())
    }

    fn array(&mut self, name: &str, tuples: usize, width: usize, kind: &str) -> Result<(), TetMeshError> {
        let values = self.integers(tuples.saturating_mul(width), kind)?;
        if width == 1 {
            let marks = if self.on_cells { &mut self.grid.cell_marks } else { &mut self.grid.point_marks };
            marks.push((decoded(name), values));
        }
        Ok(())
    }

    fn cells(&mut self, first: usize, second: usize) -> Result<(), TetMeshError> {
        let before = self.cursor.clone();
        let line = self.cursor.full_line().unwrap_or_default();
        let kind = match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            ["OFFSETS", kind] => kind.to_owned(),
            _ => {
                self.cursor = before;
                self.cells = Cells::Counted(self.integers(second, "int")?);
                return Ok(());
            }
        };
        let offsets = self.integers(first, &kind)?;
        let line = self.cursor.full_line().unwrap_or_default();
        let ["CONNECTIVITY", kind] = line.split_ascii_whitespace().collect::<Vec<_>>()[..] else {
            return self.cursor.fail("CONNECTIVITY should follow OFFSETS");
        };
        let nodes = self.integers(second, kind)?;
        self.cells = Cells::Offset(offsets.get(1..).unwrap_or_default().to_vec(), nodes);
        Ok(())
    }

    fn finish(mut self) -> Result<TetMesh, TetMeshError> {
        match self.cells {
            Cells::None => return Err(TetMeshError::Empty),
            Cells::Offset(ends, nodes) => self.grid.set_cells(&self.kinds, &ends, &nodes)?,
            Cells::Counted(list) => {
                let (mut ends, mut nodes, mut at) = (Vec::new(), Vec::new(), 0);
                while let Some(count) = list.get(at) {
                    let end = (at + 1).saturating_add(usize::try_from(*count).unwrap_or(usize::MAX));
                    let Some(cell) = list.get(at + 1..end) else {
                        let reason = "a cell announces more nodes than there are: export it again".into();
                        return Err(TetMeshError::Unsupported(reason));
                    };
                    nodes.extend_from_slice(cell);
                    ends.push(nodes.len() as i64);
                    at = end;
                }
                self.grid.set_cells(&self.kinds, &ends, &nodes)?;
            }
        }
        self.grid.into_mesh()
    }
}

/// Names have no blanks in these files: VTK writes them as in addresses of the web.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'!'..=b'~' if byte != b'%' && byte != b'"' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

fn decoded(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|h| std::str::from_utf8(h).ok()).and_then(|h| u8::from_str_radix(h, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The mesh as a legacy VTK file in text, with its numbers in `unit` and as many digits as bring the same double back.
#[must_use]
pub fn write_vtk(mesh: &TetMesh, unit: LengthUnit) -> String {
    let grid = Grid::of(mesh);
    let mut text = String::from("# vtk DataFile Version 3.0\ntetrahedra\nASCII\nDATASET UNSTRUCTURED_GRID\n");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "POINTS {} double", grid.points.len());
    for p in grid.points.iter().map(|p| p.map(|x| unit.of_metres(x))) {
        let _ = writeln!(text, "{} {} {}", p.x, p.y, p.z);
    }
    let size: usize = grid.cells.iter().map(|(_, nodes)| 1 + nodes.len()).sum();
    let _ = writeln!(text, "CELLS {} {size}", grid.cells.len());
    for (_, nodes) in &grid.cells {
        let _ = write!(text, "{}", nodes.len());
        nodes.iter().for_each(|node| text.push_str(&format!(" {node}")));
        text.push('\n');
    }
    let _ = writeln!(text, "CELL_TYPES {}", grid.cells.len());
    grid.cells.iter().for_each(|(kind, _)| text.push_str(&format!("{kind}\n")));
    let data =
        [("CELL_DATA", grid.cells.len(), &grid.cell_marks), ("POINT_DATA", grid.points.len(), &grid.point_marks)];
    for (section, count, arrays) in data.into_iter().filter(|(_, _, arrays)| !arrays.is_empty()) {
        let _ = writeln!(text, "{section} {count}");
        for (name, marks) in arrays {
            let _ = writeln!(text, "SCALARS {} int 1\nLOOKUP_TABLE default", encoded(name));
            marks.iter().for_each(|mark| text.push_str(&format!("{mark}\n")));
        }
    }
    text
}
