//! The one rule for the word lossless and for the exit status of a migration.
//!
//! Whatever happens to a drawer on the way has one of three effects. A migration is lossless if nothing was lost and
//! nothing was changed on request, and it succeeds if nothing was lost.

use loci_core::{FindingSeverity, PalaceFinding};

use super::record::{CollectionRecord, MigrateFlags};

/// The effect of something that happened on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeEffect {
    /// Everything that the source held arrived.
    Harmless,
    /// The user asked for it.
    Requested,
    /// Something that the source held, or once held, is missing.
    Loss,
}

/// The outcome of a migration, for its report and for the exit status.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MigrationVerdict {
    /// Whether everything that the source ever held is in the target unchanged.
    pub(super) lossless: bool,
    /// The losses of the source and of the way, for the report.
    pub(super) losses: Vec<PalaceFinding>,
}

/// Returns the effect of a list of the record, its severity as a finding, and its meaning.
pub(super) fn judge_list(code: &str) -> (ChangeEffect, FindingSeverity, &'static str) {
    use ChangeEffect::{Harmless, Loss, Requested};
    use FindingSeverity::{Error, Note, Warning};
    match code {
        "not_carried" => (Loss, Error, "could not be carried"),
        "unreadable" => (Loss, Error, "could not be read"),
        "damaged" => (Loss, Warning, "are damaged; their readable part was carried"),
        "other_dimension" => (
            Loss,
            Warning,
            "had a vector of another length, which was left out",
        ),
        "unsound_vector" => (
            Loss,
            Warning,
            "had a vector that no palace stores, like one of zeros alone, which was left out",
        ),
        "collapsed" => (
            Requested,
            Note,
            "were collapsed into another with the same source and text",
        ),
        // The source lists a vector that it lost among its own losses; others were never made.
        "missing_vector" => (Harmless, Note, "have no vector in the source"),
        "without_document" => (Harmless, Note, "have no text, and were carried without one"),
        "without_filed_at" => (Harmless, Note, "have no time of filing"),
        "place_conflict" => (
            Harmless,
            Note,
            "had a place that contradicts their metadata; the metadata won",
        ),
        "span_left_out" => (
            Harmless,
            Note,
            "duplicate a piece, and were carried without their span",
        ),
        _ => (Loss, Warning, "were changed"),
    }
}

/// Judges a migration by the records of its collections and by `losses`: the errors that its source reports of
/// itself, and a change of the source on the way.
pub(super) fn judge_migration(
    collections: &[CollectionRecord],
    mut losses: Vec<PalaceFinding>,
    flags: MigrateFlags,
) -> MigrationVerdict {
    let effects = collections.iter().flat_map(|collection| {
        let lists = collection.lists.named_lists().into_iter();
        let changed = lists.filter(|(_, list)| list.count > 0);
        let renewed = (collection.vectors != "carried").then_some(ChangeEffect::Requested);
        changed.map(|(code, _)| judge_list(code).0).chain(renewed)
    });
    let lossless = losses.is_empty() && effects.into_iter().all(|effect| effect == ChangeEffect::Harmless);
    if flags.embed_missing {
        // The user knew of these, and has new ones now.
        let lost_vectors = losses
            .iter_mut()
            .filter(|finding| finding.code == PalaceFinding::LOST_VECTORS);
        lost_vectors.for_each(|finding| finding.severity = FindingSeverity::Note);
    }
    MigrationVerdict { lossless, losses }
}

/// Returns whether a command that ends with these findings succeeded.
pub(super) fn is_success(findings: &[PalaceFinding]) -> bool {
    findings
        .iter()
        .all(|finding| finding.severity == FindingSeverity::Note)
}
