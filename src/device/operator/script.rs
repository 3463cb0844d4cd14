//! What a simulated operator is asked to do: a list of phases, each an action and the condition that ends it.
//!
//! Thread: any (plain data of fixed size, RT safe).
//!
//! Positions, directions and axes are in scene coordinates; poses are those of the tool. Forces are newtons in the hand,
//! their directions in scene axes, because that is what an operator feels and what a device can give.

use super::palpate::PalpationGrid;
use crate::device::PerPart;
use crate::math::{Pose, Vec3};

/// Most phases a script can have.
pub const MAX_PHASES: usize = 32;

/// A short name of fixed size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; 24],
    length: u8,
}

impl Name {
    /// The name `text`, cut to its first 24 bytes at the end of a character.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; 24];
        let length = text.floor_char_boundary(bytes.len());
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Self { bytes, length: length as u8 }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the hand does in a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Brings the tool to a pose, looks, and corrects until told otherwise.
    MoveTo {
        /// Where the tool should be.
        target: Pose,
        /// Mean speed, scene m/s, of a trained operator.
        speed: f64,
    },
    /// Pushes with a force, holding the place across it and giving way along it.
    Press {
        /// Force of the hand, N in the hand, direction in the scene.
        force: Vec3,
    },
    /// Moves across a force while pushing with it.
    Slide {
        /// Where the tool should be; what lies along the force is left to the force.
        target: Pose,
        /// Mean speed, scene m/s, of a trained operator.
        speed: f64,
        /// Force of the hand, N in the hand, direction in the scene.
        force: Vec3,
    },
    /// Winds out and in again along a spiral across a force while pushing with it.
    Search {
        /// Largest distance from the start, scene m.
        radius: f64,
        /// Distance between two turns, scene m.
        pitch: f64,
        /// Speed along the spiral, scene m/s, of a trained operator.
        speed: f64,
        /// Force of the hand, N in the hand, direction in the scene.
        force: Vec3,
    },
    /// Turns the tool about an axis through its present place while pushing with a force, which may be zero.
    Turn {
        /// Unit axis in the scene.
        axis: Vec3,
        /// How far, rad; may be many turns.
        angle_rad: f64,
        /// Mean rate, rad/s, of a trained operator.
        rate_rad_s: f64,
        /// Force of the hand, N in the hand, direction in the scene.
        force: Vec3,
    },
    /// Turns the tool on and on about an axis while pushing with a force: by grips, between which the hand lets the tool go
    /// with a button and turns back.
    Screw {
        /// Unit axis in the scene.
        axis: Vec3,
        /// How far in one grip, rad; negative for the other way.
        grip_rad: f64,
        /// Mean rate, rad/s, of a trained operator.
        rate_rad_s: f64,
        /// Force of the hand, N in the hand, direction in the scene.
        force: Vec3,
        /// Button that lets the tool go, one bit.
        release: u32,
    },
    /// Swings a spanner to and fro about an axis while pushing with a force; the hand is at the end of its lever.
    Swing {
        /// Unit axis in the scene.
        axis: Vec3,
        /// From the tool to the hand at the start, scene m, across the axis.
        lever: Vec3,
        /// How far there, rad; negative for the other way.
        swing_rad: f64,
        /// Mean rate, rad/s, of a trained operator.
        rate_rad_s: f64,
        /// Force of the hand, N in the hand, direction in the scene.
        force: Vec3,
    },
    /// Keeps the tool at a place of a body as seen on the screen.
    Follow {
        /// Number of the body in the view.
        body: usize,
        /// The tool in the body's frame.
        offset: Pose,
    },
    /// Presses at one place of a grid after the other and goes above the stiffest; ends by itself.
    Palpate {
        /// The places.
        grid: PalpationGrid,
        /// Mean speed between them, scene m/s, of a trained operator.
        speed: f64,
        /// Force of the hand at each, N in the hand, direction in the scene.
        force: Vec3,
    },
    /// Holds still for a time; ends by itself.
    Rest {
        /// How long, s.
        seconds: f64,
    },
}

impl Action {
    /// The force the hand means to exert.
    #[must_use]
    pub fn force(&self) -> Vec3 {
        match *self {
            Self::Press { force }
            | Self::Slide { force, .. }
            | Self::Search { force, .. }
            | Self::Screw { force, .. }
            | Self::Swing { force, .. }
            | Self::Palpate { force, .. }
            | Self::Turn { force, .. } => force,
            Self::MoveTo { .. } | Self::Follow { .. } | Self::Rest { .. } => Vec3::zeros(),
        }
    }
}

/// What ends a phase, as the operator perceives it: by the felt force, the screen, or the sense of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// The movement is over and the tool is where it should be.
    Reached {
        /// Largest distance, scene m; along a pressing force distance does not count.
        tolerance_m: f64,
        /// Largest angle, rad; ignored where the device senses no rotation.
        tolerance_rad: f64,
    },
    /// This long has passed.
    Elapsed {
        /// Time, s.
        seconds: f64,
    },
    /// More than this force is felt without a break.
    ForceAbove {
        /// Force, N in the hand.
        force_n: f64,
        /// For how long, s.
        for_s: f64,
    },
    /// More than this torque is felt without a break; of a spanner that is swung, that on the tool.
    TorqueAbove {
        /// Torque, N·m in the hand, or on the tool.
        torque_nm: f64,
        /// For how long, s.
        for_s: f64,
    },
    /// The tool's place along an axis is below an offset: `axis · p ≤ offset`.
    ToolBelow {
        /// Unit axis in the scene.
        axis: Vec3,
        /// Offset, scene m.
        offset: f64,
    },
    /// The tool has fallen along an axis, from the highest place it had in this phase.
    ToolDropped {
        /// Unit axis in the scene.
        axis: Vec3,
        /// How far, scene m.
        distance: f64,
    },
    /// A body has moved since the phase began.
    BodyMoved {
        /// Number of the body in the view.
        body: usize,
        /// Unit direction in the scene.
        direction: Vec3,
        /// How far, scene m.
        distance: f64,
    },
    /// A body has turned, about any axis, since the phase began.
    BodyTilted {
        /// Number of the body in the view.
        body: usize,
        /// How far, rad.
        angle_rad: f64,
    },
    /// A body is at a place.
    BodyAt {
        /// Number of the body in the view.
        body: usize,
        /// The place in the scene.
        position: Vec3,
        /// Largest distance, scene m.
        tolerance: f64,
    },
    /// The tip of the needle is near the middle of its target, as the image shows it.
    NeedleWithin {
        /// Largest distance, scene m.
        distance: f64,
    },
    /// So much of the needle is in tissue, by its marks.
    NeedleDepthAbove {
        /// More than this, scene m.
        depth: f64,
    },
    /// The needle has broken surfaces since the phase began.
    Punctures {
        /// So many at least.
        count: u32,
    },
    /// A cavity has a pressure below that of the surroundings, as it is seen and felt.
    SuctionAbove {
        /// By more than this, Pa.
        pressure: f64,
    },
    /// No cavity has.
    SuctionBelow {
        /// Less than this, Pa.
        pressure: f64,
    },
    /// The target of the needle is at a place, as it moves with the breath.
    TargetAt {
        /// The place in the scene.
        position: Vec3,
        /// Largest distance, scene m.
        tolerance: f64,
    },
}

impl Until {
    /// True when it asks about enclosed air.
    #[must_use]
    pub fn is_of_air(&self) -> bool {
        matches!(self, Self::SuctionAbove { .. } | Self::SuctionBelow { .. })
    }

    /// True when it asks about a needle.
    #[must_use]
    pub fn is_of_needle(&self) -> bool {
        matches!(
            self,
            Self::NeedleWithin { .. } | Self::NeedleDepthAbove { .. } | Self::Punctures { .. } | Self::TargetAt { .. }
        )
    }
}

/// One phase of a script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Name, for progress lines.
    pub name: Name,
    /// What the hand does.
    pub action: Action,
    /// What ends it.
    pub until: Until,
    /// The operator gives up after this long, s.
    pub timeout_s: f64,
    /// Buttons held meanwhile, one bit each.
    pub buttons: u32,
    /// The target of [`Action::MoveTo`] is elsewhere for every seed: by up to so much across z of the scene, m, and turned
    /// about it by up to so much either way, rad.
    pub scatter: PerPart,
}

impl Phase {
    /// A phase with no button held.
    #[must_use]
    pub fn new(name: &str, action: Action, until: Until, timeout_s: f64) -> Self {
        let scatter = PerPart { linear: 0.0, angular: 0.0 };
        Self { name: Name::new(name), action, until, timeout_s, buttons: 0, scatter }
    }

    /// The same phase with these buttons held.
    #[must_use]
    pub fn holding(self, buttons: u32) -> Self {
        Self { buttons, ..self }
    }

    /// The same phase with a target that is elsewhere for every seed.
    #[must_use]
    pub fn scattered(self, scatter: PerPart) -> Self {
        Self { scatter, ..self }
    }
}

/// More phases than fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the script has {given} phases; at most {MAX_PHASES} fit: join some of them")]
pub struct ScriptTooLong {
    /// How many were given.
    pub given: usize,
}

/// Phases in order.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    phases: [Phase; MAX_PHASES],
    count: usize,
}

impl Script {
    /// Nothing to do: the operator holds the handle still.
    #[must_use]
    pub fn empty() -> Self {
        let rest = Phase::new("", Action::Rest { seconds: 0.0 }, Until::Elapsed { seconds: 0.0 }, 0.0);
        Self { phases: [rest; MAX_PHASES], count: 0 }
    }

    /// A script of these phases.
    ///
    /// # Errors
    /// [`ScriptTooLong`] when there are more than [`MAX_PHASES`].
    pub fn new(phases: &[Phase]) -> Result<Self, ScriptTooLong> {
        let mut script = Self::empty();
        let places = script.phases.get_mut(..phases.len()).ok_or(ScriptTooLong { given: phases.len() })?;
        places.copy_from_slice(phases);
        script.count = phases.len();
        Ok(script)
    }

    /// The phases.
    #[must_use]
    pub fn phases(&self) -> &[Phase] {
        &self.phases[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_at_a_character() {
        assert_eq!(Name::new("seat").as_str(), "seat");
        // The two-byte letter would straddle the 24th byte.
        assert_eq!(Name::new("aaaaaaaaaaaaaaaaaaaaaaaäb").as_str(), "aaaaaaaaaaaaaaaaaaaaaaa");
    }

    #[test]
    fn a_script_takes_thirty_two_phases_and_refuses_more() {
        let phase = Phase::new("a", Action::Rest { seconds: 1.0 }, Until::Elapsed { seconds: 1.0 }, 2.0);
        assert_eq!(Script::new(&[phase; 32]).map(|script| script.phases().len()), Ok(32));
        assert_eq!(Script::new(&[phase; 33]).map(|_| ()), Err(ScriptTooLong { given: 33 }));
    }
}
