//! `loci add`: files one text, or many from lines of JSON.

mod lines;

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use loci_core::{
    DrawerId, DrawerPlace, Error, FilingDoor, Metadata, NewDrawer, OriginKind, Provenance, Receipt, Result,
    Timestamp,
};
use loci_engine::add::AddRequest;
use loci_engine::{derive_id, line};

use crate::errors::{CommandResult, ExitStatus};
use crate::input;
use crate::page::{TextPage, format_count};
use crate::session::CommandSession;

/// File a text as a drawer, verbatim
///
/// Reads the text from the argument, or from standard input if it is `-` or missing. A drawer that already exists is
/// kept. Without --id the id is derived from the text and where it is filed, so filing the same text twice in the same
/// wing and room stores it once.
///
/// With --jsonl each line is one drawer: {id?, text, metadata?, embedding?, wing?, room?, source?, span?,
/// speaker?, kind?, said_at?, filed_at?, context?, uses?, collection?}. A line is printed for each batch as soon as it
/// is durable. A line that cannot be filed stops the run; the batches printed before it stay.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci add 'We ship on Friday.' --wing work --room plans\n  \
    git log -1 | loci add - --wing work --source git\n  loci add --jsonl notes.jsonl --batch 500"
)]
pub(crate) struct AddArgs {
    /// The text; `-` or nothing reads standard input
    #[arg(value_name = "TEXT", conflicts_with = "jsonl")]
    text: Option<String>,

    #[command(flatten)]
    fields: DrawerFieldArgs,

    /// File the drawers in this file, one JSON object per line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,

    /// Commit N lines at a time
    #[arg(long, value_name = "N", default_value = "1000", requires = "jsonl",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    batch: usize,

    /// Replace drawers that have the same id
    #[arg(long)]
    upsert: bool,
}

#[derive(Debug, clap::Args)]
#[group(conflicts_with = "jsonl", multiple = true)]
struct DrawerFieldArgs {
    /// The wing: a project, person or agent
    #[arg(long, value_name = "WING")]
    wing: Option<String>,

    /// The room: a topic within the wing
    #[arg(long, value_name = "ROOM")]
    room: Option<String>,

    /// The id [default: derived from the content]
    #[arg(long, value_name = "ID")]
    id: Option<DrawerId>,

    /// The source: a file, a conversation, a note
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    /// The speaker
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,

    /// The kind, such as note or human
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Metadata, such as '{"topic":"plans","n":3}'
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,

    /// The time it was said, such as 2026-05-01T09:30:00Z or 2026-05-01
    #[arg(long, value_name = "TIME")]
    said_at: Option<Timestamp>,

    /// The vector, such as '[0.1,-0.2]', or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    vector: Option<String>,
}

/// Files the text or the lines.
pub(crate) fn run(args: &AddArgs, session: &mut CommandSession) -> CommandResult {
    if let Some(path) = &args.jsonl {
        return lines::run(path, args.batch, args.upsert, session);
    }
    let report = session.open_palace()?.add(&AddRequest {
        drawer: build_drawer(args)?,
        upsert: args.upsert,
    })?;
    let out = &mut session.out;
    out.note_made(report.made_palace.as_deref());
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| write_receipt(&report.receipt, page))?;
    }
    if let Some(secrets) = report.secrets.describe() {
        out.note(&secrets);
    }
    if !report.receipt.without_vector.is_empty() {
        out.note(&without_vector("stored", report.lacking.as_deref()));
    }
    Ok(ExitStatus::Done)
}

/// Describes drawers stored without a vector, with the reason if a model should have made one.
pub(super) fn without_vector(what: &str, lacking: Option<&str>) -> String {
    let why = lacking.map_or_else(String::new, |why| format!(" ({why})"));
    format!("{what} without a vector; they are found by keyword, id and filter{why}")
}

/// Describes how many of the vectors that lines brought were made again and compared; empty if they brought none.
pub(super) fn describe_checked(checked: u64, brought: u64) -> String {
    match brought {
        0 => String::new(),
        brought => format!(", {checked} of {} checked", format_count(brought, "vector")),
    }
}

fn build_drawer(args: &AddArgs) -> Result<NewDrawer> {
    let fields = &args.fields;
    // Refused as `loci mine` does: no command line could select such a wing again.
    for name in [&fields.wing, &fields.room].into_iter().flatten() {
        if name.trim().is_empty() {
            return Err(
                Error::invalid(format!("{name:?} is not a valid wing or room name"))
                    .with_hint("nothing was stored; --wing and --room need at least one visible character"),
            );
        }
    }
    let metadata = match &fields.meta {
        Some(text) => line::parse_metadata(text)?,
        None => Metadata::new(),
    };
    let embedding = fields.vector.as_deref().map(input::read_vector).transpose()?;
    let place = DrawerPlace {
        wing: fields.wing.clone(),
        room: fields.room.clone(),
        source: fields.source.clone(),
        span: None,
        speaker: fields.speaker.clone(),
        kind: fields.kind.clone(),
        said_at: fields.said_at,
    };
    let completed = place.complete_from(&metadata)?;
    let document = input::read_text(args.text.as_deref())?;
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

fn write_receipt(receipt: &Receipt, page: &mut TextPage) {
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
