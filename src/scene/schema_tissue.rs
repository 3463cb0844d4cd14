//! The keys of needles and tissue; read by [`super::read_tissue`].
//!
//! Thread: cold.

use super::read_soft::POISSON_MAX;
use super::read_tissue::{
    CURVATURE_MAX, DENSITY_MAX, FORBIDDEN_MAX, FRICTION_MAX, NEEDLE_M, NEEDLE_YOUNG_PA, NODES_MAX, OUTER_MAX_M,
    PERIOD_S, SHARE_MAX, SPACING_M, TIP_MAX_N, WAY_MAX_M, YIELD_MAX, YOUNG_PA,
};
use super::schema::{quantity, vector};
use crate::files::Dimension as D;
use crate::files::schema::{Key, Keys, Kind};

pub(super) static NEEDLE: Keys = Keys {
    heading: "[needle]",
    about: "Makes the tool the hub of a needle, which begins at the origin of the tool's shape and points along its −z. It goes into \
            tissue; the hub touches other bodies as any tool does. What is left out is that of an 18 G biopsy needle of steel. A \
            scene with a needle is for one hand.",
    keys: &[
        quantity("outer", D::Length, "\"1.27 mm\"", "Outer diameter").not_negative().at_most(OUTER_MAX_M).or("\"1.27 mm\""),
        quantity("inner", D::Length, "\"0.84 mm\"", "Inner diameter; 0 for a solid one")
            .not_negative()
            .at_most(OUTER_MAX_M)
            .or("\"0.84 mm\""),
        quantity("length", D::Length, "\"150 mm\"", "From hub to tip")
            .at_least(NEEDLE_M.0)
            .at_most(NEEDLE_M.1)
            .or("\"150 mm\""),
        quantity("young", D::Pressure, "\"200 GPa\"", "Young's modulus")
            .at_least(NEEDLE_YOUNG_PA.0)
            .at_most(NEEDLE_YOUNG_PA.1)
            .or("\"200 GPa\""),
        quantity("poisson", D::Dimensionless, "0.3", "Poisson's ratio").not_negative().at_most(POISSON_MAX).or("0.3"),
        Key::new("nodes", Kind::Integer(2, NODES_MAX), "20", "Nodes of its beam").or("20"),
        Key::new("rigid", Kind::Boolean, "true", "It never bends, for comparison").or("false"),
        quantity("friction", D::Dimensionless, "0.1", "Friction of the tip on a surface, and by pressing across")
            .not_negative()
            .at_most(5.0)
            .or("0.1"),
        quantity(
            "curvature",
            D::Curvature,
            "\"2 1/m\"",
            "Curvature of the channel that a bevelled tip cuts by itself, towards x of the tool's shape; 0 for a symmetric tip",
        )
        .at_least(-CURVATURE_MAX)
        .at_most(CURVATURE_MAX)
        .or("0"),
        quantity("spacing", D::Length, "\"8 mm\"", "Distance of the points along the shaft that the tissue holds")
            .at_least(SPACING_M.0)
            .at_most(SPACING_M.1)
            .or("\"8 mm\""),
        quantity("spread", D::Length, "\"8 mm\"", "Radius of the ball that forces on tissue are spread over")
            .at_least(SPACING_M.0)
            .at_most(SPACING_M.1)
            .or("\"8 mm\""),
    ],
    choices: &[],
};

/// A name that fits a line.
const fn name(example: &'static str) -> Key {
    Key::new("name", Kind::Text(r"\S", 24), example, "Its name, at most 24 letters")
}

const RADIUS: Key = quantity("radius", D::Length, "\"10 mm\"", "Its radius").at_least(1e-6).at_most(10.0);

/// A place in the frame of the body.
const fn inside(name: &'static str, about: &'static str) -> Key {
    vector(name, D::Length, "[0, 0, \"-10 mm\"]", about).at_least(-10.0).at_most(10.0)
}

pub(super) static TISSUE: Keys = Keys {
    heading: "[body.NAME.tissue]",
    about: "What holds tissue and moves it, and what there is in it. Places are those of the tissue at rest, in the frame of its \
            shape.",
    keys: &[
        Key::new(
            "held",
            Kind::Texts(r"\S"),
            "[\"bottom\"]",
            "Parts that are held: `top`, `bottom`, `rim`, or one side, `x0` to `z1`; for a mesh from a file, its groups",
        ),
        Key::table("relaxation", &RELAXATION, "How it yields in time").optional("it does not"),
        Key::table("breathing", &BREATHING, "How what holds it moves").optional("it does not"),
        Key::table("target", &TARGET, "What the needle is to reach").optional("nothing"),
        Key::new("forbidden", Kind::Tables(&FORBIDDEN, FORBIDDEN_MAX), "", "What the needle must not enter")
            .optional("nothing"),
    ],
    choices: &[],
};

static RELAXATION: Keys = Keys {
    heading: "relaxation = { … }",
    about: "Under a displacement that is held, force falls by a share of it.",
    keys: &[
        quantity("share", D::Dimensionless, "0.3", "The share").not_negative().at_most(SHARE_MAX),
        quantity("time", D::Time, "\"2 s\"", "Time in which it falls to 1/e of the rest").positive().at_most(3600.0),
    ],
    choices: &[],
};

pub(super) static BREATHING: Keys = Keys {
    heading: "breathing = { … }",
    about: "What holds the body moves to and fro, and rests longest where it starts: at the end of breathing out.",
    keys: &[
        vector("way", D::Length, "[0, \"13 mm\", 0]", "From one end to the other, in the scene")
            .at_least(-WAY_MAX_M)
            .at_most(WAY_MAX_M),
        quantity("period", D::Time, "\"4.5 s\"", "Time of one breath").at_least(PERIOD_S.0).at_most(PERIOD_S.1),
    ],
    choices: &[],
};

static TARGET: Keys = Keys {
    heading: "target = { … }",
    about: "A ball in the tissue; one in a scene.",
    keys: &[name("\"lesion\""), inside("center", "Its centre"), RADIUS],
    choices: &[],
};

static FORBIDDEN: Keys = Keys {
    heading: "[[body.NAME.tissue.forbidden]]",
    about: "A straight piece of a vessel in the tissue.",
    keys: &[name("\"vein\""), inside("from", "One end of its axis"), inside("to", "The other end"), RADIUS],
    choices: &[],
};

pub(super) static LAYER: Keys = Keys {
    heading: "[[body.NAME.layer]]",
    about: "A layer of tissue: of a block, from the top; an organ has one; of a mesh from a file, the group of tetrahedra with its name.",
    keys: &[
        name("\"fat\""),
        quantity("thickness", D::Length, "\"12 mm\"", "Of a layer of a block; together they are as high as the block")
            .at_least(1e-6)
            .at_most(10.0)
            .optional("the block's height, for one layer"),
        quantity("young", D::Pressure, "\"40 kPa\"", "Young's modulus").at_least(YOUNG_PA.0).at_most(YOUNG_PA.1),
        quantity("poisson", D::Dimensionless, "0.45", "Poisson's ratio").not_negative().at_most(POISSON_MAX).or("0.45"),
        quantity("density", D::Density, "\"1000 kg/m^3\"", "Density")
            .positive()
            .at_most(DENSITY_MAX)
            .or("\"1000 kg/m^3\""),
        quantity("enter", D::Force, "\"2.8 N\"", "Force at the tip that its surface bears before it breaks")
            .not_negative()
            .at_most(TIP_MAX_N),
        quantity("cut", D::Force, "\"0.9 N\"", "Force at the tip that cutting on takes")
            .not_negative()
            .at_most(TIP_MAX_N),
        quantity(
            "friction",
            D::LineForce,
            "\"47 N/m\"",
            "Friction along the shaft, for each length of it in the layer",
        )
        .not_negative()
        .at_most(FRICTION_MAX),
        quantity("yield", D::Compliance, "\"1 mm/N\"", "How far the tip presses in beyond what the elements show")
            .not_negative()
            .at_most(YIELD_MAX)
            .or("0"),
    ],
    choices: &[],
};
