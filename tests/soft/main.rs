//! Soft bodies among other bodies of one simulation: weight, statics, friction, momentum, joints, the contact of Hertz.

mod hertz;
mod joints;
mod rest;
mod scene;
