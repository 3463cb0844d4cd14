//! How well an operator's hand works, at three levels of practice.
//!
//! Thread: any (plain data).
//!
//! Where the figures come from:
//! - Impedance. A mass-damper-spring fitted to an arm holding its posture on a haptic device gave 0.55 kg, 6.5 N·s/m and
//!   135 N/m (van Beek et al. 2015, doi 10.1038/srep18004, fig. 3). A stylus is held by hand and fingers: less mass, more
//!   stiffness, which grows with grip force (Hasser and Cutkosky 2002; Fu and Çavuşoğlu 2012). Beginners co-contract and
//!   grip hard. The damper is set to 0.7 of critical.
//! - Tremor. Physiological tremor lies at 8–12 Hz; eye surgeons who tried to hold an instrument still strayed by 49 µm
//!   rms in all, mostly slowly (Riviere, Rader and Khosla 1997).
//! - Aiming. A first movement strays in proportion to its length, then corrections follow (Meyer et al. 1988); slow
//!   path noise grows with speed (Harris and Wolpert 1998). The size of each is chosen to span that literature.
//! - Force. Forces are judged to about a tenth; time to react to touch or sight is about 0.2 s.
//! - Stiffness. Just noticeable differences are 8 % where depths are alike and 22 % where only the ratio of force to depth tells
//!   (Tan et al. 1995); the errors of one judgement chosen here lie between.

use crate::device::PerPart;

/// Level of practice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Skill {
    /// First time at the task.
    Novice,
    /// Has done it before.
    #[default]
    Trained,
    /// Does it daily.
    Expert,
}

impl Skill {
    /// Every level, least first.
    pub const ALL: [Self; 3] = [Self::Novice, Self::Trained, Self::Expert];

    /// The level with this name: `novice`, `trained` or `expert`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|skill| skill.name() == name)
    }

    /// Its name in scene files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Novice => "novice",
            Self::Trained => "trained",
            Self::Expert => "expert",
        }
    }

    /// Numbers of a hand at this level.
    #[must_use]
    pub fn hand(self) -> HandModel {
        let part = |linear, angular| PerPart { linear, angular };
        let trained = HandModel {
            inertia: part(0.25, 1.5e-3),
            stiffness: part(350.0, 3.0),
            damping_ratio: 0.7,
            tremor_rms: part(0.08e-3, 1.5e-3),
            tremor_band_hz: [8.0, 12.0],
            drift_rms: part(0.15e-3, 2e-3),
            path_noise_s: 0.012,
            aim_error: 0.03,
            overshoot: 0.02,
            look_error: part(0.3e-3, 5e-3),
            reaction_s: 0.22,
            pace: 1.0,
            foresight: 0.8,
            force_error: 0.08,
            stiffness_error: 0.1,
            push_max: part(5.0, 0.25),
        };
        match self {
            Self::Novice => HandModel {
                stiffness: part(500.0, 4.0),
                tremor_rms: part(0.16e-3, 3e-3),
                drift_rms: part(0.4e-3, 6e-3),
                path_noise_s: 0.03,
                aim_error: 0.07,
                overshoot: 0.05,
                look_error: part(0.6e-3, 10e-3),
                reaction_s: 0.28,
                pace: 0.7,
                foresight: 0.5,
                force_error: 0.15,
                stiffness_error: 0.15,
                ..trained
            },
            Self::Trained => trained,
            Self::Expert => HandModel {
                stiffness: part(250.0, 2.5),
                tremor_rms: part(0.04e-3, 0.8e-3),
                drift_rms: part(0.06e-3, 0.8e-3),
                path_noise_s: 0.005,
                aim_error: 0.012,
                overshoot: 0.0,
                look_error: part(0.15e-3, 2.5e-3),
                reaction_s: 0.18,
                pace: 1.2,
                foresight: 0.95,
                force_error: 0.04,
                stiffness_error: 0.07,
                ..trained
            },
        }
    }
}

/// Numbers of a hand. Lengths are those of the handle unless they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandModel {
    /// Mass that moves with the handle, kg, and moment of inertia, kg·m².
    pub inertia: PerPart,
    /// Spring to the place the hand wants to be at, N/m and N·m/rad.
    pub stiffness: PerPart,
    /// Damper as a fraction of critical damping of hand and device together.
    pub damping_ratio: f64,
    /// Tremor of the free handle, rms per axis, m and rad.
    pub tremor_rms: PerPart,
    /// Where the tremor lies, Hz.
    pub tremor_band_hz: [f64; 2],
    /// Slow wandering of the place the hand wants to be at, rms per axis, m and rad.
    pub drift_rms: PerPart,
    /// Further wandering per speed, s: 0.01 is 1 mm rms at 0.1 m/s.
    pub path_noise_s: f64,
    /// Error of a movement's end, a fraction of its length, rms per axis.
    pub aim_error: f64,
    /// Mean overshoot of a movement, a fraction of its length.
    pub overshoot: f64,
    /// Errors smaller than this are not seen, m and rad.
    pub look_error: PerPart,
    /// Time from perceiving to acting, s.
    pub reaction_s: f64,
    /// Speed of movements, relative to what the script asks.
    pub pace: f64,
    /// How much of the handle's inertia, drag and friction the hand allows for in advance, 0 to 1.
    pub foresight: f64,
    /// Error of a force, a fraction of it, rms.
    pub force_error: f64,
    /// Error of a stiffness judged by pressing, a fraction of it, rms.
    pub stiffness_error: f64,
    /// The hand gives way rather than hold its place with more than this, N and N·m.
    pub push_max: PerPart,
}
