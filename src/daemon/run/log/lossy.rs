//! The queue between whoever logs and the thread that writes: a line that finds it full is lost and counted.
//!
//! Thread: any but haptic for logging; its own (`log`) for writing.
//!
//! A terminal stopped with Ctrl-S, a pipe nobody reads or a journal that hangs blocks whoever writes to it, for as long as it likes.
//! Only the thread here may wait there. What was lost is reported as soon as lines flow again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use tracing_subscriber::fmt::MakeWriter;

/// Lines that may wait: some hundred kB of text.
const LINES: usize = 2048;
/// Longest wait at the end for lines that are still to be written.
const LAST_LINES: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Counts {
    /// Lines taken into the queue.
    taken: AtomicU64,
    /// Lines that came out at the other end.
    written: AtomicU64,
    /// Lines lost since the last report.
    lost: AtomicU64,
}

/// The end of those who log.
#[derive(Clone)]
pub(super) struct Lossy {
    lines: SyncSender<Vec<u8>>,
    counts: Arc<Counts>,
}

impl Lossy {
    /// Starts the thread. `write` may block; `report` is the line that states how many were lost.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub(super) fn start(
        mut write: impl FnMut(&[u8]) + Send + 'static,
        report: impl Fn(u64) -> Vec<u8> + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, lines) = sync_channel(LINES);
        let counts = Arc::<Counts>::default();
        let seen = Arc::clone(&counts);
        let work = move || drain(&lines, &seen, &mut write, &report);
        std::thread::Builder::new().name("log".into()).spawn(work)?;
        Ok(Self { lines: sender, counts })
    }

    /// Takes a line, or loses it.
    pub(super) fn push(&self, line: Vec<u8>) {
        // Counted first, or the line could be out before it is counted in.
        self.counts.taken.fetch_add(1, Ordering::Relaxed);
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.lines.try_send(line) {
            self.counts.taken.fetch_sub(1, Ordering::Relaxed);
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written, but not for long: nobody may be reading.
    pub(super) fn flush(&self) {
        let end = Instant::now() + LAST_LINES;
        let waits = || self.counts.written.load(Ordering::Relaxed) < self.counts.taken.load(Ordering::Relaxed);
        while waits() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn drain(lines: &Receiver<Vec<u8>>, counts: &Counts, write: &mut impl FnMut(&[u8]), report: &impl Fn(u64) -> Vec<u8>) {
    for line in lines {
        write(&line);
        let lost = counts.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            write(&report(lost));
        }
        counts.written.fetch_add(1, Ordering::Relaxed);
    }
}

/// The formatter writes each event at once, as one line or several.
impl io::Write for Lossy {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lossy {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_writer_that_hangs_holds_nobody_up_and_the_lost_lines_are_counted() {
        let (gate, opened) = channel::<()>();
        let (sender, written) = channel();
        let write = move |line: &[u8]| {
            // Hangs until the gate is opened for good.
            let _ = opened.recv();
            let _ = sender.send(String::from_utf8_lossy(line).into_owned());
        };
        let lossy = Lossy::start(write, |lost| format!("{lost} lost").into_bytes()).expect("a thread");
        for n in 0..LINES + 1000 {
            lossy.push(n.to_string().into_bytes());
        }
        lossy.flush();
        assert!(written.try_recv().is_err(), "nothing can be written yet");
        drop(gate);
        let first: Vec<String> = written.iter().take(2).collect();
        // The first may have been taken out before the queue was full.
        let lost: usize = first[1].strip_suffix(" lost").and_then(|n| n.parse().ok()).expect("a report");
        assert!(first[0] == "0" && (999..=1000).contains(&lost), "{first:?}");
        let rest = written.iter().take(LINES + 1000 - lost - 1).last();
        assert!(rest.is_some_and(|last| last.parse::<usize>().is_ok_and(|n| n < LINES + 1)), "in order, without gaps");
    }
}
