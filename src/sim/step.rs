//! One simulation step.
//!
//! Thread: simulation.
//!
//! 1. place: the tool as the haptic thread last knew it
//! 2. collide: contacts within the margin
//! 3. free: midpoint motion of every body without contact (passive midpoint integration)
//! 4. assemble: `δ = W λ + δ_free` at the end of the step
//! 5. solve: contact forces
//! 6. move: midpoint twists, poses, velocities
//! 7. settle: velocities obey the contact law too (impact, restitution)
//! 8. push apart: what the linearisation left overlapping, without giving it speed
//! 9. publish: snapshot for the haptic thread, view for the screen
//!
//! Stage 5 puts the law on the midpoint, `d + T v̂_n ≥ 0` with friction against `v̂_t` (seed 001 eq. 7): positions do not
//! overlap and contact never creates energy. By itself that would reflect a body, since a midpoint at rest means
//! `v_{k+1} = −v_k`; stage 7 finds the impulses of the step again with the law on `v_{k+1}` (seed 001 eq. 2, seed 000
//! eq. 28 with its restitution), and keeps them only if contact as a whole still takes energy out. Seed 000 corrects
//! overlap by adding `d/T` to the velocity, which pays for it with kinetic energy; stage 8 moves positions instead.

use super::data::{Contact, Mover, TOOL};
use super::{Motion, SimData, SimModel, StepReport, publish};
use crate::math::{Mat6, Pose, Twist, Vec3, Vec6, advance, displacement, join, split, tangents};
use crate::mechanism::newton::solve_robustly;
use crate::mechanism::pmi::{self, Coriolis, Gravity, RigidBody};
use crate::mechanism::solver::Settings;
use crate::mechanism::{Block, Law, MechanismSnapshot, Problem};
use crate::shared::{CouplingLink, NS_PER_S, ToolSample};

/// Overlap below which nothing is pushed apart, m.
const OVERLAP_LEFT_M: f64 = 1e-9;
/// Approach speed below which an impact has no rebound, in units of the speed gravity gives in a step.
const REBOUND_STEPS: f64 = 2.0;

/// Advances the scene by one step from the time in `data.stamp`, the tool being as in `tool`, and writes the mechanism into
/// `out`. Pure: equal arguments give equal results.
pub fn step(model: &SimModel, data: &mut SimData, tool: &ToolSample, out: &mut MechanismSnapshot) -> StepReport {
    let step_s = model.step_s();
    let contact_compliance = place(model, data, tool, step_s);
    collide(model, data);
    assemble(data, step_s, contact_compliance);
    let outcome = solve_contacts(model, data);
    advance_bodies(data);
    settle(model, data, step_s);
    push_apart(data);
    let touching = data.lambda.chunks_exact(3).filter(|l| l[0] > 0.0).count();
    let deepest = data.contacts.iter().fold(0.0, |m: f64, c| m.max(-c.candidate.gap));
    data.stamp.sequence += 1;
    data.stamp.at = data.stamp.at.plus((step_s * NS_PER_S as f64).round() as u64);
    data.show(tool.pose_world_tool);
    let dropped = publish::write_snapshot(data, step_s, tool, out);
    data.report = StepReport {
        contacts: data.contacts.len(),
        touching,
        iterations: outcome.iterations,
        residual: outcome.residual,
        converged: outcome.converged,
        penetration_m: deepest,
        dropped,
    };
    data.report
}

/// Stages 1 and 3: where everything is, how it moves freely and how it yields. Gives the compliance of each contact.
fn place(model: &SimModel, data: &mut SimData, tool: &ToolSample, step_s: f64) -> f64 {
    for (index, body) in data.bodies.iter().enumerate() {
        let Some(body) = body else { continue };
        let step = body.prepare(&Vec6::zeros(), None, step_s);
        let mover = &mut data.movers[index + 1];
        mover.pose = *body.pose();
        mover.twist = *body.twist();
        mover.inverse_mass = body.inertia().inverse_matrix();
        (mover.free, mover.inverse) =
            step.as_ref().map_or((mover.twist, Mat6::zeros()), |step| (step.free, step.inverse));
        data.steps[index + 1] = step;
    }
    let mut mover = Mover::fixed(tool.pose_world_tool);
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

/// Stage 2: contacts within the margin, with their rows.
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
        let (t1, t2) = tangents(&candidate.normal);
        let directions = [candidate.normal, t1, t2];
        let row =
            |pose: &Pose, point: &Vec3, d: &Vec3| join(d, &point.cross(&pose.rotation.inverse_transform_vector(d)));
        let (friction, restitution) = model.pair(material(model, movers[0]), material(model, movers[1]));
        data.contacts.push(Contact {
            candidate: *candidate,
            movers,
            rows: [
                directions.map(|d| row(&poses[0], &candidate.point_a, &d)),
                directions.map(|d| -row(&poses[1], &candidate.point_b, &d)),
            ],
            directions,
            friction,
            restitution,
        });
    }
}

fn material(model: &SimModel, mover: usize) -> usize {
    if mover == TOOL { model.tool.material } else { model.bodies[mover - 1].material }
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
            data.free.push(gap + step_s * relative(contact, k, &data.movers, |mover| mover.free));
        }
        let before = data.remembered.binary_search_by_key(&contact.candidate.id, |(id, _)| *id);
        data.lambda.extend_from_slice(&before.map_or([0.0; 3], |at| data.remembered[at].1));
    }
    fill_compliance(&mut data.compliance, rows, &data.contacts, &data.movers, step_s, |mover| mover.inverse);
}

/// Rate of row `k` of a contact under the twists that `of` picks.
pub(super) fn relative(contact: &Contact, k: usize, movers: &[Mover], of: impl Fn(&Mover) -> Twist) -> f64 {
    (0..2).map(|side| contact.rows[side][k].dot(&of(&movers[contact.movers[side]]))).sum()
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
fn solve_contacts(model: &SimModel, data: &mut SimData) -> crate::mechanism::solver::Outcome {
    let problem =
        Problem { blocks: &data.blocks, compliance: &data.compliance, stride: data.free.len(), free: &data.free };
    let outcome = solve_robustly(&problem, &mut data.lambda, &model.solver, &mut data.workspace);
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
fn wrench_on(mover: usize, contacts: &[Contact], forces: &[f64]) -> Vec6 {
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

/// Stage 6.
fn advance_bodies(data: &mut SimData) {
    for (index, body) in data.bodies.iter_mut().enumerate() {
        let (Some(body), Some(step)) = (body, &data.steps[index + 1]) else { continue };
        let midpoint = step.free + step.inverse * wrench_on(index + 1, &data.contacts, &data.lambda);
        if midpoint.iter().all(|x| x.is_finite()) {
            body.finish(step, &midpoint);
        }
    }
    // The tool's own outcome lives in the haptic thread; here only its velocity at the end of the step is needed.
    let mover = &data.movers[TOOL];
    let midpoint = mover.free + mover.inverse * wrench_on(TOOL, &data.contacts, &data.lambda);
    data.movers[TOOL].free = midpoint;
}

/// Twist of a mover at the end of the step.
pub(super) fn end_twist(data: &SimData, mover: usize) -> Twist {
    if mover == TOOL {
        let tool = &data.movers[TOOL];
        return if tool.inverse_mass[(0, 0)] > 0.0 { tool.free * 2.0 - tool.twist } else { tool.free };
    }
    data.bodies[mover - 1].as_ref().map_or_else(Twist::zeros, |body| *body.twist())
}

/// Stage 7: see the file's head.
fn settle(model: &SimModel, data: &mut SimData, step_s: f64) {
    let active: Vec<usize> = (0..data.contacts.len()).filter(|i| data.lambda[3 * i] > 0.0).collect();
    if active.is_empty() {
        return;
    }
    let contacts: Vec<Contact> = active.iter().map(|i| data.contacts[*i]).collect();
    let done: Vec<f64> = active.iter().flat_map(|i| [0, 1, 2].map(|k| data.lambda[3 * i + k] * step_s)).collect();
    let ends: Vec<Mover> =
        (0..data.movers.len()).map(|mover| Mover { free: end_twist(data, mover), ..data.movers[mover] }).collect();
    let slow = REBOUND_STEPS * step_s * model.gravity.norm();
    let rebounds: Vec<f64> = contacts
        .iter()
        .map(|contact| {
            let approach = relative(contact, 0, &data.movers, |mover| mover.twist);
            if -approach > slow { contact.restitution * approach } else { 0.0 }
        })
        .collect();
    let rows = done.len();
    let mut compliance = Vec::new();
    fill_compliance(&mut compliance, rows, &contacts, &ends, 1.0, |mover| mover.inverse_mass);
    for bounce in [1.0, 0.0] {
        let mut free = Vec::with_capacity(rows);
        for (i, contact) in contacts.iter().enumerate() {
            for k in 0..3 {
                let row = &compliance[(3 * i + k) * rows..][..rows];
                let undone: f64 = row.iter().zip(&done).map(|(w, p)| w * p).sum();
                let rate = relative(contact, k, &ends, |mover| mover.free);
                free.push(rate - undone + if k == 0 { bounce * rebounds[i] } else { 0.0 });
            }
        }
        if let Some(impulses) = impulses(&contacts, &compliance, &free, &done)
            && strike(data, &contacts, &impulses, &ends, &done, step_s)
        {
            return;
        }
    }
}

/// Total impulses of the step under the law on velocities.
fn impulses(contacts: &[Contact], compliance: &[f64], free: &[f64], done: &[f64]) -> Option<Vec<f64>> {
    let blocks: Vec<Block> = contacts
        .iter()
        .enumerate()
        .map(|(i, contact)| Block {
            id: contact.candidate.id,
            first: 3 * i,
            law: Law::Contact { friction: contact.friction, compliance: 0.0 },
        })
        .collect();
    let problem = Problem { blocks: &blocks, compliance, stride: free.len(), free };
    let mut impulses = done.to_vec();
    let settings = Settings { iterations: 60, tolerance: 1e-10, relaxation: 1.2 };
    let mut workspace = crate::mechanism::newton::Workspace::default();
    solve_robustly(&problem, &mut impulses, &settings, &mut workspace);
    impulses.iter().all(|x| x.is_finite()).then_some(impulses)
}

/// Applies the change of impulse unless contact as a whole would then have given energy; false when it would.
fn strike(
    data: &mut SimData,
    contacts: &[Contact],
    impulses: &[f64],
    ends: &[Mover],
    done: &[f64],
    step_s: f64,
) -> bool {
    let change: Vec<f64> = impulses.iter().zip(done).map(|(p, d)| p - d).collect();
    let mut given = 0.0;
    let mut twists = Vec::with_capacity(ends.len());
    for (mover, end) in ends.iter().enumerate() {
        let impulse = wrench_on(mover, contacts, &change);
        let gain = end.inverse_mass * impulse;
        // Midpoint work of the step plus kinetic energy of the strike.
        let force = wrench_on(mover, contacts, done) / step_s;
        let midpoint = if mover == TOOL { data.movers[TOOL].free } else { (data.movers[mover].twist + end.free) * 0.5 };
        given += step_s * force.dot(&midpoint) + impulse.dot(&(end.free + gain * 0.5));
        twists.push(end.free + gain);
    }
    let scale: f64 = ends.iter().zip(impulses.chunks_exact(3)).map(|(e, p)| e.free.norm() * p[0].abs()).sum();
    if given > 1e-12 * scale {
        return false;
    }
    for (mover, twist) in twists.into_iter().enumerate().skip(1) {
        if let Some(body) = &mut data.bodies[mover - 1]
            && (twist - body.twist()).norm() > 0.0
        {
            body.strike(twist);
        }
    }
    true
}

/// Stage 8: moves bodies out of what overlap is left, shortest way in the metric of their masses; the tool stays.
fn push_apart(data: &mut SimData) {
    let deep: Vec<Contact> =
        data.contacts.iter().filter(|contact| contact.candidate.gap < -OVERLAP_LEFT_M).copied().collect();
    if deep.is_empty() {
        return;
    }
    let mut movers = data.movers.clone();
    movers[TOOL].inverse_mass = Mat6::zeros();
    let rows = 3 * deep.len();
    let mut compliance = Vec::new();
    fill_compliance(&mut compliance, rows, &deep, &movers, 1.0, |mover| mover.inverse_mass);
    let free: Vec<f64> = deep.iter().flat_map(|contact| [contact.candidate.gap, 0.0, 0.0]).collect();
    let blocks: Vec<Block> = (0..deep.len())
        .map(|i| Block { id: 0, first: 3 * i, law: Law::Contact { friction: 0.0, compliance: 0.0 } })
        .collect();
    let problem = Problem { blocks: &blocks, compliance: &compliance, stride: rows, free: &free };
    let mut push = vec![0.0; rows];
    solve_robustly(&problem, &mut push, &Settings::default(), &mut data.workspace);
    for (index, body) in data.bodies.iter_mut().enumerate() {
        let Some(body) = body else { continue };
        let shift = movers[index + 1].inverse_mass * wrench_on(index + 1, &deep, &push);
        if shift.iter().all(|x| x.is_finite()) && shift.norm() > 0.0 {
            body.shift(advance(body.pose(), &shift, 1.0));
        }
    }
}

/// True when the body at `index` moves.
#[must_use]
pub fn is_free(model: &SimModel, index: usize) -> bool {
    matches!(model.bodies[index].motion, Motion::Free(_))
}
