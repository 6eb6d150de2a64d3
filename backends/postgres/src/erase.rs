//! Erasure: rewriting the tables so that no row holds what was removed, and naming what a client cannot reach.

use loci_core::{PurgeReport, Result, StoredTrace, UnreachedPart};
use tokio_postgres::types::Type;

use crate::deadline::ServerDeadline;
use crate::maintain;
use crate::moment::MomentView;
use crate::palace::ServerPalace;
use crate::row::stored_text;
use crate::statement::SqlStatement;
use crate::words::{self, RebuildScope};
use crate::write::WriteLimits;
use crate::{receipts, rights, schema};

/// The tables that hold words of drawers, or hashes of them.
const REWRITTEN: [&str; 7] = [
    "drawers",
    "vectors",
    "bags",
    "word_segments",
    "word_blocks",
    "receipts",
    "sources",
];

/// Returns the statement that records that an erasure has begun.
pub(crate) fn begin_statement(palace: i64) -> SqlStatement {
    SqlStatement::new("UPDATE loci.palaces SET erasing = true WHERE palace = $1").with_int(palace)
}

/// Returns the question whether an erasure has begun that no purge has finished.
pub(crate) fn unfinished_question(palace: i64) -> SqlStatement {
    SqlStatement::new("SELECT erasing FROM loci.palaces WHERE palace = $1").with_int(palace)
}

/// Rewrites every table that held words of what was removed.
///
/// A plain vacuum frees rows and leaves their bytes in the pages; only a rewrite gives the table new pages.
pub(crate) fn purge(
    palace: &ServerPalace,
    limits: WriteLimits,
    watch: &mut dyn FnMut(u64, u64),
) -> Result<PurgeReport> {
    let none = ServerDeadline::default();
    let forget = || receipts::forget_batches(palace.number);
    let (lease, _) = palace.begin(|session| {
        rights::require_upkeep(session)?;
        session.ask(forget(), none)
    })?;
    let mut tables = REWRITTEN.to_vec();
    if schema::has_table(&lease, "near")? {
        tables.push("near");
    }
    let total = tables.len() as u64 + 1;
    watch(1, total);
    let mut reached = Vec::new();
    maintain::in_turn(&lease, || {
        // Segments keep the words of removed drawers.
        words::rebuild_words(palace, &lease, limits, RebuildScope::Worn)?;
        for (done, table) in tables.into_iter().enumerate() {
            lease.ask(
                SqlStatement::new(format!("VACUUM (FULL, ANALYZE) loci.{table}")),
                none,
            )?;
            reached.push(format!("loci.{table}"));
            watch(done as u64 + 2, total);
        }
        Ok(())
    })?;
    let finish = SqlStatement::new("UPDATE loci.palaces SET erasing = false WHERE palace = $1")
        .with_int(palace.number);
    lease.ask(finish, none)?;
    Ok(PurgeReport {
        reached,
        not_reached: unreached_parts(),
    })
}

/// Returns the places outside the tables where the server or its owner keeps copies.
fn unreached_parts() -> Vec<UnreachedPart> {
    let part = |part: &str, reason: &str| UnreachedPart {
        part: part.to_owned(),
        reason: reason.to_owned(),
    };
    vec![
        part(
            "write-ahead log",
            "the server recycles its segments after checkpoints; archived segments stay until their owner removes them",
        ),
        part(
            "standbys",
            "they follow as soon as they have replayed the log; a detached one does not",
        ),
        part(
            "dumps and base backups",
            "they hold what they held when they were taken; remove those from before this erasure",
        ),
        part(
            "freed blocks of the file system",
            "the old files of the tables are deleted, and their blocks are not overwritten",
        ),
    ]
}

/// Looks for texts in every table that holds words.
pub(crate) fn find_traces(
    view: &MomentView<'_>,
    texts: &[String],
    watch: &mut dyn FnMut(u64, u64),
) -> Result<Vec<StoredTrace>> {
    let total = texts.len() as u64;
    let mut traces = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let json = serde_json::to_string(text).expect("a text is always JSON");
        let json = json.trim_matches('"').to_owned();
        let question = SqlStatement::new(
            "SELECT d.id FROM loci.drawers d JOIN loci.collections c USING (collection)
             WHERE c.palace = (SELECT palace FROM loci.collections WHERE collection = $1)
                AND (position($2 IN coalesce(d.document, ''::bytea)) > 0 OR position($2 IN coalesce(d.before, ''::bytea)) > 0
                OR position($2 IN coalesce(d.after, ''::bytea)) > 0 OR position($3 IN d.metadata) > 0)",
        )
        .with_int(view.shelf.collection)
        .with_bytes(text.as_bytes().to_vec())
        .with(json, Type::TEXT);
        for row in view.session.ask(question, view.deadline)? {
            traces.push(StoredTrace {
                text: number,
                file: "loci.drawers".to_owned(),
                offset: None,
                place: Some(format!("drawer {}", stored_text(row.get(0))?)),
            });
        }
        watch(number as u64 + 1, total);
    }
    Ok(traces)
}
