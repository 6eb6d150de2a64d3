//! Undoing a removal: drawers are filed again as they were, and taken off the list of deletions.

use std::collections::HashMap;

use loci_core::{
    Collection, CollectionExt, Drawer, DrawerContext, DrawerFields, DrawerId, DrawerPatch, Error, ErrorKind,
    GetRequest, IdentityState, OpenOptions, Receipt, Result, RevisionOutcome, SourceRevision, Write,
};

use super::memory::{RemovalMemory, ThinnedNeighbour};
use super::{UndoReport, estimate_drawer, to_new_drawer};
use crate::deletions::DeletedParts;
use crate::ledger::{PAGE, find_named};
use crate::palace::{FilingSession, Palace};
use crate::seal::{DrawerSeals, SealedSpan, SecretGuard};

/// The number of times the list of deletions is read again because another process changed it.
const TRIES: usize = 20;

/// The writes of one part of a revision.
const PART: usize = 500;

/// Drawers that were removed, and what went with them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RemovedDrawers {
    drawers: Vec<Drawer>,
    spans: Vec<(DrawerId, Vec<SealedSpan>)>,
    neighbours: Vec<ThinnedNeighbour>,
    listed: Vec<(String, DeletedParts)>,
    model: Option<IdentityState>,
}

impl RemovedDrawers {
    pub(super) fn new(memory: RemovalMemory) -> Self {
        Self {
            drawers: memory.drawers,
            spans: memory.spans,
            neighbours: memory.neighbours,
            listed: memory.listed,
            model: memory.model,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.drawers.len()
    }

    /// Returns the id of the drawer, if it is one.
    pub(super) fn only_id(&self) -> Option<&DrawerId> {
        match self.drawers.as_slice() {
            [one] => Some(&one.id),
            _ => None,
        }
    }

    pub(super) fn estimate_size(&self) -> usize {
        self.drawers.iter().map(estimate_drawer).sum::<usize>() + self.listed.len() * 200
    }

    /// Files the drawers again.
    pub(super) fn undo(&self, palace: &Palace) -> Result<UndoReport> {
        palace.run_change(|filing| self.restore(palace, filing))
    }

    fn restore(&self, palace: &Palace, filing: &FilingSession) -> Result<UndoReport> {
        let keeps_vectors = self.model == Some(filing.collection().model());
        let new = |drawer| Write::Add(to_new_drawer(drawer, keeps_vectors));
        let mut writes: Vec<Write> = self.drawers.iter().map(new).collect();
        if !keeps_vectors {
            filing.embed_new(&mut writes)?;
        }
        let collection = filing.collection().as_ref();
        writes.extend(self.restore_neighbours(collection)?);
        let guard = SecretGuard::new(palace);
        let seals = self.seals();
        guard.store_seals(&seals)?;
        let receipt = if collection.sources().is_some() {
            self.file_and_unlist(collection, writes)?
        } else {
            let receipt = collection.apply_batch(&writes)?;
            self.unlist_unseen(palace)?;
            receipt
        };
        // Once more, in case another process has collected the records before the drawers were there.
        guard.store_seals(&seals)?;
        Ok(self.report(&receipt, keeps_vectors))
    }

    fn report(&self, receipt: &Receipt, keeps_vectors: bool) -> UndoReport {
        let mut report = UndoReport {
            undone: receipt.added.len() as u64,
            ..UndoReport::default()
        };
        if !keeps_vectors {
            report.embedded = report.undone;
        }
        for id in &receipt.kept {
            report.leave(id, "was filed again already, and stays as it is");
        }
        for twin in &receipt.twins {
            report.leave(&twin.given, "was filed again under another id");
        }
        report
    }

    fn seals(&self) -> Vec<DrawerSeals<'_>> {
        let spans: HashMap<&DrawerId, &Vec<SealedSpan>> =
            self.spans.iter().map(|(id, spans)| (id, spans)).collect();
        let seals = self.drawers.iter().filter_map(|drawer| {
            Some(DrawerSeals {
                id: &drawer.id,
                text: drawer.document.as_deref().unwrap_or_default(),
                spans: spans.get(&drawer.id)?,
            })
        });
        seals.collect()
    }

    /// Returns the patches that give neighbours back what they repeated, where they still are as the removal left them.
    fn restore_neighbours(&self, collection: &dyn Collection) -> Result<Vec<Write>> {
        let mut patches = Vec::new();
        for page in self.neighbours.chunks(PAGE) {
            let found = collection.get(&GetRequest {
                include: DrawerFields {
                    metadata: true,
                    context: true,
                    ..DrawerFields::NOTHING
                },
                ..GetRequest::by_ids(page.iter().map(|one| one.id.clone()))
            })?;
            let now: HashMap<&DrawerId, &Drawer> = found.iter().map(|drawer| (&drawer.id, drawer)).collect();
            for one in page {
                let Some(now) = now.get(&one.id) else { continue };
                let mut patch = DrawerPatch::new(one.id.clone());
                if let Some((before, after)) = &one.context
                    && is_context(now, after)
                {
                    patch.context = Some(before.clone());
                }
                let has_title = now
                    .metadata
                    .as_ref()
                    .is_some_and(|metadata| metadata.get("title").is_some());
                if let Some(title) = one.title.as_ref().filter(|_| !has_title) {
                    patch.metadata.insert("title".to_owned(), Some(title.clone()));
                }
                if patch != DrawerPatch::new(one.id.clone()) {
                    patches.push(Write::Update(patch));
                }
            }
        }
        Ok(patches)
    }

    /// Files the drawers and takes them off the list of deletions, in one transaction.
    fn file_and_unlist(&self, collection: &dyn Collection, writes: Vec<Write>) -> Result<Receipt> {
        let mut waiting = Some(writes);
        let mut filed = Receipt::default();
        for _ in 0..TRIES {
            let mut plans = self.plan_unlisting(collection)?;
            let Some((first, rest)) = plans.split_first_mut() else {
                return match waiting {
                    Some(writes) => collection.apply_batch(&writes),
                    None => Ok(filed),
                };
            };
            // All drawers with the first record: the records of one call are one transaction.
            let parts: Vec<Vec<Write>> = waiting
                .iter()
                .flat_map(|writes| writes.chunks(PART))
                .map(<[Write]>::to_vec)
                .collect();
            let revisions = std::iter::once(first.to_revision(parts));
            let revisions = revisions.chain(rest.iter().map(|plan| plan.to_revision(Vec::new())));
            let done = collection.require_sources()?.revise(revisions.collect())?;
            if let (Some(RevisionOutcome::Done { receipt, .. }), Some(_)) = (done.first(), &waiting) {
                filed = receipt.clone();
                waiting = None;
            }
            if waiting.is_none() && !done.contains(&RevisionOutcome::Overtaken) {
                return Ok(filed);
            }
        }
        let message = "other processes kept changing the list of deletions";
        Err(Error::new(ErrorKind::Conflict, message).with_hint("undo it again"))
    }

    /// Takes the drawers off the list for a caller that sees only some of the palace, and therefore not its list.
    fn unlist_unseen(&self, palace: &Palace) -> Result<()> {
        if self.listed.is_empty() {
            return Ok(());
        }
        let whole = palace.open_whole(&OpenOptions::for_writing())?;
        if whole.sources().is_none() {
            return Ok(());
        }
        self.file_and_unlist(whole.as_ref(), Vec::new()).map(drop)
    }

    /// Returns the records that the list is to have afterwards, for those that still say what the removal wrote.
    fn plan_unlisting(&self, collection: &dyn Collection) -> Result<Vec<UnlistedRecord>> {
        let mut plans = Vec::new();
        for page in self.listed.chunks(PAGE) {
            let parts: HashMap<&String, &DeletedParts> =
                page.iter().map(|(name, parts)| (name, parts)).collect();
            let names = page.iter().map(|(name, _)| name.clone()).collect();
            for record in find_named(collection, names)? {
                let Some(own) = parts.get(&record.source) else {
                    continue;
                };
                let stored = DeletedParts::from_stamp(&record.stamp);
                let left = stored.without(own);
                // A record of a message lists nothing besides its own name.
                let is_emptied = left.is_empty();
                if is_emptied || left != stored {
                    plans.push(UnlistedRecord {
                        name: record.source,
                        revision: record.revision,
                        stamp: (!is_emptied).then(|| left.to_stamp()),
                    });
                }
            }
        }
        Ok(plans)
    }
}

/// A record of the list of deletions as it is to be.
#[derive(Debug)]
struct UnlistedRecord {
    name: String,
    revision: u64,
    stamp: Option<String>,
}

impl UnlistedRecord {
    fn to_revision(&self, parts: Vec<Vec<Write>>) -> SourceRevision<'static> {
        SourceRevision {
            source: self.name.clone(),
            expects: Some(self.revision),
            stamp: self.stamp.clone(),
            parts: Box::new(parts.into_iter()),
        }
    }
}

/// Returns whether a drawer has this context; an empty one may be stored as none.
fn is_context(drawer: &Drawer, context: &DrawerContext) -> bool {
    match &drawer.context {
        Some(own) => own == context,
        None => *context == DrawerContext::default(),
    }
}
