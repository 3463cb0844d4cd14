//! Drivers of real devices, without input or output: bytes and time in, bytes and samples out.
//!
//! Thread: device I/O (no heap after it is made, no lock, no clock).
//!
//! A driver is a codec, a mechanism and the way a device is started and homed. What all of them share is in [`Host`]: asking
//! and waiting, lost answers, silence, starting again, buttons, commands that have grown old. What differs is a [`Family`].
//!
//! Only a [`SafeForce`] becomes bytes, and only while the device answers, is homed and the command is young. A family may make
//! a force smaller (at the edge of its workspace, where its motors end), never larger or turned.

mod arm;
pub mod catalogue;
mod events;
mod falcon;
mod glide;
mod hapkit;
mod hapkit_text;
mod haply;
mod host;
mod inverse3;
mod plausible;
mod spacemouse;
#[cfg(test)]
mod tests;
mod trim;

pub use arm::{ArmCalibration, ArmFamily, ArmMechanism};
pub use events::{DriverEvent, DriverEventKind};
pub use falcon::{FalconCalibration, FalconFamily};
pub use hapkit::{HapkitCalibration, HapkitFamily};
pub use hapkit_text::HapkitTextFamily;
pub use haply::{HaplyCalibration, HaplyFamily};
pub use host::Host;
pub use inverse3::{Inverse3Calibration, Inverse3Family};
pub use spacemouse::{SpaceMouseFamily, SpaceMouseScale};
pub use trim::{TRIM_ENCODERS, TRIM_FORCE, TRIM_ORIGIN_MAX_RAD, Trim};

use super::wire::{ByteEnd, Outbox};
use super::{HandForce, HandSample, SafeForce};
use crate::math::Pose;
use crate::shared::MonoNs;

/// One millisecond, ns.
const MS: u64 = 1_000_000;

/// What the operator has to do before the device knows where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomingGuide {
    /// The device finds its index marks while the handle passes them.
    PullOutThenPushIn,
    /// The counters start where the handle is: it must be in its rest, and someone must say so.
    RestAndConfirm,
    /// As before, and the device has a button to say so.
    RestAndPressButton,
}

impl HomingGuide {
    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::PullOutThenPushIn => "pull the handle all the way out, then push it all the way in",
            Self::RestAndConfirm => "put the handle in its rest position and confirm",
            Self::RestAndPressButton => "put the handle in its rest position and press the calibration button",
        }
    }
}

/// How far the driver has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverState {
    /// The device is being started.
    Starting,
    /// It answers and does not know where it is; no force.
    Homing(HomingGuide),
    /// Force may flow.
    Ready,
    /// It has stopped answering; no force.
    Silent,
    /// It could not be started; it is tried again now and then.
    Failed,
}

/// What the line has done since the driver was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkFacts {
    /// Requests sent.
    pub requests: u64,
    /// Answers understood.
    pub answers: u64,
    /// Requests that got no answer in time.
    pub lost: u64,
    /// Bytes that belonged to no frame, or frames that made no sense.
    pub garbage: u64,
    /// Times the device was started anew.
    pub restarts: u64,
    /// Time from the newest answered request to its answer, ns.
    pub round_trip_ns: u64,
}

/// A driver as its I/O thread sees it.
pub trait Driver: ByteEnd {
    /// Takes a force to be sent with the next request. It grows old: without a new one the driver goes to zero.
    fn command(&mut self, force: &SafeForce, now: MonoNs);

    /// The newest sample, once.
    fn sample(&mut self) -> Option<HandSample>;

    /// How far it has come.
    fn state(&self) -> DriverState;

    /// The oldest event not yet taken.
    fn next_event(&mut self) -> Option<DriverEvent>;

    /// Bytes that put the device to zero force whatever state it is in; says how many. For a transport's last words.
    fn silence_bytes(&self, out: &mut [u8]) -> usize;

    /// The operator says that the handle is in its rest position.
    fn confirm_home(&mut self, now: MonoNs);

    /// The force at the handle that carries the device's own weight where it is now. To be added before the limiter: a
    /// driver adds nothing itself.
    fn weight(&self) -> HandForce;

    /// What the line has done.
    fn facts(&self) -> LinkFacts;
}

/// What was in the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Heard {
    /// Nothing whole yet.
    Nothing,
    /// Something that is no frame.
    Garbage,
    /// An answer that tells no place: what was asked for is done.
    Done,
    /// An answer.
    Reading(Reading),
}

/// An answer of a device, in SI units and the device's base frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Handle pose; `None` when the joints are where the mechanism cannot be.
    pub pose: Option<Pose>,
    /// Buttons held, one bit each.
    pub buttons: u32,
    /// The device's own word for trouble; zero for none.
    pub error: i32,
}

/// How starting goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not done; ask again when time has passed or bytes have come.
    Waiting,
    /// The device answers.
    Done,
    /// It does not, after all tries.
    Failed,
    /// It speaks, but a protocol in which no force can be given.
    Foreign,
    /// It speaks, but takes too long to.
    Slow,
}

/// Times of a family, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A request not answered for this long is lost.
    pub answer_ns: u64,
    /// Without a new command, the device is asked this often.
    pub poll_ns: u64,
    /// Without an answer for this long, the device is silent: zero force and an event.
    pub silent_ns: u64,
    /// Without an answer for this long, it is started anew.
    pub restart_ns: u64,
    /// A command older than this is not sent any more.
    pub command_life_ns: u64,
    /// After a start that failed, the next try waits this long.
    pub back_off_ns: u64,
}

impl Timing {
    /// For a device on a USB line at 1 kHz. The haptic thread latches a fault at 20 ms of silence; so does this.
    pub const USB: Self = Self {
        answer_ns: 5 * MS,
        poll_ns: MS,
        silent_ns: 20 * MS,
        restart_ns: 500 * MS,
        command_life_ns: 20 * MS,
        back_off_ns: 2000 * MS,
    };
}

/// What a kind of device does in its own way. See [`Host`] for who calls what.
pub trait Family {
    /// Its times.
    const TIMING: Timing = Timing::USB;
    /// False for a device that sends by itself and is never asked.
    const ASKS: bool = true;
    /// True for one whose answers are farther apart than ticks: between two of them the handle is shown on its way.
    const SELDOM: bool = false;

    /// Forgets everything but its calibration: the device may be another one.
    fn restart(&mut self);

    /// Goes on starting the device. Called when nothing waits in `out`.
    fn start(&mut self, now: MonoNs, out: &mut Outbox) -> Progress;

    /// Takes bytes from the front and says how many, at least one, at most to the end of one answer.
    fn receive(&mut self, bytes: &[u8]) -> (usize, Heard);

    /// Asks the device, with this force.
    fn request(&mut self, force: &SafeForce, out: &mut Outbox);

    /// No answer came: forget the part of one that did.
    fn give_up(&mut self);

    /// What is still to be done to home; `None` when homed.
    fn guide(&self) -> Option<HomingGuide>;

    /// The handle is in its rest position.
    fn confirm_home(&mut self, out: &mut Outbox);

    /// See [`Driver::silence_bytes`].
    fn silence(&self, out: &mut [u8]) -> usize;

    /// Part of the force that may be given where the handle is, 0 to 1.
    fn share(&self) -> f64;

    /// See [`Driver::weight`].
    fn weight(&self) -> HandForce;
}

/// Copies a message whole, or nothing.
fn put(message: &[u8], out: &mut [u8]) -> usize {
    match out.get_mut(..message.len()) {
        Some(place) => {
            place.copy_from_slice(message);
            message.len()
        }
        None => 0,
    }
}

/// Scales a set of motor commands down until each fits: the direction of the force stays.
fn fitted<const N: usize>(commands: [f64; N], limit: f64) -> [f64; N] {
    let largest = commands.iter().fold(0.0_f64, |largest, command| largest.max(command.abs()));
    if !commands.iter().all(|command| command.is_finite()) {
        return [0.0; N];
    }
    if largest > limit { commands.map(|command| command * (limit / largest)) } else { commands }
}
