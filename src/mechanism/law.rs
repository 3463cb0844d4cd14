//! Laws: what relates the violation `δ` of a constraint block to its force `λ`.
//!
//! Thread: any (RT safe).

/// The law of one block of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Contact with Coulomb friction; three rows: normal, two tangents. `δ_n` is the gap at the end of the step,
    /// `δ_t` the slip during it: `0 ≤ λ_n ⊥ δ_n ≥ 0`, `‖λ_t‖ ≤ µ λ_n`, `λ_t` opposite to the slip.
    Contact {
        /// Coefficient of friction µ.
        friction: f64,
        /// How much the contact itself gives way, m/N; zero for a strict contact.
        compliance: f64,
    },
    /// `δ + compliance · λ = 0` on one to three rows.
    Bilateral {
        /// Number of rows.
        rows: u8,
        /// How much the joint gives way, m/N; zero for a strict joint.
        compliance: f64,
    },
}

impl Law {
    /// Number of rows the law governs, at most three.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Contact { .. } => 3,
            Self::Bilateral { rows, .. } => usize::from(*rows),
        }
    }

    /// How much the constraint itself gives way, m/N.
    #[must_use]
    pub fn compliance(&self) -> f64 {
        let (Self::Contact { compliance, .. } | Self::Bilateral { compliance, .. }) = *self;
        compliance
    }

    /// True when the law's numbers make sense.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let good = |x: f64| x.is_finite() && x >= 0.0;
        match *self {
            Self::Contact { friction, compliance } => good(friction) && good(compliance),
            Self::Bilateral { rows, compliance } => (1..=3).contains(&rows) && good(compliance),
        }
    }
}
