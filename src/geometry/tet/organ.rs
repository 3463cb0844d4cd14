//! Tissue from its dimensions: a block in layers, and an organ with round edges that is thinner at one end.
//!
//! Thread: cold.
//!
//! Both are a grid of bricks, each cut into five tetrahedra, whose corners are moved; both have their frame in the middle, z up, and
//! ten nodes for each tetrahedron. Groups: the six sides of the grid, `x0` to `z1`, as [`BlockSpec`] has them, and as nodes `top`,
//! `bottom` and `rim`, the four sides together.

use super::{BlockSpec, Group, Members, Split, TetMesh, TetMeshError};
use crate::math::Vec3;

/// More nodes than a simulation can carry at any useful rate.
const MOST_NODES: f64 = 10_000.0;
/// How much of an organ is a ball and not a brick: with more, edges of the brick lie flat in the surface, and elements there are flat.
const ROUND: f64 = 0.65;
/// Height of the lower side of an organ, as a share of the upper.
const LOWER: f64 = 0.8;
/// Share of the taper that the width takes, of that of the height.
const NARROWS: f64 = 0.5;

/// A block of layers one above the other.
#[derive(Clone, Copy, Debug)]
pub struct LayeredBlock<'a> {
    /// Lengths along x, y and z, m.
    pub size: Vec3,
    /// Edge of a brick that is aimed at, m; a layer is at least one brick high, and boundaries of layers are sides of bricks.
    pub cell_m: f64,
    /// Name and thickness in m of each layer, from the top; their tetrahedra are groups of these names. None: all is one.
    pub layers: &'a [(&'a str, f64)],
}

/// An organ: between a brick and a ball, thinner and narrower towards +x, flatter below than above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Organ {
    /// Lengths along x, y and z of the brick that it would fill without taper, m.
    pub size: Vec3,
    /// By how much the end at +x is thinner than that at −x: 0 for the same, below 1.
    pub taper: f64,
    /// Edge of a brick that is aimed at, m.
    pub cell_m: f64,
}

/// Bricks along a length.
fn bricks(length: f64, cell_m: f64) -> f64 {
    (length / cell_m).round().max(1.0)
}

/// Refuses more bricks than a simulation can carry.
fn few(bricks: [f64; 3]) -> Result<(), TetMeshError> {
    let count: f64 = bricks.iter().map(|n| 2.0 * n + 1.0).product();
    if count <= MOST_NODES {
        return Ok(());
    }
    let reason = format!("some {count:.0} nodes are too many for tissue: take larger cells");
    Err(TetMeshError::Unsupported(reason))
}

/// A grid of so many bricks, each a cube of side one, with the groups of the file's head.
fn grid(bricks: [f64; 3]) -> Result<TetMesh, TetMeshError> {
    few(bricks)?;
    let cells = bricks.map(|n| n as u32);
    let mesh = BlockSpec { size: Vec3::from(bricks), cells, split: Split::Five }.mesh()?;
    let sides: [(&str, &[&str]); 3] = [("bottom", &["z0"]), ("top", &["z1"]), ("rim", &["x0", "x1", "y0", "y1"])];
    let group = |(name, parts): (&str, &[&str])| {
        let mut triangles = Vec::new();
        for part in parts {
            if let Some(Members::Triangles(some)) = mesh.group(part).map(|group| &group.members) {
                triangles.extend(some);
            }
        }
        Group { name: name.into(), members: Members::Triangles(triangles) }
    };
    let groups = sides.map(group);
    groups.into_iter().try_fold(mesh, TetMesh::with_group)
}

/// The same with its corners elsewhere, and a node in the middle of every side.
fn moved(mesh: &TetMesh, place: impl Fn(&Vec3) -> Vec3) -> Result<TetMesh, TetMeshError> {
    let nodes = mesh.nodes().iter().map(place).collect();
    let corners = TetMesh::with_parts(nodes, mesh.tets().to_vec(), Vec::new(), mesh.groups().to_vec())?;
    Ok(corners.with_midsides())
}

impl LayeredBlock<'_> {
    /// The mesh.
    ///
    /// # Errors
    /// When a length is not positive, layers are not as high together as the block, or there are too many bricks.
    pub fn mesh(&self) -> Result<TetMesh, TetMeshError> {
        let all = [("", self.size.z)];
        let layers = if self.layers.is_empty() { &all[..] } else { self.layers };
        let height: f64 = layers.iter().map(|(_, thickness)| thickness).sum();
        if !(self.size.min() > 0.0 && self.cell_m > 0.0 && layers.iter().all(|(_, thickness)| *thickness > 0.0)) {
            return Err(TetMeshError::Empty);
        }
        if !((height - self.size.z).abs() <= 1e-6 * self.size.z) {
            let (height, size) = (height * 1e3, self.size.z * 1e3);
            let reason = format!("the layers are {height:.3} mm high together, the block {size:.3} mm");
            return Err(TetMeshError::Unsupported(reason));
        }
        let along = [bricks(self.size.x, self.cell_m), bricks(self.size.y, self.cell_m)];
        few([along[0], along[1], layers.iter().map(|(_, thickness)| bricks(*thickness, self.cell_m)).sum()])?;
        // Heights of the sides of bricks, from the top down, and the layer of each brick.
        let (mut planes, mut layer_of) = (vec![0.5 * self.size.z], Vec::new());
        let mut above = 0.5 * self.size.z;
        for (index, (_, thickness)) in layers.iter().enumerate() {
            let count = bricks(*thickness, self.cell_m);
            for k in 1..=count as usize {
                planes.push(above - thickness * k as f64 / count);
                layer_of.push(index);
            }
            above -= thickness;
        }
        let high = layer_of.len();
        let mesh = grid([along[0], along[1], high as f64])?;
        let mut tets_of = vec![Vec::new(); layers.len()];
        for tet in 0..mesh.tets().len() {
            let middle = mesh.corners(tet).iter().map(|corner| corner.z).sum::<f64>() / 4.0;
            tets_of[layer_of[high - 1 - (middle as usize).min(high - 1)]].push(tet as u32);
        }
        let made = moved(&mesh, |at| {
            let x = self.size.x * (at.x / along[0] - 0.5);
            let y = self.size.y * (at.y / along[1] - 0.5);
            Vec3::new(x, y, planes[high - (at.z.round() as usize).min(high)])
        })?;
        let named = self.layers.iter().zip(tets_of);
        let group =
            |((name, _), tets): (&(&str, f64), Vec<u32>)| Group { name: (*name).into(), members: Members::Tets(tets) };
        named.map(group).try_fold(made, TetMesh::with_group)
    }
}

impl Organ {
    /// The mesh.
    ///
    /// # Errors
    /// When a length is not positive, the taper not below one, or there are too many bricks.
    pub fn mesh(&self) -> Result<TetMesh, TetMeshError> {
        if !(self.size.min() > 0.0 && self.cell_m > 0.0 && (0.0..1.0).contains(&self.taper)) {
            return Err(TetMeshError::Empty);
        }
        let along = [self.size.x, self.size.y, self.size.z].map(|length| bricks(length, self.cell_m));
        let mesh = grid(along)?;
        moved(&mesh, |at| self.place(&Vec3::new(at.x / along[0], at.y / along[1], at.z / along[2])))
    }

    /// Where a point of the unit cube goes.
    fn place(&self, at: &Vec3) -> Vec3 {
        let cube = at.map(|x| 2.0 * x - 1.0);
        let square = cube.component_mul(&cube);
        // From cube to ball: each coordinate is drawn in by how far out the other two are.
        let draw = |a: f64, b: f64| (1.0 - 0.5 * (a + b) + a * b / 3.0).sqrt();
        let ball = Vec3::new(
            cube.x * draw(square.y, square.z),
            cube.y * draw(square.z, square.x),
            cube.z * draw(square.x, square.y),
        );
        let round = cube.lerp(&ball, ROUND);
        let towards = 0.5 * (1.0 + round.x);
        let thinner = self.taper * towards * towards;
        let lower = if round.z < 0.0 { LOWER } else { 1.0 };
        let shape = Vec3::new(round.x, round.y * (1.0 - NARROWS * thinner), round.z * (1.0 - thinner) * lower);
        0.5 * shape.component_mul(&self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall() -> TetMesh {
        let layers = [("skin", 3e-3), ("fat", 12e-3), ("muscle", 15e-3)];
        LayeredBlock { size: Vec3::new(0.14, 0.14, 0.03), cell_m: 0.024, layers: &layers }.mesh().expect("a block")
    }

    #[test]
    fn layers_have_their_thickness_and_together_fill_the_block() {
        let mesh = wall();
        assert!(mesh.is_quadratic() && mesh.check().is_sound(), "{:?}", mesh.check());
        // One brick for each layer, six along the sides: the grid of halves without the middle of each brick.
        assert_eq!(mesh.nodes().len(), 13 * 13 * 7 - 6 * 6 * 3);
        let mut top = 0.015;
        for (name, thickness) in [("skin", 3e-3), ("fat", 12e-3), ("muscle", 15e-3)] {
            let group = mesh.group(name).expect("it is there");
            let Members::Tets(tets) = &group.members else { unreachable!("tetrahedra") };
            let volume: f64 = tets.iter().map(|tet| mesh.tet_volume(*tet as usize)).sum();
            assert!((volume - 0.14 * 0.14 * thickness).abs() < 1e-12, "{name}: {volume}");
            let inside = |node: u32| {
                let z = mesh.nodes()[node as usize].z;
                z < top + 1e-9 && z > top - thickness - 1e-9
            };
            assert!(mesh.group_nodes(group).into_iter().all(inside), "{name}");
            top -= thickness;
        }
        let rim = mesh.group_nodes(mesh.group("rim").expect("it is there"));
        assert!(rim.iter().all(|node| mesh.nodes()[*node as usize].xy().amax() > 0.07 - 1e-9));
        assert_eq!(rim.len(), 48 * 7);
    }

    #[test]
    fn a_thick_layer_has_several_bricks_and_wrong_heights_are_refused() {
        let block =
            |layers: &[(&str, f64)]| LayeredBlock { size: Vec3::new(0.1, 0.1, 0.08), cell_m: 0.02, layers }.mesh();
        let one = block(&[]).expect("a block");
        assert_eq!(one.nodes().len(), 11 * 11 * 9 - 5 * 5 * 4);
        assert!((one.aabb().max - Vec3::new(0.05, 0.05, 0.04)).norm() < 1e-12 && one.group("top").is_some());
        assert!(block(&[("a", 0.06), ("b", 0.02)]).is_ok());
        let wrong = block(&[("a", 0.06), ("b", 0.03)]).expect_err("too high").to_string();
        assert!(wrong.contains("90.000 mm high together, the block 80.000 mm"), "{wrong}");
        assert!(LayeredBlock { size: Vec3::new(1.0, 1.0, 1.0), cell_m: 1e-3, layers: &[] }.mesh().is_err());
    }

    #[test]
    fn an_organ_is_sound_round_thinner_at_one_end_and_the_same_every_time() {
        for (taper, cell_m) in [(0.0, 0.03), (0.5, 0.026), (0.5, 0.018), (0.7, 0.026)] {
            let organ = Organ { size: Vec3::new(0.16, 0.12, 0.08), taper, cell_m };
            let mesh = organ.mesh().expect("an organ");
            assert!(mesh.check().is_sound(), "{:?}", mesh.check());
            assert_eq!(mesh, organ.mesh().expect("an organ"));
            let quality = mesh.quality();
            assert!(quality.smallest_dihedral_deg > 10.0 && quality.largest_dihedral_deg < 165.0, "{taper}: {quality}");
            let volumes = (0..mesh.tets().len()).map(|tet| mesh.tet_volume(tet));
            assert!(volumes.fold(f64::INFINITY, f64::min) > 0.0);
            // Between a ball and a brick.
            let share = mesh.volume() / (0.16 * 0.12 * 0.08);
            assert!(share > 0.3 && share < 0.75, "{share}");
            let height = |x: f64| {
                let near = mesh.nodes().iter().filter(|node| (node.x - x).abs() < 0.02);
                near.map(|node| node.z).fold(0.0, f64::max)
            };
            assert!(taper == 0.0 || height(0.05) < 0.9 * height(-0.05), "{taper}");
            let bottom = mesh.group_nodes(mesh.group("bottom").expect("it is there"));
            assert!(!bottom.is_empty() && bottom.iter().all(|node| mesh.nodes()[*node as usize].z < 0.0));
        }
    }
}
