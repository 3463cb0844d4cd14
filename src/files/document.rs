//! From bytes to a checked value: decoding, syntax, format version, then the walk of a [`Table`].
//!
//! Thread: cold.
//!
//! A file is read in stages, and each stage reports everything it finds before the next is tried: a value guessed from
//! broken syntax would only add noise. Size, nesting and the number of problems are bounded, so that no file can
//! exhaust the stack or the memory.

use super::diagnostic::{Problem, Problems, Report, quote};
use super::table::{Context, Table};
use crate::shared::ordinary_file;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use toml_parser::lexer::TokenKind;

/// Largest file read, bytes. The largest shipped one has a few thousand; meshes are files of their own.
pub const SIZE_MAX: usize = 4 << 20;
/// Deepest nesting of brackets, and most parts of a dotted key. Scenes need four.
const DEPTH_MAX: usize = 16;
/// Largest file that is searched for more than its first error of syntax: the recovering parser keeps every one.
const RECOVERY_MAX: usize = 64 << 10;

/// A kind of file and the version of it that is read: `hapticd-device/1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Name without version: `hapticd-device`.
    pub name: &'static str,
    /// Version.
    pub version: u32,
    /// What to call such a file: "device file".
    pub noun: &'static str,
}

impl Format {
    /// Device files.
    pub const DEVICE: Self = Self { name: "hapticd-device", version: 1, noun: "device file" };
    /// The daemon's configuration.
    pub const CONFIG: Self = Self { name: "hapticd-config", version: 1, noun: "configuration file" };
    /// Scenes.
    pub const SCENE: Self = Self { name: "hapticd-scene", version: 1, noun: "scene file" };
    /// Calibrations of single devices.
    pub const CALIBRATION: Self = Self { name: "hapticd-calibration", version: 1, noun: "calibration file" };
    /// Every kind of file.
    pub const ALL: [Self; 4] = [Self::DEVICE, Self::CONFIG, Self::SCENE, Self::CALIBRATION];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.version)
    }
}

/// A value that passed every check, and what is still worth saying about its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded<T> {
    /// The value.
    pub value: T,
    /// Warnings; often empty.
    pub warnings: Report,
}

/// Why a file on disk gave no value.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such file.
    #[error("there is no file {}; check the path", path.display())]
    NotFound {
        /// As asked for.
        path: PathBuf,
    },
    /// A directory stands where a file was expected.
    #[error("{} is a directory; name a file in it", path.display())]
    Directory {
        /// As asked for.
        path: PathBuf,
    },
    /// The system would not let it be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// As asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It was read, and is wrong.
    #[error("{0}")]
    Invalid(Report),
}

/// Reads a file and hands its bytes and display name to `parse`.
///
/// # Errors
/// [`LoadError`] says whether the file could not be read or what is wrong in it.
pub fn load<T>(
    path: &Path,
    parse: impl FnOnce(&[u8], &str) -> Result<Loaded<T>, Report>,
) -> Result<Loaded<T>, LoadError> {
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => LoadError::NotFound { path: path.to_owned() },
        std::io::ErrorKind::IsADirectory => LoadError::Directory { path: path.to_owned() },
        _ => LoadError::Unreadable { path: path.to_owned(), source },
    };
    let bytes = ordinary_file::read(path, SIZE_MAX as u64).map_err(failed)?;
    parse(&bytes, &path.display().to_string()).map_err(LoadError::Invalid)
}

/// The format a file says it has, for choosing its reader; `None` when it says none that is known by name.
#[must_use]
pub fn format_of(bytes: &[u8]) -> Option<Format> {
    let text = decode(bytes).ok()?;
    bound_nesting(text).ok()?;
    let (root, _) = DeTable::parse_recoverable(&text[..text.floor_char_boundary(RECOVERY_MAX)]);
    let written = root.get_ref().get("format")?.get_ref().as_str()?.to_owned();
    let name = written.split_once('/').map_or(written.as_str(), |(name, _)| name);
    Format::ALL.into_iter().find(|format| format.name == name)
}

/// Reads a document of `format`. `walk` asks the root table for what it wants and gives `None` when something needed
/// was missing or wrong; a value is handed on only when no error at all was found.
///
/// # Errors
/// A [`Report`] with every problem found.
pub fn read<T>(
    bytes: &[u8],
    name: &str,
    format: Format,
    walk: impl FnOnce(&Table<'_>) -> Option<T>,
) -> Result<Loaded<T>, Report> {
    let refuse = |text: &str, problem: Problem| Err(Report::new(name, text, Problems::from_iter([problem])));
    let text = match decode(bytes) {
        Ok(text) => text,
        Err(problem) => return refuse(&String::from_utf8_lossy(bytes), problem),
    };
    if let Err(problem) = bound_nesting(text) {
        return refuse(text, problem);
    }
    let root = DeTable::parse(text).map_err(|first| Report::new(name, text, syntax_problems(text, &first)))?;
    let root = root.get_ref();
    let format_span = match check_format(root, format) {
        Ok(span) => span,
        Err(problem) => return refuse(text, problem),
    };
    let context = Context::default();
    let value = {
        let table = Table::root(&context, root, format_span);
        table.string("format").optional();
        walk(&table)
    };
    let problems = context.finish();
    match value {
        Some(value) if problems.errors() == 0 => Ok(Loaded { value, warnings: Report::new(name, text, problems) }),
        _ => Err(Report::new(name, text, problems)),
    }
}

/// The text of a file of bearable size.
fn decode(bytes: &[u8]) -> Result<&str, Problem> {
    if bytes.len() > SIZE_MAX {
        let problem = Problem::error(0..0, format!("the file is larger than {} MiB", SIZE_MAX >> 20));
        return Err(problem.help("keep large data, such as meshes, in files of their own"));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Problem::error(at..at + 1, "the file is not text in UTF-8")
            .label("this byte does not belong to any character")
            .help("save the file as UTF-8; if it is a binary file, it is the wrong one")
    })
}

/// Refuses nesting that is deeper than any real file before it can become recursion: tables made from dotted keys
/// are taken down recursively, and the parser bounds keys and brackets only each for itself.
fn bound_nesting(text: &str) -> Result<(), Problem> {
    let (mut open, mut dots) = (0_usize, 0_usize);
    for token in toml_parser::Source::new(text).lex() {
        match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                open += 1;
                dots = 0;
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                open = open.saturating_sub(1);
                dots = 0;
            }
            TokenKind::Dot => dots += 1,
            TokenKind::Equals | TokenKind::Comma | TokenKind::Newline => dots = 0,
            _ => {}
        }
        if open > DEPTH_MAX || dots > DEPTH_MAX {
            let span = token.span();
            return Err(Problem::error(span.start()..span.end(), format!("nested deeper than {DEPTH_MAX}"))
                .label("too deep here")
                .help("no hapticd file needs such nesting; look for a bracket that was not closed"));
        }
    }
    Ok(())
}

/// Every error of syntax, as far as the parser can go on after the first.
fn syntax_problems(text: &str, first: &toml::de::Error) -> Problems {
    let all = if text.len() <= RECOVERY_MAX { DeTable::parse_recoverable(text).1 } else { Vec::new() };
    let all = if all.is_empty() { vec![first.clone()] } else { all };
    let mut last_start = None;
    let mut problems = Problems::default();
    for error in all {
        let span = error.span().unwrap_or(0..0);
        // What follows at the same place is an echo of the first.
        if last_start.replace(span.start) == Some(span.start) {
            continue;
        }
        let help = if error.message().contains("duplicate key") {
            "each key may be written once in a table; remove or rename one"
        } else if error.message().contains("string") {
            "texts and quantities stand in quotes: \"8 N\""
        } else {
            "the file is TOML: `key = value` lines under `[table]` headings"
        };
        problems.push(Problem::error(span, error.message()).help(help));
    }
    problems
}

/// The place of the `format` key, when it says what this reader reads.
fn check_format(root: &DeTable<'_>, format: Format) -> Result<Range<usize>, Problem> {
    let Some((key, value)) = root.get_key_value("format") else {
        return Err(Problem::error(0..0, format!("the file does not say that it is a {}", format.noun))
            .help(format!("add `format = \"{format}\"` as its first line")));
    };
    let DeValue::String(written) = value.get_ref() else {
        return Err(Problem::error(value.span(), "`format` needs a text").help(format!("write format = \"{format}\"")));
    };
    let (name, version) = written.split_once('/').unwrap_or((written, ""));
    if name == format.name && version == format.version.to_string() {
        return Ok(key.span().start..value.span().end);
    }
    let problem = Problem::error(value.span(), format!("this is not a {format} file"));
    let newer = version.parse::<u32>().is_ok_and(|v| v > format.version);
    Err(if name == format.name && newer {
        problem.label("made for a newer hapticd").help(format!(
            "this hapticd reads {format}; upgrade hapticd, or write the file in version {}",
            format.version
        ))
    } else if let Some(other) = Format::ALL.into_iter().find(|other| other.name == name && other.name != format.name) {
        problem.label(format!("this is a {}", other.noun)).help(format!("a {} was expected here", format.noun))
    } else {
        problem
            .label(format!("`{}` is not known", quote(written)))
            .help(format!("this hapticd reads {format}; write format = \"{format}\""))
    })
}
