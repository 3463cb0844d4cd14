//! Whole scenes: what is read and built from the shipped ones, and what is said about each kind of mistake.

use super::*;
use crate::device::driver::catalogue;
use crate::device::operator::{Action, Skill, Until};
use crate::device::{DeviceSpec, PerPart};
use crate::files::{LoadError, Report, Severity};
use crate::geometry::Surface;
use crate::haptic::Coupling;
use crate::math::{Mat3, Pose, Rot, Vec3, displacement};
use crate::sim::{BodyModel, Motion};

fn device(name: &str) -> DeviceSpec {
    open_device(name).expect("it is valid").value
}

/// A shipped scene with the first of each `from` replaced by its `to`.
fn changed(name: &str, changes: &[(&str, &str)]) -> String {
    let mut text = shipped(name).expect("it is shipped").to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

fn scene(name: &str, changes: &[(&str, &str)]) -> SceneSpec {
    parse(changed(name, changes).as_bytes(), "x").unwrap_or_else(|report| unreachable!("{report}")).value
}

fn lines(report: &Report) -> Vec<String> {
    report.findings().iter().map(|f| format!("{}:{} {} | {}", f.line, f.column, f.message, f.help)).collect()
}

/// What is said when the scene is read: `line:column message | help` each.
fn said(name: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let text = changed(name, changes);
    lines(&parse(text.as_bytes(), "x").map_or_else(|e| e, |l| l.warnings))
}

/// The scene on a device, or everything that is said about it.
fn built(name: &str, changes: &[(&str, &str)], on: &DeviceSpec) -> Result<Built, Vec<String>> {
    build(&scene(name, changes), on).map_err(|report| lines(&report))
}

/// Line and column, from 1, of the first `needle` in a shipped scene.
fn place(name: &str, needle: &str) -> String {
    let text = shipped(name).expect("it is shipped");
    let at = text.find(needle).expect("it is there");
    let line = text[..at].matches('\n').count() + 1;
    let column = text[..at].chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("{line}:{column}")
}

#[test]
fn every_shipped_scene_builds_on_its_own_device_without_a_warning() {
    assert_eq!(shipped_names().count(), 17);
    for name in shipped_names() {
        let loaded = open(name).unwrap_or_else(|error| unreachable!("{error}"));
        assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
        let spec = loaded.value;
        let device = device(spec.device.as_deref().expect("a shipped scene names its device"));
        let built = build(&spec, &device).unwrap_or_else(|report| unreachable!("{report}"));
        assert!(built.warnings.is_empty(), "{}", built.warnings);
        assert!(built.script.phases().len() >= 2 && !built.goals.is_empty());
        let start = built.mapping.pose_to_scene(&built.handle_start);
        assert!(displacement(&start, &built.haptic.tool.start).norm() < 1e-12);
        assert_eq!(spec.source.text(), shipped(name).expect("it is shipped"));
    }
    for name in shipped_device_names() {
        let device = open_device(name).expect("it is valid");
        assert!(device.warnings.is_empty());
        let driver = device.value.driver.as_str();
        assert!(driver == "simulated" || catalogue::driver(driver, None).is_some(), "{name}: none is called {driver}");
    }
}

#[test]
fn the_wall_is_what_its_file_says() {
    let built = built("virtual_wall", &[], &device("simulated-3dof")).expect("they go together");
    assert_eq!((built.sim.rate_hz, built.sim.gravity), (60.0, Vec3::new(0.0, 0.0, -9.81)));
    assert_eq!((built.skill, built.seed, built.timeout_s), (Skill::Trained, 1, 45.0));
    // Two steps of 1/60 s at 0.5 m/s.
    assert!((built.sim.margin_m - 1.0 / 60.0).abs() < 1e-15);
    let wall = &built.sim.bodies[0];
    assert!(matches!(wall.motion, Motion::Fixed) && wall.name == "wall");
    // The surface lies at x = −20 mm and faces +x.
    let ahead = wall.start.inverse_transform_point(&Vec3::new(0.03, 0.1, 0.2).into());
    let distance = wall.shape.signed_distance(&ahead.coords);
    assert!((distance.distance - 0.05).abs() < 1e-15);
    assert!((wall.start.rotation * distance.normal - Vec3::x()).norm() < 1e-15);
    assert_eq!(built.haptic.limits.force, PerPart { linear: 7.0, angular: 0.0 });
    assert_eq!(built.haptic.limits.speed.linear, 0.5);
    assert!(built.haptic.policy.passivity && built.haptic.policy.ramp_s == 0.5);
    let Coupling::Spring(spring) = built.haptic.coupling else { unreachable!("{:?}", built.haptic.coupling) };
    assert_eq!((spring.stiffness[0], spring.damping[2]), (2000.0, 5.0));
    // A sphere of 50 g and 5 mm: 2/5 m r².
    let inertia = built.haptic.tool.inertia;
    assert_eq!(inertia.mass_kg(), 0.05);
    assert!((inertia.inertia_body() - Mat3::identity() * (0.4 * 0.05 * 25e-6)).norm() < 1e-18);
    let phases = built.script.phases();
    assert_eq!(phases[1].action, Action::Press { force: Vec3::new(-3.0, 0.0, 0.0) });
    assert_eq!(phases[1].until, Until::ForceAbove { force_n: 2.2, for_s: 1.5 });
    assert_eq!((phases[3].name.as_str(), phases[3].timeout_s, phases[3].buttons), ("leave", 10.0, 0));
    let whens: Vec<When> = built.goals.iter().map(|goal| goal.when).collect();
    assert_eq!(whens, [When::Once, When::Once, When::Once, When::End, When::Always]);
}

#[test]
fn by_statics_the_box_slides_when_pushed_low_and_tips_when_pushed_high() {
    let built = built("box_on_table", &[], &device("simulated-3dof")).expect("they go together");
    let (table, body) = (&built.sim.bodies[0], &built.sim.bodies[1]);
    let Motion::Rigid(inertia) = body.motion else { unreachable!("the box moves") };
    let weight = inertia.mass_kg() * 9.81;
    let friction = |body: &BodyModel| built.sim.materials[body.material].friction;
    let slides_at = (friction(table) * friction(body)).sqrt() * weight;
    let half_width = body.shape.aabb().max.x;
    let tips_at = |height: f64| weight * half_width / height;
    let height_of = |name: &str| {
        let phase = built.script.phases().iter().find(|phase| phase.name.as_str() == name).expect("it is there");
        let Action::MoveTo { target, .. } = phase.action else { unreachable!("it moves the tool") };
        target.translation.z
    };
    // With a fifth to spare, for what the tool's own friction and the hand's errors add.
    assert!(slides_at * 1.2 < tips_at(height_of("slide it")));
    assert!(tips_at(height_of("tip it")) * 1.2 < slides_at);
    // It rests on the table: its centre is half its height up.
    assert!((body.start.translation.z - body.shape.aabb().max.z).abs() < 1e-15);
    // m (y² + z²)/12 about x.
    let expected = 0.3 * (0.06_f64.powi(2) + 0.11_f64.powi(2)) / 12.0;
    assert!((inertia.inertia_body()[(0, 0)] - expected).abs() < 1e-15);
}

#[test]
fn several_mistakes_are_reported_at_once_each_at_its_place_with_help() {
    let (name, mut expected) = ("box_on_table", Vec::new());
    let changes = [
        ("title       =", "titel       ="),
        ("\"250 Hz\"", "\"250 N\""),
        ("kind = \"half-space\"", "kind = \"halfspace\""),
        ("mass     = \"0.3 kg\"", "mass     = \"0 kg\""),
        ("material = \"polished\"", "material = \"polish\""),
        ("damping           = \"5 N*s/m\"", "dampng            = \"5 N*s/m\""),
        ("skill = \"trained\"", "skill = \"trainde\""),
    ];
    let at = |needle: &str| place(name, needle);
    expected.push(format!("{} `title` is missing | add `title`, a text", at("format")));
    expected.push(format!("{} unknown key `titel` | did you mean `title`?", at("title ")));
    expected.push(format!("{} `simulation` needs a frequency, not a force | use a unit such as Hz", at("\"250 Hz\"")));
    expected.push(format!(
        "{} `kind` cannot be `halfspace` | did you mean `half-space`? `kind` is one of \"box\", \"sphere\", \
         \"cylinder\", \"capsule\", \"half-space\", \"bore\", \"bolt\", \"nut\", \"peg\", \"bore-block\", \"mesh\", \
         \"snap-plug\", \"snap-socket\", \"tissue-block\", \"tissue-organ\", \"tissue-mesh\", \"soft-box\", \
         \"soft-cylinder\", \"soft-sphere\", \"soft-shell\", \"soft-tube\", \"soft-torus\", \"suction-cup\", \"tet-mesh\", \"stuffed\"",
        at("\"half-space\"")
    ));
    expected.push(format!(
        "{} `mass` must be at least 1e-6 kg | write a value that is at least 1e-6 kg; is the unit right?",
        at("\"0.3 kg\"")
    ));
    expected.push(format!("{} no material is called `polish` | did you mean `polished`?", at("\"polished\"")));
    expected.push(format!(
        "{} `damping` is missing in [coupling] | add `damping`, a damping such as \"1.5 N*s/m\"",
        at("[coupling]")
    ));
    expected.push(format!("{} unknown key `dampng` in [coupling] | did you mean `damping`?", at("damping  ")));
    expected.push(format!(
        "{} `skill` cannot be `trainde` | did you mean `trained`? `skill` is one of \"novice\", \"trained\", \"expert\"",
        at("\"trained\"")
    ));
    assert_eq!(said(name, &changes), expected);
}

/// Each change of the wall, from and to, must be answered with the message.
fn check_mistakes(cases: &[(&str, &str, &str)]) {
    for (from, to, message) in cases {
        let said = said("virtual_wall", &[(from, to)]);
        assert!(said.iter().any(|s| s.contains(&format!(" {message} | "))), "{to}: {said:#?}");
    }
}

#[test]
fn each_kind_of_mistake_in_bodies_tool_and_settings_is_told_apart() {
    check_mistakes(&[
        ("\"60 Hz\"", "\"10 Hz\"", "`simulation` must be at least 30 Hz"),
        ("[0, 0, \"-9.81 m/s^2\"]", "[0, 0]", "`gravity` needs 3 values, not 2"),
        ("friction    = 0.3", "friction    = -1", "`friction` must be zero or more"),
        ("friction    = 0.3", "friction    = \"1 N\"", "`friction` needs a plain number, not a force"),
        ("restitution = 0 ", "restitution = 2 ", "`restitution` must be at most 1"),
        ("[body.wall]", "[body.\"the wall\"]", "this cannot be the name of a body"),
        ("fixed    = true", "mass = 1", "a half-space has no end and cannot move"),
        ("fixed    = true", "fixed    = true\nmass = 1", "`mass` has no effect: the body is fixed"),
        ("{ kind = \"half-space\" }", "{ kind = \"box\" }", "`size` is missing in [body.wall.shape]"),
        ("{ kind = \"half-space\" }", "{ kind = \"box\", size = [1, 1, -1] }", "`size` must be at least 1e-6 m"),
        (
            "{ kind = \"half-space\" }",
            "{ kind = \"bore\", size = [1, 1, 1], radius = 0.6, depth = 0.5 }",
            "the hole with its chamfer is as wide as the block: widen the block or narrow the hole",
        ),
        (
            "{ kind = \"sphere\", diameter",
            "{ kind = \"sphere\", radius = 1, diameter",
            "both `radius` and `diameter` are given",
        ),
        ("{ kind = \"sphere\", diameter = \"10 mm\" }", "{ kind = \"sphere\" }", "`radius` is missing in [tool.shape]"),
        (
            "{ kind = \"sphere\", diameter = \"10 mm\" }",
            "{ kind = \"half-space\" }",
            "a half-space has no end and cannot be held",
        ),
        ("kind      = \"spring\"", "kind      = \"sprung\"", "`kind` cannot be `sprung`"),
        (
            "kind      = \"spring\"",
            "kind      = \"direct\"",
            "`angular_damping` has no effect: without a proxy there is no damper to it",
        ),
        (
            "kind      = \"spring\"",
            "bandwidth = 30",
            "`bandwidth` has no effect: only the transparent coupling follows the force of the hand",
        ),
        ("motion = 1.0", "motion = 0", "`motion` must be at least 0.0001"),
        ("max_force = \"7 N\"", "max_force = \"7 kPa\"", "`max_force` needs a force, not a pressure"),
        ("ramp_up   = \"500 ms\"", "ramp_up   = \"1 ms\"", "`ramp_up` must be at least 0.1 s"),
        ("passivity = \"bound\"", "passivity = \"of\"", "`passivity` cannot be `of`"),
        ("thread = false", "thread = 0", "`thread` needs true or false, not a number"),
    ]);
}

#[test]
fn each_kind_of_mistake_in_phases_and_goals_is_told_apart() {
    check_mistakes(&[
        (
            "name    = \"approach\"",
            "name    = \"approach from the operator's side\"",
            "`name` needs a short name, at most 24 letters",
        ),
        ("move_to =", "moveto =", "what the hand does in this phase is missing"),
        ("press   =", "rest = 1\npress   =", "what the hand does in this phase is given twice: `press`, `rest`"),
        ("press   = { force = [\"-3 N\", 0, 0] }", "rest = \"1 s\"", "a rest ends by itself"),
        ("[\"-3 N\", 0, 0]", "[0, 0, 0]", "`force` needs a force that is not zero"),
        ("until   = { reached = \"3 mm\" }", "", "`until` is missing in [operator.phase.1]"),
        ("until   = { reached = \"3 mm\" }", "until = {}", "what ends this phase is missing"),
        (
            "{ force_above = \"2.2 N\", for = \"1.5 s\" }",
            "{ reached = \"1 mm\" }",
            "there is nothing to reach in this phase",
        ),
        ("{ reached = \"3 mm\" }", "{ reached = \"3 mm\", for = 1 }", "unknown key `for` in [operator.phase.1.until]"),
        ("axis = [1, 0, 0]", "axis = [0, 0, 0]", "`axis` needs three numbers that are not all zero, such as [0, 0, 1]"),
        ("tolerance = \"5 mm\"", "tolerance = 0", "`tolerance` must be more than zero"),
        ("when    = \"end\"", "when    = \"ends\"", "`when` cannot be `ends`"),
        ("penetration_below =", "penetration_above =", "what this goal is about is missing"),
        ("[tool]", "[tools]", "`tool` is missing"),
        ("hapticd-scene/1", "hapticd-scene/2", "this is not a hapticd-scene/1 file"),
    ]);
}

#[test]
fn an_unknown_body_is_answered_with_those_there_are() {
    let phase = "until   = { body_tilted = { body = \"box\"";
    let at = place("box_on_table", phase);
    let line = at.split_once(':').expect("line and column").0;
    let column = phase.chars().count() - 4;
    let far = said("box_on_table", &[(phase, "until   = { body_tilted = { body = \"cupboard\"")]);
    assert_eq!(far, [format!("{line}:{column} no body is called `cupboard` | known here: `table`, `box`")]);
    let near = said("box_on_table", &[("body_upright = { body = \"box\"", "body_upright = { body = \"boxx\"")]);
    assert!(near.len() == 1 && near[0].ends_with("no body is called `boxx` | did you mean `box`?"), "{near:?}");
}

#[test]
fn limits_of_a_scene_tighten_those_of_the_device_and_never_widen_them() {
    let device = device("simulated-6dof");
    let own = device.limits;
    for factor in [0.1, 0.999, 1.0, 1.001, 1.6] {
        let safety = format!(
            "max_force = {}\nmax_torque = {}\nmax_speed = {}\nmax_angular_speed = {}\nmax_power = {}\n",
            own.force.linear * factor,
            own.force.angular * factor,
            own.speed.linear * factor,
            own.speed.angular * factor,
            own.power_w * factor
        );
        // No goal or phase that asks for more force than is left.
        let changes = [
            ("max_force  = \"9 N\"\nmax_torque = \"0.5 N*m\"\nmax_speed  = \"0.5 m/s\"\n", safety.as_str()),
            ("{ force_above = \"1.2 N\"", "{ force_above = \"0.1 N\""),
        ];
        let built = built("peg_primitive", &changes, &device).expect("they go together");
        let got = built.haptic.limits;
        let pairs = [
            (got.force.linear, own.force.linear),
            (got.force.angular, own.force.angular),
            (got.speed.linear, own.speed.linear),
            (got.speed.angular, own.speed.angular),
            (got.power_w, own.power_w),
        ];
        for (got, own) in pairs {
            assert_eq!(got, own * factor.min(1.0));
        }
        let kept = [
            (got.slew, own.slew),
            (got.acceleration, own.acceleration),
            (got.stiffness, own.stiffness),
            (got.damping, own.damping),
        ];
        assert!(kept.iter().all(|(got, own)| got == own) && got.reserve_j == own.reserve_j);
        let wider = lines(&built.warnings).iter().filter(|s| s.contains("own limit of")).count();
        assert_eq!(wider, if factor > 1.0 { 5 } else { 0 });
    }
}

#[test]
fn what_starts_inside_something_else_is_named_with_its_depth() {
    let three = device("simulated-3dof");
    let low = ("xyz = [\"-25 mm\", 0, \"55 mm\"]", "xyz = [\"-25 mm\", 0, \"53 mm\"]");
    let at = place("box_on_table", "{ xyz = [\"-25 mm\"");
    assert_eq!(
        built("box_on_table", &[low], &three).expect_err("they overlap"),
        [format!("{at} `box` and `table` start 2.000 mm inside each other | move one of them by 2.000 mm or more")]
    );
    // The tool's centre 1.5 mm before the wall, its radius 5 mm.
    let deep = ("xyz = [\"30 mm\", 0, 0] }", "xyz = [\"-18.5 mm\", 0, 0] }");
    let at = place("virtual_wall", "{ xyz = [\"30 mm\", 0, 0]");
    assert_eq!(
        built("virtual_wall", &[deep], &three).expect_err("they overlap"),
        [format!("{at} the tool starts 3.500 mm inside `wall` | start it 3.500 mm or more away")]
    );
    // Just in the hole is not inside the block; a quarter of a millimetre and more to the side it is.
    let six = device("simulated-6dof");
    let inside = |x: &str| {
        ("pose     = { xyz = [0, 0, \"70 mm\"] }".to_owned(), format!("pose = {{ xyz = [\"{x}\", 0, \"20 mm\"] }}"))
    };
    let (from, to) = inside("0.249 mm");
    assert!(built("peg_primitive", &[(&from, &to)], &six).is_ok());
    let (from, to) = inside("0.35 mm");
    let said = built("peg_primitive", &[(&from, &to)], &six).expect_err("they overlap");
    assert!(said[0].contains("the tool starts 0.100 mm inside `block`"), "{said:?}");
}

#[test]
fn fixed_bodies_may_overlap_and_moving_ones_may_rest_on_each_other() {
    let more = "[body.shelf]\nfixed = true\nshape = { kind = \"box\", size = [0.2, 0.2, 0.02] }\nmaterial = \"wood\"\n\
                pose = { xyz = [0.2, 0, 0] }\n[body.ball]\nshape = { kind = \"sphere\", radius = 0.01 }\n\
                density = \"1 g/cm^3\"\nmaterial = \"wood\"\npose = { xyz = [0.2, 0, 0.02] }\n[tool]";
    let built = built("box_on_table", &[("[tool]", more)], &device("simulated-3dof")).expect("they go together");
    let Motion::Rigid(inertia) = built.sim.bodies[3].motion else { unreachable!("the ball moves") };
    let mass = 4.0 / 3.0 * std::f64::consts::PI * 1e-6 * 1000.0;
    assert!((inertia.mass_kg() - mass).abs() < 1e-12);
}

#[test]
fn stiffness_is_compared_as_the_hand_feels_it() {
    let three = device("simulated-3dof");
    let warned = |changes: &[(&str, &str)]| {
        let built = built("virtual_wall", changes, &three).expect("it can be used");
        assert!(built.warnings.findings().iter().all(|f| f.severity == Severity::Warning));
        lines(&built.warnings)
    };
    // g s² K = 0.5 · 2² · 2000 N/m; the damping of 10 N·s/m is below its limit.
    let said = warned(&[("motion = 1.0", "motion = 2.0"), ("force  = 1.0", "force  = 0.5")]);
    let at = place("virtual_wall", "\"2000 N/m\"");
    let stiff = format!("{at} `stiffness` is 4000 N/m in the hand; the device is stable up to 3000 N/m | ");
    assert!(said.len() == 1 && said[0].starts_with(&stiff), "{said:?}");
    assert!(warned(&[("\"2000 N/m\"", "\"3000 N/m\"")]).is_empty());
    // A quarter of it, but the places are twice as far from the middle of the workspace.
    let said = warned(&[("motion = 1.0", "motion = 0.5"), ("\"2000 N/m\"", "\"12 kN/m\"")]);
    assert!(said.is_empty(), "{said:?}");
    let said = warned(&[("\"5 N*s/m\"", "\"25 N*s/m\"")]);
    assert!(said.len() == 1 && said[0].contains("`damping` is 25 N·s/m in the hand"), "{said:?}");
}

#[test]
fn a_scene_that_needs_torque_is_refused_on_a_device_without_rotation() {
    let said = built("peg_primitive", &[], &device("simulated-3dof")).expect_err("phases turn and a goal needs torque");
    let turns = said.iter().filter(|s| s.contains("turns the handle, but the device senses no rotation")).count();
    let torques = said.iter().filter(|s| s.contains("needs a torque, but the device gives none")).count();
    assert_eq!((turns, torques), (3, 3), "{said:#?}");
    let six = device("simulated-6dof");
    let bare = ("angular_stiffness = \"3 N*m/rad\"\n", "");
    let said = built("peg_primitive", &[bare], &six).expect_err("no angular spring");
    assert!(said[0].contains("`angular_stiffness` is missing in [coupling]"), "{said:?}");
}

#[test]
fn what_a_device_cannot_do_is_said_before_the_run() {
    let three = device("simulated-3dof");
    let wall = |from: &str, to: &str| built("virtual_wall", &[(from, to)], &three);
    for (from, to, message) in [
        ("force_above = \"2 N\"", "force_above = \"7 N\"", "7 N can never be felt: the limit is 7 N"),
        ("force_above = \"2.2 N\"", "force_above = \"9 N\"", "9 N can never be felt: the limit is 7 N"),
        ("# clutch_button = 1", "clutch_button = 5", "the device has no such button"),
        ("name    = \"press\"", "name    = \"press\"\nbutton = 5", "the device has no such button"),
    ] {
        let said = wall(from, to).expect_err("it cannot be");
        assert!(said.len() == 1 && said[0].contains(&format!(" {message} | ")), "{said:?}");
    }
    for (from, to, message) in [
        ("[\"-3 N\", 0, 0]", "[\"-7.5 N\", 0, 0]", "the hand pushes with 7.5 N, but at most 7 N may push back"),
        (
            "xyz = [\"30 mm\", 0, 0]",
            "xyz = [\"130 mm\", 0, 0]",
            "the tool starts 130.000 mm from the middle of the workspace, which has a radius of 100.000 mm",
        ),
        (
            "xyz = [\"-15 mm\", \"25 mm\", 0], speed",
            "xyz = [\"-15 mm\", \"112 mm\", 0], speed",
            "this target lies 113.000 mm from the middle of the workspace, which has a radius of 100.000 mm",
        ),
        (
            "xyz = [\"-8 mm\", 0, 0], speed",
            "xyz = [\"-8 mm\", 0, 0], rpy = [0, 1, 0], speed",
            "the orientation of this target has no effect: the device senses no rotation",
        ),
        (
            "# margin = \"17 mm\"",
            "margin = \"5 mm\"",
            "`margin` is 5.000 mm, but the tool can move 16.667 mm before contacts are looked for again",
        ),
        (
            "passivity = \"bound\"",
            "passivity = \"off\"",
            "`passivity` is off: nothing bounds the energy given to the hand",
        ),
    ] {
        let said = lines(&wall(from, to).expect("it can be used").warnings);
        assert!(said.len() == 1 && said[0].contains(&format!(" {message} | ")), "{said:?}");
    }
    let real = DeviceSpec { driver: "falcon".to_owned(), ..three.clone() };
    let off = [("passivity = \"bound\"", "passivity = \"off\"")];
    let said = built("virtual_wall", &off, &real).expect_err("a person holds it");
    assert!(said[0].contains("`passivity` can be off with a simulated device only"), "{said:?}");
    let slow = DeviceSpec { rate_hz: 200.0, ..three };
    let said = built("box_on_table", &[], &slow).expect_err("250 Hz are more than 200 Hz");
    assert!(said[0].contains("the simulation is faster than the haptic loop, which has 200 Hz"), "{said:?}");
}

#[test]
fn bodies_move_about_their_centre_of_mass_and_shapes_stand_where_they_were_put() {
    let block = [
        ("fixed    = true\nshape    = { kind = \"bore\"", "mass = 1\nshape    = { kind = \"bore\""),
        (
            "chamfer = \"1 mm\" }",
            "chamfer = \"1 mm\" }\npose = { xyz = [0.1, 0.2, 0], rpy = [0, \"30 deg\", \"90 deg\"] }",
        ),
    ];
    let built = built("peg_primitive", &block, &device("simulated-6dof")).expect("they go together");
    let body = &built.sim.bodies[0];
    let written = Pose::from_parts(
        Vec3::new(0.1, 0.2, 0.0).into(),
        Rot::from_axis_angle(&Vec3::z_axis(), std::f64::consts::FRAC_PI_2)
            * Rot::from_axis_angle(&Vec3::y_axis(), std::f64::consts::FRAC_PI_6),
    );
    assert!(displacement(&(body.start * body.pose_body_shape), &written).norm() < 1e-14);
    let center = body.shape.mass_properties(1.0).expect("it has an end").center;
    let place = written.rotation * center + written.translation.vector;
    assert!(center.z < -0.02 && (body.start.translation.vector - place).norm() < 1e-15);
    let Motion::Rigid(inertia) = body.motion else { unreachable!("it has a mass") };
    assert!((inertia.mass_kg() - 1.0).abs() < 1e-14);
}

#[test]
fn a_tool_on_a_device_without_rotation_stands_as_written_however_the_base_is_turned() {
    let turned = [
        ("{ kind = \"sphere\", diameter = \"10 mm\" }", "{ kind = \"capsule\", radius = 0.003, length = 0.02 }"),
        ("pose     = { xyz = [\"30 mm\", 0, 0] }", "pose = { xyz = [\"30 mm\", 0, 0], rpy = [0, \"90 deg\", 0] }"),
        ("rpy = [0, 0, 0] }", "rpy = [0, 0, \"90 deg\"] }"),
    ];
    let three = built("virtual_wall", &turned, &device("simulated-3dof")).expect("they go together");
    let six = built("virtual_wall", &turned, &device("simulated-6dof")).expect("they go together");
    let spec = scene("virtual_wall", &turned);
    for built in [&three, &six] {
        assert!(built.warnings.is_empty(), "{}", built.warnings);
        let tool = &built.sim.tools[0];
        assert!(displacement(&(tool.start * tool.pose_tool_shape), &spec.tool.pose).norm() < 1e-14);
        // The tensor seen from the world is that of the capsule along x, whichever frame the tool has.
        let rotation = tool.start.rotation.to_rotation_matrix();
        let world = rotation * tool.inertia.inertia_body() * rotation.transpose();
        assert!((world[(1, 1)] - world[(2, 2)]).abs() < 1e-18 && world[(0, 0)] < 0.5 * world[(1, 1)], "{world}");
    }
    // The handle of the one cannot turn, so its rotation must be none; the other's carries the difference.
    assert!(three.handle_start.rotation.angle() < 1e-15 && three.sim.tools[0].rotation_locked);
    assert!(six.handle_start.rotation.angle() > 1.0 && !six.sim.tools[0].rotation_locked);
    assert!(displacement(&six.sim.tools[0].start, &spec.tool.pose).norm() < 1e-14);
}

#[test]
fn every_action_and_condition_is_read() {
    let phases = "[[operator.phase]]\nname = 'a'\nfollow = { body = 'box', xyz = [0.1, 0, 0] }\n\
        until = { body_at = { body = 'box', xyz = [0, 0.1, 0], tolerance = '1 mm' } }\nbutton = 1\ntimeout = '3 s'\n\
        [[operator.phase]]\nname = 'b'\nsearch = { radius = '4 mm', pitch = '1 mm', force = [0, 0, -1] }\n\
        until = { elapsed = '2 s' }\n[task]";
    let built = built("box_on_table", &[("[task]", phases)], &device("simulated-3dof")).expect("they go together");
    let [.., follow, search] = built.script.phases() else { unreachable!("there are two at least") };
    let Action::Follow { body: 1, offset } = follow.action else { unreachable!("{:?}", follow.action) };
    assert_eq!(offset.translation.vector, Vec3::new(0.1, 0.0, 0.0));
    assert_eq!(follow.until, Until::BodyAt { body: 1, position: Vec3::new(0.0, 0.1, 0.0), tolerance: 1e-3 });
    assert_eq!((follow.buttons, follow.timeout_s), (1, 3.0));
    let force = Vec3::new(0.0, 0.0, -1.0);
    assert_eq!(search.action, Action::Search { radius: 4e-3, pitch: 1e-3, speed: 0.08, force });
    assert_eq!(search.until, Until::Elapsed { seconds: 2.0 });
    let spec =
        scene("peg_primitive", &[("kind              = \"spring\"", "kind = \"transparent\"\nbandwidth = \"35 Hz\"")]);
    let peg = build(&spec, &device("simulated-6dof")).expect("they go together");
    assert!(matches!(peg.haptic.coupling, Coupling::Transparent { bandwidth_hz: 35.0, .. }));
    assert!(
        matches!(peg.script.phases()[5].action, Action::Turn { angle_rad, .. } if (angle_rad - 6_f64.to_radians()).abs() < 1e-15)
    );
    assert!(matches!(peg.script.phases()[5].until, Until::TorqueAbove { torque_nm: 0.03, for_s: 0.1 }));
    assert!(matches!(peg.script.phases()[2].until, Until::ToolBelow { offset: 0.0275, .. }));
}

#[test]
fn screwing_and_scattering_are_read_and_screwing_needs_a_clutch() {
    let six = device("simulated-6dof");
    let bolting = built("bolting", &[], &six).expect("they go together");
    let phases = bolting.script.phases();
    assert_eq!(phases[0].scatter, PerPart { linear: 2e-3, angular: std::f64::consts::PI });
    let Action::Screw { axis, grip_rad, release, .. } = phases[2].action else { unreachable!("{:?}", phases[2]) };
    assert_eq!((axis, release), (Vec3::z(), 1));
    assert!((grip_rad - 150_f64.to_radians()).abs() < 1e-12);
    assert_eq!(phases[2].until, Until::ToolDropped { axis: Vec3::z(), distance: 1e-3 });
    let said = built("bolting", &[("clutch_button = 1", "")], &six).expect_err("there is no clutch");
    assert!(said.iter().any(|s| s.contains("there is no clutch | write `clutch_button`")), "{said:#?}");
    let said = built("bolting", &[], &device("simulated-3dof")).expect_err("it cannot turn");
    assert!(said.iter().any(|s| s.contains("the device senses no rotation")), "{said:#?}");
}

#[test]
fn a_spanner_is_checked_against_device_and_scales() {
    let three = device("simulated-3dof");
    let spanner = built("bolting_spanner", &[], &three).expect("they go together");
    assert!(spanner.warnings.is_empty() && !spanner.sim.tools[0].rotation_locked);
    let turning = spanner.haptic.turning.expect("it turns");
    assert_eq!((turning.axis, turning.buttons), (Vec3::z(), [Some(1), Some(2)]));
    let Action::Swing { axis, lever, .. } = spanner.script.phases()[4].action else { unreachable!("it swings") };
    assert_eq!((axis, lever), (Vec3::z(), Vec3::y() * 0.08));
    assert_eq!(spanner.script.phases()[4].buttons, 1, "the spanner's own button is held");
    for name in ["novint-falcon", "simulated-6dof"] {
        let mut device = device(name);
        device.buttons = 4;
        let built = built("bolting_spanner", &[], &device).expect("they go together");
        assert!(built.warnings.is_empty(), "{name}: {}", built.warnings);
    }
    let lever = "lever   = [0, \"80 mm\", 0]";
    for (from, to, message) in [
        (
            lever,
            "lever = [0, \"20 mm\", 0]",
            "0.3 N·m at a lever of 20.000 mm are 7.500 N in the hand, and can never be felt",
        ),
        (
            "force  = 0.25",
            "force = 1",
            "0.3 N·m at a lever of 80.000 mm are 7.500 N in the hand, and can never be felt",
        ),
        (lever, "lever = [0, 0, \"80 mm\"]", "the lever reaches less than 5.000 mm across the axis"),
        ("kind              = \"spring\"", "kind = \"transparent\"", "a spanner needs the coupling `spring`"),
        ("kind              = \"spring\"", "kind = \"direct\"", "the tool is turned by the handle alone"),
        ("right_button = 3", "right_button = 2", "this button does something else already"),
        ("right_button = 3", "right_button = 5", "the device has no such button"),
        (
            "angular_stiffness = \"3 N*m/rad\"",
            "",
            "`angular_stiffness` is missing in [coupling]: [turning] turns the tool",
        ),
    ] {
        let said = built("bolting_spanner", &[(from, to)], &three).expect_err("it cannot be");
        assert!(said.iter().any(|said| said.contains(message)), "{message}: {said:#?}");
    }
    let help = "take a lever longer than 25.000 mm, or lower `force` in [mapping] below 0.2000";
    let said = built("bolting_spanner", &[(lever, "lever = [0, \"20 mm\", 0]")], &three).expect_err("it is too much");
    assert!(said.iter().any(|said| said.contains(help)), "{said:#?}");
    let weak = built("bolting_spanner", &[("force  = 0.25", "force = 0.01")], &three).expect("it can be");
    assert!(weak.warnings.to_string().contains("lost in the friction of the handle"), "{}", weak.warnings);
    let text = shipped("bolting_spanner").expect("it is shipped");
    let (from, to) =
        (text.find("[turning.spanner]").expect("it has one"), text.find("[safety]").expect("it has limits"));
    let without = &text[from..to];
    let said = built("bolting_spanner", &[(without, "")], &three).expect_err("there is none");
    for message in ["this phase swings a spanner, but there is none", "this needs a torque, but the device gives none"]
    {
        assert!(said.iter().any(|said| said.contains(message)), "{said:#?}");
    }
}

#[test]
fn more_than_fits_is_refused_at_the_first_that_does_not() {
    let many = |count: usize, table: fn(usize) -> String| (0..count).map(table).collect::<String>() + "[task]";
    let ball = |i| {
        format!(
            "[body.b{i}]\nfixed = true\nshape = {{ kind = 'sphere', radius = 0.001 }}\nmaterial = 'wood'\npose.xyz = [1, 1, 1]\n"
        )
    };
    let rest = |_| "[[operator.phase]]\nname = 'r'\nrest = 1\n".to_owned();
    let said = |count, table| said("box_on_table", &[("[task]", &many(count, table))]);
    assert!(said(28, ball).is_empty());
    let bodies = said(29, ball);
    assert!(bodies.len() == 1 && bodies[0].contains("there are 31 bodies; at most 30 fit"), "{bodies:?}");
    assert!(said(25, rest).is_empty());
    let phases = said(26, rest);
    assert!(phases.len() == 1 && phases[0].contains("there are 33 phases; at most 32 fit"), "{phases:?}");
    // The seventeenth body is no longer shown to the operator.
    let unseen = changed("box_on_table", &[("[task]", &many(15, ball))]);
    let unseen = unseen.replacen("body_upright = { body = \"box\"", "body_upright = { body = \"b14\"", 1);
    let report = parse(unseen.as_bytes(), "x").expect_err("it cannot be seen");
    assert_eq!(report.findings()[0].message, "`b14` cannot be seen: it is body 17 of the scene");
}

#[test]
fn a_scene_is_opened_by_name_or_by_path() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/virtual_wall.toml");
    let by_path = open(path).expect("it is there").value;
    assert_eq!(by_path.source.text(), open("virtual_wall").expect("it is shipped").value.source.text());
    assert_eq!(by_path.source.name(), path);
    let unknown = open("virtual_wal").expect_err("a slip").to_string();
    assert_eq!(
        unknown,
        "no scene is called `virtual_wal` (did you mean `virtual_wall`?); to open a file, give its path"
    );
    let device = open_device("xyz").expect_err("not shipped").to_string();
    assert!(device.contains("(known here: `simulated-3dof`, `simulated-6dof`, `novint-falcon`,"), "{device}");
    assert!(device.ends_with("); to open a file, give its path"), "{device}");
    let missing = open("nowhere/x.toml").expect_err("it is not there");
    assert!(matches!(missing, OpenError::File(LoadError::NotFound { .. })), "{missing}");
    assert!(matches!(open("x.toml"), Err(OpenError::File(_))));
}
