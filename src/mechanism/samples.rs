//! Generated problems, for tests and benches: rigid bodies in random contact, solvable by construction.
//!
//! Thread: any (allocates; not for the haptic thread).
//!
//! Each problem is what passive midpoint integration gives for free bodies: `W = (T²/2) H M⁻¹ Hᵀ`, `δ_free = T H v_free`
//! with all gaps closed, so that standing still satisfies every contact and a solution exists.

use super::{Block, Law, Problem};
use crate::math::{Vec3, Vec6, join, tangents};

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

/// One side of a contact: which body, and the three rows on its twist.
struct Side {
    body: usize,
    rows: [Vec6; 3],
}

struct Body {
    inverse_mass: Vec6,
    velocity: Vec6,
}

/// A problem with `contacts` contacts; `uniform` gives numbers evenly spread over 0 to 1.
pub fn sample(kind: Kind, contacts: usize, uniform: &mut impl FnMut() -> f64) -> Sample {
    let step = 1e-3;
    let mut bodies = Vec::new();
    let mut sides: Vec<[Option<Side>; 2]> = Vec::new();
    let mut span = |low: f64, high: f64| low + (high - low) * uniform();
    let count = match kind {
        Kind::OneBody => 1,
        Kind::Pile | Kind::MixedPile => 1 + contacts / 4,
        Kind::Tower => contacts.div_ceil(4),
    };
    for level in 0..count {
        let mass: f64 = match kind {
            Kind::OneBody | Kind::Pile => span(0.5, 2.0),
            Kind::MixedPile => 10f64.powf(span(-3.0, 3.0)),
            Kind::Tower => 1e-3 * 1e6_f64.powf(level as f64 / (count.max(2) - 1) as f64),
        };
        let radius: f64 = 0.05;
        let inertia = |x: f64| 1.0 / (mass * radius * radius * x);
        bodies.push(Body {
            inverse_mass: Vec6::new(
                1.0 / mass,
                1.0 / mass,
                1.0 / mass,
                inertia(span(0.2, 0.6)),
                inertia(span(0.2, 0.6)),
                inertia(span(0.2, 0.6)),
            ),
            velocity: if kind == Kind::Tower {
                // Half a step of gravity and of a sideways push, as the midpoint sees it.
                let push = span(-1.0, 1.0) * 9.81;
                join(&Vec3::new(push * 0.5 * step, 0.0, -9.81 * 0.5 * step), &Vec3::zeros())
            } else {
                Vec6::from_fn(|i, _| if i < 3 { span(-1.0, 1.0) } else { span(-10.0, 10.0) })
            },
        });
    }
    for contact in 0..contacts {
        let (upper, lower, normal, point) = if kind == Kind::Tower {
            let level = contact / 4;
            let corner = Vec3::new([-0.05, 0.05][contact % 2], [-0.05, 0.05][contact / 2 % 2], -0.05);
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
        sides.push([Some(side(upper, 1.0, point)), lower.map(|body| side(body, -1.0, below))]);
    }
    let blocks = (0..contacts)
        .map(|i| Block { id: i as u64, first: 3 * i, law: Law::Contact { friction: span(0.0, 1.0), compliance: 0.0 } })
        .collect();
    assemble(blocks, &bodies, &sides, step)
}

fn assemble(blocks: Vec<Block>, bodies: &[Body], sides: &[[Option<Side>; 2]], step: f64) -> Sample {
    let rows = 3 * sides.len();
    let mut compliance = vec![0.0; rows * rows];
    let mut free = vec![0.0; rows];
    for (i, pair) in sides.iter().enumerate() {
        for side in pair.iter().flatten() {
            let body = &bodies[side.body];
            for a in 0..3 {
                free[3 * i + a] += step * side.rows[a].dot(&body.velocity);
                let scaled = side.rows[a].component_mul(&body.inverse_mass) * (0.5 * step * step);
                for (j, other) in sides.iter().enumerate() {
                    for other in other.iter().flatten().filter(|other| other.body == side.body) {
                        for b in 0..3 {
                            compliance[(3 * i + a) * rows + 3 * j + b] += scaled.dot(&other.rows[b]);
                        }
                    }
                }
            }
        }
    }
    Sample { blocks, compliance, free }
}
