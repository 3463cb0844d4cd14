//! In which order nodes are eliminated.
//!
//! Thread: cold.

use super::factor::minimum_degree;
use super::pattern::Pattern;
use crate::math::Vec3;

/// The order of elimination: what is eliminated last is cheapest to ask for its compliance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering<'a> {
    /// Least work for a factor: the better of approximate minimum degree and nested dissection.
    LeastFill,
    /// These nodes last, the rest for least work: a force on them touches the end of the factor only. The factor itself
    /// gets larger: whether that pays depends on the mesh (`hapticd bench compliance`).
    Last(&'a [u32]),
}

/// Nodes, and how they hang together.
pub(super) struct Graph<'a> {
    /// Where each node lies at rest.
    pub(super) rest: &'a [Vec3],
    /// Which nodes move.
    pub(super) is_free: &'a [bool],
    /// Nodes of every element.
    pub(super) elements: &'a [&'a [u32]],
}

/// How nodes that may be eliminated in any order are put in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Approximate minimum degree.
    Degree,
    /// Nested dissection: halves by their places, what lies between them last, each half the same way.
    Dissection,
}

/// Pieces of at most this many nodes are not cut any further.
const PIECE: usize = 40;

impl Graph<'_> {
    /// The free nodes in order of elimination.
    pub(super) fn order(&self, ordering: Ordering, method: Method) -> Vec<u32> {
        let mut is_last = vec![false; self.rest.len()];
        if let Ordering::Last(last) = ordering {
            last.iter().filter(|n| (**n as usize) < self.rest.len()).for_each(|n| is_last[*n as usize] = true);
        }
        let chosen = |last: bool| -> Vec<u32> {
            (0..self.rest.len() as u32).filter(|n| self.is_free[*n as usize] && is_last[*n as usize] == last).collect()
        };
        let (neighbours, mut nodes) = (self.neighbours(), Vec::new());
        match method {
            Method::Degree => nodes.extend(by_degree(&chosen(false), &neighbours)),
            Method::Dissection => self.dissect(chosen(false), &neighbours, &mut nodes),
        }
        // Among themselves the last ones fill up almost wholly; their order by degree keeps what little sparsity there is.
        nodes.extend(by_degree(&chosen(true), &neighbours));
        nodes
    }

    /// Nodes that share an element with each.
    fn neighbours(&self) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new(); self.rest.len()];
        for element in self.elements {
            for node in *element {
                all[*node as usize].extend(element.iter().filter(|n| *n != node));
            }
        }
        for list in &mut all {
            list.sort_unstable();
            list.dedup();
        }
        all
    }

    /// Cuts `piece` across its longest side into two halves with as few nodes as may be between them, and appends halves
    /// and cut to `out`, each half cut likewise.
    fn dissect(&self, mut piece: Vec<u32>, neighbours: &[Vec<u32>], out: &mut Vec<u32>) {
        if piece.len() <= PIECE {
            out.extend(by_degree(&piece, neighbours));
            return;
        }
        let corner = |pick: fn(f64, f64) -> f64, start: f64| {
            piece.iter().fold(Vec3::repeat(start), |at, n| at.zip_map(&self.rest[*n as usize], pick))
        };
        let axis = (corner(f64::max, f64::NEG_INFINITY) - corner(f64::min, f64::INFINITY)).imax();
        let along = |n: &u32| self.rest[*n as usize][axis];
        piece.sort_by(|a, b| along(a).total_cmp(&along(b)).then(a.cmp(b)));
        // Between the thirds, wherever the cut is smallest.
        let tries = (piece.len() / 3..=2 * piece.len() / 3).step_by((piece.len() / 24).max(1));
        let mut side = vec![0_u8; self.rest.len()];
        let best = tries.map(|at| self.cut(&piece, at, neighbours, &mut side)).min_by_key(Cut::cost);
        let Some(Cut { lower, upper, between }) = best else { return };
        if lower.is_empty() || upper.is_empty() {
            out.extend(by_degree(&piece, neighbours));
            return;
        }
        self.dissect(lower, neighbours, out);
        self.dissect(upper, neighbours, out);
        out.extend(between);
    }

    /// The first `at` nodes of a piece, the rest, and what lies between: those of one side that touch the other.
    fn cut(&self, piece: &[u32], at: usize, neighbours: &[Vec<u32>], side: &mut [u8]) -> Cut {
        piece[..at].iter().for_each(|n| side[*n as usize] = 1);
        piece[at..].iter().for_each(|n| side[*n as usize] = 2);
        let touches = |n: &u32, other: u8| neighbours[*n as usize].iter().any(|m| side[*m as usize] == other);
        let (mut cut, mut lower, upper) = (Vec::new(), Vec::new(), piece[at..].to_vec());
        for n in &piece[..at] {
            if touches(n, 2) { cut.push(*n) } else { lower.push(*n) }
        }
        piece.iter().for_each(|n| side[*n as usize] = 0);
        Cut { lower, upper, between: cut }
    }
}

/// The chosen nodes by approximate minimum degree among themselves.
fn by_degree(chosen: &[u32], neighbours: &[Vec<u32>]) -> Vec<u32> {
    let mut place = vec![u32::MAX; neighbours.len()];
    (0..).zip(chosen).for_each(|(k, node)| place[*node as usize] = k);
    let mut pairs = Vec::new();
    for (k, node) in (0..).zip(chosen) {
        let others = neighbours[*node as usize].iter().map(|n| place[*n as usize]);
        pairs.extend(others.filter(|other| *other != u32::MAX && *other < k).map(|other| [k, other]));
    }
    let pattern = Pattern::new(chosen.len(), pairs.iter().map(<[u32; 2]>::as_slice));
    minimum_degree(&pattern).into_iter().map(|k| chosen[k as usize]).collect()
}

/// A piece in three parts.
struct Cut {
    lower: Vec<u32>,
    upper: Vec<u32>,
    between: Vec<u32>,
}

impl Cut {
    /// Mostly how many lie between, and by how much the halves differ.
    fn cost(&self) -> usize {
        8 * self.between.len() + self.lower.len().abs_diff(self.upper.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::tet::{BlockSpec, Split, TetMesh};

    fn bar() -> TetMesh {
        BlockSpec { size: Vec3::new(0.12, 0.03, 0.03), cells: [12, 3, 3], split: Split::Five }.mesh().expect("sound")
    }

    #[test]
    fn every_free_node_comes_once_and_the_last_ones_last() {
        let mesh = bar();
        let elements: Vec<&[u32]> = mesh.tets().iter().map(<[u32; 4]>::as_slice).collect();
        let is_free: Vec<bool> = mesh.nodes().iter().map(|p| p.x > 0.0).collect();
        let graph = Graph { rest: mesh.nodes(), is_free: &is_free, elements: &elements };
        let free: Vec<u32> = mesh.nodes_where(|p| p.x > 0.0);
        let last = mesh.nodes_where(|p| p.x > 0.0 && p.z == 0.0);
        for method in [Method::Degree, Method::Dissection] {
            for ordering in [Ordering::LeastFill, Ordering::Last(&last)] {
                let order = graph.order(ordering, method);
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, free, "{method:?}");
                if ordering == Ordering::Last(&last) {
                    assert!(order[free.len() - last.len()..].iter().all(|n| last.contains(n)), "{method:?}");
                }
                assert_eq!(graph.order(ordering, method), order, "the same every time");
            }
        }
    }

    #[test]
    fn halves_of_a_dissection_do_not_touch() {
        let mesh = bar();
        let elements: Vec<&[u32]> = mesh.tets().iter().map(<[u32; 4]>::as_slice).collect();
        let is_free = vec![true; mesh.nodes().len()];
        let graph = Graph { rest: mesh.nodes(), is_free: &is_free, elements: &elements };
        let mut piece: Vec<u32> = (0..mesh.nodes().len() as u32).collect();
        piece.sort_by(|a, b| mesh.nodes()[*a as usize].x.total_cmp(&mesh.nodes()[*b as usize].x));
        let (neighbours, mut side) = (graph.neighbours(), vec![0; piece.len()]);
        let cut = graph.cut(&piece, piece.len() / 2, &neighbours, &mut side);
        assert_eq!(cut.lower.len() + cut.upper.len() + cut.between.len(), piece.len());
        assert!(cut.between.len() <= 32 && side.iter().all(|s| *s == 0), "{}", cut.between.len());
        assert!(cut.lower.iter().all(|n| !neighbours[*n as usize].iter().any(|m| cut.upper.contains(m))));
    }
}
