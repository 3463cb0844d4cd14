//! Findings for people and for machines.

use super::finding::{Finding, Verdict};
use super::lateness::Lateness;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Column in which what was seen begins, and what belongs to it below.
const ID_WIDTH: usize = 15;

/// True when nothing found is unfit.
pub(super) fn is_fit(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.verdict != Verdict::Unfit)
}

/// One line for what is fit; three for what is not.
pub(super) fn finding_text(finding: &Finding) -> String {
    let word = match finding.verdict {
        Verdict::Fit => "fit",
        Verdict::Advice => "ADVICE",
        Verdict::Unfit => "UNFIT",
    };
    let mut out = format!("{word:<7} {:<ID_WIDTH$}  {}\n", finding.id, finding.seen);
    if let Some(mend) = &finding.mend {
        let _ = writeln!(out, "        why   {}\n        mend  {mend}", finding.why);
    }
    out
}

/// The histogram and what it was measured with.
pub(super) fn lateness_text(lateness: &Lateness, seconds: f64) -> String {
    let figures = lateness.figures();
    let us = |ns: u64| ns as f64 / 1e3;
    let place = lateness.cpu.map_or_else(|| "any processor".to_owned(), |cpu| format!("processor {cpu}"));
    let mut out =
        format!("\nTicks begun late, {seconds} s at 1 kHz, {place}, {} (logarithmic bars)\n", lateness.policy);
    out += &lateness.draw();
    let _ = writeln!(
        out,
        "  p50 {:.0} µs   p99 {:.0} µs   p99.9 {:.0} µs   max {:.0} µs   of {} ticks\n",
        us(figures.p50_ns),
        us(figures.p99_ns),
        us(figures.p999_ns),
        us(figures.max_ns),
        figures.count
    );
    out
}

/// The last line.
pub(super) fn conclusion_text(findings: &[Finding]) -> String {
    let of = |verdict: Verdict| findings.iter().filter(move |finding| finding.verdict == verdict);
    let unfit: Vec<&str> = of(Verdict::Unfit).map(|finding| finding.id).collect();
    let advice = of(Verdict::Advice).count();
    let advice = match advice {
        0 => String::new(),
        1 => "; one piece of advice".to_owned(),
        n => format!("; {n} pieces of advice"),
    };
    if unfit.is_empty() {
        format!("result  fit for real time{advice}\n")
    } else {
        format!("result  NOT fit for real time: {}{advice}\n", unfit.join(", "))
    }
}

/// One object with everything.
pub(super) fn json(findings: &[Finding], lateness: Option<&Lateness>) -> Value {
    let us = |ns: u64| ns as f64 / 1e3;
    let lateness = lateness.map(|lateness| {
        let figures = lateness.figures();
        json!({
            "p50": us(figures.p50_ns),
            "p99": us(figures.p99_ns),
            "p99.9": us(figures.p999_ns),
            "max": us(figures.max_ns),
            "count": figures.count,
        })
    });
    let findings_json: Vec<Value> = findings
        .iter()
        .map(|finding| {
            json!({
                "id": finding.id,
                "verdict": finding.verdict.name(),
                "seen": finding.seen,
                "why": finding.why,
                "mend": finding.mend,
            })
        })
        .collect();
    json!({ "fit": is_fit(findings), "findings": findings_json, "lateness_us": lateness })
}
