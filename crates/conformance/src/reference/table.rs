//! One collection of the reference: its rows, its change history and its info.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering as AtomicOrdering};

use loci_core::{
    ChangeKind, ChangePage, CollectionInfo, CollectionName, Cursor, Drawer, DrawerChange, DrawerCondition,
    DrawerFields, DrawerId, DrawerOrder, EmbedderIdentity, Error, FindingSeverity, GetRequest,
    IdentityChange, IdentityState, IndexCoverage, Metric, OpenOptions, PalaceFinding, Result, SourceRecord,
    Visibility,
};

use super::keys::AppliedKeys;

use super::spaces::InactiveSpace;

/// One collection. Each batch is applied to a clone, so that a refused batch leaves nothing.
#[derive(Debug, Clone)]
pub(super) struct ReferenceTable {
    /// Tells this collection from one of the same name that was dropped.
    pub(super) number: u64,
    pub(super) metric: Metric,
    pub(super) dimension: Option<usize>,
    pub(super) recorded: Option<EmbedderIdentity>,
    pub(super) rows: BTreeMap<DrawerId, ReferenceRow>,
    /// The sequence number at which each removed drawer was removed.
    pub(super) removed: BTreeMap<DrawerId, u64>,
    pub(super) seq: u64,
    /// The number of rows replaced or removed since the last compaction.
    pub(super) garbage: u64,
    /// Whether an erasure has begun and was not finished.
    pub(super) erasing: bool,
    /// Models that were recorded by force.
    pub(super) forced: Vec<EmbedderIdentity>,
    /// The inactive spaces: the one being built first, then retired and abandoned ones, latest first.
    pub(super) inactive_spaces: Vec<InactiveSpace>,
    /// Source records by name.
    pub(super) records: BTreeMap<String, SourceRecord>,
    /// The batches that were applied under a key.
    pub(super) keys: AppliedKeys,
}

/// A drawer with all its fields, and the sequence number of its last change.
#[derive(Debug, Clone)]
pub(super) struct ReferenceRow {
    pub(super) drawer: Drawer,
    pub(super) seq: u64,
    /// The sequence number at which its text was last written.
    pub(super) version: u64,
}

impl ReferenceTable {
    pub(super) fn new(how: &OpenOptions) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NUMBERS.fetch_add(1, AtomicOrdering::Relaxed),
            metric: how.metric.unwrap_or_default(),
            dimension: how.dimension,
            recorded: None,
            rows: BTreeMap::new(),
            removed: BTreeMap::new(),
            seq: 0,
            garbage: 0,
            erasing: false,
            forced: Vec::new(),
            inactive_spaces: Vec::new(),
            records: BTreeMap::new(),
            keys: AppliedKeys::default(),
        }
    }

    /// Returns the table as if the drawers out of sight had never been filed.
    pub(super) fn seen_through(&self, visible: &Visibility) -> Cow<'_, Self> {
        if !visible.is_restricted() {
            return Cow::Borrowed(self);
        }
        let mut seen = self.clone();
        seen.rows.retain(|_, row| visible.sees_drawer(&row.drawer));
        // A removal names an id, and whether the drawer was in sight can no longer be told.
        seen.removed.clear();
        // The spaces that do not answer hold vectors of every drawer and say how many.
        seen.inactive_spaces.clear();
        // The palace's own number would move with writes out of sight.
        seen.seq = seen.rows.values().map(|row| row.seq).max().unwrap_or_default();
        Cow::Owned(seen)
    }

    pub(super) fn identity(&self) -> IdentityState {
        match &self.recorded {
            Some(identity) => IdentityState::Known(identity.clone()),
            None if self.count_vectors() > 0 => IdentityState::Unknown,
            None => IdentityState::Unset,
        }
    }

    pub(super) fn count_vectors(&self) -> u64 {
        self.rows
            .values()
            .filter(|row| row.drawer.embedding.is_some())
            .count() as u64
    }

    /// Refuses declared options that contradict this collection.
    pub(super) fn check_options(&self, how: &OpenOptions) -> Result<()> {
        self.identity().check_open(how.embedder.as_ref())?;
        let declared = how.embedder.as_ref().map(|embedder| embedder.dimension);
        // Both may be given; each has to fit by itself.
        for dimension in [how.dimension, declared].into_iter().flatten() {
            self.check_dimension(dimension)?;
        }
        match how.metric {
            Some(metric) if metric != self.metric => Err(Error::invalid(format!(
                "this collection compares by {}, not by {}",
                self.metric.name(),
                metric.name()
            ))),
            _ => Ok(()),
        }
    }

    fn check_dimension(&self, declared: usize) -> Result<()> {
        match self.dimension {
            Some(stored) if stored != declared => {
                Err(loci_core::vector::dimension_mismatch(stored, declared))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn set_identity(&mut self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        // Even by force: vectors of another length cannot be of this model.
        self.check_dimension(identity.dimension)?;
        match why {
            IdentityChange::Confirm => self.identity().check_open(Some(identity))?,
            IdentityChange::Force => self.forced.push(identity.clone()),
        }
        self.recorded = Some(identity.clone());
        self.dimension = Some(identity.dimension);
        Ok(())
    }

    pub(super) fn info(&self, name: &CollectionName, lexical: bool) -> CollectionInfo {
        let drawers = self.rows.len() as u64;
        let identity = self.identity();
        let mut warnings = Vec::new();
        if identity == IdentityState::Unknown {
            let words = "the model that made the vectors of this collection is not recorded";
            warnings.push(
                PalaceFinding::new("unknown-model", FindingSeverity::Warning, words)
                    .with_hint("loci embedder set MODEL"),
            );
        }
        warnings.extend(self.under_way());
        CollectionInfo {
            name: name.clone(),
            metric: self.metric,
            dimension: self.dimension,
            identity,
            drawers,
            coverage: IndexCoverage {
                nearest: self.count_vectors(),
                packed: 0,
                lexical: if lexical { drawers } else { 0 },
            },
            approximate: false,
            seq: Cursor(self.seq),
            warnings,
        }
    }

    pub(super) fn count(&self, condition: &DrawerCondition) -> u64 {
        let rows = self.rows.values();
        rows.filter(|row| condition.accepts(&row.drawer)).count() as u64
    }

    pub(super) fn get(&self, request: &GetRequest) -> Vec<Drawer> {
        let drawers = match &request.ids {
            Some(ids) => {
                // Each id once, at its first place in the list.
                let mut asked = BTreeSet::new();
                let once = ids.iter().filter(|id| asked.insert(*id));
                once.filter_map(|id| self.rows.get(id))
                    .map(|row| &row.drawer)
                    .collect()
            }
            None => self.sort_drawers(request.order),
        };
        let behind = |drawer: &Drawer| {
            let after = request.after.as_ref();
            after.is_none_or(|after| {
                request.order.position_of(drawer).compare(after) == Some(Ordering::Greater)
            })
        };
        drawers
            .into_iter()
            // Position and filters before offset and limit: pages count only drawers that are accepted.
            .filter(|drawer| behind(drawer))
            .filter(|drawer| request.filter.accepts(drawer))
            .filter(|drawer| request.document.accepts(drawer_text(drawer)))
            .skip(request.offset)
            .take(request.limit.unwrap_or(usize::MAX))
            .map(|drawer| include_fields(drawer, request.include))
            .collect()
    }

    fn sort_drawers(&self, order: DrawerOrder) -> Vec<&Drawer> {
        let mut drawers: Vec<&Drawer> = self.rows.values().map(|row| &row.drawer).collect();
        drawers.sort_by(|a, b| {
            let order = order.position_of(a).compare(&order.position_of(b));
            order.expect("positions of one order compare")
        });
        drawers
    }

    pub(super) fn changes_since(&self, name: &CollectionName, cursor: Cursor, limit: usize) -> ChangePage {
        let change = |op, id: &DrawerId, seq| DrawerChange {
            seq,
            op,
            id: id.clone(),
            collection: name.clone(),
        };
        let puts = self
            .rows
            .iter()
            .map(|(id, row)| change(ChangeKind::Put, id, row.seq));
        let deletes = self
            .removed
            .iter()
            .map(|(id, seq)| change(ChangeKind::Delete, id, *seq));
        let mut changes: Vec<DrawerChange> = puts
            .chain(deletes)
            .filter(|change| change.seq > cursor.0)
            .collect();
        changes.sort_by_key(|change| change.seq);
        changes.truncate(limit);
        // The cursor stays where it was if there is nothing new, so that the next call sees what comes
        // later.
        let next = changes.last().map_or(cursor, |last| Cursor(last.seq));
        ChangePage { changes, next }
    }

    /// Drops the garbage of replaced and removed drawers; returns how many there were.
    pub(super) fn compact(&mut self) -> u64 {
        std::mem::take(&mut self.garbage)
    }
}

/// Returns the text of a stored drawer as filters and words see it: a drawer without text has an empty one.
pub(super) fn drawer_text(drawer: &Drawer) -> &str {
    drawer.document.as_deref().unwrap_or_default()
}

/// Returns the drawer with only the fields a request included.
pub(super) fn include_fields(drawer: &Drawer, include: DrawerFields) -> Drawer {
    let mut shown = drawer.clone();
    if !include.document {
        shown.document = None;
    }
    if !include.metadata {
        shown.metadata = None;
    }
    if !include.context {
        shown.context = None;
    }
    if !include.embedding {
        shown.embedding = None;
    }
    shown
}
