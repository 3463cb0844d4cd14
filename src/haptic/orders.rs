//! The way of orders to the tick and of its answers back: a desk that writes them, links that bring them.
//!
//! Thread: [`Desk`] any one, not real-time; [`OrderLinks`] and [`InTray`] haptic (RT).
//!
//! A tick takes a bounded number of orders, and only as many as their answers have room for: an order waits rather than go
//! unanswered. `halt` does not come this way.

use super::HapticState;
use crate::shared::lifecycle::{Event, Refusal};
use crate::shared::{Answer, Change, Order, RingReader, RingWriter, ring};

/// Most orders that one tick takes.
pub const ORDERS_PER_TICK: usize = 8;

/// Where orders are written and answers come back.
pub struct Desk {
    orders: RingWriter<Order>,
    answers: RingReader<Answer>,
    /// Orders that wait for their answers, as they were sent.
    sent: (RingWriter<Order>, RingReader<Order>),
    sequence: u64,
}

/// The haptic thread's ends.
pub struct OrderLinks {
    /// Orders, in the order they were sent.
    pub orders: RingReader<Order>,
    /// An answer to each.
    pub answers: RingWriter<Answer>,
}

/// A desk and the links it sends through, with room for `capacity` orders on their way and as many answers.
#[must_use]
pub fn orders(capacity: usize) -> (Desk, OrderLinks) {
    let (order_writer, orders) = ring(capacity);
    let (answers, answer_reader) = ring(capacity);
    // On their way there, with the tick, and on their way back.
    let sent = ring(2 * capacity + ORDERS_PER_TICK);
    (Desk { orders: order_writer, answers: answer_reader, sent, sequence: 0 }, OrderLinks { orders, answers })
}

impl Desk {
    /// Sends an order of these changes; gives its sequence, by which its answer is known. `None`, and nothing sent, when
    /// there are more changes than fit in one order or more orders under way than fit in the ring.
    pub fn send(&mut self, changes: &[Change]) -> Option<u64> {
        let order = Order::new(self.sequence + 1, changes)?;
        if self.orders.room() == 0 {
            return None;
        }
        self.sequence += 1;
        self.sent.0.push(order);
        self.orders.push(order);
        Some(self.sequence)
    }

    /// Sends an order of one event.
    pub fn event(&mut self, event: Event) -> Option<u64> {
        self.send(&[Change::Event(event)])
    }

    /// Asks for forces.
    pub fn enable(&mut self) -> Option<u64> {
        self.event(Event::Enable)
    }

    /// Ends forces.
    pub fn disable(&mut self) -> Option<u64> {
        self.event(Event::Disable)
    }

    /// Forces off for a moment.
    pub fn pause(&mut self) -> Option<u64> {
        self.event(Event::Pause)
    }

    /// Forces on again.
    pub fn resume(&mut self) -> Option<u64> {
        self.event(Event::Resume)
    }

    /// Says that the fault has been seen.
    pub fn acknowledge(&mut self) -> Option<u64> {
        self.event(Event::Acknowledge)
    }

    /// Takes the answers that have come, in the order of the orders.
    pub fn answers(&mut self) -> impl Iterator<Item = Answer> + '_ {
        self.settled().map(|(answer, _)| answer)
    }

    /// The same, each with the order it answers.
    pub fn settled(&mut self) -> impl Iterator<Item = (Answer, Order)> + '_ {
        // Answers come in the order of the orders, one for each.
        self.answers.drain().zip(self.sent.1.drain())
    }
}

impl OrderLinks {
    /// Puts what has come into the tick's tray.
    pub fn bring(&mut self, state: &mut HapticState) {
        // Nobody waits for answers whose reader is gone; they are dropped and orders go on.
        let room = if self.answers.is_abandoned() { ORDERS_PER_TICK } else { self.answers.room() };
        for order in self.orders.drain().take(room.min(state.room_for_orders())) {
            state.order(order);
        }
    }

    /// Sends the answers of the tick that has just been done.
    pub fn answer(&mut self, state: &HapticState) {
        for answer in state.answers() {
            self.answers.push(*answer);
        }
    }
}

/// Orders for the coming tick, and the answers of the one that is done.
#[derive(Clone, Copy)]
pub(super) struct InTray {
    orders: [Order; ORDERS_PER_TICK],
    count: usize,
    answers: [Answer; ORDERS_PER_TICK],
    answered: usize,
}

impl InTray {
    pub(super) fn new() -> Self {
        let none = Answer { sequence: 0, tick: 0, outcome: Ok(()) };
        Self {
            orders: [Order::of(0, Event::Disable); ORDERS_PER_TICK],
            count: 0,
            answers: [none; ORDERS_PER_TICK],
            answered: 0,
        }
    }

    pub(super) fn room(&self) -> usize {
        ORDERS_PER_TICK - self.count
    }

    /// Adds an order; false when the tray is full.
    pub(super) fn add(&mut self, order: Order) -> bool {
        let Some(place) = self.orders.get_mut(self.count) else { return false };
        *place = order;
        self.count += 1;
        true
    }

    /// Forgets the answers of the tick before; gives how many orders wait.
    pub(super) fn begin(&mut self) -> usize {
        self.answered = 0;
        std::mem::take(&mut self.count)
    }

    pub(super) fn order(&self, index: usize) -> &Order {
        &self.orders[index]
    }

    pub(super) fn answer(&mut self, sequence: u64, tick: u64, outcome: Result<(), (usize, Refusal)>) {
        if let Some(place) = self.answers.get_mut(self.answered) {
            *place = Answer { sequence, tick, outcome };
            self.answered += 1;
        }
    }

    pub(super) fn answers(&self) -> &[Answer] {
        &self.answers[..self.answered]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::MAX_CHANGES;

    #[test]
    fn a_full_ring_refuses_an_order_at_the_desk_instead_of_losing_it() {
        let (mut desk, mut links) = orders(2);
        assert_eq!((desk.enable(), desk.pause(), desk.resume()), (Some(1), Some(2), None));
        assert_eq!(desk.send(&[Change::Event(Event::Pause); MAX_CHANGES + 1]), None);
        let sent: Vec<u64> = links.orders.drain().map(|order| order.sequence).collect();
        assert_eq!((sent, desk.disable()), (vec![1, 2], Some(3)));
    }

    #[test]
    fn a_tray_takes_eight_orders_and_gives_each_answer_once() {
        let mut tray = InTray::new();
        assert!((1..=8).all(|n| tray.add(Order::of(n, Event::Pause))) && !tray.add(Order::of(9, Event::Pause)));
        assert_eq!((tray.begin(), tray.order(7).sequence), (8, 8));
        tray.answer(1, 5, Ok(()));
        assert_eq!(tray.answers().len(), 1);
        assert_eq!((tray.begin(), tray.answers().len()), (0, 0));
    }
}
