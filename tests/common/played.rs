//! An emulated device that a thread of the test plays on a pseudo-terminal, or as a WebSocket service, with the time at which
//! its force ended.

#![allow(dead_code, reason = "each test uses its own part")]

use crate::wired::{WAY_M, towards_wall};
use hapticd::device::driver::catalogue;
use hapticd::device::emulator::Hand;
use hapticd::device::port::find::Bus;
use hapticd::device::wire::MESSAGE_MAX;
use hapticd::device::wire::inverse3::TEXT_END;
use hapticd::math::Vec3;
use hapticd::shared::realtime::{self, RealtimeRequest, SystemClock};
use hapticd::shared::{Clock as _, MonoNs};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use tungstenite::{Message, WebSocket};

pub(crate) fn now() -> MonoNs {
    SystemClock.now()
}

/// A line: the device's end, the daemon's, and what the latter is called.
pub(crate) fn line() -> (OwnedFd, OwnedFd, PathBuf) {
    let device = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a pseudo-terminal");
    grantpt(&device).and_then(|()| unlockpt(&device)).expect("its other end");
    let name = ptsname(&device, Vec::new()).expect("its name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let host = rustix::fs::open(&name, flags, Mode::empty()).expect("its other end");
    let mut settings = tcgetattr(&host).expect("a terminal");
    settings.make_raw();
    tcsetattr(&host, OptionalActions::Now, &settings).expect("raw");
    (device, host, PathBuf::from(name.to_str().expect("ASCII")))
}

/// How far the hand means to press into the wall, m.
const PRESS_M: f64 = 0.006;

/// What the thread shows.
#[derive(Default)]
struct Shown {
    stop: AtomicBool,
    /// The hand presses, or holds the handle in the middle.
    press: AtomicBool,
    /// The hand homes the device instead, and has come back to where that begins.
    homing: AtomicBool,
    rests: AtomicBool,
    /// Force at the handle, mN.
    force_mn: AtomicU64,
    /// When a message last ended the force, ns; zero: never.
    ended: AtomicU64,
    /// Messages of the host so far; several that came together may count as one.
    heard: AtomicU64,
}

/// A device in play. Dropping it ends the thread.
pub(crate) struct Played {
    pub(crate) path: PathBuf,
    shown: Arc<Shown>,
    thread: Option<JoinHandle<()>>,
    /// Keeps the line alive while nobody has it open.
    _host: Option<OwnedFd>,
}

/// The device's end.
enum End {
    Line(OwnedFd),
    /// A service: who listens, who talks, and the text under way.
    Service(TcpListener, Option<Box<WebSocket<TcpStream>>>, Vec<u8>),
}

impl End {
    /// One message of the host, waited for no longer than half a millisecond.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        match self {
            Self::Line(line) if ready(&*line) => rustix::io::read(line, buffer).unwrap_or(0),
            Self::Line(_) => 0,
            Self::Service(listener, socket @ None, _) => {
                if ready(&*listener) {
                    let (stream, _) = listener.accept().expect("it knocks");
                    let talk = tungstenite::accept(stream).ok().map(Box::new);
                    *socket = talk.filter(|socket| socket.get_ref().set_nonblocking(true).is_ok());
                }
                0
            }
            Self::Service(_, host @ Some(_), _) => {
                let Some(socket) = host else { return 0 };
                let mut message = socket.read();
                if matches!(&message, Err(tungstenite::Error::Io(_))) && ready(socket.get_ref()) {
                    message = socket.read();
                }
                match message {
                    Ok(message) => {
                        let bytes = message.into_data();
                        buffer[..bytes.len()].copy_from_slice(&bytes);
                        return bytes.len();
                    }
                    Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => *host = None,
                }
                0
            }
        }
    }

    /// A host that does not read loses what the line cannot hold, as on a real line.
    fn write(&mut self, bytes: &[u8]) {
        match self {
            Self::Line(line) => drop(rustix::io::write(line, bytes)),
            Self::Service(_, host, text) => {
                for &byte in bytes {
                    if byte != TEXT_END {
                        text.push(byte);
                        continue;
                    }
                    let whole = String::from_utf8(std::mem::take(text)).expect("a text");
                    host.iter_mut().for_each(|host| drop(host.send(Message::text(&*whole))));
                }
            }
        }
    }
}

fn ready(fd: impl AsFd) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)];
    let _ = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 500_000 }));
    polled[0].revents().contains(PollFlags::IN)
}

impl Played {
    pub(crate) fn start(word: &'static str) -> Self {
        let (end, host, path) = match Bus::of(word) {
            Bus::Service => {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
                let path = listener.local_addr().expect("its address").to_string().into();
                (End::Service(listener, None, Vec::new()), None, path)
            }
            _ => {
                let (device, host, path) = line();
                (End::Line(device), Some(host), path)
            }
        };
        let shown = Arc::<Shown>::default();
        let theirs = Arc::clone(&shown);
        let thread = std::thread::spawn(move || play(word, end, &theirs));
        Self { path, shown, thread: Some(thread), _host: host }
    }

    /// Lets the hand press against the wall, or hold still in the middle.
    pub(crate) fn press(&self, press: bool) {
        self.shown.press.store(press, Ordering::Relaxed);
    }

    /// Lets the hand do what homes the device, or go on as told otherwise.
    pub(crate) fn home(&self, homing: bool) {
        self.shown.rests.store(false, Ordering::Relaxed);
        self.shown.homing.store(homing, Ordering::Relaxed);
    }

    /// True when a device that is homed at rest is there.
    pub(crate) fn rests(&self) -> bool {
        self.shown.rests.load(Ordering::Relaxed)
    }

    pub(crate) fn force_n(&self) -> f64 {
        self.shown.force_mn.load(Ordering::Acquire) as f64 * 1e-3
    }

    /// Messages of the host so far, at least.
    pub(crate) fn heard(&self) -> u64 {
        self.shown.heard.load(Ordering::Acquire)
    }

    /// When a message ended the force after `since`, ns after it; none when the firmware's own watchdog did.
    pub(crate) fn ended_after(&self, since: u64) -> Option<u64> {
        let ended = self.shown.ended.load(Ordering::Acquire);
        (ended > since).then(|| ended - since)
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        self.shown.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn play(word: &'static str, mut end: End, shown: &Shown) {
    // A real device does not wait for the host's idle time.
    let rights = RealtimeRequest { priority: 84, ..RealtimeRequest::default() };
    let _rights = realtime::acquire(&rights);
    let mut device = catalogue::emulated(word).expect("a device");
    let mut buffer = [0; MESSAGE_MAX];
    let rest = device.position();
    let mut hand = Vec3::zeros();
    let mut before = now();
    // Where a Falcon is pulled to and pushed, in turns; any other device is homed at rest.
    let (mut sway, sways) = ([Vec3::new(0.03, 0.0, 0.0), Vec3::new(-0.035, 0.0, 0.0)], word == "falcon");
    while !shown.stop.load(Ordering::Relaxed) {
        let length = end.read(&mut buffer);
        let at = now();
        let pressing = shown.press.load(Ordering::Relaxed);
        let target = match shown.homing.load(Ordering::Relaxed) {
            true if sways => sway[0],
            true => rest,
            false if pressing => towards_wall(word) * (WAY_M + PRESS_M),
            false => Vec3::zeros(),
        };
        if (target - hand).norm() < 1e-4 {
            sway.swap(0, 1);
            shown.rests.store(sways || target == rest, Ordering::Relaxed);
        }
        let (way, step) = (target - hand, 0.1 * at.since(before) as f64 * 1e-9);
        hand += way * (step / way.norm().max(step).max(1e-12));
        before = at;
        device.hold(&Hand::at(hand));
        device.feed(&[], at);
        let pushed = device.force().norm() > 0.0;
        device.feed(&buffer[..length], at);
        if pushed && device.force().norm() == 0.0 {
            shown.ended.store(at.0, Ordering::Release);
        }
        shown.force_mn.store((device.force().norm() * 1e3) as u64, Ordering::Release);
        shown.heard.fetch_add(u64::from(length > 0), Ordering::Release);
        loop {
            let length = device.next_out(&mut buffer);
            if length == 0 {
                break;
            }
            end.write(&buffer[..length]);
        }
    }
}
