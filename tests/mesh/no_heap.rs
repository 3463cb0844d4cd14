//! Queries neither allocate nor free: they may be asked from a thread that must not.

use crate::counting::CALLS;
use crate::solids::{somewhere, spiky};
use hapticd::geometry::Surface;
use hapticd::geometry::mesh::MeshSurface;
use hapticd::geometry::parts::{Body, Fit, Hand, Nut, Side, ThreadSpec};
use hapticd::math::Random;

#[test]
fn queries_do_not_touch_the_heap() {
    let spec = ThreadSpec { diameter: 0.048, pitch: 0.005, hand: Hand::Right, fit: Fit::RadialGap(4e-4) };
    let body = Body::Hex { across_flats: 0.075 };
    let nut = Nut { profile: spec.profile(Side::Nut).expect("a thread"), height: 0.015, chamfer: 0.001, body };
    let exact = nut.surface().expect("a nut");
    let mesh = MeshSurface::new(spiky(5, 1)).expect("closed");
    let mut random = Random::new(1);
    let before = CALLS.get();
    let (mut hint, mut sum) = (None, 0.0);
    for _ in 0..5_000 {
        let p = somewhere(&mut random, 0.1);
        let (distance, nearest) = mesh.query(&p, hint);
        hint = Some(nearest.triangle);
        let hit = mesh.ray(&p, &(nearest.point * 0.5 - p), 10.0);
        sum += distance.distance + exact.signed_distance(&p).distance + hit.map_or(0.0, |h| h.distance);
    }
    assert_eq!(CALLS.get() - before, 0);
    assert!(sum.is_finite());
    // The counter counts.
    drop(vec![sum; 8]);
    assert!(CALLS.get() > before);
}
