//! Each law alone, on tissue of one dimension: a spring of compliance `C` behind the surface, and a needle led by hand.

use hapticd::mechanism::solver::{Settings, solve};
use hapticd::mechanism::{Block, BlockId, Law, Problem};

/// Compliance of the tissue, m/N.
const C: f64 = 2e-3;

/// Force along of one block whose tissue yields by [`C`] in every direction, from the violation it has without force.
fn force(law: Law, free: f64, before: f64) -> f64 {
    let blocks = [Block { id: BlockId::Custom(1), first: 0, law }];
    let compliance = [C, 0.0, 0.0, 0.0, C, 0.0, 0.0, 0.0, C];
    let free = [free, 0.0, 0.0];
    let mut lambda = [before, 0.0, 0.0];
    let problem = Problem { blocks: &blocks, compliance: &compliance, stride: 3, free: &free };
    let outcome = solve(&problem, &mut lambda, &Settings::default(), || false);
    assert!(outcome.converged);
    lambda[0]
}

#[test]
fn a_surface_loads_as_a_spring_and_falls_to_the_force_of_cutting_when_it_breaks() {
    let (breaks_n, cut_n) = (3.0, 1.0);
    let mut law = Law::Puncture { friction: 0.2, most_n: breaks_n, then_n: cut_n, compliance: 0.0 };
    // `end` is where the channel ends; the surface is at zero and the needle goes down.
    let (mut end, mut peak): (f64, f64) = (0.0, 0.0);
    for k in 0..2000 {
        let tip = -1e-5 * f64::from(k);
        let found = force(law, tip - end, 0.0);
        let expected = ((end - tip) / C).clamp(0.0, if end == 0.0 { breaks_n } else { cut_n });
        assert!((found - expected).abs() < 1e-9, "at {tip}: {found} {expected}");
        peak = peak.max(found);
        // At the bound it gives way: what is left over is cut.
        let beyond = tip - end + C * found;
        if beyond < -1e-15 {
            law = law.broken();
            end += beyond;
        }
    }
    assert!((peak - breaks_n).abs() < 1e-9);
    // It broke 6 mm in, and the tissue let go by C (3 N − 1 N): the channel ends C · 1 N above the tip.
    assert!((end - (-0.01999 + C * cut_n)).abs() < 1e-9, "{end}");
}

#[test]
fn friction_along_the_shaft_sticks_by_the_spring_of_the_tissue_and_slips_at_its_bound() {
    let bound = 0.5;
    let law =
        Law::Channel { least_n: -bound, most_n: bound, then_n: bound, friction: 0.0, slides: true, compliance: 0.0 };
    let (mut before, mut tissue) = (0.0, 0.0_f64);
    let mut way = 0.0;
    // Down 3 mm, up 3 mm: rows are slip of a step, up is positive.
    for k in 0..600 {
        let step = if k < 300 { -1e-5 } else { 1e-5 };
        way += step;
        // The tissue lets go of the force of the step before.
        let found = force(law, step - C * before, before);
        // A spring that follows the needle and slips where it would pull harder than the bound.
        tissue = tissue.clamp(-way - C * bound, -way + C * bound);
        let expected = ((-way - tissue) / C).clamp(-bound, bound);
        assert!((found - expected).abs() < 1e-9, "{k}: {found} {expected}");
        before = found;
    }
    assert!((before + bound).abs() < 1e-9);
}

#[test]
fn cutting_resists_going_in_and_nothing_else() {
    let law = Law::Channel { least_n: 0.0, most_n: 0.8, then_n: 0.8, friction: 0.0, slides: false, compliance: 0.0 };
    // Way to the end of the channel: open, just there, pressed, beyond.
    for (gap, expected) in [(1e-3, 0.0), (0.0, 0.0), (-1e-3, 0.5), (-1e-2, 0.8)] {
        assert!((force(law, gap, 0.0) - expected).abs() < 1e-9, "{gap}");
    }
}
