//! Guards against stale answers: what one process wrote the next one finds, while a third keeps writing.
//!
//! `LOCI_ROUNDS` sets the size of the campaign.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use loci_testkit::{TempHome, campaign_rounds};
use serde_json::Value as Json;

/// Trees; with the number of a round they make words of its own.
const NAMES: [&str; 10] = [
    "alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ironwood", "juniper",
];

/// A palace that every step looks into from a process of its own.
struct SharedPalace {
    home: TempHome,
}

impl SharedPalace {
    fn new() -> Self {
        Self {
            home: crate::new_home(),
        }
    }

    /// Runs the binary with `--json` and returns how it ended and what it said.
    fn run(&self, args: &[&str]) -> (i32, Json) {
        let outcome = self.home.run(&[&["--json"], args].concat());
        (outcome.code, outcome.json())
    }

    #[track_caller]
    fn done(&self, args: &[&str]) -> Json {
        let (code, answer) = self.run(args);
        assert_eq!(code, 0, "{args:?}: {answer}");
        answer
    }

    /// What a search finds by words, and the whole answer.
    fn by_words(&self, query: &str) -> (Vec<(String, String)>, Json) {
        let (code, answer) = self.run(&["search", query, "-n", "50"]);
        assert!(code == 0 || code == 1, "{answer}");
        let text = |hit: &Json, key: &str| hit[key].as_str().unwrap().to_owned();
        let hits = answer["hits"].as_array().unwrap().iter();
        let hits = hits.filter(|hit| hit["why"]["lexical"].is_object());
        (
            hits.map(|hit| (text(hit, "id"), text(hit, "text"))).collect(),
            answer,
        )
    }

    /// Files, changes and removes one drawer; after each step another process sees just that.
    fn round(&self, n: u64) {
        let tree = NAMES[n as usize % NAMES.len()];
        let (id, first, second) = (
            format!("d{n}"),
            format!("{tree}first{n}"),
            format!("{tree}second{n}"),
        );
        let (old, new) = (
            format!("We plant a {first} here."),
            format!("We plant a {second} there."),
        );
        self.done(&["add", &old, "--id", &id]);
        self.sees(&first, &[(id.clone(), old.clone())]);
        self.done(&["add", &new, "--id", &id, "--upsert"]);
        self.sees(&second, &[(id.clone(), new.clone())]);
        self.sees(&first, &[]);
        let kept = self.run(&["search", &second, "-n", "1"]).1;
        assert!(
            kept["hits"][0]["why"]["nearest"].is_object(),
            "found by meaning at once: {kept}"
        );
        self.done(&["delete", &id, "--yes"]);
        self.sees(&second, &[]);
        let (_, gone) = self.run(&["search", &second, "-n", "50"]);
        let listed = gone["hits"]
            .as_array()
            .unwrap()
            .iter()
            .any(|hit| hit["id"] == id.as_str());
        assert!(!listed, "gone by meaning too: {gone}");
        self.done(&["add", &old, "--id", &id]);
    }

    #[track_caller]
    fn sees(&self, query: &str, expected: &[(String, String)]) {
        let (hits, answer) = self.by_words(query);
        assert_eq!(hits, expected, "{query}: {answer}");
        for leg in ["nearest", "lexical"] {
            assert_eq!(answer["legs"][leg]["ran"], true, "{answer}");
            assert_eq!(answer["legs"][leg]["coverage"], 1.0, "{answer}");
        }
    }
}

fn rounds() -> u64 {
    campaign_rounds(10)
}

#[test]
fn what_was_written_is_found_by_the_next_process() {
    let scene = SharedPalace::new();
    for n in 0..rounds() {
        scene.round(n);
    }
    assert_eq!(scene.done(&["verify"])["ok"], true);
}

#[test]
fn what_was_written_is_found_while_others_write() {
    let scene = SharedPalace::new();
    scene.done(&["add", "The writer begins.", "--id", "w0"]);
    let (over, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (scene, over, written) = (&scene, &over, &written);
        let writer = scope.spawn(move || {
            while !over.load(Ordering::SeqCst) {
                let n = written.fetch_add(1, Ordering::SeqCst) + 1;
                scene.done(&[
                    "add",
                    &format!("The writer notes line {n} of its log."),
                    "--id",
                    &format!("w{n}"),
                ]);
            }
        });
        // However the rounds end, the writer is let go of.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..rounds()).for_each(|n| scene.round(n))
        }));
        over.store(true, Ordering::SeqCst);
        writer.join().unwrap();
        ended.unwrap();
    });
    let all = rounds() + written.load(Ordering::SeqCst) + 1;
    assert_eq!(scene.done(&["count"])["count"], all);
    assert_eq!(scene.done(&["search", "writer log"])["in_scope"], all);
    assert_eq!(scene.done(&["verify"])["ok"], true);
}
