//! What hangs between the operator's handle and the proxy.
//!
//! Thread: any (plain data); [`Channels`] haptic (RT).
//!
//! Transparent coupling (seed 001 V-F, Fig. 17: four channels, two of position and velocity in the spring, two of force).
//! With spring force `f_s` and contact force `f_c` on the proxy, motor force `u` and hand force `f_h` on the handle:
//!
//! ```text
//!  proxy   m_p a_p = f_s + f_x + f_c       f_x = m_p â − û = r (f̂_h − b v̂ + û) − û,   r = m_p/m
//!  handle  m a     = f_h − b v + u         u   = −f_s + filter(f_c − the part of it that f_s bears)
//! ```
//!
//! `f_x` is the force that the hand would need if the handle were as heavy as the proxy and had no drag: in free motion it
//! accelerates the proxy just as the handle is accelerated, and the spring stays slack; at rest it is the hand's force
//! itself, `−û`, so that the scene is pushed as hard as the hand pushes. `û` is the motors' force at the observer's pace,
//! so that both terms of `f_x` speak of the same moment. Passing on only what the spring does not bear already leaves the
//! loop through the spring as it is without the channels, and as stable.
//!
//! A handle that the device's Coulomb friction holds tells nothing about the hand below that friction; a channel that
//! followed regardless would creep and slip in turn. So what reaches the hand changes only by what goes beyond friction,
//! and the spring keeps the rest: the handle sinks in by at most friction over stiffness.

use super::{HapticModel, MAX_LATENCY_TICKS};
use crate::device::{HandForce, Observed, PerPart};
use crate::math::{Mapping, Mat3, Rot, Vec3, Wrench, join, split};

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

/// Bandwidth at which the transparent coupling follows the hand unless told otherwise, Hz. The force channels take out
/// damping of about `m ω₀/4`, `m` with what the hand adds to the handle; at 10 Hz that is 2.4 N·s/m for a free handle of
/// 150 g, which the damper of the coupling has to make up for.
pub const TRANSPARENT_BANDWIDTH_HZ: f64 = 10.0;

/// The three ways of rendering, selectable per scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coupling {
    /// Spring–damper virtual coupling by passive midpoint integration: the hand feels the spring. Robust; the handle
    /// sinks into a hard surface by force over stiffness.
    Spring(SpringDamper),
    /// Four-channel transparent coupling (seed 001 V-F; Kim and Lee 2013, 2017): besides the spring, the observed force
    /// of the hand acts on the proxy and the force of the scene acts on the hand, so that the spring has next to nothing
    /// left to carry. The handle hardly sinks in, and the proxy is not dragged by the handle. Measured with a handle of
    /// 150 g and the usual bandwidth: stable from 200 N/m and 5 N·s/m on, let go or held; with 250 g of limp hand more on the
    /// handle from 10 N·s/m on (`hapticd bench zwidth`).
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

impl Coupling {
    /// The transparent coupling at its usual bandwidth.
    #[must_use]
    pub fn transparent(spring: SpringDamper) -> Self {
        Self::Transparent { spring, bandwidth_hz: TRANSPARENT_BANDWIDTH_HZ }
    }
}

/// The two force channels of the transparent coupling. See the file's head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channels {
    /// Part of the way to the newest value that a filter of the observer's bandwidth goes in a tick.
    share: f64,
    drag: PerPart,
    /// Coulomb friction of the device, as it is in the scene.
    friction: PerPart,
    /// Inertia of the proxy over that of the handle, both as they are felt in the hand.
    mass_ratio: f64,
    inertia_ratio: Mat3,
    latency: usize,
    /// Forces under way, oldest first: `[0]` acts until the next reading.
    under_way: [HandForce; MAX_LATENCY_TICKS + 1],
    /// The motors' force through the observer's three poles, one after the other.
    motors: [HandForce; 3],
    to_hand: Wrench,
}

impl Channels {
    pub(super) fn new(model: &HapticModel, bandwidth_hz: f64) -> Self {
        let mechanics = &model.mechanics;
        let none = PerPart { linear: 0.0, angular: 0.0 };
        let mut channels = Self {
            share: 1.0 - (-std::f64::consts::TAU * bandwidth_hz / model.rate_hz).exp(),
            drag: mechanics.damping,
            friction: none,
            mass_ratio: 0.0,
            inertia_ratio: Mat3::zeros(),
            latency: (mechanics.latency_ticks as usize).min(MAX_LATENCY_TICKS),
            under_way: [HandForce::zero(); MAX_LATENCY_TICKS + 1],
            motors: [HandForce::zero(); 3],
            to_hand: Wrench::zeros(),
        };
        channels.rescale(model, &model.mapping);
        channels
    }

    /// Takes new scales over.
    pub(super) fn rescale(&mut self, model: &HapticModel, mapping: &Mapping) {
        let (mechanics, inertia) = (&model.mechanics, &model.tool.inertia);
        let (motion, force) = (mapping.motion_scale, mapping.force_scale);
        // A device without inertia of its own needs no force to be moved.
        let over = |device: f64| if device > 0.0 { force / device } else { 0.0 };
        let angular = if model.rotation_sensed { over(mechanics.inertia.angular) } else { 0.0 };
        self.friction = PerPart {
            linear: mechanics.friction.linear / (motion * force),
            angular: mechanics.friction.angular / force,
        };
        self.mass_ratio = motion * motion * inertia.mass_kg() * over(mechanics.inertia.linear);
        self.inertia_ratio = inertia.inertia_body() * angular;
    }

    /// The hand's force on the proxy `f_x`, in the device's base frame. Call once per tick.
    pub(super) fn push(&mut self, observed: &Observed, rotation_device_handle: &Rot) -> HandForce {
        let mut input = self.under_way[0];
        self.under_way.copy_within(1..=self.latency, 0);
        for pole in &mut self.motors {
            pole.force += (input.force - pole.force) * self.share;
            pole.torque += (input.torque - pole.torque) * self.share;
            input = *pole;
        }
        let moving = HandForce {
            force: observed.hand.force - observed.motion.linear * self.drag.linear + input.force,
            torque: observed.hand.torque - observed.motion.angular * self.drag.angular + input.torque,
        };
        let turning = self.inertia_ratio * rotation_device_handle.inverse_transform_vector(&moving.torque);
        HandForce {
            force: moving.force * self.mass_ratio - input.force,
            torque: rotation_device_handle * turning - input.torque,
        }
    }

    /// The scene's force on the hand besides the spring, given the wrenches of the scene and of the spring on the proxy.
    pub(super) fn resist(&mut self, contact: &Wrench, spring: &Wrench) -> Wrench {
        let ((force, torque), (pull, twist)) = (split(contact), split(spring));
        let (to_force, to_torque) = split(&self.to_hand);
        let change = join(
            &beyond(&force, &(unborne(&force, &pull) - to_force), self.friction.linear),
            &beyond(&torque, &(unborne(&torque, &twist) - to_torque), self.friction.angular),
        );
        self.to_hand += change * self.share;
        self.to_hand
    }

    /// Takes note of the force sent in this tick.
    pub(super) fn sent(&mut self, force: &HandForce) {
        self.under_way[self.latency] = *force;
    }
}

/// The part of `change` that goes beyond `friction`; all of it without contact.
fn beyond(contact: &Vec3, change: &Vec3, friction: f64) -> Vec3 {
    let size = change.norm();
    if contact.norm_squared() == 0.0 || size == 0.0 { *change } else { change * (1.0 - friction / size).max(0.0) }
}

/// What of `contact` is not the answer to `spring`.
fn unborne(contact: &Vec3, spring: &Vec3) -> Vec3 {
    let square = contact.norm_squared();
    if square > 0.0 { contact * (1.0 - (-spring.dot(contact) / square).clamp(0.0, 1.0)) } else { Vec3::zeros() }
}
