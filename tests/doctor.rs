//! `hapticd doctor` as a person and a script run it. Nothing is asserted about time: this PC is what it is.

use std::process::{Command, Output};

fn doctor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
    command.arg("doctor").args(arguments).output().expect("the program starts")
}

#[test]
fn json_is_one_object_whose_verdict_is_the_exit_code() {
    let output = doctor(&["--seconds", "0.5", "--json"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().count(), 1, "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).expect("one JSON object");
    let findings = value["findings"].as_array().expect("a list");
    let unfit = findings.iter().filter(|finding| finding["verdict"] == "unfit").count();
    assert_eq!(value["fit"].as_bool(), Some(unfit == 0), "{value}");
    assert_eq!(output.status.code(), Some(i32::from(unfit > 0)), "{value}");
    for finding in findings {
        let fit = finding["verdict"] == "fit";
        assert!(fit || finding["verdict"] == "advice" || finding["verdict"] == "unfit", "{finding}");
        assert_eq!(finding["mend"].is_null(), fit, "{finding}");
        assert!(finding["seen"].as_str().is_some_and(|seen| !seen.is_empty()), "{finding}");
    }
    // Every tick asked for, and the slots between them that were missed.
    let late = &value["lateness_us"];
    assert!(late["count"].as_u64() >= Some(500), "{late}");
    let figures = ["p50", "p99", "p99.9", "max"].map(|key| late[key].as_f64().expect("a number"));
    assert!(figures.is_sorted() && figures[0] >= 0.0, "{late}");
}

#[test]
fn the_text_names_every_finding_of_the_json_and_ends_with_the_result() {
    let output = doctor(&["--seconds", "0.05"]);
    let text = String::from_utf8(output.stdout).expect("text");
    let last = text.lines().last().expect("a line");
    assert_eq!(last.starts_with("result  fit"), output.status.code() == Some(0), "{text}");
    assert!(last.starts_with("result  "), "{text}");
    let json = doctor(&["--seconds", "0.05", "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&json.stdout).expect("one JSON object");
    for finding in value["findings"].as_array().expect("a list") {
        let id = finding["id"].as_str().expect("a name");
        assert!(text.lines().any(|line| line.split_whitespace().nth(1) == Some(id)), "{id} is missing:\n{text}");
    }
}

#[test]
fn wrong_options_are_refused_and_the_help_documents_the_exit_codes() {
    for arguments in [["--seconds", "0"], ["--seconds", "nan"], ["--cpu", "x"], ["--cpu", "99999"], ["--loud", "1"]] {
        let output = doctor(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    let help = doctor(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&help.stdout).contains("0 fit, 1 not fit, 2 bad usage"));
}
