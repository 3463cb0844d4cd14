//! Work that takes time, done by cold threads: building and stopping rigs, writing fault data.
//!
//! Thread: control sends and collects; the work itself runs on threads of the runtime's blocking pool.

use super::black_box::Capture;
use super::rig::{Plan, Rig};
use crate::control::plant::{Code, Refused, Ticket};
use crate::daemon::Failure;
use crate::files::{LoadError, Report};
use crate::record::{RecordError, RecordOptions, RecordSummary, Recorder};
use crate::scene::{OpenError, Watch};
use crate::shared::MonoNs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Builders that may hang at once.
const ABANDONED_MAX: usize = 2;

/// What has been done.
pub(super) enum Done {
    /// The rig of this number stands, or why not.
    Built(u64, Box<Result<Rig, Failure>>),
    /// The data of a fault is written, or why not.
    Written(u32, io::Result<PathBuf>),
    /// A recording has begun, or why not.
    Recording(Ticket, Result<Recorder, RecordError>),
    /// A recording is closed; whoever asked for that hears of it.
    Recorded(Option<Ticket>, Result<RecordSummary, RecordError>),
}

/// A rig being built: for whom, and by which plan.
pub(super) struct Building {
    /// Who waits; nobody when a signal asked for it.
    pub(super) ticket: Option<Ticket>,
    /// What it will be.
    pub(super) plan: Plan,
    /// When it was begun, and when somebody was last told how it goes.
    pub(super) since: MonoNs,
    pub(super) told: MonoNs,
    /// Whoever is told by the builder, and can end it.
    pub(super) watch: Watch,
    number: u64,
}

impl Building {
    /// To begin now.
    pub(super) fn new(ticket: Option<Ticket>, plan: Plan, now: MonoNs) -> Self {
        Self { ticket, plan, since: now, told: now, watch: Watch::default(), number: 0 }
    }
}

/// See the file's head.
pub(super) struct Errands {
    sender: Sender<Done>,
    receiver: Receiver<Done>,
    /// The one job under way.
    pub(super) building: Option<Building>,
    /// Builders begun so far.
    count: u64,
    /// Builders that nobody waits for any more, and that have not ended yet.
    abandoned: usize,
}

impl Errands {
    /// Nothing under way.
    pub(super) fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver, building: None, count: 0, abandoned: 0 }
    }

    /// Builds a rig. One at a time: the caller has looked.
    pub(super) fn build(&mut self, building: Building) {
        self.count += 1;
        let (plan, watch, number) = (building.plan.clone(), building.watch.clone(), self.count);
        let building = Building { number, ..building };
        self.building = Some(building);
        self.run(move || {
            // A bug in a builder must not leave the daemon busy for ever.
            let built = catch_unwind(AssertUnwindSafe(|| plan.build_watched(&watch)));
            let bug =
                || Err(Failure::Usage("building the scene panicked; the log says where, please report it".into()));
            Done::Built(number, Box::new(built.unwrap_or_else(|_| bug())))
        });
    }

    /// Waits for the builder no longer: it ends at its next step, or hangs where the system leaves it.
    pub(super) fn abandon(&mut self) -> Option<Building> {
        let building = self.building.take()?;
        building.watch.cancel();
        self.abandoned += 1;
        Some(building)
    }

    /// True while so many abandoned builders hang that no more should be begun.
    pub(super) fn is_clogged(&self) -> bool {
        self.abandoned >= ABANDONED_MAX
    }

    /// The job that ended with this number; none when nobody waits for it.
    pub(super) fn built(&mut self, number: u64) -> Option<Building> {
        let waited = self.building.take_if(|building| building.number == number);
        if waited.is_none() {
            self.abandoned = self.abandoned.saturating_sub(1);
        }
        waited
    }

    /// Writes the data of a fault below `state`.
    pub(super) fn write(&self, capture: Capture, state: PathBuf) {
        self.run(move || Done::Written(capture.id, capture.write(&state)));
    }

    /// Opens a recording.
    pub(super) fn record(&self, ticket: Ticket, options: RecordOptions) {
        self.run(move || Done::Recording(ticket, Recorder::start(options)));
    }

    /// Closes a recording.
    pub(super) fn close(&self, ticket: Option<Ticket>, recorder: Recorder) {
        self.run(move || Done::Recorded(ticket, recorder.stop()));
    }

    /// Ends a rig that is not needed any more.
    pub(super) fn dismiss(&self, rig: Rig) {
        tokio::task::spawn_blocking(move || {
            if let Err(error) = rig.stop() {
                tracing::error!("the former scene did not end well: {error}");
            }
        });
    }

    /// What has been done since the last call.
    pub(super) fn done(&self) -> Option<Done> {
        self.receiver.try_recv().ok()
    }

    fn run(&self, work: impl FnOnce() -> Done + Send + 'static) {
        let sender = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            // Nobody listens any more when the daemon ends.
            let _ = sender.send(work());
        });
    }
}

/// What a failure to load is to a client: a code, and the first thing that is wrong with its place. The rest is in the log.
pub(super) fn refused(failure: &Failure) -> Refused {
    let invalid = |report: &Report| {
        let first = report.findings().first();
        let first = first.map(|f| format!("{}:{}:{}: {}; {}", report.name(), f.line, f.column, f.message, f.help));
        (Code::OutOfRange, first.unwrap_or_else(|| report.to_string()))
    };
    let (code, text) = match failure {
        Failure::Report(report) => invalid(report),
        Failure::File(error) | Failure::Open(OpenError::File(error)) => match error {
            LoadError::Invalid(report) => invalid(report),
            LoadError::NotFound { .. } => (Code::NotFound, failure.to_string()),
            LoadError::Directory { .. } | LoadError::Unreadable { .. } => (Code::OutOfRange, failure.to_string()),
        },
        Failure::Open(OpenError::Unknown { .. }) => (Code::NotFound, failure.to_string()),
        _ => (Code::OutOfRange, failure.to_string()),
    };
    Refused { code, text: text.lines().next().unwrap_or_default().into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene;

    #[test]
    fn a_client_hears_the_first_problem_with_its_line_and_a_code_that_fits() {
        let unknown = refused(&Failure::from(scene::open("peg_primitiv").expect_err("misspelt")));
        assert!(unknown.code == Code::NotFound && unknown.text.contains("peg_primitive"), "{unknown:?}");
        let missing = refused(&Failure::from(scene::open("/no/such.toml").expect_err("missing")));
        assert_eq!(missing.code, Code::NotFound);
        let text = scene::shipped("virtual_wall").expect("it is shipped").replacen("N/m\"", "furlong\"", 1);
        let wrong = scene::parse(text.as_bytes(), "mine.toml").expect_err("no such unit");
        let line = wrong.findings()[0].line;
        let wrong = refused(&Failure::Report(wrong));
        assert!(wrong.code == Code::OutOfRange && wrong.text.starts_with(&format!("mine.toml:{line}:")), "{wrong:?}");
        assert!(wrong.text.contains("unknown unit") && !wrong.text.contains('\n'), "{wrong:?}");
    }
}
