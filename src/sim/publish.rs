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
//! Soft bodies. Their compliance is in the matrix of the snapshot, over all rows that act on them; a row's offset is the place it has
//! without the forces of the rows that travel. A linear body with time travels as what it is at rest and its slow vibrations; the haptic
//! thread follows these itself, each hand those that its own tool excites.

use super::body::When;
use super::body::rigid::Mover;
use super::condense::{Near, Whole, condense};
use super::constraint::{Constraint, End, Span, sign};
use super::ids::{BodyId, HandId, MoverId, PerMover};
use super::source::contact::Contact;
use super::{SimData, SimModel};
use crate::collision::Side;
use crate::math::{Mat6, Pose, Vec3, Vec6, join};
use crate::mechanism::{
    Anew, Block, BlockId, Law, MAX_SCENE_BODIES, MAX_VIBRATIONS, Meaning, MechanismSnapshot, NO_BODY, Row, RowKind,
    SceneBody, TipMark, Vibration,
};

/// A constraint that a hand may feel.
#[derive(Clone, Copy)]
enum Felt<'a> {
    /// Rigid contacts are those of the end of the step.
    Contact(&'a Contact),
    /// Everything else is as it was solved.
    Span(&'a Constraint, &'a Span),
}

impl Felt<'_> {
    fn id(&self) -> BlockId {
        match self {
            Self::Contact(contact) => BlockId::Contact(contact.candidate.id),
            Self::Span(constraint, _) => constraint.id,
        }
    }

    fn law(&self) -> Law {
        match self {
            Self::Contact(contact) => Law::Contact { friction: contact.friction, compliance: 0.0 },
            Self::Span(constraint, _) => constraint.law,
        }
    }

    /// What is on its two sides; none for what nothing moves.
    fn sides(&self, data: &SimData) -> [Option<MoverId>; 2] {
        match self {
            Self::Contact(contact) => contact.movers.map(Some),
            Self::Span(_, span) => [0, 1].map(|side: usize| moved_with(data, &span.ends[side])),
        }
    }

    /// How far it is from being closed, m.
    fn gap(&self, data: &SimData) -> f64 {
        match self {
            Self::Contact(contact) => contact.candidate.gap,
            Self::Span(constraint, span) if constraint.law.is_one_sided(0) => {
                span.violation(0, &data.movers, &data.bodies)
            }
            Self::Span(..) => f64::NEG_INFINITY,
        }
    }
}

/// Writes the mechanism of the step just made as `hand` can feel it; gives the number of constraints that did not fit.
pub(super) fn write_snapshot(model: &SimModel, data: &SimData, hand: HandId, out: &mut MechanismSnapshot) -> u32 {
    let chosen = choose(data, hand);
    out.stamp = data.stamp;
    out.step_s = model.step_s();
    out.pose_world_tool = data.seen[hand.0].pose_world_tool;
    let places = write_bodies(model, data, hand, &chosen, out);
    let whole = whole(data, hand, &chosen, &places);
    let kept: Vec<Felt<'_>> = condense(&whole, out).into_iter().map(|index| chosen[index].0).collect();
    for (index, felt) in kept.iter().enumerate() {
        let rows = out.blocks[index].range();
        out.anew[index] = match felt {
            Felt::Contact(contact) => anew(data, hand, contact),
            Felt::Span(_, span) => node_at_tool(data, hand, span, &mut out.rows[rows]),
        };
    }
    write_vibrations(data, &kept, out);
    out.tip = tip(data, hand);
    out.dropped
}

/// The mechanism of the chosen constraints.
fn whole(data: &SimData, hand: HandId, chosen: &[(Felt<'_>, u32)], places: &PerMover<u8>) -> Whole {
    let mut whole = Whole::default();
    for (felt, hops) in chosen {
        let (first, law) = (whole.lambda.len(), felt.law());
        whole.blocks.push(Block { id: felt.id(), first, law });
        whole.near.push(Near { gap: felt.gap(data), hops: *hops });
        match felt {
            Felt::Contact(_) => whole.lambda.extend(data.assembly.known(felt.id()).unwrap_or([0.0; 3])),
            Felt::Span(constraint, _) => whole.lambda.extend_from_slice(&data.assembly.lambda[constraint.rows()]),
        }
    }
    whole.compliance = compliance(data, chosen, &whole);
    for ((felt, _), block) in chosen.iter().zip(&whole.blocks) {
        for (k, at) in block.range().enumerate() {
            whole.rows.push(match felt {
                Felt::Contact(contact) => row(data, hand, contact, k, places),
                Felt::Span(constraint, span) => {
                    // Offsets of rows on soft bodies are places without the forces that travel.
                    let count = whole.lambda.len();
                    let line = &whole.compliance[at * count..][..count];
                    let given = line.iter().zip(&whole.lambda).map(|(w, force)| w * force).sum();
                    span_row(data, hand, (constraint, span), k, given, places)
                }
            });
        }
    }
    whole
}

/// Matrix of the chosen constraints: the share of soft bodies.
fn compliance(data: &SimData, chosen: &[(Felt<'_>, u32)], whole: &Whole) -> Vec<f64> {
    let count = whole.lambda.len();
    let mut out = vec![0.0; count * count];
    let soft = |((felt, _), block): (&(Felt<'_>, u32), &Block)| match felt {
        Felt::Span(constraint, _) if constraint.is_soft() => Some((block.first, constraint.rows())),
        _ => None,
    };
    let soft: Vec<_> = chosen.iter().zip(&whole.blocks).filter_map(soft).collect();
    for (first, rows) in &soft {
        for (a, row) in rows.clone().enumerate() {
            let line = &mut out[(first + a) * count..][..count];
            let Some((island, given)) = data.assembly.soft_row(row) else { continue };
            for (second, columns) in soft.iter().filter(|(_, columns)| island.contains(&columns.start)) {
                let from = &given[columns.start - island.start..columns.end - island.start];
                line[*second..second + columns.len()].copy_from_slice(from);
            }
        }
    }
    out
}

/// The tip of the needle that a hand holds.
fn tip(data: &SimData, hand: HandId) -> Option<TipMark> {
    let needle = data.needle.as_ref().filter(|_| hand == HandId(0))?;
    Some(TipMark { block: needle.tip_id?, known: needle.known, grows_n_per_m: needle.tip_grows })
}

/// Writes the bodies of the chosen constraints; gives the place of each tool and body among them.
fn write_bodies(
    model: &SimModel,
    data: &SimData,
    hand: HandId,
    chosen: &[(Felt<'_>, u32)],
    out: &mut MechanismSnapshot,
) -> PerMover<u8> {
    let mut places = data.for_each_mover(NO_BODY);
    out.body_count = 0;
    for side in chosen.iter().flat_map(|(felt, _)| felt.sides(data)).flatten() {
        if side == MoverId::Tool(hand) || places[side] != NO_BODY || out.body_count == MAX_SCENE_BODIES {
            continue;
        }
        if let Some(body) = scene_body(model, data, side) {
            places[side] = out.body_count as u8;
            out.bodies[out.body_count] = body;
            out.body_count += 1;
        }
    }
    places
}

/// A tool or body as the haptic thread moves it on; none for what does not move as a whole.
fn scene_body(model: &SimModel, data: &SimData, side: MoverId) -> Option<SceneBody> {
    let BodyId(index) = match side {
        MoverId::Body(body) => body,
        MoverId::Tool(hand) => {
            let tool = &data.seen[hand.0];
            let inverse_mass = tool.pull.map_or_else(Mat6::zeros, |_| model.tools[hand.0].inverse_mass());
            let acceleration = inverse_mass * tool.pull.unwrap_or_default();
            return Some(SceneBody { index: NO_BODY, inverse_mass, twist: tool.twist_tool, acceleration });
        }
    };
    let body = data.movers.get(side).filter(|body| body.yields())?;
    Some(SceneBody {
        index: index as u8,
        inverse_mass: body.inverse_mass,
        twist: body.twist,
        acceleration: (body.free - body.twist) * (2.0 / model.step_s()),
    })
}

/// True when what is done to a tool or body can be felt by `hand` through it: it yields, and is not the hand's own tool.
fn passes_on(data: &SimData, hand: HandId, side: MoverId) -> bool {
    match side {
        MoverId::Tool(other) => other != hand,
        MoverId::Body(body) => data.bodies[body].is_soft() || data.movers.get(side).is_some_and(Mover::yields),
    }
}

/// Constraints of the hand's tool and of the bodies that hang on it, with the number of bodies between each and the tool.
fn choose(data: &SimData, hand: HandId) -> Vec<(Felt<'_>, u32)> {
    let contacts = data.tool_contacts.iter().chain(&data.contacts).map(Felt::Contact);
    let spans = data.assembly.constraints.iter().filter_map(|c| c.span().map(|span| Felt::Span(c, span)));
    let all: Vec<Felt<'_>> = contacts.chain(spans).collect();
    let sides: Vec<[Option<MoverId>; 2]> = all.iter().map(|felt| felt.sides(data)).collect();
    let mut hops = data.for_each_mover(None);
    hops[MoverId::Tool(hand)] = Some(0);
    for round in 0.. {
        let mut grown = false;
        for [a, b] in &sides {
            let (Some(a), Some(b)) = (a, b) else { continue };
            for (from, to) in [(*a, *b), (*b, *a)] {
                if hops[from] == Some(round) && passes_on(data, hand, to) && hops[to].is_none() {
                    hops[to] = Some(round + 1);
                    grown = true;
                }
            }
        }
        if !grown {
            break;
        }
    }
    let reached = |sides: &[Option<MoverId>; 2]| sides.iter().flatten().filter_map(|side| hops[*side]).min();
    all.into_iter().zip(&sides).filter_map(|(felt, sides)| Some((felt, reached(sides)?))).collect()
}

/// What the haptic thread can ask about a contact of its tool: those of parts, with what stands still.
fn anew(data: &SimData, hand: HandId, contact: &Contact) -> Anew {
    let [a, b] = contact.movers;
    let candidate = &contact.candidate;
    let is_part = |mover: MoverId| data.movers[mover].shape.has_nodes();
    let own = MoverId::Tool(hand);
    let (tool, other) = if a == own { (Side::A, b) } else { (Side::B, a) };
    let Some(BodyId(body)) = other.body() else { return Anew::No };
    if (a != own && b != own) || data.movers[other].yields() || !(is_part(a) || is_part(b)) {
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

fn row(data: &SimData, hand: HandId, contact: &Contact, k: usize, places: &PerMover<u8>) -> Row {
    let direction = contact.directions[k];
    let pose = |side: usize| &data.movers[contact.movers[side]].pose;
    let row = Row {
        bodies: contact.movers.map(|mover| places[mover]),
        jacobians: [contact.rows[0][k], contact.rows[1][k]],
        ..Row::EMPTY
    };
    match contact.movers.iter().position(|mover| *mover == MoverId::Tool(hand)) {
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

/// Row `k` of a constraint with a soft or still end. `given` is what the forces that travel move it by.
fn span_row(
    data: &SimData,
    hand: HandId,
    (constraint, span): (&Constraint, &Span),
    k: usize,
    given: f64,
    places: &PerMover<u8>,
) -> Row {
    let direction = span.directions[k];
    let mut row = Row::EMPTY;
    let mut on_tool = None;
    let own = [0, 1].map(|side: usize| moved_with(data, &span.ends[side]) == Some(MoverId::Tool(hand)));
    for (side, end) in span.ends.iter().enumerate() {
        let Some(moved) = moved_with(data, end) else { continue };
        let (jacobian, point_world) = match end {
            End::Still { .. } => continue,
            End::Tool { hand: other, point_tool, end, .. } => {
                (row_at(&data.seen[other.0].pose_world_tool, point_tool, &direction), *end)
            }
            End::Rigid { mover, point_body, rows } => {
                let pose = &data.movers[*mover].pose;
                (rows[k] * sign(side), pose.rotation * point_body + pose.translation.vector)
            }
            End::Led { mover, point_body, .. } => {
                let pose = &data.movers[*mover].pose;
                (row_at(pose, point_body, &direction), pose.rotation * point_body + pose.translation.vector)
            }
            End::Soft { body, anchor } => {
                let body = &data.bodies[*body];
                row.lead_s = row.lead_s.max(body.lead_s());
                row.drift += sign(side) * body.frame().map_or(0.0, |frame| direction.dot(&frame.speed));
                let point = body.place(anchor, k, When::Now);
                (soft_row(data, moved, &point, &direction), point)
            }
        };
        if own[side] {
            // A row between two points of the tool does not move with it.
            on_tool = (own != [true; 2]).then_some((sign(side), point_world));
        } else if places[moved] != NO_BODY {
            row.bodies[side] = places[moved];
            row.jacobians[side] = jacobian * sign(side);
        }
    }
    if constraint.law.slides(k) {
        row.lead_s = 0.0;
    }
    let open = match constraint.law.meaning(k) {
        Meaning::Slip if on_tool.is_none() => 0.0,
        // The step has closed it, but for what the law gives way.
        _ if span.turns.is_some() && constraint.is_soft() => -law_gives(data, constraint, k) - given,
        _ => span.violation(k, &data.movers, &data.bodies) - given,
    };
    let Some((sign, point)) = on_tool else { return Row { kind: RowKind::Scene, offset: -open, ..row } };
    let tool = &data.seen[hand.0].pose_world_tool;
    let point_tool = tool.rotation.inverse_transform_vector(&(point - tool.translation.vector));
    let direction = direction * sign;
    Row { kind: RowKind::Point, direction, point_tool, offset: direction.dot(&point) - open, ..row }
}

/// Deflection of the law of a constraint under the force of row `k`.
fn law_gives(data: &SimData, constraint: &Constraint, k: usize) -> f64 {
    constraint.law.compliance() * data.assembly.lambda[constraint.first + k]
}

/// A node of a held linear body at the hand's tool travels with its place without the forces that travel: the tick queries the tool there.
/// The directions of its rows are orthonormal, so that the offsets are the components of that place.
/// Of a body with time it is the place at rest.
fn node_at_tool(data: &SimData, hand: HandId, span: &Span, rows: &mut [Row]) -> Anew {
    let [End::Soft { body, anchor }, End::Tool { hand: other, .. }] = &span.ends else { return Anew::No };
    let turns = |row: &Row| row.kind == RowKind::Point && row.drift == 0.0 && row.bodies == [NO_BODY; 2];
    let Some(elastic) = data.bodies[*body].elastic() else { return Anew::No };
    if *other != hand || rows.len() != 3 || !rows.iter().all(turns) {
        return Anew::No;
    }
    let mut place: Vec3 = rows.iter().map(|row| row.direction * row.offset).sum();
    if elastic.vibrations().is_some() {
        place += elastic.place_at_rest(anchor) - data.bodies[*body].place(anchor, 0, When::Now);
        rows.iter_mut().for_each(|row| row.offset = row.direction.dot(&place));
    }
    Anew::OfNode { place }
}

/// The slow vibrations of the bodies whose nodes travel, as far as there is room.
fn write_vibrations(data: &SimData, chosen: &[Felt<'_>], out: &mut MechanismSnapshot) {
    out.vibration_count = 0;
    for (index, felt) in chosen.iter().enumerate() {
        out.shapes[index] = [Vec3::zeros(); MAX_VIBRATIONS];
        let (Felt::Span(_, span), Anew::OfNode { .. }) = (felt, out.anew[index]) else { continue };
        let [End::Soft { body, anchor }, _] = &span.ends else { continue };
        let Some(elastic) = data.bodies[*body].elastic() else { continue };
        let (Some(slow), BodyId(body)) = (elastic.vibrations(), *body) else { continue };
        for number in 0..slow.squares.len() {
            let name = (body as u16, number as u16);
            let known = out.vibrations().iter().position(|vibration| (vibration.body, vibration.number) == name);
            let slot = known.unwrap_or(out.vibration_count);
            if slot == MAX_VIBRATIONS {
                break;
            }
            let (square, rate) = (slow.squares[number], slow.rates[number]);
            out.vibrations[slot] = Vibration { body: name.0, number: name.1, square, rate };
            out.vibration_count = out.vibration_count.max(slot + 1);
            out.shapes[index][slot] = elastic.shape(anchor, number);
        }
    }
}

/// What moves an end: a soft body that a tool carries moves with the tool, but for its deformation, which is in `W`.
fn moved_with(data: &SimData, end: &End) -> Option<MoverId> {
    match end {
        End::Still { .. } => None,
        End::Tool { hand, .. } => Some(MoverId::Tool(*hand)),
        End::Rigid { mover, .. } | End::Led { mover, .. } => Some(*mover),
        End::Soft { body, .. } => {
            let carried = data.bodies[*body].hand().map(MoverId::Tool);
            carried.or(Some(MoverId::Body(*body)))
        }
    }
}

/// Row of a point of a soft body on the twist of the tool that carries it; zero on another carrier.
fn soft_row(data: &SimData, moved: MoverId, point: &Vec3, direction: &Vec3) -> Vec6 {
    let MoverId::Tool(hand) = moved else { return Vec6::zeros() };
    let tool = &data.seen[hand.0].pose_world_tool;
    row_at(tool, &tool.inverse_transform_point(&(*point).into()).coords, direction)
}

/// Row of a point fixed to something at `pose`, along a direction, on its twist.
fn row_at(pose: &Pose, point: &Vec3, direction: &Vec3) -> Vec6 {
    join(direction, &point.cross(&pose.rotation.inverse_transform_vector(direction)))
}
