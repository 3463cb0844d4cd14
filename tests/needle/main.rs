//! Needle insertion: the force–depth profile, each law against its closed form, channels, layers, and the haptic rate.

mod phantom;
mod profile;
