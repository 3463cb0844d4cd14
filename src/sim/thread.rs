//! The simulation's thread: steps at the scene's rate, reads the newest tool, publishes mechanism and view.
//!
//! Thread: simulation (not real-time). Nobody waits for it: when it is late, stalled or gone, the haptic thread sees an old
//! mechanism and fades.

use super::{MaterialOrder, Painter, SimData, SimModel, StepReport, step};
use crate::mechanism::MechanismSnapshot;
use crate::shared::realtime::{SystemClock, sleep_until};
use crate::shared::{
    Clock, DurationFigures, DurationHistogram, LatestReader, LatestWriter, Pacer, RateError, RingWriter, SceneView,
    SkinWriter, StepInput, ToolSample,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the simulation is connected to at one hand.
pub struct HandLinks {
    /// The tool, from the haptic thread.
    pub tool: LatestReader<ToolSample>,
    /// The mechanism, to the haptic thread.
    pub snapshots: LatestWriter<MechanismSnapshot>,
    /// The view for the simulated operator.
    pub operator_view: LatestWriter<SceneView>,
}

/// What the simulation is connected to.
pub struct SimLinks {
    /// One for each tool of the model, in that order.
    pub hands: Vec<HandLinks>,
    /// Friction and restitution, from whoever supervises.
    pub materials: LatestReader<MaterialOrder>,
    /// Bodies that deform, for whoever draws.
    pub skins: SkinWriter,
    /// What each step depended on, for whoever records.
    pub steps: RingWriter<StepInput>,
    /// The view and figures for whoever supervises.
    pub status: LatestWriter<SimStatus>,
}

/// State of the simulation as its supervisor sees it.
#[derive(Clone, Copy, Debug)]
pub struct SimStatus {
    /// The scene.
    pub view: SceneView,
    /// The last step.
    pub report: StepReport,
    /// Durations of all steps so far.
    pub step_times: DurationFigures,
    /// Steps that were skipped because one took too long.
    pub skipped: u64,
    /// Steps that did not converge ([`SimData::unconverged`]).
    pub unconverged: u64,
    /// Sequence of the material order taken last; one that is not sound is taken and changes nothing.
    pub materials_taken: u64,
}

impl SimStatus {
    /// Before the first step.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            view: SceneView::empty(),
            report: StepReport::default(),
            step_times: DurationHistogram::new().figures(),
            skipped: 0,
            unconverged: 0,
            materials_taken: 0,
        }
    }
}

/// A running simulation.
pub struct SimThread {
    stop: Arc<AtomicBool>,
    handle: Option<std::thread::JoinHandle<()>>,
}

/// Why the simulation could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SimStartError {
    /// The rate makes no sense.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The system gave no thread.
    #[error("the system gave no thread for the simulation: {0}")]
    Thread(#[from] std::io::Error),
}

impl SimThread {
    /// Starts stepping.
    ///
    /// # Errors
    /// When the rate makes no sense or the system gives no thread.
    pub fn spawn(model: SimModel, data: SimData, links: SimLinks) -> Result<Self, SimStartError> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let painter = Painter::new(&model);
        let pacer = Pacer::new(model.rate_hz, 0, SystemClock.now())?;
        let handle = std::thread::Builder::new()
            .name("simulation".into())
            .stack_size(4 << 20)
            .spawn(move || run(&model, data, painter, links, pacer, &stopped))?;
        Ok(Self { stop, handle: Some(handle) })
    }

    /// True when the thread has ended, by [`Self::stop`] or by a panic.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.handle.as_ref().is_none_or(std::thread::JoinHandle::is_finished)
    }

    /// Ends it and waits for the step in hand; false when it had panicked.
    pub fn stop(&mut self) -> bool {
        self.stop.store(true, Ordering::Release);
        self.handle.take().is_none_or(|handle| handle.join().is_ok())
    }
}

impl Drop for SimThread {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(
    model: &SimModel,
    mut data: SimData,
    mut painter: Painter,
    mut links: SimLinks,
    mut pacer: Pacer,
    stop: &AtomicBool,
) {
    let mut times = DurationHistogram::new();
    let (mut skipped, mut took_ns) = (0, 0);
    pacer.run(&SystemClock, sleep_until, 0, |tick, missed| {
        if stop.load(Ordering::Acquire) {
            return ControlFlow::Break(());
        }
        skipped += missed;
        let began = tick.began;
        data.next_ends_at(model, began);
        data.last_took(took_ns);
        if let Some(order) = links.materials.read_if_new() {
            data.take_materials(order);
        }
        let tools: Vec<ToolSample> = links.hands.iter_mut().map(|hand| *hand.tool.read()).collect();
        let mut out: Vec<_> = links.hands.iter_mut().map(|hand| hand.snapshots.buffer()).collect();
        let report = step(model, &mut data, &tools, &mut out);
        // Before the mechanism is there: whoever sees a tick that took it finds the step in the ring.
        let took = |hand: usize| tools.get(hand).map_or(0, |tool| tool.stamp.sequence);
        links.steps.push(StepInput {
            sequence: data.stamp.sequence,
            began,
            tool: took(0),
            second_tool: took(1),
            materials: data.materials_taken(),
            took_ns,
        });
        for hand in &mut links.hands {
            hand.snapshots.publish_in_place();
        }
        took_ns = tick.now().since(began);
        times.record(took_ns);
        let mut view = data.view;
        for hand in &mut links.hands {
            hand.operator_view.publish(view);
            view = view.from_other_hand();
        }
        links.status.publish(SimStatus {
            view: data.view,
            report,
            step_times: times.figures(),
            skipped,
            unconverged: data.unconverged,
            materials_taken: data.materials_taken(),
        });
        links.skins.publish(data.stamp, &data.path, |skins| painter.paint(&data, skins));
        ControlFlow::Continue(())
    });
}
