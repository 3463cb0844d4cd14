//! Condenses a step into the snapshot that the haptic thread solves again.
//!
//! Thread: simulation.
//!
//! Only what the tool can feel travels: its own contacts within the margin, and the contacts of every body that hangs on
//! them, however many bodies away (a box pressed on a table is felt through the table). The tool's compliance stays out:
//! the haptic thread adds its own.

use super::SimData;
use super::data::{Mover, TOOL};
use super::rows::Contact;
use super::step::end_twist;
use crate::math::{Mat6, Vec3};
use crate::mechanism::{Block, Law, MAX_BLOCKS, MAX_ROWS, MechanismSnapshot, Row, RowKind};
use crate::shared::ToolSample;

/// Contacts that fit into a snapshot.
const ROOM: usize = if MAX_ROWS / 3 < MAX_BLOCKS { MAX_ROWS / 3 } else { MAX_BLOCKS };

/// Writes the mechanism of the step just made; gives the number of contacts that did not fit.
pub(super) fn write_snapshot(data: &SimData, step_s: f64, tool: &ToolSample, out: &mut MechanismSnapshot) -> u32 {
    let (chosen, dropped) = choose(data);
    out.stamp = data.stamp;
    out.step_s = step_s;
    out.pose_world_tool = tool.pose_world_tool;
    out.block_count = chosen.len();
    out.row_count = 3 * chosen.len();
    out.dropped = dropped;
    let ends: Vec<Mover> =
        (0..data.movers.len()).map(|mover| Mover { free: end_twist(data, mover), ..data.movers[mover] }).collect();
    for (index, &from) in chosen.iter().enumerate() {
        let contact = &data.contacts[from];
        out.blocks[index] = Block {
            id: contact.candidate.id,
            first: 3 * index,
            law: Law::Contact { friction: contact.friction, compliance: 0.0 },
        };
        for k in 0..3 {
            out.rows[3 * index + k] = row(data, contact, k, &ends, step_s);
            out.lambda[3 * index + k] = data.lambda[3 * from + k];
        }
    }
    fill(data, &chosen, step_s, out);
    dropped
}

/// Contacts of the tool and of the bodies that hang on it, nearest first if there is not room for all.
fn choose(data: &SimData) -> (Vec<usize>, u32) {
    let mut reached = vec![false; data.movers.len()];
    reached[TOOL] = true;
    loop {
        let mut grown = false;
        for contact in &data.contacts {
            let [a, b] = contact.movers;
            for (from, to) in [(a, b), (b, a)] {
                let moves = to != TOOL && data.bodies[to - 1].is_some();
                if reached[from] && moves && !reached[to] {
                    reached[to] = true;
                    grown = true;
                }
            }
        }
        if !grown {
            break;
        }
    }
    let mut chosen: Vec<usize> =
        (0..data.contacts.len()).filter(|i| data.contacts[*i].movers.iter().any(|m| reached[*m])).collect();
    let dropped = chosen.len().saturating_sub(ROOM);
    if dropped > 0 {
        chosen.sort_by(|a, b| data.contacts[*a].candidate.gap.total_cmp(&data.contacts[*b].candidate.gap));
        chosen.truncate(ROOM);
        chosen.sort_unstable();
    }
    (chosen, dropped as u32)
}

fn row(data: &SimData, contact: &Contact, k: usize, ends: &[Mover], step_s: f64) -> Row {
    let direction = contact.directions[k];
    // The scene's side of the row: everything but the tool.
    let scene = |of: &dyn Fn(&Mover) -> crate::math::Twist| -> f64 {
        (0..2)
            .filter(|side| contact.movers[*side] != TOOL)
            .map(|side| contact.rows[side][k].dot(&of(&ends[contact.movers[side]])))
            .sum()
    };
    let drift = scene(&|mover| mover.free);
    let moved = step_s
        * (0..2)
            .filter(|side| contact.movers[*side] != TOOL)
            .map(|side| contact.rows[side][k].dot(&data.movers[contact.movers[side]].free))
            .sum::<f64>();
    match contact.movers.iter().position(|mover| *mover == TOOL) {
        Some(0) => {
            let on_scene = contact.candidate.point_b_world(&data.movers[contact.movers[1]].pose);
            Row {
                kind: RowKind::Point,
                direction,
                point_tool: contact.candidate.point_a,
                offset: direction.dot(&on_scene) - moved,
                drift,
            }
        }
        Some(_) => {
            // The tool is B: its point enters with the sign turned.
            let on_scene = contact.candidate.point_a_world(&data.movers[contact.movers[0]].pose);
            Row {
                kind: RowKind::Point,
                direction: -direction,
                point_tool: contact.candidate.point_b,
                offset: -direction.dot(&on_scene) - moved,
                drift,
            }
        }
        None => {
            let gap = if k == 0 { contact.candidate.gap.max(0.0) } else { 0.0 };
            let offset = -(gap + step_s * contact.rate(k, &data.movers, |mover| mover.free));
            Row { kind: RowKind::Scene, direction: Vec3::zeros(), point_tool: Vec3::zeros(), offset, drift }
        }
    }
}

/// Compliance of the scene without the tool.
fn fill(data: &SimData, chosen: &[usize], step_s: f64, out: &mut MechanismSnapshot) {
    for row in 0..out.row_count {
        out.compliance[row * MAX_ROWS..][..out.row_count].fill(0.0);
    }
    for (i, &from) in chosen.iter().enumerate() {
        let contact = &data.contacts[from];
        for side in 0..2 {
            let mover = contact.movers[side];
            let yielding: &Mat6 = &data.movers[mover].inverse;
            if mover == TOOL || yielding.iter().all(|x| *x == 0.0) {
                continue;
            }
            let left = contact.rows[side].map(|row| yielding.transpose() * row * step_s);
            for (j, &other) in chosen.iter().enumerate() {
                let other = &data.contacts[other];
                for other_side in (0..2).filter(|s| other.movers[*s] == mover) {
                    for a in 0..3 {
                        for b in 0..3 {
                            out.compliance[(3 * i + a) * MAX_ROWS + 3 * j + b] +=
                                left[a].dot(&other.rows[other_side][b]);
                        }
                    }
                }
            }
        }
    }
}
