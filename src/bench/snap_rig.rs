//! A snap connector pushed together by a given motion, for the suite `snap` and for tests.
//!
//! Thread: main (cold).

use super::BenchError;
use super::fem_rig::{Stopwatch, failed};
use crate::fem::{FemModel, FemSpec, Keep, Mass, Material, Modes, Ordering, Rayleigh, ReduceSpec, ReducedModel};
use crate::geometry::snap::{Detail, HELD, SnapKind, SnapSpec, TOUCHING};
use crate::geometry::tet::TetMesh;
use crate::geometry::{Cuboid, Shape};
use crate::math::{Pose, Vec3};
use crate::mechanism::pmi::RigidInertia;
use crate::shared::ToolSample;
use crate::sim::{
    BodyModel, Elastic, ElasticModel, Material as Surface, Motion, SimData, SimModel, Stepping, ToolBody, step,
};
use std::sync::Arc;

/// Friction of all three connectors.
pub const FRICTION: f64 = 0.163;
/// How far above the first touch the plug starts, m.
const ABOVE_M: f64 = 0.2e-3;
/// How near a node must be to be a contact, m.
const REACH_M: f64 = 0.1e-3;
/// Most contacts: those of a ring whose cells are halved are more than a haptic thread is given.
const CONTACTS_MAX: usize = 256;
/// How far above its rest on the socket the plug stops, m.
const SHORT_M: f64 = 0.1e-3;
/// How long it stays there, s: some swings of the nose.
const HOLD_S: f64 = 0.02;

/// Material of a connector (seed 000 §V; the density of ABS).
#[must_use]
pub fn material(kind: SnapKind) -> Material {
    let (young_pa, poisson) = match kind {
        SnapKind::TwoProng => (164.76e6, 0.35),
        SnapKind::Latch => (50e6, 0.35),
        SnapKind::Cap => (100e6, 0.1),
    };
    Material { young_pa, poisson, density: 1050.0 }
}

/// A socket and the plug that fits it.
pub struct SnapRig {
    /// Dimensions.
    pub spec: SnapSpec,
    /// The socket.
    pub fem: Arc<FemModel>,
    /// Its nodes that can touch.
    pub touching: Vec<u32>,
    plug: Shape,
    mesh: TetMesh,
}

/// A socket under a plug that goes where it is put.
struct Pushed {
    model: SimModel,
    data: SimData,
}

/// What an insertion was like.
#[derive(Clone, Debug, Default)]
pub struct Insertion {
    /// Height of the plug's tip above the base after each step, m.
    pub tip_m: Vec<f64>,
    /// Force that pushes the plug back out, N; negative where it is pulled in.
    pub force_n: Vec<f64>,
    /// Displacements of the touching nodes after each step, m.
    pub shifts: Vec<Vec<Vec3>>,
    /// Time of each step, µs of the processor.
    pub step_us: Vec<f64>,
    /// Most that a node was inside the plug, m.
    pub penetration_m: f64,
}

impl Insertion {
    /// The largest force, and where.
    #[must_use]
    pub fn peak(&self) -> (f64, f64) {
        self.extreme(1.0)
    }

    /// The force that pulls in most, negative, and where.
    #[must_use]
    pub fn pull(&self) -> (f64, f64) {
        let (force, tip) = self.extreme(-1.0);
        (-force, tip)
    }

    fn extreme(&self, sign: f64) -> (f64, f64) {
        let pairs = self.force_n.iter().zip(&self.tip_m);
        pairs.fold((0.0, 0.0), |best, (force, tip)| if sign * force > best.0 { (sign * force, *tip) } else { best })
    }

    /// Largest difference of displacements to another insertion of the same steps, relative to the largest displacement.
    #[must_use]
    pub fn difference(&self, other: &Self) -> f64 {
        let all = |list: &[Vec<Vec3>]| list.iter().flatten().map(Vec3::norm).fold(0.0, f64::max);
        let pairs = self.shifts.iter().flatten().zip(other.shifts.iter().flatten());
        pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max) / all(&other.shifts)
    }
}

impl SnapRig {
    /// A connector as shipped, with slight damping.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(kind: SnapKind, detail: Detail) -> Result<Self, BenchError> {
        let spec = SnapSpec::shipped(kind);
        let mesh = spec.socket(detail).map_err(failed)?;
        let group = |name: &str| mesh.group(name).map_or_else(Vec::new, |group| mesh.group_nodes(group));
        let fem = FemModel::new(&FemSpec {
            mesh: &mesh,
            materials: &[material(kind)],
            damping: Rayleigh { mass_per_s: 0.0, stiffness_s: 2e-6 },
            fixed: &group(HELD),
            mass: Mass::Consistent,
            ordering: Ordering::LeastFill,
        })
        .map_err(failed)?;
        let plug = Shape::Part(Arc::new(spec.plug().map_err(failed)?));
        Ok(Self { spec, fem: Arc::new(fem), touching: group(TOUCHING), plug, mesh })
    }

    /// Few motions: `shared` of the whole socket and `local` more of its prongs.
    ///
    /// # Errors
    /// When it cannot be reduced.
    pub fn reduced(&self, shared: usize, local: usize) -> Result<Arc<ReducedModel>, BenchError> {
        let spec = ReduceSpec {
            touching: &self.touching,
            push: Vec3::new(1.0, FRICTION, 1.0),
            rings: 3,
            shared: Keep::Count(shared),
            local: Keep::Count(local),
            least_ratio: 1.0,
            spring: 1e3,
        };
        Ok(Arc::new(ReducedModel::new(&self.fem, &spec).map_err(failed)?))
    }

    /// Frequency of the slowest vibration, Hz.
    ///
    /// # Errors
    /// When there are too many unknowns.
    pub fn first_hz(&self) -> Result<f64, BenchError> {
        Ok(Modes::new(&self.fem).map_err(failed)?.squares[0].sqrt() / std::f64::consts::TAU)
    }

    /// The socket at rest under the plug, whose tip is at height `tip_m`.
    fn begin(&self, stepping: Stepping, tip_m: f64, step_s: f64) -> Result<Pushed, BenchError> {
        let elastic = ElasticModel::new(self.fem.clone(), &self.mesh, &self.touching, Vec3::zeros(), stepping);
        let mut elastic = elastic.map_err(failed)?;
        elastic.contacts_max = CONTACTS_MAX;
        let inertia = RigidInertia::new(0.05, crate::math::Mat3::identity() * 1e-5);
        let inertia = inertia.ok_or_else(|| BenchError::Failed("the plug has no inertia".into()))?;
        let socket = BodyModel {
            name: "socket".into(),
            shape: Shape::Cuboid(Cuboid { half: Vec3::repeat(1e-3) }),
            field: None,
            pose_body_shape: Pose::identity(),
            motion: Motion::Elastic(Arc::new(elastic)),
            material: 0,
            start: Pose::identity(),
        };
        let plug = ToolBody {
            shape: self.plug.clone(),
            field: None,
            pose_tool_shape: Pose::identity(),
            inertia,
            material: 0,
            rotation_locked: true,
            start: Pose::translation(0.0, 0.0, tip_m),
        };
        let model = SimModel {
            bodies: vec![socket],
            tools: vec![plug],
            materials: vec![Surface { name: "plastic".into(), friction: FRICTION, restitution: 0.0 }],
            ..SimModel::empty(1.0 / step_s, REACH_M)
        };
        let data = SimData::new(&model).map_err(failed)?;
        Ok(Pushed { model, data })
    }

    /// Pushes the plug home at a speed, m/s, in steps of `step_s`.
    ///
    /// # Errors
    /// When the socket cannot be stepped so.
    pub fn insert(&self, stepping: Stepping, speed: f64, step_s: f64) -> Result<Insertion, BenchError> {
        let (from, to) = (self.spec.first_touch() + ABOVE_M, self.spec.home() + SHORT_M);
        let mut pushed = self.begin(stepping, from, step_s)?;
        let count = (((from - to) / speed + HOLD_S) / step_s).ceil() as usize;
        let mut done = Insertion::default();
        for k in 1..=count {
            let tip = (from - speed * step_s * k as f64).max(to);
            let start = Stopwatch::start();
            let penetration_m = pushed.step(tip);
            done.step_us.push(start.us());
            done.tip_m.push(tip);
            let Some(socket) = pushed.socket() else { continue };
            done.force_n.push(-socket.pressed().z);
            done.shifts.push(socket.shift().to_vec());
            done.penetration_m = done.penetration_m.max(penetration_m);
        }
        Ok(done)
    }

    /// Largest force needed to pull the plug out again from home, N, the socket at rest in each step.
    ///
    /// # Errors
    /// When the socket cannot be stepped so.
    pub fn release_force(&self, steps: usize) -> Result<f64, BenchError> {
        let (from, to) = (self.spec.home() + SHORT_M, self.spec.first_touch());
        let mut pushed = self.begin(Stepping::Static, from, 1e-3)?;
        let at = |k: usize| from + (to - from) * k as f64 / steps as f64;
        let mut most: f64 = 0.0;
        for k in 1..=steps {
            pushed.step(at(k));
            most = most.max(pushed.socket().map_or(0.0, |socket| socket.pressed().z));
        }
        Ok(most)
    }

    /// Frequency at which the nose swings after it has left the flank of the plug, Hz, from the times at which it crosses its
    /// place of rest; none when it does not.
    #[must_use]
    pub fn ring_hz(&self, done: &Insertion, step_s: f64) -> Option<f64> {
        let release = done.force_n.iter().rposition(|force| force.abs() > 1e-9)?;
        let node = (0..self.touching.len()).max_by(|a, b| {
            let reach = |k: &usize| done.shifts.iter().map(|shift| shift[*k].x.abs()).fold(0.0, f64::max);
            reach(a).total_cmp(&reach(b))
        })?;
        let way: Vec<f64> = done.shifts[release + 1..].iter().map(|shift| shift[node].x).collect();
        let mut crossings = Vec::new();
        for (k, pair) in way.windows(2).enumerate().filter(|(_, pair)| pair[0] * pair[1] < 0.0) {
            crossings.push(k as f64 + pair[0] / (pair[0] - pair[1]));
        }
        let (first, last) = (crossings.first()?, crossings.last()?);
        (crossings.len() > 4).then(|| 0.5 * (crossings.len() - 1) as f64 / ((last - first) * step_s))
    }
}

impl Pushed {
    /// One step to the end of which the tip of the plug is at height `tip_m`; gives the deepest overlap, m.
    fn step(&mut self, tip_m: f64) -> f64 {
        let tool = ToolSample::at_rest(Pose::translation(0.0, 0.0, tip_m));
        step(&self.model, &mut self.data, &[tool], &mut []).penetration_m
    }

    fn socket(&self) -> Option<&Elastic> {
        self.data.bodies[0].elastic()
    }
}
