//! The service with a real device: homing over OSC, another scene without homing again, unplugging, coming back.

use crate::daemon::{Daemon, Place, wait};
use crate::emulator::Emulator;
use rosc::OscType;

#[test]
fn a_device_is_homed_kept_over_scenes_lost_and_found_again() {
    let place = Place::new("real");
    let mut emulator = Emulator::start("polhem", &[]);
    let port = emulator.port.display().to_string();
    let daemon = Daemon::start(
        &place.config(""),
        &["--scene", "virtual_wall", "--device", "polhem", "--device-port", port.as_str()],
    );
    let device = || daemon.get_text("/hapticd/device/state");
    let is = |wanted: &str| wait(wanted, || device().contains(wanted), || daemon.log());
    // A stall of the machine may have latched a fault on the way; it is acknowledged and says nothing of the device.
    let disabled = || {
        wait(
            "DISABLED",
            || {
                let state = daemon.get_text("/hapticd/state");
                if state == "FAULT" {
                    let _ = daemon.try_do("/hapticd/fault/ack", &[]);
                }
                state == "DISABLED"
            },
            || daemon.log(),
        );
    };
    // 1 it answers and asks to be homed; forces are refused until then
    is("rest position");
    disabled();
    let (_, said) = daemon.try_do("/hapticd/start", &[]).expect_err("it is not homed");
    assert!(said.contains("home it first"), "{said}");
    let home = || wait("homing", || daemon.try_do("/hapticd/device/home", &[]).is_ok(), || daemon.log());
    home();
    is("ready");
    // 2 another scene on the same device: it stays homed, and nothing was lost
    daemon.must_do("/hapticd/scene/load", &[OscType::String("virtual_wall".into())]);
    assert_eq!(device(), "ready");
    // 3 the cable is pulled
    disabled();
    emulator.order("unplug");
    is("not connected");
    daemon.wait_for_state("FAULT");
    daemon.wait_for_log("F04 device-lost");
    // 4 and put back: it must be homed again
    emulator.order("plug");
    is("rest position");
    disabled();
    assert!(daemon.try_do("/hapticd/start", &[]).is_err(), "it is not homed");
    home();
    is("ready");
    assert_eq!(emulator.end(), 0.0, "no force was asked for");
}
