//! The processors: how many, which one is kept free for the loop, and what else comes to it.

use super::finding::{Finding, Topic};
use super::system::{System, Unread, format_cpus, parse_cpus};

const COUNT: Topic = Topic {
    id: "processors",
    why: "The haptic, simulation, collision and control threads run at the same time; fewer processors make them wait.",
};
const ISOLATION: Topic =
    Topic { id: "isolation", why: "On a processor kept free no other program and few kernel threads delay the loop." };
const SIBLING: Topic = Topic {
    id: "smt",
    why: "Two threads of one core share its caches and units, so work on the sibling slows the loop unpredictably.",
};
const INTERRUPTS: Topic = Topic {
    id: "interrupts",
    why: "A device interrupt on the loop's processor delays the tick by the time its handler takes.",
};

/// One processor per thread of hapticd.
const CPUS_WANTED: usize = 4;
/// Interrupts named one by one; the rest are counted.
const NAMED: usize = 3;

/// Directory of the processors.
pub(super) const CPU_DIR: &str = "/sys/devices/system/cpu";

/// Processors this process may use by default, and those kept free, which it may ask for.
fn usable(system: &System) -> Result<Vec<usize>, Unread> {
    let status = system.read("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).and_then(parse_cpus);
    let mut cpus = match allowed {
        Some(allowed) if !allowed.is_empty() => allowed,
        _ => system.cpus(&format!("{CPU_DIR}/online"))?,
    };
    cpus.extend(system.cpus(&format!("{CPU_DIR}/isolated")).unwrap_or_default());
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// The processor the loop would run on: the one asked for, else the last that is kept free, else the last there is.
///
/// # Errors
/// A sentence when the one asked for is not there.
pub(super) fn choose(system: &System, asked: Option<usize>) -> Result<usize, String> {
    if let Some(cpu) = asked {
        return match system.cpus(&format!("{CPU_DIR}/online")) {
            Ok(online) if !online.contains(&cpu) => {
                Err(format!("--cpu {cpu}: there is no such processor, choose one of {}", format_cpus(&online)))
            }
            _ => Ok(cpu),
        };
    }
    let isolated = system.cpus(&format!("{CPU_DIR}/isolated")).unwrap_or_default();
    let last = || usable(system).unwrap_or_default().last().copied();
    Ok(isolated.last().copied().or_else(last).unwrap_or(0))
}

/// How many processors there are for hapticd.
pub(super) fn count(system: &System) -> Finding {
    let usable = match usable(system) {
        Ok(usable) => usable,
        Err(unread) => return COUNT.unread(&unread),
    };
    let online = system.cpus(&format!("{CPU_DIR}/online")).unwrap_or_default();
    let seen = format!("{} for this process ({})", usable.len(), format_cpus(&usable));
    if usable.len() >= CPUS_WANTED {
        COUNT.fit(seen)
    } else if online.len() >= CPUS_WANTED {
        COUNT.advice(
            format!("{seen}, of {} online", online.len()),
            "widen the set: `taskset`, AllowedCPUs= or CPUAffinity= in the systemd unit, the container's cpuset",
        )
    } else {
        COUNT.advice(seen, format!("use a PC (or give the virtual machine) {CPUS_WANTED} processors or more"))
    }
}

/// Whether a processor is kept free for the loop.
pub(super) fn isolation(system: &System, cpu: usize) -> Finding {
    let isolated = match system.cpus(&format!("{CPU_DIR}/isolated")) {
        Ok(isolated) => isolated,
        Err(unread) => return ISOLATION.unread(&unread),
    };
    if isolated.contains(&cpu) {
        return ISOLATION.fit(format!("processor {cpu} is kept free"));
    }
    if let Some(free) = isolated.last() {
        let mend = format!("`cpu = {free}` under [realtime] in hapticd.toml, or `--cpu {free}`");
        return ISOLATION.advice(format!("processor {cpu} is not kept free, {} is", format_cpus(&isolated)), mend);
    }
    let online = system.cpus(&format!("{CPU_DIR}/online")).unwrap_or_default();
    if online == [cpu] {
        return ISOLATION.fit("there is one processor only, none to keep free");
    }
    // A sibling left to others would undo it.
    let cores = siblings(system, cpu).map_or_else(|_| cpu.to_string(), |cpus| format_cpus(&cpus));
    let boot = system.boot_with(&format!("isolcpus={cores} nohz_full={cores} rcu_nocbs={cores}"));
    ISOLATION
        .advice("no processor is kept free", format!("{boot}; then `cpu = {cpu}` under [realtime] in hapticd.toml"))
}

/// Threads of the core that `cpu` belongs to, itself included.
fn siblings(system: &System, cpu: usize) -> Result<Vec<usize>, Unread> {
    let siblings = system.cpus(&format!("{CPU_DIR}/cpu{cpu}/topology/thread_siblings_list"))?;
    Ok(if siblings.is_empty() { vec![cpu] } else { siblings })
}

/// Whether the loop shares its core with another thread of it.
pub(super) fn smt(system: &System, cpu: usize) -> Finding {
    match system.read(&format!("{CPU_DIR}/smt/active")) {
        Ok(active) if active != "1" => return SIBLING.fit("off, or not offered by the processor"),
        Ok(_) => {}
        Err(unread) if unread.absent && system.exists(CPU_DIR) => return SIBLING.fit("not offered by the kernel"),
        Err(unread) => return SIBLING.unread(&unread),
    }
    let others: Vec<usize> = match siblings(system, cpu) {
        Ok(siblings) => siblings.into_iter().filter(|sibling| *sibling != cpu).collect(),
        Err(unread) => return SIBLING.unread(&unread),
    };
    let isolated = system.cpus(&format!("{CPU_DIR}/isolated")).unwrap_or_default();
    if others.iter().all(|other| isolated.contains(other)) {
        return SIBLING.fit(format!("on, but no other program shares the core of processor {cpu}"));
    }
    let off: Vec<String> =
        others.iter().map(|other| format!("`echo 0 | sudo tee {CPU_DIR}/cpu{other}/online`")).collect();
    SIBLING.advice(
        format!("on: processor {cpu} shares its core with {}", format_cpus(&others)),
        format!("{} (until the next boot), or switch it off in the firmware (BIOS)", off.join(" and ")),
    )
}

/// A device interrupt as `/proc/interrupts` has it.
#[derive(Debug, PartialEq, Eq)]
struct Interrupt {
    number: u32,
    count: u64,
    name: String,
}

/// Device interrupts that have come to `cpu`.
fn interrupts_at(table: &str, cpu: usize) -> Vec<Interrupt> {
    let mut lines = table.lines();
    // Offline processors have no column: go by the names of those that have.
    let columns: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let Some(column) = columns.iter().position(|name| *name == format!("CPU{cpu}")) else { return Vec::new() };
    let mut found: Vec<Interrupt> = lines
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            // Only devices have a number; the kernel's own (timer, calls between processors) have letters.
            let number = number.trim().parse().ok()?;
            let words: Vec<&str> = rest.split_whitespace().collect();
            let count = words.get(column)?.parse().ok()?;
            let name = words.get(columns.len()..)?.last().unwrap_or(&"unnamed");
            Some(Interrupt { number, count, name: (*name).to_owned() })
        })
        .filter(|interrupt| interrupt.count > 0)
        .collect();
    found.sort_by_key(|interrupt| std::cmp::Reverse(interrupt.count));
    found
}

/// Device interrupts that come to the loop's processor.
pub(super) fn interrupts(system: &System, cpu: usize) -> Finding {
    let table = match system.read("/proc/interrupts") {
        Ok(table) => table,
        Err(unread) => return INTERRUPTS.unread(&unread),
    };
    let others: Vec<usize> = system
        .cpus(&format!("{CPU_DIR}/online"))
        .unwrap_or_default()
        .into_iter()
        .filter(|other| *other != cpu)
        .collect();
    if others.is_empty() {
        return INTERRUPTS.fit("no other processor is seen that could take them");
    }
    // What came once may go elsewhere by now; what the kernel does not tell still counts.
    let comes = |interrupt: &Interrupt| {
        let dir = format!("/proc/irq/{}", interrupt.number);
        let where_to = system
            .cpus(&format!("{dir}/effective_affinity_list"))
            .or_else(|_| system.cpus(&format!("{dir}/smp_affinity_list")));
        where_to.map_or(true, |cpus| cpus.contains(&cpu))
    };
    let coming: Vec<Interrupt> = interrupts_at(&table, cpu).into_iter().filter(comes).collect();
    if coming.is_empty() {
        return INTERRUPTS.fit(format!("none of a device come to processor {cpu}"));
    }
    let named: Vec<String> = coming
        .iter()
        .take(NAMED)
        .map(|interrupt| format!("{} {} ({} so far)", interrupt.number, interrupt.name, interrupt.count))
        .collect();
    let more = coming.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let numbers: Vec<String> = coming.iter().map(|interrupt| interrupt.number.to_string()).collect();
    let mut mend = format!(
        "`for i in {}; do echo {} | sudo tee /proc/irq/$i/smp_affinity_list; done`",
        numbers.join(" "),
        format_cpus(&others)
    );
    if is_running(system, "irqbalance") {
        mend = format!(
            "the line `IRQBALANCE_BANNED_CPULIST={cpu}` in /etc/default/irqbalance, then `sudo systemctl restart \
             irqbalance`, then {mend}"
        );
    }
    INTERRUPTS.advice(format!("come to processor {cpu}: {}{more}", named.join(", ")), mend)
}

/// Whether a program of that name runs, as far as this user may see.
fn is_running(system: &System, program: &str) -> bool {
    let processes = system.list("/proc", "").unwrap_or_default();
    processes
        .iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .any(|process| system.read(&format!("/proc/{process}/comm")).is_ok_and(|name| name == program))
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::fixture::Fixture;
    use super::*;

    fn cpu_file(name: &str) -> String {
        format!("{CPU_DIR}/{name}")
    }

    #[test]
    fn the_loop_goes_where_it_is_asked_to_then_where_it_is_free_then_to_the_last() {
        let free = Fixture::lab_pc();
        assert_eq!((choose(&free.system(), Some(2)), choose(&free.system(), None)), (Ok(2), Ok(7)));
        let busy = Fixture::lab_pc().with(&cpu_file("isolated"), "\n");
        assert_eq!(choose(&busy.system(), None), Ok(6));
        let unlisted = Fixture::empty().with(&cpu_file("online"), "0-3\n");
        assert_eq!(choose(&unlisted.system(), None), Ok(3));
        assert_eq!(choose(&Fixture::empty().system(), None), Ok(0));
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused_with_those_that_are() {
        let error = choose(&Fixture::lab_pc().system(), Some(8)).expect_err("there are eight, from 0");
        assert!(error.contains("--cpu 8") && error.ends_with("0-7"), "{error}");
        // Without the list there is nothing to refuse it by.
        assert_eq!(choose(&Fixture::empty().system(), Some(8)), Ok(8));
    }

    #[test]
    fn too_few_processors_and_too_narrow_a_set_get_different_advice() {
        let finding = count(&Fixture::lab_pc().system());
        assert_eq!((finding.verdict, finding.seen.as_str()), (Verdict::Fit, "8 for this process (0-7)"));
        let narrow =
            Fixture::lab_pc().with("/proc/self/status", "Cpus_allowed_list:\t2-3\n").with(&cpu_file("isolated"), "");
        let finding = count(&narrow.system());
        assert_eq!(
            (finding.verdict, finding.seen.as_str()),
            (Verdict::Advice, "2 for this process (2-3), of 8 online")
        );
        assert!(finding.mend.expect("advice").contains("taskset"));
        let small = Fixture::empty().with(&cpu_file("online"), "0-1\n");
        assert!(count(&small.system()).mend.expect("advice").contains("use a PC"));
    }

    #[test]
    fn keeping_a_processor_free_takes_its_sibling_along() {
        assert_eq!(isolation(&Fixture::lab_pc().system(), 7).verdict, Verdict::Fit);
        let other = isolation(&Fixture::lab_pc().system(), 3);
        assert!(other.mend.expect("advice").contains("`cpu = 7`"));
        let none = Fixture::lab_pc()
            .with(&cpu_file("isolated"), "\n")
            .with(&cpu_file("cpu6/topology/thread_siblings_list"), "2,6\n");
        let finding = isolation(&none.system(), 6);
        assert_eq!(finding.verdict, Verdict::Advice);
        let mend = finding.mend.expect("advice");
        assert!(mend.contains("isolcpus=2,6 nohz_full=2,6 rcu_nocbs=2,6") && mend.contains("update-grub"), "{mend}");
        let single = Fixture::empty().with(&cpu_file("isolated"), "").with(&cpu_file("online"), "0");
        assert_eq!(isolation(&single.system(), 0).verdict, Verdict::Fit);
    }

    #[test]
    fn a_sibling_matters_only_while_others_may_use_it() {
        let siblings = cpu_file("cpu7/topology/thread_siblings_list");
        let shared = Fixture::lab_pc().with(&cpu_file("smt/active"), "1\n").with(&siblings, "3,7\n");
        let finding = smt(&shared.system(), 7);
        assert_eq!(finding.verdict, Verdict::Advice);
        assert!(finding.mend.expect("advice").contains("/sys/devices/system/cpu/cpu3/online"));
        let both_free = shared.with(&cpu_file("isolated"), "3,7\n");
        assert_eq!(smt(&both_free.system(), 7).verdict, Verdict::Fit);
        assert_eq!(smt(&Fixture::lab_pc().system(), 7).verdict, Verdict::Fit);
        assert_eq!(smt(&Fixture::lab_pc().without(&cpu_file("smt")).system(), 7).verdict, Verdict::Fit);
        let lost = Fixture::lab_pc().with(&cpu_file("smt/active"), "1\n");
        assert!(smt(&lost.system(), 7).seen.contains("could not be read"));
    }

    #[test]
    fn interrupts_are_read_by_the_name_of_the_column() {
        let table = "       CPU0  CPU2\n 9: 1 0 IO-APIC 9-fasteoi acpi\n 36: 5 77 PCI-MSIX 1-edge i2c, eth0\n \
                     37: 0 99 PCI-MSIX 2-edge nvme0q1\nLOC: 7 8 Local timer interrupts\nERR: 0\n";
        let found = interrupts_at(table, 2);
        let names: Vec<(u32, u64, &str)> = found.iter().map(|i| (i.number, i.count, i.name.as_str())).collect();
        assert_eq!(names, [(37, 99, "nvme0q1"), (36, 77, "eth0")]);
        assert_eq!(interrupts_at(table, 1), [], "an offline processor has no column");
        assert_eq!(interrupts_at("", 0), []);
        assert_eq!(interrupts_at("CPU0\n5:\n6: x\n7: 3\n", 0)[0].name, "unnamed");
    }

    #[test]
    fn interrupts_that_still_come_are_sent_elsewhere_and_those_already_moved_are_left_alone() {
        let table = "CPU0 CPU7\n36: 900 40 PCI-MSIX 1-edge eth0\n37: 0 9 PCI-MSIX 2-edge nvme0q7\n";
        let fixture = Fixture::lab_pc().with("/proc/interrupts", table);
        // 36 goes to processor 0 by now; nothing is known of 37.
        let finding = interrupts(&fixture.system(), 7);
        assert_eq!(finding.seen, "come to processor 7: 37 nvme0q7 (9 so far)");
        let mend = finding.mend.expect("advice");
        assert_eq!(mend, "`for i in 37; do echo 0-6 | sudo tee /proc/irq/$i/smp_affinity_list; done`");
        let balanced = fixture.with("/proc/812/comm", "irqbalance\n");
        assert!(interrupts(&balanced.system(), 7).mend.expect("advice").contains("IRQBALANCE_BANNED_CPULIST=7"));
        let moved = balanced.with("/proc/irq/37/smp_affinity_list", "0-6\n");
        assert_eq!(interrupts(&moved.system(), 7).verdict, Verdict::Fit);
        assert_eq!(interrupts(&Fixture::lab_pc().system(), 7).verdict, Verdict::Fit);
    }
}
