//! The shipped scenes with a needle: whoever holds it reaches what it is for, and what is drawn is where it is.

#[path = "common/demos.rs"]
mod demos;

use hapticd::math::{Pose, Vec3};
use hapticd::scene::{Built, build, open, open_device};
use hapticd::shared::{Skin, ToolSample};
use hapticd::sim::{Painter, SimData, empty_snapshot, step};

fn built(name: &str) -> Built {
    let spec = open(name).expect("shipped").value;
    let device = open_device(spec.device.as_deref().unwrap_or("simulated-3dof")).expect("shipped").value;
    build(&spec, &device).expect("they fit")
}

/// With `HAPTICD_NEEDLE_SEEDS=20` that many of each, best in release.
#[test]
fn whoever_holds_the_needle_reaches_its_target_and_comes_out_again() {
    let asked: Option<u64> = std::env::var("HAPTICD_NEEDLE_SEEDS").ok().and_then(|text| text.parse().ok());
    for scene in ["needle_phantom", "liver_biopsy"] {
        for seed in 1..=asked.unwrap_or(1) {
            let summary = demos::lockstep(scene, seed, None);
            let json: serde_json::Value = serde_json::from_str(&summary.to_json()).expect("JSON");
            println!("{scene}, seed {seed}: {json}");
            assert_eq!(json["success"], true, "{scene}, seed {seed}: {json}");
            assert!(json["energy_min_j"].as_f64() >= Some(-1e-6), "{json}");
            // Nearly every solve of the tick meets its tolerance.
            let bounded = json["fault_ticks"]["solver-bounded"].as_u64().unwrap_or(0);
            let touching = json["contact_ticks"].as_u64().unwrap_or(0);
            assert!(touching > 1000 && 100 * bounded <= touching, "{scene}: {bounded} of {touching} ticks bounded");
            let needle = &json["needle"];
            let (punctures, depth) = (needle["punctures"].as_u64(), needle["depth_max_m"].as_f64());
            if scene == "needle_phantom" {
                assert!(punctures == Some(1) && depth > Some(0.045) && needle["target_nearest_m"].is_null(), "{json}");
            } else {
                assert!(punctures == Some(3) && needle["forbidden"] == 0, "{json}");
                assert!(needle["target_nearest_m"].as_f64() < Some(0.01), "{json}");
            }
        }
    }
}

/// Tissue follows the needle in the picture, breathes, and the needle is drawn from its hub to its tip.
#[test]
fn what_is_drawn_of_needle_and_tissue_is_where_they_are() {
    let built = built("liver_biopsy");
    let (model, start) = (&built.sim, built.sim.tools[0].start);
    let mut data = SimData::new(model).expect("a scene");
    let (mut painter, mut snapshot) = (Painter::new(model), empty_snapshot());
    let at_rest = |rest: &hapticd::shared::SkinModel| Skin {
        points: rest.points.clone(),
        stress_pa: vec![0.0; rest.points.len()],
    };
    let mut skins: Vec<Skin> = built.skins.iter().map(at_rest).collect();
    // Down to where the tip presses on the skin but does not break it.
    let mut tool = start;
    for n in 0..30 {
        tool = Pose::translation(0.0, 0.0, -6e-4 * f64::from(n)) * start;
        step(model, &mut data, &[ToolSample::at_rest(tool)], &mut [&mut *snapshot]);
    }
    painter.paint(&data, &mut skins);
    assert_eq!(data.path.len(), 20);
    let place = |point: &[f32; 3]| Vec3::new(f64::from(point[0]), f64::from(point[1]), f64::from(point[2]));
    assert!((data.path[0] - tool.translation.vector).norm() < 1e-6);
    let tip = data.view.needle.expect("a needle").tip;
    assert!((data.path[19] - tip).norm() < 1e-6);
    // The liver has moved with the breath, all of it by the same way: nothing has touched it.
    let time = 30.0 / model.rate_hz;
    let way = 0.013 * (1.0 - (std::f64::consts::PI * time / 4.5).cos().powi(4));
    for (now, rest) in skins[1].points.iter().zip(&built.skins[1].points) {
        let moved = place(now) - place(rest);
        assert!((moved - Vec3::new(0.0, way, 0.0)).norm() < 1e-6, "{moved:?}, not {way}");
    }
    // The wall gives way below the tip.
    let force = data.view.needle.expect("a needle").tip_n;
    let lowest =
        skins[0].points.iter().zip(&built.skins[0].points).map(|(now, rest)| now[2] - rest[2]).fold(0.0, f32::min);
    println!("{force} N at the tip, skin down by {lowest} m");
    assert!(force > 0.2 && lowest < -1e-4);
    assert!(skins[0].stress_pa.iter().any(|pa| *pa > 0.0));
}
