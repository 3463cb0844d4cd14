//! A port with a guardian: another process that puts its device to zero force if this one dies or hangs.
//!
//! Thread: device I/O; made by cold threads.

#![expect(clippy::disallowed_types, reason = "ports are opened by cold threads")]

use super::{Bell, OpenFault, Port, PortFault};
use crate::device::driver::catalogue::AnyDriver;
use crate::device::guardian::{GuardLine, Lifeline};
use crate::device::wire::{LineOrder, MESSAGE_MAX};
use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, MonoNs, PULSE_MESSAGE_MAX};
use std::path::Path;

/// This program, also when its file has been replaced.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// A port and its guardian.
pub struct GuardedPort {
    port: Box<dyn Port>,
    lifeline: Lifeline,
}

impl GuardedPort {
    /// Starts a guardian for the device that `driver` drives on `port`; `program` is hapticd, `place` what the port is called.
    /// A port that has no descriptor to share, or a device that gives no force, stays as it is.
    ///
    /// # Errors
    /// [`OpenFault::Failed`] when there is no guardian: no force should flow without one.
    pub fn around(
        port: Box<dyn Port>,
        driver: &AnyDriver,
        program: &Path,
        priority: u8,
        place: &str,
    ) -> Result<Box<dyn Port>, OpenFault> {
        let Some(line) = port.line() else { return Ok(port) };
        let mut silence = [0; MESSAGE_MAX];
        let length = driver.silence_bytes(&mut silence);
        if length == 0 {
            // It gives no force.
            return Ok(port);
        }
        let mut sent = [0; PULSE_MESSAGE_MAX];
        let length = port.as_sent(&silence[..length], &mut sent);
        let lifeline = Lifeline::start(program, line, &sent[..length], priority, SystemClock.now());
        match lifeline {
            Ok(lifeline) => Ok(Box::new(Self { port, lifeline })),
            Err(fault) => Err(OpenFault::Failed { place: place.to_owned(), why: fault.to_string() }),
        }
    }
}

impl Port for GuardedPort {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PortFault> {
        self.port.read(into)
    }

    fn write(&mut self, message: &[u8], until: MonoNs) -> Result<(), PortFault> {
        self.port.write(message, until)
    }

    fn order(&mut self, order: LineOrder) -> Result<(), PortFault> {
        self.port.order(order)
    }

    fn wait(&mut self, bell: &Bell, until: MonoNs) {
        self.port.wait(bell, until);
    }

    fn line(&self) -> Option<GuardLine<'_>> {
        self.port.line()
    }

    fn as_sent(&self, message: &[u8], out: &mut [u8]) -> usize {
        self.port.as_sent(message, out)
    }

    fn guard(&mut self) -> Option<&mut Lifeline> {
        Some(&mut self.lifeline)
    }

    fn hindrance(&self) -> &str {
        self.port.hindrance()
    }
}
