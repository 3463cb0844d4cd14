//! A pipe in memory: both ends of a line without any system in between, for tests in virtual time or on threads.
//!
//! Thread: any.

#![expect(clippy::disallowed_types, reason = "a stand-in for a port, never used with a real device")]

use super::{Bell, Port, PortFault, wait_readable};
use crate::device::wire::LineOrder;
use crate::shared::MonoNs;
use rustix::fd::AsFd as _;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Messages that can be under way in one direction.
const UNDER_WAY: usize = 64;

#[derive(Debug, Default)]
struct Shared {
    /// Messages to each end.
    messages: [VecDeque<Vec<u8>>; 2],
    orders: VecDeque<LineOrder>,
    cut: bool,
}

/// One end of a pipe. Keeps messages apart.
pub struct PipePort {
    shared: Arc<Mutex<Shared>>,
    end: usize,
    /// Rung when something comes, to this end and to the other.
    bells: [Bell; 2],
}

/// Both ends of a pipe.
///
/// # Errors
/// When the system has no descriptor left.
pub fn pipe() -> std::io::Result<(PipePort, PipePort)> {
    let shared = Arc::<Mutex<Shared>>::default();
    let bells = [Bell::new()?, Bell::new()?];
    let end = |end| PipePort { shared: Arc::clone(&shared), end, bells: bells.clone() };
    Ok((end(0), end(1)))
}

impl PipePort {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pulls the cable: both ends are gone.
    pub fn cut(&self) {
        self.shared().cut = true;
        self.bells.iter().for_each(Bell::ring);
    }

    /// What the other end has done to the line, oldest first.
    pub fn next_order(&mut self) -> Option<LineOrder> {
        self.shared().orders.pop_front()
    }
}

impl Port for PipePort {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PortFault> {
        let mut shared = self.shared();
        if shared.cut {
            return Err(PortFault::Gone);
        }
        let Some(message) = shared.messages[self.end].pop_front() else {
            drop(shared);
            self.bells[self.end].hush();
            return Ok(0);
        };
        let count = message.len().min(into.len());
        into[..count].copy_from_slice(&message[..count]);
        Ok(count)
    }

    fn write(&mut self, message: &[u8], _until: MonoNs) -> Result<(), PortFault> {
        let other = 1 - self.end;
        let mut shared = self.shared();
        if shared.cut {
            return Err(PortFault::Gone);
        }
        if shared.messages[other].len() == UNDER_WAY {
            return Err(PortFault::Stuck);
        }
        shared.messages[other].push_back(message.to_vec());
        drop(shared);
        self.bells[other].ring();
        Ok(())
    }

    fn order(&mut self, order: LineOrder) -> Result<(), PortFault> {
        let mut shared = self.shared();
        if order == LineOrder::Purge {
            shared.messages.iter_mut().for_each(VecDeque::clear);
        }
        shared.orders.push_back(order);
        Ok(())
    }

    fn wait(&mut self, bell: &Bell, until: MonoNs) {
        wait_readable(&[self.bells[self.end].as_fd(), bell.as_fd()], until);
    }
}
