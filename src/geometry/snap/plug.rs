//! The rigid plug: its outline, the exact distance from it with rounded edges, its facets.
//!
//! Thread: cold; distances from anywhere (no heap).
//!
//! The outline is moved inwards by the radius of the edges; the distance from that smaller outline less the radius is the
//! distance from the rounded one, exact outside.

use super::{FLANGE, SnapKind, SnapSpec};
use crate::geometry::mesh::{MeshError, TriMesh, triangulate};
use crate::geometry::{BoundingSphere, Distance, Part, Surface};
use crate::math::Vec3;
use std::f64::consts::TAU;

/// Facets around a plug that is round.
const AROUND: u32 = 48;
/// Room between the plug and the guide of a latch, m.
const GUIDE_ROOM: f64 = 0.1e-3;
/// How much wider than the socket a plug is that is drawn out, m.
const OVERHANG: f64 = 2e-3;

type Point = (f64, f64);

/// How the outline becomes a solid.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sweep {
    /// Along y, to both sides by this much.
    Along(f64),
    /// Turned about z.
    Around,
}

/// See the file's head. The tip lies in the plane z = 0.
#[derive(Clone, Debug, PartialEq)]
pub struct PlugSurface {
    /// Moved inwards, against the clock.
    outline: Vec<Point>,
    round: f64,
    sweep: Sweep,
    bounds: BoundingSphere,
}

impl SnapSpec {
    /// The outline of the plug in the plane of x and z, against the clock.
    fn outline(&self) -> Vec<Point> {
        let (low, high) = (self.flange_height(), self.flange_height() + FLANGE);
        let wide = self.half_gap + self.thickness;
        let (crest, groove) = (self.crest_height(), self.groove());
        let end = crest + (self.crest() - groove) / self.flank.tan();
        let mut right =
            vec![(self.tip, 0.0), (self.crest(), crest), (groove, end), (groove, low), (wide, low), (wide, high)];
        let left: Vec<Point> = match self.kind {
            SnapKind::TwoProng | SnapKind::Cap => right.iter().rev().map(|(x, z)| (-x, *z)).collect(),
            SnapKind::Latch => {
                let guided = GUIDE_ROOM - self.half_gap;
                // The end that goes in first is narrower, so that it finds its way.
                vec![(-wide, high), (-wide, low), (guided, low), (guided, self.tip), (-self.tip, 0.0)]
            }
        };
        right.extend(left);
        right
    }

    /// The surface of the plug.
    #[must_use]
    pub fn plug_surface(&self) -> PlugSurface {
        let outline = self.outline();
        let sweep = if self.kind == SnapKind::Cap { Sweep::Around } else { Sweep::Along(self.half_plug_width()) };
        let depth = if let Sweep::Along(half) = sweep { half } else { 0.0 };
        let top = self.flange_height() + FLANGE;
        let wide = self.half_gap + self.thickness;
        let center = Vec3::new(0.0, 0.0, 0.5 * top);
        let radius = Vec3::new(wide, depth, 0.5 * top).norm();
        let bounds = BoundingSphere { center, radius };
        PlugSurface { outline: inset(&outline, self.round), round: self.round, sweep, bounds }
    }

    fn half_plug_width(&self) -> f64 {
        0.5 * (self.width + OVERHANG)
    }

    /// The plug as a part: exact surface, facets to draw and to weigh.
    ///
    /// # Errors
    /// When the dimensions enclose no solid.
    pub fn plug(&self) -> Result<Part, MeshError> {
        let is_round = self.kind == SnapKind::Cap;
        let mesh = if is_round { self.turned()? } else { self.drawn_out()? };
        Ok(Part::new("snap-plug", Box::new(self.plug_surface()), mesh, is_round))
    }

    fn drawn_out(&self) -> Result<TriMesh, MeshError> {
        let outline = self.outline();
        let (count, half) = (outline.len() as u32, self.half_plug_width());
        let at = |y: f64| outline.iter().map(move |(x, z)| Vec3::new(*x, y, *z));
        let vertices: Vec<Vec3> = at(-half).chain(at(half)).collect();
        // Seen from −y, with x to the right and z up, the outline runs against the clock.
        let front: Vec<u32> = (0..count).collect();
        let mut triangles = Vec::new();
        triangulate(&vertices, &front, &mut triangles);
        let back: Vec<[u32; 3]> = triangles.iter().map(|[a, b, c]| [a + count, c + count, b + count]).collect();
        triangles.extend(back);
        for k in 0..count {
            let next = (k + 1) % count;
            triangles.extend([[k, k + count, next], [next, k + count, next + count]]);
        }
        TriMesh::new(vertices, triangles)
    }

    fn turned(&self) -> Result<TriMesh, MeshError> {
        let right: Vec<Point> = self.outline().into_iter().filter(|(x, _)| *x > 0.0).collect();
        let rings = right.len() as u32;
        let mut vertices = Vec::new();
        for (r, z) in &right {
            for k in 0..AROUND {
                let angle = TAU * f64::from(k) / f64::from(AROUND);
                vertices.push(Vec3::new(r * angle.cos(), r * angle.sin(), *z));
            }
        }
        let (below, above) = (vertices.len() as u32, vertices.len() as u32 + 1);
        vertices.extend([Vec3::zeros(), Vec3::new(0.0, 0.0, self.flange_height() + FLANGE)]);
        let at = |ring: u32, k: u32| ring * AROUND + k % AROUND;
        let mut triangles = Vec::new();
        for k in 0..AROUND {
            triangles.push([below, at(0, k + 1), at(0, k)]);
            triangles.push([above, at(rings - 1, k), at(rings - 1, k + 1)]);
            for ring in 1..rings {
                let [a, b, c, d] = [at(ring - 1, k), at(ring - 1, k + 1), at(ring, k + 1), at(ring, k)];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        TriMesh::new(vertices, triangles)
    }
}

/// The outline with every edge moved inwards by `by`.
fn inset(outline: &[Point], by: f64) -> Vec<Point> {
    let count = outline.len();
    let line = |k: usize| {
        let (a, b) = (outline[k % count], outline[(k + 1) % count]);
        let (x, z) = (b.0 - a.0, b.1 - a.1);
        let length = x.hypot(z);
        // Outwards of an edge that runs against the clock is to its right.
        let normal = (z / length, -x / length);
        (normal, normal.0 * a.0 + normal.1 * a.1 - by)
    };
    let corner = |k: usize| {
        let ((n, c), (m, d)) = (line(k + count - 1), line(k));
        let turn = n.0 * m.1 - n.1 * m.0;
        ((c * m.1 - d * n.1) / turn, (d * n.0 - c * m.0) / turn)
    };
    (0..count).map(corner).collect()
}

impl PlugSurface {
    /// Distance from the rounded outline, and the way out, in the plane.
    fn in_plane(&self, p: Point) -> (f64, Point) {
        let count = self.outline.len();
        let mut best = (f64::INFINITY, (0.0, 0.0), (1.0, 0.0));
        let mut inside = false;
        for k in 0..count {
            let (a, b) = (self.outline[k], self.outline[(k + 1) % count]);
            let (along, from) = ((b.0 - a.0, b.1 - a.1), (p.0 - a.0, p.1 - a.1));
            let square = along.0 * along.0 + along.1 * along.1;
            let share = ((from.0 * along.0 + from.1 * along.1) / square).clamp(0.0, 1.0);
            let away = (from.0 - share * along.0, from.1 - share * along.1);
            let distance = away.0.hypot(away.1);
            if distance < best.0 {
                let length = square.sqrt();
                best = (distance, away, (along.1 / length, -along.0 / length));
            }
            // An edge that crosses the ray from the point towards +x.
            if (a.1 > p.1) != (b.1 > p.1) && from.0 < along.0 * (p.1 - a.1) / along.1 {
                inside = !inside;
            }
        }
        let (distance, away, normal) = best;
        let sign = if inside { -1.0 } else { 1.0 };
        let out = if distance > 1e-12 { (sign * away.0 / distance, sign * away.1 / distance) } else { normal };
        (sign * distance - self.round, out)
    }
}

impl Surface for PlugSurface {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        match self.sweep {
            Sweep::Around => {
                let r = point.x.hypot(point.y);
                let (distance, (out, up)) = self.in_plane((r, point.z));
                let (cos, sin) = if r > 1e-12 { (point.x / r, point.y / r) } else { (1.0, 0.0) };
                Distance { distance, normal: Vec3::new(out * cos, out * sin, up) }
            }
            Sweep::Along(half) => {
                let (across, (x, z)) = self.in_plane((point.x, point.z));
                let along = point.y.abs() - half;
                let side = Vec3::new(0.0, point.y.signum(), 0.0);
                if across > 0.0 && along > 0.0 {
                    let distance = across.hypot(along);
                    Distance { distance, normal: (Vec3::new(x, 0.0, z) * across + side * along) / distance }
                } else if across > along {
                    Distance { distance: across, normal: Vec3::new(x, 0.0, z) }
                } else {
                    Distance { distance: along, normal: side }
                }
            }
        }
    }

    fn is_convex(&self) -> bool {
        false
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        self.bounds
    }
}
