//! Needle phantoms from their dimensions: a block of layers, finer in the middle, where the needle goes.
//!
//! Thread: cold.
//!
//! ```text
//!            entry                 z = 0, the needle comes from above
//!   ┌────┬──┬┬┬──┬────┐
//!   │    │  │││  │    │  skin
//!   ├────┼──┼┼┼──┼────┤  under-skin
//!   │    │  │││  │    │  muscle
//!   │    │  │││  │    │
//!   └────┴──┴┴┴──┴────┘  base
//! ```

use super::{BlockSpec, Group, Members, Split, TetMesh, TetMeshError};
use crate::math::Vec3;

/// A layer of a phantom.
#[derive(Clone, Debug, PartialEq)]
pub struct PhantomLayer {
    /// Its name, and that of the group of its tetrahedra.
    pub name: String,
    /// Thickness, m.
    pub thickness: f64,
    /// Bricks through it.
    pub cells: u32,
}

/// A block of layers. Its entry face is at z = 0 with the origin in the middle, and the layers lie below, the first on top.
///
/// Groups of triangles: `entry`, `base`, `sides`, and `under-NAME` between a layer and the next. Groups of tetrahedra: the
/// layers by their names.
#[derive(Clone, Debug, PartialEq)]
pub struct PhantomSpec {
    /// Lengths along x and y, m.
    pub width: [f64; 2],
    /// Layers, from the entry face down.
    pub layers: Vec<PhantomLayer>,
    /// Bricks along x and y.
    pub cells: [u32; 2],
    /// How many times as wide the outermost bricks are as those in the middle: one for bricks all alike.
    pub grading: f64,
}

impl PhantomSpec {
    /// A cube of one layer called `phantom`, with `cells` bricks along each side.
    #[must_use]
    pub fn cube(side: f64, cells: u32) -> Self {
        let layers = vec![PhantomLayer { name: "phantom".into(), thickness: side, cells }];
        Self { width: [side; 2], layers, cells: [cells; 2], grading: 1.0 }
    }

    /// The mesh.
    ///
    /// # Errors
    /// When a length, the grading or a number of bricks is not positive, a name is taken twice, or there are too many bricks.
    pub fn mesh(&self) -> Result<TetMesh, TetMeshError> {
        self.check_names()?;
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let deep = self.layers.iter().map(|layer| f64::from(layer.cells)).sum::<f64>();
        let size = Vec3::new(self.width[0], self.width[1], self.depth());
        let empty = self.cells.contains(&0) || self.layers.iter().any(|l| l.cells == 0 || !positive(l.thickness));
        if empty || !positive(self.grading) || !size.iter().all(|x| positive(*x)) {
            return Err(TetMeshError::Empty);
        }
        if self.cells.iter().map(|n| f64::from(*n) + 1.0).product::<f64>() * (deep + 1.0) > 1e7 {
            return Err(TetMeshError::TooLarge);
        }
        let block = BlockSpec { size, cells: [self.cells[0], self.cells[1], deep as u32], split: Split::Six };
        let mesh = block.between([self.across(0), self.across(1), self.down()])?;
        self.groups(&mesh).into_iter().try_fold(mesh, TetMesh::with_group)
    }

    fn check_names(&self) -> Result<(), TetMeshError> {
        let mut names: Vec<String> = ["entry", "base", "sides"].map(String::from).into();
        for layer in &self.layers {
            for name in [layer.name.clone(), format!("under-{}", layer.name)] {
                if name.is_empty() || names.contains(&name) {
                    return Err(TetMeshError::BadGroup { group: name });
                }
                names.push(name);
            }
        }
        Ok(())
    }

    fn depth(&self) -> f64 {
        self.layers.iter().map(|layer| layer.thickness).sum()
    }

    /// Lines across an axis, the same to both sides: widths grow steadily from the middle out.
    fn across(&self, axis: usize) -> Vec<f64> {
        let count = self.cells[axis];
        let middle = 0.5 * (f64::from(count) - 1.0);
        let width = |k: u32| self.grading.powf((f64::from(k) - middle).abs() / middle.max(0.5));
        let whole: f64 = (0..count).map(width).sum();
        let mut at = 0.0;
        let mut lines = vec![0.0];
        for k in 0..count {
            at += width(k);
            lines.push(at);
        }
        lines.iter().map(|at| (at / whole - 0.5) * self.width[axis]).collect()
    }

    /// Lines across z, from the bottom up.
    fn down(&self) -> Vec<f64> {
        let mut lines = Vec::new();
        let mut bottom = -self.depth();
        for layer in self.layers.iter().rev() {
            let part = |k: u32| bottom + layer.thickness * f64::from(k) / f64::from(layer.cells);
            lines.extend((0..layer.cells).map(part));
            bottom += layer.thickness;
        }
        lines.push(0.0);
        lines
    }

    fn groups(&self, mesh: &TetMesh) -> Vec<Group> {
        let close = 1e-9 * self.depth();
        let on = |height: f64| move |n: &u32| (mesh.nodes()[*n as usize].z - height).abs() < close;
        let named = |name: &str, members: Members| Group { name: name.into(), members };
        let skin = mesh.skin().triangles;
        let (top, bottom) = (on(0.0), on(-self.depth()));
        let picked =
            |keep: &dyn Fn(&[u32; 3]) -> bool| Members::Triangles(skin.iter().filter(|t| keep(t)).copied().collect());
        let mut groups = vec![
            named("entry", picked(&|t| t.iter().all(&top))),
            named("base", picked(&|t| t.iter().all(&bottom))),
            named("sides", picked(&|t| !t.iter().all(&top) && !t.iter().all(&bottom))),
        ];
        let mut above = 0.0;
        for (index, layer) in self.layers.iter().enumerate() {
            let below = above - layer.thickness;
            let inside = |tet: &u32| {
                let middle = mesh.corners(*tet as usize).iter().map(|p| 0.25 * p.z).sum::<f64>();
                middle < above && middle > below
            };
            let tets: Vec<u32> = (0..mesh.tets().len() as u32).filter(inside).collect();
            let floor: Vec<[u32; 3]> =
                tets.iter().filter_map(|t| face_on(mesh.tets()[*t as usize], on(below))).collect();
            groups.push(named(&layer.name, Members::Tets(tets)));
            if index + 1 < self.layers.len() {
                groups.push(named(&format!("under-{}", layer.name), Members::Triangles(floor)));
            }
            above = below;
        }
        groups
    }
}

/// The face of a tetrahedron whose corners are all chosen, seen from outside counter-clockwise.
fn face_on(tet: [u32; 4], chosen: impl Fn(&u32) -> bool) -> Option<[u32; 3]> {
    let [a, b, c, d] = tet;
    [[a, c, b], [a, b, d], [b, c, d], [a, d, c]].into_iter().find(|face| face.iter().all(&chosen))
}
