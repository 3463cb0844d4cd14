//! What the project is built from: licences, sources and bans as deny.toml has them, by Cargo's own account of the packages.
//!
//! `cargo deny check` judges the same file; compiling it takes longer than a CI run may, so that this stands in for it there. The
//! licences are those that the packages state: their texts are not read.

#![expect(clippy::panic, reason = "a test reports by panicking")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use toml::de::{DeTable, DeValue};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The words of a list in deny.toml; of a table in it, the name of the crate.
fn words(section: &str, key: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join("deny.toml")).expect("it is there");
    let all = DeTable::parse(&text).expect("TOML");
    let list = all.get_ref()[section].get_ref().get(key).and_then(|list| list.get_ref().as_array()).expect("a list");
    let word = |item: &DeValue<'_>| item.as_str().or_else(|| item.get("crate")?.get_ref().as_str()).map(str::to_owned);
    list.iter().map(|item| word(item.get_ref()).expect("a word")).collect()
}

/// Every package that becomes part of the program, its tests or its build on the targets of deny.toml.
fn packages() -> Vec<Value> {
    let mut packages = Vec::new();
    for target in words("graph", "targets") {
        let said = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked", "--all-features", "--filter-platform", &target])
            .current_dir(ROOT)
            .output()
            .expect("cargo runs");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let all: Value = serde_json::from_slice(&said.stdout).expect("JSON");
        packages.extend(all["packages"].as_array().expect("a list").clone());
    }
    assert!(packages.len() > 200, "{} packages", packages.len());
    packages
}

/// Whether an SPDX expression can be met with these licences alone.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (met, rest) = any_of(&words, allowed);
    assert!(rest.is_empty(), "`{expression}` is no expression");
    met
}

fn any_of<'w>(words: &'w [&'w str], allowed: &[String]) -> (bool, &'w [&'w str]) {
    let (mut met, mut rest) = all_of(words, allowed);
    while let ["OR", more @ ..] = rest {
        let (other, left) = all_of(more, allowed);
        (met, rest) = (met || other, left);
    }
    (met, rest)
}

fn all_of<'w>(words: &'w [&'w str], allowed: &[String]) -> (bool, &'w [&'w str]) {
    let (mut met, mut rest) = one(words, allowed);
    while let ["AND", more @ ..] = rest {
        let (other, left) = one(more, allowed);
        (met, rest) = (met && other, left);
    }
    (met, rest)
}

fn one<'w>(words: &'w [&'w str], allowed: &[String]) -> (bool, &'w [&'w str]) {
    let allows = |licence: &str| allowed.iter().any(|word| word == licence);
    match words {
        ["(", inner @ ..] => match any_of(inner, allowed) {
            (met, [")", rest @ ..]) => (met, rest),
            _ => panic!("{words:?} lacks a bracket"),
        },
        [licence, "WITH", exception, rest @ ..] => (allows(&format!("{licence} WITH {exception}")), rest),
        [licence, rest @ ..] => (allows(licence), rest),
        [] => panic!("a licence is missing"),
    }
}

#[test]
fn every_package_may_be_passed_on_under_a_licence_of_the_list() {
    let allowed = words("licenses", "allow");
    let refused: Vec<String> = packages()
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(|licence| is_met(licence, &allowed)))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "not in deny.toml: {refused:#?}");
}

#[test]
fn every_package_comes_from_a_source_of_the_list_and_none_is_banned() {
    let sources = words("sources", "allow-registry");
    let banned = words("bans", "deny");
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        assert!(!banned.iter().any(|word| word == name), "{name} is banned in deny.toml");
        // The project itself has none.
        let Some(source) = package["source"].as_str() else {
            assert_eq!(name, "hapticd", "a package without a source");
            let needs = package["dependencies"].as_array().expect("a list");
            assert!(needs.iter().all(|need| need["req"] != "*"), "a dependency of any version");
            continue;
        };
        let known = source.strip_prefix("registry+").is_some_and(|place| sources.iter().any(|one| one == place));
        assert!(known, "{name} comes from {source}");
    }
}

#[test]
fn packages_of_the_model_and_of_the_fuzz_targets_come_from_the_same_sources() {
    let sources = words("sources", "allow-registry");
    for lock in ["tests/wall/Cargo.lock", "fuzz/Cargo.lock"] {
        let text = std::fs::read_to_string(Path::new(ROOT).join(lock)).expect(lock);
        let named: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("source = ")).collect();
        assert!(named.len() > 10, "{lock} names {} sources", named.len());
        for source in named {
            let known = sources.iter().any(|one| source == format!("\"registry+{one}\""));
            assert!(known, "{lock}: {source}");
        }
    }
}

#[test]
fn expressions_of_licences_are_read_as_spdx_says() {
    let allowed = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(String::from);
    for (expression, met) in [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(GPL-3.0 OR Apache-2.0) AND Unicode-3.0", false),
        ("GPL-3.0 OR MIT AND Unicode-3.0", true),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
        ("Apache-2.0", false),
    ] {
        assert_eq!(is_met(expression, &allowed), met, "{expression}");
    }
}
