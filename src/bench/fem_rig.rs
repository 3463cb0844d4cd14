//! A soft bar on a floor: what the suites `fem` and `compliance` measure on.
//!
//! Thread: main.

use super::BenchError;
use crate::fem::{Compliance, CorotationalBody, FemModel, FemSpec, Mass, Material, Ordering, Rayleigh, Rows};
use crate::geometry::tet::{BlockSpec, Locator, Split, TetMesh};
use crate::math::{Random, Vec3};
use crate::mechanism::newton::{Workspace, solve_robustly};
use crate::mechanism::solver::Settings;
use crate::mechanism::{Block, BlockId, Law, Problem};
use crate::shared::realtime::thread_busy_ns;
use std::sync::Arc;

/// Length of a step, s.
pub(super) const STEP_S: f64 = 0.01;
/// Soft and nearly incompressible, as silicone.
pub(super) const MATERIAL: Material = Material { young_pa: 1e6, poisson: 0.45, density: 1000.0 };
const DAMPING: Rayleigh = Rayleigh { mass_per_s: 0.1, stiffness_s: 0.1 };
const SIZE: Vec3 = Vec3::new(0.2, 0.05, 0.05);
const SOLVER: Settings = Settings { iterations: 100, tolerance: 1e-6, relaxation: 1.3 };

/// Whatever stands in the way of a measurement.
pub(super) fn failed(error: impl std::error::Error + Send + Sync + 'static) -> BenchError {
    BenchError::Failed(Box::new(error))
}

/// Time of the processor: what a thread that others push aside has worked, not how long it took.
pub(super) struct Stopwatch(u64);

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self(thread_busy_ns())
    }

    /// µs since the start.
    pub(super) fn us(&self) -> f64 {
        thread_busy_ns().saturating_sub(self.0) as f64 * 1e-3
    }
}

/// A bar with bricks of five tetrahedra.
pub(super) fn bar(cells: [u32; 3]) -> Result<TetMesh, BenchError> {
    BlockSpec { size: SIZE, cells, split: Split::Five }.mesh().map_err(failed)
}

/// The bar's model, clamped at one end; with `last` the nodes of its underside are eliminated last.
pub(super) fn model(mesh: &TetMesh, last: bool) -> Result<Arc<FemModel>, BenchError> {
    let nodes_of = |name: &str| mesh.group(name).map(|group| mesh.group_nodes(group)).unwrap_or_default();
    let (fixed, under) = (nodes_of("x0"), nodes_of("z0"));
    let ordering = if last { Ordering::Last(&under) } else { Ordering::LeastFill };
    let spec =
        FemSpec { mesh, materials: &[MATERIAL], damping: DAMPING, fixed: &fixed, mass: Mass::Consistent, ordering };
    FemModel::new(&spec).map(Arc::new).map_err(failed)
}

/// Contacts spread over the underside, three rows each: up, along, across.
pub(super) fn contacts(mesh: &TetMesh, model: &FemModel, count: usize, seed: u64) -> Rows {
    let locator = Locator::new(mesh);
    let mut random = Random::new(seed);
    let mut rows = Rows::default();
    for _ in 0..count {
        let at = Vec3::new(SIZE.x * (0.05 + 0.95 * random.uniform()), SIZE.y * random.uniform(), 0.0);
        let attachment = model.attach(&locator.locate(&at));
        for direction in [Vec3::z(), Vec3::x(), Vec3::y()] {
            rows.push(model, &attachment, &direction);
        }
    }
    rows
}

/// Times of one step, ms of the processor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepTimes {
    /// Rotations, forces, matrix, factor, free motion.
    pub(super) free: f64,
    /// `W`.
    pub(super) compliance: f64,
    /// The laws of contact.
    pub(super) laws: f64,
    /// The correction and the end of the step.
    pub(super) correction: f64,
    /// The solver met its tolerance.
    pub(super) converged: bool,
}

impl StepTimes {
    pub(super) fn total(&self) -> f64 {
        self.free + self.compliance + self.laws + self.correction
    }
}

/// The bar pressed on a floor by its weight, with friction.
pub(super) struct PressedBar {
    /// The bar.
    pub(super) body: CorotationalBody,
    rows: Rows,
    blocks: Vec<Block>,
    work: Compliance,
    workspace: Workspace,
    compliance: Vec<f64>,
    free: Vec<f64>,
    lambda: Vec<f64>,
    force: Vec<f64>,
    none: Vec<f64>,
}

impl PressedBar {
    pub(super) fn new(model: Arc<FemModel>, rows: Rows, gravity: f64) -> Self {
        let count = rows.len();
        let law = Law::Contact { friction: 0.6, compliance: 0.0 };
        let none = vec![0.0; model.size()];
        Self {
            body: CorotationalBody::new(model, Vec3::new(0.0, 0.0, -gravity)),
            blocks: (0..count / 3).map(|k| Block { id: BlockId::Custom(k as u64), first: 3 * k, law }).collect(),
            work: Compliance::default(),
            workspace: Workspace::default(),
            compliance: vec![0.0; count * count],
            free: vec![0.0; count],
            lambda: vec![0.0; count],
            force: none.clone(),
            none,
            rows,
        }
    }

    /// One step with contact.
    pub(super) fn step(&mut self) -> Result<StepTimes, BenchError> {
        let mut times = StepTimes { converged: true, ..StepTimes::default() };
        let mut last = Stopwatch::start();
        let mut lap = || std::mem::replace(&mut last, Stopwatch::start()).us() * 1e-3;
        self.body.prepare(&self.none, STEP_S).map_err(failed)?;
        times.free = lap();
        if !self.rows.is_empty() {
            self.body.compliance(&self.rows, &mut self.work, &mut self.compliance).map_err(failed)?;
            times.compliance = lap();
            for row in 0..self.rows.len() {
                let moved = STEP_S * self.rows.times(row, self.body.midpoint());
                // The floor is where the underside lies at rest: its displacement is its height.
                let height = if row % 3 == 0 { self.rows.times(row, self.body.position()) } else { 0.0 };
                self.free[row] = height + moved;
            }
            let (stride, free) = (self.free.len(), &self.free);
            let problem = Problem { blocks: &self.blocks, compliance: &self.compliance, stride, free };
            let outcome = solve_robustly(&problem, &mut self.lambda, &SOLVER, &mut self.workspace, || false);
            times.converged = outcome.converged;
            times.laws = lap();
            self.force.fill(0.0);
            self.rows.add_transposed(&self.lambda, &mut self.force);
            self.body.apply_contact(&self.force).map_err(failed)?;
        }
        self.body.finish().map_err(failed)?;
        times.correction = lap();
        Ok(times)
    }
}
