//! The keys of deformable bodies and of joints; read by [`super::read_soft`] and [`super::read_joint`].
//!
//! Thread: cold.

use super::read_joint::COMPLIANCE_MAX;
use super::read_soft::{DAMPING_MAX, POISSON_MAX, YOUNG_PA};
use super::schema::{quantity, vector};
use super::schema_task::direction;
use super::schema_tissue::BREATHING;
use crate::files::Dimension as D;
use crate::files::schema::{Choice, Key, Keys, Kind, NOT_BLANK};

const YOUNG: Key =
    quantity("young", D::Pressure, "\"165 MPa\"", "Young's modulus").at_least(YOUNG_PA.0).at_most(YOUNG_PA.1);
const POISSON: Key =
    quantity("poisson", D::Dimensionless, "0.35", "Poisson's ratio").not_negative().at_most(POISSON_MAX);
const DENSITY: Key = quantity("density", D::Density, "\"1050 kg/m^3\"", "Density").positive().at_most(30_000.0);
/// What holds without a value of the material of a body.
const OF_REGIONS: &str = "each element takes it from a region";
/// What holds without a value of the material of a region.
const OF_BODY: &str = "that of `elastic`";

pub(super) static ELASTIC: Keys = Keys {
    heading: "elastic = { … }",
    about: "What a body that deforms is made of, what holds it and how it is integrated. The material is isotropic. A snap-socket needs \
            `young`, `poisson` and `density`, as does any body whose regions do not cover it.",
    keys: &[
        YOUNG.optional(OF_REGIONS),
        POISSON.optional(OF_REGIONS),
        DENSITY.optional(OF_REGIONS),
        Key::table("damping", &DAMPING, "How vibrations fade").optional("they do not, but for what the integrator takes"),
        Key::new(
            "held",
            Kind::Texts(r"\S"),
            "[\"bottom\"]",
            "Groups that do not move: a side (`bottom`, `top`, `left`, `right`, `back`, `front`), `inner` or `outer` of a shell or a \
             tube, one of `[[body.NAME.group]]`, or one of the file",
        )
        .optional("the base of a snap-socket; another body is free"),
        Key::new(
            "model",
            Kind::Word(&["linear", "corotational"]),
            "\"corotational\"",
            "`linear`: forces in proportion to displacements, for bodies that are held and move little; `corotational`: each element \
             turns with the body, for large rotations",
        )
        .optional("`linear` for a snap-socket, else `corotational`"),
        Key::new(
            "step",
            Kind::Word(&["static", "pmi", "reduced", "implicit", "auto"]),
            "\"auto\"",
            "`static`: from rest to rest, for bodies that are held; `pmi`: passive midpoint integration of a linear body; `reduced`: \
             the same of the model in `reduced`; `implicit`: implicit Euler of a corotational body; `auto`: a linear body is `reduced` \
             where a model is given and `static` else, a corotational one `implicit`, and `static` while it is held and steps are too slow \
             or too coarse for it",
        )
        .or("\"auto\""),
        Key::new(
            "reduced",
            NOT_BLANK,
            "\"socket.reduced\"",
            "Reduced model of the body, made by `hapticd bake reduce`; its path starts at the scene file",
        )
        .optional("none"),
        Key::new("self_contact", Kind::Boolean, "true", "The body can touch itself").or("false"),
        Key::table("breathing", &BREATHING, "How what holds the body moves; `step` is \"static\" then").optional("it does not"),
    ],
    choices: &[],
};

static DAMPING: Keys = Keys {
    heading: "damping = { … }",
    about: "Rayleigh damping: `mass` times the mass matrix and `stiffness` times the stiffness matrix. A vibration of angular frequency ω \
            has the damping ratio `mass/(2 ω) + stiffness ω/2`.",
    keys: &[
        quantity("mass", D::Frequency, "\"2 1/s\"", "Damps slow motion most")
            .not_negative()
            .at_most(DAMPING_MAX.0)
            .or("0"),
        quantity("stiffness", D::Time, "\"1 ms\"", "Damps fast motion most")
            .not_negative()
            .at_most(DAMPING_MAX.1)
            .or("0"),
    ],
    choices: &[],
};

const BOX: Key = Key::table("box", &BOX_PLACE, "A box").chosen();
const SPHERE: Key = Key::table("sphere", &SPHERE_PLACE, "A ball").chosen();
const ABOVE: Key = Key::table("above", &ABOVE_PLACE, "All that is beyond a plane").chosen();

pub(super) static GROUP: Keys = Keys {
    heading: "[[body.NAME.group]]",
    about: "A named group of the nodes of a body that deforms, chosen by their place at rest in the frame of its shape.",
    keys: &[Key::new("name", Kind::Text(r"\S", 24), "\"grip\"", "Its name, at most 24 letters"), BOX, SPHERE, ABOVE],
    choices: &[Choice::needing(&["box"]), Choice::needing(&["sphere"]), Choice::needing(&["above"])],
};

pub(super) static REGION: Keys = Keys {
    heading: "[[body.NAME.region]]",
    about: "Elements of a body that deforms which are made of another material: those of a group, or those whose centre is in a part of \
            space, at rest in the frame of its shape. Where regions overlap, the later one in the file takes precedence.",
    keys: &[
        Key::new("name", Kind::Text(r"\S", 24), "\"lump\"", "What goals call it, at most 24 letters")
            .optional("goals cannot refer to it"),
        Key::new("group", NOT_BLANK, "\"top\"", "A group of the mesh: elements whose corners all belong to it")
            .chosen(),
        BOX,
        SPHERE,
        ABOVE,
        quantity(
            "scatter",
            D::Length,
            "\"15 mm\"",
            "The place is off across z of the shape by up to this, elsewhere for every seed; not for a group",
        )
        .not_negative()
        .at_most(1.0)
        .or("0"),
        YOUNG.optional(OF_BODY),
        POISSON.optional(OF_BODY),
        DENSITY.optional(OF_BODY),
    ],
    choices: &[
        Choice::needing(&["group"]),
        Choice::needing(&["box"]),
        Choice::needing(&["sphere"]),
        Choice::needing(&["above"]),
    ],
};

/// A place in the frame of the body.
const fn corner(name: &'static str, about: &'static str) -> Key {
    vector(name, D::Length, "[0, 0, \"-10 mm\"]", about).at_least(-10.0).at_most(10.0)
}

static BOX_PLACE: Keys = Keys {
    heading: "box = { … }",
    about: "A box along the axes of the shape.",
    keys: &[corner("from", "One corner"), corner("to", "The opposite corner")],
    choices: &[],
};

static SPHERE_PLACE: Keys = Keys {
    heading: "sphere = { … }",
    about: "A ball.",
    keys: &[
        corner("center", "Its centre"),
        quantity("radius", D::Length, "\"10 mm\"", "Its radius").at_least(1e-6).at_most(10.0),
    ],
    choices: &[],
};

static ABOVE_PLACE: Keys = Keys {
    heading: "above = { … }",
    about: "All points whose place along an axis is at least an offset.",
    keys: &[
        direction("axis", "Axis of the shape, of any length but zero"),
        quantity("offset", D::Length, "\"-2 mm\"", "Place along it").at_least(-10.0).at_most(10.0),
    ],
    choices: &[],
};

pub(super) static JOINT: Keys = Keys {
    heading: "[[joint]]",
    about: "Keeps two bodies together, or one at its place in the world. Two bodies that a joint connects do not touch each other. On a soft body \
            a joint is fixed to a group of nodes, and holds their mean place and rotation; nodes that are held or inside of a linear \
            body do not count.",
    keys: &[
        Key::new("name", Kind::Text(r"\S", 24), "\"hinge of the lid\"", "Its name, at most 24 letters"),
        Key::new(
            "kind",
            Kind::Word(&["fixed", "hinge", "slider", "ball"]),
            "\"ball\"",
            "`fixed`: no relative motion; `hinge`: rotation about the axis; `slider`: motion along the axis; `ball`: rotation about \
             the anchor",
        ),
        Key::new("a", Kind::Reference("body"), "\"box\"", "The first body"),
        Key::new("b", Kind::Reference("body"), "\"world\"", "The second body, or `world`"),
        Key::new("a_group", NOT_BLANK, "\"top\"", "Group of nodes of `a` that the joint is fixed to")
            .optional("`a` is rigid"),
        Key::new("b_group", NOT_BLANK, "\"top\"", "Group of nodes of `b` that the joint is fixed to")
            .optional("`b` is rigid"),
        vector("anchor", D::Length, "[0, 0, \"20 mm\"]", "A point of the joint in the scene at the start")
            .at_least(-10.0)
            .at_most(10.0),
        direction("axis", "Axis of a hinge or a slider in the scene at the start, of any length but zero").chosen(),
        quantity("compliance", D::Compliance, "\"0.1 mm/N\"", "Displacement of the anchor under a newton")
            .not_negative()
            .at_most(COMPLIANCE_MAX)
            .or("0"),
    ],
    choices: &[
        Choice::needing(&["axis"]).when(&[("kind", "\"hinge\"")]),
        Choice::needing(&["axis"]).when(&[("kind", "\"slider\"")]),
        Choice::needing(&[]).when(&[("kind", "\"fixed\"")]),
        Choice::needing(&[]).when(&[("kind", "\"ball\"")]),
    ],
};
