//! One collection at one moment, record by record in byte order of ids.

use loci_core::{Drawer, DrawerId, Include, Metric, Result};

use crate::drawer::Reader;
use crate::palace::Content;
use crate::shelf::Shelf;
use crate::sidecars::Sidecars;

/// A collection that is being read.
pub(crate) enum View<'a> {
    /// Records of Chroma's.
    Shelf(Reader<'a>, &'a Shelf),
    /// Files beside the database.
    Sidecars(&'a Sidecars),
}

impl<'a> View<'a> {
    /// A look at `content`.
    pub(crate) fn of(content: Content<'a>) -> Self {
        match content {
            Content::Sidecars(sidecars) => Self::Sidecars(sidecars),
            Content::Shelf(loaded, shelf) => {
                let salvaged = loaded.database.is_salvaged();
                let reader = Reader {
                    connection: &loaded.database.connection,
                    has_lists: loaded.schema.has("embedding_metadata_array"),
                    has_truths: loaded.schema.has_column("embedding_metadata", "bool_value"),
                    spare_texts: salvaged && loaded.schema.has("embedding_fulltext_search_content"),
                    graph: shelf.graph.as_ref(),
                    aside: &shelf.aside,
                    dimension: shelf.dimension,
                };
                Self::Shelf(reader, shelf)
            }
        }
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Shelf(_, shelf) => shelf.records.len(),
            Self::Sidecars(sidecars) => sidecars.drawers.len(),
        }
    }

    /// Every record, in the order that is quickest to read.
    pub(crate) fn as_they_lie(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            Self::Shelf(_, shelf) => Box::new(shelf.as_they_lie.iter().map(|at| *at as usize)),
            Self::Sidecars(sidecars) => Box::new(0..sidecars.drawers.len()),
        }
    }

    /// Which record is called `id`.
    pub(crate) fn position(&self, id: &DrawerId) -> Option<usize> {
        self.search(id).ok()
    }

    /// The first record behind `id`, whether that is there or not.
    pub(crate) fn behind(&self, id: &DrawerId) -> usize {
        match self.search(id) {
            Ok(at) => at + 1,
            Err(at) => at,
        }
    }

    fn search(&self, id: &DrawerId) -> std::result::Result<usize, usize> {
        match self {
            Self::Shelf(_, shelf) => shelf.records.binary_search_by(|record| record.id.cmp(id)),
            Self::Sidecars(sidecars) => sidecars.drawers.binary_search_by(|drawer| drawer.id.cmp(id)),
        }
    }

    /// A record as a drawer.
    pub(crate) fn drawer(&self, at: usize, include: Include) -> Result<Drawer> {
        match self {
            Self::Shelf(reader, shelf) => match shelf.records.get(at) {
                Some(record) => reader.drawer(record, include),
                None => Err(loci_core::Error::invalid("there is no such record")),
            },
            Self::Sidecars(sidecars) => match sidecars.drawers.get(at) {
                Some(drawer) => Ok(crate::collection::shown(drawer.clone(), include)),
                None => Err(loci_core::Error::invalid("there is no such record")),
            },
        }
    }

    /// A record's vector.
    pub(crate) fn vector(&self, at: usize) -> Result<Option<Vec<f32>>> {
        match self {
            Self::Shelf(reader, shelf) => match shelf.records.get(at) {
                Some(record) => reader.vector(record),
                None => Ok(None),
            },
            Self::Sidecars(_) => Ok(None),
        }
    }

    /// How many values vectors have.
    pub(crate) fn dimension(&self) -> Option<usize> {
        match self {
            Self::Shelf(_, shelf) => shelf.dimension,
            Self::Sidecars(_) => None,
        }
    }

    /// How vectors are compared.
    pub(crate) fn metric(&self) -> Metric {
        match self {
            Self::Shelf(_, shelf) => shelf.listed.metric,
            Self::Sidecars(_) => Metric::default(),
        }
    }
}
