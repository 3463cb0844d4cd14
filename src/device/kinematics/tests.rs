//! Claims about every mechanism, over its workspace.

use super::*;
use crate::math::Random;

const WOODY: Arm = Arm { length_m: [0.080, 0.205, 0.245] };
const VINTAGE: Arm = Arm { length_m: [0.0, 0.138, 0.112] };
/// Heavy enough for every term to show, none like another.
const LINKS: Links = Links::new([(0.17, 0.03), (0.11, -0.02), (0.23, 0.09), (0.13, 0.07)]);

/// A point in the box between `low` and `high`.
fn point(random: &mut Random, low: [f64; 3], high: [f64; 3]) -> Vec3 {
    Vec3::from_fn(|i, _| low[i] + (high[i] - low[i]) * random.uniform())
}

/// Forward undoes inverse; the Jacobian is the derivative; power is the same on both sides. Gives how many points counted.
fn agree<const N: usize>(kinematics: &impl Kinematics<N>, low: [f64; 3], high: [f64; 3]) -> usize {
    let mut random = Random::new(17);
    let mut counted = 0;
    for _ in 0..2000 {
        let position = point(&mut random, low, high);
        let Some(joints) = kinematics.inverse(&position) else { continue };
        let back = kinematics.forward(&joints).expect("what the inverse gives can be taken forward");
        assert!((back - position).norm() < 1e-9, "{position} came back as {back}");
        let jacobian = kinematics.jacobian(&joints).expect("a derivative in the workspace");
        if dexterity(&jacobian) < 0.02 {
            continue;
        }
        counted += 1;
        let numerical = numerical(kinematics, &joints).expect("neighbours in the workspace");
        let error = (jacobian - numerical).norm() / jacobian.norm();
        assert!(error < 1e-6, "Jacobian off by {error:e} at {position}");
        // Power: the torques of a force on a joint velocity are that force on the handle's velocity.
        let force = point(&mut random, [-8.0; 3], [8.0; 3]);
        let rate = Joints::<N>::from_fn(|_, _| 2.0 * random.uniform() - 1.0);
        let torque = kinematics.statics(&joints, &force).expect("not singular");
        let step = 1e-6;
        let ahead = kinematics.forward(&(joints + rate * step)).expect("in reach");
        let behind = kinematics.forward(&(joints - rate * step)).expect("in reach");
        let power = force.dot(&((ahead - behind) / (2.0 * step)));
        assert!((torque.dot(&rate) - power).abs() < 1e-6 * force.norm() * jacobian.norm() + 1e-9);
        // And the other way: those torques give that force back, as far as the mechanism has directions.
        let felt = force_of_torques(&jacobian, &torque).expect("not singular");
        assert!((jacobian.transpose() * (felt - force)).norm() < 1e-9);
    }
    counted
}

/// `∂x/∂q` by fourth-order central differences.
fn numerical<const N: usize>(kinematics: &impl Kinematics<N>, joints: &Joints<N>) -> Option<Jacobian<N>> {
    let step = 1e-4;
    let mut jacobian = Jacobian::<N>::zeros();
    for joint in 0..N {
        let at = |factor: f64| {
            let mut moved = *joints;
            moved[joint] += factor * step;
            kinematics.forward(&moved)
        };
        let near = at(1.0)? - at(-1.0)?;
        let far = at(2.0)? - at(-2.0)?;
        jacobian.set_column(joint, &((near * 8.0 - far) / (12.0 * step)));
    }
    Some(jacobian)
}

#[test]
fn the_falcon_agrees_with_itself_over_its_workspace() {
    assert!(agree(&FalconLegs, [-0.04, -0.04, 0.085], [0.04, 0.04, 0.155]) > 1500);
}

#[test]
fn the_arms_agree_with_themselves_over_their_workspace() {
    assert!(agree(&WOODY, [0.10, -0.12, -0.02], [0.32, 0.12, 0.20]) > 1500);
    assert!(agree(&VINTAGE, [0.05, -0.08, -0.16], [0.20, 0.08, 0.02]) > 1500);
}

#[test]
fn the_polhem_linkage_agrees_with_itself_over_its_workspace() {
    assert!(agree(&PolhemLinkage, [0.12, -0.1, -0.05], [0.26, 0.1, 0.12]) > 1000);
}

#[test]
fn the_pantograph_agrees_with_itself_over_its_workspace() {
    assert!(agree(&Pantograph::HAPLY, [-0.04, 0.04, 0.0], [0.06, 0.105, 0.0]) > 1500);
}

#[test]
fn the_sector_agrees_with_itself_over_its_workspace() {
    assert!(agree(&Sector::HAPKIT, [-0.04, 0.0, 0.0], [0.04, 0.0, 0.0]) > 1500);
}

/// The torques that carry the links are the slope of their potential energy, by fourth-order central differences; and the force at
/// the handle that stands for them does the same work. Gives how many points counted.
fn carries<const N: usize>(kinematics: &impl Kinematics<N>, low: [f64; 3], high: [f64; 3]) -> usize {
    let mut random = Random::new(23);
    let (mut counted, mut largest) = (0, 0.0_f64);
    for _ in 0..500 {
        let Some(joints) = kinematics.inverse(&point(&mut random, low, high)) else { continue };
        let jacobian = kinematics.jacobian(&joints).expect("a derivative in the workspace");
        if dexterity(&jacobian) < 0.02 {
            continue;
        }
        counted += 1;
        let weight = kinematics.weight(&joints, &LINKS).expect("a weight in the workspace");
        for joint in 0..N {
            let at = |factor: f64| {
                let mut moved = joints;
                moved[joint] += factor * 1e-3;
                kinematics.potential(&moved, &LINKS).expect("neighbours in the workspace")
            };
            let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * 1e-3);
            assert!((weight[joint] - slope).abs() < 1e-8, "{joints}: {} N·m is not {slope}", weight[joint]);
        }
        largest = largest.max(weight.amax());
        let force = force_of_torques(&jacobian, &weight).expect("not singular");
        assert!((jacobian.transpose() * force - weight).norm() < 1e-9);
    }
    assert!(largest > 0.01, "{largest} N·m at most: nothing was weighed");
    counted
}

#[test]
fn the_weight_of_every_mechanism_is_the_slope_of_its_potential_energy() {
    assert!(carries(&FalconLegs, [-0.04, -0.04, 0.085], [0.04, 0.04, 0.155]) > 400);
    assert!(carries(&WOODY, [0.10, -0.12, -0.02], [0.32, 0.12, 0.20]) > 400);
    assert!(carries(&VINTAGE, [0.05, -0.08, -0.16], [0.20, 0.08, 0.02]) > 400);
    assert!(carries(&PolhemLinkage, [0.12, -0.1, -0.05], [0.26, 0.1, 0.12]) > 250);
    // These have none: flat on a table, balanced, or carried by firmware.
    let joints = Joints::<2>::new(2.0, 1.0);
    assert_eq!(Pantograph::HAPLY.weight(&joints, &LINKS), Some(Joints::zeros()));
    assert_eq!(Sector::HAPKIT.weight(&Joints::<1>::new(0.1), &LINKS), Some(Joints::zeros()));
}

#[test]
fn a_mass_at_the_handle_weighs_straight_down_with_its_own_weight() {
    // All of it in the plate of a Falcon: y is up.
    let plate = Links::new([(0.1, 0.0)]);
    let joints = FalconLegs.inverse(&Vec3::new(0.01, -0.02, 0.12)).expect("in reach");
    let jacobian = FalconLegs.jacobian(&joints).expect("not singular");
    let torques = FalconLegs.weight(&joints, &plate).expect("not singular");
    let force = force_of_torques(&jacobian, &torques).expect("not singular");
    assert!((force - Vec3::y() * 0.1 * GRAVITY).norm() < 1e-9, "{force}");
    // All of it at the end of an arm's fore link, and of a Polhem's stylus: z is up.
    let end = Links::new([(0.0, 0.0), (0.1, 0.245)]);
    let joints = Joints::<3>::new(0.3, 0.6, 1.1);
    let jacobian = WOODY.jacobian(&joints).expect("not singular");
    let force = force_of_torques(&jacobian, &WOODY.weight(&joints, &end).expect("in reach")).expect("not singular");
    assert!((force - Vec3::z() * 0.1 * GRAVITY).norm() < 1e-9, "{force}");
    let end = Links::new([(0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.1, 0.1308)]);
    let joints = PolhemLinkage.inverse(&Vec3::new(0.2, 0.02, 0.03)).expect("in reach");
    let jacobian = PolhemLinkage.jacobian(&joints).expect("not singular");
    let torques = PolhemLinkage.weight(&joints, &end).expect("in reach");
    let force = force_of_torques(&jacobian, &torques).expect("not singular");
    assert!((force - Vec3::z() * 0.1 * GRAVITY).norm() < 1e-9, "{force}");
}

#[test]
fn the_published_poses_of_the_pantograph_are_met_and_a_newton_is_a_newton() {
    let degrees = |a: f64, b: f64| Joints::<2>::new(a.to_radians(), b.to_radians());
    let golden =
        [((180.0, 0.0), (0.010, 0.036_056)), ((135.0, 45.0), (0.010, 0.088_674)), ((120.0, 60.0), (0.010, 0.103_923))];
    for ((a, b), (x, y)) in golden {
        let found = Pantograph::HAPLY.forward(&degrees(a, b)).expect("in reach");
        assert!((found - Vec3::new(x, y, 0.0)).norm() < 1e-6, "{found}");
    }
    // Virtual work by hand: both arms turned alike by dq move the handle along y by dy; f dy = 2 τ dq. The maker's own
    // library gives twice this torque.
    let (joints, step) = (degrees(135.0, 45.0), 1e-6);
    let y = |turn: f64| Pantograph::HAPLY.forward(&(joints + Joints::<2>::new(-turn, turn))).expect("in reach").y;
    let slope = (y(step) - y(-step)) / (2.0 * step);
    let torque = Pantograph::HAPLY.statics(&joints, &Vec3::y()).expect("not singular");
    assert!((torque[1] - torque[0] - slope).abs() < 1e-8, "{torque} {slope}");
}

#[test]
fn the_published_poses_of_the_polhem_are_met() {
    // Motor turns times capstan over body; the second joint runs against its motor.
    let at = |enc: [f64; 3]| {
        let turn = |counts: f64, capstan: f64, body: f64| std::f64::consts::TAU * counts / 4096.0 * capstan / body;
        Joints::<3>::new(
            turn(8312.0 + enc[0], 0.028_853_4, 0.175),
            -turn(-10366.0 + enc[1], 0.013_698_1, 0.100),
            turn(19764.0 + enc[2], 0.013_728_1, 0.100),
        )
    };
    let origin = Vec3::new(0.2045, 0.0, 0.0325);
    for (enc, expected) in [([0.0; 3], [-222.641, 30.859, 37.052]), ([0.0, 100.0, 0.0], [-225.125, 35.084, 42.614])] {
        let found = (PolhemLinkage.forward(&at(enc)).expect("in reach") - origin) * 1000.0;
        assert!((found - Vec3::from(expected)).norm() < 1.5e-3, "{found}");
    }
    let rest = at([0.0; 3]);
    for (joint, degrees) in [120.450, 124.800, 238.467].into_iter().enumerate() {
        assert!((rest[joint].to_degrees() - degrees).abs() < 6e-4, "{rest}");
    }
    let fore = PolhemLinkage.fore_angle(&rest).expect("in reach");
    assert!((fore.to_degrees() + 30.272).abs() < 6e-4, "{}", fore.to_degrees());
}

#[test]
fn the_published_poses_of_woodenhaptics_are_met() {
    let origin = Vec3::new(0.220, 0.0, 0.080);
    // Fore link at 90°; the upper link leans by the encoder's share.
    for (raw, expected) in [(0.0, [25.0, 0.0, 205.0]), (-2000.0, [127.5, 0.0, 177.535]), (-6000.0, [230.0, 0.0, 0.0])] {
        let body = |counts: f64| -std::f64::consts::TAU * counts / 2000.0 * 0.010 / 0.120;
        let joints = Joints::<3>::new(0.0, body(raw), body(-6000.0));
        let found = (WOODY.forward(&joints).expect("in reach") - origin) * 1000.0;
        assert!((found - Vec3::from(expected)).norm() < 1e-3, "{found}");
    }
}

#[test]
fn the_guard_takes_force_away_towards_a_singular_place() {
    let guard = Guard { none_below: 0.1, whole_above: 0.3 };
    assert_eq!((guard.share(0.05), guard.share(0.5), guard.share(f64::NAN)), (0.0, 1.0, 0.0));
    assert!((guard.share(0.2) - 0.5).abs() < 1e-12);
    // A stretched arm has lost a direction.
    assert!(WOODY.dexterity(&Joints::<3>::new(0.0, 1.0, std::f64::consts::PI - 1.0)) < 1e-6);
    assert!(WOODY.dexterity(&Joints::<3>::new(0.0, 0.5, 1.2)) > 0.3);
}
