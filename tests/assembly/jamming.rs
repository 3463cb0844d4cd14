//! A peg in its hole, tilted until it touches on both sides: it slides where the plane theory of jamming says, and sticks
//! where it says (Whitney 1982, two-point contact).

use hapticd::bench::assembly::drive::{Drive, peg_in_hole};
use hapticd::math::{Pose, Rot, Vec3};

const FRICTION: f64 = 0.1;
const RADIUS: f64 = 49.97e-3 / 2.0;
/// Depth of the tip below the mouth's chamfer, and of the tip's chamfer.
const DEPTH: f64 = 0.02;
const CHAMFER: f64 = 1e-3;

/// How far the peg goes in under a force `down`, `aside` in units of it, and a moment about its tip in units of it times
/// the radius, tilted until both sides touch.
fn goes_in(aside: f64, moment: f64) -> f64 {
    let mut assembly = peg_in_hole(FRICTION).expect("it can be made");
    let room = (50.035e-3 - 49.97e-3) / (DEPTH - 2.0 * CHAMFER);
    // Almost as far as it can tilt; it falls the rest of the way.
    let tilt = Rot::from_axis_angle(&Vec3::y_axis(), 0.8 * room);
    assembly.start = Pose::from_parts(Vec3::new(-0.4 * room * DEPTH, 0.0, -DEPTH).into(), tilt);
    let mut drive = Drive::new(&assembly, 1e-3).expect("it can be simulated");
    let load = |drive: &Drive, down: f64| {
        let force = Vec3::new(aside * down, 0.0, -down);
        // About the tip: the force acts there, and the simulation takes it at the centre of mass.
        let arm = drive.shape().translation.vector - drive.data().pose(1).translation.vector;
        (force, arm.cross(&force) + Vec3::new(0.0, moment * down * RADIUS, 0.0))
    };
    for _ in 0..150 {
        let (force, torque) = load(&drive, 0.0);
        let (v, w) = drive.velocity();
        drive.step(&(force - v * 50.0), &(torque + Vec3::new(0.0, 0.3, 0.0) - w * 0.1));
    }
    let start = drive.shape().translation.z;
    for _ in 0..80 {
        let (force, torque) = load(&drive, 20.0);
        drive.step(&force, &torque);
    }
    start - drive.shape().translation.z
}

#[test]
fn a_tilted_peg_slides_inside_the_jamming_diagram_and_sticks_outside() {
    // Contacts at the foot of the mouth's chamfer and the head of the tip's: depth between them.
    let between = DEPTH - 2.0 * CHAMFER;
    let slender = between / (2.0 * RADIUS * FRICTION);
    let mut wrong = Vec::new();
    let mut counts = [0, 0];
    for aside in [-6.0, -3.0, 0.0, 3.0, 6.0] {
        for moment in [-12.0, -6.0, -3.0, -1.0, 1.0, 3.0, 6.0, 12.0] {
            // Inside the strip −λ < M/(r F) − µ (1 + λ) F_x/F < λ both contacts can slide. M turns z towards x.
            let place = moment - FRICTION * (1.0 + slender) * aside;
            if (place.abs() / slender - 1.0).abs() < 0.25 {
                continue;
            }
            let slides = place.abs() < slender;
            counts[usize::from(slides)] += 1;
            let way = goes_in(aside, moment);
            if slides != (way > 1e-4) {
                wrong.push((aside, moment, place / slender, way));
            }
        }
    }
    assert!(counts[0] > 5 && counts[1] > 5, "{counts:?}");
    assert!(wrong.is_empty(), "{wrong:?}");
}
