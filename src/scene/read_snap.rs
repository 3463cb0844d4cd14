//! Snap connectors as written.
//!
//! Thread: cold.

use super::spec::ShapeSpec;
use crate::files::Table;
use crate::geometry::snap::{Detail, SnapKind};

/// The connectors, by name.
const CONNECTORS: [(&str, SnapKind); 3] =
    [("two-prong", SnapKind::TwoProng), ("lan", SnapKind::Latch), ("cap", SnapKind::Cap)];
/// How fine a socket is.
const DETAILS: [(&str, Detail); 3] = [("coarse", Detail::Coarse), ("fine", Detail::Fine), ("graded", Detail::Graded)];

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
