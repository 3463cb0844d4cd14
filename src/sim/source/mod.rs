//! Sources: independent producers of constraints.
//!
//! Thread: simulation.
//!
//! | source | constraints | file |
//! |---|---|---|
//! | rigid contact | shapes, parts and meshes against each other | [`contact`] |
//! | soft contact | a soft body against shapes, other soft bodies and itself | [`soft`] |
//! | joints | bilateral, between any two bodies | [`joint`] |
//! | cavities | air between a soft body and what does not deform | [`cavity`] |
//! | needle | tip, shaft and channel between a beam and tissue | [`needle`] |

pub(super) mod cavity;
pub(super) mod contact;
pub(super) mod joint;
pub(super) mod needle;
pub(super) mod soft;
