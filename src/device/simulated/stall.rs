//! A stall on purpose: lets tests see that a haptic loop that hangs is noticed from outside.
//!
//! Thread: haptic (RT), where it breaks the rule of the house once, because it is asked to.

use crate::shared::{MonoNs, NS_PER_S};
use std::time::Duration;

/// Set to a time such as `3s`, makes the simulated device of `hapticd run` hang so long after its first reading.
pub const STALL_AFTER: &str = "HAPTICD_STALL_AFTER";
/// How long it hangs.
const STALL: Duration = Duration::from_secs(60);

/// When to hang.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stall {
    after_ns: Option<u64>,
    first: Option<MonoNs>,
}

impl Stall {
    /// As the text says; anything but a number of seconds with its unit says nothing.
    pub(super) fn parse(text: &str) -> Self {
        let seconds = text.trim().strip_suffix('s').and_then(|number| number.trim().parse::<f64>().ok());
        let seconds = seconds.filter(|s| (0.0..=86_400.0).contains(s));
        Self { after_ns: seconds.map(|s| (s * NS_PER_S as f64) as u64), first: None }
    }

    /// Hangs, once, when it is time.
    #[expect(clippy::disallowed_methods, reason = "hanging is what it is for, and only a test asks for it")]
    pub(super) fn pass(&mut self, now: MonoNs) {
        let Some(after_ns) = self.after_ns else { return };
        let first = *self.first.get_or_insert(now);
        if now.since(first) >= after_ns {
            self.after_ns = None;
            std::thread::sleep(STALL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_of_seconds_makes_it_hang() {
        assert_eq!(Stall::parse(" 3s").after_ns, Some(3 * NS_PER_S));
        assert_eq!(Stall::parse("0.5 s").after_ns, Some(NS_PER_S / 2));
        for text in ["", "s", "3", "-1s", "nans", "infs", "3m"] {
            assert_eq!(Stall::parse(text).after_ns, None, "{text}");
        }
        let mut calm = Stall::default();
        calm.pass(MonoNs(u64::MAX));
    }
}
