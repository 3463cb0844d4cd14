//! Soft bodies in the suite `contact`: time of one refit and of one query, with the number of contacts.
//!
//! Thread: main.
//!
//! Balls of about 2,000 triangles, pressed flat by 2 mm against a plane, a rigid ball, a rigid box and another soft ball; the same
//! soft balls after a step of 17 mm. Times are of the processor.

use crate::bench::{BenchError, Options, Record, Report, Summary};
use crate::collision::soft::{RigidPlace, SoftContact, SoftFinder, SoftPlace, SoftQuery, SoftReduction, SoftSurface};
use crate::geometry::tet::{BlockSpec, Split};
use crate::geometry::{Cuboid, HalfSpace, Shape, Sphere};
use crate::math::{Pose, Vec3};
use crate::shared::realtime::thread_busy_ns;

/// Bricks along the edge of the cube that is drawn onto a sphere: 2,028 triangles.
const BRICKS: u32 = 13;
const RADIUS_M: f64 = 0.03;
/// How far the balls are pressed flat, m.
const PRESSED_M: f64 = 0.002;
const MARGIN_M: f64 = 1e-3;
/// Way of a step at 30 Hz and 0.5 m/s, m.
const STEP_M: f64 = 0.017;
/// Queries of each row, for each round of the options.
const QUERIES: u32 = 100;

/// A soft ball that has stopped moving.
struct Ball {
    surface: SoftSurface,
    place: SoftPlace,
    points: Vec<Vec3>,
}

impl Ball {
    /// Above the plane z = 0 (`side` 1) or below it (`side` −1), flattened at the plane.
    fn new(side: f64, shift: Vec3) -> Result<Self, super::Failure> {
        let mesh = BlockSpec { size: Vec3::repeat(2.0), cells: [BRICKS; 3], split: Split::Six }.mesh()?;
        let (skin, _) = mesh.skin().mesh(&mesh)?;
        let bounds = skin.aabb();
        let middle = 0.5 * (bounds.min + bounds.max);
        let center = shift + Vec3::z() * side * (RADIUS_M - PRESSED_M);
        // The tangent evens out the sizes of the triangles.
        let even = |x: f64| (x * std::f64::consts::FRAC_PI_4).tan();
        let place = |p: &Vec3| {
            let round = (p - middle).map(even).normalize() * RADIUS_M + center;
            Vec3::new(round.x, round.y, side * (side * round.z).max(-1e-6))
        };
        let points: Vec<Vec3> = skin.vertices().iter().map(place).collect();
        let surface = SoftSurface::new(&points, skin.triangles());
        let mut ball = Self { place: SoftPlace::new(&surface), surface, points };
        ball.refit(0.0);
        Ok(ball)
    }

    /// Places the ball after a step of `way` metres downwards.
    fn refit(&mut self, way: f64) {
        let before: Vec<Vec3> = self.points.iter().map(|p| p + Vec3::z() * way).collect();
        self.place.refit(&self.surface, &self.points, &before, MARGIN_M);
    }

    fn side(&self) -> (&SoftSurface, &SoftPlace) {
        (&self.surface, &self.place)
    }
}

/// Measures one row.
fn row(
    name: &str,
    options: &Options,
    report: &mut Report,
    mut query: impl FnMut(&mut Vec<SoftContact>),
) -> Result<(), BenchError> {
    let (mut times, mut out) = (Vec::new(), Vec::new());
    for _ in 0..QUERIES * options.rounds.max(1) {
        out.clear();
        let start = thread_busy_ns();
        query(&mut out);
        times.push((thread_busy_ns() - start) as f64 * 1e-6);
    }
    let name = format!("soft/{name}");
    if let Some(times) = Summary::of(&times) {
        report.put_summary(super::SUITE, &name, "ms", &times)?;
    }
    Ok(report.put(Record::new(super::SUITE, &name, "contacts", out.len() as f64, "1"))?)
}

/// Rows of the suite for soft bodies.
pub(super) fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let mut a = Ball::new(1.0, Vec3::zeros())?;
    let b = Ball::new(-1.0, Vec3::new(7e-4, 3e-4, 0.0))?;
    let mut finder = SoftFinder::new();
    let before = a.points.clone();
    row("refit", options, report, |_| a.place.refit(&a.surface, &a.points, &before, MARGIN_M))?;
    let shapes = [
        ("plane", Shape::HalfSpace(HalfSpace), 0.0),
        ("ball", Shape::Sphere(Sphere { radius: 0.02 }), -0.0198),
        ("box", Shape::Cuboid(Cuboid { half: Vec3::repeat(0.01) }), -0.0099),
    ];
    let query = SoftQuery { margin_m: MARGIN_M, ..SoftQuery::default() };
    for (name, shape, height) in &shapes {
        let pose = Pose::translation(0.0, 0.0, *height);
        let rigid = RigidPlace { shape, field: None, now: pose, before: pose };
        row(name, options, report, |out| finder.against_rigid(&a.surface, &a.place, &rigid, &query, out))?;
    }
    let reductions = [
        ("soft", SoftReduction::Patches),
        ("soft-all", SoftReduction::All),
        ("soft-k-means", SoftReduction::KMeans { seed: options.seed }),
    ];
    for (name, reduction) in reductions {
        let query = SoftQuery { reduction, ..query };
        row(name, options, report, |out| finder.against_soft(a.side(), b.side(), &query, out))?;
    }
    row("itself", options, report, |out| finder.against_itself(&a.surface, &a.place, &query, out))?;
    a.refit(STEP_M);
    row("soft-fast", options, report, |out| finder.against_soft(a.side(), b.side(), &query, out))
}
