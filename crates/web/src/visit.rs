//! A visit: one signed-in browser, the secret of its forms, and what it did.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{Error, ErrorKind, Result};
use subtle::ConstantTimeEq as _;

use crate::acts::ActHistory;

/// One signed-in browser. It is kept in memory and ends with the server.
pub struct Visit {
    form_secret: String,
    acts: Arc<ActHistory>,
    notices: Mutex<Vec<VisitNotice>>,
}

/// A sentence for the next page of a visit, such as the outcome of an act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VisitNotice {
    /// The sentence.
    pub(crate) text: String,
    /// Whether something went wrong.
    pub(crate) is_problem: bool,
    /// Whether the act can be undone.
    pub(crate) can_undo: bool,
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the secret, which must not reach a log.
        f.debug_struct("Visit").finish_non_exhaustive()
    }
}

impl Visit {
    /// Begins a visit.
    pub fn begin() -> Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|cause| {
            Error::new(ErrorKind::Io, "the system gives no random numbers").caused_by(cause)
        })?;
        Ok(Self {
            form_secret: blake3::Hash::from_bytes(bytes).to_hex().to_string(),
            acts: Arc::default(),
            notices: Mutex::default(),
        })
    }

    /// Returns the secret that every form of this visit carries in the field `form_secret`.
    pub fn form_secret(&self) -> &str {
        &self.form_secret
    }

    /// Returns whether a form carries the secret of this visit.
    pub(crate) fn accepts_form(&self, shown: Option<&str>) -> bool {
        let shown = shown.unwrap_or_default().as_bytes();
        shown.ct_eq(self.form_secret.as_bytes()).into()
    }

    /// Returns the acts that can be undone.
    pub(crate) fn acts(&self) -> &Arc<ActHistory> {
        &self.acts
    }

    /// Leaves a sentence for the next page.
    pub(crate) fn leave_notice(&self, notice: VisitNotice) {
        self.lock_notices().push(notice);
    }

    /// Takes the sentences left for this page.
    pub(crate) fn take_notices(&self) -> Vec<VisitNotice> {
        std::mem::take(&mut *self.lock_notices())
    }

    fn lock_notices(&self) -> MutexGuard<'_, Vec<VisitNotice>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VisitNotice {
    /// A sentence about something done.
    pub(crate) fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_problem: false,
            can_undo: false,
        }
    }

    /// A sentence about something that went wrong.
    pub(crate) fn problem(text: impl Into<String>) -> Self {
        Self {
            is_problem: true,
            ..Self::done(text)
        }
    }

    /// The same sentence with a button that undoes the act.
    #[must_use]
    pub(crate) fn with_undo(self) -> Self {
        Self {
            can_undo: true,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_forms_of_the_visit_are_accepted() {
        let (visit, other) = (Visit::begin().unwrap(), Visit::begin().unwrap());
        assert!(visit.accepts_form(Some(visit.form_secret())));
        for wrong in [None, Some(""), Some("x"), Some(other.form_secret())] {
            assert!(!visit.accepts_form(wrong), "{wrong:?}");
        }
        assert!(!format!("{visit:?}").contains(visit.form_secret()));
    }
}
