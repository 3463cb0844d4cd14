//! Numbers of the loop that can be changed while it runs: their ranges, and how they get from one value to the next.
//!
//! Thread: haptic (RT); [`ParameterRange`] any.
//!
//! What the hand feels of a spring `K` in the scene is `g s² K`, of an angular one `g K`, with motion scale `s` and force
//! scale `g` ([`crate::math::Mapping`]); the same for dampers. That must stay within what the device holds stable, also on
//! the way from one set of values to another. So stiffness, damping and scales move together, on a straight line in their
//! logarithms: there `ln g + 2 ln s + ln K ≤ c` is a half-space, and a line between two points of it stays in it. The
//! fastest of them changes by a factor of e in [`SLEW_S`]. Limits move evenly, over their whole range in the same time.

use super::{Coupling, HapticModel, SpringDamper};
use crate::device::{DeviceSpec, PerPart};
use crate::shared::lifecycle::Refusal;
use crate::shared::{Parameter, Parameters};

/// Time in which a stiffness, damping or scale changes by a factor of e, and a limit over its whole range, s.
pub const SLEW_S: f64 = 0.25;
/// Least stiffness and damping that can be set, of the most; least limit, of the scene's own.
const LEAST_SHARE: f64 = 1e-3;
/// How far scales can be set from the scene's own, as a factor either way.
const SCALE_RANGE: f64 = 10.0;
/// Limits are round numbers, products of scales are not.
const ROUNDING: f64 = 1.0 + 1e-9;

/// Those that move together.
const GEOMETRIC: [Parameter; 6] = [
    Parameter::Stiffness,
    Parameter::Damping,
    Parameter::AngularStiffness,
    Parameter::AngularDamping,
    Parameter::ForceScale,
    Parameter::MotionScale,
];
/// Those that move evenly.
const LIMITS: [Parameter; 2] = [Parameter::MaxForce, Parameter::MaxSpeed];

/// Springs and dampers as the hand feels them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Felt {
    stiffness: PerPart,
    damping: PerPart,
}

impl Felt {
    fn of(parameters: &Parameters) -> Self {
        let get = |parameter| parameters.get(parameter);
        let angular = get(Parameter::ForceScale);
        let linear = angular * get(Parameter::MotionScale) * get(Parameter::MotionScale);
        Self {
            stiffness: PerPart {
                linear: linear * get(Parameter::Stiffness),
                angular: angular * get(Parameter::AngularStiffness),
            },
            damping: PerPart {
                linear: linear * get(Parameter::Damping),
                angular: angular * get(Parameter::AngularDamping),
            },
        }
    }

    fn larger(&self, other: &Self) -> Self {
        let larger =
            |a: &PerPart, b: &PerPart| PerPart { linear: a.linear.max(b.linear), angular: a.angular.max(b.angular) };
        Self { stiffness: larger(&self.stiffness, &other.stiffness), damping: larger(&self.damping, &other.damping) }
    }

    fn is_within(&self, most: &Self) -> bool {
        let within = |a: &PerPart, b: &PerPart| a.linear <= b.linear * ROUNDING && a.angular <= b.angular * ROUNDING;
        within(&self.stiffness, &most.stiffness) && within(&self.damping, &most.damping)
    }
}

/// What the parameters of a scene on a device may be set to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterRange {
    start: Parameters,
    least: Parameters,
    most: Parameters,
    applies: [bool; Parameter::ALL.len()],
    felt: Felt,
}

impl ParameterRange {
    /// The ranges for this model on this device. A scene that starts beyond what the device holds stable may stay there,
    /// not go further.
    #[must_use]
    pub fn of(model: &HapticModel, spec: &DeviceSpec) -> Self {
        let start = starting(model);
        let mut felt =
            Felt { stiffness: spec.limits.stiffness, damping: spec.limits.damping }.larger(&Felt::of(&start));
        let angular_scale = start.get(Parameter::ForceScale);
        let linear_scale = angular_scale * start.get(Parameter::MotionScale) * start.get(Parameter::MotionScale);
        let (mut least, mut most) = (start, start);
        for (parameter, in_hand) in [
            (Parameter::Stiffness, felt.stiffness.linear / linear_scale),
            (Parameter::Damping, felt.damping.linear / linear_scale),
            (Parameter::AngularStiffness, felt.stiffness.angular / angular_scale),
            (Parameter::AngularDamping, felt.damping.angular / angular_scale),
        ] {
            let own = start.get(parameter);
            let low = LEAST_SHARE * in_hand;
            least.set(parameter, if own > 0.0 { own.min(low) } else { low });
            most.set(parameter, in_hand);
        }
        for parameter in [Parameter::ForceScale, Parameter::MotionScale] {
            least.set(parameter, start.get(parameter) / SCALE_RANGE);
            most.set(parameter, start.get(parameter) * SCALE_RANGE);
        }
        for parameter in LIMITS {
            least.set(parameter, LEAST_SHARE * start.get(parameter));
        }
        let turns = model.tool_turns() && !matches!(model.coupling, Coupling::Direct { .. });
        if !turns || !model.rotation_actuated {
            // No torque reaches the hand: there is nothing to compare.
            (felt.stiffness.angular, felt.damping.angular) = (f64::INFINITY, f64::INFINITY);
        }
        let applies = Parameter::ALL
            .map(|parameter| turns || !matches!(parameter, Parameter::AngularStiffness | Parameter::AngularDamping));
        Self { start, least, most, applies, felt }
    }

    /// The values the scene starts with.
    #[must_use]
    pub fn start(&self) -> &Parameters {
        &self.start
    }

    /// Least and most of one, alone; `None` when this coupling on this device has no such thing.
    #[must_use]
    pub fn get(&self, parameter: Parameter) -> Option<(f64, f64)> {
        self.applies[parameter as usize].then(|| (self.least.get(parameter), self.most.get(parameter)))
    }

    /// Checks a value for one, alone.
    ///
    /// # Errors
    /// [`Refusal::NotApplicable`] or [`Refusal::OutOfRange`].
    pub fn check(&self, parameter: Parameter, value: f64) -> Result<(), Refusal> {
        let (least, most) = self.get(parameter).ok_or(Refusal::NotApplicable)?;
        if value >= least / ROUNDING && value <= most * ROUNDING { Ok(()) } else { Err(Refusal::OutOfRange) }
    }

    /// Checks what the hand would feel of all of them together.
    ///
    /// # Errors
    /// [`Refusal::OutOfRange`] when the device would not hold it stable.
    pub fn check_together(&self, parameters: &Parameters) -> Result<(), Refusal> {
        if Felt::of(parameters).is_within(&self.felt) { Ok(()) } else { Err(Refusal::OutOfRange) }
    }
}

/// The values of the model.
fn starting(model: &HapticModel) -> Parameters {
    let spring = match model.coupling {
        Coupling::Spring(spring) | Coupling::Transparent { spring, .. } => spring,
        Coupling::Direct { stiffness, damping } => SpringDamper::isotropic(stiffness, damping, 0.0, 0.0),
    };
    let mut start = Parameters::default();
    for (parameter, value) in [
        (Parameter::Stiffness, spring.stiffness[0]),
        (Parameter::Damping, spring.damping[0]),
        (Parameter::AngularStiffness, spring.stiffness[3]),
        (Parameter::AngularDamping, spring.damping[3]),
        (Parameter::ForceScale, model.mapping.force_scale),
        (Parameter::MotionScale, model.mapping.motion_scale),
        (Parameter::MaxForce, model.limits.force.linear),
        (Parameter::MaxSpeed, model.limits.speed.linear),
    ] {
        start.set(parameter, value);
    }
    start
}

/// Where the parameters are and where they are going.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiveParameters {
    range: ParameterRange,
    target: Parameters,
    current: Parameters,
}

impl LiveParameters {
    pub(super) fn new(model: &HapticModel, spec: &DeviceSpec) -> Self {
        let range = ParameterRange::of(model, spec);
        Self { target: range.start, current: range.start, range }
    }

    pub(super) fn range(&self) -> &ParameterRange {
        &self.range
    }

    pub(super) fn target(&self) -> &Parameters {
        &self.target
    }

    pub(super) fn current(&self) -> &Parameters {
        &self.current
    }

    /// Sets out for values that have been checked.
    pub(super) fn aim(&mut self, target: Parameters) {
        self.target = target;
    }

    /// Moves towards the target by one tick; false when there was nothing to move.
    pub(super) fn advance(&mut self, period_s: f64) -> bool {
        if self.current == self.target {
            return false;
        }
        let (from, to) = (self.current, self.target);
        // A value of zero has no logarithm; it can be left, and not come back to.
        let begin = |parameter| from.get(parameter).max(f64::min(self.range.least.get(parameter), to.get(parameter)));
        let way = |parameter| {
            if from.get(parameter) == to.get(parameter) { 0.0 } else { (to.get(parameter) / begin(parameter)).ln() }
        };
        let longest = GEOMETRIC.into_iter().fold(0.0, |most: f64, parameter| most.max(way(parameter).abs()));
        let step = period_s / SLEW_S;
        for parameter in GEOMETRIC {
            let moved = if longest <= step {
                to.get(parameter)
            } else if way(parameter) == 0.0 {
                from.get(parameter)
            } else {
                begin(parameter) * (way(parameter) * step / longest).exp()
            };
            self.current.set(parameter, moved);
        }
        for parameter in LIMITS {
            let most = step * self.range.start.get(parameter);
            let left = to.get(parameter) - from.get(parameter);
            let moved = if left.abs() <= most { to.get(parameter) } else { from.get(parameter) + most.copysign(left) };
            self.current.set(parameter, moved);
        }
        true
    }

    /// The coupling with the values of now. Axes keep the proportions they have in `model`.
    pub(super) fn coupling(&self, model: &Coupling) -> Coupling {
        let get = |parameter| self.current.get(parameter);
        match *model {
            Coupling::Spring(spring) => Coupling::Spring(self.spring(&spring)),
            Coupling::Transparent { spring, bandwidth_hz } => {
                Coupling::Transparent { spring: self.spring(&spring), bandwidth_hz }
            }
            Coupling::Direct { .. } => {
                Coupling::Direct { stiffness: get(Parameter::Stiffness), damping: get(Parameter::Damping) }
            }
        }
    }

    fn spring(&self, model: &SpringDamper) -> SpringDamper {
        let scaled = |own: &[f64; 6], linear, angular| {
            std::array::from_fn(|axis| {
                let (first, parameter) = if axis < 3 { (own[0], linear) } else { (own[3], angular) };
                let value = self.current.get(parameter);
                if own[axis] == first || first == 0.0 { value } else { own[axis] * (value / first) }
            })
        };
        SpringDamper {
            stiffness: scaled(&model.stiffness, Parameter::Stiffness, Parameter::AngularStiffness),
            damping: scaled(&model.damping, Parameter::Damping, Parameter::AngularDamping),
        }
    }
}
