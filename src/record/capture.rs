//! Ticks that are already there, as a recording: what happened around a fault.
//!
//! Thread: any but haptic; writes and waits for the disk.

use super::scribe::Scribe;
use super::{Provenance, RecordError};
use crate::haptic::TickRecord;
use crate::shared::MonoNs;
use std::path::Path;

/// Writes `ticks`, oldest first, as a recording of its own, dated so that the last of them is now.
///
/// # Errors
/// [`RecordError`] when the file cannot be made or written.
pub fn capture(path: &Path, ticks: &[TickRecord], provenance: &Provenance) -> Result<(), RecordError> {
    let mut scribe = Scribe::in_file(path, provenance.clone(), Vec::new())?;
    scribe.set_clock(ticks.last().map_or(MonoNs(0), |last| last.due));
    match ticks.iter().try_for_each(|record| scribe.tick(record)) {
        Ok(()) => scribe.finish().map(|_| ()),
        Err(error) => {
            scribe.abandon(&error);
            Err(error)
        }
    }
}
