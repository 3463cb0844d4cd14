//! From a device file to an open port with a driver on it.
//!
//! Thread: cold.

#![expect(clippy::disallowed_types, clippy::disallowed_macros, reason = "opens devices before they are driven")]

use super::find::{self, Bus};
use super::hid::HidPort;
use super::link::Opener;
use super::serial::{BAUD, SerialPort};
use super::usb::FtdiPort;
use super::{OpenFault, Port};
use crate::device::DeviceSpec;
use crate::device::driver::catalogue::{self, AnyDriver};
use crate::device::wire::ftdi::FALCON_USB;
use std::path::{Path, PathBuf};

/// Largest firmware that is read, bytes: far beyond any.
const FIRMWARE_MAX: u64 = 1 << 20;

/// True when a program part for this device exists and needs a port.
#[must_use]
pub fn is_real(spec: &DeviceSpec) -> bool {
    catalogue::driver(&spec.driver, None).is_some()
}

/// What opens the device of this file again and again; `port` comes before the file's own.
#[must_use]
pub fn opener(spec: &DeviceSpec, port: Option<PathBuf>) -> Opener {
    let spec = spec.clone();
    Box::new(move || open(&spec, port.as_deref()))
}

/// Opens the device of this file, at `port` if one is given, else where the file says, else where it is found.
///
/// # Errors
/// [`OpenFault`] says why not, and what to do.
pub fn open(spec: &DeviceSpec, port: Option<&Path>) -> Result<(Box<dyn Port>, AnyDriver), OpenFault> {
    let driver = driver(spec)?;
    let path = port.map(Path::to_owned).or_else(|| spec.connection.port.as_ref().map(PathBuf::from));
    let baud = spec.connection.baud.unwrap_or(BAUD);
    let port: Box<dyn Port> = match (path, Bus::of(&spec.driver)) {
        (Some(path), Bus::Hid) => Box::new(HidPort::open(&path)?),
        (Some(path), Bus::Serial | Bus::Usb) => Box::new(SerialPort::open(&path, baud)?),
        (None, Bus::Usb) => {
            let usb = spec.connection.usb.unwrap_or(FALCON_USB);
            Box::new(FtdiPort::open(usb, spec.connection.serial_number.as_deref())?)
        }
        (None, Bus::Hid) => Box::new(HidPort::open(&look_for(spec, Bus::Hid)?)?),
        (None, Bus::Serial) => Box::new(SerialPort::open(&look_for(spec, Bus::Serial)?, baud)?),
    };
    Ok((port, driver))
}

/// The node of the first device connected that fits.
fn look_for(spec: &DeviceSpec, bus: Bus) -> Result<PathBuf, OpenFault> {
    let connection = &spec.connection;
    let mut found = find::connected().into_iter().filter(|one| {
        let numbers = connection.usb.map_or_else(|| find::fits(&spec.driver, bus, one.usb), |usb| usb == one.usb);
        let serial = connection.serial_number.as_deref();
        one.bus == bus && numbers && serial.is_none_or(|wanted| one.serial_number.as_deref() == Some(wanted))
    });
    let wanted = || {
        let kind = connection.usb.map_or_else(String::new, |(vendor, product)| format!(" {vendor:04x}:{product:04x}"));
        format!("any {} port{kind} for the driver `{}`", bus.name(), spec.driver)
    };
    found.next().map(|one| one.node).ok_or_else(|| OpenFault::Missing(wanted()))
}

fn driver(spec: &DeviceSpec) -> Result<AnyDriver, OpenFault> {
    let firmware = match &spec.connection.firmware {
        None => None,
        Some(path) => {
            let failed = |why: String| OpenFault::Failed { place: format!("the firmware {path}"), why };
            let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
            if !size.is_file() || size.len() > FIRMWARE_MAX {
                return Err(failed("it is no file of at most 1 MB".into()));
            }
            Some(std::fs::read(path).map_err(|error| failed(error.to_string()))?.into())
        }
    };
    let unknown =
        || OpenFault::Failed { place: spec.model.clone(), why: format!("no driver is called `{}`", spec.driver) };
    catalogue::driver(&spec.driver, firmware).ok_or_else(unknown)
}
