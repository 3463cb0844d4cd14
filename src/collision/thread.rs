//! Collision as a service: the same look inline, or on a thread of its own.
//!
//! Thread: requester simulation; worker collision. Neither waits for the other.
//!
//! The newest request wins and the newest reply is read, both through wait-free cells, so a worker that is late skips
//! requests. Replies are therefore a little old; the candidates carry points of the bodies, and the requester brings the
//! gaps up to date ([`super::Candidate::refresh`]). The worker sleeps until it is woken by a request (park and unpark:
//! waking takes no lock that the worker could hold). Considered and dropped: a bounded channel, which makes a full queue
//! a case of its own; and a worker polling by the clock, which adds up to a period of age.

use super::detect::Wish;
use super::{CollisionModel, Memory, Reply, Request};
use crate::shared::{LatestReader, LatestWriter, latest};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the worker sleeps at most before it looks whether it should stop. Waking does not depend on it.
const NAP: Duration = Duration::from_millis(100);

/// Where looks are made.
pub enum Service {
    /// In the call itself: always fresh, costs the requester the time.
    Inline {
        /// What can collide.
        model: Arc<CollisionModel>,
        /// Kept from look to look.
        memory: Memory,
        /// The last reply.
        reply: Box<Reply>,
    },
    /// On the collision thread: costs the requester nothing, replies lag.
    Threaded(Box<Threaded>),
}

/// The requester's end of the collision thread.
pub struct Threaded {
    model: Arc<CollisionModel>,
    requests: LatestWriter<Request>,
    replies: LatestReader<Reply>,
    stop: Arc<AtomicBool>,
    worker: Option<JoinHandle<()>>,
    /// Used when the worker cannot serve.
    own: Box<Reply>,
    memory: Memory,
    first_request_ns: Option<u64>,
    stale_after_ns: u64,
    fell_back: bool,
    lost: bool,
}

impl Service {
    /// Looks in the call itself.
    #[must_use]
    pub fn inline(model: CollisionModel) -> Self {
        // On the CPU alone: equal requests give equal replies on every machine.
        Self::Inline { memory: model.memory(Wish::Cpu), model: Arc::new(model), reply: Box::new(Reply::new()) }
    }

    /// Looks on a thread of its own. When its newest reply is older than `stale_after_ns` (by the stamps of the
    /// requests), the call looks for itself.
    ///
    /// # Errors
    /// When the system gives no thread; [`Self::inline`] serves then.
    pub fn threaded(model: CollisionModel, stale_after_ns: u64) -> std::io::Result<Self> {
        let model = Arc::new(model);
        let worker_model = Arc::clone(&model);
        let mut memory = model.memory(Wish::Measured);
        let look = move |request: &Request, reply: &mut Reply| worker_model.look(request, &mut memory, reply);
        Ok(Self::Threaded(Box::new(Threaded::start(model, stale_after_ns, look)?)))
    }

    /// The candidates for `request`: of these very poses when inline; the newest there are, for the request named by the
    /// reply's stamp, when threaded. Never waits.
    pub fn candidates(&mut self, request: &Request) -> &Reply {
        match self {
            Self::Inline { model, memory, reply } => {
                model.look(request, memory, reply);
                reply
            }
            Self::Threaded(threaded) => threaded.candidates(request),
        }
    }

    /// True when the last reply should have come from the thread and did not: it was late, or is gone.
    #[must_use]
    pub fn fell_back(&self) -> bool {
        matches!(self, Self::Threaded(threaded) if threaded.fell_back)
    }

    /// True when the collision thread has ended on its own: every look is made in the call from then on.
    #[must_use]
    pub fn thread_is_lost(&self) -> bool {
        matches!(self, Self::Threaded(threaded) if threaded.lost)
    }
}

impl Threaded {
    fn start(
        model: Arc<CollisionModel>,
        stale_after_ns: u64,
        mut look: impl FnMut(&Request, &mut Reply) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (requests, mut incoming) = latest(Request::new());
        let (mut outgoing, replies) = latest(Reply::new());
        let stop = Arc::new(AtomicBool::new(false));
        let worker_stop = Arc::clone(&stop);
        let worker = std::thread::Builder::new().name("collision".into()).spawn(move || {
            while !worker_stop.load(Ordering::Acquire) {
                if let Some(request) = incoming.read_if_new() {
                    look(request, outgoing.buffer());
                    outgoing.publish_in_place();
                } else {
                    // A wake-up between the look above and here is remembered, so none is missed.
                    std::thread::park_timeout(NAP);
                }
            }
        })?;
        Ok(Self {
            requests,
            replies,
            stop,
            worker: Some(worker),
            own: Box::new(Reply::new()),
            memory: model.memory(Wish::Cpu),
            model,
            first_request_ns: None,
            stale_after_ns,
            fell_back: false,
            lost: false,
        })
    }

    fn candidates(&mut self, request: &Request) -> &Reply {
        self.lost = self.lost || self.worker.as_ref().is_none_or(JoinHandle::is_finished);
        let now = request.stamp.at;
        let first = *self.first_request_ns.get_or_insert(now.0);
        if !self.lost {
            self.requests.publish(*request);
            if let Some(worker) = &self.worker {
                worker.thread().unpark();
            }
            let stamp = self.replies.read().stamp;
            // Before the first reply the wait counts from the first request.
            let answered_ns = if stamp.sequence == 0 { first } else { stamp.at.0 };
            self.fell_back = now.0.saturating_sub(answered_ns) > self.stale_after_ns;
        }
        self.fell_back = self.fell_back || self.lost;
        if self.fell_back {
            self.model.look(request, &mut self.memory, &mut self.own);
            return &self.own;
        }
        self.replies.current()
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(worker) = self.worker.take() {
            worker.thread().unpark();
            // A worker that panicked has been noticed by `lost`; there is nothing more to do about it here.
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::{Collider, ColliderId, Pair, Slot};
    use crate::geometry::{HalfSpace, Shape, Sphere};
    use crate::math::Pose;
    use crate::shared::{MonoNs, Stamp};

    fn model() -> CollisionModel {
        let collider = |body, shape| Collider::new(Slot(body), shape, Pose::identity());
        let colliders = [collider(0, Shape::Sphere(Sphere { radius: 0.1 })), collider(1, Shape::HalfSpace(HalfSpace))];
        CollisionModel::new(&colliders, vec![Pair { a: ColliderId(0), b: ColliderId(1) }], 0.01)
            .expect("the model is sound")
    }

    fn request(sequence: u64, height: f64) -> Request {
        let mut request = Request::new();
        request.stamp = Stamp { sequence, at: MonoNs(sequence * 1_000_000) };
        request.poses[0] = Pose::translation(0.0, 0.0, height);
        request
    }

    /// Asks until the reply to request `sequence` is there.
    fn ask_until(service: &mut Service, sequence: u64, height: f64) -> Reply {
        loop {
            let reply = *service.candidates(&request(sequence, height));
            if reply.stamp.sequence == sequence {
                return reply;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_thread_finds_what_the_call_finds() {
        let mut inline = Service::inline(model());
        let mut threaded = Service::threaded(model(), u64::MAX).expect("a thread can be had");
        for sequence in 1..50 {
            let height = 0.105 - 1e-3 * sequence as f64;
            let reply = ask_until(&mut threaded, sequence, height);
            let expected = inline.candidates(&request(sequence, height));
            assert_eq!(reply.candidates.as_slice(), expected.candidates.as_slice());
            assert_eq!(reply.candidates.as_slice().len(), 1);
        }
        assert!(!threaded.fell_back());
    }

    #[test]
    fn a_late_reply_refreshed_gives_the_gap_of_now() {
        let mut threaded = Service::threaded(model(), u64::MAX).expect("a thread can be had");
        let mut reply = ask_until(&mut threaded, 1, 0.105);
        let candidate = &mut reply.candidates.as_mut_slice()[0];
        assert!((candidate.gap - 0.005).abs() < 1e-15);
        let now = Pose::new(crate::math::Vec3::new(0.02, 0.0, 0.099), crate::math::Vec3::zeros());
        candidate.refresh(&now, &Pose::identity());
        assert!((candidate.gap + 0.001).abs() < 1e-15);
    }

    #[test]
    #[expect(clippy::panic, reason = "the panic is what is tested")]
    fn a_thread_that_panics_is_replaced_by_looking_in_the_call() {
        let look = |_: &Request, _: &mut Reply| panic!("the worker ends here, on purpose");
        let started = Threaded::start(Arc::new(model()), u64::MAX, look).expect("a thread can be had");
        let mut service = Service::Threaded(Box::new(started));
        let reply = ask_until(&mut service, 1, 0.105);
        assert!(service.fell_back() && service.thread_is_lost());
        assert_eq!(reply.candidates.as_slice().len(), 1);
        assert_eq!(ask_until(&mut service, 2, 0.2).candidates.as_slice().len(), 0);
    }

    #[test]
    fn a_thread_that_hangs_is_not_waited_for_and_taken_up_again_when_it_is_back() {
        let (gate, opened) = std::sync::mpsc::channel::<()>();
        let inner = model();
        let mut waiting = true;
        let look = move |request: &Request, reply: &mut Reply| {
            if std::mem::take(&mut waiting) {
                opened.recv().expect("the test opens the gate");
            }
            inner.look(request, &mut inner.memory(Wish::Cpu), reply);
        };
        let started = Threaded::start(Arc::new(model()), 5_000_000, look).expect("a thread can be had");
        let mut service = Service::Threaded(Box::new(started));
        assert_eq!(service.candidates(&request(1, 0.105)).stamp.sequence, 0);
        assert!(!service.fell_back());
        // Seven milliseconds on by the stamps, still no reply: the call looks for itself.
        assert_eq!(service.candidates(&request(8, 0.105)).stamp.sequence, 8);
        assert!(service.fell_back() && !service.thread_is_lost());
        gate.send(()).expect("the worker waits at the gate");
        while service.fell_back() {
            service.candidates(&request(9, 0.105));
            std::thread::yield_now();
        }
        assert_eq!(ask_until(&mut service, 10, 0.105).candidates.as_slice().len(), 1);
    }

    #[test]
    fn dropping_the_service_ends_the_thread() {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let look = move |_: &Request, _: &mut Reply| assert_eq!(*held, ());
        drop(Threaded::start(Arc::new(model()), u64::MAX, look).expect("a thread can be had"));
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
