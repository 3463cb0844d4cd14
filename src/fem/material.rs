//! What a body is made of.
//!
//! Thread: any (plain data).

/// A linear elastic, isotropic material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Young's modulus, Pa.
    pub young_pa: f64,
    /// Poisson's ratio, above −1 and below ½.
    pub poisson: f64,
    /// Density, kg/m³.
    pub density: f64,
}

impl Material {
    /// Lamé's constants `λ = Eν/((1+ν)(1−2ν))` and `µ = E/(2(1+ν))`, Pa.
    #[must_use]
    pub fn lame(&self) -> (f64, f64) {
        let Self { young_pa, poisson, .. } = *self;
        let shear = young_pa / (2.0 * (1.0 + poisson));
        (2.0 * shear * poisson / (1.0 - 2.0 * poisson), shear)
    }

    /// `E* = E/(1−ν²)`, Pa: what a rigid indenter feels.
    #[must_use]
    pub fn plane_strain_pa(&self) -> f64 {
        self.young_pa / (1.0 - self.poisson * self.poisson)
    }

    pub(super) fn is_sound(&self) -> bool {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        positive(self.young_pa) && positive(self.density) && self.poisson > -1.0 && self.poisson < 0.5
    }
}

/// Rayleigh damping `D = α M + β K`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rayleigh {
    /// `α`, 1/s: damps slow modes most.
    pub mass_per_s: f64,
    /// `β`, s: damps fast modes most.
    pub stiffness_s: f64,
}

impl Rayleigh {
    pub(super) fn is_sound(&self) -> bool {
        let good = |x: f64| x >= 0.0 && x.is_finite();
        good(self.mass_per_s) && good(self.stiffness_s)
    }
}
