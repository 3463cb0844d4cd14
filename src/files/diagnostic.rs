//! What is wrong with a file, and where: as a picture for people, as lines for machines.
//!
//! Thread: cold.
//!
//! A report holds the few source lines it points at, not the file, so it can outlive the bytes it was made from.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use std::fmt;
use std::ops::Range;

/// Most problems of one severity kept in a report; the rest is counted. A file with more has one cause.
const KEPT_MAX: usize = 50;
/// Longest source line drawn, bytes. A longer one is named by line and column alone.
const LINE_MAX: usize = 400;
/// Longest piece of the file quoted inside a message, characters.
const QUOTE_MAX: usize = 48;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but says something that has no effect or is unwise.
    Warning,
}

impl Severity {
    /// As printed.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A problem as found: still in bytes of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Bytes of the source it is about.
    pub span: Range<usize>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Short text at the place itself; may be empty.
    pub label: String,
    /// What to do about it; may be empty.
    pub help: String,
}

impl Problem {
    /// An error about `span`.
    pub fn error(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, span, message: message.into(), label: String::new(), help: String::new() }
    }

    /// A warning about `span`.
    pub fn warning(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// With a text at the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

/// Problems as they are found. Bounded: a hostile file must not turn into a report larger than itself.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    kept: Vec<Problem>,
    errors: usize,
    warnings: usize,
    omitted: usize,
}

impl Problems {
    /// Adds a problem, or counts it when enough of its severity are kept.
    pub fn push(&mut self, problem: Problem) {
        let count = match problem.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= KEPT_MAX {
            self.kept.push(problem);
        } else {
            self.omitted += 1;
        }
    }

    /// True when further errors are only counted: no need to think up help for them.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.errors >= KEPT_MAX
    }

    /// Adds what another pass over the same file found and this one did not.
    pub fn join(&mut self, other: Self) {
        for problem in other.kept {
            if !self.kept.contains(&problem) {
                self.push(problem);
            }
        }
    }

    /// Number of errors, kept or not.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.errors
    }
}

impl FromIterator<Problem> for Problems {
    fn from_iter<I: IntoIterator<Item = Problem>>(problems: I) -> Self {
        let mut all = Self::default();
        problems.into_iter().for_each(|problem| all.push(problem));
        all
    }
}

/// A problem at its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Short text at the place itself; may be empty.
    pub label: String,
    /// What to do about it; may be empty.
    pub help: String,
    /// The source line and the bytes of it that are meant; `None` when the line is too long to draw.
    excerpt: Option<(String, Range<usize>)>,
}

/// Whether a report is drawn for a terminal or for a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Letters only.
    Plain,
    /// With colours.
    Coloured,
}

impl Look {
    /// Coloured on a terminal, unless the environment says `NO_COLOR`.
    #[must_use]
    pub fn for_stream(stream: &impl std::io::IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if stream.is_terminal() && !refused { Self::Coloured } else { Self::Plain }
    }
}

/// Everything found in one file, in the order of the file. Displays as one line each, `file:line:column: error: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    name: String,
    findings: Vec<Finding>,
    omitted: usize,
}

impl Report {
    /// Places `problems` in `source`; `name` is what the file is called in the report.
    #[must_use]
    pub fn new(name: &str, source: &str, problems: Problems) -> Self {
        let Problems { mut kept, omitted, .. } = problems;
        kept.sort_by_key(|problem| problem.span.start);
        let mut cursor = LineCursor { source, line: 1, start: 0 };
        let findings = kept.into_iter().map(|problem| cursor.place(problem)).collect();
        Self { name: clean(name), findings, omitted }
    }

    /// What the file is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was found, in the order of the file.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many more there were than are kept.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// True when nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// True when the file cannot be used.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// A picture of every finding: the line, a mark under the place, and help.
    #[must_use]
    pub fn render(&self, look: Look) -> String {
        let renderer = match look {
            Look::Plain => Renderer::plain(),
            Look::Coloured => Renderer::styled(),
        };
        let mut out = String::new();
        for finding in &self.findings {
            out += &renderer.render(&[self.group(finding)]);
            out += "\n\n";
        }
        if self.omitted > 0 {
            out += &format!("… and {} more in {}\n", self.omitted, self.name);
        }
        out
    }

    fn group<'r>(&'r self, finding: &'r Finding) -> Group<'r> {
        let level = match finding.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(finding.message.as_str()));
        group = match &finding.excerpt {
            Some((line, span)) => {
                let mark = AnnotationKind::Primary.span(span.clone()).label(finding.label.as_str());
                group.element(
                    Snippet::source(line.as_str()).line_start(finding.line).path(self.name.as_str()).annotation(mark),
                )
            }
            None => group.element(Origin::path(self.name.as_str()).line(finding.line).char_column(finding.column)),
        };
        if finding.help.is_empty() { group } else { group.element(Level::HELP.message(finding.help.as_str())) }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            let Finding { severity, line, column, message, .. } = finding;
            writeln!(f, "{}:{line}:{column}: {}: {message}", self.name, severity.word())?;
        }
        if self.omitted > 0 {
            writeln!(f, "{}: {} more", self.name, self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// Walks the source once, forward, as the problems come in order.
struct LineCursor<'s> {
    source: &'s str,
    line: usize,
    start: usize,
}

impl LineCursor<'_> {
    fn place(&mut self, problem: Problem) -> Finding {
        let source = self.source;
        let at = source.floor_char_boundary(problem.span.start.min(source.len()));
        // Lines end at \n; the span begins on the line after the last one before it.
        let skipped = &source.as_bytes()[self.start..at];
        self.line += skipped.iter().filter(|byte| **byte == b'\n').count();
        if let Some(last) = skipped.iter().rposition(|byte| *byte == b'\n') {
            self.start += last + 1;
        }
        let rest = &source[self.start..];
        let line = rest.split('\n').next().unwrap_or(rest).trim_end_matches('\r');
        let from = (at - self.start).min(line.len());
        let to = problem.span.end.saturating_sub(self.start).clamp(from, line.len());
        let excerpt = (line.len() <= LINE_MAX).then(|| (line.to_owned(), from..line.floor_char_boundary(to)));
        Finding {
            severity: problem.severity,
            line: self.line,
            // The mark of byte order is no character of the text.
            column: rest[..at - self.start].trim_start_matches('\u{feff}').chars().count() + 1,
            message: clean(&problem.message),
            label: clean(&problem.label),
            help: clean(&problem.help),
            excerpt,
        }
    }
}

/// Text from a file must not be able to move the cursor or turn the writing around.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '"' || c == '\'' || c == '\\' {
            out.push(c);
        } else {
            out.extend(c.escape_debug());
        }
    }
    out
}

/// A piece of the file fit to stand inside a message: cut when long.
#[must_use]
pub fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The known word nearest to `word`, when one is near enough to be meant.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > 2 * QUOTE_MAX {
        return None;
    }
    let scored = known.into_iter().map(|k| (strsim::normalized_damerau_levenshtein(word, k), k));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= 0.6).then_some(best.1)
}

/// "did you mean …", or the words there are.
#[must_use]
pub fn suggest<'k>(word: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> String {
    if let Some(near) = nearest(word, known.clone()) {
        return format!("did you mean `{}`?", quote(near));
    }
    let words: Vec<String> = known.into_iter().map(|k| format!("`{}`", quote(k))).collect();
    match words.len() {
        0 => String::new(),
        1..=24 => format!("known here: {}", words.join(", ")),
        more => format!("known here: {} and {} more", words[..20].join(", "), more - 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "format = \"x\"\r\n[limits]\r\nmäx = \"7 kPa\" # too much\r\n";

    #[test]
    fn a_problem_is_drawn_with_its_line_a_mark_and_help() {
        let start = SOURCE.find("\"7").expect("it is there");
        let problem = Problem::error(start..start + 7, "`max` needs a force, not a pressure")
            .label("kPa is a unit of pressure")
            .help("use a unit such as N");
        let report = Report::new("bad.toml", SOURCE, Problems::from_iter([problem]));
        let expected = "\
error: `max` needs a force, not a pressure
 --> bad.toml:3:7
  |
3 | mäx = \"7 kPa\" # too much
  |       ^^^^^^^ kPa is a unit of pressure
  |
  = help: use a unit such as N

";
        assert_eq!(report.render(Look::Plain), expected);
        assert_eq!(report.to_string(), "bad.toml:3:7: error: `max` needs a force, not a pressure\n");
        assert!(report.render(Look::Coloured).contains("\u{1b}["));
    }

    #[test]
    fn findings_come_in_the_order_of_the_file_and_columns_count_characters() {
        let source = "\u{feff}a = 1\nµµ = 2\n";
        let spans = [source.len()..source.len(), 15..16, 3..4];
        let problems = spans.into_iter().map(|span| Problem::warning(span, "w")).collect();
        let report = Report::new("x", source, problems);
        let places: Vec<_> = report.findings().iter().map(|f| (f.line, f.column)).collect();
        assert_eq!(places, [(1, 1), (2, 5), (3, 1)]);
        assert!(!report.has_errors());
    }

    #[test]
    fn a_flood_of_problems_is_cut_but_counted_and_warnings_cannot_push_errors_out() {
        let mut problems: Vec<Problem> = (0..1000).map(|_| Problem::warning(0..1, "w")).collect();
        problems.push(Problem::error(0..1, "e"));
        let report = Report::new("x", "a", problems.into_iter().collect());
        assert_eq!((report.findings().len(), report.omitted()), (KEPT_MAX + 1, 1000 - KEPT_MAX));
        assert!(report.has_errors());
    }

    #[test]
    fn text_of_the_file_cannot_steer_the_terminal() {
        let report = Report::new(
            "\u{1b}[2Jx",
            "\u{1b}]0;t\u{7} = 1\n",
            Problems::from_iter([Problem::error(0..4, "\u{202e}\u{1b}[31m")]),
        );
        for text in [report.render(Look::Plain), report.to_string()] {
            assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
        }
    }

    #[test]
    fn spans_outside_the_source_or_inside_a_character_are_moved_to_the_nearest_place() {
        let source = "ä\nb";
        for span in [1..2, 0..1, 3..900, 900..901, Range { start: 2, end: 1 }] {
            let report = Report::new("x", source, Problems::from_iter([Problem::error(span, "e")]));
            let finding = &report.findings()[0];
            assert!(finding.line <= 2 && finding.column <= 2, "{finding:?}");
            assert!(!report.render(Look::Plain).is_empty());
        }
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_word_and_a_stranger_does_not() {
        let known = ["damping", "stiffness", "mass"];
        assert_eq!(nearest("dampng", known), Some("damping"));
        assert_eq!(nearest("stifness", known), Some("stiffness"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(suggest("colour", known), "known here: `damping`, `stiffness`, `mass`");
    }
}
