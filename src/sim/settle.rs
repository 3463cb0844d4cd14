//! Stage 8 of a step: velocities that obey the laws, positions that do not overlap.
//!
//! Thread: simulation.
//!
//! Why settle. Stage 6 puts the law on the midpoint. A midpoint at rest means `v_{k+1} = −v_k`, so by itself it would
//! reflect what it should stop; and a body that turns on an edge would carry an error of its velocity, alternating in
//! sign, along for ever. So the impulses of the step are found again with the law on `v_{k+1}` and rows at the end of the
//! step (Yoon et al. eq. 2, seed 000 eq. 28 with its restitution). They are total impulses: settling may take back what the
//! midpoint gave. Settling is skipped when velocities obey the law already, which includes every contact that goes on slipping.
//!
//! Soft ends. A soft body has no midpoint to be corrected: its end moves with the displacement of the step over its length, and an impulse
//! changes that by `W/T²`, as in the haptic tick. A body with a velocity of its own takes the impulses as well; others pass them on to their
//! support.
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
//! [`push_apart`] moves positions of rigid bodies, keeps the angular momentum of those that touch nothing else ([`super::spin`]), and what that lifts is paid for with the speed of the bodies that were moved. What they
//! cannot pay is reported: it is nothing unless surfaces are curved or a scene begins with an overlap.

use super::assemble::{add_rigid, wrench_on};
use super::body::Body;
use super::body::rigid::{Bent, Mover};
use super::constraint::{Constraint, Kind};
use super::ids::{BodyId, MoverId, PerMover};
use super::source::contact::Contact;
use super::spin::give_back;
use super::{SimData, SimModel};
use crate::math::advance;
use crate::mechanism::newton::{Workspace, solve_robustly};
use crate::mechanism::solver::Settings;
use crate::mechanism::{Block, Law, Problem};

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

/// The constraints that are closed at the end of the step.
struct Closed {
    /// Their places among the constraints of the step.
    from: Vec<usize>,
    /// Themselves, with rows at the end of the step, numbered anew.
    constraints: Vec<Constraint>,
    /// Their impulses at the midpoint, N·s.
    done: Vec<f64>,
    /// Speed each should leave with at least, m/s.
    rebounds: Vec<f64>,
    /// Velocity of the soft ends along each row, m/s.
    soft: Vec<f64>,
    /// All movers: `free` is their twist at the end of the step.
    ends: PerMover<Mover>,
}

/// See the file's head.
pub(super) fn settle(model: &SimModel, data: &mut SimData, step_s: f64) {
    let closed = Closed::of(model, data, step_s);
    if closed.obeys(data) {
        return;
    }
    let compliance = closed.compliance(data, step_s);
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

/// True when a constraint of the step is closed at its end and settles.
fn is_closed(data: &SimData, constraint: &Constraint, step_s: f64) -> bool {
    let force = data.assembly.lambda[constraint.first];
    match &constraint.kind {
        Kind::Contact(contact) => {
            let most = match contact.is_of_part(&data.movers) {
                true => CLOSED_OF_PARTS_M,
                false if force > 0.0 => CARRYING_M,
                false => CLOSED_M,
            };
            let rate = contact.rate(0, &data.movers, |mover| mover.midpoint + mover.creep);
            contact.candidate.gap.max(0.0) + step_s * rate < most
        }
        // Other constraints act on rigid bodies as joints do, or as contacts that carry force.
        Kind::Span(_) => {
            let moves = (0..2).any(|side| constraint.rigid_rows(side).is_some());
            moves && (constraint.law.conic().is_some() && (!constraint.law.opens() || force > 0.0))
        }
    }
}

/// Speed that a rigid contact should leave with.
fn rebound(model: &SimModel, data: &SimData, contact: &Contact, step_s: f64) -> f64 {
    let slow = REBOUND_STEPS * step_s * model.gravity.norm();
    let start = contact.rate(0, &data.movers, |mover| mover.twist);
    let middle = contact.rate(0, &data.movers, |mover| mover.free);
    let acceleration = (middle - start) * 2.0 / step_s;
    let square = start * start - 2.0 * acceleration * contact.candidate.gap.max(0.0);
    let speed = if start < 0.0 || middle < 0.0 { square.max(0.0).sqrt() } else { 0.0 };
    if speed > slow { contact.restitution * speed } else { 0.0 }
}

impl Closed {
    fn of(model: &SimModel, data: &SimData, step_s: f64) -> Self {
        let all = &data.assembly.constraints;
        let from: Vec<usize> = (0..all.len()).filter(|i| is_closed(data, &all[*i], step_s)).collect();
        let ends = ends(data);
        let (mut constraints, mut done, mut rebounds, mut soft) =
            (Vec::with_capacity(from.len()), Vec::new(), Vec::with_capacity(from.len()), Vec::new());
        for at in &from {
            let old = &all[*at];
            let mut constraint = old.clone();
            constraint.first = done.len();
            if let Kind::Span(span) = &mut constraint.kind {
                span.meet_now(&data.bodies);
            }
            constraint.place(&ends);
            done.extend(data.assembly.lambda[old.rows()].iter().map(|force| force * step_s));
            soft.extend_from_slice(&data.soft_speeds[old.rows()]);
            rebounds.push(old.contact().map_or(0.0, |contact| rebound(model, data, contact, step_s)));
            constraints.push(constraint);
        }
        Self { from, constraints, done, rebounds, soft, ends }
    }

    /// Change of the rates of rows for a unit impulse on each, row-major.
    fn compliance(&self, data: &SimData, step_s: f64) -> Vec<f64> {
        let rows = self.done.len();
        let mut out = vec![0.0; rows * rows];
        add_rigid(&mut out, rows, 0, &self.constraints, &self.ends, 1.0, |mover| mover.inverse_mass);
        let all = &data.assembly.constraints;
        let soft = |i: &usize| self.constraints[*i].is_soft();
        for i in (0..self.from.len()).filter(soft) {
            for j in (0..self.from.len()).filter(soft) {
                for a in 0..self.constraints[i].law.rows() {
                    for b in 0..self.constraints[j].law.rows() {
                        let (row, column) = (all[self.from[i]].first + a, all[self.from[j]].first + b);
                        let yielding = data.assembly.soft_between(row, column) / (step_s * step_s);
                        out[(self.constraints[i].first + a) * rows + self.constraints[j].first + b] += yielding;
                    }
                }
            }
        }
        out
    }

    /// Rate of row `k` of a constraint at the end of the step.
    fn rate(&self, constraint: &Constraint, k: usize) -> f64 {
        constraint.rate(k, &self.ends, |mover| mover.free) + self.soft[constraint.first + k]
    }

    /// True when the velocities at the end of the step are those of the law already.
    fn obeys(&self, data: &SimData) -> bool {
        self.constraints.iter().enumerate().all(|(i, constraint)| {
            let rows = constraint.law.rows();
            let mut end = [0.0; 3];
            (0..rows).for_each(|k| end[k] = self.rate(constraint, k));
            let Some(contact) = constraint.contact() else {
                return end.iter().all(|rate| rate.abs() < AT_REST_M_PER_S);
            };
            let done = &self.done[constraint.rows()];
            let (normal, tangent) = (done[0], done[1].hypot(done[2]));
            if self.rebounds[i] > 0.0 || end[0] < -AT_REST_M_PER_S {
                return false;
            }
            if normal == 0.0 {
                return true;
            }
            let old = &data.assembly.constraints[self.from[i]];
            let slip = [1, 2].map(|k| old.rate(k, &data.movers, |mover| mover.midpoint));
            let slides =
                slip[0].hypot(slip[1]) > AT_REST_M_PER_S && tangent >= contact.friction * normal * (1.0 - 1e-9);
            let along = if slides { end[1] * slip[0] + end[2] * slip[1] >= 0.0 } else { false };
            end[0] < AT_REST_M_PER_S && (along || end[1].hypot(end[2]) < AT_REST_M_PER_S)
        })
    }

    /// Total impulses of the step under the law on velocities, with `bounce` times the rebound.
    fn impulses(&self, compliance: &[f64], bounce: f64, settings: &Settings, work: &mut Workspace) -> Option<Vec<f64>> {
        let rows = self.done.len();
        let block = |c: &Constraint| Block { id: c.id, first: c.first, law: c.law.giving(0.0) };
        let blocks: Vec<Block> = self.constraints.iter().map(block).collect();
        let mut free = Vec::with_capacity(rows);
        for (constraint, rebound) in self.constraints.iter().zip(&self.rebounds) {
            for k in 0..constraint.law.rows() {
                let row = &compliance[(constraint.first + k) * rows..][..rows];
                let undone: f64 = row.iter().zip(&self.done).map(|(w, p)| w * p).sum();
                free.push(self.rate(constraint, k) - undone - if k == 0 { bounce * rebound } else { 0.0 });
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
        for constraint in data.assembly.constraints.iter().filter(|constraint| constraint.contact().is_some()) {
            let force = &data.assembly.lambda[constraint.rows()];
            let power: f64 = (0..3).map(|k| constraint.rate(k, &data.movers, |m| m.midpoint) * force[k]).sum();
            work += step_s * power;
        }
        let mut gains = Vec::with_capacity(self.ends.bodies.len());
        for mover in self.ends.ids() {
            let end = &self.ends[mover];
            let impulse = wrench_on(mover, &self.constraints, &change);
            let gain = end.inverse_mass * impulse;
            first += impulse.dot(&end.free);
            second += 0.5 * impulse.dot(&gain);
            size += impulse.component_mul(&end.free).abs().sum() + 0.5 * impulse.dot(&gain).abs();
            if !mover.is_tool() {
                gains.push(gain);
            }
        }
        let share = share_allowed(work.min(0.0), first, second, ROUND_OFF * (size + work.abs()));
        if share < 1.0 - SHORT && !partly {
            return false;
        }
        for (body, gain) in data.bodies.iter_mut().zip(&gains) {
            let gain = gain * share;
            if let Body::Rigid(body) = body
                && gain.norm() > 0.0
            {
                body.strike(body.twist() + gain);
            }
        }
        let mut on_soft = vec![0.0; data.impulses.len()];
        for (at, constraint) in self.from.iter().zip(&self.constraints) {
            let first = data.assembly.constraints[*at].first;
            for k in 0..constraint.law.rows() {
                on_soft[first + k] = share * change[constraint.first + k];
                data.impulses[first + k] += on_soft[first + k];
            }
        }
        if self.constraints.iter().any(Constraint::is_soft) {
            data.assembly.strike(&mut data.bodies, &on_soft);
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
fn ends(data: &SimData) -> PerMover<Mover> {
    let mut ends = data.movers.clone();
    for (end, body) in ends.bodies.iter_mut().zip(&data.bodies) {
        if let Body::Rigid(body) = body {
            (end.free, end.bent) = (*body.twist(), Bent::at(*body.pose()));
        }
    }
    ends
}

/// Moves rigid bodies out of what overlap there is, shortest way in the metric of their masses; tools stay. Gives the
/// energy that nobody paid for, J.
pub(super) fn push_apart(model: &SimModel, data: &mut SimData) -> f64 {
    let all = data.contacts.iter().chain(&data.tool_contacts);
    // Between a tool and what stands still there is nothing to move, and two tools are for their hands to part.
    let yields =
        |contact: &Contact| contact.movers.iter().any(|mover| !mover.is_tool() && data.movers[*mover].yields());
    let deep = |contact: &&Contact| contact.candidate.gap < -OVERLAP_LEFT_M && yields(contact);
    let contacts: Vec<Contact> = all.filter(deep).copied().collect();
    if contacts.is_empty() {
        return 0.0;
    }
    let free: Vec<f64> = contacts.iter().flat_map(|contact| [contact.candidate.gap, 0.0, 0.0]).collect();
    let rows = free.len();
    let mut constraints: Vec<Constraint> = contacts.iter().map(Constraint::of_contact).collect();
    constraints.iter_mut().enumerate().for_each(|(index, constraint)| constraint.first = 3 * index);
    let mut compliance = vec![0.0; rows * rows];
    add_rigid(&mut compliance, rows, 0, &constraints, &data.movers, 1.0, |mover| mover.inverse_mass);
    // A body squeezed between two that do not yield cannot be freed: each contact gives way a little, so that it ends
    // between them instead of somewhere else, and nothing is moved much further than the overlap is deep.
    let gives = |i: usize| GIVES * compliance[3 * i * rows + 3 * i];
    let law = |i: usize| Law::Contact { friction: 0.0, compliance: gives(i) };
    let blocks: Vec<Block> =
        constraints.iter().enumerate().map(|(i, c)| Block { id: c.id, first: 3 * i, law: law(i) }).collect();
    let problem = Problem { blocks: &blocks, compliance: &compliance, stride: rows, free: &free };
    let mut push = vec![0.0; rows];
    solve_robustly(&problem, &mut push, &model.solver, &mut data.workspace, || false);
    let way = |row: usize| problem.violation(row, &push) - free[row];
    let farthest = (0..rows).fold(0.0, |most: f64, row| most.max(way(row).abs()));
    let deepest = free.iter().fold(0.0, |most: f64, gap| most.max(-gap));
    let share = (MOST_WAY * deepest / farthest).min(1.0);
    let (hands, mut lifted, mut moved) = (data.hands(), 0.0, Vec::new());
    for (index, body) in data.bodies.iter_mut().enumerate() {
        let Body::Rigid(body) = body else { continue };
        let id = MoverId::Body(BodyId(index));
        let mover = &mut data.movers[id];
        let shift = mover.inverse_mass * wrench_on(id, &constraints, &push) * share;
        if shift.iter().all(|x| x.is_finite()) && shift.norm() > 0.0 {
            let (before, potential_j) = (*body.pose(), body.ledger().potential_j());
            body.shift(advance(&before, &shift, 1.0));
            lifted += body.ledger().potential_j() - potential_j;
            (mover.pose, mover.bent) = (*body.pose(), Bent::at(*body.pose()));
            data.request.poses[id.slot(hands).place()] = *body.pose();
            moved.push((BodyId(index), before));
        }
    }
    for contact in data.contacts.iter_mut().chain(&mut data.tool_contacts) {
        contact.candidate.refresh(&data.movers[contact.movers[0]].pose, &data.movers[contact.movers[1]].pose);
        contact.place(&data.movers);
    }
    give_back(&moved, data);
    let moved: Vec<BodyId> = moved.into_iter().map(|(body, _)| body).collect();
    let unpaid = if lifted > 0.0 { pay(data, &moved, lifted) } else { 0.0 };
    for (mover, body) in data.movers.bodies.iter_mut().zip(&data.bodies) {
        mover.twist = body.rigid().map_or(mover.twist, |body| *body.twist());
    }
    unpaid
}

/// Slows bodies down until `owed` is paid or they stand still; gives what is left to pay, J.
fn pay(data: &mut SimData, bodies: &[BodyId], owed: f64) -> f64 {
    let of = |data: &SimData| -> f64 {
        bodies.iter().filter_map(|index| data.bodies[*index].rigid()).map(|body| body.ledger().kinetic_j()).sum()
    };
    let kinetic = of(data);
    let left = if kinetic > owed { (1.0 - owed / kinetic).sqrt() } else { 0.0 };
    for index in bodies {
        if let Body::Rigid(body) = &mut data.bodies[*index] {
            body.strike(body.twist() * left);
        }
    }
    (owed - kinetic).max(0.0)
}
