//! Programs that tests need and that are not the project's: whether they are there, and what it means if not.

use std::io::Write;
use std::process::Command;

/// True when `program` can be started.
pub(crate) fn have(program: &str, package: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    present(found, program, &format!("apt install {package}"))
}

/// Whether something was found. A developer's machine may lack it: the test says so and ends. Where everything must be
/// tested (`CI` is set) that is a failure.
pub(crate) fn present(found: bool, what: &str, remedy: &str) -> bool {
    let demanded = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    assert!(found || !demanded, "`{what}` is missing: {remedy}");
    if !found {
        say(&format!("skipped: `{what}` is missing: {remedy}"));
    }
    found
}

/// Says something that is seen also when the test passes; `eprintln!` would be kept back.
pub(crate) fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("an open standard error");
}

/// Runs a program to its end: whether it succeeded, and all it said.
pub(crate) fn run(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("the program starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}
