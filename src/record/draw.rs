//! What a viewer draws of a recording: shapes, their places, and forces.
//!
//! Thread: recorder.
//!
//! Frames: `world`, `tool`, `handle`, and `body/NAME` for each body, all placed in the world.

use super::json::Json;
use crate::haptic::TickRecord;
use crate::math::{Pose, Rot, Vec3};
use crate::shared::SceneView;

/// Length of the arrow of one newton, m.
const METRES_PER_NEWTON: f64 = 0.01;
/// Shorter arrows are left out, m.
const SHORTEST_ARROW: f64 = 1e-5;
/// Side of the piece drawn of a half-space, and its thickness, m.
const GROUND: (f64, f64) = (0.4, 0.002);

/// A simple solid about its own origin.
#[derive(Clone, Debug, PartialEq)]
pub enum Outline {
    /// A ball.
    Ball {
        /// Radius, m.
        radius: f64,
    },
    /// A block.
    Block {
        /// Edge lengths, m.
        size: Vec3,
    },
    /// A cylinder along z.
    Rod {
        /// Radius, m.
        radius: f64,
        /// Length, m.
        length: f64,
    },
    /// Everything below z = 0.
    Ground,
    /// Triangles.
    Mesh {
        /// Corners, m.
        vertices: Vec<Vec3>,
        /// Three corners each, seen from outside against the clock.
        triangles: Vec<[u32; 3]>,
    },
}

/// How something looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Name of the body; `None` for the tool. Bodies stand in the order of the scene.
    pub body: Option<String>,
    /// Its shape.
    pub outline: Outline,
    /// Where the shape is on the body.
    pub pose_body_shape: Pose,
}

/// Shapes, once per file.
pub(super) fn scene<'a>(looks: &[Look], time_ns: u64, json: &'a mut Json) -> &'a [u8] {
    json.restart().list("deletions", |_| {}).list("entities", |json| {
        for look in looks {
            let frame = look.body.as_deref().map_or_else(|| "tool".to_string(), frame_of);
            json.element(|json| {
                head(json, &frame, &frame, time_ns);
                let shade = if look.body.is_some() { [0.6, 0.65, 0.7, 1.0] } else { [0.9, 0.55, 0.1, 0.9] };
                solids(json, look, shade);
                tail(json, |_| {}, |json| triangles(json, look, shade));
            });
        }
    });
    json.done()
}

/// Name of a body's frame.
#[must_use]
pub fn frame_of(name: &str) -> String {
    format!("body/{name}")
}

fn head(json: &mut Json, frame: &str, id: &str, time_ns: u64) {
    json.time("timestamp", time_ns).text("frame_id", frame).text("id", id).time("lifetime", 0);
    json.flag("frame_locked", true).list("metadata", |_| {});
}

fn tail(json: &mut Json, arrows: impl FnOnce(&mut Json), triangles: impl FnOnce(&mut Json)) {
    json.list("arrows", arrows).list("lines", |_| {}).list("triangles", triangles);
    for nothing in ["texts", "models"] {
        json.list(nothing, |_| {});
    }
}

/// The triangles of a mesh, each with corners of its own so that it is shaded flat.
fn triangles(json: &mut Json, look: &Look, shade: [f64; 4]) {
    let Outline::Mesh { vertices, triangles } = &look.outline else { return };
    json.element(|json| {
        json.pose("pose", &look.pose_body_shape).list("points", |json| {
            for corner in triangles.iter().flatten().filter_map(|corner| vertices.get(*corner as usize)) {
                json.element(|json| {
                    json.number("x", corner.x).number("y", corner.y).number("z", corner.z);
                });
            }
        });
        colour(json, shade);
        json.list("colors", |_| {}).list("indices", |_| {});
    });
}

fn solids(json: &mut Json, look: &Look, shade: [f64; 4]) {
    let mut pose = look.pose_body_shape;
    let (kind, size) = match look.outline {
        Outline::Mesh { .. } => ("triangles", Vec3::zeros()),
        Outline::Ball { radius } => ("spheres", Vec3::repeat(2.0 * radius)),
        Outline::Block { size } => ("cubes", size),
        Outline::Rod { radius, length } => ("cylinders", Vec3::new(2.0 * radius, 2.0 * radius, length)),
        Outline::Ground => {
            pose *= Pose::translation(0.0, 0.0, -0.5 * GROUND.1);
            ("cubes", Vec3::new(GROUND.0, GROUND.0, GROUND.1))
        }
    };
    for list in ["cubes", "spheres", "cylinders"] {
        json.list(list, |json| {
            if list == kind {
                json.element(|json| {
                    json.pose("pose", &pose).vector("size", &size);
                    if kind == "cylinders" {
                        json.number("bottom_scale", 1.0).number("top_scale", 1.0);
                    }
                    colour(json, shade);
                });
            }
        });
    }
}

fn colour(json: &mut Json, [r, g, b, a]: [f64; 4]) {
    json.object("color", |json| {
        json.number("r", r).number("g", g).number("b", b).number("a", a);
    });
}

/// The force on the hand, at the handle, and those on the tool where it touches. The torque has no arrow; it can be plotted.
pub(super) fn forces<'a>(record: &TickRecord, time_ns: u64, json: &'a mut Json) -> &'a [u8] {
    // Forces are in the device's frame; the handle is known in both.
    let rotation_world_device = record.pose_world_handle.rotation * record.pose_device_handle.rotation.inverse();
    let hand = (record.pose_world_handle.translation.vector, rotation_world_device * record.force.force);
    let long = |v: [f32; 3]| Vec3::from(v.map(f64::from));
    let touches = record.touches.all().iter();
    let contacts: Vec<(Vec3, Vec3)> = touches.map(|touch| (long(touch.point), long(touch.force))).collect();
    json.restart().list("deletions", |_| {}).list("entities", |json| {
        arrows(json, "force", &[hand], [0.85, 0.1, 0.1, 1.0], time_ns);
        arrows(json, "contacts", &contacts, [0.1, 0.35, 0.85, 1.0], time_ns);
    });
    json.done()
}

/// Arrows from points along forces, as one thing that is drawn.
fn arrows(json: &mut Json, id: &str, forces: &[(Vec3, Vec3)], shade: [f64; 4], time_ns: u64) {
    json.element(|json| {
        head(json, "world", id, time_ns);
        for nothing in ["cubes", "spheres", "cylinders"] {
            json.list(nothing, |_| {});
        }
        let all = |json: &mut Json| {
            for (from, force) in forces {
                if METRES_PER_NEWTON * force.norm() > SHORTEST_ARROW {
                    json.element(|json| arrow(json, from, force, shade));
                }
            }
        };
        tail(json, all, |_| {});
    });
}

/// An arrow from a point along a force.
fn arrow(json: &mut Json, from: &Vec3, force: &Vec3, shade: [f64; 4]) {
    let length = METRES_PER_NEWTON * force.norm();
    // Arrows point along x. Opposite directions leave the axis open; any square to x will do.
    let back = || Rot::from_axis_angle(&Vec3::z_axis(), std::f64::consts::PI);
    let turn = Rot::rotation_between(&Vec3::x(), force).unwrap_or_else(back);
    json.pose("pose", &Pose::from_parts((*from).into(), turn));
    json.number("shaft_length", 0.8 * length).number("shaft_diameter", 0.002);
    json.number("head_length", 0.2 * length).number("head_diameter", 0.004);
    colour(json, shade);
}

/// Places of tool and handle.
pub(super) fn tool_and_handle<'a>(record: &TickRecord, time_ns: u64, json: &'a mut Json) -> &'a [u8] {
    json.restart().list("transforms", |json| {
        transform(json, "tool", &record.pose_world_tool, time_ns);
        transform(json, "handle", &record.pose_world_handle, time_ns);
    });
    json.done()
}

/// Places of the bodies a view shows; `None` when it shows none that has a name.
pub(super) fn bodies<'a>(view: &SceneView, looks: &[Look], time_ns: u64, json: &'a mut Json) -> Option<&'a [u8]> {
    let names = looks.iter().filter_map(|look| look.body.as_deref());
    let mut placed = names.zip(view.bodies.iter().take(view.body_count)).peekable();
    placed.peek()?;
    json.restart().list("transforms", |json| {
        for (name, pose) in placed {
            transform(json, &frame_of(name), pose, time_ns);
        }
    });
    Some(json.done())
}

fn transform(json: &mut Json, frame: &str, pose: &Pose, time_ns: u64) {
    json.element(|json| {
        json.time("timestamp", time_ns).text("parent_frame_id", "world").text("child_frame_id", frame);
        json.vector("translation", &pose.translation.vector).rotation("rotation", &pose.rotation);
    });
}

/// The handle by itself.
pub(super) fn handle<'a>(record: &TickRecord, time_ns: u64, json: &'a mut Json) -> &'a [u8] {
    json.restart().time("timestamp", time_ns).text("frame_id", "world").pose("pose", &record.pose_world_handle);
    json.done()
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    /// As usual.
    Info = 2,
    /// Worth a look.
    Warning = 3,
    /// Force was cut.
    Error = 4,
}

/// A line for people.
pub(super) fn log<'a>(level: Level, name: &str, message: &str, time_ns: u64, json: &'a mut Json) -> &'a [u8] {
    json.restart().time("timestamp", time_ns).count("level", level as u64).text("message", message);
    json.text("name", name).text("file", "").count("line", 0);
    json.done()
}
