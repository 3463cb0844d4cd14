//! A tree of boxes over the triangles of a mesh.
//!
//! Thread: built cold; asked from any (RT safe: no heap, a stack of fixed size).
//!
//! Nodes are one flat array, the two children of a node next to each other, the triangles of a leaf a run of a second
//! array that holds their corners. Splits follow the surface-area heuristic over a fixed number of bins; equal meshes
//! give equal trees. Beyond [`HALVE_FROM`] levels a node is cut in equal halves, so that the depth, and with it the
//! stack, is bounded for every input.

use super::super::Aabb;
use super::TriMesh;
use super::nearest::{Part, nearest_on_triangle};
use crate::math::Vec3;

/// Bins per axis when a split is sought.
const BINS: usize = 16;
/// Most triangles of a leaf that nothing forces.
const LEAF: usize = 4;
/// Level from which nodes are halved.
const HALVE_FROM: usize = 40;
/// Room for the walk: one waiting sibling per level; 40 levels, then at most 30 halvings of what an index can count.
pub(super) const STACK: usize = HALVE_FROM + 32;
/// A box is passed by only if it is farther than the best by more than round-off; so the nearest triangle does not
/// depend on the order in which the tree is walked.
const SLACK: f64 = 1.0 - 1e-14;

#[derive(Clone, Debug)]
pub(super) struct TreeNode {
    pub(super) bounds: Aabb,
    /// First slot of a leaf, or the left child; the right one follows it.
    pub(super) first: u32,
    /// Triangles of a leaf; 0 for an inner node.
    pub(super) count: u32,
}

/// The tree.
#[derive(Clone, Debug)]
pub struct Bvh {
    pub(super) nodes: Vec<TreeNode>,
    /// Corners of the triangles, in the order of the leaves.
    pub(super) corners: Vec<[Vec3; 3]>,
    /// The triangle in each slot.
    pub(super) triangles: Vec<u32>,
    /// The slot of each triangle.
    slots: Vec<u32>,
}

/// The nearest point of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Where it is.
    pub point: Vec3,
    /// Square of its distance, m².
    pub distance_squared: f64,
    /// A triangle it lies on; the one of the smallest number where several are as near.
    pub triangle: u32,
    /// Where on that triangle.
    pub part: Part,
}

/// A triangle while the tree is built.
#[derive(Clone, Copy)]
struct Item {
    bounds: Aabb,
    middle: Vec3,
    triangle: u32,
}

impl Bvh {
    /// Builds the tree of a mesh. The tree keeps its own copy of the corners.
    #[must_use]
    pub fn new(mesh: &TriMesh) -> Self {
        let mut items: Vec<Item> = (0..mesh.triangles().len() as u32)
            .map(|triangle| {
                let bounds = Aabb::around(&mesh.corners(triangle as usize));
                Item { bounds, middle: 0.5 * (bounds.min + bounds.max), triangle }
            })
            .collect();
        let mut nodes = vec![TreeNode { bounds: Aabb::empty(), first: 0, count: 0 }];
        // What is still to be split: node, its items, its level.
        let mut open = vec![(0, 0, items.len(), 0)];
        while let Some((node, from, to, level)) = open.pop() {
            let part = &mut items[from..to];
            nodes[node].bounds = part.iter().fold(Aabb::empty(), |b, item| b.union(&item.bounds));
            match split(part, &nodes[node].bounds, level) {
                None => (nodes[node].first, nodes[node].count) = (from as u32, part.len() as u32),
                Some(at) => {
                    let left = nodes.len();
                    nodes[node].first = left as u32;
                    nodes.resize(left + 2, TreeNode { bounds: Aabb::empty(), first: 0, count: 0 });
                    open.push((left + 1, from + at, to, level + 1));
                    open.push((left, from, from + at, level + 1));
                }
            }
        }
        let triangles: Vec<u32> = items.iter().map(|item| item.triangle).collect();
        let mut slots = vec![0; triangles.len()];
        for (slot, triangle) in (0..).zip(&triangles) {
            slots[*triangle as usize] = slot;
        }
        let corners = triangles.iter().map(|t| mesh.corners(*t as usize)).collect();
        Self { nodes, corners, triangles, slots }
    }

    /// The nearest point of the surface. `hint` is a triangle that is likely near, as the answer for a point close by:
    /// it makes the walk shorter and never changes the answer.
    #[must_use]
    pub fn nearest(&self, p: &Vec3, hint: Option<u32>) -> Nearest {
        let start = hint.and_then(|t| self.slots.get(t as usize)).map_or(0, |slot| *slot as usize);
        let mut best = self.at_slot(p, start);
        let mut stack = [(0_u32, 0.0_f64); STACK];
        let mut waiting = 1;
        while waiting > 0 {
            waiting -= 1;
            let (index, bound) = stack[waiting];
            if bound * SLACK > best.distance_squared {
                continue;
            }
            let node = &self.nodes[index as usize];
            if node.count > 0 {
                for slot in node.first..node.first + node.count {
                    let found = self.at_slot(p, slot as usize);
                    let key = |n: &Nearest| (n.distance_squared, n.triangle);
                    if key(&found) < key(&best) {
                        best = found;
                    }
                }
                continue;
            }
            let bound = |child: u32| (child, self.nodes[child as usize].bounds.distance_squared(p));
            let (left, right) = (bound(node.first), bound(node.first + 1));
            // The nearer one is walked first.
            let (near, far) = if left.1 <= right.1 { (left, right) } else { (right, left) };
            for child in [far, near] {
                if child.1 * SLACK <= best.distance_squared {
                    stack[waiting] = child;
                    waiting += 1;
                }
            }
        }
        best
    }

    fn at_slot(&self, p: &Vec3, slot: usize) -> Nearest {
        let (point, part) = nearest_on_triangle(p, &self.corners[slot]);
        Nearest { point, distance_squared: (p - point).norm_squared(), triangle: self.triangles[slot], part }
    }

    /// Calls `visit` with every triangle whose box shares a point with `bounds`.
    pub fn for_each_overlap(&self, bounds: &Aabb, mut visit: impl FnMut(u32)) {
        let mut stack = [0_u32; STACK];
        let mut waiting = 1;
        while waiting > 0 {
            waiting -= 1;
            let node = &self.nodes[stack[waiting] as usize];
            if !node.bounds.overlaps(bounds) {
                continue;
            }
            if node.count == 0 {
                stack[waiting] = node.first + 1;
                stack[waiting + 1] = node.first;
                waiting += 2;
                continue;
            }
            for slot in node.first as usize..(node.first + node.count) as usize {
                if Aabb::around(&self.corners[slot]).overlaps(bounds) {
                    visit(self.triangles[slot]);
                }
            }
        }
    }
}

/// Sorts the items of a node into two runs and says where the second begins; none for a leaf.
fn split(items: &mut [Item], bounds: &Aabb, level: usize) -> Option<usize> {
    if items.len() <= LEAF {
        return None;
    }
    let middles = items.iter().fold(Aabb::empty(), |b, item| b.with(&item.middle));
    let size = middles.size();
    let halves = |items: &mut [Item], axis: usize| {
        items.sort_by(|a, b| a.middle[axis].total_cmp(&b.middle[axis]).then(a.triangle.cmp(&b.triangle)));
        Some(items.len() / 2)
    };
    if level >= HALVE_FROM {
        return halves(items, size.imax());
    }
    let leaf_cost = bounds.half_area() * items.len() as f64;
    let cheapest = (0..3).filter(|axis| size[*axis] > 0.0).filter_map(|axis| cheapest_cut(items, &middles, axis));
    let Some((cost, axis, cut)) = cheapest.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        // All in one place.
        return halves(items, 0);
    };
    if cost >= leaf_cost && items.len() <= 4 * LEAF {
        return None;
    }
    // Stable on both sides: the order stays that of the triangles.
    let (mut low, high): (Vec<Item>, Vec<Item>) = items.iter().partition(|item| bin(item, &middles, axis) < cut);
    let at = low.len();
    low.extend(high);
    items.copy_from_slice(&low);
    Some(at)
}

fn bin(item: &Item, middles: &Aabb, axis: usize) -> usize {
    let share = (item.middle[axis] - middles.min[axis]) / (middles.max[axis] - middles.min[axis]);
    ((share * BINS as f64) as usize).min(BINS - 1)
}

/// The cheapest of the cuts between bins along `axis`, as (cost, axis, first bin of the right side). Cost: area times
/// number of both sides. Both sides of a cut that is returned hold something.
fn cheapest_cut(items: &[Item], middles: &Aabb, axis: usize) -> Option<(f64, usize, usize)> {
    let mut bins = [(Aabb::empty(), 0_usize); BINS];
    for item in items {
        let (bounds, count) = &mut bins[bin(item, middles, axis)];
        *bounds = bounds.union(&item.bounds);
        *count += 1;
    }
    let join = |a: (Aabb, usize), b: &(Aabb, usize)| (a.0.union(&b.0), a.1 + b.1);
    let price = |(bounds, count): (Aabb, usize)| bounds.half_area() * count as f64;
    let mut right = [(Aabb::empty(), 0); BINS + 1];
    for k in (0..BINS).rev() {
        right[k] = join(right[k + 1], &bins[k]);
    }
    let mut left = (Aabb::empty(), 0);
    let mut best: Option<(f64, usize, usize)> = None;
    for cut in 1..BINS {
        left = join(left, &bins[cut - 1]);
        let cost = price(left) + price(right[cut]);
        if left.1 > 0 && right[cut].1 > 0 && best.is_none_or(|b| cost < b.0) {
            best = Some((cost, axis, cut));
        }
    }
    best
}
