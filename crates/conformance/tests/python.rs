//! The suite and the model test on the example in Python, a plug-in in one file: as it is, and embedding by itself.

use libtest_mimic::{Arguments, Failed, Trial};
use loci_conformance::{CaseVerdict, ProgramHarness, all_cases, examine_case, list_trials_under};

const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/backend-python/loci-backend-python"
);

fn embedding_harness() -> ProgramHarness {
    ProgramHarness::new(PROGRAM, ["--embed".to_owned()])
}

/// No other backend embeds by itself, so that these cases would be ignored everywhere without anyone noticing.
fn check_own_identity() -> Result<(), Failed> {
    let harness = embedding_harness();
    let mut shown = 0;
    for case in all_cases() {
        if case.sentence.starts_with("a backend that embeds by itself") {
            shown += 1;
            let verdict = examine_case(&harness, case);
            if verdict != CaseVerdict::Kept {
                return Err(Failed::from(format!("{}: {verdict:?}", case.sentence)));
            }
        }
    }
    if shown == 0 {
        return Err(Failed::from("no case is about backends that embed by themselves"));
    }
    Ok(())
}

fn main() {
    let mut trials = list_trials_under("python::", ProgramHarness::new(PROGRAM, []), &[]);
    trials.extend(list_trials_under("python_embeds::", embedding_harness(), &[]));
    trials.push(Trial::test(
        "the_cases_about_embedding_by_itself_are_not_ignored",
        check_own_identity,
    ));
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}
