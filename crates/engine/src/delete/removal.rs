//! Removing drawers: those that mining could bring back are listed, and what their neighbours repeat of them is taken
//! out, all in the transaction that removes them.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use loci_core::{
    ApplyRequest, Collection, CollectionExt, DeleteSelection, Drawer, DrawerContext, DrawerFields, DrawerId,
    DrawerPatch, Error, ErrorKind, GetRequest, Metadata, MetadataScalar, MetadataValue, OpenOptions, Receipt,
    Result, RevisionOutcome, SourceRevision, Write,
};

use crate::deletions::{DeletedParts, PieceOwner, name_message_record, name_source_record};
use crate::keys::PalaceKey;
use crate::ledger::find_named;
use crate::mine::{StoredSource, is_mined, is_older_filing};
use crate::palace::Palace;
use crate::repeats::RepeatFinder;
use crate::seal::{Unsealer, may_have_label};

/// The number of drawers read at once.
const PAGE: usize = 512;

/// The most drawers of one transaction. More are removed in several, which limits the memory needed.
const MOST: usize = 20_000;

/// The number of times a removal is tried again because another process has changed the list of deletions.
const TRIES: usize = 20;

/// How thoroughly drawers are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemovalDepth {
    /// The records of their sources stay.
    Drawers,
    /// So do not those of sources that have no drawer left.
    SourceRecords,
}

/// The outcome of a removal.
#[derive(Debug)]
pub(crate) struct RemovalOutcome {
    /// The number of drawers removed.
    pub(crate) deleted: u64,
    /// The reason mining may bring them back, if it may.
    pub(crate) unlisted: Option<String>,
}

/// Removes drawers by id.
pub(crate) fn remove_drawers(
    palace: &Palace,
    collection: &dyn Collection,
    ids: &[DrawerId],
    depth: RemovalDepth,
) -> Result<RemovalOutcome> {
    let removal = Removal {
        palace,
        collection,
        key: OnceCell::new(),
        depth,
    };
    let mut deleted = 0;
    for some in ids.chunks(MOST) {
        deleted += removal.run(some.to_vec())?;
    }
    let unlisted = removal.key.into_inner().and_then(std::result::Result::err);
    Ok(RemovalOutcome { deleted, unlisted })
}

struct Removal<'a> {
    palace: &'a Palace,
    collection: &'a dyn Collection,
    /// The key, or the reason it cannot be had, once it is needed.
    key: OnceCell<std::result::Result<Option<PalaceKey>, String>>,
    depth: RemovalDepth,
}

/// The drawers of one source that are removed.
#[derive(Debug, Default)]
struct SourceRemoval {
    ids: Vec<DrawerId>,
    texts: Vec<String>,
    /// The message of each text, by its own id.
    messages: Vec<Option<String>>,
}

impl Removal<'_> {
    /// Returns the key under which deletions are listed.
    fn key(&self) -> Option<&PalaceKey> {
        // A user who wants words gone must not be kept from it by a folder that cannot be written.
        let key = self
            .key
            .get_or_init(|| self.palace.own_key().map_err(|error| error.to_string()));
        key.as_ref().ok().and_then(Option::as_ref)
    }

    fn run(&self, mut left: Vec<DrawerId>) -> Result<u64> {
        let mut deleted = 0;
        for _ in 0..TRIES {
            let (mined, plain) = self.read_drawers(&left)?;
            if mined.is_empty() || self.collection.sources().is_none() {
                let receipt = self.apply_plainly(&mined, left)?;
                if !mined.is_empty() {
                    self.list_unseen(mined)?;
                }
                return Ok(deleted + receipt.deleted.len() as u64);
            }
            let names: Vec<String> = mined.keys().cloned().collect();
            let (mut all, mut whole, mut emptied) = (Vec::new(), BTreeSet::new(), Vec::new());
            for (nth, (source, removal)) in mined.iter().enumerate() {
                let others = if nth == 0 { plain.as_slice() } else { &[] };
                let revised = self.revise_source(source, removal, others)?;
                all.push(revised.revision);
                whole.extend(revised.messages);
                emptied.extend(revised.is_emptied.then(|| source.clone()));
            }
            all.extend(self.list_messages(whole)?);
            all.extend(self.drop_source_records(emptied)?);
            let done = self.collection.require_sources()?.revise(all)?;
            left.clear();
            for (name, outcome) in names.iter().zip(&done) {
                match outcome {
                    RevisionOutcome::Done { receipt, .. } => deleted += receipt.deleted.len() as u64,
                    RevisionOutcome::Overtaken => {
                        left.extend(
                            mined
                                .get(name)
                                .into_iter()
                                .flat_map(|removal| removal.ids.clone()),
                        );
                    }
                }
            }
            if matches!(done.first(), Some(RevisionOutcome::Overtaken)) {
                left.extend(plain);
            }
            if left.is_empty() {
                return Ok(deleted);
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "other processes kept deleting from the same sources; {} drawers are left",
                left.len()
            ),
        )
        .with_hint("run the same command again"))
    }

    /// Removes drawers without listing them, together with what their neighbours repeat.
    fn apply_plainly(&self, mined: &BTreeMap<String, SourceRemoval>, ids: Vec<DrawerId>) -> Result<Receipt> {
        let mut writes = vec![Write::Delete(DeleteSelection::Ids(ids))];
        for (source, removal) in mined {
            let remaining = self.look_at_remaining(source, removal)?;
            writes.extend(remaining.patches.into_iter().map(Write::Update));
        }
        self.collection.apply(&ApplyRequest::from_writes(&writes))
    }

    /// Lists drawers that a caller has removed who sees only some of the palace, and therefore not its list.
    fn list_unseen(&self, mined: BTreeMap<String, SourceRemoval>) -> Result<()> {
        let whole = self.palace.open_whole(&OpenOptions::for_writing())?;
        if whole.sources().is_none() || self.key().is_none() {
            return Ok(());
        }
        let listing = Removal {
            palace: self.palace,
            collection: whole.as_ref(),
            key: self.key.clone(),
            depth: self.depth,
        };
        for (source, mut removal) in mined {
            removal.ids.clear();
            // Another process may list deletions of the same source at the same time.
            for _ in 0..TRIES {
                let revised = listing.revise_source(&source, &removal, &[])?;
                let messages = listing.list_messages(revised.messages)?;
                let all = std::iter::once(revised.revision).chain(messages).collect();
                let done = whole.require_sources()?.revise(all)?;
                if !matches!(done.first(), Some(RevisionOutcome::Overtaken)) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads the drawers to remove: the mined ones by source, and the ids of the others.
    fn read_drawers(&self, ids: &[DrawerId]) -> Result<(BTreeMap<String, SourceRemoval>, Vec<DrawerId>)> {
        let mut mined: BTreeMap<String, SourceRemoval> = BTreeMap::new();
        let mut plain = Vec::new();
        for page in ids.chunks(PAGE) {
            let drawers = self.collection.get(&GetRequest {
                include: DrawerFields {
                    document: true,
                    metadata: true,
                    ..DrawerFields::NOTHING
                },
                ..GetRequest::by_ids(page.iter().cloned())
            })?;
            let plain_texts = self.unseal_texts(&drawers);
            for drawer in drawers {
                let is_older = is_older_filing(&drawer);
                let source = drawer.place.source.clone();
                let source = source.filter(|_| is_mined(&drawer) || is_older);
                let Some(source) = source else {
                    plain.push(drawer.id);
                    continue;
                };
                let removal = mined.entry(source).or_default();
                let message = own_message_id(&drawer).map(str::to_owned);
                removal.messages.push(message.clone());
                let text = drawer.document.unwrap_or_default();
                // A chunk of MemPalace's begins with the end of the one before, often in the middle of a line, where
                // mining does not look for deleted words.
                if let Some((_, rest)) = text.split_once('\n').filter(|_| is_older) {
                    removal.messages.push(message.clone());
                    removal.texts.push(rest.to_owned());
                }
                removal.texts.push(text);
                if let Some(text) = plain_texts.get(&drawer.id) {
                    removal.messages.push(message);
                    removal.texts.push(text.clone());
                }
                removal.ids.push(drawer.id);
            }
        }
        Ok((mined, plain))
    }

    /// Returns the texts of drawers with their secrets, where they have any and the key is here: mining may cut the text
    /// in other places than where it was sealed, and then knows it by what it is in the source.
    fn unseal_texts(&self, drawers: &[Drawer]) -> HashMap<DrawerId, String> {
        let labelled: Vec<&Drawer> = drawers.iter().filter(|drawer| may_have_label(drawer)).collect();
        if labelled.is_empty() {
            return HashMap::new();
        }
        // A caller who sees only some of the palace has no records.
        let Ok(whole) = self.palace.open_whole(&OpenOptions::default()) else {
            return HashMap::new();
        };
        let mut unsealer = Unsealer::new(self.palace, whole.as_ref());
        let unseal = |drawer: &Drawer| {
            let mut one = [drawer.clone()];
            unsealer.unseal_all(&mut one).ok()?;
            let [one] = one;
            Some((one.id, one.document?))
        };
        labelled.into_iter().filter_map(unseal).collect()
    }

    /// Plans the revision that removes the drawers of a source and lists them.
    fn revise_source(
        &self,
        source: &str,
        removal: &SourceRemoval,
        others: &[DrawerId],
    ) -> Result<RevisedSource> {
        let remaining = self.look_at_remaining(source, removal)?;
        let whole: BTreeSet<&String> = removal
            .messages
            .iter()
            .flatten()
            .filter(|id| !remaining.messages.contains(*id))
            .collect();
        let ids: Vec<DrawerId> = removal.ids.iter().chain(others).cloned().collect();
        let mut part = Vec::new();
        if !ids.is_empty() {
            part.push(Write::Delete(DeleteSelection::Ids(ids)));
        }
        part.extend(remaining.patches.into_iter().map(Write::Update));
        let Some(key) = self.key() else {
            // The source's own record is written again as it is, so that a miner at work looks once more.
            let record = find_named(self.collection, vec![source.to_owned()])?.pop();
            return Ok(RevisedSource {
                revision: SourceRevision {
                    source: source.to_owned(),
                    expects: record.as_ref().map(|record| record.revision),
                    stamp: record.map(|record| record.stamp),
                    parts: Box::new(std::iter::once(part)),
                },
                messages: BTreeSet::new(),
                // Its record is this revision, which cannot remove it as well.
                is_emptied: false,
            });
        };
        let name = name_source_record(key, source);
        let record = find_named(self.collection, vec![name.clone()])?.pop();
        let mut list = record
            .as_ref()
            .map(|record| DeletedParts::from_stamp(&record.stamp))
            .unwrap_or_default();
        for (text, message) in removal.texts.iter().zip(&removal.messages) {
            let owner = message
                .as_deref()
                .map_or(PieceOwner::Source(source), PieceOwner::Message);
            list.add_piece(key, owner, text);
        }
        whole.iter().for_each(|id| list.add_message(key, id));
        let revision = SourceRevision {
            source: name,
            expects: record.map(|record| record.revision),
            stamp: Some(list.to_stamp()),
            parts: Box::new(std::iter::once(part)),
        };
        Ok(RevisedSource {
            revision,
            messages: whole.into_iter().cloned().collect(),
            is_emptied: remaining.drawers == 0,
        })
    }

    /// Returns the revisions that list messages which are removed whole, unless they are listed already.
    fn list_messages(&self, ids: BTreeSet<String>) -> Result<Vec<SourceRevision<'static>>> {
        let Some(key) = self.key() else {
            return Ok(Vec::new());
        };
        let mut names: BTreeSet<String> = ids.iter().filter_map(|id| name_message_record(key, id)).collect();
        let asked: Vec<String> = names.iter().cloned().collect();
        for page in asked.chunks(PAGE) {
            for listed in find_named(self.collection, page.to_vec())? {
                names.remove(&listed.source);
            }
        }
        Ok(names
            .into_iter()
            .map(|source| SourceRevision {
                source,
                expects: None,
                stamp: Some("{}".to_owned()),
                parts: Box::new(std::iter::empty()),
            })
            .collect())
    }

    /// Returns the revisions that remove the records of sources without a drawer, if they go as well.
    fn drop_source_records(&self, emptied: Vec<String>) -> Result<Vec<SourceRevision<'static>>> {
        if self.depth == RemovalDepth::Drawers || emptied.is_empty() {
            return Ok(Vec::new());
        }
        let records = find_named(self.collection, emptied)?.into_iter();
        Ok(records
            .map(|record| SourceRevision {
                source: record.source,
                expects: Some(record.revision),
                stamp: None,
                parts: Box::new(std::iter::empty()),
            })
            .collect())
    }

    /// Looks at the drawers of a source that stay.
    fn look_at_remaining(&self, source: &str, removal: &SourceRemoval) -> Result<StayingDrawers> {
        let going: HashSet<&DrawerId> = removal.ids.iter().collect();
        let repeats = RepeatFinder::new(removal.texts.iter().cloned());
        let mut remaining = StayingDrawers::default();
        StoredSource::look_up(self.collection, source)?.for_each_drawer(&mut |drawer| {
            if going.contains(&drawer.id) {
                return;
            }
            remaining.drawers += 1;
            remaining
                .messages
                .extend(own_message_id(drawer).map(str::to_owned));
            remaining.patches.extend(take_out_repeats(drawer, &repeats));
        })?;
        Ok(remaining)
    }
}

/// The planned removal of drawers of one source.
struct RevisedSource {
    revision: SourceRevision<'static>,
    /// The messages that go as a whole.
    messages: BTreeSet<String>,
    /// Whether no drawer of the source is left.
    is_emptied: bool,
}

/// The drawers of a source that stay when others go.
#[derive(Debug, Default)]
struct StayingDrawers {
    drawers: u64,
    messages: HashSet<String>,
    /// What they repeat of the others, taken out.
    patches: Vec<DrawerPatch>,
}

/// Returns the id that a message brought from its source; one that was made from its number is not its own.
fn own_message_id(drawer: &Drawer) -> Option<&str> {
    match drawer.metadata.as_ref()?.get("message_id")? {
        MetadataValue::One(MetadataScalar::Text(id)) if !id.starts_with('#') => Some(id),
        _ => None,
    }
}

/// Returns the patch that takes words of other drawers out of the context and the title of this one.
fn take_out_repeats(drawer: &Drawer, removed: &RepeatFinder) -> Option<DrawerPatch> {
    let repeats = |part: &str| removed.repeats(part);
    let mut patch = DrawerPatch::new(drawer.id.clone());
    if let Some(context) = &drawer.context {
        let cleaned = DrawerContext {
            before: keep_lines(&context.before, repeats),
            after: keep_lines(&context.after, repeats),
        };
        patch.context = Some(cleaned).filter(|cleaned| cleaned != context);
    }
    let title = |metadata: &Metadata| match metadata.get("title") {
        Some(MetadataValue::One(MetadataScalar::Text(title))) => removed.repeats_title(title),
        _ => false,
    };
    if drawer.metadata.as_ref().is_some_and(title) {
        patch.metadata.insert("title".to_owned(), None);
    }
    (patch != DrawerPatch::new(drawer.id.clone())).then_some(patch)
}

/// Keeps the lines, and the parts of headings, that do not repeat other words.
fn keep_lines(text: &str, repeats: impl Fn(&str) -> bool) -> String {
    let lines = text.split('\n').filter_map(|line| {
        if !repeats(line) && !line.split(" > ").any(&repeats) {
            return Some(line.to_owned());
        }
        let parts: Vec<&str> = line.split(" > ").filter(|part| !repeats(part)).collect();
        (!parts.is_empty()).then(|| parts.join(" > "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_keeps_its_context_but_for_the_words_that_go() {
        let mut drawer = Drawer::with_id_only(DrawerId::new("a").unwrap());
        drawer.context = Some(DrawerContext {
            before: "notes.md > Guide > The key\nthe key is 4711\nand more".to_owned(),
            after: "what follows".to_owned(),
        });
        drawer.metadata = Some(Metadata::new().with_entry("title", "the key is 4711"));
        let gone = RepeatFinder::new(["# The key\nplease note: the key is 4711\n".to_owned()]);
        let patch = take_out_repeats(&drawer, &gone).unwrap();
        assert_eq!(
            patch.context.unwrap(),
            DrawerContext {
                before: "notes.md > Guide\nand more".to_owned(),
                after: "what follows".to_owned(),
            }
        );
        assert_eq!(patch.metadata.get("title"), Some(&None));
        assert_eq!(
            take_out_repeats(&drawer, &RepeatFinder::new(["something else".to_owned()])),
            None
        );
    }
}
