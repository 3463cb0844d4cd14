//! Stages 5 and 7 of a step: velocities that obey the contact law, positions that do not overlap.
//!
//! Thread: simulation.
//!
//! Why settle. Stage 3 puts the law on the midpoint. A midpoint at rest means `v_{k+1} = −v_k`, so by itself it would
//! reflect what it should stop; and a body that turns on an edge would carry an error of its velocity, alternating in
//! sign, along for ever. So the impulses of the step are found again with the law on `v_{k+1}` and rows at the end of the
//! step (seed 001 eq. 2, seed 000 eq. 28 with its restitution). They are total impulses: settling may take back what the
//! midpoint gave. It is skipped when velocities obey the law already, which includes every contact that goes on slipping.
//!
//! Energy. `given` is what contact as a whole adds during the step, midpoint and settling; it must not be positive. A
//! rebound that would break this (Newton's law of restitution with friction can) is left out; without a rebound settling
//! goes as far as energy allows.
//!
//! Rebound. The speed of an impact is not that at the start of the step but that at the surface,
//! `v² = v_k² − 2 a d` with the free acceleration `a` over the gap `d`; the body is put on the surface at the end of the
//! step with `e v`. Its energy is then right to round-off, whatever the step; its time is late by less than a step.
//!
//! Overlap. Seed 000 corrects it by adding `d/T` to the velocity, which pays with kinetic energy that was not there.
//! Stage 7 moves positions, and what that lifts is paid for with the speed of the bodies that were moved. What they cannot
//! pay is reported: it is nothing unless surfaces are curved or a scene begins with an overlap.

use super::data::Mover;
use super::rows::{Bent, Contact};
use super::step::{fill_compliance, wrench_on};
use super::{SimData, SimModel};
use crate::math::{Vec3, advance};
use crate::mechanism::newton::{Workspace, solve_robustly};
use crate::mechanism::solver::Settings;
use crate::mechanism::{Block, BlockId, Law, Problem};

/// Overlap below which nothing is pushed apart, m.
const OVERLAP_LEFT_M: f64 = 1e-9;
/// How much a contact gives way when bodies are pushed apart, in parts of what it moves them.
const GIVES: f64 = 1e-3;
/// How far a point of contact may be moved when bodies are pushed apart, in parts of the deepest overlap.
const MOST_WAY: f64 = 2.0;
/// Gap at the end of the step up to which a contact counts as closed, m.
const CLOSED_M: f64 = 1e-10;
/// The same for a contact that carries force, m: a solve that comes from inside leaves traces of force on contacts that are open.
const CARRYING_M: f64 = 1e-8;
/// The same for machined parts, m, whose surfaces are rougher than this. Points that stand for a curved face are feet that a part would
/// rock on, this far off the ground, and hardly ever come to rest.
const CLOSED_OF_PARTS_M: f64 = 2e-7;
/// Speed at a contact below which it counts as none, m/s.
const AT_REST_M_PER_S: f64 = 1e-9;
/// Impact speed below which there is no rebound, in units of the speed gravity gives in a step.
const REBOUND_STEPS: f64 = 2.0;
/// Energy, relative to what goes to and fro in the step, that counts as none.
const ROUND_OFF: f64 = 1e-14;

/// How much short of a whole rebound energy may leave it: more than the solve misses, less than matters.
const SHORT: f64 = 1e-6;

/// The contacts that are closed at the end of the step.
struct Closed {
    /// Their places in `data.contacts`.
    from: Vec<usize>,
    /// Themselves, with rows at the end of the step.
    contacts: Vec<Contact>,
    /// Their impulses at the midpoint, N·s.
    done: Vec<f64>,
    /// Speed each should leave with at least, m/s.
    rebounds: Vec<f64>,
    /// All movers: `free` is their twist at the end of the step.
    ends: Vec<Mover>,
}

/// Stage 5: see the file's head.
pub(super) fn settle(model: &SimModel, data: &mut SimData, step_s: f64) {
    let closed = Closed::of(model, data, step_s);
    if closed.obeys(data) {
        return;
    }
    let rows = closed.done.len();
    let mut compliance = Vec::new();
    fill_compliance(&mut compliance, rows, &closed.contacts, &closed.ends, 1.0, |mover| mover.inverse_mass);
    let bounces = closed.rebounds.iter().any(|speed| *speed > 0.0);
    if bounces
        && let Some(impulses) = closed.impulses(&compliance, 1.0, &model.solver, &mut data.workspace)
        && closed.strike(data, &impulses, false, step_s)
    {
        return;
    }
    if let Some(impulses) = closed.impulses(&compliance, 0.0, &model.solver, &mut data.workspace) {
        closed.strike(data, &impulses, true, step_s);
    }
}

impl Closed {
    fn of(model: &SimModel, data: &SimData, step_s: f64) -> Self {
        let gap = |contact: &Contact| {
            contact.candidate.gap.max(0.0)
                + step_s * contact.rate(0, &data.movers, |mover| mover.midpoint + mover.creep)
        };
        let closed = |i: usize| match data.contacts[i].is_of_part(&data.movers) {
            true => CLOSED_OF_PARTS_M,
            false if data.lambda[3 * i] > 0.0 => CARRYING_M,
            false => CLOSED_M,
        };
        let from: Vec<usize> = (0..data.contacts.len()).filter(|i| gap(&data.contacts[*i]) < closed(*i)).collect();
        let ends = ends(data);
        let slow = REBOUND_STEPS * step_s * model.gravity.norm();
        let rebound = |contact: &Contact| {
            let start = contact.rate(0, &data.movers, |mover| mover.twist);
            let middle = contact.rate(0, &data.movers, |mover| mover.free);
            let acceleration = (middle - start) * 2.0 / step_s;
            let square = start * start - 2.0 * acceleration * contact.candidate.gap.max(0.0);
            let speed = if start < 0.0 || middle < 0.0 { square.max(0.0).sqrt() } else { 0.0 };
            if speed > slow { contact.restitution * speed } else { 0.0 }
        };
        let placed = |i: &usize| {
            let mut contact = data.contacts[*i];
            contact.place(&ends);
            contact
        };
        Self {
            contacts: from.iter().map(placed).collect(),
            done: from.iter().flat_map(|i| [0, 1, 2].map(|k| data.lambda[3 * i + k] * step_s)).collect(),
            rebounds: from.iter().map(|i| rebound(&data.contacts[*i])).collect(),
            from,
            ends,
        }
    }

    /// True when the velocities at the end of the step are those of the law already.
    fn obeys(&self, data: &SimData) -> bool {
        self.contacts.iter().enumerate().all(|(i, contact)| {
            let (normal, tangent) = (self.done[3 * i], self.done[3 * i + 1].hypot(self.done[3 * i + 2]));
            let end = contact.rates(&self.ends, |mover| mover.free);
            if self.rebounds[i] > 0.0 || end[0] < -AT_REST_M_PER_S {
                return false;
            }
            if normal == 0.0 {
                return true;
            }
            let slip = data.contacts[self.from[i]].rates(&data.movers, |mover| mover.midpoint);
            let slides =
                slip[1].hypot(slip[2]) > AT_REST_M_PER_S && tangent >= contact.friction * normal * (1.0 - 1e-9);
            let along = if slides { end[1] * slip[1] + end[2] * slip[2] >= 0.0 } else { false };
            end[0] < AT_REST_M_PER_S && (along || end[1].hypot(end[2]) < AT_REST_M_PER_S)
        })
    }

    /// Total impulses of the step under the law on velocities, with `bounce` times the rebound.
    fn impulses(&self, compliance: &[f64], bounce: f64, settings: &Settings, work: &mut Workspace) -> Option<Vec<f64>> {
        let rows = self.done.len();
        let blocks: Vec<Block> =
            self.contacts.iter().enumerate().map(|(i, contact)| block(i, contact.friction)).collect();
        let mut free = Vec::with_capacity(rows);
        for (i, contact) in self.contacts.iter().enumerate() {
            for k in 0..3 {
                let row = &compliance[(3 * i + k) * rows..][..rows];
                let undone: f64 = row.iter().zip(&self.done).map(|(w, p)| w * p).sum();
                let rate = contact.rate(k, &self.ends, |mover| mover.free);
                free.push(rate - undone - if k == 0 { bounce * self.rebounds[i] } else { 0.0 });
            }
        }
        let problem = Problem { blocks: &blocks, compliance, stride: rows, free: &free };
        let mut impulses = self.done.clone();
        solve_robustly(&problem, &mut impulses, settings, work, || false);
        impulses.iter().all(|x| x.is_finite()).then_some(impulses)
    }

    /// Changes the impulses to `impulses`, in part if need be and `partly` is set, unless contact as a whole would then have
    /// given energy; false when it would.
    fn strike(&self, data: &mut SimData, impulses: &[f64], partly: bool, step_s: f64) -> bool {
        let change: Vec<f64> = impulses.iter().zip(&self.done).map(|(p, d)| p - d).collect();
        // given(α) = work at the midpoint + α · first + α² · second
        let (mut work, mut first, mut second, mut size) = (0.0, 0.0, 0.0, 0.0);
        for (contact, force) in data.contacts.iter().zip(data.lambda.chunks_exact(3)) {
            let rates = contact.rates(&data.movers, |mover| mover.midpoint);
            work += step_s * rates.dot(&Vec3::new(force[0], force[1], force[2]));
        }
        let mut gains = Vec::with_capacity(self.ends.len());
        for (mover, end) in self.ends.iter().enumerate() {
            let impulse = wrench_on(mover, &self.contacts, &change);
            let gain = end.inverse_mass * impulse;
            first += impulse.dot(&end.free);
            second += 0.5 * impulse.dot(&gain);
            size += impulse.component_mul(&end.free).abs().sum() + 0.5 * impulse.dot(&gain).abs();
            gains.push(gain);
        }
        let share = share_allowed(work.min(0.0), first, second, ROUND_OFF * (size + work.abs()));
        if share < 1.0 - SHORT && !partly {
            return false;
        }
        let hands = data.hands();
        for (index, body) in data.bodies.iter_mut().enumerate() {
            let gain = gains[hands + index] * share;
            if let Some(body) = body
                && gain.norm() > 0.0
            {
                body.strike(body.twist() + gain);
            }
        }
        for (place, change) in self.from.iter().zip(change.chunks_exact(3)) {
            for k in 0..3 {
                data.impulses[3 * place + k] += share * change[k];
            }
        }
        true
    }
}

/// Largest `α` up to one with `work + α first + α² second ≤ slack`, for `work ≤ 0 ≤ second`.
fn share_allowed(work: f64, first: f64, second: f64, slack: f64) -> f64 {
    if work + first + second <= slack {
        return 1.0;
    }
    let root = (first * first - 4.0 * second * work).max(0.0).sqrt();
    // The form without cancellation for either sign of `first`.
    let share = if first > 0.0 { -2.0 * work / (first + root) } else { (root - first) / (2.0 * second) };
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// All movers at the end of the step.
fn ends(data: &SimData) -> Vec<Mover> {
    let mut ends = data.movers.clone();
    for (end, body) in ends[data.hands()..].iter_mut().zip(&data.bodies) {
        if let Some(body) = body {
            (end.free, end.bent) = (*body.twist(), Bent::at(*body.pose()));
        }
    }
    ends
}

fn block(index: usize, friction: f64) -> Block {
    Block { id: BlockId::Custom(0), first: 3 * index, law: Law::Contact { friction, compliance: 0.0 } }
}

/// Stage 7: moves bodies out of what overlap there is, shortest way in the metric of their masses; tools stay. Gives the
/// energy that nobody paid for, J.
pub(super) fn push_apart(model: &SimModel, data: &mut SimData) -> f64 {
    let all = data.contacts.iter().chain(&data.tool_contacts);
    // Between a tool and what stands still there is nothing to move, and two tools are for their hands to part.
    let yields =
        |contact: &Contact| contact.movers.iter().any(|mover| *mover >= data.hands() && data.movers[*mover].yields());
    let deep = |contact: &&Contact| contact.candidate.gap < -OVERLAP_LEFT_M && yields(contact);
    let contacts: Vec<Contact> = all.filter(deep).copied().collect();
    if contacts.is_empty() {
        return 0.0;
    }
    let free: Vec<f64> = contacts.iter().flat_map(|contact| [contact.candidate.gap, 0.0, 0.0]).collect();
    let movers = &data.movers;
    let rows = free.len();
    let mut compliance = Vec::new();
    fill_compliance(&mut compliance, rows, &contacts, movers, 1.0, |mover| mover.inverse_mass);
    // A body squeezed between two that do not yield cannot be freed: each contact gives way a little, so that it ends
    // between them instead of somewhere else, and nothing is moved much further than the overlap is deep.
    let gives = |i: usize| GIVES * compliance[3 * i * rows + 3 * i];
    let law = |i: usize| Law::Contact { friction: 0.0, compliance: gives(i) };
    let blocks: Vec<Block> =
        (0..contacts.len()).map(|i| Block { id: BlockId::Custom(0), first: 3 * i, law: law(i) }).collect();
    let problem = Problem { blocks: &blocks, compliance: &compliance, stride: rows, free: &free };
    let mut push = vec![0.0; rows];
    solve_robustly(&problem, &mut push, &model.solver, &mut data.workspace, || false);
    let way = |row: usize| problem.violation(row, &push) - free[row];
    let farthest = (0..rows).fold(0.0, |most: f64, row| most.max(way(row).abs()));
    let deepest = free.iter().fold(0.0, |most: f64, gap| most.max(-gap));
    let share = (MOST_WAY * deepest / farthest).min(1.0);
    let (hands, mut lifted, mut moved) = (data.hands(), 0.0, Vec::new());
    for (index, body) in data.bodies.iter_mut().enumerate() {
        let Some(body) = body else { continue };
        let mover = &mut data.movers[hands + index];
        let shift = mover.inverse_mass * wrench_on(hands + index, &contacts, &push) * share;
        if shift.iter().all(|x| x.is_finite()) && shift.norm() > 0.0 {
            let before = body.ledger().potential_j();
            body.shift(advance(body.pose(), &shift, 1.0));
            lifted += body.ledger().potential_j() - before;
            (mover.pose, mover.bent) = (*body.pose(), Bent::at(*body.pose()));
            data.request.poses[hands + index] = *body.pose();
            moved.push(index);
        }
    }
    for contact in data.contacts.iter_mut().chain(&mut data.tool_contacts) {
        contact.candidate.refresh(&data.movers[contact.movers[0]].pose, &data.movers[contact.movers[1]].pose);
        contact.place(&data.movers);
    }
    let unpaid = if lifted > 0.0 { pay(data, &moved, lifted) } else { 0.0 };
    for (mover, body) in data.movers[hands..].iter_mut().zip(&data.bodies) {
        mover.twist = body.as_ref().map_or(mover.twist, |body| *body.twist());
    }
    unpaid
}

/// Slows bodies down until `owed` is paid or they stand still; gives what is left to pay, J.
fn pay(data: &mut SimData, bodies: &[usize], owed: f64) -> f64 {
    let of = |data: &SimData| -> f64 {
        bodies.iter().filter_map(|index| data.bodies[*index].as_ref()).map(|body| body.ledger().kinetic_j()).sum()
    };
    let kinetic = of(data);
    let left = if kinetic > owed { (1.0 - owed / kinetic).sqrt() } else { 0.0 };
    for index in bodies {
        if let Some(body) = &mut data.bodies[*index] {
            body.strike(body.twist() * left);
        }
    }
    (owed - kinetic).max(0.0)
}
