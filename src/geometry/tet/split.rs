//! A mesh cut finer: each tetrahedron of ten nodes becomes eight of four.
//!
//! Thread: cold.

use super::tet_mesh::{MIDSIDES, TetMesh, TetMeshError};

/// The three ways to cut the octahedron between the midside nodes, each by one diagonal: its ends, then the ring around it.
/// Midsides as in [`MIDSIDES`].
const DIAGONALS: [([usize; 2], [usize; 4]); 3] =
    [([0, 5], [1, 2, 3, 4]), ([1, 3], [0, 2, 5, 4]), ([2, 4], [0, 1, 5, 3])];

impl TetMesh {
    /// The mesh with every tetrahedron cut in eight at its midside nodes: one at each corner, and four around the shortest
    /// diagonal of the octahedron that is left. Groups are not kept.
    ///
    /// # Errors
    /// When there are no midside nodes, or too many tetrahedra come out.
    pub fn split(&self) -> Result<Self, TetMeshError> {
        if !self.is_quadratic() {
            return Err(TetMeshError::MixedOrder { tets: self.tets().len(), midsides: 0 });
        }
        let at = |node: u32| self.nodes()[node as usize];
        let mut tets = Vec::with_capacity(8 * self.tets().len());
        for (corners, middles) in self.tets().iter().zip(self.midsides()) {
            for corner in 0..4 {
                // The tetrahedron shrunk towards this corner.
                tets.push(std::array::from_fn(|k| {
                    let side = MIDSIDES.iter().position(|[a, b]| [*a, *b].contains(&corner) && [*a, *b].contains(&k));
                    side.filter(|_| k != corner).map_or(corners[corner], |side| middles[side])
                }));
            }
            let length = |([a, b], _): &([usize; 2], [usize; 4])| (at(middles[*a]) - at(middles[*b])).norm();
            let shortest = DIAGONALS.iter().min_by(|a, b| length(a).total_cmp(&length(b)));
            let (ends, ring) = shortest.expect("there are three");
            for k in 0..4 {
                let [a, b, c, d] = [ends[0], ends[1], ring[k], ring[(k + 1) % 4]].map(|m| middles[m]);
                let volume = (at(b) - at(a)).cross(&(at(c) - at(a))).dot(&(at(d) - at(a)));
                tets.push(if volume > 0.0 { [a, b, c, d] } else { [b, a, c, d] });
            }
        }
        Self::new(self.nodes().to_vec(), tets)
    }
}
