//! A case: one sentence of the contract, the capabilities it depends on, and the function that checks it.

use std::fmt;

use loci_core::{BackendDescriptor, Capability, Error, ErrorKind};

use crate::CaseScene;

/// Fails the case with the given words unless the expression is true.
macro_rules! ensure {
    ($truth:expr, $($words:tt)+) => {
        let truth: bool = $truth;
        if !truth {
            return Err($crate::CaseFailure::new(format!($($words)+)));
        }
    };
}

/// Fails the case unless the value found equals the expected one, and shows both.
macro_rules! same {
    ($found:expr, $expected:expr, $($what:tt)+) => {
        // A match instead of `let`, so that temporaries in the arguments live as long as the comparison, as
        // in `assert_eq!`.
        match (&$found, &$expected) {
            (found, expected) => {
                if !(*found == *expected) {
                    return Err($crate::CaseFailure::new(format!(
                        "{}: expected {expected:?}, found {found:?}",
                        format_args!($($what)+)
                    )));
                }
            }
        }
    };
}

/// Lists the cases of one theme: a sentence, the capabilities it needs (`+`) or excludes (`-`), and its body.
macro_rules! cases {
    ($theme:literal: $($sentence:literal [$(+$with:ident)* $(-$without:ident)*] => $body:ident;)+) => {
        /// The cases of this theme.
        pub(crate) const CASES: &[$crate::ConformanceCase] = &[$($crate::ConformanceCase {
            theme: $theme,
            sentence: $sentence,
            needs: &[
                $($crate::CaseNeed::With(loci_core::Capability::$with),)*
                $($crate::CaseNeed::Without(loci_core::Capability::$without),)*
            ],
            body: $body,
        }),+];
    };
}

/// The result of a case: nothing, or the reason why the promise is broken.
pub type CaseOutcome<T = ()> = Result<T, CaseFailure>;

/// One promise and the function that checks it.
#[derive(Debug)]
pub struct ConformanceCase {
    /// The part of the contract it belongs to.
    pub theme: &'static str,
    /// The promise, in the words of the contract.
    pub sentence: &'static str,
    /// The capabilities a backend must or must not advertise for the promise to apply to it.
    pub needs: &'static [CaseNeed],
    /// Checks the promise on a fresh scene.
    pub body: fn(&CaseScene<'_>) -> CaseOutcome,
}

impl ConformanceCase {
    /// Returns the name of its test: the theme, then the sentence with underscores between its words.
    pub fn name(&self) -> String {
        // Punctuation goes, so that names are plain identifiers that test filters and waivers can use.
        let words: Vec<String> = self
            .sentence
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        format!("{}::{}", self.theme, words.join("_"))
    }

    /// Returns the first need that `descriptor` does not meet.
    pub fn find_unmet_need(&self, descriptor: &BackendDescriptor) -> Option<&CaseNeed> {
        // The first one is enough: it is only shown as the reason why the case was ignored.
        self.needs.iter().find(|need| !need.is_met_by(descriptor))
    }
}

/// A capability that a backend must or must not advertise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseNeed {
    /// The promise applies to backends that advertise this capability.
    With(Capability),
    /// The promise applies to backends that do not advertise it.
    Without(Capability),
}

impl CaseNeed {
    /// Returns whether `descriptor` meets the need.
    pub fn is_met_by(&self, descriptor: &BackendDescriptor) -> bool {
        match self {
            Self::With(capability) => descriptor.has_capability(capability),
            Self::Without(capability) => !descriptor.has_capability(capability),
        }
    }
}

impl fmt::Display for CaseNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::With(capability) => write!(f, "only for backends with {capability}"),
            Self::Without(capability) => write!(f, "only for backends without {capability}"),
        }
    }
}

/// The reason why a case did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseFailure {
    /// The promise is broken; states what was expected and found.
    Broken(String),
    /// The case cannot be checked in this world; states why.
    NotApplicable(String),
}

impl CaseFailure {
    /// Returns a broken promise with a message that states what was expected and found.
    pub fn new(words: impl Into<String>) -> Self {
        Self::Broken(words.into())
    }
}

impl From<Error> for CaseFailure {
    fn from(error: Error) -> Self {
        Self::Broken(format!("a call failed with {}: {error}", error.kind()))
    }
}

impl From<String> for CaseFailure {
    fn from(words: String) -> Self {
        Self::Broken(words)
    }
}

impl From<std::io::Error> for CaseFailure {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(format!("the test's own file operation failed: {error}"))
    }
}

/// Checks that a call is refused with `kind`, in a message that contains each of `named`.
pub(crate) fn expect_refusal<T: fmt::Debug>(
    result: loci_core::Result<T>,
    kind: ErrorKind,
    named: &[&str],
) -> CaseOutcome {
    let error = match result {
        Ok(answer) => {
            return Err(CaseFailure::new(format!(
                "expected to be refused as {kind}, found {answer:?}"
            )));
        }
        Err(error) => error,
    };
    ensure!(
        error.kind() == kind,
        "expected to be refused as {kind}, found {}: {error}",
        error.kind()
    );
    for name in named {
        ensure!(
            error.message().contains(name),
            "expected a message that names {name:?}, found {:?}",
            error.message()
        );
    }
    Ok(())
}
