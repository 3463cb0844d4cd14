//! Nodes of deformable bodies: their contacts follow the exact surface of the tool at every tick.
//!
//! Thread: haptic (RT; memory is set aside at construction).
//!
//! A snapshot holds for each node near the tool its place `y` without the tool's force, and the compliance between all of them. Both are
//! properties of the body and hold for a whole step of the simulation; the direction of contact and the nearest point of the tool are not, as
//! soon as the tool slides or the node rides over an edge. Each tick therefore queries the tool's surface at the place the node will have at
//! its end, and turns its three rows into the frame found:
//!
//! ```text
//!  x  = y − Dᵀ (W λ) + n nᵀ Δp                  place of the node under the forces of the last tick, and pushed along by the tool
//!  D' = [n, t₁, t₂]ᵀ                            n out of the node into the tool at x, from the tool's signed distance
//!  λ' = D' Dᵀ λ,   W'_ij = R_i W_ij R_jᵀ        R = D' D₀ᵀ, D₀ the frame as published
//! ```
//!
//! A node of a body that vibrates has its place `y` at the end of the tick without force from [`super::vibrations`].
//!
//! `Δp` is the motion of the tool at the contact in this tick, for a node that carries force. The law holds at the end of the tick: with the
//! surface as it is at the start, a hand at 10 mm/s feels a crest 10 µm too late, 1 % of the pull-out force of a snap connector.
//!
//! `D` is orthonormal, so that the three rows of a node hold its whole compliance and no direction is lost by turning them.

use super::surfaces::Surfaces;
use crate::math::{Mat3, Pose, Vec3, steady_tangents};
use crate::mechanism::{Anew, MAX_BLOCKS, MAX_ROWS, MechanismSnapshot, dot};

/// See the file's head.
#[expect(clippy::disallowed_types, reason = "boxed when it is made: too large for a stack, never moved after")]
pub(super) struct Nodes {
    /// Compliance as published, row-major with stride [`MAX_ROWS`].
    given: Box<[f64; MAX_ROWS * MAX_ROWS]>,
    /// Blocks of the snapshot as published.
    count: usize,
    /// Frame of each node as published, and as it is now.
    published: [Option<Mat3>; MAX_BLOCKS],
    now: [Option<Mat3>; MAX_BLOCKS],
    any: bool,
}

/// How far vibrations have moved a node at the end of the tick: as the last forces would have it, and without force.
#[derive(Clone, Copy, Default)]
pub(super) struct Vibrated {
    pub(super) expected: Vec3,
    pub(super) free: Vec3,
}

/// Frames of the nodes of one tick, by block.
pub(super) type Frames = [Option<Mat3>; MAX_BLOCKS];

impl Nodes {
    /// None.
    #[expect(clippy::disallowed_types, reason = "made before the first tick")]
    pub(super) fn new() -> Self {
        Self {
            given: Box::new([0.0; MAX_ROWS * MAX_ROWS]),
            count: 0,
            published: [None; MAX_BLOCKS],
            now: [None; MAX_BLOCKS],
            any: false,
        }
    }

    /// Present frames.
    pub(super) fn frames(&self) -> Frames {
        self.now
    }

    /// Takes the nodes of a snapshot over; `own` already holds its rows and its compliance.
    pub(super) fn adopt(&mut self, own: &MechanismSnapshot) {
        self.count = own.block_count;
        self.published = [None; MAX_BLOCKS];
        self.any = false;
        for (index, block) in own.blocks().iter().enumerate() {
            if let (Anew::OfNode { .. }, 3) = (own.anew[index], block.law.rows()) {
                self.published[index] = Some(frame(own, block.first));
                self.any = true;
            }
        }
        self.now = self.published;
        if self.any {
            for row in 0..own.row_count {
                self.given[row * MAX_ROWS..][..own.row_count].copy_from_slice(own.compliance_row(row));
            }
        }
    }

    /// Forces of a block of the new snapshot from those of the old one in the frame `old`.
    pub(super) fn carried(&self, index: usize, old: Option<Mat3>, force: &mut [f64]) {
        if let (Some(old), Some(new), [a, b, c]) = (old, self.now[index], force) {
            let turned = new * (old.transpose() * Vec3::new(*a, *b, *c));
            (*a, *b, *c) = (turned.x, turned.y, turned.z);
        }
    }

    /// Takes a row out of the compliance: another constraint has its place.
    pub(super) fn clear(&mut self, row: usize) {
        self.given[row * MAX_ROWS..][..MAX_ROWS].fill(0.0);
        for other in 0..MAX_ROWS {
            self.given[other * MAX_ROWS + row] = 0.0;
        }
    }

    /// Brings the rows of all nodes up to the surface of the tool, which goes from `pose` to `coming` in this tick: directions, points,
    /// offsets, forces and compliance.
    pub(super) fn refresh(
        &mut self,
        surfaces: &Surfaces,
        own: &mut MechanismSnapshot,
        lambda: &mut [f64; MAX_ROWS],
        (pose, coming): (&Pose, &Pose),
        vibrated: impl Fn(usize) -> Vibrated,
    ) {
        if !self.any || own.row_count == 0 {
            return;
        }
        // All places first: they depend on the forces of every node in their present frames.
        let mut frames = self.now;
        let mut turned = [false; MAX_BLOCKS];
        for index in 0..self.count {
            let (Some(old), Anew::OfNode { place }) = (self.now[index], own.anew[index]) else { continue };
            let first = own.blocks[index].first;
            let Vibrated { expected, free } = vibrated(index);
            let mut at = place + expected - old.transpose() * given_way(own, first, lambda);
            if lambda[first] > 0.0 {
                let (normal, point) = (own.rows[first].direction, own.rows[first].point_tool);
                at += normal * normal.dot(&(carried(coming, &point) - carried(pose, &point)));
            }
            let place = place + free;
            let Some(plane) = surfaces.at_node(&at, coming) else {
                own.rows[first..first + 3].iter_mut().for_each(|row| row.offset = row.direction.dot(&place));
                continue;
            };
            let (t1, t2) = steady_tangents(&plane.normal);
            let new = Mat3::from_rows(&[plane.normal.transpose(), t1.transpose(), t2.transpose()]);
            for (row, direction) in own.rows[first..first + 3].iter_mut().zip([plane.normal, t1, t2]) {
                (row.direction, row.point_tool, row.offset) = (direction, plane.point_tool, direction.dot(&place));
            }
            turned[index] = new != old;
            frames[index] = Some(new);
        }
        for index in (0..self.count).filter(|index| turned[*index]) {
            let old = self.now[index];
            self.now[index] = frames[index];
            let rows = own.blocks[index].range();
            self.carried(index, old, &mut lambda[rows]);
        }
        if turned.contains(&true) {
            self.turn(own, &turned);
        }
    }

    /// Turns the compliance of the blocks marked, and between them and all others.
    fn turn(&self, own: &mut MechanismSnapshot, turned: &[bool; MAX_BLOCKS]) {
        let mut turns = [Mat3::identity(); MAX_BLOCKS];
        for (turn, frames) in turns.iter_mut().zip(self.now.iter().zip(&self.published)) {
            if let (Some(now), Some(published)) = frames {
                *turn = now * published.transpose();
            }
        }
        for i in 0..self.count {
            let rows = own.blocks[i].range();
            for j in (0..self.count).filter(|j| turned[i] || turned[*j]) {
                let columns = own.blocks[j].range();
                let mut between = Mat3::zeros();
                for (k, row) in rows.clone().enumerate() {
                    for (l, column) in columns.clone().enumerate() {
                        between[(k, l)] = self.given[row * MAX_ROWS + column];
                    }
                }
                if between == Mat3::zeros() {
                    continue;
                }
                let between = turns[i] * between * turns[j].transpose();
                for (k, row) in rows.clone().enumerate() {
                    for (l, column) in columns.clone().enumerate() {
                        own.compliance[row * MAX_ROWS + column] = between[(k, l)];
                    }
                }
            }
        }
    }
}

/// `W λ` of the three rows of a node.
fn given_way(own: &MechanismSnapshot, first: usize, lambda: &[f64; MAX_ROWS]) -> Vec3 {
    let lambda = &lambda[..own.row_count];
    Vec3::from([0, 1, 2].map(|k| dot(own.compliance_row(first + k), lambda)))
}

fn carried(pose: &Pose, point: &Vec3) -> Vec3 {
    pose.translation.vector + pose.rotation * point
}

/// Directions of the three rows of a block.
fn frame(own: &MechanismSnapshot, first: usize) -> Mat3 {
    let [n, t1, t2] = [0, 1, 2].map(|k| own.rows[first + k].direction.transpose());
    Mat3::from_rows(&[n, t1, t2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Shape, Sphere};
    use crate::haptic::Felt;
    use crate::math::{Random, Rot};
    use crate::mechanism::{Block, BlockId, Law, Row, RowKind};

    const RADIUS: f64 = 0.01;

    /// Two nodes of one body beside a ball at the origin, published in frames that are not those of contact any more, with the compliance
    /// of the nodes in the axes of the world.
    fn two_nodes(random: &mut Random) -> (MechanismSnapshot, [[Mat3; 2]; 2]) {
        let mut uniform = || 2.0 * random.uniform() - 1.0;
        let root = nalgebra::Matrix6::from_fn(|_, _| 1e-2 * uniform());
        let world = root * root.transpose();
        let between = [0, 1].map(|i| [0, 1].map(|j| world.fixed_view::<3, 3>(3 * i, 3 * j).into_owned()));
        let mut own = MechanismSnapshot::empty();
        (own.block_count, own.row_count) = (2, 6);
        for index in 0..2 {
            let law = Law::Contact { friction: 0.2, compliance: 0.0 };
            own.blocks[index] =
                Block { id: BlockId::Soft { bodies: [0, 0], key: index as u64 }, first: 3 * index, law };
            let place = Vec3::new(uniform(), uniform(), uniform()).normalize() * (RADIUS + 1e-3);
            own.anew[index] = Anew::OfNode { place };
            let turn = Rot::from_scaled_axis(Vec3::new(uniform(), uniform(), uniform()));
            for (k, axis) in [Vec3::x(), Vec3::y(), Vec3::z()].into_iter().enumerate() {
                own.rows[3 * index + k] = Row { kind: RowKind::Point, direction: turn * axis, ..Row::EMPTY };
            }
        }
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let turned = frame(&own, 3 * i) * between[i][j] * frame(&own, 3 * j).transpose();
            for (k, l) in (0..9).map(|n| (n / 3, n % 3)) {
                own.compliance[(3 * i + k) * MAX_ROWS + 3 * j + l] = turned[(k, l)];
            }
        }
        (own, between)
    }

    #[test]
    fn turned_rows_hold_the_same_body_and_the_same_forces_in_the_direction_of_contact() {
        let mut random = Random::new(3);
        let ball = Shape::Sphere(Sphere { radius: RADIUS });
        let felt = Felt { shape: ball, field: None, pose: Pose::identity(), friction: 0.0 };
        let surfaces = Surfaces::of_tool(felt);
        for _ in 0..50 {
            let (mut own, between) = two_nodes(&mut random);
            let mut lambda = [0.0; MAX_ROWS];
            lambda[..6].fill_with(|| 0.2 * random.uniform() - 0.1);
            let force = |own: &MechanismSnapshot, lambda: &[f64; MAX_ROWS], i: usize| {
                frame(own, 3 * i).transpose() * Vec3::from_row_slice(&lambda[3 * i..3 * i + 3])
            };
            let before = [0, 1].map(|i| force(&own, &lambda, i));
            let at = [0, 1].map(|i| {
                let Anew::OfNode { place } = own.anew[i] else { unreachable!("a node") };
                place - (0..2).map(|j| between[i][j] * before[j]).sum::<Vec3>()
            });
            let mut nodes = Nodes::new();
            nodes.adopt(&own);
            nodes.refresh(&surfaces, &mut own, &mut lambda, (&Pose::identity(), &Pose::identity()), |_| {
                Vibrated::default()
            });
            for i in 0..2 {
                assert!((force(&own, &lambda, i) - before[i]).norm() < 1e-12, "the forces stay");
                // From the node to the middle of the ball, and the gap is that of the displaced node.
                let row = &own.rows[3 * i];
                assert!((row.direction + at[i].normalize()).norm() < 1e-12, "{:?}", row.direction);
                let given: f64 = (0..6).map(|j| own.compliance[3 * i * MAX_ROWS + j] * lambda[j]).sum();
                let gap = row.direction.dot(&row.point_tool) - row.offset + given;
                assert!((gap - (at[i].norm() - RADIUS)).abs() < 1e-12, "{gap}");
                for j in 0..2 {
                    let expected = frame(&own, 3 * i) * between[i][j] * frame(&own, 3 * j).transpose();
                    for (k, l) in (0..9).map(|n| (n / 3, n % 3)) {
                        let found = own.compliance[(3 * i + k) * MAX_ROWS + 3 * j + l];
                        assert!((found - expected[(k, l)]).abs() < 1e-15);
                    }
                }
            }
        }
    }
}
