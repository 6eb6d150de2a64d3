//! The law of mining for any source: what is filed of it, put together, is the source.

use std::fs;
use std::path::Path;

use loci_core::{
    Collection, CollectionExt as _, DrawerFields, Embedder, EmbedderIdentity, Error, ErrorKind, GetRequest,
    OpenOptions, OriginKind, Result, SourceRecordQuery, Timestamp,
};
use loci_engine::EmbedderCatalog;
use loci_engine::cat::{CatMessage, SourcePart, cat_source};
use loci_engine::mine::stamp::SourceStamp;
use loci_engine::mine::{MineReport, MineRequest, name};
use proptest::prelude::*;

use super::embedders::Bag;
use super::*;

fn mined(backend: &impl Shared, paths: &[&Path]) -> MineReport {
    mined_at(backend, paths, 4_000_000_000_000_000)
}

/// Mines while the clock shows so many microseconds since 1970.
fn mined_at(backend: &impl Shared, paths: &[&Path], now: i64) -> MineReport {
    let request = MineRequest::for_paths(paths.iter().map(|path| path.to_path_buf()));
    let palace = open_palace(backend, &NOBODY).with_clock(move || Timestamp::from_micros(now).unwrap());
    palace.mine(&request, &mut |_| {}).unwrap()
}

fn opened(backend: &dyn Backend) -> std::sync::Arc<dyn Collection> {
    let how = OpenOptions::for_writing();
    backend.open(&palace(), &super::name("drawers"), &how).unwrap()
}

fn parts(backend: &dyn Backend, path: &Path) -> Vec<SourcePart> {
    let mut parts = Vec::new();
    let printed = cat_source(opened(backend).as_ref(), &name::name_of_path(path), &mut |part| {
        parts.push(part);
        Ok(())
    });
    printed.unwrap();
    parts
}

fn bytes(backend: &dyn Backend, path: &Path) -> Vec<u8> {
    let bytes = parts(backend, path).into_iter().flat_map(|part| match part {
        SourcePart::Piece { bytes, .. } => bytes,
        SourcePart::Message(said) => unreachable!("{said:?}"),
    });
    bytes.collect()
}

fn said(backend: &dyn Backend, path: &Path) -> Vec<CatMessage> {
    let said = parts(backend, path).into_iter().map(|part| match part {
        SourcePart::Message(said) => said,
        SourcePart::Piece { .. } => unreachable!("a conversation"),
    });
    said.collect()
}

/// Texts of the kinds that break readers.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("# Heading\n\n".to_owned()),
        Just("```rust\nfn main() {}\n```\n".to_owned()),
        Just("| a | b |\n|---|---|\n| 1 | 2 |\n".to_owned()),
        Just("👨‍👩‍👧‍👦e\u{301}\u{301}\r\n".to_owned()),
        Just("\u{feff}\u{202e}記憶。\0".to_owned()),
        "[ -~]{0,200}",
        "(?s).{0,40}",
        Just("word ".repeat(300)),
    ];
    let parts = prop::collection::vec(part, 1..12).prop_map(|parts| parts.concat());
    parts.prop_filter("nothing is no message and no file", |text| !text.is_empty())
}

fn transcript(texts: &[(u32, String)]) -> String {
    let line = |(id, text): &(u32, String)| {
        let role = if id % 2 == 0 { "user" } else { "assistant" };
        let line = serde_json::json!({
            "type": role, "uuid": format!("m{id}"), "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z",
            "message": { "role": role, "content": [{ "type": "text", "text": text }] },
        });
        format!("{line}\n")
    };
    texts.iter().map(line).collect()
}

fn numbered(texts: &[String]) -> Vec<(u32, String)> {
    (0..).zip(texts.iter().cloned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_file_comes_back_as_it_was_and_as_it_is(first in text(), second in text(), joined in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a file.md");
        let backend = reference();
        fs::write(&path, &first).unwrap();
        let report = mined(&backend, &[&path]);
        prop_assume!(report.skipped.is_empty());
        prop_assert_eq!(bytes(&backend, &path), first.as_bytes());
        let second = if joined { format!("{second}{first}") } else { second };
        fs::write(&path, &second).unwrap();
        let report = mined(&backend, &[&path]);
        prop_assume!(report.skipped.is_empty());
        prop_assert_eq!(bytes(&backend, &path), second.as_bytes());
        let again = mined(&backend, &[&path]);
        prop_assert_eq!((again.sources_unchanged, again.drawers_added, again.drawers_removed), (1, 0, 0));
        let alone = reference();
        mined(&alone, &[&path]);
        prop_assert_eq!(filed(&backend), filed(&alone), "the same input is the same palace, however it came about");
    }

    #[test]
    fn every_message_comes_back_and_none_is_lost(
        texts in prop::collection::vec(text(), 1..6),
        more in prop::collection::vec(text(), 0..3),
        gone in prop::collection::vec(any::<bool>(), 6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("s.jsonl");
        let backend = reference();
        let before = numbered(&texts);
        fs::write(&path, transcript(&before)).unwrap();
        mined(&backend, &[&path]);
        let printed: Vec<String> = said(&backend, &path).into_iter().map(|one| one.text).collect();
        prop_assert_eq!(&printed, &texts);
        let all = numbered(&[texts.clone(), more].concat());
        let left: Vec<_> = all.iter().filter(|(n, _)| !gone.get(*n as usize).copied().unwrap_or(false)).cloned().collect();
        fs::write(&path, transcript(&left)).unwrap();
        let report = mined(&backend, &[&path]);
        if report.formats.contains_key("claude-code") {
            let printed = said(&backend, &path).into_iter().map(|one| one.text);
            let mut printed: Vec<String> = printed.collect();
            printed.sort();
            let kept = all.iter().filter(|(n, _)| (*n as usize) < texts.len() || left.iter().any(|(m, _)| m == n));
            let mut expected: Vec<String> = kept.map(|(_, text)| text.clone()).collect();
            expected.sort();
            prop_assert_eq!(printed, expected, "what was said stays, and what was added is there");
        }
    }
}

#[test]
fn a_file_that_was_just_written_is_looked_at_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("new.md");
    fs::write(&path, "Just written.").unwrap();
    let backend = reference();
    let stamp = || {
        let names = vec![name::name_of_path(&path)];
        let records = opened(&backend)
            .require_sources()
            .unwrap()
            .find_records(&SourceRecordQuery::Named(names))
            .unwrap();
        SourceStamp::from_text(&records[0].stamp).unwrap()
    };
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    let written = written.duration_since(std::time::UNIX_EPOCH).unwrap().as_micros() as i64;
    mined_at(&backend, &[&path], written + 1000);
    assert!(stamp().look.fresh, "another write could have the same times");
    let report = mined(&backend, &[&path]);
    assert_eq!((report.sources_unchanged, report.drawers_kept), (1, 1));
    assert!(
        !stamp().look.fresh,
        "it was read again and is known to be the same"
    );
}

/// A folder whose files take several commits.
fn many_files(folder: &Path) -> usize {
    for n in 0..1300 {
        fs::write(folder.join(format!("{n}.txt")), format!("Only line {n}.")).unwrap();
    }
    1300
}

#[test]
fn mining_goes_on_when_somebody_moves_the_collection_to_another_model() {
    let folder = tempfile::tempdir().unwrap();
    let files = many_files(folder.path());
    let (backend, machine) = (
        reference(),
        Machine(vec![Bag::new("old", 8), Bag::new("new", 12)]),
    );
    let palace = open_palace(&backend, &machine).with_clock(|| Timestamp::from_micros(0).unwrap());
    let request = MineRequest::for_paths([folder.path().to_path_buf()]);
    let mut switched = false;
    let report = palace.mine(&request, &mut |progress| {
        if progress.drawers > 0 && !switched {
            switched = true;
            loci_engine::switch_model(opened(&backend).as_ref(), &machine.0[1], &mut |_| true).unwrap();
        }
    });
    let report = report.unwrap();
    assert!(switched);
    assert_eq!((report.drawers_added, report.without_vector), (files as u64, 0));
    let info = opened(&backend).info().unwrap();
    assert_eq!(
        (info.drawers, info.coverage.nearest),
        (files as u64, files as u64)
    );
    assert_eq!(info.dimension, Some(12));
}

#[test]
fn a_run_that_is_asked_to_stop_leaves_whole_sources_and_the_next_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let files = many_files(folder.path());
    let backend = reference();
    let palace = open_palace(&backend, &NOBODY).with_clock(|| Timestamp::from_micros(0).unwrap());
    let request = MineRequest::for_paths([folder.path().to_path_buf()]);
    let stopped = palace.mine(&request, &mut |progress| {
        if progress.drawers > 0 {
            request.stop.request_stop();
        }
    });
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Conflict);
    let every = SourceRecordQuery::Under {
        prefix: String::new(),
        after: None,
        limit: files,
    };
    let sources = opened(&backend)
        .require_sources()
        .unwrap()
        .find_records(&every)
        .unwrap()
        .len();
    assert!((1..files).contains(&sources), "{sources} sources");
    let report = mined_at(&backend, &[folder.path()], 0);
    assert_eq!(
        (report.sources_seen, report.sources_unchanged),
        (files as u64, sources as u64)
    );
}

/// An embedder that fails after some texts, as a server does that goes away.
#[derive(Debug)]
struct Tired(Bag, std::sync::atomic::AtomicUsize);

impl Embedder for Tired {
    fn identity(&self) -> &EmbedderIdentity {
        &self.0.0
    }
    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let left = self.1.load(std::sync::atomic::Ordering::SeqCst);
        if texts.len() > left {
            return Err(Error::new(ErrorKind::Unavailable, "the server went away"));
        }
        self.1
            .store(left - texts.len(), std::sync::atomic::Ordering::SeqCst);
        self.0.embed_passages(texts)
    }
    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.0.embed_query(text)
    }
}

/// A machine with nothing but that.
#[derive(Debug)]
struct TiredMachine(std::sync::Arc<Tired>);

impl EmbedderCatalog for TiredMachine {
    fn usual_embedder(&self) -> Result<Option<std::sync::Arc<dyn Embedder>>> {
        Ok(Some(self.0.clone()))
    }
    fn find_embedder(&self, _: &EmbedderIdentity) -> Result<std::sync::Arc<dyn Embedder>> {
        Ok(self.0.clone())
    }
}

#[test]
fn words_are_filed_though_the_model_fails_and_get_their_vectors_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let files = many_files(folder.path()) as u64;
    let backend = reference();
    let run = |texts: usize| {
        let tired = Tired(Bag::new("tired", 8), texts.into());
        let machine = TiredMachine(std::sync::Arc::new(tired));
        let address = PalaceAddress {
            backend: backend.shared(),
            reference: palace(),
        };
        let clock = || Timestamp::from_micros(4_000_000_000_000_000).unwrap();
        let request = MineRequest::for_paths([folder.path().to_path_buf()]);
        let palace = Palace::new(address, Arc::new(machine), clock);
        palace.mine(&request, &mut |_| {}).unwrap()
    };
    let first = run(1100);
    assert_eq!(first.drawers_added, files, "every word is filed");
    assert!(first.without_vector > 0 && first.lacking.unwrap().contains("went away"));
    let second = run(100_000);
    assert_eq!((second.sources_unchanged, second.without_vector), (files, 0));
    let info = opened(&backend).info().unwrap();
    assert_eq!(info.coverage.nearest, files);
}

/// Everything filed that does not depend on the moment.
fn filed(backend: &dyn Backend) -> Vec<String> {
    let request = GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::default()
    };
    let drawers = opened(backend).get(&request).unwrap().into_iter();
    let plain = drawers.map(|one| {
        let place = loci_core::DrawerPlace {
            said_at: None,
            ..one.place
        };
        format!(
            "{:?} {:?} {place:?} {:?} {:?}",
            one.id, one.document, one.metadata, one.context
        )
    });
    plain.collect()
}

#[test]
fn reading_a_source_again_gives_provenance_to_its_own_words_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("s.jsonl");
    let texts = ["one of the pier", "two of the pier", "three of the pier"].map(str::to_owned);
    fs::write(&path, transcript(&numbered(&texts))).unwrap();
    let backend = reference();
    mined(&backend, &[&path]);
    let origins = || -> Vec<Option<OriginKind>> {
        let mut drawers = opened(&backend).get(&GetRequest::default()).unwrap();
        drawers.sort_by_key(|drawer| drawer.place.span.map(|span| span.start));
        let origins = drawers.into_iter().map(|drawer| Some(drawer.provenance?.origin));
        origins.collect()
    };
    assert_eq!(origins(), [Some(OriginKind::LooseTranscript); 3]);
    // One as it was filed before provenance was recorded, and one whose text was changed since.
    for (text, changed) in [(&texts[0], texts[0].clone()), (&texts[1], "changed".to_owned())] {
        let drawers = opened(&backend).get(&GetRequest::default()).unwrap();
        let old = drawers
            .into_iter()
            .find(|one| one.document.as_ref() == Some(text));
        let old = old.unwrap();
        let new = loci_core::NewDrawer {
            place: old.place.clone(),
            metadata: old.metadata.unwrap(),
            ..loci_core::NewDrawer::new(old.id, changed)
        };
        opened(&backend)
            .apply_batch(&[loci_core::Write::Upsert(new)])
            .unwrap();
    }
    assert_eq!(origins(), [None, None, Some(OriginKind::LooseTranscript)]);
    let mut request = MineRequest::for_paths([path.clone()]);
    request.trusted = true;
    let palace = open_palace(&backend, &NOBODY);
    assert_eq!(palace.mine(&request, &mut |_| {}).unwrap().sources_mined, 1);
    let harness = Some(OriginKind::HarnessTranscript);
    assert_eq!(origins(), [harness, None, harness]);
}
