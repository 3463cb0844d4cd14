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
    /// A contact whose surface breaks: as [`Self::Contact`], with `λ_n ≤ most`. At the bound the gap closes beyond zero, by as much
    /// as the point goes in.
    Puncture {
        /// Coefficient of friction µ.
        friction: f64,
        /// Normal force at which the surface breaks, N.
        most_n: f64,
        /// What it bears afterwards, N.
        then_n: f64,
        /// How much the contact itself gives way, m/N.
        compliance: f64,
    },
    /// A needle in the channel it has cut; three rows: along, two across. Across it is held, `δ_t = 0`. Along, `λ` is between
    /// `least − µ‖λ_t‖` and `most + µ‖λ_t‖`: in between nothing moves, at the upper bound `δ` falls, at the lower it grows. Along the shaft
    /// `δ` is slip and the bounds are equal and opposite: stick and slip. At the tip it is the way to the end of the channel,
    /// the lower bound is zero, and beyond the upper one the tip cuts.
    Channel {
        /// Least force along, N.
        least_n: f64,
        /// Largest force along, N.
        most_n: f64,
        /// Largest force along once it has given way, N.
        then_n: f64,
        /// Friction µ that pressing across adds.
        friction: f64,
        /// `δ` along is the slip of a step and not a place.
        slides: bool,
        /// How much it gives way, m/N.
        compliance: f64,
    },
}

impl Law {
    /// Number of rows the law governs, at most three.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Contact { .. } | Self::Puncture { .. } | Self::Channel { .. } => 3,
            Self::Bilateral { rows, .. } => usize::from(*rows),
        }
    }

    /// True when row `k` of the law is the slip of a step: it has no place to go back to.
    #[must_use]
    pub fn slides(&self, k: usize) -> bool {
        match self {
            Self::Contact { .. } | Self::Puncture { .. } => k > 0,
            Self::Bilateral { .. } => false,
            Self::Channel { slides, .. } => *slides && k == 0,
        }
    }

    /// True when the force of its first row has a bound at which what holds it gives way for good.
    #[must_use]
    pub fn breaks(&self) -> bool {
        matches!(self, Self::Puncture { .. } | Self::Channel { slides: false, .. })
    }

    /// The law once what holds it has given way.
    #[must_use]
    pub fn broken(mut self) -> Self {
        if let Self::Puncture { most_n, then_n, .. } | Self::Channel { most_n, then_n, slides: false, .. } = &mut self {
            *most_n = *then_n;
        }
        self
    }

    /// How much the constraint itself gives way, m/N.
    #[must_use]
    pub fn compliance(&self) -> f64 {
        let (Self::Contact { compliance, .. }
        | Self::Bilateral { compliance, .. }
        | Self::Puncture { compliance, .. }
        | Self::Channel { compliance, .. }) = *self;
        compliance
    }

    /// The same law giving way by `new`, m/N.
    #[must_use]
    pub fn giving(mut self, new: f64) -> Self {
        let (Self::Contact { compliance, .. }
        | Self::Bilateral { compliance, .. }
        | Self::Puncture { compliance, .. }
        | Self::Channel { compliance, .. }) = &mut self;
        *compliance = new;
        self
    }

    /// True when the law's numbers make sense.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let good = |x: f64| x.is_finite() && x >= 0.0;
        match *self {
            Self::Contact { friction, compliance } => good(friction) && good(compliance),
            Self::Bilateral { rows, compliance } => (1..=3).contains(&rows) && good(compliance),
            Self::Puncture { friction, most_n, then_n, compliance } => {
                [friction, most_n, then_n, compliance].into_iter().all(good) && then_n <= most_n
            }
            Self::Channel { least_n, most_n, then_n, friction, compliance, .. } => {
                [-least_n, most_n, then_n, friction, compliance].into_iter().all(good) && then_n <= most_n
            }
        }
    }
}
