//! The page itself: one HTML file with its pictures inside.
//!
//! Thread: main (cold).

use super::digest::{Digest, Moment};
use super::plot::{self, COLOURS, Curve};
use crate::shared::DurationFigures;
use std::fmt::Write as _;

const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:900px;margin:2em auto;padding:0 1em;color:#111}\
h1{font-size:1.4em}h2{font-size:1.1em;margin:1.6em 0 .3em}table{border-collapse:collapse}\
td,th{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}\
.verdict{font-size:1.1em;padding:.6em .8em;border-left:6px solid}.good{border-color:#00785a;background:#eef8f4}\
.bad{border-color:#b00;background:#fdeeee}.note{color:#555;font-size:.9em}svg{max-width:100%;height:auto}\
pre{background:#f5f5f5;padding:.6em;overflow:auto;font-size:.85em}";

/// The page of one recording, or of several side by side.
///
/// # Errors
/// A sentence, when a picture cannot be drawn.
pub fn page(digests: &[Digest]) -> Result<String, String> {
    let title = match digests {
        [one] => format!("hapticd: {}", one.provenance.scene_name),
        many => format!("hapticd: {} recordings compared", many.len()),
    };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{STYLE}</style></head>\
         <body>\n<h1>{0}</h1>\n",
        escape(&title)
    );
    for digest in digests {
        verdict(&mut out, digest, digests.len() > 1);
    }
    if digests.len() > 1 {
        compare(&mut out, digests);
        legend(&mut out, digests);
    }
    pictures(&mut out, digests)?;
    for digest in digests {
        details(&mut out, digest, digests.len() > 1);
    }
    out.push_str("</body></html>\n");
    Ok(out)
}

fn name(digest: &Digest) -> String {
    escape(&digest.path.file_name().unwrap_or(digest.path.as_os_str()).to_string_lossy())
}

fn verdict(out: &mut String, digest: &Digest, named: bool) {
    let good = digest.is_safe() && digest.trips.is_empty() && digest.outcome.as_ref().is_none_or(|o| o.success);
    let class = if good { "good" } else { "bad" };
    let name = if named { format!("<b>{}</b>: ", name(digest)) } else { String::new() };
    // Writing to a string cannot fail; so below.
    let _ = writeln!(out, "<p class=\"verdict {class}\">{name}{}</p>", escape(&digest.verdict()));
}

/// Figures of several recordings, a column each.
fn compare(out: &mut String, digests: &[Digest]) {
    type Figure = fn(&Digest) -> String;
    let rows: [(&str, Figure); 9] = [
        ("task", |d| d.outcome.as_ref().map_or("–", |o| if o.success { "achieved" } else { "not achieved" }).into()),
        ("time", |d| format!("{:.2} s", d.duration_s)),
        ("operator", |d| format!("{}, seed {}", d.provenance.skill, d.provenance.seed)),
        ("peak force", |d| format!("{:.2} N of {:.2} N", d.force.peak(), d.provenance.force_limit_n)),
        ("peak torque", |d| format!("{:.3} N·m", d.torque.peak())),
        ("deepest overlap", |d| format!("{:.2} µm", d.overlap.peak())),
        ("lowest energy balance", |d| format!("{:+.1e} J", d.balance_min_j)),
        ("late, p99.9", |d| format!("{:.0} µs", d.lateness.figures().p999_ns as f64 / 1e3)),
        ("latched faults", |d| d.trips.len().to_string()),
    ];
    out.push_str("<h2>Compared</h2>\n<table><tr><th></th>");
    digests.iter().for_each(|digest| {
        let _ = write!(out, "<th>{}</th>", name(digest));
    });
    out.push_str("</tr>\n");
    for (what, figure) in rows {
        let _ = write!(out, "<tr><th>{what}</th>");
        for digest in digests {
            let _ = write!(out, "<td>{}</td>", escape(&figure(digest)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
}

fn legend(out: &mut String, digests: &[Digest]) {
    out.push_str("<p>");
    for (digest, colour) in digests.iter().zip(COLOURS.iter().cycle()) {
        let (r, g, b) = (colour.0, colour.1, colour.2);
        let _ = write!(out, "<span style=\"color:rgb({r},{g},{b})\">■</span> {} &nbsp; ", name(digest));
    }
    out.push_str("</p>\n");
}

fn pictures(out: &mut String, digests: &[Digest]) -> Result<(), String> {
    let of = |series: fn(&Digest) -> &super::Series| -> Vec<Curve<'_>> {
        let coloured = digests.iter().zip(COLOURS.iter().cycle());
        coloured.map(|(digest, colour)| Curve { series: series(digest), colour: *colour }).collect()
    };
    // Phases of several recordings do not fall together.
    let phases: Vec<(f64, &str)> = match digests {
        [one] => one.phases.iter().chain(&one.marks).map(|moment| (moment.time_s, moment.name.as_str())).collect(),
        _ => Vec::new(),
    };
    let mut add = |title: &str, note: &str, svg: String| {
        let _ = writeln!(out, "<h2>{title}</h2><p class=\"note\">{note}</p>\n{svg}");
    };
    let limit = digests.first().map(|digest| &digest.limit);
    add("Force on the hand", "The red line is the limit.", plot::curves("N", &of(|d| &d.force), limit, &phases)?);
    if digests.iter().any(|digest| digest.torque.peak() > 0.0) {
        add("Torque on the hand", "", plot::curves("N·m", &of(|d| &d.torque), None, &phases)?);
    }
    let note =
        "What the hand has put in and not got back, at least. Below zero it would have got energy from the device.";
    add("Energy", note, plot::curves("J", &of(|d| &d.balance), None, &[])?);
    let note = "How deep the proxy is in the scene while in contact.";
    add("Overlap", note, plot::curves("µm", &of(|d| &d.overlap), None, &phases)?);
    let bins: Vec<_> = digests.iter().map(|digest| &digest.late_bins).collect();
    let note = "How late ticks began. In virtual time none is.";
    add("Timing", note, plot::lateness(&bins)?);
    Ok(())
}

fn details(out: &mut String, digest: &Digest, named: bool) {
    if named {
        let _ = writeln!(out, "<h1>{}</h1>", name(digest));
    }
    let _ = writeln!(out, "<p>{}</p>", escape(&timing(digest)));
    if let Some(outcome) = &digest.outcome {
        let goals = outcome.goals.iter().map(|(goal, met)| format!("{} {goal}", if *met { "met" } else { "NOT met" }));
        list(out, "Goals", goals);
    }
    list(out, "Phases", digest.phases.iter().map(moment));
    list(out, "Marks", digest.marks.iter().map(moment));
    list(out, "Latched faults", digest.trips.iter().map(moment));
    let seen = digest.faults.iter().map(|fault| {
        let (what, late_us) = (moment(&fault.moment), fault.lateness_ns as f64 / 1e3);
        format!("{what}, {}, force {:.2} N, {late_us:.0} µs late", fault.state.name(), fault.force_n)
    });
    list(out, "Faults of ticks, as each began", seen);
    provenance(out, digest);
}

fn moment(moment: &Moment) -> String {
    format!("{:.3} s: {}", moment.time_s, moment.name)
}

fn timing(digest: &Digest) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    let of = |figures: DurationFigures| {
        let [p50, p99, p999, max] = [figures.p50_ns, figures.p99_ns, figures.p999_ns, figures.max_ns].map(us);
        format!("p50 {p50:.0} µs, p99 {p99:.0} µs, p99.9 {p999:.0} µs, max {max:.0} µs")
    };
    let (late, work) = (of(digest.lateness.figures()), of(digest.compute.figures()));
    format!("{} ticks. Late: {late}. A tick took: {work}.", digest.ticks)
}

fn list(out: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return;
    }
    let _ = write!(out, "<h2>{title}</h2>\n<ul>");
    for item in items {
        let _ = write!(out, "<li>{}</li>", escape(&item));
    }
    out.push_str("</ul>\n");
}

fn provenance(out: &mut String, digest: &Digest) {
    let from = &digest.provenance;
    let hash = |text: &str| format!("{:016x}", fingerprint(text));
    let rows = [
        ("recording", digest.path.display().to_string()),
        ("scene", format!("{} ({})", from.scene_name, hash(&from.scene_text))),
        ("device", format!("{} ({})", from.device_name, hash(&from.device_text))),
        ("operator", format!("{}, seed {}", from.skill, from.seed)),
        ("timing", from.timing.word().into()),
        ("rate", format!("{} Hz", from.rate_hz)),
        ("hapticd", from.version.clone()),
        ("kernel", from.kernel.clone()),
    ];
    out.push_str("<h2>Where it comes from</h2>\n<table>");
    for (key, value) in rows {
        let _ = write!(out, "<tr><th>{key}</th><td>{}</td></tr>", escape(&value));
    }
    out.push_str("</table>\n");
    for (title, text) in
        [("Scene", &from.scene_text), ("Device", &from.device_text), ("Configuration", &from.config_text)]
    {
        if !text.is_empty() {
            let _ = writeln!(out, "<details><summary>{title}</summary><pre>{}</pre></details>", escape(text));
        }
    }
}

/// FNV-1a of a text: tells files apart, proves nothing.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A text that a page shows as it is.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
