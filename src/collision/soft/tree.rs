//! A tree of boxes over the triangles of a deformable surface: topology from the rest state, boxes refitted each step.
//!
//! Thread: built cold; refitted and read from simulation (no heap once warm).
//!
//! Cells are stored in preorder: the left child of cell `i` is `i + 1`, and every child stands after its parent. A refit is
//! then one pass over the leaves and one backwards pass over the cells: O(n).

use super::foot::ray_triangle;
use crate::math::Vec3;

/// Most triangles of a leaf.
const LEAF: usize = 4;
/// Levels that a traversal can hold: median splits halve the count, 32 bits of index at most.
const STACK: usize = 64;

/// Axis-aligned box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) low: [f64; 3],
    pub(super) high: [f64; 3],
}

impl Extent {
    pub(super) const EMPTY: Self = Self { low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] };

    pub(super) fn add(&mut self, p: &Vec3) {
        for k in 0..3 {
            self.low[k] = self.low[k].min(p[k]);
            self.high[k] = self.high[k].max(p[k]);
        }
    }

    pub(super) fn of(points: &[Vec3]) -> Self {
        let mut all = Self::EMPTY;
        points.iter().for_each(|p| all.add(p));
        all
    }

    pub(super) fn grow(mut self, by: f64) -> Self {
        for k in 0..3 {
            self.low[k] -= by;
            self.high[k] += by;
        }
        self
    }

    pub(super) fn union(mut self, other: &Self) -> Self {
        for k in 0..3 {
            self.low[k] = self.low[k].min(other.low[k]);
            self.high[k] = self.high[k].max(other.high[k]);
        }
        self
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        (0..3).all(|k| self.low[k] <= other.high[k] && other.low[k] <= self.high[k])
    }

    pub(super) fn center(&self) -> Vec3 {
        Vec3::from_fn(|k, _| 0.5 * (self.low[k] + self.high[k]))
    }

    pub(super) fn distance_squared(&self, p: &Vec3) -> f64 {
        (0..3).map(|k| (self.low[k] - p[k]).max(p[k] - self.high[k]).max(0.0).powi(2)).sum()
    }

    /// Radius of the sphere around the box.
    pub(super) fn radius(&self) -> f64 {
        0.5 * Vec3::from_fn(|k, _| self.high[k] - self.low[k]).norm()
    }

    /// True when the half-line meets the box.
    fn is_met(&self, origin: &Vec3, inverse: &Vec3) -> bool {
        let (mut from, mut to) = (0.0_f64, f64::INFINITY);
        for k in 0..3 {
            let (a, b) = ((self.low[k] - origin[k]) * inverse[k], (self.high[k] - origin[k]) * inverse[k]);
            // A NaN (origin in the plane of a side, direction along it) leaves the bounds as they are.
            from = from.max(a.min(b));
            to = to.min(a.max(b));
        }
        from <= to
    }
}

/// A cell: inner cells have `count` 0 and their right child at `at`; leaves have triangles `order[at..at + count]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) at: u32,
    pub(super) count: u32,
}

/// The topology.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) cells: Vec<Cell>,
    pub(super) order: Vec<u32>,
}

impl Tree {
    pub(super) fn new(points: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let middle: Vec<Vec3> =
            triangles.iter().map(|t| t.iter().map(|i| points[*i as usize]).sum::<Vec3>() / 3.0).collect();
        let mut tree = Self { cells: Vec::new(), order: (0..triangles.len() as u32).collect() };
        if !triangles.is_empty() {
            tree.split(&middle, 0, triangles.len());
        }
        tree
    }

    /// Median split along the longest side of the box around the middles. Depth is logarithmic for every input.
    fn split(&mut self, middle: &[Vec3], from: usize, to: usize) {
        let cell = self.cells.len();
        self.cells.push(Cell { at: from as u32, count: (to - from) as u32 });
        if to - from <= LEAF {
            return;
        }
        let items = &mut self.order[from..to];
        let mut bounds = Extent::EMPTY;
        items.iter().for_each(|face| bounds.add(&middle[*face as usize]));
        let axis = Vec3::from_fn(|k, _| bounds.high[k] - bounds.low[k]).imax();
        let half = items.len() / 2;
        items.select_nth_unstable_by(half, |a, b| {
            middle[*a as usize][axis].total_cmp(&middle[*b as usize][axis]).then(a.cmp(b))
        });
        // Selection leaves both halves in an order that depends on its pivots; sorting makes it that of the triangles.
        items[..half].sort_unstable();
        items[half..].sort_unstable();
        self.split(middle, from, from + half);
        self.cells[cell] = Cell { at: self.cells.len() as u32, count: 0 };
        self.split(middle, from + half, to);
    }

    /// Boxes of all cells from those of the triangles.
    pub(super) fn refit(&self, faces: &[Extent], cells: &mut Vec<Extent>) {
        cells.resize(self.cells.len(), Extent::EMPTY);
        for (index, cell) in self.cells.iter().enumerate().rev() {
            cells[index] = if cell.count == 0 {
                cells[index + 1].union(&cells[cell.at as usize])
            } else {
                self.leaf(cell).iter().fold(Extent::EMPTY, |all, face| all.union(&faces[*face as usize]))
            };
        }
    }

    /// Triangles of a leaf.
    pub(super) fn leaf(&self, cell: &Cell) -> &[u32] {
        &self.order[cell.at as usize..(cell.at + cell.count) as usize]
    }

    /// Calls `visit` with every triangle below the cells for which `enter` holds.
    pub(super) fn walk(&self, mut enter: impl FnMut(usize) -> bool, mut visit: impl FnMut(u32)) {
        let mut stack = [0_u32; STACK];
        let mut waiting = usize::from(!self.cells.is_empty());
        while waiting > 0 {
            waiting -= 1;
            let index = stack[waiting] as usize;
            if !enter(index) {
                continue;
            }
            let cell = &self.cells[index];
            if cell.count > 0 {
                self.leaf(cell).iter().for_each(|face| visit(*face));
            } else {
                stack[waiting] = cell.at;
                stack[waiting + 1] = index as u32 + 1;
                waiting += 2;
            }
        }
    }

    /// For each triangle, the way from its middle inwards to the next triangle that faces away; infinite where there is
    /// none.
    pub(super) fn thickness(&self, points: &[Vec3], triangles: &[[u32; 3]], across: &[Vec3]) -> Vec<f64> {
        let corners = |face: usize| triangles[face].map(|i| points[i as usize]);
        let faces: Vec<Extent> = (0..triangles.len()).map(|face| Extent::of(&corners(face))).collect();
        let mut cells = Vec::new();
        self.refit(&faces, &mut cells);
        (0..triangles.len())
            .map(|face| {
                let inward = -across[face].try_normalize(0.0).unwrap_or_else(Vec3::z);
                let origin = corners(face).iter().sum::<Vec3>() / 3.0;
                let inverse = inward.map(|x| 1.0 / x);
                let mut least = f64::INFINITY;
                let enter = |cell: usize| cells[cell].is_met(&origin, &inverse);
                self.walk(enter, |other| {
                    let other = other as usize;
                    if other != face && across[other].dot(&inward) > 0.0 {
                        least = least.min(ray_triangle(&origin, &inward, &corners(other)));
                    }
                });
                least
            })
            .collect()
    }
}
