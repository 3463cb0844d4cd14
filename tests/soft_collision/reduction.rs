//! Keys, reduction, equal bits, no heap.

use super::*;

fn keys(contacts: &[SoftContact]) -> Vec<u64> {
    contacts.iter().map(|c| c.key).collect()
}

/// Keys of `one` that are not in `other`.
fn lost(one: &[SoftContact], other: &[SoftContact]) -> usize {
    let (one, other) = (keys(one), keys(other));
    one.iter().filter(|key| !other.contains(key)).count()
}

#[test]
fn keys_stay_while_a_body_slides_across_many_triangles_of_a_smooth_face() {
    let table = Body::new(&block(Vec3::new(0.2, 0.2, 0.02), [23, 23, 1], Vec3::new(-0.1, -0.1, -0.02)));
    let mut a = Body::new(&block(Vec3::new(0.03, 0.03, 0.02), [5, 5, 3], Vec3::new(-0.0151, -0.0147, -1e-5)));
    let mut finder = SoftFinder::new();
    let query = SoftQuery { reduction: SoftReduction::Patches, most: 12, ..ALL };
    let (mut last, mut last_all): (Vec<SoftContact>, Vec<SoftContact>) = (Vec::new(), Vec::new());
    let (mut changes, mut steps) = (0, 0);
    for _ in 0..200 {
        a.shift(Vec3::new(1.3e-4, 0.7e-4, 0.0));
        let (mut out, mut all) = (Vec::new(), Vec::new());
        finder.against_soft(a.side(), table.side(), &ALL, &mut all);
        finder.against_soft(a.side(), table.side(), &query, &mut out);
        assert_eq!(out.len(), 12);
        if !last.is_empty() {
            // The nodes of the body never leave the table: their keys stay without exception.
            let own: Vec<_> = last_all.iter().filter(|c| c.on.weights == [1.0, 0.0, 0.0]).copied().collect();
            assert!(own.len() >= 36 && lost(&own, &all) == 0);
            changes += lost(&last, &out);
            steps += 1;
        }
        (last, last_all) = (out, all);
    }
    assert!(changes <= steps / 4, "{changes} of 12 representatives changed in {steps} steps");
}

#[test]
fn keys_of_a_resting_body_survive_noise_of_the_solver() {
    let mut random = Random::new(5);
    let floor = Shape::HalfSpace(HalfSpace);
    let rest = block(Vec3::new(0.05, 0.05, 0.02), [12, 12, 3], Vec3::new(-0.025, -0.025, -1e-5));
    let mut body = Body::new(&rest);
    let mut finder = SoftFinder::new();
    for reduction in [SoftReduction::Patches, SoftReduction::KMeans { seed: 9 }] {
        let query = SoftQuery { reduction, most: 16, pair: 3, ..ALL };
        let mut last: Vec<SoftContact> = Vec::new();
        let mut changes = 0;
        for _ in 0..100 {
            let noisy: Vec<Vec3> = rest.0.iter().map(|p| p + direction(&mut random) * 2e-7).collect();
            body.step(&noisy);
            let mut out = Vec::new();
            finder.against_rigid(&body.surface, &body.place, &still(&floor, Pose::identity()), &query, &mut out);
            assert_eq!(out.len(), 16, "{reduction:?}");
            changes += lost(&last, &out);
            last = out;
        }
        assert!(changes <= 3, "{reduction:?}: {changes} of 1600 changed");
    }
}

#[test]
fn reduction_keeps_the_deepest_contact_the_support_and_the_area() {
    let mut random = Random::new(6);
    let floor = Shape::HalfSpace(HalfSpace);
    let (rest, triangles) = block(Vec3::new(0.08, 0.05, 0.02), [16, 10, 3], Vec3::new(-0.04, -0.025, 0.0));
    for case in 0..10 {
        let turn = Rot::from_axis_angle(&Vec3::z_axis(), 3.0 * random.uniform());
        let points: Vec<Vec3> = rest.iter().map(|p| turn * p + Vec3::z() * (-5e-5 - 1e-4 * random.uniform())).collect();
        let body = Body::new(&(points, triangles.clone()));
        let mut finder = SoftFinder::new();
        let rigid = still(&floor, Pose::identity());
        let (mut all, mut few, mut means) = (Vec::new(), Vec::new(), Vec::new());
        finder.against_rigid(&body.surface, &body.place, &rigid, &ALL, &mut all);
        let query = SoftQuery { reduction: SoftReduction::Patches, most: 16, ..ALL };
        finder.against_rigid(&body.surface, &body.place, &rigid, &query, &mut few);
        let query = SoftQuery { reduction: SoftReduction::KMeans { seed: 4 }, ..query };
        finder.against_rigid(&body.surface, &body.place, &rigid, &query, &mut means);
        assert!(all.len() > 150 && few.len() == 16 && means.len() <= 16);
        for reduced in [&few, &means] {
            let area = |c: &[SoftContact]| c.iter().map(|c| c.area_m2).sum::<f64>();
            assert!((area(&all) / area(reduced) - 1.0).abs() < 1e-12, "case {case}");
            let deepest = |c: &[SoftContact]| c.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
            assert!((deepest(&all) - deepest(reduced)).abs() < 1e-6, "case {case}");
            assert_eq!(lost(reduced, &all), 0);
        }
        // The four corners of the block, and with them the whole hull.
        for direction in 0..36 {
            let (sin, cos) = (f64::from(direction) * 0.1745).sin_cos();
            let reach = |c: &[SoftContact]| {
                let along = |c: &SoftContact| c.on.position(&body.now).dot(&Vec3::new(cos, sin, 0.0));
                c.iter().map(along).fold(f64::NEG_INFINITY, f64::max)
            };
            assert!(reach(&few) >= reach(&all) - 1e-3 * 0.08, "case {case}, direction {direction}");
        }
    }
}

#[test]
fn equal_inputs_give_equal_bits() {
    let run = || {
        let mut random = Random::new(8);
        let (mut finder, mut all) = (SoftFinder::new(), Vec::new());
        let ball = Shape::Sphere(Sphere { radius: 0.01 });
        let mut a = Body::new(&lump(&mut random, 0.02, 6, Vec3::zeros()));
        let b = Body::new(&lump(&mut random, 0.03, 7, Vec3::new(0.0, 0.0, -0.05)));
        for step in 0..20 {
            a.shift(Vec3::new(2e-4, 1e-4, -1e-4 * f64::from(step % 3)));
            let query = SoftQuery { most: 20, reduction: SoftReduction::Patches, pair: 1, ..ALL };
            finder.against_soft(a.side(), b.side(), &query, &mut all);
            let query = SoftQuery { most: 9, reduction: SoftReduction::KMeans { seed: 2 }, pair: 2, ..ALL };
            let pose = Pose::translation(0.0, 0.0, 0.0285);
            finder.against_rigid(&a.surface, &a.place, &still(&ball, pose), &query, &mut all);
            finder.against_itself(&a.surface, &a.place, &query, &mut all);
        }
        all
    };
    let (one, two) = (run(), run());
    assert!(one.len() > 80, "{}", one.len());
    assert_eq!(one, two);
}

#[test]
fn queries_leave_the_heap_alone_once_they_are_warm() {
    let mut random = Random::new(8);
    let (mut finder, mut out) = (SoftFinder::new(), Vec::with_capacity(4096));
    let shapes = [
        Shape::Sphere(Sphere { radius: 0.01 }),
        Shape::Cuboid(Cuboid { half: Vec3::repeat(0.01) }),
        Shape::Cylinder(Cylinder { radius: 0.01, half_length: 0.01 }),
    ];
    let mut a = Body::new(&lump(&mut random, 0.02, 6, Vec3::zeros()));
    let b = Body::new(&lump(&mut random, 0.03, 7, Vec3::new(0.0, 0.0, -0.047)));
    let points = a.now.clone();
    let mut round = || {
        out.clear();
        a.place.refit(&a.surface, &points, &points, MARGIN);
        for (reduction, pair) in [(SoftReduction::Patches, 1), (SoftReduction::KMeans { seed: 2 }, 10)] {
            let query = SoftQuery { most: 9, reduction, pair, ..ALL };
            finder.against_soft((&a.surface, &a.place), b.side(), &query, &mut out);
            for (shape, pair) in shapes.iter().zip(pair + 1..) {
                let rigid = still(shape, Pose::translation(0.0, 0.0, 0.028));
                finder.against_rigid(&a.surface, &a.place, &rigid, &SoftQuery { pair, ..query }, &mut out);
            }
            finder.against_itself(&a.surface, &a.place, &SoftQuery { pair: pair + 9, ..query }, &mut out);
        }
        out.len()
    };
    round();
    round();
    let before = CALLS.get();
    let found = round();
    assert_eq!(CALLS.get() - before, 0);
    assert!(found > 40, "{found}");
}
