//! Two organs, one above the other: what presses the upper down is felt through the lower.

use hapticd::bench::needle_rig::{Phantom, Run};
use hapticd::fem::Attachment;
use hapticd::math::{Pose, Vec3};
use hapticd::sim::{BodyId, TissueModel};
use std::sync::Arc;

/// Gap between the two at the start, m.
const GAP_M: f64 = 1e-3;

fn upper() -> Phantom {
    let held: &[&str] = &["x0", "x1", "y0", "y1"];
    Phantom { height_m: 0.02, held, cells: [4, 4, 1], enter_n: 1e3, ..Phantom::default() }
}

fn lower() -> Phantom {
    Phantom { height_m: 0.04, cells: [4, 4, 2], ..Phantom::default() }
}

/// Places of a tissue's nodes in the world.
fn nodes(run: &Run, index: usize) -> Vec<Vec3> {
    let tissue = run.data.bodies[index].tissue().expect("a tissue");
    let (x, pose) = (tissue.displacements(), run.data.pose(BodyId(index)));
    let fem = &tissue.model().fem;
    let place = |node: u32| pose * nalgebra::Point3::from(fem.point_at(&Attachment::node(node), x));
    (0..fem.node_count() as u32).map(|node| place(node).coords).collect()
}

/// Presses 8 mm down on the upper one at 20 mm/s; gives the run and the force on the hub.
fn press(tissues: &[(Arc<TissueModel>, Pose)]) -> (Run, f64) {
    let mut run = upper().begin_over(tissues, 0.0).expect("sound");
    (run.tool.translation.x, run.tool.translation.y) = (3e-3, 2e-3);
    for _ in 0..40 {
        run.tool.translation.z -= 2e-4;
        assert!(run.step().converged);
    }
    let mut force = 0.0;
    for _ in 0..10 {
        force = run.step().force_n;
    }
    (run, force)
}

#[test]
fn an_organ_pressed_onto_another_presses_it_down_and_does_not_pass_through() {
    let top = Arc::new(upper().tissue().expect("sound"));
    let below = Arc::new(lower().tissue().expect("sound"));
    let (_, alone) = press(&[(top.clone(), upper().place())]);
    let beneath = Pose::translation(0.0, 0.0, -upper().height_m - GAP_M) * lower().place();
    let (run, both) = press(&[(top, upper().place()), (below, beneath)]);
    let (upper_nodes, lower_nodes) = (nodes(&run, 0), nodes(&run, 1));
    let pressed = |nodes: &[Vec3], rest_z: f64| {
        let near = nodes.iter().filter(|p| (p.z - rest_z).abs() < 8e-3 && p.x.hypot(p.y) < 0.02);
        near.fold(f64::INFINITY, |lowest, p| lowest.min(p.z - rest_z))
    };
    let underside = -upper().height_m;
    let (down, taken) = (pressed(&upper_nodes, underside), pressed(&lower_nodes, underside - GAP_M));
    println!(
        "{alone:.3} N alone, {both:.3} N on the other; {:.2} mm down, the other {:.2} mm",
        1e3 * down,
        1e3 * taken
    );
    assert!(both > 1.05 * alone, "{alone} {both}");
    assert!(down < -GAP_M && taken < -1e-4, "{down} {taken}");
    // Corners of the upper one stay above the skin of the other: no lower than its lowest point there.
    assert!(down > taken - GAP_M - 2e-4, "{down} {taken}");
}
