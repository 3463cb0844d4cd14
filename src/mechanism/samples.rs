//! Generated problems, for tests and benches: rigid bodies in random contact, solvable by construction.
//!
//! Thread: any (allocates; not for the haptic thread).
//!
//! Each problem is what passive midpoint integration gives for free bodies: `W = (T²/2) H (M − S(J ω) T/2)⁻¹ Hᵀ`,
//! `δ_free = T H v_free`, with no gap below zero, so that standing still satisfies every law and a solution exists.

use super::{Block, BlockId, Law, Problem};
use crate::math::{Mat3, Vec3, Vec6, join, skew, split, tangents};

/// Length of a step, s.
const STEP_S: f64 = 1e-3;
/// Size of a body, m.
const RADIUS_M: f64 = 0.05;

/// Kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All contacts on one body: `W` has rank six at most.
    OneBody,
    /// A handful of bodies of similar mass, in contact with each other and the ground.
    Pile,
    /// The same with masses from 1 g to 1 t: ratio 10⁶.
    MixedPile,
    /// A tower on the ground, four contacts an interface, heavier from level to level, the top 10⁶ times the
    /// bottom, under gravity and a sideways push.
    Tower,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::OneBody, Self::Pile, Self::MixedPile, Self::Tower];
}

/// What a problem has beyond strict contacts that are closed and bodies that do not spin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Spinning bodies: the Coriolis term makes `W` a little unsymmetric.
    pub spin: bool,
    /// Half of the contacts are open by up to a typical step's motion.
    pub gaps: bool,
    /// The laws give way by up to half as much as the bodies.
    pub compliance: bool,
    /// Every third block is a joint of one to three rows.
    pub joints: bool,
}

/// A problem that owns its numbers.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Blocks.
    pub blocks: Vec<Block>,
    /// Compliance, row-major, dense.
    pub compliance: Vec<f64>,
    /// Free violation.
    pub free: Vec<f64>,
}

impl Sample {
    /// The problem as the solver takes it.
    #[must_use]
    pub fn problem(&self) -> Problem<'_> {
        Problem { blocks: &self.blocks, compliance: &self.compliance, stride: self.free.len(), free: &self.free }
    }
}

/// One side of a constraint: which body, and the three rows on its twist.
struct Side {
    body: usize,
    rows: [Vec6; 3],
}

struct Body {
    /// Displacement per force during the step, `(T²/2) (M − S(J ω) T/2)⁻¹`.
    translation: f64,
    rotation: Mat3,
    velocity: Vec6,
}

/// One constraint: its law, its gap, its sides.
struct Constraint {
    law: Law,
    gap: f64,
    sides: [Option<Side>; 2],
}

/// A problem with `contacts` contacts; `uniform` gives numbers evenly spread over 0 to 1.
pub fn sample(kind: Kind, contacts: usize, uniform: &mut impl FnMut() -> f64) -> Sample {
    sample_with(kind, contacts, Extras::default(), uniform)
}

/// The same with something beyond: see [`Extras`].
pub fn sample_with(kind: Kind, contacts: usize, extras: Extras, uniform: &mut impl FnMut() -> f64) -> Sample {
    let count = match kind {
        Kind::OneBody => 1,
        Kind::Pile | Kind::MixedPile => 1 + contacts / 4,
        Kind::Tower => contacts.div_ceil(4),
    };
    let bodies: Vec<Body> = (0..count).map(|level| body(kind, (level, count), extras, uniform)).collect();
    let sides: Vec<_> = (0..contacts).map(|index| sides(kind, index, count, uniform)).collect();
    let mut constraints = Vec::new();
    for (index, sides) in sides.into_iter().enumerate() {
        let friction = uniform();
        let gap = if extras.gaps && uniform() < 0.5 { STEP_S * uniform() } else { 0.0 };
        let own: f64 =
            sides.iter().flatten().map(|side| moved(&bodies[side.body], &side.rows[0]).dot(&side.rows[0])).sum();
        let compliance = if extras.compliance { 0.5 * uniform() * own } else { 0.0 };
        let is_joint = extras.joints && index % 3 == 2;
        let law = if is_joint {
            Law::Bilateral { rows: 1 + (3.0 * uniform()) as u8, compliance }
        } else {
            Law::Contact { friction, compliance }
        };
        constraints.push(Constraint { law, gap: if is_joint { 0.0 } else { gap }, sides });
    }
    assemble(&constraints, &bodies)
}

fn body(kind: Kind, (level, count): (usize, usize), extras: Extras, uniform: &mut impl FnMut() -> f64) -> Body {
    let mut span = |low: f64, high: f64| low + (high - low) * uniform();
    let mass: f64 = match kind {
        Kind::OneBody | Kind::Pile => span(0.5, 2.0),
        Kind::MixedPile => 10f64.powf(span(-3.0, 3.0)),
        Kind::Tower => 1e-3 * 1e6_f64.powf(level as f64 / (count.max(2) - 1) as f64),
    };
    let inertia = Mat3::from_diagonal(&Vec3::from_fn(|_, _| mass * RADIUS_M * RADIUS_M * span(0.2, 0.6)));
    let velocity = if kind == Kind::Tower {
        // Half a step of gravity and of a sideways push, as the midpoint sees it.
        let push = span(-1.0, 1.0) * 9.81;
        join(&Vec3::new(push * 0.5 * STEP_S, 0.0, -9.81 * 0.5 * STEP_S), &Vec3::zeros())
    } else {
        Vec6::from_fn(|i, _| if i < 3 { span(-1.0, 1.0) } else { span(-10.0, 10.0) })
    };
    let spin = if extras.spin { Vec3::from_fn(|_, _| span(-100.0, 100.0)) } else { Vec3::zeros() };
    let gyroscopic = skew(&(inertia * spin)) * (0.5 * STEP_S);
    let half = 0.5 * STEP_S * STEP_S;
    let inverse = (inertia - gyroscopic).try_inverse().expect("positive definite plus skew is regular");
    Body { translation: half / mass, rotation: inverse * half, velocity }
}

fn sides(kind: Kind, index: usize, count: usize, uniform: &mut impl FnMut() -> f64) -> [Option<Side>; 2] {
    let mut span = |low: f64, high: f64| low + (high - low) * uniform();
    let (upper, lower, normal, point) = if kind == Kind::Tower {
        let level = index / 4;
        let corner = Vec3::new([-0.05, 0.05][index % 2], [-0.05, 0.05][index / 2 % 2], -0.05);
        (level, level.checked_sub(1), Vec3::z(), corner)
    } else {
        let direction = Vec3::new(span(-1.0, 1.0), span(-1.0, 1.0), span(-1.0, 1.0));
        let normal = direction.try_normalize(1e-9).unwrap_or_else(Vec3::z);
        let point = Vec3::new(span(-0.05, 0.05), span(-0.05, 0.05), span(-0.05, 0.05));
        let upper = (span(0.0, 0.999_999) * count as f64) as usize;
        let lower = (span(0.0, 0.999_999) * (count + 1) as f64) as usize;
        (upper, Some(lower).filter(|&b| b < count && b != upper), normal, point)
    };
    let (t1, t2) = tangents(&normal);
    let side = |body: usize, sign: f64, point: Vec3| Side {
        body,
        rows: [normal, t1, t2].map(|d| join(&d, &point.cross(&d)) * sign),
    };
    let below = point + Vec3::new(0.0, 0.0, 0.1);
    [Some(side(upper, 1.0, point)), lower.map(|body| side(body, -1.0, below))]
}

/// What a force along `row` moves the body by.
fn moved(body: &Body, row: &Vec6) -> Vec6 {
    let (force, torque) = split(row);
    join(&(force * body.translation), &(body.rotation * torque))
}

fn assemble(constraints: &[Constraint], bodies: &[Body]) -> Sample {
    let mut blocks = Vec::new();
    let mut rows = 0;
    for (id, constraint) in constraints.iter().enumerate() {
        blocks.push(Block { id: BlockId::Custom(id as u64), first: rows, law: constraint.law });
        rows += constraint.law.rows();
    }
    let mut compliance = vec![0.0; rows * rows];
    let mut free = vec![0.0; rows];
    for (block, constraint) in blocks.iter().zip(constraints) {
        free[block.first] += constraint.gap;
        for side in constraint.sides.iter().flatten() {
            let body = &bodies[side.body];
            for (a, i) in block.range().enumerate() {
                free[i] += STEP_S * side.rows[a].dot(&body.velocity);
            }
            for (other_block, other) in blocks.iter().zip(constraints) {
                for other in other.sides.iter().flatten().filter(|other| other.body == side.body) {
                    for (b, j) in other_block.range().enumerate() {
                        let motion = moved(body, &other.rows[b]);
                        for (a, i) in block.range().enumerate() {
                            compliance[i * rows + j] += side.rows[a].dot(&motion);
                        }
                    }
                }
            }
        }
    }
    Sample { blocks, compliance, free }
}
