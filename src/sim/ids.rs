//! Names of hands, bodies and movers within a scene.
//!
//! Thread: any (plain data).
//!
//! A *mover* is what rigid contact acts on: the tool of a hand or a body of the scene. Collision detection numbers the tools first and
//! the bodies behind them; that order exists in [`MoverId::slot`] and [`MoverId::of_slot`] alone.

use super::body::Body;
use crate::collision::Slot;
use std::ops::{Index, IndexMut};

/// A hand, and the tool that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandId(pub usize);

/// A body of the scene, in the order of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyId(pub usize);

/// A tool or a body of the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum MoverId {
    Tool(HandId),
    Body(BodyId),
}

impl MoverId {
    /// Its number in collision detection, in a scene with this many hands.
    pub(super) fn slot(self, hands: usize) -> Slot {
        Slot(match self {
            Self::Tool(hand) => hand.0,
            Self::Body(body) => hands + body.0,
        } as u16)
    }

    /// The mover of a number of collision detection.
    pub(super) fn of_slot(slot: Slot, hands: usize) -> Self {
        let place = slot.place();
        place.checked_sub(hands).map_or(Self::Tool(HandId(place)), |body| Self::Body(BodyId(body)))
    }

    /// The body, where it is one.
    pub(super) fn body(self) -> Option<BodyId> {
        if let Self::Body(body) = self { Some(body) } else { None }
    }

    /// It is the tool of a hand.
    pub(super) fn is_tool(self) -> bool {
        matches!(self, Self::Tool(_))
    }
}

/// One value for every mover.
#[derive(Clone, Debug)]
pub(super) struct PerMover<T> {
    pub tools: Vec<T>,
    pub bodies: Vec<T>,
}

impl<T> PerMover<T> {
    /// The value of a mover; none for a body that rigid contact does not act on.
    pub(super) fn get(&self, mover: MoverId) -> Option<&T> {
        match mover {
            MoverId::Tool(hand) => self.tools.get(hand.0),
            MoverId::Body(body) => self.bodies.get(body.0),
        }
    }

    /// All values, in the order of collision detection.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.tools.iter().chain(&self.bodies)
    }

    /// All movers, in the order of collision detection.
    pub(super) fn ids(&self) -> impl Iterator<Item = MoverId> + use<T> {
        let tools = (0..self.tools.len()).map(|hand| MoverId::Tool(HandId(hand)));
        tools.chain((0..self.bodies.len()).map(|body| MoverId::Body(BodyId(body))))
    }
}

impl<T> Index<MoverId> for PerMover<T> {
    type Output = T;

    fn index(&self, mover: MoverId) -> &T {
        match mover {
            MoverId::Tool(hand) => &self.tools[hand.0],
            MoverId::Body(body) => &self.bodies[body.0],
        }
    }
}

impl<T> IndexMut<MoverId> for PerMover<T> {
    fn index_mut(&mut self, mover: MoverId) -> &mut T {
        match mover {
            MoverId::Tool(hand) => &mut self.tools[hand.0],
            MoverId::Body(body) => &mut self.bodies[body.0],
        }
    }
}

impl Index<BodyId> for [Body] {
    type Output = Body;

    fn index(&self, body: BodyId) -> &Body {
        &self[body.0]
    }
}

impl IndexMut<BodyId> for [Body] {
    fn index_mut(&mut self, body: BodyId) -> &mut Body {
        &mut self[body.0]
    }
}

impl Index<BodyId> for Vec<Body> {
    type Output = Body;

    fn index(&self, body: BodyId) -> &Body {
        &self[body.0]
    }
}

impl IndexMut<BodyId> for Vec<Body> {
    fn index_mut(&mut self, body: BodyId) -> &mut Body {
        &mut self[body.0]
    }
}
