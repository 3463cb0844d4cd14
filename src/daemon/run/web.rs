//! The daemon's answers over HTTP: the tree of addresses, the figures, whether all is well.
//!
//! Thread: control.

use super::metrics::{Lost, metrics};
use super::supervisor::Supervisor;
use crate::control::access::{Access, Level, Network};
use crate::control::discovery::{Advert, Announcement, host_name, should_advertise};
use crate::control::http::{Answer, Asked, Door, Limits, Question, Server};
use crate::control::hub::Hub;
use crate::control::plant::Plant as _;
use crate::control::query::{self, Host};
use crate::control::{prometheus, tree};
use crate::daemon::Failure;
use crate::files::config::Osc;
use crate::shared::Clock as _;
use crate::shared::realtime::SystemClock;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::mpsc;

/// A haptic loop whose last tick is older than this is not well, s.
const STANDSTILL_S: f64 = 1.0;

/// The server, and what it needs to know.
pub(super) struct Web {
    /// Ends all connections when dropped.
    _server: Server,
    /// Withdraws what was announced when dropped.
    _advert: Option<Advert>,
    questions: mpsc::Receiver<Asked>,
    host: Host,
    machine: String,
    access: Arc<RwLock<Access>>,
}

/// Lets in whom the access of the moment allows, under every name of this machine.
fn door(machine: &str, access: &Arc<RwLock<Access>>) -> Door {
    let judge = Arc::clone(access);
    let admit = move |peer| judge.read().unwrap_or_else(PoisonError::into_inner).level(peer) != Level::Refused;
    let names = vec![machine.to_owned(), format!("{machine}.local"), host_name(machine)];
    Door { admit: Box::new(admit), names }
}

impl Web {
    /// Serves `listener`. Needs a running event loop.
    ///
    /// # Errors
    /// When the socket cannot be used.
    pub(super) fn start(
        listener: TcpListener,
        osc: SocketAddr,
        query: SocketAddr,
        access: Access,
    ) -> Result<Self, Failure> {
        let listener = tokio::net::TcpListener::from_std(listener)
            .map_err(|error| Failure::Port(format!("the OSCQuery socket cannot be used: {error}")))?;
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        let access = Arc::new(RwLock::new(access));
        let (server, questions) = Server::start(listener, door(&name, &access), Limits::default());
        let host = Host { name: format!("hapticd on {name}"), osc };
        let advert = announce(&host.name, name.clone(), osc, query);
        Ok(Self { _server: server, _advert: advert, questions, host, machine: name, access })
    }

    /// Who is let in: the same for every port.
    pub(super) fn door(&self) -> Door {
        door(&self.machine, &self.access)
    }

    /// Lets others in from now on.
    pub(super) fn admit(&self, access: Access) {
        *self.access.write().unwrap_or_else(PoisonError::into_inner) = access;
    }

    /// The next question.
    pub(super) async fn question(&mut self) -> Option<Asked> {
        self.questions.recv().await
    }

    /// Answers one.
    pub(super) fn answer(&self, asked: Asked, plant: &Supervisor, hub: &Hub, lost: &Lost) {
        let answer = match &asked.question {
            Question::Node { path, attribute } => query::answer(&tree::nodes(plant), path, *attribute).into(),
            Question::Scene => Answer::json(&plant.portrait()),
            Question::HostInfo => Answer::json(&query::host_info(&self.host)),
            Question::Metrics => Answer::metrics(prometheus::page(&metrics(plant, &hub.figures(), lost))),
            Question::Health => {
                let now = SystemClock.now();
                let ticks = plant.newest().is_some_and(|record| now.seconds_after(record.due) < STANDSTILL_S);
                Answer::health((!ticks).then_some("the haptic loop stands still"))
            }
        };
        asked.answer(answer);
    }
}

/// Tells the network where the daemon is, if it can be reached from there.
fn announce(name: &str, machine: String, osc: SocketAddr, query: SocketAddr) -> Option<Advert> {
    if !should_advertise(osc.ip()) {
        return None;
    }
    let announcement =
        Announcement { name: name.to_owned(), machine, bound: osc.ip(), osc_port: osc.port(), http_port: query.port() };
    Advert::start(&announcement).map_err(|error| tracing::warn!("{error}")).ok()
}

/// Who may do what, by the configuration.
///
/// # Errors
/// When a text is no network, which the configuration has ruled out.
pub(super) fn access(config: &Osc) -> Result<Access, Failure> {
    let networks = |texts: &[String]| -> Result<Vec<Network>, Failure> {
        texts.iter().map(|text| text.parse().map_err(|error| Failure::Usage(format!("{error}")))).collect()
    };
    Ok(Access { allow: networks(&config.allow)?, read_only: networks(&config.read_only)? })
}
