//! Threads that other people's parts were made with.
//!
//! Thread: test.

/// Diameters and pitches of seed 001, Table II, in mm.
pub(crate) const TABLE_II: [(f64, f64); 10] = [
    (47.2, 5.0),
    (47.6, 5.0),
    (48.5, 5.0),
    (49.0, 5.0),
    (39.0, 4.0),
    (42.0, 4.5),
    (45.0, 4.5),
    (52.0, 5.0),
    (56.0, 5.5),
    (60.0, 5.5),
];
