//! Features: the parts of a shape that can be first to touch another surface.
//!
//! Thread: any (RT safe: fixed capacity).
//!
//! When two solids come together the closest pair of points has, on one side at least, a corner, an edge, a rim or the
//! core of something round; where both sides are flat or straight there, the ends of the flat part are such features as
//! well. So the features of each against the distance of the other miss no first contact.

use crate::math::{Pose, Vec3};

/// Most features a primitive has: eight corners, twelve edges, the two circles of a chamfered mouth, room for two more.
pub const MAX_FEATURES: usize = 24;

/// A part of a shape that can touch, in the frame of the shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feature {
    /// A corner (`radius` zero) or the centre of something round.
    Point {
        /// Where.
        position: Vec3,
        /// Radius of the ball around it, m.
        radius: f64,
    },
    /// An edge (`radius` zero) or the core of something round. It stands for what lies between its ends alone; an end
    /// that can touch is a feature of its own.
    Segment {
        /// One end.
        a: Vec3,
        /// The other end.
        b: Vec3,
        /// Radius of the tube around it, m.
        radius: f64,
    },
    /// A rim.
    Circle {
        /// Centre.
        center: Vec3,
        /// Unit vector square to the plane of the circle.
        axis: Vec3,
        /// Unit vector from the centre to where the angle is zero.
        start: Vec3,
        /// Radius of the circle, m.
        radius: f64,
    },
}

impl Feature {
    /// The same feature in the frame that `pose` maps to.
    #[must_use]
    pub fn transformed(&self, pose: &Pose) -> Self {
        let place = |p: &Vec3| pose.rotation * p + pose.translation.vector;
        match *self {
            Self::Point { position, radius } => Self::Point { position: place(&position), radius },
            Self::Segment { a, b, radius } => Self::Segment { a: place(&a), b: place(&b), radius },
            Self::Circle { center, axis, start, radius } => Self::Circle {
                center: place(&center),
                axis: pose.rotation * axis,
                start: pose.rotation * start,
                radius,
            },
        }
    }
}

/// The features of one shape, without heap.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    list: [Feature; MAX_FEATURES],
    count: usize,
}

impl Features {
    /// No features.
    #[must_use]
    pub fn none() -> Self {
        Self { list: [Feature::Point { position: Vec3::zeros(), radius: 0.0 }; MAX_FEATURES], count: 0 }
    }

    pub(super) fn of(features: &[Feature]) -> Self {
        let mut all = Self::none();
        for feature in features {
            all.push(*feature);
        }
        all
    }

    pub(super) fn push(&mut self, feature: Feature) {
        debug_assert!(self.count < MAX_FEATURES, "a primitive has more features than MAX_FEATURES");
        if self.count < MAX_FEATURES {
            self.list[self.count] = feature;
            self.count += 1;
        }
    }

    /// The features, in an order that is fixed for the kind of shape.
    #[must_use]
    pub fn as_slice(&self) -> &[Feature] {
        &self.list[..self.count]
    }
}
