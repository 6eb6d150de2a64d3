//! Revisions of sources with one flaw.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use loci_core::{
    Collection, CollectionExt, DrawerId, NewDrawer, Receipt, Result, RevisionOutcome, SourceLedger,
    SourceRecord, SourceRecordQuery, SourceRevision, Write,
};

use super::wrong::BackendFlaw;

#[derive(Debug)]
pub(crate) struct WrongRevisions {
    inner: Arc<dyn Collection>,
    flaw: BackendFlaw,
    /// Numbers counted anew for each record, beside those the reference gave.
    counted: Mutex<HashMap<String, (u64, u64)>>,
}

impl WrongRevisions {
    pub(crate) fn new(inner: Arc<dyn Collection>, flaw: BackendFlaw) -> Self {
        Self {
            inner,
            flaw,
            counted: Mutex::default(),
        }
    }

    /// Returns the request that a flawed backend answers instead.
    fn misread_request(&self, request: &SourceRecordQuery) -> SourceRecordQuery {
        match (self.flaw, request.clone()) {
            (BackendFlaw::RepeatsTheLastSource, SourceRecordQuery::Under { prefix, after, limit }) => {
                SourceRecordQuery::Under {
                    prefix,
                    after: after.and_then(|mut after| after.pop().map(|_| after)),
                    limit,
                }
            }
            (_, request) => request,
        }
    }

    fn revise_one(&self, revision: SourceRevision<'_>) -> Result<RevisionOutcome> {
        Ok(self.inner.require_sources()?.revise(vec![revision])?.remove(0))
    }

    fn find_record(&self, source: &str) -> Result<Option<SourceRecord>> {
        Ok(self
            .inner
            .require_sources()?
            .find_records(&SourceRecordQuery::Named(vec![source.to_owned()]))?
            .pop())
    }

    fn expecting_what_is<'a>(&self, revision: SourceRevision<'a>) -> Result<SourceRevision<'a>> {
        Ok(SourceRevision {
            expects: self.find_record(&revision.source)?.map(|record| record.revision),
            ..revision
        })
    }

    fn is_overtaken(&self, revision: &SourceRevision<'_>) -> Result<bool> {
        let record = self.find_record(&revision.source)?;
        Ok(record.map(|record| record.revision) != revision.expects)
    }

    /// Commits each part before the next, and the record last.
    fn revise_in_parts(&self, mut revision: SourceRevision<'_>) -> Result<RevisionOutcome> {
        revision.check_source()?;
        if self.is_overtaken(&revision)? {
            return Ok(RevisionOutcome::Overtaken);
        }
        let mut whole = Receipt::default();
        for part in revision.parts.filter(|part| !part.is_empty()) {
            join_receipts(&mut whole, self.inner.apply_batch(&part)?);
        }
        revision.parts = Box::new(std::iter::empty());
        match self.revise_one(revision)? {
            RevisionOutcome::Done { revision, .. } => Ok(RevisionOutcome::Done {
                receipt: whole,
                revision,
            }),
            RevisionOutcome::Overtaken => Ok(RevisionOutcome::Overtaken),
        }
    }

    /// Counts the revisions of a record from one, again after it was forgotten.
    fn revise_recounted(&self, mut revision: SourceRevision<'_>) -> Result<RevisionOutcome> {
        let source = revision.source.clone();
        let mut counted = self.counted.lock().expect("no holder of this lock panics");
        let known = counted.get(&source).copied();
        revision.expects = match (revision.expects, known) {
            (Some(own), Some((given, known))) if own == known => Some(given),
            (expects, _) => expects,
        };
        let revised = self.revise_one(revision)?;
        let RevisionOutcome::Done { receipt, revision } = revised else {
            return Ok(revised);
        };
        let Some(given) = revision else {
            counted.remove(&source);
            return Ok(RevisionOutcome::Done { receipt, revision });
        };
        let own = known.map_or(1, |(_, own)| own + 1);
        counted.insert(source, (given, own));
        Ok(RevisionOutcome::Done {
            receipt,
            revision: Some(own),
        })
    }

    /// Keeps a newer record, but applies the drawers of the overtaken revision.
    fn revise_regardless(&self, revision: SourceRevision<'_>) -> Result<RevisionOutcome> {
        if !self.is_overtaken(&revision)? {
            return self.revise_one(revision);
        }
        for part in revision.parts.filter(|part| !part.is_empty()) {
            self.inner.apply_batch(&part)?;
        }
        Ok(RevisionOutcome::Overtaken)
    }

    fn revise_with_drawers(&self, revisions: Vec<SourceRevision<'_>>) -> Result<Vec<RevisionOutcome>> {
        let records: Vec<(String, Option<String>)> = revisions
            .iter()
            .map(|revision| (revision.source.clone(), revision.stamp.clone()))
            .collect();
        let revised = self.inner.require_sources()?.revise(revisions)?;
        for (source, stamp) in records {
            self.inner
                .upsert_drawer(NewDrawer::new(DrawerId::new(source)?, stamp.unwrap_or_default()))?;
        }
        Ok(revised)
    }

    /// Skips every revision after an overtaken one.
    fn revise_until_overtaken(&self, revisions: Vec<SourceRevision<'_>>) -> Result<Vec<RevisionOutcome>> {
        let mut over = false;
        let mut one = |revision: SourceRevision<'_>| {
            over = over || self.is_overtaken(&revision)?;
            if over {
                Ok(RevisionOutcome::Overtaken)
            } else {
                self.revise_one(revision)
            }
        };
        revisions.into_iter().map(&mut one).collect()
    }
}

impl SourceLedger for WrongRevisions {
    fn find_records(&self, request: &SourceRecordQuery) -> Result<Vec<SourceRecord>> {
        let mut found = self
            .inner
            .require_sources()?
            .find_records(&self.misread_request(request))?;
        match (self.flaw, request) {
            (BackendFlaw::RestartsRevisions, _) => {
                let counted = self.counted.lock().expect("no holder of this lock panics");
                for record in &mut found {
                    record.revision = counted.get(&record.source).map_or(1, |(_, own)| *own);
                }
            }
            (BackendFlaw::ListsSourcesAsAsked, SourceRecordQuery::Named(names)) => {
                found.sort_by_key(|record| names.iter().position(|name| *name == record.source));
            }
            _ => {}
        }
        Ok(found)
    }

    fn revise(&self, revisions: Vec<SourceRevision<'_>>) -> Result<Vec<RevisionOutcome>> {
        match self.flaw {
            BackendFlaw::IgnoresExpects => {
                let anyway =
                    |revision: SourceRevision<'_>| self.revise_one(self.expecting_what_is(revision)?);
                revisions.into_iter().map(anyway).collect()
            }
            BackendFlaw::LosesTheLastPart => self
                .inner
                .require_sources()?
                .revise(revisions.into_iter().map(drop_last_part).collect()),
            BackendFlaw::CommitsPartsApart => revisions
                .into_iter()
                .map(|one| self.revise_in_parts(one))
                .collect(),
            BackendFlaw::CommitsRevisionsApart => {
                revisions.into_iter().map(|one| self.revise_one(one)).collect()
            }
            BackendFlaw::RestartsRevisions => revisions
                .into_iter()
                .map(|one| self.revise_recounted(one))
                .collect(),
            BackendFlaw::WritesDrawersOfOvertaken => revisions
                .into_iter()
                .map(|one| self.revise_regardless(one))
                .collect(),
            BackendFlaw::FilesRecordsAsDrawers => self.revise_with_drawers(revisions),
            BackendFlaw::StopsAtOvertaken => self.revise_until_overtaken(revisions),
            _ => self.inner.require_sources()?.revise(revisions),
        }
    }
}

/// A revision without its last part, if it has more than one.
fn drop_last_part(revision: SourceRevision<'_>) -> SourceRevision<'_> {
    let mut parts: Vec<Vec<Write>> = revision.parts.collect();
    if parts.len() > 1 {
        parts.pop();
    }
    SourceRevision {
        parts: Box::new(parts.into_iter()),
        ..revision
    }
}

fn join_receipts(whole: &mut Receipt, part: Receipt) {
    whole.added.extend(part.added);
    whole.kept.extend(part.kept);
    whole.replaced.extend(part.replaced);
    whole.updated.extend(part.updated);
    whole.deleted.extend(part.deleted);
    whole.missing.extend(part.missing);
    whole.twins.extend(part.twins);
    whole.without_vector.extend(part.without_vector);
    whole.seq = part.seq;
}
