//! `hapticd devices`: what is connected that could be a haptic device, for which driver, and whether it can be opened.
//!
//! Thread: main. Opens no device: one in use is not disturbed. Services on this machine are called and left alone again.

use crate::device::port::find::{self, Found};
use crate::device::port::{OpenFault, holders};
use crate::scene;
use rustix::io::Errno;
use serde_json::json;
use std::fmt::Write as _;

/// A device and what stands between it and this user.
struct Seen {
    found: Found,
    /// Device files that go with it.
    files: Vec<&'static str>,
    /// Who has it open.
    holders: Vec<String>,
    /// What to do to be allowed to open it.
    denied: Option<String>,
}

impl Seen {
    fn new(found: Found) -> Self {
        let drives = |name: &&'static str| {
            scene::open_device(name).is_ok_and(|file| found.drivers.contains(&file.value.driver.as_str()))
        };
        let group = if found.bus == find::Bus::Serial { "dialout" } else { "plugdev" };
        let denied = (!found.is_permitted()).then(|| OpenFault::of(&found.node, Errno::ACCESS, group).to_string());
        let files = scene::shipped_device_names().filter(drives).collect();
        Self { holders: holders(&found.node), files, denied, found }
    }

    fn state(&self) -> String {
        match (&self.denied, &self.holders[..]) {
            (Some(why), _) => why.clone(),
            (None, []) => "free".into(),
            (None, held) => format!("in use by {}", held.join(", ")),
        }
    }
}

/// The list, for people or as one JSON object.
#[must_use]
pub fn list(as_json: bool) -> String {
    let seen: Vec<Seen> = find::connected().into_iter().chain(find::services()).map(Seen::new).collect();
    if as_json { to_json(&seen) } else { to_text(&seen) }
}

fn numbers(found: &Found) -> String {
    match found.bus {
        find::Bus::Service => "service on this machine".into(),
        _ => format!("{:04x}:{:04x}", found.usb.0, found.usb.1),
    }
}

fn to_json(seen: &[Seen]) -> String {
    let one = |seen: &Seen| {
        json!({
            "name": seen.found.name,
            "port": seen.found.node.display().to_string(),
            "bus": seen.found.bus.name(),
            "usb": (seen.found.bus != find::Bus::Service).then(|| numbers(&seen.found)),
            "serial_number": seen.found.serial_number,
            "drivers": seen.found.drivers,
            "device_files": seen.files,
            "permitted": seen.denied.is_none(),
            "remedy": seen.denied,
            "in_use_by": seen.holders,
        })
    };
    json!({ "devices": seen.iter().map(one).collect::<Vec<_>>() }).to_string() + "\n"
}

fn to_text(seen: &[Seen]) -> String {
    let mut out = String::new();
    for seen in seen {
        let Found { name, node, serial_number, drivers, .. } = &seen.found;
        let serial = serial_number.as_deref().map_or_else(String::new, |number| format!(", serial number {number}"));
        let _ = writeln!(out, "{}   {name} ({}{serial})", node.display(), numbers(&seen.found));
        let drivers = if drivers.is_empty() { "none knows it".to_owned() } else { drivers.join(", ") };
        let _ = writeln!(out, "    driver  {drivers}");
        if !seen.files.is_empty() {
            let _ = writeln!(out, "    file    {}", seen.files.join(", "));
        }
        let _ = writeln!(out, "    state   {}", seen.state());
    }
    if seen.is_empty() {
        out.push_str(
            "Nothing is connected that could be a haptic device: look at cable and power. `hapticd emulate` plays one.\n",
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_device_is_listed_with_its_driver_file_and_what_to_do_about_it() {
        let found = |node: &str| Found {
            name: "USB Serial".into(),
            node: PathBuf::from(node),
            bus: find::Bus::Serial,
            usb: (0x16C0, 0x0483),
            serial_number: Some("77".into()),
            drivers: vec!["polhem", "vintage"],
        };
        let seen = [Seen::new(found("/nowhere/ttyACM0"))];
        let text = to_text(&seen);
        for part in ["USB Serial (16c0:0483, serial number 77)", "driver  polhem, vintage", "usermod -aG dialout"] {
            assert!(text.contains(part), "{text}");
        }
        let json: serde_json::Value = serde_json::from_str(&to_json(&seen)).expect("JSON");
        assert_eq!(json["devices"][0]["device_files"], json!(["polhem", "vintage"]));
        assert_eq!(
            (&json["devices"][0]["permitted"], &json["devices"][0]["usb"]),
            (&json!(false), &json!("16c0:0483"))
        );
        // This very file is open to its user, and this program does not count as a holder.
        let mut mine = Seen::new(found("Cargo.toml"));
        assert_eq!(mine.state(), "free");
        mine.holders = vec!["ModemManager (process 7)".into()];
        assert_eq!(mine.state(), "in use by ModemManager (process 7)");
        assert!(to_text(&[]).contains("hapticd emulate"));
    }
}
