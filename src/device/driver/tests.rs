//! Small parts of the drivers; the drivers themselves are tested against the emulators.

use super::events::Events;
use super::*;

#[test]
fn motor_commands_that_do_not_fit_shrink_together() {
    assert_eq!(fitted([3.0, -6.0, 0.0], 4.0), [2.0, -4.0, 0.0]);
    assert_eq!(fitted([3.0, -1.0], 4.0), [3.0, -1.0]);
    assert_eq!(fitted([f64::NAN, 1.0], 4.0), [0.0, 0.0]);
}

#[test]
fn the_newest_events_are_kept_in_order() {
    let mut events = Events::default();
    for index in 0..40 {
        events.push(MonoNs(index), DriverEventKind::Back);
    }
    let times: Vec<u64> = std::iter::from_fn(|| events.pop()).map(|event| event.at.0).collect();
    assert_eq!(times, (8..40).collect::<Vec<_>>());
}
