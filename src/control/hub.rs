//! The hub: packets in, packets out. Knows protocols, clients and leases; has no socket and no clock.
//!
//! Thread: control. Called with every datagram and every few milliseconds; never waits.
//!
//! The way of a datagram: halt? → may this host talk? → does it send too much? → read it → a later time tag waits → understand every
//! message → all acts as one → jobs and questions one by one, each paid for first → answers when the plant has them.

use super::access::{Access, Level};
use super::answer;
use super::client::{Asker, Clients, Limits};
use super::metrics::HubFigures;
use super::osc::{self, Message, Ntp, Sent};
use super::peer::Peer;
use super::plant::{Act, Code, Job, News, Plant, Refused, Ticket};
use super::rate::Buckets;
use super::reply;
use super::schedule::{Schedule, Waiting};
use super::stream;
use super::wish::{self, Ask, Context, FORCE_NS, HINTS, Understood, Wish, refused};
use crate::shared::lifecycle::State;
use crate::shared::{MAX_CHANGES, MonoNs, NS_PER_S};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Packets to be sent, and whom to.
pub type Outbox = Vec<(Vec<u8>, Peer)>;

/// What stands for the address in a `fail` about a datagram that could not be read.
const WHOLE_PACKET: &str = "#packet";
/// What stands for the address in a `fail` about a whole bundle.
const WHOLE_BUNDLE: &str = "#bundle";
/// Most requests that wait for the plant; a client may have a part of them.
pub const MOST_PENDING: usize = 1024;
const MOST_PENDING_OF_ONE: usize = 128;
const MOST_PENDING_OF_HOST: usize = 512;
/// How long an act or a job may stay unanswered, s.
const ACT_S: u64 = 10;
const JOB_S: u64 = 600;

/// How the hub is set up.
#[derive(Clone, Debug, PartialEq)]
pub struct HubSettings {
    /// Who may do what.
    pub access: Access,
    /// Clients may send raw forces.
    pub raw_force: bool,
    /// The port the daemon listens on, to which replies are never sent; 0 when not known.
    pub own_port: u16,
    /// Bounds on clients and streams.
    pub limits: Limits,
    /// Most bundles that wait for their time.
    pub scheduled: usize,
    /// How far ahead a time tag may be, s.
    pub ahead_s: u32,
    /// Messages a second one client may send.
    pub rate_hz: f64,
    /// Messages one client may send at once.
    pub burst: u32,
}

impl Default for HubSettings {
    fn default() -> Self {
        Self {
            access: Access::default(),
            raw_force: false,
            own_port: 0,
            limits: Limits {
                clients: 64,
                streams: 16,
                client_hz: 4000.0,
                total_hz: 16_000.0,
                lease_s: 30,
                confirm: true,
            },
            scheduled: 256,
            ahead_s: 60,
            rate_hz: 2000.0,
            burst: 1000,
        }
    }
}

/// A request the plant has not answered yet.
#[derive(Debug)]
struct Pending {
    from: Peer,
    /// Address of each message, and where its answer goes.
    asked: Vec<(String, Peer)>,
    until: MonoNs,
    order: u64,
}

/// A `sync` that waits for requests before it.
#[derive(Debug)]
struct Barrier {
    from: Peer,
    to: Peer,
    id: i32,
    order: u64,
}

/// See the head of the file.
#[derive(Debug)]
pub struct Hub {
    settings: HubSettings,
    clients: Clients,
    buckets: Buckets,
    schedule: Schedule,
    pending: BTreeMap<Ticket, Pending>,
    barriers: Vec<Barrier>,
    order: u64,
    /// Who sends raw forces, and until when.
    force: Option<(Peer, MonoNs)>,
    stranger_told: Option<MonoNs>,
    figures: HubFigures,
    news: Vec<News>,
}

impl Hub {
    /// A hub without clients.
    #[must_use]
    pub fn new(settings: HubSettings) -> Self {
        Self {
            clients: Clients::new(settings.limits),
            buckets: Buckets::new(settings.rate_hz, settings.burst.into()),
            schedule: Schedule::default(),
            pending: BTreeMap::new(),
            barriers: Vec::new(),
            order: 0,
            force: None,
            stranger_told: None,
            figures: HubFigures::default(),
            news: Vec::new(),
            settings,
        }
    }

    /// Obeys others from now on.
    pub fn set_access(&mut self, access: Access, raw_force: bool, confirm: bool) {
        (self.settings.access, self.settings.raw_force) = (access, raw_force);
        self.clients.set_confirm(confirm);
    }

    /// What the hub has counted.
    #[must_use]
    pub fn figures(&self) -> HubFigures {
        HubFigures {
            clients: self.clients.len() as u64,
            streams: self.clients.streams() as u64,
            scheduled: self.schedule.len() as u64,
            pending: (self.pending.len() + self.barriers.len()) as u64,
            ..self.figures
        }
    }

    /// Takes one datagram.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        from: impl Into<Peer>,
        now: MonoNs,
        wall: Ntp,
        plant: &mut dyn Plant,
        out: &mut Outbox,
    ) {
        let from = from.into();
        let before = out.len();
        self.figures.datagrams += 1;
        let role = self.settings.access.level(from.ip());
        if osc::is_halt(bytes) {
            self.halt(bytes, from, role, plant, out);
        } else if role == Level::Refused {
            self.turn_away(from, now, out);
        } else if matches!(from, Peer::Udp(at) if at.port() == self.settings.own_port && at.ip().is_loopback()) {
            // The daemon's own words, sent back by somebody's mistake.
            self.figures.ignored += 1;
        } else {
            self.admit(bytes, from, (now, wall), plant, out);
        }
        self.figures.sent += (out.len() - before) as u64;
    }

    /// A peer that has gone for good: its lease, its syncs and its raw force end; what it asked for is still done.
    pub fn leave(&mut self, peer: Peer) {
        self.clients.leave(peer);
        self.barriers.retain(|barrier| barrier.from != peer);
        self.force = self.force.filter(|(owner, _)| *owner != peer);
    }

    /// Does what time brings: news of the plant, streams, bundles whose time has come, leases that end.
    pub fn poll(&mut self, now: MonoNs, plant: &mut dyn Plant, out: &mut Outbox) {
        let before = out.len();
        self.figures.leases_ended += self.clients.end(now) as u64;
        self.force = self.force.filter(|(_, until)| *until > now);
        let mut news = std::mem::take(&mut self.news);
        plant.poll(&mut news);
        for item in news.drain(..) {
            self.tell(item, plant, out);
        }
        self.news = news;
        self.give_up(now, out);
        self.release_barriers(out);
        while let Some(Waiting { bytes, from }) = self.schedule.due(now) {
            let role = self.settings.access.level(from.ip());
            if let Ok(packet) = osc::decode(&bytes) {
                self.run(&packet.messages, from, role, now, plant, out);
            }
        }
        self.clients.stream(now, plant, &mut self.figures, out);
        self.figures.sent += (out.len() - before) as u64;
    }

    fn fail(&mut self, address: &str, to: Peer, refused: &Refused, out: &mut Outbox) {
        self.figures.refuse(refused.code);
        out.push((answer::fail(address, refused), to));
    }

    /// Halts, and does nothing else of the datagram: what was meant to follow was meant for another state.
    fn halt(&mut self, bytes: &[u8], from: Peer, role: Level, plant: &mut dyn Plant, out: &mut Outbox) {
        plant.halt(&from.to_string());
        self.figures.halts += 1;
        self.force = None;
        self.cancel_scheduled(out);
        if role == Level::Refused {
            return;
        }
        let messages = osc::decode(bytes).map(|packet| packet.messages).unwrap_or_default();
        let is_halt = |message: &&Message| osc::is_halt_address(message.address.as_bytes());
        let first = messages.iter().find(is_halt);
        let arguments = first.map_or(&[][..], |message| &message.arguments);
        let to = reply::split(arguments, Some(reply::Takes { least: 0, most: 0 }), from, self.settings.own_port);
        let to = to.map_or(from, |(_, to)| to);
        out.push((answer::done(first.map_or("/hapticd/halt", |message| &message.address), &[]), to));
        for message in messages.iter().filter(|message| !is_halt(message)) {
            let text = "not done: the bundle holds a halt";
            self.fail(&message.address, to, &refused(Code::WrongState, text), out);
        }
    }

    /// What waits for its time was meant for a daemon that runs.
    fn cancel_scheduled(&mut self, out: &mut Outbox) {
        for waiting in self.schedule.clear() {
            let text = "a bundle that waited for its time was cancelled: the daemon is in FAULT";
            self.fail(WHOLE_BUNDLE, waiting.from, &refused(Code::WrongState, text), out);
        }
    }

    /// A host that may not talk is told so, seldom: its address may be forged.
    fn turn_away(&mut self, from: Peer, now: MonoNs, out: &mut Outbox) {
        self.figures.strangers += 1;
        if self.stranger_told.is_none_or(|told| now.since(told) >= NS_PER_S) {
            self.stranger_told = Some(now);
            let text = "this host may not talk to the daemon; allow its network in the configuration";
            self.fail(WHOLE_PACKET, from, &refused(Code::NotAllowed, text), out);
        }
    }

    fn admit(&mut self, bytes: &[u8], from: Peer, (now, wall): (MonoNs, Ntp), plant: &mut dyn Plant, out: &mut Outbox) {
        if !self.buckets.take(from, osc::count(bytes), now) {
            return self.drop_one(from, now, out);
        }
        let packet = match osc::decode(bytes) {
            Ok(packet) => packet,
            Err(refused) => {
                self.figures.unreadable += 1;
                // Seldom, because two programs could otherwise tell each other so for ever.
                if self.buckets.may_tell(from, now) {
                    self.fail(WHOLE_PACKET, from, &refused, out);
                }
                return;
            }
        };
        self.figures.messages += packet.messages.len() as u64;
        self.figures.bundles += u64::from(packet.tag.is_some());
        let ahead_ns = packet.tag.filter(|tag| *tag != Ntp::IMMEDIATELY).map_or(0, |tag| tag.ns_after(wall));
        if ahead_ns == 0 {
            let role = self.settings.access.level(from.ip());
            return self.run(&packet.messages, from, role, now, plant, out);
        }
        self.clients.renew(from, from, now);
        let scheduled = if ahead_ns > u64::from(self.settings.ahead_s) * NS_PER_S {
            let ahead_s = ahead_ns / NS_PER_S;
            let text =
                format!("a time tag {ahead_s} s ahead; at most {} s (are the clocks set?)", self.settings.ahead_s);
            Err(refused(Code::OutOfRange, text))
        } else {
            self.schedule.add(now.plus(ahead_ns), Waiting { bytes: bytes.to_vec(), from }, self.settings.scheduled)
        };
        if let Err(refused) = scheduled {
            self.fail(WHOLE_BUNDLE, from, &refused, out);
        }
    }

    fn drop_one(&mut self, from: Peer, now: MonoNs, out: &mut Outbox) {
        self.figures.dropped += 1;
        if self.buckets.may_tell(from, now) {
            let text = format!("too many messages, some are dropped; at most {} a second", self.settings.rate_hz);
            self.fail(WHOLE_PACKET, from, &refused(Code::Busy, text), out);
        }
    }

    /// Does all of a datagram, or nothing of it.
    fn run(
        &mut self,
        messages: &[Message],
        from: Peer,
        role: Level,
        now: MonoNs,
        plant: &mut dyn Plant,
        out: &mut Outbox,
    ) {
        let context = Context {
            from,
            role,
            raw_force: self.settings.raw_force,
            force_owner: self.force.filter(|(_, until)| *until > now).map(|(owner, _)| owner),
            own_port: self.settings.own_port,
            now,
            plant,
            hints: Cell::new(HINTS),
        };
        let all: Vec<Understood> = messages.iter().map(|message| wish::understand(message, &context)).collect();
        for one in &all {
            if one.wish == Ok(Wish::Nothing) {
                self.figures.ignored += 1;
            } else {
                self.clients.renew(from, one.to, now);
            }
        }
        if all.iter().any(|one| one.wish.is_err()) {
            return self.refuse_all(&all, None, out);
        }
        if let Err(refused) = self.act(&all, from, now, plant) {
            return self.refuse_all(&all, Some(&refused), out);
        }
        for one in all {
            match one.wish {
                Ok(Wish::Job(job)) => self.begin((job, one.address), from, one.to, now, plant, out),
                Ok(Wish::Ask(ask)) => {
                    self.answer((ask, one.address), Asker { from, to: one.to, role }, now, plant, out)
                }
                _ => {}
            }
        }
    }

    /// Tells every message of a datagram why it was not done: its own reason, or `whole`, or that of another.
    fn refuse_all(&mut self, all: &[Understood], whole: Option<&Refused>, out: &mut Outbox) {
        let other = refused(Code::WrongState, "not done: another message of the same bundle was refused");
        for one in all.iter().filter(|one| one.wish != Ok(Wish::Nothing)) {
            let reason = one.wish.as_ref().err().or(whole).unwrap_or(&other);
            self.fail(&one.address, one.to, reason, out);
        }
    }

    /// Gives the plant all acts of a datagram at once.
    fn act(&mut self, all: &[Understood], from: Peer, now: MonoNs, plant: &mut dyn Plant) -> Result<(), Refused> {
        let of = |one: &Understood| if let Ok(Wish::Act(act)) = &one.wish { Some(act.clone()) } else { None };
        let acts: Vec<Act> = all.iter().filter_map(of).collect();
        if acts.is_empty() {
            return Ok(());
        }
        if acts.len() > MAX_CHANGES {
            let text = format!("{} changes in one bundle; at most {MAX_CHANGES}", acts.len());
            return Err(refused(Code::BadArguments, text));
        }
        self.room(from)?;
        let ticket = plant.act(&acts)?;
        if acts.iter().any(|act| matches!(act, Act::Force { .. })) {
            self.force = Some((from, now.plus(FORCE_NS)));
        }
        let asked = all.iter().filter(|one| of(one).is_some()).map(|one| (one.address.clone(), one.to));
        self.wait(ticket, from, asked.collect(), now.plus(ACT_S * NS_PER_S));
        Ok(())
    }

    fn room(&self, from: Peer) -> Result<(), Refused> {
        let own = self.pending.values().filter(|pending| pending.from == from).count();
        let of_host = self.pending.values().filter(|pending| pending.from.host() == from.host()).count();
        if self.pending.len() < MOST_PENDING && own < MOST_PENDING_OF_ONE && of_host < MOST_PENDING_OF_HOST {
            return Ok(());
        }
        Err(refused(Code::Busy, "too much is under way; wait for a done or a fail"))
    }

    fn wait(&mut self, ticket: Ticket, from: Peer, asked: Vec<(String, Peer)>, until: MonoNs) {
        self.order += 1;
        self.pending.insert(ticket, Pending { from, asked, until, order: self.order });
    }

    fn begin(
        &mut self,
        (job, address): (Job, String),
        from: Peer,
        to: Peer,
        now: MonoNs,
        plant: &mut dyn Plant,
        out: &mut Outbox,
    ) {
        match self.room(from).and_then(|()| plant.begin(job)) {
            Ok(ticket) => self.wait(ticket, from, vec![(address, to)], now.plus(JOB_S * NS_PER_S)),
            Err(refused) => self.fail(&address, to, &refused, out),
        }
    }

    fn answer(
        &mut self,
        (ask, address): (Ask, String),
        asker: Asker,
        now: MonoNs,
        plant: &dyn Plant,
        out: &mut Outbox,
    ) {
        let Asker { from, to, .. } = asker;
        // Paid for before it is made: many of them fit into one datagram.
        let cost = ask.cost().min(self.buckets.most_at_once());
        if !self.buckets.take(from, cost, now) {
            return self.drop_one(from, now, out);
        }
        let answers = match ask {
            Ask::Version => Ok(vec![answer::version()]),
            Ask::Status => Ok(vec![answer::status(plant)]),
            Ask::Ping(number) => Ok(vec![answer::pong(number, now)]),
            Ask::Sync(id) => self.sync(id, from, to).map(|()| Vec::new()),
            Ask::Notify(on) => self.clients.notify(on, asker, now).map(|()| {
                let mut answers = match self.clients.number(to) {
                    Some(number) => vec![answer::number(number)],
                    None if on => answer::everything(plant),
                    None => Vec::new(),
                };
                answers.push(answer::done(&address, &[self.clients.lease()]));
                answers
            }),
            Ask::Confirm(number) => self.clients.confirm(number, from, now).map(|(receiver, notified)| {
                let first = if notified { answer::everything(plant) } else { Vec::new() };
                self.buckets.charge(from, first.len(), now);
                out.extend(first.into_iter().map(|bytes| (bytes, receiver)));
                vec![answer::done(&address, &[self.clients.lease()])]
            }),
            Ask::Subscribe(stream, rate_hz) => self.clients.subscribe((stream, rate_hz), asker, now).map(|()| {
                let done = answer::done(&address, &[stream.name().into(), rate_hz.into(), self.clients.lease()]);
                self.clients.number(to).map(answer::number).into_iter().chain([done]).collect()
            }),
            Ask::Unsubscribe(stream) => {
                self.clients.unsubscribe(stream, to);
                Ok(vec![answer::done(&address, &[])])
            }
            Ask::Scenes => Ok(answer::names("/hapticd/scene/list", &plant.scenes())),
            Ask::Devices => Ok(answer::names("/hapticd/device/list", &plant.devices())),
            Ask::Faults => Ok(answer::faults(plant)),
            Ask::Get(value) => Ok(vec![answer::value(&address, &value)]),
            Ask::Sample(stream) => answer::sample(stream, now, plant)
                .map(|sample| vec![sample])
                .ok_or_else(|| refused(Code::Busy, "the loop has not ticked yet; try again")),
        };
        match answers {
            Ok(answers) => {
                self.buckets.charge(from, answers.len().saturating_sub(1 + cost), now);
                out.extend(answers.into_iter().map(|bytes| (bytes, to)));
            }
            Err(refused) => self.fail(&address, to, &refused, out),
        }
        self.release_barriers(out);
    }

    fn sync(&mut self, id: i32, from: Peer, to: Peer) -> Result<(), Refused> {
        let own = self.barriers.iter().filter(|barrier| barrier.from == from).count();
        let hosts = self.barriers.iter().filter(|barrier| barrier.from.host() == from.host()).count();
        if self.barriers.len() >= MOST_PENDING || own >= MOST_PENDING_OF_ONE || hosts >= MOST_PENDING_OF_HOST {
            return Err(refused(Code::Busy, "too many syncs wait; wait for a synced"));
        }
        self.barriers.push(Barrier { from, to, id, order: self.order });
        Ok(())
    }

    /// Answers every `sync` before which nothing of the same client waits any longer.
    fn release_barriers(&mut self, out: &mut Outbox) {
        let pending = &self.pending;
        self.barriers.retain(|barrier| {
            let own = |one: &&Pending| one.from == barrier.from || one.asked.iter().any(|(_, to)| *to == barrier.to);
            let held = pending.values().filter(own).any(|one| one.order <= barrier.order);
            if !held {
                out.push((osc::encode("/hapticd/synced", &[barrier.id.into()]), barrier.to));
            }
            held
        });
    }

    /// Passes on what happened.
    fn tell(&mut self, news: News, plant: &dyn Plant, out: &mut Outbox) {
        let to_notified = |clients: &Clients, bytes: &[u8], out: &mut Outbox| {
            out.extend(clients.notified().map(|to| (bytes.to_vec(), to)));
        };
        match news {
            News::Answer(ticket, outcome) => self.settle(ticket, &outcome, out),
            News::State(state) => {
                let value = osc::encode("/hapticd/state", &[state.name().into()]);
                out.extend(self.clients.all().map(|to| (value.clone(), to)));
                to_notified(&self.clients, &osc::encode("/hapticd/event/state", &[state.name().into()]), out);
                if state == State::Fault {
                    self.force = None;
                    self.cancel_scheduled(out);
                }
            }
            News::Device(state) => {
                let value = osc::encode("/hapticd/device/state", &[state.as_str().into()]);
                out.extend(self.clients.all().map(|to| (value.clone(), to)));
            }
            News::Fault(fault) => to_notified(&self.clients, &answer::fault_event(&fault), out),
            News::Task(task) => {
                to_notified(&self.clients, &osc::encode("/hapticd/event/task", &stream::task(&task)), out);
            }
            News::Set(setting, value) => {
                // The one who set it hears it too, or linked controls would drift apart.
                let bytes = answer::setting(&setting, &value);
                out.extend(self.clients.all().map(|to| (bytes.clone(), to)));
            }
            News::Loading { scene, time_s, doing } => {
                let fields = [scene.as_str().into(), time_s.into(), doing.as_str().into()];
                to_notified(&self.clients, &osc::encode("/hapticd/event/load", &fields), out);
            }
            News::Dials => {
                for bytes in answer::dials(plant) {
                    to_notified(&self.clients, &bytes, out);
                }
            }
        }
    }

    /// Tells those who asked what became of it.
    fn settle(&mut self, ticket: Ticket, outcome: &Result<Vec<super::plant::Value>, Refused>, out: &mut Outbox) {
        let Some(pending) = self.pending.remove(&ticket) else { return };
        for (address, to) in pending.asked {
            match outcome {
                // Forces and turns come by the hundred; only a refusal is worth an answer.
                Ok(_) if ["/hapticd/servo_cf", "/hapticd/turn"].contains(&address.as_str()) => {}
                Ok(values) => {
                    let values: Vec<Sent> = values.iter().map(Sent::from).collect();
                    out.push((answer::done(&address, &values), to));
                }
                Err(refused) => self.fail(&address, to, refused, out),
            }
        }
    }

    /// Gives up on requests that were never answered.
    fn give_up(&mut self, now: MonoNs, out: &mut Outbox) {
        let late: Vec<Ticket> =
            self.pending.iter().filter(|(_, pending)| pending.until <= now).map(|(ticket, _)| *ticket).collect();
        for ticket in late {
            let text = "no answer from the loop in time; ask for /hapticd/status";
            self.settle(ticket, &Err(refused(Code::Busy, text)), out);
        }
    }
}
