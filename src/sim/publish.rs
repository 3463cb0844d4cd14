//! Condenses a step into the snapshot that the haptic thread solves again.
//!
//! Thread: simulation.
//!
//! Only what the tool can feel travels: its own contacts within the margin, and the contacts of every body that hangs on
//! them, however many bodies away (a box pressed on a table is felt through the table). The tool's compliance stays out:
//! the haptic thread adds its own, and moves the bodies on by itself with the forces it finds.

use super::SimData;
use super::data::TOOL;
use super::rows::Contact;
use crate::math::Vec3;
use crate::mechanism::{
    Block, Law, MAX_BLOCKS, MAX_ROWS, MAX_SCENE_BODIES, MechanismSnapshot, NO_BODY, Row, RowKind, SceneBody,
};
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
    let places = write_bodies(data, &chosen, step_s, out);
    for (index, contact) in chosen.iter().enumerate() {
        out.blocks[index] = Block {
            id: contact.candidate.id,
            first: 3 * index,
            law: Law::Contact { friction: contact.friction, compliance: 0.0 },
        };
        let known = data.remembered.binary_search_by_key(&contact.candidate.id, |(id, _)| *id);
        let forces = known.map_or([0.0; 3], |at| data.remembered[at].1);
        out.lambda[3 * index..][..3].copy_from_slice(&forces);
        for k in 0..3 {
            out.rows[3 * index + k] = row(data, contact, k, &places);
        }
    }
    for row in 0..out.row_count {
        out.compliance[row * MAX_ROWS..][..out.row_count].fill(0.0);
    }
    dropped
}

/// Writes the bodies of the chosen contacts; gives the place of each mover among them.
fn write_bodies(data: &SimData, chosen: &[&Contact], step_s: f64, out: &mut MechanismSnapshot) -> Vec<u8> {
    let mut places = vec![NO_BODY; data.movers.len()];
    out.body_count = 0;
    for mover in chosen.iter().flat_map(|contact| contact.movers) {
        let moves = mover != TOOL && data.movers[mover].yields();
        if moves && places[mover] == NO_BODY && out.body_count < MAX_SCENE_BODIES {
            let body = &data.movers[mover];
            places[mover] = out.body_count as u8;
            out.bodies[out.body_count] = SceneBody {
                index: (mover - 1) as u8,
                inverse_mass: body.inverse_mass,
                twist: body.twist,
                acceleration: (body.free - body.twist) * (2.0 / step_s),
            };
            out.body_count += 1;
        }
    }
    places
}

/// Contacts of the tool and of the bodies that hang on it, nearest first if there is not room for all.
fn choose(data: &SimData) -> (Vec<&Contact>, u32) {
    let mut reached = vec![false; data.movers.len()];
    reached[TOOL] = true;
    let all = || data.tool_contacts.iter().chain(&data.contacts);
    loop {
        let mut grown = false;
        for contact in all() {
            let [a, b] = contact.movers;
            for (from, to) in [(a, b), (b, a)] {
                if reached[from] && data.movers[to].yields() && !reached[to] {
                    reached[to] = true;
                    grown = true;
                }
            }
        }
        if !grown {
            break;
        }
    }
    let mut chosen: Vec<&Contact> = all().filter(|contact| contact.movers.iter().any(|m| reached[*m])).collect();
    let dropped = chosen.len().saturating_sub(ROOM);
    if dropped > 0 {
        chosen.sort_by(|a, b| a.candidate.gap.total_cmp(&b.candidate.gap));
        chosen.truncate(ROOM);
    }
    (chosen, dropped as u32)
}

fn row(data: &SimData, contact: &Contact, k: usize, places: &[u8]) -> Row {
    let direction = contact.directions[k];
    let pose = |side: usize| &data.movers[contact.movers[side]].pose;
    let row = Row {
        bodies: contact.movers.map(|mover| places[mover]),
        jacobians: [contact.rows[0][k], contact.rows[1][k]],
        ..Row::EMPTY
    };
    match contact.movers.iter().position(|mover| *mover == TOOL) {
        Some(0) => {
            let on_scene = contact.candidate.point_b_world(pose(1));
            let (point_tool, offset) = (contact.candidate.point_a, direction.dot(&on_scene));
            Row { kind: RowKind::Point, direction, point_tool, offset, ..row }
        }
        Some(_) => {
            // The tool is B: its point enters with the sign turned.
            let on_scene = contact.candidate.point_a_world(pose(0));
            let (point_tool, offset) = (contact.candidate.point_b, -direction.dot(&on_scene));
            Row { kind: RowKind::Point, direction: -direction, point_tool, offset, ..row }
        }
        None => {
            let gap = if k == 0 { contact.candidate.gap.max(0.0) } else { 0.0 };
            Row { kind: RowKind::Scene, direction: Vec3::zeros(), offset: -gap, ..row }
        }
    }
}
