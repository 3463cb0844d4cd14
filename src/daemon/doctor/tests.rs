//! The findings together: on a PC as it should be, on one that shows nothing, and as text and JSON.

use super::fixture::Fixture;
use super::lateness::Lateness;
use super::rights::Probe;
use super::*;
use crate::shared::DurationHistogram;
use crate::shared::realtime::{MemoryLock, Policy};
use std::collections::BTreeSet;

fn granted() -> Result<Probe, String> {
    Ok(Probe { policy: Policy::Fifo(80), memory: MemoryLock::PresentAndFuture, refusals: Vec::new() })
}

fn refused() -> Result<Probe, String> {
    Ok(Probe { policy: Policy::Ordinary, memory: MemoryLock::None, refusals: Vec::new() })
}

fn examined(fixture: &Fixture) -> Vec<Finding> {
    let system = fixture.system();
    examine(&system, processors::choose(&system, None).expect("none was asked for"), &granted(), &recordings(&system))
}

/// Ticks in every row of the histogram, the good ones by far the most.
fn spread() -> Lateness {
    let mut slots = DurationHistogram::new();
    (0..100_000).for_each(|_| slots.record(20_000));
    (0..14).for_each(|n| slots.record(900 * 2_u64.pow(n)));
    slots.record(30_000_000);
    Lateness { slots, skipped: 0, policy: Policy::Fifo(80), cpu: Some(7) }
}

#[test]
fn a_pc_as_it_should_be_is_fit_in_every_point_and_takes_one_screen() {
    let mut findings = examined(&Fixture::lab_pc());
    for finding in &findings {
        assert_eq!((finding.verdict, finding.mend.as_ref()), (Verdict::Fit, None), "{finding:?}");
    }
    findings.push(lateness::judge(&Ok(spread())));
    let mut text = String::from("heading\n\n");
    findings.iter().for_each(|finding| text += &report::finding_text(finding));
    text += &report::lateness_text(&spread(), 10.0);
    text += &report::conclusion_text(&findings);
    assert!(text.lines().count() <= 42, "{} lines:\n{text}", text.lines().count());
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.ends_with("result  fit for real time\n"), "{text}");
}

#[test]
fn on_a_system_that_shows_nothing_every_finding_says_so_and_none_fails() {
    let fixture = Fixture::empty().with_room(|_| None);
    let findings = examined(&fixture);
    for finding in &findings {
        assert!(finding.seen.contains("could not be read"), "{finding:?}");
        assert_ne!(finding.verdict, Verdict::Unfit, "{finding:?}");
    }
}

#[test]
fn no_finding_fails_when_any_one_file_is_missing_or_garbled() {
    fn files(dir: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(dir).expect("readable").flatten() {
            if entry.path().is_dir() { files(&entry.path(), out) } else { out.push(entry.path()) }
        }
    }
    let fixture = Fixture::lab_pc();
    let ids: Vec<&str> = examined(&fixture).iter().map(|finding| finding.id).collect();
    let mut all = Vec::new();
    files(&fixture.path("/"), &mut all);
    assert!(all.len() > 30);
    for file in all {
        let content = std::fs::read(&file).expect("readable");
        let mut garbled: Vec<Vec<u8>> =
            vec![Vec::new(), b"\xff\xfe\x00:::,,,--\n\n(".to_vec(), b"99999999999999999999".to_vec()];
        garbled.push(content.iter().rev().copied().collect());
        for bytes in &garbled {
            std::fs::write(&file, bytes).expect("writable");
            assert!(examined(&fixture).iter().map(|finding| finding.id).eq(ids.iter().copied()));
        }
        std::fs::remove_file(&file).expect("it was there");
        assert!(examined(&fixture).iter().map(|finding| finding.id).eq(ids.iter().copied()));
        std::fs::write(&file, content).expect("writable");
    }
}

#[test]
fn what_is_not_fit_says_how_to_mend_it_and_everything_why_it_matters() {
    let fixtures = [Fixture::lab_pc(), Fixture::empty(), Fixture::lab_pc().where_usable(|_| false)];
    for (fixture, probe) in fixtures.iter().flat_map(|fixture| [(fixture, granted()), (fixture, refused())]) {
        for finding in examine(&fixture.system(), 3, &probe, Path::new("/")) {
            assert_eq!(finding.mend.is_none(), finding.verdict == Verdict::Fit, "{finding:?}");
            assert!(finding.mend.as_ref().is_none_or(|mend| !mend.is_empty()), "{finding:?}");
            assert!(finding.why.ends_with('.') && !finding.seen.is_empty(), "{finding:?}");
            assert!(!finding.seen.contains('\n'), "{finding:?}");
        }
    }
}

#[test]
fn only_an_unfit_finding_makes_the_pc_unfit() {
    let mut findings = examined(&Fixture::lab_pc().without("/proc/version"));
    assert!(report::is_fit(&findings));
    assert!(report::conclusion_text(&findings).contains("fit for real time; one piece of advice"));
    findings.push(lateness::judge(&Err(crate::bench::jitter::LoopError::Panicked)));
    assert!(!report::is_fit(&findings));
    assert!(report::conclusion_text(&findings).contains("NOT fit for real time: lateness; one piece of advice"));
}

#[test]
fn json_has_the_fields_of_the_contract() {
    let findings = examined(&Fixture::lab_pc().without("/proc/version"));
    let value = report::json(&findings, Some(&spread()));
    assert_eq!(value["fit"], true);
    let first = &value["findings"][0];
    assert_eq!((&first["id"], &first["verdict"]), (&"realtime-rights".into(), &"fit".into()));
    assert!(first["mend"].is_null() && first["seen"].is_string() && first["why"].is_string());
    let kernel = value["findings"].as_array().expect("a list").iter().find(|f| f["id"] == "kernel").expect("is there");
    assert!(kernel["verdict"] == "advice" && kernel["mend"].is_string());
    let late = &value["lateness_us"];
    assert_eq!((&late["count"], &late["max"]), (&100_015.into(), &30_000.0.into()));
    for key in ["p50", "p99", "p99.9"] {
        // Nearest rank to 0.1 %: all three lie in the hundred thousand ticks of 20 µs.
        assert!((late[key].as_f64().expect("a number") - 20.0).abs() <= 0.02, "{late}");
    }
    assert!(report::json(&findings, None)["lateness_us"].is_null());
}

#[test]
fn every_finding_has_its_own_name_and_a_line_in_the_document() {
    let mut ids: Vec<&str> = examined(&Fixture::lab_pc()).iter().map(|finding| finding.id).collect();
    ids.push(lateness::judge(&Ok(spread())).id);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    let document = include_str!("../../../docs/doctor.md");
    for id in &ids {
        assert!(document.contains(&format!("| `{id}` |")), "docs/doctor.md does not explain `{id}`");
    }
    let explained = document.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(explained, ids.len(), "docs/doctor.md explains what is not found");
}
