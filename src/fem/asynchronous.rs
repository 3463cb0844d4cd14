//! Corotational bodies whose factor is made on another thread, so that the step does not wait for it.
//!
//! Thread: simulation, and one more that factors.
//!
//! Each step takes the newest finished factor, once, before anything is solved with it: the free motion and the
//! compliance of a step always belong to the same one. When the worker is idle it gets the matrix of the step. Where
//! the factor has grown so old that the compliance would be off by more than allowed (`WarpReport::compliance_error`),
//! the step waits for a new one.

use super::corotational::CorotationalBody;
use super::factor::FactorError;
use super::model::{FemError, FemModel};
use super::pattern::SparseMatrix;
use super::rows::Rows;
use super::warp::{NodeRotations, Warp, WarpReport};
use super::{Compliance, Regime};
use crate::math::Vec3;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

/// Matrix, rotations, and the warp to make from them; goes to the worker and comes back.
struct Job {
    matrix: SparseMatrix,
    rotations: NodeRotations,
    warp: Warp,
    made_for: Option<(f64, Regime)>,
    result: Result<(), FactorError>,
}

/// How exact a step must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AsyncSpec {
    /// Residual of the free motion, as a share of the forces.
    pub tolerance: f64,
    /// Relative error of the compliance at which a step waits for a new factor.
    pub compliance_error: f64,
}

impl Default for AsyncSpec {
    fn default() -> Self {
        Self { tolerance: 1e-8, compliance_error: 0.2 }
    }
}

/// A corotational body with the factor of an earlier step.
pub struct AsyncBody {
    body: CorotationalBody,
    spec: AsyncSpec,
    rotations: NodeRotations,
    /// The factor in use.
    warp: Warp,
    /// Step and regime the factor was made for; none before the first.
    made_for: Option<(f64, Regime)>,
    /// Room for the next job, while the worker has none.
    spare: Option<Box<Job>>,
    jobs: Option<SyncSender<Box<Job>>>,
    done: Receiver<Box<Job>>,
    worker: Option<JoinHandle<()>>,
    report: WarpReport,
    waits: u64,
}

impl AsyncBody {
    /// The body at rest, and its worker.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn new(model: Arc<FemModel>, gravity: Vec3, spec: AsyncSpec) -> std::io::Result<Self> {
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
        let worker = std::thread::Builder::new().name("factor".into()).spawn(work)?;
        let rotations = NodeRotations::new(&model);
        let spare = Job {
            matrix: SparseMatrix::zeros(model.pattern.clone()),
            rotations: rotations.clone(),
            warp: Warp::new(&model),
            made_for: None,
            result: Ok(()),
        };
        Ok(Self {
            warp: Warp::new(&model),
            rotations,
            spec,
            made_for: None,
            spare: Some(Box::new(spare)),
            jobs: Some(jobs),
            done,
            worker: Some(worker),
            report: WarpReport { iterations: 0, residual: 0.0, spread: (1.0, 1.0) },
            waits: 0,
            body: CorotationalBody::new(model, gravity),
        })
    }

    /// The body; its state is that of the last finished step.
    #[must_use]
    pub fn body(&self) -> &CorotationalBody {
        &self.body
    }

    /// The same, to set its state or regime between steps.
    pub fn body_mut(&mut self) -> &mut CorotationalBody {
        &mut self.body
    }

    /// How the last solve went.
    #[must_use]
    pub fn report(&self) -> WarpReport {
        self.report
    }

    /// Steps that had to wait for a factor.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// Begins a step, as [`CorotationalBody::prepare`] does.
    ///
    /// # Errors
    /// As there.
    pub fn prepare(&mut self, force: &[f64], step_s: f64) -> Result<(), FemError> {
        self.body.assemble(force, step_s)?;
        let model = self.body.model.clone();
        self.rotations.update(&model, &self.body.rotations);
        self.collect();
        if self.made_for != Some((step_s, self.body.regime)) {
            self.renew()?;
        }
        self.solve();
        let worn = self.report.compliance_error() > self.spec.compliance_error;
        if worn || self.report.residual > self.spec.tolerance {
            self.renew()?;
            self.solve();
        }
        self.hand_out();
        Ok(())
    }

    /// Approximate compliance of rows in the step under way, m/N, row-major; off by at most about
    /// [`WarpReport::compliance_error`] of itself.
    pub fn compliance(&mut self, rows: &Rows, work: &mut Compliance, out: &mut [f64]) {
        self.warp.compliance(rows, self.body.step_s, work, out);
    }

    /// Adds constraint forces by the same approximation, so that rows close exactly.
    ///
    /// # Errors
    /// When `force` is not of the body's size.
    pub fn apply_contact(&mut self, force: &[f64]) -> Result<(), FemError> {
        self.body.check_size(force)?;
        self.warp.correct(force, &mut self.body.midpoint);
        Ok(())
    }

    /// Ends the step under way.
    pub fn finish(&mut self) {
        self.body.advance();
    }

    /// Solves for the free motion from that of the step before.
    fn solve(&mut self) {
        self.warp.turn_to(&self.rotations);
        let Self { warp, body, spec, .. } = self;
        self.report = warp.solve(&body.matrix, &body.right, &mut body.midpoint, spec.tolerance);
    }

    /// Takes a finished factor, if there is one.
    fn collect(&mut self) {
        match self.done.try_recv() {
            Ok(job) => self.take(job),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
        }
    }

    /// Puts a finished factor to use, and keeps the old one's memory for the next job. One that failed is not used, nor
    /// one that was made for another step or regime.
    fn take(&mut self, mut job: Box<Job>) {
        if job.result.is_ok() && job.made_for == Some((self.body.step_s, self.body.regime)) {
            self.made_for = job.made_for;
            std::mem::swap(&mut self.warp, &mut job.warp);
        }
        self.spare = Some(job);
    }

    /// Gives the worker the matrix of this step, if it is idle.
    fn hand_out(&mut self) {
        let (Some(mut job), Some(jobs)) = (self.spare.take(), &self.jobs) else { return };
        job.matrix.values.copy_from_slice(&self.body.matrix.values);
        job.rotations.clone_from(&self.rotations);
        job.made_for = Some((self.body.step_s, self.body.regime));
        if let Err(error) = jobs.try_send(job) {
            let (std::sync::mpsc::TrySendError::Full(job) | std::sync::mpsc::TrySendError::Disconnected(job)) = error;
            self.spare = Some(job);
        }
    }

    /// Factors the matrix of this step here and now. What the worker has under way is let finish first, for its memory.
    fn renew(&mut self) -> Result<(), FemError> {
        self.waits += 1;
        if self.spare.is_none()
            && let Ok(job) = self.done.recv()
        {
            self.spare = Some(job);
        }
        self.made_for = None;
        self.warp.capture(&self.body.matrix, &self.rotations)?;
        self.made_for = Some((self.body.step_s, self.body.regime));
        Ok(())
    }
}

impl Drop for AsyncBody {
    fn drop(&mut self) {
        self.jobs = None;
        // Room for the worker's last result, so that it is not held up.
        let _ = self.done.try_recv();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}
