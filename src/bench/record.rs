//! One measured figure, and how figures are printed: JSON lines for machines, a table for people.
//!
//! Thread: main (cold).
//!
//! The JSON line is a contract: `suite`, `name`, `value`, `unit`, `stat`, and, where something was compared, `baseline`,
//! `baseline_value`, `ratio`. A number that is not finite is written as `null`.

use std::io::{self, Write};

use serde_json::Value;

use crate::shared::DurationFigures;

/// Which direction is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times, errors, counts of mishaps.
    Lower,
    /// Rates, ranges, margins.
    Higher,
}

/// What a figure was compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Name of the peer.
    pub baseline: String,
    /// The peer's figure, same unit and statistic.
    pub baseline_value: f64,
    /// How many times better ours is; none when a zero leaves it undefined.
    pub ratio: Option<f64>,
}

/// One measured figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Suite it belongs to.
    pub suite: &'static str,
    /// What was measured, under which condition: parts joined by `/`, the same in every run.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Its unit; `1` for counts and plain numbers.
    pub unit: &'static str,
    /// Which figure it is: `p50`, `p99`, `p99.9`, `max`, `count`, or the suite's own word.
    pub stat: &'static str,
    /// What it was compared with, if with anything.
    pub comparison: Option<Comparison>,
}

impl Record {
    /// A figure compared with nothing.
    #[must_use]
    pub fn new(
        suite: &'static str,
        name: impl Into<String>,
        stat: &'static str,
        value: f64,
        unit: &'static str,
    ) -> Self {
        Self { suite, name: name.into(), value, unit, stat, comparison: None }
    }

    /// The same figure beside a peer's.
    #[must_use]
    pub fn versus(mut self, baseline: impl Into<String>, baseline_value: f64, better: Better) -> Self {
        let (good, bad) = match better {
            Better::Lower => (baseline_value, self.value),
            Better::Higher => (self.value, baseline_value),
        };
        let ratio = Some(good / bad).filter(|ratio| bad != 0.0 && ratio.is_finite());
        self.comparison = Some(Comparison { baseline: baseline.into(), baseline_value, ratio });
        self
    }

    /// The figure as one JSON object on one line, keys in the order of the contract.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut fields = vec![
            ("suite", Value::from(self.suite)),
            ("name", Value::from(self.name.as_str())),
            ("value", Value::from(self.value)),
            ("unit", Value::from(self.unit)),
            ("stat", Value::from(self.stat)),
        ];
        if let Some(comparison) = &self.comparison {
            fields.push(("baseline", Value::from(comparison.baseline.as_str())));
            fields.push(("baseline_value", Value::from(comparison.baseline_value)));
            fields.extend(comparison.ratio.map(|ratio| ("ratio", Value::from(ratio))));
        }
        let fields: Vec<String> = fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", fields.join(","))
    }

    /// The cells of its line in the table.
    fn cells(&self) -> [String; 5] {
        let (beside, ratio) = self.comparison.as_ref().map_or_else(Default::default, |c| {
            let beside = format!("{} {}", c.baseline, significant(c.baseline_value));
            (beside, c.ratio.map_or_else(String::new, |ratio| format!("{}x", significant(ratio))))
        });
        let unit = if self.unit == "1" { "" } else { self.unit };
        [self.name.clone(), self.stat.to_owned(), format!("{} {unit:<2}", significant(self.value)), beside, ratio]
    }
}

/// Median, tail and maximum of a sample, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many values.
    pub count: u64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
}

impl Summary {
    /// Summary of `samples` by nearest rank, so that every figure is a value that occurred. None when there are none.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let max = *sorted.last()?;
        // The rank in exact arithmetic: 99.9 % of 1000 is the 999th value, whatever the floating-point product says.
        let at = |permille: usize| sorted[(sorted.len() * permille).div_ceil(1000).max(1) - 1];
        Some(Self { count: sorted.len() as u64, p50: at(500), p99: at(990), p999: at(999), max })
    }

    /// Summary of durations, in µs.
    #[must_use]
    pub fn in_us(figures: &DurationFigures) -> Self {
        let us = |ns: u64| ns as f64 * 1e-3;
        let DurationFigures { count, p50_ns, p99_ns, p999_ns, max_ns, .. } = *figures;
        Self { count, p50: us(p50_ns), p99: us(p99_ns), p999: us(p999_ns), max: us(max_ns) }
    }

    /// The figures by the names they have in records, without the count.
    #[must_use]
    pub fn stats(&self) -> [(&'static str, f64); 4] {
        [("p50", self.p50), ("p99", self.p99), ("p99.9", self.p999), ("max", self.max)]
    }
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line, each as soon as it is known.
    JsonLines,
    /// An aligned table at the end.
    Table,
}

/// Where a suite puts what it finds. Records go to one stream, remarks and progress to another.
pub struct Report {
    format: Format,
    out: Box<dyn Write>,
    remarks: Box<dyn Write>,
    rows: Vec<Record>,
}

impl Report {
    /// A report that writes records to `out` and remarks to `remarks`.
    #[must_use]
    pub fn new(format: Format, out: Box<dyn Write>, remarks: Box<dyn Write>) -> Self {
        Self { format, out, remarks, rows: Vec::new() }
    }

    /// A report on standard output, remarks on standard error.
    #[must_use]
    pub fn on_terminal(format: Format) -> Self {
        Self::new(format, Box::new(io::stdout()), Box::new(io::stderr()))
    }

    /// Takes one figure.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&mut self, record: Record) -> io::Result<()> {
        if self.format == Format::JsonLines {
            writeln!(self.out, "{}", record.to_json())?;
            self.out.flush()?;
        }
        self.rows.push(record);
        Ok(())
    }

    /// Takes median, tail, maximum and count of a sample.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn put_summary(
        &mut self,
        suite: &'static str,
        name: &str,
        unit: &'static str,
        ours: &Summary,
    ) -> io::Result<()> {
        for (stat, value) in ours.stats() {
            self.put(Record::new(suite, name, stat, value, unit))?;
        }
        self.put(Record::new(suite, name, "count", ours.count as f64, "1"))
    }

    /// Takes a sample of costs (times, errors: lower is better) beside a peer's, figure by figure.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn put_comparison(
        &mut self,
        suite: &'static str,
        name: &str,
        unit: &'static str,
        ours: &Summary,
        (baseline, theirs): (&str, &Summary),
    ) -> io::Result<()> {
        for ((stat, value), (_, baseline_value)) in ours.stats().into_iter().zip(theirs.stats()) {
            let record = Record::new(suite, name, stat, value, unit);
            self.put(record.versus(baseline, baseline_value, Better::Lower))?;
        }
        self.put(Record::new(suite, name, "count", ours.count as f64, "1"))
    }

    /// Says something a reader must know to judge the figures, or how far the suite has come.
    pub fn remark(&mut self, text: &str) {
        // A remark that cannot be shown must not end a measurement.
        let _ = writeln!(self.remarks, "{text}");
    }

    /// Everything taken so far.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.rows
    }

    /// Ends the report: prints the table, if that is the format.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        if self.format == Format::Table {
            self.write_table()?;
        }
        self.out.flush()
    }

    fn write_table(&mut self) -> io::Result<()> {
        let heads = ["name", "stat", "value   ", "baseline", "ratio"].map(str::to_owned);
        let lines: Vec<[String; 5]> = std::iter::once(heads).chain(self.rows.iter().map(Record::cells)).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let [w0, w1, w2, w3, w4]: [usize; 5] = std::array::from_fn(width);
        let mut last = "";
        for [name, stat, value, beside, ratio] in &lines {
            // The name stands once; the figures under it belong to it.
            let shown = if name == last { "" } else { name };
            let line = format!("{shown:<w0$}  {stat:<w1$}  {value:>w2$}  {beside:>w3$}  {ratio:>w4$}");
            writeln!(self.out, "{}", line.trim_end())?;
            last = name;
        }
        Ok(())
    }
}

/// A number to four significant digits without an exponent where that is readable.
fn significant(x: f64) -> String {
    let magnitude = x.abs();
    if magnitude != 0.0 && !(1e-3..1e7).contains(&magnitude) {
        format!("{x:.3e}")
    } else if x.fract() == 0.0 {
        format!("{x:.0}")
    } else {
        let digits_before = if magnitude < 1.0 { 1 } else { magnitude.log10().floor() as usize + 1 };
        format!("{x:.*}", 4_usize.saturating_sub(digits_before))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// A stream whose bytes can be read afterwards.
    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn printed(format: Format, fill: impl FnOnce(&mut Report)) -> String {
        let out = Shared::default();
        let mut report = Report::new(format, Box::new(out.clone()), Box::new(io::sink()));
        fill(&mut report);
        report.finish().expect("memory can be written");
        String::from_utf8(out.0.take()).expect("text")
    }

    #[test]
    fn a_ratio_above_one_means_ours_is_better_in_either_direction() {
        let ratio = |value, baseline, better| {
            let record = Record::new("s", "n", "p50", value, "us").versus("peer", baseline, better);
            record.comparison.expect("it was compared").ratio
        };
        assert_eq!(ratio(10.0, 30.0, Better::Lower), Some(3.0));
        assert_eq!(ratio(10.0, 30.0, Better::Higher), Some(1.0 / 3.0));
        assert_eq!(ratio(0.0, 30.0, Better::Lower), None);
        assert_eq!(ratio(10.0, 0.0, Better::Higher), None);
        assert_eq!(ratio(10.0, 0.0, Better::Lower), Some(0.0));
    }

    #[test]
    fn every_line_is_one_json_object_with_the_keys_of_the_contract() {
        let text = printed(Format::JsonLines, |report| {
            let plain = Record::new("jitter", "a \"quoted\"\nname", "p99.9", 12.5, "us");
            report.put(plain.clone()).expect("memory can be written");
            report.put(plain.versus("cyclictest", 25.0, Better::Lower)).expect("memory can be written");
            report.put(Record::new("jitter", "broken", "max", f64::NAN, "us")).expect("memory can be written");
        });
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
        assert_eq!(lines.len(), 3);
        let keys = |n: usize| lines[n].as_object().expect("an object").len();
        assert_eq!((keys(0), keys(1)), (5, 8));
        for (key, value) in [
            ("suite", Value::from("jitter")),
            ("name", Value::from("a \"quoted\"\nname")),
            ("value", Value::from(12.5)),
            ("unit", Value::from("us")),
            ("stat", Value::from("p99.9")),
            ("baseline", Value::from("cyclictest")),
            ("baseline_value", Value::from(25.0)),
            ("ratio", Value::from(2.0)),
        ] {
            assert_eq!(lines[1][key], value, "{key}");
        }
        assert!(lines[2]["value"].is_null());
        assert!(text.starts_with("{\"suite\":"));
    }

    #[test]
    fn the_figures_of_a_known_sample_are_its_ranked_values() {
        // 1 to 1000 in a scrambled order: 7 and 1000 have no common divisor.
        let samples: Vec<f64> = (0..1000).map(|n| f64::from(n * 7 % 1000 + 1)).collect();
        let expected = Summary { count: 1000, p50: 500.0, p99: 990.0, p999: 999.0, max: 1000.0 };
        assert_eq!(Summary::of(&samples), Some(expected));
        assert_eq!(Summary::of(&[4.0]), Some(Summary { count: 1, p50: 4.0, p99: 4.0, p999: 4.0, max: 4.0 }));
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn the_table_is_aligned_and_names_each_thing_once() {
        let summary = |scale: f64| Summary { count: 9, p50: scale, p99: 2.5 * scale, p999: 40.0, max: 12345.6 };
        let text = printed(Format::Table, |report| {
            report.put_comparison("s", "loop/idle", "us", &summary(1.0), ("peer", &summary(2.0))).expect("written");
            report.put_summary("s", "loop/loaded", "us", &summary(0.1)).expect("written");
        });
        assert_eq!(text.matches("loop/idle").count(), 1, "{text}");
        assert_eq!(text.lines().count(), 11, "{text}");
        let column = |line: &str| line.find(" us");
        let columns: Vec<_> = text.lines().filter_map(column).collect();
        assert_eq!(columns.len(), 8, "{text}");
        assert!(columns.iter().all(|c| *c == columns[0]), "{text}");
    }

    #[test]
    fn numbers_keep_four_significant_digits() {
        let shown = [0.0, 1.0, 0.1234, 12.3456, 123.456, 12345.6, 1.5e9, 2.0e-6].map(significant);
        assert_eq!(shown, ["0", "1", "0.123", "12.35", "123.5", "12346", "1.500e9", "2.000e-6"]);
    }
}
