//! Runs the cases on a backend, one test line each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Conclusion, Failed, Trial};

use crate::{Case, Failure, Harness, Scene, cases};

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The promise is kept.
    Kept,
    /// The promise is broken, and how.
    Broken(String),
    /// The promise is not this backend's, and why.
    NotApplicable(String),
}

/// Shows one case on a fresh world of `harness`.
pub fn examine(harness: &dyn Harness, case: &Case) -> Verdict {
    let shown = catch_unwind(AssertUnwindSafe(|| {
        let scene = Scene::new(harness)?;
        if let Some(need) = case.unmet(scene.descriptor()) {
            return Err(Failure::NotApplicable(need.to_string()));
        }
        (case.body)(&scene)
    }));
    match shown {
        Ok(Ok(())) => Verdict::Kept,
        Ok(Err(Failure::Broken(words))) => Verdict::Broken(words),
        Ok(Err(Failure::NotApplicable(why))) => Verdict::NotApplicable(why),
        Err(panic) => Verdict::Broken(format!("the case panicked: {}", panic_words(panic.as_ref()))),
    }
}

fn panic_words(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without words")
}

/// One test line for each case, and one for each waiver that names no case.
///
/// A waiver `(case name, reason)` says that a case is known to fail: its line is red once the case passes.
pub fn trials(harness: impl Harness + 'static, waivers: &[(&str, &str)]) -> Vec<Trial> {
    trials_under("", harness, waivers)
}

/// The same with each name under `prefix`, for a test file that examines several backends.
pub fn trials_under(prefix: &str, harness: impl Harness + 'static, waivers: &[(&str, &str)]) -> Vec<Trial> {
    let harness: Arc<dyn Harness> = Arc::new(harness);
    let mut trials = Vec::new();
    for case in cases() {
        let name = case.name();
        let waiver = waivers
            .iter()
            .find(|(waived, _)| *waived == name)
            .map(|(_, reason)| (*reason).to_owned());
        let harness = Arc::clone(&harness);
        trials.push(Trial::ignorable_test(format!("{prefix}{name}"), move || {
            conclude(examine(harness.as_ref(), case), waiver)
        }));
    }
    for (waived, reason) in waivers {
        if !cases().iter().any(|case| case.name() == *waived) {
            let words = format!("the waiver {waived:?} ({reason}) names no case");
            trials.push(Trial::test(format!("{prefix}waivers::{waived}"), move || {
                Err(Failed::from(words))
            }));
        }
    }
    trials
}

fn conclude(verdict: Verdict, waiver: Option<String>) -> Result<Completion, Failed> {
    match (verdict, waiver) {
        (Verdict::Kept, None) | (Verdict::Broken(_), Some(_)) => Ok(Completion::Completed),
        (Verdict::NotApplicable(why), None) => Ok(Completion::ignored_with(format!("not applicable: {why}"))),
        (Verdict::Broken(words), None) => Err(Failed::from(words)),
        (_, Some(reason)) => Err(Failed::from(format!("the waiver is no longer needed: {reason}"))),
    }
}

/// Runs every case on a backend with the arguments of this test binary.
pub fn run(harness: impl Harness + 'static, waivers: &[(&str, &str)]) -> Conclusion {
    libtest_mimic::run(&Arguments::from_args(), trials(harness, waivers))
}

/// Runs every case on a backend and ends the process: the `main` of a backend's test file.
pub fn main(harness: impl Harness + 'static, waivers: &[(&str, &str)]) -> ! {
    run(harness, waivers).exit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;
    use std::collections::BTreeSet;

    struct Unreachable;

    impl Harness for Unreachable {
        fn name(&self) -> String {
            "unreachable".into()
        }

        fn fresh(&self) -> Result<Box<dyn World>, String> {
            Err("connection refused".into())
        }
    }

    #[test]
    fn every_case_has_its_own_plain_name() {
        let names: BTreeSet<String> = cases().iter().map(|case| case.name()).collect();
        assert_eq!(names.len(), cases().len());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | ':');
        assert!(names.iter().all(|name| name.chars().all(plain)), "{names:?}");
    }

    #[test]
    fn a_backend_that_cannot_be_reached_is_red_in_every_case() {
        for case in cases() {
            let verdict = examine(&Unreachable, case);
            assert!(
                matches!(&verdict, Verdict::Broken(words) if words.contains("connection refused")),
                "{}: {verdict:?}",
                case.name()
            );
        }
    }

    #[test]
    fn a_waived_case_must_fail() {
        let waiver = || Some("known".to_owned());
        assert!(conclude(Verdict::Broken("x".into()), waiver()).is_ok());
        assert!(conclude(Verdict::Kept, waiver()).is_err());
        assert!(conclude(Verdict::NotApplicable("x".into()), waiver()).is_err());
        assert!(conclude(Verdict::Broken("x".into()), None).is_err());
        assert!(conclude(Verdict::Kept, None).is_ok());
    }

    #[test]
    fn a_waiver_that_names_no_case_is_a_red_line() {
        let trials = trials(Unreachable, &[("no such case", "known")]);
        assert_eq!(trials.len(), cases().len() + 1);
        assert!(trials.iter().any(|trial| trial.name() == "waivers::no such case"));
    }
}
