//! An FTDI adapter on USB, spoken to directly: that of a Falcon has numbers which no serial driver of the kernel knows.
//!
//! Thread: device I/O; opened by cold threads.
//!
//! Two reads are always under way, so that the adapter never waits for this program; it answers at least once in the time of its
//! latency timer, be it with status bytes alone.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "what is on the heap is made when a port is opened"
)]

use super::{Bell, OpenFault, Port, PortFault};
use crate::device::guardian::GuardLine;
use crate::device::wire::LineOrder;
use crate::device::wire::ftdi::{PACKET, payload, requests};
use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, MonoNs};
use nusb::transfer::{Buffer, Bulk, ControlOut, ControlType, In, Out, Recipient};
use nusb::{Endpoint, ErrorKind, Interface, MaybeFuture as _};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::path::Path;
use std::time::Duration;

/// Endpoints of the adapter's only interface.
const ENDPOINTS: (u8, u8) = (0x81, 0x02);
/// Reads under way.
const READS: usize = 2;
/// Longest wait before other work is looked at: the bell cannot wake a wait for USB.
const SLICE: Duration = Duration::from_micros(250);
/// Time that a control request may take.
const REQUEST: Duration = Duration::from_millis(200);
/// Time that a transfer may take to be given up.
const CANCEL: Duration = Duration::from_millis(100);
/// The group that the USB nodes of haptic devices belong to.
const GROUP: &str = "plugdev";
/// Requests with their values that put the adapter into its usual state: reset, no flow control, eight bits.
const BEGIN: [(u8, u16); 3] = [(0, 0), (2, 0), (4, 8)];

/// An open adapter.
pub struct FtdiPort {
    interface: Interface,
    input: Endpoint<Bulk, In>,
    output: Endpoint<Bulk, Out>,
    shared: OwnedFd,
    serial_number: Option<String>,
    /// Bytes that have come and were not taken yet, from the first to the second place.
    received: [u8; 4 * PACKET],
    from: usize,
    to: usize,
    spare: Option<Buffer>,
}

impl FtdiPort {
    /// Opens the first adapter with these numbers, and this serial number if one is given.
    ///
    /// # Errors
    /// [`OpenFault`] says why not, and what to do.
    pub fn open(usb: (u16, u16), serial_number: Option<&str>) -> Result<Self, OpenFault> {
        let place = format!("USB {:04x}:{:04x}", usb.0, usb.1);
        let fault = |error: &nusb::Error| match error.kind() {
            ErrorKind::PermissionDenied => OpenFault::Denied { place: place.clone(), group: GROUP.into() },
            ErrorKind::Busy => OpenFault::Busy { place: place.clone(), by: String::new() },
            ErrorKind::Disconnected | ErrorKind::NotFound => OpenFault::Missing(place.clone()),
            _ => OpenFault::Failed { place: place.clone(), why: error.to_string() },
        };
        let mut devices = nusb::list_devices().wait().map_err(|error| fault(&error))?;
        let is_it = |device: &nusb::DeviceInfo| {
            (device.vendor_id(), device.product_id()) == usb
                && serial_number.is_none_or(|wanted| device.serial_number() == Some(wanted))
        };
        let found = devices.find(is_it).ok_or_else(|| OpenFault::Missing(place.clone()))?;
        // Opened here and not by the crate, so that a guardian can have the descriptor as well: what is claimed through it stays
        // claimed while either has it.
        let node = format!("/dev/bus/usb/{:03}/{:03}", found.busnum(), found.device_address());
        let opened = rustix::fs::open(&node, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let shared = opened.map_err(|error| OpenFault::of(Path::new(&node), error, GROUP))?;
        let copy = shared.try_clone();
        let copy = copy.map_err(|error| OpenFault::Failed { place: place.clone(), why: error.to_string() })?;
        let device = nusb::Device::from_fd(copy).wait().map_err(|error| fault(&error))?;
        let interface = device.detach_and_claim_interface(0).wait().map_err(|error| fault(&error))?;
        let input = interface.endpoint(ENDPOINTS.0).map_err(|error| fault(&error))?;
        let output = interface.endpoint(ENDPOINTS.1).map_err(|error| fault(&error))?;
        let mut port = Self {
            interface,
            input,
            output,
            shared,
            serial_number: found.serial_number().map(str::to_owned),
            received: [0; 4 * PACKET],
            from: 0,
            to: 0,
            spare: Some(Buffer::new(PACKET)),
        };
        for (request, value) in BEGIN {
            port.request(request, value).map_err(|_| OpenFault::Failed {
                place: place.clone(),
                why: "it does not answer; unplug it and plug it in again".into(),
            })?;
        }
        for _ in 0..READS {
            port.input.submit(Buffer::new(PACKET));
        }
        Ok(port)
    }

    /// The adapter's serial number.
    #[must_use]
    pub fn serial_number(&self) -> Option<&str> {
        self.serial_number.as_deref()
    }

    fn request(&self, request: u8, value: u16) -> Result<(), PortFault> {
        let request = ControlOut {
            control_type: ControlType::Vendor,
            recipient: Recipient::Device,
            request,
            value,
            index: 0,
            data: &[],
        };
        self.interface.control_out(request, REQUEST).wait().map_err(|_| PortFault::Gone)
    }

    /// Takes a transfer that has come within `patience`; true when there was one.
    fn collect(&mut self, patience: Duration) -> Result<bool, PortFault> {
        // Room for a whole packet, or those before it must be taken first.
        if self.received.len() - self.to < PACKET {
            return Ok(false);
        }
        let Some(done) = self.input.wait_next_complete(patience) else { return Ok(false) };
        done.status.map_err(|_| PortFault::Gone)?;
        for data in payload(done.buffer.get(..done.actual_len).unwrap_or_default()) {
            self.received[self.to..self.to + data.len()].copy_from_slice(data);
            self.to += data.len();
        }
        let mut buffer = done.buffer;
        buffer.clear();
        buffer.set_requested_len(PACKET);
        self.input.submit(buffer);
        Ok(true)
    }
}

impl Port for FtdiPort {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PortFault> {
        while self.collect(Duration::ZERO)? {}
        let count = (self.to - self.from).min(into.len());
        into[..count].copy_from_slice(&self.received[self.from..self.from + count]);
        self.from += count;
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
        }
        Ok(count)
    }

    fn write(&mut self, message: &[u8], until: MonoNs) -> Result<(), PortFault> {
        // The buffer of a message that was given up may not have come back: then there is none.
        let mut buffer = self.spare.take().unwrap_or_else(|| Buffer::new(message.len()));
        buffer.clear();
        if buffer.remaining_capacity() < message.len() {
            buffer = Buffer::new(message.len());
        }
        buffer.extend_from_slice(message);
        self.output.submit(buffer);
        let patience = Duration::from_nanos(until.since(SystemClock.now()));
        let done = self.output.wait_next_complete(patience).or_else(|| {
            self.output.cancel_all();
            self.output.wait_next_complete(CANCEL)
        });
        match done {
            None => Err(PortFault::Gone),
            Some(done) => {
                let outcome = match done.status {
                    Ok(()) if done.actual_len == message.len() => Ok(()),
                    Ok(()) | Err(nusb::transfer::TransferError::Cancelled) => Err(PortFault::Stuck),
                    Err(_) => Err(PortFault::Gone),
                };
                self.spare = Some(done.buffer);
                outcome
            }
        }
    }

    fn order(&mut self, order: LineOrder) -> Result<(), PortFault> {
        if order == LineOrder::Purge {
            while self.collect(Duration::ZERO)? {}
            (self.from, self.to) = (0, 0);
        }
        let (first, second) = requests(order);
        for request in [Some(first), second].into_iter().flatten() {
            self.request(request.request, request.value)?;
        }
        Ok(())
    }

    fn line(&self) -> Option<GuardLine<'_>> {
        Some(GuardLine::Bulk(self.shared.as_fd(), ENDPOINTS.1))
    }

    fn wait(&mut self, _bell: &Bell, until: MonoNs) {
        let left = Duration::from_nanos(until.since(SystemClock.now()));
        // A device that is gone is noticed by the next read.
        let _ = self.collect(left.min(SLICE));
    }
}
