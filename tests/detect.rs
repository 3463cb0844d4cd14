//! Which nodes touch: the phases before the field lose none that a full query finds, in any model, at any pose; and
//! once made, a detector leaves the heap alone.

#[path = "common/counting.rs"]
mod counting;

use counting::CALLS;
use hapticd::bake::{GridPlan, Source, TrainPlan, bake_grid, train};
use hapticd::collision::detect::{Detector, Found, NodeSet, SurfaceNode};
use hapticd::collision::field::{Answers, Baked, DistanceField, Exact, Nodes};
use hapticd::geometry::mesh::{MeshSurface, TriMesh};
use hapticd::geometry::parts::{Body, Bolt, BoreBlock, Facets, Fit, Hand, Nut, Peg, Side, ThreadSpec};
use hapticd::math::{Pose, Random, Rot, Vec3};
use std::f64::consts::TAU;
use std::sync::{Arc, LazyLock};

const PITCH: f64 = 0.005;

fn thread(side: Side, hand: Hand) -> hapticd::geometry::parts::ThreadProfile {
    let spec = ThreadSpec { diameter: 0.048, pitch: PITCH, hand, fit: Fit::RadialGap(4e-4) };
    spec.profile(side).expect("a profile")
}

fn bolt(hand: Hand) -> Bolt {
    Bolt { profile: thread(Side::Bolt, hand), length: 0.02, chamfer: 0.0015, head: None }
}

fn nut(hand: Hand) -> Nut {
    Nut { profile: thread(Side::Nut, hand), height: 0.015, chamfer: 0.001, body: Body::Hex { across_flats: 0.075 } }
}

const PEG: Peg = Peg { diameter: 49.97e-3, length: 0.06, chamfer: 1e-3 };
const BORE: BoreBlock =
    BoreBlock { diameter: 50.035e-3, depth: 0.04, chamfer: 1e-3, floor: None, body: Body::Round { diameter: 0.08 } };

fn nodes_of(mesh: TriMesh) -> Arc<NodeSet> {
    Arc::new(NodeSet::of_vertices(&MeshSurface::new(mesh).expect("a solid")))
}

fn grid(source: &Source) -> Arc<dyn DistanceField> {
    Arc::new(bake_grid(source, &GridPlan::profile()).expect("a grid"))
}

/// Untrained: its arithmetic is sound, what it says is not.
fn raw_network(source: &Source) -> Arc<dyn DistanceField> {
    let plan = TrainPlan { steps: 40, samples: 2000, batch: 64, ..TrainPlan::default() };
    Arc::new(train(source, &plan, |_| ()).expect("a sound plan").0)
}

fn shipped(bytes: &[u8], source: &Source, plan: &TrainPlan) -> Arc<dyn DistanceField> {
    Arc::new(Baked::from_bytes(bytes, &source.hash(plan)).expect("made from this part"))
}

/// A pair of parts: nodes of the one, fields of the other, and where the one is when they are together.
struct Case {
    name: &'static str,
    nodes: Arc<NodeSet>,
    field: Arc<dyn DistanceField>,
    together: fn(f64) -> Pose,
    /// Full queries are slow.
    poses: usize,
}

/// The nut on the bolt's thread, `share` of the way.
fn screwed(share: f64) -> Pose {
    let z = 0.008 + 0.014 * share;
    Pose::new(Vec3::z() * z, Vec3::z() * (TAU * z / PITCH))
}

fn unscrewed(share: f64) -> Pose {
    screwed(share).inverse()
}

fn inserted(share: f64) -> Pose {
    Pose::translation(0.0, 0.0, -0.005 - 0.034 * share)
}

fn around(share: f64) -> Pose {
    inserted(share).inverse()
}

/// Made once for all tests.
static CASES: LazyLock<Vec<Case>> = LazyLock::new(cases);

fn cases() -> Vec<Case> {
    let thread_facets = |per_turn| Facets { per_turn, rows: 1 };
    let bolts = nodes_of(bolt(Hand::Right).mesh(thread_facets(61)).expect("a mesh"));
    let nuts = nodes_of(nut(Hand::Right).mesh(thread_facets(79)).expect("a mesh"));
    let left_nuts = nodes_of(nut(Hand::Left).mesh(thread_facets(79)).expect("a mesh"));
    let pegs = nodes_of(PEG.mesh(Facets { per_turn: 128, rows: 10 }).expect("a mesh"));
    let bores = nodes_of(BORE.mesh(Facets { per_turn: 128, rows: 10 }).expect("a mesh"));
    let b = Source::bolt(&bolt(Hand::Right)).expect("a bolt");
    let left = Source::bolt(&bolt(Hand::Left)).expect("a bolt");
    let (n, p) = (Source::nut(&nut(Hand::Right)).expect("a nut"), Source::peg(&PEG).expect("a peg"));
    let h = Source::bore(&BORE).expect("a bore");
    let small = Bolt { length: 0.006, chamfer: 0.0, ..bolt(Hand::Right) };
    let small = small.mesh(thread_facets(40)).expect("a mesh");
    let space = bake_grid(&Source::mesh(small.clone()).expect("a solid"), &GridPlan { spacing: 5e-4, band: 1e-3 });
    let space = Arc::new(space.expect("a grid"));
    let mesh = Arc::new(Exact::new(MeshSurface::new(small).expect("a solid")));
    let exact = Arc::new(Exact::new(bolt(Hand::Right).surface().expect("a bolt")));
    let bolt_net = shipped(include_bytes!("data/field/bolt_m48x5.field"), &b, &TrainPlan::default());
    let bore_net = shipped(include_bytes!("data/field/bore_50.field"), &h, &TrainPlan::round());
    let case = |name, nodes: &Arc<NodeSet>, field, together, poses| Case {
        name,
        nodes: Arc::clone(nodes),
        field,
        together,
        poses,
    };
    vec![
        case("nut, grid of the bolt", &nuts, grid(&b), screwed, 90),
        case("left nut, grid of the left bolt", &left_nuts, grid(&left), |s| mirrored(&screwed(s)), 60),
        case("bolt, grid of the nut", &bolts, grid(&n), unscrewed, 90),
        case("peg, grid of the bore", &pegs, grid(&h), inserted, 90),
        case("bore, grid of the peg", &bores, grid(&p), around, 90),
        case("nut, untrained network", &nuts, raw_network(&b), screwed, 15),
        case("bolt, untrained network", &bolts, raw_network(&n), unscrewed, 15),
        case("nut, network of the bolt", &nuts, bolt_net, screwed, 30),
        case("peg, network of the bore", &pegs, bore_net, inserted, 30),
        case("nut, grid of a mesh", &nuts, space, screwed, 30),
        case("nut, mesh", &nuts, mesh, screwed, 15),
        case("nut, exact thread", &nuts, exact, screwed, 30),
    ]
}

/// The same on a thread that winds the other way.
fn mirrored(pose: &Pose) -> Pose {
    Pose::from_parts(pose.translation, pose.rotation.inverse())
}

/// Together, a little or a lot apart or deep, and anywhere.
fn pose(case: &Case, k: usize, random: &mut Random) -> Pose {
    let mut vector = |scale: f64| Vec3::from_fn(|_, _| scale * random.normal());
    let off = [2e-5, 2e-4, 1e-3, 5e-3, 0.03][k % 5];
    let shake = Pose::new(vector(off), vector(off / 0.03));
    shake * (case.together)(random.uniform())
}

/// Distances of all nodes, asked of the field at once.
fn full(case: &Case, pose: &Pose) -> Vec<f32> {
    let column = |i: usize| -> Vec<f32> {
        let place = |n: &SurfaceNode| (pose.rotation * n.position + pose.translation.vector)[i] as f32;
        case.nodes.nodes().iter().map(place).collect()
    };
    let (x, y, z) = (column(0), column(1), column(2));
    let mut rows = [0, 1, 2, 3].map(|_| vec![f32::NAN; x.len()]);
    let [value, gx, gy, gz] = &mut rows;
    case.field.query(&Nodes { x: &x, y: &y, z: &z }, f32::NEG_INFINITY, &mut Answers { value, gx, gy, gz });
    rows[0].clone()
}

#[test]
fn no_node_that_a_full_query_finds_is_lost() {
    // Single precision: places are rounded in both ways, each in its own.
    const ROUNDING: f32 = 1e-7;
    let mut random = Random::new(3);
    for case in &*CASES {
        let (mut found_all, mut passed_over) = (0, 0);
        // Beyond the band of the models too.
        for margin in [0.0_f32, 3e-4, 2e-3] {
            let mut detector = Detector::new(Arc::clone(&case.nodes), Arc::clone(&case.field), f64::from(margin));
            let mut found = Found::for_nodes(&case.nodes);
            for k in 0..case.poses {
                let pose = pose(case, k, &mut random);
                detector.detect(&pose, &mut found);
                let all = full(case, &pose);
                let mut next = found.touches().iter().peekable();
                for (node, distance) in (0..).zip(all) {
                    let touch = next.next_if(|t| t.node == node);
                    assert!(touch.is_some() || distance > margin - ROUNDING, "{}: {distance} is lost", case.name);
                    let off = touch.map_or(0.0, |t| (t.distance - distance).abs());
                    assert!(off < ROUNDING, "{}: {touch:?} should be at {distance}", case.name);
                    assert!(touch.is_none_or(|t| t.distance < margin), "{}: {touch:?}", case.name);
                    found_all += usize::from(touch.is_some());
                    passed_over += usize::from(touch.is_none());
                }
                assert_eq!(next.next(), None, "{}: nodes in order, none twice", case.name);
            }
        }
        assert!(found_all > 1000 && passed_over > 1000, "{}: {found_all} found, {passed_over} not", case.name);
    }
}

#[test]
fn the_normal_is_the_gradient_of_the_field() {
    let case = &CASES[0];
    let mut detector = Detector::new(Arc::clone(&case.nodes), Arc::clone(&case.field), 2e-4);
    let mut found = Found::for_nodes(&case.nodes);
    let (pose, mut turned) = (screwed(0.4) * Pose::translation(5e-5, 0.0, -8e-5), 0);
    detector.detect(&pose, &mut found);
    for touch in found.touches() {
        let node = &case.nodes.nodes()[touch.node as usize];
        let expected = case.field.distance(&(pose.rotation * node.position + pose.translation.vector));
        let normal = Vec3::from(touch.normal.map(f64::from));
        // Where two faces are equally near, rounding decides between them.
        turned += usize::from((normal - expected.gradient).norm() > 1e-3);
        assert!((f64::from(touch.distance) - expected.value).abs() < 5e-8);
        assert!((normal.norm() - 1.0).abs() < 0.1, "{normal:?}");
        assert!(node.normal.dot(&(pose.rotation.inverse() * normal)) < 0.5, "faces look at each other");
    }
    assert!(found.touches().len() > 200 && turned < 3, "{turned} of {}", found.touches().len());
}

#[test]
fn a_detector_leaves_the_heap_alone_and_the_deepest_is_the_deepest() {
    let mut random = Random::new(9);
    for case in CASES.iter().take(9) {
        let mut detector = Detector::new(Arc::clone(&case.nodes), Arc::clone(&case.field), 2e-4);
        let mut found = Found::for_nodes(&case.nodes);
        for k in 0..10 {
            let pose = pose(case, k, &mut random);
            let before = CALLS.get();
            detector.detect(&pose, &mut found);
            assert_eq!(CALLS.get() - before, 0, "{}", case.name);
            let least = found.touches().iter().map(|t| t.distance).fold(f32::INFINITY, f32::min);
            assert_eq!(found.deepest().map_or(f32::INFINITY, |t| t.distance), least);
        }
    }
}

#[test]
fn nonsense_finds_nothing_and_does_no_harm() {
    let case = &CASES[0];
    let mut detector = Detector::new(Arc::clone(&case.nodes), Arc::clone(&case.field), 1e-3);
    let mut found = Found::for_nodes(&case.nodes);
    detector.detect(&screwed(0.5), &mut found);
    assert!(!found.touches().is_empty());
    for bad in [f64::NAN, f64::INFINITY] {
        detector.detect(&Pose::translation(bad, 0.0, 0.0), &mut found);
        assert_eq!(found.touches(), []);
        detector.detect(&Pose::from_parts(Vec3::zeros().into(), Rot::new_unchecked([bad; 4].into())), &mut found);
        assert_eq!(found.touches(), []);
    }
    let node = |x: f64| SurfaceNode { position: Vec3::new(x, 0.0, 0.0), normal: Vec3::x(), area: 1.0 };
    let set = NodeSet::new(&[node(f64::NAN), node(0.01), node(f64::INFINITY)]);
    assert_eq!((set.len(), set.sources()), (1, &[1][..]));
    let mut detector = Detector::new(Arc::new(NodeSet::new(&[])), Arc::clone(&case.field), 1e-3);
    detector.detect(&Pose::identity(), &mut found);
    assert_eq!(found.touches(), []);
}

#[test]
fn the_vertices_of_a_mesh_share_its_area() {
    let mesh = PEG.mesh(Facets { per_turn: 64, rows: 5 }).expect("a mesh");
    let (area, count) = (mesh.area(), mesh.vertices().len());
    let nodes = nodes_of(mesh);
    assert_eq!(nodes.len(), count);
    let sum: f64 = nodes.nodes().iter().map(|n| n.area).sum();
    assert!((sum / area - 1.0).abs() < 1e-12);
    let mut sources = nodes.sources().to_vec();
    sources.sort_unstable();
    assert!(sources.iter().copied().eq(0..count as u32));
}
