//! A workload that uses the whole contract, step by step on the server and on an oracle, over a connection that may be cut.
//!
//! After each step the server is asked over another connection: it holds what the oracle holds, and a step that failed
//! without saying that its outcome is unknown has changed nothing.

use std::collections::BTreeMap;

use loci_conformance::Reference;
use loci_core::{
    ApplyRequest, Backend, Collection, CollectionName, CreateMode, Cursor, DeleteSelection, Drawer,
    DrawerFields, DrawerHit, DrawerId, DrawerPatch, EmbedderIdentity, Error, ErrorKind, FacetRequest, Filter,
    GetRequest, IdempotencyKey, LexicalRequest, Metadata, NewDrawer, OpenOptions, PalaceRef, PendingRequest,
    QueryRequest, Receipt, Result, RevisionOutcome, SourceRecordQuery, SourceRevision, SourceSpan,
    SwitchStep, Timestamp, VectorFill, Write,
};
use loci_postgres::PostgresBackend;

use super::new_backend;

/// One step of the workload.
enum WorkloadStep {
    /// A batch under a key of its own.
    Batch(Vec<Write>),
    /// A new state of a source: its drawer and its record.
    Revise(&'static str, &'static str),
    /// A step of a change of model.
    Switch(SwitchStep),
    /// The vectors of the new model.
    Fill,
    /// Every kind of read.
    Ask,
}

/// The same collection over a connection that may be cut, over one that is not, and in an oracle.
pub(super) struct WorkloadRun {
    through: PostgresBackend,
    through_url: String,
    direct: std::sync::Arc<dyn Collection>,
    oracle: std::sync::Arc<dyn Collection>,
    /// The steps that failed, and those of them whose outcome was unknown.
    pub(super) failed: usize,
    pub(super) unknown: usize,
}

fn model(name: &str) -> EmbedderIdentity {
    EmbedderIdentity {
        model: name.to_owned(),
        revision: "1".to_owned(),
        dimension: 2,
    }
}

fn drawer(id: &str, text: &str) -> NewDrawer {
    let angle = text.len() as f32;
    let mut drawer = NewDrawer::new(DrawerId::new(id).unwrap(), text);
    drawer.place.wing = Some(["east", "west"][text.len() % 2].to_owned());
    drawer.metadata = Metadata::new().with_entry("length", text.len() as i64);
    drawer.embedding = Some(vec![angle.cos(), angle.sin()]);
    drawer.filed_at = Some(Timestamp::from_micros(1_700_000_000_000_000).unwrap());
    drawer
}

/// A drawer that is the first piece of a source.
fn piece(id: &str, source: &str, text: &str) -> NewDrawer {
    let mut drawer = drawer(id, text);
    drawer.place.source = Some(source.to_owned());
    drawer.place.span = Some(SourceSpan {
        start: 0,
        end: text.len() as u64,
        line_start: 1,
        line_end: 1,
    });
    drawer
}

fn steps() -> Vec<WorkloadStep> {
    use WorkloadStep::{Ask, Batch, Fill, Revise, Switch};
    let add = |id: &str, text: &str| Write::Add(drawer(id, text));
    let patch = DrawerPatch {
        document: Some("the ferry leaves at night".to_owned()),
        metadata: BTreeMap::from([("length".to_owned(), None)]),
        ..DrawerPatch::new(DrawerId::new("b").unwrap())
    };
    vec![
        Batch(vec![
            add("a", "the ferry leaves at noon"),
            add("b", "bread needs flour"),
        ]),
        Batch(vec![Write::Add(piece("c", "notes.md", "a note about salt"))]),
        Ask,
        Batch(vec![
            Write::Add(piece("twin", "notes.md", "a note about salt")),
            add("d", "time and water"),
        ]),
        Revise("book.md", "first state of the book"),
        Batch(vec![
            Write::Update(patch),
            Write::Upsert(drawer("a", "no ferry today")),
        ]),
        Ask,
        Switch(SwitchStep::Begin(model("newer"))),
        Fill,
        Revise("book.md", "second state, and longer"),
        Fill,
        Switch(SwitchStep::Finish),
        Batch(vec![Write::Delete(DeleteSelection::Matching(
            Filter::text_equals("wing", "east").into(),
        ))]),
        Ask,
    ]
}

fn open_with(backend: &dyn Backend, palace: &PalaceRef) -> Result<std::sync::Arc<dyn Collection>> {
    let options = OpenOptions {
        embedder: Some(model("older")),
        ..OpenOptions::for_writing()
    };
    let name = CollectionName::new(CollectionName::DEFAULT)?;
    backend
        .create(palace, &name, CreateMode::OpenExisting, &options)
        // After a change of model the recorded one is another.
        .or_else(|error| match error.kind() {
            ErrorKind::IdentityMismatch => backend.create(
                palace,
                &name,
                CreateMode::OpenExisting,
                &OpenOptions::for_writing(),
            ),
            _ => Err(error),
        })
}

/// Tells whether an error says that the outcome of a write is unknown.
fn is_unknown(error: &Error) -> bool {
    error.context().iter().any(|(key, _)| *key == "outcome")
}

impl WorkloadRun {
    /// Begins with an empty palace at `direct_url`, which `through_url` names as well.
    pub(super) fn new(direct_url: &str, through_url: &str) -> Self {
        let backend = new_backend();
        let palace = backend.adopt_url(direct_url).unwrap();
        Self {
            through: new_backend(),
            through_url: through_url.to_owned(),
            direct: open_with(&backend, &palace).unwrap(),
            oracle: open_with(&Reference::new(), &PalaceRef::from_id("oracle")).unwrap(),
            failed: 0,
            unknown: 0,
        }
    }

    /// Takes every step.
    pub(super) fn run(&mut self) {
        for (number, step) in steps().into_iter().enumerate() {
            match step {
                WorkloadStep::Batch(writes) => self.apply(number, &writes),
                WorkloadStep::Revise(source, text) => self.revise(source, text),
                WorkloadStep::Switch(step) => self.switch(&step),
                WorkloadStep::Fill => self.fill(),
                WorkloadStep::Ask => self.ask(),
            }
            assert_eq!(list(&self.direct), list(&self.oracle), "after step {number}");
        }
        self.check_feed();
    }

    /// Checks that the feed lists every drawer that there is or was once, in ascending order, as that of the oracle does.
    fn check_feed(&self) {
        let feed = |collection: &dyn Collection| {
            let page = collection.feed().unwrap().changes_since(Cursor(0), 1000).unwrap();
            assert!(page.changes.windows(2).all(|two| two[0].seq < two[1].seq));
            let mut ids: Vec<String> = page.changes.iter().map(|change| change.id.to_string()).collect();
            ids.sort();
            ids
        };
        assert_eq!(feed(self.direct.as_ref()), feed(self.oracle.as_ref()));
    }

    /// Does something over the connection that may be cut, and checks an error against what the server holds: an error
    /// other than an unknown outcome means that nothing was changed.
    fn attempt<T>(&mut self, work: impl FnOnce(&dyn Collection) -> Result<T>) -> Result<T> {
        let before = self.state();
        let opened = self
            .through
            .adopt_url(&self.through_url)
            .and_then(|palace| open_with(&self.through, &palace));
        let done = opened.and_then(|collection| work(collection.as_ref()));
        if let Err(error) = &done {
            self.failed += 1;
            self.unknown += usize::from(is_unknown(error));
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            if !is_unknown(error) {
                assert_eq!(self.state(), before, "changed, though it failed: {error}");
            }
        }
        done
    }

    /// Everything that a step can change, as the server tells it over a connection that is not cut.
    fn state(&self) -> String {
        let all = SourceRecordQuery::Under {
            prefix: String::new(),
            after: None,
            limit: 100,
        };
        let info = self.direct.info().unwrap();
        let spaces = self.direct.spaces().unwrap().list_spaces().unwrap();
        let records = self.direct.sources().unwrap().find_records(&all).unwrap();
        format!("{:?} {} {spaces:?} {records:?}", list(&self.direct), info.seq.0)
    }

    fn apply(&mut self, number: usize, writes: &[Write]) {
        let key = IdempotencyKey::new(format!("step {number}")).unwrap();
        let request = ApplyRequest::from_writes(writes).under_key(&key);
        let told = self.attempt(|collection| collection.apply(&request));
        // The repetition under its key gives the same receipt, whatever became of the first attempt.
        let again = self.direct.apply(&request).unwrap();
        if let Ok(told) = told {
            assert_eq!(told, again, "step {number}");
        }
        let expected = self.oracle.apply(&request).unwrap();
        let without_number = |receipt: Receipt| Receipt { seq: 0, ..receipt };
        assert_eq!(without_number(again), without_number(expected), "step {number}");
    }

    fn revise(&mut self, source: &'static str, text: &'static str) {
        let expects = |collection: &dyn Collection| {
            let named = SourceRecordQuery::Named(vec![source.to_owned()]);
            let records = collection.sources().unwrap().find_records(&named).unwrap();
            records.first().map(|record| record.revision)
        };
        let revise = |collection: &dyn Collection, expected: Option<u64>| {
            let parts = vec![vec![Write::Upsert(piece("book", source, text))]];
            let revision = SourceRevision {
                source: source.to_owned(),
                expects: expected,
                stamp: Some(text.to_owned()),
                parts: Box::new(parts.into_iter()),
            };
            Ok(collection.sources().unwrap().revise(vec![revision])?.remove(0))
        };
        let expected = expects(self.direct.as_ref());
        let told = self.attempt(|collection| revise(collection, expected));
        let again = revise(self.direct.as_ref(), expected).unwrap();
        match told {
            Ok(told) => {
                assert!(matches!(told, RevisionOutcome::Done { .. }), "{told:?}");
                assert_eq!(again, RevisionOutcome::Overtaken);
            }
            // Of an unknown outcome the record tells: it was revised by the first attempt or by the second.
            Err(error) => assert!(
                is_unknown(&error) || matches!(again, RevisionOutcome::Done { .. }),
                "{again:?}"
            ),
        }
        let of_oracle = expects(self.oracle.as_ref());
        revise(self.oracle.as_ref(), of_oracle).unwrap();
    }

    fn switch(&mut self, step: &SwitchStep) {
        let take = |collection: &dyn Collection| collection.spaces().unwrap().take_step(step);
        if self.attempt(|collection| take(collection).map(drop)).is_err() {
            let is_done = match (step, take(self.direct.as_ref())) {
                (_, Ok(_)) => true,
                // The first attempt has finished it.
                (SwitchStep::Finish, Err(error)) => error.kind() == ErrorKind::Conflict,
                (_, Err(_)) => false,
            };
            assert!(is_done, "{step:?}");
        }
        take(self.oracle.as_ref()).unwrap();
        let roles = |collection: &dyn Collection| {
            let spaces = collection.spaces().unwrap().list_spaces().unwrap();
            spaces
                .into_iter()
                .map(|space| (space.state, space.vectors))
                .collect::<Vec<_>>()
        };
        assert_eq!(roles(self.direct.as_ref()), roles(self.oracle.as_ref()));
    }

    fn fill(&mut self) {
        let fill = |collection: &dyn Collection| {
            let spaces = collection.spaces().unwrap();
            let pending = spaces.list_pending(&PendingRequest {
                identity: model("newer"),
                after: 0,
                limit: 100,
            })?;
            let vectors: Vec<VectorFill> = pending
                .into_iter()
                .map(|drawer| VectorFill {
                    vector: vec![drawer.text.len() as f32, 1.0],
                    id: drawer.id,
                    version: drawer.version,
                })
                .collect();
            if vectors.is_empty() {
                return Ok(0);
            }
            Ok(spaces.fill_vectors(&model("newer"), &vectors)?.stored)
        };
        let told = self.attempt(fill);
        let again = fill(self.direct.as_ref()).unwrap();
        assert!(told.is_err() || again == 0, "acknowledged vectors are there");
        fill(self.oracle.as_ref()).unwrap();
    }

    fn ask(&mut self) {
        let kinds: [fn(&dyn Collection) -> Result<String>; 6] = [
            |collection| {
                let nearest = QueryRequest::nearest_to(vec![1.0, 0.5], 3);
                Ok(describe(&collection.query(&nearest)?.remove(0)))
            },
            |collection| {
                let words = LexicalRequest::for_words("ferry note water", 5);
                Ok(describe(&collection.lexical(&words)?))
            },
            |collection| {
                let west = Filter::text_equals("wing", "west");
                Ok(collection.count(&west.into())?.to_string())
            },
            |collection| Ok(format!("{:?}", collection.facets(&FacetRequest::by_room())?)),
            |collection| {
                let moment = collection.moment()?.unwrap();
                let (info, all) = (moment.info()?, moment.get(&GetRequest::default())?);
                Ok(format!("{} {}", info.drawers, all.len()))
            },
            |collection| {
                let page = collection.feed().unwrap().changes_since(Cursor(0), 100)?;
                let mut ids: Vec<&str> = page.changes.iter().map(|change| change.id.as_str()).collect();
                ids.sort_unstable();
                Ok(ids.join(" "))
            },
        ];
        for kind in kinds {
            if let Ok(told) = self.attempt(kind) {
                assert_eq!(told, kind(self.oracle.as_ref()).unwrap());
            }
        }
    }
}

/// Returns the ids of hits with their scores, as far as both add the same numbers.
fn describe(hits: &[DrawerHit]) -> String {
    let told = hits
        .iter()
        .map(|hit| format!("{} {:.4}", hit.drawer.id, hit.score));
    told.collect::<Vec<_>>().join(", ")
}

fn list(collection: &std::sync::Arc<dyn Collection>) -> Vec<Drawer> {
    let all = GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::default()
    };
    let drawers = collection.get(&all).unwrap();
    // An oracle in memory names no other place for its vectors.
    drawers
        .into_iter()
        .map(|drawer| Drawer {
            vector_from: loci_core::VectorOrigin::default(),
            ..drawer
        })
        .collect()
}
