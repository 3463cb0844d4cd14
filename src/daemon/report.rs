//! `hapticd report`: recordings to a page, and to a table.
//!
//! Thread: main.

use super::Failure;
use crate::record::report::{Digest, page, write_csv};
use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// What was asked for.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// Recordings; several are compared.
    pub files: Vec<PathBuf>,
    /// The page; beside the first recording when not given.
    pub out: Option<PathBuf>,
    /// Table of every tick of the one recording.
    pub csv: Option<PathBuf>,
}

/// Writes page and table; gives what to tell people.
///
/// # Errors
/// Bad recordings, or places that cannot be written to.
pub fn run(options: &ReportOptions) -> Result<String, Failure> {
    let digests = options.files.iter().map(|path| Digest::read(path)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = options.files.first() else {
        return Err(Failure::Usage("name a recording: hapticd report FILE.mcap".into()));
    };
    let mut said = String::new();
    for digest in &digests {
        let name = if digests.len() > 1 { format!("{}: ", digest.path.display()) } else { String::new() };
        said += &format!("{name}{}\n", digest.verdict());
    }
    let out = options.out.clone().unwrap_or_else(|| first.with_extension("html"));
    let text = page(&digests).map_err(Failure::Usage)?;
    fs::write(&out, text).map_err(|error| unwritable(&out, &error))?;
    said += &format!("page     {}\n", out.display());
    if let Some(csv) = &options.csv {
        let [_] = options.files.as_slice() else {
            return Err(Failure::Usage("--csv makes a table of one recording: name one file".into()));
        };
        let file = fs::File::create(csv).map_err(|error| unwritable(csv, &error))?;
        let rows = write_csv(first, &mut BufWriter::new(file))?.map_err(|error| unwritable(csv, &error))?;
        said += &format!("table    {} ({rows} ticks)\n", csv.display());
    }
    Ok(said)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Usage(format!("cannot write {}: {error}", path.display()))
}
