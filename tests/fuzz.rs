//! Every decoder with damaged files, and the memory they take: the functions of `cargo fuzz` (fuzz/targets.rs) with stable Rust, on
//! what is made from shipped files by a fixed seed. `HAPTICD_FUZZ_INPUTS` sets how many inputs each decoder gets.
//!
//! With `HAPTICD_FUZZ_CORPUS=fuzz/corpus` the files that the inputs are made from are written there, for `cargo fuzz`.

#![expect(clippy::panic, reason = "a test reports by panicking")]

#[path = "common/peak.rs"]
mod peak;
#[path = "../fuzz/targets.rs"]
#[allow(clippy::allow_attributes_without_reason, reason = "shared with a package that has other lints")]
mod targets;

use hapticd::device::driver::Trim;
use hapticd::fem::{FemModel, FemSpec, Keep, Mass, Material, Ordering, Rayleigh, ReduceSpec, ReducedModel};
use hapticd::files::calibration::Calibration;
use hapticd::geometry::mesh::{LengthUnit, TriMesh, write_obj, write_stl, write_stl_text};
use hapticd::geometry::tet::{BlockSpec, MshForm, write_msh, write_vtk, write_vtu};
use hapticd::math::{Random, Vec3};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use targets::{TARGETS, Target};

/// Inputs of each decoder in an ordinary run.
const INPUTS: u64 = 1500;
/// Most bytes that an input of less than 10 MB may take.
const MOST_BYTES: usize = 1 << 30;
/// Longest input made from a shipped file.
const LONGEST: usize = 96 * 1024;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let all = std::fs::read_dir(root(folder)).expect("a folder").flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = all.filter(|path| path.extension().is_some_and(|end| end == ending)).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("it can be read")).collect()
}

fn recording() -> Vec<u8> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz.mcap");
    let _absent = std::fs::remove_file(&path);
    let arguments = ["demo", "virtual_wall", "--lockstep", "--headless", "--json", "--seconds", "0.02", "--record"];
    let said = Command::new(env!("CARGO_BIN_EXE_hapticd")).args(arguments).arg(&path).output().expect("it starts");
    std::fs::read(&path).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&said.stderr)))
}

/// A good datagram: address, types, arguments.
fn datagram(address: &str, types: &str, arguments: &[u8]) -> Vec<u8> {
    let padded = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len() / 4 * 4 + 4, 0);
        bytes
    };
    [padded(address), padded(&format!(",{types}")), arguments.to_vec()].concat()
}

fn bundle(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut all = b"#bundle\0\0\0\0\0\0\0\0\x01".to_vec();
    for part in parts {
        all.extend((part.len() as u32).to_be_bytes());
        all.extend(part);
    }
    all
}

fn lines(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// What the inputs of a decoder are made from.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let block = || BlockSpec::beam(0.02, 0.01, 2).mesh().expect("a block");
    let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from);
    let sides = vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
    let solid = || TriMesh::new(corners.to_vec(), sides.clone()).expect("a tetrahedron");
    match name {
        "osc" => {
            let set = datagram("/hapticd/coupling/stiffness", "f", &600_f32.to_be_bytes());
            let load = datagram("/hapticd/scene/load", "s", b"peg\0");
            let halt = datagram("/hapticd/halt", "", &[]);
            let nested = bundle(&[set.clone(), bundle(&[load.clone(), halt.clone()])]);
            vec![set, load, halt, nested]
        }
        "scene" => files("scenes", "toml"),
        "device" => files("devices", "toml"),
        "configuration" => files("config", "toml"),
        "calibration" => {
            let names = [String::from("7F3A"), String::from("polhem"), String::from("2026-11-16")];
            let [serial, driver, date] = names;
            vec![Calibration { serial, driver, date, trim: Trim::default() }.text().into_bytes()]
        }
        "quantity" => lines(&["800 N/m", "0.4 mm", "-5e-3 mrad", "12 N·m", "3 µm", "100 %", "1e308 km"]),
        "stl" => {
            vec![write_stl(&solid(), LengthUnit::Millimetre), write_stl_text(&solid(), LengthUnit::Metre).into_bytes()]
        }
        "obj" => vec![write_obj(&solid(), LengthUnit::Millimetre).into_bytes()],
        "msh" => [MshForm::Text, MshForm::Binary].map(|form| write_msh(&block(), LengthUnit::Metre, form)).to_vec(),
        "vtk" => vec![write_vtk(&block(), LengthUnit::Metre).into_bytes()],
        "vtu" => [true, false].map(|binary| write_vtu(&block(), LengthUnit::Metre, binary).into_bytes()).to_vec(),
        "field" => files("tests/data/field", "field"),
        "reduced" => vec![reduced_model()],
        "recording" => vec![recording()],
        "device_log" => lines(&[
            "TIME RAW_POSITION FORCE\n0.000 0.01 0 -0.02 0 1.5 0\n0.001 0.011 0 -0.02 0 1.4 0\n",
            "TIME POSITION BUTTONS\n0 0.01 0 0 0\n0.001 0.011 0 0 1\n",
        ]),
        "json" => lines(&[
            "{\"inverse3\":[{\"device_id\":\"0A\",\"state\":{\"cursor_position\":{\"x\":0.01,\"y\":-2e-3,\"z\":1}}}]}",
            "[[1,2.5e-3,\"\\u00e9\"],{\"a\":null,\"b\":[true,false]}]",
        ]),
        // A word and a state by the first byte; then what devices and hosts say.
        "wire" => (0..48_u8)
            .map(|which| [&[which][..], b"[12,-3,99]\n<01>{\"inverse3\":[]}\0\x5a\xa5\x31\x60AAAA<<<<"].concat())
            .collect(),
        _ => panic!("no seeds for the target `{name}`"),
    }
}

/// A block of jelly held at one end, reduced to a few shapes.
fn reduced_model() -> Vec<u8> {
    let mesh = BlockSpec::beam(0.02, 0.01, 2).mesh().expect("a block");
    let (fixed, touching) = (mesh.nodes_where(|p| p.x < 1e-6), mesh.nodes_where(|p| p.x > 0.0199));
    let spec = FemSpec {
        mesh: &mesh,
        materials: &[Material { young_pa: 1e5, poisson: 0.3, density: 1000.0 }],
        damping: Rayleigh::default(),
        fixed: &fixed,
        mass: Mass::Lumped,
        ordering: Ordering::LeastFill,
    };
    let model = FemModel::new(&spec).expect("held");
    let spec = ReduceSpec {
        touching: &touching,
        push: Vec3::repeat(1.0),
        rings: 1,
        shared: Keep::Count(3),
        local: Keep::Count(4),
        least_ratio: 1.0,
        spring: 1e3,
    };
    ReducedModel::new(&model, &spec).expect("reduced").to_bytes(&[7; 16])
}

fn below(random: &mut Random, end: usize) -> usize {
    (random.bits() % end.max(1) as u64) as usize
}

/// Numbers and signs that decoders stumble over.
const WORDS: [&[u8]; 16] = [
    b"-1",
    b"0",
    b"18446744073709551615",
    b"4294967296",
    b"1e999",
    b"nan",
    b"-inf",
    b"6148914691236517206",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\0\0\0\0\0\0\0\x80",
    b"[[[[[[[[[[[[[[[[",
    b"\"",
    b"\n\n",
    b"\xf0\x9f\xa6\x80",
    b"= {",
];

/// An input made from seeds by a few changes: bits, bytes, words in the place of words, pieces of others.
fn mutated(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut input = seeds[below(random, seeds.len())].clone();
    for _ in 0..1 + below(random, 6) {
        let at = below(random, input.len());
        let to = (at + 1 + below(random, 40)).min(input.len());
        match random.bits() % 9 {
            0 if !input.is_empty() => input[at] ^= 1 << (random.bits() % 8),
            1 if !input.is_empty() => input[at] = random.bits() as u8,
            2 => input.truncate(at),
            3 => drop(input.drain(at..to.max(at))),
            4 => input.extend_from_within(at..),
            5 => drop(input.splice(at..at, WORDS[below(random, WORDS.len())].iter().copied())),
            6 => {
                // A number, or a word, becomes another.
                let digit = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'.' || *byte == b'-';
                let from = (0..=at).rev().find(|i| input.get(*i).is_none_or(|byte| !digit(byte))).map_or(0, |i| i + 1);
                let end = (from..input.len()).find(|i| !digit(&input[*i])).unwrap_or(input.len());
                drop(input.splice(from.min(end)..end, WORDS[below(random, WORDS.len())].iter().copied()));
            }
            7 => {
                let other = &seeds[below(random, seeds.len())];
                let from = below(random, other.len());
                let piece = &other[from..(from + 1 + below(random, 200)).min(other.len())];
                drop(input.splice(at..at, piece.iter().copied()));
            }
            _ => input[at..to.max(at)].iter_mut().for_each(|byte| *byte = random.bits() as u8),
        }
        input.truncate(LONGEST);
    }
    input
}

/// Runs one input; gives the most memory it took, bytes. A panic says how to see it again.
fn judged(target: &Target, input: &[u8], what: &str) -> usize {
    let before = peak::begin();
    let outcome = std::panic::catch_unwind(|| (target.run)(input));
    let most = peak::since(before);
    if outcome.is_err() || most > MOST_BYTES {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name));
        std::fs::write(&path, input).expect("it can be written");
        panic!("{}, {what}: {most} bytes; the input is in {}", target.name, path.display());
    }
    most
}

#[test]
fn no_decoder_panics_or_takes_a_gigabyte_whatever_it_is_given() {
    let inputs = std::env::var("HAPTICD_FUZZ_INPUTS").map_or(INPUTS, |text| text.parse().expect("a number of inputs"));
    for target in &TARGETS {
        let seeds = seeds(target.name);
        if let Some(corpus) = std::env::var_os("HAPTICD_FUZZ_CORPUS") {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(corpus).join(target.name);
            std::fs::create_dir_all(&folder).expect("a folder");
            for (index, seed) in seeds.iter().enumerate() {
                std::fs::write(folder.join(format!("seed-{index}")), seed).expect("it can be written");
            }
        }
        let mut random = Random::new(0x5eed);
        let (began, mut most) = (Instant::now(), 0);
        for (index, seed) in seeds.iter().enumerate() {
            most = most.max(judged(target, seed, &format!("seed {index}")));
        }
        for index in 0..inputs {
            let input = mutated(&mut random, &seeds);
            most = most.max(judged(target, &input, &format!("input {index}")));
        }
        println!(
            "{:<14} {inputs} inputs, {:.1} s, {} kB at most",
            target.name,
            began.elapsed().as_secs_f64(),
            most / 1024
        );
    }
}

#[test]
fn every_target_has_a_file_for_cargo_fuzz_and_the_other_way_round() {
    let manifest = std::fs::read_to_string(root("fuzz/Cargo.toml")).expect("it is there");
    for target in &TARGETS {
        let name = target.name;
        let text = std::fs::read_to_string(root(&format!("fuzz/fuzz_targets/{name}.rs"))).expect(name);
        assert!(text.contains("targets::") && manifest.contains(&format!("name = \"{name}\"")), "{name}");
    }
    assert_eq!(files("fuzz/fuzz_targets", "rs").len(), TARGETS.len());
}

/// Files of some MB that stand for as much as they can.
#[test]
fn large_files_take_less_than_a_gigabyte() {
    let target = |name: &str| TARGETS.iter().find(|target| target.name == name).expect("a target");
    let points = "0.1 0.2 0.3\n".repeat(700_000);
    let cases: [(&str, Vec<u8>); 6] = [
        ("obj", format!("{}{}", "v 0 0 1\n".repeat(500_000), "f 1 2 3\n".repeat(600_000)).into_bytes()),
        ("stl", [&[0; 80][..], &180_000_u32.to_le_bytes(), &vec![0x3f; 180_000 * 50]].concat()),
        (
            "vtk",
            format!("# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 700000 float\n{points}")
                .into_bytes(),
        ),
        ("vtu", {
            let mut text = String::from("<VTKFile type=\"UnstructuredGrid\" byte_order=\"LittleEndian\"><CellData>");
            for array in 0..8000 {
                text += &format!("<DataArray type=\"Int8\" Name=\"group:{array}\" format=\"appended\" offset=\"0\"/>");
            }
            text += "</CellData><AppendedData encoding=\"raw\">_";
            [text.into_bytes(), 1_000_000_u32.to_le_bytes().to_vec(), vec![1; 1_000_000]].concat()
        }),
        ("scene", "[[body]]\nname = \"a\"\n".repeat(400_000).into_bytes()),
        ("device_log", format!("TIME POSITION\n{}", "0.1 1 2 3\n".repeat(900_000)).into_bytes()),
    ];
    for (name, input) in cases {
        assert!(input.len() < 10_000_000, "{name}: {} bytes", input.len());
        let began = Instant::now();
        let most = judged(target(name), &input, "a large file");
        let seconds = began.elapsed().as_secs_f64();
        println!("{name:<12} {:>4} kB: {} kB at most, {seconds:.1} s", input.len() / 1024, most / 1024);
    }
}
