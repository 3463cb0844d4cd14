//! Training of a network: Adam on distance and gradient, two threads, the same bits for the same seed.
//!
//! Thread: cold; starts one helper thread for the time of a step.
//!
//! Samples are drawn once, most of them in the band about the surface. A step takes some of them, in two halves that are
//! summed in a fixed order whatever thread is first. The rate of learning and the weight of the gradient fall along half
//! a cosine, so that the last steps settle the distance alone.

use super::gradient::{Chunk, Descend, Loss, Scratch, Weights};
use super::{FieldError, Source, measure};
use crate::collision::field::lanes::{LANES, dispatch};
use crate::collision::field::{Baked, FEATURES, Input, Model, Network, PARAMETERS, Symmetry, WIDTH};
use crate::math::Random;
use std::f64::consts::PI;

/// Share of samples that may lie anywhere in the box, so that the side is right there too.
const FAR_SHARE: f64 = 0.1;
/// How much farther than the band the samples near the surface reach: the error must not grow at its bounds.
const BEYOND: f64 = 1.1;
/// Most tries to place a sample in the band.
const TRIES: usize = 1000;
/// Error, m, whose fourth power counts as much as its square in the last steps. Earlier, when all errors are large, the
/// fourth power would chase a few of them and spoil the rest.
const TAIL: f64 = 2e-5;
/// Points of the error reported at the end.
const HELD_OUT: usize = 20_000;
/// Decay of Adam's mean and of its mean square, and what keeps it from dividing by zero.
const MOMENTUM: f32 = 0.9;
const SQUARES: f32 = 0.999;
const TINY: f32 = 1e-10;

/// How a network is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainPlan {
    /// Where its random numbers start.
    pub seed: u64,
    /// Steps of descent.
    pub steps: usize,
    /// Samples of one step; rounded up to a multiple of 32.
    pub batch: usize,
    /// Samples altogether; rounded up to a multiple of 16.
    pub samples: usize,
    /// Half of the thickness of the band, m.
    pub band: f64,
    /// First rate of learning; the last is a thousandth of it.
    pub rate: f64,
    /// First weight of the gradient's error against that of the distance in mm.
    pub slope_weight: f64,
    /// Length over which corners are rounded to begin with, m.
    pub rounding: f64,
    /// Length that is one for the network, m.
    pub unit: f64,
}

impl TrainPlan {
    /// For solids of revolution, which are larger than the profile of a thread: some minutes on two cores. The seed is the
    /// better of two for the bore of 50 mm: off by 2.2 µm and at most 39 µm, with the other 3.7 µm and 64 µm.
    #[must_use]
    pub fn round() -> Self {
        Self { seed: 2, steps: 60_000, rate: 8e-3, slope_weight: 0.1, rounding: 1e-4, unit: 5e-3, ..Self::default() }
    }
}

impl Default for TrainPlan {
    /// For threads: a minute or so on two cores.
    fn default() -> Self {
        Self {
            seed: 1,
            steps: 20_000,
            batch: 256,
            samples: 400_000,
            band: 1e-3,
            rate: 4e-3,
            slope_weight: 0.01,
            rounding: 5e-5,
            unit: 1e-3,
        }
    }
}

/// How far training has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps done.
    pub step: usize,
    /// Steps altogether.
    pub steps: usize,
    /// Root of the mean loss of the last step, m: about the error of the distance.
    pub loss: f64,
}

/// Trains a network for the source, and measures it at points it has not seen. `progress` is called a hundred times.
/// `None` if the plan has a number that makes no sense.
pub fn train(source: &Source, plan: &TrainPlan, mut progress: impl FnMut(&Progress)) -> Option<(Baked, FieldError)> {
    let positive = [plan.band, plan.rate, plan.rounding, plan.unit].iter().all(|x| x.is_finite() && *x > 0.0);
    if !positive || plan.batch == 0 || plan.samples == 0 || !(plan.slope_weight >= 0.0) {
        return None;
    }
    let clearance = BEYOND * plan.band;
    let (low, high) = source.domain(clearance);
    let softness = (plan.rounding / plan.unit).powi(2);
    let sides = [source.at(&low).0, source.at(&high).0].map(|d| 1.0_f64.copysign(d));
    let input = Input { symmetry: source.symmetry, low, high, sides, clearance, unit: plan.unit, softness };
    let mut random = Random::new(plan.seed);
    let chunks: Vec<Chunk> =
        (0..plan.samples.div_ceil(LANES)).map(|_| draw(source, plan, &input, &mut random)).collect();
    let mut numbers = initial(&input, &mut random);
    descend(plan, &input, &chunks, &mut numbers, &mut random, &mut progress);
    let network = Network::new(input, &numbers[..])?;
    let field = Baked {
        symmetry: source.symmetry,
        cuts: source.cuts.clone(),
        model: Model::Network(network),
        band: plan.band,
        bounds: source.bounds,
        source: source.hash(plan),
    };
    let error = measure(&field, source, plan.band, HELD_OUT, plan.seed ^ 0x5eed);
    Some((field, error))
}

/// Draws the samples of one chunk.
fn draw(source: &Source, plan: &TrainPlan, input: &Input, random: &mut Random) -> Chunk {
    let zero = [0.0; LANES];
    let mut chunk =
        Chunk { features: [zero; FEATURES], tangents: [[zero; FEATURES]; 3], value: zero, slopes: [zero; 3] };
    for lane in 0..LANES {
        let anywhere = random.uniform() < FAR_SHARE;
        let mut place = [0.0; 3];
        let mut found = (0.0, [0.0; 3]);
        for _ in 0..TRIES {
            place = std::array::from_fn(|i| input.low[i] + (input.high[i] - input.low[i]) * random.uniform());
            found = source.at(&place);
            if anywhere || found.0.abs() <= BEYOND * plan.band {
                break;
            }
        }
        let (features, tangents) = (input.features(&place), input.tangents(&place));
        for k in 0..FEATURES {
            chunk.features[k][lane] = features[k] as f32;
            for (to, from) in chunk.tangents.iter_mut().zip(&tangents) {
                to[k][lane] = from[k] as f32;
            }
            chunk.slopes[k][lane] = found.1[k] as f32;
        }
        chunk.value[lane] = (found.0 / plan.unit) as f32;
    }
    chunk
}

/// Numbers to start from: ramps in all directions, with their corners all over the box.
fn initial(input: &Input, random: &mut Random) -> Box<[f32; PARAMETERS]> {
    let mut all = Vec::with_capacity(PARAMETERS);
    let mut biases = Vec::with_capacity(WIDTH);
    let used = if input.symmetry == Symmetry::Round { 2 } else { FEATURES };
    for _ in 0..WIDTH {
        let mut weights = [0.0; FEATURES];
        weights[..used].iter_mut().for_each(|x| *x = random.normal());
        let length = weights.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-3);
        let place = std::array::from_fn(|i| input.low[i] + (input.high[i] - input.low[i]) * random.uniform());
        let corner = input.features(&place);
        biases.push((-(0..FEATURES).map(|k| weights[k] * corner[k]).sum::<f64>() / length) as f32);
        all.extend(weights.map(|x| (x / length) as f32));
    }
    all.extend(biases);
    let spread = (2.0 / WIDTH as f64).sqrt();
    all.extend((0..WIDTH * WIDTH).map(|_| (spread * random.normal()) as f32));
    all.extend((0..WIDTH).map(|_| (0.1 * random.normal()) as f32));
    all.extend((0..WIDTH).map(|_| (spread * random.normal()) as f32));
    all.push(0.0);
    let mut numbers = Box::new([0.0; PARAMETERS]);
    numbers.copy_from_slice(&all);
    numbers
}

/// Adam's memory.
struct Adam {
    mean: Box<[f32; PARAMETERS]>,
    square: Box<[f32; PARAMETERS]>,
    step: i32,
}

impl Adam {
    fn step(&mut self, numbers: &mut [f32; PARAMETERS], gradient: &[f32; PARAMETERS], rate: f32) {
        self.step = self.step.saturating_add(1);
        let (mean_part, square_part) = (1.0 - MOMENTUM.powi(self.step), 1.0 - SQUARES.powi(self.step));
        for k in 0..PARAMETERS {
            let g = gradient[k];
            self.mean[k] = MOMENTUM * self.mean[k] + (1.0 - MOMENTUM) * g;
            self.square[k] = SQUARES * self.square[k] + (1.0 - SQUARES) * g * g;
            numbers[k] -= rate * (self.mean[k] / mean_part) / ((self.square[k] / square_part).sqrt() + TINY);
        }
    }
}

/// One half of a step: its own sums and room.
struct Half {
    gradient: Box<[f32; PARAMETERS]>,
    scratch: Box<Scratch>,
    loss: f32,
}

impl Half {
    fn new() -> Self {
        Self { gradient: Box::new([0.0; PARAMETERS]), scratch: Scratch::new(), loss: 0.0 }
    }

    fn run(&mut self, weights: &Weights, loss: &Loss, chunks: &[&Chunk]) {
        self.gradient.fill(0.0);
        let (scratch, gradient) = (&mut *self.scratch, &mut *self.gradient);
        self.loss = dispatch(Descend { weights, loss, chunks, scratch, gradient });
    }
}

fn descend(
    plan: &TrainPlan,
    input: &Input,
    chunks: &[Chunk],
    numbers: &mut [f32; PARAMETERS],
    random: &mut Random,
    progress: &mut impl FnMut(&Progress),
) {
    let zero = || Box::new([0.0; PARAMETERS]);
    let mut adam = Adam { mean: zero(), square: zero(), step: 0 };
    let mut halves = [Half::new(), Half::new()];
    let per_half = plan.batch.div_ceil(2 * LANES);
    let scale = 1.0 / (2 * per_half * LANES) as f32;
    let every = (plan.steps / 100).max(1);
    for step in 0..plan.steps {
        let share = 0.5 + 0.5 * (PI * step as f64 / plan.steps as f64).cos();
        let loss = Loss {
            dimensions: input.symmetry.dimensions(),
            softness: input.softness as f32,
            band: (BEYOND * plan.band / plan.unit) as f32,
            // The plan gives it for lengths in mm.
            slope_weight: (plan.slope_weight * share * (1e-3 / plan.unit).powi(2)) as f32,
            tail_weight: ((1.0 - 10.0 * share).max(0.0) * (plan.unit / TAIL).powi(2)) as f32,
        };
        let weights = Weights::new(numbers);
        let taken: Vec<&Chunk> =
            (0..2 * per_half).map(|_| &chunks[(random.bits() % chunks.len() as u64) as usize]).collect();
        let (here, there) = taken.split_at(per_half);
        let [a, b] = &mut halves;
        std::thread::scope(|scope| {
            scope.spawn(|| b.run(&weights, &loss, there));
            a.run(&weights, &loss, here);
        });
        for (sum, more) in a.gradient.iter_mut().zip(b.gradient.iter()) {
            *sum = (*sum + more) * scale;
        }
        adam.step(numbers, &a.gradient, (plan.rate * (1e-3 + (1.0 - 1e-3) * share)) as f32);
        if (step + 1) % every == 0 {
            let mean = f64::from((a.loss + b.loss) * scale);
            progress(&Progress { step: step + 1, steps: plan.steps, loss: mean.sqrt() * plan.unit });
        }
    }
}
