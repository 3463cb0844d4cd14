//! Real time from Linux: the clock, sleeping to an instant, and the rights a real-time thread needs.
//!
//! Thread: [`SystemClock`] and [`sleep_until`] any (RT safe); [`acquire`] is called once, by the thread it is for,
//! before its first tick. The only place with real-time calls to the operating system.
//!
//! What [`acquire`] does, in order: lock memory → touch the stack → pin to a processor → hold the power-saving latency at
//! zero → SCHED_FIFO → ask the kernel what the thread really got. Every step is tried, every refusal is told: the
//! caller decides what it can do without. Denormal numbers are not flushed to zero: that would change results, and the
//! same tick must give the same bits in the thread, in replay and in tests.

use std::fs::File;
use std::io;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use thread_priority::{RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy};

use super::{Clock, MonoNs, NS_PER_S};

/// The system's monotonic clock (`CLOCK_MONOTONIC`, read without entering the kernel on usual hardware).
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> MonoNs {
        MonoNs(read_clock(libc::CLOCK_MONOTONIC))
    }
}

/// Time the calling thread has spent on a processor, ns.
#[must_use]
pub fn thread_busy_ns() -> u64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to. The call cannot fail for these clocks; were it to, it reads zero.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// Blocks until the monotonic clock has reached `until`. A signal does not end the sleep: the instant is absolute, so
/// going back to sleep loses nothing.
pub fn sleep_until(until: MonoNs) {
    let time =
        libc::timespec { tv_sec: (until.0 / NS_PER_S) as libc::time_t, tv_nsec: (until.0 % NS_PER_S) as libc::c_long };
    loop {
        // SAFETY: `time` is a valid timespec; with an absolute time nothing is written back, so null is allowed.
        let error = unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const time, std::ptr::null_mut())
        };
        if error != libc::EINTR {
            return;
        }
    }
}

/// Blocks every signal that can be blocked for the calling thread: all but KILL and STOP, the C library's own signals included. Faults
/// of the thread itself still end it: the kernel does not let those be blocked.
///
/// # Errors
/// When the system refuses.
pub fn block_signals() -> io::Result<()> {
    // One bit a signal, as the kernel has them on Linux; the C library's own call leaves out signals 32 and 33, which would end a
    // program that has no handler for them.
    let all = u64::MAX;
    // SAFETY: the call reads as many bytes as stated, and writes nothing when the old set is not asked for.
    let done = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const all,
            std::ptr::null_mut::<u64>(),
            size_of::<u64>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's `serial_struct`: what stands before its flags, the flags, and room for more than the rest of it.
#[repr(C)]
struct SerialFacts {
    before: [libc::c_int; 4],
    flags: libc::c_int,
    after: [u64; 16],
}

/// Asks the driver of a serial line to pass received bytes on at once (`ASYNC_LOW_LATENCY`).
///
/// # Errors
/// When the line has no such flag, as a pseudo-terminal, or it may not be set.
pub fn ask_low_latency(line: BorrowedFd<'_>) -> io::Result<()> {
    const ASYNC_LOW_LATENCY: libc::c_int = 1 << 13;
    let mut facts = SerialFacts { before: [0; 4], flags: 0, after: [0; 16] };
    // SAFETY: the descriptor is open as long as it is borrowed; `facts` is larger than what the kernel writes or reads.
    let done = unsafe {
        libc::ioctl(line.as_raw_fd(), libc::TIOCGSERIAL, &raw mut facts) == 0 && {
            facts.flags |= ASYNC_LOW_LATENCY;
            libc::ioctl(line.as_raw_fd(), libc::TIOCSSERIAL, &raw const facts) == 0
        }
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's `usbdevfs_bulktransfer`.
#[repr(C)]
struct BulkTransfer {
    endpoint: libc::c_uint,
    length: libc::c_uint,
    timeout_ms: libc::c_uint,
    data: *mut libc::c_void,
}

/// Sends bytes to an endpoint of an open USB device and waits until they are out, at most so many ms. For a process that shares
/// the device with another: unlike a transfer that is handed in and fetched later, this one cannot be mistaken for the
/// other's.
///
/// # Errors
/// When the device is gone, does not take them in time, or is none.
pub fn usb_bulk_out(device: BorrowedFd<'_>, endpoint: u8, bytes: &[u8], timeout_ms: u32) -> io::Result<()> {
    // `_IOWR('U', 2, struct usbdevfs_bulktransfer)`: both directions, the size, the letter, the number.
    const BULK: libc::Ioctl =
        ((3_u64 << 30) | ((size_of::<BulkTransfer>() as u64) << 16) | (0x55 << 8) | 2) as libc::Ioctl;
    let mut copy = [0_u8; 512];
    let Some(place) = copy.get_mut(..bytes.len()) else { return Err(io::Error::from(io::ErrorKind::InvalidInput)) };
    place.copy_from_slice(bytes);
    // Without the bit of the other direction, so that the kernel only reads.
    let endpoint = libc::c_uint::from(endpoint & 0x7f);
    let mut transfer =
        BulkTransfer { endpoint, length: bytes.len() as libc::c_uint, timeout_ms, data: copy.as_mut_ptr().cast() };
    // SAFETY: the descriptor is open as long as it is borrowed; `transfer` is what the call takes, and `data` points to `length`
    // bytes that live until it returns, which it does only when the transfer is over.
    let sent = unsafe { libc::ioctl(device.as_raw_fd(), BULK, &raw mut transfer) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What a thread asks of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealtimeRequest {
    /// SCHED_FIFO priority, 1 to 99; 0 asks for no real-time scheduling. Above 50 outranks threaded interrupts.
    pub priority: u8,
    /// Processor to stay on; ideally one kept free with `isolcpus=`.
    pub cpu: Option<usize>,
    /// Part of the wait before each tick that is spun instead of slept, ns (see `Pacer::new`).
    pub spin_ns: u64,
    /// Keep all memory of the process in RAM.
    pub lock_memory: bool,
    /// Stack to touch in advance, bytes. Bounded by what the thread's stack has.
    pub stack_prefault_bytes: usize,
}

impl Default for RealtimeRequest {
    /// Priority 80, any processor, sleeping only, memory locked, 256 kB of stack.
    fn default() -> Self {
        Self { priority: 80, cpu: None, spin_ns: 0, lock_memory: true, stack_prefault_bytes: 256 << 10 }
    }
}

/// How the kernel schedules a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_FIFO with this priority.
    Fifo(u8),
    /// Anything else: no promise about when the thread runs.
    Ordinary,
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fifo(priority) => write!(f, "SCHED_FIFO {priority}"),
            Self::Ordinary => f.write_str("ordinary scheduling"),
        }
    }
}

/// How much of the process's memory stays in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLock {
    /// Nothing is locked: a tick can wait for a disk.
    None,
    /// What was mapped at the time; the limit leaves no room to lock what comes later.
    Present,
    /// What was mapped, and from then on whatever gets touched.
    PresentAndFuture,
}

/// What a thread got. Plain data: may cross to the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealtimeStatus {
    /// Scheduling as the kernel reports it afterwards, not as it was asked for.
    pub policy: Policy,
    /// The one processor the thread may run on, if it is pinned.
    pub cpu: Option<usize>,
    /// Memory locked by this request.
    pub memory: MemoryLock,
    /// Deep sleep states of the processor are held off. Needs write access to `/dev/cpu_dma_latency`; without it wake-ups
    /// take some 10 to 100 µs longer on a PC that saves power.
    pub latency_held: bool,
    /// Stack touched in advance, bytes.
    pub stack_prefaulted_bytes: usize,
}

/// What [`acquire`] got, and what was refused. Keep it for as long as the thread ticks: dropping it lets the processor
/// sleep deeply again. Scheduling and memory stay as they are.
#[derive(Debug)]
pub struct Realtime {
    /// What the thread has.
    pub status: RealtimeStatus,
    /// What it asked for and did not get. Empty means the whole request was granted.
    pub refusals: Vec<RealtimeError>,
    _latency: Option<File>,
}

impl Realtime {
    /// Itself if the whole request was granted.
    ///
    /// # Errors
    /// The first refusal otherwise.
    pub fn require(mut self) -> Result<Self, RealtimeError> {
        if self.refusals.is_empty() { Ok(self) } else { Err(self.refusals.swap_remove(0)) }
    }
}

/// Why a thread did not get what it asked for, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum RealtimeError {
    /// The priority is none that exists.
    #[error("real-time priority {0} does not exist: choose 1 to 99 (80 is usual), or 0 for none")]
    PriorityRange(u8),
    /// The user's limit is below the priority.
    #[error(
        "SCHED_FIFO priority {priority} was refused: this user may go up to {limit} (ulimit -r). Start hapticd from its \
         systemd unit (LimitRTPRIO=), or put `<user> - rtprio {priority}` into /etc/security/limits.d/hapticd.conf and \
         log in again, or run `setcap cap_sys_nice+ep` on the program"
    )]
    PriorityLimit {
        /// Priority asked for.
        priority: u8,
        /// Highest priority allowed.
        limit: u64,
    },
    /// The limit allows it, yet it was refused.
    #[error(
        "SCHED_FIFO priority {priority} was refused although the user's limit allows it: a sandbox forbids it. In the \
         systemd unit set RestrictRealtime=no and take @resources out of SystemCallFilter=~; in a container add \
         CAP_SYS_NICE; with RT group scheduling give the control group a cpu.rt_runtime_us"
    )]
    PriorityBlocked {
        /// Priority asked for.
        priority: u8,
    },
    /// The system said yes and did something else.
    #[error(
        "asked for {wanted}, was told yes, but the kernel reports {found}: a sandbox swallows scheduling calls. Run \
         outside it, or accept a loop without promises"
    )]
    PolicyNotKept {
        /// What was asked for.
        wanted: Policy,
        /// What the thread has.
        found: Policy,
    },
    /// The process may not lock as much memory as it has.
    #[error(
        "memory could not be locked: the limit is {limit_bytes} bytes (ulimit -l), the process needs more. Start hapticd \
         from its systemd unit (LimitMEMLOCK=infinity), or put `<user> - memlock unlimited` into \
         /etc/security/limits.d/hapticd.conf and log in again, or run `setcap cap_ipc_lock+ep` on the program"
    )]
    MemoryLimit {
        /// The limit, bytes.
        limit_bytes: u64,
    },
    /// The processor does not exist or is not allowed.
    #[error(
        "cannot run on processor {cpu}: this process may use {allowed:?}. Choose one of these, or widen the set \
         (taskset, AllowedCPUs= or CPUAffinity= in the systemd unit, the container's cpuset)"
    )]
    NoSuchCpu {
        /// Processor asked for.
        cpu: usize,
        /// Processors the process may use.
        allowed: Vec<usize>,
    },
    /// Something unforeseen.
    #[error("{call} failed: {source}. `man 2 {call}` lists the causes")]
    System {
        /// The call.
        call: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Gets what `request` asks for, for the calling thread. Build everything the thread will use first: what is mapped and
/// touched before this call is in RAM when it returns.
#[must_use = "dropping it lets the processor sleep deeply again"]
pub fn acquire(request: &RealtimeRequest) -> Realtime {
    let mut refusals = Vec::new();
    let mut keep = |result: Result<(), RealtimeError>| result.map_err(|refusal| refusals.push(refusal)).is_ok();

    let mut memory = MemoryLock::None;
    if request.lock_memory {
        keep(lock_memory().map(|locked| memory = locked));
    }
    let stack_prefaulted_bytes = prefault_stack(request.stack_prefault_bytes);
    let cpu = request.cpu.filter(|cpu| keep(pin_to_cpu(*cpu)));
    let latency = hold_latency().ok();
    if request.priority > 0 {
        keep(set_fifo(request.priority));
    }

    let status = RealtimeStatus {
        policy: current_policy(),
        cpu,
        memory,
        latency_held: latency.is_some(),
        stack_prefaulted_bytes,
    };
    Realtime { status, refusals, _latency: latency }
}

/// How the kernel schedules the calling thread now. Asks the kernel itself: the C library answers
/// `pthread_getschedparam` from a copy of what was last set.
#[must_use]
pub fn current_policy() -> Policy {
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 means the calling thread; `parameters` is valid to write to.
    let (policy, result) = unsafe { (libc::sched_getscheduler(0), libc::sched_getparam(0, &raw mut parameters)) };
    match u8::try_from(parameters.sched_priority) {
        Ok(priority) if result == 0 && policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_FIFO => {
            Policy::Fifo(priority)
        }
        _ => Policy::Ordinary,
    }
}

/// Processors the calling thread may run on, in order.
#[must_use]
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: a cpu_set_t of zeros is an empty set; the size given is its size; CPU_ISSET only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect()
    }
}

/// Keeps the calling thread on one processor.
///
/// # Errors
/// [`RealtimeError::NoSuchCpu`] when there is none of that number or the process may not use it.
pub fn pin_to_cpu(cpu: usize) -> Result<(), RealtimeError> {
    let allowed = allowed_cpus();
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(RealtimeError::NoSuchCpu { cpu, allowed });
    }
    // SAFETY: a cpu_set_t of zeros is an empty set; `cpu` was checked to lie inside it; the size given is its size.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 && allowed_cpus() == [cpu] { Ok(()) } else { Err(RealtimeError::NoSuchCpu { cpu, allowed }) }
}

/// Sets SCHED_FIFO and checks that the kernel kept it.
fn set_fifo(priority: u8) -> Result<(), RealtimeError> {
    let value = ThreadPriorityValue::try_from(priority).map_err(|_| RealtimeError::PriorityRange(priority))?;
    let set = thread_priority::set_thread_priority_and_policy(
        thread_priority::thread_native_id(),
        ThreadPriority::Crossplatform(value),
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
    );
    match set {
        Ok(()) => {}
        Err(thread_priority::Error::OS(libc::EPERM)) => {
            let limit = soft_limit(libc::RLIMIT_RTPRIO);
            return Err(if limit < u64::from(priority) {
                RealtimeError::PriorityLimit { priority, limit }
            } else {
                RealtimeError::PriorityBlocked { priority }
            });
        }
        Err(thread_priority::Error::OS(errno)) => {
            let source = io::Error::from_raw_os_error(errno);
            return Err(RealtimeError::System { call: "sched_setscheduler", source });
        }
        Err(_) => return Err(RealtimeError::PriorityRange(priority)),
    }
    let (wanted, found) = (Policy::Fifo(priority), current_policy());
    if found == wanted { Ok(()) } else { Err(RealtimeError::PolicyNotKept { wanted, found }) }
}

/// Locks what is mapped now, all of it, and what comes later as it is touched.
///
/// Two calls on purpose. `MCL_CURRENT | MCL_FUTURE` in one would also fill every later mapping at once: the stacks of all
/// threads, the reservations of a GPU driver. `MCL_ONFAULT` on the present ones would leave untouched pages to fault in
/// the first tick that meets them. What reaches the real-time thread later was written by another thread first, so it
/// is in RAM by then and stays there.
fn lock_memory() -> Result<MemoryLock, RealtimeError> {
    let limit_bytes = soft_limit(libc::RLIMIT_MEMLOCK);
    // SAFETY: takes flags only; changes no memory contents.
    if unsafe { libc::mlockall(libc::MCL_CURRENT) } != 0 {
        let source = io::Error::last_os_error();
        return Err(match source.raw_os_error() {
            Some(libc::ENOMEM | libc::EPERM | libc::EAGAIN) => RealtimeError::MemoryLimit { limit_bytes },
            _ => RealtimeError::System { call: "mlockall", source },
        });
    }
    // Under a finite limit every later allocation beyond it would fail, which ends the process: worse than a page fault.
    if limit_bytes != libc::RLIM_INFINITY && !may_lock_without_limit() {
        return Ok(MemoryLock::Present);
    }
    // SAFETY: as above.
    if unsafe { libc::mlockall(libc::MCL_FUTURE | libc::MCL_ONFAULT) } == 0 {
        Ok(MemoryLock::PresentAndFuture)
    } else {
        Ok(MemoryLock::Present)
    }
}

/// True when the thread has CAP_IPC_LOCK, which the memory limit does not bind.
fn may_lock_without_limit() -> bool {
    const CAP_IPC_LOCK: u32 = 14;
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|bits| bits >> CAP_IPC_LOCK & 1 == 1)
}

/// The soft limit of a resource; zero if it cannot be read.
fn soft_limit(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid to write to.
    if unsafe { libc::getrlimit(resource, &raw mut limit) } == 0 { limit.rlim_cur } else { 0 }
}

/// Asks for a wake-up latency of 0 µs from power management, for as long as the file stays open.
fn hold_latency() -> io::Result<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}

/// One step of stack prefaulting, bytes: a page and the frame around it.
const STACK_STEP_BYTES: usize = 4096;
/// Stack left untouched below what is prefaulted, bytes: guard page, signal frames, this call chain.
const STACK_MARGIN_BYTES: usize = 64 << 10;

/// Touches `bytes` of stack below here, or as much as the stack has. Gives how much that was.
fn prefault_stack(bytes: usize) -> usize {
    let bytes = bytes.min(stack_left_bytes().saturating_sub(STACK_MARGIN_BYTES));
    // A frame is larger than the page in it: the recursion goes by the address it has reached, not by a count.
    let top = std::hint::black_box(&raw const bytes) as usize;
    touch_down_to(top.saturating_sub(bytes));
    bytes
}

/// Writes to a page of its own frame, then calls itself until the frame reaches `lowest`.
#[inline(never)]
fn touch_down_to(lowest: usize) {
    let mut page = [0_u8; STACK_STEP_BYTES];
    let here = std::hint::black_box(&mut page).as_ptr() as usize;
    if here > lowest {
        touch_down_to(lowest);
    }
    // Used after the call: otherwise the compiler could turn the recursion into a loop over one frame.
    std::hint::black_box(&mut page);
}

/// Stack between here and its lowest address, bytes; zero when the system does not tell.
fn stack_left_bytes() -> usize {
    let mut low: *mut libc::c_void = std::ptr::null_mut();
    let mut size = 0;
    // SAFETY: the attributes are initialised by pthread_getattr_np before they are read, and destroyed once; both out
    // arguments are valid to write to.
    let known = unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return 0;
        }
        let result = libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        result == 0
    };
    let here = &raw const size as usize;
    if known { here.saturating_sub(low as usize) } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    /// Runs `work` on a thread of its own, so that what it acquires ends with it.
    fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("a thread can be made");
        thread.join().expect("the work does not panic")
    }

    /// `(rt_priority, policy)` of the calling thread, from the kernel's process table (fields 40 and 41).
    fn scheduling_in_proc() -> (u8, i32) {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("procfs is mounted");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("a stat line").split_whitespace().collect();
        // The first field after the name in brackets is number 3.
        (fields[37].parse().expect("a number"), fields[38].parse().expect("a number"))
    }

    #[test]
    fn the_system_clock_never_goes_back() {
        let mut last = SystemClock.now();
        for _ in 0..100_000 {
            let now = SystemClock.now();
            assert!(now >= last);
            last = now;
        }
        assert!(last > MonoNs(0));
    }

    #[test]
    fn sleep_never_ends_early_even_under_signals() {
        let hits = Arc::new(AtomicUsize::new(0));
        let done = Arc::new(AtomicBool::new(false));
        let counter = Arc::clone(&hits);
        // SAFETY: the handler only adds to an atomic.
        let action = unsafe {
            signal_hook::low_level::register(signal_hook::consts::SIGUSR2, move || {
                counter.fetch_add(1, Ordering::SeqCst);
            })
        }
        .expect("SIGUSR2 can be handled");
        // SAFETY: gives the calling thread's own handle, valid until the thread ends.
        let sleeper = unsafe { libc::pthread_self() };
        let stop = Arc::clone(&done);
        let pest = std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                // SAFETY: the sleeping thread joins this one before it ends, so the handle is valid.
                unsafe { libc::pthread_kill(sleeper, libc::SIGUSR2) };
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        while hits.load(Ordering::SeqCst) == 0 {
            std::hint::spin_loop();
        }
        let (before, until) = (hits.load(Ordering::SeqCst), SystemClock.now().plus(50_000_000));
        sleep_until(until);
        let woke = SystemClock.now();
        done.store(true, Ordering::SeqCst);
        pest.join().expect("the other thread does not panic");
        signal_hook::low_level::unregister(action);
        assert!(woke >= until, "woke {} ns early", until.since(woke));
        assert!(hits.load(Ordering::SeqCst) > before, "no signal came while asleep");
    }

    #[test]
    fn an_instant_in_the_past_does_not_block() {
        sleep_until(MonoNs(0));
        sleep_until(MonoNs(1));
    }

    #[test]
    fn the_policy_reported_is_the_one_in_the_process_table() {
        let request =
            RealtimeRequest { priority: 37, lock_memory: false, cpu: None, spin_ns: 0, stack_prefault_bytes: 0 };
        let (got, table) = on_a_thread(move || (acquire(&request), scheduling_in_proc()));
        if got.status.policy == Policy::Fifo(37) {
            assert_eq!(table, (37, libc::SCHED_FIFO));
            assert!(got.refusals.is_empty(), "{:?}", got.refusals);
        } else {
            assert_eq!(table.1, libc::SCHED_OTHER);
            assert!(matches!(
                got.refusals[..],
                [RealtimeError::PriorityLimit { .. } | RealtimeError::PriorityBlocked { .. }]
            ));
            assert!(got.require().is_err());
        }
    }

    #[test]
    fn a_request_without_priority_leaves_ordinary_scheduling() {
        let request =
            RealtimeRequest { priority: 0, lock_memory: false, cpu: None, spin_ns: 0, stack_prefault_bytes: 0 };
        let got = on_a_thread(move || acquire(&request).require()).expect("nothing was asked for");
        assert_eq!(got.status.policy, Policy::Ordinary);
        assert_eq!(got.status.memory, MemoryLock::None);
    }

    #[test]
    fn what_does_not_exist_is_refused_and_everything_else_still_granted() {
        let cpu = allowed_cpus().last().copied().expect("there is a processor") + 5000;
        let request = RealtimeRequest {
            priority: 120,
            cpu: Some(cpu),
            lock_memory: false,
            spin_ns: 0,
            stack_prefault_bytes: 64 << 10,
        };
        let got = on_a_thread(move || acquire(&request));
        assert!(matches!(got.refusals[0], RealtimeError::NoSuchCpu { cpu: refused, .. } if refused == cpu));
        assert!(matches!(got.refusals[1], RealtimeError::PriorityRange(120)));
        assert_eq!(got.status.stack_prefaulted_bytes, 64 << 10);
        assert_eq!(got.status.policy, Policy::Ordinary);
    }

    #[test]
    fn a_pinned_thread_may_run_on_its_processor_only() {
        let cpu = allowed_cpus().last().copied().expect("there is a processor");
        let (result, allowed) = on_a_thread(move || (pin_to_cpu(cpu), allowed_cpus()));
        result.expect("the processor is one of those allowed");
        assert_eq!(allowed, [cpu]);
    }

    #[test]
    fn a_prefaulted_stack_faults_no_more_and_is_never_overrun() {
        /// Page faults of the calling thread so far.
        fn faults() -> i64 {
            // SAFETY: a rusage of zeros is valid, and the call writes to it.
            unsafe {
                let mut usage: libc::rusage = std::mem::zeroed();
                libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
                usage.ru_minflt + usage.ru_majflt
            }
        }
        on_a_thread(|| {
            assert_eq!(prefault_stack(512 << 10), 512 << 10);
            let before = faults();
            assert_eq!(prefault_stack(480 << 10), 480 << 10);
            assert_eq!(faults(), before);
            // Asking for more than there is gives what there is, without running into the guard page.
            let most = prefault_stack(usize::MAX);
            assert!((800 << 10..stack_left_bytes()).contains(&most), "{most}");
        });
    }

    #[test]
    fn locked_memory_is_locked_in_the_kernels_books_or_the_refusal_names_the_limit() {
        let request = RealtimeRequest { priority: 0, ..RealtimeRequest::default() };
        let got = on_a_thread(move || acquire(&request));
        let status = std::fs::read_to_string("/proc/self/status").expect("procfs is mounted");
        let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).expect("a line VmLck");
        let locked_kb: u64 = locked.trim().trim_end_matches(" kB").parse().expect("a number");
        // SAFETY: undoes the locking for the other tests of this process.
        unsafe { libc::munlockall() };
        if got.status.memory == MemoryLock::None {
            assert!(matches!(got.refusals[..], [RealtimeError::MemoryLimit { .. }]), "{:?}", got.refusals);
        } else {
            assert!(locked_kb > 1000, "{locked_kb} kB");
        }
    }
}
