//! One operator's place with a device on a port: I/O thread, guardian, haptic thread and a simulation with a wall.

#![allow(dead_code, reason = "each test uses its own part")]

use crate::wired::{spec, stage};
use hapticd::device::driver::DriverState;
use hapticd::device::driver::catalogue;
use hapticd::device::port::find::Bus;
use hapticd::device::port::guarded::GuardedPort;
use hapticd::device::port::serial::{BAUD, SerialPort};
use hapticd::device::port::websocket::{WebSocketPort, address_at};
use hapticd::device::port::{Link, LinkState, Port};
use hapticd::haptic::thread::{HapticSetup, HapticThread};
use hapticd::haptic::{Desk, TickRecord, orders};
use hapticd::mechanism::MechanismSnapshot;
use hapticd::shared::realtime::RealtimeRequest;
use hapticd::shared::{RingReader, SceneView, ToolSample, latest, ring, skins};
use hapticd::sim::thread::{HandLinks, SimLinks, SimStatus, SimThread};
use hapticd::sim::{MaterialOrder, SimData};
use std::path::Path;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

/// See the file's head.
pub(crate) struct Station {
    pub(crate) desk: Desk,
    pub(crate) records: RingReader<TickRecord>,
    pub(crate) haptic: HapticThread,
    sim: SimThread,
    pub(crate) link: Link,
}

impl Station {
    /// Opens the device of this word at `path`, homes it, and starts the loop; nothing is enabled yet.
    pub(crate) fn start(word: &'static str, path: &Path) -> Self {
        let rights = |priority| RealtimeRequest { priority, ..RealtimeRequest::default() };
        let built = stage(word, None);
        let path = path.to_owned();
        let opener = Box::new(move || {
            let driver = catalogue::driver(word, None).expect("a driver");
            let port: Box<dyn Port> = match Bus::of(word) {
                Bus::Service => Box::new(WebSocketPort::open(address_at(&path)?)?),
                _ => Box::new(SerialPort::open(&path, BAUD)?),
            };
            let program = Path::new(env!("CARGO_BIN_EXE_hapticd"));
            Ok((GuardedPort::around(port, &driver, program, 85, "the device")?, driver))
        });
        let mut link = Link::start(spec(word), opener, None, rights(82)).expect("a thread");
        let began = Instant::now();
        while link.status().state != LinkState::Driven(DriverState::Ready) {
            if link.status().state.guide().is_some() {
                link.confirm_home();
            }
            link.news().for_each(|(_, news)| println!("news {news:?}"));
            assert!(began.elapsed() < PATIENCE, "{word}: {:?}", link.status());
            std::thread::sleep(Duration::from_millis(10));
        }
        let (snapshot_writer, snapshots) = latest(MechanismSnapshot::empty());
        let (tool_writer, tool) = latest(ToolSample::at_rest(built.haptic.tool.start));
        let (operator_view, _view) = latest(SceneView::empty());
        let (status, _status) = latest(SimStatus::empty());
        let (desk, links) = orders(8);
        let (record_writer, records) = ring::<TickRecord>(4096);
        let haptic = HapticThread::spawn(HapticSetup {
            model: built.haptic,
            device: Box::new(link.attach(spec(word))),
            snapshots,
            orders: links.orders,
            answers: links.answers,
            tool: tool_writer,
            records: record_writer,
            realtime: rights(80),
            allow_no_rt: true,
            born_tripped: None,
        })
        .expect("a loop");
        let data = SimData::with_threads(&built.sim).expect("a scene");
        let (_, materials) = latest(MaterialOrder::none());
        let hand = HandLinks { tool, snapshots: snapshot_writer, operator_view };
        let (skins, _) = skins(&built.skins);
        let sim_links = SimLinks { hands: vec![hand], materials, skins, steps: ring(1).0, status };
        let sim = SimThread::spawn(built.sim.clone(), data, sim_links).expect("a simulation");
        Self { desk, records, haptic, sim, link }
    }

    /// Homes the device again if it was started anew: on a busy machine it may have been silent for too long.
    pub(crate) fn keep_homed(&mut self) {
        if self.link.status().state.guide().is_some() {
            self.link.confirm_home();
        }
    }

    /// The newest record since the last call, `each` having seen all; answers to orders are taken and dropped.
    pub(crate) fn newest(&mut self, each: impl FnMut(&TickRecord)) -> Option<TickRecord> {
        self.desk.answers().for_each(drop);
        self.records.drain().inspect(each).last()
    }
}
