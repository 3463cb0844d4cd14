//! The system as the doctor sees it: files below a root, and the few questions that no file answers.
//!
//! Everything is read below one directory, `/` in production and a made-up tree in tests. Nothing is opened that could
//! disturb: opening a serial port raises its modem lines, which resets many boards, so rights to device nodes are asked
//! of the kernel with access(2). The mode bits alone would miss what udev grants by access lists.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::Access;

/// Highest processor number believed, so that a garbled list cannot ask for all memory. Linux allows 8192.
const CPU_MAX: usize = 8192;

/// Questions to the kernel that no file answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    /// May this process read and write the file?
    pub(super) may_use: fn(&Path) -> bool,
    /// Group and permissions of the file.
    pub(super) node: fn(&Path) -> Option<Node>,
    /// Bytes this user may still write to the file system of a directory.
    pub(super) free_bytes: fn(&Path) -> Option<u64>,
}

impl Calls {
    fn kernel() -> Self {
        Self {
            may_use: |path| rustix::fs::access(path, Access::READ_OK | Access::WRITE_OK).is_ok(),
            node: |path| {
                let metadata = std::fs::metadata(path).ok()?;
                Some(Node { mode: metadata.mode(), gid: metadata.gid() })
            },
            free_bytes: |path| {
                let volume = rustix::fs::statvfs(path).ok()?;
                volume.f_bavail.checked_mul(volume.f_frsize)
            },
        }
    }
}

/// A fact that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    /// The file, as seen from the root.
    pub(super) path: String,
    /// What the system said, or what is wrong with the content.
    pub(super) reason: String,
    /// There is no such file; the fact may simply not exist on this PC.
    pub(super) absent: bool,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not be read: {} ({})", self.path, self.reason)
    }
}

/// Group and permissions of a device node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) mode: u32,
    pub(super) gid: u32,
}

/// Who runs this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) uid: u32,
    /// Effective and supplementary groups of this process.
    pub(super) gids: BTreeSet<u32>,
}

/// A system rooted at a directory.
#[derive(Clone, Debug)]
pub(super) struct System {
    root: PathBuf,
    calls: Calls,
}

impl System {
    /// The system this process runs on.
    pub(super) fn this_pc() -> Self {
        Self { root: PathBuf::from("/"), calls: Calls::kernel() }
    }

    /// A made-up system.
    #[cfg(test)]
    pub(super) fn at(root: PathBuf, calls: Calls) -> Self {
        Self { root, calls }
    }

    fn below(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The content of a file without surrounding white space. Bytes that are no text are replaced, not refused.
    pub(super) fn read(&self, path: &str) -> Result<String, Unread> {
        let bytes = std::fs::read(self.below(path)).map_err(|error| unread(path, &error))?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// A file that holds one number.
    pub(super) fn number<T: FromStr>(&self, path: &str) -> Result<T, Unread> {
        let text = self.read(path)?;
        let reason = || format!("`{text}` is not the number expected");
        text.parse().map_err(|_| Unread { path: path.to_owned(), reason: reason(), absent: false })
    }

    /// A file that holds a list of processors such as `0-3,8`.
    pub(super) fn cpus(&self, path: &str) -> Result<Vec<usize>, Unread> {
        let text = self.read(path)?;
        let reason = || format!("`{text}` is no list of processors");
        parse_cpus(&text).ok_or_else(|| Unread { path: path.to_owned(), reason: reason(), absent: false })
    }

    /// Names in a directory that begin with `prefix`, in the order a person would count them.
    pub(super) fn list(&self, dir: &str, prefix: &str) -> Result<Vec<String>, Unread> {
        let entries = std::fs::read_dir(self.below(dir)).map_err(|error| unread(dir, &error))?;
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with(prefix))
            .collect();
        // Shorter first: ttyUSB2 before ttyUSB10.
        names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        Ok(names)
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.below(path).exists()
    }

    /// May this process read and write the file?
    pub(super) fn may_use(&self, path: &str) -> bool {
        (self.calls.may_use)(&self.below(path))
    }

    /// Bytes this user may still write below a directory.
    pub(super) fn free_bytes(&self, dir: &Path) -> Option<u64> {
        (self.calls.free_bytes)(&self.below(dir))
    }

    /// Group and permissions of a file.
    pub(super) fn node(&self, path: &str) -> Option<Node> {
        (self.calls.node)(&self.below(path))
    }

    pub(super) fn identity(&self) -> Option<Identity> {
        let status = self.read("/proc/self/status").ok()?;
        let numbers = |key: &str| -> Option<Vec<u32>> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        };
        // Real, effective, saved, file system: the second counts.
        let (uid, gid) = (*numbers("Uid:")?.get(1)?, *numbers("Gid:")?.get(1)?);
        Some(Identity { uid, gids: numbers("Groups:").unwrap_or_default().into_iter().chain([gid]).collect() })
    }

    /// The name of a group, if `/etc/group` has it.
    pub(super) fn group_name(&self, gid: u32) -> Option<String> {
        let groups = self.read("/etc/group").ok()?;
        let found = groups.lines().find(|line| field(line, 2) == Some(&gid.to_string()))?;
        field(found, 0).map(str::to_owned)
    }

    /// True when `/etc/group` has the user in the group, whatever this process has: it counts from the next login on.
    pub(super) fn is_member(&self, uid: u32, gid: u32) -> bool {
        let (passwd, groups) =
            (self.read("/etc/passwd").unwrap_or_default(), self.read("/etc/group").unwrap_or_default());
        let user = passwd.lines().find(|line| field(line, 2) == Some(&uid.to_string())).and_then(|line| field(line, 0));
        let group = groups.lines().find(|line| field(line, 2) == Some(&gid.to_string()));
        let members = group.and_then(|line| field(line, 3)).unwrap_or_default();
        user.is_some_and(|user| members.split(',').any(|member| member == user))
    }

    /// The distribution's short name, such as `debian`; empty when unknown.
    pub(super) fn distribution(&self) -> String {
        let release = self.read("/etc/os-release").unwrap_or_default();
        let id = release.lines().find_map(|line| line.strip_prefix("ID=")).unwrap_or_default();
        id.trim_matches(['"', '\'']).to_owned()
    }

    /// How to add arguments to the kernel's command line on this system.
    pub(super) fn boot_with(&self, arguments: &str) -> String {
        match self.distribution().as_str() {
            "debian" | "ubuntu" | "linuxmint" => format!(
                "add `{arguments}` to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, run `sudo update-grub`, reboot"
            ),
            "fedora" | "rhel" | "centos" | "rocky" | "almalinux" => {
                format!("`sudo grubby --update-kernel=ALL --args=\"{arguments}\"`, reboot")
            }
            _ => format!("add `{arguments}` to the kernel's command line, reboot"),
        }
    }
}

fn unread(path: &str, error: &io::Error) -> Unread {
    let absent = error.kind() == io::ErrorKind::NotFound;
    let reason = if absent { "there is none".to_owned() } else { error.kind().to_string() };
    Unread { path: path.to_owned(), reason, absent }
}

/// A field of a line in the style of `/etc/passwd`.
fn field(line: &str, index: usize) -> Option<&str> {
    line.split(':').nth(index)
}

/// Reads `0-3,8`. An empty text is an empty list.
pub(super) fn parse_cpus(text: &str) -> Option<Vec<usize>> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<usize>().ok()?, last.trim().parse::<usize>().ok()?);
        if first > last || last > CPU_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus.into_iter().collect())
}

/// Writes an ascending list the way the kernel does: `0-3,8`.
pub(super) fn format_cpus(cpus: &[usize]) -> String {
    let runs: Vec<String> = cpus
        .chunk_by(|a, b| *b == a + 1)
        .filter_map(|run| Some((run.first()?, run.last()?)))
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    runs.join(",")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;

    #[test]
    fn processor_lists_survive_reading_and_writing() {
        for text in ["", "0", "0-3", "0-3,8", "1,3,5-7,4096-4100"] {
            assert_eq!(format_cpus(&parse_cpus(text).expect("well formed")), text);
        }
        assert_eq!(parse_cpus("2,1,2"), Some(vec![1, 2]));
        for text in ["a", "3-1", "1-", "-1", "0-99999999999", "1;2"] {
            assert_eq!(parse_cpus(text), None, "{text}");
        }
    }

    #[test]
    fn a_missing_file_a_wrong_number_and_bytes_that_are_no_text_are_told_apart() {
        let fixture = Fixture::empty().with("/a", "seven").with("/list", "x-y");
        std::fs::write(fixture.path("/bytes"), [0xff, b'7', 0x00]).expect("writable");
        let system = fixture.system();
        let missing = system.read("/none").expect_err("there is none");
        assert!(missing.absent && missing.to_string() == "could not be read: /none (there is none)", "{missing}");
        let wrong = system.number::<u32>("/a").expect_err("no number");
        assert!(!wrong.absent && wrong.to_string().contains("`seven` is not the number expected"), "{wrong}");
        assert!(system.cpus("/list").expect_err("no list").reason.contains("no list of processors"));
        assert!(system.read("/bytes").expect("replaced").contains('7'));
        // A directory where a file should be.
        assert!(!system.read("/").expect_err("a directory").absent);
    }

    #[test]
    fn identity_is_the_effective_one_with_its_groups() {
        let status = "Name:\thapticd\nUid:\t1000\t1001\t0\t0\nGid:\t7\t8\t0\t0\nGroups:\t20 46 \n";
        let system = Fixture::empty().with("/proc/self/status", status);
        let identity = system.system().identity().expect("readable");
        assert_eq!(identity, Identity { uid: 1001, gids: [8, 20, 46].into() });
        assert_eq!(Fixture::empty().system().identity(), None);
    }

    #[test]
    fn membership_comes_from_the_group_file_and_not_from_a_name_that_merely_contains_it() {
        let fixture = Fixture::empty()
            .with("/etc/passwd", "root:x:0:0::/:/bin/sh\nann:x:1000:1000::/:/bin/sh\nanna:x:1001:1001::/:/bin/sh\n")
            .with("/etc/group", "root:x:0:\ndialout:x:20:anna\nplugdev:x:46:bob,ann\n");
        let system = fixture.system();
        assert!(system.is_member(1000, 46) && !system.is_member(1000, 20) && system.is_member(1001, 20));
        assert!(!system.is_member(4242, 20) && !system.is_member(1000, 4242));
        assert_eq!((system.group_name(20).as_deref(), system.group_name(21)), (Some("dialout"), None));
    }

    #[test]
    fn names_are_listed_as_a_person_counts() {
        let fixture = Fixture::empty().with("/dev/ttyUSB10", "").with("/dev/ttyUSB2", "").with("/dev/tty0", "");
        assert_eq!(fixture.system().list("/dev", "ttyUSB").expect("readable"), ["ttyUSB2", "ttyUSB10"]);
    }
}
