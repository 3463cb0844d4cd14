//! Soft bodies in scenes, stepped as the simulation steps them: the rows `scene/…` of the suite `fem`.
//!
//! Thread: main.
//!
//! Jelly cubes of 40 mm with 729 nodes each fall 10 mm and come to rest, again and again: on a floor, on each other, and two beside each other,
//! which are two islands. A step is everything that the simulation does: detection, assembly, solve, settling.

use super::fem_rig::{Stopwatch, failed};
use super::{BenchError, Options, Record, Report, Summary};
use crate::fem::{FemModel, FemSpec, Mass, Material as Solid, Ordering, Rayleigh};
use crate::geometry::tet::{BlockSpec, Split, TetMesh};
use crate::geometry::{Cuboid, HalfSpace, Shape};
use crate::math::{Pose, Vec3};
use crate::sim::{BodyModel, CorotationalModel, Material, Motion, SimData, SimModel, Steps, step};
use std::sync::Arc;
use std::time::Instant;

const JELLY: Solid = Solid { young_pa: 50e3, poisson: 0.3, density: 1000.0 };
const DAMPING: Rayleigh = Rayleigh { mass_per_s: 0.0, stiffness_s: 2e-3 };
const FRICTION: f64 = 0.5;
/// Side of a cube, bricks along it, and height from which it falls, m.
const SIDE: f64 = 0.04;
const CELLS: u32 = 4;
const DROP: f64 = 0.01;
/// Steps in a second, contact margin, m, and steps of one fall.
const RATE_HZ: f64 = 250.0;
const MARGIN_M: f64 = 2e-3;
const STEPS: usize = 250;

/// Scenes and the centres of their cubes, in sides of a cube.
const SCENES: [(&str, &[[f64; 3]]); 3] = [
    ("free-body", &[[0.0, 0.0, 0.5]]),
    ("soft-on-soft", &[[0.0, 0.0, 0.5], [0.2, 0.1, 1.75]]),
    ("two-islands", &[[0.0, 0.0, 0.5], [2.0, 0.0, 0.5]]),
];

pub(super) fn body(name: &str, shape: Shape, motion: Motion, start: Pose) -> BodyModel {
    BodyModel { name: name.into(), shape, field: None, pose_body_shape: Pose::identity(), motion, material: 0, start }
}

/// The model of a cube about its centre.
pub(super) fn cube() -> Result<Arc<CorotationalModel>, BenchError> {
    let spec = BlockSpec { size: Vec3::repeat(SIDE), cells: [CELLS; 3], split: Split::Six };
    let mesh = spec.mesh().map_err(failed)?;
    let nodes = mesh.nodes().iter().map(|node| node - Vec3::repeat(0.5 * SIDE)).collect();
    let mesh = TetMesh::new(nodes, mesh.tets().to_vec()).map_err(failed)?.with_midsides();
    let spec = FemSpec {
        mesh: &mesh,
        materials: &[JELLY],
        damping: DAMPING,
        fixed: &[],
        mass: Mass::Lumped,
        ordering: Ordering::LeastFill,
    };
    let fem = Arc::new(FemModel::new(&spec).map_err(failed)?);
    Ok(Arc::new(CorotationalModel::new(fem, &mesh, Vec3::new(0.0, 0.0, -9.81), Steps::Implicit)))
}

pub(super) fn scene(cube: &Arc<CorotationalModel>, centers: &[[f64; 3]]) -> SimModel {
    let mut bodies = vec![body("floor", Shape::HalfSpace(HalfSpace), Motion::Fixed, Pose::identity())];
    bodies.extend(centers.iter().map(|[x, y, z]| {
        let start = Pose::translation(SIDE * x, SIDE * y, SIDE * z + DROP);
        let shape = Shape::Cuboid(Cuboid { half: Vec3::repeat(0.5 * SIDE) });
        body("cube", shape, Motion::Corotational(cube.clone()), start)
    }));
    SimModel {
        bodies,
        materials: vec![Material { name: "jelly".into(), friction: FRICTION, restitution: 0.0 }],
        gravity: Vec3::new(0.0, 0.0, -9.81),
        ..SimModel::empty(RATE_HZ, MARGIN_M)
    }
}

/// Measures all scenes.
pub(super) fn run(suite: &'static str, options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let cube = cube()?;
    for (name, centers) in SCENES {
        let model = scene(&cube, centers);
        let name = format!("scene/{name}");
        let (mut times, mut contacts, mut solved) = (Vec::new(), Vec::new(), 0);
        let began = Instant::now();
        while times.is_empty() || began.elapsed().as_secs_f64() < options.seconds {
            let mut data = SimData::new(&model).map_err(failed)?;
            for _ in 0..STEPS {
                let start = Stopwatch::start();
                let done = step(&model, &mut data, &[], &mut []);
                times.push(start.us() * 1e-3);
                contacts.push(done.contacts as f64);
                solved += usize::from(done.converged);
            }
        }
        if let (Some(time), Some(contacts)) = (Summary::of(&times), Summary::of(&contacts)) {
            report.put_summary(suite, &name, "ms", &time)?;
            report.put(Record::new(suite, name.clone(), "contacts", contacts.max, "count"))?;
        }
        report.put(Record::new(suite, name, "solved", 100.0 * solved as f64 / times.len() as f64, "%"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cubes_of_every_scene_come_to_rest_on_their_weight() {
        let cube = cube().expect("sound");
        for (name, centers) in SCENES {
            let model = scene(&cube, centers);
            let mut data = SimData::new(&model).expect("sound");
            for _ in 0..STEPS {
                assert!(step(&model, &mut data, &[], &mut []).converged, "{name}");
            }
            let on_floor = data.forces.iter().filter(|force| force.bodies.iter().any(|body| body.0 == 0));
            let held: f64 = on_floor.map(|force| force.force.z.abs()).sum();
            let weight = centers.len() as f64 * 1000.0 * SIDE.powi(3) * 9.81;
            assert!((held / weight - 1.0).abs() < 0.02, "{name}: {held} N of {weight} N");
        }
    }
}
