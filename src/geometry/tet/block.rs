//! Beams and blocks from their dimensions: a grid of bricks, each cut into tetrahedra.
//!
//! Thread: cold.

use super::{Group, Members, TetMesh, TetMeshError};
use crate::math::Vec3;

/// How a brick is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Five tetrahedra, mirrored from brick to brick so that faces meet: fewest elements, no preferred direction.
    Five,
    /// Six around the diagonal of the brick (Kuhn): every brick alike, so that refining by two nests.
    Six,
}

/// A block with one corner at the origin, its sides along the axes. The six faces are groups of triangles called `x0`,
/// `x1`, `y0`, `y1`, `z0`, `z1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSpec {
    /// Lengths along x, y and z, m.
    pub size: Vec3,
    /// Bricks along x, y and z.
    pub cells: [u32; 3],
    /// How bricks are cut.
    pub split: Split,
}

/// Corners of a brick are numbered by bits: 1 for x, 2 for y, 4 for z.
const FIVE: [[usize; 4]; 5] = [[0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2], [1, 2, 4, 7]];
/// Paths from corner 0 to corner 7 along the axes in every order.
const SIX: [[usize; 4]; 6] = [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]];

impl BlockSpec {
    /// A beam along x of square section, with bricks as near to cubes as may be, `across` of them side by side.
    #[must_use]
    pub fn beam(length: f64, side: f64, across: u32) -> Self {
        let along = (length / side * f64::from(across)).round().clamp(1.0, 1e6) as u32;
        Self { size: Vec3::new(length, side, side), cells: [along, across, across], split: Split::Six }
    }

    fn node(&self, at: [u32; 3]) -> u32 {
        let [nx, ny, _] = self.cells;
        at[0] + (nx + 1) * (at[1] + (ny + 1) * at[2])
    }

    /// The mesh.
    ///
    /// # Errors
    /// When a length or number of bricks is not positive, or there are too many of them.
    pub fn mesh(&self) -> Result<TetMesh, TetMeshError> {
        let count = self.cells.iter().map(|n| f64::from(*n) + 1.0).product::<f64>();
        if self.cells.contains(&0) || !self.size.iter().all(|x| *x > 0.0) {
            return Err(TetMeshError::Empty);
        }
        if count > 1e7 {
            return Err(TetMeshError::TooLarge);
        }
        let even = |axis: usize| -> Vec<f64> {
            let count = self.cells[axis];
            (0..=count).map(|k| f64::from(k) / f64::from(count) * self.size[axis]).collect()
        };
        let mesh = self.between([even(0), even(1), even(2)])?;
        let groups = self.faces(&mesh);
        groups.into_iter().try_fold(mesh, TetMesh::with_group)
    }

    /// The bricks between these lines across x, y and z, cut into tetrahedra, brick by brick and layer by layer.
    pub(super) fn between(&self, lines: [Vec<f64>; 3]) -> Result<TetMesh, TetMeshError> {
        let ([nx, ny, nz], [xs, ys, zs]) = (self.cells, lines);
        let mut nodes = Vec::with_capacity(xs.len() * ys.len() * zs.len());
        for z in &zs {
            for y in &ys {
                nodes.extend(xs.iter().map(|x| Vec3::new(*x, *y, *z)));
            }
        }
        let mut tets = Vec::new();
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    self.cut([x, y, z], &mut tets);
                }
            }
        }
        TetMesh::new(nodes, tets)
    }

    /// Cuts the brick at `[x, y, z]`.
    fn cut(&self, [x, y, z]: [u32; 3], tets: &mut Vec<[u32; 4]>) {
        // Five need a mirrored neighbour; a mirror image turns a tetrahedron inside out, so two corners are swapped
        // back.
        let mirrored = self.split == Split::Five && (x + y + z) % 2 == 1;
        let corner = |k: usize| {
            let k = if mirrored { k ^ 1 } else { k } as u32;
            self.node([x + (k & 1), y + (k >> 1 & 1), z + (k >> 2)])
        };
        let cuts: &[[usize; 4]] = if self.split == Split::Five { &FIVE } else { &SIX };
        for cut in cuts {
            let [a, b, c, d] = cut.map(corner);
            tets.push(if mirrored { [a, c, b, d] } else { [a, b, c, d] });
        }
    }

    /// The six faces as groups.
    fn faces(&self, mesh: &TetMesh) -> Vec<Group> {
        let skin = mesh.skin();
        let mut groups = Vec::new();
        for (axis, letter) in ["x", "y", "z"].iter().enumerate() {
            for (end, at) in [(0, 0.0), (1, self.size[axis])] {
                let on = |t: &&[u32; 3]| {
                    t.iter().all(|n| (mesh.nodes()[*n as usize][axis] - at).abs() < 1e-12 * self.size[axis])
                };
                let triangles = skin.triangles.iter().filter(on).copied().collect();
                groups.push(Group { name: format!("{letter}{end}"), members: Members::Triangles(triangles) });
            }
        }
        groups
    }
}
