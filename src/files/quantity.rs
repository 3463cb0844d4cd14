//! Quantities as people write them: a number with a unit, checked against the dimension that is wanted.
//!
//! Thread: cold.
//!
//! "800 N/m" becomes `800.0`. The decimal prefixes of the unit are moved into the exponent of the number before it is
//! converted, so that "10 µm" gives the double nearest to 10⁻⁵ and not a product that is off in the last place.

use super::unit::{Exponents, Unit, UnitError};

/// What a number measures. Some share their exponents (torque and energy): a check cannot tell those apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A plain number.
    Dimensionless,
    /// m
    Length,
    /// m²
    Area,
    /// m³
    Volume,
    /// kg
    Mass,
    /// s
    Time,
    /// rad
    Angle,
    /// N
    Force,
    /// N·m
    Torque,
    /// m/s
    Velocity,
    /// rad/s
    AngularVelocity,
    /// m/s²
    Acceleration,
    /// rad/s²
    AngularAcceleration,
    /// N/m
    Stiffness,
    /// N·m/rad
    AngularStiffness,
    /// N·s/m
    Damping,
    /// N·m·s/rad
    AngularDamping,
    /// Hz
    Frequency,
    /// W
    Power,
    /// J
    Energy,
    /// Pa
    Pressure,
    /// kg/m³
    Density,
    /// kg·m²
    Inertia,
    /// N/s
    ForceRate,
    /// N·m/s
    TorqueRate,
    /// m/N
    Compliance,
    /// rad/(N·m)
    AngularCompliance,
    /// 1/m
    Curvature,
    /// N/m, of what acts all along a line
    LineForce,
}

impl Dimension {
    /// Every dimension.
    pub const ALL: [Self; 29] = [
        Self::Dimensionless,
        Self::Length,
        Self::Area,
        Self::Volume,
        Self::Mass,
        Self::Time,
        Self::Angle,
        Self::Force,
        Self::Torque,
        Self::Velocity,
        Self::AngularVelocity,
        Self::Acceleration,
        Self::AngularAcceleration,
        Self::Stiffness,
        Self::AngularStiffness,
        Self::Damping,
        Self::AngularDamping,
        Self::Frequency,
        Self::Power,
        Self::Energy,
        Self::Pressure,
        Self::Density,
        Self::Inertia,
        Self::ForceRate,
        Self::TorqueRate,
        Self::Compliance,
        Self::AngularCompliance,
        Self::Curvature,
        Self::LineForce,
    ];

    /// Name with its article, SI unit as one would write it in a file, exponents.
    const fn facts(self) -> (&'static str, &'static str, Exponents) {
        const fn e(metre: i8, kilogram: i8, second: i8, radian: i8) -> Exponents {
            Exponents::new(metre, kilogram, second, radian)
        }
        match self {
            Self::Dimensionless => ("a plain number", "", e(0, 0, 0, 0)),
            Self::Length => ("a length", "m", e(1, 0, 0, 0)),
            Self::Area => ("an area", "m^2", e(2, 0, 0, 0)),
            Self::Volume => ("a volume", "m^3", e(3, 0, 0, 0)),
            Self::Mass => ("a mass", "kg", e(0, 1, 0, 0)),
            Self::Time => ("a time", "s", e(0, 0, 1, 0)),
            Self::Angle => ("an angle", "rad", e(0, 0, 0, 1)),
            Self::Force => ("a force", "N", e(1, 1, -2, 0)),
            Self::Torque => ("a torque", "N*m", e(2, 1, -2, 0)),
            Self::Velocity => ("a velocity", "m/s", e(1, 0, -1, 0)),
            Self::AngularVelocity => ("an angular velocity", "rad/s", e(0, 0, -1, 1)),
            Self::Acceleration => ("an acceleration", "m/s^2", e(1, 0, -2, 0)),
            Self::AngularAcceleration => ("an angular acceleration", "rad/s^2", e(0, 0, -2, 1)),
            Self::Stiffness => ("a stiffness", "N/m", e(0, 1, -2, 0)),
            Self::AngularStiffness => ("an angular stiffness", "N*m/rad", e(2, 1, -2, -1)),
            Self::Damping => ("a damping", "N*s/m", e(0, 1, -1, 0)),
            Self::AngularDamping => ("an angular damping", "N*m*s/rad", e(2, 1, -1, -1)),
            Self::Frequency => ("a frequency", "Hz", e(0, 0, -1, 0)),
            Self::Power => ("a power", "W", e(2, 1, -3, 0)),
            Self::Energy => ("an energy", "J", e(2, 1, -2, 0)),
            Self::Pressure => ("a pressure", "Pa", e(-1, 1, -2, 0)),
            Self::Density => ("a density", "kg/m^3", e(-3, 1, 0, 0)),
            Self::Inertia => ("a moment of inertia", "kg*m^2", e(2, 1, 0, 0)),
            Self::ForceRate => ("a rate of force", "N/s", e(1, 1, -3, 0)),
            Self::TorqueRate => ("a rate of torque", "N*m/s", e(2, 1, -3, 0)),
            Self::Compliance => ("a compliance", "m/N", e(0, -1, 2, 0)),
            Self::AngularCompliance => ("an angular compliance", "rad/(N*m)", e(-2, -1, 2, 1)),
            Self::Curvature => ("a curvature", "1/m", e(-1, 0, 0, 0)),
            Self::LineForce => ("a force per length", "N/m", e(0, 1, -2, 0)),
        }
    }

    /// Name with its article: "a force", "an angle".
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// The SI unit as one would write it in a file; empty for a plain number.
    #[must_use]
    pub const fn si_unit(self) -> &'static str {
        self.facts().1
    }

    /// Exponents of the base units.
    #[must_use]
    pub const fn exponents(self) -> Exponents {
        self.facts().2
    }

    /// A value in SI as text: "200 N".
    #[must_use]
    pub fn show(self, value: f64) -> String {
        let plain = value == 0.0 || (1e-4..1e6).contains(&value.abs());
        let number = if plain { format!("{value}") } else { format!("{value:e}") };
        format!("{number} {}", self.si_unit()).trim_end().to_owned()
    }
}

/// Why a text is not the quantity wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// It does not begin with a number.
    NotANumber,
    /// The number is beyond what a double can hold.
    TooLarge,
    /// A number alone, where a text must say its unit.
    NoUnit,
    /// The unit cannot be read.
    Unit(UnitError),
    /// The unit measures something else.
    Mismatch {
        /// The unit as written.
        unit: String,
        /// What it measures, as names with their articles; empty when that has no name here.
        measures: Vec<&'static str>,
    },
}

/// The value of a text such as "800 N/m" in SI units.
///
/// # Errors
/// [`QuantityError`] when it is not a number with a unit of `dimension`.
pub fn parse_quantity(text: &str, dimension: Dimension) -> Result<f64, QuantityError> {
    let text = text.trim();
    let (number, unit) = split_number(text).ok_or(QuantityError::NotANumber)?;
    let unit = unit.trim();
    if unit.is_empty() {
        if dimension != Dimension::Dimensionless {
            return Err(QuantityError::NoUnit);
        }
        return convert(number, 1.0, 0);
    }
    let scale = parse_unit(unit, dimension)?;
    convert(number, scale.factor, scale.decade)
}

/// A unit of `dimension`: for keys such as `mesh_unit = "mm"`.
///
/// # Errors
/// [`QuantityError`] when it is not a unit, or one of something else.
pub fn parse_unit(text: &str, dimension: Dimension) -> Result<Unit, QuantityError> {
    let unit = Unit::parse(text).map_err(QuantityError::Unit)?;
    if unit.exponents == dimension.exponents() {
        return Ok(unit);
    }
    let measures = Dimension::ALL.iter().filter(|d| d.exponents() == unit.exponents).map(|d| d.name()).collect();
    Err(QuantityError::Mismatch { unit: text.to_owned(), measures })
}

/// The longest number at the start, and what follows.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let start = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let mut end = digits(start);
    if end == start {
        return None;
    }
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = end + 1 + sign;
        if digits(exponent) > exponent {
            end = digits(exponent);
        }
    }
    Some(text.split_at(end))
}

/// `number × 10^decade`, rounded once, then times `factor`.
fn convert(number: &str, factor: f64, decade: i32) -> Result<f64, QuantityError> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    // An exponent that does not fit is far beyond a double either way; the sign says which.
    let exponent = exponent.parse().unwrap_or(if exponent.starts_with('-') { -100_000 } else { 100_000 });
    let exponent = decade.saturating_add(exponent);
    let value: f64 = format!("{mantissa}e{exponent}").parse().map_err(|_| QuantityError::NotANumber)?;
    let value = value * factor;
    if value.is_finite() { Ok(value) } else { Err(QuantityError::TooLarge) }
}

impl QuantityError {
    /// What to tell the writer of `key = text`: message, label at the place, help.
    #[must_use]
    pub fn explain(&self, key: &str, dimension: Dimension) -> (String, String, String) {
        let wanted = dimension.name();
        let si = dimension.si_unit();
        let example = if si.is_empty() { "write a number".to_owned() } else { format!("use a unit such as {si}") };
        match self {
            Self::NotANumber => (
                format!("`{key}` needs {wanted}"),
                "does not begin with a number".to_owned(),
                if si.is_empty() { example } else { format!("write a number and a unit: \"1.5 {si}\"") },
            ),
            Self::TooLarge => (
                format!("`{key}` is too large a number"),
                "beyond the range of a double".to_owned(),
                "write a number below 1e308 in SI units".to_owned(),
            ),
            Self::NoUnit => (
                format!("`{key}` needs a unit of {}", bare(wanted)),
                "a text must say its unit".to_owned(),
                format!("{example}, or write the number without quotes for {si}"),
            ),
            Self::Unit(UnitError::Unknown { symbol, suggestion }) => (
                format!("`{key}` has an unknown unit"),
                format!("`{symbol}` is not a unit hapticd knows"),
                suggestion.as_ref().map_or(example, |s| format!("did you mean `{s}`?")),
            ),
            Self::Unit(UnitError::Syntax(what)) => {
                (format!("`{key}` has a unit that cannot be read"), (*what).to_owned(), example)
            }
            Self::Mismatch { unit, measures } => {
                let measured = measures.iter().map(|name| bare(name)).collect::<Vec<_>>().join(" or ");
                match measures.first() {
                    None => (
                        format!("`{key}` needs {wanted}"),
                        format!("{unit} is not a unit of {}", bare(wanted)),
                        example,
                    ),
                    Some(first) => (
                        format!("`{key}` needs {wanted}, not {first}"),
                        format!("{unit} is a unit of {measured}"),
                        example,
                    ),
                }
            }
        }
    }
}

/// A name without its article.
fn bare(name: &str) -> &str {
    name.split_once(' ').map_or(name, |(_, bare)| bare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_of_every_kind_give_their_si_value() {
        use Dimension as D;
        for (text, dimension, value) in [
            ("800 N/m", D::Stiffness, 800.0),
            ("50 kN/m", D::Stiffness, 5e4),
            ("10 µm", D::Length, 1e-5),
            ("10 um", D::Length, 1e-5),
            ("40mm", D::Length, 0.04),
            ("-8.5 mm", D::Length, -0.0085),
            ("1.1 kg", D::Mass, 1.1),
            ("150 g", D::Mass, 0.15),
            ("500 ms", D::Time, 0.5),
            ("2 min", D::Time, 120.0),
            ("180 deg", D::Angle, std::f64::consts::PI),
            ("50 µrad", D::Angle, 5e-5),
            ("60 N·m", D::Torque, 60.0),
            ("60 rpm", D::AngularVelocity, std::f64::consts::TAU),
            ("0.6 m/s", D::Velocity, 0.6),
            ("150 m/s^2", D::Acceleration, 150.0),
            ("3000 rad/s²", D::AngularAcceleration, 3000.0),
            ("1.5 N*m/rad", D::AngularStiffness, 1.5),
            ("4 N*s/m", D::Damping, 4.0),
            ("0.01 N*m*s/rad", D::AngularDamping, 0.01),
            ("1 kHz", D::Frequency, 1000.0),
            ("100 mJ", D::Energy, 0.1),
            ("10 W", D::Power, 10.0),
            ("60 kPa", D::Pressure, 6e4),
            ("-0.6 bar", D::Pressure, -6e4),
            ("1.06 g/cm^3", D::Density, 1060.0),
            ("5e-4 kg*m^2", D::Inertia, 5e-4),
            ("4000 N/s", D::ForceRate, 4000.0),
            ("4 N/ms", D::ForceRate, 4000.0),
            ("750 N*m/s", D::TorqueRate, 750.0),
            ("0.2 mm/N", D::Compliance, 2e-4),
            ("3 rad/(N*m)", D::AngularCompliance, 3.0),
            ("2.5 1/m", D::Curvature, 2.5),
            ("2.5 m^-1", D::Curvature, 2.5),
            ("0.47 N/cm", D::LineForce, 47.0),
            ("12 cm^2", D::Area, 1.2e-3),
            ("3 ml", D::Volume, 3e-6),
            ("50 %", D::Dimensionless, 0.5),
            ("0.25", D::Dimensionless, 0.25),
        ] {
            assert_eq!(parse_quantity(text, dimension), Ok(value), "{text}");
        }
    }

    #[test]
    fn every_dimension_reads_its_own_si_unit_at_scale_one() {
        for dimension in Dimension::ALL {
            let text = format!("2.5 {}", dimension.si_unit());
            assert_eq!(parse_quantity(&text, dimension), Ok(2.5), "{text}");
        }
    }

    #[test]
    fn a_unit_of_something_else_is_named() {
        let error = parse_quantity("7 kPa", Dimension::Force).expect_err("a pressure is no force");
        let (message, label, help) = error.explain("max_force", Dimension::Force);
        assert_eq!(message, "`max_force` needs a force, not a pressure");
        assert_eq!(label, "kPa is a unit of pressure");
        assert_eq!(help, "use a unit such as N");
        let torque = parse_quantity("3 N*m", Dimension::AngularStiffness);
        assert!(
            matches!(torque, Err(QuantityError::Mismatch { measures, .. }) if measures == ["a torque", "an energy"])
        );
        assert!(parse_quantity("3 deg", Dimension::Dimensionless).is_err());
    }

    #[test]
    fn numbers_that_are_none_or_not_finite_are_refused() {
        for text in
            ["", "N", "nan N", "inf N", "-inf N", ".5 N", "- 5 N", "--5 N", "0x10 N", "1,5 N", "1_000 N", "1.5.2 N"]
        {
            assert!(parse_quantity(text, Dimension::Force).is_err(), "{text}");
        }
        for text in ["1e309 N", "1e308 kN", "1e99999999999999999999 N", "1e400 deg"] {
            let dimension = if text.ends_with('N') { Dimension::Force } else { Dimension::Angle };
            assert_eq!(parse_quantity(text, dimension), Err(QuantityError::TooLarge), "{text}");
        }
        assert_eq!(parse_quantity("1e-99999999999999999999 N", Dimension::Force), Ok(0.0));
        assert_eq!(parse_quantity("800", Dimension::Stiffness), Err(QuantityError::NoUnit));
    }

    proptest! {
        #[test]
        fn a_value_shown_reads_back_to_the_same_bits(value in prop::num::f64::NORMAL | prop::num::f64::ZERO, which in 0..29_usize) {
            let dimension = Dimension::ALL[which];
            let text = dimension.show(value);
            let back = parse_quantity(&text, dimension);
            prop_assert_eq!(back.map(f64::to_bits), Ok(value.to_bits()), "{}", text);
        }

        #[test]
        fn a_decimal_prefix_never_rounds(digits in -99_999_i64..99_999, scale in 0..6_usize) {
            let (prefix, exponent) = [("n", -9), ("µ", -6), ("m", -3), ("c", -2), ("k", 3), ("M", 6)][scale];
            let expected: f64 = format!("{digits}e{exponent}").parse().expect("a number");
            prop_assert_eq!(parse_quantity(&format!("{digits} {prefix}m"), Dimension::Length), Ok(expected));
        }

        #[test]
        fn any_text_is_a_finite_value_or_an_error(text in "[-+0-9.eE]{0,6}[ ]?\\PC{0,12}", which in 0..29_usize) {
            let dimension = Dimension::ALL[which];
            match parse_quantity(&text, dimension) {
                Ok(value) => prop_assert!(value.is_finite()),
                Err(error) => prop_assert!(!error.explain("key", dimension).0.is_empty()),
            }
        }
    }
}
