//! What the pages of a palace cost, and how large they are: a first screen of a very long conversation, and lists,
//! searches, the map and the timeline of a large palace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use loci_core::{
    Backend as _, BackendDescriptor, Collection, CollectionExt as _, CollectionName, CreateMode, DrawerId,
    DrawerPlace, Embedder, Error, FilingDoor, NewDrawer, OpenOptions, OriginKind, PalaceRef, Provenance,
    Result, SourceSpan, Timestamp, Write,
};
use loci_embed::builtin::BuiltinEmbedder;
use loci_engine::search::SearchRequest;
use loci_engine::{MineRequest, Palace, PalaceAddress};
use loci_store::EmbeddedBackend;
use loci_web::{
    PageReply, PageRequest, ReplyBody, Site, SiteHost, SiteModelRow, SiteToolRow, SpoolRow, Visit,
};
use serde_json::{Map, Value as Json, json};

use crate::corpus::{self, BenchRandom, draw_word};
use crate::measure;
use crate::search::{RecordedEmbedder, questions};

/// The drawers that one batch holds.
const BATCH: u64 = 1000;
/// The source of the very long conversation.
const TALK: &str = "/talks/long.jsonl";

/// How pages are measured.
#[derive(Debug, Args)]
pub(crate) struct PagesBenchOptions {
    /// How many drawers the palace holds besides the conversation.
    #[arg(long, default_value_t = 10_000)]
    rows: u64,
    /// How many messages the conversation has.
    #[arg(long, default_value_t = 100_000)]
    messages: u64,
    /// How often each page is asked for.
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Keep the palace in this folder; one that is there is measured as it is.
    #[arg(long)]
    keep: Option<PathBuf>,
}

/// Fills a palace, unless it is there, and measures its pages.
pub(crate) fn run(options: &PagesBenchOptions) -> std::result::Result<Json, Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let folder = options
        .keep
        .clone()
        .unwrap_or_else(|| scratch.path().join("palace"));
    let builtin: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::new()?);
    let is_there = folder.join(EmbeddedBackend::FILE).exists();
    let collection = open(&folder, builtin.as_ref())?;
    if !is_there {
        fill(collection.as_ref(), builtin.as_ref(), options)?;
    }
    let asked: Vec<String> = questions(collection.as_ref(), options.rounds)?
        .into_iter()
        .map(|question| question.words)
        .collect();
    let pages = BenchPages {
        site: Site::new(palace(&folder, &builtin), Arc::new(BareHost)),
        palace: palace(&folder, &builtin),
        visit: Visit::begin()?,
        rounds: options.rounds,
    };
    let mut figures = Map::new();
    for (name, target) in targets(options.messages) {
        figures.insert(name.to_owned(), pages.measure(&|_| target.clone())?);
    }
    pages.measure_search(&asked, &mut figures)?;
    let (now, peak) = measure::memory_mb();
    let drawers = collection.info()?.drawers;
    Ok(json!({"drawers": drawers, "pages": figures, "rss_mb": {"now": now, "peak": peak}}))
}

/// The pages that are measured, by name.
fn targets(messages: u64) -> Vec<(&'static str, String)> {
    let source = format!("/source?source={TALK}");
    let middle = messages / 2;
    let cursor = format!(
        "source.%252Ftalks%252Flong%252Ejsonl.{}.talk-{middle:07}",
        middle * 1_000
    );
    vec![
        ("source, start", source.clone()),
        ("source, end", format!("{source}&to=end")),
        ("source, at a message", format!("{source}&at=talk-{middle:07}")),
        (
            "source, part after",
            format!("/source/part?source={TALK}&after={cursor}"),
        ),
        (
            "source, part before",
            format!("/source/part?source={TALK}&before={cursor}"),
        ),
        (
            "source, a small one",
            "/source?source=notes/file-000100.md".to_owned(),
        ),
        ("drawer", format!("/drawer?id=talk-{middle:07}")),
        ("first page", "/".to_owned()),
        ("list, newest filed", "/list".to_owned()),
        ("list, newest said", "/list?order=said".to_owned()),
        ("list, by source", "/list?order=source".to_owned()),
        ("list, by id", "/list?order=id".to_owned()),
        ("list, one wing", "/list?wing=wing-7".to_owned()),
        ("list, one room", "/list?wing=wing-7&room=room-3".to_owned()),
        ("list, one source", format!("/list?source={TALK}")),
        ("map", "/map".to_owned()),
        ("map, one wing", "/map?wing=wing-7".to_owned()),
        ("map, one room", "/map?wing=wing-7&room=room-3".to_owned()),
        ("timeline, a year", "/timeline".to_owned()),
        ("timeline, a day", "/timeline?day=2024-01-02".to_owned()),
        ("timeline, one wing", "/timeline?wing=wing-7".to_owned()),
    ]
}

/// The site and the palace that are asked.
#[derive(Debug)]
struct BenchPages {
    site: Site,
    palace: Palace,
    visit: Visit,
    rounds: usize,
}

impl BenchPages {
    /// Asks for a page in every round; the page is whole and no error.
    fn measure(&self, target: &dyn Fn(usize) -> String) -> Result<Json> {
        let ask = |round: usize| -> Result<usize> {
            let target = target(round);
            let reply = self.site.answer(&PageRequest::get(&target), &self.visit);
            if reply.status == 200 {
                Ok(bytes_of(&reply))
            } else {
                Err(Error::invalid(format!("{target}: status {}", reply.status)))
            }
        };
        let mut most = ask(0)?;
        let cost = measure::repeat(self.rounds, |round| most = most.max(ask(round).unwrap_or(0)));
        let [p50, p95, min] = cost.wall_ms;
        Ok(json!({"cpu_ms": cost.cpu_ms, "p50_ms": p50, "p95_ms": p95, "min_ms": min, "bytes": most}))
    }

    /// Asks questions as a page and without one; what is between them is the page and its facets.
    fn measure_search(&self, asked: &[String], figures: &mut Map<String, Json>) -> Result<()> {
        let question = |round: usize| asked.get(round % asked.len().max(1)).map_or("", String::as_str);
        let page =
            self.measure(&|round| format!("/search?q={}", question(round).replace([' ', '\n'], "+")))?;
        let now = self.palace.now();
        let bare = measure::repeat(self.rounds, |round| {
            let request = SearchRequest {
                limit: 10,
                ..SearchRequest::new(question(round), now)
            };
            let _ = self.palace.search(&request);
        });
        let difference = page
            .get("cpu_ms")
            .and_then(Json::as_f64)
            .map(|cpu| cpu - bare.cpu_ms);
        let [p50, p95, min] = bare.wall_ms;
        figures.insert("search".to_owned(), page);
        figures.insert(
            "search without its page".to_owned(),
            json!({"cpu_ms": bare.cpu_ms, "p50_ms": p50, "p95_ms": p95, "min_ms": min}),
        );
        figures.insert("search page minus search, CPU ms".to_owned(), json!(difference));
        Ok(())
    }
}

fn bytes_of(reply: &PageReply) -> usize {
    match &reply.body {
        ReplyBody::Whole(bytes) => bytes.len(),
        ReplyBody::Streamed(_) => 0,
    }
}

fn open(folder: &Path, embedder: &dyn Embedder) -> Result<Arc<dyn Collection>> {
    let how = OpenOptions {
        embedder: Some(embedder.identity().clone()),
        ..OpenOptions::for_writing()
    };
    let name = CollectionName::new(CollectionName::DEFAULT)?;
    EmbeddedBackend::new().create(&PalaceRef::local(folder), &name, CreateMode::OpenExisting, &how)
}

fn palace(folder: &Path, embedder: &Arc<dyn Embedder>) -> Palace {
    let address = PalaceAddress {
        backend: Arc::new(EmbeddedBackend::new()),
        reference: PalaceRef::local(folder),
    };
    Palace::new(address, Arc::new(RecordedEmbedder(Arc::clone(embedder))), now)
}

fn now() -> Timestamp {
    "2026-06-01T09:00:00Z".parse().expect("this is a time")
}

/// Writes the corpus with vectors of the built-in embedder, and the conversation without any.
fn fill(collection: &dyn Collection, embedder: &dyn Embedder, options: &PagesBenchOptions) -> Result<()> {
    for first in (0..options.rows).step_by(BATCH as usize) {
        let last = (first + BATCH).min(options.rows);
        let samples: Vec<_> = (first..last).map(corpus::sample).collect();
        let texts: Vec<&str> = samples.iter().map(|sample| sample.text.as_str()).collect();
        let vectors = embedder.embed_passages(&texts)?;
        let drawers = samples.iter().zip(vectors).map(|(sample, vector)| NewDrawer {
            embedding: Some(vector),
            ..crate::storage::drawer(sample)
        });
        collection.apply_batch(&drawers.map(Write::Add).collect::<Vec<_>>())?;
    }
    let mut random = BenchRandom::new(17);
    for first in (0..options.messages).step_by(BATCH as usize) {
        let last = (first + BATCH).min(options.messages);
        let batch: Vec<Write> = (first..last)
            .map(|n| Write::Add(message(n, &mut random)))
            .collect();
        collection.apply_batch(&batch)?;
    }
    Ok(())
}

/// Message `n` of the conversation, of about 500 bytes: questions, answers, calls of tools and their output.
fn message(n: u64, random: &mut BenchRandom) -> NewDrawer {
    let mut text = String::with_capacity(520);
    while text.len() < 490 {
        text.push_str(&draw_word(random));
        text.push(if random.below(30) == 0 { '\n' } else { ' ' });
    }
    let kinds = [
        ("human", "user"),
        ("assistant", "assistant"),
        ("tool_call", "Bash"),
        ("tool_result", "Bash"),
    ];
    let (kind, speaker) = kinds.get((n % 4) as usize).copied().unwrap_or(("human", "user"));
    let id = DrawerId::new(format!("talk-{n:07}")).expect("this id is short");
    let seconds = 1_735_689_600 + n as i64 * 30;
    let mut drawer = NewDrawer::new(id, text);
    drawer.place = DrawerPlace {
        wing: Some("talks".into()),
        room: Some("long".into()),
        source: Some(TALK.into()),
        kind: Some(kind.into()),
        speaker: Some(speaker.into()),
        said_at: Timestamp::from_micros(seconds * 1_000_000).ok(),
        span: Some(SourceSpan {
            start: n * 1_000,
            end: n * 1_000 + drawer.document.len() as u64,
            line_start: n + 1,
            line_end: n + 1,
        }),
    };
    drawer.metadata.insert("message_id", n.to_string());
    drawer.provenance = Some(Provenance::new(
        FilingDoor::Terminal,
        OriginKind::HarnessTranscript,
    ));
    drawer
}

/// A machine with nothing on it.
#[derive(Debug)]
struct BareHost;

impl SiteHost for BareHost {
    fn palace_name(&self) -> String {
        "bench".to_owned()
    }

    fn list_backends(&self) -> Vec<BackendDescriptor> {
        Vec::new()
    }

    fn list_tools(&self) -> Vec<SiteToolRow> {
        Vec::new()
    }

    fn spool(&self) -> Result<Option<SpoolRow>> {
        Ok(None)
    }

    fn list_models(&self) -> Vec<SiteModelRow> {
        Vec::new()
    }

    fn open_model(&self, name: &str) -> Result<Arc<dyn Embedder>> {
        Err(Error::invalid(format!("no model is called {name:?} here")))
    }

    fn mine_request(&self, path: PathBuf) -> Result<MineRequest> {
        Ok(MineRequest::for_paths([path]))
    }
}
