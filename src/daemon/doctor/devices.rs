//! Haptic devices and graphics: may this user open them, and does the bus delay them.
//!
//! What is connected need not be haptic, so nothing here is worse than advice.

use super::finding::{Finding, Topic};
use super::system::System;

const SERIAL: Topic = Topic {
    id: "serial",
    why: "Most haptic devices are serial ports; one that this user may not open cannot be felt.",
};
const HID: Topic = Topic {
    id: "hid",
    why: "Some haptic devices are raw HID nodes, which belong to root until a udev rule says otherwise.",
};
const POWER: Topic =
    Topic { id: "usb-power", why: "A USB device put to sleep takes tens of milliseconds to answer again." };
const LATENCY: Topic = Topic {
    id: "usb-latency",
    why: "An FTDI chip holds short packets back for this time, 16 ms by default: sixteen ticks without a new position.",
};
const GPU: Topic = Topic {
    id: "gpu",
    why: "Contact models may run on the graphics processor; without one they run on the main processors.",
};

/// File for udev rules of one's own. A 70-hapticd.rules there would hide the installed one.
const RULES: &str = "/etc/udev/rules.d/71-hapticd-local.rules";
/// Makes udev read its rules again and apply them to what is connected.
const RELOAD: &str = "`sudo udevadm control --reload && sudo udevadm trigger`";
/// Longest time an FTDI chip may hold a packet, ms: one tick, and the least the chip offers.
const LATENCY_MAX_MS: u32 = 1;

/// How to get the right to a node: by its group where it has one that may use it, else by `rule`.
fn permit(system: &System, path: &str, rule: &str, group: &str) -> String {
    let node = system.node(path).filter(|node| node.mode & 0o060 == 0o060 && node.gid != 0);
    let Some(node) = node else {
        return format!(
            "the line `{rule}` in {RULES}, {RELOAD}, `sudo groupadd -f {group} && sudo usermod -aG {group} \"$USER\"`, log \
             in again"
        );
    };
    let joined = system.identity().is_some_and(|me| !me.gids.contains(&node.gid) && system.is_member(me.uid, node.gid));
    let group = system.group_name(node.gid).unwrap_or_else(|| node.gid.to_string());
    if joined {
        format!("log out and in again: the group {group} counts from the next login on")
    } else {
        format!("`sudo usermod -aG {group} \"$USER\"`, log in again")
    }
}

/// Serial ports.
pub(super) fn serial(system: &System) -> Finding {
    let mut ports = Vec::new();
    for prefix in ["ttyACM", "ttyUSB"] {
        match system.list("/dev", prefix) {
            Ok(names) => ports.extend(names),
            Err(unread) => return SERIAL.unread(&unread),
        }
    }
    if ports.is_empty() {
        return SERIAL.fit("none connected");
    }
    let denied: Vec<&String> = ports.iter().filter(|port| !system.may_use(&format!("/dev/{port}"))).collect();
    let Some(first) = denied.first() else {
        return SERIAL.fit(format!("{} may be opened", ports.join(", ")));
    };
    let rule = "SUBSYSTEM==\"tty\", KERNEL==\"ttyACM*|ttyUSB*\", MODE=\"0660\", GROUP=\"dialout\", TAG+=\"uaccess\"";
    let names: Vec<&str> = denied.iter().map(|port| port.as_str()).collect();
    SERIAL.advice(
        format!("{} may not be opened by this user", names.join(", ")),
        permit(system, &format!("/dev/{first}"), rule, "dialout"),
    )
}

/// A raw HID node.
struct HidNode {
    path: String,
    label: String,
    /// Vendor and product as udev writes them.
    ids: Option<(String, String)>,
}

/// Raw HID nodes that are no keyboard, mouse or the like: those the kernel's input layer has taken.
fn hid_nodes(system: &System, names: &[String]) -> Vec<HidNode> {
    let others = names.iter().filter(|name| !system.exists(&format!("/sys/class/hidraw/{name}/device/input")));
    others
        .map(|name| {
            let facts = system.read(&format!("/sys/class/hidraw/{name}/device/uevent")).unwrap_or_default();
            let fact = |key: &str| facts.lines().find_map(|line| line.strip_prefix(key));
            // HID_ID is bus:vendor:product, the last two with eight digits.
            let digits = |part: &str| part.get(part.len().checked_sub(4)?..).map(str::to_lowercase);
            let ids = fact("HID_ID=").and_then(|id| {
                let mut parts = id.split(':').skip(1);
                Some((digits(parts.next()?)?, digits(parts.next()?)?))
            });
            let label = fact("HID_NAME=").map_or_else(|| name.clone(), |title| format!("{name} ({title})"));
            HidNode { path: format!("/dev/{name}"), label, ids }
        })
        .collect()
}

/// Raw HID nodes.
pub(super) fn hid(system: &System) -> Finding {
    let names = match system.list("/dev", "hidraw") {
        Ok(names) => names,
        Err(unread) => return HID.unread(&unread),
    };
    let nodes = hid_nodes(system, &names);
    if nodes.is_empty() {
        return HID.fit(if names.is_empty() { "none connected" } else { "only keyboards, mice and the like" });
    }
    let denied: Vec<&HidNode> = nodes.iter().filter(|node| !system.may_use(&node.path)).collect();
    let labels =
        |nodes: &mut dyn Iterator<Item = &HidNode>| nodes.map(|node| node.label.clone()).collect::<Vec<_>>().join(", ");
    let Some(first) = denied.first() else {
        return HID.fit(format!("{} may be opened", labels(&mut nodes.iter())));
    };
    // By its numbers: a rule for all nodes would let every program read the keyboard.
    let (vendor, product) = first.ids.clone().unwrap_or_else(|| ("VVVV".into(), "PPPP".into()));
    let rule = format!(
        "SUBSYSTEM==\"hidraw\", ATTRS{{idVendor}}==\"{vendor}\", ATTRS{{idProduct}}==\"{product}\", MODE=\"0660\", \
         GROUP=\"plugdev\", TAG+=\"uaccess\""
    );
    let mend = permit(system, &first.path, &rule, "plugdev");
    let mend = format!("if {} is the haptic device: {mend}", first.label);
    HID.advice(format!("{} may not be opened by this user", labels(&mut denied.iter().copied())), mend)
}

/// USB devices with an interface that a haptic device could have, and that the kernel may put to sleep.
fn sleepers(system: &System, names: &[String]) -> Vec<String> {
    const DIR: &str = "/sys/bus/usb/devices";
    let interfaces = |device: &str| {
        let prefix = format!("{device}:");
        names.iter().filter(move |name| name.starts_with(&prefix))
    };
    let could_be_haptic = |interface: &String| {
        let fact = |name: &str| system.read(&format!("{DIR}/{interface}/{name}")).unwrap_or_default();
        match fact("bInterfaceClass").as_str() {
            // Communication: a serial port of the standard kind.
            "02" => true,
            // HID; protocols 1 and 2 are keyboards and mice.
            "03" => !matches!(fact("bInterfaceProtocol").as_str(), "01" | "02"),
            // The vendor's own kind: only if a serial driver has taken it.
            "ff" => system.list(&format!("{DIR}/{interface}"), "ttyUSB").is_ok_and(|ports| !ports.is_empty()),
            _ => false,
        }
    };
    let devices = names.iter().filter(|name| !name.contains(':'));
    devices
        .filter(|device| interfaces(device).any(could_be_haptic))
        .filter(|device| system.read(&format!("{DIR}/{device}/power/control")).is_ok_and(|control| control == "auto"))
        .cloned()
        .collect()
}

/// Whether the kernel may put a device to sleep.
pub(super) fn usb_power(system: &System) -> Finding {
    let names = match system.list("/sys/bus/usb/devices", "") {
        Ok(names) => names,
        Err(unread) if unread.absent && system.exists("/sys/bus") => return POWER.fit("there is no USB here"),
        Err(unread) => return POWER.unread(&unread),
    };
    let sleepers = sleepers(system, &names);
    let Some(first) = sleepers.first() else {
        return POWER.fit("no serial or HID device may be put to sleep");
    };
    let fact = |name: &str| system.read(&format!("/sys/bus/usb/devices/{first}/{name}")).unwrap_or_default();
    let now: Vec<String> = sleepers
        .iter()
        .map(|device| format!("`echo on | sudo tee /sys/bus/usb/devices/{device}/power/control`"))
        .collect();
    POWER.advice(
        format!("{} may be put to sleep ({})", sleepers.join(", "), fact("product")).replace(" ()", ""),
        format!(
            "{}; to keep it, the line `ACTION==\"add\", SUBSYSTEM==\"usb\", ATTR{{idVendor}}==\"{}\", \
             ATTR{{idProduct}}==\"{}\", ATTR{{power/control}}=\"on\"` in {RULES}",
            now.join(" and "),
            fact("idVendor"),
            fact("idProduct")
        ),
    )
}

/// How long FTDI chips hold short packets back.
pub(super) fn usb_latency(system: &System) -> Finding {
    const DIR: &str = "/sys/bus/usb-serial/devices";
    let ports = match system.list(DIR, "") {
        Ok(ports) => ports,
        Err(unread) if unread.absent && system.exists("/sys/bus") => return LATENCY.fit("no USB serial port"),
        Err(unread) => return LATENCY.unread(&unread),
    };
    let mut slow = Vec::new();
    let mut timed = Vec::new();
    for port in &ports {
        match system.number::<u32>(&format!("{DIR}/{port}/latency_timer")) {
            Ok(ms) if ms > LATENCY_MAX_MS => slow.push((port, ms)),
            Ok(ms) => timed.push(format!("{port} {ms} ms")),
            // Only FTDI chips have it.
            Err(unread) if unread.absent => {}
            Err(unread) => return LATENCY.unread(&unread),
        }
    }
    if slow.is_empty() {
        return LATENCY.fit(if timed.is_empty() { "no FTDI port".to_owned() } else { timed.join(", ") });
    }
    let seen: Vec<String> = slow.iter().map(|(port, ms)| format!("{port} {ms} ms")).collect();
    let now: Vec<String> =
        slow.iter().map(|(port, _)| format!("`echo 1 | sudo tee {DIR}/{port}/latency_timer`")).collect();
    LATENCY.advice(
        seen.join(", "),
        format!(
            "{}; to keep it, the line `ACTION==\"add\", SUBSYSTEM==\"usb-serial\", DRIVER==\"ftdi_sio\", \
             ATTR{{latency_timer}}=\"1\"` in {RULES}",
            now.join(" and ")
        ),
    )
}

/// Which render nodes exist and may be used.
pub(super) fn gpu(system: &System) -> Finding {
    let nodes = match system.list("/dev/dri", "renderD") {
        Ok(nodes) => nodes,
        Err(unread) if unread.absent && system.exists("/dev") => Vec::new(),
        Err(unread) => return GPU.unread(&unread),
    };
    if nodes.is_empty() {
        return GPU.fit("no render node: contact models run on the main processors");
    }
    let path = |node: &String| format!("/dev/dri/{node}");
    match nodes.iter().find(|node| !system.may_use(&path(node))) {
        None => GPU.fit(format!("{} may be used", nodes.join(", "))),
        Some(denied) => {
            let rule = "SUBSYSTEM==\"drm\", KERNEL==\"renderD*\", GROUP=\"render\", MODE=\"0660\"";
            let mend = permit(system, &path(denied), rule, "render");
            GPU.advice(format!("{denied} may not be used by this user"), mend)
        }
    }
}

#[cfg(test)]
#[path = "devices_tests.rs"]
mod tests;
