//! A contact that could act, in a form that stays useful while the bodies move on.
//!
//! Thread: any (RT safe: plain data).

use super::Slot;
use crate::math::{Pose, Vec3};

/// Most candidates in one reply. More than the haptic snapshot has room for; the nearest are kept.
pub const MAX_CANDIDATES: usize = 128;

/// Marks, in the number of the feature that touches, a node of a part.
pub(super) const NODE: usize = 1 << 31;
/// Bits of the number of a feature.
pub(super) const FEATURES: usize = 0xffff;

/// One body of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    /// The one that is not this.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Two points that may come together: `gap = n·(p_a − p_b)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The same from one step to the next as long as the same features face each other: pair, side, sheet, feature and
    /// branch of the feature.
    pub id: u64,
    /// Index of the pair in the model.
    pub pair: u16,
    /// Body A.
    pub body_a: Slot,
    /// Body B.
    pub body_b: Slot,
    /// Point of A's surface, in the frame of body A.
    pub point_a: Vec3,
    /// Point of B's surface, in the frame of body B.
    pub point_b: Vec3,
    /// Unit normal in the world, from B towards A.
    pub normal: Vec3,
    /// The same normal in the frame of the body whose surface gave it.
    pub normal_local: Vec3,
    /// The body whose surface gave the normal; the other one brought the feature.
    pub surface: Side,
    /// Distance along the normal, m; negative when the two penetrate.
    pub gap: f64,
}

impl Candidate {
    /// A candidate between no bodies.
    pub const EMPTY: Self = Self {
        id: 0,
        pair: 0,
        body_a: Slot(0),
        body_b: Slot(0),
        point_a: Vec3::new(0.0, 0.0, 0.0),
        point_b: Vec3::new(0.0, 0.0, 0.0),
        normal: Vec3::new(0.0, 0.0, 1.0),
        normal_local: Vec3::new(0.0, 0.0, 1.0),
        surface: Side::B,
        gap: 0.0,
    };

    /// Index, among the features of the body that brought it, of the feature that touches; larger than any for a node of a part.
    #[must_use]
    pub fn feature(&self) -> usize {
        let number = (self.id >> 8 & 0xffff_ffff) as usize;
        if number & NODE == 0 { number & FEATURES } else { usize::MAX }
    }

    /// Sheet of the surface that is touched.
    #[must_use]
    pub fn sheet(&self) -> usize {
        (self.id >> 40 & 0x7f) as usize
    }

    /// Point of A's surface in the world.
    #[must_use]
    pub fn point_a_world(&self, pose_world_a: &Pose) -> Vec3 {
        pose_world_a.rotation * self.point_a + pose_world_a.translation.vector
    }

    /// Point of B's surface in the world.
    #[must_use]
    pub fn point_b_world(&self, pose_world_b: &Pose) -> Vec3 {
        pose_world_b.rotation * self.point_b + pose_world_b.translation.vector
    }

    /// Brings normal and gap up to newer poses, both points and the normal staying fixed to their bodies. Exact to first
    /// order in the motion since the candidate was found; for a flat face against a corner it is exact.
    pub fn refresh(&mut self, pose_world_a: &Pose, pose_world_b: &Pose) {
        let owner = match self.surface {
            Side::A => pose_world_a,
            Side::B => pose_world_b,
        };
        self.normal = owner.rotation * self.normal_local;
        self.gap = self.normal.dot(&(self.point_a_world(pose_world_a) - self.point_b_world(pose_world_b)));
    }
}

/// Candidates of one step, without heap.
#[derive(Clone, Copy)]
pub struct Candidates {
    list: [Candidate; MAX_CANDIDATES],
    count: usize,
    /// Candidates lost for want of room. Zero in a scene that fits.
    pub overflow: u32,
    /// Candidates left out on purpose, because those kept for their pair stand for them.
    pub thinned: u32,
}

impl Candidates {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self { list: [Candidate::EMPTY; MAX_CANDIDATES], count: 0, overflow: 0, thinned: 0 }
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.count = 0;
        self.overflow = 0;
        self.thinned = 0;
    }

    /// Adds one. When there is no room, the one with the largest gap is lost and counted.
    pub fn push(&mut self, candidate: Candidate) {
        if self.count < MAX_CANDIDATES {
            self.list[self.count] = candidate;
            self.count += 1;
            return;
        }
        self.overflow += 1;
        let worst = (1..MAX_CANDIDATES).fold(0, |w, i| if self.list[i].gap > self.list[w].gap { i } else { w });
        if candidate.gap < self.list[worst].gap {
            self.list[worst] = candidate;
        }
    }

    /// The candidates.
    #[must_use]
    pub fn as_slice(&self) -> &[Candidate] {
        &self.list[..self.count]
    }

    /// The candidates, to be refreshed in place.
    pub fn as_mut_slice(&mut self) -> &mut [Candidate] {
        &mut self.list[..self.count]
    }
}

impl Default for Candidates {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_list_keeps_the_nearest_and_counts_the_lost() {
        let mut list = Candidates::new();
        for n in 0..MAX_CANDIDATES + 3 {
            // Larger first, so that every one that comes late is nearer than one that is there.
            list.push(Candidate { id: n as u64, gap: 1.0 / (n + 1) as f64, ..Candidate::EMPTY });
        }
        assert_eq!(list.overflow, 3);
        assert_eq!(list.as_slice().len(), MAX_CANDIDATES);
        assert!(list.as_slice().iter().all(|c| c.gap <= 0.25));
    }

    #[test]
    fn refresh_follows_a_corner_over_a_face_exactly() {
        let mut candidate = Candidate { point_a: Vec3::new(0.0, 0.0, -1.0), ..Candidate::EMPTY };
        let a = Pose::translation(0.3, 0.0, 1.5);
        let b = Pose::new(Vec3::new(0.0, 0.0, 0.2), Vec3::z());
        candidate.refresh(&a, &b);
        assert!((candidate.gap - 0.3).abs() < 1e-15);
        // Turned by a right angle about y, the normal of B lies along the world's x.
        let b = Pose::new(Vec3::zeros(), Vec3::y() * std::f64::consts::FRAC_PI_2);
        candidate.refresh(&a, &b);
        assert!((candidate.normal - Vec3::x()).norm() < 1e-15 && (candidate.gap - 0.3).abs() < 1e-15);
    }
}
