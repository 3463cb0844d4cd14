//! Proof that the running haptic thread neither allocates nor frees nor enters the kernel for anything but sleeping and the
//! clock: the real thread, the simulated device in an operator's hand, a mechanism of 105 rows, every kind of trouble.
//!
//! Two instruments, both switched on by the device from inside the thread after the first ticks, so that the program needs
//! no hook for them: an allocator that counts on threads that ask for it, and a seccomp filter that turns every other
//! system call of the thread into a signal, which is counted. A lock that ever waits, or wakes someone, calls futex.
//! Locks that never meet anyone stay in user space; those are excluded by the lints of the module.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hapticd::bench::tick::{PlateScene, plate_device, plate_model};
use hapticd::device::driver::catalogue::{self, DRIVERS, INPUTS};
use hapticd::device::emulator::{Line, Trouble, exchange};
use hapticd::device::operator::{Action, Phase, Script, Skill, Until};
use hapticd::device::port::pipe::{PipePort, pipe};
use hapticd::device::port::{Link, OpenFault, Port};
use hapticd::device::{
    Device, DeviceFault, DeviceSpec, HandForce, HandMotion, HandSample, Limiter, Operator, SafeForce, SimulatedDevice,
};
use hapticd::haptic::{
    Desk, Felt, HaltSwitch, HapticFigures, HapticSetup, HapticState, HapticThread, Surfaces, orders, tick,
};
use hapticd::math::{Mapping, Pose, Vec3};
use hapticd::mechanism::MechanismSnapshot;
use hapticd::shared::lifecycle::{Event, State};
use hapticd::shared::realtime::{RealtimeRequest, SystemClock};
use hapticd::shared::{
    Change, Clock as _, Faults, LatestWriter, ManualClock, MonoNs, NS_PER_S, Order, Parameter, Stamp, Tick, ToolSample,
    latest, ring,
};

/// Rate of the loop, Hz: four times the usual, so that a test has many ticks.
const RATE_HZ: f64 = 4000.0;
/// Tick at which watching begins; everything before it may do what it likes.
const WATCH_FROM: u64 = 20;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static FREES: AtomicU64 = AtomicU64::new(0);
static SYSTEM_CALLS: AtomicU64 = AtomicU64::new(0);
static LAST_SYSTEM_CALL: AtomicI64 = AtomicI64::new(-1);
static WATCHED_TICKS: AtomicU64 = AtomicU64::new(0);
/// One run at a time: the counters are the process's.
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    /// This thread is watched. Constant and without a destructor: reading it allocates nothing.
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

struct Counting;

fn count(counter: &AtomicU64) {
    if WATCHED.get() {
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

// SAFETY: hands every call on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(&ALLOCATIONS);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(&FREES);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(&ALLOCATIONS);
        count(&FREES);
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts a system call that the filter stopped, and lets it fail with EPERM.
extern "C" fn on_system_call(_signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    /// The part of siginfo_t that SIGSYS fills in; the libc crate does not name it.
    #[repr(C)]
    struct Stopped {
        signal: i32,
        errno: i32,
        code: i32,
        address: *mut libc::c_void,
        number: i32,
        architecture: u32,
    }
    // SAFETY: the kernel hands a siginfo_t of SIGSYS, laid out as above, and a ucontext_t, both valid in the handler.
    unsafe {
        if WATCHED.get() {
            SYSTEM_CALLS.fetch_add(1, Ordering::SeqCst);
            LAST_SYSTEM_CALL.store(i64::from((*info.cast::<Stopped>()).number), Ordering::SeqCst);
        }
        let context = &mut *context.cast::<libc::ucontext_t>();
        #[cfg(target_arch = "x86_64")]
        {
            context.uc_mcontext.gregs[libc::REG_RAX as usize] = -i64::from(libc::EPERM);
        }
        #[cfg(target_arch = "aarch64")]
        {
            context.uc_mcontext.regs[0] = -i64::from(libc::EPERM) as u64;
        }
    }
}

/// From here on the calling thread is watched, for good: a filter cannot be taken off again.
fn watch() {
    const ALLOWED: [libc::c_long; 5] = [
        libc::SYS_clock_nanosleep,
        libc::SYS_clock_gettime,
        libc::SYS_restart_syscall,
        libc::SYS_rt_sigreturn,
        libc::SYS_exit,
    ];
    // BPF: load the number of the call; allow those listed; stop the rest.
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut filter = [statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRAP); ALLOWED.len() + 3];
    filter[0] = statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0);
    for (index, number) in ALLOWED.into_iter().enumerate() {
        let to_allow = (ALLOWED.len() - index) as u8;
        let compare = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        filter[index + 1] = libc::sock_filter { code: compare, jt: to_allow, jf: 0, k: number as u32 };
    }
    filter[ALLOWED.len() + 2] = statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    WATCHED.set(true);
    // SAFETY: the program lives for the call; the filter is for this thread alone.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(installed, "every Linux of today has seccomp filters; this one refuses them, so there is no proof here");
}

/// What the device does to be caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mischief {
    None,
    Allocate,
    Lock,
}

/// The simulated device, which begins the watch and gets into trouble now and then.
struct Watched {
    inner: SimulatedDevice,
    reads: u64,
    mischief: Mischief,
    lock: Arc<Mutex<u64>>,
    locked: Arc<AtomicBool>,
}

impl Device for Watched {
    fn spec(&self) -> &DeviceSpec {
        self.inner.spec()
    }

    fn read(&mut self, tick: &mut Tick<'_>) -> Result<HandSample, DeviceFault> {
        self.reads += 1;
        if self.reads == WATCH_FROM {
            watch();
        }
        WATCHED_TICKS.fetch_add(u64::from(self.reads >= WATCH_FROM), Ordering::SeqCst);
        match self.reads % 10_000 {
            3_000 => self.inner.inject_silence(3),
            5_000 => self.inner.inject_invalid(2),
            7_000 => self.inner.inject_jump(Vec3::new(0.0, 0.0, 0.05)),
            7_003 => self.inner.inject_jump(Vec3::new(0.0, 0.0, -0.05)),
            _ => {}
        }
        if self.reads >= 2 * WATCH_FROM && self.mischief == Mischief::Allocate {
            self.mischief = Mischief::None;
            drop(std::hint::black_box(Box::new(self.reads)));
        }
        if self.mischief == Mischief::Lock && self.locked.load(Ordering::SeqCst) {
            self.mischief = Mischief::None;
            *self.lock.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        self.inner.read(tick)
    }

    fn write(&mut self, force: &SafeForce, tick: &mut Tick<'_>) -> Result<(), DeviceFault> {
        self.inner.write(force, tick)
    }

    fn silence(&mut self, now: MonoNs) {
        self.inner.silence(now);
        // The last thing the thread does with a device; then it may free what it owns.
        WATCHED.set(false);
    }
}

/// Presses the plate down, drags it, lifts it, for as long as the test lasts.
fn operator() -> Operator {
    let (down, up) = (Vec3::new(0.0, 0.0, -4.0), Pose::translation(0.0, 0.0, 0.004));
    let cycle = [
        Phase::new("press", Action::Press { force: down }, Until::Elapsed { seconds: 1.0 }, 10.0),
        Phase::new(
            "drag",
            Action::Slide { target: Pose::translation(0.005, 0.0, 0.0), speed: 0.01, force: down },
            Until::Elapsed { seconds: 1.0 },
            10.0,
        ),
        Phase::new("lift", Action::MoveTo { target: up, speed: 0.05 }, Until::Elapsed { seconds: 0.5 }, 10.0),
    ];
    let script = Script::new(&cycle.repeat(10)).expect("thirty phases fit");
    Operator::new(Skill::default(), script, Mapping::identity())
}

/// The simulation's part: mechanisms at 60 Hz, some of them bad, sometimes none.
fn simulate(mut snapshots: LatestWriter<MechanismSnapshot>, end: &AtomicBool) {
    let scene = PlateScene::new(true, 1);
    for sequence in 1.. {
        if end.load(Ordering::SeqCst) {
            return;
        }
        let snapshot = snapshots.buffer();
        scene.publish(sequence, SystemClock.now(), snapshot);
        match sequence % 100 {
            40 => snapshot.lambda[7] = f64::NAN,
            60 => snapshot.dropped = 2,
            80 => std::thread::sleep(Duration::from_millis(250)),
            _ => {}
        }
        snapshots.publish_in_place();
        std::thread::sleep(Duration::from_micros(16_667));
    }
}

/// What a run found.
struct Found {
    allocations: u64,
    frees: u64,
    system_calls: u64,
    last_system_call: i64,
    watched_ticks: u64,
    /// Most contacts at once.
    contacts: u32,
    /// Largest force, N.
    force_n: f64,
    figures: HapticFigures,
    /// Orders carried out and refused.
    obeyed: u64,
    refused: u64,
    /// Ticks in FAULT.
    faulted: u64,
}

/// Something to do for the haptic thread, in whatever state it is: every kind of order, good ones and bad ones, and halts.
fn keep_busy(desk: &mut Desk, switch: &HaltSwitch, state: State, round: u64) {
    let wave = (round as f64 * 0.3).sin();
    let until = SystemClock.now().plus(NS_PER_S / 20);
    let client = Change::Force { force: [0.3, 0.0, 0.2 * wave], torque: [0.0; 3], until };
    let all = [
        Change::Set(Parameter::Stiffness, 1700.0 + 200.0 * wave),
        Change::Set(Parameter::Damping, 5.0 + wave),
        Change::Set(Parameter::AngularStiffness, 2.5 + 0.3 * wave),
        Change::Set(Parameter::AngularDamping, 0.004 + 0.0005 * wave),
        Change::Set(Parameter::ForceScale, 0.9 + 0.05 * wave),
        Change::Set(Parameter::MotionScale, 1.0 + 0.02 * wave),
        Change::Set(Parameter::MaxForce, 5.0 + wave),
        Change::Set(Parameter::MaxSpeed, 0.8 + 0.1 * wave),
    ];
    match state {
        State::Fault => desk.acknowledge(),
        State::Disabled => desk.enable(),
        State::Paused => desk.resume(),
        State::Enabled if round % 100 == 60 => {
            switch.throw();
            None
        }
        State::Enabled if round % 50 == 30 => desk.pause(),
        State::Enabled => desk.send(&[client]),
    };
    desk.send(&all);
    desk.send(&[all[0], Change::Set(Parameter::Stiffness, f64::NAN)]);
}

/// Counters at zero, and the handler for what the filter stops.
fn prepare() {
    for counter in [&ALLOCATIONS, &FREES, &SYSTEM_CALLS, &WATCHED_TICKS] {
        counter.store(0, Ordering::SeqCst);
    }
    LAST_SYSTEM_CALL.store(-1, Ordering::SeqCst);
    // SAFETY: a sigaction of zeros is valid; the handler keeps to atomics and the thread's own flag.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_system_call as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        assert_eq!(libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()), 0);
    }
}

/// Runs the haptic thread for `ticks` ticks under watch.
fn run(ticks: u64, mischief: Mischief) -> Found {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    prepare();
    let spec = plate_device(RATE_HZ);
    let mut model = plate_model(&spec);
    // Without rights, on a shared machine: late ticks are told, not punished.
    (model.policy.overruns_trip, model.policy.gap_s) = (u32::MAX, f64::INFINITY);
    let (lock, locked, end) = (Arc::default(), Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let inner = SimulatedDevice::at(spec, operator(), 1, Pose::translation(0.0, 0.0, 0.005));
    let device = Watched { inner, reads: 0, mischief, lock: Arc::clone(&lock), locked: Arc::clone(&locked) };
    let (snapshot_writer, snapshots) = latest(MechanismSnapshot::empty());
    let (mut desk, links) = orders(64);
    let (tool, _tool_reader) = latest(ToolSample::at_rest(Pose::identity()));
    let (records, mut record_reader) = ring(4096);
    let realtime =
        RealtimeRequest { priority: 0, cpu: None, spin_ns: 0, lock_memory: false, stack_prefault_bytes: 256 << 10 };
    let setup = HapticSetup {
        model,
        device: Box::new(device),
        snapshots,
        orders: links.orders,
        answers: links.answers,
        tool,
        records,
        realtime,
        allow_no_rt: true,
        born_tripped: None,
    };
    let thread = HapticThread::spawn(setup).expect("nothing was asked for");
    desk.enable();
    let end_there = Arc::clone(&end);
    let simulation = std::thread::spawn(move || simulate(snapshot_writer, &end_there));
    let (heartbeat, switch) = (thread.heartbeat(), thread.halt_switch());
    if mischief == Mischief::Lock {
        // Hold the lock until the haptic thread has run into it.
        while heartbeat.count() < 2 * WATCH_FROM {
            std::thread::sleep(Duration::from_millis(1));
        }
        let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
        locked.store(true, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        drop(held);
    }
    let (mut contacts, mut force_n, mut state) = (0, 0.0_f64, State::Disabled);
    let (mut obeyed, mut refused, mut faulted) = (0, 0, 0);
    let begin = Instant::now();
    for round in 0.. {
        if heartbeat.count() >= ticks {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(600) && !thread.has_ended(), "{} ticks", heartbeat.count());
        for record in record_reader.drain() {
            contacts = contacts.max(record.contacts);
            force_n = force_n.max(record.force.force.norm());
            faulted += u64::from(record.state == State::Fault);
            state = record.state;
        }
        keep_busy(&mut desk, &switch, state, round);
        for answer in desk.answers() {
            *(if answer.outcome.is_ok() { &mut obeyed } else { &mut refused }) += 1;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let figures = thread.stop().expect("it did not panic");
    end.store(true, Ordering::SeqCst);
    simulation.join().expect("it does not panic");
    let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
    Found {
        allocations: read(&ALLOCATIONS),
        frees: read(&FREES),
        system_calls: read(&SYSTEM_CALLS),
        last_system_call: LAST_SYSTEM_CALL.load(Ordering::SeqCst),
        watched_ticks: read(&WATCHED_TICKS),
        contacts,
        force_n,
        figures,
        obeyed,
        refused,
        faulted,
    }
}

#[test]
fn sixty_thousand_ticks_neither_allocate_nor_free_nor_lock_nor_call_the_system() {
    let found = run(60_000, Mischief::None);
    assert_eq!((found.allocations, found.frees), (0, 0));
    assert_eq!(found.system_calls, 0, "the last was number {}", found.last_system_call);
    assert!(found.watched_ticks >= 60_000 - WATCH_FROM);
    // It was no idle run: forces flowed and every trouble was met.
    for fault in [
        Faults::SNAPSHOT_STALE,
        Faults::SNAPSHOT_INVALID,
        Faults::SNAPSHOT_OVERFULL,
        Faults::DEVICE_SILENT,
        Faults::DEVICE_INVALID,
        Faults::SLEW_LIMITED,
    ] {
        assert!(found.figures.faults.contains(fault), "{fault:?} was not met: {:?}", found.figures.faults);
    }
    assert!(found.contacts >= 10 && found.force_n > 2.0, "{} contacts, {} N", found.contacts, found.force_n);
    let Found { obeyed, refused, faulted, .. } = found;
    println!("{obeyed} orders carried out, {refused} refused, {faulted} ticks in FAULT");
    assert!(obeyed > 50 && refused > 50 && faulted > 0, "{obeyed} carried out, {refused} refused, {faulted} in FAULT");
}

#[test]
fn drivers_and_emulated_devices_neither_allocate_nor_free() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let limits = hapticd::scene::open_device("woodenhaptics").expect("it is shipped").value.limits;
    let troubles = [Trouble::Drop, Trouble::Split, Trouble::Garbage, Trouble::Corrupt(5, 16), Trouble::Short];
    for word in DRIVERS.into_iter().chain(INPUTS) {
        let mut driver = catalogue::driver(word, None).expect("a driver");
        let mut device = catalogue::emulated(word).expect("a device");
        let (mut line, mut limiter) = (Line::default(), Limiter::new(limits));
        let wanted = HandForce { force: Vec3::new(0.4, 0.3, -0.2), torque: Vec3::zeros() };
        let before = (ALLOCATIONS.load(Ordering::SeqCst), FREES.load(Ordering::SeqCst));
        let mut samples = 0;
        WATCHED.set(true);
        for ms in 1..1500_u64 {
            let now = MonoNs(ms * 1_000_000);
            let force = limiter.limit(wanted, &HandMotion::default(), None, 1e-3, &mut Faults::NONE.clone());
            driver.command(&force, now);
            if ms == 300 {
                driver.confirm_home(now);
            }
            // Not before every device has been found: one that is asked seldom would be upset each time.
            if ms > 400 && ms % 50 == 25 {
                line.upset(troubles[ms as usize / 50 % troubles.len()]);
            }
            exchange(&mut *driver, &mut *device, &mut line, now);
            samples += u32::from(driver.sample().is_some());
            while driver.next_event().is_some() {}
        }
        WATCHED.set(false);
        let after = (ALLOCATIONS.load(Ordering::SeqCst), FREES.load(Ordering::SeqCst));
        assert_eq!(after, before, "{word}: allocations and frees");
        assert!(samples > 500 || INPUTS.contains(&word), "{word}: {samples} samples");
    }
}

#[test]
fn asking_the_surfaces_of_parts_neither_allocates_nor_frees() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let pair = hapticd::bench::assembly::drive::peg_in_hole(0.1).expect("it can be made");
    let felt = |ready: &hapticd::bake::Ready| Felt {
        shape: ready.shape.clone(),
        field: Some(ready.field.clone()),
        pose: Pose::identity(),
        friction: 0.1,
    };
    let spec = plate_device(RATE_HZ);
    let mut model = plate_model(&spec);
    model.surfaces = Surfaces::new(felt(&pair.moving), vec![Some(felt(&pair.fixed))]);
    model.tool.start = pair.start;
    model.mapping.pose_world_device = pair.start;
    let mut state = HapticState::new(&model, &spec);
    state.order(Order::of(1, Event::Enable));
    let mut snapshot = Box::new(MechanismSnapshot::empty());
    let clock = ManualClock::at(MonoNs(NS_PER_S));
    let before = (ALLOCATIONS.load(Ordering::SeqCst), FREES.load(Ordering::SeqCst));
    let mut contacts = 0;
    WATCHED.set(true);
    for k in 1..2000_u64 {
        let now = MonoNs(NS_PER_S + k * 1_000_000);
        clock.set(now);
        snapshot.stamp = Stamp { sequence: k, at: now };
        let aside = 3e-3 * (k as f64 / 1000.0).min(1.0);
        let sample = HandSample {
            stamp: snapshot.stamp,
            pose_device_handle: Pose::translation(aside, 0.0, 0.0),
            buttons: 0,
            homed: true,
        };
        tick(&model, &mut state, Some(sample), &snapshot, &mut Tick::begin(k, now, 1e-3, u64::MAX / 2, &clock));
        contacts = contacts.max(state.record().contacts);
    }
    WATCHED.set(false);
    let after = (ALLOCATIONS.load(Ordering::SeqCst), FREES.load(Ordering::SeqCst));
    assert_eq!(after, before, "allocations and frees");
    assert!(contacts > 0, "it touched nothing");
}

#[test]
fn a_single_allocation_is_caught() {
    let found = run(1_000, Mischief::Allocate);
    assert_eq!((found.allocations, found.frees, found.system_calls), (1, 1, 0));
}

#[test]
fn a_single_contended_lock_is_caught() {
    let found = run(1_000, Mischief::Lock);
    assert_eq!((found.allocations, found.frees), (0, 0));
    assert!(found.system_calls >= 1);
    assert_eq!(found.last_system_call, libc::SYS_futex);
}

/// Plays an emulated Hapkit on one end of a pipe until told to end.
fn play(mut end: PipePort, stop: &AtomicBool) {
    let mut device = catalogue::emulated("hapkit").expect("a device");
    let mut buffer = [0; 256];
    while !stop.load(Ordering::Relaxed) {
        let now = SystemClock.now();
        let length = end.read(&mut buffer).unwrap_or(0);
        device.feed(&buffer[..length], now);
        let length = device.next_out(&mut buffer);
        if length > 0 {
            let _ = end.write(&buffer[..length], now);
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn a_real_device_costs_the_tick_no_heap() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let spec = hapticd::scene::open_device("hapkit").expect("it is shipped").value;
    let (host, end) = pipe().expect("a pipe");
    let stop = Arc::new(AtomicBool::new(false));
    let stage = Arc::clone(&stop);
    let player = std::thread::spawn(move || play(end, &stage));
    let first = (Box::new(host) as Box<dyn Port>, catalogue::driver("hapkit", None).expect("a driver"));
    let rights = RealtimeRequest { priority: 0, lock_memory: false, ..RealtimeRequest::default() };
    let never = Box::new(|| Err(OpenFault::Missing("nowhere".into())));
    let link = Link::start(spec.clone(), never, Some(first), rights).expect("a thread");
    let mut device = link.attach(spec.clone());
    let mut limiter = Limiter::new(spec.limits);
    let wanted = HandForce { force: Vec3::new(0.0, 0.5, 0.0), torque: Vec3::zeros() };
    let began = Instant::now();
    while !device.is_heard() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never answers");
        std::thread::sleep(Duration::from_millis(1));
    }
    let before = (ALLOCATIONS.load(Ordering::SeqCst), FREES.load(Ordering::SeqCst));
    let mut heard = 0;
    for index in 1..=500 {
        WATCHED.set(true);
        let mut tick = Tick::begin(index, SystemClock.now(), 1e-3, 0, &SystemClock);
        heard += u32::from(device.read(&mut tick).is_ok());
        let force = limiter.limit(wanted, &HandMotion::default(), None, 1e-3, &mut Faults::NONE.clone());
        let taken = device.write(&force, &mut tick);
        let weight = device.weight();
        WATCHED.set(false);
        assert!(taken.is_ok() && weight.is_finite());
        std::thread::sleep(Duration::from_millis(1));
    }
    let after = (ALLOCATIONS.load(Ordering::SeqCst), FREES.load(Ordering::SeqCst));
    stop.store(true, Ordering::Relaxed);
    player.join().expect("it ends");
    assert_eq!(after, before, "allocations and frees");
    assert!(heard > 0, "no sample of 500 came in time");
}
