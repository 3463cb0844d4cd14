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
fn everyone_finds_the_lump_in_the_tissue() {
    everyone_achieves("tissue_palpation");
}

/// The shipped scene with other phases of the operator, in a file of its own.
fn other_hand(name: &str, phases: &str, change: impl Fn(String) -> String) -> std::path::PathBuf {
    let text = hapticd::scene::shipped("tissue_palpation").expect("it is shipped");
    let (before, rest) = text.split_once("[[operator.phase]]").expect("phases");
    let (_, after) = rest.split_once("\n[task]").expect("a task");
    let path = std::env::temp_dir().join(format!("hapticd-{name}-{}.toml", std::process::id()));
    std::fs::write(&path, change(format!("{before}{phases}\n[task]{after}"))).expect("a file");
    path
}

/// Runs a scene from a file that is removed afterwards.
fn outcome(path: &std::path::Path, seed: u64) -> Value {
    let summary = demos::lockstep(&path.display().to_string(), seed, None);
    serde_json::from_str(&summary.to_json()).expect("JSON")
}

#[test]
fn a_hand_that_does_not_palpate_misses_the_lump() {
    let guess = "[[operator.phase]]\nname = \"guess\"\nmove_to = { xyz = [0, 0, \"16 mm\"], speed = \"80 mm/s\" }\n\
                 until = { reached = \"3 mm\" }\n\
                 [[operator.phase]]\nname = \"point at it\"\npress = { force = [0, 0, \"-1.5 N\"] }\nuntil = { elapsed = \"1 s\" }\n";
    let path = other_hand("guess", guess, |text| text);
    let hits = (1..=12).filter(|seed| outcome(&path, *seed)["success"] == true).count();
    let _ = std::fs::remove_file(path);
    // A disc of 6 mm in one of 16 mm: one in seven.
    println!("{hits} of 12 guesses are right");
    assert!(hits <= 4, "{hits}");
}

#[test]
fn the_lump_is_felt_as_stiffness() {
    // The same press above the lump, which is put in the middle, and 26 mm beside it.
    let sinks = |name: &str, x: &str, below_mm: f64| {
        let press = format!(
            "[[operator.phase]]\nname = \"go\"\nmove_to = {{ xyz = [\"{x}\", 0, \"16 mm\"], speed = \"80 mm/s\" }}\nuntil = {{ reached = \"2 mm\" }}\n\
             [[operator.phase]]\nname = \"press\"\npress = {{ force = [0, 0, \"-2 N\"] }}\nuntil = {{ elapsed = \"2 s\" }}\n"
        );
        let goal = format!("tool_below = {{ axis = [0, 0, 1], offset = \"{below_mm} mm\" }}");
        let path = other_hand(name, &press, |text| {
            let (before, rest) = text.split_once("tool_over").expect("the goal");
            let (_, after) = rest.split_once("\n").expect("its end");
            let text = format!("{before}{goal}\n{after}").replace("when      = \"end\"", "");
            text.replace("scatter = \"16 mm\"", "scatter = 0")
        });
        let met = outcome(&path, 1)["success"] == true;
        let _ = std::fs::remove_file(path);
        met
    };
    // The middle of the fingertip is 8 mm above the surface where it touches. By 2 N it sinks in by less than 8 mm above the lump, by more beside it.
    assert!(!sinks("above", "0 mm", 0.0), "the lump gives way like the tissue");
    assert!(sinks("beside", "26 mm", 0.0), "the tissue is as stiff as the lump");
}

#[test]
fn everyone_presses_slides_pushes_and_drags_with_a_soft_finger() {
    everyone_achieves("soft_finger");
}
