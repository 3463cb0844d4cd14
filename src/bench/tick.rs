//! Suite `tick`: how long one haptic tick takes with a full mechanism.
//!
//! Thread: main, and one real-time thread per measurement.
//!
//! A rigid plate with 35 points of contact (105 rows) is pressed, rocked and dragged over a surface, so that contacts open,
//! close, stick and slip all the time; once on a compliant surface whose points all act on one another, once on a rigid
//! one. Mechanisms are renewed at 60 Hz. Snapshots that the simulation condenses are measured apart (`tick_condensed`). Measured at 1 kHz with sleep between the ticks, not back to back: caches are as
//! cold as they are in use.

use super::jitter::run_loop;
use super::{BenchError, Options, Record, Report, Summary, tick_condensed};
use crate::device::{Connection, DeviceSpec, HandSample, Limits, Mechanics, PerPart};
use crate::haptic::{
    Coupling, HapticModel, HapticState, LOCAL_SOLVER, Policy, SpringDamper, Surfaces, TickRecord, ToolModel, tick,
};
use crate::math::{Mapping, Mat3, Pose, Random, Vec3, tangents};
use crate::mechanism::pmi::RigidInertia;
use crate::mechanism::{Block, BlockId, Law, MAX_ROWS, MechanismSnapshot, Row, RowKind};
use crate::shared::lifecycle::Event;
use crate::shared::realtime::RealtimeRequest;
use crate::shared::{Faults, MonoNs, NS_PER_S, Order, Stamp, Tick};

const SUITE: &str = "tick";
/// Points of contact along the plate and across it.
const GRID: [usize; 2] = [7, 5];
/// Distance between neighbours, m.
const SPACING: f64 = 0.01;
/// Compliance of one point of the soft surface, m/N: that of firm tissue under a fingertip.
const SOFTNESS: f64 = 1.0 / 1500.0;
/// Distance over which pressing one point moves its neighbours, m.
const SPREAD: f64 = 0.01;
/// Time between two mechanisms, s.
const STEP_S: f64 = 1.0 / 60.0;

/// A plate over a surface: 35 candidates of contact.
pub struct PlateScene {
    rows: Vec<[Row; 3]>,
    friction: Vec<f64>,
    compliant: bool,
}

impl PlateScene {
    /// The scene, its bumps drawn from `seed`.
    #[must_use]
    pub fn new(compliant: bool, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut scene = Self { rows: Vec::new(), friction: Vec::new(), compliant };
        for index in 0..GRID[0] * GRID[1] {
            let place = |n: usize, count: usize| (n as f64 - 0.5 * (count - 1) as f64) * SPACING;
            let bump = 2e-5 * random.normal();
            let point = Vec3::new(place(index % GRID[0], GRID[0]), place(index / GRID[0], GRID[1]), bump);
            let normal = Vec3::new(0.1 * random.normal(), 0.1 * random.normal(), 1.0).normalize();
            let (t1, t2) = tangents(&normal);
            let row = |direction: Vec3| Row {
                kind: RowKind::Point,
                direction,
                point_tool: point,
                offset: direction.dot(&point),
                ..Row::EMPTY
            };
            scene.rows.push([row(normal), row(t1), row(t2)]);
            scene.friction.push(0.2 + 0.5 * random.uniform());
        }
        scene
    }

    /// Writes the mechanism as step `sequence` at `at` gives it; the surface breathes a little from step to step.
    pub fn publish(&self, sequence: u64, at: MonoNs, into: &mut MechanismSnapshot) {
        into.stamp = Stamp { sequence, at };
        into.step_s = STEP_S;
        into.dropped = 0;
        into.block_count = self.rows.len();
        into.row_count = 3 * self.rows.len();
        for (index, rows) in self.rows.iter().enumerate() {
            let law = Law::Contact { friction: self.friction[index], compliance: 0.0 };
            into.blocks[index] = Block { id: BlockId::Custom(index as u64), first: 3 * index, law };
            for (k, row) in rows.iter().enumerate() {
                into.rows[3 * index + k] = *row;
                into.lambda[3 * index + k] = 0.0;
            }
            into.rows[3 * index].offset += 2e-5 * (sequence as f64 * 0.7 + index as f64).sin();
            for (other, columns) in self.rows.iter().enumerate() {
                let apart = (rows[0].point_tool - columns[0].point_tool).norm();
                // An isotropic kernel, seen along each pair of directions: symmetric and positive definite.
                let kernel = if self.compliant { SOFTNESS * (-apart / SPREAD).exp() } else { 0.0 };
                for (k, row) in rows.iter().enumerate() {
                    for (l, column) in columns.iter().enumerate() {
                        into.compliance[(3 * index + k) * MAX_ROWS + 3 * other + l] =
                            kernel * row.direction.dot(&column.direction);
                    }
                }
            }
        }
    }

    /// Where the hand holds the plate `t` seconds after the start: in the air first, then pressing, rocking, dragging.
    #[must_use]
    pub fn hand(t: f64) -> Pose {
        let wave = |hz: f64, phase: f64| (std::f64::consts::TAU * hz * t + phase).sin();
        Pose::new(
            Vec3::new(0.006 * wave(0.7, 0.0), 0.004 * wave(1.1, 1.0), 5e-3 * wave(1.5, 1.6)),
            Vec3::new(0.04 * wave(2.3, 0.0), 0.03 * wave(1.9, 0.5), 0.03 * wave(0.6, 0.0)),
        )
    }
}

/// A device for the plate: six degrees of freedom, as a good one on a desk.
#[must_use]
pub fn plate_device(rate_hz: f64) -> DeviceSpec {
    let part = |linear, angular| PerPart { linear, angular };
    DeviceSpec {
        model: "bench".to_owned(),
        driver: "simulated".to_owned(),
        rotation_sensed: true,
        rotation_actuated: true,
        buttons: 0,
        rate_hz,
        limits: Limits {
            force: part(12.0, 1.5),
            slew: part(6000.0, 750.0),
            power_w: 20.0,
            reserve_j: 0.1,
            speed: part(1.0, 20.0),
            acceleration: part(150.0, 3000.0),
            stiffness: part(3000.0, 10.0),
            damping: part(20.0, 0.05),
            workspace_radius_m: 0.15,
            watchdog_s: None,
        },
        mechanics: Mechanics {
            inertia: part(0.15, 5e-4),
            damping: part(0.5, 1.5e-3),
            friction: part(0.1, 2e-3),
            quantum: part(1e-5, 5e-5),
            latency_ticks: 0,
            links: None,
        },
        connection: Connection::default(),
    }
}

/// The tick's model for the plate on that device, solver and policy as shipped.
#[must_use]
pub fn plate_model(spec: &DeviceSpec) -> HapticModel {
    let inertia = Mat3::from_diagonal(&Vec3::new(2e-5, 4e-5, 6e-5));
    HapticModel {
        limits: spec.limits,
        mechanics: spec.mechanics,
        rotation_sensed: spec.rotation_sensed,
        rotation_actuated: spec.rotation_actuated,
        rate_hz: spec.rate_hz,
        mapping: Mapping::identity(),
        clutch_button: None,
        turning: None,
        coupling: Coupling::Spring(SpringDamper::isotropic(2000.0, 5.0, 3.0, 0.005)),
        tool: ToolModel {
            inertia: RigidInertia::new(0.1, inertia).expect("mass and tensor are positive"),
            start: PlateScene::hand(0.0),
        },
        policy: Policy::default(),
        solver: LOCAL_SOLVER,
        surfaces: Surfaces::default(),
    }
}

/// The plate under the real tick, a mechanism of 105 rows renewed at 60 Hz: a body for any loop.
pub struct PlateRun {
    model: HapticModel,
    state: HapticState,
    scene: PlateScene,
    snapshot: Box<MechanismSnapshot>,
    origin: Option<MonoNs>,
}

impl PlateRun {
    /// At rest above the surface, enabled.
    #[must_use]
    pub fn new(rate_hz: f64, compliant: bool, seed: u64) -> Self {
        let spec = plate_device(rate_hz);
        let model = plate_model(&spec);
        let mut state = HapticState::new(&model, &spec);
        state.order(Order::of(1, Event::Enable));
        let scene = PlateScene::new(compliant, seed);
        Self { model, state, scene, snapshot: Box::new(MechanismSnapshot::empty()), origin: None }
    }

    /// One tick; then, outside what the record measures, the simulation's part.
    pub fn beat(&mut self, now: &mut Tick<'_>) -> &TickRecord {
        let t = now.due.seconds_after(*self.origin.get_or_insert(now.due));
        let stamp = Stamp { sequence: now.index, at: now.began };
        let sample = HandSample { stamp, pose_device_handle: PlateScene::hand(t), buttons: 0, homed: true };
        std::hint::black_box(tick(&self.model, &mut self.state, Some(sample), &self.snapshot, now));
        let steps = (t / STEP_S) as u64 + 1;
        if self.snapshot.stamp.sequence != steps {
            self.scene.publish(steps, now.now().plus((STEP_S * NS_PER_S as f64) as u64), &mut self.snapshot);
        }
        self.state.record()
    }
}

/// What the ticks of one scene cost.
#[derive(Default)]
struct Costs {
    compute_us: Vec<f64>,
    iterations: Vec<f64>,
    residual: Vec<f64>,
    contacts: Vec<f64>,
    bounded: u64,
}

/// Runs the suite.
///
/// # Errors
/// When the loop cannot be run or the results cannot be written.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let request = RealtimeRequest { priority: options.priority, cpu: options.cpu, ..RealtimeRequest::default() };
    for (name, compliant) in [("105-rows/compliant", true), ("105-rows/rigid", false)] {
        let (costs, budget_us) = measure(&request, options, compliant, report)?;
        let mut put = |name: &str, unit, samples: &[f64]| match Summary::of(samples) {
            Some(summary) => report.put_summary(SUITE, name, unit, &summary),
            None => Ok(()),
        };
        put(name, "us", &costs.compute_us)?;
        put(&format!("{name}/iterations"), "1", &costs.iterations)?;
        put(&format!("{name}/residual"), "1", &costs.residual)?;
        put(&format!("{name}/contacts"), "1", &costs.contacts)?;
        let longest = costs.compute_us.iter().fold(0.0, |most: f64, x| most.max(*x));
        let bounded = 100.0 * costs.bounded as f64 / costs.compute_us.len().max(1) as f64;
        report.put(Record::new(SUITE, name, "max-of-budget", longest / budget_us, "1"))?;
        report.put(Record::new(SUITE, name, "bounded", bounded, "%"))?;
    }
    tick_condensed::run(SUITE, options, report)
}

/// Ticks over one scene; gives what they cost and the time a solve may take, µs.
fn measure(
    request: &RealtimeRequest,
    options: &Options,
    compliant: bool,
    report: &mut Report,
) -> Result<(Costs, f64), BenchError> {
    const RATE_HZ: f64 = 1000.0;
    let mut plate = PlateRun::new(RATE_HZ, compliant, options.seed);
    let capacity = (RATE_HZ * options.seconds) as usize + 1;
    let numbers = || Vec::with_capacity(capacity);
    let mut costs =
        Costs { compute_us: numbers(), iterations: numbers(), residual: numbers(), contacts: numbers(), bounded: 0 };
    let mut budget_ns = 0;
    let body = |now: &mut Tick<'_>| {
        budget_ns = now.solve_until.since(now.began);
        let record = plate.beat(now);
        costs.compute_us.push(record.compute_ns as f64 * 1e-3);
        costs.iterations.push(f64::from(record.iterations));
        costs.residual.push(record.residual);
        costs.contacts.push(f64::from(record.contacts));
        costs.bounded += u64::from(record.faults.contains(Faults::SOLVER_BOUNDED));
    };
    let (figures, refusals) =
        run_loop(request, RATE_HZ, options.seconds, body).map_err(|error| BenchError::Failed(Box::new(error)))?;
    for refusal in &refusals {
        report.remark(&format!("not granted, measured without: {refusal}"));
    }
    report.remark(&format!("{}, {} ticks", figures.status.policy, figures.lateness.count()));
    Ok((costs, budget_ns as f64 * 1e-3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Format;

    #[test]
    fn the_suite_opens_and_closes_contacts_of_a_full_mechanism_and_reports_every_figure() {
        let mut report = Report::new(Format::Table, Box::new(std::io::sink()), Box::new(std::io::sink()));
        run(&Options { seconds: 1.5, ..Options::default() }, &mut report).expect("the suite runs");
        // Four samples of five figures and two more, for two scenes; two samples on condensed snapshots.
        assert_eq!(report.records().len(), 2 * (4 * 5 + 2) + 2 * 5);
        let rows = report.records().iter().find(|r| r.name == "condensed/rows" && r.stat == "p50").map(|r| r.value);
        assert!(rows >= Some(90.0), "condensed snapshots are full: {rows:?} rows");
        for scene in ["compliant", "rigid"] {
            let name = format!("105-rows/{scene}/contacts");
            let of = |stat| report.records().iter().find(|r| r.name == name && r.stat == stat).map(|r| r.value);
            let (p50, max) = (of("p50").expect("there"), of("max").expect("there"));
            assert!(max >= 3.0 && p50 < max, "{scene}: {p50} {max}");
        }
    }

    #[test]
    fn the_plates_mechanism_is_sound_symmetric_and_full() {
        let mut snapshot = Box::new(MechanismSnapshot::empty());
        PlateScene::new(true, 1).publish(1, MonoNs(1), &mut snapshot);
        assert!(snapshot.is_sound());
        assert_eq!(snapshot.row_count, 105);
        for i in 0..105 {
            for j in 0..105 {
                let (w, transposed) = (snapshot.compliance_row(i)[j], snapshot.compliance_row(j)[i]);
                assert_eq!(w, transposed);
                assert!(w * w <= snapshot.compliance_row(i)[i] * snapshot.compliance_row(j)[j] * (1.0 + 1e-12));
            }
        }
    }
}
