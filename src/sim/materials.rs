//! Friction and restitution that are changed while a scene runs.
//!
//! Thread: made by whoever supervises, taken by the simulation. What the model says is where a scene starts.

use super::SimModel;

/// Most materials that an order can change; a scene may have more, which then keep their values.
pub const MAX_MATERIALS: usize = 32;

/// Friction and restitution of the first materials of a scene, to be used from the next step on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaterialOrder {
    /// Counts up with every order; zero before the first.
    pub sequence: u64,
    /// How many materials are meant.
    pub count: usize,
    /// Friction and restitution of each, in the order of [`SimModel::materials`].
    pub values: [(f64, f64); MAX_MATERIALS],
}

impl MaterialOrder {
    /// Nothing to change.
    #[must_use]
    pub fn none() -> Self {
        Self { sequence: 0, count: 0, values: [(0.0, 0.0); MAX_MATERIALS] }
    }

    /// Friction a material can have.
    pub const FRICTION: std::ops::RangeInclusive<f64> = 0.0..=10.0;
    /// Restitution a material can have.
    pub const RESTITUTION: std::ops::RangeInclusive<f64> = 0.0..=1.0;

    /// The materials as the scene has them.
    #[must_use]
    pub fn of(model: &SimModel, sequence: u64) -> Self {
        let mut order = Self { sequence, ..Self::none() };
        for (value, material) in order.values.iter_mut().zip(&model.materials) {
            *value = (material.friction, material.restitution);
            order.count += 1;
        }
        order
    }

    /// True when every number is one that a material can have; the count too.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let sound = |(friction, restitution): &(f64, f64)| {
            Self::FRICTION.contains(friction) && Self::RESTITUTION.contains(restitution)
        };
        self.values.get(..self.count).is_some_and(|values| values.iter().all(sound))
    }
}
