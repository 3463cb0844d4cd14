//! The other end of a device's line: firmware, mechanism and hand, to the byte. Stands in for hardware that is not there.
//!
//! Thread: whoever tests or plays the device (no heap after it is made).
//!
//! A [`Firmware`] speaks a family's protocol and turns commands into torques on the joints; the [`Emulator`] moves the handle
//! under them, held by a simulated hand. The force at the handle comes from the *numerical* derivative of the mechanism, and its
//! weight from that of the potential energy, not from the Jacobian and the torques that the driver uses: driver and emulator
//! agree only if both are right.
//!
//! What can go wrong on the way back to the host is in [`Line`].

mod arm;
#[cfg(test)]
mod arm_tests;
mod defect;
mod falcon;
mod hapkit;
mod hapkit_text;
mod haply;
mod inverse3;
mod line;
#[cfg(test)]
mod small_tests;
mod spacemouse;
#[cfg(test)]
mod tests;

pub use arm::ArmFirmware;
pub use defect::Defect;
pub use falcon::FalconFirmware;
pub use hapkit::HapkitFirmware;
pub use hapkit_text::HapkitTextFirmware;
pub use haply::HaplyFirmware;
pub use inverse3::Inverse3Firmware;
pub use line::{Line, Trouble, exchange};
pub use spacemouse::SpaceMouse;

use defect::Defective;

use super::kinematics::{Jacobian, Joints, Kinematics, Mount, force_of_torques};
use super::simulated::axis::{AxisDrive, AxisModel};
use super::wire::{ByteEnd, LineOrder, Outbox};
use crate::device::Links;
use crate::math::Vec3;
use crate::shared::{MonoNs, NS_PER_S};

/// Longest step of the motion, ns: 50 µs follow a stiff hand.
const STEP_NS: u64 = 50_000;
/// Most steps in one call. After a longer gap the world has stood still for the rest.
const STEPS_MAX: u64 = 20_000;
/// Step of the numerical derivative, rad.
const DERIVATIVE_STEP: f64 = 1e-4;
/// The joints may move so far before the weight, which changes slowly, is worked out anew, rad.
const WEIGHT_STEP: f64 = 1e-3;

/// The joints with one of them moved back and forth by the step of a derivative.
fn around<const N: usize>(joints: &Joints<N>, joint: usize) -> [Joints<N>; 2] {
    [-DERIVATIVE_STEP, DERIVATIVE_STEP].map(|step| {
        let mut moved = *joints;
        moved[joint] += step;
        moved
    })
}

/// What firmware can sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Senses<const N: usize> {
    /// True joint angles, rad.
    pub joints: Joints<N>,
    /// Buttons held, one bit each.
    pub buttons: u32,
    /// Angles of a wrist that is sensed but not driven, rad.
    pub wrist: Vec3,
}

/// The inside of a device with `N` motors.
pub trait Firmware<const N: usize> {
    /// Takes bytes and answers.
    fn receive(&mut self, bytes: &[u8], senses: &Senses<N>, now: MonoNs, out: &mut Outbox);

    /// Time has passed.
    fn idle(&mut self, _senses: &Senses<N>, _now: MonoNs, _out: &mut Outbox) {}

    /// The host did this to the line.
    fn line(&mut self, _order: LineOrder) {}

    /// Torques on the joints now, N·m.
    fn torques(&self, now: MonoNs) -> Joints<N>;

    /// Power fails and returns: everything is forgotten and the counters start where the handle is.
    fn power_cycle(&mut self, senses: &Senses<N>);
}

/// The hand that holds the handle: a spring and a damper to a place that may move, and a force besides; in SI units and the
/// device's base frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    /// Where it wants the handle.
    pub target: Vec3,
    /// How fast that place moves.
    pub velocity: Vec3,
    /// Its own force.
    pub push: Vec3,
    /// Its spring.
    pub stiffness: f64,
    /// Its damper.
    pub damping: f64,
    /// What it adds to the mass of the handle.
    pub mass_kg: f64,
}

impl Hand {
    /// A firm hand that keeps the handle at `target`.
    #[must_use]
    pub fn at(target: Vec3) -> Self {
        let still = Vec3::zeros();
        Self { target, velocity: still, push: still, stiffness: 1000.0, damping: 20.0, mass_kg: 0.0 }
    }
}

/// An emulated device of any kind, as whoever plays it sees it.
pub trait Emulated: ByteEnd {
    /// Holds the handle so from now on.
    fn hold(&mut self, hand: &Hand);

    /// Gives the handle Coulomb friction, N, and drag, N·s/m.
    fn resist(&mut self, friction_n: f64, drag: f64);

    /// Presses exactly these buttons.
    fn press(&mut self, buttons: u32);

    /// Where the handle is, in the device's base frame.
    fn position(&self) -> Vec3;

    /// The force of the motors at the handle, N, in the device's base frame.
    fn force(&self) -> Vec3;

    /// What a hand feels of it: the force of the motors that does not carry the device itself.
    fn felt(&self) -> Vec3 {
        self.force()
    }

    /// The force that the newest command is where the device last said it was: what the host asked for, however far the handle
    /// has moved since.
    fn asked(&self) -> Vec3;

    /// Switches it off and on.
    fn power_cycle(&mut self);

    /// Has this defect from now on, or none. A device without the part goes on as it was.
    fn suffer(&mut self, _defect: Option<Defect>) {}
}

/// A device, with its handle in a hand.
pub struct Emulator<F, K, const N: usize> {
    firmware: F,
    kinematics: K,
    mount: Mount,
    axis: AxisModel,
    mass_kg: f64,
    /// What its moving parts weigh.
    links: Links,
    hand: Hand,
    position: Vec3,
    velocity: Vec3,
    senses: Senses<N>,
    force: Vec3,
    /// The force asked for, and the joints that the host was told last.
    asked: Vec3,
    told: Joints<N>,
    /// The derivative of the place, and the joints it was taken at.
    jacobian: Option<(Jacobian<N>, Joints<N>)>,
    /// That of the potential energy, likewise; and the force that carries it.
    weight: Option<(Joints<N>, Joints<N>)>,
    load: Vec3,
    defect: Option<Defective<N>>,
    now: Option<MonoNs>,
    outbox: Outbox,
}

impl<F: Firmware<N>, K: Kinematics<N>, const N: usize> Emulator<F, K, N> {
    /// A device of this moving mass, kg, switched on with its handle at `start` in the device's base frame; `None` where the
    /// mechanism cannot be.
    #[must_use]
    pub fn new(mut firmware: F, kinematics: K, mount: Mount, mass_kg: f64, start: &Vec3) -> Option<Self> {
        let position = mount.from_device(start);
        let senses = Senses { joints: kinematics.inverse(&position)?, buttons: 0, wrist: Vec3::zeros() };
        firmware.power_cycle(&senses);
        let axis = AxisModel { inertia: mass_kg, drag: 0.0, friction: 0.0, stiffness: 0.0, damping: 0.0 };
        Some(Self {
            firmware,
            kinematics,
            mount,
            axis,
            mass_kg,
            links: Links::default(),
            hand: Hand::at(*start),
            position,
            velocity: Vec3::zeros(),
            told: senses.joints,
            senses,
            force: Vec3::zeros(),
            asked: Vec3::zeros(),
            jacobian: None,
            weight: None,
            load: Vec3::zeros(),
            defect: None,
            now: None,
            outbox: Outbox::default(),
        })
    }

    /// Gives its moving parts this weight; the motors or the hand must carry it.
    #[must_use]
    pub fn heavy(mut self, links: Links) -> Self {
        self.links = links;
        self
    }

    /// The hand.
    pub fn hand(&mut self) -> &mut Hand {
        &mut self.hand
    }

    /// Presses exactly these buttons.
    pub fn press(&mut self, buttons: u32) {
        self.senses.buttons = buttons;
    }

    /// Turns the wrist, rad.
    pub fn turn_wrist(&mut self, angles: Vec3) {
        self.senses.wrist = angles;
    }

    /// Switches it off and on.
    pub fn power_cycle(&mut self) {
        self.outbox.clear();
        let sensed = self.sensed();
        self.firmware.power_cycle(&sensed);
    }

    /// What the firmware senses, and what its torques are at the joints.
    fn sensed(&self) -> Senses<N> {
        let joints = self.defect.map_or(self.senses.joints, |defect| defect.sensed(&self.senses.joints));
        Senses { joints, ..self.senses }
    }

    fn torques(&self, at: MonoNs) -> Joints<N> {
        let torques = self.firmware.torques(at);
        self.defect.map_or(torques, |defect| defect.driven(&torques))
    }

    /// Where the handle is, in the device's base frame.
    #[must_use]
    pub fn position(&self) -> Vec3 {
        self.mount.to_device(&self.position)
    }

    /// The force of the motors at the handle, N, in the device's base frame.
    #[must_use]
    pub fn force(&self) -> Vec3 {
        self.mount.direction_to_device(&self.force)
    }

    /// The firmware.
    #[must_use]
    pub fn firmware(&self) -> &F {
        &self.firmware
    }

    /// The firmware, to be tampered with.
    pub fn firmware_mut(&mut self) -> &mut F {
        &mut self.firmware
    }

    /// Force of these torques where the handle is, by virtual work on the mechanism itself.
    fn force_of(&mut self, torques: &Joints<N>) -> Option<Vec3> {
        let joints = self.senses.joints;
        let near = |at: &Joints<N>| (at - joints).norm() < DERIVATIVE_STEP;
        if !self.jacobian.is_some_and(|(_, at)| near(&at)) {
            self.jacobian = Some((self.derivative(&joints)?, joints));
        }
        force_of_torques(&self.jacobian?.0, torques)
    }

    /// Force that carries the moving parts where the handle is, likewise.
    fn load(&mut self) -> Option<Vec3> {
        if self.links == Links::default() {
            return None;
        }
        let joints = self.senses.joints;
        let near = |at: &Joints<N>| (at - joints).norm() < WEIGHT_STEP;
        if !self.weight.is_some_and(|(_, at)| near(&at)) {
            self.weight = Some((self.energy_slope(&joints)?, joints));
        }
        let (torques, _) = self.weight?;
        self.force_of(&torques)
    }

    fn energy_slope(&self, joints: &Joints<N>) -> Option<Joints<N>> {
        let mut slope = Joints::<N>::zeros();
        for joint in 0..N {
            let [before, after] = around(joints, joint).map(|at| self.kinematics.potential(&at, &self.links));
            slope[joint] = (after? - before?) / (2.0 * DERIVATIVE_STEP);
        }
        Some(slope)
    }

    fn derivative(&self, joints: &Joints<N>) -> Option<Jacobian<N>> {
        let mut jacobian = Jacobian::<N>::zeros();
        for joint in 0..N {
            let [before, after] = around(joints, joint).map(|at| self.kinematics.forward(&at));
            jacobian.set_column(joint, &((after? - before?) / (2.0 * DERIVATIVE_STEP)));
        }
        Some(jacobian)
    }

    fn advance(&mut self, now: MonoNs) {
        let Some(last) = self.now else {
            self.now = Some(now);
            return;
        };
        let steps = now.since(last).div_ceil(STEP_NS).min(STEPS_MAX);
        if steps == 0 {
            return;
        }
        let step_s = now.since(last).min(STEPS_MAX * STEP_NS) as f64 / NS_PER_S as f64 / steps as f64;
        for index in 0..steps {
            let at = MonoNs(last.0 + now.since(last) * index / steps);
            let torques = self.torques(at);
            self.force = self.force_of(&torques).unwrap_or_default();
            self.load = self.load().unwrap_or_default();
            self.step(&(self.force - self.load), step_s);
        }
        self.now = Some(now);
    }

    /// Moves the handle under the force of motors and weight.
    fn step(&mut self, motor: &Vec3, step_s: f64) {
        self.axis.inertia = self.mass_kg + self.hand.mass_kg;
        self.axis.stiffness = self.hand.stiffness;
        self.axis.damping = self.hand.damping;
        let target = self.mount.from_device(&self.hand.target);
        let [push, velocity] = [self.hand.push, self.hand.velocity].map(|way| self.mount.direction_from_device(&way));
        let mut next = self.position;
        for axis in 0..3 {
            let distance = target[axis] - self.position[axis];
            let drive = AxisDrive { motor: motor[axis], push: push[axis], distance, target_velocity: velocity[axis] };
            let moved = self.axis.advance(self.velocity[axis], &drive, step_s);
            next[axis] += moved.way;
            self.velocity[axis] = moved.velocity;
        }
        // The mechanism lets the handle go only where it can, in a plane or on a line if it has few joints; at its end
        // stops it stands.
        let joints = self.kinematics.inverse(&next);
        let within = |joints: &Joints<N>| if N == 3 { Some(next) } else { self.kinematics.forward(joints) };
        match joints.and_then(|joints| Some((joints, within(&joints)?))) {
            Some((joints, position)) => (self.senses.joints, self.position) = (joints, position),
            None => self.velocity = Vec3::zeros(),
        }
    }
}

impl<F: Firmware<N>, K: Kinematics<N>, const N: usize> ByteEnd for Emulator<F, K, N> {
    fn feed(&mut self, bytes: &[u8], now: MonoNs) {
        self.advance(now);
        let sensed = self.sensed();
        self.firmware.idle(&sensed, now, &mut self.outbox);
        if !bytes.is_empty() {
            self.firmware.receive(bytes, &sensed, now, &mut self.outbox);
            let torques = self.torques(now);
            self.force = self.force_of(&torques).unwrap_or_default();
            let asked = self.derivative(&self.told).and_then(|jacobian| force_of_torques(&jacobian, &torques));
            (self.asked, self.told) = (asked.unwrap_or_default(), sensed.joints);
        }
    }

    fn next_out(&mut self, out: &mut [u8]) -> usize {
        self.outbox.pop(out)
    }

    fn line(&mut self, order: LineOrder, _now: MonoNs) {
        self.firmware.line(order);
    }
}

impl<F: Firmware<N>, K: Kinematics<N>, const N: usize> Emulated for Emulator<F, K, N> {
    fn hold(&mut self, hand: &Hand) {
        self.hand = *hand;
    }

    fn resist(&mut self, friction_n: f64, drag: f64) {
        (self.axis.friction, self.axis.drag) = (friction_n, drag);
    }

    fn press(&mut self, buttons: u32) {
        Self::press(self, buttons);
    }

    fn position(&self) -> Vec3 {
        Self::position(self)
    }

    fn force(&self) -> Vec3 {
        Self::force(self)
    }

    fn felt(&self) -> Vec3 {
        self.mount.direction_to_device(&(self.force - self.load))
    }

    fn asked(&self) -> Vec3 {
        self.mount.direction_to_device(&self.asked)
    }

    fn power_cycle(&mut self) {
        Self::power_cycle(self);
    }

    fn suffer(&mut self, defect: Option<Defect>) {
        self.defect = defect.map(|defect| Defective::new(defect, &self.senses.joints));
    }
}

/// A number of counts as a 16-bit register shows it.
fn register(count: f64) -> i16 {
    // Wraps as the register does; the counts of a desk device are far from 32 bits.
    count.round() as i32 as i16
}
