//! A peg in its hole, tilted until it touches on both sides: it slides where the plane theory of jamming says, and sticks
//! where it says (Whitney 1982, two-point contact).

use hapticd::bench::assembly::drive::{Drive, MOVING, peg_in_hole};
use hapticd::math::{Pose, Rot, Vec3};

const FRICTION: f64 = 0.1;
const RADIUS: f64 = 49.97e-3 / 2.0;
/// Depth of the tip below the mouth's chamfer, and of the tip's chamfer.
const DEPTH: f64 = 0.02;
const CHAMFER: f64 = 1e-3;

/// A force along the axis, one `aside` in units of it, and a moment about the tip in units of it times the radius.
#[derive(Clone, Copy)]
struct Load {
    down: f64,
    aside: f64,
    moment: f64,
}

impl Load {
    /// Force at the centre of mass and torque about it.
    fn on(&self, drive: &Drive) -> (Vec3, Vec3) {
        let force = Vec3::new(self.aside * self.down, 0.0, -self.down);
        // About the tip: the force acts there, and the simulation takes it at the centre of mass.
        let arm = drive.shape().translation.vector - drive.data().pose(MOVING).translation.vector;
        (force, arm.cross(&force) + Vec3::new(0.0, self.moment * self.down * RADIUS, 0.0))
    }
}

/// The peg in its hole, tilted until both sides touch.
fn tilted(friction: f64) -> Drive {
    let mut assembly = peg_in_hole(friction).expect("it can be made");
    let room = (50.035e-3 - 49.97e-3) / (DEPTH - 2.0 * CHAMFER);
    // Almost as far as it can tilt; it falls the rest of the way.
    let tilt = Rot::from_axis_angle(&Vec3::y_axis(), 0.8 * room);
    assembly.start = Pose::from_parts(Vec3::new(-0.4 * room * DEPTH, 0.0, -DEPTH).into(), tilt);
    let mut drive = Drive::new(&assembly, 1e-3).expect("it can be simulated");
    for _ in 0..150 {
        let (v, w) = drive.velocity();
        drive.step(&(-v * 50.0), &(Vec3::new(0.0, 0.3, 0.0) - w * 0.1));
    }
    drive
}

/// How far the tilted peg goes in under a load.
fn goes_in(friction: f64, aside: f64, moment: f64) -> f64 {
    let (mut drive, load) = (tilted(friction), Load { down: 20.0, aside, moment });
    let start = drive.shape().translation.z;
    for _ in 0..80 {
        let (force, torque) = load.on(&drive);
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
            let way = goes_in(FRICTION, aside, moment);
            if slides != (way > 1e-4) {
                wrong.push((aside, moment, place / slender, way));
            }
        }
    }
    assert!(counts[0] > 5 && counts[1] > 5, "{counts:?}");
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// In by less than friction times its width a peg wedges: the strip is narrower than the peg, and a push that is off the middle by less
/// than the radius holds it.
#[test]
fn a_peg_that_is_in_by_less_than_friction_times_its_width_is_held_by_a_push_at_its_rim() {
    let friction = 0.5;
    let slender = (DEPTH - 2.0 * CHAMFER) / (2.0 * RADIUS * friction);
    assert!(slender < 0.75);
    for moment in [0.5, 0.95] {
        let way = goes_in(friction, 0.0, moment);
        assert_eq!(way > 1e-4, moment < slender, "moment {moment} of {slender}: it went in by {way} m");
    }
}

/// While it slides, friction on both sides holds up alike and has no moment: the two forces are a couple, `N l = M`, and friction is
/// `µ N` on each.
#[test]
fn a_tilted_peg_that_slides_is_held_by_a_couple_and_its_friction() {
    let (mut drive, load) = (tilted(FRICTION), Load { down: 8.0, aside: 0.0, moment: 2.5 });
    let torque = load.moment * load.down * RADIUS;
    let (mut couples, mut normals, mut frictions, mut steps) = ([0.0; 2], [0.0; 2], [0.0; 2], 0.0);
    for step in 0..40 {
        let (force, turn) = load.on(&drive);
        drive.step(&force, &turn);
        if step < 10 {
            continue;
        }
        let between = -drive.shape().translation.z - 2.0 * CHAMFER;
        let mut sides = [Vec3::zeros(); 2];
        for contact in &drive.data().forces {
            sides[usize::from(contact.point.x > 0.0)] += contact.force;
        }
        for (side, force) in sides.iter().enumerate() {
            couples[side] += force.x.abs() * between / torque;
            // Over all of it: a side may leave the wall for a step and come back in the next.
            (normals[side], frictions[side]) = (normals[side] + force.x.abs(), frictions[side] + force.z.abs());
        }
        steps += 1.0;
    }
    for side in 0..2 {
        let (couple, friction) = (couples[side] / steps, frictions[side] / (FRICTION * normals[side]));
        println!("side {side}: couple {couple:.3}, friction {friction:.3} of theory");
        assert!((couple - 1.0).abs() < 0.05 && (friction - 1.0).abs() < 0.05, "{couple} {friction}");
    }
}
