//! The daemon's loop: sockets, signals and systemd on one thread, a poll of hub and plant every millisecond.
//!
//! Thread: control.
//!
//! Nothing in the loop waits for anything but the loop itself. Halts are carried out by the threads that receive them
//! ([`super::halt_line`]). Datagrams, packets of sockets and questions have their turns at random, each for a bounded time, with a poll
//! in between when one is due; what cannot be sent at once is dropped and counted.

use super::listener::{Datagram, Listener};
use super::log::Log;
use super::metrics::Lost;
use super::notify::Notifier;
use super::recording::Rules;
use super::rig::Plan;
use super::slice::Slice;
use super::sockets::{self, Sockets};
use super::supervisor::Supervisor;
use super::viewer::{Call, Viewer};
use super::web::{Web, access};
use super::web_thread::WebThread;
use super::{RunOptions, catalogue::Catalogue, log, state_dir};
use crate::control::http::Asked;
use crate::control::hub::{Hub, HubSettings, Outbox};
use crate::control::osc::Ntp;
use crate::control::plant::{Plant as _, Status};
use crate::daemon::Failure;
use crate::files::Look;
use crate::files::config::Config;
use crate::haptic::HapticError;
use crate::shared::realtime::{RealtimeRequest, SystemClock};
use crate::shared::{Clock as _, NS_PER_S};
use std::net::UdpSocket;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;

/// Time between two polls: that of the fastest stream, because a poll sends one sample of each.
const BEAT: Duration = Duration::from_millis(1);
/// Longest time for ramp-down and the end of all threads.
const FAREWELL: Duration = Duration::from_secs(3);
/// Time for files that are being written when the daemon ends.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Runs the daemon until a signal ends it.
pub(super) fn run(options: &RunOptions) -> Result<(), Failure> {
    let loaded = options.configuration()?;
    let config = loaded.value;
    let log = log::start(config.log_level);
    let _last_lines = log.last_lines();
    crate::daemon::warn(&loaded.warnings);
    let sockets = Sockets::open(&config)?;
    let plan = plan(&config, options);
    let rig = plan.build().map_err(|failure| match failure {
        Failure::Haptic(HapticError::RealtimeDenied(why)) => Failure::NoRealtime(why),
        other => other,
    })?;
    let state_dir = state_dir::of(&config);
    let mut plant = Supervisor::new(plan, rig, state_dir);
    plant.set_recording_rules(Rules::of(&config, options.configuration_text()));
    if let Some(name) = &options.record {
        plant.record_from_the_start(name)?;
    }
    tracing::info!("hapticd {}: {}", env!("CARGO_PKG_VERSION"), plant.description());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Usage(format!("the system gave no event loop: {error}")))?;
    let outcome = runtime.block_on(async { Service::new(options, &config, log, sockets, plant)?.serve().await });
    if matches!(outcome, Err(Failure::Cut | Failure::Hangs)) {
        runtime.shutdown_background();
    } else {
        runtime.shutdown_timeout(LAST_WRITES);
    }
    outcome
}

fn plan(config: &Config, options: &RunOptions) -> Plan {
    let realtime = &config.realtime;
    Plan {
        catalogue: catalogue(config),
        scene: config.scene.clone(),
        device: config.device.clone(),
        device_port: options.device_port.clone(),
        state: state_dir::of(config),
        line: None,
        skill: None,
        seed: None,
        realtime: RealtimeRequest {
            priority: realtime.priority,
            cpu: realtime.cpu.map(usize::from),
            spin_ns: (realtime.spin_s * NS_PER_S as f64) as u64,
            lock_memory: realtime.lock_memory,
            ..RealtimeRequest::default()
        },
        allow_no_rt: options.allow_no_rt,
        born_tripped: None,
    }
}

fn catalogue(config: &Config) -> Catalogue {
    Catalogue { scenes: config.scenes.clone(), devices: config.devices.clone() }
}

/// Everything of the loop.
struct Service {
    options: RunOptions,
    log: Log,
    notifier: Notifier,
    hub: Hub,
    plant: Supervisor,
    web: Web,
    viewer: Viewer,
    /// After web and viewer, whose servers run on it.
    _web_thread: WebThread,
    listener: Listener,
    /// The socket of the listener, for sending without asking whether it may.
    outlet: UdpSocket,
    out: Outbox,
    unsent: u64,
    is_ready: bool,
    is_reloading: bool,
    signals: Signals,
}

/// What a signal asks.
enum Word {
    End,
    Reload,
}

/// The signals a service gets.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    async fn next(&mut self) -> Word {
        tokio::select! {
            _ = self.terminate.recv() => Word::End,
            _ = self.interrupt.recv() => Word::End,
            _ = self.hang_up.recv() => Word::Reload,
        }
    }
}

/// What comes in.
enum Arrival {
    Datagram(Datagram),
    Question(Asked),
    Call(Call),
}

/// Waits for what comes in next; where several wait, chance decides, so that none is starved.
async fn arrival(listener: &mut Listener, web: &mut Web, viewer: &mut Viewer) -> Arrival {
    tokio::select! {
        datagram = listener.next() => Arrival::Datagram(datagram),
        Some(asked) = web.question() => Arrival::Question(asked),
        call = viewer.call() => Arrival::Call(call),
    }
}

impl Service {
    /// Needs a running event loop.
    fn new(
        options: &RunOptions,
        config: &Config,
        log: Log,
        sockets: Sockets,
        plant: Supervisor,
    ) -> Result<Self, Failure> {
        let (osc, query) = sockets.addresses()?;
        let unusable = |error: std::io::Error| Failure::Port(format!("the sockets cannot be used: {error}"));
        let outlet = sockets.osc.try_clone().map_err(unusable)?;
        let alarm = plant.halts.alarm();
        let listener = Listener::start(sockets.osc, alarm.clone()).map_err(unusable)?;
        let web_thread = WebThread::start()?;
        let guard = web_thread.enter();
        let web = Web::start(sockets.query, osc, query, access(&config.osc)?)?;
        let shown = sockets.viewer.as_ref().and_then(|listener| listener.local_addr().ok());
        let viewer = Viewer::start(sockets.viewer, web.door(), alarm)?;
        drop(guard);
        let shown = shown.map_or_else(|| "none".to_owned(), |at| format!("http://{at}/"));
        tracing::info!("listening: OSC udp://{osc}, OSCQuery http://{query}, viewer {shown}");
        Ok(Self {
            options: options.clone(),
            log,
            notifier: Notifier::new(SystemClock.now()),
            hub: Hub::new(hub_settings(config, osc.port())?),
            plant,
            web,
            viewer,
            _web_thread: web_thread,
            listener,
            outlet,
            out: Outbox::new(),
            unsent: 0,
            is_ready: false,
            is_reloading: false,
            signals: Signals::new().map_err(unusable)?,
        })
    }

    /// The loop.
    async fn serve(mut self) -> Result<(), Failure> {
        let mut beat = tokio::time::interval(BEAT);
        // On the grid: a poll that comes late must not put off all later ones.
        beat.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while !self.plant.has_lost_its_loop() {
            tokio::select! {
                biased;
                word = self.signals.next() => match word {
                    Word::End => break,
                    Word::Reload => self.reload(),
                },
                _ = beat.tick() => self.beat(),
                arrival = arrival(&mut self.listener, &mut self.web, &mut self.viewer) => match arrival {
                    Arrival::Datagram(first) => self.receive(first),
                    Arrival::Question(asked) | Arrival::Call(Call::Asked(asked)) => self.answer(asked),
                    Arrival::Call(Call::Letters) => {
                        self.viewer.receive(&mut self.hub, &mut self.plant, &mut self.out);
                        self.send();
                    }
                },
            }
            // Timers and signals must have their turn even in a flood.
            tokio::task::yield_now().await;
        }
        self.farewell().await
    }

    fn answer(&self, asked: Asked) {
        let lost = Lost { unheard: self.listener.dropped(), unsent: self.unsent, sockets: self.viewer.figures() };
        self.web.answer(asked, &self.plant, &self.hub, &lost);
    }

    fn send(&mut self) {
        self.unsent += sockets::send(&mut self.out, &self.outlet, &self.viewer);
    }

    /// What time brings.
    fn beat(&mut self) {
        let now = SystemClock.now();
        self.hub.poll(now, &mut self.plant, &mut self.out);
        self.send();
        if !self.is_ready && self.plant.newest().is_some() {
            self.is_ready = true;
            self.notifier.ready();
        }
        if self.is_reloading && !self.plant.is_busy() {
            self.is_reloading = false;
            self.notifier.ready();
        }
        self.notifier.status(now, || status_line(&self.plant.status()));
        self.notifier.feed(now, &self.plant.heartbeat());
    }

    /// A datagram and what came after it, for the time of a slice.
    fn receive(&mut self, first: Datagram) {
        let (now, wall) = (SystemClock.now(), Ntp::of(SystemTime::now()));
        let (slice, mut next) = (Slice::begin(now), Some(first));
        while let Some(Datagram { bytes, from }) = next {
            self.hub.receive(&bytes, from, now, wall, &mut self.plant, &mut self.out);
            next = if slice.is_over() { None } else { self.listener.try_next() };
        }
        self.send();
    }

    /// SIGHUP: the configuration and the scene are read again.
    fn reload(&mut self) {
        self.notifier.reloading();
        match self.options.configuration() {
            Ok(loaded) => self.take_over(&loaded.value),
            Err(error) => {
                let picture = Failure::from(error).picture(Look::Plain);
                tracing::error!("the configuration is wrong, the one before stays:\n{picture}");
            }
        }
        match self.plant.reload() {
            Ok(()) => self.is_reloading = true,
            Err(refused) => {
                tracing::warn!("the scene was not read again: {}. Signal again then", refused.text);
                self.notifier.ready();
            }
        }
    }

    /// What of a configuration can change while the daemon runs: names, access, room for recordings, the level of the log.
    fn take_over(&mut self, config: &Config) {
        self.log.set(config.log_level);
        self.plant.set_catalogue(catalogue(config));
        self.plant.set_recording_rules(Rules::of(config, self.options.configuration_text()));
        match access(&config.osc) {
            Ok(access) => {
                self.hub.set_access(access.clone(), config.osc.raw_force, config.osc.confirm);
                self.web.admit(access);
            }
            Err(failure) => tracing::error!("access stays as it was: {failure}"),
        }
        tracing::info!("configuration read again; ports and real-time rights change with a restart only");
    }

    /// Ramp-down, silence, end of all threads. A second signal ends the program at once.
    async fn farewell(mut self) -> Result<(), Failure> {
        self.notifier.stopping();
        tracing::info!("ending: {}", status_line(&self.plant.status()));
        self.hub.poll(SystemClock.now(), &mut self.plant, &mut self.out);
        self.send();
        let plant = self.plant;
        let end = tokio::task::spawn_blocking(move || plant.end());
        let mut signals = self.signals;
        let second = async { while matches!(signals.next().await, Word::Reload) {} };
        tokio::select! {
            ended = end => match ended {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(Failure::Haptic(error)),
                Err(error) => Err(Failure::Usage(format!("the end did not go well: {error}"))),
            },
            () = second => Err(Failure::Cut),
            () = tokio::time::sleep(FAREWELL) => Err(Failure::Hangs),
        }
    }
}

fn hub_settings(config: &Config, own_port: u16) -> Result<HubSettings, Failure> {
    let (access, raw_force) = (access(&config.osc)?, config.osc.raw_force);
    let mut settings = HubSettings { access, raw_force, own_port, ..HubSettings::default() };
    settings.limits.confirm = config.osc.confirm;
    Ok(settings)
}

/// As `systemctl status` shows it.
fn status_line(status: &Status) -> String {
    let faults = match status.active_faults {
        0 => "no faults".to_owned(),
        1 => "1 fault".to_owned(),
        more => format!("{more} faults"),
    };
    let Status { scene, actual_hz, lateness_us, .. } = status;
    format!("{} {scene}, {actual_hz:.0} Hz, p99.9 {lateness_us:.0} us, {faults}", status.state.name())
}
