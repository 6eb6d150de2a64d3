//! A collection of a Chroma folder behind the contract: exact answers from the current state of the folder.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use loci_core::{
    ApplyRequest, ChangeFeed, Collection, CollectionInfo, CollectionName, CollectionReader, Cursor,
    DocumentFilter, Drawer, DrawerCondition, DrawerFields, DrawerHit, DrawerId, DrawerOrder, DrawerPosition,
    EmbedderIdentity, EmbeddingSpaces, Erasure, FacetCount, FacetRequest, Filter, GetRequest, IdentityChange,
    IdentityState, LexicalRequest, Maintenance, QueryRequest, Receipt, Result, SourceLedger, Visibility,
};

use crate::backend::refuse_write;
use crate::deadline::ScanDeadline;
use crate::palace::ChromaPalace;
use crate::search::{self, QueryWords};
use crate::view::CollectionView;

/// A handle to one collection.
#[derive(Debug)]
pub(crate) struct ChromaCollection {
    pub(crate) palace: Arc<ChromaPalace>,
    pub(crate) name: CollectionName,
    pub(crate) visible: Visibility,
    /// The model that was recorded when the handle was opened.
    pub(crate) model: IdentityState,
}

/// The drawers that a request selects among those visible to the handle.
pub(crate) struct ReadScope<'a> {
    filter: Filter,
    document: &'a DocumentFilter,
}

impl ReadScope<'_> {
    /// Returns whether every drawer is in scope.
    pub(crate) fn is_all(&self) -> bool {
        self.filter.is_all() && self.document.is_all()
    }

    /// Returns the fields to read: `also`, and those that decide whether a drawer is in scope.
    pub(crate) fn required_fields(&self, also: DrawerFields) -> DrawerFields {
        DrawerFields {
            metadata: also.metadata || !self.filter.is_all(),
            document: also.document || !self.document.is_all(),
            ..also
        }
    }

    /// Returns whether a drawer is in scope.
    pub(crate) fn accepts(&self, drawer: &Drawer) -> bool {
        self.filter.accepts(drawer)
            && self
                .document
                .accepts(drawer.document.as_deref().unwrap_or_default())
    }
}

/// Removes the fields that were read only to decide whether a drawer is in scope.
pub(crate) fn strip_fields(mut drawer: Drawer, include: DrawerFields) -> Drawer {
    if !include.document {
        drawer.document = None;
    }
    if !include.metadata {
        drawer.metadata = None;
    }
    drawer
}

impl ChromaCollection {
    /// Runs `act` on the current content of the collection.
    fn with_view<T>(&self, act: impl Fn(&CollectionView<'_>) -> Result<T>) -> Result<T> {
        self.palace.with_loaded(|loaded, folder| {
            let content = loaded.lay_out_content(folder, &self.name)?;
            act(&CollectionView::new(content))
        })
    }

    fn narrow_scope<'a>(&self, filter: &Filter, document: &'a DocumentFilter) -> ReadScope<'a> {
        ReadScope {
            filter: self.visible.narrow_filter(filter),
            document,
        }
    }

    fn get_by_id(
        &self,
        view: &CollectionView<'_>,
        request: &GetRequest,
        ids: &[DrawerId],
        deadline: ScanDeadline,
    ) -> Result<Vec<Drawer>> {
        let scope = self.narrow_scope(&request.filter, &request.document);
        // An id that is asked for twice is answered once, as the contract demands.
        let mut asked = BTreeSet::new();
        let mut found = Vec::new();
        for id in ids.iter().filter(|id| asked.insert(*id)) {
            deadline.check()?;
            if let Some(at) = view.position_of(id) {
                let drawer = view.read_drawer(at, scope.required_fields(request.include))?;
                if scope.accepts(&drawer) {
                    found.push(strip_fields(drawer, request.include));
                }
            }
        }
        let wanted = found.into_iter().skip(request.offset);
        Ok(wanted.take(request.limit.unwrap_or(usize::MAX)).collect())
    }

    /// Returns a page in the order of ids, which is the order of the records in memory.
    fn page_by_id(
        &self,
        view: &CollectionView<'_>,
        request: &GetRequest,
        after: Option<&DrawerId>,
        deadline: ScanDeadline,
    ) -> Result<Vec<Drawer>> {
        let scope = self.narrow_scope(&request.filter, &request.document);
        let first = after.map_or(0, |after| view.position_after(after));
        let limit = request.limit.unwrap_or(usize::MAX);
        // Without a filter, the drawers before the offset need not be read.
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
            let drawer = view.read_drawer(at, scope.required_fields(request.include))?;
            if !scope.accepts(&drawer) {
                continue;
            }
            match left_out {
                0 => found.push(strip_fields(drawer, request.include)),
                _ => left_out -= 1,
            }
        }
        Ok(found)
    }

    /// Returns a page in another order: the keys of all drawers are sorted, and only the page is read in full.
    fn page_by_sorted_keys(
        &self,
        view: &CollectionView<'_>,
        request: &GetRequest,
        deadline: ScanDeadline,
    ) -> Result<Vec<Drawer>> {
        let scope = self.narrow_scope(&request.filter, &request.document);
        let mut keys: Vec<(DrawerPosition, usize)> = Vec::new();
        for at in view.in_row_order() {
            deadline.check()?;
            // Places and times come with every drawer, so the
            // sort keys need no field beyond those of the scope.
            let drawer = view.read_drawer(at, scope.required_fields(DrawerFields::NOTHING))?;
            let position = request.order.position_of(&drawer);
            // Keys are compared, not positions in a list: the drawer a cursor names may be gone by now.
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
            view.read_drawer(at, request.include)
        })
        .collect()
    }

    /// Passes each drawer in scope to `act`, with its place and the fields the scope needed.
    fn for_each_in_scope(
        view: &CollectionView<'_>,
        scope: &ReadScope<'_>,
        mut act: impl FnMut(usize, Drawer) -> Result<()>,
    ) -> Result<()> {
        for at in view.in_row_order() {
            let drawer = view.read_drawer(at, scope.required_fields(DrawerFields::NOTHING))?;
            if scope.accepts(&drawer) {
                act(at, drawer)?;
            }
        }
        Ok(())
    }

    /// Describes the collection as if the invisible drawers did not exist.
    fn narrow_info(&self, mut info: CollectionInfo) -> Result<CollectionInfo> {
        let scope = self.narrow_scope(&Filter::All, &DocumentFilter::All);
        let (drawers, vectors) = self.with_view(|view| {
            let (mut drawers, mut vectors) = (0, 0);
            Self::for_each_in_scope(view, &scope, |at, _| {
                drawers += 1;
                vectors += u64::from(view.read_vector(at)?.is_some());
                Ok(())
            })?;
            Ok((drawers, vectors))
        })?;
        info.drawers = drawers;
        info.coverage.nearest = vectors;
        // A search for words reads every text, so it covers all drawers.
        info.coverage.lexical = drawers;
        // The newest write and the count of lost vectors concern
        // all records, so they would reveal hidden ones.
        info.seq = Cursor(0);
        info.warnings
            .retain(|finding| finding.code != "rows_without_vector");
        Ok(info)
    }
}

impl CollectionReader for ChromaCollection {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        let deadline = ScanDeadline::begin(request.budget)?;
        request.check_request()?;
        self.with_view(|view| match (&request.ids, request.order, &request.after) {
            (Some(ids), ..) => self.get_by_id(view, request, ids, deadline),
            (None, DrawerOrder::Id, Some(DrawerPosition::Id(after))) => {
                self.page_by_id(view, request, Some(after), deadline)
            }
            (None, DrawerOrder::Id, _) => self.page_by_id(view, request, None, deadline),
            _ => self.page_by_sorted_keys(view, request, deadline),
        })
    }

    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        let deadline = ScanDeadline::begin(request.budget)?;
        let scope = self.narrow_scope(&request.filter, &request.document);
        self.with_view(|view| {
            request.check_request(view.dimension())?;
            search::find_nearest(view, request, &scope, deadline)
        })
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        let deadline = ScanDeadline::begin(request.budget)?;
        request.check_request()?;
        let words = QueryWords::parse(&request.words);
        let scope = self.narrow_scope(&request.filter, &request.document);
        self.with_view(|view| search::find_lexical(view, request, &words, &scope, deadline))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        let scope = self.narrow_scope(&condition.filter, &condition.document);
        self.with_view(|view| {
            // Without a filter the count needs no row at all.
            if scope.is_all() {
                return Ok(view.len() as u64);
            }
            let mut count = 0;
            Self::for_each_in_scope(view, &scope, |_, _| {
                count += 1;
                Ok(())
            })?;
            Ok(count)
        })
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        request.check_request()?;
        let scope = self.narrow_scope(&request.filter, &request.document);
        self.with_view(|view| {
            let mut counted: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
            Self::for_each_in_scope(view, &scope, |_, drawer| {
                let values = request.by.iter().map(|key| key.value_of(&drawer));
                *counted.entry(values.collect()).or_default() += 1;
                Ok(())
            })?;
            let facets = counted.into_iter();
            Ok(facets
                .map(|(values, drawers)| FacetCount { values, drawers })
                .collect())
        })
    }

    fn info(&self) -> Result<CollectionInfo> {
        let info = self
            .palace
            .with_loaded(|loaded, folder| loaded.collection_info(folder, &self.name))?;
        if self.visible.is_restricted() {
            return self.narrow_info(info);
        }
        Ok(info)
    }
}

impl Collection for ChromaCollection {
    fn apply(&self, _request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.with_view(|_| Ok(()))?;
        Err(refuse_write(&self.palace.folder))
    }

    fn model(&self) -> IdentityState {
        self.model.clone()
    }

    fn set_identity(&self, _identity: &EmbedderIdentity, _why: IdentityChange) -> Result<()> {
        // A closed palace reports that first, as every other call does.
        self.with_view(|_| Ok(()))?;
        Err(refuse_write(&self.palace.folder))
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        // Rows are read from the live database one by one, so
        // two reads may see two states: no moment is offered.
        self.with_view(|_| Ok(()))?;
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
