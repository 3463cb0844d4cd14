//! Deformable bodies as a scene file states them.
//!
//! Thread: any (plain data).

use crate::fem::{Material, Rayleigh};
use crate::geometry::mesh::LengthUnit;
use crate::geometry::tet::Region;
use crate::math::Vec3;
use crate::sim::Breathing;

/// The solids that are filled with tetrahedra.
#[derive(Clone, Debug, PartialEq)]
pub enum SoftForm {
    /// A block.
    Box {
        /// Lengths along x, y and z, m.
        size: Vec3,
    },
    /// A cylinder about z.
    Cylinder {
        /// Radius, m.
        radius_m: f64,
        /// Length, m.
        length_m: f64,
    },
    /// A ball.
    Sphere {
        /// Radius, m.
        radius_m: f64,
    },
    /// A hollow ball.
    Shell {
        /// Outer radius, m.
        radius_m: f64,
        /// Thickness of the wall, m.
        wall_m: f64,
    },
    /// A hollow cylinder about z, open at both ends.
    Tube {
        /// Outer radius, m.
        radius_m: f64,
        /// Length, m.
        length_m: f64,
        /// Thickness of the wall, m.
        wall_m: f64,
    },
    /// A ring about z.
    Torus {
        /// Radius of the circle through the middle of the section, m.
        radius_m: f64,
        /// Radius of the section, m.
        section_m: f64,
    },
    /// A suction cup about z, its lip in the plane z = 0.
    Cup {
        /// Radius of the lip, m.
        radius_m: f64,
        /// From the lip to the top of the stem, m.
        height_m: f64,
        /// Depth of the hollow, m.
        depth_m: f64,
        /// Thickness of the wall in the middle, m.
        wall_m: f64,
        /// Thickness at the lip, m.
        lip_m: f64,
        /// Radius of the stem, m.
        stem_m: f64,
    },
    /// Tetrahedra from a file.
    Mesh {
        /// MSH, VTK or VTU, beside the scene file.
        file: String,
        /// Unit of its numbers.
        unit: LengthUnit,
    },
    /// A closed surface from a file, filled with tetrahedra.
    Stuffed {
        /// STL or OBJ, beside the scene file.
        file: String,
        /// Unit of its numbers.
        unit: LengthUnit,
    },
}

/// `shape = { kind = "soft-…", … }`
#[derive(Clone, Debug, PartialEq)]
pub struct SoftShapeSpec {
    /// The solid.
    pub form: SoftForm,
    /// Edge of its tetrahedra, m; none for a mesh from a file.
    pub cell_m: Option<f64>,
    /// Ten nodes for each tetrahedron, else four.
    pub is_quadratic: bool,
}

/// How forces follow from displacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftModelKind {
    /// In proportion: right for small displacements and rotations.
    Linear,
    /// In proportion in the rotated frame of each element: right for large rotations and small strains.
    Corotational,
}

/// How a deformable body goes from one step to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftStepKind {
    /// From rest to rest, without inertia.
    Static,
    /// Passive midpoint integration of all unknowns.
    Pmi,
    /// Passive midpoint integration of a reduced model.
    Reduced,
    /// Implicit Euler.
    Implicit,
    /// The one that fits the model and what is given.
    Auto,
}

/// What is stated of a material: a region may leave the rest to the body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaterialSpec {
    /// Young's modulus, Pa.
    pub young_pa: Option<f64>,
    /// Poisson's ratio.
    pub poisson: Option<f64>,
    /// Density, kg/m³.
    pub density: Option<f64>,
}

impl MaterialSpec {
    /// The material, with what is not stated taken from `base`; none when a value is stated in neither.
    #[must_use]
    pub fn over(&self, base: &Self) -> Option<Material> {
        Some(Material {
            young_pa: self.young_pa.or(base.young_pa)?,
            poisson: self.poisson.or(base.poisson)?,
            density: self.density.or(base.density)?,
        })
    }
}

/// A part of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// A group of its mesh, by name.
    Group(String),
    /// By place, in the frame of its shape.
    Region(Region),
}

/// `[[body.NAME.group]]`
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSpec {
    /// Its name.
    pub name: String,
    /// The nodes it has.
    pub region: Region,
}

/// `[[body.NAME.region]]`
#[derive(Clone, Debug, PartialEq)]
pub struct RegionSpec {
    /// What goals call it.
    pub name: Option<String>,
    /// The elements it has.
    pub part: Selection,
    /// The place is off across z of the shape by up to this, elsewhere for every seed, m.
    pub scatter_m: f64,
    /// By how much it is off for the seed in use, m.
    pub moved: Vec3,
    /// What they are made of.
    pub material: MaterialSpec,
}

/// `elastic = { … }` with the groups and regions of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct ElasticSpec {
    /// What elements are made of that belong to no region.
    pub material: MaterialSpec,
    /// Damping.
    pub damping: Rayleigh,
    /// Groups that do not move; none stated: the base of a snap-socket, nothing of other bodies.
    pub held: Option<Vec<String>>,
    /// How forces follow from displacements; none stated: linear for a snap-socket, else corotational.
    pub model: Option<SoftModelKind>,
    /// How the body steps.
    pub step: SoftStepKind,
    /// Reduced model beside the scene file, made by `hapticd bake reduce`.
    pub reduced: Option<String>,
    /// The body can touch itself.
    pub self_contact: bool,
    /// How what holds it moves.
    pub breathing: Option<Breathing>,
    /// Named parts besides those of the mesh.
    pub groups: Vec<GroupSpec>,
    /// Materials by place; a later one takes precedence.
    pub regions: Vec<RegionSpec>,
}
