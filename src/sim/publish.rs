//! Condenses a step into the snapshot that a hand's haptic thread solves again.
//!
//! Thread: simulation.
//!
//! Only what the tool can feel travels: its own contacts within the margin, and the contacts of every body that hangs on
//! them, however many bodies away (a box pressed on a table is felt through the table). The tool's compliance stays out:
//! the haptic thread adds its own, and moves the bodies on by itself with the forces it finds.
//!
//! The other hand. Its tool travels as one more body: mass and velocity of its proxy, and as acceleration the pull of its
//! hand; its contacts come along as contacts between bodies. So both loops solve the same contacts between the same
//! masses under the same two pulls, and what one hand feels is what the other gives, but for the pulls being as old as
//! the step. Friction and the share of a weight follow without a rule of their own. The force of the other hand taken
//! as a given would leave the box between them free to be accelerated by both; the other tool as a moving wall would let
//! either hand do work on the box that the other never feels. As a body with a mass it takes no more energy than it is
//! given. A tool that is where its handle is (direct coupling, or nothing rendered) is a wall, and moves with its twist.
//!
//! Deformable bodies answer at once: each of their nodes near the tool travels with its place without the tool's force and with
//! its compliance at rest ([`super::elastic`]). What the other hand does to the body is in that place.

use super::elastic::{SoftContact, fill_answer};
use super::needle::write_needle;
use super::rows::Contact;
use super::{SimData, SimModel};
use crate::collision::Side;
use crate::geometry::Shape;
use crate::math::{Mat6, Vec3};
use crate::mechanism::{
    Anew, Block, BlockId, Law, MAX_BLOCKS, MAX_ROWS, MAX_SCENE_BODIES, MechanismSnapshot, NO_BODY, Row, RowKind,
    SceneBody,
};
/// Contacts that fit into a snapshot.
const ROOM: usize = if MAX_ROWS / 3 < MAX_BLOCKS { MAX_ROWS / 3 } else { MAX_BLOCKS };

/// Writes the mechanism of the step just made as `hand` can feel it; gives the number of contacts that did not fit.
pub(super) fn write_snapshot(model: &SimModel, data: &SimData, hand: usize, out: &mut MechanismSnapshot) -> u32 {
    let (chosen, dropped) = choose(data, hand);
    out.stamp = data.stamp;
    out.step_s = model.step_s();
    out.pose_world_tool = data.seen[hand].pose_world_tool;
    out.block_count = chosen.len();
    out.row_count = 3 * chosen.len();
    out.dropped = dropped;
    let places = write_bodies(model, data, hand, &chosen, out);
    for (index, contact) in chosen.iter().enumerate() {
        out.blocks[index] = Block {
            id: BlockId::Contact(contact.candidate.id),
            first: 3 * index,
            law: Law::Contact { friction: contact.friction, compliance: 0.0 },
        };
        out.anew[index] = anew(data, hand, contact);
        let known = data.remembered.binary_search_by_key(&out.blocks[index].id, |(id, _)| *id);
        let forces = known.map_or([0.0; 3], |at| data.remembered[at].1);
        out.lambda[3 * index..][..3].copy_from_slice(&forces);
        for k in 0..3 {
            out.rows[3 * index + k] = row(data, hand, contact, k, &places);
        }
    }
    for row in 0..out.row_count {
        out.compliance[row * MAX_ROWS..][..out.row_count].fill(0.0);
    }
    out.dropped += write_elastic(model, data, hand, out);
    out.tip = None;
    if let (0, Some(needle)) = (hand, &data.needle) {
        out.dropped += write_needle(needle, &out.pose_world_tool.clone(), out);
    }
    out.dropped
}

/// Adds the contacts of the hand's tool with deformable bodies behind the others; gives the number of those that did not fit.
fn write_elastic(model: &SimModel, data: &SimData, hand: usize, out: &mut MechanismSnapshot) -> u32 {
    let mut dropped = 0;
    for (index, body) in data.elastic.iter().enumerate() {
        let Some(body) = body else { continue };
        let first = out.row_count;
        let mut chosen: Vec<(&SoftContact, &[f64])> =
            body.contacts().iter().zip(body.lambda().chunks_exact(3)).filter(|(c, _)| c.obstacle == hand).collect();
        let room = ROOM - out.block_count;
        if chosen.len() > room {
            dropped += (chosen.len() - room) as u32;
            chosen.sort_by(|a, b| a.0.gap.total_cmp(&b.0.gap));
            chosen.truncate(room);
        }
        let contacts: Vec<SoftContact> = chosen.iter().map(|(contact, _)| **contact).collect();
        let mut compliance = Vec::new();
        fill_answer(&body.model().answer, &contacts, &mut compliance);
        let rows = 3 * contacts.len();
        for row in 0..first {
            out.compliance[row * MAX_ROWS + first..][..rows].fill(0.0);
        }
        for (row, values) in compliance.chunks_exact(rows.max(1)).enumerate() {
            let target = &mut out.compliance[(first + row) * MAX_ROWS..][..first + rows];
            target[..first].fill(0.0);
            target[first..].copy_from_slice(values);
        }
        for (contact, force) in chosen {
            let law = Law::Contact { friction: contact.friction, compliance: 0.0 };
            let id = BlockId::Soft { bodies: [index as u16, hand as u16], key: contact.node as u64 };
            out.blocks[out.block_count] = Block { id, first: out.row_count, law };
            let place = data.pose(index) * nalgebra::Point3::from(body.without(contact.node, hand));
            out.anew[out.block_count] = Anew::OfNode { place: place.coords };
            out.block_count += 1;
            let foot = model.tools[hand].pose_tool_shape * nalgebra::Point3::from(contact.foot);
            for k in 0..3 {
                let direction = data.pose(index).rotation * contact.directions[k];
                let offset = direction.dot(&place.coords);
                out.lambda[out.row_count] = force[k];
                out.rows[out.row_count] =
                    Row { kind: RowKind::Point, direction, point_tool: foot.coords, offset, ..Row::EMPTY };
                out.row_count += 1;
            }
        }
    }
    dropped
}

/// Writes the bodies of the chosen contacts; gives the place of each mover among them.
fn write_bodies(
    model: &SimModel,
    data: &SimData,
    hand: usize,
    chosen: &[&Contact],
    out: &mut MechanismSnapshot,
) -> Vec<u8> {
    let mut places = vec![NO_BODY; data.movers.len()];
    out.body_count = 0;
    for mover in chosen.iter().flat_map(|contact| contact.movers) {
        if passes_on(data, hand, mover) && places[mover] == NO_BODY && out.body_count < MAX_SCENE_BODIES {
            places[mover] = out.body_count as u8;
            out.bodies[out.body_count] = body(model, data, mover);
            out.body_count += 1;
        }
    }
    places
}

/// A mover as the haptic thread moves it on.
fn body(model: &SimModel, data: &SimData, mover: usize) -> SceneBody {
    let Some(index) = mover.checked_sub(data.hands()) else {
        let tool = &data.seen[mover];
        let inverse_mass = tool.pull.map_or_else(Mat6::zeros, |_| model.tools[mover].inverse_mass());
        let acceleration = inverse_mass * tool.pull.unwrap_or_default();
        return SceneBody { index: NO_BODY, inverse_mass, twist: tool.twist_tool, acceleration };
    };
    let body = &data.movers[mover];
    SceneBody {
        index: index as u8,
        inverse_mass: body.inverse_mass,
        twist: body.twist,
        acceleration: (body.free - body.twist) * (2.0 / model.step_s()),
    }
}

/// True when what is done to a mover can be felt by `hand` through it: it moves, and is not the hand's own tool.
fn passes_on(data: &SimData, hand: usize, mover: usize) -> bool {
    mover != hand && (mover < data.hands() || data.movers[mover].yields())
}

/// Contacts of the hand's tool and of the bodies that hang on it, nearest first if there is not room for all.
fn choose(data: &SimData, hand: usize) -> (Vec<&Contact>, u32) {
    let mut reached = vec![false; data.movers.len()];
    reached[hand] = true;
    let all = || data.tool_contacts.iter().chain(&data.contacts);
    loop {
        let mut grown = false;
        for contact in all() {
            let [a, b] = contact.movers;
            for (from, to) in [(a, b), (b, a)] {
                if reached[from] && passes_on(data, hand, to) && !reached[to] {
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

/// What the haptic thread can ask about a contact of its tool: those of parts, with what stands still.
fn anew(data: &SimData, hand: usize, contact: &Contact) -> Anew {
    let [a, b] = contact.movers;
    let candidate = &contact.candidate;
    let is_part = |mover: usize| matches!(data.movers[mover].shape, Shape::Part(_));
    let (tool, other) = if a == hand { (Side::A, b) } else { (Side::B, a) };
    let Some(body) = other.checked_sub(data.hands()) else { return Anew::No };
    if (a != hand && b != hand) || data.movers[other].yields() || !(is_part(a) || is_part(b)) {
        return Anew::No;
    }
    let body = body as u8;
    let pose = &data.movers[other].pose;
    match (candidate.surface == tool, tool) {
        (false, Side::A) => Anew::OnBody { body, point: candidate.point_a },
        (false, Side::B) => Anew::OnBody { body, point: candidate.point_b },
        (true, Side::A) => Anew::OnTool { point: candidate.point_b_world(pose) },
        (true, Side::B) => Anew::OnTool { point: candidate.point_a_world(pose) },
    }
}

fn row(data: &SimData, hand: usize, contact: &Contact, k: usize, places: &[u8]) -> Row {
    let direction = contact.directions[k];
    let pose = |side: usize| &data.movers[contact.movers[side]].pose;
    let row = Row {
        bodies: contact.movers.map(|mover| places[mover]),
        jacobians: [contact.rows[0][k], contact.rows[1][k]],
        ..Row::EMPTY
    };
    match contact.movers.iter().position(|mover| *mover == hand) {
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
