//! Do the distance models find the same contacts as an exact ruler, and how long do they take? Prints; judges nothing.
//!
//! ```text
//! cargo run --release --example contact_poses -- POSES.json MESHES
//! ```
//!
//! POSES.json holds lists `bolt` and `peg` of poses of the moving part in the frame of the fixed one: rotation matrix
//! `R`, place `t` in metres, least signed distance `min_sd` by the ruler, name of the `set`. MESHES has `bolt.obj`,
//! `nut.obj`, `peg.obj` and `hole.obj` in metres, whose vertices are the nodes. The least distance is sought over the
//! nodes of each part in the field of the other. Times are of the moving part's nodes alone: moved, asked, normals where
//! they are nearer than 0.1 mm.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use hapticd::bake::{GridPlan, Source, TrainPlan, bake_grid, train};
use hapticd::collision::field::{Answers, DistanceField, Exact, Nodes, Revolved};
use hapticd::geometry::mesh::{LengthUnit, MeshSurface, TriMesh, read_obj};
use hapticd::geometry::parts::{Body, Bolt, BoreBlock, Fit, Hand, Nut, Peg, Side, ThreadSpec};
use hapticd::math::{Mat3, Vec3};
use serde_json::Value;

/// Depth of the bore; the meshes have their origin at its foot, the block at its mouth.
const DEPTH: f64 = 0.04;
/// Poses nearer to touching than this do not count.
const CLEAR: f64 = 1e-5;

type Field = Box<dyn DistanceField>;
type Failure = Box<dyn Error>;

struct Pose {
    set: String,
    rotation: Mat3,
    place: Vec3,
    least: f64,
}

/// Nodes of a part and room for the answers.
struct Part {
    nodes: Vec<Vec3>,
    columns: [Vec<f32>; 3],
    answers: [Vec<f32>; 4],
}

impl Part {
    fn new(mesh: &TriMesh) -> Self {
        let n = mesh.vertices().len();
        let (columns, answers) = ([0; 3].map(|_| vec![0.0; n]), [0; 4].map(|_| vec![0.0; n]));
        Self { nodes: mesh.vertices().to_vec(), columns, answers }
    }

    /// Least distance of the nodes, moved by a rotation and a shift, in a field.
    fn least(&mut self, field: &dyn DistanceField, rotation: &Mat3, shift: &Vec3) -> f64 {
        let [x, y, z] = &mut self.columns;
        for (k, node) in self.nodes.iter().enumerate() {
            let p = rotation * node + shift;
            (x[k], y[k], z[k]) = (p.x as f32, p.y as f32, p.z as f32);
        }
        let [value, gx, gy, gz] = &mut self.answers;
        field.query(&Nodes { x, y, z }, 1e-4, &mut Answers { value, gx, gy, gz });
        f64::from(self.answers[0].iter().copied().fold(f32::INFINITY, f32::min))
    }
}

fn poses(text: &str, kind: &str) -> Result<Vec<Pose>, Failure> {
    let all: Value = serde_json::from_str(text)?;
    let list = all[kind].as_array().ok_or("no such list of poses")?;
    let number = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
    let read = |p: &Value| Pose {
        set: p["set"].as_str().unwrap_or_default().to_string(),
        rotation: Mat3::from_fn(|i, j| number(&p["R"][i][j])),
        place: Vec3::from_fn(|i, _| number(&p["t"][i])),
        least: number(&p["min_sd"]),
    };
    Ok(list.iter().map(read).collect())
}

/// Models of both parts under one name; `shift` is from the fixed mesh's frame to its field's.
struct Case<'a> {
    name: &'a str,
    fixed: Field,
    moving: Field,
    shift: Vec3,
}

fn compare(case: &Case<'_>, poses: &[Pose], fixed: &mut Part, moving: &mut Part) {
    let (mut agree, mut clear, mut agree_all, mut worst) = (0, 0, 0, 0.0_f64);
    let mut times = Vec::new();
    for pose in poses {
        let start = Instant::now();
        let first = moving.least(&*case.fixed, &pose.rotation, &(pose.place + case.shift));
        if pose.set == "contact" {
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let back = pose.rotation.transpose();
        let second = fixed.least(&*case.moving, &back, &(-(back * pose.place)));
        let least = first.min(second);
        let same = (least < 0.0) == (pose.least < 0.0);
        agree_all += usize::from(same);
        if pose.least.abs() > CLEAR {
            clear += 1;
            agree += usize::from(same);
            worst = worst.max((least - pose.least).abs());
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
    println!(
        "  {:<8} agrees {agree}/{clear} beyond 10 um, {agree_all}/{} of all; least distance off by {:.1} um at most; \
         {} nodes: median {:.3} ms, p99 {:.3}, {:.1} M nodes/s",
        case.name,
        poses.len(),
        worst * 1e6,
        moving.nodes.len(),
        at(0.5),
        at(0.99),
        moving.nodes.len() as f64 / at(0.5) * 1e-3
    );
}

fn baked(source: &Source, plan: Option<TrainPlan>) -> Result<Field, Failure> {
    let Some(plan) = plan else { return Ok(Box::new(bake_grid(source, &GridPlan::profile())?)) };
    let start = Instant::now();
    let (field, error) = train(source, &plan, |_| ()).ok_or("a plan without sense")?;
    let (rms, max) = (error.rms * 1e6, error.max * 1e6);
    println!("  trained in {:.0} s: {rms:.2} um rms, {max:.1} um at most", start.elapsed().as_secs_f64());
    Ok(Box::new(field))
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, meshes] = &arguments[..] else { return Err("usage: contact_poses POSES.json MESHES".into()) };
    let text = std::fs::read_to_string(file)?;
    let mesh = |name: &str| -> Result<TriMesh, Failure> {
        Ok(read_obj(&std::fs::read(Path::new(meshes).join(name))?, LengthUnit::Metre)?)
    };
    let exact = |mesh: &TriMesh| -> Result<Field, Failure> {
        Ok(Box::new(Exact::new(MeshSurface::new(mesh.clone()).map_err(|report| report.to_string())?)))
    };

    println!("nut on bolt");
    let spec = ThreadSpec { diameter: 0.048, pitch: 0.005, hand: Hand::Right, fit: Fit::RadialGap(4e-4) };
    let bolt = Bolt { profile: spec.profile(Side::Bolt)?, length: 0.02, chamfer: 0.0015, head: None };
    let body = Body::Hex { across_flats: 0.075 };
    let nut = Nut { profile: spec.profile(Side::Nut)?, height: 0.015, chamfer: 0.0, body };
    let (b, n) = (Source::bolt(&bolt)?, Source::nut(&nut)?);
    let (bolt_mesh, nut_mesh) = (mesh("bolt.obj")?, mesh("nut.obj")?);
    let network = Some(TrainPlan::default());
    let analytic: (Field, Field) = (Box::new(Exact::new(bolt.surface()?)), Box::new(Exact::new(nut.surface()?)));
    let cases = [
        ("mesh", (exact(&bolt_mesh)?, exact(&nut_mesh)?)),
        ("exact", analytic),
        ("grid", (baked(&b, None)?, baked(&n, None)?)),
        ("network", (baked(&b, network)?, baked(&n, network)?)),
    ];
    let (mut fixed, mut moving) = (Part::new(&bolt_mesh), Part::new(&nut_mesh));
    let list = poses(&text, "bolt")?;
    for (name, (f, m)) in cases {
        let case = Case { name, fixed: f, moving: m, shift: Vec3::zeros() };
        compare(&case, &list, &mut fixed, &mut moving);
    }

    println!("peg in hole");
    let peg = Peg { diameter: 49.97e-3, length: 0.06, chamfer: 1e-3 };
    let body = Body::Round { diameter: 0.08 };
    let block = BoreBlock { diameter: 50.035e-3, depth: DEPTH, chamfer: 1e-3, floor: None, body };
    let (h, p) = (Source::bore(&block)?, Source::peg(&peg)?);
    let (hole_mesh, peg_mesh) = (mesh("hole.obj")?, mesh("peg.obj")?);
    let turned = Revolved::bore(&block)?.ok_or("a round block")?;
    let analytic: (Field, Field) = (Box::new(Exact::new(turned)), Box::new(Exact::new(Revolved::peg(&peg)?)));
    let network = Some(TrainPlan::round());
    let down = -Vec3::z() * DEPTH;
    let cases = [
        ("mesh", (exact(&hole_mesh)?, exact(&peg_mesh)?), Vec3::zeros()),
        ("exact", analytic, down),
        ("grid", (baked(&h, None)?, baked(&p, None)?), down),
        ("network", (baked(&h, network)?, baked(&p, network)?), down),
    ];
    let (mut fixed, mut moving) = (Part::new(&hole_mesh), Part::new(&peg_mesh));
    let list = poses(&text, "peg")?;
    for (name, (f, m), shift) in cases {
        compare(&Case { name, fixed: f, moving: m, shift }, &list, &mut fixed, &mut moving);
    }
    Ok(())
}
