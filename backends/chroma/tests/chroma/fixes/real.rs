//! Compares a folder with the answers of the real package.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::scene::folder::Folder;
use loci_testkit::chroma_python;

/// Runs Python with the package of a release.
#[track_caller]
pub(crate) fn python(release: &str, args: &[&str]) -> String {
    let output = chroma_python(release).args(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "chromadb {release}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The expected content of a folder once the records `gone` are deleted.
#[derive(Debug)]
pub(crate) struct Truth {
    release: String,
    expected: Json,
    added: u64,
    /// Whether only the directions of vectors are compared.
    by_direction: bool,
}

impl Truth {
    pub(crate) fn of(folder: &Folder, gone: &BTreeSet<String>) -> Self {
        let mut expected = folder.expected.clone();
        for collection in expected["collections"].as_array_mut().unwrap() {
            let items = collection["items"].as_array_mut().unwrap();
            items.retain(|item| !gone.contains(item["id"].as_str().unwrap()));
        }
        let release = folder.name.split('/').next().unwrap().to_owned();
        Self {
            release,
            expected,
            added: 0,
            by_direction: false,
        }
    }

    /// Expects no more of vectors than their directions.
    pub(crate) fn by_direction(mut self) -> Self {
        self.by_direction = true;
        self
    }

    /// Takes note of records that another process added.
    pub(crate) fn note_added(&mut self, more: u64) {
        self.added += more;
    }

    /// Has a new process add `more` records, and expects everything of it.
    #[track_caller]
    pub(crate) fn holds(&mut self, folder: &Folder, more: u64) {
        self.added += more;
        let place = tempfile::tempdir().unwrap();
        let expected = place.path().join("expected.json");
        std::fs::write(&expected, self.expected.to_string()).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chroma/fixes/real.py");
        let args = [
            script,
            folder.path().to_str().unwrap(),
            expected.to_str().unwrap(),
            &more.to_string(),
            if self.by_direction {
                "directions"
            } else {
                "vectors"
            },
        ];
        let said: Json = serde_json::from_str(&python(&self.release, &args)).unwrap();
        for told in self.expected["collections"].as_array().unwrap() {
            let name = told["name"].as_str().unwrap();
            let count = told["items"].as_array().unwrap().len() as u64 + self.added;
            let answer = &said[name];
            assert_eq!(answer["count"], count, "{} {name}: {answer}", folder.name);
            assert_eq!(answer["found"], count, "{} {name}: {answer}", folder.name);
            for empty in ["lost", "texts", "vectors"] {
                assert_eq!(
                    answer[empty],
                    Json::Array(Vec::new()),
                    "{} {name} {empty}",
                    folder.name
                );
            }
            // The largest product need not be with itself.
            let far = answer["far"].as_array().unwrap();
            assert!(
                name == "by-ip" || far.is_empty(),
                "{} {name}: {far:?}",
                folder.name
            );
        }
    }
}
