//! Device files: `format = "hapticd-device/1"` to a [`DeviceSpec`].
//!
//! Thread: cold.
//!
//! The names follow CHAI3D's device facts (`cHapticDeviceInfo`): sensed and actuated parts, largest force, stiffness and
//! damping, radius of the workspace. Every limit must be stated: there is no default for what may be done to a hand.

use super::diagnostic::{Problem, Report};
use super::document::{Format, LoadError, Loaded, load as load_file, read};
use super::field::Field;
use super::quantity::Dimension;
use super::table::Table;
use crate::device::driver::catalogue;
use crate::device::{Connection, DeviceSpec, LINKS_MAX, Limits, Links, Mechanics, PerPart};
use std::path::Path;

/// Slowest and fastest loop, Hz. Below, contact feels soft and unstable; above, no bus keeps up.
const RATE_HZ: (f64, f64) = (100.0, 10_000.0);
/// Largest power, W.
const POWER_MAX_W: f64 = 1000.0;
/// Largest energy reserve, J: a joule at the hand is already a blow.
const RESERVE_MAX_J: f64 = 10.0;
/// Largest workspace, m.
const RADIUS_MAX_M: f64 = 5.0;
/// Longest watchdog, s.
const WATCHDOG_MAX_S: f64 = 10.0;
/// Longest latency, s.
const LATENCY_MAX_S: f64 = 0.1;
/// Heaviest link, kg, and the longest way to its centre, m.
const LINK_MASS_MAX_KG: f64 = 10.0;
const LINK_CENTRE_MAX_M: f64 = 1.0;
/// Slowest and fastest serial line, baud.
const BAUD: (i64, i64) = (300, 12_000_000);
/// Most buttons: they are bits of a sample.
const BUTTONS_MAX: i64 = 32;

/// A key for translation and its twin for rotation, each with its dimension and the most that is believed.
struct Pair {
    linear: (&'static str, Dimension, f64),
    angular: (&'static str, Dimension, f64),
}

// Each upper bound is beyond any desktop device and below what a slip of a unit gives.
const FORCE: Pair = Pair {
    linear: ("max_linear_force", Dimension::Force, 200.0),
    angular: ("max_angular_torque", Dimension::Torque, 20.0),
};
const SLEW: Pair = Pair {
    linear: ("max_force_rate", Dimension::ForceRate, 1e6),
    angular: ("max_torque_rate", Dimension::TorqueRate, 1e5),
};
const SPEED: Pair = Pair {
    linear: ("max_linear_speed", Dimension::Velocity, 20.0),
    angular: ("max_angular_speed", Dimension::AngularVelocity, 500.0),
};
const ACCELERATION: Pair = Pair {
    linear: ("max_linear_acceleration", Dimension::Acceleration, 1e4),
    angular: ("max_angular_acceleration", Dimension::AngularAcceleration, 1e6),
};
const STIFFNESS: Pair = Pair {
    linear: ("max_linear_stiffness", Dimension::Stiffness, 1e6),
    angular: ("max_angular_stiffness", Dimension::AngularStiffness, 1e4),
};
const DAMPING: Pair = Pair {
    linear: ("max_linear_damping", Dimension::Damping, 1e4),
    angular: ("max_angular_damping", Dimension::AngularDamping, 100.0),
};
const INERTIA: Pair = Pair { linear: ("mass", Dimension::Mass, 50.0), angular: ("inertia", Dimension::Inertia, 5.0) };
const VISCOUS: Pair = Pair {
    linear: ("damping", Dimension::Damping, 1e4),
    angular: ("angular_damping", Dimension::AngularDamping, 100.0),
};
const COULOMB: Pair =
    Pair { linear: ("friction", Dimension::Force, 50.0), angular: ("angular_friction", Dimension::Torque, 5.0) };
const QUANTUM: Pair =
    Pair { linear: ("resolution", Dimension::Length, 0.01), angular: ("angular_resolution", Dimension::Angle, 0.2) };

/// A lower bound, as a function.
type Least = for<'t, 'd> fn(Field<'t, 'd, f64>) -> Field<'t, 'd, f64>;

/// Reads a device file; `name` is what it is called in the report.
///
/// # Errors
/// A [`Report`] with every problem found.
pub fn parse(bytes: &[u8], name: &str) -> Result<Loaded<DeviceSpec>, Report> {
    read(bytes, name, Format::DEVICE, device)
}

/// Reads the device file at `path`.
///
/// # Errors
/// [`LoadError`] says whether it could not be read or what is wrong in it.
pub fn load(path: &Path) -> Result<Loaded<DeviceSpec>, LoadError> {
    load_file(path, parse)
}

fn device(root: &Table<'_>) -> Option<DeviceSpec> {
    let model = root.string("model").check(|text| !text.trim().is_empty(), "the name of the device").required();
    let driver = root.string("driver").check(|text| is_word(text), "a word of a-z, 0-9 and -").required();
    let capabilities = root.table("capabilities").required();
    let capabilities = capabilities.and_then(|table| read_capabilities(&table));
    let rotation = capabilities.as_ref().map(|c| c.rotation);
    let mechanics_table = root.table("mechanics").required();
    let rate_hz = mechanics_table.as_ref().and_then(read_rate);
    let links = mechanics_table.as_ref().and_then(|table| read_links(table, driver.as_deref()));
    let mechanics = mechanics_table.and_then(|table| read_mechanics(&table, rotation, rate_hz));
    let limits = root.table("limits").required().and_then(|table| read_limits(&table, rotation, rate_hz));
    let connection = root.table("connection").optional().map(|table| read_connection(&table));
    if connection.is_some() && driver.as_deref() == Some("simulated") {
        let message = "[connection] has no effect: a simulated device is not connected to anything";
        root.warn("connection", message, "remove it, or name the driver of a real device");
    }
    let capabilities = capabilities?;
    Some(DeviceSpec {
        model: model?,
        driver: driver?,
        rotation_sensed: capabilities.rotation.sensed,
        rotation_actuated: capabilities.rotation.actuated,
        buttons: capabilities.buttons,
        rate_hz: rate_hz?,
        limits: limits?,
        mechanics: Mechanics { links, ..mechanics? },
        connection: connection.unwrap_or_default(),
    })
}

fn read_connection(table: &Table<'_>) -> Connection {
    let text = |key: &str, wanted: &str| table.string(key).check(|text| !text.trim().is_empty(), wanted).optional();
    let usb = table.string("usb").check(|text| usb_ids(text).is_some(), "vendor:product, such as \"16c0:0483\"");
    let baud = table.integer("baud", BAUD.0..=BAUD.1).optional();
    Connection {
        port: text("port", "the path of a port"),
        usb: usb.optional().and_then(|text| usb_ids(&text)),
        serial_number: text("serial_number", "the serial number of a USB device"),
        baud: baud.and_then(|baud| u32::try_from(baud).ok()),
        firmware: text("firmware", "the path of a file"),
    }
}

/// The two numbers of `16c0:0483`.
fn usb_ids(text: &str) -> Option<(u16, u16)> {
    let (vendor, product) = text.split_once(':')?;
    let number = |part: &str| {
        let hexadecimal = part.len() == 4 && part.bytes().all(|b| b.is_ascii_hexdigit());
        hexadecimal.then(|| u16::from_str_radix(part, 16).ok()).flatten()
    };
    Some((number(vendor)?, number(product)?))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[derive(Clone, Copy)]
struct Part {
    sensed: bool,
    actuated: bool,
}

struct Capabilities {
    rotation: Part,
    buttons: u8,
}

fn read_capabilities(table: &Table<'_>) -> Option<Capabilities> {
    let position = table.table("position").required().and_then(|t| read_part(&t));
    let rotation = table.table("rotation").required().and_then(|t| read_part(&t));
    let buttons = table.integer("buttons", 0..=BUTTONS_MAX).or(0);
    if position.is_some_and(|part| !part.sensed) {
        let message = "hapticd needs a device that senses position";
        table.error("position", message, "write position = { sensed = true, actuated = true }");
    }
    if rotation.is_some_and(|part| part.actuated && !part.sensed) {
        let message = "rotation cannot be actuated without being sensed";
        table.error("rotation", message, "the energy of a torque is counted from the rotation that is measured");
    }
    Some(Capabilities { rotation: rotation?, buttons: u8::try_from(buttons).ok()? })
}

fn read_part(table: &Table<'_>) -> Option<Part> {
    let sensed = table.boolean("sensed").required();
    let actuated = table.boolean("actuated").required();
    Some(Part { sensed: sensed?, actuated: actuated? })
}

fn read_rate(table: &Table<'_>) -> Option<f64> {
    table.quantity("rate", Dimension::Frequency).at_least(RATE_HZ.0).at_most(RATE_HZ.1).required()
}

fn read_limits(table: &Table<'_>, rotation: Option<Part>, rate_hz: Option<f64>) -> Option<Limits> {
    let actuated = rotation.map(|part| part.actuated);
    let sensed = rotation.map(|part| part.sensed);
    let pair = |pair: &Pair, needed| {
        let (key, dimension, most) = pair.linear;
        let linear = table.quantity(key, dimension).positive().at_most(most).required();
        let angular = match needed {
            Some(true) => {
                let (key, dimension, most) = pair.angular;
                table.quantity(key, dimension).positive().at_most(most).required()
            }
            _ => unused(table, pair, needed),
        };
        Some(PerPart { linear: linear?, angular: angular? })
    };
    let force = pair(&FORCE, actuated);
    let slew = pair(&SLEW, actuated);
    let stiffness = pair(&STIFFNESS, actuated);
    let damping = pair(&DAMPING, actuated);
    let speed = pair(&SPEED, sensed);
    let acceleration = pair(&ACCELERATION, sensed);
    let power_w = table.quantity("max_power", Dimension::Power).positive().at_most(POWER_MAX_W).required();
    let reserve_j = table.quantity("energy_reserve", Dimension::Energy).positive().at_most(RESERVE_MAX_J).required();
    let radius = table.quantity("workspace_radius", Dimension::Length).positive().at_most(RADIUS_MAX_M).required();
    let watchdog = table.quantity_or_word("watchdog", Dimension::Time, "none");
    let watchdog_s = watchdog.positive().at_most(WATCHDOG_MAX_S).required();
    if let (Some(Some(watchdog_s)), Some(rate_hz)) = (watchdog_s, rate_hz)
        && watchdog_s * rate_hz < 2.0
    {
        let message = "`watchdog` is shorter than two ticks of the loop";
        table.error("watchdog", message, "the device would drop its force between two commands; is the unit right?");
    }
    Some(Limits {
        force: force?,
        slew: slew?,
        power_w: power_w?,
        reserve_j: reserve_j?,
        speed: speed?,
        acceleration: acceleration?,
        stiffness: stiffness?,
        damping: damping?,
        workspace_radius_m: radius?,
        watchdog_s: watchdog_s?,
    })
}

fn read_mechanics(table: &Table<'_>, rotation: Option<Part>, rate_hz: Option<f64>) -> Option<Mechanics> {
    let sensed = rotation.map(|part| part.sensed);
    // Friction may be left out: it is zero for a good device. Mass and resolution may not.
    let pair = |pair: &Pair, least: Least, optional: bool| {
        let read = |(key, dimension, most): (&str, Dimension, f64)| {
            let field = least(table.quantity(key, dimension)).at_most(most);
            if optional { Some(field.or(0.0)) } else { field.required() }
        };
        let linear = read(pair.linear);
        let angular = if sensed == Some(true) { read(pair.angular) } else { unused(table, pair, sensed) };
        Some(PerPart { linear: linear?, angular: angular? })
    };
    let inertia = pair(&INERTIA, |field| field.positive(), false);
    let damping = pair(&VISCOUS, |field| field.not_negative(), true);
    let friction = pair(&COULOMB, |field| field.not_negative(), true);
    let quantum = pair(&QUANTUM, |field| field.not_negative(), false);
    let latency_s = table.quantity("latency", Dimension::Time).not_negative().at_most(LATENCY_MAX_S).or(0.0);
    Some(Mechanics {
        inertia: inertia?,
        damping: damping?,
        friction: friction?,
        quantum: quantum?,
        latency_ticks: latency_ticks(table, latency_s, rate_hz?),
        links: None,
    })
}

/// What the links weigh, as many as the driver's mechanism has.
fn read_links(table: &Table<'_>, driver: Option<&str>) -> Option<Links> {
    let tables = table.tables("links");
    let mut links = Links::default();
    for (index, one) in tables.iter().enumerate() {
        let mass = one.quantity("mass", Dimension::Mass).not_negative().at_most(LINK_MASS_MAX_KG).required();
        let centre = one.quantity("centre", Dimension::Length);
        let centre = centre.at_least(-LINK_CENTRE_MAX_M).at_most(LINK_CENTRE_MAX_M).or(0.0);
        if index < LINKS_MAX {
            (links.mass_kg[index], links.centre_m[index]) = (mass.unwrap_or(0.0), centre);
        }
    }
    if let Some(first) = tables.get(LINKS_MAX) {
        let message = format!("there are {} `links`; no mechanism has more than {LINKS_MAX}", tables.len());
        first.report(Problem::error(first.span(), message).help("leave some out"));
        return None;
    }
    let names = driver.map(catalogue::links)?;
    if tables.is_empty() {
        return None;
    }
    if names.is_empty() {
        let message = "`links` has no effect: nothing of a device with this driver weighs on the hand";
        table.warn("links", message, "remove it");
        return None;
    }
    if tables.len() != names.len() {
        let message = format!("`links` must tell {} of them: {}", names.len(), names.join(", "));
        let help = "one { mass = \"0.1 kg\", centre = \"50 mm\" } for each, in this order; or leave it out";
        table.error("links", &message, help);
        return None;
    }
    Some(links)
}

/// A key about rotation where there is none: said to have no effect. Where it is not known whether there is rotation,
/// because that was wrong itself, nothing is said.
fn unused(table: &Table<'_>, pair: &Pair, needed: Option<bool>) -> Option<f64> {
    let (key, dimension, _) = pair.angular;
    let written = table.quantity(key, dimension).optional();
    if written.is_some() && needed == Some(false) {
        let message = format!("`{key}` has no effect: the device has no such rotation");
        let help = "remove it, or say in [capabilities] that rotation is sensed and actuated";
        table.report(Problem::warning(table.span_of(key), message).help(help));
    }
    Some(0.0)
}

/// Whole ticks of a latency; a part of a tick counts as one, for a force cannot take effect earlier than it does.
fn latency_ticks(table: &Table<'_>, latency_s: f64, rate_hz: f64) -> u32 {
    let ticks = latency_s * rate_hz;
    let whole = if (ticks - ticks.round()).abs() < 1e-6 { ticks.round() } else { ticks.ceil() };
    if whole > ticks + 1e-6 {
        let message = format!("`latency` is no whole number of ticks: it is taken as {whole}");
        table.warn("latency", &message, "write a multiple of the period of the loop");
    }
    // Bounded by LATENCY_MAX_S and RATE_HZ to a thousand.
    whole as u32
}
