//! The wall between threads and to the guardians, in every order of reads and writes up to a number of pre-emptions.

#![cfg(not(feature = "threads"))]

use loom::thread;
use std::sync::Arc;
use wall::guardian::{Act, LOOK_NS, Sight, Watch};
use wall::haptic::{HapticState, orders};
use wall::model::follow;
use wall::shared::lifecycle::{Event, State};
use wall::shared::{Change, MonoNs, PulseWords, latest, ring};

/// Runs `body` in every order, with so many pre-emptions at most.
fn in_every_order(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        follow();
        body();
    });
}

#[test]
fn a_reader_of_the_newest_value_sees_whole_values_that_never_grow_older() {
    in_every_order(3, || {
        let (mut writer, mut reader) = latest([0_u64; 2]);
        let theirs = thread::spawn(move || {
            writer.publish([1; 2]);
            // As snapshots are: built in the buffer, which holds an older value.
            *writer.buffer() = [2; 2];
            writer.publish_in_place();
        });
        let mut last = 0;
        for _ in 0..2 {
            let new = reader.read_if_new().copied();
            let [first, second] = *reader.current();
            assert!(first == second && first >= last && new.is_none_or(|new| new[0] > last));
            last = first;
        }
        theirs.join().expect("no panic");
        assert_eq!(*reader.read(), [2; 2], "the newest is there when the writer has gone");
    });
}

#[test]
fn a_ring_gives_what_was_pushed_once_and_in_order_and_counts_what_it_lost() {
    in_every_order(3, || {
        let (mut writer, mut reader) = ring(2);
        let theirs = thread::spawn(move || {
            (1..=3_u64).for_each(|value| writer.push(value));
            writer.dropped()
        });
        let mut got: Vec<u64> = reader.drain().collect();
        got.extend(reader.drain());
        let dropped = theirs.join().expect("no panic");
        got.extend(reader.drain());
        assert!(got.is_sorted() && got.len() as u64 + dropped == 3 && got[0] == 1, "{got:?}, {dropped} lost");
        assert!(reader.is_abandoned());
    });
}

#[test]
fn every_order_is_carried_out_once_and_answered_once_in_order() {
    in_every_order(3, || {
        let (mut desk, mut links) = orders(1);
        let theirs = thread::spawn(move || {
            let (mut state, _switch) = HapticState::new(State::Disabled);
            state.beat(&mut links);
            state.beat(&mut links);
            (state, links)
        });
        // With room for one order the second may be refused at the desk; it is never lost on the way.
        let mut sent: Vec<u64> = [desk.enable(), desk.pause()].into_iter().flatten().collect();
        let mut settled: Vec<_> = desk.settled().collect();
        sent.extend(desk.disable());
        let (mut state, mut links) = theirs.join().expect("no panic");
        for _ in 0..3 {
            settled.extend(desk.settled());
            state.beat(&mut links);
        }
        settled.extend(desk.settled());
        let answered: Vec<u64> = settled.iter().map(|(answer, _)| answer.sequence).collect();
        assert_eq!(answered, sent);
        assert!(settled.iter().all(|(answer, order)| answer.sequence == order.sequence));
        assert!(settled.windows(2).all(|pair| pair[0].0.tick <= pair[1].0.tick));
    });
}

#[test]
fn no_halt_is_lost_to_an_acknowledgement_that_meets_it() {
    in_every_order(3, || {
        let (mut desk, mut links) = orders(4);
        // An older fault is acknowledged while somebody halts.
        let (mut state, switch) = HapticState::new(State::Fault);
        let other = switch.clone();
        let throws = [switch, other].map(|switch| thread::spawn(move || switch.throw()));
        desk.send(&[Change::Event(Event::Acknowledge), Change::Event(Event::Enable)]);
        state.beat(&mut links);
        state.beat(&mut links);
        throws.into_iter().for_each(|throw| throw.join().expect("no panic"));
        // Thrown before the acknowledgement, with it or after it: the next tick at the latest is in FAULT.
        state.beat(&mut links);
        assert_eq!(state.state, State::Fault);
    });
}

#[test]
fn whoever_sees_that_a_guardian_is_content_sees_the_fault_that_was_latched_for_it() {
    in_every_order(3, || {
        let words = Arc::new(PulseWords::default());
        // What the daemon has done about it, read and written without an order of its own.
        let latched = Arc::new(loom::sync::atomic::AtomicBool::new(false));
        words.arm(true);
        let (daemon_words, daemon_latched) = (Arc::clone(&words), Arc::clone(&latched));
        let daemon = thread::spawn(move || {
            // It goes on after a stall: beats, finds that it was silenced, latches, takes note.
            for _ in 0..2 {
                daemon_words.beat();
                if daemon_words.silenced() {
                    daemon_latched.store(true, loom::sync::atomic::Ordering::Relaxed);
                    daemon_words.heed();
                }
            }
        });
        let mut watch = Watch::new(MonoNs(0));
        let (mut now, mut stepped_in) = (MonoNs(0), false);
        // Each look counts for 4 ms at most, and 12 ms without a beat are the daemon's end.
        for _ in 0..5 {
            now = now.plus(3 * LOOK_NS);
            words.look();
            let sight = Sight {
                beats: words.beats(),
                armed: words.armed(),
                alive: true,
                finished: words.finished(),
                unheeded: words.silenced(),
            };
            match watch.look(now, sight) {
                Act::StepIn => {
                    assert!(!stepped_in || latched.load(loom::sync::atomic::Ordering::Relaxed), "twice for one stall");
                    stepped_in = true;
                    words.step_in();
                }
                Act::Look if stepped_in => {
                    assert!(latched.load(loom::sync::atomic::Ordering::Relaxed), "content before a fault was latched");
                }
                Act::End => panic!("the daemon lives"),
                Act::Look | Act::Silence => {}
            }
        }
        daemon.join().expect("no panic");
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn the_checker_finds_memory_that_is_handed_over_without_an_order() {
    in_every_order(2, || {
        let cell = Arc::new(Unordered(wall::model::UnsafeCell::new(0_u64)));
        let theirs = Arc::clone(&cell);
        let thread = thread::spawn(move || theirs.get());
        cell.get();
        thread.join().expect("no panic");
    });
}

/// Shared as a careless ring would share it.
struct Unordered(wall::model::UnsafeCell<u64>);
// SAFETY: nobody dereferences what `get` gives.
unsafe impl Send for Unordered {}
// SAFETY: as above.
unsafe impl Sync for Unordered {}

impl Unordered {
    fn get(&self) {
        self.0.get();
    }
}
