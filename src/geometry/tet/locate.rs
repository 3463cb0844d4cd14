//! Where in a mesh a point lies: its tetrahedron and its barycentric coordinates there.
//!
//! Thread: built cold; asked from any (no heap).

use super::super::Aabb;
use super::TetMesh;
use crate::math::{Mat3, Vec3};

/// A point in a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The tetrahedron.
    pub tet: u32,
    /// Barycentric coordinates, one for each corner; they add up to one. One of them is negative when the point lies
    /// outside.
    pub weights: [f64; 4],
}

impl Place {
    /// True when the point is not outside the tetrahedron by more than round-off.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.weights.iter().all(|w| *w > -1e-9)
    }
}

/// A grid of boxes over a mesh, each with the tetrahedra that reach into it.
#[derive(Clone, Debug)]
pub struct Locator {
    corners: Vec<[Vec3; 4]>,
    bounds: Aabb,
    cells: [usize; 3],
    /// Where the list of each box begins, and one more at the end.
    first: Vec<u32>,
    tets: Vec<u32>,
}

impl Locator {
    /// A grid over a mesh as it lies at rest.
    #[must_use]
    pub fn new(mesh: &TetMesh) -> Self {
        let bounds = mesh.aabb();
        let count = mesh.tets().len();
        let size = bounds.size().add_scalar(1e-30);
        // About one box for each tetrahedron, as near to cubes as the bounds allow.
        let side = (size.product() / count as f64).cbrt().max(size.max() / 512.0);
        let cells = [0, 1, 2].map(|k| ((size[k] / side) as usize).clamp(1, 512));
        let corners: Vec<[Vec3; 4]> = (0..count).map(|tet| mesh.corners(tet)).collect();
        let mut grid =
            Self { corners, bounds, cells, first: vec![0; cells.iter().product::<usize>() + 1], tets: Vec::new() };
        let reach: Vec<_> = grid
            .corners
            .iter()
            .map(|c| {
                let b = Aabb::around(c);
                [grid.cell(&b.min), grid.cell(&b.max)]
            })
            .collect();
        for range in &reach {
            grid.boxes(range).for_each(|at| grid.first[at + 1] += 1);
        }
        for k in 1..grid.first.len() {
            grid.first[k] += grid.first[k - 1];
        }
        let mut next = grid.first.clone();
        grid.tets = vec![0; *next.last().unwrap_or(&0) as usize];
        for (tet, range) in (0..).zip(&reach) {
            for at in grid.boxes(range).collect::<Vec<_>>() {
                grid.tets[next[at] as usize] = tet;
                next[at] += 1;
            }
        }
        grid
    }

    fn cell(&self, p: &Vec3) -> [usize; 3] {
        [0, 1, 2].map(|k| {
            let share = (p[k] - self.bounds.min[k]) / (self.bounds.max[k] - self.bounds.min[k]).max(1e-30);
            ((share * self.cells[k] as f64) as usize).min(self.cells[k] - 1)
        })
    }

    fn boxes(&self, [low, high]: &[[usize; 3]; 2]) -> impl Iterator<Item = usize> + use<> {
        let ([nx, ny, _], [a, b]) = (self.cells, [*low, *high]);
        (a[2]..=b[2])
            .flat_map(move |z| (a[1]..=b[1]).flat_map(move |y| (a[0]..=b[0]).map(move |x| x + nx * (y + ny * z))))
    }

    /// The tetrahedron a point lies in; when it lies in none, the one it is least outside of among those near by, and
    /// the first where there is none near.
    #[must_use]
    pub fn locate(&self, point: &Vec3) -> Place {
        let [x, y, z] = self.cell(point);
        let at = x + self.cells[0] * (y + self.cells[1] * z);
        let near = &self.tets[self.first[at] as usize..self.first[at + 1] as usize];
        let best = |tets: &mut dyn Iterator<Item = u32>| {
            let mut best: Option<Place> = None;
            for tet in tets {
                let place = Place { tet, weights: barycentric(&self.corners[tet as usize], point) };
                if best.is_none_or(|b| least(&place) > least(&b)) {
                    best = Some(place);
                }
            }
            best
        };
        match best(&mut near.iter().copied()) {
            Some(place) if place.is_inside() => place,
            found => {
                best(&mut (0..self.corners.len() as u32)).or(found).unwrap_or(Place { tet: 0, weights: [0.25; 4] })
            }
        }
    }
}

fn least(place: &Place) -> f64 {
    place.weights.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Barycentric coordinates of a point; equal ones in a flat tetrahedron.
fn barycentric([a, b, c, d]: &[Vec3; 4], point: &Vec3) -> [f64; 4] {
    let sides = Mat3::from_columns(&[b - a, c - a, d - a]);
    match sides.try_inverse() {
        Some(inverse) => {
            let w = inverse * (point - a);
            [1.0 - w.x - w.y - w.z, w.x, w.y, w.z]
        }
        None => [0.25; 4],
    }
}
