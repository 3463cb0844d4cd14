//! A bound of the distance, cheap enough to ask for every node: one plane for each cell of the two coordinates.
//!
//! Thread: asked from simulation or collision (no heap); made cold.
//!
//! ```text
//!  distance ≥ c + a u + b v        u, v ∈ [0, 1] in the cell
//! ```
//!
//! A distance is nearly linear between its creases, so the plane lies within a micrometre of it there, and what is
//! looked up is 16 bytes. Nodes whose bound is beyond the margin need no model at all; with a network behind it that is
//! nearly all of the work. Balls around many nodes have a bound too, by the cuts and the bounds of the table.
//!
//! Below a grid the plane is certain ([`BlockGrid::plane_below`]). Below a network it is sampled: values and slopes at
//! 25 points of a cell, and between neighbours the reserve that a crease of the change of slope seen there would need.

use super::coordinates::Turn;
use super::cut::{Cut, FlatCut};
use super::lanes::{LANES, fused};
use super::{Baked, BlockGrid, FEATURES, Model, Network, Symmetry};

/// Wanted size of a cell below a network, m, and most cells.
const CELL: f64 = 1e-4;
const CELLS_MAX: f64 = 16_384.0;
/// Parts of a cell's side between samples of a network.
const PARTS: usize = 4;
/// What rounding may add to a bound, m.
const ROUNDING: f64 = 2e-8;

/// One number for each of some points.
type Row = [f32; LANES];

/// A bound of a field's distance.
#[derive(Clone, Debug)]
pub struct Floor {
    turn: Turn,
    cuts: Vec<FlatCut>,
    /// For each cut, most by which it can change over a way of one.
    steepness: Vec<f32>,
    low: [f32; 2],
    /// Size of a cell.
    step: [f32; 2],
    cells: [usize; 2],
    /// Whether nothing of the part is nearer to the axis than the table, and nothing anywhere else around it.
    is_free: [bool; 2],
    /// Greatest bound: beyond it answers of a field are bounds themselves.
    band: f32,
    /// For each cell the value at its low corner and the change over each side.
    planes: Vec<[f32; 4]>,
}

impl Floor {
    /// The bound of a baked field; none without a symmetry.
    pub(super) fn new(field: &Baked) -> Option<Self> {
        let turn = Turn::new(&field.symmetry)?;
        let planes = match &field.model {
            Model::Profile(grid) => Planes::below_grid(grid),
            Model::Network(network) => Planes::below_network(network),
            Model::Space(_) => return None,
        };
        let single = |x: f64| x as f32;
        let is_free = planes.is_free(turn.is_helical());
        Some(Self {
            turn,
            cuts: field.cuts.iter().map(Cut::flat).collect(),
            steepness: field.cuts.iter().map(|cut| cut.steepness() as f32).collect(),
            is_free,
            low: planes.low.map(single),
            step: planes.step.map(single),
            cells: planes.cells,
            band: field.band as f32,
            planes: planes.all.iter().map(|p| [(p[0] - ROUNDING) as f32, p[1] as f32, p[2] as f32, 0.0]).collect(),
        })
    }

    /// Bounds for sixteen points: none is greater than the distance that the field gives, but for rounding (some
    /// nanometres).
    #[inline(always)]
    pub(in crate::collision) fn below<const FUSED: bool>(&self, p: &[Row; 3]) -> Row {
        let places = self.turn.places::<FUSED>(p);
        let mut value = self.model::<FUSED>(&places);
        for cut in &self.cuts {
            for lane in 0..LANES {
                let at = cut.value::<FUSED>([p[0][lane], p[1][lane], p[2][lane]], places[0][lane]);
                value[lane] = if at > value[lane] { at } else { value[lane] };
            }
        }
        value
    }

    /// Bounds for all that is within a radius of sixteen points: by the cuts, and by how far the balls are from the
    /// table.
    #[inline(always)]
    pub(in crate::collision) fn below_balls<const FUSED: bool>(&self, p: &[Row; 3], radius: &Row) -> Row {
        let [r, z] = Turn::ROUND.places::<FUSED>(p);
        let mut value = [f32::NEG_INFINITY; LANES];
        for (cut, steepness) in self.cuts.iter().zip(&self.steepness) {
            for lane in 0..LANES {
                let at = cut.value::<FUSED>([p[0][lane], p[1][lane], p[2][lane]], r[lane]);
                let least = at - steepness * radius[lane];
                value[lane] = if least > value[lane] { least } else { value[lane] };
            }
        }
        let high = [0, 1].map(|i| self.low[i] + self.cells[i] as f32 * self.step[i]);
        for lane in 0..LANES {
            let inner = self.low[0] - r[lane];
            let outer = r[lane] - high[0];
            let (below, above) = (self.low[1] - z[lane], z[lane] - high[1]);
            let along = if self.turn.is_helical() { 0.0 } else { below.max(above).max(0.0) };
            let is_inner = inner > 0.0 && self.is_free[0];
            let is_outer = !(inner > 0.0) && self.is_free[1];
            let across = inner.max(outer).max(0.0);
            let beyond = (across * across + along * along).sqrt() - radius[lane];
            let free = (is_inner || is_outer) && beyond > 0.0;
            value[lane] = if free && value[lane] < self.band { self.band } else { value[lane] };
        }
        value
    }

    /// The bound of the model, without the cuts. Outside of the table the nearest cell serves: the surface is not
    /// there, and so what the model says there is on the same side, and beyond the band.
    #[inline(always)]
    fn model<const FUSED: bool>(&self, places: &[Row; 2]) -> Row {
        let (mut share, mut cell) = ([[0.0; LANES]; 2], [[0_i32; LANES]; 2]);
        for i in 0..2 {
            let (per_step, count) = (1.0 / self.step[i], self.cells[i] as i32);
            for lane in 0..LANES {
                let along = (places[i][lane] - self.low[i]) * per_step;
                // A NaN falls to the lower bound.
                let kept = if along > 0.0 { along } else { 0.0 };
                let kept = if kept < count as f32 { kept } else { count as f32 };
                let whole = (kept as i32).min(count - 1);
                cell[i][lane] = whole;
                share[i][lane] = kept - whole as f32;
            }
        }
        let mut planes = [[0.0; LANES]; 3];
        for lane in 0..LANES {
            let k = cell[0][lane] as usize + cell[1][lane] as usize * self.cells[0];
            let plane = self.planes.get(k).copied().unwrap_or([f32::NEG_INFINITY; 4]);
            for i in 0..3 {
                planes[i][lane] = plane[i];
            }
        }
        let mut value = [0.0; LANES];
        for lane in 0..LANES {
            let line = fused::<FUSED>(planes[1][lane], share[0][lane], planes[0][lane]);
            let plane = fused::<FUSED>(planes[2][lane], share[1][lane], line);
            value[lane] = if plane < self.band { plane } else { self.band };
        }
        value
    }
}

/// A table in the making.
struct Planes {
    low: [f64; 2],
    step: [f64; 2],
    cells: [usize; 2],
    all: Vec<[f64; 3]>,
}

impl Planes {
    /// See [`Floor::is_free`]: by the sides of the cells at the bounds.
    fn is_free(&self, is_helical: bool) -> [bool; 2] {
        let mut free = [true; 2];
        for (k, plane) in self.all.iter().enumerate() {
            let (i, j) = (k % self.cells[0], k / self.cells[0]);
            let least = plane[0] + plane[1].min(0.0) + plane[2].min(0.0);
            let rim = !is_helical && (j == 0 || j + 1 == self.cells[1]);
            free[0] &= i > 0 || least > 0.0;
            free[1] &= !(rim || i + 1 == self.cells[0]) || least > 0.0;
        }
        free
    }

    fn below_grid(grid: &BlockGrid<2>) -> Self {
        let cells = [grid.cells(0), grid.cells(1)];
        let all = (0..cells[0] * cells[1]).map(|k| grid.plane_below([k % cells[0], k / cells[0]])).collect();
        Self { low: grid.low, step: grid.step, cells, all }
    }

    fn below_network(network: &Network) -> Self {
        let input = network.input();
        let (low, size) = ([input.low[0], input.low[1]], [0, 1].map(|i| input.high[i] - input.low[i]));
        let wanted = CELL.max((size[0] * size[1] / CELLS_MAX).sqrt());
        let cells = size.map(|s| (s / wanted).ceil().clamp(1.0, CELLS_MAX) as usize);
        let step = [0, 1].map(|i| size[i] / cells[i] as f64);
        let samples = Samples::new(network, low, step, cells);
        let plane = |k: usize| {
            let cell = [k % cells[0], k / cells[0]];
            let deep = |at_bound: bool, side: f64| at_bound && side < 0.0;
            let round = input.symmetry == Symmetry::Round && (cell[1] == 0 || cell[1] + 1 == cells[1]);
            // Stands for all that is farther out, of which the network knows nothing.
            if deep(cell[0] == 0, input.sides[0]) || deep(round || cell[0] + 1 == cells[0], input.sides[1]) {
                return [-input.clearance, 0.0, 0.0];
            }
            samples.plane(cell)
        };
        let all = (0..cells[0] * cells[1]).map(plane).collect();
        Self { low, step, cells, all }
    }
}

/// Values of a network, m, and changes over the way to the next sample, at the corners of all parts of cells.
struct Samples {
    width: usize,
    all: Vec<[f32; 3]>,
}

impl Samples {
    fn new(network: &Network, low: [f64; 2], step: [f64; 2], cells: [usize; 2]) -> Self {
        let (width, height) = (cells[0] * PARTS + 1, cells[1] * PARTS + 1);
        let way = step.map(|h| h / PARTS as f64);
        let input = network.input();
        let mut all = Vec::with_capacity(width * height);
        let place = |k: usize| [low[0] + (k % width) as f64 * way[0], low[1] + (k / width) as f64 * way[1], 0.0];
        for first in (0..width * height).step_by(LANES) {
            let mut features = [[0.0; LANES]; FEATURES];
            for lane in 0..LANES {
                let of = input.features(&place((first + lane).min(width * height - 1)));
                for f in 0..FEATURES {
                    features[f][lane] = of[f] as f32;
                }
            }
            let found = network.values(&features, f32::INFINITY);
            for lane in 0..LANES.min(width * height - first) {
                let tangents = input.tangents(&place(first + lane));
                let change = |i: usize| {
                    let slope: f64 = (0..FEATURES).map(|f| tangents[i][f] * f64::from(found.by_feature[f][lane])).sum();
                    (slope * way[i]) as f32
                };
                all.push([(f64::from(found.value[lane]) * input.unit) as f32, change(0), change(1)]);
            }
        }
        Self { width, all }
    }

    /// Sample `k` of `l` of a cell.
    fn at(&self, cell: [usize; 2], k: usize, l: usize) -> [f64; 3] {
        self.all[cell[0] * PARTS + k + (cell[1] * PARTS + l) * self.width].map(f64::from)
    }

    /// The plane below the samples of a cell. Two neighbours whose slopes differ by `Δ` over the way between them can
    /// have a crease there, which lies at most `Δ/4` below the line through them.
    fn plane(&self, cell: [usize; 2]) -> [f64; 3] {
        let n = PARTS;
        let f = [(0, 0), (n, 0), (0, n), (n, n)].map(|(k, l)| self.at(cell, k, l)[0]);
        let (a, b) = (0.5 * (f[1] - f[0] + f[3] - f[2]), 0.5 * (f[2] - f[0] + f[3] - f[1]));
        let (mut least, mut bends) = (f64::INFINITY, [0.0_f64; 2]);
        for l in 0..=n {
            for k in 0..=n {
                let here = self.at(cell, k, l);
                least = least.min(here[0] - (a * k as f64 + b * l as f64) / n as f64);
                if k < n {
                    bends[0] = bends[0].max((self.at(cell, k + 1, l)[1] - here[1]).abs());
                }
                if l < n {
                    bends[1] = bends[1].max((self.at(cell, k, l + 1)[2] - here[2]).abs());
                }
            }
        }
        [least - 0.25 * (bends[0] + bends[1]), a, b]
    }
}
