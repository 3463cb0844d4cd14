//! Every fault on every device in every state, in virtual time: the driver and the loop that ship, against emulated devices to
//! the byte. The force at the handle stays within its limit, ends in time, is told of, and comes back when the cause has gone.

#![expect(clippy::panic, reason = "a test reports by panicking")]

#[path = "common/wired.rs"]
mod wired;

use hapticd::device::driver::catalogue::{DRIVERS, HAPKIT_TEXT, INVERSE3, gives_force};
use hapticd::device::driver::{DriverEventKind, DriverState};
use hapticd::device::emulator::{Defect, Hand, Trouble};
use hapticd::device::port::find::Bus;
use hapticd::device::wire::MESSAGE_MAX;
use hapticd::device::{HandForce, HandMotion, Limiter, SafeForce};
use hapticd::haptic::Trip;
use hapticd::math::Vec3;
use hapticd::shared::Faults;
use hapticd::shared::lifecycle::State;
use wired::{Booth, WAY_M, Wired, towards_wall};

const MS: u64 = 1_000_000;
/// The stated time from a fault to zero force, ticks: 20 ms of silence or of an old command, and one answer that is waited for.
const STATED: u32 = 25;
/// How far the hand means to press in, m.
const PRESS_M: f64 = 0.006;

/// So long a defect of the device or a hand that is too fast lasts, ticks.
const LASTING: u32 = 300;
/// The time in which a defect is detected or its force is back within bounds, ticks.
const DETECTED: u32 = 20;

/// What the operator does when it happens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    /// DISABLED, the handle held.
    Idle,
    /// ENABLED, to and fro without touching anything.
    Moving,
    /// ENABLED, pressing against the wall.
    Pressing,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// To one answer.
    Once(Trouble),
    /// To every answer for 100 ms.
    Often(Trouble),
    /// Answers are held back for 60 ms.
    Stall,
    /// The cable is out for 0.7 s: no power, no bytes.
    Unplugged,
    /// The loop gives no command for 60 ms.
    Hang,
    /// Both ends of the line talk at once for 60 ms.
    Collide,
    /// The hand moves the handle at three times the speed that the device allows.
    Overspeed,
    /// An encoder or a motor is wrong.
    Defect(Defect),
}

const FAULTS: [Fault; 19] = [
    Fault::Once(Trouble::Drop),
    Fault::Once(Trouble::Split),
    Fault::Once(Trouble::Duplicate),
    Fault::Once(Trouble::Corrupt(3, 0x20)),
    Fault::Once(Trouble::Corrupt(9, 0x01)),
    Fault::Once(Trouble::Late(3 * MS)),
    Fault::Once(Trouble::Late(12 * MS)),
    Fault::Once(Trouble::Short),
    Fault::Once(Trouble::Garbage),
    Fault::Often(Trouble::Split),
    Fault::Often(Trouble::Garbage),
    Fault::Stall,
    Fault::Unplugged,
    Fault::Hang,
    Fault::Collide,
    Fault::Overspeed,
    Fault::Defect(Defect::StuckEncoder(0)),
    Fault::Defect(Defect::SwappedEncoders),
    Fault::Defect(Defect::ReversedMotor(0)),
];

/// Whether messages on this wire come whole or not at all.
fn speaks_reports(word: &str) -> bool {
    matches!(Bus::of(word), Bus::Hid | Bus::Service)
}

/// How long answers are held back in a stall, ms: longer than this device may be silent.
fn stall_ms(word: &str) -> u64 {
    if word == HAPKIT_TEXT { 161 } else { 61 }
}

/// Whether an answer that is late by this much is more than the device is given anyway.
fn is_told(word: &str, trouble: Trouble) -> bool {
    match trouble {
        Trouble::Late(_) => word != HAPKIT_TEXT,
        _ => matches!(trouble, Trouble::Drop | Trouble::Short),
    }
}

/// Whether the device knows where it is as soon as it answers.
fn needs_no_homing(word: &str) -> bool {
    word == INVERSE3
}

/// One device in one state, and what is expected of it.
struct Trial {
    booth: Booth,
    doing: Doing,
    ticks: u64,
    /// Where the hand is on its way.
    hand: Vec3,
    /// Ticks from the last fault to zero force.
    to_zero: u32,
}

impl Trial {
    fn new(word: &'static str, doing: Doing) -> Self {
        let mut booth = Booth::new(word);
        booth.home();
        let mut trial = Self { booth, doing, ticks: 0, hand: Vec3::zeros(), to_zero: 0 };
        trial.settle();
        trial
    }

    fn limit_n(&self) -> f64 {
        self.booth.rig.first.device.spec.limits.force.linear
    }

    fn force_n(&self) -> f64 {
        self.booth.rig.first.device.device.force().norm()
    }

    /// One tick of whatever is being done; the force is within its limit, and zero where nothing is enabled.
    fn tick(&mut self, case: &str) {
        self.advance();
        // One count of the motor command is less than a thousandth of the limit.
        assert!(self.force_n() <= self.limit_n() * 1.002, "{case}: {} N", self.force_n());
        let none = self.doing == Doing::Idle || !gives_force(self.booth.word);
        assert!(!none || self.force_n() == 0.0, "{case}: {} N unasked", self.force_n());
    }

    /// One tick of whatever is being done.
    fn advance(&mut self) {
        self.ticks += 1;
        let wall = towards_wall(self.booth.word);
        let target = match self.doing {
            Doing::Idle => Vec3::zeros(),
            Doing::Moving => wall * (-0.004 + 0.003 * (self.ticks as f64 * 0.0126).sin()),
            Doing::Pressing => wall * (WAY_M + PRESS_M),
        };
        // At 0.1 m/s.
        let way = target - self.hand;
        self.hand += way * (1e-4 / way.norm().max(1e-4));
        let hand = Hand::at(self.hand);
        self.booth.wired().device.hold(&hand);
        self.booth.beat();
    }

    /// The force that has passed the limiter, N.
    fn sent_n(&self) -> f64 {
        self.booth.last.record.force.force.norm()
    }

    /// So many ticks with something that the program can hardly see: either it is detected within [`DETECTED`] ticks or the force stays
    /// within its bounds, but for that time. What a device makes of a spoilt command or a wrong encoder is no longer in the program's hands;
    /// of a motor that turns the other way least of all: there, what is sent is judged.
    fn endure(&mut self, ticks: u32, fault: Fault, case: &str) {
        let (mut beyond, mut longest, mut peak_n, mut latched) = (0_u32, 0, 0.0_f64, None);
        for tick in 0..ticks {
            self.advance();
            peak_n = peak_n.max(self.force_n());
            assert!(self.sent_n() <= self.limit_n() * 1.000_001, "{case}: {} N", self.sent_n());
            beyond = if self.force_n() > self.limit_n() * 1.002 { beyond + 1 } else { 0 };
            longest = longest.max(beyond);
            if self.booth.last.record.state == State::Fault {
                latched.get_or_insert(tick + 1);
            }
        }
        let cause = self.booth.last.record.cause.filter(|_| latched.is_some());
        let limit_n = self.limit_n();
        println!(
            "{case}: peak {peak_n:.2} of {limit_n:.2} N, beyond for {longest} ms, latched {latched:?} ms {cause:?}"
        );
        let turned = matches!(fault, Fault::Defect(Defect::ReversedMotor(_)));
        assert!(turned || longest <= DETECTED, "{case}: beyond the limit for {longest} ms");
    }

    /// In FAULT, and when commands come through, there is no force.
    fn silent_in_fault(&self, case: &str) {
        let fault = self.booth.last.record.state == State::Fault;
        assert!(!fault || self.force_n() == 0.0, "{case}: {} N after a fault", self.force_n());
    }

    /// The hand goes to and fro faster than the device allows: braked at once, never driven, a fault when it lasts.
    fn overspeed(&mut self, case: &str) {
        let allowed = self.booth.rig.first.device.spec.limits.speed.linear;
        let wall = towards_wall(self.booth.word);
        let (centre, reach) = (self.hand, 0.012);
        let rate = 3.0 * allowed / reach;
        let mut before = self.booth.wired().device.position();
        let (mut fastest, mut driven) = (0.0_f64, 0);
        for tick in 0..LASTING {
            let turn = rate * f64::from(tick) * 1e-3;
            let target = centre - wall * (reach * (1.0 - turn.cos()));
            let hand = Hand {
                velocity: -wall * (reach * rate * turn.sin()),
                stiffness: 20_000.0,
                damping: 100.0,
                ..Hand::at(target)
            };
            self.booth.wired().device.hold(&hand);
            self.booth.beat();
            let now = self.booth.wired().device.position();
            let velocity = (now - before) * 1e3;
            before = now;
            fastest = fastest.max(velocity.norm());
            let power_w = self.booth.wired().device.force().dot(&velocity);
            let too_fast = velocity.norm() > 1.5 * allowed && power_w > self.booth.rig.first.device.spec.limits.power_w;
            driven = if too_fast { driven + 1 } else { 0 };
            // What is sent: the handle is elsewhere, with another lever, before it acts.
            assert!(self.sent_n() <= self.limit_n() * 1.000_001, "{case}: {} N", self.sent_n());
            assert!(driven <= DETECTED, "{case}: {power_w} W into a hand at {} m/s", velocity.norm());
        }
        println!("{case}: {fastest:.2} m/s of {allowed:.2} m/s, {:?}", self.booth.last.record.cause);
        self.booth.lead(centre, 50);
        self.hand = centre;
    }

    fn run(&mut self, ticks: u32, case: &str) {
        for _ in 0..ticks {
            self.tick(case);
        }
    }

    /// Gets to the state of the trial from wherever it is.
    fn settle(&mut self) {
        if self.booth.last.record.state == State::Fault {
            // Held still, as the page on safety says.
            self.booth.lead(Vec3::zeros(), 100);
            self.hand = Vec3::zeros();
            self.booth.rig.first.desk.acknowledge();
            self.booth.run(2);
        }
        if self.doing != Doing::Idle && self.booth.last.record.state != State::Enabled {
            self.booth.lead(Vec3::zeros(), 100);
            self.hand = Vec3::zeros();
            self.booth.rig.first.desk.enable();
            self.booth.run(700);
            assert_eq!(self.booth.last.record.state, State::Enabled, "{}", self.booth.word);
        }
        self.run(600, "settling");
        let pressed = self.force_n() > 1.0;
        let Self { booth, doing, .. } = self;
        let meant = *doing == Doing::Pressing && gives_force(booth.word);
        assert_eq!(pressed, meant, "{} {doing:?}: {:?}", booth.word, booth.last.record);
        booth.wired().events.clear();
    }

    /// Ticks until the motors are off; panics when that takes longer than stated.
    fn await_zero(&mut self, case: &str) {
        self.to_zero = (0..=STATED)
            .find(|_| {
                self.tick(case);
                self.force_n() == 0.0
            })
            .unwrap_or_else(|| panic!("{case}: still {} N after {STATED} ticks", self.force_n()));
    }

    /// Makes it happen, and watches.
    fn meet(&mut self, fault: Fault) {
        let case = format!("{} {:?} {fault:?}", self.booth.word, self.doing);
        let before = self.booth.wired().driver.facts();
        self.booth.wired().peak_n = 0.0;
        match fault {
            Fault::Once(trouble) => {
                self.booth.wired().line.upset(trouble);
                let mut silent = false;
                for _ in 0..60 {
                    self.tick(&case);
                    silent |= self.booth.last.record.faults.contains(Faults::DEVICE_SILENT);
                }
                let told = is_told(self.booth.word, trouble);
                let facts = self.booth.wired().driver.facts();
                assert!(silent || !told || facts.lost > before.lost, "{case}: nobody noticed");
                assert_ne!(self.booth.last.record.state, State::Fault, "{case}: {:?}", self.booth.last.record.cause);
            }
            Fault::Often(trouble) => {
                for _ in 0..100 {
                    self.booth.wired().line.upset(trouble);
                    self.tick(&case);
                }
                self.run(60, &case);
                // Garbage glued to every frame leaves nothing to read on a wire without a mark at its beginning, and half a report
                // is none.
                let (state, cause) = (self.booth.last.record.state, self.booth.last.record.cause);
                let unreadable = trouble == Trouble::Garbage || speaks_reports(self.booth.word);
                let lost = unreadable && cause == Some(Trip::DeviceLost) && self.force_n() == 0.0;
                assert!(state != State::Fault || lost, "{case}: {cause:?}");
            }
            Fault::Stall => self.stall(&case),
            Fault::Unplugged => self.unplug(&case),
            Fault::Hang => self.hang(&case),
            Fault::Collide => {
                let until = self.booth.wired().now.plus(60 * MS);
                self.booth.wired().line.collide(until);
                self.endure(60, fault, &case);
                self.run(60, &case);
                self.silent_in_fault(&case);
            }
            Fault::Overspeed => self.overspeed(&case),
            Fault::Defect(defect) => {
                self.booth.wired().device.suffer(Some(defect));
                self.endure(LASTING, fault, &case);
                self.silent_in_fault(&case);
                self.booth.wired().device.suffer(None);
                self.run(100, &case);
            }
        }
        self.settle();
    }

    fn stall(&mut self, case: &str) {
        let stall_ms = stall_ms(self.booth.word);
        let until = self.booth.wired().now.plus(stall_ms * MS);
        self.booth.wired().line.stall(until);
        self.await_zero(case);
        self.run(stall_ms as u32, case);
        self.lost(case);
        assert!(self.booth.wired().told(DriverEventKind::Silent), "{case}: {:?}", self.booth.wired().events);
        self.run(60, case);
        assert!(self.booth.wired().told(DriverEventKind::Back), "{case}: {:?}", self.booth.wired().events);
        assert_eq!(self.force_n(), 0.0, "{case}: pushes again unasked");
    }

    fn unplug(&mut self, case: &str) {
        self.booth.wired().line.cut(true);
        self.booth.wired().device.power_cycle();
        self.await_zero(case);
        self.run(700, case);
        self.lost(case);
        assert!(self.booth.wired().told(DriverEventKind::Restarting), "{case}: {:?}", self.booth.wired().events);
        // Back in its rest, and plugged in again.
        let fresh = Wired::new(self.booth.word);
        self.booth.wired().device = fresh.device;
        self.booth.wired().line.cut(false);
        self.booth.wired().peak_n = 0.0;
        self.booth.run(200);
        self.booth.rig.first.desk.acknowledge();
        if !needs_no_homing(self.booth.word) {
            self.booth.rig.first.desk.enable();
        }
        self.booth.run(50);
        assert_ne!(self.booth.last.record.state, State::Enabled, "{case}: enabled before it was homed");
        self.booth.home();
        assert!(self.booth.wired().told(DriverEventKind::Homed), "{case}: {:?}", self.booth.wired().events);
        assert_eq!(self.booth.wired().peak_n, 0.0, "{case}: force before it was enabled");
    }

    /// The loop stands still and the I/O goes on.
    fn hang(&mut self, case: &str) {
        let enabled = self.doing != Doing::Idle;
        let (mut now, mut zero_after) = (self.booth.wired().now, None);
        for ms in 0..60 {
            now = now.plus(MS);
            self.booth.wired().exchange(now);
            assert!(self.force_n() <= self.limit_n() * 1.002, "{case}: {} N", self.force_n());
            if self.force_n() == 0.0 {
                zero_after.get_or_insert(ms);
            }
        }
        assert!(zero_after.is_some_and(|ms| ms <= STATED), "{case}: {zero_after:?}");
        self.to_zero = zero_after.unwrap_or(0);
        assert!(self.booth.wired().told(DriverEventKind::CommandExpired), "{case}");
        // Virtual time has passed the loop by; it catches up without a sample that is newer.
        self.run(100, case);
        assert!(!enabled || self.booth.last.record.state == State::Enabled || self.booth.last.record.cause.is_some());
    }

    /// The loop has latched the loss.
    fn lost(&mut self, case: &str) {
        let record = &self.booth.last.record;
        assert_eq!((record.state, record.cause), (State::Fault, Some(Trip::DeviceLost)), "{case}");
        assert_eq!(self.force_n(), 0.0, "{case}");
    }
}

fn matrix(words: &[&'static str]) {
    for &word in words {
        for doing in [Doing::Idle, Doing::Moving, Doing::Pressing] {
            let mut trial = Trial::new(word, doing);
            let mut slowest = 0;
            for fault in FAULTS {
                trial.to_zero = 0;
                trial.meet(fault);
                slowest = slowest.max(trial.to_zero);
            }
            println!("{word:<22} {doing:?}: {} faults, zero force within {slowest} ms", FAULTS.len());
        }
    }
}

#[test]
fn falcon_hapkit_and_pantograph_stand_every_fault_in_every_state() {
    matrix(&["falcon", "hapkit", "haply-2dof"]);
}

#[test]
fn a_hapkit_that_speaks_text_stands_every_fault_in_every_state() {
    matrix(&[HAPKIT_TEXT]);
}

#[test]
fn an_inverse3_behind_its_service_stands_every_fault_in_every_state() {
    matrix(&[INVERSE3]);
}

#[test]
fn arms_on_the_current_text_stand_every_fault_in_every_state() {
    matrix(&["polhem", "vintage", "woodenhaptics"]);
}

#[test]
fn arms_on_older_boards_stand_every_fault_in_every_state() {
    matrix(&["woodenhaptics-frames", "woodenhaptics-mbed", "woodenhaptics-teensy"]);
}

/// A force of this size that has passed a limiter, tick after tick until it is all there.
fn safe(wired: &Wired, force: Vec3) -> SafeForce {
    let wanted = HandForce { force, torque: Vec3::zeros() };
    let mut limiter = Limiter::new(wired.spec.limits);
    let mut safe = SafeForce::zero();
    for _ in 0..100 {
        safe = limiter.limit(wanted, &HandMotion::default(), None, 1e-3, &mut Faults::NONE.clone());
    }
    safe
}

#[test]
fn last_words_are_understood_wherever_the_message_before_them_was_cut_off() {
    for word in DRIVERS {
        let mut booth = Booth::new(word);
        booth.home();
        let force = safe(booth.wired(), towards_wall(word) * -1.0);
        let mut lengths = 0;
        for cut in 0.. {
            if booth.wired().driver.state() != DriverState::Ready {
                // A wire without marks that was cut off at an odd place needs a new start, and homing.
                assert_eq!(word, "haply-2dof", "{word}: out of step after a cut at {cut}");
                booth = Booth::new(word);
                booth.home();
            }
            let wired = booth.wired();
            // The force is there, and the next command is under way.
            for _ in 0..20 {
                let now = wired.now.plus(MS);
                wired.driver.command(&force, now);
                wired.exchange(now);
            }
            assert!(wired.device.force().norm() > 0.5, "{word}: {} N", wired.device.force().norm());
            let now = wired.now.plus(MS);
            wired.driver.command(&force, now);
            let mut message = [0; MESSAGE_MAX];
            let length = wired.driver.next_out(&mut message);
            assert!(length > 0, "{word}: no command");
            if cut > length {
                lengths = length;
                break;
            }
            // A report comes whole or not at all.
            if !speaks_reports(word) {
                wired.device.feed(&message[..cut], now);
            }
            let mut words = [0; MESSAGE_MAX];
            let length = wired.driver.silence_bytes(&mut words);
            assert!(length > 0, "{word}: no last words");
            for _ in 0..2 {
                wired.device.feed(&words[..length], now);
            }
            assert_eq!(wired.device.force().norm(), 0.0, "{word}: cut after {cut} bytes");
            // The line may be out of step now; the driver finds its way back by itself.
            for _ in 0..60 {
                let now = wired.now.plus(MS);
                wired.driver.command(&force, now);
                wired.exchange(now);
            }
        }
        println!("{word}: a command of {lengths} bytes, cut at each");
    }
}

#[test]
fn nothing_is_too_small_for_last_words_but_a_buffer_that_cannot_hold_them() {
    for word in DRIVERS {
        let wired = Wired::new(word);
        let mut words = [0; MESSAGE_MAX];
        let length = wired.driver.silence_bytes(&mut words);
        assert!(length > 0 && wired.driver.silence_bytes(&mut words[..length - 1]) == 0, "{word}");
    }
}

#[test]
fn a_button_of_the_device_opens_the_clutch_and_is_told() {
    for word in DRIVERS.into_iter().filter(|word| wired::spec(word).buttons > 0) {
        let mut booth = Booth::with_clutch(word, Some(0));
        booth.home();
        booth.rig.first.desk.enable();
        booth.run(100);
        booth.wired().events.clear();
        booth.wired().device.press(1);
        booth.run(20);
        let tool = booth.last.record.pose_world_tool.translation.vector;
        booth.lead(towards_wall(word) * -0.004, 100);
        let moved = booth.last.record.pose_world_tool.translation.vector - tool;
        assert!(moved.norm() < 2e-4, "{word}: the tool followed by {} m", moved.norm());
        assert_eq!(booth.last.record.buttons & 1, 1, "{word}");
        booth.wired().device.press(0);
        booth.run(20);
        booth.lead(Vec3::zeros(), 100);
        let moved = booth.last.record.pose_world_tool.translation.vector - tool;
        assert!((moved.norm() - 0.004).abs() < 5e-4, "{word}: the tool moved by {} m", moved.norm());
        let told = |kind| booth.rig.first.device.told(kind);
        assert!(told(DriverEventKind::ButtonDown(0)) && told(DriverEventKind::ButtonUp(0)), "{word}");
    }
}
