//! The channel: left, found again, beside another, out on the far side, and bent by a bevel.

use hapticd::bench::needle_rig::Phantom;
use hapticd::math::Vec3;

fn small() -> Phantom {
    Phantom { cells: [3, 3, 3], ..Phantom::default() }
}

#[test]
fn a_second_insertion_in_the_same_place_finds_the_channel_and_breaks_nothing() {
    let phantom = small();
    let mut run = phantom.begin(1e-3).expect("sound");
    let first = run.go(-0.031, 0.02);
    let depth = first.last().expect("steps").depth_m;
    run.go(0.036, 0.02);
    run.tool.translation.z = 0.15 + 1e-3;
    run.rest(0.1);
    let again = run.go(-0.031, 0.02);
    let last = again.last().expect("steps");
    assert_eq!(last.punctures, 1, "nothing broke twice");
    // Friction alone until the old end, then cutting again.
    for seen in again.iter().filter(|seen| seen.depth_m > 2e-3 && seen.depth_m < 0.9 * depth) {
        assert!(seen.tip_n < 0.05, "cut in an open channel: {seen:?}");
    }
    let deepest = again.iter().fold(0.0_f64, |most, seen| most.max(seen.force_n));
    assert!(deepest < 0.95 * phantom.enter_n, "{deepest}");
    run.go(-0.005, 0.02);
    let on = run.go(-0.002, 0.02);
    assert!((on.last().expect("steps").tip_n - phantom.cut_n).abs() < 0.01, "it cuts on from the old end");
}

#[test]
fn an_insertion_beside_the_first_breaks_the_surface_again() {
    let mut run = small().begin(1e-3).expect("sound");
    run.go(-0.021, 0.02);
    run.go(0.03, 0.02);
    run.tool.translation.x += 0.02;
    let again = run.go(-0.025, 0.02);
    assert_eq!(again.last().expect("steps").punctures, 2);
}

#[test]
fn on_the_far_side_the_tip_is_free_and_the_shaft_is_held_by_all_of_the_tissue() {
    let phantom =
        Phantom { height_m: 0.03, held: &["x0", "x1", "y0", "y1"], cells: [4, 4, 2], press: 0.0, ..Phantom::default() };
    let mut run = phantom.begin(1e-3).expect("sound");
    let seen = run.go(-0.055, 0.02);
    let last = seen.last().expect("steps");
    assert_eq!(last.tip_n, 0.0, "{last:?}");
    let expected = phantom.friction_n_per_m * 0.03;
    println!("{:.3} N of friction on {:.1} mm, {expected:.3} N expected", last.shaft_n, 1e3 * last.depth_m);
    assert!((last.shaft_n / expected - 1.0).abs() < 0.1, "{last:?}");
    // And back out of all of it.
    let out = run.go(0.07, 0.02);
    let end = out.last().expect("steps");
    assert!(end.depth_m == 0.0 && end.force_n.abs() < 1e-6, "{end:?}");
}

#[test]
fn a_bevelled_tip_in_uniform_tissue_goes_along_a_circle() {
    // A thin needle of nickel-titanium in stiff gel: it follows its channel.
    let curvature = 6.0;
    let phantom = Phantom {
        young_pa: 300e3,
        outer_m: 0.5e-3,
        needle_pa: 60e9,
        enter_n: 0.02,
        cut_n: 0.01,
        friction_n_per_m: 0.5,
        curvature_per_m: curvature,
        ..Phantom::default()
    };
    let mut run = phantom.begin(1e-3).expect("sound");
    run.go(-0.061, 0.02);
    let mut line: Vec<Vec3> = Vec::new();
    run.data.channel(&mut |point| line.push(point));
    let (first, last) = (line[0], line[line.len() - 1]);
    assert!((last - first).y.abs() < 1e-4 * 5.0, "it stays in its plane: {last}");
    // Circle through the entry, vertical there: x = (1 − cos κs)/κ, so that κ = 2x/(x² + z²).
    let fit = |point: &Vec3| {
        let way = point - first;
        2.0 * way.x / (way.x * way.x + way.z * way.z)
    };
    let (half, full) = (fit(&line[line.len() / 2]), fit(&last));
    println!("curvature {half:.2} 1/m over half of it, {full:.2} 1/m over all, {curvature} 1/m expected; {last}");
    assert!((full / curvature - 1.0).abs() < 0.15, "{full}");
    assert!((half / full - 1.0).abs() < 0.15, "{half} {full}");
    // A symmetric tip goes straight.
    let mut straight = Phantom { curvature_per_m: 0.0, ..phantom }.begin(1e-3).expect("sound");
    straight.go(-0.061, 0.02);
    let mut end = Vec3::zeros();
    straight.data.channel(&mut |point| end = point);
    assert!(end.x.hypot(end.y) < 2e-4, "{end}");
}
