//! A closed mesh as a solid: exact signed distance and outward normal.
//!
//! Thread: built cold; asked from any (RT safe: no heap, a bounded walk).
//!
//! The distance is that to the nearest triangle. Its sign comes from the pseudo-normal at the nearest point: of a face
//! its normal, of an edge the sum of its two faces', of a vertex the sum of its faces' normals weighted by their angles
//! there (Bærentzen and Aanæs 2005). That sign is exact for every closed mesh, also where the nearest point is a sharp
//! corner.

use super::super::surface::direction_or;
use super::super::{BoundingSphere, Distance, Surface};
use super::topology::{edges, sides};
use super::{Bvh, Checks, MeshReport, Nearest, Part, RayHit, TriMesh};
use crate::math::Vec3;

/// A closed mesh with the tree and the normals that distances need.
#[derive(Clone, Debug)]
pub struct MeshSurface {
    mesh: TriMesh,
    bvh: Bvh,
    face_normals: Vec<Vec3>,
    /// For each triangle, those of its three sides.
    side_normals: Vec<[Vec3; 3]>,
    vertex_normals: Vec<Vec3>,
    convex: bool,
    sphere: BoundingSphere,
}

impl MeshSurface {
    /// Prepares a mesh for queries.
    ///
    /// # Errors
    /// If the mesh does not bound a solid; the report says why.
    pub fn new(mesh: TriMesh) -> Result<Self, MeshReport> {
        let report = mesh.validate(&Checks::default());
        if !report.is_sound() {
            return Err(report);
        }
        let count = mesh.triangles().len();
        let face_normals: Vec<Vec3> = (0..count).map(|t| mesh.area_normal(t).normalize()).collect();
        let mut side_normals = vec![[Vec3::zeros(); 3]; count];
        let size = mesh.aabb().size().norm();
        let mut convex = report.shells == 1;
        for edge in edges(&sides(&mesh)) {
            let sum: Vec3 = edge.iter().map(|s| face_normals[s.triangle as usize]).sum();
            for side in edge {
                let (t, k) = (side.triangle as usize, side.side as usize);
                // Two faces folded onto each other have no sum; then either will do.
                side_normals[t][k] = direction_or(&sum, face_normals[t]);
                // Convex where the far corner of each neighbour lies behind the other's plane.
                let far = mesh.corners(t)[(k + 2) % 3] - mesh.corners(t)[k];
                convex &= edge.iter().all(|other| face_normals[other.triangle as usize].dot(&far) <= 1e-12 * size);
            }
        }
        let vertex_normals = vertex_normals(&mesh, &face_normals);
        let bounds = mesh.aabb();
        let center = 0.5 * (bounds.min + bounds.max);
        let radius = mesh.vertices().iter().map(|v| (v - center).norm()).fold(0.0, f64::max);
        let sphere = BoundingSphere { center, radius };
        Ok(Self { bvh: Bvh::new(&mesh), mesh, face_normals, side_normals, vertex_normals, convex, sphere })
    }

    /// The mesh.
    #[must_use]
    pub fn mesh(&self) -> &TriMesh {
        &self.mesh
    }

    /// The tree over its triangles.
    #[must_use]
    pub fn bvh(&self) -> &Bvh {
        &self.bvh
    }

    /// Outward unit normal of a point of the surface: of the face, or the mean over the edge or corner it lies on.
    #[must_use]
    pub fn pseudo_normal(&self, triangle: u32, part: Part) -> Vec3 {
        let t = triangle as usize;
        match part {
            Part::Face => self.face_normals[t],
            Part::Side(k) => self.side_normals[t][usize::from(k)],
            Part::Corner(k) => self.vertex_normals[self.mesh.triangles()[t][usize::from(k)] as usize],
        }
    }

    /// Signed distance, outward normal and the nearest point itself. `hint` is the triangle of an answer for a point
    /// close by: faster, and the same answer.
    #[must_use]
    pub fn query(&self, point: &Vec3, hint: Option<u32>) -> (Distance, Nearest) {
        let nearest = self.bvh.nearest(point, hint);
        let away = point - nearest.point;
        let pseudo = self.pseudo_normal(nearest.triangle, nearest.part);
        let sign = if away.dot(&pseudo) < 0.0 { -1.0 } else { 1.0 };
        let normal = match nearest.part {
            // The same direction as `away`, with more digits.
            Part::Face => pseudo,
            _ => direction_or(&(away * sign), pseudo),
        };
        (Distance { distance: sign * away.norm(), normal }, nearest)
    }

    /// The first triangle a ray meets, from either side.
    #[must_use]
    pub fn ray(&self, origin: &Vec3, direction: &Vec3, limit: f64) -> Option<RayHit> {
        self.bvh.ray(origin, direction, limit)
    }
}

/// Sum of the normals of the faces at each vertex, each weighted by the angle of the face there; unit length.
fn vertex_normals(mesh: &TriMesh, face_normals: &[Vec3]) -> Vec<Vec3> {
    let mut sums = vec![Vec3::zeros(); mesh.vertices().len()];
    let mut any = vec![Vec3::z(); mesh.vertices().len()];
    for (t, corners) in mesh.triangles().iter().enumerate() {
        let p = mesh.corners(t);
        for k in 0..3 {
            let (u, v) = (p[(k + 1) % 3] - p[k], p[(k + 2) % 3] - p[k]);
            let angle = u.cross(&v).norm().atan2(u.dot(&v));
            sums[corners[k] as usize] += face_normals[t] * angle;
            any[corners[k] as usize] = face_normals[t];
        }
    }
    sums.iter().zip(any).map(|(sum, any)| direction_or(sum, any)).collect()
}

impl Surface for MeshSurface {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        self.query(point, None).0
    }

    fn is_convex(&self) -> bool {
        self.convex
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        self.sphere
    }
}
