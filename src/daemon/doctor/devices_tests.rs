//! Findings about devices, on made-up systems.

use super::super::Verdict;
use super::super::fixture::Fixture;
use super::super::system::Node;
use super::*;

#[test]
fn devices_that_may_be_opened_are_fit_and_so_is_having_none() {
    let system = Fixture::lab_pc();
    for finding in [serial, hid, usb_power, usb_latency, gpu].map(|check| check(&system.system())) {
        assert_eq!(finding.verdict, Verdict::Fit, "{finding:?}");
    }
    let bare = Fixture::empty().with("/dev/null", "").with("/sys/bus/pci/x", "");
    for finding in [serial, hid, usb_power, usb_latency, gpu].map(|check| check(&bare.system())) {
        assert_eq!(finding.verdict, Verdict::Fit, "{finding:?}");
    }
}

#[test]
fn a_denied_port_is_named_with_the_rule_that_opens_it() {
    let fixture = Fixture::lab_pc().with("/dev/ttyACM1", "").where_usable(|path| !path.ends_with("ttyACM1"));
    let finding = serial(&fixture.system());
    assert_eq!(finding.verdict, Verdict::Advice);
    assert_eq!(finding.seen, "ttyACM1 may not be opened by this user");
    let mend = finding.mend.expect("advice");
    assert!(mend.contains("GROUP=\"dialout\"") && mend.contains("udevadm control --reload"), "{mend}");
}

#[test]
fn a_node_with_a_group_is_opened_by_joining_it_and_by_a_new_login_once_joined() {
    let outside = Fixture::lab_pc()
        .with("/etc/passwd", "ann:x:1000:1000::/:/bin/sh\n")
        .with("/etc/group", "dialout:x:986:bob\n")
        .with_nodes(|_| Some(Node { mode: 0o020_660, gid: 986 }))
        .where_usable(|path| !path.ends_with("ttyUSB0"));
    let mend = |fixture: &Fixture| serial(&fixture.system()).mend.expect("advice");
    assert_eq!(mend(&outside), "`sudo usermod -aG dialout \"$USER\"`, log in again");
    let joined = outside.with("/etc/group", "dialout:x:986:bob,ann\n");
    assert!(mend(&joined).starts_with("log out and in again"), "{}", mend(&joined));
    // A group that has no name here is named by its number; one that may only read is no way in.
    assert_eq!(mend(&joined.with("/etc/group", "")), "`sudo usermod -aG 986 \"$USER\"`, log in again");
    let read_only = Fixture::lab_pc()
        .with_nodes(|_| Some(Node { mode: 0o020_640, gid: 986 }))
        .where_usable(|path| !path.ends_with("ttyUSB0"));
    assert!(mend(&read_only).contains("udevadm"), "{}", mend(&read_only));
}

#[test]
fn a_denied_hid_node_gets_a_rule_for_its_own_numbers_and_keyboards_are_left_alone() {
    let fixture = Fixture::lab_pc()
        .with("/dev/hidraw1", "")
        .with("/sys/class/hidraw/hidraw1/device/uevent", "HID_NAME=Keyboard\nHID_ID=0003:0000046D:0000C31C\n")
        .with("/sys/class/hidraw/hidraw1/device/input/input7/name", "Keyboard")
        .where_usable(|_| false);
    let finding = hid(&fixture.system());
    assert_eq!(finding.seen, "hidraw0 (Lab Handle) may not be opened by this user");
    let mend = finding.mend.expect("advice");
    assert!(mend.contains("ATTRS{idVendor}==\"1209\", ATTRS{idProduct}==\"ab01\""), "{mend}");
    assert!(!mend.contains("046d"), "{mend}");
    let keyboard_only = fixture.without("/dev/hidraw0");
    assert_eq!(hid(&keyboard_only.system()).verdict, Verdict::Fit);
}

#[test]
fn a_hid_node_without_readable_facts_is_still_reported() {
    for facts in ["", "HID_ID=\nHID_NAME=\n", "HID_ID=0003:1:2\n", "HID_ID=0003:µµµ:µµµ\n"] {
        let fixture = Fixture::lab_pc().with("/sys/class/hidraw/hidraw0/device/uevent", facts).where_usable(|_| false);
        assert_eq!(hid(&fixture.system()).verdict, Verdict::Advice, "{facts:?}");
    }
}

#[test]
fn only_what_could_be_haptic_is_kept_awake() {
    let dir = "/sys/bus/usb/devices";
    let auto = Fixture::lab_pc()
        .with(&format!("{dir}/1-2/power/control"), "auto\n")
        .with(&format!("{dir}/1-2/product"), "FT232R\n");
    let finding = usb_power(&auto.system());
    assert_eq!((finding.verdict, finding.seen.as_str()), (Verdict::Advice, "1-2 may be put to sleep (FT232R)"));
    let mend = finding.mend.expect("advice");
    assert!(mend.contains("devices/1-2/power/control") && mend.contains("ATTR{idVendor}==\"0403\""), "{mend}");

    let interface = |class: &str, protocol: &str| {
        let fixture = Fixture::lab_pc()
            .without(&format!("{dir}/1-2:1.0"))
            .with(&format!("{dir}/1-2/power/control"), "auto\n")
            .with(&format!("{dir}/1-2:1.0/bInterfaceClass"), class)
            .with(&format!("{dir}/1-2:1.0/bInterfaceProtocol"), protocol);
        usb_power(&fixture.system()).verdict
    };
    assert_eq!(interface("02", "01"), Verdict::Advice, "serial");
    assert_eq!(interface("03", "00"), Verdict::Advice, "HID of the vendor's own kind");
    assert_eq!(interface("03", "01"), Verdict::Fit, "keyboard");
    assert_eq!(interface("03", "02"), Verdict::Fit, "mouse");
    assert_eq!(interface("08", "50"), Verdict::Fit, "disk");
    assert_eq!(interface("ff", "00"), Verdict::Fit, "vendor's kind without a serial driver");
}

#[test]
fn a_device_is_not_taken_for_another_whose_name_begins_alike() {
    let dir = "/sys/bus/usb/devices";
    // 1-21 is a disk that may sleep; the port belongs to 1-2, which may not.
    let fixture = Fixture::lab_pc()
        .with(&format!("{dir}/1-21/power/control"), "auto\n")
        .with(&format!("{dir}/1-21:1.0/bInterfaceClass"), "08\n");
    assert_eq!(usb_power(&fixture.system()).verdict, Verdict::Fit);
}

#[test]
fn a_chip_that_holds_packets_back_is_told_to_stop() {
    let timer = "/sys/bus/usb-serial/devices/ttyUSB0/latency_timer";
    let fixture = Fixture::lab_pc().with(timer, "16\n").with("/sys/bus/usb-serial/devices/ttyUSB1/port_number", "0");
    let finding = usb_latency(&fixture.system());
    assert_eq!((finding.verdict, finding.seen.as_str()), (Verdict::Advice, "ttyUSB0 16 ms"));
    assert!(finding.mend.expect("advice").starts_with(&format!("`echo 1 | sudo tee {timer}`")));
    assert_eq!(usb_latency(&fixture.with(timer, "1\n").system()).seen, "ttyUSB0 1 ms");
    let garbled = Fixture::lab_pc().with(timer, "soon\n");
    assert!(usb_latency(&garbled.system()).seen.contains("could not be read"));
}

#[test]
fn a_render_node_that_may_not_be_used_is_advice() {
    let fixture = Fixture::lab_pc().where_usable(|path| !path.ends_with("renderD128"));
    let finding = gpu(&fixture.system());
    assert_eq!((finding.verdict, finding.seen.as_str()), (Verdict::Advice, "renderD128 may not be used by this user"));
}
