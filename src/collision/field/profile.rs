//! Many points at once in a grid over two coordinates.
//!
//! Thread: simulation or collision (no heap).
//!
//! What every point needs alike (coordinates, cubics, cuts) is done for sixteen points together. Looking up the nodes
//! of a cell is not: it takes each point in turn. So do points that no cell holds, which are asked one by one.

use super::coordinates::Turn;
use super::lanes::{Kernel, LANES, fused};
use super::{Answers, Baked, BlockGrid, Nodes};

/// Below this distance from the axis, m, there is no direction away from it.
const ON_AXIS: f32 = 1e-9;

/// One number for each point.
type Row = [f32; LANES];

/// A batch to be asked.
pub(super) struct ProfileQuery<'a, 'b> {
    pub(super) field: &'a Baked,
    pub(super) grid: &'a BlockGrid<2>,
    pub(super) turn: Turn,
    pub(super) nodes: &'a Nodes<'a>,
    pub(super) within: f32,
    pub(super) out: &'a mut Answers<'b>,
}

/// Distance and slopes by both coordinates.
struct Found {
    value: Row,
    slopes: [Row; 2],
}

/// Cubics of one coordinate at both ends of the cell: H, H', K, K'.
struct Basis([[Row; 4]; 2]);

#[inline(always)]
fn basis(t: &Row, h: f32) -> Basis {
    let mut b = [[[0.0; LANES]; 4]; 2];
    for lane in 0..LANES {
        let (x, y) = (t[lane], 1.0 - t[lane]);
        let bend = 6.0 * x * y / h;
        b[0][0][lane] = y * y * (1.0 + 2.0 * x);
        b[0][1][lane] = -bend;
        b[0][2][lane] = h * x * y * y;
        b[0][3][lane] = y * (1.0 - 3.0 * x);
        b[1][0][lane] = x * x * (3.0 - 2.0 * x);
        b[1][1][lane] = bend;
        b[1][2][lane] = -h * x * x * y;
        b[1][3][lane] = x * (3.0 * x - 2.0);
    }
    Basis(b)
}

impl ProfileQuery<'_, '_> {
    /// Distance and slopes, without the cuts.
    #[inline(always)]
    fn found<const FUSED: bool>(&self, places: &[Row; 2]) -> Found {
        let grid = self.grid;
        let (mut t, mut cells, mut inside) = ([[0.0; LANES]; 2], [[0_i32; LANES]; 2], [true; LANES]);
        for i in 0..2 {
            let (low, per_step) = (grid.low[i] as f32, (1.0 / grid.step[i]) as f32);
            let count = grid.cells(i) as i32;
            // A period has no outside.
            let strict = i == 0 || !self.turn.is_helical();
            for lane in 0..LANES {
                let along = (places[i][lane] - low) * per_step;
                // A NaN falls to the lower bound.
                let kept = if along > 0.0 { along } else { 0.0 };
                let kept = if kept < count as f32 { kept } else { count as f32 };
                let cell = (kept as i32).min(count - 1);
                cells[i][lane] = cell;
                t[i][lane] = kept - cell as f32;
                inside[lane] &= !strict || kept == along;
            }
        }
        let mut stored = [[[0.0; LANES]; 3]; 4];
        for lane in 0..LANES {
            let at = [cells[0][lane] as usize, cells[1][lane] as usize];
            match grid.corners(at) {
                Some(corners) if inside[lane] => {
                    for corner in 0..4 {
                        for k in 0..3 {
                            stored[corner][k][lane] = corners[corner][k];
                        }
                    }
                }
                _ => inside[lane] = false,
            }
        }
        let (a, b) = (basis(&t[0], grid.step[0] as f32), basis(&t[1], grid.step[1] as f32));
        let mut found = combine::<FUSED>(&stored, &a, &b);
        for lane in 0..LANES {
            if !inside[lane] {
                let (value, slopes) = grid.value(&[f64::from(places[0][lane]), f64::from(places[1][lane])]);
                found.value[lane] = value as f32;
                (found.slopes[0][lane], found.slopes[1][lane]) = (slopes[0] as f32, slopes[1] as f32);
            }
        }
        found
    }

    /// The farthest cut: its distance, and its factors of the distance from the axis and of the point.
    #[inline(always)]
    fn cut<const FUSED: bool>(&self, p: &[Row; 3], r: &Row) -> (Row, [Row; 4]) {
        let (mut farthest, mut factors) = ([f32::NEG_INFINITY; LANES], [[0.0; LANES]; 4]);
        for cut in &self.field.cuts {
            let cut = cut.flat();
            let all = [cut.radial, cut.normal[0], cut.normal[1], cut.normal[2]];
            for lane in 0..LANES {
                let value = cut.value::<FUSED>([p[0][lane], p[1][lane], p[2][lane]], r[lane]);
                let more = value > farthest[lane];
                farthest[lane] = if more { value } else { farthest[lane] };
                for i in 0..4 {
                    factors[i][lane] = if more { all[i] } else { factors[i][lane] };
                }
            }
        }
        (farthest, factors)
    }

    #[inline(always)]
    fn chunk<const FUSED: bool>(&mut self, first: usize, count: usize) {
        let p = self.nodes.lanes(first, count);
        let places = self.turn.places::<FUSED>(&p);
        let r = &places[0];
        let found = self.found::<FUSED>(&places);
        let (farthest, factors) = self.cut::<FUSED>(&p, r);
        let band = self.field.band as f32;
        let (mut value, mut g) = (found.value, [[0.0; LANES]; 3]);
        let mut is_cut = [false; LANES];
        for lane in 0..LANES {
            is_cut[lane] = farthest[lane] >= value[lane] || farthest[lane] > band;
            value[lane] = if is_cut[lane] { farthest[lane] } else { value[lane] };
        }
        if value.iter().any(|v| *v <= self.within) {
            for lane in 0..LANES {
                let off_axis = r[lane] > ON_AXIS;
                let per_r = if off_axis { 1.0 / r[lane] } else { 0.0 };
                let (cos, sin) = (if off_axis { p[0][lane] * per_r } else { 1.0 }, p[1][lane] * per_r);
                let pick = |cut: f32, model: f32| if is_cut[lane] { cut } else { model };
                let out = pick(factors[0][lane], found.slopes[0][lane]);
                let around = pick(0.0, -self.turn.lead * found.slopes[1][lane] * per_r);
                g[0][lane] = out * cos - around * sin + pick(factors[1][lane], 0.0);
                g[1][lane] = out * sin + around * cos + pick(factors[2][lane], 0.0);
                g[2][lane] = pick(factors[3][lane], found.slopes[1][lane]);
            }
        }
        let to = first..first + count;
        self.out.value[to.clone()].copy_from_slice(&value[..count]);
        self.out.gx[to.clone()].copy_from_slice(&g[0][..count]);
        self.out.gy[to.clone()].copy_from_slice(&g[1][..count]);
        self.out.gz[to].copy_from_slice(&g[2][..count]);
    }
}

/// Distance and slopes from what the four corners of a cell keep.
#[inline(always)]
fn combine<const FUSED: bool>(stored: &[[Row; 3]; 4], a: &Basis, b: &Basis) -> Found {
    let mut found = Found { value: [0.0; LANES], slopes: [[0.0; LANES]; 2] };
    for corner in 0..4 {
        let (a, b, [f, ga, gb]) = (&a.0[corner & 1], &b.0[corner >> 1], &stored[corner]);
        for lane in 0..LANES {
            let [h, dh, k, dk] = [a[0][lane], a[1][lane], a[2][lane], a[3][lane]];
            let [i, di, l, dl] = [b[0][lane], b[1][lane], b[2][lane], b[3][lane]];
            let along_a = fused::<FUSED>(f[lane], h, ga[lane] * k);
            let slope_a = fused::<FUSED>(f[lane], dh, ga[lane] * dk);
            let turned = gb[lane] * h;
            found.value[lane] = fused::<FUSED>(along_a, i, fused::<FUSED>(turned, l, found.value[lane]));
            let mixed = fused::<FUSED>(gb[lane] * dh, l, found.slopes[0][lane]);
            found.slopes[0][lane] = fused::<FUSED>(slope_a, i, mixed);
            let mixed = fused::<FUSED>(turned, dl, found.slopes[1][lane]);
            found.slopes[1][lane] = fused::<FUSED>(along_a, di, mixed);
        }
    }
    found
}

impl Kernel for ProfileQuery<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        let total = self.nodes.len().min(self.out.room());
        for first in (0..total).step_by(LANES) {
            self.chunk::<FUSED>(first, LANES.min(total - first));
        }
    }
}
