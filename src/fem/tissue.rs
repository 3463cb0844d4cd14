//! Soft tissue under a needle: a corotational body that goes from rest to rest, with a factor of some steps ago.
//!
//! Thread: simulation, and one more that factors.
//!
//! At 30 to 60 steps a second implicit steps damp every vibration of soft tissue away, so that by the rule of seed 004 §1.2.2 it
//! steps without time (eq. 1.9). What is left is a sequence of equilibria, and these need no exact matrix: every step takes the exact
//! elastic forces at the place it starts from and goes `P⁻¹ (p − f + Hᵀλ)`, with `P` the stiffness of an earlier step turned along
//! with the nodes ([`super::warp`]). Constraints close exactly with the compliance `H P⁻¹Hᵀ`; what the older matrix gets wrong is
//! a force that is not in balance, and the next step takes it up. At rest the equilibrium is exact.
//!
//! The factor is made on another thread and taken after a fixed number of steps, waited for if need be: equal inputs give equal
//! results, whatever the threads' timing.
//!
//! Relaxation. Tissue that is held gives way in time. A share `s` of the elastic force fades with time constant `τ` (the standard
//! linear solid): `f = f_e − s m`, `ṁ = (f_e − m)/τ`. At once it answers with its full stiffness, whatever the step, and after a long
//! time with `1 − s` of it.

use super::corotational::CorotationalBody;
use super::factor::FactorError;
use super::model::{FemError, FemModel};
use super::pattern::SparseMatrix;
use super::rows::Rows;
use super::warp::{NodeRotations, Warp};
use super::{Compliance, Regime};
use crate::math::Vec3;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// How a share of the elastic force fades.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relaxation {
    /// The share, 0 to below 1.
    pub share: f64,
    /// Its time constant, s.
    pub time_s: f64,
}

/// What goes to the worker and comes back.
struct Job {
    matrix: SparseMatrix,
    rotations: NodeRotations,
    warp: Warp,
    result: Result<(), FactorError>,
}

/// See the file's head. Vectors are displacements from rest, three numbers for each free node.
pub struct TissueBody {
    body: CorotationalBody,
    relaxation: Option<Relaxation>,
    /// `m`.
    faded: Vec<f64>,
    rotations: NodeRotations,
    warp: Warp,
    /// Steps until the factor under way is taken; none under way at zero.
    due: u32,
    lag: u32,
    spare: Option<Box<Job>>,
    jobs: Option<SyncSender<Box<Job>>>,
    done: Receiver<Box<Job>>,
    worker: Option<JoinHandle<()>>,
    /// Displacements at the end of the step under way.
    next: Vec<f64>,
    scratch: Vec<f64>,
}

impl TissueBody {
    /// The body at rest, and its worker. A factor is in use `lag` steps after it was asked for, one at least.
    ///
    /// # Errors
    /// When the body is not held.
    pub fn new(model: Arc<FemModel>, relaxation: Option<Relaxation>, lag: u32) -> Result<Self, FemError> {
        let (jobs, inbox) = sync_channel::<Box<Job>>(1);
        let (outbox, done) = sync_channel(1);
        let work = move || {
            // Ends when the body is dropped and hangs up.
            while let Ok(mut job) = inbox.recv() {
                job.result = job.warp.capture(&job.matrix, &job.rotations);
                if outbox.send(job).is_err() {
                    break;
                }
            }
        };
        // Without a thread the factor is made in the step.
        let worker = std::thread::Builder::new().name("tissue".into()).spawn(work).ok();
        let mut body = CorotationalBody::new(model.clone(), Vec3::zeros());
        body.set_regime(Regime::QuasiStatic);
        let zeros = vec![0.0; model.size()];
        body.assemble(&zeros, 1.0)?;
        let mut rotations = NodeRotations::new(&model);
        rotations.update(&model, &body.rotations);
        let mut warp = Warp::new(&model);
        warp.capture(&body.matrix, &rotations)?;
        warp.turn_to(&rotations);
        let spare = Job {
            matrix: SparseMatrix::zeros(model.pattern.clone()),
            rotations: rotations.clone(),
            warp: Warp::new(&model),
            result: Ok(()),
        };
        Ok(Self {
            body,
            relaxation,
            faded: zeros.clone(),
            rotations,
            warp,
            due: 0,
            lag: lag.max(1),
            spare: Some(Box::new(spare)),
            jobs: worker.is_some().then_some(jobs),
            done,
            worker,
            next: zeros.clone(),
            scratch: zeros,
        })
    }

    /// What does not change.
    #[must_use]
    pub fn model(&self) -> &Arc<FemModel> {
        self.body.model()
    }

    /// Displacements, as at the end of the last step.
    #[must_use]
    pub fn position(&self) -> &[f64] {
        self.body.position()
    }

    /// Displacements that the step under way leads to: without constraint forces, and with those applied so far.
    #[must_use]
    pub fn next(&self) -> &[f64] {
        &self.next
    }

    /// Elastic energy, J, as if nothing had faded.
    pub fn energy_j(&mut self) -> f64 {
        self.body.elastic_energy()
    }

    /// Begins a step: afterwards [`Self::next`] is where the body goes without constraint forces.
    ///
    /// # Errors
    /// When the matrix has no factor.
    pub fn prepare(&mut self) -> Result<(), FemError> {
        let share = self.relaxation.map_or(0.0, |relaxation| relaxation.share);
        for (force, faded) in self.scratch.iter_mut().zip(&self.faded) {
            *force = share * faded;
        }
        let model = self.body.model.clone();
        self.body.unbalance(&self.scratch)?;
        self.rotations.update(&model, &self.body.rotations);
        self.renew()?;
        self.warp.turn_to(&self.rotations);
        self.next.copy_from_slice(self.body.position());
        self.warp.correct(&self.body.right, &mut self.next);
        Ok(())
    }

    /// Compliance `H P⁻¹Hᵀ` of rows, m/N, row-major.
    pub fn compliance(&mut self, rows: &Rows, work: &mut Compliance, out: &mut [f64]) {
        self.warp.compliance(rows, 1.0, work, out);
    }

    /// Adds constraint forces, one for each free unknown, to the step under way.
    ///
    /// # Errors
    /// When `force` is not of the body's size.
    pub fn apply(&mut self, force: &[f64]) -> Result<(), FemError> {
        self.body.check_size(force)?;
        self.warp.correct(force, &mut self.next);
        Ok(())
    }

    /// Ends the step under way, which took `step_s`. A place that is not finite is not gone to; false then.
    pub fn finish(&mut self, step_s: f64) -> bool {
        if !self.next.iter().all(|x| x.is_finite()) {
            return false;
        }
        if let Some(relaxation) = self.relaxation {
            // The force at the place the step began at, with what is not in balance taken out again: p = 0.
            let rate = 1.0 - (-step_s / relaxation.time_s).exp();
            for ((faded, unbalanced), force) in self.faded.iter_mut().zip(&self.body.right).zip(&self.scratch) {
                let elastic = force - unbalanced;
                *faded += rate * (elastic - *faded);
            }
        }
        self.body.place(&self.next);
        true
    }

    /// Takes the factor that is due, and hands out the next matrix when none is under way.
    fn renew(&mut self) -> Result<(), FemError> {
        if self.due > 0 {
            self.due -= 1;
            if self.due == 0
                && let Ok(job) = self.done.recv()
            {
                let mut job = job;
                if job.result.is_ok() {
                    std::mem::swap(&mut self.warp, &mut job.warp);
                }
                self.spare = Some(job);
            }
        }
        if self.due > 0 {
            return Ok(());
        }
        self.body.assemble_matrix();
        let (Some(mut job), Some(jobs)) = (self.spare.take(), &self.jobs) else {
            self.warp.capture(&self.body.matrix, &self.rotations)?;
            return Ok(());
        };
        job.matrix.values.copy_from_slice(&self.body.matrix.values);
        job.rotations.clone_from(&self.rotations);
        if let Err(error) = jobs.try_send(job) {
            let (std::sync::mpsc::TrySendError::Full(job) | std::sync::mpsc::TrySendError::Disconnected(job)) = error;
            self.spare = Some(job);
            return Ok(());
        }
        self.due = self.lag;
        Ok(())
    }
}

impl Drop for TissueBody {
    fn drop(&mut self) {
        self.jobs = None;
        let _ = self.done.try_recv();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}
