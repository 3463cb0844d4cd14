//! Soft bodies among other bodies of one simulation: weight, statics, friction, momentum, joints.

mod joints;
mod rest;
mod scene;
