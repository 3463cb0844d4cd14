//! Files that people name: ordinary ones only, opened and read without waiting for anybody.
//!
//! Thread: cold.
//!
//! A name may lead to a FIFO, whose opening waits for a writer, to a device, whose opening may do something, or into a file system that the
//! kernel makes up, where a read can wait for ever (`/proc/kmsg`). None of these holds a mesh, a model or a scene.

use rustix::fs::fstatfs;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Types of file systems that hold no files but answers of the kernel: proc, sysfs, debugfs, tracefs (statfs(2)).
const MADE_UP: [u32; 4] = [0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163];

/// Opens an ordinary file for reading.
///
/// # Errors
/// When it is none, or cannot be opened; a directory is told apart by its kind of error.
pub fn open(path: &Path) -> io::Result<File> {
    // Looked at before it is opened: opening a device may do something.
    check(&std::fs::metadata(path)?)?;
    let mut options = File::options();
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = options.read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    // And again: another may have taken its place meanwhile.
    check(&file.metadata()?)?;
    let system = fstatfs(&file)?.f_type as u32;
    if MADE_UP.contains(&system) { Err(not_ordinary()) } else { Ok(file) }
}

/// Reads an ordinary file of at most `most` bytes; one byte more is read of a longer one, so that the caller can tell.
///
/// # Errors
/// As [`open`], or when it cannot be read.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check(found: &std::fs::Metadata) -> io::Result<()> {
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if found.is_file() { Ok(()) } else { Err(not_ordinary()) }
}

fn not_ordinary() -> io::Error {
    io::Error::other("it is not an ordinary file; name a file on a disk")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ordinary_files_are_read_and_nothing_is_waited_for() {
        let directory = std::env::temp_dir().join(format!("hapticd-ordinary-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let fifo = directory.join("mesh.stl");
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        );
        made.expect("a FIFO");
        // Nobody writes into it: opening it in the usual way would not return.
        for path in [fifo.as_path(), Path::new("/dev/zero"), Path::new("/proc/kmsg"), Path::new("/proc/self/status")] {
            let said = read(path, 100).expect_err("it is no ordinary file").to_string();
            // Without rights the system refuses first.
            assert!(said.contains("ordinary file") || said.contains("ermi"), "{}: {said}", path.display());
        }
        assert_eq!(read(&directory, 100).expect_err("a directory").kind(), ErrorKind::IsADirectory);
        let file = directory.join("file");
        std::fs::write(&file, [7; 10]).expect("written");
        assert_eq!((read(&file, 10).expect("it is there").len(), read(&file, 5).expect("it is there").len()), (10, 6));
        std::fs::remove_dir_all(&directory).expect("it can be removed");
    }
}
