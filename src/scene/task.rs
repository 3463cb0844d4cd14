//! What counts as success, and watching for it.
//!
//! Thread: any. [`TaskWatcher::observe`] has no heap and no clock: it may be called once per tick or per step.

use crate::device::operator::Name;
use crate::math::{Pose, Rot, Vec3, log_so3};
use crate::shared::SceneView;
use crate::sim::SimModel;
use std::f64::consts::TAU;

/// Most goals of a task: they are bits of a word.
pub const MAX_GOALS: usize = 32;

/// Something that is true or false at an instant. Places of bodies and of the tool are those of their centres of mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// The tool is at a place.
    ToolAt {
        /// The place in the scene.
        position: Vec3,
        /// Largest distance, m.
        tolerance_m: f64,
    },
    /// The tool's place along an axis is below an offset: `axis · p ≤ offset`.
    ToolBelow {
        /// Unit axis in the scene.
        axis: Vec3,
        /// Offset, m.
        offset_m: f64,
    },
    /// The tool is above or below the middle of a region of a body that deforms, as it is at rest.
    ToolOver {
        /// Number of the body in the view.
        body: usize,
        /// Name of the region.
        region: Name,
        /// The middle of the region in the scene; known once the scene is built.
        position: Vec3,
        /// Largest horizontal distance, m.
        tolerance_m: f64,
    },
    /// More than this force is felt.
    ForceAbove {
        /// N in the hand.
        force_n: f64,
    },
    /// More than this torque is felt.
    TorqueAbove {
        /// N·m in the hand.
        torque_nm: f64,
    },
    /// A body is at a place.
    BodyAt {
        /// Number of the body in the view.
        body: usize,
        /// The place in the scene.
        position: Vec3,
        /// Largest distance, m.
        tolerance_m: f64,
    },
    /// A body has moved since the start.
    BodyMoved {
        /// Number of the body in the view.
        body: usize,
        /// Unit direction in the scene.
        direction: Vec3,
        /// How far at least, m.
        distance_m: f64,
    },
    /// A body leans from how it stood at the start; turning about the vertical does not count.
    BodyTilted {
        /// Number of the body in the view.
        body: usize,
        /// By more than this, rad.
        angle_rad: f64,
    },
    /// A body stands as it did at the start; turning about the vertical does not count.
    BodyUpright {
        /// Number of the body in the view.
        body: usize,
        /// To within this, rad.
        angle_rad: f64,
    },
    /// The tool leans from how it stood at the start; turning about the vertical does not count.
    ToolTilted {
        /// By more than this, rad.
        angle_rad: f64,
        /// While its height is below this, m; higher up it does not count.
        below_m: f64,
    },
    /// The tool stands as it did at the start; turning about the vertical does not count.
    ToolUpright {
        /// To within this, rad.
        angle_rad: f64,
        /// While its height is below this, m; higher up it may lean as it likes.
        below_m: f64,
    },
    /// The tool has been turned about an axis and has gone along it as its thread says, without a break.
    ToolScrewed {
        /// Unit axis in the scene, out of the bolt.
        axis: Vec3,
        /// How far at least, rad, the way that screws it on.
        angle_rad: f64,
        /// Way along the axis in a turn against the clock, m; negative for a left-hand thread.
        pitch_m: f64,
        /// How far it may be off that way, m.
        tolerance_m: f64,
    },
    /// Proxy and scene overlap by no more than this.
    PenetrationBelow {
        /// m.
        depth_m: f64,
    },
    /// The tip of the needle is near the middle of its target, in the tissue at rest.
    NeedleWithin {
        /// Largest distance, m.
        distance_m: f64,
    },
    /// So much of the needle is in tissue.
    NeedleDepthAbove {
        /// More than this, m.
        depth_m: f64,
    },
    /// The needle has broken surfaces.
    Punctures {
        /// So many at least.
        count: u32,
    },
    /// The needle has broken few surfaces.
    PuncturesBelow {
        /// Fewer than this.
        count: u32,
    },
    /// The needle has never been where it must not be.
    AvoidsForbidden,
    /// A cavity has a pressure below that of the surroundings.
    SuctionAbove {
        /// By more than this, Pa.
        pressure_pa: f64,
    },
    /// No cavity has a pressure far below that of the surroundings.
    SuctionBelow {
        /// Less than this below, Pa.
        pressure_pa: f64,
    },
}

impl Condition {
    /// When it is meant to be true if nothing is said.
    #[must_use]
    pub fn usual(&self) -> When {
        match self {
            Self::BodyUpright { .. } | Self::SuctionBelow { .. } => When::End,
            Self::ToolUpright { .. }
            | Self::PenetrationBelow { .. }
            | Self::PuncturesBelow { .. }
            | Self::AvoidsForbidden => When::Always,
            _ => When::Once,
        }
    }

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
            Self::NeedleWithin { .. }
                | Self::NeedleDepthAbove { .. }
                | Self::Punctures { .. }
                | Self::PuncturesBelow { .. }
                | Self::AvoidsForbidden
        )
    }
}

/// When a condition must be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At some time.
    Once,
    /// When the run ends.
    End,
    /// At every time.
    Always,
}

/// One thing to achieve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Name, for progress lines.
    pub name: Name,
    /// What must be true.
    pub condition: Condition,
    /// When.
    pub when: When,
    /// For how long without a break, s; of what must always be true, for how long it may be false.
    pub for_s: f64,
}

/// What is observed at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// Time since the start, s. Must not go back.
    pub time_s: f64,
    /// The tool proxy in the scene.
    pub tool: Pose,
    /// The bodies; while it is dark, no condition on a body is true.
    pub view: &'a SceneView,
    /// Force on the hand, N.
    pub felt_n: f64,
    /// Torque on the hand, N·m.
    pub felt_nm: f64,
    /// Deepest overlap of proxy and scene, m.
    pub penetration_m: f64,
}

/// How a goal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalState {
    /// Not met yet, or, for a goal of the end, not at the moment.
    Open,
    /// Met; for a goal of the end or of all times, as of now.
    Met,
    /// Cannot be met any more.
    Lost,
}

/// How the task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskProgress {
    /// How many goals there are.
    pub goals: usize,
    /// Those that are met, one bit each, the first goal lowest.
    pub met: u32,
    /// Those that are lost.
    pub lost: u32,
    /// The time for the task is over.
    pub timed_out: bool,
    /// If the run ended now, the task would be achieved.
    pub success: bool,
}

#[derive(Clone, Copy, Debug)]
struct Watched {
    goal: Goal,
    /// Since when the condition has been true without a break, or false where it must always be true.
    since_s: Option<f64>,
    state: GoalState,
    /// For what is screwed.
    lead: Option<Lead>,
}

/// Stretches that a way along a thread is remembered in.
const STRETCHES: usize = 32;

/// Follows a tool along a thread: how far it has turned while it kept within a tolerance of one and the same helix. What came before
/// is forgotten no further than it must be, for a nut that finds its thread is still off it in the first turn.
#[derive(Clone, Copy, Debug)]
struct Lead {
    last: Rot,
    /// Turned since it was first seen, rad.
    turned: f64,
    stretches: [Stretch; STRETCHES],
    count: usize,
}

/// A part of the way.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// Turn at which it begins, rad.
    from: f64,
    /// Lowest and highest that the tool was above the helix through the origin, m.
    low: f64,
    high: f64,
}

impl Lead {
    /// The tool as first seen.
    fn at(tool: &Pose) -> Self {
        Self { last: tool.rotation, turned: 0.0, stretches: [Stretch::default(); STRETCHES], count: 0 }
    }

    /// Takes in the tool's pose; how far it has been turned along the thread. `whole_rad` is the turn that is asked for.
    fn follow(&mut self, tool: &Pose, axis: &Vec3, pitch_m: f64, (whole_rad, tolerance_m): (f64, f64)) -> f64 {
        self.turned += axis.dot(&log_so3(&(tool.rotation * self.last.inverse())));
        self.last = tool.rotation;
        // A right-hand nut goes down when it is turned with the clock, and up against it.
        let above = axis.dot(&tool.translation.vector) - self.turned * pitch_m / TAU;
        let now = Stretch { from: self.turned, low: above, high: above };
        match self.stretches[..self.count].last_mut() {
            Some(last) if (self.turned - last.from).abs() < whole_rad / (STRETCHES / 2) as f64 => {
                (last.low, last.high) = (last.low.min(above), last.high.max(above));
            }
            _ => self.push(now),
        }
        self.forget(tolerance_m, now);
        (self.stretches[0].from - self.turned) * pitch_m.signum()
    }

    /// Adds a stretch; when there is no room, two and two become one.
    fn push(&mut self, stretch: Stretch) {
        if self.count == STRETCHES {
            self.count /= 2;
            for k in 0..self.count {
                let [a, b] = [self.stretches[2 * k], self.stretches[2 * k + 1]];
                self.stretches[k] = Stretch { from: a.from, low: a.low.min(b.low), high: a.high.max(b.high) };
            }
        }
        self.stretches[self.count] = stretch;
        self.count += 1;
    }

    /// Drops the oldest until the rest is within the tolerance of one helix.
    fn forget(&mut self, tolerance_m: f64, now: Stretch) {
        let keeps = |stretches: &[Stretch]| {
            let low = stretches.iter().map(|stretch| stretch.low).fold(f64::INFINITY, f64::min);
            let high = stretches.iter().map(|stretch| stretch.high).fold(f64::NEG_INFINITY, f64::max);
            high - low <= 2.0 * tolerance_m
        };
        let kept = (0..self.count).find(|from| keeps(&self.stretches[*from..self.count])).unwrap_or(self.count);
        self.stretches.copy_within(kept..self.count, 0);
        self.count -= kept;
        if self.count == 0 {
            self.push(now);
        }
    }
}

/// Watches a run and says which goals are met. A run ends when the operator has finished, when a goal is lost or when
/// the time is over, whichever is first; [`TaskProgress::success`] at that instant is the outcome.
#[derive(Clone, Debug)]
pub struct TaskWatcher {
    goals: Vec<Watched>,
    starts: Vec<Pose>,
    tool_start: Pose,
    up: Vec3,
    timeout_s: f64,
    timed_out: bool,
}

impl TaskWatcher {
    /// A watcher at the start of a run. Of more than [`MAX_GOALS`] goals the rest is left out.
    #[must_use]
    pub fn new(goals: &[Goal], timeout_s: f64, model: &SimModel) -> Self {
        let watch = |goal: &Goal| Watched {
            goal: *goal,
            since_s: None,
            state: if goal.when == When::Always { GoalState::Met } else { GoalState::Open },
            lead: None,
        };
        Self {
            goals: goals.iter().take(MAX_GOALS).map(watch).collect(),
            starts: model.bodies.iter().map(|body| body.start).collect(),
            tool_start: model.tools.first().map_or_else(Pose::identity, |tool| tool.start),
            up: (-model.gravity).try_normalize(1e-6).unwrap_or(Vec3::z()),
            timeout_s,
            timed_out: false,
        }
    }

    /// Takes in one instant.
    pub fn observe(&mut self, seen: &Observation<'_>) -> TaskProgress {
        self.timed_out |= !(seen.time_s <= self.timeout_s);
        for index in 0..self.goals.len() {
            let Watched { goal, since_s, state, mut lead } = self.goals[index];
            let holds = match goal.condition {
                Condition::ToolScrewed { axis, angle_rad, pitch_m, tolerance_m } => {
                    let lead = lead.get_or_insert(Lead::at(&seen.tool));
                    lead.follow(&seen.tool, &axis, pitch_m, (angle_rad, tolerance_m)) >= angle_rad
                }
                condition => self.holds(&condition, seen),
            };
            // Of what must always be true, how long it has not been.
            let counts = holds != (goal.when == When::Always);
            let since_s = counts.then(|| since_s.unwrap_or(seen.time_s));
            let long_enough = since_s.is_some_and(|since| seen.time_s - since >= goal.for_s);
            let state = match (goal.when, state) {
                (_, GoalState::Lost) => GoalState::Lost,
                (When::Always, _) if !holds && long_enough => GoalState::Lost,
                (When::Always, _) | (When::Once, GoalState::Met) => GoalState::Met,
                _ if long_enough => GoalState::Met,
                _ => GoalState::Open,
            };
            self.goals[index] = Watched { goal, since_s, state, lead };
        }
        self.progress()
    }

    /// How the task stands after what was observed last.
    #[must_use]
    pub fn progress(&self) -> TaskProgress {
        let bits = |wanted: GoalState| {
            let bit = |(index, watched): (usize, &Watched)| u32::from(watched.state == wanted) << index;
            self.goals.iter().enumerate().map(bit).fold(0, |all, bit| all | bit)
        };
        let (met, lost) = (bits(GoalState::Met), bits(GoalState::Lost));
        let all = met.count_ones() as usize == self.goals.len();
        let timed_out = self.timed_out;
        TaskProgress { goals: self.goals.len(), met, lost, timed_out, success: all && !timed_out }
    }

    /// The goals and how each stands.
    pub fn goals(&self) -> impl Iterator<Item = (&Goal, GoalState)> {
        self.goals.iter().map(|watched| (&watched.goal, watched.state))
    }

    fn holds(&self, condition: &Condition, seen: &Observation<'_>) -> bool {
        let tool = seen.tool.translation.vector;
        let needle = seen.view.needle;
        match *condition {
            Condition::ToolAt { position, tolerance_m } => (tool - position).norm() <= tolerance_m,
            Condition::ToolBelow { axis, offset_m } => axis.dot(&tool) <= offset_m,
            Condition::ToolOver { position, tolerance_m, .. } => {
                let off = tool - position;
                (off - self.up * self.up.dot(&off)).norm() <= tolerance_m
            }
            Condition::ForceAbove { force_n } => seen.felt_n > force_n,
            Condition::TorqueAbove { torque_nm } => seen.felt_nm > torque_nm,
            Condition::PenetrationBelow { depth_m } => seen.penetration_m <= depth_m,
            Condition::BodyAt { body, position, tolerance_m } => {
                self.body(body, seen).is_some_and(|(_, now)| (now.translation.vector - position).norm() <= tolerance_m)
            }
            Condition::BodyMoved { body, direction, distance_m } => {
                self.body(body, seen).is_some_and(|(start, now)| {
                    direction.dot(&(now.translation.vector - start.translation.vector)) >= distance_m
                })
            }
            Condition::ToolTilted { angle_rad, below_m } => {
                self.up.dot(&tool) < below_m && self.lean(&self.tool_start, &seen.tool) > angle_rad
            }
            Condition::ToolUpright { angle_rad, below_m } => {
                self.up.dot(&tool) >= below_m || self.lean(&self.tool_start, &seen.tool) <= angle_rad
            }
            Condition::NeedleWithin { distance_m } => {
                needle.and_then(|needle| needle.target_m).is_some_and(|away| away <= distance_m)
            }
            Condition::NeedleDepthAbove { depth_m } => needle.is_some_and(|needle| needle.depth_m > depth_m),
            Condition::Punctures { count } => needle.is_some_and(|needle| needle.punctures >= count),
            Condition::PuncturesBelow { count } => needle.is_none_or(|needle| needle.punctures < count),
            Condition::AvoidsForbidden => needle.is_none_or(|needle| needle.forbidden == 0),
            Condition::SuctionAbove { pressure_pa } => {
                seen.view.suction.is_some_and(|suction| suction.suction_pa > pressure_pa)
            }
            Condition::SuctionBelow { pressure_pa } => {
                seen.view.suction.is_some_and(|suction| suction.suction_pa < pressure_pa)
            }
            // Needs what was seen before: `observe` decides it.
            Condition::ToolScrewed { .. } => false,
            Condition::BodyTilted { body, angle_rad } => self.tilt(body, seen).is_some_and(|tilt| tilt > angle_rad),
            Condition::BodyUpright { body, angle_rad } => self.tilt(body, seen).is_some_and(|tilt| tilt <= angle_rad),
        }
    }

    /// A body at the start and now.
    fn body(&self, body: usize, seen: &Observation<'_>) -> Option<(Pose, Pose)> {
        if !seen.view.is_lit() {
            return None;
        }
        Some((*self.starts.get(body)?, *seen.view.body(body)?))
    }

    /// Angle between the vertical and what was the vertical of the body at the start.
    fn tilt(&self, body: usize, seen: &Observation<'_>) -> Option<f64> {
        let (start, now) = self.body(body, seen)?;
        Some(self.lean(&start, &now))
    }

    /// Angle between the vertical and what was the vertical at the start.
    fn lean(&self, start: &Pose, now: &Pose) -> f64 {
        let up = now.rotation * start.rotation.inverse_transform_vector(&self.up);
        // By both sine and cosine: the cosine alone cannot tell small angles apart.
        up.cross(&self.up).norm().atan2(up.dot(&self.up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Rot, exp_so3};
    use crate::scene::{Built, build, open, open_device};
    use crate::shared::{MonoNs, NeedleView, Stamp};

    fn built() -> Built {
        let scene = open("box_on_table").expect("it is valid").value;
        let device = open_device("simulated-3dof").expect("it is valid").value;
        build(&scene, &device).expect("they go together")
    }

    /// The second body at `pose`, and the tool where it does not matter.
    fn view(pose: Pose) -> SceneView {
        let mut view = SceneView::empty();
        view.stamp = Stamp { sequence: 1, at: MonoNs(0) };
        view.show(Pose::identity());
        view.show(pose);
        view
    }

    fn seen(time_s: f64, view: &SceneView) -> Observation<'_> {
        Observation { time_s, tool: Pose::identity(), view, felt_n: 0.0, felt_nm: 0.0, penetration_m: 0.0 }
    }

    fn watcher(condition: Condition, when: When, for_s: f64) -> TaskWatcher {
        let goal = Goal { name: Name::new("goal"), condition, when, for_s };
        TaskWatcher::new(&[goal], 10.0, &built().sim)
    }

    fn turned(start: &Pose, turn: Vec3, way: Vec3) -> Pose {
        Pose::from_parts((start.translation.vector + way).into(), exp_so3(&turn) * start.rotation)
    }

    #[test]
    fn each_condition_is_true_on_one_side_of_its_bound_and_false_on_the_other() {
        let start = built().sim.bodies[1].start;
        let body = 1;
        let at = start.translation.vector;
        let still = view(start);
        let moved = |x: f64| view(turned(&start, Vec3::zeros(), Vec3::x() * x));
        let leaning = |angle: f64| view(turned(&start, Vec3::y() * angle, Vec3::zeros()));
        let tool = |x: f64| Observation { tool: Pose::translation(x, 0.0, 0.0), ..seen(0.0, &still) };
        let (near, far) = (moved(0.009), moved(0.011));
        let (little, much) = (leaning(0.09), leaning(0.11));
        let felt = |force: f64, torque: f64, depth: f64| Observation {
            felt_n: force,
            felt_nm: torque,
            penetration_m: depth,
            ..seen(0.0, &still)
        };
        let cases = [
            (Condition::ToolAt { position: Vec3::zeros(), tolerance_m: 0.01 }, tool(0.009), tool(0.011)),
            (Condition::ToolBelow { axis: -Vec3::x(), offset_m: -0.01 }, tool(0.011), tool(0.009)),
            (
                Condition::ToolOver { body, region: Name::new("a"), position: Vec3::z(), tolerance_m: 0.01 },
                tool(0.009),
                tool(0.011),
            ),
            (Condition::ForceAbove { force_n: 2.0 }, felt(2.1, 0.0, 0.0), felt(2.0, 0.0, 0.0)),
            (Condition::TorqueAbove { torque_nm: 0.2 }, felt(0.0, 0.21, 0.0), felt(3.0, 0.2, 0.0)),
            (Condition::PenetrationBelow { depth_m: 1e-3 }, felt(0.0, 0.0, 1e-3), felt(0.0, 0.0, 1.1e-3)),
            (Condition::PenetrationBelow { depth_m: 1e-3 }, felt(0.0, 0.0, -1.0), felt(0.0, 0.0, f64::NAN)),
            (Condition::BodyAt { body, position: at, tolerance_m: 0.01 }, seen(0.0, &near), seen(0.0, &far)),
            (Condition::BodyMoved { body, direction: Vec3::x(), distance_m: 0.01 }, seen(0.0, &far), seen(0.0, &near)),
            (Condition::BodyTilted { body, angle_rad: 0.1 }, seen(0.0, &much), seen(0.0, &little)),
            (Condition::BodyUpright { body, angle_rad: 0.1 }, seen(0.0, &little), seen(0.0, &much)),
        ];
        for (condition, yes, no) in cases {
            for when in [When::Once, When::End, When::Always] {
                let success = |seen: &Observation<'_>| watcher(condition, when, 0.0).observe(seen).success;
                assert!(success(&yes) && !success(&no), "{condition:?} {when:?}");
            }
        }
    }

    #[test]
    fn conditions_on_a_needle_are_read_from_the_view() {
        let seen_with = |change: fn(&mut NeedleView)| {
            let mut view = view(Pose::identity());
            let mut needle = NeedleView::default();
            change(&mut needle);
            view.needle = Some(needle);
            view
        };
        let cases = [
            (
                Condition::NeedleWithin { distance_m: 0.01 },
                seen_with(|needle| needle.target_m = Some(0.009)),
                seen_with(|needle| needle.target_m = Some(0.011)),
            ),
            (
                Condition::NeedleDepthAbove { depth_m: 0.04 },
                seen_with(|needle| needle.depth_m = 0.041),
                seen_with(|needle| needle.depth_m = 0.04),
            ),
            (
                Condition::Punctures { count: 2 },
                seen_with(|needle| needle.punctures = 2),
                seen_with(|needle| needle.punctures = 1),
            ),
            (
                Condition::PuncturesBelow { count: 2 },
                seen_with(|needle| needle.punctures = 1),
                seen_with(|needle| needle.punctures = 2),
            ),
            (Condition::AvoidsForbidden, seen_with(|_| ()), seen_with(|needle| needle.forbidden = 1)),
        ];
        for (condition, yes, no) in &cases {
            for when in [When::Once, When::End, When::Always] {
                let success = |view: &SceneView| watcher(*condition, when, 0.0).observe(&seen(0.0, view)).success;
                assert!(success(yes) && !success(no), "{condition:?} {when:?}");
            }
            assert!(condition.is_of_needle());
        }
        // Outside of the tissue with the target, the tip is at no distance from it; without a needle nothing is reached.
        let none = view(Pose::identity());
        let success =
            |condition, view: &SceneView| watcher(condition, When::Once, 0.0).observe(&seen(0.0, view)).success;
        assert!(!success(Condition::NeedleWithin { distance_m: 1.0 }, &seen_with(|_| ())));
        assert!(!success(Condition::Punctures { count: 1 }, &none));
        assert!(success(Condition::AvoidsForbidden, &none));
    }

    #[test]
    fn a_tool_leans_only_where_it_counts() {
        let dark = SceneView::empty();
        let leaning =
            |angle: f64, z: f64| Observation { tool: Pose::new(Vec3::z() * z, Vec3::x() * angle), ..seen(0.0, &dark) };
        let (angle_rad, below_m) = (0.05, 0.02);
        let upright = Condition::ToolUpright { angle_rad, below_m };
        let tilted = Condition::ToolTilted { angle_rad, below_m };
        for (angle, z, is_upright, is_tilted) in
            [(0.04, 0.01, true, false), (0.06, 0.01, false, true), (0.06, 0.03, true, false)]
        {
            let success = |condition| watcher(condition, When::Always, 0.0).observe(&leaning(angle, z)).success;
            assert_eq!((success(upright), success(tilted)), (is_upright, is_tilted), "{angle} {z}");
        }
    }

    #[test]
    fn screwing_counts_as_long_as_the_tool_keeps_to_its_thread() {
        let dark = SceneView::empty();
        let (axis, tolerance_m) = (Vec3::z(), 5e-4);
        // Three turns with the clock in small steps, down by `way` in each.
        let met = |way: f64, pitch_m: f64| {
            let condition = Condition::ToolScrewed { axis, angle_rad: 2.5 * TAU, pitch_m, tolerance_m };
            let mut watcher = watcher(condition, When::Once, 0.0);
            for step in 0..=300 {
                let turns = f64::from(step) * 0.01;
                let tool = Pose::new(Vec3::z() * (-way * turns), Vec3::zeros());
                let tool = Pose::from_parts(tool.translation, exp_so3(&(Vec3::z() * (-TAU * turns))));
                watcher.observe(&Observation { tool, ..seen(turns, &dark) });
            }
            watcher.progress().success
        };
        assert!(met(5e-3, 5e-3));
        assert!(!met(0.0, 5e-3), "turned on the spot");
        assert!(!met(4e-3, 5e-3), "another lead");
        assert!(!met(5e-3, -5e-3), "the other hand");
    }

    #[test]
    fn play_anywhere_on_the_way_is_no_reason_to_begin_anew() {
        let dark = SceneView::empty();
        let condition =
            Condition::ToolScrewed { axis: Vec3::z(), angle_rad: 2.5 * TAU, pitch_m: 5e-3, tolerance_m: 5e-4 };
        // Low by `before` in the first third of a turn, high by `after` in the last half of three.
        let met = |before: f64, after: f64| {
            let mut watcher = watcher(condition, When::Once, 0.0);
            for step in 0..=300 {
                let turns = f64::from(step) * 0.01;
                let off = if turns < 0.3 { -before } else { 0.0 } + if turns > 2.4 { after } else { 0.0 };
                let place = (Vec3::z() * (off - 5e-3 * turns)).into();
                let tool = Pose::from_parts(place, exp_so3(&(Vec3::z() * (-TAU * turns))));
                watcher.observe(&Observation { tool, ..seen(turns, &dark) });
            }
            watcher.progress().success
        };
        assert!(met(0.0, 0.0) && met(4.5e-4, 4.5e-4));
        assert!(met(1.5e-3, 0.0) && !met(0.0, 1.5e-3), "the beginning is forgotten, and no more than that");
    }

    #[test]
    fn turning_about_the_vertical_is_no_tilt() {
        let start = built().sim.bodies[1].start;
        let mut watcher = watcher(Condition::BodyUpright { body: 1, angle_rad: 1e-9 }, When::End, 0.0);
        let spun = view(turned(&start, Vec3::z() * 2.0, Vec3::zeros()));
        assert!(watcher.observe(&seen(0.0, &spun)).success);
        // Spun and leaning: only the lean counts.
        let both = Pose::from_parts(start.translation, exp_so3(&(Vec3::x() * 0.3)) * exp_so3(&(Vec3::z() * 2.0)));
        let tilt = watcher.tilt(1, &seen(0.0, &view(both))).expect("it is seen");
        assert!((tilt - 0.3).abs() < 1e-12, "{tilt}");
        assert_eq!(start.rotation, Rot::identity());
    }

    #[test]
    fn once_is_kept_end_is_lost_again_and_always_cannot_be_mended() {
        let force = Condition::ForceAbove { force_n: 1.0 };
        let dark = SceneView::empty();
        let outcome = |when: When, forces: &[f64]| {
            let mut watcher = watcher(force, when, 0.0);
            for (k, felt_n) in forces.iter().enumerate() {
                watcher.observe(&Observation { felt_n: *felt_n, ..seen(k as f64, &dark) });
            }
            (watcher.progress().success, watcher.goals().next().map(|(_, state)| state))
        };
        assert_eq!(outcome(When::Once, &[0.0, 2.0, 0.0]), (true, Some(GoalState::Met)));
        assert_eq!(outcome(When::End, &[0.0, 2.0, 0.0]), (false, Some(GoalState::Open)));
        assert_eq!(outcome(When::End, &[0.0, 0.0, 2.0]), (true, Some(GoalState::Met)));
        assert_eq!(outcome(When::Always, &[2.0, 0.0, 2.0]), (false, Some(GoalState::Lost)));
        assert_eq!(outcome(When::Always, &[2.0, 2.0, 2.0]), (true, Some(GoalState::Met)));
    }

    #[test]
    fn a_time_counts_only_without_a_break() {
        let mut watcher = watcher(Condition::ForceAbove { force_n: 1.0 }, When::Once, 0.5);
        let dark = SceneView::empty();
        let mut met_at = None;
        for tick in 0..2000 {
            let time_s = f64::from(tick) * 1e-3;
            // Above from 0.1 s, with one tick's break at 0.4 s.
            let felt_n = if tick >= 100 && tick != 400 { 2.0 } else { 0.0 };
            let progress = watcher.observe(&Observation { felt_n, ..seen(time_s, &dark) });
            if progress.success && met_at.is_none() {
                met_at = Some(tick);
            }
        }
        assert_eq!(met_at, Some(901));
    }

    #[test]
    fn what_must_always_be_true_may_be_false_for_a_time_at_a_stretch() {
        let dark = SceneView::empty();
        let lost_at = |felt: fn(i32) -> bool| {
            let mut watcher = watcher(Condition::ForceAbove { force_n: 1.0 }, When::Always, 0.5);
            (0..2000).find(|&tick| {
                let felt_n = if felt(tick) { 2.0 } else { 0.0 };
                watcher.observe(&Observation { felt_n, ..seen(f64::from(tick) * 1e-3, &dark) }).lost != 0
            })
        };
        assert_eq!(lost_at(|_| true), None);
        // False for 0.49 s again and again, never for longer.
        assert_eq!(lost_at(|tick| tick % 491 == 0), None);
        assert_eq!(lost_at(|tick| tick < 100), Some(600));
        // One that may never be false is lost at once.
        let mut strict = watcher(Condition::ForceAbove { force_n: 1.0 }, When::Always, 0.0);
        assert_eq!(strict.observe(&seen(0.0, &dark)).lost, 1);
    }

    #[test]
    fn a_dark_view_or_an_unseen_body_meets_nothing_and_time_runs_out() {
        let upright = |body| watcher(Condition::BodyUpright { body, angle_rad: 1.0 }, When::Once, 0.0);
        let lit = view(Pose::identity());
        assert!(upright(1).observe(&seen(0.0, &lit)).success);
        assert!(!upright(1).observe(&seen(0.0, &SceneView::empty())).success);
        assert!(!upright(7).observe(&seen(0.0, &lit)).success);
        let mut late = upright(1);
        assert!(late.observe(&seen(10.0, &lit)).success);
        let progress = late.observe(&seen(10.1, &lit));
        assert!(progress.timed_out && !progress.success && progress.met == 1);
        assert!(upright(1).observe(&seen(f64::NAN, &lit)).timed_out);
    }

    #[test]
    fn bits_are_in_the_order_of_the_goals() {
        let built = built();
        let mut watcher = built.watcher();
        let progress = watcher.observe(&seen(0.0, &view(built.sim.bodies[1].start)));
        // Of pushed, tipped, upright again (for 0.3 s), where it was pushed, did not sink in: only the last.
        assert_eq!((progress.goals, progress.met, progress.lost), (5, 0b1_0000, 0));
        let progress = watcher.observe(&Observation { penetration_m: 1.0, ..seen(1.0, &view(Pose::identity())) });
        assert_eq!(progress.lost, 0b1_0000);
    }
}
