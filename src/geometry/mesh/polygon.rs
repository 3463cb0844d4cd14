//! Cutting a polygon into triangles by taking off its ears.
//!
//! Thread: cold.
//!
//! Works on simple polygons that are nearly flat, convex or not. One that crosses itself still gives `n − 2` triangles;
//! the checks of the finished mesh tell what is wrong with it.

use crate::math::{Vec3, tangents};

/// Most corners of one face: the work grows with their cube. CAD programs write far fewer.
pub(super) const CORNERS_MAX: usize = 256;

type Point = (f64, f64);

/// Twice the signed area of a triangle in the plane.
fn turn(a: Point, b: Point, c: Point) -> f64 {
    (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
}

/// Appends the triangles of the polygon `corners`, wound as it is.
pub(in crate::geometry) fn triangulate(vertices: &[Vec3], corners: &[u32], triangles: &mut Vec<[u32; 3]>) {
    let at = |v: u32| vertices[v as usize];
    if let [a, b, c] = *corners {
        triangles.push([a, b, c]);
        return;
    }
    // Newell: the sum of the edges' cross products is square to the polygon, however it is bent.
    let edges = corners.iter().zip(corners.iter().cycle().skip(1));
    let normal: Vec3 = edges.map(|(a, b)| (at(*a) - at(corners[0])).cross(&(at(*b) - at(corners[0])))).sum();
    let (u, v) = tangents(&normal.try_normalize(0.0).unwrap_or_else(Vec3::z));
    let mut rest: Vec<(u32, Point)> = corners.iter().map(|&c| (c, (at(c).dot(&u), at(c).dot(&v)))).collect();
    while rest.len() > 3 {
        let n = rest.len();
        let ear = (0..n).find(|&k| is_ear(&rest, k)).unwrap_or(0);
        triangles.push([rest[(ear + n - 1) % n].0, rest[ear].0, rest[(ear + 1) % n].0]);
        rest.remove(ear);
    }
    if let [(a, _), (b, _), (c, _)] = rest[..] {
        triangles.push([a, b, c]);
    }
}

/// True when corner `k` sticks out and no other corner lies in the triangle it makes with its neighbours.
fn is_ear(rest: &[(u32, Point)], k: usize) -> bool {
    let n = rest.len();
    let [(ia, a), (ib, b), (ic, c)] = [rest[(k + n - 1) % n], rest[k], rest[(k + 1) % n]];
    turn(a, b, c) > 0.0
        && rest
            .iter()
            .filter(|(i, _)| ![ia, ib, ic].contains(i))
            .all(|&(_, p)| turn(a, b, p) < 0.0 || turn(b, c, p) < 0.0 || turn(c, a, p) < 0.0)
}
