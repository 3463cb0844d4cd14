//! What the operator notices: felt force, what the screen shows, the passing of time.
//!
//! Thread: haptic (RT).

use super::script::Until;
use crate::device::HandForce;
use crate::math::{Mapping, Pose, Vec3};
use crate::shared::{NeedleView, SceneView, SuctionView};

/// Time constant of the felt force, s: shorter changes are felt as vibration, not as force.
const FEEL_S: f64 = 0.02;

/// What reaches the operator in one tick.
#[derive(Clone, Copy, Debug)]
pub struct Perceived<'a> {
    /// Time since the tick before, s.
    pub dt_s: f64,
    /// Where the hand is, in the device's base frame.
    pub handle: Pose,
    /// What the device does to the hand.
    pub felt: HandForce,
    /// The screen, if there is one.
    pub view: Option<&'a SceneView>,
}

impl Perceived<'_> {
    /// Where the tool is: as the screen shows it, or where the hand is while the screen is dark.
    pub(super) fn tool(&self, mapping: &Mapping) -> Pose {
        match self.view {
            Some(view) if view.is_lit() => view.tool,
            _ => mapping.pose_to_scene(&self.handle),
        }
    }

    pub(super) fn body(&self, index: usize) -> Option<Pose> {
        self.view.filter(|view| view.is_lit())?.body(index).copied()
    }

    fn suction(&self) -> Option<&SuctionView> {
        self.view.filter(|view| view.is_lit())?.suction.as_ref()
    }

    fn needle(&self) -> Option<&NeedleView> {
        self.view.filter(|view| view.is_lit())?.needle.as_ref()
    }
}

/// Where the movement should end and whether it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    pub(super) goal: Option<Pose>,
    /// Direction in which distance does not count; zero for none.
    pub(super) free: Vec3,
    pub(super) moving: bool,
    pub(super) rotation: bool,
    /// Axis of a spanner and its lever, both in the scene.
    pub(super) spanner: Option<(Vec3, Vec3)>,
}

impl Aim {
    /// The torque that is felt: in the hand, or of a spanner on the tool.
    fn torque(&self, felt: &HandForce, mapping: &Mapping) -> f64 {
        self.spanner.map_or_else(
            || felt.torque.norm(),
            |(axis, lever)| {
                let scale = mapping.motion_scale * mapping.force_scale;
                axis.dot(&lever.cross(&(mapping.pose_world_device.rotation * felt.force))).abs() / scale
            },
        )
    }
}

/// What the operator remembers of what was noticed in a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Senses {
    /// Felt force and torque, smoothed.
    pub(super) felt: HandForce,
    force_held_s: f64,
    torque_held_s: f64,
    body_before: Option<Pose>,
    punctures_before: Option<u32>,
    /// Highest place of the tool along an axis.
    highest: f64,
    noticed_s: Option<f64>,
}

impl Senses {
    pub(super) fn new() -> Self {
        Self {
            felt: HandForce::zero(),
            force_held_s: 0.0,
            torque_held_s: 0.0,
            body_before: None,
            punctures_before: None,
            highest: f64::NEG_INFINITY,
            noticed_s: None,
        }
    }

    /// A new phase: only the felt force stays.
    pub(super) fn begin_phase(&mut self) {
        *self = Self { felt: self.felt, ..Self::new() };
    }

    pub(super) fn feel(&mut self, perceived: &Perceived<'_>) {
        let share = perceived.dt_s / (FEEL_S + perceived.dt_s);
        self.felt.force += (perceived.felt.force - self.felt.force) * share;
        self.felt.torque += (perceived.felt.torque - self.felt.torque) * share;
    }

    /// True when the operator acts on the condition: it was met `reaction_s` ago. What has been noticed is acted on even
    /// if it has ceased by then.
    pub(super) fn decides(
        &mut self,
        until: &Until,
        aim: &Aim,
        perceived: &Perceived<'_>,
        mapping: &Mapping,
        phase_s: f64,
        reaction_s: f64,
    ) -> bool {
        if let Until::Elapsed { seconds } = *until {
            return phase_s >= seconds;
        }
        if self.met(until, aim, perceived, mapping) && self.noticed_s.is_none() {
            self.noticed_s = Some(phase_s);
        }
        self.noticed_s.is_some_and(|noticed| phase_s >= noticed + reaction_s)
    }

    fn met(&mut self, until: &Until, aim: &Aim, perceived: &Perceived<'_>, mapping: &Mapping) -> bool {
        let held = |time: &mut f64, above: bool, for_s: f64| {
            *time = if above { *time + perceived.dt_s } else { 0.0 };
            above && *time >= for_s
        };
        match *until {
            Until::Elapsed { .. } => false,
            Until::Reached { tolerance_m, tolerance_rad } => aim.goal.is_some_and(|goal| {
                let tool = perceived.tool(mapping);
                let off = goal.translation.vector - tool.translation.vector;
                let off = off - aim.free * aim.free.dot(&off);
                let angle = if aim.rotation { goal.rotation.angle_to(&tool.rotation) } else { 0.0 };
                !aim.moving && off.norm() <= tolerance_m && angle <= tolerance_rad
            }),
            Until::ForceAbove { force_n, for_s } => {
                held(&mut self.force_held_s, self.felt.force.norm() > force_n, for_s)
            }
            Until::TorqueAbove { torque_nm, for_s } => {
                held(&mut self.torque_held_s, aim.torque(&self.felt, mapping) > torque_nm, for_s)
            }
            Until::ToolBelow { axis, offset } => axis.dot(&perceived.tool(mapping).translation.vector) <= offset,
            Until::ToolDropped { axis, distance } => {
                let height = axis.dot(&perceived.tool(mapping).translation.vector);
                self.highest = self.highest.max(height);
                self.highest - height >= distance
            }
            Until::BodyMoved { body, direction, distance } => {
                self.since_begin(perceived.body(body)).is_some_and(|(before, now)| {
                    direction.dot(&(now.translation.vector - before.translation.vector)) >= distance
                })
            }
            Until::BodyTilted { body, angle_rad } => self
                .since_begin(perceived.body(body))
                .is_some_and(|(before, now)| before.rotation.angle_to(&now.rotation) >= angle_rad),
            Until::BodyAt { body, position, tolerance } => {
                perceived.body(body).is_some_and(|now| (now.translation.vector - position).norm() <= tolerance)
            }
            Until::NeedleWithin { distance } => {
                perceived.needle().and_then(|needle| needle.target_m).is_some_and(|away| away <= distance)
            }
            Until::NeedleDepthAbove { depth } => perceived.needle().is_some_and(|needle| needle.depth_m > depth),
            Until::Punctures { count } => perceived.needle().is_some_and(|needle| {
                let before = *self.punctures_before.get_or_insert(needle.punctures);
                needle.punctures.saturating_sub(before) >= count
            }),
            Until::SuctionAbove { pressure } => {
                perceived.suction().is_some_and(|suction| suction.suction_pa > pressure)
            }
            Until::SuctionBelow { pressure } => {
                perceived.suction().is_some_and(|suction| suction.suction_pa < pressure)
            }
            Until::TargetAt { position, tolerance } => perceived
                .needle()
                .and_then(|needle| needle.target)
                .is_some_and(|target| (target - position).norm() <= tolerance),
        }
    }

    /// The body when it was first seen in this phase, and now.
    fn since_begin(&mut self, now: Option<Pose>) -> Option<(Pose, Pose)> {
        let now = now?;
        Some((*self.body_before.get_or_insert(now), now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exp_so3;
    use crate::shared::{MonoNs, Stamp};

    /// Time at which the operator acts on `until`, in a world that changes at 0.5 s from `before` to `after`.
    fn acts_at(until: Until, before: (Vec3, Pose), after: (Vec3, Pose), reaction_s: f64) -> Option<f64> {
        let (mut senses, mapping) = (Senses::new(), Mapping::identity());
        let aim = Aim { goal: Some(Pose::identity()), free: Vec3::z(), moving: false, rotation: true, spanner: None };
        (0..2000).map(|k| f64::from(k) * 1e-3).find(|&time| {
            let (force, body) = if time < 0.5 { before } else { after };
            let mut view = SceneView::empty();
            view.stamp = Stamp { sequence: 1, at: MonoNs(0) };
            view.tool = body;
            view.show(body);
            let x = body.translation.x;
            let target = Some(body.translation.vector);
            let (target_m, depth_m) = (Some(x), x);
            view.needle =
                Some(NeedleView { target_m, depth_m, punctures: (x * 100.0) as u32, target, ..NeedleView::default() });
            let felt = HandForce { force, torque: force * 0.01 };
            let perceived = Perceived { dt_s: 1e-3, handle: Pose::identity(), felt, view: Some(&view) };
            senses.feel(&perceived);
            senses.decides(&until, &aim, &perceived, &mapping, time, reaction_s)
        })
    }

    #[test]
    fn every_condition_is_acted_on_one_reaction_time_after_it_is_met() {
        let still = (Vec3::zeros(), Pose::translation(0.1, 0.0, 0.0));
        let moved = |x| (Vec3::zeros(), Pose::translation(x, 0.0, 0.0));
        let turned = (Vec3::zeros(), Pose::from_parts(still.1.translation, exp_so3(&Vec3::new(0.0, 0.3, 0.0))));
        let body = 0;
        let direction = Vec3::x();
        let cases = [
            (Until::Reached { tolerance_m: 0.001, tolerance_rad: 0.01 }, moved(0.0005)),
            (Until::ToolBelow { axis: Vec3::x(), offset: 0.08 }, moved(0.07)),
            (Until::ToolDropped { axis: Vec3::x(), distance: 0.02 }, moved(0.079)),
            (Until::BodyMoved { body, direction, distance: 0.02 }, moved(0.13)),
            (Until::BodyTilted { body, angle_rad: 0.25 }, turned),
            (Until::BodyAt { body, position: Vec3::x() * 0.2, tolerance: 0.01 }, moved(0.195)),
            (Until::NeedleWithin { distance: 0.05 }, moved(0.045)),
            (Until::NeedleDepthAbove { depth: 0.12 }, moved(0.125)),
            (Until::Punctures { count: 2 }, moved(0.125)),
            (Until::TargetAt { position: Vec3::x() * 0.2, tolerance: 0.01 }, moved(0.195)),
        ];
        for (until, after) in cases {
            for reaction in [0.0, 0.2] {
                let at = acts_at(until, still, after, reaction).expect("it acts");
                assert!((at - 0.5 - reaction).abs() < 1.5e-3, "{until:?}: {at}");
            }
            assert_eq!(acts_at(until, still, still, 0.0), None, "{until:?}");
        }
        let at = acts_at(Until::Elapsed { seconds: 0.7 }, still, still, 0.2).expect("it acts");
        assert!((at - 0.7).abs() < 1e-9, "{at}");
    }

    #[test]
    fn a_force_counts_only_when_it_lasts() {
        let (still, push) = ((Vec3::zeros(), Pose::identity()), (Vec3::z() * 2.0, Pose::identity()));
        // Smoothed at 20 ms, a step of 2 N passes 1 N after 20 ms · ln 2 = 14 ms.
        let at = acts_at(Until::ForceAbove { force_n: 1.0, for_s: 0.1 }, still, push, 0.2).expect("it acts");
        assert!((at - 0.814).abs() < 4e-3, "{at}");
        let at = acts_at(Until::TorqueAbove { torque_nm: 0.01, for_s: 0.1 }, still, push, 0.2).expect("it acts");
        assert!((at - 0.814).abs() < 4e-3, "{at}");
        assert_eq!(acts_at(Until::ForceAbove { force_n: 2.5, for_s: 0.0 }, still, push, 0.2), None);
    }
}
