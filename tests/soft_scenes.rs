//! The shipped scenes with free and held soft bodies: whoever works at them achieves what they are for, within limits and without loss.

#[path = "common/demos.rs"]
mod demos;

use hapticd::device::operator::Skill;
use serde_json::Value;

/// Faults that are part of rendering: the solve ended at its bound, or the force was bounded in size, rise, power or energy.
const HARMLESS: [&str; 5] = ["solver-bounded", "force-limited", "slew-limited", "power-limited", "passivity-limited"];

/// The achieved run of `scene` with this seed and skill; both hands within their limits, both ledgers never below zero.
fn achieved(scene: &str, seed: u64, skill: Skill) -> Value {
    let summary = demos::lockstep(scene, seed, Some(skill));
    let json: Value = serde_json::from_str(&summary.to_json()).expect("JSON");
    println!("{scene}, {skill:?}, seed {seed}: {json}");
    assert_eq!(json["success"], true, "{scene}, {skill:?}, seed {seed}: {json}");
    let second = Some(&json["second_hand"]).filter(|hand| hand.is_object());
    for hand in [&json].into_iter().chain(second) {
        assert!(hand["energy_min_j"].as_f64() >= Some(0.0), "{json}");
        assert!(hand["peak_force_n"].as_f64() <= hand["force_limit_n"].as_f64(), "{json}");
    }
    let faults = json["fault_ticks"].as_object().expect("faults");
    for (fault, ticks) in faults {
        assert!(HARMLESS.contains(&fault.as_str()) || ticks == 0, "{fault} in {ticks} ticks: {json}");
    }
    json
}

/// With `HAPTICD_SOFT_SEEDS=20` that many seeds at each skill, best in release; else one seed of each.
fn everyone_achieves(scene: &str) {
    let asked: Option<u64> = std::env::var("HAPTICD_SOFT_SEEDS").ok().and_then(|text| text.parse().ok());
    for skill in Skill::ALL {
        for seed in 1..=asked.unwrap_or(1) {
            achieved(scene, seed, skill);
        }
    }
}

#[test]
fn everyone_squeezes_pushes_and_tips_the_soft_cube() {
    everyone_achieves("soft_cube");
}

#[test]
fn two_hands_of_any_skill_pick_up_the_soft_ball() {
    everyone_achieves("soft_grip");
}

#[test]
fn everyone_presses_slides_pushes_and_drags_with_a_soft_finger() {
    everyone_achieves("soft_finger");
}

#[test]
fn a_flap_with_joints_on_a_soft_body_is_pushed_aside_and_swings_back() {
    achieved("examples/soft_flap.toml", 1, Skill::Trained);
}
