//! Files and directories that only their owner may read: recordings and fault data tell what a person's hand did.
//!
//! Thread: cold.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Read and written by the owner.
const FILE: u32 = 0o600;
/// Listed and entered by the owner.
const DIRECTORY: u32 = 0o700;

/// Options that make a file private; one that is there already keeps its rights.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(FILE);
    options
}

/// Makes a file, or empties the one that is there.
///
/// # Errors
/// When it cannot be made.
pub fn create(path: &Path) -> io::Result<File> {
    options().create(true).truncate(true).open(path)
}

/// Makes a directory with all above it; those that are there already keep their rights.
///
/// # Errors
/// When it cannot be made.
pub fn directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(path)
}
