//! Reduction of many contacts of one pair to a bounded number of representatives.
//!
//! Thread: simulation (no heap once warm). Deterministic.
//!
//! **Patches.** Contacts are divided into sides by their normals. Of every side the deepest contact is kept, then the contacts that are
//! extreme in eight directions along the side: they span the convex hull that supports the body. The rest of the capacity goes to the
//! contact that is farthest from all representatives, again and again (Gonzalez 1985), where distance counts position, normal and gap.
//! Every contact adds its area to its nearest representative.
//!
//! **Memory.** Representatives of the last query are preferred where they are nearly as good, so that their keys and with them the
//! warm start of the solver persist. All of them are kept while they cover the contacts and span the support nearly as well as a new choice.
//! Contacts between representatives sink in a little under load. Without that rule the deepest of them are chosen in one step and, as
//! they rise again, dropped in the next: a body at rest never comes to rest.

use super::finder::Found;
use super::kmeans::Clusters;
use super::{SoftContact, SoftQuery, SoftReduction};
use crate::math::Vec3;
use std::collections::BTreeMap;

/// Cosine of the greatest angle between the normals of one side: 45°.
const SIDE: f64 = 0.707;
/// Most sides; contacts beyond belong to the side of the most similar normal.
const MOST_SIDES: usize = 16;
/// Directions along a side in which the extreme contact is kept.
const DIRECTIONS: usize = 8;
/// Band of gaps above the deepest contact of a side that counts as its support, in parts of the margin.
const SUPPORT: f64 = 0.5;
/// How much less extreme, in parts of the side's extent, or less deep, in parts of the margin, a representative of the last query
/// may be. Greater values shrink the support; smaller ones let keys change by round-off.
const NEARLY_EXTREME: f64 = 0.01;
const NEARLY_DEEPEST: f64 = 1e-3;
/// Share of the greatest squared distance at which a representative of the last query is still preferred.
const NEARLY_FARTHEST: f64 = 0.25;
/// How far, as a squared distance, representatives of the last query may leave contacts, in terms of a new choice, before they are replaced.
const NEARLY_COVERING: f64 = 2.0;
/// How much deeper than all of them a contact may be, in parts of the margin. Smaller than the depth to which contacts between
/// representatives sink, the choice alternates.
const SUNKEN: f64 = 0.25;
/// Weight of normals and of gaps in distances, in sizes of the contact area: opposite normals are this many sizes apart, and so
/// are contacts whose gaps differ by the margin.
const BY_NORMAL: f64 = 1.0;
const BY_GAP: f64 = 0.3;
/// How much less a contact counts whose gap is as wide as the margin.
const OPEN: f64 = 0.75;

/// A contact as a point in six or seven dimensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) position: Vec3,
    /// Normal in lengths, m.
    pub(super) normal: Vec3,
    /// Gap in lengths, m.
    pub(super) gap: f64,
}

impl Spot {
    fn apart(&self, other: &Self) -> f64 {
        let gap = self.gap - other.gap;
        (self.position - other.position).norm_squared() + (self.normal - other.normal).norm_squared() + gap * gap
    }
}

/// Scratch memory and the representatives of the last queries.
#[derive(Clone, Debug, Default)]
pub(super) struct Reducer {
    /// Keys of the representatives by pair, in order.
    last: BTreeMap<u64, Vec<u64>>,
    spots: Vec<Spot>,
    side: Vec<u8>,
    /// The contact was a representative in the last query.
    was: Vec<bool>,
    /// Squared distance from the nearest representative, and that representative.
    nearest: Vec<f64>,
    owner: Vec<u32>,
    chosen: Vec<u32>,
    kept: Vec<u32>,
    clusters: Clusters,
}

impl Reducer {
    /// Adds representatives of `found`, which is in order of keys, to `out`. `points`: positions of the soft body.
    pub(super) fn reduce(&mut self, found: &[Found], points: &[Vec3], query: &SoftQuery, out: &mut Vec<SoftContact>) {
        let first = out.len();
        if found.len() <= query.most || query.reduction == SoftReduction::All {
            out.extend(found.iter().map(|found| found.contact));
        } else if query.most > 0 {
            self.prepare(found, points, query);
            match query.reduction {
                SoftReduction::KMeans { seed } => self.cluster(found, query, seed),
                SoftReduction::Patches | SoftReduction::All => self.patches(found, query),
            }
            self.keep(found, query);
            for number in 0..self.chosen.len() {
                let mut contact = found[self.chosen[number] as usize].contact;
                let own = found.iter().zip(&self.owner).filter(|(_, owner)| **owner == number as u32);
                contact.area_m2 = own.map(|(found, _)| found.contact.area_m2).sum();
                out.push(contact);
            }
            out[first..].sort_unstable_by_key(|contact| contact.key);
        }
        if query.reduction != SoftReduction::All {
            let last = self.last.entry(query.pair).or_default();
            last.clear();
            last.extend(out[first..].iter().map(|contact| contact.key));
        }
    }

    fn prepare(&mut self, found: &[Found], points: &[Vec3], query: &SoftQuery) {
        self.spots.clear();
        self.spots.extend(found.iter().map(|found| {
            let contact = &found.contact;
            Spot { position: contact.on.position(points), normal: contact.normal, gap: contact.gap }
        }));
        let (mut low, mut high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        for spot in &self.spots {
            (low, high) = (low.inf(&spot.position), high.sup(&spot.position));
        }
        let size = (high - low).norm();
        for spot in &mut self.spots {
            spot.normal *= 0.5 * BY_NORMAL * size;
            spot.gap *= BY_GAP * size / query.margin_m;
        }
        let last = self.last.get(&query.pair).map_or(&[][..], Vec::as_slice);
        self.was.clear();
        self.was.extend(found.iter().map(|found| last.binary_search(&found.contact.key).is_ok()));
        self.chosen.clear();
        self.nearest.clear();
        self.nearest.resize(found.len(), f64::INFINITY);
        self.owner.clear();
        self.owner.resize(found.len(), 0);
    }

    /// Returns to the representatives of the last query where they serve nearly as well.
    fn keep(&mut self, found: &[Found], query: &SoftQuery) {
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        kept.extend((0..found.len() as u32).filter(|index| self.was[*index as usize]));
        let serves = kept.len() == self.chosen.len()
            && self.farthest(found, query, &kept) <= NEARLY_COVERING * self.farthest(found, query, &self.chosen)
            && deepest(found, &kept) <= deepest(found, &self.chosen) + SUNKEN * query.margin_m
            && (query.reduction != SoftReduction::Patches || self.supports(found, query, &kept));
        if serves {
            self.chosen.clear();
            self.nearest.fill(f64::INFINITY);
            kept.iter().for_each(|index| self.choose(Some(*index as usize), query.most));
        }
        self.kept = kept;
    }

    /// Greatest squared distance of a contact from its nearest representative; that of open contacts counts less.
    fn farthest(&self, found: &[Found], query: &SoftQuery, of: &[u32]) -> f64 {
        let each = found.iter().zip(&self.spots).map(|(found, spot)| {
            let open = openness(found, query);
            let to = |index: &u32| spot.apart(&self.spots[*index as usize]);
            of.iter().map(to).fold(f64::INFINITY, f64::min) * open * open
        });
        each.fold(0.0, f64::max)
    }

    /// True if the representatives `kept` reach nearly as far in every direction along each side as those chosen.
    fn supports(&mut self, found: &[Found], query: &SoftQuery, kept: &[u32]) -> bool {
        let (sides, normals, deepest) = self.divide(found);
        (0..sides).all(|side| {
            let (x, y) = tangents(&normals[side]);
            let support = deepest[side] + SUPPORT * query.margin_m;
            (0..DIRECTIONS).all(|k| {
                let (sin, cos) = (std::f64::consts::TAU * k as f64 / DIRECTIONS as f64).sin_cos();
                let direction = x * cos + y * sin;
                let reach = |of: &[u32]| {
                    let counts = |index: &&u32| {
                        let index = **index as usize;
                        usize::from(self.side[index]) == side && found[index].contact.gap <= support
                    };
                    let along = |index: &u32| direction.dot(&self.spots[*index as usize].position);
                    of.iter().filter(counts).map(along).fold(f64::NEG_INFINITY, f64::max)
                };
                reach(kept) >= reach(&self.chosen) - NEARLY_EXTREME * self.extent(side, &direction)
            })
        })
    }

    fn patches(&mut self, found: &[Found], query: &SoftQuery) {
        let (sides, normals, deepest) = self.divide(found);
        for side in 0..sides {
            let band = NEARLY_DEEPEST * query.margin_m;
            let best = self.best(found, side, |found| -found.contact.gap, |_| true, band);
            self.choose(best, query.most);
        }
        // The even directions of all sides come first: four of them already hold a body.
        for start in [0, 1] {
            for side in 0..sides {
                let (x, y) = tangents(&normals[side]);
                let support = deepest[side] + SUPPORT * query.margin_m;
                for k in (start..DIRECTIONS).step_by(2) {
                    let (sin, cos) = (std::f64::consts::TAU * k as f64 / DIRECTIONS as f64).sin_cos();
                    let direction = x * cos + y * sin;
                    let extent = self.extent(side, &direction);
                    let counts = |found: &Found| found.contact.gap <= support;
                    let spots = std::mem::take(&mut self.spots);
                    let along = |index: usize| direction.dot(&spots[index].position);
                    let best = self.best_by(found, side, along, counts, NEARLY_EXTREME * extent);
                    self.spots = spots;
                    self.choose(best, query.most);
                }
            }
        }
        self.fill(found, query);
    }

    /// Divides the contacts into sides; returns their number, their normals and the gap of the deepest contact of each.
    fn divide(&mut self, found: &[Found]) -> (usize, [Vec3; MOST_SIDES], [f64; MOST_SIDES]) {
        const OPEN_SIDE: u8 = u8::MAX;
        let mut normals = [Vec3::zeros(); MOST_SIDES];
        let mut deepest = [f64::INFINITY; MOST_SIDES];
        self.side.clear();
        self.side.resize(found.len(), OPEN_SIDE);
        let mut count = 0;
        while count < MOST_SIDES {
            let open = found.iter().zip(&self.side).filter(|(_, side)| **side == OPEN_SIDE);
            let Some((first, _)) = open.min_by(|a, b| a.0.contact.gap.total_cmp(&b.0.contact.gap)) else { break };
            (normals[count], deepest[count]) = (first.contact.normal, first.contact.gap);
            for (found, side) in found.iter().zip(&mut self.side) {
                if *side == OPEN_SIDE && found.contact.normal.dot(&normals[count]) >= SIDE {
                    *side = count as u8;
                }
            }
            count += 1;
        }
        for (found, side) in found.iter().zip(&mut self.side).filter(|(_, side)| **side == OPEN_SIDE) {
            let like = |k: &usize| found.contact.normal.dot(&normals[*k]);
            *side = (0..count).max_by(|a, b| like(a).total_cmp(&like(b))).unwrap_or(0) as u8;
        }
        (count, normals, deepest)
    }

    fn extent(&self, side: usize, direction: &Vec3) -> f64 {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (spot, own) in self.spots.iter().zip(&self.side) {
            if usize::from(*own) == side {
                let along = direction.dot(&spot.position);
                (low, high) = (low.min(along), high.max(along));
            }
        }
        high - low
    }

    fn best(
        &self,
        found: &[Found],
        side: usize,
        score: impl Fn(&Found) -> f64,
        counts: impl Fn(&Found) -> bool,
        band: f64,
    ) -> Option<usize> {
        self.best_by(found, side, |index| score(&found[index]), counts, band)
    }

    /// The contact of a side with the greatest score, or the best representative of the last query that is within `band` of it.
    fn best_by(
        &self,
        found: &[Found],
        side: usize,
        score: impl Fn(usize) -> f64,
        counts: impl Fn(&Found) -> bool,
        band: f64,
    ) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        let mut kept = best;
        for index in 0..found.len() {
            if usize::from(self.side[index]) != side || !counts(&found[index]) {
                continue;
            }
            let score = score(index);
            if best.is_none_or(|(_, most)| score > most) {
                best = Some((index, score));
            }
            if self.was[index] && kept.is_none_or(|(_, most)| score > most) {
                kept = Some((index, score));
            }
        }
        let (index, most) = best?;
        Some(kept.filter(|(_, score)| *score >= most - band).map_or(index, |(index, _)| index))
    }

    fn choose(&mut self, index: Option<usize>, most: usize) {
        let Some(index) = index else { return };
        if self.chosen.len() >= most || self.chosen.contains(&(index as u32)) {
            return;
        }
        let number = self.chosen.len() as u32;
        self.chosen.push(index as u32);
        let new = self.spots[index];
        for ((spot, nearest), owner) in self.spots.iter().zip(&mut self.nearest).zip(&mut self.owner) {
            let apart = spot.apart(&new);
            if apart < *nearest {
                (*nearest, *owner) = (apart, number);
            }
        }
    }

    fn fill(&mut self, found: &[Found], query: &SoftQuery) {
        while self.chosen.len() < query.most {
            let (mut best, mut kept) = ((0, 0.0), (0, 0.0));
            for (index, found) in found.iter().enumerate() {
                let open = openness(found, query);
                let score = self.nearest[index] * open * open;
                if score > best.1 {
                    best = (index, score);
                }
                if self.was[index] && score > kept.1 {
                    kept = (index, score);
                }
            }
            if best.1 <= 0.0 {
                return;
            }
            self.choose(Some(if kept.1 >= NEARLY_FARTHEST * best.1 { kept.0 } else { best.0 }), query.most);
        }
    }

    /// The deepest contact of every cluster.
    fn cluster(&mut self, found: &[Found], query: &SoftQuery, seed: u64) {
        self.clusters.find(&self.spots, &self.was, query.most, seed, &mut self.owner);
        self.side.clear();
        self.side.resize(found.len(), 0);
        let mut number = 0;
        for cluster in 0..query.most {
            let owner = &self.owner;
            let in_cluster = |index: usize| owner[index] == cluster as u32;
            let depth = |index: usize| if in_cluster(index) { -found[index].contact.gap } else { f64::NEG_INFINITY };
            let best = self.best_by(found, 0, depth, |_| true, NEARLY_DEEPEST * query.margin_m);
            if let Some(best) = best.filter(|best| in_cluster(*best)) {
                self.chosen.push(best as u32);
                self.owner.iter_mut().filter(|owner| **owner == cluster as u32).for_each(|owner| *owner = number);
                number += 1;
            }
        }
    }
}

/// Weight of a contact: less the wider its gap.
fn openness(found: &Found, query: &SoftQuery) -> f64 {
    1.0 - OPEN * (found.contact.gap / query.margin_m).clamp(0.0, 1.0)
}

/// Gap of the deepest of these contacts.
fn deepest(found: &[Found], of: &[u32]) -> f64 {
    of.iter().map(|index| found[*index as usize].contact.gap).fold(f64::INFINITY, f64::min)
}

/// Two unit vectors along a side, askew to the axes of the world, so that no side of a box is square to a direction.
fn tangents(normal: &Vec3) -> (Vec3, Vec3) {
    let first = Vec3::new(0.36, 0.48, 0.8);
    let askew = if normal.dot(&first).abs() < 0.9 { first } else { Vec3::new(0.8, -0.6, 0.0) };
    let x = (askew - normal * normal.dot(&askew)).normalize();
    (x, normal.cross(&x))
}
