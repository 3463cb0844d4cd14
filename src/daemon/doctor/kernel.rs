//! The kernel: how soon it lets a real-time thread run, which clock it reads, and whether it owns the machine.

use super::finding::{Finding, Topic};
use super::system::System;

const KERNEL: Topic = Topic {
    id: "kernel",
    why: "Only a PREEMPT_RT kernel lets the haptic thread interrupt nearly all kernel code; others delay it when busy.",
};
const BUDGET: Topic = Topic {
    id: "realtime-budget",
    why: "The kernel stops real-time threads that exceed this share of each second; it is also what ends a runaway one.",
};
const CLOCK: Topic = Topic {
    id: "clocksource",
    why: "Every tick reads the clock several times; hpet and acpi_pm need a slow bus access for each reading.",
};
const VIRTUAL: Topic = Topic {
    id: "virtual-machine",
    why: "A hypervisor may stop the guest at any moment for milliseconds; timing in it promises nothing.",
};

/// Least share of a processor for real-time threads. The tick may use 40 % of its period for the local solve alone.
const BUDGET_SHARE_MIN: f64 = 0.5;

/// When the kernel interrupts its own work for a thread of higher priority.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Preemption {
    /// PREEMPT_RT.
    Realtime,
    /// Chosen at boot: `none`, `voluntary`, `full` or `lazy`, where it can be known.
    Dynamic(Option<String>),
    /// Everywhere but in critical sections, fixed at build time.
    Full,
    /// Only where kernel code offers it, or nowhere.
    Voluntary,
}

/// Version and preemption model.
pub(super) fn kernel(system: &System) -> Finding {
    let version = match system.read("/proc/version") {
        Ok(version) => version,
        Err(unread) => return KERNEL.unread(&unread),
    };
    let release = version.split_whitespace().nth(2).unwrap_or("of unknown version");
    let (model, now) = match preemption(system, &version, release) {
        Preemption::Realtime => return KERNEL.fit(format!("{release}, PREEMPT_RT")),
        Preemption::Dynamic(Some(mode)) if mode == "full" => ("PREEMPT_DYNAMIC, now full".to_owned(), None),
        Preemption::Dynamic(mode) => {
            let mode = mode.map_or_else(|| "mode could not be read".to_owned(), |mode| format!("now {mode}"));
            (format!("PREEMPT_DYNAMIC, {mode}"), Some(system.boot_with("preempt=full")))
        }
        Preemption::Full => ("PREEMPT".to_owned(), None),
        Preemption::Voluntary => ("no preemption of the kernel".to_owned(), None),
    };
    let mut mend = realtime_kernel(&system.distribution());
    if let Some(now) = now {
        mend += &format!("; until then {now}");
    }
    KERNEL.advice(format!("{release}, {model}"), mend)
}

fn preemption(system: &System, version: &str, release: &str) -> Preemption {
    // After the '#' stands what the kernel was built for; before it the builder and the compiler, which may say anything.
    let built: Vec<&str> = version.split_once('#').map_or("", |(_, built)| built).split_whitespace().collect();
    let early_spelling = built.windows(2).any(|words| words == ["PREEMPT", "RT"]);
    if system.read("/sys/kernel/realtime").is_ok_and(|flag| flag == "1")
        || built.contains(&"PREEMPT_RT")
        || early_spelling
    {
        Preemption::Realtime
    } else if built.contains(&"PREEMPT_DYNAMIC") {
        Preemption::Dynamic(dynamic_mode(system, release))
    } else if built.contains(&"PREEMPT") {
        Preemption::Full
    } else {
        Preemption::Voluntary
    }
}

/// The mode in force: told by the scheduler (root only), else by the command line, else by the kernel's default.
fn dynamic_mode(system: &System, release: &str) -> Option<String> {
    let told = system.read("/sys/kernel/debug/sched/preempt").unwrap_or_default();
    if let Some((mode, _)) = told.split_once('(').and_then(|(_, rest)| rest.split_once(')')) {
        return Some(mode.to_owned());
    }
    let arguments = system.read("/proc/cmdline").unwrap_or_default();
    if let Some(mode) = arguments.split_whitespace().filter_map(|word| word.strip_prefix("preempt=")).next_back() {
        return Some(mode.to_owned());
    }
    let config = system.read(&format!("/boot/config-{release}")).ok()?;
    let defaults = [("NONE", "none"), ("VOLUNTARY", "voluntary"), ("LAZY", "lazy"), ("", "full")];
    let (_, mode) = defaults.iter().find(|(option, _)| {
        let separator = if option.is_empty() { "" } else { "_" };
        config.lines().any(|line| line == format!("CONFIG_PREEMPT{separator}{option}=y"))
    })?;
    Some((*mode).to_owned())
}

/// How to get a PREEMPT_RT kernel.
fn realtime_kernel(distribution: &str) -> String {
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    match distribution {
        "debian" => format!("`sudo apt install linux-image-rt-{machine}`, reboot"),
        "ubuntu" => "`sudo pro enable realtime-kernel`, reboot".to_owned(),
        "arch" => "`sudo pacman -S linux-rt`, choose it when booting".to_owned(),
        "rhel" | "rocky" | "almalinux" | "centos" => {
            "`sudo dnf install kernel-rt` (from the real-time repository), reboot".to_owned()
        }
        _ => {
            "install the distribution's PREEMPT_RT kernel, or build one with CONFIG_PREEMPT_RT=y (Linux 6.12 or newer)"
                .to_owned()
        }
    }
}

/// The share of each second that real-time threads may run.
pub(super) fn budget(system: &System) -> Finding {
    const MEND: &str = "`sudo sysctl kernel.sched_rt_runtime_us=950000`; to keep it, the line \
         `kernel.sched_rt_runtime_us = 950000` in /etc/sysctl.d/60-hapticd.conf";
    let runtime_us: i64 = match system.number("/proc/sys/kernel/sched_rt_runtime_us") {
        Ok(runtime_us) => runtime_us,
        Err(unread) => return BUDGET.unread(&unread),
    };
    let period_us: i64 = match system.number("/proc/sys/kernel/sched_rt_period_us") {
        Ok(period_us) if period_us > 0 => period_us,
        _ => 1_000_000,
    };
    if runtime_us < 0 {
        return BUDGET.advice("no limit: a real-time thread that never sleeps would hang the PC", MEND);
    }
    let share = runtime_us as f64 / period_us as f64;
    let seen = format!("real-time threads may use {:.0} % of a processor", 100.0 * share);
    if share >= BUDGET_SHARE_MIN { BUDGET.fit(seen) } else { BUDGET.unfit(seen, MEND) }
}

/// The clock the kernel reads.
pub(super) fn clocksource(system: &System) -> Finding {
    const DIR: &str = "/sys/devices/system/clocksource/clocksource0";
    let current = match system.read(&format!("{DIR}/current_clocksource")) {
        Ok(current) => current,
        Err(unread) => return CLOCK.unread(&unread),
    };
    let available = system.read(&format!("{DIR}/available_clocksource")).unwrap_or_default();
    let mend = if available.split_whitespace().any(|name| name == "tsc") {
        format!("`echo tsc | sudo tee {DIR}/current_clocksource`; to keep it, {}", system.boot_with("clocksource=tsc"))
    } else {
        "`sudo dmesg | grep -i -e tsc -e clocksource` says why the kernel gave up the processor's own counter; update the \
         firmware (BIOS)"
            .to_owned()
    };
    match current.as_str() {
        // All of these are read without entering the kernel.
        "tsc" | "arch_sys_counter" | "kvm-clock" | "hyperv_clocksource_tsc_page" => CLOCK.fit(current),
        // They count timer interrupts: 1 to 10 ms apart.
        "jiffies" | "refined-jiffies" => CLOCK.unfit(format!("{current}: coarser than a tick"), mend),
        _ => CLOCK.advice(current, mend),
    }
}

/// Whether this is a virtual machine, and whose.
pub(super) fn virtual_machine(system: &System) -> Finding {
    const MAKERS: [&str; 8] =
        ["QEMU", "KVM", "VMware", "VirtualBox", "Xen", "Virtual Machine", "Google Compute Engine", "Parallels"];
    let cpuinfo = match system.read("/proc/cpuinfo") {
        Ok(cpuinfo) => cpuinfo,
        Err(unread) => return VIRTUAL.unread(&unread),
    };
    let flagged = cpuinfo
        .lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    let named = ["sys_vendor", "product_name"]
        .map(|name| system.read(&format!("/sys/class/dmi/id/{name}")).unwrap_or_default())
        .into_iter()
        .filter(|name| !name.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    if !flagged && !MAKERS.iter().any(|maker| named.contains(maker)) {
        return VIRTUAL.fit("no");
    }
    let maker = if named.is_empty() { String::new() } else { format!(" ({named})") };
    VIRTUAL.advice(
        format!("yes{maker}"),
        "run hapticd on the PC itself; in a guest, dedicate host processors to it (`virsh vcpupin`) and measure long",
    )
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::fixture::Fixture;
    use super::*;

    fn version(built: &str) -> String {
        format!("Linux version 6.18.4 (PREEMPT_RT@builder) (gcc 15) #1 SMP {built} @0")
    }

    fn on(built: &str) -> Fixture {
        Fixture::empty().with("/proc/version", &version(built))
    }

    #[test]
    fn a_real_time_kernel_is_known_by_any_of_its_marks_and_not_by_the_builders_name() {
        for fixture in [
            on("PREEMPT_RT"),
            on("PREEMPT RT"),
            on("PREEMPT_DYNAMIC").with("/sys/kernel/realtime", "1\n"),
            Fixture::lab_pc(),
        ] {
            let finding = kernel(&fixture.system());
            assert_eq!(finding.verdict, Verdict::Fit, "{finding:?}");
        }
        for fixture in [on("PREEMPT"), on(""), on("PREEMPT_DYNAMIC").with("/sys/kernel/realtime", "0\n")] {
            let finding = kernel(&fixture.system());
            assert_eq!(finding.verdict, Verdict::Advice, "{finding:?}");
        }
    }

    #[test]
    fn the_dynamic_mode_is_taken_from_the_best_source_there_is() {
        let seen = |fixture: &Fixture| kernel(&fixture.system()).seen;
        let plain = on("PREEMPT_DYNAMIC");
        assert_eq!(seen(&plain), "6.18.4, PREEMPT_DYNAMIC, mode could not be read");
        let configured = plain.with("/boot/config-6.18.4", "CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y\n");
        assert_eq!(seen(&configured), "6.18.4, PREEMPT_DYNAMIC, now voluntary");
        let booted = configured.with("/proc/cmdline", "quiet preempt=none preempt=lazy ro");
        assert_eq!(seen(&booted), "6.18.4, PREEMPT_DYNAMIC, now lazy");
        let told = booted.with("/sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
        assert_eq!(seen(&told), "6.18.4, PREEMPT_DYNAMIC, now full");
        // Full already: the boot argument is no longer advised.
        assert!(!kernel(&told.system()).mend.expect("advice").contains("preempt=full"));
        let full = on("PREEMPT_DYNAMIC").with("/boot/config-6.18.4", "CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n");
        assert_eq!(seen(&full), "6.18.4, PREEMPT_DYNAMIC, now full");
    }

    #[test]
    fn the_kernel_advice_speaks_the_language_of_the_distribution() {
        let mend = |id: &str| {
            let fixture = on("PREEMPT_DYNAMIC").with("/etc/os-release", &format!("NAME=x\nID={id}\n"));
            kernel(&fixture.system()).mend.expect("advice")
        };
        assert!(mend("debian").contains("sudo apt install linux-image-rt-"));
        assert!(mend("ubuntu").contains("sudo pro enable realtime-kernel"));
        assert!(mend("\"rocky\"").contains("kernel-rt") && mend("\"rocky\"").contains("grubby"));
        assert!(mend("somethingelse").contains("CONFIG_PREEMPT_RT=y"));
        assert!(mend("debian").contains("preempt=full"));
    }

    #[test]
    fn a_budget_that_starves_the_tick_is_unfit_and_none_at_all_is_advice() {
        let verdict = |runtime: &str| {
            let path = "/proc/sys/kernel/sched_rt_runtime_us";
            budget(&Fixture::lab_pc().with(path, runtime).system()).verdict
        };
        assert_eq!(verdict("950000"), Verdict::Fit);
        assert_eq!(verdict("500000"), Verdict::Fit);
        assert_eq!(verdict("499999"), Verdict::Unfit);
        assert_eq!(verdict("0"), Verdict::Unfit);
        assert_eq!(verdict("-1"), Verdict::Advice);
        assert_eq!(verdict("lots"), Verdict::Advice);
        let half = Fixture::lab_pc().with("/proc/sys/kernel/sched_rt_period_us", "4000000");
        assert_eq!(budget(&half.system()).verdict, Verdict::Unfit);
        let odd = Fixture::lab_pc().with("/proc/sys/kernel/sched_rt_period_us", "0");
        assert_eq!(budget(&odd.system()).verdict, Verdict::Fit);
    }

    #[test]
    fn slow_clocks_are_advised_against_and_the_way_back_to_tsc_is_named_where_there_is_one() {
        let dir = "/sys/devices/system/clocksource/clocksource0";
        let with = |current: &str, available: &str| {
            let fixture = Fixture::lab_pc()
                .with(&format!("{dir}/current_clocksource"), current)
                .with(&format!("{dir}/available_clocksource"), available);
            clocksource(&fixture.system())
        };
        assert_eq!(with("tsc\n", "").verdict, Verdict::Fit);
        assert_eq!(with("kvm-clock\n", "").verdict, Verdict::Fit);
        let slow = with("hpet\n", "hpet tsc\n");
        assert_eq!(slow.verdict, Verdict::Advice);
        assert!(slow.mend.expect("advice").starts_with("`echo tsc | sudo tee /sys/"));
        assert!(with("acpi_pm\n", "hpet acpi_pm\n").mend.expect("advice").contains("dmesg"));
        assert_eq!(with("refined-jiffies\n", "").verdict, Verdict::Unfit);
    }

    #[test]
    fn a_virtual_machine_is_known_by_its_flag_or_its_maker() {
        let verdict = |fixture: &Fixture| virtual_machine(&fixture.system()).verdict;
        assert_eq!(verdict(&Fixture::lab_pc()), Verdict::Fit);
        let flagged = Fixture::lab_pc().with("/proc/cpuinfo", "flags : fpu hypervisor sse2\n");
        assert_eq!(verdict(&flagged), Verdict::Advice);
        // The word elsewhere is no flag.
        let elsewhere = Fixture::lab_pc().with("/proc/cpuinfo", "model name : hypervisor\nflags : fpu nohypervisor\n");
        assert_eq!(verdict(&elsewhere), Verdict::Fit);
        let named = Fixture::lab_pc().with("/sys/class/dmi/id/sys_vendor", "QEMU\n");
        assert_eq!(virtual_machine(&named.system()).seen, "yes (QEMU)");
    }
}
