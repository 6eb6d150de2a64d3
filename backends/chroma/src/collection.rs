//! A collection of a Chroma folder, read through the contract: exact answers from what is there now.

use std::collections::BTreeMap;
use std::sync::Arc;

use loci_core::{
    Capability, Changes, Collection, CollectionInfo, CollectionName, Cursor, Descriptor, DocumentFilter,
    Drawer, EmbedderIdentity, Error, ErrorKind, Facet, Facets, Filter, Get, Hit, IdentityChange, Include,
    Lexical, MaintenanceKind, MaintenanceReport, MaintenanceState, Query, Receipt, Result, Write,
};

use crate::backend::takes_no_writes;
use crate::palace::Palace;
use crate::search::{self, Words};
use crate::view::View;

/// A handle on one collection.
#[derive(Debug)]
pub(crate) struct ChromaCollection {
    pub(crate) descriptor: Arc<Descriptor>,
    pub(crate) palace: Arc<Palace>,
    pub(crate) name: CollectionName,
}

/// What decides whether a drawer counts.
pub(crate) struct Scope<'a> {
    pub(crate) filter: &'a Filter,
    pub(crate) document: &'a DocumentFilter,
}

impl Scope<'_> {
    /// Whether every drawer counts.
    pub(crate) fn is_all(&self) -> bool {
        self.filter.is_all() && self.document.is_all()
    }

    /// What must be read of a drawer to tell.
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

/// Takes away what was read only to tell whether a drawer counts.
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

    fn by_id(view: &View<'_>, request: &Get, ids: &[loci_core::DrawerId]) -> Result<Vec<Drawer>> {
        let scope = Scope {
            filter: &request.filter,
            document: &request.document,
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut found = Vec::new();
        for id in ids.iter().filter(|id| seen.insert((*id).clone())) {
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

    fn in_order(view: &View<'_>, request: &Get) -> Result<Vec<Drawer>> {
        let scope = Scope {
            filter: &request.filter,
            document: &request.document,
        };
        let first = request.after.as_ref().map_or(0, |after| view.behind(after));
        let limit = request.limit.unwrap_or(usize::MAX);
        // Where everything counts, what is left out first need not be read.
        let (first, mut left_out) = match scope.is_all() {
            true => (first.saturating_add(request.offset), 0),
            false => (first, request.offset),
        };
        let mut found = Vec::new();
        for at in first..view.len() {
            if found.len() >= limit {
                break;
            }
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
}

impl Collection for ChromaCollection {
    fn apply(&self, _batch: &[Write]) -> Result<Receipt> {
        self.look(|_| Ok(()))?;
        Err(takes_no_writes(&self.palace.folder))
    }

    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        request.check()?;
        self.look(|view| match &request.ids {
            Some(ids) => Self::by_id(view, request, ids),
            None => Self::in_order(view, request),
        })
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        self.look(|view| {
            request.check(view.dimension())?;
            search::nearest(view, request)
        })
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        request.check()?;
        let words = Words::of(&request.words);
        self.look(|view| search::lexical(view, request, &words))
    }

    fn count(&self, filter: &Filter) -> Result<u64> {
        self.look(|view| {
            if filter.is_all() {
                return Ok(view.len() as u64);
            }
            let mut count = 0;
            let include = Include {
                metadata: true,
                ..Include::NOTHING
            };
            for at in view.as_they_lie() {
                count += u64::from(filter.accepts(&view.drawer(at, include)?));
            }
            Ok(count)
        })
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        request.check()?;
        let include = Include {
            metadata: !request.filter.is_all(),
            ..Include::NOTHING
        };
        self.look(|view| {
            let mut counted: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
            for at in view.as_they_lie() {
                let drawer = view.drawer(at, include)?;
                if request.filter.accepts(&drawer) {
                    let values = request
                        .by
                        .iter()
                        .map(|key| drawer.place.text(key.name()).map(str::to_owned));
                    *counted.entry(values.collect()).or_default() += 1;
                }
            }
            let facets = counted.into_iter();
            Ok(facets
                .map(|(values, drawers)| Facet { values, drawers })
                .collect())
        })
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.palace.with(|loaded, folder| loaded.info(folder, &self.name))
    }

    fn set_identity(&self, _identity: &EmbedderIdentity, _why: IdentityChange) -> Result<()> {
        self.look(|_| Ok(()))?;
        Err(takes_no_writes(&self.palace.folder))
    }

    fn maintenance(&self) -> Result<MaintenanceState> {
        self.look(|_| Ok(MaintenanceState::default()))
    }

    fn maintain(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport> {
        self.look(|_| Ok(()))?;
        let message = format!("the backend \"chroma\" does not offer the maintenance {kind}");
        Err(Error::new(ErrorKind::Unsupported, message)
            .hint("nothing was changed; `loci doctor` mends Chroma folders"))
    }

    fn changes_since(&self, _cursor: Cursor, _limit: usize) -> Result<Changes> {
        self.look(|_| Ok(()))?;
        self.descriptor.require(&Capability::ChangeFeed)?;
        Err(takes_no_writes(&self.palace.folder))
    }
}
