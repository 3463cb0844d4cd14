//! Orders to the haptic thread and its answers.
//!
//! Thread: any (RT safe). Made by control, carried out by the haptic thread between two ticks.
//!
//! An [`Order`] is carried out whole at one tick, or refused whole. Orders travel through a bounded ring, in order; each is
//! answered once, through another. `halt` does not travel here: it has a switch of its own that no queue can delay.

use super::MonoNs;
use super::lifecycle::{Event, Refusal};

/// Most changes in one order.
pub const MAX_CHANGES: usize = 16;

/// A number of the haptic loop that can be changed while it runs. Changes are slewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Parameter {
    /// Spring between handle and proxy, N/m.
    Stiffness,
    /// Damper between handle and proxy, N·s/m.
    Damping,
    /// Spring of rotation, N·m/rad.
    AngularStiffness,
    /// Damper of rotation, N·m·s/rad.
    AngularDamping,
    /// Hand newtons per scene newton.
    ForceScale,
    /// Scene metres per handle metre.
    MotionScale,
    /// Largest force on the hand, N; never above what device and scene allow.
    MaxForce,
    /// Speed above which the handle is braked, m/s; never above what device and scene allow.
    MaxSpeed,
}

impl Parameter {
    /// Every parameter, in the order of [`Parameters`].
    pub const ALL: [Self; 8] = [
        Self::Stiffness,
        Self::Damping,
        Self::AngularStiffness,
        Self::AngularDamping,
        Self::ForceScale,
        Self::MotionScale,
        Self::MaxForce,
        Self::MaxSpeed,
    ];
}

/// A value for every [`Parameter`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parameters([f64; Parameter::ALL.len()]);

impl Parameters {
    /// The value of one.
    #[must_use]
    pub fn get(&self, parameter: Parameter) -> f64 {
        self.0[parameter as usize]
    }

    /// Sets one.
    pub fn set(&mut self, parameter: Parameter, value: f64) {
        self.0[parameter as usize] = value;
    }
}

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Something for the operating state.
    Event(Event),
    /// A new value, reached by slewing.
    Set(Parameter, f64),
    /// A force on the hand from a client, on top of the scene's: N and N·m in the device's base frame, gone at `until`.
    Force {
        /// Force, N.
        force: [f64; 3],
        /// Torque, N·m.
        torque: [f64; 3],
        /// When it ends by itself.
        until: MonoNs,
    },
    /// The tool is turned about its axis for a client, until `until`.
    Turn {
        /// rad/s, against the clock.
        rate: f64,
        /// When it ends by itself.
        until: MonoNs,
    },
}

/// Changes to be carried out at one tick, all or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// Counts up with every order.
    pub sequence: u64,
    changes: [Change; MAX_CHANGES],
    count: usize,
}

impl Order {
    /// An order of these changes; `None` when there are more than fit.
    #[must_use]
    pub fn new(sequence: u64, changes: &[Change]) -> Option<Self> {
        let mut all = [Change::Event(Event::Disable); MAX_CHANGES];
        all.get_mut(..changes.len())?.copy_from_slice(changes);
        Some(Self { sequence, changes: all, count: changes.len() })
    }

    /// An order of one event.
    #[must_use]
    pub fn of(sequence: u64, event: Event) -> Self {
        Self { sequence, changes: [Change::Event(event); MAX_CHANGES], count: 1 }
    }

    /// What is to be done.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes[..self.count]
    }
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Of the order.
    pub sequence: u64,
    /// Tick at which it was carried out or refused.
    pub tick: u64,
    /// Carried out, or which change was refused and why; then none was carried out.
    pub outcome: Result<(), (usize, Refusal)>,
}
