//! Leaves that no tree leads to any more: which are unused, which table the others belong to, and their rows.

use std::collections::BTreeSet;

use loci_core::Result;

use super::layout::Layout;
use super::node::{Cell, Kind};
use super::record::{Value, columns, page_number, start};
use super::schema::Schema;
use super::table::Table;
use super::walk::{Leaf, Tree};
use super::{Rescue, Row};

/// How many rows of a leaf are asked which table they are of.
const ASKED: usize = 32;

/// How many keys of arrays are remembered.
const MOST_KEYS: usize = 10_000;

/// Tables some of whose leaves may be loose.
pub(super) struct Open {
    pub(super) tables: BTreeSet<Table>,
    /// How rows of each table lie, open or not.
    pub(super) layouts: Vec<Layout>,
}

impl<'a> Rescue<'a> {
    /// Files what is on pages that no tree leads to.
    pub(super) fn loose_pages(&mut self, schema: &Schema, open: &Open) -> Result<()> {
        self.claim_others(schema, &open.layouts)?;
        let all_free_known = self.free_pages();
        self.each_loose_leaf(&mut |rescue, leaf| {
            rescue.mark_spills(leaf);
            rescue.learn_array_keys(leaf);
            Ok(())
        })?;
        self.each_loose_leaf(
            &mut |rescue, leaf| match rescue.table_of(open, leaf, all_free_known) {
                Some(layout) => rescue.file_loose(layout, leaf),
                None => Ok(()),
            },
        )
    }

    /// Claims the pages of indexes and of tables that are not saved. A name may be damaged, so a table that is not known
    /// to look like a saved one must not do so.
    fn claim_others(&mut self, schema: &Schema, layouts: &[Layout]) -> Result<()> {
        for entry in &schema.entries {
            if entry.is_table && Table::named(&entry.name).is_some() {
                continue;
            }
            let tree = Tree {
                name: &entry.name,
                root: entry.root,
                is_table: entry.is_kept_as_table(),
            };
            let is_lookalike = entry.name == "segment_metadata";
            let before = self.losses.count();
            self.walk(&tree, &mut |rescue, leaf| {
                let taken = !tree.is_table || is_lookalike || rescue.votes(layouts, leaf).is_empty();
                for cell in leaf.node.cells.iter().filter(|_| taken) {
                    rescue.claim_spill(cell);
                }
                Ok(taken)
            })?;
            self.losses.forget_after(before);
        }
        Ok(())
    }

    /// Notes the pages that the file lists as unused, and says whether the list is whole.
    fn free_pages(&mut self) -> bool {
        let whole = self
            .pages
            .free_list()
            .is_some_and(|(first, count)| self.free_chain(first, count));
        if !whole {
            self.losses.add(
                None,
                None,
                "the list of unused pages is damaged: some rows may be deleted ones",
            );
            self.free_by_shape();
        }
        whole
    }

    fn free_chain(&mut self, first: u32, count: u32) -> bool {
        let mut page = Vec::new();
        let mut next = first;
        let mut found: u32 = 0;
        while next != 0 {
            if self.book.is_claimed(next) || self.pages.read(next, &mut page).is_err() {
                return false;
            }
            let Some(trunk) = self.trunk(next, &page).filter(|_| self.book.set_free(next)) else {
                return false;
            };
            let fresh = trunk
                .leaves
                .iter()
                .filter(|leaf| self.book.set_free(**leaf))
                .count();
            found += 1 + u32::try_from(fresh).unwrap_or(0);
            next = trunk.next;
        }
        found == count
    }

    /// Without the first page, the pages that list others as unused are known by their look.
    fn free_by_shape(&mut self) {
        let mut page = Vec::new();
        for number in 2..=self.pages.count {
            if !self.book.is_loose(number) || self.pages.read(number, &mut page).is_err() {
                continue;
            }
            let Some(trunk) = self.trunk(number, &page).filter(|trunk| !trunk.leaves.is_empty()) else {
                continue;
            };
            for page in trunk.leaves.into_iter().chain([number]) {
                self.book.set_free(page);
            }
        }
    }

    /// Reads a page that lists unused pages; `None` where it names a page that is in use, or one twice.
    fn trunk(&self, number: u32, page: &[u8]) -> Option<Trunk> {
        let next = page_number(page, 0)?;
        let count = usize::try_from(page_number(page, 4)?).ok()?;
        if count > self.pages.usable / 4 - 2 || (next != 0 && !self.pages.holds(next)) {
            return None;
        }
        let leaves: Option<Vec<u32>> = (0..count).map(|index| page_number(page, 8 + 4 * index)).collect();
        let leaves = leaves?;
        let possible =
            |leaf: &u32| self.pages.holds(*leaf) && *leaf != number && !self.book.is_claimed(*leaf);
        let distinct: BTreeSet<_> = leaves.iter().collect();
        (leaves.iter().all(possible) && distinct.len() == leaves.len()).then_some(Trunk { next, leaves })
    }

    fn each_loose_leaf(&mut self, visit: &mut dyn FnMut(&mut Self, &Leaf<'_>) -> Result<()>) -> Result<()> {
        let mut page = Vec::new();
        for number in 2..=self.pages.count {
            if !self.book.is_loose(number) {
                continue;
            }
            let node = self.pages.node(number, &mut page);
            if let Some(node) = node.filter(|node| node.kind == Kind::TableLeaf) {
                visit(
                    self,
                    &Leaf {
                        number,
                        page: &page,
                        node: &node,
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Notes which pages the rows of a loose leaf spill over to, so that two rows that share one are found out.
    fn mark_spills(&mut self, leaf: &Leaf<'_>) {
        for cell in &leaf.node.cells {
            let local = local(leaf, cell);
            if cell
                .overflow
                .is_some_and(|first| !self.book.is_marked(first, local, cell.rowid))
            {
                let book = &mut self.book;
                let _ = self
                    .pages
                    .spill(cell, &mut |page| book.mark(page, local, cell.rowid), &mut |_| {});
            }
        }
    }

    /// A row of a loose leaf, if every page it spills over to is its alone.
    fn loose_row(&self, leaf: &Leaf<'_>, cell: &Cell) -> std::result::Result<Row, String> {
        let local = local(leaf, cell);
        let own = &mut |page| self.book.is_marked(page, local, cell.rowid);
        let payload = self.pages.payload(leaf.page, cell, own)?;
        Ok(Row {
            page: leaf.number,
            rowid: cell.rowid,
            payload,
        })
    }

    /// The open table that a loose leaf is a part of.
    fn table_of<'o>(&self, open: &'o Open, leaf: &Leaf<'_>, all_free_known: bool) -> Option<&'o Layout> {
        let votes = self.votes(&open.layouts, leaf);
        let most = votes.iter().map(|(_, count)| *count).max()?;
        let (index, _) = votes.iter().find(|(_, count)| *count == most)?;
        let layout = open.layouts.get(*index)?;
        let table = match layout.table {
            Table::EmbeddingMetadata | Table::EmbeddingMetadataArray => {
                self.kind_of_metadata(open, leaf, all_free_known)?
            }
            table => table,
        };
        let asked = leaf.node.cells.len().min(ASKED);
        let taken = open.tables.contains(&table) && most > asked;
        let fitting = |layout: &&Layout| layout.table == table;
        if layout.table == table {
            Some(layout).filter(|_| taken)
        } else {
            open.layouts.iter().find(fitting).filter(|_| taken)
        }
    }

    /// How much the first rows speak for each layout: two or three for each that is a usual row of it. Layouts with
    /// none are left out.
    fn votes(&self, layouts: &[Layout], leaf: &Leaf<'_>) -> Vec<(usize, usize)> {
        let mut votes: Vec<_> = layouts.iter().enumerate().map(|(index, _)| (index, 0)).collect();
        for cell in leaf.node.cells.iter().take(ASKED) {
            let Ok(payload) = self.pages.payload(leaf.page, cell, &mut |_| true) else {
                continue;
            };
            let Some(values) = columns(&payload) else { continue };
            for ((_, count), layout) in votes.iter_mut().zip(layouts) {
                if layout.is_usual(&values) {
                    // Of two tables, the one with as many columns is the likelier.
                    *count += 2 + usize::from(values.len() == layout.columns.len());
                }
            }
        }
        votes.retain(|(_, count)| *count > 0);
        votes
    }

    /// Rows of arrays look like other metadata, but an array has several with one id and key.
    fn kind_of_metadata(&self, open: &Open, leaf: &Leaf<'_>, all_free_known: bool) -> Option<Table> {
        let keys = self.keys(leaf);
        let is_array = repeats(&keys) || keys.iter().all(|(_, key)| self.array_keys.contains(key));
        if is_array {
            Some(Table::EmbeddingMetadataArray)
        } else if open.tables.contains(&Table::EmbeddingMetadata) {
            Some(Table::EmbeddingMetadata)
        } else {
            Some(Table::EmbeddingMetadataArray).filter(|_| all_free_known)
        }
    }

    /// Notes under which keys arrays are kept, for leaves that hold only the last row of one.
    fn learn_array_keys(&mut self, leaf: &Leaf<'_>) {
        let keys = self.keys(leaf);
        if repeats(&keys) && self.array_keys.len() < MOST_KEYS {
            self.array_keys.extend(keys.into_iter().map(|(_, key)| key));
        }
    }

    /// The ids and keys of rows that may be metadata.
    fn keys(&self, leaf: &Leaf<'_>) -> Vec<(i64, Vec<u8>)> {
        let key = |cell: &Cell| {
            let local = local(leaf, cell);
            match start(local)?.as_slice() {
                [Value::Int(id), Value::Text(key), ..] => Some((*id, key.to_vec())),
                _ => None,
            }
        };
        leaf.node.cells.iter().filter_map(key).collect()
    }

    fn file_loose(&mut self, layout: &Layout, leaf: &Leaf<'_>) -> Result<()> {
        self.target.make_room(layout)?;
        for cell in &leaf.node.cells {
            let row = match self.loose_row(leaf, cell) {
                Ok(row) => row,
                Err(fault) => {
                    self.lose_row(layout, leaf.number, cell.rowid, &fault);
                    continue;
                }
            };
            let Some(values) = columns(&row.payload).filter(|values| layout.is_usual(values)) else {
                self.lose_row(layout, leaf.number, cell.rowid, "it does not fit its table");
                continue;
            };
            if self.target.file(layout, row.rowid, &values)? {
                *self.loose.entry(layout.table.name().to_owned()).or_default() += 1;
                self.check_texts(layout, &row, &values);
            }
        }
        Ok(())
    }
}

/// Whether two rows in a row have one id and key.
fn repeats(keys: &[(i64, Vec<u8>)]) -> bool {
    keys.windows(2).any(|pair| pair.first() == pair.last())
}

/// A page that lists unused pages.
struct Trunk {
    next: u32,
    leaves: Vec<u32>,
}

fn local<'p>(leaf: &Leaf<'p>, cell: &Cell) -> &'p [u8] {
    leaf.page.get(cell.local.clone()).unwrap_or_default()
}
