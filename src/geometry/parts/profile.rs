//! The profile of an ISO metric thread.
//!
//! Thread: any (RT safe).
//!
//! ISO 68-1: flanks at 30° to the plane across the axis, `H = √3/2 P` high if sharp, cut off by H/8 at the crest and
//! H/4 at the root. Seen in a plane through the axis, with `s` along it:
//!
//! ```text
//!          wc                         major radius  = d/2
//!        ┌────┐ crest, 2 wc = P/8
//!       ╱      ╲                      pitch radius  = d/2 − 3H/8: ridge and groove are P/2 wide
//!      ╱        ╲
//!  ───┘          └─── root, P/4       minor radius  = d/2 − 5H/8
//!          0   wr        s
//! ```
//!
//! A bolt is solid below this line, a nut above it. The line repeats every pitch and moves along the axis by one pitch
//! per turn: `s = z − P θ/2π` for a right-hand thread. A bolt and a nut in the same frame are in phase.

use super::tolerance::tolerances;
use super::{Limit, PartError, positive};

/// `tan 30°`: how far a flank runs along the axis per radius.
const FLANK: f64 = 0.577_350_269_189_625_8;

/// Which way a thread winds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hand {
    /// Turned clockwise, it moves away.
    Right,
    /// Turned anticlockwise, it moves away.
    Left,
}

/// Which part of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// External: the bolt.
    Bolt,
    /// Internal: the nut.
    Nut,
}

/// How much room there is between bolt and nut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// None: both have the basic profile.
    Basic,
    /// This radial gap, m, between a bolt and a nut made with the same value: each gives half of it, all over the
    /// profile.
    RadialGap(f64),
    /// Classes 6g for the bolt and 6H for the nut, at this limit of the zone.
    Class6(Limit),
}

/// A thread as designated: M48x5, right-hand, with a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadSpec {
    /// Nominal diameter, m.
    pub diameter: f64,
    /// Pitch, m.
    pub pitch: f64,
    /// Which way it winds.
    pub hand: Hand,
    /// Room between the parts.
    pub fit: Fit,
}

impl ThreadSpec {
    /// The profile of the bolt or the nut.
    ///
    /// # Errors
    /// If there is no such thread.
    pub fn profile(&self, side: Side) -> Result<ThreadProfile, PartError> {
        positive(self.diameter, "diameter")?;
        positive(self.pitch, "pitch")?;
        if self.pitch > 0.25 * self.diameter {
            return Err(PartError::TooCoarse { pitch_mm: self.pitch * 1e3, diameter_mm: self.diameter * 1e3 });
        }
        let height = 0.75_f64.sqrt() * self.pitch;
        let half = 0.5 * self.diameter;
        // Outwards, of the radii at root, pitch line and crest.
        let (minor, middle, major) = self.shifts(side)?;
        let profile = ThreadProfile {
            side,
            hand: self.hand,
            pitch: self.pitch,
            major_radius: half + major,
            pitch_radius: half - 0.375 * height + middle,
            minor_radius: half - 0.625 * height + minor,
        };
        profile.check().map(|()| profile)
    }

    /// How far the fit moves the minor, pitch and major radius outwards.
    fn shifts(&self, side: Side) -> Result<(f64, f64, f64), PartError> {
        let out = if side == Side::Bolt { -0.5 } else { 0.5 };
        match self.fit {
            Fit::Basic => Ok((0.0, 0.0, 0.0)),
            Fit::RadialGap(gap) => Ok((out * gap, out * gap, out * gap)),
            Fit::Class6(limit) => {
                let t = tolerances(self.diameter, self.pitch)?;
                let used = limit.share();
                Ok(match side {
                    // The root has no tolerance of its own: it follows the flanks.
                    Side::Bolt => {
                        let middle = -0.5 * (t.deviation_g + used * t.bolt_pitch);
                        (middle, middle, -0.5 * (t.deviation_g + used * t.bolt_major))
                    }
                    Side::Nut => {
                        let middle = 0.5 * used * t.nut_pitch;
                        (0.5 * used * t.nut_minor, middle, middle)
                    }
                })
            }
        }
    }
}

/// The profile of one part, after the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadProfile {
    /// Bolt or nut.
    pub side: Side,
    /// Which way it winds.
    pub hand: Hand,
    /// Pitch, m.
    pub pitch: f64,
    /// Radius of the bolt's crest or the nut's root, m.
    pub major_radius: f64,
    /// Radius where the ridge is half a pitch wide, m.
    pub pitch_radius: f64,
    /// Radius of the bolt's root or the nut's crest, m.
    pub minor_radius: f64,
}

impl ThreadProfile {
    /// Says whether there is such a profile. Everything else here takes it for granted.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), PartError> {
        positive(self.pitch, "pitch")?;
        positive(self.minor_radius, "minor radius")?;
        positive(self.pitch_radius - self.minor_radius, "depth of the thread below the pitch radius")?;
        positive(self.major_radius - self.pitch_radius, "height of the thread above the pitch radius")?;
        if !(self.crest_half_width() > 0.0) {
            return Err(PartError::SharpThread("top"));
        }
        if !(self.foot_half_width() < 0.5 * self.pitch) {
            return Err(PartError::SharpThread("bottom"));
        }
        let (pitch_mm, diameter_mm) = (self.pitch * 1e3, 2e3 * self.major_radius);
        // With a little slack for what the fit takes off.
        if self.pitch > 0.26 * 2.0 * self.major_radius {
            return Err(PartError::TooCoarse { pitch_mm, diameter_mm });
        }
        Ok(())
    }

    /// Half of the width of the ridge at its top.
    #[must_use]
    pub fn crest_half_width(&self) -> f64 {
        0.25 * self.pitch - (self.major_radius - self.pitch_radius) * FLANK
    }

    /// Half of the width of the ridge at its foot.
    #[must_use]
    pub fn foot_half_width(&self) -> f64 {
        0.25 * self.pitch + (self.pitch_radius - self.minor_radius) * FLANK
    }

    /// Radius of the line at `s` along the axis, the middle of a ridge being at 0.
    #[must_use]
    pub fn radius(&self, s: f64) -> f64 {
        let from_middle = (s - self.pitch * (s / self.pitch).round()).abs();
        let on_flank = self.major_radius - (from_middle - self.crest_half_width()) / FLANK;
        on_flank.clamp(self.minor_radius, self.major_radius)
    }
}
