//! Where the tool touches the scene, for whoever draws or records: not for the loop itself. Single precision is plenty for
//! that, and keeps the record of a tick small.
//!
//! Thread: written by haptic (RT; plain values), read by control and recorder.

use crate::math::Vec3;

/// Most contacts that are told.
pub const MAX_TOUCHES: usize = 16;

/// One contact of the tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Where, in the scene, m.
    pub point: [f32; 3],
    /// Force on the tool, in the scene, N.
    pub force: [f32; 3],
}

impl Touch {
    /// Of a point and the force there.
    #[must_use]
    pub fn new(point: &Vec3, force: &Vec3) -> Self {
        let short = |v: &Vec3| [v.x as f32, v.y as f32, v.z as f32];
        Self { point: short(point), force: short(force) }
    }
}

/// The contacts of one tick that carried force; the first [`MAX_TOUCHES`] of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touches {
    list: [Touch; MAX_TOUCHES],
    count: usize,
}

impl Touches {
    /// No contact.
    pub const NONE: Self = Self { list: [Touch { point: [0.0; 3], force: [0.0; 3] }; MAX_TOUCHES], count: 0 };

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
        let mut touches = Touches::NONE;
        assert!(touches.all().is_empty());
        let touch = |n: usize| Touch::new(&Vec3::new(n as f64, 0.0, 0.0), &Vec3::z());
        assert!((0..MAX_TOUCHES).all(|n| touches.add(touch(n))));
        assert!(!touches.add(touch(99)));
        assert_eq!(touches.all().len(), MAX_TOUCHES);
        assert_eq!(touches.all()[15].point, [15.0, 0.0, 0.0]);
    }
}
