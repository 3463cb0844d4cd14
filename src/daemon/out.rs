//! Standard output and error of commands, which may be closed while a command writes.
//!
//! Thread: cold.
//!
//! `print!` panics when its reader has gone, as `head` goes after ten lines. Whoever has gone wants no more: what cannot be written is
//! dropped, and the command goes on, because it may hold a device.

use std::fmt;
use std::io::{self, ErrorKind, Write};

/// Writes to standard output.
pub(super) fn put(text: fmt::Arguments<'_>) {
    let mut stdout = io::stdout();
    if let Err(error) = stdout.write_fmt(text).and_then(|()| stdout.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        note(format_args!("cannot write to standard output: {error}\n"));
    }
}

/// Writes to standard error.
pub(super) fn note(text: fmt::Arguments<'_>) {
    // Nobody is left who could be told.
    let _ = io::stderr().write_fmt(text);
}
