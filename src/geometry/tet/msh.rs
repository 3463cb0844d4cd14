//! A mesh as a Gmsh 4.1 file, text or binary.
//!
//! Thread: cold.

use super::super::mesh::LengthUnit;
use super::msh_read::FROM_GMSH;
use super::{Members, TetMesh};
use crate::math::Vec3;
use std::collections::BTreeMap;
use std::io::Write as _;

/// How a Gmsh file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MshForm {
    /// Text with as many digits as bring the same double back.
    Text,
    /// Little-endian binary.
    Binary,
}

/// Elements of one dimension that are in the same groups, as Gmsh wants them: one entity each.
type Entities = BTreeMap<(i32, Vec<i32>), Vec<Vec<u32>>>;

/// The mesh as a Gmsh 4.1 file with its numbers in `unit`. Triangles and nodes are written for groups only. Equal
/// meshes give equal bytes.
#[must_use]
pub fn write_msh(mesh: &TetMesh, unit: LengthUnit, form: MshForm) -> Vec<u8> {
    let mut out = Writer { bytes: Vec::new(), form };
    out.line(&format!("$MeshFormat\n4.1 {} 8", i32::from(form == MshForm::Binary)));
    if form == MshForm::Binary {
        out.bytes.extend_from_slice(&1_i32.to_le_bytes());
        out.bytes.push(b'\n');
    }
    out.line("$EndMeshFormat");
    let tags = group_tags(mesh);
    if !mesh.groups().is_empty() {
        out.line(&format!("$PhysicalNames\n{}", mesh.groups().len()));
        for (group, (dimension, tag)) in mesh.groups().iter().zip(&tags) {
            out.line(&format!("{dimension} {tag} \"{}\"", group.name.replace(['"', '\n', '\r'], "'")));
        }
        out.line("$EndPhysicalNames");
    }
    let entities = entities(mesh, &tags);
    write_entities(&mut out, mesh, unit, &entities);
    write_nodes(&mut out, mesh, unit);
    write_elements(&mut out, mesh, &entities);
    out.bytes
}

/// Dimension and physical tag of each group; tags count from 1 in each dimension.
fn group_tags(mesh: &TetMesh) -> Vec<(i32, i32)> {
    let mut next = [1; 4];
    let dimension = |members: &Members| match members {
        Members::Nodes(_) => 0,
        Members::Triangles(_) => 2,
        Members::Tets(_) => 3,
    };
    let mut tag = |dimension: usize| {
        next[dimension] += 1;
        (dimension as i32, next[dimension] - 1)
    };
    mesh.groups().iter().map(|group| tag(dimension(&group.members))).collect()
}

fn entities(mesh: &TetMesh, tags: &[(i32, i32)]) -> Entities {
    let mut of: BTreeMap<(i32, Vec<u32>), Vec<i32>> = BTreeMap::new();
    for tet in 0..mesh.tets().len() as u32 {
        of.insert((3, vec![tet]), Vec::new());
    }
    for (group, (dimension, tag)) in mesh.groups().iter().zip(tags) {
        let keys: Vec<Vec<u32>> = match &group.members {
            Members::Nodes(nodes) => nodes.iter().map(|n| vec![*n]).collect(),
            Members::Triangles(triangles) => triangles.iter().map(|t| t.to_vec()).collect(),
            Members::Tets(tets) => tets.iter().map(|t| vec![*t]).collect(),
        };
        for key in keys {
            of.entry((*dimension, key)).or_default().push(*tag);
        }
    }
    let mut entities = Entities::new();
    for ((dimension, element), tags) in of {
        entities.entry((dimension, tags)).or_default().push(element);
    }
    entities
}

/// Text or bytes.
struct Writer {
    bytes: Vec<u8>,
    form: MshForm,
}

impl Writer {
    fn line(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(b'\n');
    }

    fn put(&mut self, binary: &[u8], text: impl std::fmt::Display) {
        match self.form {
            MshForm::Binary => self.bytes.extend_from_slice(binary),
            // Writing to a vector cannot fail.
            MshForm::Text => drop(write!(self.bytes, "{text} ")),
        }
    }

    fn int(&mut self, value: i32) {
        self.put(&value.to_le_bytes(), value);
    }

    fn size(&mut self, value: usize) {
        self.put(&(value as u64).to_le_bytes(), value);
    }

    fn point(&mut self, at: &Vec3, unit: LengthUnit) {
        for x in at {
            let x = unit.of_metres(*x);
            self.put(&x.to_le_bytes(), x);
        }
    }

    /// Ends a line of text.
    fn end(&mut self) {
        if self.form == MshForm::Text {
            self.bytes.push(b'\n');
        }
    }

    fn close(&mut self, section: &str) {
        if self.form == MshForm::Binary {
            self.bytes.push(b'\n');
        }
        self.line(section);
    }
}

fn write_entities(out: &mut Writer, mesh: &TetMesh, unit: LengthUnit, entities: &Entities) {
    out.line("$Entities");
    for dimension in 0..4 {
        out.size(entities.keys().filter(|(d, _)| *d == dimension).count());
    }
    out.end();
    let bounds = mesh.aabb();
    let mut tags = [0; 4];
    for ((dimension, physical), elements) in entities {
        let tag = &mut tags[*dimension as usize];
        *tag += 1;
        out.int(*tag);
        if *dimension == 0 {
            out.point(&mesh.nodes()[elements[0][0] as usize], unit);
        } else {
            out.point(&bounds.min, unit);
            out.point(&bounds.max, unit);
        }
        out.size(physical.len());
        physical.iter().for_each(|tag| out.int(*tag));
        if *dimension > 0 {
            out.size(0);
        }
        out.end();
    }
    out.close("$EndEntities");
}

fn write_nodes(out: &mut Writer, mesh: &TetMesh, unit: LengthUnit) {
    let count = mesh.nodes().len();
    out.line("$Nodes");
    [1, count, 1, count].into_iter().for_each(|x| out.size(x));
    out.end();
    [3, 1, 0].into_iter().for_each(|x| out.int(x));
    out.size(count);
    out.end();
    for tag in 1..=count {
        out.size(tag);
        out.end();
    }
    for at in mesh.nodes() {
        out.point(at, unit);
        out.end();
    }
    out.close("$EndNodes");
}

fn write_elements(out: &mut Writer, mesh: &TetMesh, entities: &Entities) {
    let count: usize = entities.values().map(Vec::len).sum();
    out.line("$Elements");
    [entities.len(), count, 1, count].into_iter().for_each(|x| out.size(x));
    out.end();
    let mut tags = [0; 4];
    // A tetrahedron's tag is its number, so that the reader can put them in order again; the rest come after.
    let mut other = mesh.tets().len();
    for ((dimension, _), members) in entities {
        let tag = &mut tags[*dimension as usize];
        *tag += 1;
        let kind = match dimension {
            0 => 15,
            2 => 2,
            _ if mesh.is_quadratic() => 11,
            _ => 4,
        };
        [*dimension, *tag, kind].into_iter().for_each(|x| out.int(x));
        out.size(members.len());
        out.end();
        for member in members {
            other += usize::from(*dimension < 3);
            out.size(if *dimension < 3 { other } else { member[0] as usize + 1 });
            for node in nodes_of(mesh, *dimension, member) {
                out.size(node as usize + 1);
            }
            out.end();
        }
    }
    out.close("$EndElements");
}

fn nodes_of(mesh: &TetMesh, dimension: i32, member: &[u32]) -> Vec<u32> {
    if dimension < 3 {
        return member.to_vec();
    }
    let tet = member[0] as usize;
    let middles = mesh.midsides().get(tet).map(|middles| FROM_GMSH.map(|k| middles[k]));
    mesh.tets()[tet].into_iter().chain(middles.into_iter().flatten()).collect()
}
