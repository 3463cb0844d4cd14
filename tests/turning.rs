//! Turning the tool without turning the handle: by orders, with buttons, with a spanner whose force is torque over lever.

use hapticd::daemon::Lockstep;
use hapticd::device::{Device, DeviceFault, DeviceSpec, HandSample, SafeForce};
use hapticd::haptic::{TickRecord, TorqueSense};
use hapticd::math::{Pose, Vec3, log_so3};
use hapticd::scene::{Built, build, open, open_device};
use hapticd::shared::lifecycle::{Refusal, State};
use hapticd::shared::{Change, MonoNs, Stamp, Tick};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle that is where it is put, and takes what force it is given.
#[derive(Clone)]
struct Puppet {
    spec: DeviceSpec,
    strings: Arc<Mutex<(Pose, u32)>>,
}

impl Puppet {
    fn strings(&self) -> MutexGuard<'_, (Pose, u32)> {
        self.strings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for Puppet {
    fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    fn read(&mut self, tick: &mut Tick<'_>) -> Result<HandSample, DeviceFault> {
        let (pose_device_handle, buttons) = *self.strings();
        let stamp = Stamp { sequence: tick.index, at: tick.began };
        Ok(HandSample { stamp, pose_device_handle, buttons, homed: true })
    }

    fn write(&mut self, _: &SafeForce, _: &mut Tick<'_>) -> Result<(), DeviceFault> {
        Ok(())
    }

    fn silence(&mut self, _: MonoNs) {}
}

/// A puppet that holds the tool of a scene.
struct Stage {
    rig: Lockstep<Puppet>,
    puppet: Puppet,
    torque: TorqueSense,
    newest: TickRecord,
}

impl Stage {
    /// Under full force, unless it is to stay disabled.
    fn new(scene: &str, mass_kg: Option<f64>, enabled: bool) -> Self {
        let mut scene = open(scene).expect("it is shipped").value;
        scene.tool.mass_kg = mass_kg.unwrap_or(scene.tool.mass_kg);
        let spec = open_device("simulated-3dof").expect("it is shipped").value;
        let Built { haptic, sim, handle_start, .. } = build(&scene, &spec).expect("they go together");
        let puppet = Puppet { spec, strings: Arc::new(Mutex::new((handle_start, 0))) };
        let torque = TorqueSense::of(&haptic);
        let mut rig = Lockstep::new(haptic, sim, puppet.clone(), None).expect("it is sound");
        if enabled {
            rig.first.desk.enable();
        }
        let newest = rig.beat().record;
        let mut stage = Self { rig, puppet, torque, newest };
        stage.run(700);
        assert_eq!(stage.newest.state, if enabled { State::Enabled } else { State::Disabled });
        stage
    }

    fn run(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.newest = self.rig.beat().record;
        }
    }

    /// Moves the handle by `way` at 20 mm/s.
    fn drag(&mut self, way: Vec3) {
        let ticks = (way.norm() / 2e-5).ceil() as usize;
        for _ in 0..ticks {
            self.puppet.strings().0.translation.vector += way / ticks as f64;
            self.run(1);
        }
    }

    fn hold(&self, buttons: u32) {
        self.puppet.strings().1 = buttons;
    }

    /// How far the tool has turned about the vertical.
    fn turned(&self) -> f64 {
        log_so3(&self.newest.pose_world_tool.rotation).z
    }

    /// What becomes of an order to turn for as long as can be.
    fn order(&mut self, rate: f64) -> Result<(), Refusal> {
        let until = MonoNs(self.newest.due.0 + 60_000_000_000);
        self.rig.first.desk.send(&[Change::Turn { rate, until }]).expect("there is room");
        self.run(1);
        let answer = self.rig.first.desk.answers().last().expect("it is answered");
        answer.outcome.map_err(|(_, refusal)| refusal)
    }
}

#[test]
fn an_order_turns_the_tool_for_a_quarter_of_a_second_and_no_longer() {
    let mut stage = Stage::new("bolting_spanner", None, true);
    assert_eq!(stage.order(1.0), Ok(()));
    stage.run(600);
    assert!((stage.turned() - 0.25).abs() < 0.01, "{}", stage.turned());
    // Sent again and again it goes on; zero ends it.
    for _ in 0..5 {
        assert_eq!(stage.order(-1.5), Ok(()));
        stage.run(99);
    }
    assert_eq!(stage.order(0.0), Ok(()));
    stage.run(300);
    assert!((stage.turned() - 0.25 + 0.75).abs() < 0.02, "{}", stage.turned());
}

#[test]
fn orders_to_turn_are_refused_where_nothing_turns_too_fast_and_without_force() {
    let mut stage = Stage::new("bolting_spanner", None, true);
    for rate in [1.6, -1.6, f64::NAN, f64::INFINITY] {
        assert_eq!(stage.order(rate), Err(Refusal::OutOfRange), "{rate}");
    }
    stage.run(50);
    assert!(stage.turned().abs() < 1e-6);
    let refused = Stage::new("bolting_spanner", None, false).order(1.0);
    assert_eq!(refused, Err(Refusal::WrongState(State::Disabled)));
    assert_eq!(Stage::new("virtual_wall", None, true).order(0.1), Err(Refusal::NotApplicable));
}

#[test]
fn buttons_turn_the_tool_either_way() {
    let mut stage = Stage::new("bolting_spanner", None, true);
    stage.hold(2);
    stage.run(400);
    stage.hold(0);
    stage.run(200);
    assert!((stage.turned() - 0.6).abs() < 0.02, "{}", stage.turned());
    stage.hold(4);
    stage.run(600);
    stage.hold(0);
    stage.run(200);
    assert!((stage.turned() + 0.3).abs() < 0.03, "{}", stage.turned());
}

/// A nut as heavy as an anvil hardly moves while it is pulled.
#[test]
fn a_spanner_is_felt_as_torque_over_lever_one_way_and_slips_the_other() {
    for (way, held) in [(2e-3, true), (-2e-3, false)] {
        let mut stage = Stage::new("bolting_spanner", Some(1000.0), true);
        stage.hold(1);
        stage.run(50);
        let force = |stage: &Stage| stage.newest.force.force;
        assert!(force(&stage).norm() < 0.05, "it is put on without a force: {}", force(&stage));
        // 4 mm in the scene, across the lever of 80 mm: with the clock for the positive way.
        stage.drag(Vec3::x() * way);
        stage.run(20);
        let felt = stage.torque.felt_nm(&stage.newest);
        if held {
            // 1000 N/m, half of it in the hand.
            assert!((force(&stage).x + 2.0).abs() < 0.3 && force(&stage).yz().norm() < 0.3, "{}", force(&stage));
            assert!((felt - 0.08 * 2.0 * force(&stage).x.abs()).abs() < 0.02 * felt, "{felt} {}", force(&stage));
        } else {
            assert!(force(&stage).norm() < 0.2 && felt < 0.02, "{} {felt}", force(&stage));
        }
        // Taken off, the hand holds the nut where it is.
        stage.hold(0);
        stage.run(50);
        assert!(force(&stage).norm() < 0.2, "{}", force(&stage));
    }
}
