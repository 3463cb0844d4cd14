//! What the readers ask for, recorded while they read: tests compare it with the tables of [`super::schema`].
//!
//! Thread: cold; each thread has its own record.

use std::cell::RefCell;

/// One key that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    /// Path of its table, with names and numbers: `operator.phase.1`.
    pub(crate) path: String,
    /// The key.
    pub(crate) key: String,
    /// What was wanted, as a person would be told.
    pub(crate) kind: String,
    /// The bounds put on it, likewise.
    pub(crate) limits: Vec<String>,
    /// Whether it had to be there.
    pub(crate) required: bool,
}

thread_local! {
    static RECORD: RefCell<Option<Vec<Asked>>> = const { RefCell::new(None) };
}

/// Adds to the record, if there is one.
pub(super) fn note(path: &str, key: &str, kind: &str, limits: &[String], required: bool) {
    RECORD.with_borrow_mut(|record| {
        if let Some(record) = record {
            let (path, key, kind) = (path.to_owned(), key.to_owned(), kind.to_owned());
            record.push(Asked { path, key, kind, limits: limits.to_vec(), required });
        }
    });
}

/// Everything that is asked for while `read` runs.
pub(crate) fn record<T>(read: impl FnOnce() -> T) -> (T, Vec<Asked>) {
    RECORD.set(Some(Vec::new()));
    let value = read();
    (value, RECORD.take().unwrap_or_default())
}
