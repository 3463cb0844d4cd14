//! Programs that tests need and that are not the project's: whether they are there, and what it means if not.

use std::process::Command;

/// True when `program` can be started. A developer's machine may lack it: the test says so and ends. Where everything must
/// be tested (`CI` is set) that is a failure.
pub(crate) fn have(program: &str, package: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|directory| directory.join(program).is_file()));
    let demanded = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    assert!(found || !demanded, "`{program}` is missing: apt install {package}");
    if !found {
        eprintln!("skipped: `{program}` is not installed; apt install {package}");
    }
    found
}

/// Runs a program to its end: whether it succeeded, and all it said.
pub(crate) fn run(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("the program starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}
