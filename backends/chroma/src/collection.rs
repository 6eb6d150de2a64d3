//! A collection of a Chroma folder, read through the contract: exact answers from what is there now.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use loci_core::{
    ApplyRequest, ChangeFeed, Collection, CollectionInfo, CollectionName, CollectionReader, Cursor,
    DocumentFilter, Drawer, DrawerCondition, DrawerId, DrawerOrder, DrawerPosition, EmbedderIdentity,
    EmbeddingSpaces, Erasure, Facet, Facets, Filter, Get, Hit, IdentityChange, IdentityState, Include,
    Lexical, Maintenance, Query, Receipt, Result, SourceLedger, Visibility,
};

use crate::backend::takes_no_writes;
use crate::deadline::Deadline;
use crate::palace::Palace;
use crate::search::{self, Words};
use crate::view::View;

/// A handle on one collection.
#[derive(Debug)]
pub(crate) struct ChromaCollection {
    pub(crate) palace: Arc<Palace>,
    pub(crate) name: CollectionName,
    pub(crate) visible: Visibility,
    /// The model that was recorded when it was opened.
    pub(crate) model: IdentityState,
}

/// The drawers that a request asks for and the handle sees.
pub(crate) struct Scope<'a> {
    filter: Filter,
    document: &'a DocumentFilter,
}

impl Scope<'_> {
    /// Whether every drawer counts.
    pub(crate) fn is_all(&self) -> bool {
        self.filter.is_all() && self.document.is_all()
    }

    /// The fields that must be read of a drawer to tell.
    pub(crate) fn needs(&self, also: Include) -> Include {
        Include {
            metadata: also.metadata || !self.filter.is_all(),
            document: also.document || !self.document.is_all(),
            ..also
        }
    }

    /// Whether this one counts.
    pub(crate) fn accepts(&self, drawer: &Drawer) -> bool {
        self.filter.accepts(drawer)
            && self
                .document
                .accepts(drawer.document.as_deref().unwrap_or_default())
    }
}

/// Takes away the fields that were read only to tell whether a drawer counts.
pub(crate) fn shown(mut drawer: Drawer, include: Include) -> Drawer {
    if !include.document {
        drawer.document = None;
    }
    if !include.metadata {
        drawer.metadata = None;
    }
    drawer
}

impl ChromaCollection {
    /// Does something with what the collection holds now.
    fn look<T>(&self, act: impl Fn(&View<'_>) -> Result<T>) -> Result<T> {
        self.palace.with(|loaded, folder| {
            let content = loaded.content(folder, &self.name)?;
            act(&View::of(content))
        })
    }

    fn scope<'a>(&self, filter: &Filter, document: &'a DocumentFilter) -> Scope<'a> {
        Scope {
            filter: self.visible.narrow(filter),
            document,
        }
    }

    fn by_id(
        &self,
        view: &View<'_>,
        request: &Get,
        ids: &[DrawerId],
        deadline: Deadline,
    ) -> Result<Vec<Drawer>> {
        let scope = self.scope(&request.filter, &request.document);
        let mut asked = BTreeSet::new();
        let mut found = Vec::new();
        for id in ids.iter().filter(|id| asked.insert(*id)) {
            deadline.check()?;
            if let Some(at) = view.position(id) {
                let drawer = view.drawer(at, scope.needs(request.include))?;
                if scope.accepts(&drawer) {
                    found.push(shown(drawer, request.include));
                }
            }
        }
        let wanted = found.into_iter().skip(request.offset);
        Ok(wanted.take(request.limit.unwrap_or(usize::MAX)).collect())
    }

    /// A page in the order of ids, in which the records lie.
    fn by_order_of_ids(
        &self,
        view: &View<'_>,
        request: &Get,
        after: Option<&DrawerId>,
        deadline: Deadline,
    ) -> Result<Vec<Drawer>> {
        let scope = self.scope(&request.filter, &request.document);
        let first = after.map_or(0, |after| view.behind(after));
        let limit = request.limit.unwrap_or(usize::MAX);
        // Where everything counts, what is left out first need not be read.
        let (first, mut left_out) = if scope.is_all() {
            (first.saturating_add(request.offset), 0)
        } else {
            (first, request.offset)
        };
        let mut found = Vec::new();
        for at in first..view.len() {
            if found.len() >= limit {
                break;
            }
            deadline.check()?;
            let drawer = view.drawer(at, scope.needs(request.include))?;
            if !scope.accepts(&drawer) {
                continue;
            }
            match left_out {
                0 => found.push(shown(drawer, request.include)),
                _ => left_out -= 1,
            }
        }
        Ok(found)
    }

    /// A page in another order: the keys of every drawer are sorted, and only the page is read whole.
    fn by_sorted_keys(&self, view: &View<'_>, request: &Get, deadline: Deadline) -> Result<Vec<Drawer>> {
        let scope = self.scope(&request.filter, &request.document);
        let mut keys: Vec<(DrawerPosition, usize)> = Vec::new();
        for at in view.as_they_lie() {
            deadline.check()?;
            let drawer = view.drawer(at, scope.needs(Include::NOTHING))?;
            let position = request.order.position_of(&drawer);
            let behind = request
                .after
                .as_ref()
                .is_none_or(|after| position.compare(after) == Some(Ordering::Greater));
            if behind && scope.accepts(&drawer) {
                keys.push((position, at));
            }
        }
        keys.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(Ordering::Equal));
        let page = keys.into_iter().skip(request.offset);
        let page = page.take(request.limit.unwrap_or(usize::MAX));
        page.map(|(_, at)| {
            deadline.check()?;
            view.drawer(at, request.include)
        })
        .collect()
    }

    /// Hands each drawer of the scope to `act`, with its place and what the scope needed.
    fn for_each_in(
        view: &View<'_>,
        scope: &Scope<'_>,
        mut act: impl FnMut(usize, Drawer) -> Result<()>,
    ) -> Result<()> {
        for at in view.as_they_lie() {
            let drawer = view.drawer(at, scope.needs(Include::NOTHING))?;
            if scope.accepts(&drawer) {
                act(at, drawer)?;
            }
        }
        Ok(())
    }

    /// The collection as if the drawers out of sight were not there.
    fn narrow_info(&self, mut info: CollectionInfo) -> Result<CollectionInfo> {
        let scope = self.scope(&Filter::All, &DocumentFilter::All);
        let (drawers, vectors) = self.look(|view| {
            let (mut drawers, mut vectors) = (0, 0);
            Self::for_each_in(view, &scope, |at, _| {
                drawers += 1;
                vectors += u64::from(view.vector(at)?.is_some());
                Ok(())
            })?;
            Ok((drawers, vectors))
        })?;
        info.drawers = drawers;
        info.coverage.nearest = vectors;
        info.coverage.lexical = drawers;
        // The number of the newest write and the count of lost vectors speak of every record.
        info.seq = Cursor(0);
        info.warnings
            .retain(|finding| finding.code != "rows_without_vector");
        Ok(info)
    }
}

impl CollectionReader for ChromaCollection {
    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        let deadline = Deadline::begin(request.budget)?;
        request.check()?;
        self.look(|view| match (&request.ids, request.order, &request.after) {
            (Some(ids), ..) => self.by_id(view, request, ids, deadline),
            (None, DrawerOrder::Id, Some(DrawerPosition::Id(after))) => {
                self.by_order_of_ids(view, request, Some(after), deadline)
            }
            (None, DrawerOrder::Id, _) => self.by_order_of_ids(view, request, None, deadline),
            _ => self.by_sorted_keys(view, request, deadline),
        })
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        let deadline = Deadline::begin(request.budget)?;
        let scope = self.scope(&request.filter, &request.document);
        self.look(|view| {
            request.check(view.dimension())?;
            search::nearest(view, request, &scope, deadline)
        })
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        let deadline = Deadline::begin(request.budget)?;
        request.check()?;
        let words = Words::of(&request.words);
        let scope = self.scope(&request.filter, &request.document);
        self.look(|view| search::lexical(view, request, &words, &scope, deadline))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        let scope = self.scope(&condition.filter, &condition.document);
        self.look(|view| {
            if scope.is_all() {
                return Ok(view.len() as u64);
            }
            let mut count = 0;
            Self::for_each_in(view, &scope, |_, _| {
                count += 1;
                Ok(())
            })?;
            Ok(count)
        })
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        request.check()?;
        let scope = self.scope(&request.filter, &request.document);
        self.look(|view| {
            let mut counted: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
            Self::for_each_in(view, &scope, |_, drawer| {
                let values = request
                    .by
                    .iter()
                    .map(|key| drawer.place.text(key.name()).map(str::to_owned));
                *counted.entry(values.collect()).or_default() += 1;
                Ok(())
            })?;
            let facets = counted.into_iter();
            Ok(facets
                .map(|(values, drawers)| Facet { values, drawers })
                .collect())
        })
    }

    fn info(&self) -> Result<CollectionInfo> {
        let info = self
            .palace
            .with(|loaded, folder| loaded.info(folder, &self.name))?;
        if self.visible.is_restricted() {
            return self.narrow_info(info);
        }
        Ok(info)
    }
}

impl Collection for ChromaCollection {
    fn apply(&self, _request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.look(|_| Ok(()))?;
        Err(takes_no_writes(&self.palace.folder))
    }

    fn model(&self) -> IdentityState {
        self.model.clone()
    }

    fn set_identity(&self, _identity: &EmbedderIdentity, _why: IdentityChange) -> Result<()> {
        self.look(|_| Ok(()))?;
        Err(takes_no_writes(&self.palace.folder))
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        // Rows are read from the live database one by one, so two reads may see two states.
        self.look(|_| Ok(()))?;
        Ok(None)
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        None
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        None
    }

    fn feed(&self) -> Option<&dyn ChangeFeed> {
        None
    }

    fn upkeep(&self) -> Option<&dyn Maintenance> {
        None
    }

    fn eraser(&self) -> Option<&dyn Erasure> {
        None
    }
}
