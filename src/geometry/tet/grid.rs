//! What VTK's two kinds of file have in common: points, cells, and marks on them.
//!
//! Thread: cold.
//!
//! A group is written as an array of zeros and ones called `group:NAME`, on cells for tetrahedra and triangles, on
//! points for nodes. The arrays in which other programs keep the number of a material or region are read as groups as
//! well.

use super::budget::{GROUPS_MAX, too_many_groups};
use super::{Group, Members, TetMesh, TetMeshError};
use crate::math::Vec3;

pub(super) const TRIANGLE: u8 = 5;
pub(super) const TETRAHEDRON: u8 = 10;
pub(super) const QUADRATIC_TETRAHEDRON: u8 = 24;
/// Points, lines and surfaces, linear and quadratic: passed over.
const FLAT: [u8; 13] = [1, 2, 3, 4, TRIANGLE, 6, 7, 8, 9, 21, 22, 23, 28];
/// Arrays of cells that number regions.
const REGIONS: [&str; 6] = ["gmsh:physical", "medit:ref", "cell_tags", "CellEntityIds", "MaterialIds", "material"];
const MARK: &str = "group:";

/// True for an array that may make groups; any other is passed over.
pub(super) fn is_mark(name: &str) -> bool {
    name.starts_with(MARK) || REGIONS.contains(&name)
}

/// Points, cells and marks.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    pub(super) points: Vec<Vec3>,
    /// Kind and nodes of each cell.
    pub(super) cells: Vec<(u8, Vec<u32>)>,
    /// Arrays of whole numbers on cells and on points.
    pub(super) cell_marks: Vec<(String, Vec<i64>)>,
    pub(super) point_marks: Vec<(String, Vec<i64>)>,
}

impl Grid {
    /// Cells from the flat lists of the newer forms: the end of each cell in the list of nodes.
    pub(super) fn set_cells(&mut self, kinds: &[i64], ends: &[i64], nodes: &[i64]) -> Result<(), TetMeshError> {
        let unsound =
            || TetMeshError::Unsupported("cells, kinds and offsets do not fit each other: export it again".into());
        if kinds.len() != ends.len() {
            return Err(unsound());
        }
        let mut start = 0;
        for (kind, end) in kinds.iter().zip(ends) {
            let end = usize::try_from(*end).map_err(|_| unsound())?;
            let list = nodes.get(start..end).ok_or_else(unsound)?;
            let list = list.iter().map(|n| u32::try_from(*n)).collect::<Result<Vec<_>, _>>().map_err(|_| unsound())?;
            self.cells.push((u8::try_from(*kind).unwrap_or(u8::MAX), list));
            start = end;
        }
        Ok(())
    }

    /// The mesh, with points in metres.
    pub(super) fn into_mesh(self) -> Result<TetMesh, TetMeshError> {
        let (mut tets, mut midsides) = (Vec::new(), Vec::new());
        for (cell, (kind, nodes)) in self.cells.iter().enumerate() {
            match (*kind, &nodes[..]) {
                (TETRAHEDRON, [a, b, c, d]) => tets.push([*a, *b, *c, *d]),
                (QUADRATIC_TETRAHEDRON, [a, b, c, d, e, f, g, h, i, j]) => {
                    tets.push([*a, *b, *c, *d]);
                    midsides.push([*e, *f, *g, *h, *i, *j]);
                }
                (kind, _) if FLAT.contains(&kind) => {}
                _ => {
                    let reason = format!(
                        "cell {cell} is of kind {kind} with {} nodes: mesh the volume with tetrahedra (kind 10 or 24)",
                        nodes.len()
                    );
                    return Err(TetMeshError::Unsupported(reason));
                }
            }
        }
        let groups = self.groups()?;
        Ok(TetMesh::with_parts(self.points, tets, midsides, groups)?.without_loose_nodes())
    }

    fn groups(&self) -> Result<Vec<Group>, TetMeshError> {
        let fits = |name: &str, marks: &[i64], count: usize| {
            let reason = format!("array `{name}` has {} values for {count}: export it again", marks.len());
            if marks.len() == count { Ok(()) } else { Err(TetMeshError::Unsupported(reason)) }
        };
        let mut groups = Vec::new();
        for (name, marks) in &self.cell_marks {
            let is_region = REGIONS.contains(&name.as_str());
            if !is_mark(name) {
                continue;
            }
            fits(name, marks, self.cells.len())?;
            let mut values: Vec<i64> = marks.iter().copied().filter(|v| *v != 0).collect();
            values.sort_unstable();
            values.dedup();
            if groups.len() + values.len() > GROUPS_MAX {
                return Err(too_many_groups());
            }
            for value in values {
                let name = if is_region { format!("physical {value}") } else { name[MARK.len()..].to_owned() };
                groups.extend(self.marked(&name, |cell| marks[cell] == value));
            }
        }
        for (name, marks) in self.point_marks.iter().filter(|(name, _)| name.starts_with(MARK)) {
            fits(name, marks, self.points.len())?;
            let nodes = (0..).zip(marks).filter(|(_, mark)| **mark != 0).map(|(node, _)| node).collect();
            groups.push(Group { name: name[MARK.len()..].to_owned(), members: Members::Nodes(nodes) });
        }
        Ok(groups)
    }

    /// The marked tetrahedra and the marked triangles as groups of that name, where there are any.
    fn marked(&self, name: &str, is_marked: impl Fn(usize) -> bool) -> Vec<Group> {
        let (mut tets, mut triangles, mut tet) = (Vec::new(), Vec::new(), 0);
        for (cell, (kind, nodes)) in self.cells.iter().enumerate() {
            let is_tet = [TETRAHEDRON, QUADRATIC_TETRAHEDRON].contains(kind);
            match nodes[..] {
                _ if is_tet && is_marked(cell) => tets.push(tet),
                [a, b, c] if *kind == TRIANGLE && is_marked(cell) => triangles.push([a, b, c]),
                _ => {}
            }
            tet += u32::from(is_tet);
        }
        let mut groups = Vec::new();
        if !tets.is_empty() {
            groups.push(Group { name: name.to_owned(), members: Members::Tets(tets) });
        }
        if !triangles.is_empty() {
            groups.push(Group { name: name.to_owned(), members: Members::Triangles(triangles) });
        }
        groups
    }

    /// What is to be written of a mesh, with points in metres: tetrahedra in their order, then the triangles of groups.
    pub(super) fn of(mesh: &TetMesh) -> Self {
        let kind = if mesh.is_quadratic() { QUADRATIC_TETRAHEDRON } else { TETRAHEDRON };
        let mut grid = Self { points: mesh.nodes().to_vec(), ..Self::default() };
        grid.cells = (0..mesh.tets().len()).map(|tet| (kind, mesh.nodes_of(tet).collect())).collect();
        for group in mesh.groups() {
            if let Members::Triangles(triangles) = &group.members {
                grid.cells.extend(triangles.iter().map(|t| (TRIANGLE, t.to_vec())));
            }
        }
        let mut first_triangle = mesh.tets().len();
        for group in mesh.groups() {
            let name = format!("{MARK}{}", group.name);
            let mut marks = vec![0; grid.cells.len()];
            match &group.members {
                Members::Nodes(nodes) => {
                    let mut marks = vec![0; grid.points.len()];
                    nodes.iter().for_each(|node| marks[*node as usize] = 1);
                    grid.point_marks.push((name, marks));
                    continue;
                }
                Members::Tets(tets) => tets.iter().for_each(|tet| marks[*tet as usize] = 1),
                Members::Triangles(triangles) => {
                    marks[first_triangle..first_triangle + triangles.len()].fill(1);
                    first_triangle += triangles.len();
                }
            }
            grid.cell_marks.push((name, marks));
        }
        grid
    }
}
