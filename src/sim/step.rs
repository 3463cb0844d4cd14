//! One simulation step.
//!
//! Thread: simulation.
//!
//! 1. place: the tool as the haptic thread last knew it
//! 2. collide: contacts within the margin
//! 3. free: midpoint motion of every body without contact (passive midpoint integration)
//! 4. assemble: `δ = W λ + δ_free` at the end of the step
//! 5. solve: contact forces; 3 to 5 are repeated while bodies turn, until rows and motion agree
//! 6. move: midpoint twists, poses, velocities
//! 7. settle: velocities obey the contact law too (impact, restitution)
//! 8. push apart: what the linearisation left overlapping, without giving it speed
//! 9. publish: snapshot for the haptic thread, view for the screen
//!
//! Stage 5 puts the law on the midpoint, `d + T v̂_n ≥ 0` with friction against `v̂_t` (seed 001 eq. 7), on rows that give
//! the displacement of the step ([`super::rows`]): positions do not overlap and contact never creates energy. Stages 7 and
//! 8 are in [`super::settle`].

use super::data::{Mover, TOOL};
use super::rows::{Bent, Contact};
use super::settle::{push_apart, settle};
use super::{Motion, SimData, SimModel, StepReport, publish};
use crate::collision::Side;
use crate::math::{Mat6, Twist, Vec3, Vec6, Wrench, displacement, join, split};
use crate::mechanism::newton::solve_robustly;
use crate::mechanism::pmi::{self, Coriolis, Gravity, RigidBody};
use crate::mechanism::solver::Outcome;
use crate::mechanism::{Block, Law, MechanismSnapshot, Problem};
use crate::shared::{CouplingLink, NS_PER_S, ToolSample};

/// Most times rows and forces are found; each time is nearer by a factor of about `T |ω|`.
const PASSES: u32 = 8;
/// Displacement, m, by which rows may miss the motion they led to.
const ROWS_MISS_M: f64 = 1e-14;

/// Advances the scene by one step from the time in `data.stamp`, the tool being as in `tool`, and writes the mechanism into
/// `out`. Pure: equal arguments give equal results.
pub fn step(model: &SimModel, data: &mut SimData, tool: &ToolSample, out: &mut MechanismSnapshot) -> StepReport {
    let step_s = model.step_s();
    let contact_compliance = place(model, data, tool, step_s);
    collide(model, data);
    let outcome = find_forces(model, data, step_s, contact_compliance);
    advance_bodies(data);
    settle(model, data, step_s);
    let lifted_j = push_apart(model, data, step_s);
    let touching = data.lambda.chunks_exact(3).filter(|l| l[0] > 0.0).count();
    let deepest = data.contacts.iter().fold(0.0, |m: f64, c| m.max(-c.candidate.gap));
    data.stamp.sequence += 1;
    data.stamp.at = data.stamp.at.plus((step_s * NS_PER_S as f64).round() as u64);
    data.external.fill(Wrench::zeros());
    data.show(tool.pose_world_tool);
    let dropped = publish::write_snapshot(data, step_s, tool, out);
    data.report = StepReport {
        contacts: data.contacts.len(),
        touching,
        iterations: outcome.iterations,
        residual: outcome.residual,
        converged: outcome.converged,
        penetration_m: deepest,
        lifted_j,
        dropped,
    };
    data.report
}

/// Stages 1 and 3: where everything is, how it moves freely and how it yields. Gives the compliance of each contact.
fn place(model: &SimModel, data: &mut SimData, tool: &ToolSample, step_s: f64) -> f64 {
    for (index, body) in data.bodies.iter().enumerate() {
        let Some(body) = body else { continue };
        let mover = &mut data.movers[index + 1];
        // What contact did in the last step is the best guess at what it will do in this one.
        let step = body.prepare_touching(&data.external[index], &mover.contact, step_s);
        mover.pose = *body.pose();
        mover.twist = *body.twist();
        mover.inverse_mass = body.inertia().inverse_matrix();
        (mover.free, mover.inverse) =
            step.as_ref().map_or((mover.twist, Mat6::zeros()), |step| (step.free, step.inverse));
        data.steps[index + 1] = step;
    }
    let mut mover = Mover::fixed(model.tool.shape, model.tool.pose_tool_shape, tool.pose_world_tool);
    mover.twist = tool.twist_tool;
    let compliance = match tool.link {
        CouplingLink::Rigid { contact_compliance } => {
            mover.free = tool.twist_handle;
            mover.twist = tool.twist_handle;
            contact_compliance
        }
        CouplingLink::Spring { stiffness, damping } => {
            hang(model, tool, &stiffness, &damping, step_s, &mut mover);
            0.0
        }
    };
    data.movers[TOOL] = mover;
    for mover in &mut data.movers {
        mover.bent = Bent::half_way(&mover.pose, &mover.twist, step_s);
    }
    compliance
}

/// The tool as a body on the coupling's spring and damper.
fn hang(model: &SimModel, tool: &ToolSample, stiffness: &[f64; 6], damping: &[f64; 6], step_s: f64, mover: &mut Mover) {
    let body =
        RigidBody::new(model.tool.inertia, Gravity::NONE, Coriolis::Start, tool.pose_world_tool, tool.twist_tool);
    let coupling = pmi::Coupling {
        damping: Mat6::from_diagonal(&Vec6::from(*damping)),
        stiffness: Mat6::from_diagonal(&Vec6::from(*stiffness)),
        displacement: displacement(&tool.pose_world_handle, &tool.pose_world_tool),
        anchor_twist: tool.twist_handle,
    };
    let Some(step) = body.prepare(&tool.wrench_external, Some(&coupling), step_s) else { return };
    mover.free = step.free;
    mover.inverse = step.inverse;
    mover.inverse_mass = model.tool.inertia.inverse_matrix();
    if model.tool.rotation_locked {
        for matrix in [&mut mover.inverse, &mut mover.inverse_mass] {
            matrix.fixed_view_mut::<3, 6>(3, 0).fill(0.0);
            matrix.fixed_view_mut::<6, 3>(0, 3).fill(0.0);
        }
        mover.free = join(&split(&mover.free).0, &Vec3::zeros());
    }
}

/// Stage 2: contacts within the margin.
fn collide(model: &SimModel, data: &mut SimData) {
    data.request.stamp = crate::shared::Stamp { sequence: data.stamp.sequence + 1, at: data.stamp.at };
    for (pose, mover) in data.request.poses.iter_mut().zip(&data.movers) {
        *pose = mover.pose;
    }
    let mut reply = *data.service.candidates(&data.request);
    let fresh = reply.stamp == data.request.stamp;
    data.contacts.clear();
    for candidate in reply.candidates.as_mut_slice() {
        let movers = [usize::from(candidate.body_a), usize::from(candidate.body_b)];
        let poses = movers.map(|mover| data.movers[mover].pose);
        if !fresh {
            candidate.refresh(&poses[0], &poses[1]);
        }
        let holder = movers[usize::from(candidate.surface == Side::A)];
        let pair = model.pair(material(model, movers[0]), material(model, movers[1]));
        data.contacts.push(Contact::new(candidate, &data.movers, &data.features[holder], pair));
    }
}

fn material(model: &SimModel, mover: usize) -> usize {
    if mover == TOOL { model.tool.material } else { model.bodies[mover - 1].material }
}

/// Stages 3 to 5: forces and midpoint twists.
fn find_forces(model: &SimModel, data: &mut SimData, step_s: f64, contact_compliance: f64) -> Outcome {
    for contact in &mut data.contacts {
        contact.place(&data.movers);
    }
    let mut iterations = 0;
    for pass in 1.. {
        assemble(data, step_s, contact_compliance);
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
    for (index, mover) in movers.iter_mut().enumerate() {
        mover.bent = Bent::half_way(&mover.pose, &mover.midpoint, step_s);
        let body = index.checked_sub(1).and_then(|index| data.bodies[index].as_ref());
        if let Some(body) = body
            && let Some(step) = body.prepare_touching(&data.external[index - 1], &mover.contact, step_s)
        {
            (mover.free, mover.inverse) = (step.free, step.inverse);
            mover.midpoint = step.free + step.inverse * mover.contact;
            steps[index] = Some(step);
        }
    }
    let mut contacts = data.contacts.clone();
    let mut fits = true;
    for (new, old) in contacts.iter_mut().zip(&data.contacts) {
        new.place(&movers);
        let found = new.rates(&movers, |m| m.midpoint) - old.rates(&data.movers, |m| m.midpoint);
        let guessed = new.rates(&movers, |m| m.twist) - old.rates(&data.movers, |m| m.twist);
        let miss = step_s * found.amax().max(guessed.amax());
        let gap = old.candidate.gap.max(0.0) + step_s * old.rate(0, &data.movers, |m| m.midpoint);
        fits &= miss <= ROWS_MISS_M || gap > 2.0 * miss;
    }
    if !fits {
        (data.movers, data.steps, data.contacts) = (movers, steps, contacts);
    }
    !fits
}

/// Stage 4: the problem, warm-started from the last step.
fn assemble(data: &mut SimData, step_s: f64, contact_compliance: f64) {
    let rows = 3 * data.contacts.len();
    data.blocks.clear();
    data.free.clear();
    data.lambda.clear();
    for (index, contact) in data.contacts.iter().enumerate() {
        let law = Law::Contact {
            friction: contact.friction,
            compliance: if contact.movers.contains(&TOOL) { contact_compliance } else { 0.0 },
        };
        data.blocks.push(Block { id: contact.candidate.id, first: 3 * index, law });
        for k in 0..3 {
            let gap = if k == 0 { contact.candidate.gap.max(0.0) } else { 0.0 };
            data.free.push(gap + step_s * contact.rate(k, &data.movers, |mover| mover.free));
        }
        let before = data.remembered.binary_search_by_key(&contact.candidate.id, |(id, _)| *id);
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

/// Stage 5.
fn solve_contacts(model: &SimModel, data: &mut SimData) -> Outcome {
    let problem =
        Problem { blocks: &data.blocks, compliance: &data.compliance, stride: data.free.len(), free: &data.free };
    let outcome = solve_robustly(&problem, &mut data.lambda, &model.solver, &mut data.workspace, || false);
    data.remembered.clear();
    for (contact, force) in data.contacts.iter().zip(data.lambda.chunks_exact(3)) {
        if force[0] > 0.0 {
            data.remembered.push((contact.candidate.id, [force[0], force[1], force[2]]));
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

/// Stage 6. The tool's own outcome lives in the haptic thread.
fn advance_bodies(data: &mut SimData) {
    for (index, body) in data.bodies.iter_mut().enumerate() {
        let (Some(body), Some(step)) = (body, &data.steps[index + 1]) else { continue };
        let midpoint = &data.movers[index + 1].midpoint;
        if midpoint.iter().all(|x| x.is_finite()) {
            body.finish(step, midpoint);
        }
    }
}

/// Twist of a mover at the end of the step, settled.
pub(super) fn end_twist(data: &SimData, mover: usize) -> Twist {
    let body = mover.checked_sub(1).and_then(|index| data.bodies[index].as_ref());
    body.map_or_else(|| data.movers[mover].end(), |body| *body.twist())
}

/// True when the body at `index` moves.
#[must_use]
pub fn is_free(model: &SimModel, index: usize) -> bool {
    matches!(model.bodies[index].motion, Motion::Free(_))
}
