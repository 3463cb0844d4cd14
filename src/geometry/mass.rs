//! Mass, centre of mass and inertia, added up from parts in closed form.
//!
//! Thread: any (cold: asked once, when a scene is built).
//!
//! Moments about the origin of the frame add and subtract: a block with a hole is the block less the hole. The tensor
//! about the centre of mass `c` follows from the parallel-axis theorem, `I_c = I_o − m (|c|² 1 − c cᵀ)`.

use crate::math::{Mat3, Vec3};

/// How a solid resists being moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Mass, kg.
    pub mass: f64,
    /// Centre of mass in the frame of the shape, m.
    pub center: Vec3,
    /// Inertia tensor about the centre of mass, along the axes of the shape, kg·m².
    pub inertia: Mat3,
}

/// Volume and its first and second moments about the origin, for density one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    /// Volume, m³.
    pub(super) mass: f64,
    /// `∫ x dV`, m⁴.
    pub(super) first: Vec3,
    /// `∫ (|x|² 1 − x xᵀ) dV`, m⁵.
    pub(super) inertia: Mat3,
}

fn parallel_axis(c: &Vec3) -> Mat3 {
    Mat3::identity() * c.norm_squared() - c * c.transpose()
}

impl Moments {
    /// The same solid with its centre of mass, now at the origin, moved to `to`.
    pub(super) fn moved(&self, to: &Vec3) -> Self {
        Self { mass: self.mass, first: to * self.mass, inertia: self.inertia + parallel_axis(to) * self.mass }
    }

    /// Both solids together.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self { mass: self.mass + other.mass, first: self.first + other.first, inertia: self.inertia + other.inertia }
    }

    /// This solid with `hole` cut out of it.
    pub(super) fn less(&self, hole: &Self) -> Self {
        self.plus(&Self { mass: -hole.mass, first: -hole.first, inertia: -hole.inertia })
    }

    /// Mass properties for `density`, kg/m³.
    pub(super) fn properties(&self, density: f64) -> MassProperties {
        let center = self.first / self.mass;
        let inertia = self.inertia - parallel_axis(&center) * self.mass;
        MassProperties { mass: self.mass * density, center, inertia: inertia * density }
    }
}
