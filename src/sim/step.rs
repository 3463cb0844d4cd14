//! One simulation step.
//!
//! Thread: simulation.
//!
//! 1. place: midpoint motion of every body without contact (passive midpoint integration), under what the tools did to it
//! 2. assemble: `δ = W λ + δ_free` at the end of the step
//! 3. solve: contact forces; 1 to 3 are repeated while bodies turn, until rows and motion agree
//! 4. move: midpoint twists, poses, velocities
//! 5. settle: velocities obey the contact law too (impact, restitution); deformable bodies give way to the tools
//!    ([`super::elastic`])
//! 6. collide: contacts within the margin, with the tools where they are now
//! 7. push apart: what overlaps, without giving it speed
//! 8. publish: a snapshot for each hand's haptic thread, a view for the screen
//!
//! Stage 3 puts the law on the midpoint, `d + T v̂_n ≥ 0` with friction against `v̂_t` (seed 001 eq. 7), on rows that give
//! the displacement of the step ([`super::rows`]): positions do not overlap and contact never creates energy. Stages 5 and
//! 7 are in [`super::settle`]. Contacts found in stage 6 are those of the next step: there is one look a step.
//!
//! A tool is no body here. What it does is found by its haptic thread, which feels it, and arrives as impulses: a step
//! moves the scene through the time that has just passed, with the forces that the hands have felt in it. The alternative,
//! to solve for the tool's force here as well, would give the scene a force of its own guess: at 30 Hz the two then
//! disagree enough to shake a box in the hand. Two hands on one body simply add up; what each knows of the other is in its
//! snapshot ([`super::publish`]).

use super::data::Mover;
use super::rows::{Bent, Contact};
use super::settle::{push_apart, settle};
use super::{ContactForce, Motion, Obstacle, SimData, SimModel, StepReport, publish};
use crate::collision::{Outlook, Side};
use crate::math::{Mat6, Twist, Vec3, Vec6, Wrench, advance};
use crate::mechanism::newton::solve_robustly;
use crate::mechanism::solver::Outcome;
use crate::mechanism::{Block, BlockId, Law, MechanismSnapshot, Problem};
use crate::shared::{NS_PER_S, ToolSample};

/// Most times rows and forces are found; each time is nearer by a factor of about `T |ω|`.
const PASSES: u32 = 8;
/// Displacement, m, by which rows may miss the motion they led to.
const ROWS_MISS_M: f64 = 1e-14;
/// The same at a contact of machined parts, m, whose points are chosen anew in every step.
const ROWS_MISS_OF_PARTS_M: f64 = 1e-9;

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
    place(data, tools, step_s);
    if data.moved_since_look() {
        look(model, data);
    }
    let outcome = find_forces(model, data, step_s);
    advance_bodies(data, step_s);
    settle(model, data, step_s);
    record_forces(data, step_s);
    let soft = deform(model, data, step_s);
    let (contacts, touching) = (data.contacts.len(), data.lambda.chunks_exact(3).filter(|l| l[0] > 0.0).count());
    stand(model, data, step_s);
    look(model, data);
    let all = data.contacts.iter().chain(&data.tool_contacts);
    let penetration_m = all.fold(soft.penetration_m, |m: f64, c| m.max(-c.candidate.gap));
    let lifted_j = push_apart(model, data);
    data.stamp.sequence += 1;
    data.stamp.at = data.stamp.at.plus((step_s * NS_PER_S as f64).round() as u64);
    data.external.fill(Wrench::zeros());
    data.show();
    let mut dropped = 0;
    for (hand, out) in out.iter_mut().enumerate().take(data.hands()) {
        dropped += publish::write_snapshot(model, data, hand, out);
    }
    data.report = StepReport {
        contacts: contacts + soft.contacts,
        touching: touching + soft.touching,
        iterations: outcome.iterations + soft.iterations,
        residual: outcome.residual.max(soft.residual),
        converged: outcome.converged && soft.converged,
        penetration_m,
        lifted_j,
        dropped,
    };
    data.report
}

/// Stage 1: where everything is, how it moves freely and how it yields.
fn place(data: &mut SimData, tools: &[ToolSample], step_s: f64) {
    let hands = data.hands();
    for (index, body) in data.bodies.iter().enumerate() {
        let Some(body) = body else { continue };
        let mover = &mut data.movers[hands + index];
        let mut late = Wrench::zeros();
        for (seen, tool) in data.seen.iter().zip(tools) {
            let (push, tardy) = pushed(seen, tool, index, step_s);
            data.external[index] += push;
            late += tardy;
        }
        // What contact did in the last step is the best guess at what it will do in this one.
        let step = body.prepare_touching(&data.external[index], &mover.contact, step_s);
        mover.pose = *body.pose();
        mover.twist = *body.twist();
        mover.inverse_mass = body.inertia().inverse_matrix();
        mover.creep = mover.inverse_mass * late;
        (mover.free, mover.inverse) =
            step.as_ref().map_or((mover.twist, Mat6::zeros()), |step| (step.free, step.inverse));
        mover.bent = Bent::half_way(&mover.pose, &mover.twist, step_s);
        data.steps[hands + index] = step;
    }
    for (seen, tool) in data.seen.iter_mut().zip(tools) {
        *seen = *tool;
    }
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

/// Deformable bodies give way to the tools, which are no longer where the movers still have them.
fn deform(model: &SimModel, data: &mut SimData, step_s: f64) -> StepReport {
    let mut report = StepReport { converged: true, ..StepReport::default() };
    for index in 0..data.elastic.len() {
        let inverse = data.pose(index).inverse();
        let mut obstacles = Vec::with_capacity(model.tools.len());
        for (hand, tool) in model.tools.iter().enumerate() {
            obstacles.push(Obstacle {
                shape: &tool.shape,
                pose: inverse * data.seen[hand].pose_world_tool * tool.pose_tool_shape,
                before: inverse * data.movers[hand].pose * tool.pose_tool_shape,
                friction: data.pair(tool.material, model.bodies[index].material).0,
            });
        }
        let Some(body) = &mut data.elastic[index] else { continue };
        let outcome = body.step(&obstacles, model.margin_m, step_s, &model.solver);
        report.contacts += body.contacts().len();
        report.touching += body.lambda().chunks_exact(3).filter(|force| force[0] > 0.0).count();
        report.iterations += outcome.iterations;
        report.residual = report.residual.max(outcome.residual);
        report.converged &= outcome.converged;
        report.penetration_m = body.contacts().iter().fold(report.penetration_m, |most, c| most.max(-c.gap));
    }
    if let (Some(needle), Some(tool)) = (&mut data.needle, data.seen.first()) {
        // A tool that was never stamped is moved by no haptic thread.
        let tip = (tool.stamp.sequence > 0).then_some(&tool.tip);
        let outcome = needle.step(&tool.pose_world_tool, tip, step_s);
        report.iterations += outcome.iterations;
        report.residual = report.residual.max(outcome.residual);
        report.converged &= outcome.converged;
    }
    report
}

/// Between stages 5 and 6: everything where it is at the end of the step, and what it is about to do.
fn stand(model: &SimModel, data: &mut SimData, step_s: f64) {
    expect(model, data, step_s);
    let hands = data.hands();
    for (hand, (tool, seen)) in model.tools.iter().zip(&data.seen).enumerate() {
        data.movers[hand] = Mover::tool(tool, seen.pose_world_tool);
    }
    for (index, body) in data.bodies.iter().enumerate() {
        let Some(body) = body else { continue };
        let mover = &mut data.movers[hands + index];
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
        data.request.outlooks[hand] = outlook(&seen.twist_tool, &seen.load, &tool.inverse_mass());
    }
    for (index, body) in data.bodies.iter().enumerate() {
        let Some(body) = body else { continue };
        let mut load = data.external[index] + body.weight();
        for (contact, force) in data.contacts.iter().zip(data.lambda.chunks_exact(3)) {
            for side in (0..2).filter(|side| contact.movers[*side] == hands + index) {
                load += contact.rows[side][1] * force[1] + contact.rows[side][2] * force[2];
            }
        }
        data.request.outlooks[hands + index] = outlook(body.twist(), &load, &body.inertia().inverse_matrix());
    }
}

/// Stage 6: contacts within the margin.
fn look(model: &SimModel, data: &mut SimData) {
    data.request.stamp = crate::shared::Stamp { sequence: data.stamp.sequence + 1, at: data.stamp.at };
    for (pose, mover) in data.request.poses.iter_mut().zip(&data.movers) {
        *pose = mover.pose;
    }
    let mut reply = *data.service.candidates(&data.request);
    let fresh = reply.stamp == data.request.stamp;
    data.contacts.clear();
    data.tool_contacts.clear();
    for candidate in reply.candidates.as_mut_slice() {
        let movers = [usize::from(candidate.body_a), usize::from(candidate.body_b)];
        if !fresh {
            candidate.refresh(&data.movers[movers[0]].pose, &data.movers[movers[1]].pose);
        }
        let holder = movers[usize::from(candidate.surface == Side::A)];
        let pair = data.pair(material(model, movers[0]), material(model, movers[1]));
        let mut contact = Contact::new(candidate, &data.movers, &data.features[holder], pair);
        contact.place(&data.movers);
        let of_tool = movers.iter().any(|mover| *mover < data.hands());
        if of_tool { data.tool_contacts.push(contact) } else { data.contacts.push(contact) }
    }
}

fn material(model: &SimModel, mover: usize) -> usize {
    match mover.checked_sub(model.tools.len()) {
        Some(body) => model.bodies[body].material,
        None => model.tools[mover].material,
    }
}

/// Stages 1 to 3: forces and midpoint twists.
fn find_forces(model: &SimModel, data: &mut SimData, step_s: f64) -> Outcome {
    for contact in &mut data.contacts {
        contact.place(&data.movers);
    }
    let mut iterations = 0;
    for pass in 1.. {
        assemble(data, step_s);
        let mut outcome = solve_contacts(model, data);
        for mover in 0..data.movers.len() {
            let contact = wrench_on(mover, &data.contacts, &data.lambda);
            let mover = &mut data.movers[mover];
            mover.contact = contact;
            mover.midpoint = mover.free + mover.inverse * contact;
        }
        iterations += outcome.iterations;
        if pass == PASSES || !bend_again(data, step_s) {
            outcome.iterations = iterations;
            data.impulses.clear();
            data.impulses.extend(data.lambda.iter().map(|force| force * step_s));
            return outcome;
        }
    }
    Outcome::default()
}

/// Makes rows and gyroscopic terms anew for the motion just found; false, and nothing changed, when the old ones fit it.
fn bend_again(data: &mut SimData, step_s: f64) -> bool {
    if data.lambda.iter().all(|force| *force == 0.0) {
        return false;
    }
    let (mut movers, mut steps) = (data.movers.clone(), data.steps.clone());
    for (place, mover) in movers.iter_mut().enumerate() {
        mover.bent = Bent::half_way(&mover.pose, &mover.midpoint, step_s);
        let Some(index) = place.checked_sub(data.hands()) else { continue };
        if let Some(body) = &data.bodies[index]
            && let Some(step) = body.prepare_touching(&data.external[index], &mover.contact, step_s)
        {
            (mover.free, mover.inverse) = (step.free, step.inverse);
            mover.midpoint = step.free + step.inverse * mover.contact;
            steps[place] = Some(step);
        }
    }
    let mut contacts = data.contacts.clone();
    let mut fits = true;
    for (new, old) in contacts.iter_mut().zip(&data.contacts) {
        new.place(&movers);
        let found = new.rates(&movers, |m| m.midpoint) - old.rates(&data.movers, |m| m.midpoint);
        let guessed = new.rates(&movers, |m| m.twist) - old.rates(&data.movers, |m| m.twist);
        let miss = step_s * found.amax().max(guessed.amax());
        let gap = old.candidate.gap.max(0.0) + step_s * old.rate(0, &data.movers, |m| m.midpoint + m.creep);
        let most = if old.is_of_part(&movers) { ROWS_MISS_OF_PARTS_M } else { ROWS_MISS_M };
        fits &= miss <= most || gap > 2.0 * miss;
    }
    if !fits {
        (data.movers, data.steps, data.contacts) = (movers, steps, contacts);
    }
    !fits
}

/// Stage 2: the problem, warm-started from the last step.
fn assemble(data: &mut SimData, step_s: f64) {
    let rows = 3 * data.contacts.len();
    data.blocks.clear();
    data.free.clear();
    data.lambda.clear();
    for (index, contact) in data.contacts.iter().enumerate() {
        let law = Law::Contact { friction: contact.friction, compliance: 0.0 };
        data.blocks.push(Block { id: BlockId::Contact(contact.candidate.id), first: 3 * index, law });
        for k in 0..3 {
            let gap = if k == 0 { contact.candidate.gap.max(0.0) } else { 0.0 };
            data.free.push(gap + step_s * contact.rate(k, &data.movers, |mover| mover.free + mover.creep));
        }
        let before = data.remembered.binary_search_by_key(&BlockId::Contact(contact.candidate.id), |(id, _)| *id);
        data.lambda.extend_from_slice(&before.map_or([0.0; 3], |at| data.remembered[at].1));
    }
    fill_compliance(&mut data.compliance, rows, &data.contacts, &data.movers, step_s, |mover| mover.inverse);
}

/// `W = scale · Σ H Y Hᵀ` over the movers, with the yielding `Y` that `of` picks.
pub(super) fn fill_compliance(
    out: &mut Vec<f64>,
    rows: usize,
    contacts: &[Contact],
    movers: &[Mover],
    scale: f64,
    of: impl Fn(&Mover) -> Mat6,
) {
    out.clear();
    out.resize(rows * rows, 0.0);
    for (i, contact) in contacts.iter().enumerate() {
        for side in 0..2 {
            let mover = contact.movers[side];
            let yielding = of(&movers[mover]);
            if yielding.iter().all(|x| *x == 0.0) {
                continue;
            }
            // Row i of W needs Y Hᵀ of every other contact of the same mover; (H Y) once, then inner products.
            let left = contact.rows[side].map(|row| yielding.transpose() * row * scale);
            for (j, other) in contacts.iter().enumerate() {
                for other_side in (0..2).filter(|s| other.movers[*s] == mover) {
                    for a in 0..3 {
                        for b in 0..3 {
                            out[(3 * i + a) * rows + 3 * j + b] += left[a].dot(&other.rows[other_side][b]);
                        }
                    }
                }
            }
        }
    }
}

/// Stage 3.
fn solve_contacts(model: &SimModel, data: &mut SimData) -> Outcome {
    let problem =
        Problem { blocks: &data.blocks, compliance: &data.compliance, stride: data.free.len(), free: &data.free };
    let outcome = solve_robustly(&problem, &mut data.lambda, &model.solver, &mut data.workspace, || false);
    data.remembered.clear();
    for (contact, force) in data.contacts.iter().zip(data.lambda.chunks_exact(3)) {
        if force[0] > 0.0 {
            data.remembered.push((BlockId::Contact(contact.candidate.id), [force[0], force[1], force[2]]));
        }
    }
    data.remembered.sort_unstable_by_key(|(id, _)| *id);
    outcome
}

/// Sum of contact wrenches on a mover.
pub(super) fn wrench_on(mover: usize, contacts: &[Contact], forces: &[f64]) -> Vec6 {
    let mut wrench = Vec6::zeros();
    for (contact, force) in contacts.iter().zip(forces.chunks_exact(3)) {
        for side in (0..2).filter(|side| contact.movers[*side] == mover) {
            for k in 0..3 {
                wrench += contact.rows[side][k] * force[k];
            }
        }
    }
    wrench
}

/// Stage 4.
fn advance_bodies(data: &mut SimData, step_s: f64) {
    let hands = data.hands();
    for (index, body) in data.bodies.iter_mut().enumerate() {
        let (Some(body), Some(step)) = (body, &data.steps[hands + index]) else { continue };
        let mover = &data.movers[hands + index];
        if !(mover.midpoint + mover.creep).iter().all(|x| x.is_finite()) {
            continue;
        }
        body.finish(step, &mover.midpoint);
        if mover.creep != Twist::zeros() {
            body.shift(advance(body.pose(), &mover.creep, step_s));
        }
    }
}

/// Forces of the step, for whoever looks.
fn record_forces(data: &mut SimData, step_s: f64) {
    let hands = data.hands();
    data.forces.clear();
    for (contact, p) in data.contacts.iter().zip(data.impulses.chunks_exact(3)).filter(|(_, p)| p[0] > 0.0) {
        data.forces.push(ContactForce {
            id: contact.candidate.id,
            bodies: contact.movers.map(|mover| mover - hands),
            point: contact.candidate.point_a_world(&data.movers[contact.movers[0]].pose),
            normal: contact.directions[0],
            force: (0..3).map(|k| contact.directions[k] * p[k]).sum::<Vec3>() / step_s,
        });
    }
}

/// True when the body at `index` moves.
#[must_use]
pub fn is_free(model: &SimModel, index: usize) -> bool {
    matches!(model.bodies[index].motion, Motion::Free(_))
}
