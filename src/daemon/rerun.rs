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
use crate::record::{self, Entry, Provenance, Reader};
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

/// One hand of the run.
struct Hand {
    model: HapticModel,
    haptic: HapticState,
    tools: VecDeque<ToolSample>,
    /// The mechanism in use, then those that its ticks have still to take.
    snapshots: VecDeque<Box<MechanismSnapshot>>,
    /// Those that no tick needs any more, for their room.
    spare: Vec<Box<MechanismSnapshot>>,
    orders: BTreeMap<u64, Vec<Order>>,
}

impl Hand {
    fn new(model: HapticModel, device: &DeviceSpec, orders: BTreeMap<u64, Vec<Order>>) -> Self {
        Self {
            tools: VecDeque::from([ToolSample::at_rest(model.tool.start)]),
            haptic: HapticState::new(&model, device),
            snapshots: VecDeque::from([empty_snapshot()]),
            spare: Vec::new(),
            model,
            orders,
        }
    }

    /// The tool that a step took at this tick.
    fn tool(&self, tick: u64) -> Option<ToolSample> {
        self.tools.iter().rev().find(|tool| tool.stamp.sequence == tick).copied()
    }

    /// Runs a recorded tick again; the steps before it have been.
    fn tick(&mut self, recorded: &TickRecord, clock: &mut ManualClock, period_s: f64) -> Result<TickRecord, String> {
        let input = &recorded.input;
        while self.snapshots.front().is_some_and(|first| first.stamp.sequence < input.snapshot) {
            self.spare.extend(self.snapshots.pop_front());
        }
        let Some(snapshot) = self.snapshots.front() else {
            return Err(format!("step {} of the simulation is not in the recording", input.snapshot));
        };
        if let Some(cause) = input.trip {
            self.haptic.trip(cause);
        }
        if input.retiring {
            self.haptic.retire();
        }
        for order in self.orders.remove(&recorded.index).into_iter().flatten() {
            self.haptic.order(order);
        }
        self.haptic.carry(input.weight);
        clock.set(recorded.due.plus(recorded.lateness_ns));
        let mut now = Tick::begin(recorded.index, recorded.due, period_s, u64::MAX / 2, clock);
        now.skipped = input.skipped;
        now.most_looks = input.cut_after.unwrap_or(u32::MAX);
        tick(&self.model, &mut self.haptic, input.sample, snapshot, &mut now);
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
}

/// The recording of the second hand, run again beside that of the first.
pub(super) struct Companion {
    entries: Reader,
    /// Ticks run again so far.
    pub(super) ticks: u64,
    /// What of the newest came out otherwise, if something did.
    pub(super) difference: Option<String>,
}

impl Companion {
    /// Of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self { entries: Reader::open(path)?, ticks: 0, difference: None })
    }

    /// Where it comes from.
    pub(super) fn provenance(&self) -> &Provenance {
        self.entries.provenance()
    }

    /// The next tick; nothing at the end, and once something came out otherwise.
    ///
    /// # Errors
    /// What is wrong with the file, or missing in it.
    pub(super) fn next(&mut self) -> Result<Option<TickRecord>, String> {
        if self.difference.is_some() {
            return Ok(None);
        }
        for entry in self.entries.by_ref() {
            match entry.map_err(|error| error.to_string())? {
                Entry::Tick(tick) if tick.index == self.ticks + 1 => return Ok(Some(*tick)),
                Entry::Tick(tick) => {
                    return Err(format!("tick {} of the second hand follows tick {}", tick.index, self.ticks));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Compares a tick with what it was.
    pub(super) fn judge(&mut self, recorded: &TickRecord, record: &TickRecord) {
        self.ticks += 1;
        let what = record::difference(recorded, record);
        self.difference = what.map(|what| format!("tick {} of the second hand: {what}", recorded.index));
    }
}

/// See the file's head.
pub(super) struct Rerun {
    first: Hand,
    second: Option<(Hand, Companion)>,
    sim_model: SimModel,
    sim: SimData,
    steps_made: u64,
    met: Meetings,
    clock: ManualClock,
    period_s: f64,
}

impl Rerun {
    /// At rest, before the first tick. In a scene for two the other hand has its device, its orders and its recording.
    ///
    /// # Errors
    /// When the scene makes no sense any more, or looks for contacts on a thread of its own.
    pub(super) fn new(
        built: Built,
        device: &DeviceSpec,
        mut met: Meetings,
        other: Option<(DeviceSpec, Meetings, Companion)>,
    ) -> Result<Self, Failure> {
        if built.sim.collision_thread {
            let text = "the scene looks for contacts on a thread of its own ([collision] thread = true), and when that \
                        thread answered is not recorded: it cannot be run again bit for bit";
            return Err(Failure::Usage(text.into()));
        }
        let pacer = Pacer::new(built.haptic.rate_hz, 0, MonoNs(0));
        let pacer = pacer.map_err(|error| Failure::Usage(error.to_string()))?;
        let second = built
            .second
            .zip(other)
            .map(|(hand, (device, met, companion))| (Hand::new(hand.haptic, &device, met.orders), companion));
        Ok(Self {
            first: Hand::new(built.haptic, device, std::mem::take(&mut met.orders)),
            second,
            sim: SimData::new(&built.sim)?,
            sim_model: built.sim,
            steps_made: 0,
            met,
            clock: ManualClock::at(MonoNs(0)),
            period_s: pacer.period_s(),
        })
    }

    /// The recording of the second hand, as far as it has come.
    pub(super) fn companion(&self) -> Option<&Companion> {
        self.second.as_ref().map(|(_, companion)| companion)
    }

    /// Runs a recorded tick of the first hand again.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(super) fn tick(&mut self, recorded: &TickRecord) -> Result<TickRecord, String> {
        while self.steps_made < recorded.input.snapshot {
            self.step()?;
        }
        self.first.tick(recorded, &mut self.clock, self.period_s)
    }

    /// Runs what is left of the second hand's recording, when the first has come to its end.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        while self.tick_second()? {}
        Ok(())
    }

    /// Runs the next tick of the second hand; false when there is none.
    fn tick_second(&mut self) -> Result<bool, String> {
        let Some(recorded) = self.second.as_mut().map_or(Ok(None), |(_, companion)| companion.next())? else {
            return Ok(false);
        };
        while self.steps_made < recorded.input.snapshot {
            self.step()?;
        }
        let Some((hand, companion)) = &mut self.second else { return Ok(false) };
        let record = hand.tick(&recorded, &mut self.clock, self.period_s)?;
        companion.judge(&recorded, &record);
        Ok(true)
    }

    /// Runs the next step again.
    fn step(&mut self) -> Result<(), String> {
        let wanted = self.steps_made + 1;
        let next = self.met.steps.pop_front().filter(|next| next.sequence == wanted);
        let next = next.ok_or_else(|| format!("step {wanted} of the simulation is not in the recording"))?;
        if next.materials != self.sim.materials_taken() {
            let order = self.met.materials.get(&next.materials);
            self.sim.take_materials(order.ok_or("the materials it was told to use are not in the recording")?);
        }
        let gone = |tick: u64| format!("step {wanted} took the tool of tick {tick}, which is gone");
        let mut tools = vec![self.first.tool(next.tool).ok_or_else(|| gone(next.tool))?];
        while self.second.as_ref().is_some_and(|(hand, _)| hand.tool(next.second_tool).is_none()) {
            if !self.tick_second()? {
                return Err(format!("tick {} of the second hand is not in its recording", next.second_tool));
            }
        }
        tools.extend(self.second.as_ref().and_then(|(hand, _)| hand.tool(next.second_tool)));
        self.sim.next_ends_at(&self.sim_model, next.began);
        self.sim.last_took(next.took_ns);
        let mut made: Vec<_> = self.hands().map(|hand| hand.spare.pop().unwrap_or_else(empty_snapshot)).collect();
        let mut out: Vec<&mut MechanismSnapshot> = made.iter_mut().map(|snapshot| &mut **snapshot).collect();
        step(&self.sim_model, &mut self.sim, &tools, &mut out);
        self.steps_made = wanted;
        self.hands().zip(made).for_each(|(hand, snapshot)| hand.snapshots.push_back(snapshot));
        Ok(())
    }

    fn hands(&mut self) -> impl Iterator<Item = &mut Hand> {
        std::iter::once(&mut self.first).chain(self.second.as_mut().map(|(hand, _)| hand))
    }
}
