//! What hangs between the operator's handle and the proxy.
//!
//! Thread: any (plain data).

/// A spring and a damper on each of six axes: three linear (world frame), three angular (body frame).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringDamper {
    /// N/m for the first three, N·m/rad for the last three.
    pub stiffness: [f64; 6],
    /// N·s/m for the first three, N·m·s/rad for the last three.
    pub damping: [f64; 6],
}

impl SpringDamper {
    /// The same on all linear and on all angular axes.
    #[must_use]
    pub fn isotropic(stiffness: f64, damping: f64, angular_stiffness: f64, angular_damping: f64) -> Self {
        let six = |linear, angular| [linear, linear, linear, angular, angular, angular];
        Self { stiffness: six(stiffness, angular_stiffness), damping: six(damping, angular_damping) }
    }
}

/// The three ways of rendering, selectable per scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coupling {
    /// Spring–damper virtual coupling by passive midpoint integration: the hand feels the spring. Robust; the handle
    /// sinks into a hard surface by force over stiffness.
    Spring(SpringDamper),
    /// Four-channel transparent coupling (seed 001 V-F; Kim and Lee 2013, 2017): besides the spring, the observed force
    /// of the hand acts on the proxy and the force of the scene acts on the hand, so that the spring has next to nothing
    /// left to carry. The handle hardly sinks in, and the proxy is not dragged by the handle.
    Transparent {
        /// The spring that remains for what the observer gets wrong.
        spring: SpringDamper,
        /// How fast the hand's force is followed, Hz.
        bandwidth_hz: f64,
    },
    /// No proxy: the handle is the tool, contacts give way with this stiffness and damping.
    Direct {
        /// N/m.
        stiffness: f64,
        /// N·s/m.
        damping: f64,
    },
}
