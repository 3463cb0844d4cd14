//! The local mechanism: the newest snapshot, moved along with the tool and solved again at the haptic rate.
//!
//! Thread: haptic (RT; memory is set aside at construction).
//!
//! Multirate compliant mechanisms (seed 004; Peterlik et al. 2011), with three things the published scheme lacks. The
//! tool's own midpoint compliance is part of the solve, so that its motion and the forces are found together. Friction
//! is incremental: `δ_t` is the slip of this tick, so that a reversal is felt at once and not after the way back to
//! where the simulation step began. Rigid bodies of the scene are not a compliance: they are moved here, tick by tick
//! ([`super::bodies`]). A new snapshot does not replace the old one with a jump: the difference of the gaps is kept as an
//! offset that fades.
//!
//! ```text
//!  normal   δ_n = d·(p + R r) − c + drift τ + fade + T J V̂ + (W λ)_n + Σ H (X + T V')
//!  tangent  δ_t = T J V̂ + drift T + (W (λ − λ_before))_t + Σ H T V'
//!  V̂ = V̂_free + A⁻¹ Jᵀ λ          (tool)
//!  V' = V + T (a + M⁻¹ Hᵀ λ)       (bodies of the scene)
//! ```

use super::bodies::LocalBodies;
use super::compliance::{SceneCompliance, ToolCompliance};
use super::needle::Tip;
use super::nodes::{Nodes, Vibrated};
use super::patrol::{Intruder, Patrol};
use super::surfaces::Surfaces;
use super::touch::{Touch, Touches};
use super::vibrations::Vibrations;
use crate::math::{Mat6, Pose, Twist, Vec3, Vec6, Wrench, advance, join, log_so3};
use crate::mechanism::polish::Polish;
use crate::mechanism::primal::OneBody;
use crate::mechanism::solver::{Compliance as _, Outcome, Own, Settings, largest, sweep, sweep_and_step};
use crate::mechanism::{Anew, Block, Law, MAX_BLOCKS, MAX_ROWS, MAX_VIBRATIONS, MechanismSnapshot, Row, RowKind, dot};
use crate::shared::{MAX_PUSHED, MonoNs, NS_PER_S, Push, Tick, TipReport};

/// How much deeper than the contacts are pressed in something must be to have come through, m.
const BEYOND: f64 = 2e-5;

/// Least compliance of a contact, m/N, with which the forces on a tool in a fixed scene are sought by the tool's motion: a fortieth of that of
/// machined parts. Below it, rounding of the gaps would show in the forces.
const SOFT: f64 = 5e-9;
/// Part of the sweeps' tolerance to which such forces are found: a sweep that confirms them ends at once.
const CONFIRMED: f64 = 0.1;

/// How the tool moves in this tick, before contact.
#[derive(Clone, Copy, Debug)]
pub struct ToolMotion {
    /// Pose at the start of the tick.
    pub pose: Pose,
    /// Twist at the start of the tick.
    pub twist: Twist,
    /// Midpoint twist without contact forces.
    pub free: Twist,
    /// `A⁻¹`, or zero for a tool that is where the handle is.
    pub inverse: Mat6,
    /// Length of the tick, s.
    pub period_s: f64,
    /// How far ahead the gap is looked at, s: the tick itself for a tool that moves, half a tick plus damping over
    /// stiffness for one that is held.
    pub lead_s: f64,
}

/// Outcome of a local solve.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalReport {
    /// Wrench of the scene on the tool.
    pub wrench: Wrench,
    /// What part of it is friction.
    pub friction: Wrench,
    /// How the solver ended.
    pub outcome: Outcome,
    /// Number of contacts that carry force.
    pub contacts: u32,
    /// Deepest overlap at the end of the tick, m; zero when there is none.
    pub penetration_m: f64,
    /// The numbers were finite.
    pub sound: bool,
}

/// See the file's head.
#[expect(clippy::disallowed_types, reason = "boxed when it is made: too large for a stack, never moved after")]
pub struct LocalMechanism {
    snapshot: Box<MechanismSnapshot>,
    patrol: Patrol,
    surfaces: Surfaces,
    nodes: Nodes,
    vibrations: Vibrations,
    blocks: [Block; MAX_BLOCKS],
    bodies: LocalBodies,
    contact_compliance: f64,
    /// Nothing in the scene answers a force at once.
    rigid_scene: bool,
    jacobian: Box<[Vec6; MAX_ROWS]>,
    /// `T A⁻¹ Jᵀ`, a column each.
    yielding: Box<[Vec6; MAX_ROWS]>,
    own: Box<[Own; MAX_BLOCKS]>,
    polish: Box<Polish>,
    free: [f64; MAX_ROWS],
    lambda: [f64; MAX_ROWS],
    /// `W λ` of each row at the start of the tick.
    yielded_before: [f64; MAX_ROWS],
    tip: Tip,
    /// Violation of each row that is a place at the end of the last tick, for blending.
    gaps: [f64; MAX_ROWS],
    offsets: [f64; MAX_ROWS],
    /// When each block began to lose its offset.
    fade_from: [MonoNs; MAX_BLOCKS],
    fade_s: f64,
    blend_s: f64,
}

impl LocalMechanism {
    /// Nothing to touch yet. `contact_compliance` (m/N) is added to every contact.
    #[must_use]
    #[expect(clippy::disallowed_types, reason = "made before the first tick")]
    pub fn new(contact_compliance: f64, blend_s: f64, surfaces: Surfaces) -> Self {
        let snapshot = Box::new(MechanismSnapshot::empty());
        Self {
            blocks: snapshot.blocks,
            snapshot,
            patrol: Patrol::new(&surfaces),
            surfaces,
            nodes: Nodes::new(),
            vibrations: Vibrations::new(),
            bodies: LocalBodies::new(),
            contact_compliance,
            rigid_scene: true,
            jacobian: Box::new([Vec6::zeros(); MAX_ROWS]),
            yielding: Box::new([Vec6::zeros(); MAX_ROWS]),
            own: Box::new([Own::identity(); MAX_BLOCKS]),
            polish: Box::default(),
            free: [0.0; MAX_ROWS],
            lambda: [0.0; MAX_ROWS],
            yielded_before: [0.0; MAX_ROWS],
            tip: Tip::default(),
            gaps: [0.0; MAX_ROWS],
            offsets: [0.0; MAX_ROWS],
            fade_from: [MonoNs(0); MAX_BLOCKS],
            fade_s: blend_s,
            blend_s,
        }
    }

    /// The snapshot in use.
    #[must_use]
    pub fn snapshot(&self) -> &MechanismSnapshot {
        &self.snapshot
    }

    /// Forces of the last solve, N, one for each row of the snapshot.
    #[must_use]
    pub fn lambda(&self) -> &[f64] {
        &self.lambda[..self.snapshot.row_count]
    }

    /// Where the tool at `pose` touched the scene in the last solve, and with what force.
    #[must_use]
    pub fn touches(&self, pose: &Pose) -> Touches {
        let mut touches = Touches::NONE;
        for block in &self.blocks[..self.snapshot.block_count] {
            let first = &self.snapshot.rows[block.first];
            let touches_here = block.law.touches(&self.lambda[block.range()]);
            if touches_here && first.kind == RowKind::Point {
                let force = block.range().map(|row| self.snapshot.rows[row].direction * self.lambda[row]).sum();
                let point = pose.translation.vector + pose.rotation * first.point_tool;
                if !touches.add(Touch::new(&point, &force)) {
                    break;
                }
            }
        }
        touches
    }

    /// What the tip of a needle has done since the beginning.
    #[must_use]
    pub fn tip(&self) -> TipReport {
        self.tip.report()
    }

    /// What the tool has done to each body of the scene, and over what time, s.
    #[must_use]
    pub fn pushes(&self) -> (&[Push; MAX_PUSHED], f64) {
        self.bodies.pushes()
    }

    /// Changes the compliance (m/N) that is added to every contact.
    pub fn set_contact_compliance(&mut self, contact_compliance: f64) {
        let change = contact_compliance - self.contact_compliance;
        self.contact_compliance = contact_compliance;
        for block in &mut self.blocks[..self.snapshot.block_count] {
            if block.law.contact_friction().is_some() {
                // The scene's own part is never negative, whatever rounding says.
                block.law = block.law.giving((block.law.compliance() + change).max(contact_compliance));
            }
        }
    }

    /// Lets go of everything: no contact until the next snapshot.
    pub fn release(&mut self) {
        self.snapshot.block_count = 0;
        self.snapshot.row_count = 0;
        self.vibrations.release();
    }

    /// Takes a sound snapshot over: forces and gaps of constraints known from the last one go on, what is left of the
    /// difference fades.
    pub fn adopt(&mut self, new: &MechanismSnapshot, pose: &Pose, now: MonoNs, period_s: f64) {
        let old_count = self.snapshot.block_count;
        let (old_blocks, old_lambda, old_gaps) = (self.blocks, self.lambda, self.gaps);
        let (old_anew, old_frames) = (self.snapshot.anew, self.nodes.frames());
        let first = self.snapshot.stamp.sequence == 0;
        self.copy_used(new);
        self.vibrations.adopt(&mut self.snapshot, new, period_s);
        self.nodes.adopt(&self.snapshot);
        self.surfaces.refresh(&mut self.snapshot, pose);
        for index in 0..new.block_count {
            let block = new.blocks[index];
            let rows = block.range();
            let same = |other: &Block| other.id == block.id && other.law.rows() == block.law.rows();
            // Constraints mostly keep their place; look there first.
            let found = if index < old_count && same(&old_blocks[index]) {
                Some(index)
            } else {
                old_blocks[..old_count].iter().position(same)
            };
            let source = found.map_or(&new.lambda[rows.clone()], |at| &old_lambda[old_blocks[at].range()]);
            self.lambda[rows.clone()].copy_from_slice(source);
            self.nodes.carried(index, found.and_then(|at| old_frames[at]), &mut self.lambda[rows.clone()]);
            for row in rows {
                self.gaps[row] = found.map_or(f64::NAN, |at| old_gaps[old_blocks[at].first + row - block.first]);
            }
        }
        self.vibrations.begin(&self.snapshot, &self.lambda);
        let now_at = self.vibrations.amplitudes();
        self.refresh_nodes((pose, pose), &now_at, &now_at);
        self.tip.adopt(&self.snapshot);
        let age_s = now.seconds_after(new.stamp.at);
        self.bodies.adopt(new, &self.lambda, age_s, period_s);
        for block in &new.blocks[..new.block_count] {
            for row in block.range().filter(|row| !block.law.slides(row - block.first)) {
                let gap = self.row_gap(row, pose, age_s) + self.scene_part(row, &self.lambda);
                let known = self.gaps[row];
                // A constraint that is new may start violated; it then lets go of the violation gently. Not at the first
                // snapshot: there is nothing to be blended from.
                let overlap = if block.law.is_one_sided(row - block.first) { (-gap).max(0.0) } else { -gap };
                let offset = if known.is_nan() { overlap } else { known - gap };
                self.offsets[row] = if first && known.is_nan() { 0.0 } else { offset };
            }
        }
        self.fade_from = [now; MAX_BLOCKS];
        // What was caught here goes on as long as it carries: the simulation may not know of it yet.
        for (at, block) in old_blocks[..old_count].iter().enumerate() {
            if let (true, Some(friction)) = (Intruder::is_named(block.id), block.law.contact_friction())
                && old_lambda[block.first] > 0.0
                && let Some(index) = self.stand_in(&Intruder { id: block.id, anew: old_anew[at], friction }, pose, now)
            {
                let first = self.blocks[index].first;
                self.lambda[first..first + 3].copy_from_slice(&old_lambda[block.range()]);
                self.offsets[first] = old_gaps[block.first] - self.row_gap(first, pose, 0.0);
            }
        }
        // No longer than until the next one may come: else offsets would pile up.
        self.fade_s = self.blend_s.min(new.step_s).max(period_s);
    }

    fn copy_used(&mut self, new: &MechanismSnapshot) {
        let own = &mut *self.snapshot;
        own.stamp = new.stamp;
        own.step_s = new.step_s;
        own.pose_world_tool = new.pose_world_tool;
        own.block_count = new.block_count;
        own.row_count = new.row_count;
        own.dropped = new.dropped;
        own.tip = new.tip;
        own.anew[..new.block_count].copy_from_slice(&new.anew[..new.block_count]);
        own.rows[..new.row_count].copy_from_slice(new.rows());
        self.rigid_scene = true;
        for row in 0..new.row_count {
            let source = new.compliance_row(row);
            own.compliance[row * MAX_ROWS..][..new.row_count].copy_from_slice(source);
            self.rigid_scene &= source.iter().all(|x| *x == 0.0);
        }
        for index in 0..new.block_count {
            let mut block = new.blocks[index];
            if block.law.contact_friction().is_some() {
                block.law = block.law.giving(block.law.compliance() + self.contact_compliance);
            }
            self.blocks[index] = block;
            own.blocks[index] = new.blocks[index];
        }
    }

    /// Violation of a row with the tool at `pose` and the bodies where they are, without any force.
    fn row_gap(&self, index: usize, pose: &Pose, age_s: f64) -> f64 {
        let row = &self.snapshot.rows[index];
        let position = match row.kind {
            RowKind::Scene => 0.0,
            RowKind::Point => row.direction.dot(&(pose.translation.vector + pose.rotation * row.point_tool)),
            RowKind::Rotation => {
                let built = &self.snapshot.pose_world_tool.rotation;
                row.direction.dot(&(built * log_so3(&(built.inverse() * pose.rotation))))
            }
            RowKind::Wall => {
                let built = &self.snapshot.pose_world_tool.rotation;
                let turned = log_so3(&(built.inverse() * pose.rotation));
                row.direction.dot(&pose.translation.vector) + row.point_tool.dot(&turned)
            }
        };
        let cut = if self.tip.row() == Some(index) { self.tip.ahead_m() } else { 0.0 };
        position - row.offset + row.drift * age_s + self.bodies.moved(row) + cut
    }

    /// `(W λ)` of a row, the scene's part alone.
    fn scene_part(&self, row: usize, lambda: &[f64; MAX_ROWS]) -> f64 {
        if self.rigid_scene {
            return 0.0;
        }
        dot(self.snapshot.compliance_row(row), &lambda[..self.snapshot.row_count])
    }

    /// Solves for the forces of this tick.
    pub fn solve(&mut self, motion: &ToolMotion, settings: &Settings, tick: &Tick<'_>) -> LocalReport {
        self.surfaces.refresh(&mut self.snapshot, &motion.pose);
        let coming = advance(&motion.pose, &motion.twist, motion.period_s);
        let expected = self.vibrations.predict(&self.snapshot, &self.lambda);
        self.refresh_nodes((&motion.pose, &coming), &expected, &self.vibrations.free());
        self.catch(&motion.pose, tick.began);
        self.tip.sharpen(&self.snapshot, &mut self.blocks);
        let rows = self.snapshot.row_count;
        if rows == 0 {
            self.bodies.advance(&[], &[], &[], motion.period_s, |_| false);
            return LocalReport {
                sound: true,
                outcome: Outcome { converged: true, ..Outcome::default() },
                ..LocalReport::default()
            };
        }
        self.place_rows(motion);
        self.fill_free(motion, tick.began);
        for (column, row) in self.yielding.iter_mut().zip(&self.jacobian[..rows]) {
            *column = motion.inverse * row * motion.period_s;
        }
        let blocks = &self.blocks[..self.snapshot.block_count];
        let (free, lambda) = (&self.free[..rows], &mut self.lambda[..rows]);
        let tool = (&self.jacobian[..rows], &self.yielding[..rows]);
        let scene = SceneCompliance {
            matrix: (!self.rigid_scene).then_some(&self.snapshot.compliance[..]),
            bodies: self.bodies.compliance(self.snapshot.rows()),
            vibrations: self.vibrations.compliance(),
        };
        let body = OneBody { blocks, jacobian: tool.0, yielding: tool.1, free };
        if scene.is_fixed() && blocks.len() > 1 && body.is_soft(SOFT) {
            // The sweeps below confirm it, or go on from the forces of the last tick where it fails.
            body.solve(lambda, CONFIRMED * settings.tolerance * largest(free));
        }
        let mut compliance = ToolCompliance::new(tool, scene, free, &mut *self.own, lambda);
        let stop = || tick.solve_time_is_up();
        let with = (settings, &mut *self.polish);
        let outcome = sweep_and_step(&mut compliance, blocks, largest(free), lambda, with, stop);
        // The sweeps hand back zero forces and no finite residual where there is no solution in numbers.
        if !outcome.residual.is_finite() {
            return LocalReport { outcome, ..LocalReport::default() };
        }
        let mut report = LocalReport { outcome, sound: true, ..LocalReport::default() };
        for (row, force) in self.jacobian.iter().zip(lambda.iter()) {
            report.wrench += row * *force;
        }
        for block in blocks {
            for row in block.range() {
                if block.law.slides(row - block.first) {
                    report.friction += self.jacobian[row] * lambda[row];
                } else {
                    self.gaps[row] = compliance.violation(row, lambda);
                }
            }
            report.contacts += u32::from(block.law.touches(&lambda[block.range()]));
            if block.law.contact_friction().is_some() {
                report.penetration_m = report.penetration_m.max(-self.gaps[block.first]);
            }
        }
        self.tip.cut(blocks, lambda, &mut self.gaps);
        let blocks = &self.blocks[..self.snapshot.block_count];
        let own = |row: usize| self.snapshot.compliance_row(row)[row];
        let (given, lambda) = (self.snapshot.rows(), &self.lambda[..rows]);
        self.bodies.advance(blocks, given, lambda, motion.period_s, |row| own(row) > 0.0);
        self.vibrations.advance(&self.snapshot, &self.lambda);
        report
    }

    /// Rows of nodes for a tool that goes between two poses, with these amplitudes of vibrations as expected and without force.
    fn refresh_nodes(&mut self, poses: (&Pose, &Pose), expected: &[f64; MAX_VIBRATIONS], free: &[f64; MAX_VIBRATIONS]) {
        let Self { nodes, vibrations, surfaces, snapshot, lambda, .. } = self;
        let vibrated = |index: usize| Vibrated {
            expected: vibrations.moved(index, expected),
            free: vibrations.moved(index, free),
        };
        nodes.refresh(surfaces, snapshot, lambda, poses, vibrated);
        vibrations.align(snapshot);
    }

    /// Makes contacts of what has come through deeper than any contact is pressed in.
    fn catch(&mut self, pose: &Pose, now: MonoNs) {
        let gap = |block: &Block| self.gaps[block.first];
        let blocks = &self.blocks[..self.snapshot.block_count];
        let deepest = blocks.iter().fold(0.0_f64, |deepest, block| deepest.max(-gap(block)));
        for intruder in self.patrol.look(pose, deepest + BEYOND).into_iter().flatten() {
            let known = self.blocks[..self.snapshot.block_count].iter().any(|block| block.id == intruder.id);
            if !known && self.stand_in(&intruder, pose, now).is_none() {
                return;
            }
        }
    }

    /// Makes a contact of one and gives its place; none when there is no room.
    fn stand_in(&mut self, intruder: &Intruder, pose: &Pose, now: MonoNs) -> Option<usize> {
        let law = |compliance| Law::Contact { friction: intruder.friction, compliance };
        let own = &mut *self.snapshot;
        let (count, rows) = (own.block_count, own.row_count);
        let index = if count < MAX_BLOCKS && rows + 3 <= MAX_ROWS {
            own.block_count += 1;
            own.row_count += 3;
            own.blocks[count] = Block { id: intruder.id, first: rows, law: law(0.0) };
            count
        } else {
            // In place of the contact that is farthest from being one.
            let gap = |index: usize| self.gaps[own.blocks[index].first];
            let idle = |index: &usize| {
                matches!(own.anew[*index], Anew::OnBody { .. } | Anew::OnTool { .. })
                    && self.lambda[own.blocks[*index].first] == 0.0
                    && gap(*index) > 0.0
            };
            let farthest = (0..count).filter(idle).max_by(|a, b| gap(*a).total_cmp(&gap(*b)));
            let index = farthest?;
            own.blocks[index] = Block { id: intruder.id, law: law(0.0), ..own.blocks[index] };
            index
        };
        own.anew[index] = intruder.anew;
        self.vibrations.clear(index);
        let first = own.blocks[index].first;
        for row in first..first + 3 {
            own.rows[row] = Row { kind: RowKind::Point, ..Row::EMPTY };
            self.lambda[row] = 0.0;
            self.nodes.clear(row);
            own.compliance[row * MAX_ROWS..][..MAX_ROWS].fill(0.0);
            for other in 0..MAX_ROWS {
                own.compliance[other * MAX_ROWS + row] = 0.0;
            }
        }
        self.surfaces.refresh_one(own, index, pose);
        self.blocks[index] = Block { law: law(self.contact_compliance), ..own.blocks[index] };
        // It lets go of its overlap gently.
        self.gaps[first] = 0.0;
        self.offsets[first] = (-self.row_gap(first, pose, 0.0)).max(0.0);
        self.fade_from[index] = now;
        Some(index)
    }

    /// Jacobian of each row at the tool's pose.
    fn place_rows(&mut self, motion: &ToolMotion) {
        let rotation = motion.pose.rotation;
        for (row, jacobian) in self.snapshot.rows().iter().zip(self.jacobian.iter_mut()) {
            let local: Vec3 = rotation.inverse_transform_vector(&row.direction);
            *jacobian = match row.kind {
                RowKind::Scene => Vec6::zeros(),
                RowKind::Point => join(&row.direction, &row.point_tool.cross(&local)),
                RowKind::Rotation => join(&Vec3::zeros(), &local),
                RowKind::Wall => join(&row.direction, &row.point_tool),
            };
        }
    }

    fn fill_free(&mut self, motion: &ToolMotion, now: MonoNs) {
        let age_s = now.seconds_after(self.snapshot.stamp.at);
        // As it will be at the end of the tick: a mechanism that comes with every tick is taken as it is.
        let fading = |from: MonoNs| 1.0 - (now.since(from) as f64 / NS_PER_S as f64 + motion.period_s) / self.fade_s;
        for index in 0..self.snapshot.block_count {
            let block = self.blocks[index];
            for row in block.range() {
                let speed = self.jacobian[row].dot(&motion.free);
                self.yielded_before[row] = self.scene_part(row, &self.lambda);
                let given = &self.snapshot.rows[row];
                self.free[row] = self.bodies.coming(row, given, motion.period_s)
                    + if block.law.slides(row - block.first) {
                        motion.period_s * (speed + given.drift)
                            - self.vibrations.coming(row)
                            - self.yielded_before[row]
                            - block.law.compliance() * self.lambda[row]
                    } else {
                        let fade = fading(self.fade_from[index]).max(0.0) * self.offsets[row];
                        self.row_gap(row, &motion.pose, age_s) + motion.lead_s * speed + fade
                    };
            }
        }
    }

    /// Removes the recoil of the midpoint rule from the proxy's velocity. A rigid contact that stops the midpoint,
    /// `V̂_n = 0`, leaves `V_{k+1} = −V_k`: correct for the energy, but the proxy would hammer on the surface. The
    /// impulses of the tick are solved again with the contact law on the relative velocity at the end of the tick,
    ///
    /// ```text
    ///  c = J V + drift + H V_b − q ż + W (λ − λ_before)/T,     ∂c/∂p = J M⁻¹ Jᵀ + H M_b⁻¹ Hᵀ + q qᵀ + W/T²
    /// ```
    ///
    /// and kept only if the change takes kinetic energy out. `W` is the instantaneous compliance of the scene: a soft
    /// surface retreats under the tool, so that a tool that moves with the surface has `c = 0` and is not braked. With
    /// `W = 0` in `c` the tool would be stopped in every tick, a drag of `2M/T`.
    pub fn settle(&mut self, twist: &Twist, inverse_mass: &Mat6, period_s: f64) -> Twist {
        let rows = self.snapshot.row_count;
        let square = period_s * period_s;
        let mut blocks = [self.blocks[0]; MAX_BLOCKS];
        let (mut done, mut kinetic) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        let (mut count, mut recoil) = (0, 0.0_f64);
        self.free[..rows].fill(0.0);
        for block in &self.blocks[..self.snapshot.block_count] {
            let touching = self.snapshot.rows[block.first].kind == RowKind::Point && self.lambda[block.first] > 0.0;
            if let (Some(friction), true) = (block.law.contact_friction(), touching) {
                for row in block.range() {
                    let given = &self.snapshot.rows[row];
                    done[row] = self.lambda[row] * period_s;
                    let scene = self.bodies.speed(given) - self.vibrations.speed(row);
                    kinetic[row] = self.jacobian[row].dot(twist) + given.drift + scene;
                    let retreat = self.scene_part(row, &self.lambda) - self.yielded_before[row];
                    self.free[row] = kinetic[row] + retreat / period_s;
                }
                recoil =
                    recoil.max(self.free[block.first].abs() * self.inertial_share(block.first, inverse_mass, square));
                blocks[count] = Block { law: Law::Contact { friction, compliance: 0.0 }, ..*block };
                count += 1;
            }
        }
        if recoil < 1e-6 {
            return *twist;
        }
        let impulse = self.settled_impulses(&blocks[..count], &done, inverse_mass, square);
        let mut changes = [0.0; MAX_ROWS];
        let mut change = Vec6::zeros();
        for row in blocks[..count].iter().flat_map(Block::range) {
            changes[row] = impulse[row] - done[row];
            change += self.jacobian[row] * changes[row];
        }
        // Kinetic energy changes by p·(v + v')/2, with the speeds of the rows before and after. The deflection of a soft
        // body is no kinetic energy.
        let tool = (&self.jacobian[..rows], &self.yielding[..rows]);
        let bodies = self.bodies.compliance(self.snapshot.rows());
        let scene = SceneCompliance { matrix: None, bodies, vibrations: self.vibrations.inertia(square) };
        let masses = ToolCompliance::new(tool, scene, &[0.0; MAX_ROWS], &mut *self.own, &changes[..rows]);
        let mut taken = 0.0;
        for row in blocks[..count].iter().flat_map(Block::range) {
            taken += changes[row] * (kinetic[row] + 0.5 * masses.violation(row, &changes) / square);
        }
        let settled = twist + inverse_mass * change;
        if !(taken <= 0.0 && settled.iter().all(|x| x.is_finite())) {
            return *twist;
        }
        for row in blocks[..count].iter().flat_map(Block::range) {
            self.bodies.kick(row, &self.snapshot.rows[row], changes[row], period_s);
            self.vibrations.kick(row, changes[row]);
        }
        settled
    }

    /// Share of a row's relative velocity that an impulse removes from tool and bodies; the rest goes into the deflection of
    /// the scene. One for a rigid scene.
    fn inertial_share(&self, row: usize, inverse_mass: &Mat6, square: f64) -> f64 {
        let yields = self.snapshot.compliance_row(row)[row];
        if yields <= 0.0 {
            return 1.0;
        }
        let tool = self.jacobian[row].dot(&(inverse_mass * self.jacobian[row]));
        let inertial = square * (tool + self.vibrations.mobility(row));
        inertial / (inertial + yields)
    }

    /// Impulses of the tick by the contact law on the relative velocities in `free` (see [`Self::settle`]), N·s.
    fn settled_impulses(
        &mut self,
        blocks: &[Block],
        done: &[f64; MAX_ROWS],
        inverse_mass: &Mat6,
        square: f64,
    ) -> [f64; MAX_ROWS] {
        let rows = self.snapshot.row_count;
        // In the units of the bodies' compliance, T² times a velocity; W is then W itself.
        for (column, row) in self.yielding[..rows].iter_mut().zip(&self.jacobian[..rows]) {
            *column = inverse_mass * row * square;
        }
        let tool = (&self.jacobian[..rows], &self.yielding[..rows]);
        let matrix = (!self.rigid_scene).then_some(&self.snapshot.compliance[..]);
        let bodies = self.bodies.compliance(self.snapshot.rows());
        let scene = SceneCompliance { matrix, bodies, vibrations: self.vibrations.inertia(square) };
        // `free` has the length of the rows: the rows of `W` are cut to it.
        let none = [0.0; MAX_ROWS];
        let undone = ToolCompliance::new(tool, scene, &none[..rows], &mut *self.own, &done[..rows]);
        for row in blocks.iter().flat_map(Block::range) {
            self.free[row] = self.free[row] * square - undone.violation(row, &done[..rows]);
        }
        let (mut impulse, free) = (*done, &self.free[..rows]);
        let mut compliance = ToolCompliance::new(tool, scene, free, &mut *self.own, &impulse[..rows]);
        // Any change that takes energy out is valid, and the next tick continues from there: a few sweeps are enough.
        let settings = Settings { iterations: 5, tolerance: 1e-3, relaxation: 1.2 };
        sweep(&mut compliance, blocks, largest(free), &mut impulse[..rows], &settings, || false);
        impulse
    }
}
