//! Rapier (f64), one step for each line read.
//!
//! The first argument is a file of numbers: lines `step STEP FRICTION`, `body MASS CENTRE(3) INERTIA(3) PLACE(3) TURN`, then `moving` or
//! `fixed` and the points of a convex piece. A line of input is force and torque about the centre of mass; a line of output is the rotation
//! (row by row), the place, the velocity of the centre of mass, the angular velocity, and the time of the step on the processor's clock, ms.

use rapier3d_f64::parry::mass_properties::MassProperties;
use rapier3d_f64::parry::math as pm;
use rapier3d_f64::prelude::*;
use std::io::{BufRead, Write};

fn cpu_ms() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 * 1e-6
}

fn vector(x: &[f64]) -> pm::Vector {
    pm::Vector::new(x[0], x[1], x[2])
}

fn shape(pieces: Vec<SharedShape>) -> ColliderBuilder {
    match pieces.len() {
        1 => ColliderBuilder::new(pieces[0].clone()),
        _ => ColliderBuilder::compound(pieces.into_iter().map(|piece| (Pose::IDENTITY, piece)).collect()),
    }
}

fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).expect("a file of numbers")).expect("readable");
    let (mut settings, mut body, mut pieces) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let numbers: Vec<f64> = words.map(|word| word.parse().expect("a number")).collect();
        let convex = || {
            let points: Vec<_> = numbers.chunks(3).map(vector).collect();
            SharedShape::convex_hull(&points).expect("a convex piece")
        };
        match kind {
            "step" => settings = numbers,
            "body" => body = numbers,
            "moving" => pieces[0].push(convex()),
            _ => pieces[1].push(convex()),
        }
    }
    let [moving, fixed] = pieces;
    let mut world = PhysicsWorld::default();
    world.gravity = pm::Vector::ZERO;
    let parameters = &mut world.integration_parameters;
    (parameters.dt, parameters.length_unit, parameters.num_solver_iterations) = (settings[0], 0.0002, 20);
    (parameters.contact_clustering, parameters.contact_recycling) = (false, false);
    let still = world.bodies.insert(RigidBodyBuilder::fixed());
    world.colliders.insert_with_parent(shape(fixed).friction(settings[1]), still, &mut world.bodies);
    let turn = Rotation::from_axis_angle(pm::Vector::Z, body[10]);
    let pose = Pose::from_parts(vector(&body[7..]), turn);
    let part = world.bodies.insert(RigidBodyBuilder::dynamic().pose(pose).can_sleep(false));
    let mass = MassProperties::new(vector(&body[1..]), body[0], vector(&body[4..]));
    let collider = shape(moving).friction(settings[1]).mass_properties(mass);
    world.colliders.insert_with_parent(collider, part, &mut world.bodies);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("text");
        let load: Vec<f64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let rigid = &mut world.bodies[part];
        rigid.reset_forces(true);
        rigid.reset_torques(true);
        rigid.add_force(vector(&load), true);
        rigid.add_torque(vector(&load[3..]), true);
        let begin = cpu_ms();
        world.step();
        let taken = cpu_ms() - begin;
        let rigid = &world.bodies[part];
        let (pose, velocity, spin) = (rigid.position(), rigid.linvel(), rigid.angvel());
        let r = pm::Mat3::from_quat(pose.rotation);
        let numbers = [
            r.x_axis.x, r.y_axis.x, r.z_axis.x, r.x_axis.y, r.y_axis.y, r.z_axis.y, r.x_axis.z, r.y_axis.z, r.z_axis.z,
            pose.translation.x, pose.translation.y, pose.translation.z, velocity.x, velocity.y, velocity.z, spin.x, spin.y, spin.z,
            taken,
        ];
        let words: Vec<String> = numbers.iter().map(f64::to_string).collect();
        writeln!(out, "{}", words.join(" ")).expect("a reader");
        out.flush().expect("a reader");
    }
}
