//! Gmsh 4.1 files, text and binary, into a mesh.
//!
//! Thread: cold.
//!
//! The form is that of the Gmsh reference manual, "MSH file format". Sections that a body does not need are passed
//! over.

use super::super::mesh::LengthUnit;
use super::budget::{Budget, GROUPS_MAX, too_many_groups};
use super::bytes::{Cursor, Form};
use super::{Group, Members, TetMesh, TetMeshError};
use crate::math::Vec3;
use std::collections::{BTreeMap, HashMap};

/// Gmsh numbers the last two midside nodes the other way round.
pub(super) const FROM_GMSH: [usize; 6] = [0, 1, 2, 3, 5, 4];

/// Kinds of elements that are read: tetrahedra with four and with ten nodes.
const TET: i32 = 4;
const TET_QUADRATIC: i32 = 11;

/// What has been read so far.
struct Draft {
    budget: Budget,
    names: BTreeMap<(i32, i32), String>,
    /// Physical tags of each entity.
    physical: HashMap<(i32, i32), Vec<i32>>,
    nodes: Vec<Vec3>,
    index_of: HashMap<u64, u32>,
    tets: Vec<[u32; 4]>,
    midsides: Vec<[u32; 6]>,
    /// Element tag of each tetrahedron.
    tags: Vec<u64>,
    members: BTreeMap<(i32, i32), Members>,
}

/// Reads a Gmsh 4.1 file whose numbers are in `unit`. Physical groups become groups; those of curves become groups of
/// nodes. Nodes that belong to no tetrahedron are left out.
///
/// # Errors
/// Says what is wrong, where, and what to do.
pub fn read_msh(bytes: &[u8], unit: LengthUnit) -> Result<TetMesh, TetMeshError> {
    let mut cursor = Cursor::new(bytes, Form::Text);
    let mut draft = Draft::new(Budget::of(bytes));
    let mut form = None;
    while let Some(section) = cursor.full_line() {
        match (section.as_str(), form) {
            ("$MeshFormat", _) => form = Some(read_format(&mut cursor)?),
            (_, None) => return cursor.fail("a Gmsh file begins with `$MeshFormat`: is this a .msh file?"),
            ("$PhysicalNames", _) => draft.read_names(&mut cursor)?,
            ("$Entities" | "$Nodes" | "$Elements", Some(form)) => {
                cursor.form = form;
                match section.as_str() {
                    "$Entities" => draft.read_entities(&mut cursor)?,
                    "$Nodes" => draft.read_nodes(&mut cursor, unit)?,
                    _ => draft.read_elements(&mut cursor)?,
                }
                cursor.form = Form::Text;
            }
            ("$PartitionedEntities", _) => {
                return Err(TetMeshError::Unsupported(
                    "partitioned meshes are not read: save the mesh unpartitioned".into(),
                ));
            }
            _ => {}
        }
        skip_to_end(&mut cursor, &section)?;
    }
    if form.is_none() {
        return cursor.fail("the file is empty: is this a .msh file?");
    }
    draft.finish()
}

/// Passes over everything up to the end of the section.
fn skip_to_end(cursor: &mut Cursor, section: &str) -> Result<(), TetMeshError> {
    let Some(name) = section.strip_prefix('$') else {
        let shown: String = section.chars().take(40).collect();
        return cursor.fail(format!("`{shown}` should begin a section with `$`"));
    };
    let end = format!("$End{name}");
    while let Some(line) = cursor.line() {
        if line == end.as_bytes() {
            return Ok(());
        }
    }
    cursor.fail(format!("`{end}` is missing: the file was cut short, export it again"))
}

fn read_format(cursor: &mut Cursor) -> Result<Form, TetMeshError> {
    let version = cursor.word().to_owned();
    if version != "4.1" {
        let shown: String = version.chars().take(10).collect();
        let reason =
            format!("Gmsh format {shown}, but 4.1 is read: save with `gmsh FILE -save -format msh41 -o OUT.msh`");
        return Err(TetMeshError::Unsupported(reason));
    }
    let (kind, width) = (cursor.int()?, cursor.int()?);
    if width != 8 {
        return cursor.fail(format!("sizes of {width} bytes, but 8 are read: save with a 64-bit Gmsh"));
    }
    if kind == 0 {
        return Ok(Form::Text);
    }
    cursor.line();
    match cursor.take()? {
        [1, 0, 0, 0] => Ok(Form::Little),
        [0, 0, 0, 1] => Ok(Form::Big),
        _ => cursor.fail("a binary file has the number one here: it was damaged, perhaps by a transfer as text"),
    }
}

impl Draft {
    fn new(budget: Budget) -> Self {
        Self {
            budget,
            names: BTreeMap::new(),
            physical: HashMap::new(),
            nodes: Vec::new(),
            index_of: HashMap::new(),
            tets: Vec::new(),
            midsides: Vec::new(),
            tags: Vec::new(),
            members: BTreeMap::new(),
        }
    }

    fn read_names(&mut self, cursor: &mut Cursor) -> Result<(), TetMeshError> {
        let count = cursor.count()?;
        for _ in 0..count {
            let key = (cursor.int()?, cursor.int()?);
            let Some(rest) = cursor.line() else { return cursor.fail("a physical name is missing") };
            let name = String::from_utf8_lossy(rest).trim_matches('"').to_owned();
            self.names.insert(key, name);
        }
        Ok(())
    }

    fn read_entities(&mut self, cursor: &mut Cursor) -> Result<(), TetMeshError> {
        let counts = [cursor.count()?, cursor.count()?, cursor.count()?, cursor.count()?];
        for (dimension, count) in (0..).zip(counts) {
            for _ in 0..count {
                let tag = cursor.int()?;
                for _ in 0..if dimension == 0 { 3 } else { 6 } {
                    cursor.double()?;
                }
                let tags = cursor.count()?;
                let physical = (0..tags).map(|_| cursor.int()).collect::<Result<Vec<_>, _>>()?;
                if dimension > 0 {
                    let bounding = cursor.count()?;
                    for _ in 0..bounding {
                        cursor.int()?;
                    }
                }
                // A negative tag says that the surface is turned round; the group is the same.
                self.physical.insert((dimension, tag), physical.iter().map(|p| p.saturating_abs()).collect());
            }
        }
        Ok(())
    }

    fn read_nodes(&mut self, cursor: &mut Cursor, unit: LengthUnit) -> Result<(), TetMeshError> {
        let blocks = cursor.count()?;
        for _ in 0..3 {
            cursor.size()?;
        }
        for _ in 0..blocks {
            let dimension = cursor.int()?;
            cursor.int()?;
            let parametric = cursor.int()?;
            let count = cursor.count()?;
            let tags = (0..count).map(|_| cursor.size()).collect::<Result<Vec<_>, _>>()?;
            for tag in tags {
                let at = Vec3::new(cursor.double()?, cursor.double()?, cursor.double()?);
                for _ in 0..if parametric == 0 { 0 } else { dimension.clamp(0, 3) } {
                    cursor.double()?;
                }
                if self.index_of.insert(tag, self.nodes.len() as u32).is_some() {
                    return cursor.fail(format!("node {tag} is there twice: renumber the mesh and export it again"));
                }
                self.nodes.push(at.map(|x| unit.to_metres(x)));
            }
        }
        Ok(())
    }

    fn read_elements(&mut self, cursor: &mut Cursor) -> Result<(), TetMeshError> {
        let blocks = cursor.count()?;
        for _ in 0..3 {
            cursor.size()?;
        }
        for _ in 0..blocks {
            let (dimension, entity, kind) = (cursor.int()?, cursor.int()?, cursor.int()?);
            let count = cursor.count()?;
            let Some(width) = nodes_of_kind(kind) else {
                let reason =
                    format!("elements of kind {kind} are not read: mesh the volume with tetrahedra of order 1 or 2");
                return Err(TetMeshError::Unsupported(reason));
            };
            let groups = self.physical.get(&(dimension, entity)).cloned().unwrap_or_default();
            for _ in 0..count {
                let tag = cursor.size()?;
                let mut nodes = [0; 10];
                for node in &mut nodes[..width] {
                    let number = cursor.size()?;
                    let Some(index) = self.index_of.get(&number) else {
                        return cursor.fail(format!("element {tag} names node {number}, which is not in the file"));
                    };
                    *node = *index;
                }
                self.add((dimension, kind), tag, &nodes[..width], &groups)?;
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        (dimension, kind): (i32, i32),
        tag: u64,
        nodes: &[u32],
        groups: &[i32],
    ) -> Result<(), TetMeshError> {
        let tet = self.tets.len() as u32;
        if let (3, TET | TET_QUADRATIC, [a, b, c, d, middles @ ..]) = (dimension, kind, nodes) {
            self.tets.push([*a, *b, *c, *d]);
            self.tags.push(tag);
            if let Ok(middles) = <[u32; 6]>::try_from(middles) {
                self.midsides.push(FROM_GMSH.map(|k| middles[k]));
            }
        } else if dimension == 3 {
            // Points, lines and surfaces in a volume are passed over.
            return Ok(());
        }
        for group in groups {
            if self.members.len() > GROUPS_MAX {
                return Err(too_many_groups());
            }
            self.budget.spend(1)?;
            let empty = || match dimension {
                3 => Members::Tets(Vec::new()),
                2 => Members::Triangles(Vec::new()),
                _ => Members::Nodes(Vec::new()),
            };
            match (self.members.entry((dimension, *group)).or_insert_with(empty), nodes) {
                (Members::Tets(tets), _) => tets.push(tet),
                (Members::Triangles(triangles), [a, b, c, ..]) => triangles.push([*a, *b, *c]),
                (Members::Nodes(all), _) => all.extend(nodes),
                _ => {}
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<TetMesh, TetMeshError> {
        self.put_in_order();
        let name = |(dimension, tag): &(i32, i32)| match self.names.get(&(*dimension, *tag)) {
            Some(name) => name.clone(),
            None => format!("physical {tag}"),
        };
        let groups = self.members.iter().map(|(key, members)| Group { name: name(key), members: members.clone() });
        let groups = groups.collect();
        Ok(TetMesh::with_parts(self.nodes, self.tets, self.midsides, groups)?.without_loose_nodes())
    }

    /// Sorts tetrahedra by tag, and the nodes of groups.
    fn put_in_order(&mut self) {
        let mut order: Vec<u32> = (0..self.tets.len() as u32).collect();
        order.sort_by_key(|tet| self.tags[*tet as usize]);
        let mut place = vec![0; order.len()];
        (0..).zip(&order).for_each(|(new, old): (u32, _)| place[*old as usize] = new);
        self.tets = order.iter().map(|tet| self.tets[*tet as usize]).collect();
        if self.midsides.len() == order.len() {
            self.midsides = order.iter().map(|tet| self.midsides[*tet as usize]).collect();
        }
        for members in self.members.values_mut() {
            match members {
                Members::Tets(tets) => {
                    tets.iter_mut().for_each(|tet| *tet = place[*tet as usize]);
                    tets.sort_unstable();
                }
                Members::Nodes(nodes) => {
                    nodes.sort_unstable();
                    nodes.dedup();
                }
                Members::Triangles(_) => {}
            }
        }
    }
}

/// Nodes of an element kind that is read or passed over.
fn nodes_of_kind(kind: i32) -> Option<usize> {
    Some(match kind {
        15 => 1,
        1 => 2,
        2 | 8 => 3,
        3 | 4 => 4,
        9 => 6,
        16 => 8,
        10 => 9,
        11 => 10,
        _ => return None,
    })
}
