//! Turning the tool without turning the handle: with a button, by a client's order, or with a spanner.
//!
//! Thread: haptic (RT); [`Turning`] any (plain data).
//!
//! Buttons and orders turn the tool in its grip at a bounded rate and stall at a torque, as a nut runner does. Seed 001 V-F turns
//! the nut by keyboard.
//!
//! A spanner lets a device that knows no rotation turn a tool and feel its torque. The handle is at the end of a lever `r` across
//! the axis `a` of the tool, and a spring hangs between the two. The hand guides the head, so that what it does along the axis acts
//! in the middle and nothing it does tilts the tool; a spring holds the axis upright. With `t = a × r` and the spin `ω = a·ω`:
//!
//! ```text
//!  stretch   δ = x + r − p              end of the lever over handle
//!  velocity  v + t ω  =  J (v, ω)       J = [ I  t aᵀ ]
//!  wrench    Jᵀ f = ( f, (t·f) a )      the hand feels −f: torque over lever
//! ```
//!
//! The wrench is the transpose of the velocity, so that the lever neither makes nor loses energy. A ratchet lets the lever slip where
//! it would turn the tool the wrong way: what the spring holds then is lost, and nothing acts along `t`.

use super::{HapticModel, SpringDamper, TickRecord};
use crate::math::{Mat3, Mat6, Pose, Rot, Vec3, Vec6, exp_so3, join, log_so3};
use crate::shared::lifecycle::Refusal;
use crate::shared::{MonoNs, Parameter};

/// Longest time a client's order turns the tool unless it is sent again, ns: a client that hangs must not go on turning.
const LONGEST_NS: u64 = 250_000_000;

/// Which way a spanner turns the tool; the other way it slips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ratchet {
    /// Both: there is none.
    Off,
    /// Against the clock, seen against the axis.
    Left,
    /// With the clock.
    Right,
}

/// A spanner on the tool while a button is held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spanner {
    /// From the tool to the hand when the spanner is put on, in the scene, m; across the axis.
    pub lever: Vec3,
    /// Button, number of a bit.
    pub button: u8,
    /// Which way it turns the tool.
    pub ratchet: Ratchet,
}

/// How the tool is turned other than by the handle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turning {
    /// Unit axis in the tool's frame.
    pub axis: Vec3,
    /// Fastest turn by buttons and orders, rad/s.
    pub rate: f64,
    /// Torque at which buttons and orders stall, N·m.
    pub torque: f64,
    /// Buttons that turn at the full rate, numbers of bits: against the clock, with the clock.
    pub buttons: [Option<u8>; 2],
    /// The spanner, if there is one.
    pub spanner: Option<Spanner>,
}

/// Tells the torque that a hand feels, be it in the hand or by the force at the end of a lever.
#[derive(Clone, Copy, Debug)]
pub struct TorqueSense {
    /// Axis in the tool's frame, where there may be a spanner on.
    axis: Option<Vec3>,
    /// Orientation of the device in the scene.
    base: Rot,
}

impl TorqueSense {
    /// For what this model renders.
    #[must_use]
    pub fn of(model: &HapticModel) -> Self {
        let axis = model.turning.filter(|turning| turning.spanner.is_some()).map(|turning| turning.axis);
        Self { axis, base: model.mapping.pose_world_device.rotation }
    }

    /// Torque of one tick, N·m: in the hand, or of a spanner on the tool about its axis, in the scene. Where a spanner is not on, the
    /// handle is at the tool and its force has no lever.
    #[must_use]
    pub fn felt_nm(&self, record: &TickRecord) -> f64 {
        let in_hand = record.force.torque.norm();
        let Some(axis) = self.axis else { return in_hand };
        let scale = record.parameters.get(Parameter::ForceScale) * record.parameters.get(Parameter::MotionScale);
        let force = self.base * record.force.force / scale;
        let lever = record.pose_world_handle.translation.vector - record.pose_world_tool.translation.vector;
        (record.pose_world_tool.rotation * axis).dot(&lever.cross(&force)).abs().max(in_hand)
    }
}

/// Turning by a client's order. It ends by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientTurn {
    rate: f64,
    until: MonoNs,
}

impl ClientTurn {
    /// No turn.
    pub(super) const NONE: Self = Self { rate: 0.0, until: MonoNs(0) };

    /// A turn at `rate` from `now` until `until`, or for as long as one may last.
    pub(super) fn new(model: &HapticModel, rate: f64, until: MonoNs, now: MonoNs) -> Result<Self, Refusal> {
        let most = model.turning.as_ref().ok_or(Refusal::NotApplicable)?.rate;
        // A rate in single precision may lie a rounding outside.
        if !(rate.abs() <= most * (1.0 + 1e-6)) {
            return Err(Refusal::OutOfRange);
        }
        Ok(Self { rate: rate.clamp(-most, most), until: until.min(now.plus(LONGEST_NS)) })
    }

    /// The rate at `now`, rad/s.
    fn at(&self, now: MonoNs) -> f64 {
        if now < self.until { self.rate } else { 0.0 }
    }
}

/// True when the button of that bit is held.
pub(super) fn pressed(buttons: u32, bit: Option<u8>) -> bool {
    bit.is_some_and(|bit| buttons >> bit & 1 == 1)
}

impl Turning {
    /// Rate at which buttons and an order turn the tool now, rad/s: none once the spring is wound to the torque of stalling. `grip` is
    /// the orientation that the spring of `stiffness` pulls the tool to.
    pub(super) fn rate_now(
        &self,
        buttons: u32,
        order: &ClientTurn,
        now: MonoNs,
        (grip, tool): (&Rot, &Rot),
        stiffness: f64,
    ) -> f64 {
        let [left, right] = self.buttons.map(|bit| f64::from(u8::from(pressed(buttons, bit))));
        let wanted = (order.at(now) + (left - right) * self.rate).clamp(-self.rate, self.rate);
        let wound = self.axis.dot(&log_so3(&(tool.inverse() * grip)));
        if wound * wanted.signum() * stiffness >= self.torque { 0.0 } else { wanted }
    }

    /// The lever, in the tool's frame, after the ratchet has slipped as far as the handle, seen from the tool, asks it to.
    pub(super) fn slipped(&self, spanner: &Spanner, lever: &Vec3, handle: &Vec3) -> Lever {
        let across = |v: &Vec3| v - self.axis * self.axis.dot(v);
        let (from, to) = (across(lever), across(handle));
        let ahead = self.axis.dot(&from.cross(&to)).atan2(from.dot(&to));
        let slips = match spanner.ratchet {
            Ratchet::Off => false,
            Ratchet::Left => ahead < 0.0,
            Ratchet::Right => ahead > 0.0,
        };
        // A hand on the other side of the axis pulls; only one that goes round turns.
        if slips && from.dot(&to) > 0.0 {
            Lever { end: exp_so3(&(self.axis * ahead)) * lever, slips: true }
        } else {
            Lever { end: *lever, slips: false }
        }
    }
}

/// The lever of a spanner that is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lever {
    /// Its end in the tool's frame.
    pub(super) end: Vec3,
    /// It slips: nothing is done across it.
    pub(super) slips: bool,
}

/// Springs of a spanner on the tool, which is at `tool`: stiffness, damping and stretch as seen by the tool, for a handle at `handle`.
/// `upright` is the axis in the scene as it should be.
pub(super) fn spanner_springs(
    axis: &Vec3,
    upright: &Vec3,
    lever: &Lever,
    spring: &SpringDamper,
    tool: &Pose,
    handle: &Vec3,
) -> (Mat6, Mat6, Vec6) {
    let sideways = tool.rotation * axis.cross(&lever.end);
    // The way that a lever acts, but not one that slips.
    let free = if lever.slips { sideways.try_normalize(0.0).unwrap_or_default() } else { Vec3::zeros() };
    let sideways = if lever.slips { Vec3::zeros() } else { sideways };
    let matrix = |six: &[f64; 6]| {
        let mut all = Mat6::from_diagonal(&Vec6::from(*six));
        let acts = Mat3::identity() - free * free.transpose();
        let linear = acts * all.fixed_view::<3, 3>(0, 0) * acts;
        all.fixed_view_mut::<3, 3>(0, 0).copy_from(&linear);
        // Tilt is held, spin is free but for the lever.
        let kept = Mat3::identity() - axis * axis.transpose();
        let tilt = kept * all.fixed_view::<3, 3>(3, 3) * kept;
        let pull = Vec3::from_fn(|row, _| six[row]).component_mul(&sideways);
        let couple = pull * axis.transpose();
        all.fixed_view_mut::<3, 3>(0, 3).copy_from(&couple);
        all.fixed_view_mut::<3, 3>(3, 0).copy_from(&couple.transpose());
        all.fixed_view_mut::<3, 3>(3, 3).copy_from(&(tilt + axis * axis.transpose() * sideways.dot(&pull)));
        all
    };
    let stretch = tool.translation.vector + tool.rotation * lever.end - handle;
    let (from, to) = (tool.rotation.inverse_transform_vector(upright), axis);
    let lean = from.cross(to);
    let size = lean.norm();
    let lean = if size > 0.0 { lean * (size.atan2(from.dot(to)) / size) } else { lean };
    (matrix(&spring.stiffness), matrix(&spring.damping), join(&stretch, &lean))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turning(ratchet: Ratchet) -> (Turning, Spanner) {
        let spanner = Spanner { lever: Vec3::x() * 0.1, button: 0, ratchet };
        let axis = Vec3::new(0.6, 0.0, 0.8);
        (Turning { axis, rate: 2.0, torque: 0.3, buttons: [Some(1), Some(2)], spanner: Some(spanner) }, spanner)
    }

    fn tool() -> Pose {
        Pose::new(Vec3::new(0.01, 0.02, 0.03), Vec3::new(0.3, -0.5, 1.1))
    }

    /// A lever across the axis.
    fn lever(axis: &Vec3) -> Vec3 {
        axis.cross(&Vec3::y()) * 0.1
    }

    #[test]
    fn a_spanner_gives_the_tool_the_power_that_the_hand_gives_the_spring() {
        let (axis, pose) = (turning(Ratchet::Off).0.axis, tool());
        let (lever, spring) = (lever(&axis), SpringDamper::isotropic(1000.0, 0.0, 3.0, 0.0));
        let firm = Lever { end: lever, slips: false };
        let upright = pose.rotation * axis;
        let end = pose.translation.vector + pose.rotation * lever;
        let (stiffness, _, stretch) =
            spanner_springs(&axis, &upright, &firm, &spring, &pose, &(end - Vec3::new(1e-3, -2e-3, 5e-4)));
        assert!((stiffness - stiffness.transpose()).norm() < 1e-9);
        assert!(stiffness.symmetric_eigenvalues().min() > -1e-9);
        let wrench = stiffness * stretch;
        let force = Vec3::new(1.0, -2.0, 0.5);
        assert!((wrench.fixed_rows::<3>(0) - force).norm() < 1e-12);
        // A torque about the axis alone, that of the force at the end of the lever.
        let torque = pose.rotation * wrench.fixed_rows::<3>(3).clone_owned();
        let about = upright.dot(&(pose.rotation * lever).cross(&force));
        assert!((torque - upright * about).norm() < 1e-12, "{torque} {about}");
        // Work of a small motion of the tool is that of the end of the lever, but for what tilts it.
        let (way, spin) = (Vec3::new(0.3, 0.1, -0.2), 0.7);
        let of_end = way + upright.cross(&(pose.rotation * lever)) * spin;
        assert!((wrench.dot(&join(&way, &(axis * spin))) - force.dot(&of_end)).abs() < 1e-12);
        // One that slips does nothing across itself: neither spring nor damper.
        let loose = Lever { slips: true, ..firm };
        let damped = SpringDamper { damping: [5.0; 6], ..spring };
        let (stiffness, damping, _) = spanner_springs(&axis, &upright, &loose, &damped, &pose, &end);
        let across = upright.cross(&(pose.rotation * lever));
        for matrix in [stiffness, damping] {
            assert!((matrix * join(&across, &Vec3::zeros())).norm() < 1e-9);
            assert!((matrix * join(&Vec3::zeros(), &axis)).norm() < 1e-9);
            assert!((matrix * join(&upright, &Vec3::zeros())).norm() > 1.0);
        }
    }

    #[test]
    fn a_leaning_tool_is_pulled_upright_and_not_turned() {
        let axis = Vec3::z();
        let lean = Rot::from_axis_angle(&Vec3::x_axis(), 0.1);
        let spring = SpringDamper::isotropic(1000.0, 0.0, 3.0, 0.0);
        let pose = Pose::from_parts(Vec3::zeros().into(), lean);
        let lever = Lever { end: Vec3::x() * 0.1, slips: false };
        let (stiffness, _, stretch) = spanner_springs(&axis, &Vec3::z(), &lever, &spring, &pose, &(lean * lever.end));
        let torque = (stiffness * stretch).fixed_rows::<3>(3).clone_owned();
        assert!((torque - Vec3::x() * 0.3).norm() < 1e-9, "the stretch is a lean about x: {torque}");
    }

    #[test]
    fn a_ratchet_holds_one_way_and_slips_the_other() {
        let around = |axis: &Vec3, angle: f64| exp_so3(&(axis * angle)) * lever(axis);
        for (ratchet, held) in
            [(Ratchet::Off, [true, true]), (Ratchet::Left, [true, false]), (Ratchet::Right, [false, true])]
        {
            let (turning, spanner) = turning(ratchet);
            let start = lever(&turning.axis);
            for (way, held) in [0.2, -0.2].into_iter().zip(held) {
                let handle = around(&turning.axis, way) * 1.3;
                let end = turning.slipped(&spanner, &start, &handle);
                let expected = if held { start } else { around(&turning.axis, way) };
                assert!((end.end - expected).norm() < 1e-12 && end.slips != held, "{ratchet:?} {way}");
            }
        }
    }

    #[test]
    fn buttons_and_orders_turn_at_the_rate_and_stall_at_the_torque() {
        let (turning, _) = turning(Ratchet::Off);
        let (now, later) = (MonoNs(1000), MonoNs(1000 + LONGEST_NS));
        let order = |rate| ClientTurn { rate, until: later };
        let tool = tool().rotation;
        let wound = |angle: f64| tool * exp_so3(&(turning.axis * angle));
        let rate = |buttons, order: &ClientTurn, at, angle: f64| {
            turning.rate_now(buttons, order, at, (&wound(angle), &tool), 3.0)
        };
        assert_eq!(rate(0, &ClientTurn::NONE, now, 0.0), 0.0);
        assert_eq!((rate(2, &ClientTurn::NONE, now, 0.0), rate(4, &ClientTurn::NONE, now, 0.0)), (2.0, -2.0));
        assert_eq!(rate(6, &ClientTurn::NONE, now, 0.0), 0.0, "both ways at once");
        assert_eq!((rate(0, &order(0.5), now, 0.0), rate(0, &order(0.5), later, 0.0)), (0.5, 0.0));
        assert_eq!(rate(2, &order(1.5), now, 0.0), 2.0, "never faster than the rate");
        // 0.3 N·m of 3 N·m/rad.
        assert_eq!((rate(2, &order(0.0), now, 0.099), rate(2, &order(0.0), now, 0.101)), (2.0, 0.0));
        assert_eq!((rate(4, &order(0.0), now, 0.101), rate(4, &order(0.0), now, -0.101)), (-2.0, 0.0));
    }
}
