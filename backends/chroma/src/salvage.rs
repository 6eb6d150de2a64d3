//! Reading a torn `chroma.sqlite3` page by page, by our own code: every row that can still be read goes into a clean
//! file that is then read as if it were the original.
//!
//! A table is read from its root as far as its tree is whole. Leaves that no tree leads to any more are known by the
//! shape of their rows; of those, only tables that lost a part of their tree take any, and no page that the file lists
//! as unused. A row of a loose leaf may be one that was deleted, so such rows are counted apart. The damaged file is
//! only ever read, a page at a time; beside that, two bytes a page are kept in memory.

mod book;
mod layout;
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

use book::{Book, Losses};
use layout::Layout;
use loose::Open;
use pages::Pages;
use schema::{Entry, Schema};
use table::Table;
use target::Target;
use walk::Tree;

/// What was saved of a damaged file, and what was not.
#[derive(Debug)]
pub(crate) struct Salvage {
    /// The clean file, in `folder`.
    pub(crate) file: PathBuf,
    /// The private folder; it goes when this goes.
    pub(crate) _folder: TempDir,
    /// What could not be read.
    pub(crate) losses: Vec<Loss>,
    /// How many rows each table of the clean file has.
    pub(crate) saved: BTreeMap<String, u64>,
    /// How many of them lay on pages that no tree leads to. Some of these may be rows that were deleted.
    pub(crate) loose: BTreeMap<String, u64>,
    /// How many documents were put back from the copy that the full text keeps.
    pub(crate) restored: u64,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loss {
    /// The page where it lay.
    pub(crate) page: Option<u32>,
    /// The table it was a part of, as far as that is known.
    pub(crate) table: Option<String>,
    /// What is lost.
    pub(crate) message: String,
}

/// Puts everything that can still be read into a clean file. `log` is told how many pages are done, and of how many.
pub(crate) fn salvage(file: &File, log: &dyn Fn(u64, u64)) -> Result<Salvage> {
    let mut rescue = Rescue::new(file, log)?;
    let schema = rescue.schema()?;
    let open = rescue.tables(&schema)?;
    if !open.tables.is_empty() {
        rescue.loose_pages(&schema, &open)?;
    }
    rescue.finish()
}

/// A row, put together.
struct Row {
    page: u32,
    rowid: i64,
    payload: Vec<u8>,
}

/// A file being saved.
struct Rescue<'a> {
    pages: Pages<'a>,
    book: Book,
    losses: Losses,
    target: Target,
    loose: BTreeMap<String, u64>,
    /// Keys of metadata that hold arrays.
    array_keys: BTreeSet<Vec<u8>>,
    log: &'a dyn Fn(u64, u64),
}

impl<'a> Rescue<'a> {
    fn new(file: &'a File, log: &'a dyn Fn(u64, u64)) -> Result<Self> {
        let pages = Pages::open(file)?;
        let mut losses = Losses::default();
        if pages.rest > 0 {
            losses.add(
                Some(pages.count + 1),
                None,
                "the file ends in the middle of a page",
            );
        }
        let (book, target) = (Book::new(pages.count), Target::create()?);
        Ok(Self {
            pages,
            book,
            losses,
            target,
            loose: BTreeMap::new(),
            array_keys: BTreeSet::new(),
            log,
        })
    }

    /// Files the rows of all tables that have a root, and says which tables may have more.
    fn tables(&mut self, schema: &Schema) -> Result<Open> {
        let mut open = Open {
            tables: BTreeSet::new(),
            layouts: Vec::new(),
        };
        for table in Table::ALL {
            let entries = schema.of(table);
            let layouts = match entries.first() {
                Some(entry) => entry.layouts(table),
                None => Layout::known()
                    .into_iter()
                    .filter(|layout| layout.table == table)
                    .collect(),
            };
            let is_whole = match self.root(&entries, &layouts) {
                Some((entry, layout)) => self.table(entry, layout)? && (entry.is_sure || entries.len() == 1),
                None => entries.is_empty() && schema.is_complete && !table.is_in_every_release(),
            };
            if !is_whole {
                open.tables.insert(table);
            }
            open.layouts.extend(layouts);
        }
        Ok(open)
    }

    /// The entry whose root leads to rows of the table. One that the first page leads to needs no proof.
    fn root<'s>(&self, entries: &[&'s Entry], layouts: &'s [Layout]) -> Option<(&'s Entry, &'s Layout)> {
        let mut pairs = entries
            .iter()
            .flat_map(|entry| layouts.iter().map(move |layout| (*entry, layout)));
        let plausible = pairs
            .clone()
            .find(|(entry, layout)| self.is_plausible(entry, layout));
        plausible.or_else(|| pairs.find(|(entry, _)| entry.is_sure))
    }

    /// Files the rows of one table; says whether every leaf was reached that can still be read.
    fn table(&mut self, entry: &Entry, layout: &Layout) -> Result<bool> {
        self.target.make_room(layout)?;
        let tree = Tree {
            name: &entry.name,
            root: entry.root,
            is_table: true,
        };
        self.walk(&tree, &mut |rescue, leaf| rescue.file_leaf(layout, leaf))
    }

    /// Says how far it is, now and then.
    fn report(&self) {
        if self.book.claimed().is_multiple_of(1024) {
            (self.log)(self.book.claimed().into(), self.pages.count.into());
        }
    }

    fn finish(mut self) -> Result<Salvage> {
        let restored = self.target.complete()? as u64;
        let ownerless = self.target.ownerless()?;
        if ownerless > 0 {
            let message = format!("{ownerless} rows are of a collection that was lost, or of a segment");
            self.losses.add(None, Some("collection_metadata"), message);
        }
        let saved = self.target.counts()?;
        let (folder, file) = self.target.finish()?;
        (self.log)(self.pages.count.into(), self.pages.count.into());
        Ok(Salvage {
            file,
            _folder: folder,
            losses: self.losses.finish(),
            saved,
            loose: self.loose,
            restored,
        })
    }
}
