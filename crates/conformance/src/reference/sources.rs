//! The sources of the reference: records by name, and revisions on a copy that replaces the table at the end.

use std::ops::Bound;

use loci_core::{
    Result, RevisionOutcome, SourceLedger, SourceRecord, SourceRecordQuery, SourceRevision, Timestamp, Write,
};

use super::apply::BatchApplier;
use super::handle::{ReferenceHandle, current_time};
use super::storage;
use super::table::ReferenceTable;

impl ReferenceTable {
    fn find_records(&self, request: &SourceRecordQuery) -> Vec<SourceRecord> {
        let records = self.records.values();
        match request {
            SourceRecordQuery::Named(names) => records
                .filter(|record| names.contains(&record.source))
                .cloned()
                .collect(),
            SourceRecordQuery::Under { prefix, after, limit } => {
                let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let later = self.records.range::<String, _>((from, Bound::Unbounded));
                later
                    .map(|(_, record)| record)
                    .filter(|record| record.source.starts_with(prefix))
                    .take(*limit)
                    .cloned()
                    .collect()
            }
        }
    }
}

/// A revision with all its parts collected, so that no code of the caller runs while the storage is locked.
struct GatheredRevision {
    source: String,
    expects: Option<u64>,
    stamp: Option<String>,
    parts: Vec<Vec<Write>>,
}

impl From<SourceRevision<'_>> for GatheredRevision {
    fn from(revision: SourceRevision<'_>) -> Self {
        Self {
            source: revision.source,
            expects: revision.expects,
            stamp: revision.stamp,
            // An empty part is passed over, although an empty batch by itself is refused.
            parts: revision.parts.filter(|part| !part.is_empty()).collect(),
        }
    }
}

impl SourceLedger for ReferenceHandle {
    fn find_records(&self, request: &SourceRecordQuery) -> Result<Vec<SourceRecord>> {
        self.check_open()?;
        request.check_request()?;
        self.with_table(|table| table.find_records(request))
    }

    fn revise(&self, revisions: Vec<SourceRevision<'_>>) -> Result<Vec<RevisionOutcome>> {
        self.check_writable()?;
        revisions.iter().try_for_each(SourceRevision::check_source)?;
        let gathered: Vec<GatheredRevision> = revisions.into_iter().map(GatheredRevision::from).collect();
        let now = current_time()?;
        self.with_palace(|space: &mut storage::PalaceTables| {
            let table = self.own_table(&mut space.tables)?;
            // One copy for the whole list, so that a refusal in a later revision undoes the earlier ones.
            let mut state = (table.clone(), space.seq);
            let revised = gathered
                .into_iter()
                .map(|one| self.revise_one(&mut state, one, now));
            let revised = revised.collect::<Result<_>>()?;
            (*table, space.seq) = state;
            Ok(revised)
        })?
    }
}

impl ReferenceHandle {
    /// Applies one revision to a table and the palace's sequence number.
    fn revise_one(
        &self,
        state: &mut (ReferenceTable, u64),
        one: GatheredRevision,
        now: Timestamp,
    ) -> Result<RevisionOutcome> {
        let (table, seq) = state;
        let record = table.records.get(&one.source);
        // Compared inside the lock that also covers the write; a check before it could be overtaken.
        if record.map(|record| record.revision) != one.expects {
            return Ok(RevisionOutcome::Overtaken);
        }
        let mut applying =
            BatchApplier::on_copy(table, *seq, now, self.declared.embedder.as_ref(), &self.visible);
        for part in &one.parts {
            // Against the state after the parts before it, as if each were a batch of its own.
            self.check_writes(applying.table(), part)?;
            applying.apply_batch(part)?;
        }
        let (after, last, receipt) = applying.into_result();
        (*table, *seq) = (after, last);
        let Some(stamp) = one.stamp else {
            table.records.remove(&one.source);
            return Ok(RevisionOutcome::Done {
                receipt,
                revision: None,
            });
        };
        // A number from the palace's sequence is never used again, not even after the record is forgotten.
        *seq += 1;
        let record = SourceRecord {
            source: one.source.clone(),
            stamp,
            revision: *seq,
            revised_at: now,
        };
        table.records.insert(one.source, record);
        Ok(RevisionOutcome::Done {
            receipt,
            revision: Some(*seq),
        })
    }
}
