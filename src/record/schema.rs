//! What stands in a recording: its channels, each with the schema of its messages.
//!
//! Thread: recorder.
//!
//! Messages are JSON with a JSON Schema, so that every tool that knows MCAP reads them without a plug-in. The names that begin
//! with `foxglove.` are known to viewers, which draw them; ours begin with `hapticd.`.

use super::tick::parameter_name;
use crate::shared::Parameter;
use serde_json::{Value, json};

/// The channels of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// Every tick, in full.
    Tick,
    /// Places of tool, handle and bodies.
    Transforms,
    /// Shapes of the bodies, once per file.
    Scene,
    /// Force on the hand, and those of the contacts, as arrows.
    Forces,
    /// The handle.
    Handle,
    /// What happened, for people.
    Log,
    /// What happened, for machines.
    Event,
    /// Faults of ticks as they begin.
    Fault,
    /// Marks set by a person or a client.
    Mark,
    /// What the recording itself has to say: losses.
    Diagnostics,
    /// What each step of the simulation depended on.
    Step,
    /// Orders to the loop.
    Order,
    /// Where the tool touches the scene.
    Contacts,
    /// Bodies that deform.
    Skin,
    /// A needle.
    Path,
}

impl Topic {
    /// All of them, in the order of their numbers.
    pub(super) const ALL: [Self; 15] = [
        Self::Tick,
        Self::Transforms,
        Self::Scene,
        Self::Forces,
        Self::Handle,
        Self::Log,
        Self::Event,
        Self::Fault,
        Self::Mark,
        Self::Diagnostics,
        Self::Step,
        Self::Order,
        Self::Contacts,
        Self::Skin,
        Self::Path,
    ];

    /// Its address in the file.
    pub(super) fn address(self) -> &'static str {
        match self {
            Self::Tick => "/tick",
            Self::Transforms => "/tf",
            Self::Scene => "/scene",
            Self::Forces => "/forces",
            Self::Handle => "/handle",
            Self::Log => "/log",
            Self::Event => "/event",
            Self::Fault => "/fault",
            Self::Mark => "/mark",
            Self::Diagnostics => "/diagnostics",
            Self::Step => "/step",
            Self::Order => "/order",
            Self::Contacts => "/contacts",
            Self::Skin => "/skin",
            Self::Path => "/path",
        }
    }

    /// Name of its schema.
    pub(super) fn schema(self) -> &'static str {
        match self {
            Self::Tick => "hapticd.Tick",
            Self::Transforms => "foxglove.FrameTransforms",
            Self::Scene | Self::Forces => "foxglove.SceneUpdate",
            Self::Handle => "foxglove.PoseInFrame",
            Self::Log => "foxglove.Log",
            Self::Event => "hapticd.Event",
            Self::Fault => "hapticd.Fault",
            Self::Mark => "hapticd.Mark",
            Self::Diagnostics => "hapticd.Diagnostics",
            Self::Step => "hapticd.Step",
            Self::Order => "hapticd.Order",
            Self::Contacts => "hapticd.Contacts",
            Self::Skin | Self::Path => "foxglove.PointCloud",
        }
    }

    /// The schema itself.
    pub(super) fn schema_text(self) -> String {
        let schema = match self {
            Self::Tick => tick(),
            Self::Transforms => object(&[("transforms", list(transform()))]),
            Self::Scene | Self::Forces => {
                object(&[("deletions", list(json!({ "type": "object" }))), ("entities", list(entity()))])
            }
            Self::Handle => object(&[("timestamp", time()), ("frame_id", text()), ("pose", pose())]),
            Self::Log => object(&[
                ("timestamp", time()),
                ("level", whole()),
                ("message", text()),
                ("name", text()),
                ("file", text()),
                ("line", whole()),
            ]),
            Self::Event => object(&[("tick", whole()), ("event", json!({ "type": "object" }))]),
            Self::Fault => object(&[("tick", whole()), ("due_ns", whole()), ("name", text()), ("state", text())]),
            Self::Mark => object(&[("tick", whole()), ("text", text())]),
            Self::Diagnostics => object(&[("tick", whole()), ("lost", whole()), ("text", text())]),
            Self::Step => {
                let names = ["sequence", "began_ns", "tool", "second_tool", "materials", "took_ns"];
                object(&names.map(|name| (name, whole())))
            }
            Self::Order => object(&[("tick", whole()), ("changes", list(json!({ "type": "object" })))]),
            Self::Contacts => {
                let contact = object(&[("point", vector()), ("force", vector())]);
                object(&[("due_ns", whole()), ("contacts", list(contact))])
            }
            Self::Skin | Self::Path => cloud(),
        };
        schema.to_string()
    }
}

fn object(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_string(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}

fn number() -> Value {
    json!({ "type": "number" })
}

fn whole() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn numbers(names: &[&'static str]) -> Value {
    let fields: Vec<_> = names.iter().map(|name| (*name, number())).collect();
    object(&fields)
}

fn vector() -> Value {
    numbers(&["x", "y", "z"])
}

fn quaternion() -> Value {
    numbers(&["x", "y", "z", "w"])
}

fn colour() -> Value {
    numbers(&["r", "g", "b", "a"])
}

fn pose() -> Value {
    object(&[("position", vector()), ("orientation", quaternion())])
}

fn time() -> Value {
    object(&[("sec", whole()), ("nsec", whole())])
}

fn transform() -> Value {
    object(&[
        ("timestamp", time()),
        ("parent_frame_id", text()),
        ("child_frame_id", text()),
        ("translation", vector()),
        ("rotation", quaternion()),
    ])
}

fn entity() -> Value {
    let arrow = object(&[
        ("pose", pose()),
        ("shaft_length", number()),
        ("shaft_diameter", number()),
        ("head_length", number()),
        ("head_diameter", number()),
        ("color", colour()),
    ]);
    let solid = object(&[("pose", pose()), ("size", vector()), ("color", colour())]);
    let cylinder = object(&[
        ("pose", pose()),
        ("size", vector()),
        ("bottom_scale", number()),
        ("top_scale", number()),
        ("color", colour()),
    ]);
    let nothing = || list(json!({ "type": "object" }));
    object(&[
        ("timestamp", time()),
        ("frame_id", text()),
        ("id", text()),
        ("lifetime", time()),
        ("frame_locked", flag()),
        ("metadata", nothing()),
        ("arrows", list(arrow)),
        ("cubes", list(solid.clone())),
        ("spheres", list(solid)),
        ("cylinders", list(cylinder)),
        ("lines", nothing()),
        ("triangles", nothing()),
        ("texts", nothing()),
        ("models", nothing()),
    ])
}

fn cloud() -> Value {
    let field = object(&[("name", text()), ("offset", whole()), ("type", whole())]);
    object(&[
        ("timestamp", time()),
        ("frame_id", text()),
        ("pose", pose()),
        ("point_stride", whole()),
        ("fields", list(field)),
        ("data", json!({ "type": "string", "contentEncoding": "base64" })),
    ])
}

fn tick() -> Value {
    let states = json!({ "type": "string", "enum": ["DISABLED", "ENABLED", "PAUSED", "FAULT"] });
    // A number that is not finite is a string: JSON has no other word for it.
    let any_number = || json!({ "type": ["number", "string"] });
    let any_vector = || object(&[("x", any_number()), ("y", any_number()), ("z", any_number())]);
    object(&[
        ("index", whole()),
        ("due_ns", whole()),
        ("lateness_ns", whole()),
        ("compute_ns", whole()),
        ("state", states),
        ("cause", text()),
        ("homed", flag()),
        ("buttons", whole()),
        ("faults", list(text())),
        ("gain", number()),
        ("pose_device_handle", pose()),
        ("velocity", vector()),
        ("pose_world_handle", pose()),
        ("pose_world_tool", pose()),
        ("force_n", number()),
        ("force", vector()),
        ("torque", vector()),
        ("wanted_force", any_vector()),
        ("wanted_torque", any_vector()),
        ("contacts", whole()),
        ("penetration_m", any_number()),
        ("iterations", whole()),
        ("residual", any_number()),
        ("snapshot_age_ns", whole()),
        ("reserve_j", number()),
        ("balance_j", number()),
        ("balance_min_j", number()),
        ("taken_j", number()),
        ("given_j", number()),
        ("parameters", numbers(&Parameter::ALL.map(parameter_name))),
        ("input", object(&[("skipped", whole()), ("snapshot", whole())])),
    ])
}
