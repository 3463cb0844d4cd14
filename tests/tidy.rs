//! House rules as a test: who may import whom, how long files and functions get, what heads must say, which paths in the
//! documents exist.

#![expect(clippy::panic, reason = "a test reports by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What each module may import, as ARCHITECTURE.md has it. A module may always import itself.
const IMPORTS: &[(&str, &[&str])] = &[
    ("math", &[]),
    ("shared", &["math"]),
    ("mechanism", &["math", "shared"]),
    ("device", &["math", "shared"]),
    ("haptic", &["math", "shared", "mechanism", "device", "geometry", "collision"]),
    ("geometry", &["math"]),
    ("fem", &["math", "shared", "mechanism", "geometry"]),
    ("collision", &["math", "shared", "geometry"]),
    ("bake", &["math", "shared", "geometry", "collision"]),
    ("sim", &["math", "shared", "mechanism", "geometry", "fem", "collision"]),
    ("files", &["math", "shared", "device"]),
    (
        "scene",
        &["math", "shared", "mechanism", "device", "haptic", "geometry", "fem", "collision", "bake", "sim", "files"],
    ),
    ("control", &["math", "shared", "device", "haptic"]),
    ("record", &["math", "shared", "device", "haptic"]),
    ("bench", &["*"]),
    ("daemon", &["*"]),
];

/// Files in which a haptic tick may begin: the pacer of the real loop, and the drivers of virtual time.
const TICK_BEGINNERS: &[&str] =
    &["src/shared/time.rs", "src/shared/pacer.rs", "src/daemon/lockstep.rs", "src/daemon/rerun.rs"];
/// Files with `unsafe`: the system calls that have no safe wrapper, and memory shared with another process.
const UNSAFE: &[&str] = &["src/shared/pulse.rs", "src/shared/realtime.rs"];

const LONGEST_FILE: usize = 800;
const LONGEST_FUNCTION: usize = 70;
/// Tests tell a story from set-up to verdict; cutting it up does not always help.
const LONGEST_TEST: usize = 100;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files_below(dir: &Path, ending: &str, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            // Not ours: what was built, and what npm has fetched.
            if !["target", ".git", "node_modules", "dist"].iter().any(|other| path.ends_with(other)) {
                files_below(&path, ending, out);
            }
        } else if path.extension().is_some_and(|e| e == ending) {
            out.push(path);
        }
    }
    out.sort();
}

/// Every source file with its path relative to the root.
fn sources(dirs: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for dir in dirs {
        files_below(&root().join(dir), "rs", &mut found);
    }
    assert!(found.len() > 20 || dirs.len() == 1, "the sources are where they should be");
    let name = |path: &PathBuf| path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
    found.iter().map(|path| (name(path), fs::read_to_string(path).expect("readable"))).collect()
}

/// The text without its tests: everything before the first `#[cfg(test)]`.
fn product(text: &str) -> &str {
    text.find("#[cfg(test)]").map_or(text, |end| &text[..end])
}

fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let table: BTreeMap<_, _> = IMPORTS.iter().copied().collect();
    let mut problems = Vec::new();
    for (name, text) in sources(&["src"]) {
        let module = name.trim_start_matches("src/").split(['/', '.']).next().unwrap_or_default().to_string();
        if module == "lib" || module == "main" {
            continue;
        }
        let Some(allowed) = table.get(module.as_str()) else {
            problems.push(format!("{name}: module `{module}` is not in the import table"));
            continue;
        };
        for (index, line) in product(&text).lines().enumerate() {
            for part in line.split("crate::").skip(1) {
                let used: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let known = table.contains_key(used.as_str());
                if known && used != module && !allowed.contains(&"*") && !allowed.contains(&used.as_str()) {
                    problems.push(format!("{name}:{}: `{module}` may not import `{used}`", index + 1));
                }
            }
        }
    }
    report(&problems);
}

#[test]
fn ticks_begin_and_unsafe_stands_only_where_it_may() {
    let mut problems = Vec::new();
    for (name, text) in sources(&["src"]) {
        let text = product(&text);
        let measuring = name.starts_with("src/bench/") || name.ends_with("tests.rs");
        if text.contains("Tick::begin(") && !measuring && !TICK_BEGINNERS.contains(&name.as_str()) {
            problems.push(format!("{name}: begins a tick"));
        }
        let is_unsafe = text
            .lines()
            .any(|l| !l.trim_start().starts_with("//") && (l.contains("unsafe {") || l.contains("unsafe fn")));
        if is_unsafe && !UNSAFE.contains(&name.as_str()) {
            problems.push(format!("{name}: `unsafe` outside the list"));
        }
    }
    report(&problems);
}

#[test]
fn files_and_functions_stay_short() {
    let mut problems = Vec::new();
    for (name, text) in sources(&["src", "tests", "benches", "examples"]) {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > LONGEST_FILE {
            problems.push(format!("{name}: {} lines, at most {LONGEST_FILE}", lines.len()));
        }
        if name == "tests/tidy.rs" {
            continue;
        }
        // A function runs from its `fn` to the closing brace in the same column.
        for (start, line) in lines.iter().enumerate() {
            let trimmed = line.trim_start();
            let indent = line.len() - trimmed.len();
            let opens = ["fn ", "pub fn ", "pub(super) fn ", "pub(crate) fn ", "const fn ", "pub const fn "];
            if !opens.iter().any(|o| trimmed.starts_with(o)) {
                continue;
            }
            // A declaration in a trait, or a body on one line, has nothing to measure.
            let signature_end = lines[start..].iter().find(|l| l.ends_with(['{', '}', ';']));
            if !signature_end.is_some_and(|l| l.ends_with('{')) {
                continue;
            }
            let closing = format!("{}}}", " ".repeat(indent));
            let length = lines[start..].iter().position(|l| *l == closing).unwrap_or(0) + 1;
            let longest = if name.starts_with("tests/") { LONGEST_TEST } else { LONGEST_FUNCTION };
            if length > longest {
                problems.push(format!("{name}:{}: function of {length} lines, at most {longest}", start + 1));
            }
        }
    }
    report(&problems);
}

#[test]
fn every_source_file_says_what_it_is_and_whose_thread_it_runs_on() {
    let mut problems = Vec::new();
    for (name, text) in sources(&["src"]) {
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        if head.is_empty() {
            problems.push(format!("{name}: no head"));
        }
        let exempt = ["src/lib.rs", "src/main.rs"].contains(&name.as_str()) || name.ends_with("tests.rs");
        let parent = Path::new(&name).parent().map(|dir| root().join(dir).join("mod.rs"));
        let inherited =
            parent.and_then(|path| fs::read_to_string(path).ok()).is_some_and(|t| t.contains("//! Thread:"));
        if !exempt && !inherited && !head.iter().any(|line| line.contains("Thread:")) {
            problems.push(format!("{name}: the head does not say whose thread this is"));
        }
        for (index, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            if lower.contains("todo") || lower.contains("fixme") || lower.contains("not sure") {
                problems.push(format!("{name}:{}: unfinished thought: {}", index + 1, line.trim()));
            }
        }
    }
    report(&problems);
}

#[test]
fn files_of_the_viewer_have_a_head_and_stay_short() {
    let mut files = Vec::new();
    for ending in ["ts", "mjs", "css"] {
        files_below(&root().join("viewer"), ending, &mut files);
    }
    assert!(!files.is_empty());
    let mut problems = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("readable");
        let name = path.display();
        if !text.starts_with("// ") && !text.starts_with("/* ") {
            problems.push(format!("{name}: no head that says what the file is"));
        }
        if text.lines().count() > LONGEST_FILE {
            problems.push(format!("{name}: more than {LONGEST_FILE} lines"));
        }
        for (index, line) in text.lines().enumerate().filter(|(_, line)| line.chars().count() > 120) {
            problems.push(format!("{name}:{}: line of {} characters", index + 1, line.chars().count()));
        }
    }
    report(&problems);
}

#[test]
fn paths_named_in_the_documents_exist() {
    let mut documents = Vec::new();
    files_below(&root(), "md", &mut documents);
    assert!(!documents.is_empty());
    let mut problems = Vec::new();
    let prefixes = ["src/", "docs/", "tests/", "devices/", "scenes/", "config/", "systemd/", "examples/", "benches/"];
    for path in documents {
        let text = fs::read_to_string(&path).expect("readable");
        for (index, line) in text.lines().enumerate() {
            for word in line.split(|c: char| c.is_whitespace() || "`()[],;\"'".contains(c)) {
                let word = word.trim_end_matches(['.', ':']);
                let named = prefixes.iter().any(|p| word.starts_with(p)) && !word.contains(['<', '*', '{', '…']);
                if named && !root().join(word).exists() {
                    problems.push(format!("{}:{}: `{word}` does not exist", path.display(), index + 1));
                }
            }
        }
    }
    report(&problems);
}

#[test]
fn the_import_table_is_the_one_in_the_architecture_document() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("readable");
    let mut problems = Vec::new();
    for (module, allowed) in IMPORTS {
        let Some(line) = text.lines().find(|line| line.starts_with(&format!("| `{module}` |"))) else {
            problems.push(format!("`{module}` is not in the table of ARCHITECTURE.md"));
            continue;
        };
        let last = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
        let wanted = match *allowed {
            [] => "–".to_string(),
            ["*"] => "all".to_string(),
            list => list.join(", "),
        };
        if last != wanted {
            problems.push(format!("`{module}`: ARCHITECTURE.md says `{last}`, the test `{wanted}`"));
        }
    }
    report(&problems);
}

#[test]
fn nothing_in_the_tests_is_ignored() {
    for (name, text) in sources(&["src", "tests"]) {
        let marker = concat!("#[ign", "ore");
        if text.contains(marker) {
            panic!("{name} has an ignored test");
        }
    }
}
