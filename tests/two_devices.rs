//! Two operators, each with a device, a loop and a guardian of their own, in one program: neither feels what the other touches.

#[path = "common/played.rs"]
mod played;
#[path = "common/station.rs"]
mod station;
#[path = "common/wired.rs"]
mod wired;

use hapticd::shared::NS_PER_S;
use hapticd::shared::lifecycle::State;
use played::{Played, now};
use station::Station;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);
/// For how long each of the two presses, s.
const PRESS_S: f64 = 1.0;

/// An operator: device, loop, and whether the hand should press.
struct Place {
    device: Played,
    station: Station,
    presses: bool,
}

impl Place {
    /// Presses while the loop gives force; enables it whenever that is allowed.
    fn attend(&mut self) {
        self.station.keep_homed();
        let Some(record) = self.station.newest(|_| ()) else { return };
        match record.state {
            State::Fault => self.station.desk.acknowledge(),
            State::Disabled => self.station.desk.enable(),
            _ => None,
        };
        // A ramp begins only where nothing is touched.
        self.device.press(self.presses && record.state == State::Enabled && record.gain == 1.0);
    }
}

/// Lets time pass until `done`, both loops being attended.
fn until(what: &str, places: &mut [Place; 2], mut done: impl FnMut(&[Place; 2]) -> bool) {
    let began = Instant::now();
    while !done(places) {
        assert!(began.elapsed() < PATIENCE, "never {what}");
        std::thread::sleep(Duration::from_millis(2));
        places.iter_mut().for_each(Place::attend);
    }
}

#[test]
fn two_devices_have_their_own_forces_and_both_loops_keep_their_time() {
    let mut places = ["hapkit", "hapkit"].map(|word| {
        let device = Played::start(word);
        let station = Station::start(word, &device.path);
        Place { device, station, presses: false }
    });
    let began = now();
    let mut other_n = 0.0_f64;
    for round in 0..4 {
        let (pressing, free) = (round % 2, 1 - round % 2);
        (places[pressing].presses, places[free].presses) = (true, false);
        let mut calm = now();
        until("free", &mut places, |places| {
            if places[free].device.force_n() > 0.05 {
                calm = now();
            }
            now().since(calm) > NS_PER_S / 4
        });
        until("pushed", &mut places, |places| places[pressing].device.force_n() > 1.0);
        let since = now();
        until("held", &mut places, |places| {
            // Where nothing is touched there is nothing but the coupling's damping while the handle moves.
            other_n = other_n.max(places[free].device.force_n());
            now().since(since) as f64 > PRESS_S * NS_PER_S as f64
        });
    }
    let seconds = now().since(began) as f64 / NS_PER_S as f64;
    println!("the one pressed with more than 1 N for {PRESS_S} s, the other felt at most {other_n} N");
    assert!(other_n < 0.1, "{other_n} N of the other's force");
    for (name, Place { device, station, .. }) in ["first", "second"].into_iter().zip(places) {
        device.press(false);
        let figures = station.haptic.stop().expect("it did not panic");
        let slots = (figures.ticks + figures.skipped) as f64;
        println!(
            "{name}: {} ticks in {seconds:.1} s, {} skipped, late p50 {} p99 {} max {} us, {} unheard",
            figures.ticks,
            figures.skipped,
            figures.lateness.p50_ns / 1000,
            figures.lateness.p99_ns / 1000,
            figures.lateness.max_ns / 1000,
            figures.unheard
        );
        // The grid of ticks is kept whatever the machine does: a slot that was missed is counted, not made up for.
        assert!(slots >= seconds * 1000.0 - 5.0, "{name}: {slots} slots in {seconds} s");
    }
}
