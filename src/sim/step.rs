//! One simulation step.
//!
//! Thread: simulation.
//!
//!  1. place: supports, tools and what they carry at the end of the step; what the tools did to rigid bodies
//!  2. free: motion of every body without constraints, and its matrix
//!  3. collide: rigid contacts within the margin
//!  4. gather: constraints of every source ([`super::source`])
//!  5. assemble: `δ = W λ + δ_free` at the end of the step, over all bodies ([`super::assemble`])
//!  6. solve: forces by the laws, island by island
//!  7. correct: every body under its forces; 4 to 7 are repeated until rows, contacts and motion agree
//!  8. settle: velocities obey the laws too (impact, restitution); overlaps of rigid shapes are closed ([`super::settle`])
//!  9. publish: a snapshot for each hand's haptic thread, a view for the screen ([`super::publish`])
//!
//! Contact law: on the midpoint of rigid bodies, `d + T v̂_n ≥ 0` with friction against `v̂_t` (Yoon et al. eq. 7), on rows that give
//! the displacement of the step ([`super::source::contact`]): positions do not overlap and contact never creates energy. Soft bodies add
//! their displacement over the step to the same rows.
//!
//! Tools are not bodies of the solve. The force of a tool on a rigid body is found by the haptic thread, which renders it, and arrives as
//! impulses: a step moves the scene through the time that has just passed, under the forces that the hands have felt in it. To solve for
//! the tool's force here as well would give the scene a force of its own: at 30 Hz the two then differ enough to shake a box in the hand.
//! For soft bodies a tool is an obstacle at its place at the end of the step: the answer to a *place* is well posed for any step. A soft body
//! that a tool carries is part of the tool: rigid bodies are moved by the impulses that the haptic thread found, and are obstacles at their
//! places at the end of the step for the body that touches them. Two hands on one body add up; a snapshot tells each hand of the other
//! ([`super::publish`]).

use super::assemble::wrench_on;
use super::body::Body;
use super::body::rigid::{Bent, Mover};
use super::constraint::{Constraint, Kind};
use super::ids::{BodyId, HandId, MoverId, PerMover};
use super::settle::{push_apart, settle};
use super::source::contact::Contact;
use super::source::needle::NeedleSource;
use super::source::soft::Surroundings;
use super::{ContactForce, SimData, SimModel, StepReport, publish};
use crate::collision::{Outlook, Side};
use crate::math::{Mat6, Twist, Vec3, Wrench, advance};
use crate::mechanism::MechanismSnapshot;
use crate::mechanism::solver::Outcome;
use crate::shared::{NS_PER_S, ToolSample};

/// Most times rows and forces are found; each time is nearer by a factor of about `T |ω|`.
const PASSES: u32 = 8;
/// The same for contacts of bodies that come to rest within the step.
const STATIC_PASSES: u32 = 12;
/// Displacement, m, by which rows may miss the motion they led to.
const ROWS_MISS_M: f64 = 1e-14;
/// The same at a contact of machined parts, m, whose points are chosen anew in every step, and at one with a soft body.
const ROWS_MISS_OF_PARTS_M: f64 = 1e-9;
/// Change of place of a static body below which its contacts fit, m.
const FITS_M: f64 = 1e-9;

/// A tool that was not seen for more steps than this is not made up for: its mean force counts, not its whole impulse.
const LATE_STEPS: f64 = 1.5;

/// Advances the scene by one step from the time in `data.stamp`, the tools being as in `tools` at the end of it, and writes the
/// mechanism of each hand into `out`. Pure: equal arguments give equal results. A tool that is left out has not moved.
pub fn step(
    model: &SimModel,
    data: &mut SimData,
    tools: &[ToolSample],
    out: &mut [&mut MechanismSnapshot],
) -> StepReport {
    let step_s = model.step_s();
    let heard = place(data, tools, step_s);
    let prepared = free(data, step_s);
    if data.moved_since_look() {
        look(model, data);
    }
    let needle = gather_needle(data);
    let outcome = find_forces(model, data, &needle, step_s);
    let finished = advance_bodies(data, step_s);
    settle(model, data, step_s);
    record_forces(data, step_s);
    let (contacts, touching, soft_m) = count_contacts(data);
    after_needle(data, heard);
    stand(model, data, step_s);
    look(model, data);
    let all = data.contacts.iter().chain(&data.tool_contacts);
    let penetration_m = all.fold(soft_m, |m: f64, c| m.max(-c.candidate.gap));
    let lifted_j = push_apart(model, data);
    data.stamp.sequence += 1;
    data.stamp.at = data.stamp.at.plus((step_s * NS_PER_S as f64).round() as u64);
    data.external.fill(Wrench::zeros());
    data.show();
    data.assembly.answer_soft(&mut data.bodies);
    let mut dropped = 0;
    for (hand, out) in out.iter_mut().enumerate().take(data.hands()) {
        dropped += publish::write_snapshot(model, data, HandId(hand), out);
    }
    data.report = StepReport {
        contacts,
        touching,
        iterations: outcome.iterations,
        residual: outcome.residual,
        converged: outcome.converged && prepared && finished,
        penetration_m,
        lifted_j,
        dropped,
    };
    data.report
}

/// Stage 1; true when a haptic thread moves the first tool.
fn place(data: &mut SimData, tools: &[ToolSample], step_s: f64) -> bool {
    for (index, body) in data.bodies.iter().enumerate() {
        let Body::Rigid(body) = body else { continue };
        let mover = &mut data.movers.bodies[index];
        let mut late = Wrench::zeros();
        for (seen, tool) in data.seen.iter().zip(tools) {
            let (push, tardy) = pushed(seen, tool, index, step_s);
            data.external[index] += push;
            late += tardy;
        }
        mover.pose = *body.pose();
        mover.twist = *body.twist();
        mover.inverse_mass = body.inertia().inverse_matrix();
        mover.creep = mover.inverse_mass * late;
    }
    for (seen, tool) in data.seen.iter_mut().zip(tools) {
        *seen = *tool;
    }
    let SimData { bodies, seen, .. } = data;
    for body in bodies.iter_mut().filter(|body| body.hand().is_none()).filter_map(Body::soft_mut) {
        body.carry(seen, step_s);
    }
    let Some(tool) = data.seen.first() else { return false };
    // A tool that was never stamped is moved by no haptic thread.
    let heard = tool.stamp.sequence > 0;
    if let Some(needle) = &mut data.needle
        && heard
    {
        needle.hear(&tool.tip, &data.bodies);
    }
    let SimData { bodies, seen, .. } = data;
    for body in bodies.iter_mut().filter(|body| body.hand().is_some()).filter_map(Body::soft_mut) {
        body.carry(seen, step_s);
    }
    heard
}

/// Stage 2; false when a body has no matrix for the step.
fn free(data: &mut SimData, step_s: f64) -> bool {
    let mut prepared = true;
    for (index, body) in data.bodies.iter_mut().enumerate() {
        if let Some(body) = body.soft_mut() {
            prepared &= body.prepare(step_s);
        }
        let Body::Rigid(body) = body else { continue };
        let mover = &mut data.movers.bodies[index];
        // What contact did in the last step is the best guess at what it will do in this one.
        let step = body.prepare_touching(&data.external[index], &mover.contact, step_s);
        (mover.free, mover.inverse) =
            step.as_ref().map_or((mover.twist, Mat6::zeros()), |step| (step.free, step.inverse));
        mover.bent = Bent::half_way(&mover.pose, &mover.twist, step_s);
        data.steps[index] = step;
    }
    prepared
}

/// Mean wrench of a tool on a body since it was last seen; and, as an impulse, what moved the body further than a constant
/// force of that size would have: a tap early in the step moves it all the way through, one late in it hardly.
fn pushed(seen: &ToolSample, tool: &ToolSample, index: usize, step_s: f64) -> (Wrench, Wrench) {
    let time_s = tool.pushed_s - seen.pushed_s;
    let (Some(old), Some(new)) = (seen.pushes.get(index), tool.pushes.get(index)) else { return Default::default() };
    let impulse = new.impulse - old.impulse;
    // A haptic thread that began anew counts from zero.
    if time_s <= 0.0 || impulse == Wrench::zeros() || !impulse.iter().all(|x| x.is_finite()) {
        return Default::default();
    }
    if time_s > LATE_STEPS * step_s {
        return (impulse / time_s, Wrench::zeros());
    }
    let moment = new.moment - old.moment - old.impulse * time_s;
    (impulse / step_s, (moment - impulse * (0.5 * time_s)) / step_s)
}

/// Counts the contacts of the step, those that carry force, and measures the deepest overlap of a soft body, m.
fn count_contacts(data: &SimData) -> (usize, usize, f64) {
    let assembly = &data.assembly;
    let (mut contacts, mut touching, mut deepest) = (0, 0, 0.0_f64);
    for constraint in assembly.constraints.iter().filter(|constraint| constraint.law.contact_friction().is_some()) {
        contacts += 1;
        touching += usize::from(constraint.law.touches(&assembly.lambda[constraint.rows()]));
        if let Some(span) = constraint.span() {
            deepest = deepest.max(-span.violation(0, &data.movers, &data.bodies));
        }
    }
    (contacts, touching, deepest)
}

/// Constraints of the needle; they do not change while contacts of static bodies are detected again.
fn gather_needle(data: &mut SimData) -> Vec<Constraint> {
    data.assembly.constraints.clear();
    if let Some(needle) = &mut data.needle {
        needle.gather(&data.bodies, &mut data.assembly);
    }
    std::mem::take(&mut data.assembly.constraints)
}

/// What the needle breaks and cuts by the solve of the step, and its figures.
fn after_needle(data: &mut SimData, heard: bool) {
    if let Some(needle) = &mut data.needle {
        needle.cut_by_own_solve(NeedleSource::left_m(heard), &data.bodies, &mut data.assembly);
        needle.tell(&data.bodies, &data.assembly);
    }
}

/// Between stages 8 and 9: everything where it is at the end of the step, and what it is about to do.
fn stand(model: &SimModel, data: &mut SimData, step_s: f64) {
    expect(model, data, step_s);
    for (mover, (tool, seen)) in data.movers.tools.iter_mut().zip(model.tools.iter().zip(&data.seen)) {
        *mover = Mover::tool(tool, seen.pose_world_tool);
    }
    for (index, body) in data.bodies.iter().enumerate() {
        let Body::Rigid(body) = body else { continue };
        let mover = &mut data.movers.bodies[index];
        let free = body.prepare_touching(&Wrench::zeros(), &mover.contact, step_s).map(|step| step.free);
        (mover.pose, mover.twist, mover.bent) = (*body.pose(), *body.twist(), Bent::at(*body.pose()));
        mover.free = free.unwrap_or(mover.twist);
    }
}

/// Time over which is foreseen where parts will press, s. Forces are those of the last step, so it is no use to look farther.
pub(super) const FORESEEN_S: f64 = 1e-3;

/// What each body is about to do, if it is pushed as it was in the last step and friction is as it was.
fn expect(model: &SimModel, data: &mut SimData, step_s: f64) {
    let hands = data.hands();
    let ahead = step_s.min(FORESEEN_S);
    let outlook = |twist: &Twist, load: &Wrench, inverse_mass: &Mat6| {
        let yielding = inverse_mass * (ahead * ahead);
        let sound = twist.iter().chain(load.iter()).all(|x| x.is_finite());
        let motion = if sound { twist * ahead + yielding * load } else { Twist::zeros() };
        Outlook { motion, yielding }
    };
    for (hand, (tool, seen)) in model.tools.iter().zip(&data.seen).enumerate() {
        let slot = MoverId::Tool(HandId(hand)).slot(hands);
        data.request.outlooks[slot.place()] = outlook(&seen.twist_tool, &seen.load, &tool.inverse_mass());
    }
    for (index, body) in data.bodies.iter().enumerate() {
        let Body::Rigid(body) = body else { continue };
        let mover = MoverId::Body(BodyId(index));
        let mut load = data.external[index] + body.weight();
        for constraint in &data.assembly.constraints {
            let Some(contact) = constraint.contact() else { continue };
            let force = &data.assembly.lambda[constraint.rows()];
            for side in (0..2).filter(|side| contact.movers[*side] == mover) {
                load += contact.rows[side][1] * force[1] + contact.rows[side][2] * force[2];
            }
        }
        data.request.outlooks[mover.slot(hands).place()] =
            outlook(body.twist(), &load, &body.inertia().inverse_matrix());
    }
}

/// Stage 3: rigid contacts within the margin.
fn look(model: &SimModel, data: &mut SimData) {
    data.request.stamp = crate::shared::Stamp { sequence: data.stamp.sequence + 1, at: data.stamp.at };
    for (pose, mover) in data.request.poses.iter_mut().zip(data.movers.iter()) {
        *pose = mover.pose;
    }
    let mut reply = *data.service.candidates(&data.request);
    let fresh = reply.stamp == data.request.stamp;
    data.contacts.clear();
    data.tool_contacts.clear();
    for candidate in reply.candidates.as_mut_slice() {
        let slots = [candidate.body_a, candidate.body_b];
        let movers = slots.map(|slot| MoverId::of_slot(slot, data.hands()));
        if !fresh {
            candidate.refresh(&data.movers[movers[0]].pose, &data.movers[movers[1]].pose);
        }
        let holder = movers[usize::from(candidate.surface == Side::A)];
        let pair = data.pair(material(model, movers[0]), material(model, movers[1]));
        let mut contact = Contact::new(candidate, movers, &data.movers, &data.features[holder], pair);
        contact.place(&data.movers);
        let of_tool = movers.iter().any(|mover| mover.is_tool());
        if of_tool { data.tool_contacts.push(contact) } else { data.contacts.push(contact) }
    }
}

fn material(model: &SimModel, mover: MoverId) -> usize {
    match mover {
        MoverId::Body(body) => model.bodies[body.0].material,
        MoverId::Tool(hand) => model.tools[hand.0].material,
    }
}

/// Stages 4 to 7: forces, midpoint twists of rigid bodies, and soft bodies under their forces.
fn find_forces(model: &SimModel, data: &mut SimData, needle: &[Constraint], step_s: f64) -> Outcome {
    let (mut iterations, mut gather_again) = (0, true);
    for pass in 1.. {
        if gather_again {
            gather(model, data, needle);
        }
        data.assembly.fill(&data.movers, &data.bodies, step_s);
        let mut outcome = data.assembly.solve(&model.solver);
        move_midpoints(data);
        let moved = data.assembly.correct(&mut data.bodies, false);
        iterations += outcome.iterations;
        gather_again = pass < STATIC_PASSES && moved >= FITS_M;
        let bent = pass < PASSES && bend_again(data, step_s);
        if !gather_again && !bent {
            outcome.iterations = iterations;
            data.assembly.correct(&mut data.bodies, true);
            data.impulses.clear();
            data.impulses.extend(data.assembly.lambda.iter().map(|force| force * step_s));
            return outcome;
        }
    }
    Outcome::default()
}

/// Stage 4, and the share of soft bodies in stage 5.
fn gather(model: &SimModel, data: &mut SimData, needle: &[Constraint]) {
    let mut all = std::mem::take(&mut data.assembly.constraints);
    all.clear();
    all.extend(data.contacts.iter().map(Constraint::of_contact));
    for (index, joint) in data.joints.iter_mut().enumerate() {
        joint.gather(index, &data.movers, &data.bodies, &mut all);
    }
    if !data.soft_contacts.is_empty() {
        let materials = &data.materials;
        let around = Surroundings {
            model,
            bodies: &data.bodies,
            movers: &data.movers,
            tools: &data.seen,
            pair: &|a, b| super::data::pair(materials, a, b),
        };
        data.soft_contacts.gather(&around, &mut all);
    }
    all.extend_from_slice(needle);
    all.iter_mut().for_each(|constraint| constraint.place(&data.movers));
    data.assembly.constraints = all;
    data.assembly.arrange(&data.movers, data.bodies.len());
    data.assembly.add_soft(&mut data.bodies);
}

/// Midpoint twists under the forces found.
fn move_midpoints(data: &mut SimData) {
    for mover in data.movers.ids() {
        let contact = wrench_on(mover, &data.assembly.constraints, &data.assembly.lambda);
        let mover = &mut data.movers[mover];
        mover.contact = contact;
        mover.midpoint = mover.free + mover.inverse * contact;
    }
}

/// Makes rows and gyroscopic terms anew for the motion just found; false, and nothing changed, when the old ones fit it.
fn bend_again(data: &mut SimData, step_s: f64) -> bool {
    let moves = |constraint: &Constraint| (0..2).any(|side| constraint.rigid_rows(side).is_some());
    let assembly = &data.assembly;
    let forced = assembly.constraints.iter().any(|c| moves(c) && assembly.lambda[c.rows()].iter().any(|f| *f != 0.0));
    let is_led = assembly.constraints.iter().any(|c| c.led_along(0).is_some());
    if !forced && !is_led {
        return false;
    }
    let (mut movers, mut steps) = (data.movers.clone(), data.steps.clone());
    for id in data.movers.ids() {
        let mover = &mut movers[id];
        mover.bent = Bent::half_way(&mover.pose, &mover.midpoint, step_s);
        let Some(BodyId(index)) = id.body() else { continue };
        if let Some(Body::Rigid(body)) = &data.bodies.get(index)
            && let Some(step) = body.prepare_touching(&data.external[index], &mover.contact, step_s)
        {
            (mover.free, mover.inverse) = (step.free, step.inverse);
            mover.midpoint = step.free + step.inverse * mover.contact;
            steps[index] = Some(step);
        }
    }
    let mut constraints = data.assembly.constraints.clone();
    let mut fits = true;
    for (new, old) in constraints.iter_mut().zip(&data.assembly.constraints) {
        new.place(&movers);
        fits &= rows_fit(new, &movers, old, &data.movers, step_s);
    }
    if !fits {
        (data.movers, data.steps, data.assembly.constraints) = (movers, steps, constraints);
        // Forces that the last solve found are the first guess of the next.
    }
    !fits
}

/// True when the old rows of a constraint give the motion that the new ones give.
fn rows_fit(
    new: &Constraint,
    movers: &PerMover<Mover>,
    old: &Constraint,
    before: &PerMover<Mover>,
    step_s: f64,
) -> bool {
    let mut miss = 0.0_f64;
    for row in 0..new.law.rows() {
        let found = new.rate(row, movers, |m| m.midpoint) - old.rate(row, before, |m| m.midpoint);
        let guessed = new.rate(row, movers, |m| m.twist) - old.rate(row, before, |m| m.twist);
        miss = miss.max(step_s * found.abs().max(guessed.abs()));
        let led = new.led_along(row).zip(old.led_along(row)).map_or(0.0, |(new, old)| (new - old).abs());
        miss = miss.max(led);
    }
    match &old.kind {
        Kind::Contact(contact) => {
            let gap = contact.candidate.gap.max(0.0) + step_s * contact.rate(0, before, |m| m.midpoint + m.creep);
            let most = if contact.is_of_part(movers) { ROWS_MISS_OF_PARTS_M } else { ROWS_MISS_M };
            miss <= most || gap > 2.0 * miss
        }
        Kind::Span(_) if old.is_soft() => miss <= ROWS_MISS_OF_PARTS_M,
        Kind::Span(_) => miss <= ROWS_MISS_M,
    }
}

/// Stage 7, its end; false when a soft body could not follow.
fn advance_bodies(data: &mut SimData, step_s: f64) -> bool {
    let starts = data.soft_starts();
    let mut finished = true;
    for (index, body) in data.bodies.iter_mut().enumerate() {
        if let Some(body) = body.soft_mut() {
            finished &= body.finish(step_s);
        }
        let Body::Rigid(body) = body else { continue };
        let (Some(step), mover) = (&data.steps[index], &data.movers.bodies[index]) else { continue };
        if !(mover.midpoint + mover.creep).iter().all(|x| x.is_finite()) {
            continue;
        }
        body.finish(step, &mover.midpoint);
        if mover.creep != Twist::zeros() {
            body.shift(advance(body.pose(), &mover.creep, step_s));
        }
    }
    data.find_soft_speeds(&starts, step_s);
    finished
}

/// Forces of the step between bodies of the scene, for observers.
fn record_forces(data: &mut SimData, step_s: f64) {
    data.forces.clear();
    for constraint in &data.assembly.constraints {
        let impulses = &data.impulses[constraint.rows()];
        if !constraint.law.touches(impulses) {
            continue;
        }
        let Some((bodies, point)) = constraint.touching(&data.movers, &data.bodies) else { continue };
        let directions = constraint.directions();
        let force = directions.iter().zip(impulses).map(|(d, p)| d * *p).sum::<Vec3>() / step_s;
        data.forces.push(ContactForce { id: constraint.id, bodies, point, normal: directions[0], force });
    }
}
