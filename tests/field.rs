//! Distance models against the exact surfaces they are made from: error, gradient, batches, determinism, files.

use hapticd::bake::{GridPlan, Source, TrainPlan, bake_grid, measure, train};
use hapticd::collision::field::{Answers, Baked, DistanceField, Exact, FileError, Model, Nodes};
use hapticd::geometry::parts::{Body, Bolt, BoreBlock, Facets, Fit, Hand, Nut, Peg, Side, ThreadSpec};
use hapticd::math::{Random, Vec3};

const BAND: f64 = 1e-3;

fn thread(hand: Hand) -> ThreadSpec {
    ThreadSpec { diameter: 0.048, pitch: 0.005, hand, fit: Fit::RadialGap(4e-4) }
}

fn bolt(hand: Hand) -> Bolt {
    let profile = thread(hand).profile(Side::Bolt).expect("a profile");
    Bolt { profile, length: 0.02, chamfer: 0.0015, head: None }
}

fn nut() -> Nut {
    let profile = thread(Hand::Right).profile(Side::Nut).expect("a profile");
    Nut { profile, height: 0.015, chamfer: 0.001, body: Body::Hex { across_flats: 0.075 } }
}

fn peg() -> Peg {
    Peg { diameter: 49.97e-3, length: 0.06, chamfer: 1e-3 }
}

fn bore() -> BoreBlock {
    let body = Body::Round { diameter: 0.08 };
    BoreBlock { diameter: 50.035e-3, depth: 0.04, chamfer: 1e-3, floor: None, body }
}

fn sources() -> [(&'static str, Source); 5] {
    [
        ("bolt", Source::bolt(&bolt(Hand::Right)).expect("a bolt")),
        ("left-hand bolt", Source::bolt(&bolt(Hand::Left)).expect("a bolt")),
        ("nut", Source::nut(&nut()).expect("a nut")),
        ("peg", Source::peg(&peg()).expect("a peg")),
        ("bore", Source::bore(&bore()).expect("a bore")),
    ]
}

/// A small screw without declared symmetry.
fn small_mesh() -> Source {
    let spec = ThreadSpec { diameter: 0.01, pitch: 0.0015, hand: Hand::Right, fit: Fit::Basic };
    let profile = spec.profile(Side::Bolt).expect("a profile");
    let screw = Bolt { profile, length: 0.003, chamfer: 0.0, head: None };
    Source::mesh(screw.mesh(Facets { per_turn: 40, rows: 1 }).expect("a mesh")).expect("a solid")
}

/// A network after so few steps that it has hardly learnt anything: its arithmetic is what is tested.
fn raw_network(seed: u64) -> Baked {
    let plan = TrainPlan { seed, steps: 40, samples: 2000, batch: 64, ..TrainPlan::default() };
    let source = Source::bolt(&bolt(Hand::Right)).expect("a bolt");
    train(&source, &plan, |_| ()).expect("a sound plan").0
}

fn random_point(field: &dyn DistanceField, random: &mut Random) -> Vec3 {
    let bounds = field.bounds();
    let slack = Vec3::repeat(2.0 * BAND);
    let size = bounds.max - bounds.min + 2.0 * slack;
    bounds.min - slack + Vec3::from_fn(|i, _| size[i] * random.uniform())
}

#[test]
fn grids_of_declared_parts_are_off_by_less_than_three_micrometres() {
    for (name, source) in sources() {
        let grid = bake_grid(&source, &GridPlan::profile()).expect("a grid");
        let error = measure(&grid, &source, BAND, 20_000, 3);
        assert_eq!(error.count, 20_000, "{name}");
        assert!(error.rms < 3e-6 && error.max < 4e-5, "{name}: {error:?}");
        assert_eq!(error.wrong_side, 0, "{name}");
        assert!(error.gradient_rms < 0.1, "{name}: {error:?}");
        assert!(grid.size() < 1 << 20, "{name}: {} bytes", grid.size());
    }
}

#[test]
fn a_grid_of_a_mesh_is_off_by_less_than_three_micrometres() {
    let source = small_mesh();
    let plan = GridPlan { spacing: 8e-5, band: 3e-4 };
    let grid = bake_grid(&source, &plan).expect("a grid");
    let error = measure(&grid, &source, plan.band, 10_000, 3);
    assert!(error.rms < 3e-6 && error.max < 4e-5, "{error:?}");
    assert_eq!((error.count, error.wrong_side), (10_000, 0));
}

#[test]
fn outside_of_the_band_the_answer_is_a_bound() {
    let mesh = small_mesh();
    let space = bake_grid(&mesh, &GridPlan { spacing: 1e-4, band: 3e-4 }).expect("a grid");
    let mut cases = vec![(mesh, space)];
    for (_, source) in sources() {
        let grid = bake_grid(&source, &GridPlan::profile()).expect("a grid");
        cases.push((source, grid));
    }
    let mut random = Random::new(17);
    for (source, field) in &cases {
        let mut beyond = 0;
        for k in 0..4000 {
            let mut p = random_point(field, &mut random);
            if k % 4 == 0 {
                p *= 3.0;
            }
            let (exact, found) = (source.distance(&p).distance, field.distance(&p).value);
            if exact.abs() > field.band {
                beyond += 1;
                assert!(found.abs() <= exact.abs() + 4e-5, "{found} for {exact} at {p:?}");
                assert!(found * exact >= 0.0, "{found} for {exact} at {p:?}");
            }
        }
        assert!(beyond > 500, "{beyond}");
    }
}

#[test]
fn the_gradient_is_the_derivative_of_the_value() {
    let mesh = small_mesh();
    let mut fields = vec![raw_network(1), bake_grid(&mesh, &GridPlan { spacing: 1e-4, band: 3e-4 }).expect("a grid")];
    fields.extend(sources().iter().map(|(_, s)| bake_grid(s, &GridPlan::profile()).expect("a grid")));
    let mut random = Random::new(11);
    for field in &fields {
        let (mut near, mut wrong) = (0, 0);
        while near < 1000 {
            let p = random_point(field, &mut random);
            let found = field.distance(&p);
            if found.value.abs() > 0.9 * field.band {
                continue;
            }
            near += 1;
            let h = 1e-8;
            let along = |e: Vec3| {
                let ahead = field.distance(&(p + e * h)).value;
                (ahead - field.distance(&(p - e * h)).value) / (2.0 * h)
            };
            let numeric = Vec3::new(along(Vec3::x()), along(Vec3::y()), along(Vec3::z()));
            // A step may cross the line where a cut becomes the farther one.
            wrong += usize::from((numeric - found.gradient).norm() > 1e-4);
        }
        assert!(wrong <= 2, "{wrong} of {near}");
    }
}

#[test]
fn a_batch_gives_what_single_points_give() {
    let source = Source::bolt(&bolt(Hand::Right)).expect("a bolt");
    let exact = Exact::new(bolt(Hand::Right).surface().expect("a bolt"));
    let grid = bake_grid(&source, &GridPlan::profile()).expect("a grid");
    let network = raw_network(1);
    let fields: [(&dyn DistanceField, f64); 3] = [(&exact, 1e-8), (&grid, 1e-8), (&network, 2e-8)];
    for (field, tolerance) in fields {
        // Not a multiple of the number of lanes.
        let mut random = Random::new(23);
        let points: Vec<Vec3> = (0..1003).map(|_| random_point(field, &mut random)).collect();
        let column = |i: usize| points.iter().map(|p| p[i] as f32).collect::<Vec<f32>>();
        let (x, y, z) = (column(0), column(1), column(2));
        let mut rows = [0, 1, 2, 3].map(|_| vec![f32::NAN; points.len()]);
        let [value, gx, gy, gz] = &mut rows;
        let nodes = Nodes { x: &x, y: &y, z: &z };
        field.query(&nodes, f32::INFINITY, &mut Answers { value, gx, gy, gz });
        for k in 0..points.len() {
            let rounded = Vec3::new(f64::from(x[k]), f64::from(y[k]), f64::from(z[k]));
            let single = field.distance(&rounded);
            assert!((f64::from(rows[0][k]) - single.value).abs() < tolerance, "{} {single:?}", rows[0][k]);
            let gradient = Vec3::from_fn(|i, _| f64::from(rows[i + 1][k]));
            assert!((gradient - single.gradient).norm() < 1e-4, "{gradient:?} {single:?}");
        }
    }
}

#[test]
fn equal_seeds_train_equal_networks() {
    let (a, b, c) = (raw_network(5), raw_network(5), raw_network(6));
    assert_eq!(a.to_bytes(), b.to_bytes());
    assert_ne!(a.to_bytes(), c.to_bytes());
}

#[test]
fn training_learns() {
    let source = Source::bolt(&bolt(Hand::Right)).expect("a bolt");
    let plan = TrainPlan { steps: 400, samples: 20_000, ..TrainPlan::default() };
    let mut calls = 0;
    let (_, error) = train(&source, &plan, |p| calls += usize::from(p.step <= p.steps)).expect("a sound plan");
    assert_eq!(calls, 100);
    // The mean distance within the band is 580 µm: that is what a network without knowledge would be off.
    assert!(error.rms < 1.5e-4, "{error:?}");
}

#[test]
fn the_shipped_networks_keep_their_promise() {
    let bolt = Source::bolt(&bolt(Hand::Right)).expect("a bolt");
    let bore = Source::bore(&bore()).expect("a bore");
    let cases: [(&str, &Source, &[u8], TrainPlan); 2] = [
        ("bolt", &bolt, include_bytes!("data/field/bolt_m48x5.field"), TrainPlan::default()),
        ("bore", &bore, include_bytes!("data/field/bore_50.field"), TrainPlan::round()),
    ];
    for (name, source, bytes, plan) in cases {
        let field = Baked::from_bytes(bytes, &source.hash(&plan)).expect("made from this part by this plan");
        assert!(matches!(field.model, Model::Network(_)));
        let error = measure(&field, source, BAND, 20_000, 99);
        assert!(error.rms < 1e-5 && error.max < 6e-5, "{name}: {error:?}");
        let other = source.hash(&TrainPlan { seed: 77, ..plan });
        assert_eq!(Baked::from_bytes(bytes, &other), Err(FileError::Stale));
    }
}
