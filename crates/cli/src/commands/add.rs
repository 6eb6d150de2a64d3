//! `loci add`: files one text, or many from lines of JSON.

mod lines;

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use loci_core::{
    DrawerId, FilingDoor, Metadata, NewDrawer, OriginKind, Place, Provenance, Receipt, Result, Timestamp,
};
use loci_engine::add::AddRequest;
use loci_engine::{derive_id, line};

use crate::errors::{Done, Exit};
use crate::input;
use crate::page::Page;
use crate::session::Session;

/// File a text, verbatim
///
/// The text is the argument, or standard input where it is `-` or missing. A drawer that is there already is
/// left as it is. Without --id the id follows from the text and its place, so that the same text in the same
/// place is filed once.
///
/// With --jsonl each line is one drawer: {id?, text, metadata?, embedding?, wing?, room?, source?, span?,
/// speaker?, kind?, said_at?, filed_at?, context?, uses?, collection?}. Each batch is answered the moment it is
/// durable. A line that cannot be filed stops the run; what was answered stays.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci add 'We ship on Friday.' --wing work --room plans\n  \
    git log -1 | loci add - --wing work --source git\n  loci add --jsonl notes.jsonl --batch 500"
)]
pub(crate) struct Args {
    /// The text; `-` or nothing reads standard input
    #[arg(value_name = "TEXT", conflicts_with = "jsonl")]
    text: Option<String>,

    #[command(flatten)]
    fields: Fields,

    /// File the drawers in this file, one JSON object a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,

    /// How many lines to make durable at once
    #[arg(long, value_name = "N", default_value = "1000", requires = "jsonl",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    batch: usize,

    /// Replace what stands under the same id
    #[arg(long)]
    upsert: bool,
}

#[derive(Debug, clap::Args)]
#[group(conflicts_with = "jsonl", multiple = true)]
struct Fields {
    /// The wing: a project, person or agent
    #[arg(long, value_name = "WING")]
    wing: Option<String>,

    /// The room: a topic within the wing
    #[arg(long, value_name = "ROOM")]
    room: Option<String>,

    /// The id [default: derived from the content]
    #[arg(long, value_name = "ID")]
    id: Option<DrawerId>,

    /// What it comes from: a file, a conversation, a note
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    /// Who said it
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,

    /// What kind of text it is
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// More about it, like '{"topic":"plans","n":3}'
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,

    /// When it was said, like 2026-05-01T09:30:00Z or 2026-05-01
    #[arg(long, value_name = "TIME")]
    said_at: Option<Timestamp>,

    /// Its vector, like '[0.1,-0.2]', or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    vector: Option<String>,
}

/// Files what is given.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    if let Some(path) = &args.jsonl {
        return lines::run(path, args.batch, args.upsert, session);
    }
    let report = session.palace()?.add(&AddRequest {
        drawer: drawer(args)?,
        upsert: args.upsert,
    })?;
    let out = &mut session.out;
    out.note_made(report.made_palace.as_deref());
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| tell(&report.receipt, page))?;
    }
    if !report.receipt.without_vector.is_empty() {
        out.note(&without_vector("stored", report.lacking.as_deref()));
    }
    Ok(Exit::Done)
}

/// Says that drawers have no vector, and why where a model should have made one.
pub(super) fn without_vector(what: &str, lacking: Option<&str>) -> String {
    let why = lacking.map_or_else(String::new, |why| format!(" ({why})"));
    format!("{what} without a vector: found by keyword, id and filter{why}")
}

fn drawer(args: &Args) -> Result<NewDrawer> {
    let fields = &args.fields;
    let metadata = match &fields.meta {
        Some(text) => line::parse_metadata(text)?,
        None => Metadata::new(),
    };
    let embedding = fields.vector.as_deref().map(input::vector).transpose()?;
    let place = Place {
        wing: fields.wing.clone(),
        room: fields.room.clone(),
        source: fields.source.clone(),
        span: None,
        speaker: fields.speaker.clone(),
        kind: fields.kind.clone(),
        said_at: fields.said_at,
    };
    let completed = place.completed_from(&metadata)?;
    let document = input::text(args.text.as_deref())?;
    let id = match &fields.id {
        Some(id) => id.clone(),
        None => derive_id(&completed, &document),
    };
    Ok(NewDrawer {
        metadata,
        place,
        embedding,
        provenance: Some(Provenance::new(FilingDoor::Terminal, OriginKind::Hand)),
        ..NewDrawer::new(id, document)
    })
}

fn tell(receipt: &Receipt, page: &mut Page) {
    let lists = [
        ("filed ", &receipt.added),
        ("kept, it was there already: ", &receipt.kept),
        ("replaced ", &receipt.replaced),
    ];
    for (done, ids) in lists {
        for id in ids {
            page.plain(done).bold(id.as_str()).end();
        }
    }
    for twin in &receipt.twins {
        page.plain("kept, it was there already under another id: ");
        page.bold(twin.existing.as_str()).end();
    }
}
