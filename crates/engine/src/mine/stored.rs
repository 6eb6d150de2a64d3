//! The stored drawers of a source.

use loci_core::{CollectionReader, Drawer, DrawerFields, DrawerId, DrawerPosition, GetRequest, Result};

use super::draft::source_filter;

/// The number of stored drawers read in one call.
const PAGE: usize = 512;

/// The stored drawers of a source, read without their texts and vectors.
pub(crate) struct StoredSource<'a> {
    collection: &'a dyn CollectionReader,
    source: String,
    /// The first page; all of them, unless the page is full.
    first: Vec<Drawer>,
}

impl<'a> StoredSource<'a> {
    /// Reads the first page.
    pub(crate) fn look_up(collection: &'a dyn CollectionReader, source: &str) -> Result<Self> {
        Ok(Self {
            collection,
            source: source.to_owned(),
            first: read_page(collection, source, None)?,
        })
    }

    /// Returns whether the source has no stored drawer.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Calls `each` with every drawer, in the order of their ids.
    pub(crate) fn for_each_drawer(&self, each: &mut dyn FnMut(&Drawer)) -> Result<()> {
        // Callers pass through the drawers several times. Most sources fit the first page, which is kept; the
        // pages of large ones are read each time rather than held in memory.
        self.first.iter().for_each(&mut *each);
        let full = |page: &[Drawer]| {
            page.last()
                .filter(|_| page.len() == PAGE)
                .map(|last| last.id.clone())
        };
        let mut after = full(&self.first);
        while after.is_some() {
            let page = read_page(self.collection, &self.source, after.take())?;
            page.iter().for_each(&mut *each);
            after = full(&page);
        }
        Ok(())
    }

    /// Calls `each` with the id and text of every one of these drawers.
    pub(crate) fn for_each_text(
        &self,
        ids: &[DrawerId],
        each: &mut dyn FnMut(&DrawerId, &str),
    ) -> Result<()> {
        for ids in ids.chunks(PAGE) {
            for drawer in self.collection.get(&GetRequest::by_ids(ids.iter().cloned()))? {
                each(&drawer.id, drawer.document.as_deref().unwrap_or_default());
            }
        }
        Ok(())
    }
}

fn read_page(
    collection: &dyn CollectionReader,
    source: &str,
    after: Option<DrawerId>,
) -> Result<Vec<Drawer>> {
    collection.get(&GetRequest {
        filter: source_filter(source),
        after: after.map(DrawerPosition::Id),
        limit: Some(PAGE),
        include: DrawerFields {
            metadata: true,
            context: true,
            ..DrawerFields::NOTHING
        },
        ..GetRequest::default()
    })
}

/// Returns whether a drawer was cut from its source by mining, rather than filed by hand under the source's name.
pub(crate) fn is_mined(drawer: &Drawer) -> bool {
    drawer.place.span.is_some()
        && drawer
            .metadata
            .as_ref()
            .is_some_and(|m| m.get("format").is_some())
}

/// Reads the drawers that mining cut from a source, without their texts.
pub(crate) fn read_mined_drawers(collection: &dyn CollectionReader, source: &str) -> Result<Vec<Drawer>> {
    let mut drawers = collection.get(&GetRequest {
        filter: source_filter(source),
        include: DrawerFields {
            metadata: true,
            ..DrawerFields::NOTHING
        },
        ..GetRequest::default()
    })?;
    drawers.retain(is_mined);
    Ok(drawers)
}
