//! Files of `src/haptic`, and what of the loop they work with.

#[path = "../../../src/haptic/orders.rs"]
mod orders;
#[path = "../../../src/haptic/signals.rs"]
mod signals;
pub use orders::{Desk, ORDERS_PER_TICK, OrderLinks, orders};
pub use signals::{ControlPulse, HaltSwitch, Heartbeat};

use crate::shared::lifecycle::{Event, Guard, Refusal, State};
use crate::shared::{Answer, Change, Order};
use std::sync::Arc;

/// The part of the haptic loop that orders and halts reach: the tray, the state machine, the throws it has seen.
pub struct HapticState {
    tray: Box<orders::InTray>,
    signals: Arc<signals::Signals>,
    halts: u64,
    tick: u64,
    pub state: State,
}

impl HapticState {
    pub fn new(state: State) -> (Self, HaltSwitch) {
        let signals = Arc::<signals::Signals>::default();
        let switch = HaltSwitch(Arc::clone(&signals));
        (Self { tray: Box::new(orders::InTray::new()), signals, halts: 0, tick: 0, state }, switch)
    }

    pub fn room_for_orders(&self) -> usize {
        self.tray.room()
    }

    pub fn order(&mut self, order: Order) {
        assert!(self.tray.add(order), "an order is lost");
    }

    pub fn answers(&self) -> &[Answer] {
        self.tray.answers()
    }

    /// One tick in the order of `Loop::beat`: halt, orders, answers.
    pub fn beat(&mut self, links: &mut OrderLinks) {
        self.tick += 1;
        let halted = self.signals.halted(&mut self.halts);
        let guard = Guard { homed: true, cause_persists: halted };
        if halted {
            self.state = State::Fault;
        }
        links.bring(self);
        for index in 0..self.tray.begin() {
            let order = *self.tray.order(index);
            let mut outcome = Ok(());
            for change in order.changes() {
                let Change::Event(event) = change else { continue };
                match self.state.next(*event, guard) {
                    Ok(next) => self.state = next,
                    Err(why) => outcome = Err((0, why)),
                }
            }
            self.tray.answer(order.sequence, self.tick, outcome);
        }
        links.answer(self);
    }
}

/// Names that the tests of the files use.
pub type Outcome = Result<Event, Refusal>;
