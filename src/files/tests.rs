//! Whole documents: what is read from shipped files, and what is said about each kind of mistake.

use super::*;
use crate::device::{DeviceSpec, PerPart};
use crate::math::Vec3;
use std::path::{Path, PathBuf};

const DEVICE_3DOF: &str = include_str!("../../devices/simulated-3dof.toml");
const DEVICE_6DOF: &str = include_str!("../../devices/simulated-6dof.toml");
const CONFIG: &str = include_str!("../../config/hapticd.toml");

fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn device(text: &str) -> Result<Loaded<DeviceSpec>, Report> {
    device_file::parse(text.as_bytes(), "device.toml")
}

/// What is said about `text` with the first `from` replaced by `to`: `line:column message | help` each.
fn said(text: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let mut text = text.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let report = match text.contains("hapticd-config") {
        true => config::parse(text.as_bytes(), "x").map_or_else(|e| e, |l| l.warnings),
        false => device(&text).map_or_else(|e| e, |l| l.warnings),
    };
    report.findings().iter().map(|f| format!("{}:{} {} | {}", f.line, f.column, f.message, f.help)).collect()
}

/// Line and column, from 1, of the first `needle`.
fn place(text: &str, needle: &str) -> String {
    let at = text.find(needle).expect("it is there");
    let line = text[..at].matches('\n').count() + 1;
    let column = text[..at].chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("{line}:{column}")
}

#[test]
fn the_shipped_3dof_device_says_what_its_file_says() {
    let loaded = device_file::load(&shipped("devices/simulated-3dof.toml")).expect("it is valid");
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
    let spec = loaded.value;
    let linear = |linear| PerPart { linear, angular: 0.0 };
    assert_eq!((spec.driver.as_str(), spec.buttons, spec.rate_hz), ("simulated", 4, 1000.0));
    assert!(!spec.rotation_sensed && !spec.rotation_actuated);
    assert_eq!(spec.limits.force, linear(8.0));
    assert_eq!(spec.limits.slew, linear(4000.0));
    assert_eq!((spec.limits.power_w, spec.limits.reserve_j), (10.0, 0.1));
    assert_eq!(spec.limits.speed, linear(1.0));
    assert_eq!(spec.limits.acceleration, linear(150.0));
    assert_eq!(spec.limits.stiffness, linear(3000.0));
    assert_eq!(spec.limits.damping, linear(20.0));
    assert_eq!((spec.limits.workspace_radius_m, spec.limits.watchdog_s), (0.1, None));
    assert_eq!(spec.mechanics.inertia, linear(0.15));
    assert_eq!(spec.mechanics.damping, linear(0.5));
    assert_eq!(spec.mechanics.friction, linear(0.1));
    assert_eq!(spec.mechanics.quantum, linear(1e-5));
    assert_eq!(spec.mechanics.latency_ticks, 0);
}

#[test]
fn the_shipped_6dof_device_says_what_its_file_says() {
    let loaded = device_file::load(&shipped("devices/simulated-6dof.toml")).expect("it is valid");
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
    let spec = loaded.value;
    let part = |linear, angular| PerPart { linear, angular };
    assert!(spec.rotation_sensed && spec.rotation_actuated);
    assert_eq!(spec.limits.force, part(12.0, 1.5));
    assert_eq!(spec.limits.slew, part(6000.0, 750.0));
    assert_eq!(spec.limits.speed, part(1.0, 20.0));
    assert_eq!(spec.limits.acceleration, part(150.0, 3000.0));
    assert_eq!(spec.limits.stiffness, part(3000.0, 10.0));
    assert_eq!(spec.limits.damping, part(20.0, 0.05));
    assert_eq!(spec.mechanics.inertia, part(0.15, 5e-4));
    assert_eq!(spec.mechanics.damping, part(0.5, 0.0015));
    assert_eq!(spec.mechanics.friction, part(0.1, 0.002));
    assert_eq!(spec.mechanics.quantum, part(1e-5, 5e-5));
}

#[test]
fn the_shipped_configuration_is_the_default_with_paths_beside_it() {
    let loaded = config::load(&shipped("config/hapticd.toml")).expect("it is valid");
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
    let default = config::Config::default();
    assert!(loaded.value.devices.join(&default.device).with_extension("toml").is_file());
    assert_eq!(loaded.value.scenes, shipped("config/../scenes"));
    let bare = config::Config { scenes: default.scenes.clone(), devices: default.devices.clone(), ..loaded.value };
    assert_eq!(bare, default);
    let empty = config::parse(b"format = \"hapticd-config/1\"\n", "x").expect("every key has a default");
    assert_eq!(empty.value, default);
}

#[test]
fn each_configuration_key_is_read() {
    let text = "format = 'hapticd-config/1'\nrealtime = { priority = 5, cpu = 3, spin = '100 us', lock_memory = false }\n\
                paths = { scenes = 'a', devices = 'b', state = 's' }\n\
                osc = { listen = '::', port = 1, query_port = 0, allow = ['10.0.0.0/8', '::1'], read_only = ['10.0.0.7'], \
                raw_force = true, confirm = false }\ndefaults = { scene = 'c', device = 'd' }\nlog.level = 'debug'\n\
                viewer = { enabled = false, port = 8080 }\nrecordings = { file_mb = 7, keep = 2, free_mb = 0 }";
    let expected = config::Config {
        realtime: config::Realtime { priority: 5, cpu: Some(3), spin_s: 1e-4, lock_memory: false },
        scenes: "a".into(),
        devices: "b".into(),
        state: Some("s".into()),
        osc: config::Osc {
            listen: std::net::Ipv6Addr::UNSPECIFIED.into(),
            port: 1,
            query_port: 0,
            allow: vec!["10.0.0.0/8".into(), "::1".into()],
            read_only: vec!["10.0.0.7".into()],
            raw_force: true,
            confirm: false,
        },
        scene: "c".into(),
        device: "d".into(),
        viewer: config::Viewer { enabled: false, port: 8080 },
        recordings: config::Recordings { file_mb: 7, keep: Some(2), free_mb: 0 },
        log_level: config::LogLevel::Debug,
    };
    assert_eq!(config::parse(text.as_bytes(), "x").map(|l| l.value), Ok(expected));
}

#[test]
fn a_configuration_that_lets_the_whole_internet_in_is_warned_of() {
    for (network, warned) in
        [("0.0.0.0/0", true), ("64.0.0.0/4", true), ("::/0", true), ("10.0.0.0/8", false), ("fd00::/16", false)]
    {
        let text = format!("format = 'hapticd-config/1'\n[osc]\nlisten = '0.0.0.0'\nallow = ['{network}']\n");
        let warnings = config::parse(text.as_bytes(), "x").expect("it is valid").warnings;
        assert_eq!(!warnings.is_empty(), warned, "{network}: {warnings}");
    }
}

#[test]
fn several_mistakes_are_reported_at_once_in_the_order_of_the_file() {
    let said = said(
        DEVICE_3DOF,
        &[
            ("= \"8 N\"", "= \"8 kPa\""),
            ("max_power  ", "max_powr  "),
            ("\"0.15 kg\"", "true"),
            ("\"1 kHz\"", "\"1 MHz\""),
            ("buttons  = 4", "buttons  = 99"),
        ],
    );
    let at = |needle| place(DEVICE_3DOF, needle);
    let expected = [
        format!("{} `buttons` is out of range | write a whole number from 0 to 32", at("4\n\n# What")),
        format!("{} `max_power` is missing in [limits] | add `max_power`, a power such as \"1.5 W\"", at("[limits]")),
        format!("{} `max_linear_force` needs a force, not a pressure | use a unit such as N", at("\"8 N\"   ")),
        format!("{} unknown key `max_powr` in [limits] | did you mean `max_power`?", at("max_power  ")),
        format!("{} `mass` needs a mass such as \"1.5 kg\", not true or false | ", at("\"0.15 kg\"")),
        format!(
            "{} `rate` must be at most 10000 Hz | write a value that is at most 10000 Hz; is the unit right?",
            at("\"1 kHz\"")
        ),
    ];
    assert_eq!(said, expected);
}

#[test]
fn each_kind_of_mistake_in_a_device_is_told_apart() {
    for (from, to, message) in [
        ("= \"8 N\"", "= \"8 Newtons\"", "`max_linear_force` has an unknown unit"),
        ("= \"8 N\"", "= \"N\"", "`max_linear_force` needs a force"),
        ("= \"8 N\"", "= \"8\"", "`max_linear_force` needs a unit of force"),
        ("= \"8 N\"", "= \"8 N N/\"", "`max_linear_force` has a unit that cannot be read"),
        ("= \"8 N\"", "= \"8e400 N\"", "`max_linear_force` is too large a number"),
        ("= \"8 N\"", "= 1e400", "`max_linear_force` is not a finite number"),
        ("= \"8 N\"", "= nan", "`max_linear_force` is not a finite number"),
        ("= \"8 N\"", "= -inf", "`max_linear_force` is not a finite number"),
        ("= \"8 N\"", "= 0", "`max_linear_force` must be more than zero"),
        ("= \"8 N\"", "= \"-8 N\"", "`max_linear_force` must be more than zero"),
        ("= \"8 N\"", "= \"8 kN\"", "`max_linear_force` must be at most 200 N"),
        ("= \"8 N\"", "= [8]", "`max_linear_force` needs a force such as \"1.5 N\", not a list"),
        ("= \"8 N\"", "= 2026-01-01", "`max_linear_force` needs a force such as \"1.5 N\", not a date"),
        ("\"0.15 kg\"", "0", "`mass` must be more than zero"),
        ("\"simulated\"", "\"Simulated!\"", "`driver` needs a word of a-z, 0-9 and -"),
        ("\"simulated\"", "7", "`driver` needs a text, not a number"),
        ("\"1 kHz\"", "\"50 Hz\"", "`rate` must be at least 100 Hz"),
        ("\"none\"", "\"1 ms\"", "`watchdog` is shorter than two ticks of the loop"),
        ("\"none\"", "\"never\"", "`watchdog` needs a time, or \"none\""),
        ("\"0 ms\"", "\"1.5 ms\"", "`latency` is no whole number of ticks: it is taken as 2"),
        ("sensed = false", "sensed = 0", "`sensed` needs true or false, not a number"),
        ("sensed = true, ", "sensed = false, ", "hapticd needs a device that senses position"),
        ("actuated = false", "actuated = true", "rotation cannot be actuated without being sensed"),
        ("workspace_radius ", "inertia = 1\nworkspace_radius ", "unknown key `inertia` in [limits]"),
    ] {
        let said = said(DEVICE_3DOF, &[(from, to)]);
        assert!(said.iter().any(|s| s.contains(&format!(" {message} | "))), "{to}: {said:#?}");
    }
}

#[test]
fn links_are_as_many_as_the_mechanism_has_and_only_where_there_are_any() {
    let with = |driver: &str, links: &str| {
        let text = DEVICE_3DOF.replace("driver = \"simulated\"", &format!("driver = \"{driver}\""));
        text.replace("rate       = \"1 kHz\"", &format!("rate = \"1 kHz\"\nlinks = [{links}]\n#"))
    };
    let two = "{ mass = \"0.2 kg\", centre = \"-5 mm\" }, { mass = 0 }";
    let spec = device(&with("vintage", two)).expect("a device").value;
    assert_eq!(spec.mechanics.links, Some(crate::device::Links::new([(0.2, -0.005), (0.0, 0.0)])));
    assert_eq!(device(&with("vintage", "")).expect("a device").value.mechanics.links, None);
    let refused = device(&with("falcon", two)).expect_err("three are needed").to_string();
    assert!(refused.contains("`links` must tell 3 of them: plate with grip, one arm, bars of one leg"), "{refused}");
    let loaded = device(&with("hapkit", two)).expect("still a device");
    assert!(loaded.warnings.to_string().contains("`links` has no effect"), "{}", loaded.warnings);
    assert_eq!(loaded.value.mechanics.links, None);
}

#[test]
fn a_key_in_the_wrong_table_is_sent_where_it_belongs() {
    let said = said(DEVICE_3DOF, &[("buttons  = 4", "buttons  = 4\nfriction = 0")]);
    let line = DEVICE_3DOF[..DEVICE_3DOF.find("buttons").expect("there")].matches('\n').count() + 2;
    assert_eq!(
        said,
        [format!("{line}:1 unknown key `friction` in [capabilities] | `friction` belongs in [mechanics]")]
    );
}

#[test]
fn rotation_that_has_no_effect_is_a_warning_and_missing_rotation_an_error() {
    let text = DEVICE_6DOF.replace("actuated = true }    # {", "actuated = false }    # {");
    let loaded = device(&text).expect("still a device");
    assert_eq!(loaded.warnings.findings().len(), 4, "{}", loaded.warnings);
    assert!(loaded.warnings.findings().iter().all(|f| f.severity == Severity::Warning));
    assert_eq!(loaded.value.limits.force.angular, 0.0);
    assert_eq!(loaded.value.limits.speed.angular, 20.0);
    let said = said(DEVICE_3DOF, &[("{ sensed = false, actuated = false }", "{ sensed = true, actuated = true }")]);
    assert_eq!(said.iter().filter(|s| s.contains("is missing in [")).count(), 8, "{said:#?}");
}

#[test]
fn addresses_are_checked_and_a_port_for_the_network_needs_to_know_for_whom() {
    let said = |osc: &str| said(&format!("format = 'hapticd-config/1'\n[osc]\n{osc}\n"), &[]);
    assert_eq!(said("listen = '127.0.0.2'"), Vec::<String>::new());
    assert_eq!(said("listen = '0.0.0.0'\nallow = ['10.0.0.0/8', 'fd00::/8']"), Vec::<String>::new());
    let wide = said("listen = '0.0.0.0'\nallow = ['10.0.0.0/8', '0.0.0.0/0', 'fd00::/8']");
    assert!(wide.len() == 1 && wide[0].starts_with("4:9") && wide[0].contains("the whole internet"), "{wide:?}");
    let open = said("listen = '0.0.0.0'");
    assert!(
        open.len() == 1 && open[0].starts_with("3:10") && open[0].contains("allow = [\"192.168.1.0/24\"]"),
        "{open:?}"
    );
    for wrong in [
        "'10.0.0.0/33'",
        "'::/129'",
        "'10.0.0'",
        "'10.0.0.1/'",
        "'10.0.0.1/-1'",
        "'localhost'",
        "'10.0.0.1/24'",
        "'1.0.0.0/0'",
    ] {
        let said = said(&format!("allow = [{wrong}]"));
        assert!(said.len() == 1 && said[0].contains("is not an address"), "{wrong}: {said:?}");
    }
}

#[test]
fn a_missing_or_mistyped_table_is_one_problem_not_twenty() {
    let start = DEVICE_3DOF.find("# How the handle").expect("there");
    let said_missing = said(&DEVICE_3DOF[..start], &[]);
    assert_eq!(said_missing.len(), 1, "{said_missing:#?}");
    assert!(said_missing[0].contains("`mechanics` is missing | add `mechanics`, a table"));
    let said_number = said(CONFIG, &[("[log]\nlevel", "[log.level]\nlevel")]);
    assert_eq!(said_number.len(), 1, "{said_number:#?}");
}

#[test]
fn the_format_line_says_what_to_do_when_it_does_not_fit() {
    let help = |line: &str| said(DEVICE_3DOF, &[("format = \"hapticd-device/1\"", line)]);
    let line = place(DEVICE_3DOF, "format =").replace(":1", ":10");
    assert_eq!(
        help("format = \"hapticd-device/2\""),
        [format!(
            "{line} this is not a hapticd-device/1 file | this hapticd reads hapticd-device/1; \
             upgrade hapticd, or write the file in version 1"
        )]
    );
    assert_eq!(
        help("format = \"hapticd-scene/1\""),
        [format!("{line} this is not a hapticd-device/1 file | a device file was expected here")]
    );
    assert!(help("format = \"toml\"")[0].ends_with("write format = \"hapticd-device/1\""));
    assert!(help("format = 1")[0].ends_with("write format = \"hapticd-device/1\""));
    let missing =
        "1:1 the file does not say that it is a device file | add `format = \"hapticd-device/1\"` as its first line";
    assert_eq!(help(""), [missing]);
    assert_eq!(format_of(DEVICE_3DOF.as_bytes()), Some(Format::DEVICE));
    assert_eq!(format_of(CONFIG.as_bytes()), Some(Format::CONFIG));
    assert_eq!(format_of(b"format = \"hapticd-scene/7\"\nbroken = = 1"), Some(Format::SCENE));
    assert_eq!(format_of(b"a = 1"), None);
}

#[test]
fn every_error_of_syntax_is_reported_with_its_place() {
    let said =
        said(CONFIG, &[("\"info\"", "\"info"), ("priority    = 80", "priority    = 80 80"), ("lock_memory", "spin")]);
    let line = |needle| CONFIG[..CONFIG.find(needle).expect("there")].matches('\n').count() + 1;
    // A text that is not closed is missed at the end of its line; one quote has gone from that line.
    let level = CONFIG.lines().last().expect("there");
    let end = level.chars().count();
    assert!(level.starts_with("level"));
    let starts =
        [("priority ", 15), ("lock_memory", 1), ("level = \"", end)].map(|(key, at)| format!("{}:{at} ", line(key)));
    assert_eq!(said.len(), 3, "{said:#?}");
    for (said, start) in said.iter().zip(starts) {
        assert!(said.starts_with(&start), "{said} at {start}");
    }
}

#[test]
fn words_and_names_are_matched_to_those_that_exist() {
    let said_level = said(CONFIG, &[("\"info\"", "\"wran\"")]);
    let words = "`level` is one of \"error\", \"warn\", \"info\", \"debug\", \"trace\"";
    let at = place(CONFIG, "\"info\"");
    assert_eq!(said_level, [format!("{at} `level` cannot be `wran` | did you mean `warn`? {words}")]);

    let text = "format = 'hapticd-scene/1'\n[body.nut]\nmaterial = 'steal'\n[material.steel]\n[material.fat]\n";
    let report = read(text.as_bytes(), "x", Format::SCENE, |root| {
        let materials: Vec<String> = root.named("material").into_iter().map(|(name, _)| name).collect();
        assert_eq!(materials, ["steel", "fat"]);
        let bodies = root.named("body");
        bodies
            .iter()
            .map(|(_, body)| body.reference("material", "material", &materials).required())
            .collect::<Option<Vec<_>>>()
    });
    let report = report.expect_err("steal is no material");
    let finding = &report.findings()[0];
    assert_eq!((finding.line, finding.column, report.findings().len()), (3, 12, 1));
    assert_eq!(finding.message, "no material is called `steal`");
    assert_eq!(finding.help, "did you mean `steel`?");
}

#[test]
fn lists_vectors_units_and_lists_of_tables_are_read() {
    let text = "format = 'hapticd-scene/1'\nxyz = ['1 mm', 0.5, '2 cm']\nband = ['8 Hz', '12 Hz']\nunit = 'mm'\n\
                avoid = ['a', 'b']\n[[layer]]\nd = 1\n[[layer]]\nd = 2\n";
    let loaded = read(text.as_bytes(), "x", Format::SCENE, |root| {
        let xyz = root.vector("xyz", Dimension::Length).not_negative().required();
        let band = root.quantities("band", Dimension::Frequency, 2..=2).positive().required();
        let unit = root.unit("unit", Dimension::Length).required();
        let avoid = root.strings("avoid").required();
        let layers: Vec<f64> = root.tables("layer").iter().map(|layer| layer.number("d").or(0.0)).collect();
        Some((xyz?, band?, unit?, avoid?, layers))
    });
    let value = loaded.expect("it is valid").value;
    assert_eq!(value.0, Vec3::new(0.001, 0.5, 0.02));
    assert_eq!(
        (value.1, value.2, value.3, value.4),
        (vec![8.0, 12.0], 1e-3, vec!["a".into(), "b".into()], vec![1.0, 2.0])
    );
}

#[test]
fn wrong_lists_are_told_apart_and_their_elements_are_pointed_at() {
    let text =
        "format = 'hapticd-scene/1'\nxyz = ['1 mm', '2 s', true]\nband = [1]\navoid = [1]\nlayer = [{ d = 1 }, 3]\n";
    let report = read(text.as_bytes(), "x", Format::SCENE, |root| {
        let xyz = root.vector("xyz", Dimension::Length).required();
        let band = root.quantities("band", Dimension::Frequency, 2..=3).required();
        let avoid = root.strings("avoid").required();
        assert_eq!(root.tables("layer").len(), 1);
        Some((xyz?, band?, avoid?))
    });
    let report = report.expect_err("all four are wrong");
    let places: Vec<_> = report.findings().iter().map(|f| (f.line, f.column, f.message.as_str())).collect();
    assert_eq!(
        places,
        [
            (2, 16, "`xyz` needs a length, not a time"),
            (2, 23, "`xyz` needs a length such as \"1.5 m\", not true or false"),
            (3, 8, "`band` needs 2 to 3 values, not 1"),
            (4, 10, "`avoid` needs a text, not a number"),
            (5, 12, "unknown key `d` in [layer.1]"),
            (5, 21, "`layer` needs a list of tables, not a number"),
        ]
    );
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let missing = device_file::load(Path::new("/nowhere/falcon.toml")).expect_err("it is not there");
    assert_eq!(missing.to_string(), "there is no file /nowhere/falcon.toml; check the path");
    let directory = device_file::load(&shipped("devices")).expect_err("a directory");
    assert!(matches!(directory, LoadError::Directory { .. }), "{directory}");
    let endless = device_file::load(Path::new("/dev/zero")).expect_err("it never ends");
    assert!(endless.to_string().contains("not an ordinary file"), "{endless}");
}

#[test]
fn nesting_by_brackets_by_dots_or_by_both_is_refused_before_it_can_recurse() {
    let deep = 100_000;
    for text in [
        format!("a = {}", "[".repeat(deep)),
        format!("a = {}1{}", "{ b = ".repeat(deep), " }".repeat(deep)),
        format!("{}x = 1", "a.".repeat(deep)),
        format!("[{}x]", "a.".repeat(deep)),
        format!("[[{}x]]", "a.".repeat(deep)),
        format!("a = {}1{}", format!("{{ {}b = ", "c.".repeat(70)).repeat(79), " }".repeat(79)),
    ] {
        let report = device(&format!("format = 'hapticd-device/1'\n{text}")).expect_err("too deep");
        assert_eq!(report.findings()[0].line, 2);
        assert_eq!(report.findings()[0].message, "nested deeper than 16");
    }
}

#[test]
fn a_byte_order_mark_and_line_ends_of_another_system_change_nothing() {
    let plain = device(DEVICE_6DOF).expect("it is valid").value;
    let foreign = format!("\u{feff}{}", DEVICE_6DOF.replace('\n', "\r\n"));
    assert_eq!(device(&foreign).expect("it is valid").value, plain);
    let wrong = foreign.replacen("\"12 N\"", "\"12 s\"", 1);
    let report = device(&wrong).expect_err("a time is no force");
    let at = format!("{}:{}", report.findings()[0].line, report.findings()[0].column);
    assert_eq!(at, place(DEVICE_6DOF, "\"12 N\""));
}
