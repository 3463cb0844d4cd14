//! The daemon of the trials, in a process of its own: this test's own program, started again in another role. The whole loop runs in
//! it: port with guardian, I/O thread, haptic thread, simulation.

use crate::station::Station;
use hapticd::shared::lifecycle::State;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where the daemon's device is.
pub(crate) const ROLE: &str = "HAPTICD_TEST_DAEMON";
/// What device that is.
const WORD: &str = "HAPTICD_TEST_WORD";
/// The devices of the trials: two that know where they are, on a line and behind a service, and two that a hand has to home.
pub(crate) const WORDS: [&str; 4] = ["hapkit", "inverse3", "haply-2dof", "falcon"];

/// Starts the daemon for the device there. Its output is what it has to tell.
pub(crate) fn start(word: &str, path: &Path) -> Child {
    let this = std::env::current_exe().expect("this program");
    Command::new(this)
        .args(["--exact", "trials::the_daemon_of_the_other_tests", "--nocapture", "--test-threads=1"])
        .env(ROLE, path)
        .env(WORD, word)
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .expect("the daemon")
}

/// Lives as the daemon until it is ended from outside.
pub(crate) fn live(path: &Path) {
    let word = std::env::var(WORD).ok().and_then(|word| WORDS.into_iter().find(|known| *known == word));
    let mut station = Station::start(word.expect("a device of the trials"), path);
    let mut told = String::new();
    loop {
        std::thread::sleep(Duration::from_millis(2));
        station.keep_homed();
        let newest = station.newest(|record| {
            let tell = match (record.state, record.cause) {
                (State::Fault, Some(cause)) => format!("fault {}", cause.code()),
                // The whole force is there.
                (State::Enabled, _) if record.gain == 1.0 => "enabled".into(),
                (state, _) => state.name().into(),
            };
            if tell != told {
                println!("{tell}");
            }
            told = tell;
        });
        let Some(record) = newest else { continue };
        // The operator who acknowledges and enables again, whenever that is allowed.
        match record.state {
            State::Fault => station.desk.acknowledge(),
            State::Disabled => station.desk.enable(),
            _ => None,
        };
    }
}
