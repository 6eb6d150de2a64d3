//! Salvages a damaged `chroma.sqlite3` page by page, without SQLite: every readable row is copied into a clean file,
//! which is then read in place of the original.
//!
//! A table is read from its root as far as its tree is intact. Leaves that no tree references are recognised by the
//! shape of their rows; they are used only for tables that lost a part of their tree, and never if the file lists the
//! page as unused. Pages in the log beside the file replace those in the file. A row of a loose leaf may have been deleted, so such rows are counted separately. The damaged file
//! is only ever read, one page at a time; memory use beyond that is two bytes for each page.

mod layout;
mod ledger;
mod log;
mod loose;
mod node;
mod pages;
mod record;
mod schema;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;

use loci_core::Result;
use tempfile::TempDir;

use layout::RowLayout;
use ledger::{LossList, PageLedger};
use log::LogPages;
use loose::OpenTables;
use pages::DamagedPages;
use schema::{SalvagedSchema, SchemaEntry};
use table::ChromaTable;
use target::CleanFile;
use walk::BtreeRoot;

/// The salvaged rows of a damaged file, and the losses.
#[derive(Debug)]
pub(crate) struct SalvagedDatabase {
    /// The clean file, in `folder`.
    pub(crate) file: PathBuf,
    /// The private folder, deleted when this value is dropped.
    pub(crate) _folder: TempDir,
    /// The parts that could not be read.
    pub(crate) losses: Vec<SalvageLoss>,
    /// The number of rows in each table of the clean file.
    pub(crate) saved_rows: BTreeMap<String, u64>,
    /// The number of those that lay on pages no tree references. Some of them may have been deleted.
    pub(crate) loose_rows: BTreeMap<String, u64>,
    /// The number of documents that were restored from the copy in the full text.
    pub(crate) restored_documents: u64,
    /// The number of pages that were read from the log beside the file.
    pub(crate) log_pages: u64,
}

/// A part that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SalvageLoss {
    /// The page it was on.
    pub(crate) page: Option<u32>,
    /// The table it belonged to, if known.
    pub(crate) table: Option<String>,
    /// A description of the loss.
    pub(crate) message: String,
}

/// Copies every readable row of a file and the log beside it into a clean file. `progress` receives the number of
/// pages done and the total.
pub(crate) fn salvage_database(
    file: &File,
    beside: Option<&File>,
    progress: &dyn Fn(u64, u64),
) -> Result<SalvagedDatabase> {
    let log = beside.and_then(LogPages::read);
    let mut rescue = DatabaseRescue::new(DamagedPages::open(file, log.as_ref())?, progress)?;
    let schema = rescue.read_schema()?;
    let open = rescue.file_tables(&schema)?;
    // If every tree is intact, a loose leaf can only be garbage.
    if !open.tables.is_empty() {
        rescue.file_loose_pages(&schema, &open)?;
    }
    rescue.finish()
}

/// A row, assembled from its pages.
struct SalvagedRow {
    page: u32,
    rowid: i64,
    payload: Vec<u8>,
}

/// A salvage in progress.
struct DatabaseRescue<'a> {
    pages: DamagedPages<'a>,
    ledger: PageLedger,
    losses: LossList,
    target: CleanFile,
    loose: BTreeMap<String, u64>,
    /// The metadata keys that hold arrays.
    array_keys: BTreeSet<Vec<u8>>,
    progress: &'a dyn Fn(u64, u64),
}

impl<'a> DatabaseRescue<'a> {
    fn new(pages: DamagedPages<'a>, progress: &'a dyn Fn(u64, u64)) -> Result<Self> {
        let mut losses = LossList::default();
        if pages.rest > 0 {
            losses.add(
                Some(pages.count + 1),
                None,
                "the file ends in the middle of a page",
            );
        }
        if let Some(frame) = pages.used_log().and_then(|log| log.damaged) {
            let message =
                format!("the log beside the file is damaged at frame {frame}; its other frames were used");
            losses.add(None, None, message);
        }
        let (book, target) = (PageLedger::new(pages.count), CleanFile::create()?);
        Ok(Self {
            pages,
            ledger: book,
            losses,
            target,
            loose: BTreeMap::new(),
            array_keys: BTreeSet::new(),
            progress,
        })
    }

    /// Copies the rows of all tables with a root, and returns the tables that may have more.
    fn file_tables(&mut self, schema: &SalvagedSchema) -> Result<OpenTables> {
        let mut open = OpenTables {
            tables: BTreeSet::new(),
            layouts: Vec::new(),
        };
        for table in ChromaTable::ALL {
            let entries = schema.entries_for(table);
            // The statement in the schema names the columns of this
            // very file; only without it must all releases be tried.
            let layouts = match entries.first() {
                Some(entry) => entry.row_layouts(table),
                None => RowLayout::known_layouts()
                    .into_iter()
                    .filter(|layout| layout.table == table)
                    .collect(),
            };
            // Several leftover entries of one name are old versions
            // of the schema, and the chosen one may be stale.
            let is_whole = match self.choose_root(&entries, &layouts) {
                Some((entry, layout)) => {
                    self.file_table(entry, layout)? && (entry.is_sure || entries.len() == 1)
                }
                None => entries.is_empty() && schema.is_complete && !table.is_in_every_release(),
            };
            if !is_whole {
                open.tables.insert(table);
            }
            open.layouts.extend(layouts);
        }
        Ok(open)
    }

    /// Returns the entry whose root leads to rows of the table. An entry that the first page references needs no
    /// proof.
    fn choose_root<'s>(
        &self,
        entries: &[&'s SchemaEntry],
        layouts: &'s [RowLayout],
    ) -> Option<(&'s SchemaEntry, &'s RowLayout)> {
        let mut pairs = entries
            .iter()
            .flat_map(|entry| layouts.iter().map(move |layout| (*entry, layout)));
        let plausible = pairs
            .clone()
            .find(|(entry, layout)| self.is_plausible(entry, layout));
        plausible.or_else(|| pairs.find(|(entry, _)| entry.is_sure))
    }

    /// Copies the rows of one table, and returns whether every readable leaf was reached.
    fn file_table(&mut self, entry: &SchemaEntry, layout: &RowLayout) -> Result<bool> {
        self.target.ensure_table(layout)?;
        let tree = BtreeRoot {
            name: &entry.name,
            root: entry.root,
            is_table: true,
        };
        self.walk_tree(&tree, &mut |rescue, leaf| rescue.file_leaf(layout, leaf))
    }

    /// Reports the progress now and then.
    fn report_progress(&self) {
        if self.ledger.claimed_count().is_multiple_of(1024) {
            (self.progress)(self.ledger.claimed_count().into(), self.pages.count.into());
        }
    }

    fn finish(mut self) -> Result<SalvagedDatabase> {
        let restored = self.target.complete_tables()? as u64;
        let ownerless = self.target.count_ownerless()?;
        if ownerless > 0 {
            let message = format!("{ownerless} rows belong to a lost collection or to a segment");
            self.losses.add(None, Some("collection_metadata"), message);
        }
        let saved = self.target.count_rows()?;
        let (folder, file) = self.target.close_file()?;
        (self.progress)(self.pages.count.into(), self.pages.count.into());
        Ok(SalvagedDatabase {
            file,
            _folder: folder,
            losses: self.losses.into_losses(),
            saved_rows: saved,
            loose_rows: self.loose,
            restored_documents: restored,
            log_pages: self.pages.used_log().map_or(0, LogPages::page_count),
        })
    }
}
