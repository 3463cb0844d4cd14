//! Condenses the mechanism that a hand can feel to the capacity of a snapshot.
//!
//! Thread: simulation.
//!
//! Rows that do not fit are eliminated by the state that the step found. With `k` kept, `h` held (closed normals, sticking tangents,
//! joints), `X` the ways of rigid bodies since the snapshot, `Δλ` changes of force since then:
//!
//! ```text
//!  held       W_hk Δλ_k + (W_hh + ε) Δλ_h + H_h X + drift_h τ = 0        slipping  λ_t stays        open  λ = 0
//!  ⇒ kept     δ_k = (W_kk − W_kh S W_hk) Δλ_k + (H_k − W_kh S H_h) X,    S = (W_hh + ε)⁻¹
//!    bodies   wrench (H_k − W_kh S H_h)ᵀ Δλ_k − K X,                     K = H_hᵀ S H_h
//! ```
//!
//! Rigid bodies travel as bodies, so that eliminated rows leave a spring `K` between them. A spring travels as at most twelve
//! *spring rows* `g`, which are held: `K = Gᵀ W_gg⁻¹ G` with the eigenvectors of `K` as `G`, cross terms `W_kg = W_kh S H_h Gᵀ W_gg`, and
//! `W_kk − W_kh S W_hk + W_kg W_gg⁻¹ W_gk` in place of `W_kk`. Eliminating `g` gives the two equations above; the whole matrix stays positive
//! semi-definite, since its Schur complement is that of `W`. A spring between more than two bodies has rows for each body by itself.
//! Forces, offsets and drifts are such that the snapshot starts with the forces of the step.
//!
//! `ε` makes `W_hh` regular: there can be more rows than ways to deform, and rows between rigid bodies have no compliance. Friction of an
//! eliminated contact that slips is constant until the next snapshot: friction that follows the normal force would make `K` asymmetric.
//!
//! Kept are, in this order: rows of the tool and rows of laws without a held state; rows between rigid bodies, whose states decide whether
//! a body tips; rows of soft bodies that are nearest to a change of state. Condensing begins where the rows exceed the capacity of the snapshot, or
//! those that carry force the unknowns of a Newton step of the tick, and goes on to fewer rows than those.

mod reduce;

use crate::mechanism::polish::MOST_UNKNOWN;
use crate::mechanism::{Block, Conic, Law, MAX_BLOCKS, MAX_ROWS, MechanismSnapshot, Row, RowKind, dot};
use reduce::Reduced;

/// Rows up to which rows of soft bodies are kept where not all fit: three quarters of the unknowns that a Newton step of the tick takes. With more, the
/// solve of the tick ends at its bound of iterations more often; with fewer, more states are frozen between two steps.
const KEPT_ROWS: usize = MOST_UNKNOWN / 4 * 3;
/// Share of the friction bound from which on a contact counts as slipping.
const SLIPS: f64 = 1.0 - 1e-6;

/// The mechanism that a hand can feel, whole.
#[derive(Default)]
pub(super) struct Whole {
    /// First rows count within it.
    pub blocks: Vec<Block>,
    pub near: Vec<Near>,
    pub rows: Vec<Row>,
    pub lambda: Vec<f64>,
    /// Compliance of soft bodies, row-major.
    pub compliance: Vec<f64>,
}

/// How near a block is to the tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// Distance to closing, m.
    pub gap: f64,
    /// Number of bodies between it and the tool.
    pub hops: u32,
}

/// Rows and blocks that are used or set aside.
#[derive(Clone, Copy, Default)]
struct Room {
    rows: usize,
    blocks: usize,
}

/// What the choice of blocks led to.
struct Choice {
    /// Blocks that are kept, in their order, and their rows.
    blocks: Vec<usize>,
    rows: Vec<usize>,
    /// Rows that are eliminated as held.
    held: Vec<usize>,
    /// Slipping tangents that are eliminated.
    frozen: Vec<usize>,
    /// Blocks that can neither be kept nor eliminated.
    dropped: u32,
}

/// Writes `whole` into a snapshot whose bodies are written already; gives the blocks that are kept, in the order of the snapshot.
pub(super) fn condense(whole: &Whole, out: &mut MechanismSnapshot) -> Vec<usize> {
    let mut aside = whole.room_of_springs();
    loop {
        let choice = whole.choose(aside);
        let reduced = whole.reduce(&choice);
        let needed = reduced.room();
        let fits = choice.rows.len() + needed.rows <= MAX_ROWS && choice.blocks.len() + needed.blocks <= MAX_BLOCKS;
        let most = Room { rows: MAX_ROWS / 2, blocks: MAX_BLOCKS / 2 };
        if fits || (aside.rows >= most.rows || aside.blocks >= most.blocks) {
            whole.write(&choice, reduced, out);
            return choice.blocks;
        }
        aside = Room { rows: needed.rows.max(aside.rows + 6), blocks: needed.blocks.max(aside.blocks + 2) };
    }
}

/// Rows of a law have a state in which they are held or carry no force: they can be eliminated.
fn can_go(law: &Law) -> bool {
    law.contact_friction().is_some() || law.conic() == Some(Conic::Free)
}

impl Whole {
    fn row(&self, row: usize) -> &[f64] {
        &self.compliance[row * self.rows.len()..][..self.rows.len()]
    }

    fn own(&self, row: usize) -> f64 {
        self.row(row)[row]
    }

    /// Room set aside for springs at first: six rows for each body on which rows of soft bodies can be eliminated.
    fn room_of_springs(&self) -> Room {
        let mut bodies = Vec::new();
        for index in (0..self.blocks.len()).filter(|index| self.rank(*index).0 == 2) {
            bodies.extend(self.bodies_of(self.blocks[index].first));
        }
        bodies.sort_unstable();
        bodies.dedup();
        let bodies = if self.fits() { 0 } else { bodies.len().min(KEPT_ROWS / 12) };
        Room { rows: 6 * bodies, blocks: 2 * bodies }
    }

    /// The snapshot holds the whole mechanism, and the tick can take a Newton step in it, or would have no fewer unknowns without rows of soft
    /// bodies.
    fn fits(&self) -> bool {
        let (mut unknown, mut soft) = (0, 0);
        for (index, block) in self.blocks.iter().enumerate() {
            if block.law.carries_force(&self.lambda[block.range()]) {
                unknown += block.law.rows();
                soft += if self.rank(index).0 == 2 { block.law.rows() } else { 0 };
            }
        }
        let solves = unknown <= MOST_UNKNOWN || soft <= KEPT_ROWS;
        solves && self.rows.len() <= MAX_ROWS && self.blocks.len() <= MAX_BLOCKS
    }

    /// Order in which a block is kept: smaller is first.
    fn rank(&self, index: usize) -> (u8, f64) {
        let (block, near) = (&self.blocks[index], &self.near[index]);
        if self.rows[block.first].kind != RowKind::Scene || !can_go(&block.law) {
            return (0, near.gap);
        }
        if block.range().all(|row| self.own(row) == 0.0) {
            return (1, near.gap);
        }
        (2, self.to_change(block, near) * f64::from(near.hops.max(1)))
    }

    /// Displacement by which a soft contact changes its state, m.
    fn to_change(&self, block: &Block, near: &Near) -> f64 {
        let (force, own) = (&self.lambda[block.range()], |k: usize| self.own(block.first + k));
        let Some(friction) = block.law.contact_friction() else { return f64::INFINITY };
        if !block.law.carries_force(force) {
            return near.gap.abs();
        }
        let opens = own(0) * force[0];
        let slips = 0.5 * (own(1) + own(2)) * (friction * force[0] - force[1].hypot(force[2])).max(0.0);
        if friction > 0.0 { opens.min(slips) } else { opens }
    }

    /// Chooses the blocks that are kept, with `aside` set aside for springs, and sorts the rows of the others by their state.
    fn choose(&self, aside: Room) -> Choice {
        let fits = self.fits();
        let mut order: Vec<(u8, f64, usize)> = Vec::with_capacity(self.blocks.len());
        order.extend((0..self.blocks.len()).map(|index| (self.rank(index).0, self.rank(index).1, index)));
        if !fits {
            order.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        }
        let (mut used, mut keep) = (aside, vec![false; self.blocks.len()]);
        for (class, _, index) in order {
            let rows = self.blocks[index].law.rows();
            let most = if fits || class < 2 { MAX_ROWS } else { KEPT_ROWS };
            if used.rows + rows <= most && used.blocks < MAX_BLOCKS {
                (used.rows, used.blocks, keep[index]) = (used.rows + rows, used.blocks + 1, true);
            }
        }
        self.sort_rows(&keep)
    }

    /// Sorts the rows of blocks into those that are kept, and the others by their state.
    fn sort_rows(&self, keep: &[bool]) -> Choice {
        let mut choice =
            Choice { blocks: Vec::new(), rows: Vec::new(), held: Vec::new(), frozen: Vec::new(), dropped: 0 };
        for (index, block) in self.blocks.iter().enumerate() {
            let force = &self.lambda[block.range()];
            if keep[index] {
                choice.blocks.push(index);
                choice.rows.extend(block.range());
            } else if self.rank(index).0 == 0 {
                choice.dropped += 1;
            } else if let Some(friction) = block.law.contact_friction() {
                let tangents = block.first + 1..block.first + 3;
                if !block.law.carries_force(force) {
                    continue;
                }
                choice.held.push(block.first);
                let sticks = force[1].hypot(force[2]) < SLIPS * friction * force[0];
                if sticks { &mut choice.held } else { &mut choice.frozen }.extend(tangents);
            } else {
                choice.held.extend(block.range());
            }
        }
        choice
    }

    fn write(&self, choice: &Choice, reduced: Reduced, out: &mut MechanismSnapshot) {
        (out.block_count, out.row_count, out.dropped) = (0, 0, choice.dropped + reduced.dropped);
        for index in &choice.blocks {
            let (block, first) = (self.blocks[*index], out.row_count);
            out.blocks[out.block_count] = Block { first, ..block };
            out.block_count += 1;
            for row in block.range() {
                out.rows[out.row_count] = self.rows[row];
                out.rows[out.row_count].drift = reduced.drift[out.row_count];
                out.lambda[out.row_count] = self.lambda[row];
                out.row_count += 1;
            }
        }
        let kept = out.row_count;
        for row in 0..kept {
            for column in 0..kept {
                out.compliance[row * MAX_ROWS + column] = reduced.matrix[(row, column)];
            }
        }
        for (part, spring) in reduced.springs.iter().enumerate() {
            spring.write(part, kept, out);
        }
        if choice.held.is_empty() && choice.frozen.is_empty() {
            return;
        }
        for at in 0..out.row_count {
            let given = dot(out.compliance_row(at), &out.lambda[..out.row_count]);
            // The rows start with the violation that they had among all rows; those of springs with none.
            out.rows[at].offset += choice.rows.get(at).map_or(given, |row| given - dot(self.row(*row), &self.lambda));
        }
        for (body, wrench) in &reduced.wrenches {
            let body = &mut out.bodies[usize::from(*body)];
            body.acceleration += body.inverse_mass * wrench;
        }
    }
}
