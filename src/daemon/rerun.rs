//! A run on real threads once more, on one thread: the same ticks and the same steps, in the order in which they met.
//!
//! Thread: main.
//!
//! What the threads' meetings decided stands in the recording: which mechanism a tick worked with, which tick's tool a step took,
//! when each began, after how many looks at the clock a solve was cut, at which tick an order was carried out. The tools and
//! the mechanisms themselves come out of the ticks and steps as they are run again.

use super::Failure;
use crate::device::DeviceSpec;
use crate::haptic::{HapticModel, HapticState, TickRecord, tick};
use crate::mechanism::MechanismSnapshot;
use crate::record::{Entry, Reader};
use crate::scene::Built;
use crate::shared::{ManualClock, MonoNs, Order, Pacer, StepInput, Tick, ToolSample};
use crate::sim::{MaterialOrder, SimData, SimModel, empty_snapshot, step};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// Tools kept for steps that are still to come: four seconds at 1 kHz.
const TOOLS: usize = 4096;

/// What a recording knows of the threads' meetings.
#[derive(Default)]
pub(super) struct Meetings {
    steps: VecDeque<StepInput>,
    orders: BTreeMap<u64, Vec<Order>>,
    materials: BTreeMap<u64, MaterialOrder>,
}

impl Meetings {
    /// Reads them out of a recording. They may stand later in it than the ticks they belong to.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let mut met = Self::default();
        for entry in Reader::open(path)? {
            match entry? {
                Entry::Step(step) => met.steps.push_back(step),
                Entry::Order(tick, order) => met.orders.entry(tick).or_default().push(*order),
                Entry::Event(_, event) => {
                    met.materials.extend(materials(&event).map(|order| (order.sequence, order)));
                }
                _ => {}
            }
        }
        Ok(met)
    }

    /// True when there is nothing to go by.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// The materials an event tells of, if it does.
fn materials(event: &Value) -> Option<MaterialOrder> {
    if event.get("kind")?.as_str()? != "materials" {
        return None;
    }
    let mut order = MaterialOrder { sequence: event.get("sequence")?.as_u64()?, ..MaterialOrder::none() };
    let values = event.get("values")?.as_array()?;
    order.count = values.len();
    for (place, value) in order.values.iter_mut().zip(values) {
        *place = (value.get(0)?.as_f64()?, value.get(1)?.as_f64()?);
    }
    Some(order)
}

/// See the file's head.
pub(super) struct Rerun {
    model: HapticModel,
    haptic: HapticState,
    sim_model: SimModel,
    sim: SimData,
    snapshot: Box<MechanismSnapshot>,
    tools: VecDeque<ToolSample>,
    met: Meetings,
    clock: ManualClock,
    period_s: f64,
}

impl Rerun {
    /// At rest, before the first tick.
    ///
    /// # Errors
    /// When the scene makes no sense any more, or looks for contacts on a thread of its own.
    pub(super) fn new(built: Built, device: &DeviceSpec, met: Meetings) -> Result<Self, Failure> {
        if built.sim.collision_thread {
            let text = "the scene looks for contacts on a thread of its own ([collision] thread = true), and when that \
                        thread answered is not recorded: it cannot be run again bit for bit";
            return Err(Failure::Usage(text.into()));
        }
        let pacer = Pacer::new(built.haptic.rate_hz, 0, MonoNs(0));
        let pacer = pacer.map_err(|error| Failure::Usage(error.to_string()))?;
        let haptic = HapticState::new(&built.haptic, device);
        Ok(Self {
            tools: VecDeque::from([ToolSample::at_rest(built.haptic.tool.start)]),
            haptic,
            model: built.haptic,
            sim: SimData::new(&built.sim)?,
            sim_model: built.sim,
            snapshot: empty_snapshot(),
            met,
            clock: ManualClock::at(MonoNs(0)),
            period_s: pacer.period_s(),
        })
    }

    /// Runs a recorded tick again.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(super) fn tick(&mut self, recorded: &TickRecord) -> Result<TickRecord, String> {
        let input = &recorded.input;
        while self.snapshot.stamp.sequence < input.snapshot {
            self.step()?;
        }
        if let Some(cause) = input.trip {
            self.haptic.trip(cause);
        }
        if input.retiring {
            self.haptic.retire();
        }
        for order in self.met.orders.remove(&recorded.index).into_iter().flatten() {
            self.haptic.order(order);
        }
        self.haptic.carry(input.weight);
        self.clock.set(recorded.due.plus(recorded.lateness_ns));
        let mut now = Tick::begin(recorded.index, recorded.due, self.period_s, u64::MAX / 2, &self.clock);
        now.skipped = input.skipped;
        now.most_looks = input.cut_after.unwrap_or(u32::MAX);
        tick(&self.model, &mut self.haptic, input.sample, &self.snapshot, &mut now);
        if input.unheard {
            self.haptic.unheard();
        }
        self.tools.push_back(*self.haptic.tool());
        if self.tools.len() > TOOLS {
            self.tools.pop_front();
        }
        // How long it took is the machine's affair.
        Ok(TickRecord { compute_ns: recorded.compute_ns, ..*self.haptic.record() })
    }

    /// Runs the next step again.
    fn step(&mut self) -> Result<(), String> {
        let wanted = self.snapshot.stamp.sequence + 1;
        let next = self.met.steps.pop_front().filter(|next| next.sequence == wanted);
        let next = next.ok_or_else(|| format!("step {wanted} of the simulation is not in the recording"))?;
        if next.materials != self.sim.materials_taken() {
            let order = self.met.materials.get(&next.materials);
            self.sim.take_materials(order.ok_or("the materials it was told to use are not in the recording")?);
        }
        let tool = self.tools.iter().rev().find(|tool| tool.stamp.sequence == next.tool);
        let tool = *tool.ok_or_else(|| format!("step {wanted} took the tool of tick {}, which is gone", next.tool))?;
        self.sim.next_ends_at(&self.sim_model, next.began);
        step(&self.sim_model, &mut self.sim, &[tool], &mut [&mut *self.snapshot]);
        Ok(())
    }
}
