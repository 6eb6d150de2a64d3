//! Runs the cases on a backend: the one runner under the test front end and under `loci backend test`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{BackendHarness, CaseFailure, CaseScene, ConformanceCase, all_cases};

/// The outcome of a case on a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseVerdict {
    /// The promise is kept.
    Kept,
    /// The promise is broken; states how.
    Broken(String),
    /// The promise does not apply to this backend; states why.
    NotApplicable(String),
}

/// Runs one case on a fresh world of `harness`.
pub fn examine_case(harness: &dyn BackendHarness, case: &ConformanceCase) -> CaseVerdict {
    // A panic of a backend breaks the promise under test; it must not end the run of the other cases.
    let shown = catch_unwind(AssertUnwindSafe(|| {
        let scene = CaseScene::new(harness)?;
        // After the scene was made: an unreachable backend fails every case, also those that would not
        // apply.
        if let Some(need) = case.find_unmet_need(scene.descriptor()) {
            return Err(CaseFailure::NotApplicable(need.to_string()));
        }
        (case.body)(&scene)
    }));
    match shown {
        Ok(Ok(())) => CaseVerdict::Kept,
        Ok(Err(CaseFailure::Broken(words))) => CaseVerdict::Broken(words),
        Ok(Err(CaseFailure::NotApplicable(why))) => CaseVerdict::NotApplicable(why),
        Err(panic) => CaseVerdict::Broken(format!("the case panicked: {}", panic_words(panic.as_ref()))),
    }
}

fn panic_words(panic: &(dyn std::any::Any + Send)) -> &str {
    // `panic!` carries a String if it has arguments and a &str if it has none.
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

/// Runs every case of the suite, or of one theme, and tells each verdict as it comes.
pub fn examine_suite(
    harness: &dyn BackendHarness,
    theme: Option<&str>,
    mut tell: impl FnMut(&'static ConformanceCase, &CaseVerdict),
) {
    let chosen = |case: &&ConformanceCase| theme.is_none_or(|theme| case.theme == theme);
    for case in all_cases().into_iter().filter(chosen) {
        tell(case, &examine_case(harness, case));
    }
}

/// Returns the themes of the suite, in the order of the contract.
pub fn list_themes() -> Vec<&'static str> {
    let mut themes: Vec<&str> = all_cases().iter().map(|case| case.theme).collect();
    themes.dedup();
    themes
}
