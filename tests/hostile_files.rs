//! Ten thousand files nobody should write: each must give an error with a place in it, or a valid value; never a panic,
//! an overflow of the stack or an endless wait.
//!
//! Files are made from a fixed seed, by damaging the shipped ones and from a grammar that knows just enough TOML to get
//! past the parser. A new kind of file joins by one entry in [`KINDS`].

use hapticd::collision::MAX_BODIES;
use hapticd::device::DeviceSpec;
use hapticd::files::{Look, Report, config, device_file};
use hapticd::math::pose_is_sound;
use hapticd::scene;
use hapticd::sim::SimData;

/// A kind of file: its reader with claims about what it accepts, good files of it, and its format line.
struct Kind {
    name: &'static str,
    parse: fn(&[u8]) -> Result<Report, Report>,
    good: &'static [&'static str],
    format: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "device",
        parse: |bytes| {
            let loaded = device_file::parse(bytes, "device.toml")?;
            let (limits, mechanics) = (&loaded.value.limits, &loaded.value.mechanics);
            // A value that came through must be one the limiter can rely on.
            assert!(limits.force.linear > 0.0 && limits.force.linear <= 200.0);
            assert!(limits.power_w.is_finite() && limits.reserve_j > 0.0 && mechanics.inertia.linear > 0.0);
            assert!((100.0..=10_000.0).contains(&loaded.value.rate_hz) && mechanics.latency_ticks <= 1000);
            Ok(loaded.warnings)
        },
        good: &[include_str!("../devices/simulated-3dof.toml"), include_str!("../devices/simulated-6dof.toml")],
        format: "hapticd-device/1",
    },
    Kind {
        name: "config",
        parse: |bytes| {
            let loaded = config::parse(bytes, "hapticd.toml")?;
            let realtime = &loaded.value.realtime;
            assert!((1..=99).contains(&realtime.priority) && (0.0..=1e-3).contains(&realtime.spin_s));
            Ok(loaded.warnings)
        },
        good: &[include_str!("../config/hapticd.toml")],
        format: "hapticd-config/1",
    },
    Kind {
        name: "scene",
        parse: |bytes| {
            let loaded = scene::parse(bytes, "scene.toml")?;
            let warnings = loaded.warnings;
            for name in scene::shipped_device_names() {
                let device = scene::open_device(name).expect("it is shipped").value;
                match scene::build(&loaded.value, &device) {
                    Ok(built) => check_built(&built, &device),
                    Err(report) => {
                        assert!(report.has_errors(), "refused without a reason");
                        check_report("built scene", bytes, &report);
                    }
                }
            }
            Ok(warnings)
        },
        good: &[
            include_str!("../scenes/virtual_wall.toml"),
            include_str!("../scenes/box_on_table.toml"),
            include_str!("../scenes/peg_primitive.toml"),
        ],
        format: "hapticd-scene/1",
    },
];

const FILES_PER_KIND: u64 = 3334;

/// What a scene that was accepted may be relied on for.
fn check_built(built: &scene::Built, device: &DeviceSpec) {
    let (sim, haptic) = (&built.sim, &built.haptic);
    assert!(haptic.limits.force.linear <= device.limits.force.linear && haptic.limits.force.linear > 0.0);
    assert!(haptic.limits.force.angular <= device.limits.force.angular);
    assert!(haptic.limits.power_w <= device.limits.power_w && haptic.policy.ramp_s >= 0.1);
    assert!(sim.bodies.len() < MAX_BODIES && sim.margin_m > 0.0 && (30.0..=1000.0).contains(&sim.rate_hz));
    assert!(sim.tools.iter().all(|tool| pose_is_sound(&tool.start)) && pose_is_sound(&built.handle_start));
    for body in &sim.bodies {
        assert!(pose_is_sound(&body.start) && body.material < sim.materials.len() && body.shape.check().is_ok());
    }
    // The reader has checked all that the collision model checks again.
    SimData::new(sim).expect("an accepted scene can be simulated");
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// Values that are wrong somewhere, or everywhere.
const VALUES: &[&str] = &[
    "1e999",
    "-1e999",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "5e-324",
    "0",
    "-1",
    "99999999999999999999",
    "0xffffffffffffffff",
    "0x8000000000000000",
    "9223372036854775807",
    "1_0",
    "true",
    "2026-01-01T00:00:00Z",
    "\"\"",
    "\"8 N\"",
    "\"8 kPa\"",
    "\"1e400 N\"",
    "\"nan N\"",
    "\"8 N^999\"",
    "\"8 m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9\"",
    "\"8 ((((((N))))))\"",
    "\"8 \\u0000\"",
    "\"\\u202e8 N\"",
    "'8 °µ⁻²'",
    "\"8 N*/m\"",
    "[]",
    "[1, 2, 3]",
    "[[[[1]]]]",
    "{}",
    "{ a = {} }",
    "{ sensed = 1 }",
    "\"\"\"\n8 N\n\"\"\"",
    "[1, \"2 N\", {}]",
    "\"unterminated",
    "",
    "= 3",
    "8 N",
    "\"none\"",
];

/// Pieces of text that a file might be damaged by.
const SPLINTERS: &[&str] = &[
    "\0",
    "\u{feff}",
    "\r",
    "\r\n",
    "\n\n",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\"",
    "'",
    "\"\"\"",
    "#",
    "\u{202e}",
    "\u{1b}[31m",
    "ä",
    "µ",
    "𝄞",
    "\\",
    "\t",
    "e999",
    "-",
    "a.b.c.d",
    "\u{7f}",
    "[limits]\n",
    "[limits.x]\n",
    "[[mechanics]]\n",
    "[body.x]\n",
    "[[operator.phase]]\n",
    "[[task.goal]]\n",
    "format = 1\n",
    "\nx = 1\n",
    "format.x = 2\n",
    "\"\" = 1\n",
    "k = 1e5\nk = 2\n",
];

/// Words for keys of the grammar; half of them mean something to a reader.
const KEYS: &[&str] = &[
    "model",
    "driver",
    "capabilities",
    "limits",
    "mechanics",
    "position",
    "rotation",
    "sensed",
    "actuated",
    "buttons",
    "rate",
    "mass",
    "max_linear_force",
    "watchdog",
    "latency",
    "realtime",
    "priority",
    "cpu",
    "spin",
    "paths",
    "scenes",
    "defaults",
    "log",
    "level",
    "title",
    "world",
    "body",
    "body.box",
    "tool",
    "shape",
    "pose",
    "xyz",
    "rpy",
    "material",
    "coupling",
    "stiffness",
    "mapping",
    "safety",
    "operator",
    "phase",
    "move_to",
    "until",
    "task",
    "goal",
    "format",
    "a",
    "\"\"",
    "\"\\u0000\"",
    "'quoted key'",
    "ключ",
    "a.b",
    "limits.mass",
    "1",
    "-",
];

/// Damages a good file one to six times.
fn damaged(dice: &mut Dice, good: &str) -> Vec<u8> {
    let mut bytes = good.as_bytes().to_vec();
    for _ in 0..=dice.below(6) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(8) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => {
                let at = at.min(bytes.len() - 1);
                bytes[at] ^= 1 << dice.below(8);
            }
            2 => drop(bytes.splice(at..at, dice.pick(SPLINTERS).bytes())),
            3 => {
                let end = (at + dice.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let end = (at + dice.below(300)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = dice.below(bytes.len() + 1);
                drop(bytes.splice(to..to, copy));
            }
            5 => bytes.insert(at, dice.roll() as u8),
            _ => replace_value(dice, &mut bytes),
        }
    }
    bytes
}

/// Puts another value, or another key, on one line.
fn replace_value(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let equals: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i] == b'=').collect();
    if equals.is_empty() {
        return;
    }
    let at = equals[dice.below(equals.len())] + 1;
    let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n);
    if dice.below(4) == 0 {
        let start = bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
        drop(bytes.splice(start..at - 1, dice.pick(KEYS).bytes()));
    } else {
        drop(bytes.splice(at..end, dice.pick(VALUES).bytes()));
    }
}

/// A document that mostly is TOML, about nothing.
fn invented(dice: &mut Dice, format: &str) -> Vec<u8> {
    let mut text = if dice.below(8) == 0 { String::new() } else { format!("format = \"{format}\"\n") };
    for _ in 0..dice.below(30) {
        let key = dice.pick(KEYS);
        match dice.below(7) {
            0 => text += &format!("[{key}]\n"),
            1 => text += &format!("[[{key}]]\n"),
            2 => text += &format!("{key} = {{ {} = {} }}\n", dice.pick(KEYS), dice.pick(VALUES)),
            _ => text += &format!("{key} = {}\n", dice.pick(VALUES)),
        }
    }
    text.into_bytes()
}

/// Few, large, and aimed: at the stack, the memory, and anything that is quadratic.
fn extremes(kind: &Kind) -> Vec<Vec<u8>> {
    let good = kind.good[0];
    let head = format!("format = \"{}\"\n", kind.format);
    let head = head.as_str();
    let numbered = |line: fn(usize) -> String, count: usize| (0..count).map(line).collect::<String>();
    let texts = [
        format!("{head}rate = [{}]\n", "1,".repeat(1_000_000)),
        format!("{head}limits = [{}]\n", "{},".repeat(1_000_000)),
        format!("{head}log = \"{}\"\n", "x".repeat(3_000_000)),
        format!("{head}{} = 1\n", "k".repeat(3_000_000)),
        format!("{head}a = {}\n", "[".repeat(1_000_000)),
        format!("{head}a = {}1{}\n", "[".repeat(80), "]".repeat(80)),
        format!("{head}{}b = 1\n", "a.".repeat(1_000_000)),
        format!("{head}[{}b]\n", "a.".repeat(1_000_000)),
        format!("{head}a = {}1{}\n", "{ b.c.d.e.f.g.h = ".repeat(1_000), "}".repeat(1_000)),
        format!("{head}a = {}1{}\n", "{ b.c.d.e.f.g.h = ".repeat(14), "}".repeat(14)),
        format!("{head}{}", numbered(|i| format!("key_{i} = {i}\n"), 100_000)),
        format!("{head}{}", numbered(|i| format!("[table_{i}]\n"), 100_000)),
        format!("{head}{}", "[[limits]]\nmass = 1\n".repeat(100_000)),
        format!("{head}{}", "a = 1\n".repeat(5_000)),
        format!("{head}{}", "a = 1\n".repeat(500_000)),
        format!("{head}{}", "= ".repeat(20_000)),
        format!("{head}{}", "]\n".repeat(1_000_000)),
        format!("{head}# {}\n", "#".repeat(4_100_000)),
        format!("{head}spin = \"1{} us\"\n", "0".repeat(1_000_000)),
        format!("{head}rate = 1{}\n", "0".repeat(1_000_000)),
        format!("{head}spin = \"1 {}\"\n", "m*".repeat(1_000_000)),
        format!("{head}{}", "\r".repeat(100_000)),
        format!("{good}{}", " ".repeat(5 << 20)),
        format!("\u{feff}\u{feff}{good}"),
        good.replace('\n', "\r"),
        good.replace('\n', "\n\n\n"),
        good.repeat(2),
        String::new(),
        "\u{feff}".to_owned(),
        "\n".repeat(1_000_000),
    ];
    let mut files: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    files.push(vec![0; 100_000]);
    files.push(vec![0xff; 100_000]);
    files.push([good.as_bytes(), &[0xc3]].concat());
    files.push([&[0xff, 0xfe], good.as_bytes()].concat());
    files.push(good.encode_utf16().flat_map(u16::to_le_bytes).collect());
    files
}

/// The claims every report keeps.
fn check_report(kind: &str, bytes: &[u8], report: &Report) {
    let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    for finding in report.findings() {
        assert!(!finding.message.is_empty());
        let line = lines.get(finding.line - 1);
        let line = line.unwrap_or_else(|| unreachable!("{kind}: line {} of {}", finding.line, lines.len()));
        assert!((1..=line.len() + 1).contains(&finding.column), "{kind}: {finding:?}");
    }
    assert!(report.findings().len() <= 100);
    let picture = report.render(Look::Plain);
    assert!(picture.len() < 400_000, "{kind}: a report of {} bytes", picture.len());
    let unsafe_text = |c: char| c.is_control() && c != '\n';
    assert!(!picture.contains(unsafe_text) && !report.to_string().contains(unsafe_text), "{kind}: {picture:?}");
}

#[derive(Default)]
struct Tally {
    files: usize,
    errors: usize,
}

impl Tally {
    fn try_file(&mut self, kind: &Kind, bytes: &[u8]) {
        self.files += 1;
        match (kind.parse)(bytes) {
            Ok(warnings) => {
                assert!(!warnings.has_errors());
                check_report(kind.name, bytes, &warnings);
            }
            Err(report) => {
                self.errors += 1;
                assert!(report.has_errors(), "{}: refused without a reason", kind.name);
                check_report(kind.name, bytes, &report);
            }
        }
    }
}

#[test]
fn ten_thousand_hostile_files_give_an_error_with_a_place_or_a_valid_value() {
    for (index, kind) in KINDS.iter().enumerate() {
        let mut dice = Dice(0x5eed + index as u64);
        let mut tally = Tally::default();
        for number in 0..FILES_PER_KIND {
            let bytes = if number % 3 == 0 {
                invented(&mut dice, kind.format)
            } else {
                let good = dice.pick(kind.good);
                damaged(&mut dice, good)
            };
            tally.try_file(kind, &bytes);
        }
        println!("{}: {} errors in {} files", kind.name, tally.errors, tally.files);
        // Damage in a comment leaves a file valid; most damage must not.
        assert!(tally.errors * 2 > tally.files, "{}: only {} errors", kind.name, tally.errors);
        assert!(tally.errors < tally.files, "{}: nothing was accepted", kind.name);
    }
}

#[test]
fn extreme_files_neither_overflow_the_stack_nor_the_report() {
    for kind in KINDS {
        let mut tally = Tally::default();
        for bytes in extremes(kind) {
            tally.try_file(kind, &bytes);
        }
        println!("{}: {} errors in {} extreme files", kind.name, tally.errors, tally.files);
        assert!(tally.errors * 4 > tally.files * 3, "{}: only {} errors", kind.name, tally.errors);
    }
}

#[test]
fn a_good_file_cut_at_any_byte_gives_an_error_or_a_value() {
    for kind in KINDS {
        for good in kind.good {
            let mut tally = Tally::default();
            for end in 0..good.len() {
                tally.try_file(kind, &good.as_bytes()[..end]);
            }
            assert!(tally.errors > 0);
        }
    }
}
