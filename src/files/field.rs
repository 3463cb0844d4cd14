//! A key that was asked for: bounds on its value, and whether it may be missing.
//!
//! Thread: cold.

use super::diagnostic::Problem;
use super::quantity::Dimension;
use super::table::Table;

/// What was found under a key.
pub(super) enum State<T> {
    /// Nothing.
    Missing,
    /// Something that has been reported.
    Bad,
    /// A value.
    Good(T),
}

/// A key that was asked for. Bound it, then say with [`Field::required`], [`Field::optional`] or [`Field::or`] what it
/// means when it is not there.
#[must_use = "say whether the key is required"]
pub struct Field<'t, 'd, T> {
    table: &'t Table<'d>,
    key: String,
    kind: String,
    dimension: Dimension,
    state: State<T>,
    /// Bounds that were put on it.
    #[cfg(test)]
    limits: Vec<String>,
}

impl<'t, 'd, T> Field<'t, 'd, T> {
    pub(super) fn new(table: &'t Table<'d>, key: &str, kind: String, state: State<T>) -> Self {
        Self {
            table,
            key: key.to_owned(),
            kind,
            dimension: Dimension::Dimensionless,
            state,
            #[cfg(test)]
            limits: Vec::new(),
        }
    }

    pub(super) fn of(self, dimension: Dimension) -> Self {
        Self { dimension, ..self }
    }

    /// The value; a missing key is an error. `None` when it was missing or wrong, which has then been reported.
    pub fn required(self) -> Option<T> {
        #[cfg(test)]
        super::observe::note(self.table.path(), &self.key, &self.kind, &self.limits, true);
        match self.state {
            State::Good(value) => Some(value),
            State::Bad => None,
            State::Missing => {
                self.table.report_missing(&self.key, &self.kind);
                None
            }
        }
    }

    /// The value if it is there. `None` also when it was wrong, which has then been reported.
    pub fn optional(self) -> Option<T> {
        #[cfg(test)]
        super::observe::note(self.table.path(), &self.key, &self.kind, &self.limits, false);
        match self.state {
            State::Good(value) => Some(value),
            State::Bad | State::Missing => None,
        }
    }

    /// The value, or `default` when it is not there.
    pub fn or(self, default: T) -> T {
        self.optional().unwrap_or(default)
    }

    /// Refuses a value for which `accept` is false, with what is `wanted` instead: "a name without spaces".
    pub fn check(mut self, accept: impl FnOnce(&T) -> bool, wanted: &str) -> Self {
        if let State::Good(value) = &self.state
            && !accept(value)
        {
            let problem = Problem::error(self.table.span_of(&self.key), format!("`{}` needs {wanted}", self.key));
            self.table.report(problem.label("not allowed here"));
            self.state = State::Bad;
        }
        self
    }
}

/// Values a bound can be put on: every number in them must keep it.
pub trait Bounded {
    /// The first number that is not accepted.
    fn first_outside(&self, accept: impl Fn(f64) -> bool) -> Option<f64>;
}

impl Bounded for f64 {
    fn first_outside(&self, accept: impl Fn(f64) -> bool) -> Option<f64> {
        (!accept(*self)).then_some(*self)
    }
}

impl Bounded for Option<f64> {
    fn first_outside(&self, accept: impl Fn(f64) -> bool) -> Option<f64> {
        self.filter(|value| !accept(*value))
    }
}

impl Bounded for Vec<f64> {
    fn first_outside(&self, accept: impl Fn(f64) -> bool) -> Option<f64> {
        self.iter().copied().find(|value| !accept(*value))
    }
}

impl Bounded for crate::math::Vec3 {
    fn first_outside(&self, accept: impl Fn(f64) -> bool) -> Option<f64> {
        self.iter().copied().find(|value| !accept(*value))
    }
}

impl<T: Bounded> Field<'_, '_, T> {
    /// Refuses zero and less.
    pub fn positive(self) -> Self {
        self.bound(|value| value > 0.0, "more than zero")
    }

    /// Refuses less than zero.
    pub fn not_negative(self) -> Self {
        self.bound(|value| value >= 0.0, "zero or more")
    }

    /// Refuses less than `least`, SI.
    pub fn at_least(self, least: f64) -> Self {
        let limit = format!("at least {}", self.dimension.show(least));
        self.bound(|value| value >= least, &limit)
    }

    /// Refuses more than `most`, SI.
    pub fn at_most(self, most: f64) -> Self {
        let limit = format!("at most {}", self.dimension.show(most));
        self.bound(|value| value <= most, &limit)
    }

    fn bound(mut self, accept: impl Fn(f64) -> bool, limit: &str) -> Self {
        #[cfg(test)]
        self.limits.push(limit.to_owned());
        if let State::Good(value) = &self.state
            && let Some(outside) = value.first_outside(accept)
        {
            let message = format!("`{}` must be {limit}", self.key);
            let label = format!("this is {}", self.dimension.show(outside));
            let problem = Problem::error(self.table.span_of(&self.key), message).label(label);
            self.table.report(problem.help(format!("write a value that is {limit}; is the unit right?")));
            self.state = State::Bad;
        }
        self
    }
}
