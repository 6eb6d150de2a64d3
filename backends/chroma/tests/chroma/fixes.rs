//! The steps that mend a Chroma folder, taken on folders of real releases that were damaged on purpose, and the
//! real package's own word on what they left.

mod full_text;
mod graphs;
mod lengths;
mod numbers;
mod quarantine;
pub(crate) mod real;
mod undoing;

use std::collections::BTreeMap;
use std::path::Path;

use crate::scene::folder::Folder;
use loci_chroma::ChromaBackend;
use loci_core::{Doctor, Error, FixMode, FixReport, FixRequest, PalaceDiagnosis};

const STEPS: [&str; 4] = ["quarantine", "seq-ids", "max-seq-id", "full-text"];

fn fix(path: &Path, step: &str, how: FixMode) -> Result<FixReport, Error> {
    let request = FixRequest {
        step,
        mode: how,
        older_than: None,
    };
    ChromaBackend::new().fix(path, &request)
}

#[track_caller]
fn apply(folder: &Folder, step: &str) -> FixReport {
    let report = fix(folder.path(), step, FixMode::Apply).unwrap();
    assert!(report.applied, "{}: {report:?}", folder.name);
    report
}

/// Expects that there is nothing to change, whether asked or told to, and that no byte changed.
#[track_caller]
fn leaves_alone(folder: &Folder, step: &str) -> FixReport {
    let before = folder.look();
    for how in [FixMode::DryRun, FixMode::Apply] {
        let report = fix(folder.path(), step, how).unwrap();
        assert!(!report.applied && report.undo.is_none(), "{report:?}");
        assert!(report.changes[0].starts_with("nothing to change"), "{report:?}");
    }
    assert_eq!(before, folder.look(), "{}", folder.name);
    fix(folder.path(), step, FixMode::DryRun).unwrap()
}

fn examine(folder: &Folder) -> PalaceDiagnosis {
    ChromaBackend::new().examine(folder.path()).unwrap()
}

/// The number of findings by code.
fn codes(folder: &Folder) -> BTreeMap<String, usize> {
    let mut codes = BTreeMap::new();
    for finding in examine(folder).findings {
        *codes.entry(finding.code).or_default() += 1;
    }
    codes
}

/// The names in a folder that begin and go on so.
fn named(folder: &Folder, begin: &str, within: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with(begin) && name.contains(within))
        .collect();
    names.sort();
    names
}

#[test]
fn a_path_without_a_database_is_no_trouble() {
    let place = tempfile::tempdir().unwrap();
    for path in [place.path().to_path_buf(), place.path().join("missing")] {
        for step in STEPS {
            for how in [FixMode::DryRun, FixMode::Apply] {
                let report = fix(&path, step, how).unwrap();
                assert!(!report.applied && report.undo.is_none(), "{step}: {report:?}");
            }
        }
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}
