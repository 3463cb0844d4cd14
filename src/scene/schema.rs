//! The keys of scene files; read by [`super::read`] and its neighbours. What the operator and the task are asked stands in
//! [`super::schema_task`].
//!
//! Thread: cold.

use super::read::{BODIES_MAX, SOFT_CONTACTS_BOUNDS};
use super::read_joint::JOINTS_MAX;
use super::read_part::{FACETS, ROWS, THREAD};
use super::read_soft::{GROUPS_MAX, REGIONS_MAX};
use super::read_tissue::{LAYERS_MAX, TAPER_MAX};
use super::read_turning::{LEVER_MAX_M, RATE_MAX};
use super::schema_soft::{AIR, ELASTIC, GROUP, JOINT, REGION};
use super::schema_task::{OPERATOR, TASK, direction};
use super::schema_tissue::{LAYER, NEEDLE, TISSUE};
use crate::files::Dimension as D;
use crate::files::Format;
use crate::files::schema::{ANY_LENGTH, Choice, Key, Keys, Kind, NOT_BLANK, Schema};
use std::f64::consts::TAU;

/// Scene files.
pub static SCHEMA: Schema = Schema {
    format: Format::SCENE,
    title: "Scene files",
    about: "\
A scene file says what there is to touch, with what, how it is felt, and what counts as success. It is TOML. Unknown keys are
refused. `scenes/virtual_wall.toml`, `scenes/box_on_table.toml` and `scenes/peg_primitive.toml` are examples with comments.

Coordinates are right-handed: x towards the operator, y to the operator's right, z up. A pose is `{ xyz, rpy }`: a position,
then roll about x, pitch about y and yaw about z, all fixed axes. Poses of bodies and of the tool are those of the frame of
their shape; conditions on where a body or the tool *is* are about its centre of mass, which is the same point for every
shape but a bore.
",
    root: &ROOT,
};

pub(super) const fn quantity(name: &'static str, dimension: D, example: &'static str, about: &'static str) -> Key {
    Key::new(name, Kind::Quantity(dimension), example, about)
}

pub(super) const fn vector(name: &'static str, dimension: D, example: &'static str, about: &'static str) -> Key {
    Key::new(name, Kind::Vector(dimension), example, about)
}

/// A place: far, but not as far as a slip of a unit.
pub(super) const fn place(about: &'static str) -> Key {
    vector("xyz", D::Length, "[\"-25 mm\", 0, \"55 mm\"]", about).at_least(-10.0).at_most(10.0)
}

/// Roll, pitch and yaw.
pub(super) const fn rotation(about: &'static str) -> Key {
    vector("rpy", D::Angle, "[0, \"180 deg\", 0]", about).at_least(-TAU).at_most(TAU)
}

static ROOT: Keys = Keys {
    heading: "Top of the file",
    about: "What stands above the first `[table]`, and the tables themselves.",
    keys: &[
        Key::new("title", NOT_BLANK, "\"Box on a table\"", "Name of the scene for people"),
        Key::new("description", Kind::Text("", ANY_LENGTH), "\"Push a box along.\"", "What it shows").or("\"\""),
        Key::table("defaults", &DEFAULTS, "What it is made for").optional("its defaults"),
        Key::table("world", &WORLD, "What holds everywhere").optional("its defaults"),
        Key::table("air", &AIR, "The air, which soft bodies can enclose").optional("nothing encloses air"),
        Key::table("rate", &RATE, "How often things are worked out").optional("its defaults"),
        Key::table("collision", &COLLISION, "How contacts are looked for").optional("its defaults"),
        Key::new("material", Kind::Named(&MATERIAL, 64, "steel"), "", "Surfaces, by name").optional("there are none"),
        Key::new("body", Kind::Named(&BODY, BODIES_MAX, "box"), "", "What there is to touch, by name")
            .optional("there is nothing to touch"),
        Key::new("joint", Kind::Tables(&JOINT, JOINTS_MAX), "", "What keeps bodies together").optional("nothing"),
        Key::table("tool", &TOOL, "What the hand holds in the scene"),
        Key::table("needle", &NEEDLE, "The needle whose hub the tool is").optional("the tool is no needle"),
        Key::table("coupling", &COUPLING, "How the tool hangs on the handle"),
        Key::table("mapping", &MAPPING, "How the device lies in the scene").optional("its defaults"),
        Key::table("turning", &TURNING, "How the tool is turned other than by the handle")
            .optional("by the handle alone"),
        Key::table("safety", &SAFETY, "Limits tighter than the device's own").optional("the device's own limits"),
        Key::table("operator", &OPERATOR, "Who stands in for a hand").optional("its defaults"),
        Key::table("task", &TASK, "What counts as success").optional("its defaults"),
        Key::table("second_hand", &SECOND_HAND, "The other hand").optional("a scene for one hand"),
    ],
    choices: &[],
};

static SECOND_HAND: Keys = Keys {
    heading: "[second_hand]",
    about: "A scene for two hands: what the other one has of its own, written as for the first: `[second_hand.tool]`, \
            `[second_hand.mapping]`, `[[second_hand.operator.phase]]`. Coupling and safety are those of the scene. Goals and \
            conditions on the tool are about each operator's own tool, and in `[task]` about the first hand's.",
    keys: &[
        Key::new("device", NOT_BLANK, "\"simulated-3dof\"", "Its device: a shipped name, or a path")
            .optional("that of the first hand"),
        Key::table("tool", &TOOL, "What it holds in the scene"),
        Key::table("mapping", &MAPPING, "How its device lies in the scene").optional("its defaults"),
        Key::table("turning", &TURNING, "How its tool is turned other than by the handle")
            .optional("by the handle alone"),
        Key::table("operator", &OPERATOR, "Who stands in for it").optional("its defaults"),
    ],
    choices: &[],
};

static DEFAULTS: Keys = Keys {
    heading: "[defaults]",
    about: "What the scene is made for; the command line can say otherwise.",
    keys: &[Key::new("device", NOT_BLANK, "\"simulated-3dof\"", "Device: a shipped name, or a path")
        .optional("`simulated-3dof`")],
    choices: &[],
};

static WORLD: Keys = Keys {
    heading: "[world]",
    about: "What holds everywhere in the scene.",
    keys: &[
        vector("gravity", D::Acceleration, "[0, 0, \"-9.81 m/s^2\"]", "Acceleration of gravity")
            .at_least(-100.0)
            .at_most(100.0)
            .or("[0, 0, -9.81]"),
        quantity("margin", D::Length, "\"10 mm\"", "Gap up to which contacts are kept ready for the hand")
            .positive()
            .at_most(0.2)
            .optional("from rate and speed"),
    ],
    choices: &[],
};

static RATE: Keys = Keys {
    heading: "[rate]",
    about: "How often things are worked out. The rate of the haptic loop is the device's.",
    keys: &[quantity("simulation", D::Frequency, "\"250 Hz\"", "Steps of the simulation in a second")
        .at_least(30.0)
        .at_most(1000.0)
        .or("\"250 Hz\"")],
    choices: &[],
};

static COLLISION: Keys = Keys {
    heading: "[collision]",
    about: "How contacts are looked for.",
    keys: &[
        Key::new("thread", Kind::Boolean, "true", "On a thread of its own, a step behind").or("false"),
        Key::new(
            "clustering",
            Kind::Word(&["patches", "k-means"]),
            "\"k-means\"",
            "How the contacts of two bodies are reduced where there are more than are solved for: `patches` keep the deepest contact and the \
             outline of every patch, `k-means` the deepest contact of every cluster",
        )
        .or("\"patches\""),
        Key::new(
            "soft_contacts",
            Kind::Integer(SOFT_CONTACTS_BOUNDS.0, SOFT_CONTACTS_BOUNDS.1),
            "48",
            "Most contacts between a soft body and another body; more are reduced to representatives, between which the surface may sink in",
        )
        .or("128"),
    ],
    choices: &[],
};

static MATERIAL: Keys = Keys {
    heading: "[material.NAME]",
    about: "A surface. NAME has letters, digits, `-` and `_`, at most 48. Between two, the geometric mean \
            of their friction counts, and the larger restitution.",
    keys: &[
        quantity("friction", D::Dimensionless, "0.4", "Coefficient of Coulomb friction").not_negative().at_most(5.0),
        quantity("restitution", D::Dimensionless, "0.2", "Part of the speed that is left after a blow")
            .not_negative()
            .at_most(1.0)
            .or("0"),
    ],
    choices: &[],
};

static BODY: Keys = Keys {
    heading: "[body.NAME]",
    about: "A rigid body, one that deforms, or tissue that needles go into. NAME as for materials.",
    keys: &[
        Key::table("shape", &SHAPE, "Its shape"),
        Key::new("material", Kind::Reference("material"), "\"steel\"", "Its surface"),
        Key::table("pose", &POSE, "The shape's frame in the scene at the start").optional("at the origin, not turned"),
        Key::new("fixed", Kind::Boolean, "true", "It does not move").or("false"),
        quantity("mass", D::Mass, "\"0.3 kg\"", "How heavy it is").at_least(1e-6).at_most(1000.0).chosen(),
        quantity("density", D::Density, "\"7.85 g/cm^3\"", "How heavy it is, by its volume")
            .positive()
            .at_most(30_000.0)
            .chosen(),
        Key::table("elastic", &ELASTIC, "How a body deforms").chosen(),
        Key::new("group", Kind::Tables(&GROUP, GROUPS_MAX), "", "Named parts of a body that deforms").chosen(),
        Key::new("region", Kind::Tables(&REGION, REGIONS_MAX), "", "Parts of it that are made of another material")
            .chosen(),
        Key::table("tissue", &TISSUE, "What holds tissue, and what there is in it").chosen(),
        Key::new("layer", Kind::Tables(&LAYER, LAYERS_MAX), "", "What tissue is made of").chosen(),
    ],
    choices: &[
        Choice::needing(&["mass"]).unless(NOT_FREE),
        Choice::needing(&["density"]).unless(NOT_FREE),
        Choice::needing(&[]).when(&[("fixed", "true")]).unless(DEFORMS).allowing(&["mass", "density"]),
        elastic(&[("shape.kind", "\"snap-socket\"")]),
        elastic(&[("shape.kind", "\"soft-box\"")]),
        elastic(&[("shape.kind", "\"soft-cylinder\"")]),
        elastic(&[("shape.kind", "\"soft-sphere\"")]),
        elastic(&[("shape.kind", "\"soft-shell\"")]),
        elastic(&[("shape.kind", "\"soft-tube\"")]),
        elastic(&[("shape.kind", "\"soft-torus\"")]),
        elastic(&[("shape.kind", "\"suction-cup\"")]),
        elastic(&[("shape.kind", "\"tet-mesh\"")]),
        elastic(&[("shape.kind", "\"stuffed\"")]),
        Choice::needing(&["tissue", "layer"]).when(&[("shape.kind", "\"tissue-block\"")]).refusing(&["fixed"]),
        Choice::needing(&["tissue", "layer"]).when(&[("shape.kind", "\"tissue-organ\"")]).refusing(&["fixed"]),
        Choice::needing(&["tissue", "layer"]).when(&[("shape.kind", "\"tissue-mesh\"")]).refusing(&["fixed"]),
    ],
};

/// A body that deforms, but no tissue.
const fn elastic(kind: &'static [(&'static str, &'static str)]) -> Choice {
    Choice::needing(&["elastic"]).when(kind).allowing(&["group", "region"]).refusing(&["fixed"])
}

/// A tool that deforms.
const fn soft_tool(kind: &'static [(&'static str, &'static str)]) -> Choice {
    Choice::needing(&["elastic"]).when(kind).allowing(&["group", "region"])
}

/// Bodies that deform.
const DEFORMS: &[(&str, &str)] = &[
    ("shape.kind", "\"snap-socket\""),
    ("shape.kind", "\"soft-box\""),
    ("shape.kind", "\"soft-cylinder\""),
    ("shape.kind", "\"soft-sphere\""),
    ("shape.kind", "\"soft-shell\""),
    ("shape.kind", "\"soft-tube\""),
    ("shape.kind", "\"soft-torus\""),
    ("shape.kind", "\"suction-cup\""),
    ("shape.kind", "\"tet-mesh\""),
    ("shape.kind", "\"stuffed\""),
    ("shape.kind", "\"tissue-block\""),
    ("shape.kind", "\"tissue-organ\""),
    ("shape.kind", "\"tissue-mesh\""),
];
/// Bodies without a mass of their own.
const NOT_FREE: &[(&str, &str)] = &[
    ("fixed", "true"),
    ("shape.kind", "\"half-space\""),
    ("shape.kind", "\"snap-socket\""),
    ("shape.kind", "\"soft-box\""),
    ("shape.kind", "\"soft-cylinder\""),
    ("shape.kind", "\"soft-sphere\""),
    ("shape.kind", "\"soft-shell\""),
    ("shape.kind", "\"soft-tube\""),
    ("shape.kind", "\"soft-torus\""),
    ("shape.kind", "\"suction-cup\""),
    ("shape.kind", "\"tet-mesh\""),
    ("shape.kind", "\"stuffed\""),
    ("shape.kind", "\"tissue-block\""),
    ("shape.kind", "\"tissue-organ\""),
    ("shape.kind", "\"tissue-mesh\""),
];
/// Tools that deform, and what no hand can hold.
const NOT_RIGID_TOOL: &[(&str, &str)] = &[
    ("shape.kind", "\"half-space\""),
    ("shape.kind", "\"snap-socket\""),
    ("shape.kind", "\"soft-box\""),
    ("shape.kind", "\"soft-cylinder\""),
    ("shape.kind", "\"soft-sphere\""),
    ("shape.kind", "\"soft-shell\""),
    ("shape.kind", "\"soft-tube\""),
    ("shape.kind", "\"soft-torus\""),
    ("shape.kind", "\"suction-cup\""),
    ("shape.kind", "\"tet-mesh\""),
    ("shape.kind", "\"stuffed\""),
    ("shape.kind", "\"tissue-block\""),
    ("shape.kind", "\"tissue-organ\""),
    ("shape.kind", "\"tissue-mesh\""),
];

static TOOL: Keys = Keys {
    heading: "[tool]",
    about: "What the hand holds in the scene: a proxy that contacts stop.",
    keys: &[
        Key::table("shape", &SHAPE, "Its shape, any but a half-space, a snap-socket and tissue"),
        quantity("mass", D::Mass, "\"50 g\"", "Mass of the proxy").at_least(1e-6).at_most(1000.0),
        Key::new("material", Kind::Reference("material"), "\"steel\"", "Its surface"),
        Key::table("pose", &POSE, "The shape's frame in the scene at the start").optional("at the origin, not turned"),
        Key::table(
            "elastic",
            &ELASTIC,
            "How a tool deforms; the groups in `held` are clamped to the hand, and `step` is \"static\"",
        )
        .chosen(),
        Key::new("group", Kind::Tables(&GROUP, GROUPS_MAX), "", "Named parts of a tool that deforms").chosen(),
        Key::new("region", Kind::Tables(&REGION, REGIONS_MAX), "", "Parts of it that are made of another material")
            .chosen(),
    ],
    choices: &[
        Choice::needing(&[]).unless(NOT_RIGID_TOOL),
        soft_tool(&[("shape.kind", "\"soft-box\"")]),
        soft_tool(&[("shape.kind", "\"soft-cylinder\"")]),
        soft_tool(&[("shape.kind", "\"soft-sphere\"")]),
        soft_tool(&[("shape.kind", "\"soft-shell\"")]),
        soft_tool(&[("shape.kind", "\"soft-tube\"")]),
        soft_tool(&[("shape.kind", "\"soft-torus\"")]),
        soft_tool(&[("shape.kind", "\"suction-cup\"")]),
        soft_tool(&[("shape.kind", "\"tet-mesh\"")]),
        soft_tool(&[("shape.kind", "\"stuffed\"")]),
    ],
};

static POSE: Keys = Keys {
    heading: "pose = { … }",
    about: "Where a frame is and how it is turned.",
    keys: &[
        place("Position").or("[0, 0, 0]"),
        rotation("Roll about x, then pitch about y, then yaw about z, all fixed axes").or("[0, 0, 0]"),
    ],
    choices: &[],
};

/// A length of a shape.
const fn length(name: &'static str, example: &'static str, about: &'static str) -> Key {
    quantity(name, D::Length, example, about).at_least(1e-6).at_most(10.0).chosen()
}

/// What every solid filled with tetrahedra may state.
const SOFT: &[&str] = &["quadratic"];
const CUP: &[&str] = &["quadratic", "lip"];
const PEG: &[&str] = &["chamfer", "facets", "rows", "model"];
const BORE_BLOCK: &[&str] = &["chamfer", "floor", "facets", "rows", "model"];

static SHAPE: Keys = Keys {
    heading: "shape = { … }",
    about: "A solid. Boxes, spheres, cylinders and capsules have their frame in the middle, cylinders and capsules along z. A \
            half-space fills z ≤ 0. A bore is a block with a round hole that opens at its top, whose middle is the frame's \
            origin. The rest are machined parts, which touch with thousands of nodes all over their surface: a bolt stands on \
            z = 0, its free end up; a nut is centred; a peg has its tip at z = 0 and reaches up; a bore-block is round, its \
            mouth at z = 0; a mesh has the frame of its file. A snap-socket stands on z = 0 and opens upwards; the snap-plug of \
            the same connector has its tip at z = 0. Tissue has its frame in the middle: a tissue-block is a block of layers, a \
            tissue-organ a rounded one that is thinner towards +x and flatter below, a tissue-mesh has the frame of its file; all \
            are made of tetrahedra of ten nodes. The soft- shapes are filled with tetrahedra: a soft-box, soft-cylinder, soft-sphere, \
            soft-shell (a hollow ball), soft-tube (a hollow cylinder) and soft-torus have their frame in the middle and their axis \
            along z; a suction-cup has its lip in the plane z = 0 and its stem up; a tet-mesh has tetrahedra from a file; stuffed fills a closed surface from a file. Both have the frame of \
            their file.",
    keys: &[
        Key::new(
            "kind",
            Kind::Word(&[
                "box",
                "sphere",
                "cylinder",
                "capsule",
                "half-space",
                "bore",
                "bolt",
                "nut",
                "peg",
                "bore-block",
                "mesh",
                "snap-plug",
                "snap-socket",
                "tissue-block",
                "tissue-organ",
                "tissue-mesh",
                "soft-box",
                "soft-cylinder",
                "soft-sphere",
                "soft-shell",
                "soft-tube",
                "soft-torus",
                "suction-cup",
                "tet-mesh",
                "stuffed",
            ]),
            "\"box\"",
            "Which solid; it decides the other keys",
        ),
        vector(
            "size",
            D::Length,
            "[\"60 mm\", \"60 mm\", \"110 mm\"]",
            "Edges of the box, of the block or of the organ along x, y, z",
        )
        .at_least(1e-6)
        .at_most(10.0)
        .chosen(),
        length("radius", "\"10 mm\"", "Radius of the solid or of the hole, outer radius of a shell or tube; of a soft-torus, of the circle through \
                the middle of its section"),
        length("diameter", "\"20 mm\"", "Twice the radius, in its place"),
        length("length", "\"50 mm\"", "Length of a cylinder, a bolt, a peg or the middle part of a capsule; height of a nut, or of a suction-cup with its stem"),
        length("depth", "\"40 mm\"", "Depth of the hole, or of the hollow of a suction-cup"),
        quantity(
            "chamfer",
            D::Length,
            "\"1 mm\"",
            "Width of the slope at the mouth of the hole, at the tip of a peg, at the ends of a thread; if left out 0, for a \
             bolt 0.3 pitches",
        )
        .not_negative()
        .at_most(10.0)
        .chosen(),
        Key::new("thread", Kind::Text(THREAD, 24), "\"M48x5\"", "Nominal diameter and pitch of a thread in mm").chosen(),
        Key::new(
            "fit",
            Kind::QuantityOrWord(D::Length, "6H/6g"),
            "\"0.4 mm\"",
            "Room in a thread: a radial gap, of which bolt and nut each give half, or the middle of the classes 6H/6g, as \
             when left out",
        )
        .not_negative()
        .at_most(0.01)
        .chosen(),
        Key::new("left_hand", Kind::Boolean, "true", "The thread winds the other way").chosen(),
        length("across_flats", "\"75 mm\"", "Width of a nut over two opposite sides; 1.5625 diameters if left out"),
        length("outer", "\"80 mm\"", "Outer diameter of a bore-block"),
        length("floor", "\"10 mm\"", "Material below the hole of a bore-block; if left out, it goes through"),
        length("thickness", "\"4 mm\"", "Thickness of the wall of a shell, a tube or the middle of a suction-cup, or of the section of a soft-torus"),
        length("lip", "\"1 mm\"", "Thickness of a suction-cup at its lip; if left out, 0.4 of `thickness`"),
        length("stem", "\"8 mm\"", "Diameter of the stem of a suction-cup"),
        length("cell", "\"20 mm\"", "Edge of the tetrahedra of a shape that deforms; of tissue, of the bricks that are cut into them: a layer has at least one"),
        Key::new(
            "quadratic",
            Kind::Boolean,
            "false",
            "Tetrahedra have ten nodes, as when left out. With four a mesh has an eighth of the nodes and is too stiff: by 7 to 30 % at \
             usual sizes, and most where the material is nearly incompressible",
        )
        .chosen(),
        quantity("taper", D::Dimensionless, "0.5", "By how much an organ is thinner at one end; if left out 0")
            .not_negative()
            .at_most(TAPER_MAX)
            .chosen(),
        Key::new(
            "file",
            NOT_BLANK,
            "\"part.stl\"",
            "Mesh, STL or OBJ, or of tetrahedra, MSH, VTK or VTU, for a tet-mesh and a tissue-mesh; its path starts at the scene file",
        )
        .chosen(),
        Key::new("unit", Kind::Word(&["mm", "m", "in", "cm", "µm"]), "\"mm\"", "Unit of the numbers in it").chosen(),
        Key::new(
            "facets",
            Kind::Integer(FACETS.0, FACETS.1),
            "97",
            "Nodes around a part; give two that fit together numbers without a common factor. If left out 61 for a bolt and \
             a bore-block, 79 for a nut and a peg",
        )
        .chosen(),
        Key::new(
            "rows",
            Kind::Integer(ROWS.0, ROWS.1),
            "4",
            "Rows of nodes on each flank of a thread, or along a peg or a hole; if left out 3, 30 and 20",
        )
        .chosen(),
        Key::new(
            "model",
            NOT_BLANK,
            "\"grid\"",
            "Where distances come from: `grid`, made at load, as when left out; `exact`, slow; or the path of a file made by \
             `hapticd bake`, which starts at the scene file",
        )
        .chosen(),
        Key::new(
            "connector",
            Kind::Word(&["two-prong", "lan", "cap"]),
            "\"two-prong\"",
            "Which snap connector: two prongs, one latch beside a guide, or a ring",
        )
        .chosen(),
        Key::new(
            "detail",
            Kind::Word(&["coarse", "fine", "graded"]),
            "\"graded\"",
            "How fine the elements of a socket are: some 700 unknowns, as when left out, 1300, or graded for the plug of the same connector, with forces within 2 % of those of cells half as large: a graded socket is touched along its edges alone, and a cap has none; a plug is rigid, and is the same with each",
        )
        .chosen(),
    ],
    choices: &[
        Choice::needing(&["size"]).when(&[("kind", "\"box\"")]),
        Choice::needing(&["radius"]).when(&[("kind", "\"sphere\"")]),
        Choice::needing(&["diameter"]).when(&[("kind", "\"sphere\"")]),
        Choice::needing(&["radius", "length"]).when(&[("kind", "\"cylinder\"")]),
        Choice::needing(&["diameter", "length"]).when(&[("kind", "\"cylinder\"")]),
        Choice::needing(&["radius", "length"]).when(&[("kind", "\"capsule\"")]),
        Choice::needing(&["diameter", "length"]).when(&[("kind", "\"capsule\"")]),
        Choice::needing(&[]).when(&[("kind", "\"half-space\"")]),
        Choice::needing(&["size", "radius", "depth"]).when(&[("kind", "\"bore\"")]).allowing(&["chamfer"]),
        Choice::needing(&["size", "diameter", "depth"]).when(&[("kind", "\"bore\"")]).allowing(&["chamfer"]),
        Choice::needing(&["thread", "length"]).when(&[("kind", "\"bolt\"")]).allowing(&[
            "chamfer",
            "fit",
            "left_hand",
            "facets",
            "rows",
            "model",
        ]),
        Choice::needing(&["thread", "length"]).when(&[("kind", "\"nut\"")]).allowing(&[
            "chamfer",
            "fit",
            "left_hand",
            "across_flats",
            "facets",
            "rows",
            "model",
        ]),
        Choice::needing(&["radius", "length"]).when(&[("kind", "\"peg\"")]).allowing(PEG),
        Choice::needing(&["diameter", "length"]).when(&[("kind", "\"peg\"")]).allowing(PEG),
        Choice::needing(&["radius", "depth", "outer"]).when(&[("kind", "\"bore-block\"")]).allowing(BORE_BLOCK),
        Choice::needing(&["diameter", "depth", "outer"]).when(&[("kind", "\"bore-block\"")]).allowing(BORE_BLOCK),
        Choice::needing(&["file", "unit"]).when(&[("kind", "\"mesh\"")]).allowing(&["model"]),
        Choice::needing(&["connector"]).when(&[("kind", "\"snap-plug\"")]).allowing(&["detail"]),
        Choice::needing(&["connector"]).when(&[("kind", "\"snap-socket\"")]).allowing(&["detail"]),
        Choice::needing(&["size", "cell"]).when(&[("kind", "\"tissue-block\"")]),
        Choice::needing(&["size", "cell"]).when(&[("kind", "\"tissue-organ\"")]).allowing(&["taper"]),
        Choice::needing(&["file", "unit"]).when(&[("kind", "\"tissue-mesh\"")]),
        Choice::needing(&["size", "cell"]).when(&[("kind", "\"soft-box\"")]).allowing(SOFT),
        Choice::needing(&["radius", "length", "cell"]).when(&[("kind", "\"soft-cylinder\"")]).allowing(SOFT),
        Choice::needing(&["diameter", "length", "cell"]).when(&[("kind", "\"soft-cylinder\"")]).allowing(SOFT),
        Choice::needing(&["radius", "cell"]).when(&[("kind", "\"soft-sphere\"")]).allowing(SOFT),
        Choice::needing(&["diameter", "cell"]).when(&[("kind", "\"soft-sphere\"")]).allowing(SOFT),
        Choice::needing(&["radius", "thickness", "cell"]).when(&[("kind", "\"soft-shell\"")]).allowing(SOFT),
        Choice::needing(&["diameter", "thickness", "cell"]).when(&[("kind", "\"soft-shell\"")]).allowing(SOFT),
        Choice::needing(&["radius", "length", "thickness", "cell"]).when(&[("kind", "\"soft-tube\"")]).allowing(SOFT),
        Choice::needing(&["diameter", "length", "thickness", "cell"]).when(&[("kind", "\"soft-tube\"")]).allowing(SOFT),
        Choice::needing(&["radius", "thickness", "cell"]).when(&[("kind", "\"soft-torus\"")]).allowing(SOFT),
        Choice::needing(&["diameter", "thickness", "cell"]).when(&[("kind", "\"soft-torus\"")]).allowing(SOFT),
        Choice::needing(&["radius", "length", "depth", "thickness", "stem", "cell"])
            .when(&[("kind", "\"suction-cup\"")])
            .allowing(CUP),
        Choice::needing(&["diameter", "length", "depth", "thickness", "stem", "cell"])
            .when(&[("kind", "\"suction-cup\"")])
            .allowing(CUP),
        Choice::needing(&["file", "unit"]).when(&[("kind", "\"tet-mesh\"")]).allowing(SOFT),
        Choice::needing(&["file", "unit", "cell"]).when(&[("kind", "\"stuffed\"")]).allowing(SOFT),
    ],
};

static COUPLING: Keys = Keys {
    heading: "[coupling]",
    about: "How the tool hangs on the handle, in the units of the scene; what the hand feels is scaled by the mapping.",
    keys: &[
        Key::new(
            "kind",
            Kind::Word(&["spring", "transparent", "direct"]),
            "\"spring\"",
            "Spring and damper to the proxy; the same with force channels in both directions; or no proxy, and contacts \
             that give way",
        )
        .or("\"spring\""),
        quantity("stiffness", D::Stiffness, "\"1500 N/m\"", "Of the spring, or of the contacts").positive().at_most(1e6),
        quantity("damping", D::Damping, "\"5 N*s/m\"", "Of the damper, or of the contacts").not_negative().at_most(1e4),
        quantity("angular_stiffness", D::AngularStiffness, "\"1.5 N*m/rad\"", "Of the spring of rotation")
            .positive()
            .at_most(1e4)
            .optional("none, and an error with a device that senses rotation, or with `[turning]`, but for `direct`"),
        quantity("angular_damping", D::AngularDamping, "\"0.01 N*m*s/rad\"", "Of the damper of rotation")
            .not_negative()
            .at_most(100.0)
            .optional("likewise"),
        quantity("bandwidth", D::Frequency, "\"10 Hz\"", "How fast `transparent` follows the force of the hand")
            .at_least(1.0)
            .at_most(500.0)
            .or("\"10 Hz\""),
    ],
    choices: &[],
};

/// A scale between device and scene.
const fn scale(name: &'static str, example: &'static str, about: &'static str) -> Key {
    quantity(name, D::Dimensionless, example, about).at_least(1e-4).at_most(1e4).or("1")
}

static MAPPING: Keys = Keys {
    heading: "[mapping]",
    about: "How the device lies in the scene.",
    keys: &[
        scale("motion", "2", "Metres in the scene for a metre of the hand"),
        scale("force", "0.5", "Power in the hand for power in the scene; where `motion` is 1, force for force"),
        Key::table("pose", &POSE, "The device's base in the scene").optional("at the origin, not turned"),
        Key::new("clutch_button", Kind::Integer(1, 32), "1", "Button, from 1, that lifts the tool off the handle")
            .optional("no clutch"),
    ],
    choices: &[],
};

/// A button of the device.
const fn button(name: &'static str, about: &'static str) -> Key {
    Key::new(name, Kind::Integer(1, 32), "2", about)
}

static TURNING: Keys = Keys {
    heading: "[turning]",
    about: "How the tool is turned other than by turning the handle: with buttons, by `/hapticd/turn` over OSC or with the keys of \
            the viewer's page, and with a spanner. It works with every device, also with one that senses no rotation.",
    keys: &[
        direction("axis", "Axis in the scene, of any length but zero, as the tool stands at the start"),
        quantity("rate", D::AngularVelocity, "\"1 rad/s\"", "Fastest turn by buttons, OSC and keys")
            .positive()
            .at_most(RATE_MAX)
            .or("\"1.5 rad/s\""),
        quantity("torque", D::Torque, "\"0.3 N*m\"", "Torque at which buttons, OSC and keys stall")
            .positive()
            .at_most(20.0),
        button("left_button", "Button, from 1, that turns against the clock, seen against the axis").optional("none"),
        button("right_button", "Button, from 1, that turns with the clock").optional("none"),
        Key::table("spanner", &SPANNER, "A spanner").optional("none"),
    ],
    choices: &[],
};

static SPANNER: Keys = Keys {
    heading: "[turning.spanner]",
    about: "While its button is held the hand has the tool by the end of a lever: it turns the tool by swinging about the axis, and feels \
            a torque as a force, torque over lever, times `force` and `motion` of [mapping]. Conditions and goals on a torque are then \
            about that on the tool, in the scene.",
    keys: &[
        vector(
            "lever",
            D::Length,
            "[\"80 mm\", 0, 0]",
            "From the tool to the hand when it is put on, in the scene; across the axis",
        )
        .at_least(-LEVER_MAX_M)
        .at_most(LEVER_MAX_M),
        button("button", "Button, from 1, that puts it on"),
        Key::new(
            "ratchet",
            Kind::Word(&["both", "left", "right"]),
            "\"right\"",
            "Which way it turns the tool, against the clock or with it; the other way it slips",
        )
        .or("\"both\""),
    ],
    choices: &[],
};

/// A limit that can only be tightened.
const fn limit(name: &'static str, dimension: D, most: f64, example: &'static str, about: &'static str) -> Key {
    quantity(name, dimension, example, about).positive().at_most(most).optional("the device's own limit")
}

static SAFETY: Keys = Keys {
    heading: "[safety]",
    about: "What is wanted in addition to the device's own limits, never in their place.",
    keys: &[
        limit("max_force", D::Force, 200.0, "\"6 N\"", "Largest force"),
        limit("max_torque", D::Torque, 20.0, "\"0.5 N*m\"", "Largest torque"),
        limit("max_speed", D::Velocity, 20.0, "\"0.5 m/s\"", "Speed above which the handle is braked"),
        limit(
            "max_angular_speed",
            D::AngularVelocity,
            500.0,
            "\"10 rad/s\"",
            "Rate of rotation above which it is braked",
        ),
        limit("max_power", D::Power, 1000.0, "\"5 W\"", "Most power given to the hand"),
        quantity("ramp_up", D::Time, "\"0.5 s\"", "Time from enable to full force")
            .at_least(0.1)
            .at_most(10.0)
            .optional("0.5 s"),
        Key::new(
            "passivity",
            Kind::Word(&["bound", "off"]),
            "\"bound\"",
            "Whether the energy given to the hand is bounded; `off` with a simulated device only",
        )
        .or("\"bound\""),
    ],
    choices: &[],
};
