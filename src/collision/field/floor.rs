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
//! nearly all of the work.
//!
//! Below a grid the plane is certain ([`BlockGrid::plane_below`]). Below a network it is sampled: values and slopes at
//! 25 points of a cell, and between neighbours the reserve that a crease of the change of slope seen there would need.

use super::coordinates::Turn;
use super::cut::Cut;
use super::lanes::{Kernel, LANES, dispatch, fused};
use super::{Baked, BlockGrid, FEATURES, Model, Network, Nodes, Symmetry};

/// Wanted size of a cell below a network, m, and most cells.
const CELL: f64 = 1e-4;
const CELLS_MAX: f64 = 65_536.0;
/// Parts of a cell's side between samples of a network.
const PARTS: usize = 4;
/// What rounding may add to a bound, m.
const ROUNDING: f64 = 2e-8;

/// A bound of a field's distance.
#[derive(Clone, Debug)]
pub struct Floor {
    turn: Turn,
    cuts: Vec<Cut>,
    low: [f32; 2],
    /// Size of a cell.
    step: [f32; 2],
    cells: [usize; 2],
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
        Some(Self {
            turn,
            cuts: field.cuts.clone(),
            low: planes.low.map(single),
            step: planes.step.map(single),
            cells: planes.cells,
            band: field.band as f32,
            planes: planes.all.iter().map(|p| [(p[0] - ROUNDING) as f32, p[1] as f32, p[2] as f32, 0.0]).collect(),
        })
    }

    /// Bounds for many points: none is greater than the distance that the field gives, but for rounding (some
    /// nanometres). Points beyond the room for answers are not asked.
    pub fn query(&self, nodes: &Nodes<'_>, out: &mut [f32]) {
        dispatch(Below { floor: self, nodes, out });
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

struct Below<'a> {
    floor: &'a Floor,
    nodes: &'a Nodes<'a>,
    out: &'a mut [f32],
}

impl Below<'_> {
    /// The bound of the model, without the cuts. Outside of the table the nearest cell serves: the surface is not there,
    /// and so what the model says there is on the same side, and beyond the band.
    #[inline(always)]
    fn model<const FUSED: bool>(&self, places: &[[f32; LANES]; 2]) -> [f32; LANES] {
        let floor = self.floor;
        let (mut share, mut cell) = ([[0.0; LANES]; 2], [[0_i32; LANES]; 2]);
        for i in 0..2 {
            let (per_step, count) = (1.0 / floor.step[i], floor.cells[i] as i32);
            for lane in 0..LANES {
                let along = (places[i][lane] - floor.low[i]) * per_step;
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
            let k = cell[0][lane] as usize + cell[1][lane] as usize * floor.cells[0];
            let plane = floor.planes.get(k).copied().unwrap_or([f32::NEG_INFINITY; 4]);
            for i in 0..3 {
                planes[i][lane] = plane[i];
            }
        }
        let mut value = [0.0; LANES];
        for lane in 0..LANES {
            let line = fused::<FUSED>(planes[1][lane], share[0][lane], planes[0][lane]);
            let plane = fused::<FUSED>(planes[2][lane], share[1][lane], line);
            value[lane] = if plane < floor.band { plane } else { floor.band };
        }
        value
    }
}

impl Kernel for Below<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let total = self.nodes.len().min(self.out.len());
        for first in (0..total).step_by(LANES) {
            let count = LANES.min(total - first);
            let p = self.nodes.lanes(first, count);
            let places = self.floor.turn.places::<FUSED>(&p);
            let mut value = self.model::<FUSED>(&places);
            for cut in &self.floor.cuts {
                let cut = cut.flat();
                for lane in 0..LANES {
                    let at = cut.value::<FUSED>([p[0][lane], p[1][lane], p[2][lane]], places[0][lane]);
                    value[lane] = if at > value[lane] { at } else { value[lane] };
                }
            }
            self.out[first..first + count].copy_from_slice(&value[..count]);
        }
    }
}
