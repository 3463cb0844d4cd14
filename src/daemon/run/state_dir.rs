//! Where the daemon keeps what it writes: fault data, recordings and calibrations.
//!
//! Thread: cold.

use crate::files::config::Config;
use std::ffi::OsString;
use std::path::PathBuf;

/// The directory by configuration, by systemd, by the desktop's rules, in that order; `None` when nobody says.
fn find(config: &Config, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let filled = |name: &str| variable(name).filter(|value| !value.is_empty());
    // systemd joins several by colons; the unit names one.
    let systemd = filled("STATE_DIRECTORY").map(|all| match all.to_str().and_then(|text| text.split_once(':')) {
        Some((first, _)) => PathBuf::from(first),
        None => PathBuf::from(all),
    });
    let own = || filled("XDG_STATE_HOME").map(|home| PathBuf::from(home).join("hapticd"));
    let home = || filled("HOME").map(|home| PathBuf::from(home).join(".local/state/hapticd"));
    config.state.clone().or(systemd).or_else(own).or_else(home)
}

/// The directory of this configuration in this process's environment.
pub(in crate::daemon) fn of(config: &Config) -> Option<PathBuf> {
    find(config, |name| std::env::var_os(name))
}

/// The directory where no configuration says otherwise.
pub(in crate::daemon) fn of_this_user() -> Option<PathBuf> {
    of(&Config::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_comes_before_systemd_and_systemd_before_the_home() {
        let all = |name: &str| match name {
            "STATE_DIRECTORY" => Some("/var/lib/hapticd:/var/lib/other".into()),
            "HOME" => Some("/home/lab".into()),
            _ => None,
        };
        let home = |name: &str| (name == "HOME").then(|| "/home/lab".into());
        let config = Config::default();
        assert_eq!(find(&config, all), Some("/var/lib/hapticd".into()));
        assert_eq!(find(&config, home), Some("/home/lab/.local/state/hapticd".into()));
        assert_eq!(find(&config, |name| (name == "XDG_STATE_HOME").then(|| "/x".into())), Some("/x/hapticd".into()));
        assert_eq!(find(&config, |_| Some(OsString::new())), None);
        assert_eq!(find(&Config { state: Some("/data".into()), ..config }, all), Some("/data".into()));
    }
}
