//! The needle's part of a snapshot.
//!
//! Thread: simulation.
//!
//! With the needle at `x` and tissue at `y` under the forces `λ` of the step, a row without force would be at `d·(x − y) − (W λ)`; the needle
//! goes with the tool, so that the row of the snapshot has its point `x` on the tool and the offset `d·y + (W λ)`.

use super::rows::Mover;
use super::state::NeedleState;
use crate::math::{Pose, Vec3};
use crate::mechanism::{Anew, Block, MAX_BLOCKS, MAX_ROWS, MechanismSnapshot, Row, RowKind, TipMark};

/// Adds the constraints of a needle behind what is in the snapshot; gives the number of those that did not fit.
pub(crate) fn write_needle(needle: &NeedleState, tool: &Pose, out: &mut MechanismSnapshot) -> u32 {
    let constraints = &needle.constraints;
    let room = (MAX_BLOCKS - out.block_count).min((MAX_ROWS - out.row_count) / 3);
    let count = constraints.list.len().min(room);
    let (first, rows, all) = (out.row_count, 3 * count, constraints.rows());
    for row in 0..first {
        out.compliance[row * MAX_ROWS + first..][..rows].fill(0.0);
    }
    for row in 0..rows {
        let target = &mut out.compliance[(first + row) * MAX_ROWS..][..first + rows];
        target[..first].fill(0.0);
        target[first..].copy_from_slice(&constraints.compliance[row * all..][..rows]);
    }
    for (index, constraint) in constraints.list[..count].iter().enumerate() {
        out.blocks[out.block_count] = Block { id: constraint.id, first: out.row_count, law: constraint.law };
        out.anew[out.block_count] = Anew::No;
        if needle.tip_at == Some(index) {
            out.tip = Some(TipMark { block: constraint.id, known: needle.known, grows_n_per_m: needle.tip_grows });
        }
        let tissue = &needle.tissues[constraint.tissue];
        for k in 0..3 {
            let row = 3 * index + k;
            let (direction, given_way) = (constraint.directions[k], constraints.given_way(row));
            let place = tissue.now(&constraint.points[k]);
            out.lambda[out.row_count] = constraints.lambda[row];
            out.rows[out.row_count] = match &constraint.mover {
                Mover::Needle(at_m) => Row {
                    kind: RowKind::Point,
                    direction,
                    point_tool: on_tool(tool, &needle.beam.point(*at_m)),
                    offset: direction.dot(&place) + given_way,
                    drift: -direction.dot(&tissue.speed),
                    ..Row::EMPTY
                },
                Mover::Organ(other, point) => {
                    let other = &needle.tissues[*other];
                    let gap = direction.dot(&(other.now(point) - place)) - given_way;
                    let drift = direction.dot(&(other.speed - tissue.speed));
                    Row { kind: RowKind::Scene, offset: -gap, drift, ..Row::EMPTY }
                }
            };
            out.row_count += 1;
        }
        out.block_count += 1;
    }
    (constraints.list.len() - count) as u32
}

fn on_tool(tool: &Pose, place: &Vec3) -> Vec3 {
    tool.rotation.inverse_transform_vector(&(place - tool.translation.vector))
}
