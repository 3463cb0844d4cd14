//! Soft balls pressed on a plane and on each other, against Hertz 1882, through the step of the simulation.
//!
//! A body is the part of a ball around its lowest point, held where the rest of the ball begins. Its mesh consists of nested boxes around
//! that point. The radius of the contact is a hundredth of the size of the part, which makes it stiffer than a half-space by about 0.8 %
//! (twice that in a part of half the size), and 1/200 of that of the ball.

use super::scene::{Scene, body, floor};
use hapticd::fem::{FemModel, FemSpec, Mass, Material as Solid, Ordering, Rayleigh};
use hapticd::geometry::tet::TetMesh;
use hapticd::geometry::{Cuboid, Shape};
use hapticd::math::{Pose, Rot, Vec3};
use hapticd::sim::{BodyModel, CorotationalModel, ElasticModel, Motion, Stepping, Steps};
use std::collections::BTreeMap;
use std::sync::Arc;

const GEL: Solid = Solid { young_pa: 100e3, poisson: 0.3, density: 1000.0 };
/// Growth of a box of the mesh over the one inside it.
const GROWTH: f64 = 2.0;
/// Radius of the contact over that of the ball.
const CONTACT: f64 = 0.005;
/// Half-size of the innermost box, even inside, and of the last, in radii of the contact.
const EVEN: f64 = 1.6;
const FAR: f64 = 100.0;

/// Nodes by shell and place on the lattice.
#[derive(Default)]
struct Lattice {
    numbers: BTreeMap<(u32, [i32; 3]), u32>,
    nodes: Vec<Vec3>,
    tets: Vec<[u32; 4]>,
}

impl Lattice {
    fn node(&mut self, shell: u32, v: [i32; 3], scale: f64) -> u32 {
        let next = self.nodes.len() as u32;
        *self.numbers.entry((shell, v)).or_insert_with(|| {
            self.nodes.push(Vec3::new(f64::from(v[0]), f64::from(v[1]), f64::from(v[2])) * scale);
            next
        })
    }

    /// Tetrahedra of a prism; every quadrilateral is split from its least node (Dompierre et al. 1999).
    fn prism(&mut self, inner: [u32; 3], outer: [u32; 3]) {
        // Nodes of the inner triangle came first: the order of its nodes is that of the splits.
        let mut order = [0, 1, 2];
        order.sort_by_key(|k: &usize| inner[*k]);
        let ([a, b, c], [d, e, f]) = (order.map(|k| inner[k]), order.map(|k| outer[k]));
        self.tets.extend([[a, b, c, f], [a, b, f, e], [a, e, f, d]]);
    }
}

/// Nested half-boxes about the origin, `cells` along each half side of the innermost one, bent so that their flat side lies on the sphere of
/// `radius` whose lowest point is the origin.
fn ball(radius: f64, contact: f64, cells: i32) -> TetMesh {
    let mut all = Lattice::default();
    let even = EVEN * contact;
    let scale = even / f64::from(cells);
    // The six tetrahedra around the diagonal of a cell: all faces are split from their lower to their upper corner.
    const WAYS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for x in -cells..cells {
        for y in -cells..cells {
            for z in 0..cells {
                for way in WAYS {
                    let mut at = [x, y, z];
                    let mut tet = [all.node(0, at, scale); 4];
                    for (corner, axis) in tet[1..].iter_mut().zip(way) {
                        at[axis] += 1;
                        *corner = all.node(0, at, scale);
                    }
                    all.tets.push(tet);
                }
            }
        }
    }
    let shells = ((FAR / EVEN).ln() / GROWTH.ln()).ceil();
    let growth = (FAR / EVEN).powf(1.0 / shells);
    for shell in 0..shells as u32 {
        let scales = [shell, shell + 1].map(|k| scale * growth.powi(k as i32));
        for triangle in outside(cells) {
            let at = |all: &mut Lattice, k: usize| triangle.map(|v| all.node(shell + k as u32, v, scales[k]));
            let (inner, outer) = (at(&mut all, 0), at(&mut all, 1));
            all.prism(inner, outer);
        }
    }
    // The plane becomes the sphere: distances from the origin stay, polar angles shrink.
    let bend = |p: &Vec3| {
        let (distance, off) = (p.norm(), p.x.hypot(p.y));
        if off == 0.0 {
            return *p;
        }
        let most = (distance / (2.0 * radius)).acos() / std::f64::consts::FRAC_PI_2;
        let angle = off.atan2(p.z) * most;
        Vec3::new(p.x / off * angle.sin(), p.y / off * angle.sin(), angle.cos()) * distance
    };
    for tet in &mut all.tets {
        let [a, b, c, d] = tet.map(|n| all.nodes[n as usize]);
        if (b - a).cross(&(c - a)).dot(&(d - a)) < 0.0 {
            tet.swap(2, 3);
        }
    }
    let flat = TetMesh::new(all.nodes, all.tets).expect("boxes inside each other").with_midsides();
    let nodes = flat.nodes().iter().map(bend).collect();
    TetMesh::with_parts(nodes, flat.tets().to_vec(), flat.midsides().to_vec(), Vec::new()).expect("bent a little")
}

/// Triangles of the five sides of the half-box, split from lower to upper corners.
fn outside(cells: i32) -> Vec<[[i32; 3]; 3]> {
    let mut triangles = Vec::new();
    let mut side = |place: &dyn Fn(i32, i32) -> [i32; 3], first: i32| {
        for u in -cells..cells {
            for v in first..cells {
                let [a, b, c, d] = [place(u, v), place(u + 1, v), place(u, v + 1), place(u + 1, v + 1)];
                triangles.extend([[a, b, d], [a, d, c]]);
            }
        }
    };
    for end in [-cells, cells] {
        side(&|u, v| [end, u, v], 0);
        side(&|u, v| [u, end, v], 0);
    }
    side(&|u, v| [u, v, cells], -cells);
    triangles
}

/// Part of a ball of `radius` with its lowest point at the origin of its frame: linear, or with large rotations.
fn ball_body(radius: f64, contact: f64, cells: i32, solid: Solid, start: Pose, linear: bool) -> BodyModel {
    let mesh = ball(radius, contact, cells);
    let skin = mesh.fine_skin();
    let mut near: Vec<u32> = skin.iter().flatten().copied().collect();
    near.retain(|n| mesh.nodes()[*n as usize].norm() < 1.7 * contact);
    let mut held: Vec<u32> = skin.iter().flatten().copied().collect();
    held.retain(|n| mesh.nodes()[*n as usize].norm() > 0.9 * FAR * contact);
    held.sort_unstable();
    held.dedup();
    let spec = FemSpec {
        mesh: &mesh,
        materials: &[solid],
        damping: Rayleigh::default(),
        fixed: &held,
        mass: Mass::Lumped,
        ordering: Ordering::LeastFill,
    };
    let fem = Arc::new(FemModel::new(&spec).expect("it is sound"));
    let motion = if linear {
        let model = ElasticModel::new(fem, &mesh, &near, Vec3::zeros(), Stepping::Static);
        Motion::Elastic(Arc::new(model.expect("it is held")))
    } else {
        Motion::Corotational(Arc::new(CorotationalModel::new(fem, &mesh, Vec3::zeros(), Steps::QuasiStatic)))
    };
    let shape = Shape::Cuboid(Cuboid { half: Vec3::repeat(1e-3) });
    body("ball", shape, motion, start)
}

/// Force of Hertz at an approach, for moduli `E/(1 − ν²)` in a row.
fn hertz_n(radius: f64, stiff: f64, approach: f64) -> f64 {
    4.0 / 3.0 * stiff * radius.sqrt() * approach.powf(1.5)
}

#[test]
fn a_soft_ball_on_a_plane_presses_with_the_force_of_hertz() {
    let radius = 0.1;
    let contact = CONTACT * radius;
    let approach = contact * contact / radius;
    let expected = hertz_n(radius, GEL.plane_strain_pa(), approach);
    let ratio = |cells: i32, linear: bool| {
        let ball = ball_body(radius, contact, cells, GEL, Pose::translation(0.0, 0.0, -approach), linear);
        pressed(vec![floor(), ball], approach) / expected
    };
    converge([2, 3, 4].map(|cells| ratio(cells, true)));
    let (linear, turning) = (ratio(2, true), ratio(2, false));
    println!("corotational {turning:.5}");
    assert!((turning / linear - 1.0).abs() < 0.005, "small strains: {turning} {linear}");
}

#[test]
fn two_soft_balls_press_with_the_force_of_hertz() {
    let stiff = Solid { young_pa: 200e3, poisson: 0.4, ..GEL };
    let radii = [0.1, 0.15];
    let radius = 1.0 / (1.0 / radii[0] + 1.0 / radii[1]);
    let modulus = 1.0 / (1.0 / GEL.plane_strain_pa() + 1.0 / stiff.plane_strain_pa());
    let contact = CONTACT * radius;
    let approach = contact * contact / radius;
    let expected = hertz_n(radius, modulus, approach);
    converge([2, 3, 4].map(|cells| {
        let turn =
            Rot::from_axis_angle(&Vec3::x_axis(), std::f64::consts::PI) * Rot::from_axis_angle(&Vec3::z_axis(), 0.3);
        let below = Pose::from_parts(Vec3::zeros().into(), turn);
        let above = Pose::translation(0.0, 0.0, -approach);
        let lower = ball_body(radii[0], contact, cells, GEL, below, true);
        let upper = ball_body(radii[1], contact, cells, stiff, above, true);
        pressed(vec![lower, upper], approach) / expected
    }));
}

/// Force of the first body on the second once it no longer changes, N.
fn pressed(bodies: Vec<BodyModel>, approach: f64) -> f64 {
    let mut scene = Scene::new(bodies, 0.0, 60.0);
    scene.model.margin_m = 0.1 * approach;
    let mut scene = Scene::of(scene.model);
    let (mut before, mut report) = (0.0, scene.step());
    while scene.data.stamp.sequence < 20 && (scene.force_on(1, 0).z / before - 1.0_f64).abs() > 1e-6 {
        before = scene.force_on(1, 0).z;
        report = scene.step();
    }
    assert!(report.converged && report.penetration_m < 1e-3 * approach, "{report:?}");
    scene.force_on(1, 0).z
}

/// The error of each mesh is smaller than that of the one before, and that of the last one less than 3 %.
fn converge(ratios: [f64; 3]) {
    println!("{ratios:.5?} of the force of Hertz");
    let errors = ratios.map(|ratio| (ratio - 1.0).abs());
    assert!(errors[1] < 0.7 * errors[0] && errors[2] < 0.7 * errors[1], "{ratios:?}");
    assert!(errors[2] < 0.03, "{ratios:?}");
}
