//! The front end for test files: one test line for each case.

use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Conclusion, Failed, Trial};

use crate::{BackendHarness, CaseVerdict, all_cases, examine_case};

/// Returns one test for each case, and a failing one for each waiver whose case does not exist.
///
/// A waiver `(case name, reason)` marks a case that is known to fail: its test fails once the case passes.
pub fn list_trials(harness: impl BackendHarness + 'static, waivers: &[(&str, &str)]) -> Vec<Trial> {
    list_trials_under("", harness, waivers)
}

/// Like [`list_trials`], with `prefix` before each name, for a test file that examines several backends.
pub fn list_trials_under(
    prefix: &str,
    harness: impl BackendHarness + 'static,
    waivers: &[(&str, &str)],
) -> Vec<Trial> {
    let harness: Arc<dyn BackendHarness> = Arc::new(harness);
    let mut trials = Vec::new();
    for case in all_cases() {
        let name = case.name();
        let waiver = waivers
            .iter()
            .find(|(waived, _)| *waived == name)
            .map(|(_, reason)| (*reason).to_owned());
        let harness = Arc::clone(&harness);
        trials.push(Trial::ignorable_test(format!("{prefix}{name}"), move || {
            conclude_trial(examine_case(harness.as_ref(), case), waiver)
        }));
    }
    // A waiver for a case that was renamed or removed would otherwise waive nothing, unnoticed.
    for (waived, reason) in waivers {
        if !all_cases().iter().any(|case| case.name() == *waived) {
            let words = format!("the waiver {waived:?} ({reason}) does not name an existing case");
            trials.push(Trial::test(format!("{prefix}waivers::{waived}"), move || {
                Err(Failed::from(words))
            }));
        }
    }
    trials
}

fn conclude_trial(verdict: CaseVerdict, waiver: Option<String>) -> Result<Completion, Failed> {
    match (verdict, waiver) {
        (CaseVerdict::Kept, None) | (CaseVerdict::Broken(_), Some(_)) => Ok(Completion::Completed),
        (CaseVerdict::NotApplicable(why), None) => {
            Ok(Completion::ignored_with(format!("not applicable: {why}")))
        }
        (CaseVerdict::Broken(words), None) => Err(Failed::from(words)),
        // Also where the case does not apply: a waiver has to be needed to stay.
        (_, Some(reason)) => Err(Failed::from(format!("the waiver has become obsolete: {reason}"))),
    }
}

/// Runs every case on a backend with the arguments of this test binary.
pub fn run_cases(harness: impl BackendHarness + 'static, waivers: &[(&str, &str)]) -> Conclusion {
    libtest_mimic::run(&Arguments::from_args(), list_trials(harness, waivers))
}

/// Runs every case on a backend and ends the process: the `main` of a backend's test file.
pub fn main(harness: impl BackendHarness + 'static, waivers: &[(&str, &str)]) -> ! {
    run_cases(harness, waivers).exit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestWorld;
    use std::collections::BTreeSet;

    struct UnreachableHarness;

    impl BackendHarness for UnreachableHarness {
        fn name(&self) -> String {
            "unreachable".into()
        }

        fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
            Err("connection refused".into())
        }
    }

    #[test]
    fn every_case_has_its_own_plain_name() {
        let names: BTreeSet<String> = all_cases().iter().map(|case| case.name()).collect();
        assert_eq!(names.len(), all_cases().len());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | ':');
        assert!(names.iter().all(|name| name.chars().all(plain)), "{names:?}");
    }

    #[test]
    fn a_backend_that_cannot_be_reached_is_red_in_every_case() {
        for case in all_cases() {
            let verdict = examine_case(&UnreachableHarness, case);
            assert!(
                matches!(&verdict, CaseVerdict::Broken(words) if words.contains("connection refused")),
                "{}: {verdict:?}",
                case.name()
            );
        }
    }

    #[test]
    fn a_waived_case_must_fail() {
        let waiver = || Some("known".to_owned());
        assert!(conclude_trial(CaseVerdict::Broken("x".into()), waiver()).is_ok());
        assert!(conclude_trial(CaseVerdict::Kept, waiver()).is_err());
        assert!(conclude_trial(CaseVerdict::NotApplicable("x".into()), waiver()).is_err());
        assert!(conclude_trial(CaseVerdict::Broken("x".into()), None).is_err());
        assert!(conclude_trial(CaseVerdict::Kept, None).is_ok());
    }

    #[test]
    fn a_waiver_that_names_no_case_is_a_red_line() {
        let trials = list_trials(UnreachableHarness, &[("no such case", "known")]);
        assert_eq!(trials.len(), all_cases().len() + 1);
        assert!(trials.iter().any(|trial| trial.name() == "waivers::no such case"));
    }
}
