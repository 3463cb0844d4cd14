//! Soft bodies among other bodies of one simulation: weight, statics, friction, momentum, joints.

#![expect(clippy::panic, reason = "a test reports by panicking")]

mod joints;
mod rest;
mod scene;
