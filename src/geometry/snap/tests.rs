//! Connectors hold together and fit into each other.
//!
//! Thread: tests.

use super::*;
use crate::geometry::Surface;
use crate::math::Vec3;

const KINDS: [SnapKind; 3] = [SnapKind::TwoProng, SnapKind::Latch, SnapKind::Cap];

#[test]
fn sockets_are_sound_bodies_of_the_papers_sizes() {
    for kind in KINDS {
        let spec = SnapSpec::shipped(kind);
        for (detail, least, most) in
            [(Detail::Coarse, 600, 900), (Detail::Fine, 1100, 1500), (Detail::Graded, 1500, 10_000)]
        {
            let mesh = spec.socket(detail).expect("a socket");
            let report = mesh.check();
            assert!(report.is_sound(), "{kind:?} {detail:?}: {report}");
            let group = |name| mesh.group(name).map(|g| mesh.group_nodes(g).len()).unwrap_or(0);
            let free = 3 * (mesh.nodes().len() - group(HELD));
            println!("{kind:?} {detail:?}: {free} unknowns, {} tetrahedra", mesh.tets().len());
            // A cap has no graded mesh; scenes that ask for it are rejected.
            let least = if (kind, detail) == (SnapKind::Cap, Detail::Graded) { 1100 } else { least };
            assert!((least..most).contains(&free), "{kind:?} {detail:?}: {free} unknowns");
            assert!(group(HELD) > 5 && group(TOUCHING) > 10, "{kind:?} {detail:?}");
            let touching = mesh.group_nodes(mesh.group(TOUCHING).expect("a group"));
            let skin = mesh.skin();
            assert!(touching.iter().all(|n| skin.nodes.binary_search(n).is_ok()), "{kind:?}: inside");
        }
    }
}

#[test]
fn the_plug_touches_the_nose_on_its_ramp_and_has_room_when_home() {
    for kind in KINDS {
        let spec = SnapSpec::shipped(kind);
        let plug = spec.plug_surface();
        let middle = |tip: f64| Vec3::new(spec.opening() + spec.nose_round, 0.0, spec.edge_height() - tip);
        let edge = |tip: f64| plug.signed_distance(&middle(tip)).distance - spec.nose_round;
        assert!(edge(spec.first_touch() + 2e-5) > 1e-6, "{kind:?}: {}", edge(spec.first_touch() + 2e-5));
        assert!(edge(spec.first_touch() - 2e-5) < -1e-6, "{kind:?}: {}", edge(spec.first_touch() - 2e-5));
        assert!(edge(spec.home()) > 1e-4, "{kind:?}: {}", edge(spec.home()));
        let mesh = spec.socket(Detail::Graded).expect("a socket");
        for node in mesh.nodes() {
            let home = plug.signed_distance(&(node - Vec3::new(0.0, 0.0, spec.home()))).distance;
            assert!(home > -1e-12, "{kind:?}: {node:?} lies {home} inside the plug that is home");
        }
    }
}

#[test]
fn the_facets_of_the_plug_lie_on_its_surface_but_for_rounded_edges() {
    for kind in KINDS {
        let spec = SnapSpec::shipped(kind);
        let part = spec.plug().expect("a plug");
        assert!(part.mass_properties(1000.0).is_some_and(|p| p.mass > 0.0), "{kind:?}");
        for triangle in 0..part.mesh.triangles().len() {
            let [a, b, c] = part.mesh.corners(triangle);
            let middle = (a + b + c) / 3.0;
            let distance = part.signed_distance(&middle).distance;
            assert!(distance.abs() < 0.25e-3, "{kind:?}: {distance} at {middle:?}");
            let outward = (b - a).cross(&(c - a)).normalize();
            let normal = part.signed_distance(&(middle + outward * 0.2e-3)).normal;
            assert!(normal.dot(&outward) > 0.5, "{kind:?}: {middle:?}");
        }
    }
}

#[test]
fn the_normal_is_the_gradient_of_the_distance() {
    for kind in KINDS {
        let plug = SnapSpec::shipped(kind).plug_surface();
        let ball = plug.bounding_sphere();
        for k in 0..400 {
            let at = |p: f64| (f64::from(k) * p).fract() * 2.0 - 1.0;
            let p = ball.center + Vec3::new(at(0.618_03), at(0.754_87), at(0.569_84)) * ball.radius;
            let found = plug.signed_distance(&p);
            if found.distance < 1e-4 || crate::geometry::surface::check::is_near_medial_axis(&plug, &p, 1e-5) {
                continue;
            }
            crate::geometry::surface::check::assert_normal_is_gradient(&plug, &p);
        }
    }
}
