//! k-means clustering of contacts by position and normal.
//!
//! Thread: simulation (no heap once warm). Deterministic: centres begin at representatives of the last query, then as by Arthur and
//! Vassilvitskii 2007 (k-means++) with a seeded generator.

use super::reduce::Spot;
use crate::math::{Random, Vec3};

/// Most rounds of Lloyd's iteration; it ends earlier when no contact changes its cluster.
const ROUNDS: usize = 12;

/// Scratch memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Clusters {
    centers: Vec<[Vec3; 2]>,
    sums: Vec<([Vec3; 2], f64)>,
    nearest: Vec<f64>,
}

fn apart(spot: &Spot, center: &[Vec3; 2]) -> f64 {
    (spot.position - center[0]).norm_squared() + (spot.normal - center[1]).norm_squared()
}

impl Clusters {
    /// Writes the cluster of every spot to `owner`; numbers are below `count`.
    pub(super) fn find(&mut self, spots: &[Spot], was: &[bool], count: usize, seed: u64, owner: &mut [u32]) {
        self.seed(spots, was, count, seed);
        for round in 0..ROUNDS {
            let mut changed = false;
            for (spot, owner) in spots.iter().zip(owner.iter_mut()) {
                let mut best = (0, f64::INFINITY);
                for (number, center) in (0..).zip(&self.centers) {
                    let apart = apart(spot, center);
                    if apart < best.1 {
                        best = (number, apart);
                    }
                }
                changed |= *owner != best.0;
                *owner = best.0;
            }
            if !changed && round > 0 {
                return;
            }
            self.recentre(spots, owner);
        }
    }

    fn seed(&mut self, spots: &[Spot], was: &[bool], count: usize, seed: u64) {
        self.centers.clear();
        let kept = spots.iter().zip(was).filter(|(_, was)| **was).take(count);
        self.centers.extend(kept.map(|(spot, _)| [spot.position, spot.normal]));
        self.nearest.clear();
        let centers = &self.centers;
        let to_nearest = |spot: &Spot| centers.iter().map(|c| apart(spot, c)).fold(f64::INFINITY, f64::min);
        self.nearest.extend(spots.iter().map(to_nearest));
        let mut random = Random::new(seed);
        while self.centers.len() < count {
            let total: f64 = self.nearest.iter().filter(|d| d.is_finite()).sum();
            let index = if self.centers.is_empty() {
                ((random.uniform() * spots.len() as f64) as usize).min(spots.len() - 1)
            } else if total > 0.0 {
                let mut left = random.uniform() * total;
                let past = |d: &f64| {
                    left -= d;
                    left <= 0.0
                };
                self.nearest.iter().position(past).unwrap_or(spots.len() - 1)
            } else {
                return;
            };
            let center = [spots[index].position, spots[index].normal];
            self.centers.push(center);
            for (nearest, spot) in self.nearest.iter_mut().zip(spots) {
                *nearest = nearest.min(apart(spot, &center));
            }
        }
    }

    fn recentre(&mut self, spots: &[Spot], owner: &[u32]) {
        self.sums.clear();
        self.sums.resize(self.centers.len(), ([Vec3::zeros(); 2], 0.0));
        for (spot, owner) in spots.iter().zip(owner) {
            let (sum, count) = &mut self.sums[*owner as usize];
            sum[0] += spot.position;
            sum[1] += spot.normal;
            *count += 1.0;
        }
        for (center, (sum, count)) in self.centers.iter_mut().zip(&self.sums) {
            if *count > 0.0 {
                *center = [sum[0] / *count, sum[1] / *count];
            }
        }
    }
}
