//! `hapticd emulate`: a device that is not there, to the byte, on a pseudo-terminal, a socket or a WebSocket of its own.
//!
//! Thread: main plays the device; another reads orders from standard input.
//!
//! ```text
//!  host ──bytes──► [outlet] ──► emulated device (firmware, mechanism) ◄── hand [player]
//!       ◄─────────         ◄── line with faults [fault] ◄──
//! ```

mod fault;
mod outlet;
mod player;
mod service;

pub use fault::{FaultKind, Mishap};

use super::cli::{positive, skill};
use super::{Failure, warn};
use crate::daemon::out::{note, put};
use crate::device::DeviceSpec;
use crate::device::driver::catalogue::{self, AnyDevice, DRIVERS, INPUTS};
use crate::device::emulator::Line;
use crate::device::operator::Skill;
use crate::device::wire::{LineOrder, MESSAGE_MAX};
use crate::scene;
use crate::shared::realtime::{self, RealtimeRequest, SystemClock};
use crate::shared::{Clock as _, MonoNs, NS_PER_S};
use clap::Args;
use fault::Mishaps;
use outlet::Outlet;
use player::Player;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// The device moves and looks for bytes at least this often, ns.
const PACE_NS: u64 = 500_000;
/// Messages moved in one round: a host that never stops talking does not hang the device.
const ROUND: usize = 64;
/// Where the counters of a Falcon begin that has just been switched on.
const UNHOMED: [i32; 3] = [321, -77, 1500];
/// A force below this is none, N.
const NO_FORCE_N: f64 = 1e-3;
/// Priority asked for; the emulated device is another machine and must not wait for this one's idle time.
const PRIORITY: u8 = 60;

/// What was asked for.
#[derive(Clone, Debug)]
pub struct EmulateOptions {
    /// A device file, by shipped name or path, or the word of a driver.
    pub device: String,
    /// A symbolic link to the port, which stays the same when the device is plugged in again.
    pub link: Option<PathBuf>,
    /// The hand does the script of this scene, again and again.
    pub scene: Option<String>,
    /// Its skill, instead of the scene's.
    pub skill: Option<Skill>,
    /// Its seed, instead of the scene's.
    pub seed: Option<u64>,
    /// Time between the end of homing and the beginning of the script, s; `None` waits for the order.
    pub wait_s: Option<f64>,
    /// Bytes of firmware that a Falcon wants before it does anything; zero for one that has it.
    pub boot: usize,
    /// Faults on the line.
    pub faults: Vec<Mishap>,
    /// End after this time, s.
    pub seconds: Option<f64>,
}

/// What was asked for, as written on the command line.
#[derive(Args)]
pub struct EmulateArgs {
    /// A device file, by shipped name or path, or the word of a driver
    device: String,
    /// A symbolic link to the port, which stays the same when the device is plugged in again
    #[arg(long, value_name = "PATH")]
    link: Option<PathBuf>,
    /// Let the hand do the script of this scene, again and again; without, it holds the handle still
    #[arg(long)]
    scene: Option<String>,
    /// Skill of the hand: novice, trained or expert
    #[arg(long, value_parser = skill)]
    skill: Option<Skill>,
    /// Seed of the hand
    #[arg(long)]
    seed: Option<u64>,
    /// Seconds between homing and the script; `never` waits for the order `work`
    #[arg(long, default_value = "3", value_parser = wait)]
    wait: Wait,
    /// A Falcon as it is after power-up, which wants firmware of so many bytes first
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    boot: u16,
    /// A fault on the line (drop, split, duplicate, corrupt, late, short, garbage, stall, collide, disconnect) or in the device
    /// (stuck-encoder, swapped-encoders, reversed-motor, mend), with @SECONDS once, without again and again; may be given
    /// several times
    #[arg(long, value_name = "KIND[@SECONDS]")]
    fault: Vec<Mishap>,
    /// End after this many seconds
    #[arg(long = "for", value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    seconds: Option<f64>,
}

#[derive(Clone, Copy)]
struct Wait(Option<f64>);

fn wait(text: &str) -> Result<Wait, String> {
    match text.parse::<f64>() {
        _ if text == "never" => Ok(Wait(None)),
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(Wait(Some(seconds))),
        _ => Err("a number of seconds, or never".into()),
    }
}

impl EmulateArgs {
    /// Plays the device until a signal, its time, or an order ends it.
    ///
    /// # Errors
    /// As [`run`].
    pub fn run(self, stop: &AtomicBool) -> Result<(), Failure> {
        let Self { device, link, scene, skill, seed, wait, boot, fault, seconds } = self;
        let (wait_s, boot) = (wait.0, boot.into());
        run(&EmulateOptions { device, link, scene, skill, seed, wait_s, boot, faults: fault, seconds }, stop)
    }
}

/// The device file and the driver's word for what was asked for.
///
/// # Errors
/// When it is neither, or nothing stands in for it.
fn resolve(name: &str) -> Result<(DeviceSpec, String), Failure> {
    let words = || DRIVERS.into_iter().chain(INPUTS);
    if words().any(|word| word == name) {
        // Older boards of an arm have their own word and the same file.
        let family = name.split_once('-').map_or(name, |(family, _)| family);
        for shipped in scene::shipped_device_names() {
            let spec = scene::open_device(shipped)?.value;
            if spec.driver == name || (spec.driver == family && family == "woodenhaptics") {
                return Ok((DeviceSpec { driver: name.to_owned(), ..spec }, name.to_owned()));
            }
        }
    }
    let loaded = scene::open_device(name)?;
    warn(&loaded.warnings);
    let driver = loaded.value.driver.clone();
    if !words().any(|word| word == driver) {
        return Err(Failure::Usage(format!(
            "`{name}` has the driver `{driver}`, and nothing needs to stand in for it"
        )));
    }
    Ok((loaded.value, driver))
}

/// Plays the device until it is told to end.
///
/// # Errors
/// When the device is not known, its scene is wrong, or no port can be made.
pub fn run(options: &EmulateOptions, stop: &AtomicBool) -> Result<(), Failure> {
    let (spec, driver) = resolve(&options.device)?;
    let device = match options.boot {
        0 => catalogue::emulated_unit(&driver, spec.mechanics.links),
        _ if driver != "falcon" => return Err(Failure::Usage("only a Falcon is booted; leave out --boot".into())),
        length => catalogue::emulated_falcon(length, UNHOMED, spec.mechanics.links),
    };
    let unknown = || Failure::Usage(format!("nothing stands in for a device with the driver `{driver}`"));
    let mut device = device.ok_or_else(unknown)?;
    device.resist(spec.mechanics.friction.linear, spec.mechanics.damping.linear);
    let player = Player::new(&spec, &driver, device.position(), options)?;
    let outlet = Outlet::open(&driver, options.link.clone()).map_err(Failure::Port)?;
    let rights =
        realtime::acquire(&RealtimeRequest { priority: PRIORITY, lock_memory: false, ..RealtimeRequest::default() });
    let now = SystemClock.now();
    let mut stage = Stage {
        device,
        player,
        outlet,
        line: Line::default(),
        mishaps: Mishaps::new(options.faults.clone()),
        orders: listen(),
        heard: None,
        began: None,
        pushes: false,
        peak_n: 0.0,
        asked_n: 0.0,
        messages: 0,
        baud: 0,
    };
    put(format_args!("{} on {}\n", spec.model, stage.outlet.place()));
    put(format_args!("{}\n", stage.manual()));
    let until = options.seconds.map(|seconds| now.plus((seconds * NS_PER_S as f64) as u64));
    while !stop.load(Ordering::Relaxed) && until.is_none_or(|until| SystemClock.now() < until) {
        if !stage.round()? {
            break;
        }
    }
    drop(rights);
    put(format_args!(
        "summary  peak force {:.4} N, asked for {:.4} N, {} messages from the host\n",
        stage.peak_n, stage.asked_n, stage.messages
    ));
    Ok(())
}

/// Orders from standard input, a word a line. Ends with the input.
fn listen() -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Everything on the emulator's side.
struct Stage {
    device: AnyDevice,
    player: Player,
    outlet: Outlet,
    line: Line,
    mishaps: Mishaps,
    orders: Receiver<String>,
    /// When the host was first heard since the device was plugged in, and when at all.
    heard: Option<MonoNs>,
    began: Option<MonoNs>,
    /// The motors give force now.
    pushes: bool,
    peak_n: f64,
    /// The largest force that was asked for.
    asked_n: f64,
    messages: u64,
    baud: u32,
}

impl Stage {
    fn manual(&self) -> String {
        let work = if self.player.has_script() { "work, rest, " } else { "" };
        format!("orders   {work}unplug, plug, fault KIND, quit; a word a line")
    }

    /// Says what happened and when, on the clock that all programs of this machine share.
    fn say(&self, now: MonoNs, what: &str) {
        let mut out = std::io::stdout().lock();
        // A closed pipe is no reason to stop.
        let _ = writeln!(out, "{:>18.9} s  {what}", now.seconds());
        let _ = out.flush();
    }

    /// One round: orders, hand, bytes in, bytes out, wait. False when told to end.
    fn round(&mut self) -> Result<bool, Failure> {
        let now = SystemClock.now();
        // 1 what people want
        while let Ok(order) = self.orders.try_recv() {
            if !self.obey(order.trim(), now)? {
                return Ok(false);
            }
        }
        // 2 the hand, and time itself
        let (hand, buttons) = self.player.hold(&*self.device, self.heard, now);
        self.device.hold(&hand);
        self.device.press(buttons);
        self.device.feed(&[], now);
        // 3 mishaps that are due
        if let Some(kind) = self.mishaps.due(self.began, now) {
            self.befall(kind, now)?;
        }
        // 4 bytes
        self.exchange(now);
        self.watch_force();
        // 5 wait for more
        self.outlet.wait(SystemClock.now().plus(PACE_NS));
        Ok(true)
    }

    fn obey(&mut self, order: &str, now: MonoNs) -> Result<bool, Failure> {
        match order.split_whitespace().collect::<Vec<_>>()[..] {
            [] => {}
            ["quit"] => return Ok(false),
            ["work"] => self.player.work(true),
            ["rest"] => self.player.work(false),
            ["unplug"] => self.unplug(now),
            ["plug"] => self.plug(now)?,
            ["fault", word] => match word.parse::<FaultKind>() {
                Ok(kind) => self.befall(kind, now)?,
                Err(why) => note(format_args!("{why}\n")),
            },
            _ => note(format_args!("no such order: `{order}`; {}\n", self.manual())),
        }
        Ok(true)
    }

    fn befall(&mut self, kind: FaultKind, now: MonoNs) -> Result<(), Failure> {
        match kind {
            FaultKind::Line(trouble) => self.line.upset(trouble),
            FaultKind::Stall(ns) => self.line.stall(now.plus(ns)),
            FaultKind::Collide(ns) => self.line.collide(now.plus(ns)),
            FaultKind::Defect(defect) => self.device.suffer(Some(defect)),
            FaultKind::Mend => self.device.suffer(None),
            FaultKind::Disconnect if self.outlet.is_plugged() => self.unplug(now),
            FaultKind::Disconnect => self.plug(now)?,
        }
        Ok(())
    }

    fn unplug(&mut self, now: MonoNs) {
        self.outlet.unplug();
        self.line = Line::default();
        self.device.power_cycle();
        self.player.let_go();
        (self.heard, self.baud) = (None, 0);
        self.say(now, "unplugged");
    }

    fn plug(&mut self, now: MonoNs) -> Result<(), Failure> {
        if !self.outlet.is_plugged() {
            self.device.power_cycle();
            self.outlet.plug().map_err(Failure::Port)?;
            self.say(now, &format!("plugged in on {}", self.outlet.place()));
        }
        Ok(())
    }

    fn exchange(&mut self, now: MonoNs) {
        let mut buffer = [0; MESSAGE_MAX];
        for _ in 0..ROUND {
            let mut moved = false;
            let length = self.outlet.read(&mut buffer);
            if length > 0 {
                moved = true;
                self.messages += 1;
                if self.heard.is_none() {
                    self.heard = Some(now);
                    self.began.get_or_insert(now);
                    self.say(now, "host heard");
                }
                // The speed of a terminal is all that its other end can see of the line.
                if let Some(baud) = self.outlet.baud().filter(|baud| *baud != self.baud) {
                    self.baud = baud;
                    self.device.line(LineOrder::Baud(baud), now);
                }
                self.line.spoil(&mut buffer[..length], now);
                self.device.feed(&buffer[..length], now);
            }
            let length = self.device.next_out(&mut buffer);
            if length > 0 {
                moved = true;
                if let Some(trouble) = self.mishaps.next() {
                    self.line.upset(trouble);
                }
                self.line.send(&buffer[..length], now);
            }
            let length = self.line.receive(&mut buffer, now);
            if length > 0 {
                moved = true;
                self.line.spoil(&mut buffer[..length], now);
                self.outlet.write(&buffer[..length]);
            }
            if !moved {
                break;
            }
        }
    }

    /// Tells when force begins and ends: whoever stops the host wants to know.
    fn watch_force(&mut self) {
        let force_n = self.device.force().norm();
        self.peak_n = self.peak_n.max(force_n);
        self.asked_n = self.asked_n.max(self.device.asked().norm());
        let pushes = force_n > NO_FORCE_N;
        if pushes != self.pushes {
            self.pushes = pushes;
            self.say(SystemClock.now(), if pushes { "force on" } else { "force off" });
        }
    }
}
