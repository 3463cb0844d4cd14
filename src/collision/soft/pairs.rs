//! Broad phase of two soft surfaces: pairs of features whose boxes overlap, each pair once.
//!
//! Thread: simulation (no heap once warm).
//!
//! Both trees are walked together. Pairs of triangles are resolved into the features that the triangles own
//! ([`super::surface`]); the lists are sorted, so that all triangles of one node stand together.

use super::place::SoftPlace;
use super::surface::SoftSurface;
use super::tree::Extent;
use crate::math::Vec3;

/// A surface and its place in this step.
pub(super) type Side<'a> = (&'a SoftSurface, &'a SoftPlace);

/// Pairs to test. A pair is coded as first number in the upper half, second in the lower.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    /// Nodes of the first surface and triangles of the second.
    pub(super) a_on_b: Vec<u64>,
    /// Nodes of the second surface and triangles of the first.
    pub(super) b_on_a: Vec<u64>,
    /// Edges of both.
    pub(super) edges: Vec<u64>,
    stack: Vec<(u32, u32)>,
}

fn code(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// Both numbers of a pair.
pub(super) fn decode(pair: u64) -> (u32, u32) {
    ((pair >> 32) as u32, pair as u32)
}

impl Pairs {
    /// Lists the pairs of two surfaces.
    pub(super) fn collect(&mut self, a: Side<'_>, b: Side<'_>) {
        self.clear();
        self.stack.clear();
        if !a.1.cells.is_empty() && !b.1.cells.is_empty() {
            self.stack.push((0, 0));
        }
        while let Some((i, j)) = self.stack.pop() {
            let (box_a, box_b) = (&a.1.cells[i as usize], &b.1.cells[j as usize]);
            if !box_a.overlaps(box_b) {
                continue;
            }
            let (cell_a, cell_b) = (&a.0.tree.cells[i as usize], &b.0.tree.cells[j as usize]);
            if cell_a.count > 0 && cell_b.count > 0 {
                for f in a.0.tree.leaf(cell_a) {
                    for g in b.0.tree.leaf(cell_b) {
                        self.faces(a, *f, b, *g);
                    }
                }
            } else if cell_b.count > 0 || cell_a.count == 0 && box_a.radius() >= box_b.radius() {
                self.stack.extend([(cell_a.at, j), (i + 1, j)]);
            } else {
                self.stack.extend([(i, cell_b.at), (i, j + 1)]);
            }
        }
        self.sort();
    }

    /// Lists the pairs of one surface with itself; features that share a neighbourhood are left out.
    pub(super) fn collect_own(&mut self, side: Side<'_>) {
        self.clear();
        self.stack.clear();
        if !side.1.cells.is_empty() {
            self.stack.push((0, 0));
        }
        while let Some((i, j)) = self.stack.pop() {
            let (box_a, box_b) = (&side.1.cells[i as usize], &side.1.cells[j as usize]);
            if !box_a.overlaps(box_b) {
                continue;
            }
            let (cell_a, cell_b) = (&side.0.tree.cells[i as usize], &side.0.tree.cells[j as usize]);
            if i == j && cell_a.count == 0 {
                self.stack.extend([(cell_a.at, cell_a.at), (i + 1, cell_a.at), (i + 1, i + 1)]);
            } else if cell_a.count > 0 && cell_b.count > 0 {
                for f in side.0.tree.leaf(cell_a) {
                    for g in side.0.tree.leaf(cell_b).iter().filter(|g| i != j || f < *g) {
                        self.own_faces(side, *f, *g);
                    }
                }
            } else if cell_b.count > 0 || cell_a.count == 0 && box_a.radius() >= box_b.radius() {
                self.stack.extend([(cell_a.at, j), (i + 1, j)]);
            } else {
                self.stack.extend([(i, cell_b.at), (i, j + 1)]);
            }
        }
        self.sort();
    }

    fn clear(&mut self) {
        self.a_on_b.clear();
        self.b_on_a.clear();
        self.edges.clear();
    }

    fn sort(&mut self) {
        self.a_on_b.sort_unstable();
        self.b_on_a.sort_unstable();
        self.edges.sort_unstable();
    }

    fn faces(&mut self, a: Side<'_>, f: u32, b: Side<'_>, g: u32) {
        let (box_f, box_g) = (&a.1.faces[f as usize], &b.1.faces[g as usize]);
        if !box_f.overlaps(box_g) {
            return;
        }
        for node in owned_nodes(a.0, f) {
            if node_box(a.1, node).overlaps(box_g) {
                self.a_on_b.push(code(node, g));
            }
        }
        for node in owned_nodes(b.0, g) {
            if node_box(b.1, node).overlaps(box_f) {
                self.b_on_a.push(code(node, f));
            }
        }
        for e in owned_edges(a.0, f) {
            let box_e = edge_box(a, e);
            if box_e.overlaps(box_g) {
                for d in owned_edges(b.0, g) {
                    if box_e.overlaps(&edge_box(b, d)) {
                        self.edges.push(code(e, d));
                    }
                }
            }
        }
    }

    fn own_faces(&mut self, side: Side<'_>, f: u32, g: u32) {
        let (surface, place) = side;
        if !place.faces[f as usize].overlaps(&place.faces[g as usize]) {
            return;
        }
        for (holder, target) in [(f, g), (g, f)] {
            let corners = surface.triangles()[target as usize];
            for node in owned_nodes(surface, holder) {
                let apart = !corners.iter().any(|corner| surface.are_neighbours(node, *corner));
                if apart && node_box(place, node).overlaps(&place.faces[target as usize]) {
                    self.a_on_b.push(code(node, target));
                }
            }
        }
        for e in owned_edges(surface, f) {
            for d in owned_edges(surface, g) {
                let [p, q] = [e, d].map(|edge| surface.edges[edge as usize].ends);
                let apart = !p.iter().any(|n| q.iter().any(|m| surface.are_neighbours(*n, *m)));
                if apart && edge_box(side, e).overlaps(&edge_box(side, d)) {
                    self.edges.push(code(e.min(d), e.max(d)));
                }
            }
        }
    }
}

fn owned_nodes(surface: &SoftSurface, face: u32) -> impl Iterator<Item = u32> + '_ {
    let (bits, corners) = (surface.owned[face as usize], &surface.triangles()[face as usize]);
    (0..3).filter(move |k| bits & (1 << k) != 0).map(|k| corners[k])
}

pub(super) fn owned_edges(surface: &SoftSurface, face: u32) -> impl Iterator<Item = u32> + '_ {
    let (bits, sides) = (surface.owned[face as usize], &surface.sides[face as usize]);
    (0..3).filter(move |k| bits & (8 << k) != 0).map(|k| sides[k])
}

fn swept(place: &SoftPlace, nodes: &[u32]) -> Extent {
    let mut extent = Extent::EMPTY;
    for node in nodes {
        extent.add(&place.now[*node as usize]);
        extent.add(&place.before[*node as usize]);
    }
    extent.grow(0.5 * place.margin)
}

fn node_box(place: &SoftPlace, node: u32) -> Extent {
    swept(place, &[node])
}

fn edge_box(side: Side<'_>, edge: u32) -> Extent {
    swept(side.1, &side.0.edges[edge as usize].ends)
}

/// Triangles whose boxes overlap the way of a ball.
pub(super) fn faces_near(side: Side<'_>, way: &[Vec3], radius: f64, out: &mut Vec<u32>) {
    let (surface, place) = side;
    let extent = Extent::of(way).grow(radius + 0.5 * place.margin);
    out.clear();
    surface.tree.walk(
        |cell| place.cells[cell].overlaps(&extent),
        |face| {
            if place.faces[face as usize].overlaps(&extent) {
                out.push(face);
            }
        },
    );
}
