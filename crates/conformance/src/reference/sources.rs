//! The sources of the reference: records by name, and revisions on a copy that takes the table's place at the end.

use std::ops::Bound;

use loci_core::{Result, Revised, Revision, SourceLedger, SourceRecord, Sources, Timestamp, Write};

use super::apply::Applying;
use super::handle::{Handle, now};
use super::storage;
use super::table::Table;

impl Table {
    fn sources(&self, request: &Sources) -> Vec<SourceRecord> {
        let records = self.records.values();
        match request {
            Sources::Named(names) => records
                .filter(|record| names.contains(&record.source))
                .cloned()
                .collect(),
            Sources::Under { prefix, after, limit } => {
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

/// A revision whose parts have all been asked for: nobody's code runs while the storage is locked.
struct Gathered {
    source: String,
    expects: Option<u64>,
    stamp: Option<String>,
    parts: Vec<Vec<Write>>,
}

impl From<Revision<'_>> for Gathered {
    fn from(revision: Revision<'_>) -> Self {
        Self {
            source: revision.source,
            expects: revision.expects,
            stamp: revision.stamp,
            parts: revision.parts.filter(|part| !part.is_empty()).collect(),
        }
    }
}

impl SourceLedger for Handle {
    fn find_records(&self, request: &Sources) -> Result<Vec<SourceRecord>> {
        self.check_open()?;
        request.check()?;
        self.table(|table| table.sources(request))
    }

    fn revise(&self, revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>> {
        self.check_writable()?;
        revisions.iter().try_for_each(Revision::check)?;
        let gathered: Vec<Gathered> = revisions.into_iter().map(Gathered::from).collect();
        let now = now()?;
        self.space(|space: &mut storage::Space| {
            let table = self.own_table(&mut space.tables)?;
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

impl Handle {
    /// Applies one revision to a table and the palace's sequence number.
    fn revise_one(&self, state: &mut (Table, u64), one: Gathered, now: Timestamp) -> Result<Revised> {
        let (table, seq) = state;
        let record = table.records.get(&one.source);
        if record.map(|record| record.revision) != one.expects {
            return Ok(Revised::Overtaken);
        }
        let mut applying = Applying::to(table, *seq, now, self.declared.embedder.as_ref(), &self.visible);
        for part in &one.parts {
            self.check_writes(applying.table(), part)?;
            applying.batch(part)?;
        }
        let (after, last, receipt) = applying.end();
        (*table, *seq) = (after, last);
        let Some(stamp) = one.stamp else {
            table.records.remove(&one.source);
            return Ok(Revised::Done {
                receipt,
                revision: None,
            });
        };
        *seq += 1;
        let record = SourceRecord {
            source: one.source.clone(),
            stamp,
            revision: *seq,
            revised_at: now,
        };
        table.records.insert(one.source, record);
        Ok(Revised::Done {
            receipt,
            revision: Some(*seq),
        })
    }
}
