//! Turning the tool otherwise than by the handle, on a given device: what a spanner's lever makes of torques.
//!
//! Thread: cold.
//!
//! A torque `T` on the tool is a force `g s T / l` in the hand, with lever `l`, motion scale `s` and force scale `g`.

use super::build::{Check, millimetres};
use super::spec::{CouplingKind, SpannerSpec, TurningSpec};
use crate::device::Limits;
use crate::device::operator::{Action, Phase};
use crate::haptic::{Spanner, Turning};
use crate::math::{Pose, Vec3, exp_so3};

/// Shortest lever, m.
const LEVER_MIN_M: f64 = 5e-3;

/// The lever without what of it lies along the axis.
fn lever_of(turning: &TurningSpec, spanner: &SpannerSpec) -> Vec3 {
    spanner.lever - turning.axis * turning.axis.dot(&spanner.lever)
}

/// The same for the haptic thread, of a tool that starts at `start`.
pub(super) fn turning_of(turning: &TurningSpec, start: &Pose) -> Turning {
    let spanner = |spanner: SpannerSpec| Spanner {
        lever: lever_of(turning, &spanner),
        button: spanner.button,
        ratchet: spanner.ratchet,
    };
    Turning {
        axis: start.rotation.inverse_transform_vector(&turning.axis),
        rate: turning.rate_rad_s,
        torque: turning.torque_nm,
        buttons: turning.buttons,
        spanner: turning.spanner.map(spanner),
    }
}

impl Check<'_> {
    /// What `[turning]` asks of the rest of the scene.
    pub(super) fn turning(&mut self) {
        let Some(turning) = self.spec.turning else { return };
        let kind = self.spec.coupling.kind;
        if kind == CouplingKind::Direct {
            let message = "without a proxy the tool is turned by the handle alone";
            self.error("turning", message, "take another kind of [coupling], or leave [turning] out");
        }
        let mut taken: Vec<u8> = self.spec.clutch_button.into_iter().collect();
        let spanner = turning.spanner.map(|spanner| spanner.button);
        let buttons = [
            ("turning.left_button", turning.buttons[0]),
            ("turning.right_button", turning.buttons[1]),
            ("spanner.button", spanner),
        ];
        for (key, bit) in buttons {
            let Some(bit) = bit else { continue };
            if u32::from(bit) >= u32::from(self.device.buttons) {
                let help = format!("the device has {} buttons; use one of them, or none", self.device.buttons);
                self.error(key, "the device has no such button", &help);
            }
            if taken.contains(&bit) {
                self.error(key, "this button does something else already", "take another button");
            }
            taken.push(bit);
        }
        let Some(spanner) = turning.spanner else { return };
        if kind == CouplingKind::Transparent {
            let message = "a spanner needs the coupling `spring`: the force of the hand is not at the tool";
            self.error("spanner.lever", message, "write kind = \"spring\" in [coupling]");
        }
        if lever_of(&turning, &spanner).norm() < LEVER_MIN_M {
            let message = format!("the lever reaches less than {} across the axis", millimetres(LEVER_MIN_M));
            self.error("spanner.lever", &message, "write a longer one, across `axis` of [turning]");
        }
    }

    /// A torque that must be felt through the spanner.
    pub(super) fn can_feel_by_lever(&mut self, key: &str, torque_nm: f64, limits: &Limits) {
        let Some((turning, spanner)) = self.spec.turning.and_then(|t| t.spanner.map(|spanner| (t, spanner))) else {
            return;
        };
        let (lever, mapping) = (lever_of(&turning, &spanner).norm(), &self.spec.mapping);
        if lever < LEVER_MIN_M {
            return;
        }
        let scale = mapping.force_scale * mapping.motion_scale;
        let (in_hand, most) = (scale * torque_nm / lever, limits.force.linear);
        let says = format!("{torque_nm} N·m at a lever of {} are {in_hand:.3} N in the hand", millimetres(lever));
        let friction = self.device.mechanics.friction.linear;
        if in_hand >= most {
            let message = format!("{says}, and can never be felt: the limit is {most} N");
            let help = format!(
                "take a lever longer than {}, or lower `force` in [mapping] below {:.4}",
                millimetres(scale * torque_nm / most),
                mapping.force_scale * most / in_hand
            );
            self.error(key, &message, &help);
        } else if in_hand <= friction {
            let message = format!("{says}, which is lost in the friction of the handle, {friction} N");
            self.warn(key, &message, "take a shorter lever, or raise `force` in [mapping]");
        }
    }

    /// A phase that swings the spanner, which it learns here; others stay as they are.
    pub(super) fn with_spanner(&mut self, index: usize, phase: &mut Phase) {
        let Action::Swing { axis, lever, swing_rad, .. } = &mut phase.action else { return };
        let key = format!("phase.{index}.action");
        let Some((turning, spanner)) = self.spec.turning.and_then(|t| t.spanner.map(|spanner| (t, spanner))) else {
            self.error(&key, "this phase swings a spanner, but there is none", "write [turning.spanner]");
            return;
        };
        (*axis, *lever) = (turning.axis, lever_of(&turning, &spanner));
        phase.buttons |= 1_u32.checked_shl(u32::from(spanner.button)).unwrap_or(0);
        let way = (exp_so3(&(*axis * *swing_rad)) * *lever - *lever).norm() / self.spec.mapping.motion_scale;
        let room = 2.0 * self.device.limits.workspace_radius_m;
        if way > room {
            let message =
                format!("this swing is {} wide in the hand, and the workspace {}", millimetres(way), millimetres(room));
            self.warn(&key, &message, "swing less, take a shorter lever, or raise `motion` in [mapping]");
        }
    }
}
