//! Loss of a network on a chunk of samples, and its derivative by every number of the network.
//!
//! Thread: cold.
//!
//! The loss asks for the distance and for its derivatives, so the derivatives of the network by its coordinates are
//! carried through the layers beside its values (streams 1 to K beside stream 0), and all streams are taken back:
//!
//! ```text
//!  there  z = W a + b      ż_k = W ȧ_k        a⁺ = σ(z)      ȧ⁺_k = σ'(z) ż_k
//!  back   z̄ = ā σ' + Σ_k ǡ_k σ'' ż_k        ż̄_k = ǡ_k σ'      W̄ += z̄ aᵀ + Σ_k ż̄_k ȧ_kᵀ
//! ```

use crate::collision::field::lanes::{Block, Kernel, LANES, Square, dense, fused};
use crate::collision::field::{FEATURES, PARAMETERS, WIDTH};

/// Value and up to three derivatives.
const STREAMS: usize = 4;
/// Most that an error far above the others may count beyond its square.
const TAIL_MAX: f32 = 100.0;
const ZERO: Block = [[0.0; LANES]; WIDTH];

/// Where the layers begin in the list of numbers.
const FIRST_BIAS: usize = WIDTH * FEATURES;
const SECOND: usize = FIRST_BIAS + WIDTH;
const SECOND_BIAS: usize = SECOND + WIDTH * WIDTH;
const LAST: usize = SECOND_BIAS + WIDTH;

/// Samples that are worked on together. Lengths are in units of the network.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    pub(super) features: [[f32; LANES]; FEATURES],
    /// Derivatives of the features by each coordinate.
    pub(super) tangents: [[[f32; LANES]; FEATURES]; 3],
    pub(super) value: [f32; LANES],
    pub(super) slopes: [[f32; LANES]; 3],
}

/// What is minimised.
#[derive(Clone, Copy)]
pub(super) struct Loss {
    /// Number of coordinates.
    pub(super) dimensions: usize,
    /// Softness of the ramps.
    pub(super) softness: f32,
    /// Beyond this distance only the side must be right.
    pub(super) band: f32,
    /// Weight of the derivatives against the value.
    pub(super) slope_weight: f32,
    /// Weight of the fourth power of the error against its square: what presses the greatest errors down.
    pub(super) tail_weight: f32,
}

/// Room for one chunk on its way there and back.
pub(super) struct Scratch {
    /// Inputs of the second layer and of the last, by stream.
    a1: [Block; STREAMS],
    a2: [Block; STREAMS],
    /// Before the ramps.
    z1: [Block; STREAMS],
    z2: [Block; STREAMS],
    /// Derivatives of the loss.
    back: [Block; STREAMS],
    through: [Block; STREAMS],
}

impl Scratch {
    pub(super) fn new() -> Box<Self> {
        let all = [ZERO; STREAMS];
        Box::new(Self { a1: all, a2: all, z1: all, z2: all, back: all, through: all })
    }
}

/// The network as the kernel wants it.
pub(super) struct Weights {
    first: [[f32; FEATURES]; WIDTH],
    first_bias: [f32; WIDTH],
    second: Square,
    second_turned: Square,
    second_bias: [f32; WIDTH],
    last: [f32; WIDTH],
    last_bias: f32,
}

impl Weights {
    /// From the list of numbers, which has the right length.
    pub(super) fn new(n: &[f32; PARAMETERS]) -> Box<Self> {
        Box::new(Self {
            first: std::array::from_fn(|i| std::array::from_fn(|k| n[i * FEATURES + k])),
            first_bias: std::array::from_fn(|i| n[FIRST_BIAS + i]),
            second: std::array::from_fn(|i| std::array::from_fn(|j| n[SECOND + i * WIDTH + j])),
            second_turned: std::array::from_fn(|j| std::array::from_fn(|i| n[SECOND + i * WIDTH + j])),
            second_bias: std::array::from_fn(|i| n[SECOND_BIAS + i]),
            last: std::array::from_fn(|i| n[LAST + i]),
            last_bias: n[LAST + WIDTH],
        })
    }
}

/// Adds the derivative of the loss of some chunks to `gradient`; gives the loss.
pub(super) struct Descend<'a> {
    pub(super) weights: &'a Weights,
    pub(super) loss: &'a Loss,
    pub(super) chunks: &'a [&'a Chunk],
    pub(super) scratch: &'a mut Scratch,
    pub(super) gradient: &'a mut [f32; PARAMETERS],
}

/// From before the ramps to after them, all streams.
#[inline(always)]
fn ramps(z: &[Block; STREAMS], a: &mut [Block; STREAMS], streams: usize, softness: f32) {
    for i in 0..WIDTH {
        for lane in 0..LANES {
            let x = z[0][i][lane];
            let root = (x * x + softness).sqrt();
            a[0][i][lane] = 0.5 * (x + root);
            let slope = 0.5 + 0.5 * x / root;
            for s in 1..streams {
                a[s][i][lane] = slope * z[s][i][lane];
            }
        }
    }
}

/// The way back through the ramps: `back` holds derivatives by what is after them, then by what is before.
#[inline(always)]
fn ramps_back(z: &[Block; STREAMS], back: &mut [Block; STREAMS], streams: usize, softness: f32) {
    for i in 0..WIDTH {
        for lane in 0..LANES {
            let x = z[0][i][lane];
            let square = x * x + softness;
            let root = square.sqrt();
            let slope = 0.5 + 0.5 * x / root;
            let bend = 0.5 * softness / (square * root);
            let mut sum = back[0][i][lane] * slope;
            for s in 1..streams {
                sum += back[s][i][lane] * bend * z[s][i][lane];
                back[s][i][lane] *= slope;
            }
            back[0][i][lane] = sum;
        }
    }
}

/// Adds `back aᵀ`, summed over lanes and streams, to the weights of the second layer.
#[inline(always)]
fn outer<const FUSED: bool>(back: &[Block; STREAMS], a: &[Block; STREAMS], streams: usize, to: &mut [f32]) {
    for s in 0..streams {
        let mut turned = [[0.0; WIDTH]; LANES];
        for j in 0..WIDTH {
            for lane in 0..LANES {
                turned[lane][j] = a[s][j][lane];
            }
        }
        for (i, row) in to.chunks_exact_mut(WIDTH).enumerate() {
            let mut sums = [0.0; WIDTH];
            sums.copy_from_slice(row);
            for lane in 0..LANES {
                let factor = back[s][i][lane];
                for j in 0..WIDTH {
                    sums[j] = fused::<FUSED>(factor, turned[lane][j], sums[j]);
                }
            }
            row.copy_from_slice(&sums);
        }
    }
}

#[inline(always)]
fn total(lanes: &[f32; LANES]) -> f32 {
    let mut sum = 0.0;
    for x in lanes {
        sum += x;
    }
    sum
}

impl Descend<'_> {
    /// Through both hidden layers.
    #[inline(always)]
    fn forward<const FUSED: bool>(&mut self, chunk: &Chunk, streams: usize) {
        let (w, t) = (self.weights, &mut *self.scratch);
        for s in 0..streams {
            let inputs = if s == 0 { &chunk.features } else { &chunk.tangents[s - 1] };
            for i in 0..WIDTH {
                let mut sum = [if s == 0 { w.first_bias[i] } else { 0.0 }; LANES];
                for k in 0..FEATURES {
                    for lane in 0..LANES {
                        sum[lane] = fused::<FUSED>(w.first[i][k], inputs[k][lane], sum[lane]);
                    }
                }
                t.z1[s][i] = sum;
            }
        }
        ramps(&t.z1, &mut t.a1, streams, self.loss.softness);
        for s in 0..streams {
            t.z2[s] = if s == 0 { w.second_bias.map(|b| [b; LANES]) } else { ZERO };
            dense::<FUSED>(&w.second, &t.a1[s], &mut t.z2[s]);
        }
        ramps(&t.z2, &mut t.a2, streams, self.loss.softness);
    }

    /// Derivatives of the loss by the outputs of all streams; gives the loss.
    #[inline(always)]
    fn judge(&self, chunk: &Chunk, out: &mut [[f32; LANES]; STREAMS], streams: usize) -> f32 {
        let mut loss = 0.0;
        for lane in 0..LANES {
            let wanted = chunk.value[lane];
            let near = wanted.abs() <= self.loss.band;
            let mut off = out[0][lane] - wanted;
            if !near {
                // Short of the band on the right side; beyond it everything will do.
                let side = 1.0_f32.copysign(wanted);
                off = side * (side * out[0][lane] - self.loss.band).min(0.0);
            }
            let tail = (off * off * self.loss.tail_weight).min(TAIL_MAX);
            loss += off * off;
            out[0][lane] = 2.0 * off * (1.0 + 2.0 * tail);
            let weight = if near { self.loss.slope_weight } else { 0.0 };
            for s in 1..streams {
                let off = out[s][lane] - chunk.slopes[s - 1][lane];
                loss += weight * off * off;
                out[s][lane] = 2.0 * weight * off;
            }
        }
        loss
    }

    #[inline(always)]
    fn chunk<const FUSED: bool>(&mut self, chunk: &Chunk) -> f32 {
        let streams = self.loss.dimensions + 1;
        self.forward::<FUSED>(chunk, streams);
        let w = self.weights;
        let mut out = [[0.0; LANES]; STREAMS];
        out[0] = [w.last_bias; LANES];
        for s in 0..streams {
            for i in 0..WIDTH {
                for lane in 0..LANES {
                    out[s][lane] = fused::<FUSED>(w.last[i], self.scratch.a2[s][i][lane], out[s][lane]);
                }
            }
        }
        let loss = self.judge(chunk, &mut out, streams);
        self.backward::<FUSED>(chunk, &out, streams);
        loss
    }

    #[inline(always)]
    fn backward<const FUSED: bool>(&mut self, chunk: &Chunk, out: &[[f32; LANES]; STREAMS], streams: usize) {
        let (w, t, g) = (self.weights, &mut *self.scratch, &mut *self.gradient);
        for s in 0..streams {
            for i in 0..WIDTH {
                let mut sum = [0.0; LANES];
                for lane in 0..LANES {
                    sum[lane] = out[s][lane] * t.a2[s][i][lane];
                    t.back[s][i][lane] = w.last[i] * out[s][lane];
                }
                g[LAST + i] += total(&sum);
            }
        }
        g[LAST + WIDTH] += total(&out[0]);
        ramps_back(&t.z2, &mut t.back, streams, self.loss.softness);
        for i in 0..WIDTH {
            g[SECOND_BIAS + i] += total(&t.back[0][i]);
        }
        outer::<FUSED>(&t.back, &t.a1, streams, &mut g[SECOND..SECOND_BIAS]);
        for s in 0..streams {
            t.through[s] = ZERO;
            dense::<FUSED>(&w.second_turned, &t.back[s], &mut t.through[s]);
        }
        ramps_back(&t.z1, &mut t.through, streams, self.loss.softness);
        for i in 0..WIDTH {
            g[FIRST_BIAS + i] += total(&t.through[0][i]);
            for k in 0..FEATURES {
                let mut sum = [0.0; LANES];
                for s in 0..streams {
                    let inputs = if s == 0 { &chunk.features } else { &chunk.tangents[s - 1] };
                    for lane in 0..LANES {
                        sum[lane] = fused::<FUSED>(t.through[s][i][lane], inputs[k][lane], sum[lane]);
                    }
                }
                g[i * FEATURES + k] += total(&sum);
            }
        }
    }
}

impl Kernel for Descend<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) -> f32 {
        let mut loss = 0.0;
        for chunk in self.chunks {
            loss += self.chunk::<FUSED>(chunk);
        }
        loss
    }
}
