//! The body made to be copied has its analytic force in the simulation's step and in the haptic tick.

#[expect(dead_code, reason = "shared with tests of the tick alone")]
mod common;

#[path = "common/rates.rs"]
mod rates;

#[path = "../examples/sample_body.rs"]
#[expect(dead_code, reason = "its main function is for people")]
mod sample;

use common::{STIFFNESS as COUPLING, device, model};
use hapticd::math::{Pose, Vec3};
use rates::Rates;
use sample::{Mattress, force_at, scene};
use std::sync::Arc;

const STIFFNESS: f64 = 500.0;
const SIDE: f64 = 0.04;

#[test]
fn a_plate_on_the_mattress_feels_all_springs_in_the_step() {
    let mattress = Arc::new(Mattress::new(SIDE, STIFFNESS));
    for depth in [0.0005, 0.001, 0.0015] {
        let force = force_at(&mattress, depth);
        println!("{depth} m: {force} N of {} N", STIFFNESS * depth);
        assert!((force / (STIFFNESS * depth) - 1.0).abs() < 1e-6, "{depth}: {force}");
    }
}

#[test]
fn the_haptic_tick_feels_the_mattress_and_the_coupling_in_series() {
    for rate_hz in [30.0, 250.0] {
        let start = Vec3::new(0.0, 0.0, 0.001);
        let mut haptic = model(&device(1000.0));
        haptic.tool.start = Pose::translation(start.x, start.y, start.z);
        let mattress = Arc::new(Mattress::new(SIDE, STIFFNESS));
        let mut rig = Rates::new(vec![haptic.clone()], scene(&mattress, haptic.tool.start, rate_hz));
        for _ in 0..600 {
            rig.beat([start]);
        }
        let depth = 0.003;
        let (mut last, mut deepest) = (0.0, 0.0_f64);
        for k in 0..1200 {
            let way = 0.001 + depth * (f64::from(k) / 300.0).min(1.0);
            let [record] = rig.beat([start - Vec3::z() * way]);
            (last, deepest) = (record.wanted.force.z, deepest.max(-record.pose_world_tool.translation.z));
        }
        let series = depth / (1.0 / STIFFNESS + 1.0 / COUPLING);
        println!("{rate_hz} Hz: {last} N of {series} N, {deepest} m deep");
        assert!((last / series - 1.0).abs() < 1e-4, "{rate_hz} Hz: {last} {series}");
    }
}
