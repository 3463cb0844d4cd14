//! The exact surface of a thread: against a search, and by its own laws.

use crate::solids::somewhere;
use hapticd::geometry::parts::{Fit, Hand, Limit, Side, ThreadProfile, ThreadSpec, ThreadSurface};
use hapticd::math::{Random, Vec3};
use std::f64::consts::{PI, TAU};

fn spec(diameter_mm: f64, pitch_mm: f64) -> ThreadSpec {
    ThreadSpec { diameter: diameter_mm * 1e-3, pitch: pitch_mm * 1e-3, hand: Hand::Right, fit: Fit::RadialGap(4e-4) }
}

/// M48x5, the coarsest allowed, a fine one, a small one, the loosest of class 6.
fn profiles() -> Vec<ThreadProfile> {
    let loose = ThreadSpec { fit: Fit::Class6(Limit::LeastMaterial), ..spec(48.0, 5.0) };
    let coarse = ThreadSpec { fit: Fit::Basic, ..spec(20.0, 5.0) };
    let small = ThreadSpec { fit: Fit::Class6(Limit::Middle), ..spec(3.0, 0.5) };
    let left = ThreadSpec { hand: Hand::Left, ..spec(48.0, 5.0) };
    let specs = [spec(48.0, 5.0), loose, coarse, small, left, ThreadSpec { fit: Fit::Basic, ..spec(60.0, 1.0) }];
    specs.iter().flat_map(|s| [Side::Bolt, Side::Nut].map(|side| s.profile(side).expect("a thread"))).collect()
}

/// Square of the distance from the profile in the half-plane turned by `u`, minimised over the profile in closed form.
fn in_half_plane(profile: &ThreadProfile, p: &Vec3, u: f64) -> f64 {
    let (r, theta) = (p.x.hypot(p.y), p.y.atan2(p.x));
    let k = profile.pitch / TAU;
    let (across, aside) = (r * u.cos(), r * u.sin());
    // The profile of this half-plane, shifted so that a ridge is next to the point.
    let s = p.z - k * (theta + u);
    let s = s - profile.pitch * (s / profile.pitch).round();
    let (c, f) = (profile.crest_half_width(), profile.foot_half_width());
    let (major, minor, pitch) = (profile.major_radius, profile.minor_radius, profile.pitch);
    let line = [
        (f - 2.0 * pitch, minor),
        (-f - pitch, minor),
        (-c - pitch, major),
        (c - pitch, major),
        (f - pitch, minor),
        (-f, minor),
        (-c, major),
        (c, major),
        (f, minor),
        (pitch - f, minor),
        (pitch - c, major),
        (pitch + c, major),
        (pitch + f, minor),
        (2.0 * pitch - f, minor),
    ];
    let mut best = f64::INFINITY;
    for ends in line.windows(2) {
        let ((a, ra), (b, rb)) = (ends[0], ends[1]);
        let (ds, dr) = (b - a, rb - ra);
        let t = (((s - a) * ds + (across - ra) * dr) / (ds * ds + dr * dr)).clamp(0.0, 1.0);
        let (es, er) = (s - a - t * ds, across - ra - t * dr);
        best = best.min(es * es + er * er);
    }
    best + aside * aside
}

/// Distance by search over the half-plane: a grid, then the golden section about its best places.
fn searched(profile: &ThreadProfile, p: &Vec3) -> f64 {
    let n = 4000;
    let reach = PI / 2.0;
    let at = |k: i32| reach * f64::from(k) / f64::from(n);
    let value = |u: f64| in_half_plane(profile, p, u);
    let grid: Vec<f64> = (-n..=n).map(|k| value(at(k))).collect();
    let mut best = f64::INFINITY;
    for k in 1..grid.len() - 1 {
        if grid[k] > grid[k - 1] || grid[k] > grid[k + 1] {
            continue;
        }
        let (mut a, mut b) = (at(k as i32 - 1 - n), at(k as i32 + 1 - n));
        let g = 0.5 * (5.0_f64.sqrt() - 1.0);
        for _ in 0..60 {
            let (c, d) = (b - g * (b - a), a + g * (b - a));
            if value(c) < value(d) { b = d } else { a = c }
        }
        best = best.min(value(0.5 * (a + b)));
    }
    best.sqrt()
}

/// A point near the thread, mostly; sometimes anywhere, the axis included; sometimes as far from root as from flank,
/// where the distance in the half-plane takes the wrong one for the nearer.
fn about(profile: &ThreadProfile, random: &mut Random) -> Vec3 {
    let (angle, turns) = (TAU * random.uniform(), (8.0 * random.uniform()).floor() - 4.0);
    let depth = profile.major_radius - profile.minor_radius;
    let (r, s) = match random.bits() % 8 {
        0 => (2.0 * profile.major_radius * random.uniform(), profile.pitch * random.uniform()),
        1 => {
            let up = (0.5 * profile.pitch - profile.foot_half_width()) * random.uniform();
            let aside = 1.0 + 0.01 * (random.uniform() - 0.5);
            (profile.minor_radius + 3.0_f64.sqrt() * up * aside, profile.foot_half_width() + up)
        }
        _ => (profile.minor_radius + depth * (3.0 * random.uniform() - 1.0), profile.pitch * random.uniform()),
    };
    let lead = if profile.hand == Hand::Right { angle } else { -angle } * profile.pitch / TAU;
    Vec3::new(r * angle.cos(), r * angle.sin(), s + profile.pitch * turns + lead)
}

/// The same point of a left-hand thread's mirror image.
fn as_right_hand(profile: &ThreadProfile, p: &Vec3) -> Vec3 {
    if profile.hand == Hand::Right { *p } else { Vec3::new(p.x, -p.y, p.z) }
}

#[test]
fn distance_is_that_of_a_search_to_1e_12() {
    let mut random = Random::new(1);
    let mut worst = 0.0_f64;
    for profile in profiles() {
        let surface = ThreadSurface::new(profile).expect("a thread");
        for _ in 0..60 {
            let p = about(&profile, &mut random);
            let (got, want) = (surface.distance(&p), searched(&profile, &as_right_hand(&profile, &p)));
            worst = worst.max((got.distance.abs() - want).abs());
            assert!((got.distance.abs() - want).abs() < 1e-12, "{profile:?} at {p:?}: {got:?} against {want}");
        }
    }
    println!("worst difference {worst:e} m");
}

#[test]
fn the_foot_of_every_point_lies_on_the_surface_square_below_it() {
    let mut random = Random::new(2);
    for profile in profiles() {
        let surface = ThreadSurface::new(profile).expect("a thread");
        for _ in 0..3_000 {
            let p = about(&profile, &mut random);
            let got = surface.distance(&p);
            assert!((got.normal.norm() - 1.0).abs() < 1e-12);
            let foot = p - got.normal * got.distance;
            let q = as_right_hand(&profile, &foot);
            // Judged without the code under test: the foot satisfies the equation of the surface.
            let s = q.z - profile.pitch / TAU * q.y.atan2(q.x);
            let off = q.x.hypot(q.y) - profile.radius(s);
            assert!(off.abs() < 1e-12, "{profile:?} at {p:?}: {got:?} misses by {off}");
            let q = as_right_hand(&profile, &p);
            let above = q.x.hypot(q.y) > profile.radius(q.z - profile.pitch / TAU * q.y.atan2(q.x));
            assert_eq!(got.distance > 0.0, above == (profile.side == Side::Bolt), "sign at {p:?}");
        }
    }
}

#[test]
fn distance_is_1_lipschitz_and_the_normal_its_gradient() {
    let mut random = Random::new(3);
    let mut smooth = 0;
    for profile in profiles() {
        let surface = ThreadSurface::new(profile).expect("a thread");
        let at = |p: &Vec3| surface.distance(p).distance;
        for _ in 0..2_000 {
            let p = about(&profile, &mut random);
            let step = somewhere(&mut random, 0.2 * profile.pitch);
            assert!((at(&p) - at(&(p + step))).abs() <= step.norm() * (1.0 + 1e-9) + 1e-15);
            let (h, got) = (1e-7, surface.distance(&p));
            let along = |e: Vec3| (at(&(p + e * h)) - at(&(p - e * h))) / (2.0 * h);
            let gradient = Vec3::new(along(Vec3::x()), along(Vec3::y()), along(Vec3::z()));
            // Where the gradient is not of unit length the point is on the medial axis.
            if (gradient.norm() - 1.0).abs() < 1e-7 && got.distance.abs() > 1e-5 {
                assert!((gradient - got.normal).norm() < 1e-3, "{p:?}: {gradient:?} against {:?}", got.normal);
                smooth += 1;
            }
        }
    }
    assert!(smooth > 12_000, "{smooth}");
}

#[test]
fn a_thread_is_the_same_after_a_screw_motion() {
    let mut random = Random::new(4);
    for profile in profiles() {
        let surface = ThreadSurface::new(profile).expect("a thread");
        for _ in 0..200 {
            let p = about(&profile, &mut random);
            let turn = TAU * (6.0 * random.uniform() - 3.0);
            let lead = if profile.hand == Hand::Right { turn } else { -turn } * profile.pitch / TAU;
            let rotation = hapticd::math::exp_so3(&(Vec3::z() * turn));
            let moved = rotation * p + Vec3::z() * lead;
            let (a, b) = (surface.distance(&p), surface.distance(&moved));
            assert!((a.distance - b.distance).abs() < 1e-15, "{} {}", a.distance, b.distance);
            // On the medial axis the nearest point may be another one.
            if a.distance.abs() < 0.05 * profile.pitch {
                assert!((rotation * a.normal - b.normal).norm() < 1e-6, "{p:?}");
            }
        }
    }
}

#[test]
fn bolt_and_nut_of_the_same_spec_leave_the_gap_they_were_made_with() {
    let spec = spec(48.0, 5.0);
    let [bolt, nut] =
        [Side::Bolt, Side::Nut].map(|s| ThreadSurface::new(spec.profile(s).expect("a thread")).expect("a thread"));
    // On crest and root the gap is the radial one, on the flanks cos 60° of it, a little more for the helix.
    let mut least = f64::INFINITY;
    for k in 0..2_000 {
        let (s, angle) = (0.005 * f64::from(k) / 2000.0, 0.37 * f64::from(k));
        let r = bolt.profile().radius(s);
        let p = Vec3::new(r * angle.cos(), r * angle.sin(), s + 0.005 / TAU * angle.sin().atan2(angle.cos()));
        assert!(bolt.distance(&p).distance.abs() < 1e-15);
        least = least.min(nut.distance(&p).distance);
    }
    assert!((least - 0.2e-3).abs() < 0.3e-6, "{least}");
    // Round-off at the surface itself.
    let crest = Vec3::new(bolt.profile().major_radius, 0.0, 0.0);
    assert!((bolt.distance(&crest).normal - Vec3::x()).norm() < 1e-15);
    assert!((nut.distance(&crest).distance - 4e-4).abs() < 1e-12);
}

#[test]
fn the_normal_of_a_flank_has_the_lead_in_it() {
    // What turns an axial load into a torque: on the flank the normal has the share tan(lead) around the axis.
    let profile = ThreadSpec { fit: Fit::Basic, ..spec(48.0, 5.0) }.profile(Side::Bolt).expect("a thread");
    let surface = ThreadSurface::new(profile).expect("a thread");
    let r = profile.pitch_radius;
    let on = Vec3::new(r, 0.0, 0.25 * profile.pitch);
    for h in [1e-5, 0.0, -1e-5] {
        let expected = Vec3::new((PI / 6.0).tan() * r, -profile.pitch / TAU, r).normalize();
        let got = surface.distance(&(on + expected * h));
        assert!((got.distance - h).abs() < 1e-15, "{got:?}");
        assert!((got.normal - expected).norm() < 1e-12, "{got:?} against {expected:?}");
    }
}
