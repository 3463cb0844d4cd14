//! Snap connectors as written, and what a deformable body is made of.
//!
//! Thread: cold.

use super::spec::ShapeSpec;
use crate::fem::Material;
use crate::files::{Dimension, Problem, Table};
use crate::geometry::snap::{Detail, SnapKind};

/// The connectors, by name.
const CONNECTORS: [(&str, SnapKind); 3] =
    [("two-prong", SnapKind::TwoProng), ("lan", SnapKind::Latch), ("cap", SnapKind::Cap)];
/// How fine a socket is.
const DETAILS: [(&str, Detail); 2] = [("coarse", Detail::Coarse), ("fine", Detail::Fine)];

/// Softest and stiffest body, Pa: below, nothing is held in shape; diamond has 1.2e12.
pub(super) const YOUNG_PA: (f64, f64) = (1e6, 2e12);
/// Largest Poisson's ratio: nearer to ½ elements lock.
pub(super) const POISSON_MAX: f64 = 0.49;
/// Largest density, kg/m³: osmium has 22 600.
const DENSITY_MAX: f64 = 30_000.0;

/// Asks for the keys of a connector where it is not known whether they belong.
pub(super) fn ask_for(shape: &Table<'_>) {
    shape.word("connector", &CONNECTORS).optional();
    shape.word("detail", &DETAILS).optional();
}

/// `kind = "snap-plug"`
pub(super) fn read_plug(shape: &Table<'_>) -> Option<ShapeSpec> {
    // Said of the pair, it is of no use to the plug.
    shape.word("detail", &DETAILS).optional();
    shape.word("connector", &CONNECTORS).required().map(ShapeSpec::Plug)
}

/// `kind = "snap-socket"`
pub(super) fn read_socket(shape: &Table<'_>) -> Option<ShapeSpec> {
    let (connector, detail) =
        (shape.word("connector", &CONNECTORS).required(), shape.word("detail", &DETAILS).or(Detail::Coarse));
    Some(ShapeSpec::Socket { connector: connector?, detail })
}

/// `elastic = { … }` of a body, which a socket needs and nothing else has.
pub(super) fn read_elastic(body: &Table<'_>, is_socket: bool) -> Option<Material> {
    let Some(table) = body.table("elastic").optional() else {
        if is_socket && !body.contains("elastic") {
            let problem = Problem::error(body.span(), "a socket deforms, but `elastic` is missing");
            body.report(
                problem.help("write elastic = { young = \"165 MPa\", poisson = 0.35, density = \"1050 kg/m^3\" }"),
            );
        }
        return None;
    };
    let young = table.quantity("young", Dimension::Pressure).at_least(YOUNG_PA.0).at_most(YOUNG_PA.1).required();
    let poisson = table.number("poisson").not_negative().at_most(POISSON_MAX).required();
    let density = table.quantity("density", Dimension::Density).positive().at_most(DENSITY_MAX).required();
    if !is_socket {
        body.error("elastic", "only a snap-socket deforms", "remove it, or take a shape of kind \"snap-socket\"");
    }
    for key in ["fixed", "mass", "density"] {
        if is_socket && body.contains(key) {
            body.error(key, &format!("`{key}` has no meaning: a socket is held by its base and deforms"), "remove it");
        }
    }
    Some(Material { young_pa: young?, poisson: poisson?, density: density? })
}
