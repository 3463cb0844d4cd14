//! The haptic thread as it runs: rights, figures, stop, and panics on either side of the wall. Times appear only as bounds
//! after which a test gives up.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{STEP_S, STIFFNESS, device, model, reading, wall};
use hapticd::device::{Device, DeviceFault, DeviceSpec, HandSample, SafeForce};
use hapticd::haptic::{Desk, HapticError, HapticSetup, HapticThread, TickRecord, Trip, orders};
use hapticd::math::Pose;
use hapticd::mechanism::MechanismSnapshot;
use hapticd::shared::lifecycle::{Refusal, State};
use hapticd::shared::realtime::{RealtimeRequest, SystemClock};
use hapticd::shared::{
    Answer, Clock as _, Faults, LatestReader, LatestWriter, MonoNs, NS_PER_S, RingReader, Tick, ToolSample, latest,
    ring,
};

/// How far the hand presses in, m.
const DEPTH: f64 = 3e-3;

/// What a device tells the test.
#[derive(Default)]
struct Seen {
    /// Bits of the vertical force set last, N.
    force: AtomicU64,
    silenced: AtomicU64,
    dropped: AtomicBool,
}

impl Seen {
    fn force_n(&self) -> f64 {
        f64::from_bits(self.force.load(Ordering::SeqCst))
    }
}

/// A hand that waits in the air for a second and then presses into the wall; misbehaves on request.
struct Hand {
    spec: DeviceSpec,
    seen: Arc<Seen>,
    begin: Option<MonoNs>,
    reads: u64,
    panic_at: Option<u64>,
    stall_at: Option<u64>,
}

impl Device for Hand {
    fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    fn read(&mut self, tick: &mut Tick<'_>) -> Result<HandSample, DeviceFault> {
        self.reads += 1;
        assert!(self.panic_at != Some(self.reads), "the driver has a bug");
        if self.stall_at == Some(self.reads) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let since_s = tick.began.since(*self.begin.get_or_insert(tick.began)) as f64 / NS_PER_S as f64;
        let height = (0.01 - 0.02 * (since_s - 1.0).max(0.0)).max(-DEPTH);
        Ok(reading(self.reads, tick.began, height))
    }

    fn write(&mut self, force: &SafeForce, _tick: &mut Tick<'_>) -> Result<(), DeviceFault> {
        self.seen.force.store(force.get().force.z.to_bits(), Ordering::SeqCst);
        Ok(())
    }

    fn silence(&mut self, _now: MonoNs) {
        self.seen.silenced.fetch_add(1, Ordering::SeqCst);
        self.seen.force.store(0, Ordering::SeqCst);
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.seen.dropped.store(true, Ordering::SeqCst);
    }
}

/// The other ends of a haptic thread.
struct Ends {
    seen: Arc<Seen>,
    snapshots: LatestWriter<MechanismSnapshot>,
    desk: Desk,
    tool: LatestReader<ToolSample>,
    records: RingReader<TickRecord>,
}

fn setup(change: impl FnOnce(&mut HapticSetup), mischief: impl FnOnce(&mut Hand)) -> (HapticSetup, Ends) {
    let spec = device(1000.0);
    let model = {
        let mut model = model(&spec);
        // A shared machine without rights may be late as often as it likes.
        (model.policy.overruns_trip, model.policy.gap_s) = (u32::MAX, f64::INFINITY);
        model
    };
    let seen = Arc::<Seen>::default();
    let (snapshot_writer, snapshots) = latest(MechanismSnapshot::empty());
    let (desk, links) = orders(4);
    let (tool, tool_reader) = latest(ToolSample::at_rest(Pose::identity()));
    let (records, record_reader) = ring(100_000);
    let mut hand = Hand { spec, seen: Arc::clone(&seen), begin: None, reads: 0, panic_at: None, stall_at: None };
    mischief(&mut hand);
    let realtime =
        RealtimeRequest { priority: 0, cpu: None, spin_ns: 0, lock_memory: false, stack_prefault_bytes: 64 << 10 };
    let mut setup = HapticSetup {
        model,
        device: Box::new(hand),
        snapshots,
        orders: links.orders,
        answers: links.answers,
        tool,
        records,
        realtime,
        allow_no_rt: false,
        born_tripped: None,
    };
    change(&mut setup);
    let ends = Ends { seen, snapshots: snapshot_writer, desk, tool: tool_reader, records: record_reader };
    (setup, ends)
}

/// Publishes a wall at the rate of the scene until `enough`.
fn publish(mut snapshots: LatestWriter<MechanismSnapshot>, enough: &AtomicBool) {
    for sequence in 1.. {
        if enough.load(Ordering::SeqCst) {
            break;
        }
        wall(sequence, SystemClock.now(), 0.0, snapshots.buffer());
        snapshots.publish_in_place();
        std::thread::sleep(Duration::from_secs_f64(STEP_S));
    }
}

/// Waits for something that must come.
fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(120), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_thread_without_its_rights_is_refused_unless_that_is_allowed() {
    // No system grants a priority that does not exist.
    let ask = |setup: &mut HapticSetup| setup.realtime.priority = 120;
    let (setup_denied, ends) = setup(ask, |_| ());
    let error = HapticThread::spawn(setup_denied).err().expect("refused");
    assert!(matches!(error, HapticError::RealtimeDenied(_)), "{error}");
    assert!(ends.seen.dropped.load(Ordering::SeqCst) && ends.seen.silenced.load(Ordering::SeqCst) == 1);
    let (setup_allowed, ends) = setup(
        |setup| {
            ask(setup);
            setup.allow_no_rt = true;
        },
        |_| (),
    );
    let thread = HapticThread::spawn(setup_allowed).expect("allowed");
    assert!(!thread.is_realtime() && thread.refusals().len() == 1);
    thread.stop().expect("it did not panic");
    assert!(ends.seen.dropped.load(Ordering::SeqCst));
    let (setup_rate, _) = setup(|setup| setup.model.rate_hz = 0.0, |_| ());
    assert!(matches!(HapticThread::spawn(setup_rate), Err(HapticError::Rate(_))));
}

#[test]
fn every_tick_is_recorded_counted_and_told_to_the_simulation() {
    let (setup, mut ends) = setup(|_| (), |hand| hand.stall_at = Some(100));
    let mut thread = HapticThread::spawn(setup).expect("nothing was asked for");
    let heartbeat = thread.heartbeat();
    wait_for("figures", || thread.figures().ticks >= 300);
    let published = *thread.figures();
    assert_eq!(published.compute.count, published.ticks);
    assert!(heartbeat.count() >= published.ticks);
    let figures = thread.stop().expect("it did not panic");
    let records: Vec<TickRecord> = ends.records.drain().collect();
    assert_eq!((records.len() as u64, figures.records_dropped), (figures.ticks, 0));
    assert!(records.iter().map(|r| r.index).eq(1..=figures.ticks));
    assert_eq!(figures.lateness.max_ns, records.iter().map(|r| r.lateness_ns).max().expect("there are some"));
    // Every slot was ticked or counted as skipped, and the tick after a gap says so.
    let slots = records.last().expect("there are some").due.since(records[0].due) / 1_000_000 + 1;
    assert_eq!(slots, figures.ticks + figures.skipped);
    assert!(figures.skipped >= 4 && records[100].faults.contains(Faults::OVERRUN), "the stall of 5 ms");
    assert_eq!(ends.tool.read().stamp.sequence, figures.ticks);
}

#[test]
fn a_stop_ramps_the_force_down_and_silences_the_device() {
    let (setup, mut ends) = setup(|_| (), |_| ());
    let full_ramp = setup.model.policy.ramp_s;
    let thread = HapticThread::spawn(setup).expect("nothing was asked for");
    let (snapshots, enough) = (ends.snapshots, Arc::new(AtomicBool::new(false)));
    let until = Arc::clone(&enough);
    let simulation = std::thread::spawn(move || publish(snapshots, &until));
    ends.desk.enable();
    let seen = Arc::clone(&ends.seen);
    wait_for("full force", || seen.force_n() > 0.95 * STIFFNESS * DEPTH);
    assert_eq!(seen.silenced.load(Ordering::SeqCst), 0);
    thread.stop().expect("it did not panic");
    assert_eq!((seen.force_n(), seen.silenced.load(Ordering::SeqCst)), (0.0, 1));
    let records: Vec<TickRecord> = ends.records.drain().collect();
    let last = records.last().expect("there are some");
    assert_eq!((last.state, last.gain, last.force.force.norm()), (State::Disabled, 0.0, 0.0));
    // The ramp takes a tenth of the one that let the force in.
    let ramping = records.iter().filter(|r| r.state == State::Disabled && r.gain > 0.0).count() as f64;
    assert!((ramping - 100.0 * full_ramp).abs() <= 2.0, "{ramping} ticks");
    enough.store(true, Ordering::SeqCst);
    simulation.join().expect("it does not panic");
}

#[test]
fn a_control_thread_that_stands_still_ends_the_force() {
    let (setup, mut ends) = setup(|_| (), |_| ());
    let silent_s = setup.model.policy.control_silent_s;
    let thread = HapticThread::spawn(setup).expect("nothing was asked for");
    let (snapshots, enough) = (ends.snapshots, Arc::new(AtomicBool::new(false)));
    let until = Arc::clone(&enough);
    let simulation = std::thread::spawn(move || publish(snapshots, &until));
    let (pulse, seen) = (thread.control_pulse(), Arc::clone(&ends.seen));
    ends.desk.enable();
    wait_for("full force", || {
        pulse.beat();
        seen.force_n() > 0.95 * STIFFNESS * DEPTH
    });
    let silent_from = thread.heartbeat().count();
    wait_for("zero force", || seen.force_n() == 0.0);
    assert_eq!(seen.silenced.load(Ordering::SeqCst), 0, "the haptic thread lives");
    thread.stop().expect("it did not panic");
    let records: Vec<TickRecord> = ends.records.drain().collect();
    let latched = records.iter().find(|record| record.state == State::Fault).expect("a fault");
    assert_eq!((latched.cause, latched.force.force.norm()), (Some(Trip::ControlSilent), 0.0));
    // Counted in ticks, so that the load of the machine is no matter; between two looks at the count some ticks go by.
    let ticks = (latched.index - silent_from) as f64;
    assert!(ticks <= silent_s * 1000.0 + 2.0, "{ticks} ticks");
    enough.store(true, Ordering::SeqCst);
    simulation.join().expect("it does not panic");
}

#[test]
fn a_panic_in_the_driver_silences_the_device_and_reaches_the_spawner() {
    let (setup, ends) = setup(|_| (), |hand| hand.panic_at = Some(50));
    let thread = HapticThread::spawn(setup).expect("nothing was asked for");
    wait_for("the end", || thread.has_ended());
    assert_eq!((ends.seen.silenced.load(Ordering::SeqCst), ends.seen.force_n()), (1, 0.0));
    assert_eq!(thread.heartbeat().count(), 49);
    let error = thread.stop().expect_err("it panicked");
    assert!(matches!(&error, HapticError::Panicked { message } if message.contains("the driver has a bug")), "{error}");
}

#[test]
fn dropping_the_handle_ends_the_thread_and_silences_the_device() {
    let (setup, ends) = setup(|_| (), |_| ());
    drop(HapticThread::spawn(setup).expect("nothing was asked for"));
    assert!(ends.seen.dropped.load(Ordering::SeqCst) && ends.seen.silenced.load(Ordering::SeqCst) == 1);
}

#[test]
fn a_panic_in_the_simulation_ends_in_zero_force_while_the_haptic_thread_ticks_on() {
    let (setup, mut ends) = setup(|_| (), |_| ());
    let policy = setup.model.policy;
    let thread = HapticThread::spawn(setup).expect("nothing was asked for");
    ends.desk.enable();
    let (seen, dying) = (Arc::clone(&ends.seen), Arc::clone(&ends.seen));
    let mut snapshots = ends.snapshots;
    let simulation = std::thread::spawn(move || {
        for sequence in 1.. {
            wall(sequence, SystemClock.now(), 0.0, snapshots.buffer());
            // A bug half-way through a step: what stands in the buffer must never be seen.
            assert!(dying.force_n() < 0.95 * STIFFNESS * DEPTH, "the simulation has a bug");
            snapshots.publish_in_place();
            std::thread::sleep(Duration::from_secs_f64(STEP_S));
        }
    });
    assert!(simulation.join().is_err(), "it panicked, with the force up");
    wait_for("zero force", || seen.force_n() == 0.0);
    let at_zero = thread.heartbeat().count();
    wait_for("more ticks", || thread.heartbeat().count() > at_zero + 100);
    assert_eq!(seen.silenced.load(Ordering::SeqCst), 0, "the haptic thread lives");
    let figures = thread.stop().expect("the haptic thread did not panic");
    assert!(figures.faults.contains(Faults::SNAPSHOT_STALE));
    // Held for the stated time, gone after the stated time; measured in the ticks' own clock.
    let records: Vec<TickRecord> = ends.records.drain().collect();
    let hold_s = (policy.hold_steps * STEP_S).max(policy.hold_least_s);
    for record in records.iter().filter(|r| r.faults.contains(Faults::SNAPSHOT_STALE)) {
        assert!(record.snapshot_age_ns as f64 > hold_s * NS_PER_S as f64);
    }
    // A busy machine may have kept the simulation waiting before it died: the last time counts, which has no end.
    let alive = records.iter().rposition(|r| !r.faults.contains(Faults::SNAPSHOT_STALE)).expect("it was alive");
    let stale = alive + 1;
    let fade_ticks = (policy.fade_s * 1000.0).round() as usize;
    assert!(records[stale + fade_ticks..].iter().all(|r| r.force.force.norm() == 0.0));
}

/// Waits for the next answer.
fn answer(desk: &mut Desk) -> Answer {
    let mut found = None;
    wait_for("an answer", || {
        found = found.or_else(|| desk.answers().next());
        found.is_some()
    });
    found.expect("it came")
}

#[test]
fn orders_are_answered_in_order_with_the_tick_that_carried_them_out() {
    let (setup, mut ends) = setup(|setup| setup.model.policy.simulation_down_s = f64::INFINITY, |_| ());
    let thread = HapticThread::spawn(setup).expect("nothing was asked for");
    let sent: Vec<u64> = (0..50)
        .map(|n| {
            let mut sequence = None;
            wait_for("room", || {
                sequence = if n % 2 == 0 { ends.desk.enable() } else { ends.desk.resume() };
                sequence.is_some()
            });
            // A reader that takes its time: orders wait in the ring, none is lost.
            std::thread::sleep(Duration::from_millis(n % 3));
            let answer = answer(&mut ends.desk);
            let expected = if n % 2 == 0 { Ok(()) } else { Err((0, Refusal::WrongState(State::Enabled))) };
            assert_eq!((Some(answer.sequence), answer.outcome), (sequence, expected));
            answer.sequence
        })
        .collect();
    assert!(sent.into_iter().eq(1..=50));
    let figures = thread.stop().expect("it did not panic");
    let records: Vec<TickRecord> = ends.records.drain().collect();
    assert!(records.iter().any(|r| r.state == State::Enabled) && figures.ticks == records.len() as u64);
}

#[test]
fn the_halt_switch_trips_past_a_full_queue_and_every_throw_counts() {
    let (setup, mut ends) = setup(|setup| setup.model.policy.simulation_down_s = f64::INFINITY, |_| ());
    let thread = HapticThread::spawn(setup).expect("nothing was asked for");
    let switch = thread.halt_switch();
    // Nobody takes the answers: once their ring is full, orders stand still.
    wait_for("a queue that stands still", || {
        ends.desk.enable();
        let before = thread.heartbeat().count();
        wait_for("ticks", || thread.heartbeat().count() > before + 20);
        ends.desk.enable().is_none()
    });
    let clone = switch.clone();
    std::thread::spawn(move || clone.throw()).join().expect("it does not panic");
    let mut tripped = None;
    wait_for("FAULT", || {
        tripped = ends.records.drain().find(|r| r.state == State::Fault);
        tripped.is_some()
    });
    assert_eq!(tripped.expect("it is there").cause, Some(Trip::Halt));
    wait_for("an empty queue", || {
        let waiting = ends.desk.answers().count();
        let before = thread.heartbeat().count();
        wait_for("ticks", || thread.heartbeat().count() > before + 20);
        waiting == 0
    });
    for _ in 0..3 {
        ends.desk.acknowledge().expect("there is room");
        assert_eq!(answer(&mut ends.desk).outcome, Ok(()));
        switch.throw();
        let before = thread.heartbeat().count();
        wait_for("the next tick", || thread.heartbeat().count() > before + 1);
        let last = ends.records.drain().last().expect("there are some");
        assert_eq!((last.state, last.cause), (State::Fault, Some(Trip::Halt)));
    }
    thread.stop().expect("it did not panic");
}

#[test]
fn a_thread_that_takes_the_place_of_one_in_fault_begins_there() {
    let (setup, mut ends) = setup(|setup| setup.born_tripped = Some(Trip::Passivity), |_| ());
    let thread = HapticThread::spawn(setup).expect("nothing was asked for");
    ends.desk.enable();
    assert_eq!(answer(&mut ends.desk).outcome, Err((0, Refusal::WrongState(State::Fault))));
    // A tick that a busy machine made late is a cause that persists; it passes.
    let answer = loop {
        ends.desk.acknowledge();
        let answer = answer(&mut ends.desk);
        if answer.outcome != Err((0, Refusal::CausePersists)) {
            break answer;
        }
    };
    assert_eq!(answer.outcome, Ok(()));
    thread.stop().expect("it did not panic");
    for record in ends.records.drain() {
        let expected =
            if record.index < answer.tick { (State::Fault, Some(Trip::Passivity)) } else { (State::Disabled, None) };
        assert_eq!((record.state, record.cause), expected, "{}", record.index);
    }
}
