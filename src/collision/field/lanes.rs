//! Arithmetic on many points at once: plain loops over arrays of fixed size, compiled twice.
//!
//! Thread: simulation or collision (no heap).
//!
//! Processors differ in how many numbers one instruction takes. [`dispatch`] asks the one it runs on and picks the
//! version of a loop for AVX2 with fused multiply and add, or the one that every x86-64 has. The choice changes the last
//! bits of a result, never from one run to the next on the same machine.

/// Points that are worked on together.
pub(crate) const LANES: usize = 16;
/// Units of a hidden layer.
pub(crate) const WIDTH: usize = 64;
/// One number for each unit and point.
pub(crate) type Block = [[f32; LANES]; WIDTH];
/// Weights from one hidden layer to the next, by unit of the next.
pub(crate) type Square = [[f32; WIDTH]; WIDTH];

/// A loop to be compiled for each kind of processor. Everything it calls must be `#[inline(always)]`.
pub(crate) trait Kernel {
    /// What it gives.
    type Output;
    /// Does the work; `FUSED` where multiply and add are one instruction.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

#[cfg(target_arch = "x86_64")]
struct Wide<K>(K);

#[cfg(target_arch = "x86_64")]
impl<K: Kernel> pulp::NullaryFnOnce for Wide<K> {
    type Output = K::Output;

    #[inline(always)]
    fn call(self) -> K::Output {
        self.0.run::<true>()
    }
}

/// Runs the version of `kernel` that fits the processor.
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(Wide(kernel));
    }
    kernel.run::<false>()
}

/// `a b + c`.
#[inline(always)]
pub(crate) fn fused<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    // Without the instruction `mul_add` is a call that takes a hundred times as long.
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Adds `weights x` to `out`.
#[inline(always)]
pub(crate) fn dense<const FUSED: bool>(weights: &Square, x: &Block, out: &mut Block) {
    // Four rows at once keep enough sums in flight to hide how long one takes.
    const ROWS: usize = 4;
    for first in (0..WIDTH).step_by(ROWS) {
        let mut sums = [out[first], out[first + 1], out[first + 2], out[first + 3]];
        for j in 0..WIDTH {
            for row in 0..ROWS {
                let weight = weights[first + row][j];
                for lane in 0..LANES {
                    sums[row][lane] = fused::<FUSED>(weight, x[j][lane], sums[row][lane]);
                }
            }
        }
        out[first..first + ROWS].copy_from_slice(&sums);
    }
}
