//! Soft bodies among other bodies of one simulation: weight, statics, friction, momentum, joints, the contact of Hertz, MuJoCo beside them.

mod hertz;
mod joined;
mod joints;
mod momentum;
mod peer;
mod rest;
mod scene;
