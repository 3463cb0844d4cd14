//! Made-up systems for the tests: a tree of files in a temporary directory, gone when dropped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::system::{Calls, Node, System};

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A tree of files.
pub(super) struct Fixture {
    dir: PathBuf,
    calls: Calls,
}

impl Fixture {
    /// A system without any file, on which every node could be used.
    pub(super) fn empty() -> Self {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("hapticd-doctor-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("the temporary directory is writable");
        let calls = Calls {
            may_use: |path| path.exists(),
            // Root's alone, as udev leaves nodes it has no rule for.
            node: |path| path.exists().then_some(Node { mode: 0o600, gid: 0 }),
            free_bytes: |_| Some(500 << 30),
        };
        Self { dir, calls }
    }

    /// A lab PC as it should be: eight processors of which the last is kept free, real-time kernel, two devices.
    pub(super) fn lab_pc() -> Self {
        let mut pc = Self::empty()
            .with("/proc/version", "Linux version 6.12.48+deb13-rt-amd64 (a@b) (gcc 14) #1 SMP PREEMPT_RT Debian 6.12")
            .with("/sys/kernel/realtime", "1\n")
            .with("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 13\"\nID=debian\n")
            .with("/proc/sys/kernel/sched_rt_runtime_us", "950000\n")
            .with("/proc/sys/kernel/sched_rt_period_us", "1000000\n")
            .with("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse2 avx2\n")
            .with("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition\t8388604\t0\t-2\n")
            .with("/proc/meminfo", "MemTotal: 32000000 kB\nMemAvailable: 20000000 kB\n")
            .with("/proc/self/limits", &limits("85", "unlimited"))
            .with("/proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t20 44\nCpus_allowed_list:\t0-6\n")
            .with("/proc/interrupts", "      CPU0 CPU7\n 24: 5 0 IO-APIC 5-edge acpi\n 36: 900 0 PCI-MSIX 1-edge nvme0q1\nLOC: 9 9 Local timer\n")
            .with("/proc/irq/36/effective_affinity_list", "0\n")
            .with("/sys/class/dmi/id/sys_vendor", "LENOVO\n")
            .with("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
            .with("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n")
            .with("/sys/devices/system/cpu/online", "0-7\n")
            .with("/sys/devices/system/cpu/isolated", "7\n")
            .with("/sys/devices/system/cpu/smt/active", "0\n")
            .with("/sys/devices/system/cpu/cpu7/cpuidle/state0/latency", "2\n")
            .with("/sys/devices/system/cpu/cpu7/cpuidle/state1/latency", "890\n")
            .with("/dev/cpu_dma_latency", "")
            .with("/dev/ttyUSB0", "")
            .with("/dev/hidraw0", "")
            .with("/dev/dri/renderD128", "")
            .with("/sys/bus/usb-serial/devices/ttyUSB0/latency_timer", "1\n")
            .with("/sys/class/hidraw/hidraw0/device/uevent", "HID_ID=0003:00001209:0000AB01\nHID_NAME=Lab Handle\n")
            .with("/sys/bus/usb/devices/1-2/power/control", "on\n")
            .with("/sys/bus/usb/devices/1-2/idVendor", "0403\n")
            .with("/sys/bus/usb/devices/1-2/idProduct", "6001\n")
            .with("/sys/bus/usb/devices/1-2:1.0/bInterfaceClass", "ff\n")
            .with("/sys/bus/usb/devices/1-2:1.0/ttyUSB0/port_number", "0\n")
            .with("/var/lib/hapticd/.keep", "");
        for cpu in 0..8 {
            pc = pc.with(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"), "performance\n");
        }
        pc
    }

    /// Writes a file, making its directories.
    pub(super) fn with(self, path: &str, text: &str) -> Self {
        let file = self.path(path);
        std::fs::create_dir_all(file.parent().expect("a file has a directory")).expect("writable");
        std::fs::write(file, text).expect("writable");
        self
    }

    /// Removes a file or a directory with all in it.
    pub(super) fn without(self, path: &str) -> Self {
        let path = self.path(path);
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.expect("it was there");
        self
    }

    /// Answers questions about rights by `may_use`.
    pub(super) fn where_usable(mut self, may_use: fn(&Path) -> bool) -> Self {
        self.calls.may_use = may_use;
        self
    }

    /// Answers questions about group and permissions by `node`.
    pub(super) fn with_nodes(mut self, node: fn(&Path) -> Option<Node>) -> Self {
        self.calls.node = node;
        self
    }

    /// Answers questions about room by `free_bytes`.
    pub(super) fn with_room(mut self, free_bytes: fn(&Path) -> Option<u64>) -> Self {
        self.calls.free_bytes = free_bytes;
        self
    }

    /// Where a file of the made-up system really is.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.dir.join(path.trim_start_matches('/'))
    }

    pub(super) fn system(&self) -> System {
        System::at(self.dir.clone(), self.calls)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // Nothing depends on it: the system clears its temporary directory itself.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// `/proc/self/limits` with these limits for real-time priority and locked memory.
pub(super) fn limits(priority: &str, memory: &str) -> String {
    format!(
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max locked memory         {memory:<20} {memory:<20} bytes     \n\
         Max realtime priority     {priority:<20} {priority:<20}           \n\
         Max realtime timeout      unlimited            unlimited            us        \n"
    )
}
