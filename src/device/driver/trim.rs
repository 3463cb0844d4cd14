//! How one unit of a kind differs from its design: what a calibration finds out.
//!
//! Thread: any (plain data).

/// Encoders of a device, at most.
pub const TRIM_ENCODERS: usize = 6;
/// Largest deviation of an encoder in the homing pose, rad: more is another pose.
pub const TRIM_ORIGIN_MAX_RAD: f64 = 0.5;
/// Least and largest force of a unit, of what its kind gives for the same command.
pub const TRIM_FORCE: (f64, f64) = (0.5, 2.0);

/// Deviations of a unit. The default has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trim {
    /// What each encoder's shaft has turned in the homing pose beyond what it should have, rad.
    pub origin_rad: [f64; TRIM_ENCODERS],
    /// Force it gives over the force its kind gives for the same command. The driver asks for so much less.
    pub force_scale: f64,
}

impl Default for Trim {
    fn default() -> Self {
        Self { origin_rad: [0.0; TRIM_ENCODERS], force_scale: 1.0 }
    }
}

impl Trim {
    /// True when every number is within its bounds.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let (least, most) = TRIM_FORCE;
        let near = |angle: &f64| angle.abs() <= TRIM_ORIGIN_MAX_RAD;
        self.origin_rad.iter().all(near) && (least..=most).contains(&self.force_scale)
    }
}
