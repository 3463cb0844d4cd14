//! Needle insertion: the force–depth profile, each law against its closed form, channels, and the haptic rate.

mod channel;
#[expect(dead_code, reason = "shared with tests of the tick alone")]
#[path = "../common/mod.rs"]
mod common;
mod hand;
mod laws;
mod multirate;
mod organs;
mod profile;
#[path = "../common/rates.rs"]
mod rates;
