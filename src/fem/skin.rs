//! The skin of a body as it is drawn: where its points are, and the stress there.
//!
//! Thread: simulation (storage is taken at construction; frames do not allocate).
//!
//! Stress is exact at the points inside an element where strains are taken. With ten nodes it is linear in between and carried
//! on to the corners, so that what bends shows the stress of its surface; with four it is the same all over the element. Elements that
//! share a corner disagree: their stresses are averaged there, weighted by volume, before von Mises' is taken.

use super::elements::stress;
use super::model::FemModel;
use super::rows::Attachment;
use crate::geometry::tet::TetMesh;
use crate::math::{Mat3, Vec3};

/// Corner `corner` of an element is point `point` of the skin.
#[derive(Clone, Copy, Debug)]
struct Corner {
    element: u32,
    corner: u8,
    point: u32,
}

/// See the file's head. Its points are the corners of elements on the surface, and of those on surfaces inside between two materials.
#[derive(Clone, Debug)]
pub struct FemSkin {
    nodes: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    inner: Vec<[u32; 3]>,
    /// In the order of elements.
    corners: Vec<Corner>,
    /// Volume of the elements around each point, m³.
    around: Vec<f64>,
}

impl FemSkin {
    /// The skin of `mesh`, which `model` was made from.
    #[must_use]
    pub fn new(model: &FemModel, mesh: &TetMesh) -> Self {
        Self::with_inner(model, mesh, &[])
    }

    /// The same with the surfaces inside that lie between two materials.
    #[must_use]
    pub fn with_materials(model: &FemModel, mesh: &TetMesh) -> Self {
        // Lamé's second parameter tells materials apart, and which is stiffer.
        Self::with_inner(model, mesh, &mesh.interfaces(|tet| model.elements.lame[tet as usize].1))
    }

    fn with_inner(model: &FemModel, mesh: &TetMesh, inner: &[[u32; 3]]) -> Self {
        let skin = mesh.skin();
        let mut nodes: Vec<u32> = skin.triangles.iter().chain(inner).flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let point_of = |node: &u32| nodes.binary_search(node).ok();
        let of_points = |triangles: &[[u32; 3]]| {
            triangles.iter().map(|t| t.each_ref().map(|n| point_of(n).unwrap_or(0) as u32)).collect()
        };
        let (triangles, inner) = (of_points(&skin.triangles), of_points(inner));
        let (mut corners, mut around) = (Vec::new(), vec![0.0; nodes.len()]);
        for element in 0..model.elements.count() {
            for (corner, node) in (0..4).zip(model.elements.nodes_of(element)) {
                if let Some(point) = point_of(node) {
                    corners.push(Corner { element: element as u32, corner, point: point as u32 });
                    around[point] += model.volume_of(element);
                }
            }
        }
        Self { nodes, triangles, inner, corners, around }
    }

    /// The body's node behind each point.
    #[must_use]
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Its triangles by number of the point, anticlockwise from outside.
    #[must_use]
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Likewise the triangles inside, between two materials: anticlockwise from the softer one.
    #[must_use]
    pub fn inner(&self) -> &[[u32; 3]] {
        &self.inner
    }

    /// Calls `each` with the number of every point, its place in the frame of the body, m, and von Mises' stress there, Pa, when
    /// the body has the displacements `x`. `work` is room that can be used again.
    pub fn draw(&self, model: &FemModel, x: &[f64], work: &mut Vec<Mat3>, mut each: impl FnMut(usize, Vec3, f64)) {
        work.clear();
        work.resize(self.nodes.len(), Mat3::zeros());
        for corners in self.corners.chunk_by(|a, b| a.element == b.element) {
            let element = corners[0].element as usize;
            let (stresses, volume) = (model.corner_stresses(element, x), model.volume_of(element));
            for at in corners {
                work[at.point as usize] += stresses[usize::from(at.corner)] * volume;
            }
        }
        for (point, node) in self.nodes.iter().enumerate() {
            let place = model.rest[*node as usize] + model.field_at(&Attachment::node(*node), x);
            each(point, place, von_mises(&(work[point] / self.around[point])));
        }
    }
}

impl FemModel {
    pub(super) fn volume_of(&self, element: usize) -> f64 {
        (0..self.elements.points).map(|point| self.elements.weight_at(element, point)).sum()
    }

    /// Stress at the corners of an element, Pa.
    fn corner_stresses(&self, element: usize, x: &[f64]) -> [Mat3; 4] {
        let (elements, u) = (&self.elements, self.at_nodes(element, x));
        let at = |point: usize| stress(elements.lame[element], &elements.displacement_gradient(element, point, &u));
        if elements.points == 1 {
            return [at(0); 4];
        }
        // Each point lies towards one corner: a of it, b of each other corner, a + 3b = 1.
        let [a, b, ..] = super::shape::strain_points(elements.width)[0].0;
        let inside = [0, 1, 2, 3].map(at);
        let sum: Mat3 = inside.iter().sum();
        inside.map(|own| (own - sum * b) / (a - b))
    }
}

/// The stress in simple tension that is as near to yielding as `stress`.
fn von_mises(stress: &Mat3) -> f64 {
    let deviator = stress - Mat3::identity() * (stress.trace() / 3.0);
    (1.5 * deviator.norm_squared()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::{FemSpec, Mass, Material, Ordering, Rayleigh};
    use super::*;
    use crate::geometry::tet::{BlockSpec, Region, Split};

    const MATERIAL: Material = Material { young_pa: 2e8, poisson: 0.3, density: 1000.0 };

    fn beam(quadratic: bool) -> (TetMesh, FemModel) {
        let block = BlockSpec { size: Vec3::new(0.06, 0.02, 0.02), cells: [6, 2, 2], split: Split::Six };
        let mut mesh = block.mesh().expect("a block");
        if quadratic {
            mesh = mesh.with_midsides();
        }
        let model = FemModel::new(&FemSpec {
            mesh: &mesh,
            materials: &[MATERIAL],
            damping: Rayleigh::default(),
            fixed: &[],
            mass: Mass::Consistent,
            ordering: Ordering::LeastFill,
        });
        let model = model.expect("a body");
        (mesh, model)
    }

    fn drawn(mesh: &TetMesh, model: &FemModel, field: impl Fn(Vec3) -> Vec3) -> Vec<(Vec3, Vec3, f64)> {
        let x = model.gather(|node| field(mesh.nodes()[node as usize]));
        let skin = FemSkin::new(model, mesh);
        let mut out = Vec::new();
        skin.draw(model, &x, &mut Vec::new(), |point, place, stress| {
            assert_eq!(point, out.len());
            out.push((mesh.nodes()[skin.nodes()[point] as usize], place, stress));
        });
        out
    }

    #[test]
    fn a_bar_that_is_stretched_has_the_stress_of_hooke_everywhere() {
        let strain = 1e-3;
        let stretch = |p: Vec3| Vec3::new(p.x, -MATERIAL.poisson * p.y, -MATERIAL.poisson * p.z) * strain;
        for quadratic in [false, true] {
            let (mesh, model) = beam(quadratic);
            let all = drawn(&mesh, &model, stretch);
            assert_eq!(all.len(), 7 * 3 * 3 - 5, "the corners of bricks but those inside");
            for (rest, place, stress) in all {
                assert!((place - rest - stretch(rest)).norm() < 1e-15, "{place} from {rest}");
                assert!((stress / (MATERIAL.young_pa * strain) - 1.0).abs() < 1e-9, "{stress} Pa");
            }
        }
    }

    #[test]
    fn a_bar_that_is_bent_has_most_stress_at_its_surface() {
        let (curvature, nu) = (0.05, MATERIAL.poisson);
        // Pure bending about y, exact: the only stress is that along x, E κ z from the middle.
        let bend = |p: Vec3| {
            let (x, y, z) = (p.x, p.y - 0.01, p.z - 0.01);
            let down = -0.5 * (x * x + nu * (z * z - y * y));
            Vec3::new(x * z, -nu * y * z, down) * curvature
        };
        let (mesh, model) = beam(true);
        for (rest, _, stress) in drawn(&mesh, &model, bend) {
            let exact = MATERIAL.young_pa * curvature * (rest.z - 0.01).abs();
            assert!((stress - exact).abs() < 1e-6 * MATERIAL.young_pa * curvature * 0.01, "{stress} Pa at {rest}");
        }
    }

    #[test]
    fn triangles_close_and_look_outwards() {
        let (mesh, model) = beam(true);
        let skin = FemSkin::new(&model, &mesh);
        let at = |point: u32| mesh.nodes()[skin.nodes()[point as usize] as usize];
        let volume: f64 = skin.triangles().iter().map(|[a, b, c]| at(*a).dot(&at(*b).cross(&at(*c))) / 6.0).sum();
        assert!((volume / (0.06 * 0.02 * 0.02) - 1.0).abs() < 1e-12, "{volume} m³");
    }

    #[test]
    fn the_surface_of_a_stiff_part_inside_closes_and_looks_towards_the_softer_one() {
        let block = BlockSpec { size: Vec3::new(0.04, 0.04, 0.04), cells: [4, 4, 4], split: Split::Five };
        let mesh = block.mesh().expect("a block").with_midsides();
        let core = Region::Box { from: Vec3::repeat(0.01), to: Vec3::repeat(0.03) };
        let mut materials = vec![MATERIAL; mesh.tets().len()];
        mesh.tets_in(&core).iter().for_each(|tet| materials[*tet as usize].young_pa *= 3.0);
        let spec = FemSpec {
            mesh: &mesh,
            materials: &materials,
            damping: Rayleigh::default(),
            fixed: &[],
            mass: Mass::Consistent,
            ordering: Ordering::LeastFill,
        };
        let model = FemModel::new(&spec).expect("a body");
        assert!(FemSkin::new(&model, &mesh).inner().is_empty());
        let skin = FemSkin::with_materials(&model, &mesh);
        let at = |point: u32| mesh.nodes()[skin.nodes()[point as usize] as usize];
        let volume: f64 = skin.inner().iter().map(|[a, b, c]| at(*a).dot(&at(*b).cross(&at(*c))) / 6.0).sum();
        assert!((volume / 8e-6 - 1.0).abs() < 1e-9, "{volume} m³");
        assert_eq!(skin.triangles().len(), FemSkin::new(&model, &mesh).triangles().len());
    }

    #[test]
    fn pressure_alone_is_no_stress_of_von_mises_and_shear_counts_as_root_three() {
        assert!(von_mises(&(Mat3::identity() * 5.0)) < 1e-12);
        let shear = Mat3::new(0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        assert!((von_mises(&shear) - 2.0 * 3.0_f64.sqrt()).abs() < 1e-12);
    }
}
