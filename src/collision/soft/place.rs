//! The changing part of a deformable body's surface: where its points are and were, its normals, its boxes.
//!
//! Thread: simulation (no heap after the first refit).
//!
//! The box of a triangle covers its positions at the start of the step and now, plus half of the margin on every side, so
//! that boxes of features within the margin overlap. The box also reaches inwards by [`SoftPlace::reach`], so that a node
//! that already lies below the surface is found from there.

use super::surface::SoftSurface;
use super::tree::Extent;
use crate::math::Vec3;

/// Share of the rest thickness below a triangle within which a node is assigned to that triangle.
pub(super) const DEPTH_OF_THICKNESS: f64 = 0.9;
/// Cosine beyond which a triangle faces against a direction: 75°. Greater values lose contacts of sharp tips that lie on their
/// side; at zero, the flank of a body would touch the flank of the body that it stands flush with.
const FACING: f64 = 0.25;

/// Where a soft surface is in this step.
#[derive(Clone, Debug)]
pub struct SoftPlace {
    pub(super) now: Vec<Vec3>,
    pub(super) before: Vec<Vec3>,
    /// Outward unit normals of the triangles, now.
    pub(super) normals: Vec<Vec3>,
    /// Boxes of the triangles.
    pub(super) faces: Vec<Extent>,
    /// Boxes of the tree's cells.
    pub(super) cells: Vec<Extent>,
    pub(super) margin: f64,
}

impl SoftPlace {
    /// Empty until the first [`SoftPlace::refit`].
    #[must_use]
    pub fn new(surface: &SoftSurface) -> Self {
        let faces = surface.triangles().len();
        Self {
            now: Vec::with_capacity(surface.points()),
            before: Vec::with_capacity(surface.points()),
            normals: Vec::with_capacity(faces),
            faces: Vec::with_capacity(faces),
            cells: Vec::with_capacity(surface.tree.cells.len()),
            margin: 0.0,
        }
    }

    /// Takes the world positions of the surface points now and at the start of the step, m. `margin_m` must be at least that of
    /// the queries that follow. No allocation after the first call.
    pub fn refit(&mut self, surface: &SoftSurface, now: &[Vec3], before: &[Vec3], margin_m: f64) {
        self.margin = margin_m;
        self.now.clear();
        self.now.extend_from_slice(now);
        self.before.clear();
        self.before.extend_from_slice(before);
        self.normals.clear();
        self.faces.clear();
        for face in 0..surface.triangles().len() {
            let [a, b, c] = surface.corners(face as u32, now);
            let across = (b - a).cross(&(c - a));
            let length = across.norm();
            let normal = if length > 0.0 { across / length } else { Vec3::zeros() };
            let mut extent = Extent::of(&[a, b, c]);
            surface.corners(face as u32, before).iter().for_each(|p| extent.add(p));
            let inward = normal * -self.reach(surface, face as u32);
            [a, b, c].iter().for_each(|p| extent.add(&(p + inward)));
            self.normals.push(normal);
            self.faces.push(extent.grow(0.5 * margin_m));
        }
        surface.tree.refit(&self.faces, &mut self.cells);
    }

    /// Depth below a triangle down to which nodes are found without a crossing in this step, m.
    pub(super) fn reach(&self, surface: &SoftSurface, face: u32) -> f64 {
        let face = face as usize;
        (DEPTH_OF_THICKNESS * surface.thickness[face]).min(surface.face_size[face] + self.margin)
    }

    /// Bounds of the surface now and at the start of the step, margin included.
    #[must_use]
    pub fn aabb(&self) -> (Vec3, Vec3) {
        let all = self.cells.first().copied().unwrap_or(Extent::EMPTY);
        (Vec3::from_fn(|k, _| all.low[k]), Vec3::from_fn(|k, _| all.high[k]))
    }

    /// Positions of the surface points now, m.
    #[must_use]
    pub fn now(&self) -> &[Vec3] {
        &self.now
    }

    /// True if the surface around a node faces against `normal`: some triangle there can touch a surface that lies below.
    pub(super) fn faces_towards(&self, surface: &SoftSurface, node: u32, normal: &Vec3) -> bool {
        surface.faces_about(node).iter().any(|face| self.normals[*face as usize].dot(normal) < -FACING)
    }

    /// Sum of the normals of the triangles around a node, each weighted by its angle there: not of unit length.
    pub(super) fn node_normal(&self, surface: &SoftSurface, node: u32) -> Vec3 {
        let mut sum = Vec3::zeros();
        for face in surface.faces_about(node) {
            sum += self.normals[*face as usize] * self.angle(surface, *face, node);
        }
        sum
    }

    /// Angle of a triangle at one of its corners: the weight that makes the sign of the distance exact (Bærentzen and Aanæs
    /// 2005).
    fn angle(&self, surface: &SoftSurface, face: u32, node: u32) -> f64 {
        let corners = surface.triangles()[face as usize];
        let k = corners.iter().position(|c| *c == node).unwrap_or(0);
        let at = |j: usize| self.now[corners[(k + j) % 3] as usize];
        let (u, v) = (at(1) - at(0), at(2) - at(0));
        u.cross(&v).norm().atan2(u.dot(&v))
    }

    /// Sum of the normals on both sides of an edge.
    pub(super) fn edge_normal(&self, surface: &SoftSurface, edge: u32) -> Vec3 {
        surface.edges[edge as usize].faces.iter().filter_map(|face| self.normals.get(*face as usize)).sum()
    }
}
