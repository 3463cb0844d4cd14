//! A page of memory that two processes share: one shows that it lives, the other watches it.
//!
//! Thread: any (RT safe), but for making it. The only place with memory of another process.
//!
//! Every word of the page ([`PulseWords`]) is an atomic number, so that whatever the other process does to it is at worst a wrong number. The
//! file behind it is sealed: neither process can shorten it under the other. The bytes that silence a device stand behind the
//! words and are read and written as a file.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::ptr::NonNull;
use std::sync::Arc;

use super::pulse_words::PulseWords;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Length of the page, bytes.
const LENGTH: usize = 4096;
/// Where the message stands in it: its length as 8 bytes, then itself.
const MESSAGE_AT: u64 = 2048;
/// Longest message, bytes.
pub const PULSE_MESSAGE_MAX: usize = 512;

/// The page in this process's memory.
struct Mapping(NonNull<PulseWords>);

// SAFETY: the mapping is process-wide and is touched through atomics alone.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the file. It must be at least [`LENGTH`] bytes long and sealed against shrinking.
    fn new(file: &OwnedFd) -> io::Result<Self> {
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the system chooses the place, so that no memory in use is replaced. The callers have checked that the file
        // has the length and keeps it: touching the page cannot fault.
        let place = unsafe { mmap(std::ptr::null_mut(), LENGTH, access, kind, file, 0)? };
        NonNull::new(place.cast()).map(Self).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
    }

    fn words(&self) -> &PulseWords {
        // SAFETY: the page is mapped for as long as `self` lives, is aligned to a page and longer than [`PulseWords`], every bit
        // pattern of which is valid; nobody has a `&mut` to it.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; no reference to it outlives `self`.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), LENGTH) };
    }
}

/// The page. Clones share it.
#[derive(Clone)]
pub struct Pulse {
    mapping: Arc<Mapping>,
    file: Arc<std::fs::File>,
}

impl Pulse {
    /// A new page, without a beat so far.
    ///
    /// # Errors
    /// When the system has no memory or descriptor left.
    pub fn new() -> io::Result<Self> {
        let file = memfd_create("hapticd-pulse", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, LENGTH as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::adopt(file)
    }

    /// The page of another process.
    ///
    /// # Errors
    /// When the file is none.
    pub fn adopt(file: OwnedFd) -> io::Result<Self> {
        let sealed = fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        if !sealed || fstat(&file)?.st_size != LENGTH as i64 {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        Ok(Self { mapping: Arc::new(Mapping::new(&file)?), file: Arc::new(file.into()) })
    }

    /// Shows that the watched process lives.
    pub fn beat(&self) {
        self.mapping.words().beat();
    }

    /// Beats so far.
    #[must_use]
    pub fn beats(&self) -> u64 {
        self.mapping.words().beats()
    }

    /// From now on a beat must not be late, or may be.
    pub fn arm(&self, armed: bool) {
        self.mapping.words().arm(armed);
    }

    /// Whether a beat must not be late.
    #[must_use]
    pub fn armed(&self) -> bool {
        self.mapping.words().armed()
    }

    /// The watched process ends in good order.
    pub fn finish(&self) {
        self.mapping.words().finish();
    }

    /// Whether it has.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.mapping.words().finished()
    }

    /// The watcher steps in.
    pub fn step_in(&self) {
        self.mapping.words().step_in();
    }

    /// The watcher has stepped in and the watched process has not taken note.
    #[must_use]
    pub fn silenced(&self) -> bool {
        self.mapping.words().silenced()
    }

    /// The watched process takes note.
    pub fn heed(&self) {
        self.mapping.words().heed();
    }

    /// Shows that the watcher lives.
    pub fn look(&self) {
        self.mapping.words().look();
    }

    /// Looks so far.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.mapping.words().looks()
    }

    /// Leaves a message for the watcher. Enters the system: not in every tick.
    ///
    /// # Errors
    /// When it is longer than [`PULSE_MESSAGE_MAX`].
    pub fn leave(&self, message: &[u8]) -> io::Result<()> {
        if message.len() > PULSE_MESSAGE_MAX {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        // In one call: a process that is ended has left all of it or nothing.
        let mut whole = [0; 8 + PULSE_MESSAGE_MAX];
        whole[..8].copy_from_slice(&(message.len() as u64).to_ne_bytes());
        whole[8..8 + message.len()].copy_from_slice(message);
        self.file.write_all_at(&whole[..8 + message.len()], MESSAGE_AT)
    }

    /// Takes the newest message into `out` and says how long it is; zero when there is none.
    pub fn message(&self, out: &mut [u8; PULSE_MESSAGE_MAX]) -> usize {
        let mut whole = [0; 8 + PULSE_MESSAGE_MAX];
        if self.file.read_exact_at(&mut whole, MESSAGE_AT).is_err() {
            return 0;
        }
        let (length, message) = whole.split_at(8);
        out.copy_from_slice(message);
        let length = length.try_into().map_or(0, u64::from_ne_bytes);
        usize::try_from(length).map_or(0, |length| if length <= PULSE_MESSAGE_MAX { length } else { 0 })
    }
}

impl AsFd for Pulse {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_end_says_the_other_sees() {
        let watched = Pulse::new().expect("a page");
        let watcher = Pulse::adopt(watched.as_fd().try_clone_to_owned().expect("a descriptor")).expect("the page");
        watched.beat();
        assert_eq!((watcher.beats(), watched.looks(), watcher.finished()), (1, 0, false));
        watcher.look();
        watcher.step_in();
        assert!(watched.silenced() && watched.looks() == 1);
        watched.heed();
        assert!(!watcher.silenced());
        let mut message = [0; PULSE_MESSAGE_MAX];
        assert_eq!(watcher.message(&mut message), 0);
        watched.leave(b"hush").expect("short");
        assert_eq!((watcher.message(&mut message), &message[..4]), (4, b"hush".as_slice()));
        assert!(watched.leave(&[0; PULSE_MESSAGE_MAX + 1]).is_err());
        watched.finish();
        assert!(watcher.finished());
    }

    #[test]
    fn a_file_that_could_be_shortened_is_refused() {
        let open = memfd_create("open", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("a file");
        ftruncate(&open, LENGTH as u64).expect("long enough");
        assert!(Pulse::adopt(open).is_err());
        let watched = Pulse::new().expect("a page");
        assert!(ftruncate(&watched, 0).is_err(), "the page keeps its length");
    }
}
