//! Removing drawers: those that mining could bring back are listed, and what their neighbours repeat of them is taken
//! out, all in the transaction that removes them.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use loci_core::{
    Collection, CollectionExt, DeleteSelection, Drawer, DrawerFields, DrawerId, Error, ErrorKind, GetRequest,
    OpenOptions, Result, RevisionOutcome, SourceRevision, Write,
};

use super::staying::{StayingDrawers, own_message_id};
use crate::deletions::{DeletedParts, PieceOwner, name_message_record, name_source_record};
use crate::keys::PalaceKey;
use crate::ledger::find_named;
use crate::mine::{StoredSource, is_mined, is_older_filing};
use crate::palace::Palace;
use crate::repeats::RepeatFinder;
use crate::seal::{Unsealer, may_have_label};
use crate::undo::{RemovalMemory, ThinnedNeighbour};

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

/// Removes drawers by id, and remembers what is removed.
pub(crate) fn remove_drawers(
    palace: &Palace,
    collection: &dyn Collection,
    ids: &[DrawerId],
    depth: RemovalDepth,
    memory: &mut RemovalMemory,
) -> Result<RemovalOutcome> {
    let removal = Removal {
        palace,
        collection,
        key: OnceCell::new(),
        depth,
    };
    let mut deleted = 0;
    for some in ids.chunks(MOST) {
        deleted += removal.run(some.to_vec(), memory)?;
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

    fn run(&self, mut left: Vec<DrawerId>, memory: &mut RemovalMemory) -> Result<u64> {
        let mut deleted = 0;
        for _ in 0..TRIES {
            memory.read(self.palace, self.collection, &left)?;
            let (mined, plain) = self.read_drawers(&left)?;
            if mined.is_empty() || self.collection.sources().is_none() {
                deleted += self.apply_plainly(&mined, left, memory)?;
                if !mined.is_empty() {
                    self.list_unseen(mined, memory)?;
                }
                return Ok(deleted);
            }
            let round = self.revise_sources(&mined, &plain, memory)?;
            deleted += round.deleted;
            left = round.left;
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

    /// Removes the drawers of several sources in one transaction, and the others with the first of them.
    fn revise_sources(
        &self,
        mined: &BTreeMap<String, SourceRemoval>,
        plain: &[DrawerId],
        memory: &mut RemovalMemory,
    ) -> Result<RemovalRound> {
        let (mut all, mut whole, mut emptied) = (Vec::new(), BTreeSet::new(), Vec::new());
        let mut planned = Vec::with_capacity(mined.len());
        for (nth, (source, removal)) in mined.iter().enumerate() {
            let others = if nth == 0 { plain } else { &[] };
            let revised = self.revise_source(source, removal, others)?;
            all.push(revised.revision);
            whole.extend(revised.messages);
            emptied.extend(revised.is_emptied.then(|| source.clone()));
            planned.push((removal, others, revised.listed, revised.thinned));
        }
        let messages = self.list_messages(whole)?;
        let message_names: Vec<String> = messages.iter().map(|one| one.source.clone()).collect();
        all.extend(messages);
        all.extend(self.drop_source_records(emptied)?);
        let done = self.collection.require_sources()?.revise(all)?;
        let mut round = RemovalRound::default();
        for ((removal, others, listed, thinned), outcome) in planned.into_iter().zip(&done) {
            match outcome {
                RevisionOutcome::Done { receipt, .. } => {
                    round.deleted += receipt.deleted.len() as u64;
                    memory.keep(&receipt.deleted);
                    memory.keep_neighbours(thinned);
                    memory.keep_listed(listed);
                }
                RevisionOutcome::Overtaken => {
                    round.is_overtaken = true;
                    round.left.extend(removal.ids.iter().chain(others).cloned());
                }
            }
        }
        let listed = message_names.into_iter().zip(done.iter().skip(mined.len()));
        let listed = listed.filter(|(_, outcome)| !matches!(outcome, RevisionOutcome::Overtaken));
        memory.keep_listed(listed.map(|(name, _)| (name, DeletedParts::default())));
        Ok(round)
    }

    /// Removes drawers without listing them, together with what their neighbours repeat.
    fn apply_plainly(
        &self,
        mined: &BTreeMap<String, SourceRemoval>,
        ids: Vec<DrawerId>,
        memory: &mut RemovalMemory,
    ) -> Result<u64> {
        let mut writes = vec![Write::Delete(DeleteSelection::Ids(ids))];
        let mut thinned = Vec::new();
        for (source, removal) in mined {
            let remaining = self.look_at_remaining(source, removal)?;
            writes.extend(remaining.patches.into_iter().map(Write::Update));
            thinned.extend(remaining.thinned);
        }
        let receipt = self.collection.apply_batch(&writes)?;
        memory.keep(&receipt.deleted);
        memory.keep_neighbours(thinned);
        Ok(receipt.deleted.len() as u64)
    }

    /// Lists drawers that a caller has removed who sees only some of the palace, and therefore not its list.
    fn list_unseen(&self, mined: BTreeMap<String, SourceRemoval>, memory: &mut RemovalMemory) -> Result<()> {
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
                let alone = BTreeMap::from([(source.clone(), removal)]);
                let round = listing.revise_sources(&alone, &[], memory)?;
                if !round.is_overtaken {
                    break;
                }
                let Some(again) = alone.into_values().next() else {
                    break;
                };
                removal = again;
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
                listed: None,
                thinned: remaining.thinned,
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
        let before = list.clone();
        for (text, message) in removal.texts.iter().zip(&removal.messages) {
            let owner = message
                .as_deref()
                .map_or(PieceOwner::Source(source), PieceOwner::Message);
            list.add_piece(key, owner, text);
        }
        whole.iter().for_each(|id| list.add_message(key, id));
        let revision = SourceRevision {
            source: name.clone(),
            expects: record.map(|record| record.revision),
            stamp: Some(list.to_stamp()),
            parts: Box::new(std::iter::once(part)),
        };
        Ok(RevisedSource {
            revision,
            messages: whole.into_iter().cloned().collect(),
            listed: Some((name, list.without(&before))),
            thinned: remaining.thinned,
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
            remaining.add(drawer, &repeats);
        })?;
        Ok(remaining)
    }
}

/// The planned removal of drawers of one source.
struct RevisedSource {
    revision: SourceRevision<'static>,
    /// The messages that go as a whole.
    messages: BTreeSet<String>,
    /// The record of the source in the list of deletions, and what is added to it.
    listed: Option<(String, DeletedParts)>,
    /// The drawers that stay and are changed, as they were.
    thinned: Vec<ThinnedNeighbour>,
    /// Whether no drawer of the source is left.
    is_emptied: bool,
}

/// The outcome of one transaction of a removal.
#[derive(Debug, Default)]
struct RemovalRound {
    deleted: u64,
    /// Whether another process changed one of the records first.
    is_overtaken: bool,
    /// The drawers that are therefore still there.
    left: Vec<DrawerId>,
}
