//! Suction cups from dimensions: a bell over a circular lip, with a stem on its top.
//!
//! Thread: cold.
//!
//! The bell is a disc of rings of 6, 12, 18, … nodes, bent over the hollow and thickened into layers; the inner rings are continued upwards as the
//! stem. The hollow is a paraboloid, `z = depth (1 − (r/R)²)`, with the lip in the plane z = 0 and the stem on the side of positive z. The wall
//! thins from the middle to the lip.

use super::prism::split_prism;
use super::sweep::{cells, check, disc, turn_outward};
use super::{Group, Members, TetMesh, TetMeshError};
use crate::math::Vec3;

/// A suction cup about z, its lip in the plane z = 0. Groups: `stem`, the nodes above the bell, `lip`, the outermost nodes, and the six
/// sides ([`TetMesh::with_sides`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CupSpec {
    /// Radius of the lip, m.
    pub radius_m: f64,
    /// From the lip to the top of the stem, m.
    pub height_m: f64,
    /// Depth of the hollow, m.
    pub depth_m: f64,
    /// Thickness of the wall in the middle, m.
    pub wall_m: f64,
    /// Thickness at the lip, m.
    pub lip_m: f64,
    /// Radius of the stem, m.
    pub stem_m: f64,
    /// Edge of the tetrahedra that is aimed at, m.
    pub cell_m: f64,
}

impl CupSpec {
    /// Rings of the disc, rings of the stem, layers of the wall and of the stem.
    fn counts(&self) -> [u32; 4] {
        let rings = cells(self.radius_m, self.cell_m, 3);
        let stem = cells(self.stem_m, self.cell_m, 1).min(rings.saturating_sub(2)).max(1);
        let above = self.height_m - self.depth_m - self.wall_m;
        [rings, stem, cells(self.wall_m, self.cell_m, 1), cells(above, self.cell_m, 1)]
    }

    /// Number of nodes and tetrahedra of the mesh.
    #[must_use]
    pub fn size(&self) -> (f64, f64) {
        let [rings, stem, layers, above] = self.counts().map(f64::from);
        let nodes = |rings: f64| 3.0 * rings * (rings + 1.0) + 1.0;
        let triangles = |rings: f64| 6.0 * rings * rings;
        let count = nodes(rings) * (layers + 1.0) + nodes(stem) * above;
        (count, 3.0 * (triangles(rings) * layers + triangles(stem) * above))
    }

    /// Rejects dimensions that are no cup.
    fn check(&self) -> Result<(), TetMeshError> {
        let lengths = [self.radius_m, self.height_m, self.depth_m, self.wall_m, self.lip_m, self.stem_m, self.cell_m];
        check(&lengths, self.size().0)?;
        let mm = |length: f64| format!("{:.3} mm", 1e3 * length);
        let fault = |reason: String| Err(TetMeshError::Unsupported(reason));
        if self.stem_m >= self.radius_m {
            return fault(format!(
                "a stem with a radius of {} is as wide as the lip: take less than {}",
                mm(self.stem_m),
                mm(self.radius_m)
            ));
        }
        let least = self.depth_m + self.wall_m;
        if self.height_m <= least {
            let (height, least) = (mm(self.height_m), mm(least));
            return fault(format!("a cup {height} high has no stem: hollow and wall take {least}; make it higher"));
        }
        Ok(())
    }

    /// Radius of a ring: the rings of the stem and those outside are each equally far apart.
    fn ring_m(&self, ring: u32, [rings, stem, ..]: [u32; 4]) -> f64 {
        let (ring, rings, stem) = (f64::from(ring), f64::from(rings), f64::from(stem));
        if ring <= stem {
            return self.stem_m * ring / stem;
        }
        self.stem_m + (self.radius_m - self.stem_m) * (ring - stem) / (rings - stem)
    }

    /// The mesh, of tetrahedra with four nodes.
    ///
    /// # Errors
    /// When a length is not positive, there is no room for a stem, or there are too many nodes.
    pub fn mesh(&self) -> Result<TetMesh, TetMeshError> {
        self.check()?;
        let counts = self.counts();
        let [rings, stem, layers, above] = counts;
        let section = disc(f64::from(rings), rings);
        let own = |rings: u32| 1 + 3 * rings * (rings + 1);
        let (disc_nodes, stem_nodes) = (section.points.len() as u32, own(stem));
        let mut nodes = Vec::new();
        for layer in 0..=layers {
            for [x, y] in &section.points {
                let ring = x.hypot(*y).round();
                let r = self.ring_m(ring as u32, counts);
                let share = (r / self.radius_m).powi(2);
                let wall = self.wall_m + (self.lip_m - self.wall_m) * share;
                let z = self.depth_m * (1.0 - share) + wall * f64::from(layer) / f64::from(layers);
                let scale = if ring > 0.0 { r / x.hypot(*y) } else { 0.0 };
                nodes.push(Vec3::new(x * scale, y * scale, z));
            }
        }
        let foot = layers * disc_nodes;
        for layer in 1..=above {
            for k in 0..stem_nodes {
                let foot = nodes[(foot + k) as usize];
                let z = foot.z + (self.height_m - foot.z) * f64::from(layer) / f64::from(above);
                nodes.push(Vec3::new(foot.x, foot.y, z));
            }
        }
        let stem_at = |layer: u32| if layer == 0 { foot } else { foot + disc_nodes + (layer - 1) * stem_nodes };
        let mut tets = Vec::new();
        for layer in 0..layers {
            let (here, there) = (layer * disc_nodes, (layer + 1) * disc_nodes);
            for triangle in &section.triangles {
                tets.extend(split_prism(triangle.map(|n| there + n), triangle.map(|n| here + n)));
            }
        }
        for layer in 0..above {
            let (here, there) = (stem_at(layer), stem_at(layer + 1));
            for triangle in section.triangles.iter().filter(|t| t.iter().all(|n| *n < stem_nodes)) {
                tets.extend(split_prism(triangle.map(|n| there + n), triangle.map(|n| here + n)));
            }
        }
        turn_outward(&nodes, &mut tets);
        let count = nodes.len() as u32;
        let lip = (0..=layers).flat_map(|layer| layer * disc_nodes + own(rings - 1)..(layer + 1) * disc_nodes);
        let group = |name: &str, nodes: Vec<u32>| Group { name: name.into(), members: Members::Nodes(nodes) };
        let mesh = TetMesh::new(nodes, tets)?
            .with_group(group("stem", (stem_at(1)..count).collect()))?
            .with_group(group("lip", lip.collect()))?;
        Ok(mesh.with_sides())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// The three cups of docs/suction.md.
    const CUPS: [CupSpec; 3] = [
        CupSpec {
            radius_m: 17.5e-3,
            height_m: 15e-3,
            depth_m: 5e-3,
            wall_m: 2.5e-3,
            lip_m: 1e-3,
            stem_m: 4e-3,
            cell_m: 2.2e-3,
        },
        CupSpec {
            radius_m: 15.75e-3,
            height_m: 14e-3,
            depth_m: 5e-3,
            wall_m: 2e-3,
            lip_m: 1e-3,
            stem_m: 4e-3,
            cell_m: 2e-3,
        },
        CupSpec {
            radius_m: 17.5e-3,
            height_m: 30e-3,
            depth_m: 15e-3,
            wall_m: 3e-3,
            lip_m: 2e-3,
            stem_m: 5e-3,
            cell_m: 2.5e-3,
        },
    ];

    #[test]
    fn cups_are_sound_bodies_of_the_volume_of_their_dimensions() {
        for cup in CUPS {
            let mesh = cup.mesh().expect("a cup");
            let report = mesh.check();
            assert!(report.is_sound(), "{cup:?}: {report}");
            assert_eq!(mesh.nodes().len() as f64, cup.size().0);
            assert_eq!(mesh.tets().len() as f64, cup.size().1);
            // Wall, with the thickness linear in r²; stem, from the bell to the top.
            let (r, s) = (cup.radius_m, cup.stem_m);
            let wall = PI * r * r * 0.5 * (cup.wall_m + cup.lip_m);
            let share = 0.5 * (s / r).powi(2);
            let top = cup.depth_m * (1.0 - share) + cup.wall_m + (cup.lip_m - cup.wall_m) * share;
            let exact = wall + PI * s * s * (cup.height_m - top);
            let volume = mesh.volume();
            assert!((volume / exact - 1.0).abs() < 0.03, "{cup:?}: {volume:e} for {exact:e}");
            let group = |name| mesh.group_nodes(mesh.group(name).expect("a group"));
            assert!(group("stem").iter().all(|n| mesh.nodes()[*n as usize].xy().norm() <= s + 1e-9));
            assert!(group("lip").iter().all(|n| (mesh.nodes()[*n as usize].xy().norm() / r - 1.0).abs() < 1e-9));
        }
    }

    #[test]
    fn dimensions_that_are_no_cup_are_refused_with_a_reason() {
        let wide = CupSpec { stem_m: 20e-3, ..CUPS[0] }.mesh().expect_err("too wide").to_string();
        assert!(wide.contains("wide as the lip"), "{wide}");
        let low = CupSpec { height_m: 7e-3, ..CUPS[0] }.mesh().expect_err("too low").to_string();
        assert!(low.contains("no stem"), "{low}");
        assert!(CupSpec { cell_m: f64::NAN, ..CUPS[0] }.mesh().is_err());
    }
}
