//! What the couplings are good for: where they are stable, how they drag, how hard a wall feels.
//!
//! `hapticd bench zwidth` draws the same maps on a finer grid.

use hapticd::bench::passivity::devices;
use hapticd::bench::rig::{HELD_KG, LoopCase, Render, Scheme};
use hapticd::bench::zwidth::{Grid, MOTION_HZ, PRESS_N, PROXY_MASS_KG, drag, ideal, press, rounding_bound, stiffest};
use hapticd::device::DeviceSpec;
use hapticd::haptic::{Coupling, SpringDamper};

fn shipped() -> DeviceSpec {
    let [(_, spec), _] = devices().expect("shipped files are sound");
    spec
}

fn count(map: &[bool]) -> usize {
    map.iter().filter(|stable| **stable).count()
}

#[test]
fn the_stable_region_of_the_midpoint_rule_contains_both_others_cell_by_cell() {
    let grid = Grid::new(13, 7);
    for (name, spec, hand_kg) in
        [("ideal", ideal(&shipped()), 0.0), ("limp hand", ideal(&shipped()), 0.25), ("shipped", shipped(), 0.0)]
    {
        let map = |scheme| grid.map(&spec, hand_kg, Render::Proxy(scheme));
        let midpoint = map(Scheme::Midpoint);
        for scheme in [Scheme::SemiImplicit, Scheme::Implicit] {
            let other = map(scheme);
            println!("{name}: midpoint {} {scheme:?} {} of {}", count(&midpoint), count(&other), midpoint.len());
            for (index, (stiffness, damping)) in grid.cells().enumerate() {
                let beyond = other[index] && !midpoint[index] && stiffness <= rounding_bound(&spec);
                assert!(!beyond, "{name}, {scheme:?}: {stiffness:.0} N/m, {damping:.2} N·s/m");
            }
            // Without rounding the region is larger than either other.
            assert!(name == "shipped" || count(&other) < count(&midpoint), "{name}, {scheme:?}");
        }
    }
}

#[test]
fn the_tick_with_a_spring_is_stable_just_where_theory_says() {
    let grid = Grid::new(9, 5);
    for spec in [ideal(&shipped()), shipped()] {
        let map = grid.map(&spec, 0.0, Render::Tick(Coupling::Spring));
        let most = 2.0 * spec.mechanics.inertia.linear * spec.rate_hz;
        for (index, (stiffness, damping)) in grid.cells().enumerate() {
            // B + K T/2 < 2m/T; nothing is claimed within a tenth of it, nor where rounding alone keeps things moving.
            let load = (damping + 0.5 * stiffness / spec.rate_hz) / most;
            if stiffness <= rounding_bound(&spec) && (load - 1.0).abs() > 0.1 {
                assert_eq!(map[index], load < 1.0, "{stiffness:.0} N/m, {damping:.2} N·s/m");
            }
        }
    }
}

/// The region in which the transparent coupling may be used: damping from 5 N·s/m, stiffness from 200 N/m.
#[test]
fn the_transparent_coupling_is_stable_from_five_newton_seconds_per_metre_on() {
    // Let go, and held as in a vice.
    for (spec, hand_mass_kg) in [(ideal(&shipped()), 0.0), (shipped(), 0.0), (ideal(&shipped()), HELD_KG)] {
        for stiffness in [200.0, 600.0, 2000.0, 6000.0, 15_000.0] {
            for damping in [5.0, 10.0, 20.0, 50.0] {
                let (spec, render) = (spec.clone(), Render::Tick(Coupling::transparent));
                let case = LoopCase { spec, hand_mass_kg, render, stiffness, damping, proxy_mass_kg: PROXY_MASS_KG };
                assert!(case.is_stable(), "{stiffness} N/m, {damping} N·s/m, hand {hand_mass_kg} kg");
            }
        }
    }
}

#[test]
fn the_transparent_coupling_more_than_halves_the_drag_of_free_motion() {
    let spring = SpringDamper::isotropic(2000.0, 8.0, 0.0, 0.0);
    for proxy_kg in [PROXY_MASS_KG, 0.1] {
        let mean = |coupling| {
            let squares: f64 = MOTION_HZ.iter().map(|hz| drag(&shipped(), coupling, proxy_kg, *hz).powi(2)).sum();
            (squares / MOTION_HZ.len() as f64).sqrt()
        };
        let (plain, transparent) = (mean(Coupling::Spring(spring)), mean(Coupling::transparent(spring)));
        println!("proxy {proxy_kg} kg: spring {:.1} mN rms, transparent {:.1} mN", plain * 1e3, transparent * 1e3);
        assert!(transparent < 0.5 * plain, "{transparent} {plain}");
        // The plain spring carries the proxy: its mass times its acceleration.
        let omega = std::f64::consts::TAU * MOTION_HZ[1];
        let carried = proxy_kg * omega * omega * 0.02 / 2f64.sqrt();
        let measured = drag(&shipped(), Coupling::Spring(spring), proxy_kg, MOTION_HZ[1]);
        assert!((measured / carried - 1.0).abs() < 0.1, "{measured} {carried}");
    }
}

#[test]
fn the_transparent_coupling_lets_the_hand_sink_a_tenth_as_far_into_a_hard_wall() {
    let spring = SpringDamper::isotropic(2000.0, 8.0, 0.0, 0.0);
    for force in PRESS_N {
        let plain = press(&shipped(), Coupling::Spring(spring), PROXY_MASS_KG, force, 1);
        let transparent = press(&shipped(), Coupling::transparent(spring), PROXY_MASS_KG, force, 1);
        println!(
            "{force} N: spring {:.3} mm at {:.2} N, transparent {:.3} mm at {:.2} N, sway {:.3} and {:.3} mm",
            plain.sink_m * 1e3,
            plain.force_n,
            transparent.sink_m * 1e3,
            transparent.force_n,
            plain.sway_m * 1e3,
            transparent.sway_m * 1e3,
        );
        // The spring obeys its law; the hand feels what it presses with either way.
        assert!((plain.sink_m * 2000.0 - plain.force_n).abs() < 0.02 * force, "{plain:?}");
        assert!((transparent.force_n - plain.force_n).abs() < 0.05 * force, "{transparent:?}");
        assert!(transparent.sink_m.abs() < 0.1 * plain.sink_m, "{transparent:?} {plain:?}");
        assert!(transparent.sway_m < 2.0 * plain.sway_m, "{transparent:?} {plain:?}");
    }
}

#[test]
fn a_wall_ten_times_stiffer_than_the_bound_for_a_plain_spring_is_rendered_without_a_limit_cycle() {
    let spec = shipped();
    let mechanics = &spec.mechanics;
    let bound =
        (2.0 * mechanics.damping.linear * spec.rate_hz).min(2.0 * mechanics.friction.linear / mechanics.quantum.linear);
    for damping in [0.0, 5.0] {
        let tick = stiffest(&spec, Render::Tick(Coupling::Spring), damping);
        let plain = stiffest(&spec, Render::Proxy(Scheme::SemiImplicit), damping);
        println!("damping {damping}: tick {tick:.0} N/m, semi-implicit {plain:.0} N/m, bound {bound:.0} N/m");
        assert!(tick > 10.0 * bound && tick >= plain, "{tick} {plain} {bound}");
    }
}
