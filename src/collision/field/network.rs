//! A neural network as a model of distance: two hidden layers of 64, smooth.
//!
//! Thread: simulation or collision (no heap but for making one).
//!
//! ```text
//!  coordinates ──► 3 features ──► 64 ──► 64 ──► distance / unit
//!  σ(x) = (x + √(x² + b)) / 2        a ramp whose corner is rounded over √b: the gradient is continuous
//! ```
//!
//! A distance is nearly linear between creases, and so is a network of ramps. `b` is as small as the creases are wanted
//! sharp. Features of a thread are `r` and a circle for `s`, which closes the period without a seam:
//!
//! ```text
//!  helical  ((r − r₀)/u, ρ cos φ, ρ sin φ),  φ = 2π s/P, ρ = P/(2π u)
//!  round    ((r − r₀)/u, (z − z₀)/u, 0)
//!  none     (p − p₀)/u
//! ```

use super::lanes::{Block, Kernel, LANES, Square, dense, dispatch, fused};
use super::{Symmetry, lanes};
use std::f64::consts::TAU;

/// Units of a hidden layer.
pub const WIDTH: usize = lanes::WIDTH;
/// Numbers that enter the first layer.
pub const FEATURES: usize = 3;
/// Numbers that make a network.
pub(crate) const PARAMETERS: usize = WIDTH * (FEATURES + 1) + WIDTH * (WIDTH + 1) + WIDTH + 1;

/// What a network is asked: where, in which coordinates and units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// Symmetry of the part.
    pub symmetry: Symmetry,
    /// Least coordinates of the box in which the network is trained.
    pub low: [f64; 3],
    /// Greatest coordinates.
    pub high: [f64; 3],
    /// Least distance of the surface from the bounds that it does not cross, m.
    pub clearance: f64,
    /// Side of the surface, 1 outside and −1 in the material, nearer to the axis than the box, and everywhere else around
    /// it.
    pub sides: [f64; 2],
    /// Length that is one for the network, m.
    pub unit: f64,
    /// `b`: the square of the length, in units of the first layer, over which corners are rounded.
    pub softness: f64,
}

impl Input {
    /// The features of a place.
    #[must_use]
    pub fn features(&self, at: &[f64; 3]) -> [f64; 3] {
        let scaled = |i: usize| (at[i] - 0.5 * (self.low[i] + self.high[i])) / self.unit;
        match self.symmetry {
            Symmetry::None => [scaled(0), scaled(1), scaled(2)],
            Symmetry::Round => [scaled(0), scaled(1), 0.0],
            Symmetry::Helical { pitch, .. } => {
                let (sin, cos) = (TAU * at[1] / pitch).sin_cos();
                let radius = pitch / (TAU * self.unit);
                [scaled(0), radius * cos, radius * sin]
            }
        }
    }

    /// Their derivatives by the coordinates, times the unit: by coordinate, then by feature.
    #[must_use]
    pub fn tangents(&self, at: &[f64; 3]) -> [[f64; 3]; 3] {
        match self.symmetry {
            Symmetry::None => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            Symmetry::Round => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0; 3]],
            Symmetry::Helical { pitch, .. } => {
                let (sin, cos) = (TAU * at[1] / pitch).sin_cos();
                [[1.0, 0.0, 0.0], [0.0, -sin, cos], [0.0; 3]]
            }
        }
    }

    /// A bound of the distance, and its derivatives, at a place outside of the box; none inside.
    pub(super) fn outside(&self, at: &[f64; 3]) -> Option<(f64, [f64; 3])> {
        let off: [f64; 3] = std::array::from_fn(|i| at[i] - at[i].max(self.low[i]).min(self.high[i]));
        let square = off.iter().map(|x| x * x).sum::<f64>();
        if !(square > 0.0) {
            return None;
        }
        let within = self.symmetry != Symmetry::None && at[0] < self.low[0];
        let (beyond, side) = (square.sqrt(), self.sides[usize::from(!within)]);
        Some((side * (self.clearance + beyond), off.map(|x| side * x / beyond)))
    }

    /// Says whether a network can be asked like this.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let ordered = |i: usize| self.low[i].is_finite() && self.high[i].is_finite() && self.low[i] <= self.high[i];
        let positive = |x: f64| x.is_finite() && x > 0.0;
        (0..3).all(ordered) && [self.clearance, self.unit, self.softness].into_iter().all(positive)
    }
}

/// A trained network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    input: Input,
    first: [[f32; FEATURES]; WIDTH],
    first_bias: [f32; WIDTH],
    second: Square,
    /// The same by unit of the first layer, for the way back.
    second_turned: Square,
    second_bias: [f32; WIDTH],
    last: [f32; WIDTH],
    last_bias: f32,
}

/// `σ` and its derivative.
fn ramp(x: f64, softness: f64) -> (f64, f64) {
    let root = (x * x + softness).sqrt();
    (0.5 * (x + root), 0.5 * (1.0 + x / root))
}

impl Network {
    /// A network from its numbers: weights and biases, layer by layer. None if there are too many or too few, or one is
    /// not finite.
    #[must_use]
    pub fn new(input: Input, numbers: &[f32]) -> Option<Box<Self>> {
        if numbers.len() != PARAMETERS || !numbers.iter().all(|x| x.is_finite()) || !input.is_sound() {
            return None;
        }
        let mut rest = numbers.iter().copied();
        let mut next = || rest.next().unwrap_or(0.0);
        let mut network = Box::new(Self {
            input,
            first: [[0.0; FEATURES]; WIDTH],
            first_bias: [0.0; WIDTH],
            second: [[0.0; WIDTH]; WIDTH],
            second_turned: [[0.0; WIDTH]; WIDTH],
            second_bias: [0.0; WIDTH],
            last: [0.0; WIDTH],
            last_bias: 0.0,
        });
        network.first.iter_mut().flatten().for_each(|x| *x = next());
        network.first_bias.iter_mut().for_each(|x| *x = next());
        network.second.iter_mut().flatten().for_each(|x| *x = next());
        network.second_bias.iter_mut().for_each(|x| *x = next());
        network.last.iter_mut().for_each(|x| *x = next());
        network.last_bias = next();
        network.second_turned = std::array::from_fn(|i| std::array::from_fn(|j| network.second[j][i]));
        Some(network)
    }

    /// Its numbers, as [`Network::new`] takes them.
    pub fn numbers(&self) -> impl Iterator<Item = f32> + '_ {
        let first = self.first.iter().flatten().chain(&self.first_bias);
        let second = self.second.iter().flatten().chain(&self.second_bias);
        first.chain(second).chain(&self.last).chain(std::iter::once(&self.last_bias)).copied()
    }

    /// What it is asked.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Distance, m, and derivatives by the coordinates at a place in the box.
    #[must_use]
    pub fn value(&self, at: &[f64; 3]) -> (f64, [f64; 3]) {
        let features = self.input.features(at);
        let (mut a1, mut d1) = ([0.0; WIDTH], [0.0; WIDTH]);
        for i in 0..WIDTH {
            let sum: f64 = (0..FEATURES).map(|k| f64::from(self.first[i][k]) * features[k]).sum();
            (a1[i], d1[i]) = ramp(sum + f64::from(self.first_bias[i]), self.input.softness);
        }
        let (mut value, mut back) = (f64::from(self.last_bias), [0.0; WIDTH]);
        for i in 0..WIDTH {
            let sum: f64 = (0..WIDTH).map(|j| f64::from(self.second[i][j]) * a1[j]).sum();
            let (a2, d2) = ramp(sum + f64::from(self.second_bias[i]), self.input.softness);
            value += f64::from(self.last[i]) * a2;
            for j in 0..WIDTH {
                back[j] += f64::from(self.second[i][j]) * f64::from(self.last[i]) * d2;
            }
        }
        let by_feature: [f64; FEATURES] =
            std::array::from_fn(|k| (0..WIDTH).map(|j| f64::from(self.first[j][k]) * d1[j] * back[j]).sum());
        let tangents = self.input.tangents(at);
        let slopes = tangents.map(|t| (0..FEATURES).map(|k| t[k] * by_feature[k]).sum());
        (value * self.input.unit, slopes)
    }

    /// Values of many points, in units, and, if any is at most `within`, their derivatives by feature.
    pub(super) fn values(&self, features: &[[f32; LANES]; FEATURES], within: f32) -> Values {
        dispatch(Forward { network: self, features, within })
    }
}

/// Values of a batch and their derivatives by feature.
pub(super) struct Values {
    pub(super) value: [f32; LANES],
    pub(super) by_feature: [[f32; LANES]; FEATURES],
}

struct Forward<'a> {
    network: &'a Network,
    features: &'a [[f32; LANES]; FEATURES],
    within: f32,
}

/// `σ` of every number, in place, and its derivative.
#[inline(always)]
fn ramps(z: &mut Block, slope: &mut Block, softness: f32) {
    for (z, slope) in z.iter_mut().zip(slope) {
        for lane in 0..LANES {
            let x = z[lane];
            let root = (x * x + softness).sqrt();
            z[lane] = 0.5 * (x + root);
            slope[lane] = 0.5 + 0.5 * x / root;
        }
    }
}

impl Kernel for Forward<'_> {
    type Output = Values;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Values {
        let n = self.network;
        let softness = n.input.softness as f32;
        let mut a1: Block = [[0.0; LANES]; WIDTH];
        for i in 0..WIDTH {
            for lane in 0..LANES {
                let mut sum = n.first_bias[i];
                for k in 0..FEATURES {
                    sum = fused::<FUSED>(n.first[i][k], self.features[k][lane], sum);
                }
                a1[i][lane] = sum;
            }
        }
        let mut d1: Block = [[0.0; LANES]; WIDTH];
        ramps(&mut a1, &mut d1, softness);
        let mut a2: Block = n.second_bias.map(|b| [b; LANES]);
        dense::<FUSED>(&n.second, &a1, &mut a2);
        let mut d2: Block = [[0.0; LANES]; WIDTH];
        ramps(&mut a2, &mut d2, softness);
        let mut value = [n.last_bias; LANES];
        for i in 0..WIDTH {
            for lane in 0..LANES {
                value[lane] = fused::<FUSED>(n.last[i], a2[i][lane], value[lane]);
                d2[i][lane] *= n.last[i];
            }
        }
        let mut by_feature = [[0.0; LANES]; FEATURES];
        if value.iter().any(|v| *v <= self.within) {
            let mut back: Block = [[0.0; LANES]; WIDTH];
            dense::<FUSED>(&n.second_turned, &d2, &mut back);
            for j in 0..WIDTH {
                for k in 0..FEATURES {
                    for lane in 0..LANES {
                        let through = n.first[j][k] * d1[j][lane];
                        by_feature[k][lane] = fused::<FUSED>(through, back[j][lane], by_feature[k][lane]);
                    }
                }
            }
        }
        Values { value, by_feature }
    }
}
