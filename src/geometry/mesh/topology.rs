//! Who shares an edge with whom.
//!
//! Thread: cold.

use super::TriMesh;

/// One side of one triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Side {
    /// The smaller vertex of the edge.
    pub(super) low: u32,
    /// The larger one.
    pub(super) high: u32,
    /// The triangle.
    pub(super) triangle: u32,
    /// Which of its sides: from corner `side` to the next.
    pub(super) side: u32,
}

impl Side {
    /// True when the triangle runs along the edge from the smaller vertex to the larger.
    pub(super) fn is_forward(&self, mesh: &TriMesh) -> bool {
        mesh.triangles()[self.triangle as usize][self.side as usize] == self.low
    }

    /// Number of the corner at vertex `at`, which is one of the edge's two.
    fn corner_at(&self, mesh: &TriMesh, at: u32) -> usize {
        let corners = mesh.triangles()[self.triangle as usize];
        let k = self.side as usize;
        3 * self.triangle as usize + if corners[k] == at { k } else { (k + 1) % 3 }
    }
}

/// True when a triangle names a vertex twice.
pub(super) fn is_collapsed([a, b, c]: [u32; 3]) -> bool {
    a == b || b == c || c == a
}

/// The sides of all triangles that have three vertices, those of one edge next to each other.
pub(super) fn sides(mesh: &TriMesh) -> Vec<Side> {
    let mut all = Vec::with_capacity(3 * mesh.triangles().len());
    for (triangle, corners) in (0..).zip(mesh.triangles()) {
        if is_collapsed(*corners) {
            continue;
        }
        for side in 0..3 {
            let (a, b) = (corners[side as usize], corners[(side as usize + 1) % 3]);
            all.push(Side { low: a.min(b), high: a.max(b), triangle, side });
        }
    }
    all.sort_unstable();
    all
}

/// The sides edge by edge.
pub(super) fn edges(sides: &[Side]) -> impl Iterator<Item = &[Side]> {
    sides.chunk_by(|s, t| (s.low, s.high) == (t.low, t.high))
}

/// Sets that grow together; each is known by its smallest member.
struct Sets(Vec<u32>);

impl Sets {
    fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    fn of(&mut self, mut x: u32) -> u32 {
        while self.0[x as usize] != x {
            // Halve the path on the way.
            let up = self.0[self.0[x as usize] as usize];
            self.0[x as usize] = up;
            x = up;
        }
        x
    }

    fn join(&mut self, x: u32, y: u32) {
        let (x, y) = (self.of(x), self.of(y));
        self.0[x.max(y) as usize] = x.min(y);
    }
}

/// The shell of each triangle, shells numbered in the order of their first triangle, and how many there are. Triangles
/// hang together by the edges they share.
pub(super) fn shells(mesh: &TriMesh, sides: &[Side]) -> (Vec<u32>, u32) {
    let mut sets = Sets::new(mesh.triangles().len());
    for edge in edges(sides) {
        for side in &edge[1..] {
            sets.join(edge[0].triangle, side.triangle);
        }
    }
    let mut shell = vec![0; mesh.triangles().len()];
    let mut count = 0;
    for t in 0..shell.len() {
        let first = sets.of(t as u32) as usize;
        shell[t] = if first == t {
            count += 1;
            count - 1
        } else {
            shell[first]
        };
    }
    (shell, count)
}

/// Vertices where the triangles form more than one fan, as where two cones touch with their tips.
pub(super) fn pinched_vertices(mesh: &TriMesh, sides: &[Side]) -> Vec<u32> {
    let mut fans = Sets::new(3 * mesh.triangles().len());
    for edge in edges(sides) {
        for side in &edge[1..] {
            for at in [side.low, side.high] {
                fans.join(edge[0].corner_at(mesh, at) as u32, side.corner_at(mesh, at) as u32);
            }
        }
    }
    let mut fan_of = vec![None; mesh.vertices().len()];
    let mut pinched = Vec::new();
    for (t, corners) in mesh.triangles().iter().enumerate().filter(|(_, corners)| !is_collapsed(**corners)) {
        for (k, vertex) in corners.iter().enumerate() {
            let fan = fans.of((3 * t + k) as u32);
            match fan_of[*vertex as usize] {
                None => fan_of[*vertex as usize] = Some(fan),
                Some(known) if known != fan => pinched.push(*vertex),
                Some(_) => {}
            }
        }
    }
    pinched.sort_unstable();
    pinched.dedup();
    pinched
}
