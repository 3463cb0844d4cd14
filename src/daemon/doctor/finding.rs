//! What the doctor finds: one topic, one verdict, one way to mend it.

use super::system::Unread;

/// How a fact bears on real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing to change.
    Fit,
    /// It works as it is; a change would make it better or safer.
    Advice,
    /// hapticd cannot keep its promises until this is changed.
    Unfit,
}

impl Verdict {
    /// The word for machines: `fit`, `advice` or `unfit`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Advice => "advice",
            Self::Unfit => "unfit",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name, the same in every version; `docs/doctor.md` explains each.
    pub id: &'static str,
    /// How it bears on real time.
    pub verdict: Verdict,
    /// What was seen on this PC.
    pub seen: String,
    /// Why it matters, in one sentence.
    pub why: &'static str,
    /// The command, or the line of a file, that mends it. Absent exactly when the verdict is [`Verdict::Fit`].
    pub mend: Option<String>,
}

/// What a finding is about. The only way to make one, so that fitness and mending cannot contradict each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Topic {
    /// See [`Finding::id`].
    pub(super) id: &'static str,
    /// See [`Finding::why`].
    pub(super) why: &'static str,
}

impl Topic {
    pub(super) fn fit(&self, seen: impl Into<String>) -> Finding {
        Finding { id: self.id, verdict: Verdict::Fit, seen: seen.into(), why: self.why, mend: None }
    }

    pub(super) fn advice(&self, seen: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Advice, mend: Some(mend.into()), ..self.fit(seen) }
    }

    pub(super) fn unfit(&self, seen: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Unfit, mend: Some(mend.into()), ..self.fit(seen) }
    }

    /// The fact is unknown. Advice only: what cannot be seen is not yet wrong, and the lateness is measured in any case.
    pub(super) fn unread(&self, unread: &Unread) -> Finding {
        let mend = format!(
            "`cat {}` must work for this user; in a container or sandbox let it see /proc, /sys and /dev",
            unread.path
        );
        self.advice(unread.to_string(), mend)
    }
}
