//! VTK XML files (`.vtu`) into a mesh: text, base64 and appended arrays, not compressed.
//!
//! Thread: cold.
//!
//! Only as much of XML is understood as VTK writes: tags with attributes in quotes, no comments inside of arrays.

use super::super::mesh::LengthUnit;
use super::budget::Budget;
use super::bytes::{Cursor, Form, from_base64};
use super::grid::{Grid, is_mark};
use super::{TetMesh, TetMeshError};
use crate::math::Vec3;

/// A tag and where its content begins.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, String)>,
    content: usize,
}

impl Tag<'_> {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
    }
}

/// Reads a `.vtu` file whose numbers are in `unit`.
///
/// # Errors
/// Says what is wrong and what to do.
pub fn read_vtu(bytes: &[u8], unit: LengthUnit) -> Result<TetMesh, TetMeshError> {
    let budget = Budget::of(bytes);
    let mut reader = Reader { bytes, at: 0, big: false, wide: false, appended: None, budget, grid: Grid::default() };
    reader.appended = reader.find_appended()?;
    reader.walk(unit)?;
    reader.grid.into_mesh()
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Numbers are big-endian.
    big: bool,
    /// The length before an array has eight bytes, else four.
    wide: bool,
    /// Bytes of the appended arrays, and whether they are in base64.
    appended: Option<(&'a [u8], bool)>,
    budget: Budget,
    grid: Grid,
}

impl<'a> Reader<'a> {
    fn fail<T>(&self, reason: impl Into<String>) -> Result<T, TetMeshError> {
        Err(TetMeshError::Byte { offset: self.at, reason: reason.into() })
    }

    /// The next tag; none at the end.
    fn tag(&mut self) -> Result<Option<Tag<'a>>, TetMeshError> {
        let Some(open) = self.bytes[self.at..].iter().position(|b| *b == b'<') else { return Ok(None) };
        let start = self.at + open + 1;
        let Some(length) = self.bytes[start..].iter().position(|b| *b == b'>') else {
            return self.fail("a tag has no end: the file was cut short, export it again");
        };
        self.at = start + length + 1;
        let Ok(inner) = std::str::from_utf8(&self.bytes[start..start + length]) else {
            return self.fail("a tag is not text: is this a .vtu file?");
        };
        let (name, mut rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
        let mut attributes = Vec::new();
        while let Some((key, after)) = rest.split_once("=\"") {
            let Some((value, tail)) = after.split_once('"') else { break };
            attributes.push((key.trim(), unescaped(value)));
            rest = tail;
        }
        Ok(Some(Tag { name, attributes, content: self.at }))
    }

    /// Finds the appended arrays first: the tags before them refer to them.
    fn find_appended(&mut self) -> Result<Option<(&'a [u8], bool)>, TetMeshError> {
        let key = b"<AppendedData";
        let Some(at) = self.bytes.windows(key.len()).position(|w| w == key) else { return Ok(None) };
        self.at = at;
        let coded = self.tag()?.is_some_and(|tag| tag.attribute("encoding") == Some("base64"));
        let mark = self.bytes[self.at..].iter().position(|b| *b == b'_');
        let Some(mark) = mark else { return self.fail("appended arrays begin with `_`") };
        let data = &self.bytes[self.at + mark + 1..];
        self.at = 0;
        Ok(Some((data, coded)))
    }

    fn walk(&mut self, unit: LengthUnit) -> Result<(), TetMeshError> {
        let (mut section, mut kinds, mut ends, mut nodes) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        let mut pieces = 0;
        while let Some(tag) = self.tag()? {
            match tag.name {
                "VTKFile" => self.head(&tag)?,
                "Piece" => pieces += 1,
                "PointData" | "CellData" | "Points" | "Cells" | "FieldData" => section = tag.name.to_owned(),
                "/PointData" | "/CellData" | "/Points" | "/Cells" | "/FieldData" => section.clear(),
                "AppendedData" => break,
                "DataArray" => {
                    let name = tag.attribute("Name").unwrap_or_default().to_owned();
                    let single = tag.attribute("NumberOfComponents").is_none_or(|n| n == "1");
                    match (section.as_str(), name.as_str()) {
                        ("Points", _) => {
                            let numbers = self.array(&tag)?;
                            let points = numbers.chunks_exact(3).map(|p| Vec3::new(p[0], p[1], p[2]));
                            self.grid.points = points.map(|p| p.map(|x| unit.to_metres(x))).collect();
                        }
                        ("Cells", "connectivity") => nodes = integers(&self.array(&tag)?),
                        ("Cells", "offsets") => ends = integers(&self.array(&tag)?),
                        ("Cells", "types") => kinds = integers(&self.array(&tag)?),
                        ("CellData", _) if single && is_mark(&name) => {
                            let values = integers(&self.array(&tag)?);
                            self.grid.cell_marks.push((name, values));
                        }
                        ("PointData", _) if single && is_mark(&name) => {
                            let values = integers(&self.array(&tag)?);
                            self.grid.point_marks.push((name, values));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        if pieces > 1 {
            return Err(TetMeshError::Unsupported(
                "files of several pieces are not read: merge the pieces first".into(),
            ));
        }
        self.grid.set_cells(&kinds, &ends, &nodes)
    }

    fn head(&mut self, tag: &Tag) -> Result<(), TetMeshError> {
        if tag.attribute("type") != Some("UnstructuredGrid") {
            return self.fail("only files of type UnstructuredGrid are read: export the volume mesh as .vtu");
        }
        if tag.attribute("compressor").is_some_and(|c| !c.is_empty()) {
            return self.fail("compressed arrays are not read: export the file without compression");
        }
        self.big = tag.attribute("byte_order") == Some("BigEndian");
        self.wide = tag.attribute("header_type") == Some("UInt64");
        Ok(())
    }

    /// The numbers of an array, wherever they are.
    fn array(&mut self, tag: &Tag) -> Result<Vec<f64>, TetMeshError> {
        let kind = tag.attribute("type").unwrap_or_default();
        let end =
            self.bytes[tag.content..].iter().position(|b| *b == b'<').map_or(self.bytes.len(), |e| tag.content + e);
        let content = &self.bytes[tag.content..end];
        match tag.attribute("format") {
            None | Some("ascii") => {
                let mut cursor = Cursor::new(content, Form::Text);
                let mut numbers = Vec::new();
                while !cursor.is_at_end() {
                    self.budget.spend(1)?;
                    numbers.push(cursor.double().or_else(|_| self.fail("an array holds something that is no number"))?);
                }
                Ok(numbers)
            }
            Some("binary") => match from_base64(content) {
                Some(data) => self.decode(&data, kind),
                None => self.fail("an array is not sound base64: export the file again"),
            },
            Some("appended") => {
                let offset = tag.attribute("offset").and_then(|o| o.parse::<usize>().ok());
                let place = self.appended.zip(offset).and_then(|((data, coded), at)| Some((data.get(at..)?, coded)));
                match place {
                    Some((data, false)) => self.decode(data, kind),
                    Some((data, true)) => {
                        let bytes = self.coded(data)?;
                        self.decode(&bytes, kind)
                    }
                    None => self.fail("an appended array is not in the file: it was cut short, export it again"),
                }
            }
            Some(other) => self.fail(format!("arrays of format `{other}` are not read: use ascii, binary or appended")),
        }
    }

    /// An appended array in base64: the length first, to know where it ends.
    fn coded(&self, data: &[u8]) -> Result<Vec<u8>, TetMeshError> {
        let header: usize = if self.wide { 8 } else { 4 };
        let head = data.get(..header.div_ceil(3) * 4).and_then(from_base64);
        let length = head.and_then(|head| self.length(&head)).unwrap_or(usize::MAX);
        let letters = header.saturating_add(length).div_ceil(3).saturating_mul(4);
        match data.get(..letters).and_then(from_base64) {
            Some(bytes) => Ok(bytes),
            None => self.fail("an appended array is cut short: export the file again"),
        }
    }

    fn length(&self, data: &[u8]) -> Option<usize> {
        let length = match (self.wide, self.big) {
            (true, false) => u64::from_le_bytes(data.get(..8)?.try_into().ok()?),
            (true, true) => u64::from_be_bytes(data.get(..8)?.try_into().ok()?),
            (false, false) => u64::from(u32::from_le_bytes(data.get(..4)?.try_into().ok()?)),
            (false, true) => u64::from(u32::from_be_bytes(data.get(..4)?.try_into().ok()?)),
        };
        usize::try_from(length).ok()
    }

    /// The numbers in bytes that begin with their length.
    fn decode(&mut self, data: &[u8], kind: &str) -> Result<Vec<f64>, TetMeshError> {
        let header: usize = if self.wide { 8 } else { 4 };
        let body = self.length(data).and_then(|length| data.get(header..header.checked_add(length)?));
        let Some(body) = body else { return self.fail("an array is cut short: export the file again") };
        let big = self.big;
        // Eight bytes, the number in front or at the end by its byte order.
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            if big {
                word[..chunk.len()].reverse();
            }
            u64::from_le_bytes(word)
        };
        let (width, number): (usize, fn(u64) -> f64) = match kind {
            "Float64" => (8, f64::from_bits),
            "Float32" => (4, |w| f64::from(f32::from_bits(w as u32))),
            "Int64" => (8, |w| w as i64 as f64),
            "UInt64" => (8, |w| w as f64),
            "Int32" => (4, |w| f64::from(w as u32 as i32)),
            "UInt32" => (4, |w| w as f64),
            "Int16" => (2, |w| f64::from(w as u16 as i16)),
            "UInt16" => (2, |w| w as f64),
            "Int8" => (1, |w| f64::from(w as u8 as i8)),
            "UInt8" => (1, |w| w as f64),
            _ => return self.fail(format!("numbers of type `{kind}` are not read")),
        };
        self.budget.spend(body.len() / width)?;
        Ok(body.chunks_exact(width).map(|chunk| number(word(chunk))).collect())
    }
}

fn integers(numbers: &[f64]) -> Vec<i64> {
    numbers.iter().map(|x| *x as i64).collect()
}

fn unescaped(value: &str) -> String {
    value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
