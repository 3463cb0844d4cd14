//! What is committed for editors and readers is what the program prints.

use std::path::Path;
use std::process::Command;

fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_hapticd")).args(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn committed(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_default()
}

#[test]
fn the_committed_schemas_are_what_the_program_prints() {
    for kind in ["scene", "device", "config"] {
        let path = format!("schema/{kind}.schema.json");
        assert!(printed(&["schema", kind]) == committed(&path), "write it anew: hapticd schema {kind} > {path}");
    }
}

#[test]
fn the_reference_pages_are_what_the_program_prints() {
    for (kind, page) in [("scene", "scene-format"), ("device", "device-files"), ("config", "configuration")] {
        let path = format!("docs/{page}.md");
        let same = printed(&["schema", kind, "--markdown"]) == committed(&path);
        assert!(same, "write it anew: hapticd schema {kind} --markdown > {path}");
    }
}

#[test]
fn the_page_of_osc_addresses_is_what_the_program_prints() {
    assert!(printed(&["osc"]) == committed("docs/osc.md"), "write it anew: hapticd osc > docs/osc.md");
}

#[test]
fn an_unknown_kind_of_file_is_bad_usage() {
    let output = Command::new(env!("CARGO_BIN_EXE_hapticd")).args(["schema", "mesh"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("scene, device, config"));
}
