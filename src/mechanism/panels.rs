//! Elimination of large dense matrices by panels of columns.
//!
//! Thread: simulation (no heap once the pivots have grown).
//!
//! Row by row, elimination reads the rest of the matrix once for each pivot, from the third-level cache when there are hundreds of rows.
//! Here the pivots of a panel are found first, and the rest is read once for four of them. Loops are compiled for what the processor can
//! do: 450 rows take a quarter of the time.

/// Rows from which a matrix no longer fits the first-level cache.
pub(super) const LEAST_ROWS: usize = 97;
/// Columns of a panel: the panel's rows of the rest stay in the second-level cache.
const PANEL: usize = 32;

/// As [`super::dense::factor`], for `n × n` numbers.
pub(super) fn factor(a: &mut [f64], n: usize, pivots: &mut Vec<usize>) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(Wide(a, n, pivots));
    }
    eliminate::<false>(a, n, pivots)
}

#[cfg(target_arch = "x86_64")]
struct Wide<'a>(&'a mut [f64], usize, &'a mut Vec<usize>);

#[cfg(target_arch = "x86_64")]
impl pulp::NullaryFnOnce for Wide<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        eliminate::<true>(self.0, self.1, self.2)
    }
}

/// `c − a b`; without the instruction `mul_add` is a slow call.
#[inline(always)]
fn less<const FUSED: bool>(c: f64, a: f64, b: f64) -> f64 {
    if FUSED { (-a).mul_add(b, c) } else { c - a * b }
}

#[inline(always)]
fn eliminate<const FUSED: bool>(a: &mut [f64], n: usize, pivots: &mut Vec<usize>) -> bool {
    for start in (0..n).step_by(PANEL) {
        let end = (start + PANEL).min(n);
        for k in start..end {
            let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap_or(k);
            pivots.push(pivot);
            let size = a[pivot * n + k];
            if !(size.abs() > 1e-300 && size.is_finite()) {
                return false;
            }
            if pivot != k {
                let (upper, lower) = a.split_at_mut(pivot * n);
                upper[k * n..][..n].swap_with_slice(&mut lower[..n]);
            }
            let (top, bottom) = a.split_at_mut((k + 1) * n);
            let pivot_row = &top[k * n + k + 1..k * n + end];
            for row in bottom.chunks_exact_mut(n) {
                let factor = row[k] / size;
                row[k] = factor;
                if factor != 0.0 {
                    for (x, y) in row[k + 1..end].iter_mut().zip(pivot_row) {
                        *x = less::<FUSED>(*x, factor, *y);
                    }
                }
            }
        }
        // The rest of the panel's own rows, then of all rows below.
        for k in start + 1..end {
            let (top, bottom) = a.split_at_mut(k * n);
            subtract::<FUSED>(&mut bottom[..n], top, (start, k), end);
        }
        let (top, bottom) = a.split_at_mut(end * n);
        for row in bottom.chunks_exact_mut(n) {
            subtract::<FUSED>(row, top, (start, end), end);
        }
    }
    true
}

/// `row[j] −= Σ row[k] · rows[k][j]` over the pivots `k`, four at a time, for `j ≥ begin`.
#[inline(always)]
fn subtract<const FUSED: bool>(row: &mut [f64], rows: &[f64], (first, end): (usize, usize), begin: usize) {
    let n = row.len();
    let (factors, rest) = row.split_at_mut(begin);
    let line = |k: usize| &rows[k * n + begin..(k + 1) * n];
    let mut k = first;
    while k + 4 <= end {
        let f = [factors[k], factors[k + 1], factors[k + 2], factors[k + 3]];
        if f != [0.0; 4] {
            for ((((x, a), b), c), d) in rest.iter_mut().zip(line(k)).zip(line(k + 1)).zip(line(k + 2)).zip(line(k + 3))
            {
                let half = less::<FUSED>(less::<FUSED>(*x, f[0], *a), f[1], *b);
                *x = less::<FUSED>(less::<FUSED>(half, f[2], *c), f[3], *d);
            }
        }
        k += 4;
    }
    for k in k..end {
        let f = factors[k];
        for (x, y) in rest.iter_mut().zip(line(k)) {
            *x = less::<FUSED>(*x, f, *y);
        }
    }
}
