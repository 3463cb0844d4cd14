//! Solids whose answers are known, and judges that share no code with what they judge.

use hapticd::geometry::mesh::TriMesh;
use hapticd::math::{Random, Vec3};
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// A box about the origin.
pub(crate) fn cuboid(half: Vec3) -> TriMesh {
    let corner = |k: usize| {
        let sign = |bit: usize| if k & (1 << bit) == 0 { -1.0 } else { 1.0 };
        half.component_mul(&Vec3::new(sign(0), sign(1), sign(2)))
    };
    let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriMesh::new((0..8).map(corner).collect(), triangles).expect("a box is a mesh")
}

/// A sphere about the origin: an octahedron, each triangle cut in four `level` times.
pub(crate) fn sphere(radius: f64, level: usize) -> TriMesh {
    let mut vertices = vec![Vec3::x(), -Vec3::x(), Vec3::y(), -Vec3::y(), Vec3::z(), -Vec3::z()];
    let mut triangles: Vec<[u32; 3]> =
        vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    for _ in 0..level {
        let mut middles = BTreeMap::new();
        let mut middle = |a: u32, b: u32| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                let p: Vec3 = vertices[a as usize] + vertices[b as usize];
                vertices.push(p.normalize());
                (vertices.len() - 1) as u32
            })
        };
        let mut finer = Vec::new();
        for [a, b, c] in triangles {
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            finer.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        triangles = finer;
    }
    TriMesh::new(vertices.iter().map(|v| v * radius).collect(), triangles).expect("a sphere is a mesh")
}

/// A spiky ball: a sphere whose vertices are pulled in and out at random.
pub(crate) fn spiky(level: usize, seed: u64) -> TriMesh {
    let mut random = Random::new(seed);
    let round = sphere(1.0, level);
    let vertices = round.vertices().iter().map(|v| v * (0.03 + 0.07 * random.uniform())).collect();
    TriMesh::new(vertices, round.triangles().to_vec()).expect("a spiky ball is a mesh")
}

/// A ring of radius `major` and thickness `minor`.
pub(crate) fn torus(major: f64, minor: f64, n: u32, m: u32) -> TriMesh {
    let at = |i: u32, j: u32| {
        let (u, v) = (TAU * f64::from(i) / f64::from(n), TAU * f64::from(j) / f64::from(m));
        let r = major + minor * v.cos();
        Vec3::new(r * u.cos(), r * u.sin(), minor * v.sin())
    };
    let index = |i: u32, j: u32| (i % n) * m + j % m;
    let cells = (0..n).flat_map(|i| (0..m).map(move |j| (i, j)));
    let vertices = cells.clone().map(|(i, j)| at(i, j)).collect();
    let triangles = cells
        .flat_map(|(i, j)| {
            let [a, b, c, d] = [index(i, j), index(i + 1, j), index(i + 1, j + 1), index(i, j + 1)];
            [[a, b, c], [a, c, d]]
        })
        .collect();
    TriMesh::new(vertices, triangles).expect("a torus is a mesh")
}

/// Triangles in no order at all.
pub(crate) fn soup(count: usize, seed: u64) -> TriMesh {
    let mut random = Random::new(seed);
    let mut coordinate = |scale: f64| (random.uniform() - 0.5) * scale;
    let mut vertices = Vec::new();
    for _ in 0..count {
        let center = Vec3::new(coordinate(0.2), coordinate(0.2), coordinate(0.2));
        for _ in 0..3 {
            vertices.push(center + Vec3::new(coordinate(0.05), coordinate(0.05), coordinate(0.05)));
        }
    }
    let triangles = (0..count as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    TriMesh::new(vertices, triangles).expect("triangles are a mesh")
}

/// A point of the cube `±half`.
pub(crate) fn somewhere(random: &mut Random, half: f64) -> Vec3 {
    let mut x = || half * (2.0 * random.uniform() - 1.0);
    Vec3::new(x(), x(), x())
}

/// Distance from a segment.
fn to_segment(p: &Vec3, a: &Vec3, b: &Vec3) -> f64 {
    let ab = b - a;
    let t = ((p - a).dot(&ab) / ab.norm_squared()).clamp(0.0, 1.0);
    (p - a - ab * t).norm()
}

/// Distance from a triangle: from its plane above its inside, else from its nearest side.
pub(crate) fn to_triangle(p: &Vec3, [a, b, c]: &[Vec3; 3]) -> f64 {
    let normal = (b - a).cross(&(c - a));
    let above = |u: &Vec3, v: &Vec3| (v - u).cross(&(p - u)).dot(&normal) >= 0.0;
    if above(a, b) && above(b, c) && above(c, a) {
        return ((p - a).dot(&normal) / normal.norm()).abs();
    }
    to_segment(p, a, b).min(to_segment(p, b, c)).min(to_segment(p, c, a))
}

/// Distance from a mesh, triangle by triangle.
pub(crate) fn brute_force(mesh: &TriMesh, p: &Vec3) -> f64 {
    (0..mesh.triangles().len()).map(|t| to_triangle(p, &mesh.corners(t))).fold(f64::INFINITY, f64::min)
}

/// How often the mesh winds about `p`: the sum of solid angles over 4π (Van Oosterom and Strackee 1983).
pub(crate) fn winding(mesh: &TriMesh, p: &Vec3) -> f64 {
    let solid = |t: usize| {
        let [a, b, c] = mesh.corners(t).map(|q| q - p);
        let (x, y, z) = (a.norm(), b.norm(), c.norm());
        let over = a.dot(&b.cross(&c));
        let under = x * y * z + a.dot(&b) * z + b.dot(&c) * x + c.dot(&a) * y;
        2.0 * over.atan2(under)
    };
    (0..mesh.triangles().len()).map(solid).sum::<f64>() / (2.0 * TAU)
}
