//! Loads drawers from the server: by id, or all that a filter may accept.

use std::collections::BTreeMap;

use loci_core::{DocumentFilter, Drawer, DrawerFields, DrawerId, Filter, Result, Visibility};
use serde_json::Value as Json;

use crate::deadline::ChromaDeadline;
use crate::listing::may_be_substitute;
use crate::pushdown::push_down;
use crate::record::{RecordedDrawer, decode_record};
use crate::shelf::{ChromaShelf, ShelfPart};
use crate::side::DRAWER;
use crate::wire::{GetQuestion, RecordAnswer};

/// The number of records that are fetched at once by their ids.
const PAGE: usize = 1000;

/// The drawers that a request selects among those visible to the handle.
#[derive(Debug)]
pub(crate) struct RecordScope<'a> {
    filter: Filter,
    document: &'a DocumentFilter,
}

impl<'a> RecordScope<'a> {
    pub(crate) fn narrow(visible: &Visibility, filter: &Filter, document: &'a DocumentFilter) -> Self {
        Self {
            filter: visible.narrow_filter(filter),
            document,
        }
    }

    /// Whether every drawer is in scope.
    pub(crate) fn is_all(&self) -> bool {
        self.filter.is_unrestricted() && self.document.is_unrestricted()
    }

    /// Returns the part of the filter that the server can answer, if any.
    pub(crate) fn condition(&self) -> Option<Json> {
        push_down(&self.filter)
    }

    /// Returns the fields to load: `also`, and the text if it decides what is in scope.
    pub(crate) fn required_fields(&self, also: DrawerFields) -> DrawerFields {
        DrawerFields {
            document: also.document || !self.document.is_unrestricted(),
            ..also
        }
    }

    pub(crate) fn accepts(&self, drawer: &Drawer) -> bool {
        let text = drawer.document.as_deref().unwrap_or_default();
        self.filter.accepts(drawer) && self.document.accepts(text)
    }
}

/// Drawers by id.
pub(crate) type RecordedDrawers = BTreeMap<DrawerId, RecordedDrawer>;

impl ChromaShelf {
    /// Loads the drawers with these ids; metadata and place are always loaded.
    pub(crate) fn load_by_ids(
        &self,
        ids: &[&DrawerId],
        include: DrawerFields,
        deadline: ChromaDeadline,
    ) -> Result<RecordedDrawers> {
        let own_ids = self.find_own_ids(ids, deadline)?;
        let mut drawers = RecordedDrawers::new();
        for page in own_ids.chunks(PAGE) {
            let question = |ids| GetQuestion {
                ids: Some(ids),
                include: list_fields(include),
                ..GetQuestion::default()
            };
            let main = question(page.iter().map(String::as_str).collect());
            insert_records(&mut drawers, self.fetch(ShelfPart::Main, &main, deadline)?, false)?;
            let bare: Vec<String> = page.iter().map(|id| format!("{DRAWER}{id}")).collect();
            let side = question(bare.iter().map(String::as_str).collect());
            insert_records(&mut drawers, self.fetch(ShelfPart::Side, &side, deadline)?, true)?;
        }
        Ok(drawers)
    }

    fn find_own_ids(&self, ids: &[&DrawerId], deadline: ChromaDeadline) -> Result<Vec<String>> {
        let known = if ids.iter().any(|id| may_be_substitute(id)) {
            self.list_ids(true, deadline)?
        } else {
            Default::default()
        };
        let own = |id: &&DrawerId| known.get(*id).cloned().unwrap_or_else(|| id.as_str().to_owned());
        Ok(ids.iter().map(own).collect())
    }

    /// Loads every drawer for which `condition`, a filter of Chroma's, holds.
    pub(crate) fn load_where(
        &self,
        condition: Option<&Json>,
        include: DrawerFields,
        deadline: ChromaDeadline,
    ) -> Result<RecordedDrawers> {
        let mut drawers = RecordedDrawers::new();
        for part in [ShelfPart::Main, ShelfPart::Side] {
            let is_bare = part == ShelfPart::Side;
            let mut question = GetQuestion {
                condition,
                limit: Some(PAGE),
                include: list_fields(include),
                ..GetQuestion::default()
            };
            let first = self.fetch(part, &question, deadline)?;
            if first.len() < PAGE {
                insert_records(&mut drawers, first, is_bare)?;
                continue;
            }
            // By their ids and not by number: between two pages others may write, and numbers would shift.
            question.limit = None;
            question.include = Vec::new();
            let ids: Vec<String> = self
                .fetch(part, &question, deadline)?
                .into_iter()
                .map(|record| record.id)
                .collect();
            for page in ids.chunks(PAGE) {
                let question = GetQuestion {
                    ids: Some(page.iter().map(String::as_str).collect()),
                    include: list_fields(include),
                    ..GetQuestion::default()
                };
                insert_records(&mut drawers, self.fetch(part, &question, deadline)?, is_bare)?;
            }
        }
        Ok(drawers)
    }

    /// Loads every drawer in scope.
    pub(crate) fn load_scope(
        &self,
        scope: &RecordScope<'_>,
        include: DrawerFields,
        deadline: ChromaDeadline,
    ) -> Result<RecordedDrawers> {
        let condition = scope.condition();
        let mut drawers = self.load_where(condition.as_ref(), scope.required_fields(include), deadline)?;
        drawers.retain(|_, stored| scope.accepts(&stored.drawer));
        Ok(drawers)
    }
}

fn list_fields(include: DrawerFields) -> Vec<&'static str> {
    let mut fields = vec!["metadatas"];
    if include.document {
        fields.push("documents");
    }
    if include.embedding {
        fields.push("embeddings");
    }
    fields
}

fn insert_records(drawers: &mut RecordedDrawers, records: Vec<RecordAnswer>, is_bare: bool) -> Result<()> {
    for mut record in records {
        if is_bare {
            // Anything else there is a fact.
            let Some(id) = record.id.strip_prefix(DRAWER) else {
                continue;
            };
            record.id = id.to_owned();
        }
        let mut stored = decode_record(record, is_bare)?;
        // A write that was interrupted may have left a drawer in both collections; the newer state counts.
        if let Some(mut other) = drawers.remove(&stored.drawer.id) {
            if other.written >= stored.written {
                std::mem::swap(&mut stored, &mut other);
            }
            stored.is_double = stored.is_bare != other.is_bare;
            stored.keys.append(&mut other.keys);
        }
        drawers.insert(stored.drawer.id.clone(), stored);
    }
    Ok(())
}

/// Returns the drawer with the fields that a request included.
pub(crate) fn strip_drawer(mut drawer: Drawer, include: DrawerFields) -> Drawer {
    if !include.document {
        drawer.document = None;
    }
    if !include.metadata {
        drawer.metadata = None;
    }
    if !include.context {
        drawer.context = None;
    }
    if !include.embedding {
        drawer.embedding = None;
    }
    drawer
}
