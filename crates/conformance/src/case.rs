//! One case: a sentence of the contract, what a backend must advertise for it to apply, and its proof.

use std::fmt;

use loci_core::{Capability, Descriptor, Error, ErrorKind};

use crate::Scene;

/// Fails the case with the given words unless the expression is true.
macro_rules! ensure {
    ($truth:expr, $($words:tt)+) => {
        let truth: bool = $truth;
        if !truth {
            return Err($crate::Failure::new(format!($($words)+)));
        }
    };
}

/// Fails the case unless what was found equals what was expected, and shows both.
macro_rules! same {
    ($found:expr, $expected:expr, $($what:tt)+) => {
        match (&$found, &$expected) {
            (found, expected) => {
                if !(*found == *expected) {
                    return Err($crate::Failure::new(format!(
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
        pub(crate) const CASES: &[$crate::Case] = &[$($crate::Case {
            theme: $theme,
            sentence: $sentence,
            needs: &[
                $($crate::Need::With(loci_core::Capability::$with),)*
                $($crate::Need::Without(loci_core::Capability::$without),)*
            ],
            body: $body,
        }),+];
    };
}

/// What a case returns: nothing, or why the promise is broken.
pub type Outcome<T = ()> = Result<T, Failure>;

/// One promise and how it is shown.
#[derive(Debug)]
pub struct Case {
    /// The part of the contract it belongs to.
    pub theme: &'static str,
    /// The promise, in the words of the contract.
    pub sentence: &'static str,
    /// What the backend must or must not advertise for the promise to be its own.
    pub needs: &'static [Need],
    /// Shows the promise on a fresh scene.
    pub body: fn(&Scene<'_>) -> Outcome,
}

impl Case {
    /// The name of its test line: the theme, then the sentence with underscores between its words.
    pub fn name(&self) -> String {
        let words: Vec<String> = self
            .sentence
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        format!("{}::{}", self.theme, words.join("_"))
    }

    /// The first need that `descriptor` does not meet.
    pub fn unmet(&self, descriptor: &Descriptor) -> Option<&Need> {
        self.needs.iter().find(|need| !need.met_by(descriptor))
    }
}

/// What a backend must or must not advertise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The promise holds for backends that advertise this.
    With(Capability),
    /// The promise holds for backends that do not.
    Without(Capability),
}

impl Need {
    /// Whether `descriptor` meets it.
    pub fn met_by(&self, descriptor: &Descriptor) -> bool {
        match self {
            Self::With(capability) => descriptor.can(capability),
            Self::Without(capability) => !descriptor.can(capability),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::With(capability) => write!(f, "only for backends with {capability}"),
            Self::Without(capability) => write!(f, "only for backends without {capability}"),
        }
    }
}

/// Why a promise is broken, or that it cannot be asked here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// What was expected and what was found.
    Broken(String),
    /// Why the case cannot be shown in this world.
    NotApplicable(String),
}

impl Failure {
    /// A broken promise, in words that show what was expected and found.
    pub fn new(words: impl Into<String>) -> Self {
        Self::Broken(words.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Broken(format!("a call failed with {}: {error}", error.kind()))
    }
}

impl From<String> for Failure {
    fn from(words: String) -> Self {
        Self::Broken(words)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(format!("the test's own file operation failed: {error}"))
    }
}

/// Shows that a call is refused with `kind`, in a message that names each of `named`.
pub(crate) fn refused<T: fmt::Debug>(
    result: loci_core::Result<T>,
    kind: ErrorKind,
    named: &[&str],
) -> Outcome {
    let error = match result {
        Ok(answer) => {
            return Err(Failure::new(format!(
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
