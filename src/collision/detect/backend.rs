//! Which processor detects: the faster one, measured; and the other one when it fails.
//!
//! Thread: simulation or collision; made cold.
//!
//! A graphics processor can be slower than one core with bounding volumes, above all for a grid, so neither is the
//! default by name. It can also go away at any time. The answer that it owes is then computed on the CPU in the same
//! call, and so are all that follow.

use super::{Detector, Found, NodeSet};
use crate::collision::field::Baked;
use crate::collision::gpu::{Gpu, GpuDetector, GpuError};
use crate::math::Pose;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Times that each is asked when both are measured, after a first one that does not count.
const PROBES: usize = 15;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// The faster one.
    #[default]
    Measured,
    /// The CPU.
    Cpu,
    /// The graphics processor, if there is any.
    Gpu,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The CPU, one core.
    Cpu,
    /// The graphics processor.
    Gpu,
}

/// What a user may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Both were measured, and the faster one serves: medians, s.
    Measured {
        /// Of the CPU.
        cpu_s: f64,
        /// Of the graphics processor, there and back.
        gpu_s: f64,
    },
    /// The graphics processor cannot serve, or not any more: the CPU does.
    FellBack(GpuError),
}

/// A detector on either processor.
pub struct AnyDetector {
    cpu: Detector,
    gpu: Option<GpuDetector>,
}

impl AnyDetector {
    /// For the nodes of one part in the field of another. `gpu` is what [`Gpu::open`] gave; `probes` are poses as they
    /// will come, at which both are measured. An answer of the graphics processor that takes longer than `patience` is
    /// given up.
    #[must_use]
    pub fn new(
        nodes: &Arc<NodeSet>,
        field: &Arc<Baked>,
        margin: f64,
        wish: Wish,
        gpu: &Result<Arc<Gpu>, GpuError>,
        probes: &[Pose],
        patience: Duration,
    ) -> (Self, Option<Event>) {
        let cpu = Detector::new(Arc::clone(nodes), Arc::<Baked>::clone(field), margin);
        let mut made = Self { cpu, gpu: None };
        if wish == Wish::Cpu {
            return (made, None);
        }
        let opened = gpu.clone().and_then(|gpu| GpuDetector::new(gpu, nodes, field, margin, patience));
        match opened {
            Ok(gpu) => made.gpu = Some(gpu),
            Err(error) => return (made, Some(Event::FellBack(error))),
        }
        if wish == Wish::Gpu {
            return (made, None);
        }
        let event = made.measure(probes);
        (made, Some(event))
    }

    /// Keeps the faster one.
    fn measure(&mut self, probes: &[Pose]) -> Event {
        let mut found = Found::for_nodes(self.cpu.nodes());
        let (mut cpu_s, mut gpu_s) = ([0.0; PROBES + 1], [0.0; PROBES + 1]);
        for k in 0..=PROBES {
            let pose = probes.get(k % probes.len().max(1)).copied().unwrap_or_default();
            let start = Instant::now();
            self.cpu.detect(&pose, &mut found);
            cpu_s[k] = start.elapsed().as_secs_f64();
            let start = Instant::now();
            if let Some(event) = self.detect(&pose, &mut found) {
                return event;
            }
            gpu_s[k] = start.elapsed().as_secs_f64();
        }
        let median = |times: &mut [f64]| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        // The first times are of memory that was not there yet.
        let (cpu_s, gpu_s) = (median(&mut cpu_s[1..]), median(&mut gpu_s[1..]));
        if cpu_s <= gpu_s {
            self.gpu = None;
        }
        Event::Measured { cpu_s, gpu_s }
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &Arc<NodeSet> {
        self.cpu.nodes()
    }

    /// Who answers.
    #[must_use]
    pub fn backend(&self) -> Backend {
        if self.gpu.is_some() { Backend::Gpu } else { Backend::Cpu }
    }

    /// Finds all nodes nearer than the margin, as [`Detector::detect`] does. An event when the graphics processor
    /// failed; what was found is of the CPU then, and just as good.
    pub fn detect(&mut self, pose_field_nodes: &Pose, out: &mut Found) -> Option<Event> {
        let error = match &mut self.gpu {
            None => None,
            Some(gpu) => match gpu.detect(pose_field_nodes, out) {
                Ok(()) => return None,
                Err(error) => Some(error),
            },
        };
        self.cpu.detect(pose_field_nodes, out);
        let error = error?;
        self.gpu = None;
        Some(Event::FellBack(error))
    }
}
