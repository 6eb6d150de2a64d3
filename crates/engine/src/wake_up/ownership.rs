//! Ownership: which drawers are a person's or an agent's own words, and which of those say who the owner is.
//!
//! A recorded origin decides. Drawers without one, of earlier releases and other programs, are judged by marks that
//! mining leaves: a source, a span, a kind, a format.

use loci_core::{Drawer, Filter, FilterComparison, MetadataScalar, MetadataValue, OriginKind};

/// The kinds of drawers that mining makes.
pub(super) const MINED: [&str; 7] = [
    "human",
    "assistant",
    "tool_call",
    "tool_result",
    "thinking",
    "system",
    "file",
];

/// The kinds of drawers that an agent files.
const AGENTS: [&str; 2] = ["note", "diary"];

/// The metadata key of the way MemPalace read a conversation, and its values.
const INGEST_MODE: &str = "ingest_mode";
const CONVERSATION_MODES: [&str; 2] = ["convos", "sweep"];

/// The metadata key of the file that MemPalace cut a drawer from; empty for words that a tool call filed.
const SOURCE_FILE: &str = "source_file";

/// The type MemPalace gives diary entries.
pub(super) const DIARY_ENTRY: &str = "diary_entry";

/// The program that MemPalace's miners record as the filer.
const MINER: &str = "mempalace";

/// Returns whether a drawer says who the palace's owner is, if its room says so: only a drawer filed by hand does, or
/// one without an origin that cannot come from a file, a conversation or an agent of this program.
pub(super) fn is_filed_by_owner(drawer: &Drawer) -> bool {
    match origin(drawer) {
        Some(origin) => origin == OriginKind::Hand,
        None => has_no_trace_of_mining(drawer) && !has_kind(drawer, &AGENTS),
    }
}

/// Returns whether a drawer holds words that a person or an agent filed as such, not a piece of something mined.
pub(super) fn is_own_words(drawer: &Drawer) -> bool {
    match origin(drawer) {
        Some(OriginKind::Hand | OriginKind::Note) => true,
        Some(OriginKind::Export) | None => has_no_trace_of_mining(drawer) || is_diary_entry(drawer),
        Some(
            OriginKind::File
            | OriginKind::HarnessTranscript
            | OriginKind::LooseTranscript
            | OriginKind::ForeignMemory,
        ) => false,
    }
}

/// Returns whether a drawer can hold own words, as far as its place and origin tell; its metadata is not needed.
pub(super) fn may_be_own_words(drawer: &Drawer) -> bool {
    match origin(drawer) {
        Some(OriginKind::Export) | None => drawer.place.source.is_none() && drawer.place.span.is_none(),
        Some(_) => is_own_words(drawer),
    }
}

/// Accepts the messages of people and models, as Loci and MemPalace file them.
pub(super) fn spoken_filter() -> Filter {
    let one_of =
        |key: &str, values: &[&str]| Filter::Compare(key.to_owned(), FilterComparison::In(scalars(values)));
    Filter::Or(vec![
        one_of("kind", &["human", "assistant"]),
        one_of(INGEST_MODE, &CONVERSATION_MODES),
    ])
}

/// Accepts drawers without the marks of Loci's and MemPalace's miners that an index knows.
pub(super) fn unmined_filter() -> Filter {
    let none_of =
        |key: &str, values: &[&str]| Filter::Compare(key.to_owned(), FilterComparison::Nin(scalars(values)));
    Filter::And(vec![
        none_of("kind", &MINED),
        none_of(INGEST_MODE, &CONVERSATION_MODES),
        none_of("added_by", &[MINER]),
    ])
}

/// Accepts drawers that MemPalace's tools filed without a file.
pub(super) fn fileless_filter() -> Filter {
    Filter::text_equals(SOURCE_FILE, "")
}

fn scalars(texts: &[&str]) -> Vec<MetadataScalar> {
    let scalar = |text: &&str| MetadataScalar::Text((*text).to_owned());
    texts.iter().map(scalar).collect()
}

fn origin(drawer: &Drawer) -> Option<OriginKind> {
    drawer.provenance.as_ref().map(|provenance| provenance.origin)
}

fn has_kind(drawer: &Drawer, kinds: &[&str]) -> bool {
    let kind = drawer.place.kind.as_deref();
    kind.is_some_and(|kind| kinds.contains(&kind))
}

/// Returns the text under a metadata key. Without metadata, which was not read then, there is none.
fn noted<'a>(drawer: &'a Drawer, key: &str) -> Option<&'a str> {
    drawer
        .metadata
        .as_ref()?
        .get(key)
        .and_then(MetadataValue::as_text)
        .filter(|text| !text.is_empty())
}

fn is_diary_entry(drawer: &Drawer) -> bool {
    noted(drawer, "type") == Some(DIARY_ENTRY)
}

/// Returns whether nothing in a drawer says that it was cut from a file or a conversation.
fn has_no_trace_of_mining(drawer: &Drawer) -> bool {
    let place = &drawer.place;
    let traces = ["format", INGEST_MODE, SOURCE_FILE];
    place.source.is_none()
        && place.span.is_none()
        && !has_kind(drawer, &MINED)
        && traces.iter().all(|key| noted(drawer, key).is_none())
}
