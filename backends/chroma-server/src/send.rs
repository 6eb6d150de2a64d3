//! Sending the changes of a batch in parts that the server takes, and saying exactly what was written if it stops.

use loci_core::{Drawer, DrawerFields, DrawerId, Error, Metric, Result};
use serde_json::{Map, Value as Json};

use crate::apply::PlannedChange;
use crate::deadline::ChromaDeadline;
use crate::record::encode_metadata;
use crate::shelf::{ChromaShelf, ShelfPart};
use crate::side::{DRAWER, PLACEHOLDER};
use crate::wire::{DeleteQuestion, ExactVector, PreflightAnswer, UpsertQuestion};

/// The most bytes of one request, roughly; a server of 1.x refuses 40 MiB.
const LARGEST: usize = 16 * 1024 * 1024;

/// Writes the changes of one batch.
#[derive(Debug)]
pub(crate) struct BatchSender<'a> {
    pub(crate) shelf: &'a ChromaShelf,
    pub(crate) metric: Metric,
    /// The number of this write.
    pub(crate) seq: u64,
    pub(crate) limits: PreflightAnswer,
}

/// What one part of a batch asks of the server.
#[derive(Debug, Default)]
struct BatchPart<'c> {
    main: UpsertQuestion<'c>,
    side: UpsertQuestion<'c>,
    gone_from_main: DeleteQuestion,
    gone_from_side: DeleteQuestion,
}

impl BatchSender<'_> {
    /// Writes every change, or returns an error that says which were written.
    pub(crate) fn send(&self, changes: &[PlannedChange]) -> Result<()> {
        let mut written = 0;
        for part in self.split(changes) {
            if let Err(error) = self.send_part(part) {
                let earlier = changes.get(..written).unwrap_or_default();
                let later = changes.get(written + part.len()..).unwrap_or_default();
                return Err(self.report(&error, earlier, part, later));
            }
            written += part.len();
        }
        Ok(())
    }

    /// Splits the changes, in their order, by the server's limits.
    fn split<'c>(&self, changes: &'c [PlannedChange]) -> Vec<&'c [PlannedChange]> {
        let most = self.limits.max_batch_size.max(1);
        let mut parts = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (at, change) in changes.iter().enumerate() {
            let size = change.after.as_ref().map_or(0, estimate_bytes);
            if at > start && (at - start >= most || bytes + size > LARGEST) {
                parts.extend(changes.get(start..at));
                (start, bytes) = (at, 0);
            }
            bytes += size;
        }
        parts.extend(changes.get(start..).filter(|rest| !rest.is_empty()));
        parts
    }

    fn send_part(&self, changes: &[PlannedChange]) -> Result<()> {
        let mut part = BatchPart::default();
        for change in changes {
            self.add_change(&mut part, change);
        }
        // What is new before what is old is removed: a drawer that moves is in one of the two at any time.
        self.shelf.upsert(ShelfPart::Main, &part.main)?;
        self.shelf.upsert(ShelfPart::Side, &part.side)?;
        self.shelf.remove(ShelfPart::Main, &part.gone_from_main)?;
        self.shelf.remove(ShelfPart::Side, &part.gone_from_side)
    }

    fn add_change<'c>(&self, part: &mut BatchPart<'c>, change: &'c PlannedChange) {
        let was_bare = change.before.as_ref().map(|before| before.is_bare);
        let own_id = change
            .before
            .as_ref()
            .map_or_else(|| change.id.as_str(), |before| before.own_id.as_str());
        let bare_id = || format!("{DRAWER}{own_id}");
        let is_bare = change.after.as_ref().map(|after| after.embedding.is_none());
        let is_double = change.before.as_ref().is_some_and(|before| before.is_double);
        let was_in = |bare: bool| was_bare == Some(bare) || is_double;
        if was_in(true) && is_bare != Some(true) {
            part.gone_from_side.ids.push(bare_id());
        }
        if was_in(false) && is_bare != Some(false) {
            part.gone_from_main.ids.push(own_id.to_owned());
        }
        let Some(after) = &change.after else { return };
        let (question, id) = match after.embedding {
            Some(_) => (&mut part.main, own_id.to_owned()),
            None => (&mut part.side, bare_id()),
        };
        question.ids.push(id);
        question.embeddings.push(ExactVector {
            values: after.embedding.as_deref().unwrap_or(PLACEHOLDER),
            as_base64: self.limits.supports_base64_encoding,
        });
        // A record without a text keeps the one it had, so no text is written as an empty one.
        question
            .documents
            .push(after.document.as_deref().unwrap_or_default());
        let stays = was_bare == is_bare || is_double;
        let stale = change
            .before
            .iter()
            .filter(|_| stays)
            .flat_map(|before| &before.keys);
        let mut metadata = encode_metadata(after, self.metric, self.seq);
        remove_stale_keys(&mut metadata, stale);
        question.metadatas.push(metadata);
    }

    /// Returns the error of an interrupted batch: which drawers were written, which were not, and which may have been.
    fn report(
        &self,
        cause: &Error,
        earlier: &[PlannedChange],
        part: &[PlannedChange],
        later: &[PlannedChange],
    ) -> Error {
        let mut written: Vec<&DrawerId> = earlier.iter().map(|change| &change.id).collect();
        let mut unwritten: Vec<&DrawerId> = Vec::new();
        let mut unsure: Vec<&DrawerId> = Vec::new();
        match self.find_written(part) {
            Ok(found) => {
                for (change, is_written) in part.iter().zip(found) {
                    let list = if is_written { &mut written } else { &mut unwritten };
                    list.push(&change.id);
                }
            }
            Err(_) => unsure.extend(part.iter().map(|change| &change.id)),
        }
        unwritten.extend(later.iter().map(|change| &change.id));
        let all = earlier.len() + part.len() + later.len();
        if written.is_empty() && unsure.is_empty() {
            return Error::new(cause.kind(), cause.message().to_owned()).with_hint("nothing was written");
        }
        let outcome = match unsure.len() {
            0 => format!("{} of {all} changes were written", written.len()),
            n => format!(
                "{} of {all} changes were written, and {n} may have been",
                written.len()
            ),
        };
        let list = |ids: &[&DrawerId]| serde_json::to_string(ids).expect("ids are always JSON");
        let mut error = Error::new(
            cause.kind(),
            format!("the batch was interrupted: {outcome}; {}", cause.message()),
        )
        .with_context("written", list(&written))
        .with_context("not written", list(&unwritten))
        .with_hint("a batch is not atomic in Chroma; run the same command again, which completes it");
        if !unsure.is_empty() {
            error = error.with_context("unsure", list(&unsure));
        }
        error
    }

    /// Compares what is stored with what a part of the batch should have left.
    fn find_written(&self, part: &[PlannedChange]) -> Result<Vec<bool>> {
        let ids: Vec<&DrawerId> = part.iter().map(|change| &change.id).collect();
        let stored = self
            .shelf
            .load_by_ids(&ids, DrawerFields::EVERYTHING, ChromaDeadline::default())?;
        let is_written = |change: &PlannedChange| {
            let now = stored.get(&change.id).map(|stored| &stored.drawer);
            now == change.after.as_ref()
        };
        Ok(part.iter().map(is_written).collect())
    }
}

fn estimate_bytes(drawer: &Drawer) -> usize {
    let context = drawer.context.as_ref();
    let texts = drawer.document.as_deref().map_or(0, str::len)
        + context.map_or(0, |context| context.before.len() + context.after.len());
    let metadata = drawer.metadata.as_ref().map_or(0, |metadata| {
        serde_json::to_string(metadata).map_or(0, |text| text.len())
    });
    // Twice: once as a vector, once as text.
    let vector = drawer.embedding.as_deref().map_or(0, |vector| vector.len() * 28);
    texts * 2 + metadata * 2 + vector + 512
}

/// Chroma merges the metadata of a record that exists; null removes a key.
fn remove_stale_keys<'k>(metadata: &mut Map<String, Json>, stale: impl Iterator<Item = &'k String>) {
    for key in stale {
        if !metadata.contains_key(key) {
            metadata.insert(key.clone(), Json::Null);
        }
    }
}
