//! Detection on a graphics processor finds what the CPU finds; the faster one is chosen; one that is lost mid-run costs
//! no answer. Runs on any Vulkan adapter, also one in software.

#[path = "clients/tools.rs"]
#[expect(dead_code, reason = "shared with tests that start programs")]
mod tools;

use hapticd::bake::{GridPlan, Source, TrainPlan, bake_grid, train};
use hapticd::collision::detect::{AnyDetector, Backend, Detector, Event, Found, NodeSet, Wish};
use hapticd::collision::field::Baked;
use hapticd::collision::gpu::{Gpu, GpuDetector, GpuError};
use hapticd::geometry::mesh::{MeshSurface, TriMesh};
use hapticd::geometry::parts::{Body, Bolt, BoreBlock, Facets, Fit, Hand, Nut, Peg, Side, ThreadSpec};
use hapticd::math::{Pose, Random, Vec3};
use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Duration;
use tools::{present, say};

const PITCH: f64 = 0.005;
const MARGIN: f64 = 3e-4;
/// A software adapter on a busy machine is slow; no test is about that.
const PATIENCE: Duration = Duration::from_secs(120);

/// The adapter; none, said aloud, where there is none and this is not a CI run.
fn adapter() -> Option<Arc<Gpu>> {
    let opened = Gpu::open();
    let why = opened.as_ref().err().map(ToString::to_string).unwrap_or_default();
    if !present(opened.is_ok(), "a Vulkan adapter", &format!("apt install mesa-vulkan-drivers ({why})")) {
        return None;
    }
    opened.ok()
}

fn spec() -> ThreadSpec {
    ThreadSpec { diameter: 0.048, pitch: PITCH, hand: Hand::Right, fit: Fit::RadialGap(4e-4) }
}

fn bolt() -> Source {
    let profile = spec().profile(Side::Bolt).expect("a profile");
    Source::bolt(&Bolt { profile, length: 0.02, chamfer: 0.0015, head: None }).expect("a bolt")
}

fn nut() -> Nut {
    let profile = spec().profile(Side::Nut).expect("a profile");
    Nut { profile, height: 0.015, chamfer: 0.001, body: Body::Hex { across_flats: 0.075 } }
}

fn bore() -> Source {
    let body = Body::Round { diameter: 0.08 };
    Source::bore(&BoreBlock { diameter: 50.035e-3, depth: 0.04, chamfer: 1e-3, floor: None, body }).expect("a bore")
}

fn nodes_of(mesh: TriMesh) -> Arc<NodeSet> {
    Arc::new(NodeSet::of_vertices(&MeshSurface::new(mesh).expect("a solid")))
}

fn nut_nodes() -> Arc<NodeSet> {
    nodes_of(nut().mesh(Facets { per_turn: 79, rows: 1 }).expect("a mesh"))
}

fn grid(source: &Source) -> Arc<Baked> {
    Arc::new(bake_grid(source, &GridPlan::profile()).expect("a grid"))
}

fn network() -> Arc<Baked> {
    let bytes = include_bytes!("data/field/bolt_m48x5.field");
    Arc::new(Baked::from_bytes(bytes, &bolt().hash(&TrainPlan::default())).expect("made from this part"))
}

/// The nut on the bolt's thread.
fn screwed(share: f64) -> Pose {
    let z = 0.008 + 0.014 * share;
    Pose::new(Vec3::z() * z, Vec3::z() * (TAU * z / PITCH))
}

fn inserted(share: f64) -> Pose {
    Pose::translation(0.0, 0.0, -0.005 - 0.034 * share)
}

fn pose(together: fn(f64) -> Pose, k: usize, random: &mut Random) -> Pose {
    let mut vector = |scale: f64| Vec3::from_fn(|_, _| scale * random.normal());
    let off = [2e-5, 2e-4, 1e-3, 0.03][k % 4];
    Pose::new(vector(off), vector(off / 0.03)) * together(random.uniform())
}

/// Nodes of one part, field of another, and where the one is when they are together.
type Case<'a> = (&'a str, &'a Arc<NodeSet>, Arc<Baked>, fn(f64) -> Pose);

/// Compares all that both find; how many that were.
fn compare(name: &str, cpu: &Found, gpu: &Found) -> usize {
    // Single precision, and on a device divisions and roots that are a few bits off.
    const ROUNDING: f32 = 1e-7;
    let margin = MARGIN as f32;
    let (mut ours, mut theirs) = (cpu.touches().iter().peekable(), gpu.touches().iter().peekable());
    let (mut same, mut turned) = (0, 0);
    loop {
        let next = ours.peek().map(|t| t.node).into_iter().chain(theirs.peek().map(|t| t.node)).min();
        let Some(node) = next else { break };
        match (ours.next_if(|t| t.node == node), theirs.next_if(|t| t.node == node)) {
            (Some(a), Some(b)) => {
                assert!((a.distance - b.distance).abs() < ROUNDING, "{name}: {a:?} {b:?}");
                let off = (0..3).map(|i| (a.normal[i] - b.normal[i]).abs()).fold(0.0, f32::max);
                // Where two faces are equally near, rounding decides between them.
                turned += usize::from(off > 5e-3);
                same += 1;
            }
            (a, b) => {
                let lone = a.or(b).map_or(f32::NAN, |t| t.distance);
                assert!((lone - margin).abs() < ROUNDING, "{name}: {a:?} {b:?}");
            }
        }
    }
    assert!(turned * 200 <= same + 200, "{name}: {turned} of {same} normals differ");
    same
}

#[test]
fn shaders_find_what_the_cpu_finds() {
    let Some(gpu) = adapter() else { return };
    say(&format!("adapter: {}{}", gpu.name(), if gpu.is_software() { ", in software" } else { "" }));
    let pegs = Peg { diameter: 49.97e-3, length: 0.06, chamfer: 1e-3 };
    let pegs = nodes_of(pegs.mesh(Facets { per_turn: 128, rows: 10 }).expect("a mesh"));
    let bytes = include_bytes!("data/field/bore_50.field");
    let bore_network = Baked::from_bytes(bytes, &bore().hash(&TrainPlan::round())).expect("made from this part");
    let small = Bolt { profile: spec().profile(Side::Bolt).expect("one"), length: 0.006, chamfer: 0.0, head: None };
    let mesh = Source::mesh(small.mesh(Facets { per_turn: 40, rows: 1 }).expect("a mesh")).expect("a solid");
    // Hardly trained, without a symmetry: its arithmetic is what is tested.
    let plan = TrainPlan { steps: 40, samples: 2000, batch: 64, unit: 5e-3, ..TrainPlan::default() };
    let raw = Arc::new(train(&mesh, &plan, |_| ()).expect("a sound plan").0);
    let nuts = nut_nodes();
    let bolts = nodes_of(small.mesh(Facets { per_turn: 61, rows: 2 }).expect("a mesh"));
    let of_nut = grid(&Source::nut(&nut()).expect("a nut"));
    let cases: [Case<'_>; 6] = [
        ("nut, grid of the bolt", &nuts, grid(&bolt()), screwed),
        ("bolt, grid of the nut", &bolts, of_nut, |s| screwed(s).inverse()),
        ("nut, network of the bolt", &nuts, network(), screwed),
        ("peg, grid of the bore", &pegs, grid(&bore()), inserted),
        ("peg, network of the bore", &pegs, Arc::new(bore_network), inserted),
        ("nut, network without symmetry", &nuts, raw, screwed),
    ];
    let mut random = Random::new(5);
    for (name, nodes, field, together) in cases {
        let mut cpu = Detector::new(Arc::clone(nodes), Arc::<Baked>::clone(&field), MARGIN);
        let mut device = GpuDetector::new(Arc::clone(&gpu), nodes, &field, MARGIN, PATIENCE).expect("a detector");
        let (mut a, mut b, mut same) = (Found::for_nodes(nodes), Found::for_nodes(nodes), 0);
        for k in 0..16 {
            let pose = pose(together, k, &mut random);
            cpu.detect(&pose, &mut a);
            device.detect(&pose, &mut b).expect("an answer");
            same += compare(name, &a, &b);
        }
        assert!(same > 500, "{name}: {same}");
        device.detect(&Pose::translation(f64::NAN, 0.0, 0.0), &mut b).expect("an answer");
        assert_eq!(b.touches(), [], "{name}");
    }
}

#[test]
fn a_device_lost_mid_run_costs_no_answer() {
    let Some(gpu) = adapter() else { return };
    let (nodes, field) = (nut_nodes(), network());
    let opened = Ok(Arc::clone(&gpu));
    let (mut any, event) = AnyDetector::new(&nodes, &field, MARGIN, Wish::Gpu, &opened, &[], PATIENCE);
    assert_eq!((any.backend(), event), (Backend::Gpu, None));
    let mut cpu = Detector::new(Arc::clone(&nodes), Arc::<Baked>::clone(&field), MARGIN);
    let (mut expected, mut found) = (Found::for_nodes(&nodes), Found::for_nodes(&nodes));
    let mut random = Random::new(11);
    for k in 0..12 {
        if k == 5 {
            gpu.close();
        }
        let pose = pose(screwed, 4 * (k / 4), &mut random);
        let event = any.detect(&pose, &mut found);
        // Said once, in the call that it happened in.
        assert_eq!(matches!(event, Some(Event::FellBack(GpuError::Lost(_)))), k == 5, "{k}: {event:?}");
        assert_eq!(any.backend(), if k < 5 { Backend::Gpu } else { Backend::Cpu });
        cpu.detect(&pose, &mut expected);
        assert!(compare("lost", &expected, &found) > 100, "{k}");
    }
    let again = GpuDetector::new(gpu, &nodes, &field, MARGIN, PATIENCE);
    assert!(matches!(again, Err(GpuError::Lost(_))), "a lost device stays lost");
}

#[test]
fn the_faster_processor_is_kept_and_a_missing_one_is_said() {
    let (nodes, field) = (nut_nodes(), grid(&bolt()));
    let probes: Vec<Pose> = (0..5).map(|k| screwed(0.2 * f64::from(k))).collect();
    let none = Err(GpuError::NoAdapter("a test".into()));
    for wish in [Wish::Measured, Wish::Gpu] {
        let (any, event) = AnyDetector::new(&nodes, &field, MARGIN, wish, &none, &probes, PATIENCE);
        assert_eq!(any.backend(), Backend::Cpu);
        assert_eq!(event, Some(Event::FellBack(GpuError::NoAdapter("a test".into()))));
    }
    let (any, event) = AnyDetector::new(&nodes, &field, MARGIN, Wish::Cpu, &none, &probes, PATIENCE);
    assert_eq!((any.backend(), event), (Backend::Cpu, None));

    let Some(gpu) = adapter() else { return };
    let opened = Ok(gpu);
    let (any, event) = AnyDetector::new(&nodes, &field, MARGIN, Wish::Measured, &opened, &probes, PATIENCE);
    let measured = event.and_then(|event| match event {
        Event::Measured { cpu_s, gpu_s } => Some((cpu_s, gpu_s)),
        Event::FellBack(_) => None,
    });
    let (cpu_s, gpu_s) = measured.expect("both were measured");
    say(&format!("median of one look: CPU {:.1} µs, adapter {:.1} µs", cpu_s * 1e6, gpu_s * 1e6));
    assert!(cpu_s > 0.0 && gpu_s > 0.0);
    assert_eq!(any.backend() == Backend::Gpu, gpu_s < cpu_s);

    let plan = GridPlan { spacing: 1e-3, band: 1e-3 };
    let mesh = nut().mesh(Facets { per_turn: 12, rows: 1 }).expect("a mesh");
    let space = Arc::new(bake_grid(&Source::mesh(mesh).expect("a solid"), &plan).expect("a grid"));
    let (any, event) = AnyDetector::new(&nodes, &space, MARGIN, Wish::Gpu, &opened, &probes, PATIENCE);
    assert_eq!((any.backend(), event), (Backend::Cpu, Some(Event::FellBack(GpuError::NoShader))));
}
