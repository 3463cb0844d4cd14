//! The surface of a soft body that contacts are detected on.
//!
//! Thread: cold.

use crate::collision::soft::SoftSurface;
use crate::geometry::tet::TetMesh;

/// Surface nodes of a finite element body and the triangles between them. Faces with midside nodes are four triangles.
pub struct SoftSkin {
    /// The body's node behind each point of the surface.
    pub(in crate::sim) nodes: Vec<u32>,
    pub(in crate::sim) surface: SoftSurface,
}

impl std::fmt::Debug for SoftSkin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SoftSkin of {} nodes", self.nodes.len())
    }
}

impl SoftSkin {
    /// The whole surface of `mesh`.
    #[must_use]
    pub fn new(mesh: &TetMesh) -> Self {
        Self::of(mesh, |_| true)
    }

    /// The triangles whose nodes are all among `touching`, sorted; single nodes of it belong to the surface too.
    #[must_use]
    pub fn touching(mesh: &TetMesh, touching: &[u32]) -> Self {
        Self::of(mesh, |node| touching.binary_search(&node).is_ok())
    }

    /// Nodes numbered from zero at these places, and triangles between them that face outwards.
    #[must_use]
    pub fn of_triangles(rest: &[crate::math::Vec3], triangles: &[[u32; 3]]) -> Self {
        Self { nodes: (0..rest.len() as u32).collect(), surface: SoftSurface::new(rest, triangles) }
    }

    fn of(mesh: &TetMesh, own: impl Fn(u32) -> bool) -> Self {
        let mut triangles = mesh.fine_skin();
        let mut nodes: Vec<u32> = triangles.iter().flatten().copied().filter(|node| own(*node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        triangles.retain(|triangle| triangle.iter().all(|node| own(*node)));
        let point_of = |node: &u32| nodes.binary_search(node).unwrap_or(0) as u32;
        let triangles: Vec<[u32; 3]> = triangles.iter().map(|triangle| triangle.each_ref().map(point_of)).collect();
        let rest: Vec<_> = nodes.iter().map(|node| mesh.nodes()[*node as usize]).collect();
        Self { surface: SoftSurface::new(&rest, &triangles), nodes }
    }
}
