//! Shapes as written become shapes as used: parts get their nodes and a model of their distances, meshes are read.
//!
//! Thread: cold. Paths start at the directory of the scene file.

use super::build_needle::mesh_of;
use super::make_soft::make_soft;
use super::spec::{ModelChoice, PartForm, PartSpec, ShapeSpec, Source, TissueSpec};
use super::workshop::Workshop;
use crate::bake::{Design, GridPlan, TrainPlan};
use crate::collision::field::{Baked, FileError, SourceHash};
use crate::geometry::mesh::{LengthUnit, MeshSurface, TriMesh, Weld, read_obj, read_stl};
use crate::geometry::parts::{Body, Fit, Hand, ThreadSpec};
use crate::geometry::snap::{Detail, SnapKind, SnapSpec};
use crate::geometry::tet::{TetMesh, read_msh, read_vtk, read_vtu};
use crate::geometry::{Cuboid, Part, Shape};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most triangles of a mesh in a scene: each corner is looked at in every step.
const TRIANGLES_MAX: usize = 200_000;
/// Most nodes of tissue from a file.
const TISSUE_NODES_MAX: usize = 10_000;

/// A shape ready for the simulation.
#[derive(Clone, Debug)]
pub(super) struct Solid {
    /// The shape.
    pub(super) shape: Shape,
    /// Fast distances of a part; none where the surface itself is asked.
    pub(super) field: Option<Arc<Baked>>,
    /// Its elements, where it deforms.
    pub(super) elements: Option<Arc<TetMesh>>,
}

/// What is wrong, and what to do about it.
#[derive(Debug)]
pub(super) struct Unmade {
    pub(super) message: String,
    pub(super) help: String,
}

impl Unmade {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// Makes a shape of the scene of `shop`; `tissue` is what is said of a body that is tissue.
pub(super) fn make(spec: &ShapeSpec, tissue: Option<&TissueSpec>, shop: &mut Workshop) -> Result<Solid, Unmade> {
    match spec {
        ShapeSpec::Plain(shape) => Ok(Solid { shape: shape.clone(), field: None, elements: None }),
        ShapeSpec::Part(part) => make_part(part, shop),
        ShapeSpec::Plug(connector) => {
            let plug = SnapSpec::shipped(*connector).plug().map_err(|error| cannot(&error))?;
            Ok(Solid { shape: Shape::Part(Arc::new(plug)), field: None, elements: None })
        }
        ShapeSpec::Socket { connector: SnapKind::Cap, detail: Detail::Graded } => {
            Err(Unmade::new("a cap has no graded mesh", "write detail = \"fine\""))
        }
        ShapeSpec::Socket { connector, detail } => {
            deformable("snap-socket", SnapSpec::shipped(*connector).socket(*detail).map_err(|error| cannot(&error))?)
        }
        ShapeSpec::Soft(soft) => deformable("soft", make_soft(soft, shop)?),
        ShapeSpec::Tissue(form) => {
            let help = "change its size, `cell`, layers or file";
            let elements = mesh_of(form, tissue, shop).map_err(|message| Unmade::new(message, help))?;
            let bounds = elements.aabb();
            // Nothing but a needle touches tissue, and that asks its elements: the box around it stands for it elsewhere.
            let shape = Shape::Cuboid(Cuboid { half: 0.5 * (bounds.max - bounds.min) });
            Ok(Solid { shape, field: None, elements: Some(Arc::new(elements)) })
        }
    }
}

/// A body that deforms: its surface at rest, and its elements.
fn deformable(name: &'static str, elements: TetMesh) -> Result<Solid, Unmade> {
    let (skin, _) = elements.skin().mesh(&elements).map_err(|error| cannot(&error))?;
    let surface = MeshSurface::new(skin.clone()).map_err(|error| cannot(&error))?;
    let part = Part::new(name, Box::new(surface), skin, false);
    Ok(Solid { shape: Shape::Part(Arc::new(part)), field: None, elements: Some(Arc::new(elements)) })
}

fn cannot(error: &dyn std::fmt::Display) -> Unmade {
    Unmade::new(error.to_string(), "change its dimensions or its mesh")
}

fn make_part(spec: &PartSpec, shop: &mut Workshop) -> Result<Solid, Unmade> {
    let design = match &spec.form {
        PartForm::Design(design) => design.clone(),
        PartForm::Mesh { file, unit } => {
            let mesh = read_mesh(file, *unit, shop)?;
            let longest = mesh.aabb().size().amax();
            if !(1e-4..=1.0).contains(&longest) {
                let message = format!("the mesh is {:.4} mm long with `unit = \"{}\"`", longest * 1e3, unit.symbol());
                return Err(Unmade::new(message, "parts have 0.1 mm to 1 m: is the unit right?"));
            }
            Design::Mesh(mesh)
        }
    };
    let part = design.part(spec.facets).map_err(|error| cannot(&error))?;
    let from = design.source().map_err(|error| cannot(&error))?;
    let plan = grid_plan(&design);
    let field: Option<Arc<Baked>> = match &spec.model {
        ModelChoice::Exact => None,
        ModelChoice::Grid => Some(shop.grid(&from, &plan)?),
        ModelChoice::File(file) => {
            let path = shop.beside(file);
            let bytes = shop.read_file(&path)?;
            let hashes = [from.hash(&plan), from.hash(&TrainPlan::default()), from.hash(&TrainPlan::round())];
            Some(Arc::new(baked(&bytes, &hashes).map_err(|error| {
                let help = bake_command(spec, &design, file).map_or_else(
                    || "write model = \"grid\", which needs no file".to_owned(),
                    |command| format!("make it with: {command}"),
                );
                Unmade::new(format!("{}: {error}", path.display()), help)
            })?))
        }
    };
    Ok(Solid { shape: Shape::Part(Arc::new(part)), field, elements: None })
}

fn grid_plan(design: &Design) -> GridPlan {
    if matches!(design, Design::Mesh(_)) { GridPlan::space() } else { GridPlan::profile() }
}

/// The field in `bytes`, made from one of these sources.
fn baked(bytes: &[u8], sources: &[SourceHash]) -> Result<Baked, FileError> {
    let mut last = FileError::Stale;
    for source in sources {
        match Baked::from_bytes(bytes, source) {
            Ok(field) => return Ok(field),
            Err(error) => last = error,
        }
    }
    Err(last)
}

pub(super) fn beside(source: &Source, file: &str) -> PathBuf {
    Path::new(source.name()).parent().map_or_else(|| PathBuf::from(file), |directory| directory.join(file))
}

/// A mesh of triangles from the file `file` beside the scene.
pub(super) fn read_mesh(file: &str, unit: LengthUnit, shop: &mut Workshop) -> Result<TriMesh, Unmade> {
    let path = shop.beside(file);
    let bytes = shop.read_file(&path)?;
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let mesh = match ending.as_ref().and_then(|ending| ending.to_str()) {
        Some("stl") => read_stl(&bytes, unit, Weld::Within(1e-6)),
        Some("obj") => read_obj(&bytes, unit),
        _ => {
            let message = format!("{} is neither .stl nor .obj", path.display());
            return Err(Unmade::new(message, "write the mesh as STL or OBJ"));
        }
    };
    let mesh = mesh.map_err(|error| Unmade::new(format!("{}: {error}", path.display()), "export the mesh again"))?;
    if mesh.triangles().len() > TRIANGLES_MAX {
        let message = format!("{} has {} triangles; at most {TRIANGLES_MAX}", path.display(), mesh.triangles().len());
        return Err(Unmade::new(message, "make the mesh coarser: each corner is looked at in every step"));
    }
    Ok(mesh)
}

/// A sound mesh of tetrahedra from the file `file` beside the scene.
pub(super) fn read_tet_file(file: &str, unit: LengthUnit, shop: &mut Workshop) -> Result<TetMesh, Unmade> {
    let path = shop.beside(file);
    let bytes = shop.read_file(&path)?;
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let mesh = match ending.as_ref().and_then(|ending| ending.to_str()) {
        Some("msh") => read_msh(&bytes, unit),
        Some("vtk") => read_vtk(&bytes, unit),
        Some("vtu") => read_vtu(&bytes, unit),
        _ => {
            let message = format!("{} is neither .msh nor .vtk nor .vtu", path.display());
            return Err(Unmade::new(message, "write the mesh in one of these formats"));
        }
    };
    let mesh = mesh.map_err(|error| Unmade::new(format!("{}: {error}", path.display()), "export the mesh again"))?;
    let report = mesh.check();
    if !report.is_sound() {
        let faults: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
        let message = format!("{}: {}", path.display(), faults.join("; "));
        return Err(Unmade::new(message, "correct the mesh and export it again"));
    }
    Ok(mesh)
}

/// A mesh of tissue, with ten nodes for each tetrahedron, from the file `file` beside the scene.
pub(super) fn read_tissue_mesh(file: &str, unit: LengthUnit, shop: &mut Workshop) -> Result<TetMesh, String> {
    let mesh = read_tet_file(file, unit, shop).map_err(|unmade| unmade.message)?.with_midsides();
    let (nodes, longest) = (mesh.nodes().len(), mesh.aabb().size().amax());
    if nodes > TISSUE_NODES_MAX {
        return Err(format!("{file} has {nodes} nodes, ten for each tetrahedron; at most {TISSUE_NODES_MAX}"));
    }
    if !(1e-3..=2.0).contains(&longest) {
        return Err(format!("the mesh is {:.4} mm long with `unit = \"{}\"`", longest * 1e3, unit.symbol()));
    }
    Ok(mesh)
}

/// The command that makes the field of a part, where there is one.
fn bake_command(spec: &PartSpec, design: &Design, file: &str) -> Option<String> {
    let mm = |metres: f64| format!("{}mm", (metres * 1e9).round() / 1e6);
    let thread = || match spec.thread? {
        ThreadSpec { diameter, pitch, hand, fit: Fit::RadialGap(gap) } => {
            let hand = if hand == Hand::Left { " --left" } else { "" };
            Some(format!("--diameter {} --pitch {} --gap {}{hand}", mm(diameter), mm(pitch), mm(gap)))
        }
        _ => None,
    };
    let (part, length, chamfer, body) = match design {
        Design::Peg(peg) => (format!("peg --diameter {}", mm(peg.diameter)), peg.length, peg.chamfer, None),
        Design::Bore(block) => {
            let (Body::Round { diameter }, None) = (block.body, block.floor) else { return None };
            (format!("bore --diameter {}", mm(block.diameter)), block.depth, block.chamfer, Some(diameter))
        }
        Design::Bolt(bolt) => (format!("bolt {}", thread()?), bolt.length, bolt.chamfer, None),
        Design::Nut(nut) => {
            let Body::Hex { across_flats } = nut.body else { return None };
            (format!("nut {}", thread()?), nut.height, nut.chamfer, Some(across_flats))
        }
        Design::Mesh(_) => return None,
    };
    let body = body.map_or_else(String::new, |body| format!(" --body {}", mm(body)));
    Some(format!("hapticd bake {part} --length {} --chamfer {}{body} --out {file}", mm(length), mm(chamfer)))
}
