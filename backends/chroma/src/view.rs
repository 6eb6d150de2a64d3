//! One collection at one moment, record by record in the byte order of ids.

use std::cell::RefCell;

use loci_core::{Drawer, DrawerFields, DrawerId, Metric, Result};
use loci_foreign::mempalace::SidecarFiles;
use loci_foreign::scan::{ScanMemory, ScannedRecords, strip_fields};

use crate::catalogue::has_rows;
use crate::drawer::RecordReader;
use crate::palace::CollectionContent;
use crate::shelf::RecordShelf;
use crate::sweep::TableSweep;

/// A collection that is being read.
pub(crate) enum CollectionView<'a> {
    /// The records of a Chroma collection.
    Shelf(RecordReader<'a>, &'a RecordShelf),
    /// The files beside the database.
    Sidecars(&'a SidecarFiles),
}

impl<'a> CollectionView<'a> {
    /// Creates a view of `content`.
    pub(crate) fn new(content: CollectionContent<'a>) -> Self {
        match content {
            CollectionContent::Sidecars(sidecars) => Self::Sidecars(sidecars),
            CollectionContent::Shelf(loaded, shelf) => {
                let salvaged = loaded.database.is_salvaged();
                let reader = RecordReader {
                    connection: &loaded.database.connection,
                    has_lists: loaded.schema.has_table("embedding_metadata_array")
                        && has_rows(&loaded.database.connection, "embedding_metadata_array"),
                    has_truths: loaded.schema.has_column("embedding_metadata", "bool_value"),
                    // In a sound database the full text may lag behind or
                    // hold deleted documents, so rows alone decide there.
                    has_spare_texts: salvaged && loaded.schema.has_table("embedding_fulltext_search_content"),
                    graph: shelf.graph.as_ref(),
                    set_aside: &shelf.set_aside,
                    dimension: shelf.dimension,
                };
                Self::Shelf(reader, shelf)
            }
        }
    }
}

impl ScannedRecords for CollectionView<'_> {
    fn count(&self) -> usize {
        match self {
            Self::Shelf(_, shelf) => shelf.records.len(),
            Self::Sidecars(sidecars) => sidecars.drawers.len(),
        }
    }

    fn in_row_order(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            // Not the order of ids: rows of neighbouring ids lie
            // far apart, and each read would fetch another page.
            Self::Shelf(_, shelf) => Box::new(shelf.row_order.iter().map(|at| *at as usize)),
            Self::Sidecars(sidecars) => Box::new(0..sidecars.drawers.len()),
        }
    }

    fn search_id(&self, id: &DrawerId) -> std::result::Result<usize, usize> {
        match self {
            Self::Shelf(_, shelf) => shelf.records.binary_search_by(|record| record.id.cmp(id)),
            Self::Sidecars(sidecars) => sidecars.drawers.binary_search_by(|drawer| drawer.id.cmp(id)),
        }
    }

    fn read_drawer(&self, at: usize, include: DrawerFields) -> Result<Drawer> {
        match self {
            Self::Shelf(reader, shelf) => match shelf.records.get(at) {
                Some(record) => reader.read_drawer(record, include),
                None => Err(loci_core::Error::invalid("the record does not exist")),
            },
            Self::Sidecars(sidecars) => match sidecars.drawers.get(at) {
                Some(drawer) => Ok(strip_fields(drawer.clone(), include)),
                None => Err(loci_core::Error::invalid("the record does not exist")),
            },
        }
    }

    fn read_text(&self, at: usize) -> Result<Option<String>> {
        match self {
            Self::Shelf(reader, shelf) => match shelf.records.get(at) {
                Some(record) => reader.read_document(record),
                None => Ok(None),
            },
            Self::Sidecars(sidecars) => Ok(sidecars
                .drawers
                .get(at)
                .and_then(|drawer| drawer.document.clone())),
        }
    }

    fn for_each_text(&self, each: &mut dyn FnMut(usize, &str) -> Result<()>) -> Result<()> {
        match self {
            Self::Shelf(reader, shelf) => TableSweep::new(reader, shelf)?.for_each_text(each),
            Self::Sidecars(sidecars) => {
                let texts = sidecars.drawers.iter().map(|drawer| drawer.document.as_deref());
                let mut held = texts.enumerate().filter_map(|(at, text)| Some((at, text?)));
                held.try_for_each(|(at, text)| each(at, text))
            }
        }
    }

    fn for_each_drawer(
        &self,
        include: DrawerFields,
        each: &mut dyn FnMut(usize, Drawer) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Shelf(reader, shelf) => TableSweep::new(reader, shelf)?.for_each_drawer(include, each),
            Self::Sidecars(sidecars) => {
                let mut all = sidecars.drawers.iter().cloned().enumerate();
                all.try_for_each(|(at, drawer)| each(at, strip_fields(drawer, include)))
            }
        }
    }

    fn memory(&self) -> Option<&RefCell<ScanMemory>> {
        match self {
            Self::Shelf(_, shelf) => Some(&shelf.memory),
            // A few files, read anew as fast as they are remembered.
            Self::Sidecars(_) => None,
        }
    }

    fn read_vector(&self, at: usize) -> Result<Option<Vec<f32>>> {
        match self {
            Self::Shelf(reader, shelf) => match shelf.records.get(at) {
                Some(record) => reader.read_vector(record),
                None => Ok(None),
            },
            Self::Sidecars(_) => Ok(None),
        }
    }

    fn dimension(&self) -> Option<usize> {
        match self {
            Self::Shelf(_, shelf) => shelf.dimension,
            Self::Sidecars(_) => None,
        }
    }

    fn metric(&self) -> Metric {
        match self {
            Self::Shelf(_, shelf) => shelf.listed.metric,
            Self::Sidecars(_) => Metric::default(),
        }
    }
}
