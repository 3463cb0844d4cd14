//! Load for measurements: threads of ordinary priority that keep every processor and the memory bus busy.
//!
//! Thread: its own, ordinary priority; started and stopped by the suite.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use crate::shared::realtime;

/// Memory one streaming thread walks through, bytes: larger than the last-level cache share of a core.
const STREAM_BYTES: usize = 32 << 20;
/// Steps of arithmetic between two looks at the stop flag: some 10 µs.
const SPIN_STEPS: u32 = 10_000;

/// Runs until dropped: on every processor one thread of arithmetic and one that streams memory.
pub struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts the load on `cpus` and returns once every thread is at work.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(cpus: &[usize]) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut load = Self { stop, threads: Vec::with_capacity(2 * cpus.len()) };
        let at_work = Arc::new(AtomicUsize::new(0));
        for &cpu in cpus {
            load.spawn(cpu, &at_work, spin)?;
            load.spawn(cpu, &at_work, stream)?;
        }
        while at_work.load(Ordering::Acquire) < load.threads.len() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(load)
    }

    /// How many threads are at work.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    fn spawn(
        &mut self,
        cpu: usize,
        at_work: &Arc<AtomicUsize>,
        work: fn(&AtomicBool, &AtomicUsize),
    ) -> std::io::Result<()> {
        let (stop, at_work) = (Arc::clone(&self.stop), Arc::clone(at_work));
        let thread = std::thread::Builder::new().name("load".to_owned()).spawn(move || {
            // Unpinned load is still load: the scheduler spreads it.
            let _ = realtime::pin_to_cpu(cpu);
            work(&stop, &at_work);
        })?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            // The load has no result; a thread that panicked has stopped as well.
            let _ = thread.join();
        }
    }
}

fn spin(stop: &AtomicBool, at_work: &AtomicUsize) {
    at_work.fetch_add(1, Ordering::Release);
    let mut x = 0.5_f64;
    while !stop.load(Ordering::Acquire) {
        for _ in 0..SPIN_STEPS {
            // The logistic map: each step waits for the one before.
            x = 3.9 * x * (1.0 - x);
        }
        x = std::hint::black_box(x);
    }
}

fn stream(stop: &AtomicBool, at_work: &AtomicUsize) {
    let mut memory = vec![1_u64; STREAM_BYTES / size_of::<u64>()];
    at_work.fetch_add(1, Ordering::Release);
    while !stop.load(Ordering::Acquire) {
        for word in &mut memory {
            *word = word.rotate_left(1);
        }
        std::hint::black_box(&mut memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_the_load_ends_all_its_threads() {
        let cpus = realtime::allowed_cpus();
        let load = Load::start(&cpus).expect("threads can be started");
        assert_eq!(load.threads(), 2 * cpus.len());
        let stop = Arc::clone(&load.stop);
        assert_eq!(Arc::strong_count(&stop), 2 + load.threads());
        drop(load);
        assert_eq!(Arc::strong_count(&stop), 1);
    }
}
