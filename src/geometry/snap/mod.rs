//! Snap connectors from their dimensions: a deformable socket as tetrahedra, a rigid plug as an exact surface.
//!
//! Thread: cold, but for the distance of [`PlugSurface`] (no heap).
//!
//! The three kinds of seed 000: two prongs, one latch beside a stiff guide (LAN plug), a ring (leakage cap). All share one
//! section; the first two are that section drawn out along y, the third is turned about z.
//!
//! ```text
//!        flange ▄▄▄▄▄▄▄▄▄▄            plug comes from above, its tip is its origin
//!        groove    ████
//!        crest    ██████              ramp below the crest, flank above it
//!        tip       ████
//!             ▗▖         ▗▖  ── length
//!        nose ▐▙▄       ▄▟▌           the noses ride up the ramp and drop behind the crest
//!             ▐▌         ▐▌
//!             ████████████▌  ── 0     the base below is held
//! ```
//!
//! The paper gives materials, not dimensions: those here are of the size of what it shows, with forces that a desktop device can
//! render. Nothing of the plug is narrower than two nodes of the socket lie apart, so that it is enough to ask for the distance
//! of the socket's nodes from the plug.

mod plug;
mod socket;

pub use plug::PlugSurface;
pub use socket::{Detail, HELD, TOUCHING};

/// Which of the connectors of seed 000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapKind {
    /// Two prongs that open to both sides.
    TwoProng,
    /// One latch; the plug leans on a stiff guide opposite to it.
    Latch,
    /// A ring that opens all around.
    Cap,
}

/// A connector: lengths in m, angles in rad. Angles are from the direction of insertion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnapSpec {
    /// Which kind.
    pub kind: SnapKind,
    /// From the middle to the wall that carries the nose.
    pub half_gap: f64,
    /// Thickness of that wall.
    pub thickness: f64,
    /// Its height.
    pub length: f64,
    /// Width along y; of a ring, nothing.
    pub width: f64,
    /// How far the nose stands out.
    pub nose: f64,
    /// From the edge of the nose up to the end of the wall.
    pub nose_above: f64,
    /// From the edge of the nose down to where it begins.
    pub nose_below: f64,
    /// How far the crest of the plug pushes the edge of the nose aside.
    pub undercut: f64,
    /// Half the width of the plug's tip.
    pub tip: f64,
    /// Angle of the ramp below the crest.
    pub ramp: f64,
    /// Angle of the flank above the crest: the steeper, the harder to pull out.
    pub flank: f64,
    /// Radius of the plug's edges.
    pub round: f64,
    /// Radius of the edge of the nose, or nothing where it is sharp. Under a line load on a sharp edge a body gives way without bound as
    /// its mesh gets finer: next to nothing beside a prong that bends, but much beside a ring that stretches.
    pub nose_round: f64,
}

/// Room between the nose and the groove when the plug is home, m.
const GROOVE_ROOM: f64 = 0.2e-3;
/// How far the plug may be pulled before the flank meets the nose, m.
const PLAY: f64 = 0.5e-3;
/// Height of the flange, m.
const FLANGE: f64 = 3e-3;

impl SnapSpec {
    /// The connector of a kind as shipped.
    #[must_use]
    pub fn shipped(kind: SnapKind) -> Self {
        let degrees = std::f64::consts::PI / 180.0;
        let two = Self {
            kind,
            half_gap: 5e-3,
            thickness: 2.6e-3,
            length: 20e-3,
            width: 10e-3,
            nose: 2e-3,
            nose_above: 2.2e-3,
            nose_below: 0.8e-3,
            undercut: 1.5e-3,
            tip: 2e-3,
            ramp: 30.0 * degrees,
            flank: 60.0 * degrees,
            round: 0.4e-3,
            nose_round: 0.0,
        };
        match kind {
            SnapKind::TwoProng => two,
            SnapKind::Latch => Self { thickness: 4e-3, length: 18e-3, undercut: 1.2e-3, ..two },
            SnapKind::Cap => Self {
                half_gap: 8e-3,
                thickness: 1.2e-3,
                length: 12e-3,
                nose: 1e-3,
                nose_above: 1.2e-3,
                nose_below: 0.4e-3,
                undercut: 0.25e-3,
                tip: 6e-3,
                round: 0.2e-3,
                ..two
            },
        }
    }

    /// From the middle to the edge of the nose at rest.
    #[must_use]
    pub fn opening(&self) -> f64 {
        self.half_gap - self.nose
    }

    /// Height of the edge of the nose above the base.
    #[must_use]
    pub fn edge_height(&self) -> f64 {
        self.length - self.nose_above
    }

    /// Half the width of the plug at its crest.
    #[must_use]
    pub fn crest(&self) -> f64 {
        self.opening() + self.undercut
    }

    /// Half the width of the groove.
    fn groove(&self) -> f64 {
        self.opening() - GROOVE_ROOM
    }

    /// Heights over the tip at which the ramp meets the flank and the flank the groove, rounding left aside.
    #[must_use]
    pub fn crest_height(&self) -> f64 {
        (self.crest() - self.tip) / self.ramp.tan()
    }

    /// Height over the tip at which the flank leaves a nose at rest.
    fn release_height(&self) -> f64 {
        self.crest_height() + self.undercut / self.flank.tan() + self.nose_round * (0.5 * self.flank).tan()
    }

    /// Height of the tip above the base when the flange lies on the socket: the plug is home.
    #[must_use]
    pub fn home(&self) -> f64 {
        self.edge_height() - self.release_height() - PLAY
    }

    /// Height of the tip at which the nose first touches the ramp.
    #[must_use]
    pub fn first_touch(&self) -> f64 {
        let rounded = self.nose_round * (1.0 / self.ramp.cos() - 1.0);
        self.edge_height() - (self.opening() - self.tip - rounded) / self.ramp.tan()
    }

    /// Height of the flange over the tip.
    fn flange_height(&self) -> f64 {
        self.length - self.home()
    }
}

#[cfg(test)]
mod tests;
