//! Mass properties of a closed mesh: exact integrals of the polyhedron, one tetrahedron per triangle.
//!
//! Thread: cold.

use super::super::MassProperties;
use super::super::mass::Moments;
use super::TriMesh;
use crate::math::{Mat3, Vec3};

impl TriMesh {
    /// Volume and its moments about `apex`. Each triangle makes a tetrahedron with the apex, counted negative where the
    /// triangle faces it: `∫ x = V (a+b+c)/4`, `∫ x xᵀ = V/20 (s sᵀ + a aᵀ + b bᵀ + c cᵀ)`, `s = a+b+c`.
    fn moments_about(&self, apex: &Vec3) -> Moments {
        let (mut mass, mut first, mut second) = (0.0, Vec3::zeros(), Mat3::zeros());
        for t in 0..self.triangles().len() {
            let [a, b, c] = self.corners(t).map(|p| p - apex);
            let volume = a.dot(&b.cross(&c)) / 6.0;
            let sum = a + b + c;
            mass += volume;
            first += sum * (volume / 4.0);
            let squares = sum * sum.transpose() + a * a.transpose() + b * b.transpose() + c * c.transpose();
            second += squares * (volume / 20.0);
        }
        Moments { mass, first, inertia: Mat3::identity() * second.trace() - second }
    }

    /// Middle of the bounds: moments about it lose the fewest digits.
    fn middle(&self) -> Vec3 {
        let bounds = self.aabb();
        0.5 * (bounds.min + bounds.max)
    }

    /// Signed volume, m³; negative when the mesh is inside out. Means something for a closed mesh only.
    #[must_use]
    pub fn volume(&self) -> f64 {
        self.moments_about(&self.middle()).mass
    }

    /// Mass, centre and inertia of the solid inside for a density in kg/m³; none when there is no volume inside. Means
    /// something for a closed mesh only.
    #[must_use]
    pub fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        let middle = self.middle();
        let moments = self.moments_about(&middle);
        if !(moments.mass > 0.0) {
            return None;
        }
        let about_middle = moments.properties(density);
        Some(MassProperties { center: about_middle.center + middle, ..about_middle })
    }
}
