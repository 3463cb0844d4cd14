//! The newest mechanism as the simulation publishes it: fixed capacity, plain data, whole or not at all.
//!
//! Thread: written by simulation, read by haptic (RT).
//!
//! Re-solved at the haptic rate as in multirate compliant mechanisms (Peterlik et al. 2011; seed 004). A tool row is
//! `δ = d·(p + R r) − c + drift·τ + (W λ) + Σ H_b X_b`: direction `d`, point `r` fixed to the tool, offset `c`, the scene's
//! own motion along the row for the time `τ` since the snapshot. Rows between two bodies of the scene have `d = 0`.
//!
//! The slowest vibrations of a deformable body travel as bodies too: `ω²`, damping, and how each moves the node of a block. The haptic
//! thread takes their share out of `W` and moves them itself, so that a prong that a click lets go rings at its own frequency whatever
//! the rate of the simulation.
//!
//! What answers a force at once, as a deformable body does, is in the compliance `W`. A rigid body answers with an
//! acceleration: how far it gives way depends on how long it is pushed, so that no matrix of displacements is right for a
//! tick and for a step. Rigid bodies travel as bodies, with their masses and velocities, and the haptic thread moves them
//! (`X_b`) itself.

use super::{Block, BlockId, Law};
use crate::math::{Mat6, Pose, Twist, Vec3, Vec6};
use crate::shared::{MAX_PUSHED, Stamp, TipReport};

/// Most rows a snapshot holds: 42 contacts. The compliance matrix of this size is 128 KiB.
pub const MAX_ROWS: usize = 128;
/// Most blocks a snapshot holds.
pub const MAX_BLOCKS: usize = 64;

/// Most rigid bodies a snapshot holds.
pub const MAX_SCENE_BODIES: usize = MAX_PUSHED;
/// Most vibrations of deformable bodies a snapshot holds.
pub const MAX_VIBRATIONS: usize = 8;
/// Stands for no body in [`Row::bodies`].
pub const NO_BODY: u8 = u8::MAX;

/// A rigid body of the scene that the tool may push, or the tool of the other hand.
#[derive(Clone, Copy, Debug)]
pub struct SceneBody {
    /// Which body of the scene it is; [`NO_BODY`] for the other hand's tool, to which its own hand does what there is to do.
    pub index: u8,
    /// `M⁻¹`.
    pub inverse_mass: Mat6,
    /// Its twist.
    pub twist: Twist,
    /// Its acceleration if nothing touched it.
    pub acceleration: Twist,
}

impl SceneBody {
    /// A body that nothing moves.
    #[must_use]
    pub fn fixed() -> Self {
        Self { index: 0, inverse_mass: Mat6::zeros(), twist: Twist::zeros(), acceleration: Twist::zeros() }
    }

    fn is_sound(&self) -> bool {
        let motion = self.twist.abs().sum() + self.acceleration.abs().sum();
        (usize::from(self.index) < MAX_PUSHED || self.index == NO_BODY)
            && motion < ROW_MAX
            && self.inverse_mass.abs().sum().is_finite()
            && (0..6).all(|i| self.inverse_mass[(i, i)] >= 0.0)
    }
}

/// A vibration of a deformable body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vibration {
    /// Body of the scene.
    pub body: u16,
    /// Number of the vibration among those of the body, slowest first.
    pub number: u16,
    /// `ω²`, 1/s².
    pub square: f64,
    /// Damping rate `c` in `z̈ + c ż + ω² z = f`, 1/s.
    pub rate: f64,
}

impl Vibration {
    const NONE: Self = Self { body: 0, number: 0, square: 1.0, rate: 0.0 };

    fn is_sound(&self) -> bool {
        self.square > 0.0 && self.square.is_finite() && self.rate >= 0.0 && self.rate.is_finite()
    }
}

/// How the tool enters a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The tool does not: a row between two bodies of the scene.
    Scene,
    /// Position of a point of the tool along a direction.
    Point,
    /// Rotation of the tool about a direction, away from the pose the snapshot was built at.
    Rotation,
    /// Displacement and rotation of the tool together, as they change the volume of a cavity: the direction is not a unit vector, and in the place of
    /// the point is the change by rotation, in the tool's frame.
    Wall,
}

/// One row of the mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// How the tool enters.
    pub kind: RowKind,
    /// Unit direction `d` in the world; zero for a row of the scene.
    pub direction: Vec3,
    /// Point `r` in the tool's frame (from its centre of mass).
    pub point_tool: Vec3,
    /// Offset `c`, m or rad, such that the row's violation with the scene standing still and no force is
    /// `d·(p + R r) − c` (or `d·φ − c`); for a row of the scene the violation itself with the sign turned.
    pub offset: f64,
    /// Motion of the violation by what is not a body of the snapshot, m/s.
    pub drift: f64,
    /// Viscosity of what the row stands for, as a time, s: its bodies act on it by their ways and by this time of their velocities. Zero for a
    /// row without viscosity.
    pub lead_s: f64,
    /// The scene's bodies in the row, by index; [`NO_BODY`] where there is none.
    pub bodies: [u8; 2],
    /// The row on the twist of each of them.
    pub jacobians: [Vec6; 2],
}

impl Row {
    /// A row that constrains nothing.
    pub const EMPTY: Self = Self {
        kind: RowKind::Scene,
        direction: Vec3::new(0.0, 0.0, 0.0),
        point_tool: Vec3::new(0.0, 0.0, 0.0),
        offset: 0.0,
        drift: 0.0,
        lead_s: 0.0,
        bodies: [NO_BODY; 2],
        jacobians: [Vec6::new(0.0, 0.0, 0.0, 0.0, 0.0, 0.0); 2],
    };

    /// The bodies in the row, by index, with the row on the twist of each and the side it is on.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &Vec6, usize)> {
        (0..2)
            .filter(|side| self.bodies[*side] != NO_BODY)
            .map(|side| (usize::from(self.bodies[side]), &self.jacobians[side], side))
    }
}

/// What can be asked about a contact while the tool moves on, by whoever has the surfaces. Its rows are then made anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anew {
    /// Nothing: the rows stay as they are.
    No,
    /// How far a point of the tool, in its frame, is from a body of the scene that stands still.
    OnBody {
        /// Which body of the scene.
        body: u8,
        /// The point.
        point: Vec3,
    },
    /// How far a point of the world, on a body that stands still, is from the tool.
    OnTool {
        /// The point.
        point: Vec3,
    },
    /// How far a node of a deformable body is from the tool. The three rows of its block have orthonormal directions: they hold the whole
    /// compliance of the node, and may be turned.
    OfNode {
        /// Where the node would be in the world without the force of this tool.
        place: Vec3,
    },
}

impl Anew {
    fn is_sound(&self) -> bool {
        match self {
            Self::No => true,
            Self::OnBody { point, .. } | Self::OnTool { point } | Self::OfNode { place: point } => {
                point.abs().sum() < ROW_MAX
            }
        }
    }
}

/// The block of a needle's tip. What breaks and is cut there between two snapshots is found by the haptic thread, which tells the
/// simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TipMark {
    /// Id of the block; its law is one that breaks.
    pub block: BlockId,
    /// What of the haptic thread's report is in the snapshot already.
    pub known: TipReport,
    /// Force along the shaft that each metre of new channel adds, N/m.
    pub grows_n_per_m: f64,
}

impl TipMark {
    fn is_sound(&self) -> bool {
        (self.known.advanced_m.abs() + self.grows_n_per_m).is_finite() && self.grows_n_per_m >= 0.0
    }
}

/// See the module's head.
#[derive(Clone, Copy)]
pub struct MechanismSnapshot {
    /// Which step, and the time its state holds at. Sequence zero: nothing was ever published.
    pub stamp: Stamp,
    /// Length of the simulation step behind it, s.
    pub step_s: f64,
    /// Pose of the tool the rows were built at.
    pub pose_world_tool: Pose,
    /// Number of blocks in use.
    pub block_count: usize,
    /// Number of rows in use.
    pub row_count: usize,
    /// Number of bodies in use.
    pub body_count: usize,
    /// Blocks that did not fit.
    pub dropped: u32,
    /// The tip of a needle, where it meets something.
    pub tip: Option<TipMark>,
    /// Rigid bodies; the first `body_count` count.
    pub bodies: [SceneBody; MAX_SCENE_BODIES],
    /// Laws; the first `block_count` count.
    pub blocks: [Block; MAX_BLOCKS],
    /// What can be asked about each block.
    pub anew: [Anew; MAX_BLOCKS],
    /// Number of vibrations in use.
    pub vibration_count: usize,
    /// Vibrations; the first `vibration_count` count. Their share at rest is in the compliance.
    pub vibrations: [Vibration; MAX_VIBRATIONS],
    /// How each vibration of unit amplitude moves the node of a block, in the world; zero for blocks that are no node of its body.
    pub shapes: [[Vec3; MAX_VIBRATIONS]; MAX_BLOCKS],
    /// Rows; the first `row_count` count.
    pub rows: [Row; MAX_ROWS],
    /// Compliance of the scene without the tool and without its rigid bodies, m/N, row-major with stride [`MAX_ROWS`].
    pub compliance: [f64; MAX_ROWS * MAX_ROWS],
    /// Force of each row, N, as far as the simulation knows: a warm start.
    pub lambda: [f64; MAX_ROWS],
}

impl MechanismSnapshot {
    /// A snapshot with nothing in it, never stamped.
    #[must_use]
    pub fn empty() -> Self {
        let block = Block { id: BlockId::Custom(0), first: 0, law: Law::Bilateral { rows: 1, compliance: 0.0 } };
        Self {
            stamp: Stamp::default(),
            step_s: 0.0,
            pose_world_tool: Pose::identity(),
            block_count: 0,
            row_count: 0,
            body_count: 0,
            dropped: 0,
            tip: None,
            bodies: [SceneBody::fixed(); MAX_SCENE_BODIES],
            blocks: [block; MAX_BLOCKS],
            anew: [Anew::No; MAX_BLOCKS],
            vibration_count: 0,
            vibrations: [Vibration::NONE; MAX_VIBRATIONS],
            shapes: [[Vec3::new(0.0, 0.0, 0.0); MAX_VIBRATIONS]; MAX_BLOCKS],
            rows: [Row::EMPTY; MAX_ROWS],
            compliance: [0.0; MAX_ROWS * MAX_ROWS],
            lambda: [0.0; MAX_ROWS],
        }
    }

    /// The blocks in use.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..self.block_count]
    }

    /// The rows in use.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows[..self.row_count]
    }

    /// The bodies in use.
    #[must_use]
    pub fn bodies(&self) -> &[SceneBody] {
        &self.bodies[..self.body_count]
    }

    /// The vibrations in use.
    #[must_use]
    pub fn vibrations(&self) -> &[Vibration] {
        &self.vibrations[..self.vibration_count]
    }

    /// Row `i` of the scene's compliance.
    #[must_use]
    pub fn compliance_row(&self, i: usize) -> &[f64] {
        &self.compliance[i * MAX_ROWS..][..self.row_count]
    }

    /// True when every number in use is finite, no row is absurd and the blocks cover the rows: the door every snapshot
    /// passes before the haptic thread computes with it.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        if self.block_count > MAX_BLOCKS
            || self.row_count > MAX_ROWS
            || self.body_count > MAX_SCENE_BODIES
            || self.vibration_count > MAX_VIBRATIONS
            || !crate::math::pose_is_sound(&self.pose_world_tool)
        {
            return false;
        }
        let mut next = 0;
        for block in self.blocks() {
            if block.first != next || !block.law.is_sound() {
                return false;
            }
            next = block.range().end;
        }
        next == self.row_count
            && self.tip.is_none_or(|tip| tip.is_sound())
            && self.step_s.is_finite()
            && self.step_s >= 0.0
            && self.lambda[..self.row_count].iter().all(|x| x.is_finite())
            && self.bodies().iter().all(SceneBody::is_sound)
            && self.anew[..self.block_count].iter().all(Anew::is_sound)
            && self.vibrations().iter().all(Vibration::is_sound)
            && (self.vibration_count == 0
                || self.shapes[..self.block_count].iter().flatten().all(|s| s.sum().is_finite()))
            && self.rows().iter().all(|row| row.is_sound(self.body_count))
            && (0..self.row_count).all(|i| {
                // A sum is finite only if no term is NaN or infinite (or it overflows, which is refused as well).
                self.compliance_row(i).iter().map(|x| x.abs()).sum::<f64>().is_finite()
                    && self.compliance_row(i)[i] >= 0.0
            })
    }
}

/// Largest number a row may hold, m or m/s. No scene is that large; a proxy pushed by such a row would be lost.
const ROW_MAX: f64 = 1e6;

impl Row {
    fn is_sound(&self, bodies: usize) -> bool {
        if self.parts().any(|(body, row, _)| body >= bodies || !(row.abs().sum() < ROW_MAX)) {
            return false;
        }
        let sum = self.direction.iter().chain(self.point_tool.iter()).map(|x| x.abs()).sum::<f64>();
        sum + self.offset.abs() + self.drift.abs() + self.lead_s.abs() < ROW_MAX && self.lead_s >= 0.0
    }
}
