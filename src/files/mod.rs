//! Documents as people write them, turned into checked values: quantities with units, unknown keys refused, every
//! problem reported at once with its line, column and the nearest known word.
//!
//! Thread: cold.
//!
//! [`read`] goes from bytes to a value through a walk over [`Table`]s; [`device_file`] and [`config`] are two such walks.

pub mod calibration;
pub mod config;
pub mod device_file;
mod diagnostic;
mod document;
mod field;
#[cfg(test)]
pub(crate) mod observe;
mod quantity;
pub mod schema;
mod table;
mod unit;

pub use diagnostic::{Finding, Look, Problem, Problems, Report, Severity, nearest, quote, suggest};
pub use document::{Format, LoadError, Loaded, SIZE_MAX, format_of, load, read};
pub use field::{Bounded, Field};
pub use quantity::{Dimension, QuantityError, parse_quantity, parse_unit};
pub use table::Table;
pub use unit::{Exponents, Unit, UnitError};

#[cfg(test)]
mod tests;
