//! Shapes that deform become meshes of tetrahedra.
//!
//! Thread: cold.

use super::make::{Unmade, read_mesh, read_tet_file};
use super::spec_soft::{SoftForm, SoftShapeSpec};
use super::workshop::Workshop;
use crate::geometry::Aabb;
use crate::geometry::mesh::{LengthUnit, MeshSurface};
use crate::geometry::tet::{
    BallSpec, BlockSpec, CupSpec, CylinderSpec, ShellSpec, Split, TetMesh, TetMeshError, TorusSpec, TubeSpec,
};

/// Most nodes of a deformable body: with more, a step takes longer than any useful rate allows.
const NODES_MAX: f64 = 10_000.0;
/// Shortest and longest extent of a mesh from a file, m.
const LONGEST_M: (f64, f64) = (1e-4, 10.0);
/// Extents of a mesh that a unit is proposed for, m.
const LIKELY_M: (f64, f64) = (1e-3, 2.0);
/// Nodes and tetrahedra of stuffing for each cube of the lattice: a corner and a middle, and twelve tetrahedra.
const STUFFING: (f64, f64) = (2.0, 12.0);

/// Makes the mesh of a body, with its sides as groups.
pub(super) fn make_soft(spec: &SoftShapeSpec, shop: &mut Workshop) -> Result<TetMesh, Unmade> {
    let made = match &spec.form {
        SoftForm::Mesh { file, unit } => {
            let mesh = read_tet_file(file, *unit, shop)?;
            check_size(&mesh.aabb(), *unit, file)?;
            mesh
        }
        SoftForm::Stuffed { file, unit } => stuffed(spec, file, *unit, shop)?,
        form => primitive(spec, form)?,
    };
    let mesh = if spec.is_quadratic { made.with_midsides() } else { made };
    few(spec, mesh.nodes().len() as f64)?;
    Ok(mesh.with_sides())
}

/// Makes a mesh of tetrahedra.
type MakeMesh = Box<dyn Fn() -> Result<TetMesh, TetMeshError>>;

/// The mesh of a solid given by its dimensions.
fn primitive(spec: &SoftShapeSpec, form: &SoftForm) -> Result<TetMesh, Unmade> {
    let cell_m = spec.cell_m.unwrap_or(f64::NAN);
    let (smallest, size, mesh): (f64, (f64, f64), MakeMesh) = match *form {
        SoftForm::Box { size } => {
            let cells = [0, 1, 2].map(|k| (size[k] / cell_m).round().clamp(1.0, 1e6) as u32);
            let count = cells.map(f64::from);
            let nodes = count.iter().map(|n| n + 1.0).product();
            let block = BlockSpec { size, cells, split: Split::Five };
            let made = move || block.mesh()?.translated(&(-0.5 * size));
            (size.min(), (nodes, 5.0 * count.iter().product::<f64>()), Box::new(made))
        }
        SoftForm::Cylinder { radius_m, length_m } => {
            let spec = CylinderSpec { radius_m, length_m, cell_m };
            ((2.0 * radius_m).min(length_m), spec.size(), Box::new(move || spec.mesh()))
        }
        SoftForm::Sphere { radius_m } => {
            let spec = BallSpec { radius_m, cell_m };
            (2.0 * radius_m, spec.size(), Box::new(move || spec.mesh()))
        }
        SoftForm::Shell { radius_m, wall_m } => {
            let spec = ShellSpec { radius_m, wall_m, cell_m };
            (2.0 * radius_m, spec.size(), Box::new(move || spec.mesh()))
        }
        SoftForm::Tube { radius_m, length_m, wall_m } => {
            let spec = TubeSpec { radius_m, length_m, wall_m, cell_m };
            ((2.0 * radius_m).min(length_m), spec.size(), Box::new(move || spec.mesh()))
        }
        SoftForm::Torus { radius_m, section_m } => {
            let spec = TorusSpec { radius_m, section_m, cell_m };
            (2.0 * section_m, spec.size(), Box::new(move || spec.mesh()))
        }
        SoftForm::Cup { radius_m, height_m, depth_m, wall_m, lip_m, stem_m } => {
            let spec = CupSpec { radius_m, height_m, depth_m, wall_m, lip_m, stem_m, cell_m };
            (2.0 * stem_m, spec.size(), Box::new(move || spec.mesh()))
        }
        SoftForm::Mesh { .. } | SoftForm::Stuffed { .. } => {
            return Err(Unmade::new("this shape has no dimensions", "take one of the soft- shapes"));
        }
    };
    fits(cell_m, smallest)?;
    few(spec, with_midsides(size, spec.is_quadratic))?;
    mesh().map_err(|error| Unmade::new(error.to_string(), "change its dimensions"))
}

/// A closed surface filled with tetrahedra.
fn stuffed(spec: &SoftShapeSpec, file: &str, unit: LengthUnit, shop: &mut Workshop) -> Result<TetMesh, Unmade> {
    let surface = read_mesh(file, unit, shop)?;
    let (cell_m, bounds) = (spec.cell_m.unwrap_or(f64::NAN), surface.aabb());
    check_size(&bounds, unit, file)?;
    fits(cell_m, bounds.size().min())?;
    let cubes = surface.volume().abs() / cell_m.powi(3);
    few(spec, with_midsides((STUFFING.0 * cubes, STUFFING.1 * cubes), spec.is_quadratic))?;
    let surface = MeshSurface::new(surface).map_err(|report| {
        let help = "close the surface and export it again: only the inside of a closed surface can be filled";
        Unmade::new(format!("{file}: {report}"), help)
    })?;
    let help = "take a smaller `cell`, or a larger one where there are too many points";
    TetMesh::stuff(&surface, cell_m).map_err(|error| Unmade::new(format!("{file}: {error}"), help))
}

/// Nodes of a mesh with these numbers of nodes and tetrahedra, once each edge has a node in its middle: by Euler's formula at least
/// one more for each node and each tetrahedron.
fn with_midsides((nodes, tets): (f64, f64), is_quadratic: bool) -> f64 {
    if is_quadratic { 2.0 * nodes + tets } else { nodes }
}

/// Rejects elements that are larger than the body.
fn fits(cell_m: f64, smallest_m: f64) -> Result<(), Unmade> {
    if cell_m <= smallest_m {
        return Ok(());
    }
    let (cell, smallest) = (cell_m * 1e3, smallest_m * 1e3);
    let message = format!("`cell` is {cell:.3} mm, larger than the body, whose smallest dimension is {smallest:.3} mm");
    Err(Unmade::new(message, format!("write a `cell` of {:.3} mm or less", 0.5 * smallest)))
}

/// Rejects meshes that are too large.
fn few(spec: &SoftShapeSpec, nodes: f64) -> Result<(), Unmade> {
    if nodes <= NODES_MAX {
        return Ok(());
    }
    let message = format!("the body would have some {nodes:.0} nodes; at most {NODES_MAX:.0} are simulated");
    let help = match spec.cell_m {
        Some(cell) => {
            let cell = 1e3 * cell * (nodes / NODES_MAX).cbrt();
            format!("write a `cell` of some {:.2} mm or more", 1.05 * cell)
        }
        None => "make the mesh coarser".into(),
    };
    let help = if spec.is_quadratic { format!("{help}, or quadratic = false") } else { help };
    Err(Unmade::new(message, help))
}

/// Rejects a mesh whose size shows that its unit is another.
fn check_size(bounds: &Aabb, unit: LengthUnit, file: &str) -> Result<(), Unmade> {
    let longest = bounds.size().amax();
    if (LONGEST_M.0..=LONGEST_M.1).contains(&longest) {
        return Ok(());
    }
    let number = unit.of_metres(longest);
    let likely = LengthUnit::ALL.into_iter().find(|unit| (LIKELY_M.0..=LIKELY_M.1).contains(&unit.to_metres(number)));
    let message = format!("{file} is {number:.6} {0} long: `unit = \"{0}\"`", unit.symbol());
    let help = match likely {
        Some(unit) => format!("bodies have 0.1 mm to 10 m: is `unit` \"{}\"?", unit.symbol()),
        None => "bodies have 0.1 mm to 10 m: correct `unit`, or scale the mesh and export it again".into(),
    };
    Err(Unmade::new(message, help))
}
