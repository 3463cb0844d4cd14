//! `hapticd`: from arguments to an exit code.

fn main() -> std::process::ExitCode {
    hapticd::daemon::cli::main()
}
