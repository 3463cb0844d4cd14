//! What a scene looks like, as JSON for whoever draws it: shapes, bodies, limits, goals.
//!
//! Thread: control.

use crate::geometry::Shape;
use crate::math::Pose;
use crate::scene::Built;
use crate::shared::{MAX_VIEW_BODIES, SkinModel};
use crate::sim::{BodyModel, HandId, Motion, ToolBody};
use serde_json::{Value as Json, json};

/// The scene `built` of this name and title on this device; docs/viewer.md says what stands where.
pub(super) fn portrait(name: &str, title: &str, device: &str, built: &Built) -> Json {
    let limits = &built.haptic.limits;
    let body = |body: &BodyModel| {
        json!({
            "name": body.name,
            "fixed": matches!(body.motion, Motion::Fixed),
            "material": built.sim.materials.get(body.material).map(|material| &material.name),
            "shape": body_shape(body),
        })
    };
    let tool = |(hand, tool): (usize, &ToolBody)| {
        let is_soft = built.sim.tool_is_soft(HandId(hand));
        json!({ "shape": if is_soft { skinned(&tool.pose_tool_shape) } else { shape(&tool.shape, &tool.pose_tool_shape) } })
    };
    let mut bodies: Vec<Json> = built.sim.bodies.iter().map(body).collect();
    // The other hand's tool is one more body to look at, after those that can be seen.
    if let Some(other) = built.sim.tools.get(1) {
        let mut other = tool((1, other));
        (other["name"], other["fixed"], other["held"]) = ("second hand".into(), false.into(), true.into());
        bodies.insert(bodies.len().min(MAX_VIEW_BODIES), other);
    }
    let goals: Vec<String> = built.watcher().goals().map(|(goal, _)| goal.name.as_str().to_owned()).collect();
    json!({
        "scene": name,
        "title": title,
        "device": device,
        "rate_hz": built.haptic.rate_hz,
        "limits": {
            "force_n": limits.force.linear,
            "torque_nm": limits.force.angular,
            "speed_m_per_s": limits.speed.linear,
        },
        "stable_stiffness": limits.stiffness.linear,
        "turning": built.haptic.turning.map(|turning| json!({ "rate_rad_per_s": turning.rate })),
        "tool": built.sim.tools.first().map(|first| tool((0, first))),
        "bodies": bodies,
        "skins": built.skins.iter().map(skin).collect::<Vec<_>>(),
        "goals": goals,
    })
}

fn skin(skin: &SkinModel) -> Json {
    json!({
        "name": skin.name,
        "material": skin.material,
        "vertices": skin.points,
        "triangles": skin.triangles,
        "inner": skin.inner,
        "stress_full_pa": skin.stress_full_pa,
    })
}

/// The shape of a body; one that deforms is among the skins.
fn body_shape(body: &BodyModel) -> Json {
    match &body.motion {
        Motion::Elastic(elastic) if elastic.skin.is_some() => skinned(&body.pose_body_shape),
        Motion::Corotational(_) | Motion::Tissue(_) => skinned(&body.pose_body_shape),
        _ => shape(&body.shape, &body.pose_body_shape),
    }
}

/// Stands for what is drawn by its skin.
fn skinned(pose: &Pose) -> Json {
    posed(json!({ "kind": "skin" }), pose)
}

fn shape(shape: &Shape, pose: &Pose) -> Json {
    let json = match shape {
        Shape::HalfSpace(_) => json!({ "kind": "half_space" }),
        Shape::Sphere(sphere) => json!({ "kind": "sphere", "radius": sphere.radius }),
        Shape::Cuboid(cuboid) => json!({ "kind": "box", "size": (2.0 * cuboid.half).as_slice() }),
        Shape::Cylinder(rod) => json!({ "kind": "cylinder", "radius": rod.radius, "length": 2.0 * rod.half_length }),
        Shape::Capsule(rod) => json!({ "kind": "capsule", "radius": rod.radius, "length": 2.0 * rod.half_length }),
        Shape::Bore(bore) => json!({
            "kind": "bore",
            "radius": bore.radius,
            "depth": bore.depth,
            "chamfer": bore.chamfer,
            "size": [2.0 * bore.half_x, 2.0 * bore.half_y, bore.height],
        }),
        Shape::Part(part) => json!({
            "kind": "mesh",
            "vertices": part.mesh.vertices().iter().map(|p| [p.x, p.y, p.z]).collect::<Vec<_>>(),
            "triangles": part.mesh.triangles(),
        }),
    };
    posed(json, pose)
}

fn posed(mut json: Json, pose: &Pose) -> Json {
    let numbers: Vec<f64> = pose.translation.vector.iter().chain(pose.rotation.coords.iter()).copied().collect();
    json["pose"] = numbers.into();
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene;

    #[test]
    fn every_shipped_scene_can_be_drawn() {
        for name in scene::shipped_names() {
            let spec = scene::open(name).expect("it is shipped").value;
            let device = spec.device.clone().unwrap_or_else(|| "simulated-3dof".into());
            let device = scene::open_device(&device).expect("it is shipped").value;
            let built = scene::build(&spec, &device).expect("they fit");
            let json = portrait(name, &spec.title, "x", &built);
            assert_eq!(json["scene"], name);
            assert!(json["stable_stiffness"].as_f64().is_some_and(|number| number > 0.0));
            assert!(json["limits"]["force_n"].as_f64().is_some_and(|number| number > 0.0));
            let bodies = json["bodies"].as_array().expect("bodies");
            assert_eq!(bodies.len(), built.sim.bodies.len() + built.sim.tools.len() - 1);
            // Each body that deforms is drawn once, by its skin.
            let skinned = bodies.iter().filter(|body| body["shape"]["kind"] == "skin");
            let names: Vec<&Json> = skinned.map(|body| &body["name"]).collect();
            let skins = json["skins"].as_array().expect("skins");
            assert_eq!(names, skins.iter().map(|skin| &skin["name"]).collect::<Vec<_>>());
            let soft = [
                "needle_phantom",
                "liver_biopsy",
                "soft_cube",
                "soft_finger",
                "soft_grip",
                "suction_cup",
                "tissue_palpation",
            ];
            let deforms = name.starts_with("snap_") || soft.contains(&name);
            assert_eq!(!names.is_empty(), deforms, "{name}");
            for shape in bodies.iter().chain([&json["tool"]]).map(|body| &body["shape"]) {
                assert!(shape["kind"].is_string() && shape["pose"].as_array().is_some_and(|pose| pose.len() == 7));
            }
            assert_eq!(json["goals"].as_array().map(Vec::len), Some(built.goals.len()));
        }
    }

    #[test]
    fn a_skin_is_drawn_from_its_points_at_rest() {
        let model = SkinModel {
            name: "liver".into(),
            material: "tissue".into(),
            points: vec![[0.0, 0.5, 1.0]; 3],
            triangles: vec![[0, 1, 2]],
            inner: Vec::new(),
            stress_full_pa: 2e4,
        };
        let json = skin(&model);
        assert_eq!((&json["vertices"][1], &json["triangles"]), (&json!([0.0, 0.5, 1.0]), &json!([[0, 1, 2]])));
        assert_eq!((&json["name"], &json["stress_full_pa"]), (&json!("liver"), &json!(2e4)));
    }

    #[test]
    fn lengths_are_whole_and_poses_end_with_the_real_part() {
        let pose = Pose::translation(1.0, 2.0, 3.0);
        let box_ = Shape::Cuboid(crate::geometry::Cuboid { half: crate::math::Vec3::new(0.1, 0.2, 0.3) });
        let json = shape(&box_, &pose);
        assert_eq!(json["size"], json!([0.2, 0.4, 0.6]));
        assert_eq!(json["pose"], json!([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]));
    }
}
