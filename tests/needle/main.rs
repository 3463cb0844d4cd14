//! Needle insertion: the force–depth profile, each law against its closed form, channels, layers, and the haptic rate.

#[expect(dead_code, reason = "shared with tests of the tick alone")]
#[path = "../common/mod.rs"]
mod common;
mod multirate;
mod phantom;
mod profile;
