//! Every driver against its emulated device, byte by byte over a real port.

use crate::emulator::{Emulator, PATIENCE, fresh_path};
use hapticd::device::driver::catalogue::{self, AnyDriver, DRIVERS, INPUTS, SPACEMOUSE};
use hapticd::device::driver::{DriverEventKind, DriverState, HomingGuide};
use hapticd::device::port::find::Bus;
use hapticd::device::port::hid::HidPort;
use hapticd::device::port::serial::{BAUD, SerialPort};
use hapticd::device::port::websocket::{WebSocketPort, address_at};
use hapticd::device::port::{Bell, OpenFault, Port, PortFault};
use hapticd::device::wire::MESSAGE_MAX;
use hapticd::shared::realtime::SystemClock;
use hapticd::shared::{Clock as _, MonoNs};
use std::path::Path;
use std::time::Instant;

const MS: u64 = 1_000_000;

/// Opens the kind of port that a driver speaks on.
fn open(word: &str, path: &Path) -> Result<Box<dyn Port>, OpenFault> {
    Ok(match Bus::of(word) {
        Bus::Hid => Box::new(HidPort::open(path)?),
        Bus::Service => Box::new(WebSocketPort::open(address_at(path)?)?),
        Bus::Serial | Bus::Usb => Box::new(SerialPort::open(path, BAUD)?),
    })
}

/// A driver, its port, and what it has told.
struct Host {
    driver: AnyDriver,
    port: Box<dyn Port>,
    bell: Bell,
    events: Vec<DriverEventKind>,
}

impl Host {
    fn new(word: &str, path: &Path) -> Self {
        Self::with(catalogue::driver(word, None).expect("a driver"), word, path)
    }

    fn with(driver: AnyDriver, word: &str, path: &Path) -> Self {
        let port = open(word, path).unwrap_or_else(|fault| panic!("{word}: {fault}"));
        Self { driver, port, bell: Bell::new().expect("a bell"), events: Vec::new() }
    }

    /// Moves what is there to be moved.
    fn step(&mut self) -> Result<(), PortFault> {
        let mut buffer = [0; MESSAGE_MAX];
        let now = SystemClock.now();
        let length = self.port.read(&mut buffer)?;
        self.driver.feed(&buffer[..length], now);
        loop {
            while let Some(order) = self.driver.next_order() {
                self.port.order(order)?;
            }
            let length = self.driver.next_out(&mut buffer);
            if length == 0 {
                break;
            }
            self.port.write(&buffer[..length], now.plus(100 * MS))?;
        }
        self.events.extend(std::iter::from_fn(|| self.driver.next_event()).map(|event| event.kind));
        self.port.wait(&self.bell, now.plus(MS));
        Ok(())
    }

    /// Says that the handle rests until the device is homed: one that a busy machine kept silent is started anew and forgets it.
    fn home(&mut self) {
        let (began, mut said) = (Instant::now(), None);
        while self.driver.state() != DriverState::Ready {
            let rests = self.driver.state() == DriverState::Homing(HomingGuide::RestAndConfirm);
            if rests && said.is_none_or(|at: Instant| at.elapsed().as_millis() > 200) {
                said = Some(Instant::now());
                self.driver.confirm_home(SystemClock.now());
            }
            self.step().expect("the device is there");
            assert!(began.elapsed() < PATIENCE, "never homed: {:?} {:?}", self.driver.state(), self.events);
        }
    }

    /// Goes on until `done`.
    fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !done(self) {
            self.step().expect("the device is there");
            let (state, facts) = (self.driver.state(), self.driver.facts());
            assert!(began.elapsed() < PATIENCE, "never {what}: {state:?} {:?} {facts:?}", self.events);
        }
    }
}

#[test]
fn every_driver_starts_and_homes_its_device_over_a_port() {
    for word in DRIVERS.into_iter().chain(INPUTS) {
        let emulator = Emulator::start(word, &[]);
        let mut host = Host::new(word, &emulator.port);
        let awake = |host: &Host| matches!(host.driver.state(), DriverState::Homing(_) | DriverState::Ready);
        host.until("awake", awake);
        host.home();
        if word != SPACEMOUSE {
            host.until("heard", |host| host.driver.facts().answers > 200);
            assert!(host.events.contains(&DriverEventKind::Homed), "{word}: {:?}", host.events);
        }
        drop(host);
        assert_eq!(emulator.end(), 0.0, "{word}: no force was commanded");
    }
}

#[test]
fn a_falcon_gets_its_firmware_over_a_port_before_it_is_homed() {
    let image: Vec<u8> = (0..500_u32).map(|i| (i * 7 + i / 251) as u8).collect();
    let emulator = Emulator::start("novint-falcon", &["--boot", "500"]);
    let driver = catalogue::driver("falcon", Some(image.into())).expect("a driver");
    let mut host = Host::with(driver, "falcon", &emulator.port);
    host.until("booted and homed", |host| host.driver.state() == DriverState::Ready);
    assert!(host.events.contains(&DriverEventKind::Started), "{:?}", host.events);
    drop(host);
    assert_eq!(emulator.end(), 0.0, "no force was commanded");
}

#[test]
fn a_port_is_for_one_and_says_who_has_it() {
    let emulator = Emulator::start("polhem", &[]);
    let first = SerialPort::open(&emulator.port, BAUD).expect("it is free");
    let refused = SerialPort::open(&emulator.port, BAUD).map(|_| ()).expect_err("it is taken");
    assert!(matches!(refused, OpenFault::Busy { .. }), "{refused}");
    drop(first);
    SerialPort::open(&emulator.port, BAUD).expect("it is free again");
    let nobody = SerialPort::open(&fresh_path(), BAUD).map(|_| ()).expect_err("nothing is there");
    assert!(matches!(nobody, OpenFault::Missing(_)), "{nobody}");
    let file = SerialPort::open(Path::new("Cargo.toml"), BAUD).map(|_| ()).expect_err("it is a file");
    assert!(matches!(file, OpenFault::Wrong { .. }), "{file}");
    let directory = HidPort::open(Path::new("/")).map(|_| ()).expect_err("it is a directory");
    assert!(matches!(directory, OpenFault::Wrong { .. }), "{directory}");
}

#[test]
fn a_port_whose_device_was_unplugged_is_gone_and_one_that_takes_nothing_is_stuck() {
    for word in ["hapkit", "woodenhaptics-mbed"] {
        let mut emulator = Emulator::start(word, &[]);
        let mut host = Host::new(word, &emulator.port);
        host.until("awake", |host| matches!(host.driver.state(), DriverState::Homing(_)));
        emulator.order("unplug");
        emulator.wait("the cable to be pulled", |line| line.ends_with("unplugged"));
        let began = Instant::now();
        while host.step() != Err(PortFault::Gone) {
            assert!(began.elapsed() < PATIENCE, "{word}: still there");
        }
        assert!(matches!(open(word, &emulator.port).map(|_| ()), Err(OpenFault::Missing(_))), "{word}");
        emulator.order("plug");
        emulator.wait("the cable to be put back", |line| line.contains("plugged in on"));
        let mut host = Host::new(word, &emulator.port);
        host.until("awake again", |host| matches!(host.driver.state(), DriverState::Homing(_)));
    }
    // Nobody reads the other end: a terminal takes some kilobytes, then no more.
    let master =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).expect("a terminal");
    rustix::pty::unlockpt(&master).expect("it can be unlocked");
    let name = rustix::pty::ptsname(&master, Vec::new()).expect("it has a name");
    let mut port = SerialPort::open(Path::new(name.to_str().expect("ASCII")), BAUD).expect("it can be opened");
    let mut written = 0;
    let stuck = loop {
        if let Err(fault) = port.write(&[0; 256], SystemClock.now().plus(20 * MS)) {
            break fault;
        }
        written += 256;
        assert!(written < 1 << 20, "it takes for ever");
    };
    assert_eq!(stuck, PortFault::Stuck);
    assert_eq!(port.write(&[0], MonoNs(0)), Err(PortFault::Stuck), "a deadline that has passed");
}
