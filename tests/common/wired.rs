//! A driver and its emulated device on one line in virtual time, as a device for the tick; and a wall to press against.

#![allow(dead_code, clippy::panic, reason = "each test uses its own part; a test reports by panicking")]

use hapticd::daemon::{Beat, Lockstep};
use hapticd::device::driver::catalogue::{self, AnyDevice, AnyDriver};
use hapticd::device::driver::{DriverEventKind, DriverState, HomingGuide};
use hapticd::device::emulator::{Hand, Line, exchange};
use hapticd::device::{Device, DeviceFault, DeviceSpec, HandSample, SafeForce};
use hapticd::math::{Pose, Rot, Vec3};
use hapticd::scene::{self, Built};
use hapticd::shared::{MonoNs, Tick};

/// From the middle of the device's workspace to the wall, m.
pub(crate) const WAY_M: f64 = 0.005;

/// The device file for the driver of this word.
pub(crate) fn spec(word: &str) -> DeviceSpec {
    // Older boards of an arm have their own word and the same file.
    let family = if word.starts_with("woodenhaptics") { "woodenhaptics" } else { word };
    let all = scene::shipped_device_names();
    let mut specs = all.map(|name| scene::open_device(name).expect("it is shipped").value);
    let spec = specs.find(|spec| spec.driver == family).expect("every driver has a device file");
    DeviceSpec { driver: word.to_owned(), ..spec }
}

/// Which way the wall is for this device: where its handle can go.
pub(crate) fn towards_wall(word: &str) -> Vec3 {
    if word.starts_with("hapkit") { Vec3::new(0.0, -1.0, 0.0) } else { Vec3::new(-1.0, 0.0, 0.0) }
}

/// A wall in front of the device of this word, met after [`WAY_M`]; a button lifts the tool off it, if one is named.
pub(crate) fn stage(word: &str, clutch_button: Option<u8>) -> Built {
    let spec = spec(word);
    let mut wall = scene::open("virtual_wall").expect("it is shipped").value;
    wall.clutch_button = clutch_button;
    wall.coupling.stiffness = 0.8 * spec.limits.stiffness.linear;
    wall.coupling.damping = wall.coupling.damping.min(0.5 * spec.limits.damping.linear);
    // The wall is met 15 mm before the scene's origin, by a tool of 5 mm.
    let turn = Rot::rotation_between(&towards_wall(word), &Vec3::new(-1.0, 0.0, 0.0)).expect("a quarter turn at most");
    wall.mapping.pose_world_device = Pose::from_parts(Vec3::new(WAY_M - 0.015, 0.0, 0.0).into(), turn);
    wall.tool.pose = Pose::translation(WAY_M - 0.015, 0.0, 0.0);
    let mut built = scene::build(&wall, &spec).unwrap_or_else(|report| panic!("{word}: {report}"));
    // The energy bound gives a hand that presses slowly no more force than the device's stated friction can take up, and these
    // device files state none. Here the wire is tested, with as much force on it as can be.
    built.haptic.policy.passivity = false;
    // Nor is its breach latched where nothing bounds it.
    (built.haptic.policy.overdrawn_held_s, built.haptic.policy.overdrawn_most_j) = (f64::INFINITY, f64::INFINITY);
    built
}

/// A driver, a line and an emulated device.
pub(crate) struct Wired {
    pub(crate) spec: DeviceSpec,
    pub(crate) driver: AnyDriver,
    pub(crate) device: AnyDevice,
    pub(crate) line: Line,
    pub(crate) now: MonoNs,
    pub(crate) events: Vec<DriverEventKind>,
    /// The largest force the motors have given.
    pub(crate) peak_n: f64,
}

impl Wired {
    pub(crate) fn new(word: &str) -> Self {
        let (driver, device) = (catalogue::driver(word, None), catalogue::emulated(word));
        let (driver, device) = (driver.expect("a driver"), device.expect("a device"));
        let (line, events) = (Line::default(), Vec::new());
        Self { spec: spec(word), driver, device, line, now: MonoNs(0), events, peak_n: 0.0 }
    }

    /// Moves what is under way.
    pub(crate) fn exchange(&mut self, now: MonoNs) {
        self.now = now;
        exchange(&mut *self.driver, &mut *self.device, &mut self.line, now);
        self.peak_n = self.peak_n.max(self.device.force().norm());
        self.events.extend(std::iter::from_fn(|| self.driver.next_event()).map(|event| event.kind));
    }

    /// True when the driver has told this since the events were last cleared.
    pub(crate) fn told(&self, kind: DriverEventKind) -> bool {
        self.events.contains(&kind)
    }
}

impl Device for Wired {
    fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    fn read(&mut self, tick: &mut Tick<'_>) -> Result<HandSample, DeviceFault> {
        self.exchange(tick.began);
        self.driver.sample().ok_or(DeviceFault::Silent)
    }

    fn write(&mut self, force: &SafeForce, tick: &mut Tick<'_>) -> Result<(), DeviceFault> {
        self.driver.command(force, tick.began);
        self.exchange(tick.began);
        Ok(())
    }

    fn silence(&mut self, now: MonoNs) {
        self.driver.command(&SafeForce::zero(), now);
    }
}

/// A wired device in front of a wall, with the whole loop.
pub(crate) struct Booth {
    pub(crate) word: &'static str,
    pub(crate) rig: Lockstep<Wired>,
    pub(crate) last: Beat,
}

impl Booth {
    /// Switched on; nothing homed, nothing enabled.
    pub(crate) fn new(word: &'static str) -> Self {
        Self::with_clutch(word, None)
    }

    /// The same with a clutch on this button.
    pub(crate) fn with_clutch(word: &'static str, button: Option<u8>) -> Self {
        let built = stage(word, button);
        let mut rig = Lockstep::new(built.haptic, built.sim, Wired::new(word), None).expect("the shapes are sound");
        let last = rig.beat();
        Self { word, rig, last }
    }

    pub(crate) fn wired(&mut self) -> &mut Wired {
        &mut self.rig.first.device
    }

    pub(crate) fn beat(&mut self) -> Beat {
        self.last = self.rig.beat();
        self.last
    }

    pub(crate) fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.beat();
        }
    }

    /// Ticks until `done`; panics after ten seconds of virtual time.
    pub(crate) fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        for _ in 0..10_000 {
            if done(self) {
                return;
            }
            self.beat();
        }
        let (state, events) = (self.rig.first.device.driver.state(), &self.rig.first.device.events);
        panic!("{}: never {what}: {state:?} {events:?} {:?}", self.word, self.last.record);
    }

    /// Takes the handle along a straight line to `target` in so many ticks.
    pub(crate) fn lead(&mut self, target: Vec3, ticks: u32) {
        let start = self.rig.first.device.device.position();
        for tick in 1..=ticks {
            let place = start + (target - start) * (f64::from(tick) / f64::from(ticks));
            self.wired().device.hold(&Hand::at(place));
            self.beat();
        }
        self.run(100);
    }

    /// Homes the device as its guide says, and takes the handle to the middle.
    pub(crate) fn home(&mut self) {
        let awake = |state| matches!(state, DriverState::Homing(_) | DriverState::Ready);
        self.until("awake", |booth| awake(booth.rig.first.device.driver.state()));
        match self.rig.first.device.driver.state() {
            DriverState::Homing(HomingGuide::PullOutThenPushIn) => {
                for x in [0.03, -0.035, 0.0] {
                    self.lead(Vec3::new(x, 0.0, 0.0), 200);
                }
            }
            DriverState::Homing(HomingGuide::RestAndPressButton) => {
                self.wired().device.press(2);
                self.run(5);
                self.wired().device.press(0);
            }
            DriverState::Homing(HomingGuide::RestAndConfirm) => {
                let now = self.wired().now;
                self.wired().driver.confirm_home(now);
            }
            // It knows where it is.
            _ => {}
        }
        self.until("homed", |booth| {
            booth.rig.first.device.driver.state() == DriverState::Ready && booth.last.record.homed
        });
        self.lead(Vec3::zeros(), 800);
    }
}
