//! How fast are distance queries on the M48 bolt? Prints queries per second; nothing is judged.
//!
//! ```text
//! cargo run --release --example mesh_queries
//! ```
//!
//! Asks a tree over about 5,000 triangles, cold and with the last triangle as a hint, and the exact surface of the
//! thread, at the vertices of the nut as it turns.

use std::error::Error;
use std::f64::consts::TAU;
use std::hint::black_box;
use std::time::Instant;

use hapticd::geometry::Surface;
use hapticd::geometry::mesh::MeshSurface;
use hapticd::geometry::parts::{Body, Bolt, Facets, Fit, Hand, Nut, Side, ThreadSpec};
use hapticd::math::{Pose, Vec3};

fn main() -> Result<(), Box<dyn Error>> {
    let spec = ThreadSpec { diameter: 0.048, pitch: 0.005, hand: Hand::Right, fit: Fit::RadialGap(4e-4) };
    let bolt = Bolt { profile: spec.profile(Side::Bolt)?, length: 0.02, chamfer: 0.0015, head: None };
    let body = Body::Hex { across_flats: 0.075 };
    let nut = Nut { profile: spec.profile(Side::Nut)?, height: 0.015, chamfer: 0.0, body };
    let nodes = nut.mesh(Facets { per_turn: 131, rows: 2 })?;
    let exact = bolt.surface()?;
    let mesh = MeshSurface::new(bolt.mesh(Facets { per_turn: 101, rows: 2 })?)?;
    println!("bolt {} triangles, nut {} nodes", mesh.mesh().triangles().len(), nodes.vertices().len());

    // One turn of the nut in a hundred steps, with every node in the frame of the bolt.
    let place = |step: usize| {
        let turn = TAU * step as f64 / 100.0;
        Pose::new(Vec3::new(1e-4, 0.0, 0.01 + 0.005 * turn / TAU), Vec3::z() * turn)
    };
    let mut hints = vec![None; nodes.vertices().len()];
    let asked = |name: &str, mut ask: Box<dyn FnMut(usize, &Vec3) -> f64 + '_>| {
        let start = Instant::now();
        let mut deepest = f64::INFINITY;
        for step in 0..100 {
            let pose = place(step);
            for (k, v) in nodes.vertices().iter().enumerate() {
                deepest = deepest.min(ask(k, &(pose.rotation * v + pose.translation.vector)));
            }
        }
        let count = 100 * nodes.vertices().len();
        let rate = count as f64 / start.elapsed().as_secs_f64();
        println!("{name:<28} {rate:>12.0} queries/s   deepest {:.1} um", black_box(deepest) * 1e6);
    };
    asked("tree, cold", Box::new(|_, p| mesh.signed_distance(p).distance));
    let warm = |k: usize, p: &Vec3| {
        let (distance, nearest) = mesh.query(p, hints[k]);
        hints[k] = Some(nearest.triangle);
        distance.distance
    };
    asked("tree, last triangle as hint", Box::new(warm));
    asked("exact thread", Box::new(|_, p| exact.signed_distance(p).distance));
    Ok(())
}
