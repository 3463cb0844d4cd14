//! The profile of an insertion: loading, puncture, drop, friction that grows, relaxation, withdrawal.
//!
//! The case: J. Endourol. 30(10), 2016, doi 10.1089/end.2016.0342, human cadavers in situ: skin punctured at 2.75 to 2.80 N, force
//! growing by 0.35 to 0.59 N for each centimetre of depth.

use hapticd::bench::needle_rig::{Phantom, Seen};
use hapticd::fem::Relaxation;

/// The published figures: puncture in N, slope in N/m.
const PUNCTURE_N: f64 = 2.775;
const SLOPE: f64 = 47.0;

/// Least-squares slope of force over depth, N/m.
fn slope(seen: &[Seen], force: impl Fn(&Seen) -> f64) -> f64 {
    let count = seen.len() as f64;
    let (x, y) = (seen.iter().map(|s| s.depth_m).sum::<f64>() / count, seen.iter().map(&force).sum::<f64>() / count);
    let over = |s: &Seen| (s.depth_m - x) * (force(s) - y);
    seen.iter().map(over).sum::<f64>() / seen.iter().map(|s| (s.depth_m - x).powi(2)).sum::<f64>()
}

#[test]
fn puncture_slope_and_withdrawal_are_those_of_the_published_case() {
    let phantom = Phantom::default();
    let mut run = phantom.begin(2e-3).expect("sound");
    let way_in = run.go(-0.052, 0.01);
    assert!(way_in.iter().all(|seen| seen.converged), "a step did not converge");
    // Before: it loads up, ever more, until it breaks once.
    let at = way_in.iter().position(|seen| seen.punctures > 0).expect("it breaks");
    assert!(way_in[..at].windows(2).all(|pair| pair[1].force_n >= pair[0].force_n - 1e-9));
    let peak = way_in[..=at].iter().fold(0.0_f64, |most, seen| most.max(seen.force_n));
    let after = way_in[at + 2].force_n;
    // After: cutting is constant, friction grows with depth.
    let deep: Vec<Seen> = way_in.iter().copied().filter(|seen| seen.depth_m > 0.008).collect();
    let grows = slope(&deep, |seen| seen.force_n);
    let tip = deep.iter().fold((f64::MAX, 0.0_f64), |m, s| (m.0.min(s.tip_n), m.1.max(s.tip_n)));
    let last = *way_in.last().expect("steps");
    run.rest(0.1);
    let way_out = run.go(0.052, 0.01);
    // Once the tissue has followed as far as it will, all of the shaft slides.
    let sliding: Vec<Seen> = way_out.iter().copied().filter(|s| s.tip_n == 0.0 && s.depth_m > 0.008).collect();
    let shrinks = slope(&sliding, |seen| seen.force_n);
    let pull = way_out.iter().fold(0.0_f64, |most, seen| most.min(seen.force_n));
    println!(
        "puncture {peak:.3} N, then {after:.3} N; {grows:.1} N/m in, {shrinks:.1} N/m out; {:.3} N at {:.1} mm, pull {pull:.3} N",
        last.force_n,
        1e3 * last.depth_m
    );
    assert!((peak / PUNCTURE_N - 1.0).abs() < 0.15, "{peak}");
    assert!(after < 0.6 * peak, "{after}");
    assert!((grows / SLOPE - 1.0).abs() < 0.15 && (-shrinks / SLOPE - 1.0).abs() < 0.15, "{grows} {shrinks}");
    assert!((-pull / (SLOPE * last.depth_m) - 1.0).abs() < 0.15, "{pull}");
    // What cutting and friction are can be read off apart.
    assert!(tip.0 > 0.97 * phantom.cut_n && tip.1 <= phantom.cut_n * (1.0 + 1e-9), "{tip:?}");
    assert!((last.force_n - last.tip_n - last.shaft_n).abs() < 0.01, "{last:?}");
    assert!((way_out.last().expect("steps").force_n).abs() < 1e-6);
}

#[test]
fn a_needle_that_stops_before_the_surface_breaks_is_pushed_back_less_and_less() {
    let (share, time_s) = (0.4, 0.5);
    let phantom = Phantom { relaxation: Some(Relaxation { share, time_s }), ..Phantom::default() };
    let mut run = phantom.begin(0.0).expect("sound");
    // In at once: nothing has faded.
    run.tool.translation.z -= 2e-3;
    let first = run.rest(0.03).last().expect("steps").force_n;
    let held = run.rest(5.0);
    let last = held.last().expect("steps").force_n;
    assert!(held.windows(2).all(|pair| pair[1].force_n <= pair[0].force_n + 1e-9));
    // Two springs in a row, of which only that of the mesh fades: u = F₀ (c + y) = F∞ (c/(1 − s) + y).
    let (way, local) = (2e-3, phantom.yield_m_per_n);
    let start = way / first_force(&Phantom::default(), way);
    let mesh = start - local;
    let expected = way / (mesh / (1.0 - share) + local);
    println!("{first:.4} N at first, {last:.4} N after ten time constants, {expected:.4} N expected");
    assert!((last / expected - 1.0).abs() < 0.01, "{last} {expected}");
    assert!(first > last * 1.3);
}

#[test]
fn refining_mesh_and_step_changes_the_profile_by_less_than_a_tenth() {
    let sample = |phantom: &Phantom| {
        let seen = phantom.begin(1e-3).expect("sound").go(-0.036, 0.02);
        let at = |way: f64| {
            let after = seen.partition_point(|s| s.way_m < way).clamp(1, seen.len() - 1);
            let (a, b) = (&seen[after - 1], &seen[after]);
            a.force_n + (b.force_n - a.force_n) * (way - a.way_m) / (b.way_m - a.way_m)
        };
        let peak = seen.iter().fold(0.0_f64, |most, s| most.max(s.force_n));
        [at(2e-3), peak, at(15e-3), at(25e-3), at(35e-3)]
    };
    let coarse = Phantom { cells: [5, 5, 4], ..Phantom::default() };
    let reference = sample(&coarse);
    let cases = [
        ("finer mesh, longer step", Phantom { cells: [7, 7, 6], rate_hz: 50.0, ..Phantom::default() }),
        ("longer step", Phantom { rate_hz: 30.0, ..coarse.clone() }),
        ("shorter step", Phantom { rate_hz: 300.0, ..coarse.clone() }),
    ];
    for (name, phantom) in cases {
        let other = sample(&phantom);
        let worst = reference.iter().zip(&other).map(|(a, b)| (b / a - 1.0).abs()).fold(0.0, f64::max);
        println!("{name}: {reference:.3?} {other:.3?}: {:.1} %", 100.0 * worst);
        assert!(worst < 0.1, "{name}: {worst}");
    }
}

/// Force after pressing in by `way_m` at once, without relaxation.
fn first_force(phantom: &Phantom, way_m: f64) -> f64 {
    let mut run = phantom.begin(0.0).expect("sound");
    run.tool.translation.z -= way_m;
    run.rest(0.2).last().map_or(0.0, |seen| seen.force_n)
}
