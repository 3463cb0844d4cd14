//! A real device as the haptic thread sees it: two mailboxes and a bell. The other ends are with the device's own thread.
//!
//! Thread: haptic (RT): reads and writes wait for nothing.

use super::Bell;
use crate::device::{Device, DeviceFault, DeviceSpec, HandForce, HandSample, SafeForce};
use crate::math::Pose;
use crate::shared::{LatestReader, LatestWriter, MonoNs, Stamp, Tick, latest};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A sample older than this is none, ns: the time after which an answer counts as lost.
pub const STALE_NS: u64 = 5_000_000;
/// A device that another haptic thread has taken over is shown where it was for this long, ns: until the thread that had it
/// is ended.
const FROZEN_NS: u64 = 5_000_000_000;

/// Who has the device: the two ends of a front tell each other.
const HELD: u8 = 0;
/// The haptic thread has silenced it, or is no more.
const LET_GO: u8 = 1;
/// Another front has taken its place.
const REPLACED: u8 = 2;

/// The alarm that a guardian has stepped in: none, raised by the I/O thread, heeded by the tick.
const QUIET: u8 = 0;
const RAISED: u8 = 1;
const HEEDED: u8 = 2;

/// What the tick gets to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mail {
    pub(super) sample: HandSample,
    /// Force that carries the device's own weight there.
    pub(super) weight: HandForce,
}

/// The I/O thread's ends.
pub(super) struct Front {
    mail: LatestWriter<Mail>,
    forces: LatestReader<SafeForce>,
    held: Arc<AtomicU8>,
    alarm: Arc<AtomicU8>,
}

impl Front {
    /// Tells the tick that the guardian has stepped in; true once the tick has latched that.
    pub(super) fn alarm(&self) -> bool {
        let _ = self.alarm.compare_exchange(QUIET, RAISED, Ordering::AcqRel, Ordering::Acquire);
        self.alarm.compare_exchange(HEEDED, QUIET, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// There is no alarm any more. One that the tick latched after the port it came from had gone is done with; the next is
    /// another, to be latched anew.
    pub(super) fn calm(&self) {
        let _ = self.alarm.compare_exchange(HEEDED, QUIET, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The newest force, if one came since the last call.
    pub(super) fn force(&mut self) -> Option<SafeForce> {
        self.forces.read_if_new().copied()
    }

    /// Makes this the newest the tick can see.
    pub(super) fn show(&mut self, mail: Mail) {
        self.mail.publish(mail);
    }

    /// True when the haptic thread wants no more force.
    pub(super) fn is_let_go(&self) -> bool {
        self.held.load(Ordering::Acquire) == LET_GO
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        // Not if the tick has let go itself.
        let _ = self.held.compare_exchange(HELD, REPLACED, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// See the file's head.
pub struct RealDevice {
    spec: DeviceSpec,
    mail: LatestReader<Mail>,
    forces: LatestWriter<SafeForce>,
    held: Arc<AtomicU8>,
    alarm: Arc<AtomicU8>,
    /// The tick has been told of the alarm.
    alarmed: bool,
    bell: Bell,
    /// Since when another front has the device.
    frozen: Option<MonoNs>,
}

impl RealDevice {
    /// Both ends of a front.
    pub(super) fn new(spec: DeviceSpec, bell: Bell) -> (Self, Front) {
        let nowhere =
            HandSample { stamp: Stamp::default(), pose_device_handle: Pose::identity(), buttons: 0, homed: false };
        let (mail_writer, mail) = latest(Mail { sample: nowhere, weight: HandForce::zero() });
        let (force_writer, forces) = latest(SafeForce::zero());
        let held = Arc::new(AtomicU8::new(HELD));
        let alarm = Arc::new(AtomicU8::new(QUIET));
        let front = Front { mail: mail_writer, forces, held: Arc::clone(&held), alarm: Arc::clone(&alarm) };
        (Self { spec, mail, forces: force_writer, held, alarm, alarmed: false, bell, frozen: None }, front)
    }
}

impl RealDevice {
    /// True once the device has been heard.
    pub fn is_heard(&mut self) -> bool {
        self.mail.read().sample.stamp.sequence > 0
    }
}

impl Device for RealDevice {
    fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    fn read(&mut self, tick: &mut Tick<'_>) -> Result<HandSample, DeviceFault> {
        if self.alarm.load(Ordering::Acquire) == RAISED {
            self.alarmed = true;
            return Err(DeviceFault::Silenced);
        }
        let sample = self.mail.read().sample;
        if sample.stamp.sequence == 0 {
            return Err(DeviceFault::Silent);
        }
        if self.held.load(Ordering::Acquire) == REPLACED {
            let since = *self.frozen.get_or_insert(tick.began);
            return if tick.began.since(since) < FROZEN_NS { Ok(sample) } else { Err(DeviceFault::Lost) };
        }
        if sample.stamp.age(tick.began) > STALE_NS { Err(DeviceFault::Silent) } else { Ok(sample) }
    }

    fn write(&mut self, force: &SafeForce, _tick: &mut Tick<'_>) -> Result<(), DeviceFault> {
        if self.frozen.is_some() {
            return Ok(());
        }
        self.forces.publish(*force);
        if self.alarmed {
            // The tick has tripped, and what was just handed over is its zero.
            self.alarmed = false;
            self.alarm.store(HEEDED, Ordering::Release);
        }
        self.bell.ring();
        Ok(())
    }

    fn silence(&mut self, _now: MonoNs) {
        let _ = self.held.compare_exchange(HELD, LET_GO, Ordering::AcqRel, Ordering::Acquire);
        self.bell.ring();
    }

    fn weight(&self) -> HandForce {
        self.mail.current().weight
    }
}

impl Drop for RealDevice {
    fn drop(&mut self) {
        self.silence(MonoNs(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::simulated::test_spec;
    use crate::shared::ManualClock;

    /// A tick: whether it learnt of an alarm, and its answer of zero force.
    fn is_told(device: &mut RealDevice, clock: &ManualClock) -> bool {
        let mut tick = Tick::begin(1, MonoNs(1), 1e-3, 0, clock);
        let told = matches!(device.read(&mut tick), Err(DeviceFault::Silenced));
        device.write(&SafeForce::zero(), &mut tick).expect("a mailbox takes everything");
        told
    }

    #[test]
    fn every_alarm_is_latched_also_after_one_whose_port_had_gone() {
        let clock = ManualClock::at(MonoNs(1));
        let (mut device, front) = RealDevice::new(test_spec(), Bell::new().expect("a bell"));
        assert!(!is_told(&mut device, &clock));
        for _ in 0..3 {
            assert!(!front.alarm(), "nobody has latched it yet");
            assert!(is_told(&mut device, &clock) && front.alarm(), "latched once");
            assert!(!is_told(&mut device, &clock));
        }
        // The port goes before the tick has latched the alarm; nobody asks again.
        assert!(!front.alarm() && is_told(&mut device, &clock));
        front.calm();
        assert!(!front.alarm(), "another alarm is not the one before");
        front.calm();
        assert!(is_told(&mut device, &clock), "and one that waits to be latched goes on waiting");
    }
}
