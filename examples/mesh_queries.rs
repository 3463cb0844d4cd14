//! How fast are distance queries on the M48 bolt? Prints queries per second; nothing is judged.
//!
//! ```text
//! cargo run --release --example mesh_queries
//! ```
//!
//! Asks a tree over 5,000 triangles and over many more, cold and with the last triangle as a hint, and the exact
//! surface of the thread, at the vertices of the nut as it turns.

use std::error::Error;
use std::f64::consts::TAU;
use std::hint::black_box;
use std::time::Instant;

use hapticd::geometry::Surface;
use hapticd::geometry::mesh::MeshSurface;
use hapticd::geometry::parts::{Body, Bolt, Facets, Fit, Hand, Nut, Side, ThreadSpec};
use hapticd::math::{Pose, Vec3};

/// Poses of the nut over one turn.
const STEPS: usize = 50;

/// Asks for the distance of every node at every step; prints the rate, and the least distance so that variants can be
/// compared.
fn ask(name: &str, nodes: &[Vec3], mut distance: impl FnMut(usize, &Vec3) -> f64) {
    let start = Instant::now();
    let mut least = f64::INFINITY;
    for step in 0..STEPS {
        let turn = TAU * step as f64 / STEPS as f64;
        // Turned in by one pitch, 0.1 mm off the axis.
        let pose = Pose::new(Vec3::new(1e-4, 0.0, 0.01 + 0.005 * turn / TAU), Vec3::z() * turn);
        for (k, v) in nodes.iter().enumerate() {
            least = least.min(distance(k, &(pose.rotation * v + pose.translation.vector)));
        }
    }
    let rate = (STEPS * nodes.len()) as f64 / start.elapsed().as_secs_f64();
    println!("{name:<36} {rate:>10.0} queries/s   least distance {:.1} um", black_box(least) * 1e6);
}

fn main() -> Result<(), Box<dyn Error>> {
    let spec = ThreadSpec { diameter: 0.048, pitch: 0.005, hand: Hand::Right, fit: Fit::RadialGap(4e-4) };
    let bolt = Bolt { profile: spec.profile(Side::Bolt)?, length: 0.02, chamfer: 0.0015, head: None };
    let body = Body::Hex { across_flats: 0.075 };
    let nut = Nut { profile: spec.profile(Side::Nut)?, height: 0.015, chamfer: 0.0, body };
    let nodes = nut.mesh(Facets { per_turn: 131, rows: 2 })?;
    println!("{} nodes of the nut, {STEPS} poses", nodes.vertices().len());
    for per_turn in [101, 404, 1616] {
        let mesh = MeshSurface::new(bolt.mesh(Facets { per_turn, rows: 2 })?)?;
        let triangles = mesh.mesh().triangles().len();
        ask(&format!("tree, {triangles} triangles, cold"), nodes.vertices(), |_, p| mesh.signed_distance(p).distance);
        let mut hints = vec![None; nodes.vertices().len()];
        ask(&format!("tree, {triangles} triangles, hint"), nodes.vertices(), |k, p| {
            let (distance, nearest) = mesh.query(p, hints[k]);
            hints[k] = Some(nearest.triangle);
            distance.distance
        });
    }
    let exact = bolt.surface()?;
    ask("exact thread", nodes.vertices(), |_, p| exact.signed_distance(p).distance);
    Ok(())
}
