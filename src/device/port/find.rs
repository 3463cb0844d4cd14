//! What is connected: serial ports, raw HID nodes and USB devices that a driver could be for, read from sysfs.
//!
//! Thread: cold.

#![expect(clippy::disallowed_types, clippy::disallowed_macros, reason = "looks around before anything is driven")]

use super::websocket;
use crate::device::driver::catalogue::{DRIVERS, HAPKIT_TEXT, INPUTS, INVERSE3, SPACEMOUSE};
use crate::device::wire::{ftdi, spacemouse};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time in which a service on this machine must answer a call.
const CALL: Duration = Duration::from_millis(200);

/// What a device hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// A serial port.
    Serial,
    /// A raw HID node.
    Hid,
    /// A USB device that is spoken to directly.
    Usb,
    /// A service on this machine that has the device.
    Service,
}

impl Bus {
    /// What the device of a driver hangs on.
    #[must_use]
    pub fn of(driver: &str) -> Self {
        match driver {
            "falcon" => Self::Usb,
            "woodenhaptics-mbed" | "woodenhaptics-teensy" | SPACEMOUSE => Self::Hid,
            INVERSE3 => Self::Service,
            _ => Self::Serial,
        }
    }

    /// For people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Hid => "hid",
            Self::Usb => "usb",
            Self::Service => "service",
        }
    }
}

/// Something connected that could be a haptic device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name as it tells it itself.
    pub name: String,
    /// The node to open, or the address of a service.
    pub node: PathBuf,
    /// What it hangs on.
    pub bus: Bus,
    /// USB vendor and product; zeros for a service.
    pub usb: (u16, u16),
    /// Its serial number, if it tells one.
    pub serial_number: Option<String>,
    /// Words of the drivers that it could be for, the likeliest first.
    pub drivers: Vec<&'static str>,
}

impl Found {
    /// True when this user may read and write it.
    #[must_use]
    pub fn is_permitted(&self) -> bool {
        self.bus == Bus::Service
            || accessat(CWD, &self.node, Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    }
}

/// True when a device with these numbers on this bus can be one for the driver.
#[must_use]
pub fn fits(driver: &str, bus: Bus, (vendor, product): (u16, u16)) -> bool {
    if Bus::of(driver) != bus {
        return false;
    }
    match driver {
        "falcon" => (vendor, product) == ftdi::FALCON_USB,
        "woodenhaptics-mbed" => (vendor, product) == (0x1234, 0x0006),
        "woodenhaptics-teensy" => (vendor, product) == (0x16C0, 0x0486),
        // Teensy boards as serial ports; the board does not tell which arm it drives.
        "polhem" | "vintage" | "woodenhaptics" | "woodenhaptics-frames" => {
            vendor == 0x16C0 && matches!(product >> 4, 0x047..=0x049 | 0x04B) && product != 0x0486
        }
        // Arduino boards of both brands.
        "haply-2dof" | "hapkit" | HAPKIT_TEXT => matches!(vendor, 0x2341 | 0x2A03),
        SPACEMOUSE => spacemouse::model(vendor, product).is_some(),
        _ => false,
    }
}

fn drivers(bus: Bus, usb: (u16, u16)) -> Vec<&'static str> {
    DRIVERS.into_iter().chain(INPUTS).filter(|word| fits(word, bus, usb)).collect()
}

/// Everything connected that some driver is for, or could be for: other serial ports are listed without a driver.
#[must_use]
pub fn connected() -> Vec<Found> {
    below(Path::new("/sys"), Path::new("/dev"))
}

/// Services on this machine that have devices for some driver. Each is called and left alone again.
#[must_use]
pub fn services() -> Vec<Found> {
    let listens = |address: &SocketAddr| TcpStream::connect_timeout(address, CALL).is_ok();
    let found = websocket::address(websocket::SERVICE).filter(listens).map(|_| Found {
        name: "Haply inverse service".into(),
        node: PathBuf::from(websocket::SERVICE),
        bus: Bus::Service,
        usb: (0, 0),
        serial_number: None,
        drivers: [INVERSE3].into(),
    });
    found.into_iter().collect()
}

/// As [`connected`], with sysfs and nodes elsewhere.
#[must_use]
pub fn below(sys: &Path, dev: &Path) -> Vec<Found> {
    let mut found: Vec<Found> = serial(sys, dev).chain(hid(sys, dev)).chain(usb(sys, dev)).collect();
    found.sort_by(|a, b| a.node.cmp(&b.node));
    found
}

fn entries(directory: PathBuf) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
}

fn fact(directory: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(directory.join(name)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn ids(directory: &Path) -> Option<(u16, u16)> {
    let number = |name| u16::from_str_radix(&fact(directory, name)?, 16).ok();
    Some((number("idVendor")?, number("idProduct")?))
}

fn serial(sys: &Path, dev: &Path) -> impl Iterator<Item = Found> {
    let ports = entries(sys.join("class/tty"));
    let ports = ports.filter(|(name, _)| name.starts_with("ttyACM") || name.starts_with("ttyUSB"));
    ports.filter_map(move |(name, path)| {
        // The USB device stands some levels above the port.
        let real = path.join("device").canonicalize().ok()?;
        let device = real.ancestors().find(|above| ids(above).is_some())?;
        let usb = ids(device)?;
        Some(Found {
            name: fact(device, "product").unwrap_or_else(|| name.clone()),
            node: dev.join(name),
            bus: Bus::Serial,
            usb,
            serial_number: fact(device, "serial"),
            drivers: drivers(Bus::Serial, usb),
        })
    })
}

fn hid(sys: &Path, dev: &Path) -> impl Iterator<Item = Found> {
    entries(sys.join("class/hidraw")).filter_map(move |(name, path)| {
        let facts = fs::read_to_string(path.join("device/uevent")).ok()?;
        let fact = |key: &str| facts.lines().find_map(|line| line.strip_prefix(key)).filter(|value| !value.is_empty());
        // HID_ID is bus:vendor:product, each with eight digits.
        let mut parts = fact("HID_ID=")?.split(':').skip(1);
        let mut number = || u16::try_from(u32::from_str_radix(parts.next()?, 16).ok()?).ok();
        let usb = (number()?, number()?);
        let drivers = drivers(Bus::Hid, usb);
        // Keyboards and mice are none of our business.
        (!drivers.is_empty()).then(|| Found {
            name: fact("HID_NAME=").unwrap_or(&name).to_owned(),
            node: dev.join(&name),
            bus: Bus::Hid,
            usb,
            serial_number: fact("HID_UNIQ=").map(str::to_owned),
            drivers,
        })
    })
}

fn usb(sys: &Path, dev: &Path) -> impl Iterator<Item = Found> {
    entries(sys.join("bus/usb/devices")).filter_map(move |(name, path)| {
        let usb = ids(&path)?;
        let drivers = drivers(Bus::Usb, usb);
        let number = |name| fact(&path, name)?.parse::<u16>().ok();
        let node = dev.join(format!("bus/usb/{:03}/{:03}", number("busnum")?, number("devnum")?));
        (!drivers.is_empty()).then(|| Found {
            name: fact(&path, "product").unwrap_or(name),
            node,
            bus: Bus::Usb,
            usb,
            serial_number: fact(&path, "serial"),
            drivers,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("below the root")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
    }

    #[test]
    fn devices_are_found_with_their_numbers_and_the_drivers_they_could_be_for() {
        let root = std::env::temp_dir().join(format!("hapticd-find-{}", std::process::id()));
        put(
            &root,
            &[
                ("devices/usb1/1-1/idVendor", "16c0\n"),
                ("devices/usb1/1-1/idProduct", "0483\n"),
                ("devices/usb1/1-1/product", "USB Serial\n"),
                ("devices/usb1/1-1/serial", "12345\n"),
                ("devices/usb1/1-1/1-1:1.0/tty/ttyACM0/dev", "166:0\n"),
                (
                    "class/hidraw/hidraw0/device/uevent",
                    "HID_ID=0003:0000256F:0000C635\nHID_NAME=SpaceMouse\nHID_UNIQ=\n",
                ),
                ("class/hidraw/hidraw1/device/uevent", "HID_ID=0003:0000046D:0000C31C\nHID_NAME=Keyboard\n"),
                ("bus/usb/devices/1-2/idVendor", "0403\n"),
                ("bus/usb/devices/1-2/idProduct", "cb48\n"),
                ("bus/usb/devices/1-2/busnum", "1\n"),
                ("bus/usb/devices/1-2/devnum", "12\n"),
            ],
        );
        fs::create_dir_all(root.join("class/tty/ttyACM0")).expect("it can be made");
        std::os::unix::fs::symlink(root.join("devices/usb1/1-1/1-1:1.0"), root.join("class/tty/ttyACM0/device"))
            .expect("it can be linked");
        let found = below(&root, Path::new("/dev"));
        let seen: Vec<_> =
            found.iter().map(|one| (one.node.to_str().expect("ASCII"), one.drivers.first().copied())).collect();
        let wanted = [
            ("/dev/bus/usb/001/012", Some("falcon")),
            ("/dev/hidraw0", Some("spacemouse")),
            ("/dev/ttyACM0", Some("polhem")),
        ];
        assert_eq!(seen, wanted);
        assert_eq!(found[2].serial_number.as_deref(), Some("12345"));
        assert_eq!((found[2].name.as_str(), found[2].usb), ("USB Serial", (0x16C0, 0x0483)));
        fs::remove_dir_all(&root).expect("it can be removed");
    }

    #[test]
    fn every_driver_has_numbers_that_fit_it_and_none_is_for_a_keyboard() {
        let known = [
            (0x0403, 0xCB48),
            (0x1234, 0x0006),
            (0x16C0, 0x0486),
            (0x16C0, 0x0483),
            (0x2341, 0x0043),
            (0x256F, 0xC635),
        ];
        for word in DRIVERS.into_iter().chain(INPUTS) {
            // What a service has is known by the service's address.
            let numbered = Bus::of(word) != Bus::Service;
            assert_eq!(known.iter().any(|usb| fits(word, Bus::of(word), *usb)), numbered, "{word}");
            assert!(!fits(word, Bus::of(word), (0x046D, 0xC31C)), "{word}");
        }
    }
}
