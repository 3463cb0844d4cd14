//! Demos in lockstep, for the tests that judge scenes by them.

use hapticd::daemon::{DemoOptions, Summary, run_demo};
use hapticd::device::operator::Skill;
use hapticd::shared::realtime::RealtimeRequest;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A demo of a scene, by name or path, in virtual time; the skill is the scene's own unless one is given.
pub(crate) fn lockstep(scene: &str, seed: u64, skill: Option<Skill>) -> Summary {
    let options = DemoOptions {
        scene: scene.into(),
        devices: Vec::new(),
        ports: Vec::new(),
        at_rest: false,
        seed: Some(seed),
        skill,
        seconds: None,
        lockstep: true,
        json: true,
        record: None,
        out: None,
        viewer: false,
        realtime: RealtimeRequest::default(),
    };
    run_demo(&options, &Arc::new(AtomicBool::new(false))).expect("the scene runs")
}
