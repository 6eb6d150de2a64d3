//! Revisions of sources that are wrong in one way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use loci_core::{
    Collection, CollectionExt, DrawerId, NewDrawer, Receipt, Result, Revised, Revision, SourceLedger,
    SourceRecord, Sources, Write,
};

use super::wrong::Flaw;

#[derive(Debug)]
pub(crate) struct Revising {
    inner: Arc<dyn Collection>,
    flaw: Flaw,
    /// Numbers counted anew for each record, beside those the reference gave.
    counted: Mutex<HashMap<String, (u64, u64)>>,
}

impl Revising {
    pub(crate) fn new(inner: Arc<dyn Collection>, flaw: Flaw) -> Self {
        Self {
            inner,
            flaw,
            counted: Mutex::default(),
        }
    }

    /// What a flawed backend makes of a request.
    fn misread(&self, request: &Sources) -> Sources {
        match (self.flaw, request.clone()) {
            (Flaw::RepeatsTheLastSource, Sources::Under { prefix, after, limit }) => Sources::Under {
                prefix,
                after: after.and_then(|mut after| after.pop().map(|_| after)),
                limit,
            },
            (_, request) => request,
        }
    }

    fn one(&self, revision: Revision<'_>) -> Result<Revised> {
        Ok(self.inner.require_sources()?.revise(vec![revision])?.remove(0))
    }

    fn record(&self, source: &str) -> Result<Option<SourceRecord>> {
        Ok(self
            .inner
            .require_sources()?
            .find_records(&Sources::Named(vec![source.to_owned()]))?
            .pop())
    }

    fn expecting_what_is<'a>(&self, revision: Revision<'a>) -> Result<Revision<'a>> {
        Ok(Revision {
            expects: self.record(&revision.source)?.map(|record| record.revision),
            ..revision
        })
    }

    fn is_overtaken(&self, revision: &Revision<'_>) -> Result<bool> {
        let record = self.record(&revision.source)?;
        Ok(record.map(|record| record.revision) != revision.expects)
    }

    /// Commits each part before the next, and the record at last.
    fn in_parts(&self, mut revision: Revision<'_>) -> Result<Revised> {
        revision.check()?;
        if self.is_overtaken(&revision)? {
            return Ok(Revised::Overtaken);
        }
        let mut whole = Receipt::default();
        for part in revision.parts.filter(|part| !part.is_empty()) {
            join(&mut whole, self.inner.apply_batch(&part)?);
        }
        revision.parts = Box::new(std::iter::empty());
        match self.one(revision)? {
            Revised::Done { revision, .. } => Ok(Revised::Done {
                receipt: whole,
                revision,
            }),
            Revised::Overtaken => Ok(Revised::Overtaken),
        }
    }

    /// Counts the revisions of a record from one, again after it was forgotten.
    fn recounted(&self, mut revision: Revision<'_>) -> Result<Revised> {
        let source = revision.source.clone();
        let mut counted = self.counted.lock().expect("no holder of this lock panics");
        let known = counted.get(&source).copied();
        revision.expects = match (revision.expects, known) {
            (Some(own), Some((given, known))) if own == known => Some(given),
            (expects, _) => expects,
        };
        let revised = self.one(revision)?;
        let Revised::Done { receipt, revision } = revised else {
            return Ok(revised);
        };
        let Some(given) = revision else {
            counted.remove(&source);
            return Ok(Revised::Done { receipt, revision });
        };
        let own = known.map_or(1, |(_, own)| own + 1);
        counted.insert(source, (given, own));
        Ok(Revised::Done {
            receipt,
            revision: Some(own),
        })
    }

    /// Keeps a newer record, but applies the drawers all the same.
    fn regardless(&self, revision: Revision<'_>) -> Result<Revised> {
        if !self.is_overtaken(&revision)? {
            return self.one(revision);
        }
        for part in revision.parts.filter(|part| !part.is_empty()) {
            self.inner.apply_batch(&part)?;
        }
        Ok(Revised::Overtaken)
    }

    fn with_drawers(&self, revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>> {
        let records: Vec<(String, Option<String>)> = revisions
            .iter()
            .map(|revision| (revision.source.clone(), revision.stamp.clone()))
            .collect();
        let revised = self.inner.require_sources()?.revise(revisions)?;
        for (source, stamp) in records {
            self.inner
                .upsert(NewDrawer::new(DrawerId::new(source)?, stamp.unwrap_or_default()))?;
        }
        Ok(revised)
    }

    /// Leaves what stands behind an overtaken revision undone.
    fn until_overtaken(&self, revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>> {
        let mut over = false;
        let mut one = |revision: Revision<'_>| {
            over = over || self.is_overtaken(&revision)?;
            match over {
                true => Ok(Revised::Overtaken),
                false => self.one(revision),
            }
        };
        revisions.into_iter().map(&mut one).collect()
    }
}

impl SourceLedger for Revising {
    fn find_records(&self, request: &Sources) -> Result<Vec<SourceRecord>> {
        let mut found = self
            .inner
            .require_sources()?
            .find_records(&self.misread(request))?;
        match (self.flaw, request) {
            (Flaw::RestartsRevisions, _) => {
                let counted = self.counted.lock().expect("no holder of this lock panics");
                for record in &mut found {
                    record.revision = counted.get(&record.source).map_or(1, |(_, own)| *own);
                }
            }
            (Flaw::ListsSourcesAsAsked, Sources::Named(names)) => {
                found.sort_by_key(|record| names.iter().position(|name| *name == record.source));
            }
            _ => {}
        }
        Ok(found)
    }

    fn revise(&self, revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>> {
        match self.flaw {
            Flaw::IgnoresExpects => {
                let anyway = |revision: Revision<'_>| self.one(self.expecting_what_is(revision)?);
                revisions.into_iter().map(anyway).collect()
            }
            Flaw::LosesTheLastPart => self
                .inner
                .require_sources()?
                .revise(revisions.into_iter().map(shortened).collect()),
            Flaw::CommitsPartsApart => revisions.into_iter().map(|one| self.in_parts(one)).collect(),
            Flaw::CommitsRevisionsApart => revisions.into_iter().map(|one| self.one(one)).collect(),
            Flaw::RestartsRevisions => revisions.into_iter().map(|one| self.recounted(one)).collect(),
            Flaw::WritesDrawersOfOvertaken => revisions.into_iter().map(|one| self.regardless(one)).collect(),
            Flaw::FilesRecordsAsDrawers => self.with_drawers(revisions),
            Flaw::StopsAtOvertaken => self.until_overtaken(revisions),
            _ => self.inner.require_sources()?.revise(revisions),
        }
    }
}

/// A revision without its last part, if it has more than one.
fn shortened(revision: Revision<'_>) -> Revision<'_> {
    let mut parts: Vec<Vec<Write>> = revision.parts.collect();
    if parts.len() > 1 {
        parts.pop();
    }
    Revision {
        parts: Box::new(parts.into_iter()),
        ..revision
    }
}

fn join(whole: &mut Receipt, part: Receipt) {
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
