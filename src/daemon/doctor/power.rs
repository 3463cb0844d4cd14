//! Power saving: what makes a processor slow, or slow to wake up.

use super::finding::{Finding, Topic};
use super::processors::CPU_DIR;
use super::system::{System, format_cpus};
use std::collections::BTreeMap;

const GOVERNOR: Topic = Topic {
    id: "governor",
    why: "A loop that works 5 % of the time looks idle, so a saving governor runs it at the lowest clock.",
};
const SLEEP: Topic = Topic {
    id: "deep-sleep",
    why: "Between two ticks a processor may fall into a sleep that takes up to a millisecond to leave.",
};

/// Time to leave a sleep that does not matter, µs: a fifth of the lateness called good.
const LEAVE_HARMLESS_US: u64 = 10;

/// Frequency governor of every processor.
pub(super) fn governor(system: &System) -> Finding {
    let cpus = match system.list(CPU_DIR, "cpu") {
        Ok(names) => names,
        Err(unread) => return GOVERNOR.unread(&unread),
    };
    let mut governors: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for cpu in cpus.iter().filter_map(|name| name.strip_prefix("cpu")?.parse::<usize>().ok()) {
        if let Ok(governor) = system.read(&format!("{CPU_DIR}/cpu{cpu}/cpufreq/scaling_governor")) {
            governors.entry(governor).or_default().push(cpu);
        }
    }
    if governors.is_empty() {
        return GOVERNOR.fit("the kernel does not scale the frequency here");
    }
    let seen: Vec<String> = governors.iter().map(|(name, cpus)| format!("{name} on {}", format_cpus(cpus))).collect();
    if governors.keys().all(|name| name == "performance") {
        return GOVERNOR.fit(seen.join(", "));
    }
    let files = format!("{CPU_DIR}/cpu*/cpufreq/scaling_governor");
    GOVERNOR.advice(
        seen.join(", "),
        format!(
            "`echo performance | sudo tee {files}`; to keep it, the line `w {files} - - - - performance` in \
             /etc/tmpfiles.d/hapticd.conf"
        ),
    )
}

/// Longest time to leave a sleep state that is switched on, µs.
fn longest_wake_us(system: &System, cpu: usize) -> Option<u64> {
    let dir = format!("{CPU_DIR}/cpu{cpu}/cpuidle");
    let states = system.list(&dir, "state").unwrap_or_default();
    states
        .iter()
        .filter(|state| system.read(&format!("{dir}/{state}/disable")).unwrap_or_default() != "1")
        .filter_map(|state| system.number(&format!("{dir}/{state}/latency")).ok())
        .max()
}

/// Whether hapticd may hold off deep sleep.
pub(super) fn deep_sleep(system: &System, cpu: usize) -> Finding {
    const NODE: &str = "/dev/cpu_dma_latency";
    let leave_us = longest_wake_us(system, cpu);
    if let Some(leave_us) = leave_us.filter(|us| *us <= LEAVE_HARMLESS_US) {
        return SLEEP.fit(format!("none: the processor wakes up within {leave_us} µs"));
    }
    let takes = leave_us.map_or_else(
        || "sleep states could not be read".to_owned(),
        |leave_us| format!("the deepest takes {leave_us} µs to leave"),
    );
    if system.may_use(NODE) {
        return SLEEP.fit(format!("{takes}; hapticd may hold it off"));
    }
    if !system.exists(NODE) {
        return SLEEP.advice(
            format!("{takes}; there is no {NODE}"),
            format!("in a container `--device {NODE}`; otherwise {}", system.boot_with("processor.max_cstate=1")),
        );
    }
    SLEEP.advice(
        format!("{takes}; this user may not write {NODE}"),
        "`sudo groupadd -f realtime && sudo usermod -aG realtime \"$USER\"`, the line `KERNEL==\"cpu_dma_latency\", \
         GROUP=\"realtime\", MODE=\"0660\"` in /etc/udev/rules.d/71-hapticd-local.rules, `sudo udevadm control --reload \
         && sudo udevadm trigger`, log in again",
    )
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::fixture::Fixture;
    use super::*;

    #[test]
    fn one_saving_governor_is_enough_for_advice() {
        let all = governor(&Fixture::lab_pc().system());
        assert_eq!((all.verdict, all.seen.as_str()), (Verdict::Fit, "performance on 0-7"));
        let one = Fixture::lab_pc().with("/sys/devices/system/cpu/cpu5/cpufreq/scaling_governor", "powersave\n");
        let finding = governor(&one.system());
        assert_eq!(finding.verdict, Verdict::Advice);
        assert_eq!(finding.seen, "performance on 0-4,6-7, powersave on 5");
        let none = Fixture::empty()
            .with("/sys/devices/system/cpu/cpu0/online", "1")
            .with("/sys/devices/system/cpu/cpufreq/x", "");
        assert_eq!(governor(&none.system()).verdict, Verdict::Fit);
        assert!(governor(&Fixture::empty().system()).seen.contains("could not be read"));
    }

    #[test]
    fn deep_sleep_matters_when_it_is_deep_and_cannot_be_held_off() {
        let finding = |fixture: Fixture| deep_sleep(&fixture.system(), 7);
        let held = finding(Fixture::lab_pc());
        assert_eq!(
            (held.verdict, held.seen.as_str()),
            (Verdict::Fit, "the deepest takes 890 µs to leave; hapticd may hold it off")
        );
        let denied = finding(Fixture::lab_pc().where_usable(|_| false));
        assert_eq!(denied.verdict, Verdict::Advice);
        assert!(denied.mend.expect("advice").contains("KERNEL==\"cpu_dma_latency\""));
        let gone = finding(Fixture::lab_pc().without("/dev/cpu_dma_latency"));
        assert!(gone.mend.expect("advice").contains("processor.max_cstate=1"));
        // With the deep state switched off there is nothing to hold off.
        let state = "/sys/devices/system/cpu/cpu7/cpuidle/state1/disable";
        let shallow = finding(Fixture::lab_pc().where_usable(|_| false).with(state, "1\n"));
        assert_eq!((shallow.verdict, shallow.seen.contains("within 2 µs")), (Verdict::Fit, true));
    }
}
