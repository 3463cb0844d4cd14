//! Fewer candidates for one pair: near-duplicates merged, then the deepest and the most widely spread kept.
//!
//! Places are of two kinds. Corners, cores and minima are where something touches first. Fillers are the fixed points of a
//! rim: they hold it where it lies flat, and step back wherever a place of the first kind does their work, so that the
//! ids of what touches do not change as a rim turns.
//!
//! Thread: simulation or collision (no heap). Deterministic: ties go to the lower id.

use super::Side;
use crate::math::Vec3;

/// Most candidates kept for one pair of shapes. Four hold a face, six a peg in its hole; the rest is room for what is
/// about to touch.
pub const MAX_PER_PAIR: usize = 8;

/// Places found for one pair before merging; corners, edges and rims of two blocks at once stay below.
const MAX_FOUND: usize = 96;

/// Places nearer to each other than this part of the smaller shape's radius, with like normals, are one place.
const MERGE_PART: f64 = 0.02;
/// The same for the corners of a common area of two faces: only what is one corner found twice is merged, no support is lost.
const EXACT_PART: f64 = 1e-6;
/// A common area narrower than this part of the smaller shape's radius is a line, not an area.
const NARROW_PART: f64 = 1e-6;
/// Two areas that differ by less than this part are equal when the least important corner is chosen.
const EQUAL_AREAS: f64 = 1e-6;
/// A filler nearer than this part of the smaller shape's radius to a place of the first kind that is as deep is dropped.
const FILLER_PART: f64 = 0.2;
/// Cosine between normals that are alike: 8°.
const MERGE_COSINE: f64 = 0.99;
/// Of two like places the deeper is kept if it is deeper by this much, m; else the lower id, so that ids do not flicker
/// with rounding where both shapes find the same contact, each by its own feature.
pub(super) const MERGE_GAP: f64 = 1e-12;
/// A far place counts this much against a touching one, at least, when the spread is weighed.
const LEAST_WEIGHT: f64 = 0.05;

/// A candidate in world coordinates.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) id: u64,
    pub(super) surface: Side,
    /// Point of A.
    pub(super) point_a: Vec3,
    /// From B towards A.
    pub(super) normal: Vec3,
    pub(super) gap: f64,
    pub(super) is_filler: bool,
}

impl Place {
    fn is_like(&self, other: &Self, near: f64) -> bool {
        (self.point_a - other.point_a).norm_squared() < near * near && self.normal.dot(&other.normal) > MERGE_COSINE
    }
}

/// What was found for one pair.
pub(super) struct Places {
    list: [Place; MAX_FOUND],
    count: usize,
    /// Size of the smaller shape, m.
    pub(super) size: f64,
    /// Places nearer to each other than this are one, m.
    near: f64,
    /// The places bound an area of support.
    is_area: bool,
    /// Places lost for want of room.
    pub(super) overflow: u32,
}

impl Places {
    pub(super) fn new(size: f64) -> Self {
        let nowhere = Place {
            id: 0,
            surface: Side::B,
            point_a: Vec3::zeros(),
            normal: Vec3::z(),
            gap: f64::INFINITY,
            is_filler: false,
        };
        Self { list: [nowhere; MAX_FOUND], count: 0, size, near: MERGE_PART * size, is_area: false, overflow: 0 }
    }

    /// For the corners of an area of support.
    pub(super) fn exact(size: f64) -> Self {
        Self { near: EXACT_PART * size, is_area: true, ..Self::new(size) }
    }

    /// Adds a place, or merges it with one of its kind that is like it.
    pub(super) fn push(&mut self, new: Place) {
        let near = self.near;
        let like =
            self.list[..self.count].iter_mut().find(|old| old.is_filler == new.is_filler && old.is_like(&new, near));
        if let Some(old) = like {
            let deeper = new.gap < old.gap - MERGE_GAP;
            let same = new.gap < old.gap + MERGE_GAP;
            if deeper || same && new.id < old.id {
                *old = new;
            }
        } else if self.count < MAX_FOUND {
            self.list[self.count] = new;
            self.count += 1;
        } else {
            self.overflow += 1;
            let worst = (1..MAX_FOUND).fold(0, |w, i| if self.list[i].gap > self.list[w].gap { i } else { w });
            if new.gap < self.list[worst].gap {
                self.list[worst] = new;
            }
        }
    }

    pub(super) fn as_slice(&self) -> &[Place] {
        &self.list[..self.count]
    }

    /// True when the places do not all lie on a line.
    pub(super) fn has_area(&self) -> bool {
        let Some((first, rest)) = self.as_slice().split_first() else { return false };
        let way = |place: &Place| place.point_a - first.point_a;
        let farthest = rest.iter().map(way).fold(Vec3::zeros(), |far, v| if v.norm() > far.norm() { v } else { far });
        let wide = NARROW_PART * self.size;
        rest.iter().any(|place| way(place).cross(&farthest).norm() > wide * farthest.norm())
    }

    /// Least width of the area that the places bound, m: one side of the narrowest strip around it passes through two of them.
    pub(super) fn width(&self) -> f64 {
        let all = self.as_slice();
        let mut least = f64::INFINITY;
        for (k, one) in all.iter().enumerate() {
            for other in &all[k + 1..] {
                let Some(across) = one.normal.cross(&(other.point_a - one.point_a)).try_normalize(0.0) else {
                    continue;
                };
                let reach = |place: &Place| across.dot(&(place.point_a - one.point_a));
                let (low, high) =
                    all.iter().map(reach).fold((0.0_f64, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
                least = least.min(high - low);
            }
        }
        least
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Moves the places to keep to the front and gives them: the deepest, then one after the other the one farthest from
    /// all kept so far, where distance counts both place and normal and a larger gap counts against it; fillers last.
    pub(super) fn keep(&mut self, most: usize, margin: f64) -> &[Place] {
        if self.is_area {
            return self.keep_area(most);
        }
        self.drop_idle_fillers();
        let (size, all) = (self.size, &mut self.list[..self.count]);
        let kept = most.min(all.len());
        if all.len() <= most {
            return all;
        }
        let is_before = |a: &Place, b: &Place| (a.gap, a.id) < (b.gap, b.id);
        let deepest = (1..all.len()).fold(0, |d, i| if is_before(&all[i], &all[d]) { i } else { d });
        all.swap(0, deepest);
        let room = margin - all[0].gap;
        for k in 1..kept {
            let score = |i: usize| {
                let (done, p) = (&all[..k], &all[i]);
                let apart = done
                    .iter()
                    .map(|q| (p.point_a - q.point_a).norm() + size * (p.normal - q.normal).norm())
                    .fold(f64::INFINITY, f64::min);
                (!p.is_filler, apart * ((margin - p.gap) / room).max(LEAST_WEIGHT))
            };
            let next = (k + 1..all.len()).fold((k, score(k)), |(best, best_score), i| {
                let s = score(i);
                let better = s > best_score || s == best_score && is_before(&all[i], &all[best]);
                if better { (i, s) } else { (best, best_score) }
            });
            all.swap(k, next.0);
        }
        &all[..kept]
    }

    /// The corners of an area of support, at most `most`: as long as there are too many, the corner is dropped without which
    /// the area shrinks least; of equal ones that with the highest id. The deepest stays.
    fn keep_area(&mut self, most: usize) -> &[Place] {
        let Some(first) = self.as_slice().first() else { return &[] };
        let (normal, count) = (first.normal, self.count as f64);
        let middle = self.as_slice().iter().map(|place| place.point_a).sum::<Vec3>() / count;
        let x = normal.cross(&if normal.x.abs() < 0.5 { Vec3::x() } else { Vec3::y() });
        let y = normal.cross(&x);
        let angle = |place: &Place| {
            let arm = place.point_a - middle;
            y.dot(&arm).atan2(x.dot(&arm))
        };
        if self.count > most {
            self.list[..self.count].sort_unstable_by(|a, b| angle(a).total_cmp(&angle(b)).then(a.id.cmp(&b.id)));
        }
        while self.count > most {
            let (all, n) = (self.as_slice(), self.count);
            let deepest = all.iter().fold(f64::INFINITY, |least, place| least.min(place.gap));
            let area = |k: usize| {
                let (here, before, after) = (&all[k], &all[(k + n - 1) % n], &all[(k + 1) % n]);
                let area = (here.point_a - before.point_a).cross(&(after.point_a - here.point_a)).dot(&normal);
                if here.gap < deepest + MERGE_GAP && here.gap < before.gap.min(after.gap) - MERGE_GAP {
                    f64::INFINITY
                } else {
                    area
                }
            };
            let mut least = 0;
            for k in 1..n {
                let (new, old) = (area(k), area(least));
                let tie = EQUAL_AREAS * self.size * self.size;
                if new < old - tie || new < old + tie && all[k].id > all[least].id {
                    least = k;
                }
            }
            self.list.copy_within(least + 1..n, least);
            self.count -= 1;
        }
        self.as_slice()
    }

    /// Drops the fillers that have a place of the first kind, as deep as themselves, near.
    fn drop_idle_fillers(&mut self) {
        let near = FILLER_PART * self.size;
        let mut k = 0;
        while k < self.count {
            let place = self.list[k];
            let is_idle = place.is_filler
                && self.list[..self.count]
                    .iter()
                    .any(|p| !p.is_filler && p.gap < place.gap + MERGE_GAP && p.is_like(&place, near));
            if is_idle {
                self.list.copy_within(k + 1..self.count, k);
                self.count -= 1;
            } else {
                k += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(id: u64, x: f64, y: f64, gap: f64) -> Place {
        Place { id, surface: Side::B, point_a: Vec3::new(x, y, 0.0), normal: Vec3::z(), gap, is_filler: false }
    }

    #[test]
    fn the_deepest_is_kept_and_the_rest_is_spread() {
        let mut places = Places::new(1.0);
        // A crowd about the origin, the deepest in it, and four corners.
        for k in 0..10 {
            places.push(place(k, 0.05 * k as f64, 0.0, 1e-3 - 1e-5 * k as f64));
        }
        for (k, (x, y)) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].into_iter().enumerate() {
            places.push(place(100 + k as u64, x, y, 1e-3));
        }
        let kept: Vec<u64> = places.keep(5, 5e-3).iter().map(|p| p.id).collect();
        assert_eq!(kept[0], 9, "{kept:?}");
        assert!((100..104).all(|corner| kept.contains(&corner)), "{kept:?}");
    }

    #[test]
    fn like_places_become_one_that_is_the_deeper() {
        let mut places = Places::new(1.0);
        places.push(place(1, 0.0, 0.0, 1e-3));
        places.push(place(2, 0.01, 0.0, 0.5e-3));
        places.push(place(3, 0.01, 0.001, 0.5e-3 - 1e-12));
        places.push(Place { normal: Vec3::x(), ..place(4, 0.0, 0.0, 1e-3) });
        let kept: Vec<u64> = places.keep(8, 5e-3).iter().map(|p| p.id).collect();
        assert_eq!(kept, [2, 4]);
    }

    #[test]
    fn fillers_give_way_to_what_is_near_and_as_deep_and_to_nothing_else() {
        let filler = |id, x, gap| Place { is_filler: true, ..place(id, x, 0.0, gap) };
        let mut places = Places::new(1.0);
        places.push(place(1, 0.0, 0.0, 1e-3));
        places.push(filler(2, 0.1, 1.1e-3));
        places.push(filler(3, -0.1, 0.9e-3));
        places.push(filler(4, 0.5, 1.1e-3));
        let kept: Vec<u64> = places.keep(8, 5e-3).iter().map(|p| p.id).collect();
        assert_eq!(kept, [1, 3, 4]);
    }
}
