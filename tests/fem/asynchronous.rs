//! Bodies that step with the factor of an earlier step: as exact as asked, whatever the other thread does.

use super::beams::{RUBBER, beam, clamped};
use hapticd::fem::{AsyncBody, AsyncSpec, Attachment, Compliance, CorotationalBody, Rayleigh, Regime, Rows};
use hapticd::math::Vec3;

#[test]
fn a_swinging_beam_moves_as_with_its_own_factor_and_its_compliance_stays_within_the_bound() {
    let mesh = beam(0.1, 0.02, 2, false);
    let model = clamped(&mesh, RUBBER, Rayleigh { mass_per_s: 0.1, stiffness_s: 1e-3 });
    let gravity = Vec3::new(0.0, 0.0, -60.0);
    let spec = AsyncSpec { tolerance: 1e-9, compliance_error: 0.25 };
    let mut body = AsyncBody::new(model.clone(), gravity, spec).expect("a thread");
    let mut exact = CorotationalBody::new(model.clone(), gravity);
    let mut rows = Rows::default();
    for node in mesh.nodes_where(|p| p.x > 0.0499 && p.z < 1e-9) {
        [Vec3::z(), Vec3::x(), Vec3::y()].iter().for_each(|d| rows.push(&model, &Attachment::node(node), d));
    }
    let count = rows.len();
    let (mut own, mut wanted, mut work) = (vec![0.0; count * count], vec![0.0; count * count], Compliance::default());
    let none = vec![0.0; model.size()];
    let (mut worst_move, mut worst_w, mut most) = (0.0_f64, 0.0_f64, 0);
    for k in 0..120 {
        let step_s = if k < 60 { 5e-3 } else { 4e-3 };
        exact.set_state(body.body().position(), body.body().velocity()).expect("right size");
        exact.prepare(&none, step_s).expect("sound");
        exact.compliance(&rows, &mut work, &mut wanted).expect("prepared");
        body.prepare(&none, step_s).expect("sound");
        body.compliance(&rows, &mut work, &mut own);
        let size = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let apart = |a: &[f64], b: &[f64]| size(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>()) / size(b);
        worst_move = worst_move.max(apart(body.body().midpoint(), exact.midpoint()));
        worst_w = worst_w.max(apart(&own, &wanted));
        most = most.max(body.report().iterations);
        assert!(body.report().residual <= spec.tolerance);
        assert!(body.report().compliance_error() <= spec.compliance_error);
        body.finish();
    }
    println!(
        "motion off by {worst_move:.1e}, compliance by {worst_w:.1e}, {most} iterations at most, {} waits",
        body.waits()
    );
    assert!(worst_move < 1e-6, "{worst_move:e}");
    assert!(worst_w < spec.compliance_error, "{worst_w:e}");
    // It bends far, so that a factor that is not turned along would not do.
    let sag = body.body().position().iter().copied().fold(0.0, f64::min);
    assert!(sag < -0.01, "{sag}");
}

#[test]
fn contact_closes_exactly_and_the_regime_may_change_on_the_way() {
    let mesh = beam(0.1, 0.02, 1, true);
    let model = clamped(&mesh, RUBBER, Rayleigh { mass_per_s: 1.0, stiffness_s: 1e-2 });
    let gravity = Vec3::new(0.0, 0.0, -30.0);
    let mut body = AsyncBody::new(model.clone(), gravity, AsyncSpec::default()).expect("a thread");
    let tip = mesh.nodes_where(|p| p.x > 0.0999 && p.z < 1e-9)[0];
    let mut rows = Rows::default();
    rows.push(&model, &Attachment::node(tip), &Vec3::z());
    let (none, mut work, mut touched) = (vec![0.0; model.size()], Compliance::default(), 0);
    for k in 0..100 {
        body.body_mut().set_regime(if k < 60 { Regime::Dynamic } else { Regime::QuasiStatic });
        body.prepare(&none, 1e-2).expect("held");
        let mut w = [0.0];
        body.compliance(&rows, &mut work, &mut w);
        let gap = rows.times(0, body.body().position()) + 2e-3 + 1e-2 * rows.times(0, body.body().midpoint());
        if gap < 0.0 {
            let mut force = vec![0.0; model.size()];
            rows.add_transposed(&[-gap / w[0]], &mut force);
            body.apply_contact(&force).expect("right size");
            touched += 1;
        }
        body.finish();
        let height = rows.times(0, body.body().position()) + 2e-3;
        assert!(height > -1e-12, "step {k}: {height:e}");
    }
    assert!(touched > 50, "{touched}");
}
