//! From a device file to an open port with a driver on it.
//!
//! Thread: cold.

#![expect(clippy::disallowed_types, clippy::disallowed_macros, reason = "opens devices before they are driven")]

use super::find::{self, Bus, Found};
use super::guarded::{GuardedPort, THIS_PROGRAM};
use super::hid::HidPort;
use super::link::Opener;
use super::serial::{BAUD, SerialPort};
use super::usb::FtdiPort;
use super::websocket::{self, WebSocketPort};
use super::{OpenFault, Port};
use crate::device::DeviceSpec;
use crate::device::driver::Trim;
use crate::device::driver::catalogue::{self, AnyDriver, Unit};
use crate::device::wire::ftdi::FALCON_USB;
use crate::shared::ordinary_file;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest firmware that is read, bytes: far beyond any.
const FIRMWARE_MAX: u64 = 1 << 20;
/// How far the guardian's priority is above the loop's.
const ABOVE: u8 = 5;

/// True when a program part for this device exists and needs a port.
#[must_use]
pub fn is_real(spec: &DeviceSpec) -> bool {
    catalogue::driver(&spec.driver, None).is_some()
}

/// What opens the device of this file again and again; `port` comes before the file's own.
#[must_use]
pub fn opener(spec: &DeviceSpec, port: Option<PathBuf>, keeping: Keeping) -> Opener {
    let spec = spec.clone();
    Box::new(move || open(&spec, port.as_deref(), &keeping))
}

/// How a unit of this serial number and driver differs from its kind, or why that cannot be told.
pub type Trims = Arc<dyn Fn(&str, &str) -> Result<Trim, String> + Send + Sync>;

/// What a device needs besides its port: someone who guards it, and what is known of the single unit.
#[derive(Clone)]
pub struct Keeping {
    /// hapticd, which guards as well: [`THIS_PROGRAM`].
    pub program: PathBuf,
    /// Real-time priority of the guardian; 0 for none.
    pub priority: u8,
    /// What calibrations say.
    pub trims: Trims,
}

impl Keeping {
    /// Guarded by this program, at a priority above that of the loop; calibrations as `trims` says.
    #[must_use]
    pub fn new(loop_priority: u8, trims: Trims) -> Self {
        let priority = if loop_priority == 0 { 0 } else { (loop_priority + ABOVE).min(99) };
        Self { program: PathBuf::from(THIS_PROGRAM), priority, trims }
    }
}

/// Opens the device of this file, at `port` if one is given, else where the file says, else where it is found; guarded, and
/// as its calibration says.
///
/// # Errors
/// [`OpenFault`] says why not, and what to do.
pub fn open(
    spec: &DeviceSpec,
    port: Option<&Path>,
    keeping: &Keeping,
) -> Result<(Box<dyn Port>, AnyDriver), OpenFault> {
    let (port, serial) = open_port(spec, port)?;
    let trim = serial.map_or_else(|| Ok(Trim::default()), |serial| (keeping.trims)(&serial, &spec.driver));
    let trim = trim.map_err(|why| OpenFault::Failed { place: spec.model.clone(), why })?;
    let driver = driver(spec, &trim)?;
    let port = GuardedPort::around(port, &driver, &keeping.program, keeping.priority, &spec.model)?;
    Ok((port, driver))
}

/// The port, and the serial number of what is behind it, if that is known.
fn open_port(spec: &DeviceSpec, port: Option<&Path>) -> Result<(Box<dyn Port>, Option<String>), OpenFault> {
    let path = port.map(Path::to_owned).or_else(|| spec.connection.port.as_ref().map(PathBuf::from));
    let baud = spec.connection.baud.unwrap_or(BAUD);
    let bus = Bus::of(&spec.driver);
    if bus == Bus::Service {
        return Ok((Box::new(WebSocketPort::open(service(spec, port)?)?), None));
    }
    if path.is_none() && bus == Bus::Usb {
        let usb = spec.connection.usb.unwrap_or(FALCON_USB);
        let port = FtdiPort::open(usb, spec.connection.serial_number.as_deref())?;
        let serial = port.serial_number().map(str::to_owned);
        return Ok((Box::new(port), serial));
    }
    let (path, serial) = match path {
        Some(path) => {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            let found = find::connected().into_iter().find(|one| one.node == real);
            (path, found.and_then(|one| one.serial_number))
        }
        None => look_for(spec, bus).map(|one| (one.node, one.serial_number))?,
    };
    let port: Box<dyn Port> = match bus {
        Bus::Hid => Box::new(HidPort::open(&path)?),
        Bus::Serial | Bus::Usb | Bus::Service => Box::new(SerialPort::open(&path, baud)?),
    };
    Ok((port, serial))
}

/// Where the service of this device is: on this machine, unless the device file itself says otherwise.
fn service(spec: &DeviceSpec, port: Option<&Path>) -> Result<SocketAddr, OpenFault> {
    let stated = spec.connection.port.as_ref().map(|text| websocket::address_at(Path::new(text))).transpose()?;
    let usual = || websocket::address_at(Path::new(websocket::SERVICE));
    match port.map(websocket::address_at).transpose()? {
        Some(there) if !there.ip().is_loopback() && stated != Some(there) => {
            Err(OpenFault::Elsewhere(there.to_string()))
        }
        Some(there) => Ok(there),
        None => stated.map_or_else(usual, Ok),
    }
}

/// The first device connected that fits.
fn look_for(spec: &DeviceSpec, bus: Bus) -> Result<Found, OpenFault> {
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
    found.next().ok_or_else(|| OpenFault::Missing(wanted()))
}

fn driver(spec: &DeviceSpec, trim: &Trim) -> Result<AnyDriver, OpenFault> {
    let firmware = match &spec.connection.firmware {
        None => None,
        Some(path) => {
            let failed = |why: String| OpenFault::Failed { place: format!("the firmware {path}"), why };
            let bytes =
                ordinary_file::read(Path::new(path), FIRMWARE_MAX).map_err(|error| failed(error.to_string()))?;
            if bytes.len() as u64 > FIRMWARE_MAX {
                return Err(failed("it is no file of at most 1 MB".into()));
            }
            Some(bytes.into())
        }
    };
    let unknown =
        || OpenFault::Failed { place: spec.model.clone(), why: format!("no driver is called `{}`", spec.driver) };
    let unit = Unit { trim: *trim, links: spec.mechanics.links };
    catalogue::unit_driver(&spec.driver, firmware, &unit).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_on_this_machine_unless_the_file_says_otherwise() {
        let (near, far) = ("127.0.0.1:7", "192.0.2.7:10001");
        let at = |file: Option<&str>, port: Option<&str>| {
            let mut spec = crate::device::simulated::test_spec();
            spec.connection.port = file.map(str::to_owned);
            service(&spec, port.map(Path::new)).map(|there| there.to_string())
        };
        assert_eq!(at(None, None).expect("the usual place"), websocket::SERVICE);
        assert_eq!(at(Some(far), None).expect("the file says so"), far);
        assert_eq!(at(Some(far), Some(near)).expect("on this machine"), near);
        assert_eq!(at(Some(far), Some(far)).expect("the same"), far);
        let refused = at(None, Some(far)).expect_err("nobody has said so");
        assert!(
            matches!(refused, OpenFault::Elsewhere(_)) && refused.to_string().contains("[connection]"),
            "{refused}"
        );
        assert!(matches!(at(Some("haply"), None), Err(OpenFault::NoAddress(_))));
    }
}
