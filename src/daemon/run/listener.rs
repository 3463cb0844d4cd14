//! The OSC socket in the receiving direction: a thread of its own, which carries out halts itself and queues everything else.
//!
//! Thread: its own (`osc`), beside control.
//!
//! The control loop may be busy with other packets, a scene or a slow disk. This thread does three things alone: receive, raise the
//! alarm of a halt, and put the datagram into a bounded queue, where what was sent stays in order: an acknowledgement sent before a halt
//! must not be done after it. What finds the queue full is dropped and counted; a halt then has a queue of its own, for its answer.

use crate::control::alarm::Alarm;
use crate::control::osc;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Datagrams that may wait for the control loop.
const QUEUE: usize = 1024;
/// Bytes that may wait for the control loop: 64 of the longest datagrams.
const QUEUE_BYTES: usize = 4 << 20;
/// Datagrams with a halt that may wait for their answer where the queue is full.
const HALTS: usize = 256;
/// Longest datagram there is.
const LONGEST: usize = 65_536;
/// Longest wait for the next datagram, after which the thread checks whether it is to end, ms.
const PATIENCE_MS: i64 = 250;
/// Pause after an error of the socket itself, which does not go away by asking again at once, ms.
const PAUSE_MS: u64 = 10;

/// A datagram and who sent it.
pub(super) struct Datagram {
    /// What came.
    pub(super) bytes: Vec<u8>,
    /// From where.
    pub(super) from: SocketAddr,
}

/// What both threads see.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Bytes that wait.
    waiting: AtomicUsize,
    /// Datagrams that found no room.
    dropped: AtomicU64,
}

/// The control loop's end. Dropping it ends the thread.
pub(super) struct Listener {
    halts: Receiver<Datagram>,
    others: Receiver<Datagram>,
    shared: Arc<Shared>,
}

/// The thread's end.
struct Ear {
    socket: UdpSocket,
    alarm: Alarm,
    halts: Sender<Datagram>,
    others: Sender<Datagram>,
    shared: Arc<Shared>,
}

impl Listener {
    /// Receives from `socket`, which must not block, until dropped.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub(super) fn start(socket: UdpSocket, alarm: Alarm) -> io::Result<Self> {
        let (halts_in, halts) = mpsc::channel(HALTS);
        let (others_in, others) = mpsc::channel(QUEUE);
        let shared = Arc::<Shared>::default();
        let ear = Ear { socket, alarm, halts: halts_in, others: others_in, shared: Arc::clone(&shared) };
        std::thread::Builder::new().name("osc".into()).spawn(move || ear.listen())?;
        Ok(Self { halts, others, shared })
    }

    /// Waits for the next datagram; halts that found the queue full come first.
    pub(super) async fn next(&mut self) -> Datagram {
        let datagram = tokio::select! {
            biased;
            Some(halt) = self.halts.recv() => halt,
            Some(other) = self.others.recv() => other,
            // The thread has ended, as it does with the daemon alone.
            else => std::future::pending().await,
        };
        self.taken(datagram)
    }

    /// The next datagram if there is one, likewise.
    pub(super) fn try_next(&mut self) -> Option<Datagram> {
        let datagram = self.halts.try_recv().or_else(|_| self.others.try_recv()).ok()?;
        Some(self.taken(datagram))
    }

    fn taken(&self, datagram: Datagram) -> Datagram {
        self.shared.waiting.fetch_sub(datagram.bytes.len(), Ordering::Relaxed);
        datagram
    }

    /// Datagrams dropped because the control loop was behind.
    pub(super) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Not waited for: it ends within its patience, or with the process.
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Ear {
    fn listen(&self) {
        let mut buffer = vec![0; LONGEST];
        let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE_MS * 1_000_000 };
        while !self.shared.stop.load(Ordering::Relaxed) {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => self.take(&buffer[..length], from),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // An interruption or an error of it shows at the next try.
                    let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&patience));
                }
                // The answer to a datagram sent before; the next may be good.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(PAUSE_MS)),
            }
        }
    }

    fn take(&self, bytes: &[u8], from: SocketAddr) {
        let is_halt = osc::is_halt(bytes);
        if is_halt {
            self.alarm.raise(from.into());
        }
        // Counted first: the control loop may take the datagram out before this returns.
        let waiting = self.shared.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        let room = is_halt || waiting + bytes.len() <= QUEUE_BYTES;
        let datagram = Datagram { bytes: bytes.to_vec(), from };
        let left = match if room { self.others.try_send(datagram) } else { Err(TrySendError::Full(datagram)) } {
            Ok(()) => true,
            // A halt is answered even so: what was asked before it has been overtaken by then.
            Err(TrySendError::Full(datagram)) if is_halt => self.halts.try_send(datagram).is_ok(),
            Err(_) => false,
        };
        if !left {
            self.shared.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    fn wait_until(done: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !done() {
            assert!(Instant::now() < end, "it does not come");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A halt is carried out while nobody takes anything out of the queues, and comes out first.
    #[test]
    fn a_halt_does_not_wait_for_the_control_loop() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_nonblocking(true).expect("it can be set");
        let at = socket.local_addr().expect("an address");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let raised = Arc::clone(&heard);
        let alarm = Alarm::new(move |by| raised.lock().expect("no panic").push(by.to_string()));
        let mut listener = Listener::start(socket, alarm).expect("a thread");
        let client = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        // More than the queue holds, paced by what the thread has dropped or queued so that the kernel loses none.
        let ping = osc::encode("/hapticd/ping", &[]);
        let taken = |listener: &Listener| {
            let waiting = listener.shared.waiting.load(Ordering::Relaxed) / ping.len();
            waiting as u64 + listener.dropped()
        };
        for count in 1..=QUEUE as u64 + 10 {
            client.send_to(&ping, at).expect("sent");
            wait_until(|| taken(&listener) == count);
        }
        assert_eq!(listener.dropped(), 10);
        client.send_to(&osc::encode("/hapticd/halt", &[]), at).expect("sent");
        wait_until(|| heard.lock().expect("no panic").len() == 1);
        let own = client.local_addr().expect("an address");
        assert_eq!(heard.lock().expect("no panic")[0], own.to_string());
        wait_until(|| listener.shared.waiting.load(Ordering::Relaxed) > QUEUE * ping.len());
        assert!(osc::is_halt(&listener.try_next().expect("the halt").bytes), "it comes out first");
        let rest = std::iter::from_fn(|| listener.try_next()).count();
        assert_eq!((rest, listener.shared.waiting.load(Ordering::Relaxed)), (QUEUE, 0));
    }
}
