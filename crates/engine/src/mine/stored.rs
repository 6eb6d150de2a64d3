//! What is stored of a source already.

use loci_core::{CollectionReader, Drawer, DrawerId, DrawerPosition, Get, Include, Result};

use super::draft::of_source;

/// How many stored drawers are looked at together.
const PAGE: usize = 512;

/// The stored drawers of a source, without their texts and vectors.
pub(crate) struct Stored<'a> {
    collection: &'a dyn CollectionReader,
    source: String,
    /// The first of them; all, unless they fill the page.
    first: Vec<Drawer>,
}

impl<'a> Stored<'a> {
    /// Looks them up.
    pub(crate) fn of(collection: &'a dyn CollectionReader, source: &str) -> Result<Self> {
        Ok(Self {
            collection,
            source: source.to_owned(),
            first: page(collection, source, None)?,
        })
    }

    /// Whether there are none.
    pub(crate) fn is_none(&self) -> bool {
        self.first.is_empty()
    }

    /// Calls `each` with every one, in the order of their ids.
    pub(crate) fn each(&self, each: &mut dyn FnMut(&Drawer)) -> Result<()> {
        self.first.iter().for_each(&mut *each);
        let full = |page: &[Drawer]| {
            page.last()
                .filter(|_| page.len() == PAGE)
                .map(|last| last.id.clone())
        };
        let mut after = full(&self.first);
        while after.is_some() {
            let page = page(self.collection, &self.source, after.take())?;
            page.iter().for_each(&mut *each);
            after = full(&page);
        }
        Ok(())
    }
}

fn page(collection: &dyn CollectionReader, source: &str, after: Option<DrawerId>) -> Result<Vec<Drawer>> {
    collection.get(&Get {
        filter: of_source(source),
        after: after.map(DrawerPosition::Id),
        limit: Some(PAGE),
        include: Include {
            metadata: true,
            context: true,
            ..Include::NOTHING
        },
        ..Get::default()
    })
}

/// Whether a drawer was cut from its source by mining, and not filed by hand under the source's name.
pub(crate) fn is_mined(drawer: &Drawer) -> bool {
    drawer.place.span.is_some()
        && drawer
            .metadata
            .as_ref()
            .is_some_and(|m| m.get("format").is_some())
}

/// The drawers that mining cut from a source, without their texts.
pub(crate) fn mined(collection: &dyn CollectionReader, source: &str) -> Result<Vec<Drawer>> {
    let mut drawers = collection.get(&Get {
        filter: of_source(source),
        include: Include {
            metadata: true,
            ..Include::NOTHING
        },
        ..Get::default()
    })?;
    drawers.retain(is_mined);
    Ok(drawers)
}
