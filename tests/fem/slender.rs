//! Needles as beams: against closed forms, the elastica, Euler's buckling loads, and their own energy.

use hapticd::fem::{BeamBody, BeamError, BeamLoads, BeamRow, BeamSpec};
use hapticd::math::{Pose, Random, Rot, Vec3, exp_so3, split};
use std::f64::consts::PI;

/// A biopsy needle.
const GAUGE_18: BeamSpec = BeamSpec {
    length_m: 0.15,
    outer_m: 1.27e-3,
    inner_m: 0.84e-3,
    young_pa: 200e9,
    poisson: 0.3,
    nodes: 20,
    rigid: false,
};
/// A thin one.
const GAUGE_22: BeamSpec = BeamSpec { outer_m: 0.718e-3, inner_m: 0.413e-3, length_m: 0.09, ..GAUGE_18 };

fn body(spec: BeamSpec) -> BeamBody {
    BeamBody::new(spec, &Pose::identity()).expect("sound")
}

/// A hub that is somewhere and turned.
fn elsewhere() -> Pose {
    Pose::new(Vec3::new(0.4, -1.1, 0.7), Vec3::new(1.2, -0.4, 2.0))
}

fn row(at_m: f64, direction: Vec3) -> BeamRow {
    BeamRow { at_m, direction }
}

/// Equilibrium under forces, which must be found.
fn settle(beam: &mut BeamBody, rows: &[BeamRow], forces: &[f64], stages: usize) {
    let left = beam.relax(&BeamLoads::new(rows, forces), stages, 60);
    assert!(left < 1e-8, "{left} N out of balance");
}

fn near(value: f64, wanted: f64, relative: f64, what: &str) {
    assert!((value / wanted - 1.0).abs() < relative, "{what}: {value} instead of {wanted}");
}

#[test]
fn a_small_load_bends_stretches_and_twists_as_the_textbook_has_it() {
    for spec in [GAUGE_18, GAUGE_22, BeamSpec { nodes: 2, ..GAUGE_18 }] {
        let (l, e) = (spec.length_m, spec.young_pa);
        let inertia = PI * (spec.outer_m.powi(4) - spec.inner_m.powi(4)) / 64.0;
        let area = PI * (spec.outer_m.powi(2) - spec.inner_m.powi(2)) / 4.0;
        let force = 1e-3 * e * inertia / (l * l);

        let mut beam = body(spec);
        settle(&mut beam, &[row(l, Vec3::x())], &[force], 1);
        near(beam.point(l).x, force * l.powi(3) / (3.0 * e * inertia), 1e-5, "deflection");
        near(beam.tangent(l).x, force * l * l / (2.0 * e * inertia), 1e-5, "slope");
        let middle = force * (0.4 * l).powi(2) * (3.0 * l - 0.4 * l) / (6.0 * e * inertia);
        near(beam.point(0.4 * l).x, middle, 1e-5, "deflection on the way");

        // A force between nodes: exact at the nodes when it is spread with its moments.
        let (mut beam, at) = (body(spec), 0.643 * l);
        settle(&mut beam, &[row(at, Vec3::y())], &[force], 1);
        near(beam.point(l).y, force * at * at * (3.0 * l - at) / (6.0 * e * inertia), 1e-5, "force on the way");

        let mut beam = body(spec);
        settle(&mut beam, &[row(l, -Vec3::z())], &[1.0], 1);
        near(-beam.point(l).z - l, l / (e * area), 1e-5, "stretch");

        let (mut beam, torque) = (body(spec), 1e-3);
        let loads = BeamLoads { tip_torque: Vec3::new(0.0, 0.0, torque), ..BeamLoads::new(&[], &[]) };
        assert!(beam.relax(&loads, 4, 60) < 1e-8);
        let shear = e / (2.0 * (1.0 + spec.poisson));
        let twist = torque * l / (shear * 2.0 * inertia);
        for part in [0.5, 1.0] {
            near(beam.frame(part * l).scaled_axis().z, part * twist, 1e-8, "twist");
        }
    }
}

/// Tip of the elastica clamped at the origin, of length one, under the dead load `alpha` across: how far it moves along the
/// load and back towards the clamp. By shooting for the curvature at the clamp.
pub(crate) fn elastica(alpha: f64) -> (f64, f64) {
    let run = |curvature: f64| {
        let (steps, mut s) = (4000, [0.0, curvature, 0.0, 0.0]);
        let h = 1.0 / f64::from(steps);
        let slope = |s: &[f64; 4]| [s[1], -alpha * s[0].cos(), s[0].cos(), s[0].sin()];
        let moved = |s: &[f64; 4], k: &[f64; 4], h: f64| std::array::from_fn(|i| s[i] + h * k[i]);
        for _ in 0..steps {
            let a = slope(&s);
            let b = slope(&moved(&s, &a, 0.5 * h));
            let c = slope(&moved(&s, &b, 0.5 * h));
            let d = slope(&moved(&s, &c, h));
            s = std::array::from_fn(|i| s[i] + h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]));
        }
        s
    };
    let (mut low, mut high) = (0.0, (2.0 * alpha).sqrt());
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if run(middle)[1] > 0.0 { high = middle } else { low = middle }
    }
    let [_, _, along, across] = run(low);
    (across, 1.0 - along)
}

#[test]
fn large_deflections_are_those_of_the_elastica() {
    for (alpha, table) in [(1.0, (0.30172, 0.05643)), (3.0, (0.60325, 0.25442)), (10.0, (0.81061, 0.55500))] {
        let (across, back) = elastica(alpha);
        assert!((across - table.0).abs() < 2e-5 && (back - table.1).abs() < 2e-5, "the oracle: {across} {back}");
        for spec in [GAUGE_18, GAUGE_22] {
            let (mut beam, l) = (body(spec), spec.length_m);
            let direction = Vec3::new(0.6, 0.8, 0.0);
            settle(&mut beam, &[row(l, direction)], &[alpha * spec.bending() / (l * l)], 10);
            let tip = beam.point(l);
            near(tip.dot(&direction) / l, across, 1e-3, "across");
            near(1.0 + tip.z / l, back, 1e-3, "back");
            assert!(tip.dot(&Vec3::new(0.8, -0.6, 0.0)).abs() < 1e-9, "it stays in its plane");
        }
    }
}

#[test]
fn the_error_of_a_large_deflection_falls_with_the_square_of_the_element() {
    let l = GAUGE_18.length_m;
    let [coarse, middle, fine] = [10, 19, 37].map(|nodes| {
        let mut beam = body(BeamSpec { nodes, ..GAUGE_18 });
        settle(&mut beam, &[row(l, Vec3::x())], &[3.0 * GAUGE_18.bending() / (l * l)], 5);
        beam.point(l).x / l
    });
    near((coarse - middle) / (middle - fine), 4.0, 0.05, "order two");
    // What it tends to is the elastica, but for the stretch of the needle: 3 N over its axial stiffness.
    let limit = fine + (fine - middle) / 3.0;
    near(limit, elastica(3.0).0, 3e-5, "limit");
}

#[test]
fn an_end_moment_bends_the_beam_into_a_full_circle() {
    let (mut beam, l) = (body(GAUGE_18), GAUGE_18.length_m);
    let moment = |turns: f64| 2.0 * PI * turns * GAUGE_18.bending() / l;
    let bend = |turns: f64, beam: &mut BeamBody| {
        // A moment about x takes the beam, which points along −z, towards +y.
        let loads = BeamLoads { tip_torque: Vec3::new(moment(turns), 0.0, 0.0), ..BeamLoads::new(&[], &[]) };
        assert!(beam.relax(&loads, if turns < 1.0 { 10 } else { 1 }, 60) < 1e-8);
    };
    bend(0.5, &mut beam);
    let tip = beam.point(l);
    near(tip.y, 2.0 * l / PI, 2e-3, "across half a circle");
    assert!(tip.z.abs() < 2e-3 * l && beam.tangent(l).z > 0.999, "{tip}");
    for k in 6..=10 {
        bend(0.1 * f64::from(k), &mut beam);
    }
    assert!(beam.point(l).norm() < 1e-3 * l, "closed: {}", beam.point(l));
    near(beam.energy_j(), 0.5 * moment(1.0) * 2.0 * PI, 1e-6, "energy");
    let (_, torque) = split(&beam.hub_wrench());
    near(torque.x, moment(1.0), 1e-6, "moment at the hub");
}

/// Smallest axial load under which the straight beam is not stable, N.
fn buckling_load(spec: BeamSpec, held: &[BeamRow]) -> f64 {
    let unit = spec.bending() / spec.length_m.powi(2);
    let (mut low, mut high) = (0.0, 100.0 * unit);
    while high - low > 1e-6 * unit {
        let (load, mut beam) = (0.5 * (low + high), body(spec));
        settle(&mut beam, &[row(spec.length_m, Vec3::z())], &[load], 1);
        if beam.is_stable(held) { low = load } else { high = load }
    }
    low
}

#[test]
fn buckling_loads_are_eulers() {
    for spec in [GAUGE_18, GAUGE_22] {
        let unit = spec.bending() / spec.length_m.powi(2);
        let free = buckling_load(spec, &[]);
        let tip = spec.length_m;
        let pinned = buckling_load(spec, &[row(tip, Vec3::x()), row(tip, Vec3::y())]);
        // First root of tan k = k.
        let root = 4.493_409_457_909_064_f64;
        near(free, PI * PI / 4.0 * unit, 1e-3, "clamped, free");
        near(pinned, root * root * unit, 1e-2, "clamped, pinned");
    }
}

#[test]
fn beyond_buckling_it_comes_to_rest_on_the_elastica() {
    // Tip turned by 60°: P/P_cr = (2 K(sin 30°)/π)², and the place of the tip by elliptic integrals (Timoshenko, Gere).
    let (l, critical) = (GAUGE_18.length_m, PI * PI / 4.0 * GAUGE_18.bending() / GAUGE_18.length_m.powi(2));
    let mut beam = body(GAUGE_18);
    let (rows, load) = ([row(l, Vec3::z()), row(l, Vec3::x())], 1.151_7 * critical);
    settle(&mut beam, &rows, &[load, 0.2 * load], 10);
    settle(&mut beam, &rows[..1], &[load], 1);
    let tip = beam.point(l);
    near(-tip.z / l, 0.741, 1e-2, "along");
    near(tip.x / l, 0.593, 1e-2, "across");
    assert!(beam.is_stable(&[]));

    // A perfectly straight beam far beyond it is not stable, and a step does not mind.
    let mut straight = body(GAUGE_18);
    settle(&mut straight, &rows[..1], &[5.0 * critical], 1);
    assert!(!straight.is_stable(&[]));
    straight.prepare();
    assert!(!straight.tangent_serves());
    let mut compliance = [0.0];
    straight.compliance(&rows[1..], &mut compliance);
    near(compliance[0], l.powi(3) / (3.0 * GAUGE_18.bending()), 1e-3, "compliance of the material");
}

#[test]
fn moving_the_hub_moves_the_beam_rigidly_and_without_force() {
    let mut beam = body(GAUGE_18);
    beam.move_hub(&elsewhere());
    beam.prepare();
    assert!(beam.hub_wrench().norm() <= 1e-9 && beam.energy_j() <= 1e-18, "{}", beam.hub_wrench());
    for at in [0.0, 0.05, 0.1234, 0.15] {
        let wanted = elsewhere() * nalgebra::Point3::new(0.0, 0.0, -at);
        assert!(
            (beam.point(at) - wanted.coords).norm() < 1e-15 && (beam.free_point(at) - wanted.coords).norm() < 1e-12
        );
        assert!(beam.frame(at).angle_to(&elsewhere().rotation) < 1e-7);
    }

    // A bent one keeps its strains: the same torque in the hub's frame, the same force turned along.
    settle(&mut beam, &[row(0.15, Vec3::x()), row(0.08, Vec3::y())], &[2.0, -3.0], 5);
    let (energy, place, (force, torque)) = (beam.energy_j(), beam.point(0.1), split(&beam.hub_wrench()));
    let further = Pose::new(Vec3::new(-3.0, 2.0, 0.1), Vec3::new(0.1, 2.9, -0.3));
    beam.move_hub(&further);
    let between = further * elsewhere().inverse();
    let (turned, same) = split(&beam.hub_wrench());
    assert!((turned - between.rotation * force).norm() < 1e-9 && (same - torque).norm() < 1e-9);
    assert!((beam.point(0.1) - (between * nalgebra::Point3::from(place)).coords).norm() < 1e-14);
    assert!((beam.energy_j() - energy).abs() < 1e-15);
}

/// A beam with a turned hub, bent far in space under two forces on its tip.
fn bent() -> (BeamBody, [BeamRow; 2], [f64; 2]) {
    let mut beam = BeamBody::new(GAUGE_18, &elsewhere()).expect("sound");
    let rows = [row(0.15, elsewhere().rotation * Vec3::x()), row(0.15, Vec3::new(0.0, 0.6, 0.8))];
    let forces = [2.0, 1.0];
    settle(&mut beam, &rows, &forces, 5);
    (beam, rows, forces)
}

#[test]
fn compliance_is_how_the_equilibrium_answers_to_forces() {
    let (mut beam, rows, forces) = bent();
    let tried = [
        row(0.15, Vec3::x()),
        row(0.15, Vec3::new(0.0, 0.6, 0.8)),
        row(0.1123, Vec3::new(0.8, 0.0, -0.6)),
        row(0.06, Vec3::y()),
        row(0.0041, Vec3::z()),
    ];
    beam.prepare();
    let mut compliance = [0.0; 25];
    beam.compliance(&tried, &mut compliance);
    assert!(beam.tangent_serves());
    for (j, pushed) in tried.iter().enumerate() {
        let size = 1e-3;
        let [ahead, behind] = [size, -size].map(|force| {
            let (mut beam, _, _) = bent();
            settle(&mut beam, &[rows[0], rows[1], *pushed], &[forces[0], forces[1], force], 1);
            tried.map(|row| row.direction.dot(&beam.point(row.at_m)))
        });
        for i in 0..5 {
            let (measured, formed) = ((ahead[i] - behind[i]) / (2.0 * size), compliance[5 * i + j]);
            let scale = (compliance[6 * i] * compliance[6 * j]).sqrt();
            assert!((measured - formed).abs() < 1e-5 * scale, "{i} {j}: {measured} {formed}");
            assert_eq!(formed, compliance[5 * j + i]);
        }
    }
}

#[test]
fn compliance_of_many_rows_is_that_of_each_pair() {
    let (mut beam, _, _) = bent();
    beam.prepare();
    let mut random = Random::new(5);
    // More than are formed at once.
    let rows: Vec<BeamRow> = (0..110)
        .map(|_| row(0.15 * random.uniform(), exp_so3(&Vec3::new(random.normal(), random.normal(), 0.3)) * Vec3::x()))
        .collect();
    let mut all = vec![0.0; 110 * 110];
    beam.compliance(&rows, &mut all);
    for (i, j) in [(0, 109), (47, 48), (3, 40), (95, 96), (60, 20), (109, 109)] {
        let mut pair = [0.0; 4];
        beam.compliance(&[rows[i], rows[j]], &mut pair);
        assert!((pair[1] - all[i * 110 + j]).abs() < 1e-15 && (pair[2] - all[j * 110 + i]).abs() < 1e-15);
    }
}

#[test]
fn forces_are_the_slope_of_the_energy() {
    let (mut beam, rows, forces) = bent();
    let extra = row(0.0777, Vec3::new(0.0, -0.8, 0.6));
    let mut at = |force: f64| {
        settle(&mut beam, &[rows[0], rows[1], extra], &[forces[0], forces[1], force], 1);
        let works = [rows[0], rows[1], extra].map(|row| row.direction.dot(&beam.point(row.at_m)));
        (beam.energy_j(), works)
    };
    let (middle, size) = (1.5, 0.01);
    let ((low, before), (high, after)) = (at(middle - size), at(middle + size));
    let work: f64 = (0..3).map(|i| [forces[0], forces[1], middle][i] * (after[i] - before[i])).sum();
    near(high - low, work, 1e-4, "work done on the beam");
}

#[test]
fn the_hub_carries_what_the_beam_is_loaded_with() {
    for rigid in [false, true] {
        let mut beam = BeamBody::new(BeamSpec { rigid, ..GAUGE_18 }, &elsewhere()).expect("sound");
        // One force in the first element, part of which the hub takes straight away.
        let rows = [row(0.15, Vec3::x()), row(0.0033, Vec3::new(0.6, 0.0, 0.8)), row(0.0972, Vec3::y())];
        let forces = [2.0, -7.0, 3.0];
        settle_rigid_or_not(&mut beam, &rows, &forces);
        let (force, torque) = split(&beam.hub_wrench());
        let hub = *beam.hub();
        let (mut wanted, mut about) = (Vec3::zeros(), Vec3::zeros());
        for (row, size) in rows.iter().zip(forces) {
            wanted += row.direction * size;
            about += (beam.point(row.at_m) - hub.translation.vector).cross(&(row.direction * size));
        }
        assert!((force - wanted).norm() < 1e-7, "{force} {wanted}");
        assert!((hub.rotation * torque - about).norm() < 1e-8, "{torque} {about}");
    }
}

fn settle_rigid_or_not(beam: &mut BeamBody, rows: &[BeamRow], forces: &[f64]) {
    if !beam.spec().rigid {
        return settle(beam, rows, forces, 5);
    }
    beam.prepare();
    beam.apply(rows, forces);
    beam.finish();
}

#[test]
fn steps_bring_a_held_point_to_where_it_is_held() {
    // The tip and a point on the way are held across where they are, and the hub is moved aside, turned and advanced in steps.
    let mut beam = body(GAUGE_22);
    let l = GAUGE_22.length_m;
    let held = [row(l, Vec3::x()), row(l, Vec3::y()), row(0.73 * l, Vec3::x()), row(0.73 * l, Vec3::y())];
    let wanted = held.map(|row| row.direction.dot(&beam.point(row.at_m)));
    let mut force = nalgebra::Vector4::zeros();
    let mut step = |beam: &mut BeamBody| {
        beam.prepare();
        let mut compliance = nalgebra::Matrix4::zeros();
        beam.compliance(&held, compliance.as_mut_slice());
        let gap = nalgebra::Vector4::from_fn(|i, _| wanted[i] - held[i].direction.dot(&beam.free_point(held[i].at_m)));
        force = compliance.cholesky().expect("positive").solve(&gap);
        beam.apply(&held, force.as_slice());
        beam.finish();
    };
    for k in 1..=20 {
        let part = f64::from(k) / 20.0;
        beam.move_hub(&Pose::new(Vec3::new(4e-3, -3e-3, -2e-3) * part, Vec3::new(0.03, 0.05, 0.4) * part));
        step(&mut beam);
        let worst = (0..4).map(|i| (wanted[i] - held[i].direction.dot(&beam.point(held[i].at_m))).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 2e-5, "step {k}: {worst} m off after one linearisation");
    }
    for _ in 0..4 {
        step(&mut beam);
    }
    for i in 0..4 {
        assert!((wanted[i] - held[i].direction.dot(&beam.point(held[i].at_m))).abs() < 1e-12);
    }
    // At rest under the forces that were found: the hub feels their sum.
    let sum = held.iter().zip(force.iter()).fold(Vec3::zeros(), |sum, (row, f)| sum + row.direction * *f);
    let (at_hub, _) = split(&beam.hub_wrench());
    assert!(sum.norm() > 0.2 && (at_hub - sum).norm() < 1e-6, "{at_hub} {sum}");
    // Let go, it springs back to straight.
    for _ in 0..8 {
        beam.prepare();
        beam.finish();
    }
    assert!(beam.energy_j() < 1e-15 && beam.hub_wrench().norm() < 1e-8);
}

#[test]
fn a_needle_held_along_its_length_is_pushed_far_beyond_its_own_buckling_load() {
    let critical = PI * PI / 4.0 * GAUGE_18.bending() / GAUGE_18.length_m.powi(2);
    let mut beam = body(GAUGE_18);
    let held: Vec<BeamRow> =
        (0..8).flat_map(|k| [Vec3::x(), Vec3::y()].map(|axis| row(0.067 + 0.0113 * f64::from(k), axis))).collect();
    let wanted: Vec<f64> = held.iter().map(|row| row.direction.dot(&beam.point(row.at_m))).collect();
    // Held askew, so that it is bent from the beginning.
    beam.move_hub(&Pose::translation(2e-3, -1e-3, 0.0));
    let push = row(0.15, Vec3::z());
    let off = |beam: &BeamBody| {
        held.iter()
            .zip(&wanted)
            .map(|(row, w)| (w - row.direction.dot(&beam.point(row.at_m))).abs())
            .fold(0.0, f64::max)
    };
    let mut served = [false; 2];
    for k in 0..=80 {
        let load = 0.05 * f64::from(k) * critical;
        for _ in 0..if k == 0 { 6 } else { 2 } {
            beam.prepare();
            served[usize::from(beam.tangent_serves())] = true;
            let mut compliance = nalgebra::DMatrix::zeros(16, 16);
            beam.compliance(&held, compliance.as_mut_slice());
            let (mut cross, both) = (vec![0.0; 17 * 17], [&held[..], &[push]].concat());
            beam.compliance(&both, &mut cross);
            let gap = nalgebra::DVector::from_fn(16, |i, _| {
                wanted[i] - held[i].direction.dot(&beam.free_point(held[i].at_m)) - cross[17 * i + 16] * load
            });
            let forces = compliance.cholesky().expect("positive").solve(&gap);
            beam.apply(&held, forces.as_slice());
            beam.apply(&[push], &[load]);
            beam.finish();
        }
        assert!(off(&beam) < 1e-7, "{load} N: {} m off", off(&beam));
        let (force, _) = split(&beam.hub_wrench());
        assert!((force.z - load).abs() < 1e-2 * critical, "{load} N arrive as {}", force.z);
    }
    assert_eq!(served, [true; 2], "the tangent at first, later the material alone");
}

#[test]
fn places_directions_and_frames_belong_together() {
    let (beam, _, _) = bent();
    let mut random = Random::new(8);
    for _ in 0..200 {
        let at = 0.15 * random.uniform();
        let (h, tangent, frame) = (1e-6, beam.tangent(at), beam.frame(at));
        let difference = beam.point(at + h) - beam.point(at - h);
        if (1e-5..0.15 - 1e-5).contains(&at) {
            assert!((difference.normalize() - tangent).norm() < 1e-3, "{at}");
            near(difference.norm(), 2.0 * h, 2e-3, "arc length");
        }
        assert!((frame * Vec3::z() + tangent).norm() < 1e-9);
        // From a point beside the beam back to it, from any guess.
        let aside = beam.point(at) + frame * Vec3::new(3e-3, -2e-3, 0.0);
        let found = beam.nearest(&aside, 0.15 * random.uniform());
        assert!((found - at).abs() < 1e-8, "{at} {found}");
    }
    assert_eq!(beam.nearest(&(beam.point(0.15) + beam.tangent(0.15) * 0.1), 0.0), 0.15);
    assert_eq!(beam.nearest(&elsewhere().translation.vector, 0.15), 0.0);
    let shape: Vec<Vec3> = beam.shape().collect();
    assert!(shape.len() == 20 && (shape[19] - beam.point(0.15)).norm() < 1e-15);
    // The sections turn with the hub without a twist of their own.
    let bend = elsewhere().rotation.inverse() * beam.frame(0.15);
    assert!(bend.angle() > 0.3, "it is bent far: {}", bend.angle());
}

#[test]
fn a_rigid_beam_never_bends() {
    let mut beam = BeamBody::new(BeamSpec { rigid: true, ..GAUGE_18 }, &elsewhere()).expect("sound");
    let rows = [row(0.15, Vec3::x()), row(0.1, Vec3::y())];
    let before = beam.point(0.12);
    beam.prepare();
    let mut compliance = [1.0; 4];
    beam.compliance(&rows, &mut compliance);
    assert_eq!(compliance, [0.0; 4]);
    beam.apply(&rows, &[1e6, -1e6]);
    assert_eq!(beam.free_point(0.12), before);
    beam.finish();
    assert_eq!((beam.point(0.12), beam.energy_j()), (before, 0.0));
}

#[test]
fn numbers_that_make_no_sense_change_nothing_and_panic_nowhere() {
    let (mut beam, _, _) = bent();
    let place = beam.point(0.1);
    beam.move_hub(&Pose::new(Vec3::new(f64::NAN, 0.0, 0.0), Vec3::zeros()));
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300];
    for at in bad {
        assert!(beam.point(at).iter().chain(beam.free_point(at).iter()).all(|x| x.is_finite()), "{at}");
        assert!(beam.frame(at).coords.iter().chain(beam.tangent(at).iter()).all(|x| x.is_finite()), "{at}");
        for guess in bad {
            assert!((0.0..=0.15).contains(&beam.nearest(&Vec3::new(at, 0.3, guess), guess)), "{at} {guess}");
        }
    }
    let rows = [row(f64::NAN, Vec3::x()), row(0.1, Vec3::new(f64::INFINITY, 0.0, 0.0)), row(0.1, Vec3::x())];
    beam.prepare();
    let mut compliance = [0.0; 9];
    beam.compliance(&rows, &mut compliance);
    assert!(compliance.iter().all(|x| x.is_finite()) && compliance[8] > 0.0 && compliance[0] == 0.0);
    beam.compliance(&rows, &mut compliance[..5]);
    // Twice a number that just fits: the load overflows.
    beam.apply(&rows, &[1.0, 1.0, f64::NAN]);
    beam.apply(&[rows[2], rows[2]], &[1.7e308, 1.7e308]);
    beam.finish();
    assert_eq!(beam.point(0.1), place);
    assert!(beam.hub_wrench().iter().all(|x| x.is_finite()));
    // Forces beyond reason bend it out of shape, but to numbers, and it comes back.
    for force in [1e4, -1e8, 1e15, 1e200] {
        for _ in 0..5 {
            beam.prepare();
            beam.apply(&[row(0.15, Vec3::x()), row(0.07, Vec3::y())], &[force, -0.3 * force]);
            beam.finish();
            assert!(beam.shape().all(|p| p.iter().all(|x| x.is_finite())) && beam.energy_j().is_finite(), "{force}");
        }
    }
    for _ in 0..200 {
        beam.prepare();
        beam.finish();
    }
    assert!(beam.energy_j() < 1e-15, "it is straight again: {} J", beam.energy_j());
}

#[test]
fn beams_that_cannot_be_are_refused_with_the_reason() {
    let nan = f64::NAN;
    for (spec, wanted) in [
        (BeamSpec { length_m: 0.0, ..GAUGE_18 }, BeamError::Length),
        (BeamSpec { length_m: nan, ..GAUGE_18 }, BeamError::Length),
        (BeamSpec { inner_m: 1.27e-3, ..GAUGE_18 }, BeamError::Section),
        (BeamSpec { inner_m: nan, ..GAUGE_18 }, BeamError::Section),
        (BeamSpec { outer_m: f64::INFINITY, ..GAUGE_18 }, BeamError::Section),
        (BeamSpec { young_pa: -1.0, ..GAUGE_18 }, BeamError::Material),
        (BeamSpec { poisson: 0.5, ..GAUGE_18 }, BeamError::Material),
        (BeamSpec { nodes: 1, ..GAUGE_18 }, BeamError::Nodes(1)),
        (BeamSpec { nodes: usize::MAX, ..GAUGE_18 }, BeamError::Nodes(usize::MAX)),
        (BeamSpec { young_pa: 1e300, ..GAUGE_18 }, BeamError::Stiffness),
    ] {
        assert_eq!(BeamBody::new(spec, &Pose::identity()).err(), Some(wanted), "{spec:?}");
    }
    let nowhere = Pose::from_parts(Vec3::new(nan, 0.0, 0.0).into(), Rot::identity());
    assert_eq!(BeamBody::new(GAUGE_18, &nowhere).err(), Some(BeamError::Hub));
}
