//! In which order nodes are eliminated.
//!
//! Thread: cold.

use super::factor::minimum_degree;
use super::pattern::Pattern;

/// The order of elimination: what is eliminated last is cheapest to ask for its compliance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering<'a> {
    /// Least fill, by approximate minimum degree.
    LeastFill,
    /// These nodes last, the rest by least fill: a force on them touches the end of the factor only. The factor itself
    /// gets larger: whether that pays depends on the mesh (`hapticd bench compliance`).
    Last(&'a [u32]),
}

/// The free nodes in order of elimination. `free` are the nodes that move, `elements` the nodes of every element.
pub(super) fn order<'a>(
    ordering: Ordering,
    nodes: usize,
    is_free: &[bool],
    elements: impl Iterator<Item = &'a [u32]> + Clone,
) -> Vec<u32> {
    let mut is_last = vec![false; nodes];
    if let Ordering::Last(last) = ordering {
        last.iter().filter(|n| (**n as usize) < nodes).for_each(|n| is_last[*n as usize] = true);
    }
    let inner = by_degree(nodes, &|n| is_free[n] && !is_last[n], elements.clone());
    // Among themselves the last ones fill up almost wholly; their order by degree keeps what little sparsity there is.
    let outer = by_degree(nodes, &|n| is_free[n] && is_last[n], elements);
    inner.into_iter().chain(outer).collect()
}

/// The chosen nodes by approximate minimum degree among themselves.
fn by_degree<'a>(nodes: usize, choose: &dyn Fn(usize) -> bool, elements: impl Iterator<Item = &'a [u32]>) -> Vec<u32> {
    let chosen: Vec<u32> = (0..nodes as u32).filter(|n| choose(*n as usize)).collect();
    let mut place = vec![u32::MAX; nodes];
    (0..).zip(&chosen).for_each(|(k, node)| place[*node as usize] = k);
    let within: Vec<Vec<u32>> = elements
        .map(|element| element.iter().map(|n| place[*n as usize]).filter(|k| *k != u32::MAX).collect())
        .collect();
    let pattern = Pattern::new(chosen.len(), within.iter().map(Vec::as_slice));
    minimum_degree(&pattern).into_iter().map(|k| chosen[k as usize]).collect()
}
