//! What this user may ask of the kernel: real-time scheduling and locked memory. Tried, not only looked up.

use super::finding::{Finding, Topic};
use super::system::System;
use crate::shared::realtime::{self, MemoryLock, Policy, RealtimeError, RealtimeRequest};

const RIGHTS: Topic = Topic {
    id: "realtime-rights",
    why: "Without SCHED_FIFO every other program may run first, and the force stalls whenever the PC is busy.",
};
const MEMORY: Topic =
    Topic { id: "memory-lock", why: "A page that is not locked in memory can make a tick wait for the disk." };

/// Priority asked for: the default of the haptic thread.
const PRIORITY: u8 = 80;
/// The group that docs/realtime.md gives the rights to.
const JOIN: &str = "`sudo groupadd -f realtime && sudo usermod -aG realtime \"$USER\"`";
/// Where the limits of a login are set.
const LIMITS: &str = "/etc/security/limits.d/hapticd.conf";

/// What a thread got that asked for everything.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) policy: Policy,
    pub(super) memory: MemoryLock,
    pub(super) refusals: Vec<RealtimeError>,
}

/// Asks for the rights of the haptic thread on a thread that ends at once. Locked memory stays locked: the measurement
/// that follows wants it so.
pub(super) fn probe() -> Result<Probe, String> {
    let thread = std::thread::Builder::new().name("doctor-probe".to_owned()).spawn(|| {
        let got = realtime::acquire(&RealtimeRequest { priority: PRIORITY, ..RealtimeRequest::default() });
        Probe { policy: got.status.policy, memory: got.status.memory, refusals: got.refusals }
    });
    let thread = thread.map_err(|error| format!("a thread could not be started: {error}"))?;
    thread.join().map_err(|_| "the thread that asked for the rights ended early".to_owned())
}

/// A soft limit from the kernel's table of this process.
fn limit(system: &System, name: &str) -> Option<String> {
    let table = system.read("/proc/self/limits").ok()?;
    let rest = table.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// Real-time scheduling.
pub(super) fn scheduling(system: &System, probe: &Result<Probe, String>) -> Finding {
    let limit = limit(system, "Max realtime priority").unwrap_or_else(|| "could not be read".to_owned());
    let probe = match probe {
        Ok(probe) => probe,
        Err(error) => return RIGHTS.unfit(error, "free memory and processes (`ulimit -u`), then ask again"),
    };
    if let Policy::Fifo(priority) = probe.policy {
        let root = system.identity().is_some_and(|identity| identity.uid == 0);
        let note = if root { "; to root, so ask again as the user who will run hapticd" } else { "" };
        return RIGHTS.fit(format!("SCHED_FIFO {priority} granted (limit {limit}){note}"));
    }
    let by_limit = probe.refusals.iter().any(|refusal| matches!(refusal, RealtimeError::PriorityLimit { .. }));
    if by_limit {
        let mend = format!(
            "{JOIN}, `echo \"@realtime - rtprio 85\" | sudo tee -a {LIMITS}`, log in again; under systemd LimitRTPRIO=85"
        );
        RIGHTS.unfit(format!("SCHED_FIFO {PRIORITY} refused: the limit is {limit} (ulimit -r)"), mend)
    } else {
        RIGHTS.unfit(
            format!("SCHED_FIFO {PRIORITY} refused although the limit is {limit}: a sandbox forbids it"),
            "in the systemd unit RestrictRealtime=no and no @resources in SystemCallFilter=~; in a container \
             --cap-add=SYS_NICE",
        )
    }
}

/// Locked memory.
pub(super) fn memory(system: &System, probe: &Result<Probe, String>) -> Finding {
    let mend = format!(
        "{JOIN}, `echo \"@realtime - memlock unlimited\" | sudo tee -a {LIMITS}`, log in again; under systemd \
         LimitMEMLOCK=infinity"
    );
    let limit = match limit(system, "Max locked memory") {
        Some(bytes) if bytes.parse::<u64>().is_ok() => format!("{bytes} bytes"),
        Some(word) => word,
        None => "could not be read".to_owned(),
    };
    match probe.as_ref().map(|probe| probe.memory) {
        Ok(MemoryLock::PresentAndFuture) => MEMORY.fit(format!("all of it locks (limit {limit})")),
        Ok(MemoryLock::Present) => {
            MEMORY.advice(format!("only what is there at the start locks (limit {limit}, ulimit -l)"), mend)
        }
        Ok(MemoryLock::None) => MEMORY.unfit(format!("refused: the limit is {limit} (ulimit -l)"), mend),
        Err(error) => MEMORY.unfit(error, "free memory and processes (`ulimit -u`), then ask again"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::fixture::{Fixture, limits};
    use super::*;

    fn got(policy: Policy, memory: MemoryLock, refusals: Vec<RealtimeError>) -> Result<Probe, String> {
        Ok(Probe { policy, memory, refusals })
    }

    #[test]
    fn granted_rights_are_fit_and_root_is_told_that_they_are_roots() {
        let probe = got(Policy::Fifo(80), MemoryLock::PresentAndFuture, Vec::new());
        let user = Fixture::lab_pc();
        let finding = scheduling(&user.system(), &probe);
        assert_eq!((finding.verdict, finding.seen.as_str()), (Verdict::Fit, "SCHED_FIFO 80 granted (limit 85)"));
        assert_eq!(memory(&user.system(), &probe).seen, "all of it locks (limit unlimited)");
        let root = Fixture::lab_pc().with("/proc/self/status", "Uid: 0 0 0 0\nGid: 0 0 0 0\nGroups:\n");
        assert!(scheduling(&root.system(), &probe).seen.contains("to root"));
    }

    #[test]
    fn a_refusal_by_the_limit_names_the_limit_and_the_line_that_raises_it() {
        let fixture = Fixture::lab_pc().with("/proc/self/limits", &limits("0", "8388608"));
        let refusals = vec![
            RealtimeError::MemoryLimit { limit_bytes: 8 << 20 },
            RealtimeError::PriorityLimit { priority: 80, limit: 0 },
        ];
        let probe = got(Policy::Ordinary, MemoryLock::None, refusals);
        let (priority, memory) = (scheduling(&fixture.system(), &probe), memory(&fixture.system(), &probe));
        assert_eq!((priority.verdict, memory.verdict), (Verdict::Unfit, Verdict::Unfit));
        assert!(priority.seen.contains("the limit is 0"), "{}", priority.seen);
        assert!(priority.mend.expect("unfit").contains("@realtime - rtprio 85"));
        assert!(memory.seen.contains("8388608 bytes"), "{}", memory.seen);
        assert!(memory.mend.expect("unfit").contains("@realtime - memlock unlimited"));
    }

    #[test]
    fn a_sandbox_that_refuses_against_the_limit_is_called_one() {
        let refusals = vec![RealtimeError::PriorityBlocked { priority: 80 }];
        let finding = scheduling(&Fixture::lab_pc().system(), &got(Policy::Ordinary, MemoryLock::None, refusals));
        assert_eq!(finding.verdict, Verdict::Unfit);
        assert!(finding.mend.expect("unfit").contains("RestrictRealtime=no"));
    }

    #[test]
    fn memory_that_locks_only_at_the_start_is_advice() {
        let finding = memory(&Fixture::lab_pc().system(), &got(Policy::Fifo(80), MemoryLock::Present, Vec::new()));
        assert_eq!(finding.verdict, Verdict::Advice);
    }

    #[test]
    fn without_a_thread_or_a_table_of_limits_there_is_still_a_finding() {
        let empty = Fixture::empty();
        let failed = Err("a thread could not be started: no room".to_owned());
        assert_eq!(scheduling(&empty.system(), &failed).verdict, Verdict::Unfit);
        assert_eq!(memory(&empty.system(), &failed).verdict, Verdict::Unfit);
        let probe = got(Policy::Fifo(80), MemoryLock::PresentAndFuture, Vec::new());
        assert!(scheduling(&empty.system(), &probe).seen.contains("could not be read"));
        assert!(memory(&empty.system(), &probe).seen.contains("could not be read"));
    }

    #[test]
    fn the_probe_reports_what_the_kernel_granted_and_leaves_the_caller_as_it_was() {
        let before = realtime::current_policy();
        let probe = probe().expect("a thread can be started");
        assert_eq!(realtime::current_policy(), before);
        let refused = probe.refusals.iter().any(|refusal| {
            matches!(
                refusal,
                RealtimeError::PriorityLimit { .. }
                    | RealtimeError::PriorityBlocked { .. }
                    | RealtimeError::System { .. }
            )
        });
        assert!(refused || probe.policy == Policy::Fifo(PRIORITY), "{probe:?}");
    }
}
