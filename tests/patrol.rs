//! The haptic tick confines a machined tool by itself, however little the simulation tells it.

mod common;
#[path = "common/rig.rs"]
mod rig;

use common::reading;
use hapticd::bench::assembly::drive::{Assembly, peg_in_hole};
use hapticd::geometry::{Shape, Surface};
use hapticd::haptic::{Felt, Surfaces};
use hapticd::math::{Pose, Vec3};
use hapticd::shared::Stamp;
use hapticd::shared::lifecycle::Event;
use rig::Rig;

/// How far the hand goes sideways, m.
const SIDEWAYS: f64 = 5e-3;

fn surfaces(pair: &Assembly) -> Surfaces {
    let felt = |ready: &hapticd::bake::Ready| Felt {
        shape: ready.shape.clone(),
        field: Some(ready.field.clone()),
        pose: Pose::identity(),
        friction: pair.friction,
    };
    Surfaces::new(felt(&pair.moving), vec![Some(felt(&pair.fixed))])
}

/// Deepest node of the peg in the block, m.
fn overlap(pair: &Assembly, peg: &Pose) -> f64 {
    let Shape::Part(part) = &pair.moving.shape else { unreachable!("a peg is a part") };
    let depth = |p: &Vec3| -pair.fixed.shape.signed_distance(&(peg.rotation * p + peg.translation.vector)).distance;
    part.nodes.iter().map(|node| depth(&node.position)).fold(0.0, f64::max)
}

/// A peg in its hole, dragged sideways while mechanisms without any contact come in; deepest overlap, way and force at the end.
fn dragged(pair: &Assembly, surfaces: Surfaces) -> (f64, f64, f64) {
    let mut rig = Rig::new(|model| {
        model.surfaces = surfaces;
        model.tool.start = pair.start;
        model.mapping.pose_world_device = pair.start;
    });
    rig.publishing = false;
    rig.command(Event::Enable);
    let mut deepest = 0.0_f64;
    for k in 0..2000_u64 {
        rig.snapshot.stamp = Stamp { sequence: k + 1, at: rig.due() };
        let mut sample = reading(k + 1, rig.due(), 0.0);
        sample.pose_device_handle.translation.x = SIDEWAYS * (k.saturating_sub(700) as f64 / 700.0).min(1.0);
        let record = rig.tick_with(Some(sample));
        assert_eq!(record.cause, None, "tick {k}");
        if k % 20 == 0 {
            deepest = deepest.max(overlap(pair, &record.pose_world_tool));
        }
    }
    let record = rig.state.record();
    (deepest, record.pose_world_tool.translation.x, record.force.force.x)
}

#[test]
fn a_peg_is_kept_in_its_hole_by_the_tick_alone() {
    let pair = peg_in_hole(0.1).expect("it can be made");
    let (deepest, way, force) = dragged(&pair, surfaces(&pair));
    println!("overlap {:.1} µm, way {:.1} µm, force {force:.2} N", deepest * 1e6, way * 1e6);
    assert!(deepest < 6e-5, "{deepest}");
    // The play is 32.5 µm.
    assert!((way - 32.5e-6).abs() < 4e-5, "{way}");
    let pull = common::STIFFNESS * SIDEWAYS;
    assert!((force + pull).abs() < 0.03 * pull, "{force} N");
}

#[test]
fn without_surfaces_to_ask_it_would_be_dragged_through_the_wall() {
    let pair = peg_in_hole(0.1).expect("it can be made");
    let (deepest, way, _) = dragged(&pair, Surfaces::default());
    assert!(deepest > 4e-3 && way > 4e-3, "{deepest} {way}");
}
