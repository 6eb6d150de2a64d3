//! The records a collection keeps of its sources, and filing a new state of some in one transaction.

use loci_core::{
    Receipt, Result, RevisionOutcome, RevisionParts, SourceRecord, SourceRecordQuery, SourceRevision,
    Timestamp, Write,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::moment::MomentView;
use crate::row::stored_text;
use crate::shelf;
use crate::statement::SqlStatement;
use crate::write::{PackedWords, ServerBatchWork};

/// The columns of a record.
const COLUMNS: &str = "SELECT source, revision, revised_at, stamp FROM loci.sources WHERE collection = $1";

/// A revision whose first part was prepared before the lock was taken.
pub(crate) struct ServerRevisionDraft<'a> {
    source: String,
    expects: Option<u64>,
    stamp: Option<String>,
    first: Vec<Write>,
    words: PackedWords,
    rest: RevisionParts<'a>,
}

/// Checks revisions and prepares the first part of each.
pub(crate) fn draft_revisions(revisions: Vec<SourceRevision<'_>>) -> Result<Vec<ServerRevisionDraft<'_>>> {
    revisions.iter().try_for_each(SourceRevision::check_source)?;
    Ok(revisions.into_iter().map(ServerRevisionDraft::new).collect())
}

impl<'a> ServerRevisionDraft<'a> {
    fn new(revision: SourceRevision<'a>) -> Self {
        let mut rest = revision.parts;
        let first = rest.next().unwrap_or_default();
        Self {
            source: revision.source,
            expects: revision.expects,
            stamp: revision.stamp,
            words: PackedWords::of_batch(&first),
            first,
            rest,
        }
    }
}

/// Returns the question for the records of the sources that some drafts revise.
pub(crate) fn records_question(collection: i64, drafts: &[ServerRevisionDraft<'_>]) -> SqlStatement {
    named_question(collection, drafts.iter().map(|draft| draft.source.as_str()))
}

/// Applies revisions in order; `records` is the answer to [`records_question`].
pub(crate) fn revise_sources(
    work: &mut ServerBatchWork<'_, '_>,
    records: &[Row],
    drafts: Vec<ServerRevisionDraft<'_>>,
) -> Result<Vec<RevisionOutcome>> {
    let mut records = read_records(records)?;
    let mut outcomes = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let at = records.iter().position(|record| record.source == draft.source);
        let current = at.and_then(|at| records.get(at)).map(|record| record.revision);
        // Another process filed this source since the caller read it: nothing of an older state is applied.
        if current != draft.expects {
            outcomes.push(RevisionOutcome::Overtaken);
            continue;
        }
        let source = draft.source.clone();
        let (receipt, record) = revise_one(work, draft)?;
        let revision = record.as_ref().map(|record| record.revision);
        records.retain(|known| known.source != source);
        records.extend(record);
        outcomes.push(RevisionOutcome::Done { receipt, revision });
    }
    Ok(outcomes)
}

fn revise_one(
    work: &mut ServerBatchWork<'_, '_>,
    draft: ServerRevisionDraft<'_>,
) -> Result<(Receipt, Option<SourceRecord>)> {
    apply_part(work, &draft.first, &draft.words)?;
    // Each part is freed before the next is requested: a source may be larger than memory.
    drop(draft.first);
    for part in draft.rest {
        apply_part(work, &part, &PackedWords::of_batch(&part))?;
    }
    let receipt = work.take_receipt()?;
    let Some(stamp) = draft.stamp else {
        work.push(
            SqlStatement::new("DELETE FROM loci.sources WHERE collection = $1 AND name_hash = $2")
                .with_int(work.transaction().shelf.collection)
                .with_bytes(name_hash(&draft.source)),
        );
        return Ok((receipt, None));
    };
    // A sequence number, not a counter of its own: that would start again after the record was removed.
    let record = SourceRecord {
        revision: shelf::count(work.next_number()),
        revised_at: work.transaction().now,
        source: draft.source,
        stamp,
    };
    work.push(store_record(work.transaction().shelf.collection, &record));
    Ok((receipt, Some(record)))
}

fn apply_part(work: &mut ServerBatchWork<'_, '_>, part: &[Write], words: &PackedWords) -> Result<()> {
    if part.is_empty() {
        return Ok(());
    }
    work.apply(part, words, None)
}

fn store_record(collection: i64, record: &SourceRecord) -> SqlStatement {
    SqlStatement::new(
        "INSERT INTO loci.sources(collection, name_hash, source, revision, revised_at, stamp)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (collection, name_hash) DO UPDATE
         SET revision = excluded.revision, revised_at = excluded.revised_at, stamp = excluded.stamp",
    )
    .with_int(collection)
    .with_bytes(name_hash(&record.source))
    .with_bytes(record.source.as_bytes().to_vec())
    .with_int(i64::try_from(record.revision).unwrap_or(i64::MAX))
    .with_int(record.revised_at.as_micros())
    .with_bytes(record.stamp.as_bytes().to_vec())
}

/// Answers a [`SourceRecordQuery`], in byte order of the names.
pub(crate) fn find_records(view: &MomentView<'_>, request: &SourceRecordQuery) -> Result<Vec<SourceRecord>> {
    let collection = view.shelf.collection;
    let question = match request {
        SourceRecordQuery::Named(names) => named_question(collection, names.iter().map(String::as_str)),
        SourceRecordQuery::Under { prefix, after, limit } => {
            under_question(collection, prefix, after.as_deref(), *limit)
        }
    };
    read_records(&view.session.ask(question, view.deadline)?)
}

fn named_question<'a>(collection: i64, names: impl Iterator<Item = &'a str>) -> SqlStatement {
    SqlStatement::new(format!("{COLUMNS} AND name_hash = ANY($2) ORDER BY source"))
        .with_int(collection)
        .with_many_bytes(names.map(name_hash).collect())
}

fn under_question(collection: i64, prefix: &str, after: Option<&str>, limit: usize) -> SqlStatement {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let start = |text: &str| text.bytes().take(500).collect::<Vec<u8>>();
    let from = after.unwrap_or_default().max(prefix);
    let mut question = SqlStatement::new(format!(
        "{COLUMNS} AND substring(source, 1, 500) >= $2 AND source >= $3 AND substring(source, 1, $4) = $3"
    ))
    .with_int(collection)
    .with_bytes(start(from))
    .with_bytes(bytes(prefix))
    .with(i32::try_from(prefix.len()).unwrap_or(i32::MAX), Type::INT4);
    if let Some(after) = after {
        question.push(" AND source > ").bind(bytes(after), Type::BYTEA);
    }
    question
        .push(" ORDER BY substring(source, 1, 500), source LIMIT ")
        .bind(i64::try_from(limit).unwrap_or(i64::MAX), Type::INT8);
    question
}

/// Returns the hash by which a record is found: a name may be longer than an index entry.
fn name_hash(name: &str) -> Vec<u8> {
    blake3::hash(name.as_bytes()).as_bytes().to_vec()
}

fn read_records(rows: &[Row]) -> Result<Vec<SourceRecord>> {
    let record = |row: &Row| {
        Ok(SourceRecord {
            source: stored_text(row.get(0))?,
            revision: shelf::count(row.get(1)),
            revised_at: Timestamp::from_micros(row.get(2))?,
            stamp: stored_text(row.get(3))?,
        })
    };
    rows.iter().map(record).collect()
}
