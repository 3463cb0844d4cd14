//! Where the tool touches the scene, for whoever draws: not for the loop itself.
//!
//! Thread: written by haptic (RT; plain values), read by control.

use crate::math::Vec3;
use crate::shared::MonoNs;

/// Most contacts that are shown.
pub const MAX_TOUCHES: usize = 16;

/// One contact of the tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Where, in the scene, m.
    pub point: Vec3,
    /// Force on the tool, in the scene, N.
    pub force: Vec3,
}

/// The contacts of one tick that carried force; the first [`MAX_TOUCHES`] of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touches {
    /// When.
    pub at: MonoNs,
    list: [Touch; MAX_TOUCHES],
    count: usize,
}

impl Touches {
    /// No contact.
    #[must_use]
    pub fn none(at: MonoNs) -> Self {
        Self { at, list: [Touch { point: Vec3::zeros(), force: Vec3::zeros() }; MAX_TOUCHES], count: 0 }
    }

    /// Adds one; false when there is no room for it.
    pub fn add(&mut self, touch: Touch) -> bool {
        let Some(place) = self.list.get_mut(self.count) else { return false };
        *place = touch;
        self.count += 1;
        true
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Touch] {
        &self.list[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_contacts_are_kept_and_no_more() {
        let mut touches = Touches::none(MonoNs(5));
        assert!(touches.all().is_empty());
        let touch = |n: usize| Touch { point: Vec3::new(n as f64, 0.0, 0.0), force: Vec3::z() };
        assert!((0..MAX_TOUCHES).all(|n| touches.add(touch(n))));
        assert!(!touches.add(touch(99)));
        assert_eq!(touches.all().len(), MAX_TOUCHES);
        assert_eq!(touches.all()[15].point.x, 15.0);
    }
}
