//! Parts from dimensions: closed, of the right size, where the exact surface says.

use super::threads::TABLE_II;
use crate::solids::somewhere;
use hapticd::geometry::Surface;
use hapticd::geometry::mesh::{Checks, MeshSurface, TriMesh};
use hapticd::geometry::parts::{
    Body, Bolt, BoreBlock, Facets, Fit, Hand, Head, Limit, Nut, PartError, Peg, Side, ThreadSpec,
    pitch_diameter_tolerance,
};
use hapticd::math::{Random, Vec3};
use std::f64::consts::PI;

const ALL: Checks = Checks { self_intersection: true };
const BOLT_FACETS: Facets = Facets { per_turn: 101, rows: 2 };
const NUT_FACETS: Facets = Facets { per_turn: 131, rows: 2 };

fn spec(diameter_mm: f64, pitch_mm: f64) -> ThreadSpec {
    ThreadSpec { diameter: diameter_mm * 1e-3, pitch: pitch_mm * 1e-3, hand: Hand::Right, fit: Fit::RadialGap(4e-4) }
}

fn bolt(spec: &ThreadSpec) -> Bolt {
    Bolt { profile: spec.profile(Side::Bolt).expect("a thread"), length: 0.02, chamfer: 0.0015, head: None }
}

fn nut(spec: &ThreadSpec) -> Nut {
    let body = Body::Hex { across_flats: spec.diameter * 75.0 / 48.0 };
    Nut { profile: spec.profile(Side::Nut).expect("a thread"), height: 0.015, chamfer: 0.0, body }
}

fn assert_sound(mesh: &TriMesh, what: &str) {
    let report = mesh.validate(&ALL);
    assert!(report.is_sound(), "{what}: {report}");
    assert_eq!(report.shells, 1, "{what}");
}

#[test]
fn the_m48_pair_has_the_dimensions_of_its_standard() {
    let basic = ThreadSpec { fit: Fit::Basic, ..spec(48.0, 5.0) }.profile(Side::Bolt).expect("a thread");
    // ISO 724: pitch diameter 44.752, minor diameter 42.587.
    assert!((2e3 * basic.pitch_radius - 44.752).abs() < 5e-4 && (2e3 * basic.minor_radius - 42.587).abs() < 5e-4);
    assert!((2e3 * basic.crest_half_width() - 5.0 / 8.0).abs() < 1e-12);
    assert!((5.0 - 2e3 * basic.foot_half_width() - 5.0 / 4.0).abs() < 1e-12);

    let (bolt, nut) = (bolt(&spec(48.0, 5.0)), nut(&spec(48.0, 5.0)));
    let (bolt_mesh, nut_mesh) = (bolt.mesh(BOLT_FACETS).expect("a bolt"), nut.mesh(NUT_FACETS).expect("a nut"));
    assert_sound(&bolt_mesh, "bolt");
    assert_sound(&nut_mesh, "nut");
    let (b, n) = (bolt_mesh.triangles().len(), nut_mesh.triangles().len());
    assert!((4500..5500).contains(&b) && (4500..5500).contains(&n), "{b} and {n} triangles");
    let radii = |mesh: &TriMesh| {
        let all = mesh.vertices().iter().map(|v| v.x.hypot(v.y)).filter(|r| *r > 1e-3);
        all.fold((f64::INFINITY, 0.0_f64), |(low, high), r| (low.min(r), high.max(r)))
    };
    // 23.8 mm crest, 21.09 mm root; the nut's crest at 21.49 mm.
    let (low, high) = radii(&bolt_mesh);
    assert!((high - 23.8e-3).abs() < 1e-9 && (low - 21.0937e-3).abs() < 1e-7, "{low} {high}");
    assert!((radii(&nut_mesh).0 - 21.4937e-3).abs() < 1e-7);
    let bounds = nut_mesh.aabb();
    assert!((bounds.max.x - 0.0375).abs() < 1e-12 && (bounds.max.y - 0.0375 / (PI / 6.0).cos()).abs() < 1e-12);
    // Volumes of independently made meshes of the same parts, 100 and 120 facets: 31.179 and 48.799 cm³.
    let (vb, vn) = (bolt_mesh.volume() * 1e6, nut_mesh.volume() * 1e6);
    assert!((vb / 31.1787 - 1.0).abs() < 2e-3 && (vn / 48.7987 - 1.0).abs() < 2e-3, "{vb} and {vn}");
}

#[test]
fn every_pair_of_the_generalisation_study_is_made_and_sound() {
    for (diameter, pitch) in TABLE_II {
        for hand in [Hand::Right, Hand::Left] {
            let spec = ThreadSpec { hand, ..spec(diameter, pitch) };
            let what = format!("M{diameter}x{pitch} {hand:?}");
            assert_sound(&bolt(&spec).mesh(BOLT_FACETS).expect("a bolt"), &what);
            assert_sound(&nut(&spec).mesh(NUT_FACETS).expect("a nut"), &what);
        }
    }
}

#[test]
fn bodies_heads_chamfers_lengths_and_facet_counts_all_close() {
    let bodies = [Body::Hex { across_flats: 0.075 }, Body::Round { diameter: 0.07 }, Body::Block { x: 0.08, y: 0.06 }];
    let mut random = Random::new(1);
    let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
    for case in 0..60 {
        let body = bodies[case % 3];
        let facets = Facets { per_turn: 12 + 7 * (case % 10), rows: 1 + case % 3 };
        let spec = ThreadSpec { fit: Fit::Class6(Limit::Middle), ..spec(48.0, between(1.0, 6.0)) };
        let chamfer = if case % 4 == 0 { 0.0 } else { between(1e-4, 5e-3) };
        let head = (case % 2 == 0).then_some(Head { body, height: 0.02 });
        let bolt = Bolt { length: between(6e-3, 0.03), chamfer, head, ..bolt(&spec) };
        assert_sound(&bolt.mesh(facets).expect("a bolt"), &format!("{bolt:?} {facets:?}"));
        let nut = Nut { height: between(0.011, 0.03), chamfer, body, ..nut(&spec) };
        assert_sound(&nut.mesh(facets).expect("a nut"), &format!("{nut:?} {facets:?}"));
        let floor = (case % 2 == 0).then_some(0.01);
        let block =
            BoreBlock { diameter: 0.050_035, depth: 0.04, chamfer, floor, body: Body::Round { diameter: 0.08 } };
        let body = if case % 3 == 2 { Body::Block { x: 0.09, y: 0.07 } } else { block.body };
        assert_sound(&BoreBlock { body, ..block }.mesh(facets).expect("a block"), &format!("{block:?}"));
        let peg = Peg { diameter: 0.04997, length: 0.06, chamfer };
        assert_sound(&peg.mesh(facets).expect("a peg"), &format!("{peg:?}"));
    }
}

#[test]
fn vertices_lie_on_the_exact_surface_and_facets_within_their_sagitta() {
    for hand in [Hand::Right, Hand::Left] {
        let spec = ThreadSpec { hand, ..spec(48.0, 5.0) };
        let head = Some(Head { body: Body::Hex { across_flats: 0.075 }, height: 0.03 });
        let (bolt, nut) = (Bolt { head, ..bolt(&spec) }, Nut { chamfer: 0.001, ..nut(&spec) });
        let (bolt_mesh, nut_mesh) = (bolt.mesh(BOLT_FACETS).expect("a bolt"), nut.mesh(NUT_FACETS).expect("a nut"));
        let exact: [(&dyn Surface, &TriMesh); 2] =
            [(&bolt.surface().expect("a bolt"), &bolt_mesh), (&nut.surface().expect("a nut"), &nut_mesh)];
        for (surface, mesh) in exact {
            for v in mesh.vertices().iter() {
                // The middle of the bolt's top and the head's bottom are vertices too.
                assert!(surface.signed_distance(v).distance.abs() < 1e-12, "{v:?}");
            }
            // A chord of 1/101 turn is 11.6 µm off its arc; the helix and the end of the chamfer add to it.
            for t in 0..mesh.triangles().len() {
                let [a, b, c] = mesh.corners(t);
                let off = surface.signed_distance(&((a + b + c) / 3.0)).distance;
                assert!(off.abs() < 15e-6, "triangle {t} is off by {off}");
            }
        }
    }
}

#[test]
fn the_exact_solid_has_the_distance_of_a_fine_mesh() {
    let spec = spec(48.0, 5.0);
    let fine = |n| Facets { per_turn: n, rows: 1 };
    let (bolt, nut) = (bolt(&spec), nut(&spec));
    let head = Some(Head { body: Body::Hex { across_flats: 0.06 }, height: 0.01 });
    let headed = Bolt { head, ..bolt };
    let solids: [(&dyn Surface, TriMesh, bool); 3] = [
        (&bolt.surface().expect("a bolt"), bolt.mesh(fine(500)).expect("a bolt"), false),
        (&nut.surface().expect("a nut"), nut.mesh(fine(500)).expect("a nut"), false),
        (&headed.surface().expect("a bolt"), headed.mesh(fine(500)).expect("a bolt"), true),
    ];
    let mut random = Random::new(2);
    for (exact, mesh, has_joint) in solids {
        let mesh = MeshSurface::new(mesh).expect("closed");
        let (mut inside, mut hint) = (0, None);
        for _ in 0..4_000 {
            let p = somewhere(&mut random, 0.03);
            let (near, found) = mesh.query(&p, hint);
            hint = Some(found.triangle);
            let got = exact.signed_distance(&p);
            // Facets are at most 0.5 µm off.
            let nearer_to_zero =
                if near.distance > 0.0 { near.distance - got.distance } else { got.distance - near.distance };
            assert!(nearer_to_zero > -1e-6, "{p:?}: {got:?} against {near:?}");
            assert!(got.distance * near.distance >= 0.0 || near.distance.abs() < 1e-6, "sign at {p:?}");
            if near.distance < 0.0 {
                assert!(has_joint || nearer_to_zero < 1e-6, "{p:?}: {got:?} against {near:?}");
                inside += 1;
            }
        }
        assert!(inside > 300, "{inside}");
    }
}

#[test]
fn peg_and_bore_of_the_study_leave_their_clearance() {
    let facets = Facets { per_turn: 256, rows: 8 };
    let peg = Peg { diameter: 0.04997, length: 0.06, chamfer: 0.001 }.mesh(facets).expect("a peg");
    let body = Body::Round { diameter: 0.08 };
    let block = BoreBlock { diameter: 0.050_035, depth: 0.04, chamfer: 0.001, floor: None, body };
    let bore = block.mesh(Facets { per_turn: 256, rows: 6 }).expect("a block");
    assert_sound(&peg, "peg");
    assert_sound(&bore, "bore");
    assert_eq!((peg.triangles().len(), bore.triangles().len()), (5120, 5120));
    // Independently made meshes have 117.579 and 122.320 cm³.
    assert!((peg.volume() * 1e6 - 117.579_144).abs() < 1e-5, "{}", peg.volume() * 1e6);
    assert!((bore.volume() * 1e6 - 122.320_196).abs() < 1e-5, "{}", bore.volume() * 1e6);
    let bore = MeshSurface::new(bore).expect("closed");
    // Half-way in, vertices of the peg clear the wall by 32.5 µm, facets against facets.
    for v in peg.vertices().iter().filter(|v| v.z > 0.002 && v.z < 0.03) {
        let gap = bore.signed_distance(&(v - Vec3::z() * 0.035)).distance;
        assert!((gap - 32.5e-6).abs() < 2e-6, "{gap}");
    }
}

#[test]
fn tolerances_are_those_of_the_tables_to_their_rounding() {
    // ISO 965-1 tables: pitch diameter, bolt grade 6 and nut grade 6, µm.
    for (d, p, bolt, nut) in
        [(6.0, 1.0, 112.0, 150.0), (12.0, 1.75, 150.0, 200.0), (24.0, 3.0, 200.0, 265.0), (48.0, 5.0, 250.0, 335.0)]
    {
        let (b, n) = pitch_diameter_tolerance(d * 1e-3, p * 1e-3).expect("in the table");
        assert!((b * 1e6 / bolt - 1.0).abs() < 0.05 && (n * 1e6 / nut - 1.0).abs() < 0.05, "M{d}: {b} {n}");
    }
    // 6g sits below the basic size, 6H above it, and the tightest pair still has the deviation of g between them.
    let pair = |limit| {
        let spec = ThreadSpec { fit: Fit::Class6(limit), ..spec(48.0, 5.0) };
        (spec.profile(Side::Bolt).expect("a bolt"), spec.profile(Side::Nut).expect("a nut"))
    };
    let (bolt, nut) = pair(Limit::MostMaterial);
    assert!((2.0 * (nut.pitch_radius - bolt.pitch_radius) - 70e-6).abs() < 1e-12);
    let (looser, wider) = pair(Limit::LeastMaterial);
    assert!(looser.pitch_radius < bolt.pitch_radius && wider.pitch_radius > nut.pitch_radius);
    assert!(matches!(pitch_diameter_tolerance(0.5, 5e-3), Err(PartError::NoTolerance)));
    assert!(matches!(pitch_diameter_tolerance(0.048, 9e-3), Err(PartError::NoTolerance)));
}

#[test]
fn what_cannot_be_made_is_refused_with_a_reason() {
    let good = spec(48.0, 5.0);
    let refused = |s: ThreadSpec| s.profile(Side::Bolt).expect_err("refused");
    assert!(matches!(refused(spec(48.0, 13.0)), PartError::TooCoarse { .. }));
    assert!(matches!(refused(spec(-1.0, 5.0)), PartError::NotPositive("diameter")));
    assert!(matches!(refused(spec(48.0, f64::NAN)), PartError::NotPositive("pitch")));
    assert!(ThreadSpec { fit: Fit::RadialGap(f64::NAN), ..good }.profile(Side::Nut).is_err());
    assert!(ThreadSpec { fit: Fit::RadialGap(1.0), ..good }.profile(Side::Bolt).is_err());
    let fine = Facets { per_turn: 65_536, rows: 4096 };
    assert!(matches!(bolt(&good).mesh(fine), Err(PartError::TooFine { .. })));
    assert!(matches!(bolt(&good).mesh(Facets { per_turn: 3, rows: 1 }), Err(PartError::Facets)));
    let narrow = Nut { body: Body::Hex { across_flats: 0.048 }, ..nut(&good) };
    assert!(matches!(narrow.mesh(NUT_FACETS), Err(PartError::BodyTooNarrow)));
    assert!(matches!(Bolt { chamfer: 0.02, ..bolt(&good) }.mesh(BOLT_FACETS), Err(PartError::ChamferTooLong)));
    assert!(matches!(Bolt { length: 0.0, ..bolt(&good) }.mesh(BOLT_FACETS), Err(PartError::NotPositive("length"))));
    assert!(matches!(Nut { chamfer: -1.0, ..nut(&good) }.mesh(NUT_FACETS), Err(PartError::BadChamfer)));
    let endless = Bolt { length: 1e9, ..bolt(&good) };
    assert!(matches!(endless.mesh(BOLT_FACETS), Err(PartError::TooFine { .. })));
}
