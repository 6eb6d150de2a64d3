//! Leaves that no tree references: separates unused ones, assigns the others to tables, and copies their rows.

use std::collections::BTreeSet;

use loci_core::Result;

use super::layout::RowLayout;
use super::node::{PageCell, PageKind};
use super::record::{ColumnValue, parse_columns, parse_leading_columns, read_page_number};
use super::schema::SalvagedSchema;
use super::table::ChromaTable;
use super::walk::{BtreeRoot, TreeLeaf};
use super::{DatabaseRescue, SalvagedRow};

/// The number of rows of a leaf that vote for its table.
const MOST_VOTERS: usize = 32;

/// The most array keys that are remembered.
const MOST_KEYS: usize = 10_000;

/// The tables that may have loose leaves.
pub(super) struct OpenTables {
    pub(super) tables: BTreeSet<ChromaTable>,
    /// The layouts of all tables, open or not.
    pub(super) layouts: Vec<RowLayout>,
}

impl<'a> DatabaseRescue<'a> {
    /// Copies the rows on pages that no tree references.
    pub(super) fn file_loose_pages(&mut self, schema: &SalvagedSchema, open: &OpenTables) -> Result<()> {
        // The order matters: a page is loose only once indexes,
        // other tables and the list of unused pages had theirs.
        self.claim_others(schema, &open.layouts)?;
        let all_free_known = self.mark_free_pages();
        // Two passes: only after all rows have marked their
        // overflow pages is it known which pages are contested.
        self.for_each_loose_leaf(&mut |rescue, leaf| {
            rescue.mark_spills(leaf);
            rescue.learn_array_keys(leaf);
            Ok(())
        })?;
        self.for_each_loose_leaf(
            &mut |rescue, leaf| match rescue.choose_table(open, leaf, all_free_known) {
                Some(layout) => rescue.file_loose_leaf(layout, leaf),
                None => Ok(()),
            },
        )
    }

    /// Claims the pages of indexes and of tables that are not salvaged. A name may be damaged, so a leaf that looks
    /// like one of a salvaged table is not claimed.
    fn claim_others(&mut self, schema: &SalvagedSchema, layouts: &[RowLayout]) -> Result<()> {
        for entry in &schema.entries {
            if entry.is_table && ChromaTable::from_name(&entry.name).is_some() {
                continue;
            }
            let tree = BtreeRoot {
                name: &entry.name,
                root: entry.root,
                is_table: entry.is_kept_as_table(),
            };
            // Its rows have the shape of `collection_metadata`, but by name it is known to be another table.
            let is_lookalike = entry.name == "segment_metadata";
            let before = self.losses.count();
            self.walk_tree(&tree, &mut |rescue, leaf| {
                let taken = !tree.is_table || is_lookalike || rescue.count_votes(layouts, leaf).is_empty();
                for cell in leaf.node.cells.iter().filter(|_| taken) {
                    rescue.claim_spill(cell);
                }
                Ok(taken)
            })?;
            // Damage in an index or in a table that is not salvaged loses nothing.
            self.losses.forget_after(before);
        }
        Ok(())
    }

    /// Marks the pages that the file lists as unused, and returns whether the list is intact.
    fn mark_free_pages(&mut self) -> bool {
        let whole = self
            .pages
            .read_free_list()
            .is_some_and(|(first, count)| self.follow_free_list(first, count));
        if !whole {
            self.losses.add(
                None,
                None,
                "the list of unused pages is damaged: some rows may have been deleted before",
            );
            self.find_free_by_shape();
        }
        whole
    }

    fn follow_free_list(&mut self, first: u32, count: u32) -> bool {
        let mut page = Vec::new();
        let mut next = first;
        let mut found: u32 = 0;
        while next != 0 {
            if self.ledger.is_claimed(next) || self.pages.read(next, &mut page).is_err() {
                return false;
            }
            let Some(trunk) = self
                .read_trunk(next, &page)
                .filter(|_| self.ledger.set_free(next))
            else {
                return false;
            };
            // Every page may be listed once: a cycle in the list
            // ends at the first trunk that is already marked.
            let fresh = trunk
                .leaves
                .iter()
                .filter(|leaf| self.ledger.set_free(**leaf))
                .count();
            found += 1 + u32::try_from(fresh).unwrap_or(0);
            next = trunk.next;
        }
        found == count
    }

    /// Finds the trunk pages of the list of unused pages by their shape, for files without a first page.
    fn find_free_by_shape(&mut self) {
        let mut page = Vec::new();
        for number in 2..=self.pages.count {
            if !self.ledger.is_loose(number) || self.pages.read(number, &mut page).is_err() {
                continue;
            }
            let Some(trunk) = self
                .read_trunk(number, &page)
                .filter(|trunk| !trunk.leaves.is_empty())
            else {
                continue;
            };
            for page in trunk.leaves.into_iter().chain([number]) {
                self.ledger.set_free(page);
            }
        }
    }

    /// Reads a trunk page of the list of unused pages. Returns `None` if it names a page in use, or a page twice.
    fn read_trunk(&self, number: u32, page: &[u8]) -> Option<FreeListTrunk> {
        let next = read_page_number(page, 0)?;
        let count = usize::try_from(read_page_number(page, 4)?).ok()?;
        // A trunk holds the next trunk and a count of four bytes each, then four bytes for each leaf.
        if count > self.pages.usable / 4 - 2 || (next != 0 && !self.pages.contains_page(next)) {
            return None;
        }
        let leaves: Option<Vec<u32>> = (0..count)
            .map(|index| read_page_number(page, 8 + 4 * index))
            .collect();
        let leaves = leaves?;
        let possible =
            |leaf: &u32| self.pages.contains_page(*leaf) && *leaf != number && !self.ledger.is_claimed(*leaf);
        let distinct: BTreeSet<_> = leaves.iter().collect();
        (leaves.iter().all(possible) && distinct.len() == leaves.len())
            .then_some(FreeListTrunk { next, leaves })
    }

    fn for_each_loose_leaf(
        &mut self,
        visit: &mut dyn FnMut(&mut Self, &TreeLeaf<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut page = Vec::new();
        for number in 2..=self.pages.count {
            if !self.ledger.is_loose(number) {
                continue;
            }
            let node = self.pages.read_node(number, &mut page);
            if let Some(node) = node.filter(|node| node.kind == PageKind::TableLeaf) {
                visit(
                    self,
                    &TreeLeaf {
                        number,
                        page: &page,
                        node: &node,
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Marks the overflow pages of the rows of a loose leaf, so that two rows sharing one are detected.
    fn mark_spills(&mut self, leaf: &TreeLeaf<'_>) {
        for cell in &leaf.node.cells {
            let local = local_bytes(leaf, cell);
            if cell
                .overflow
                .is_some_and(|first| !self.ledger.is_marked(first, local, cell.rowid))
            {
                let book = &mut self.ledger;
                let _ = self.pages.follow_spill(
                    cell,
                    &mut |page| book.mark_spill(page, local, cell.rowid),
                    &mut |_| {},
                );
            }
        }
    }

    /// Reads a row of a loose leaf, if every overflow page belongs to it alone.
    fn read_loose_row(
        &self,
        leaf: &TreeLeaf<'_>,
        cell: &PageCell,
    ) -> std::result::Result<SalvagedRow, String> {
        let local = local_bytes(leaf, cell);
        let own = &mut |page| self.ledger.is_marked(page, local, cell.rowid);
        let payload = self.pages.read_payload(leaf.page, cell, own)?;
        Ok(SalvagedRow {
            page: leaf.number,
            rowid: cell.rowid,
            payload,
        })
    }

    /// Returns the layout of the open table that a loose leaf belongs to.
    fn choose_table<'o>(
        &self,
        open: &'o OpenTables,
        leaf: &TreeLeaf<'_>,
        all_free_known: bool,
    ) -> Option<&'o RowLayout> {
        let votes = self.count_votes(&open.layouts, leaf);
        let most = votes.iter().map(|(_, count)| *count).max()?;
        let (index, _) = votes.iter().find(|(_, count)| *count == most)?;
        let layout = open.layouts.get(*index)?;
        let table = match layout.table {
            ChromaTable::EmbeddingMetadata | ChromaTable::EmbeddingMetadataArray => {
                self.choose_metadata_table(open, leaf, all_free_known)?
            }
            table => table,
        };
        let asked = leaf.node.cells.len().min(MOST_VOTERS);
        // A usual row gives two votes or three, so a third to a half of the rows must agree.
        let taken = open.tables.contains(&table) && most > asked;
        let fitting = |layout: &&RowLayout| layout.table == table;
        if layout.table == table {
            Some(layout).filter(|_| taken)
        } else {
            open.layouts.iter().find(fitting).filter(|_| taken)
        }
    }

    /// Counts the votes of the first rows for each layout: two or three for each usual row. Layouts without votes are
    /// omitted.
    fn count_votes(&self, layouts: &[RowLayout], leaf: &TreeLeaf<'_>) -> Vec<(usize, usize)> {
        let mut votes: Vec<_> = layouts.iter().enumerate().map(|(index, _)| (index, 0)).collect();
        for cell in leaf.node.cells.iter().take(MOST_VOTERS) {
            let Ok(payload) = self.pages.read_payload(leaf.page, cell, &mut |_| true) else {
                continue;
            };
            let Some(values) = parse_columns(&payload) else {
                continue;
            };
            for ((_, count), layout) in votes.iter_mut().zip(layouts) {
                if layout.is_usual(&values) {
                    // Of two tables that fit, the one with the same number of columns is more likely.
                    *count += 2 + usize::from(values.len() == layout.columns.len());
                }
            }
        }
        votes.retain(|(_, count)| *count > 0);
        votes
    }

    /// Chooses between the two tables of metadata: their rows look alike, but an array has several with one id and
    /// key.
    fn choose_metadata_table(
        &self,
        open: &OpenTables,
        leaf: &TreeLeaf<'_>,
        all_free_known: bool,
    ) -> Option<ChromaTable> {
        let keys = self.metadata_keys(leaf);
        let is_array = has_repeats(&keys) || keys.iter().all(|(_, key)| self.array_keys.contains(key));
        if is_array {
            Some(ChromaTable::EmbeddingMetadataArray)
        } else if open.tables.contains(&ChromaTable::EmbeddingMetadata) {
            Some(ChromaTable::EmbeddingMetadata)
        } else {
            // The table of plain metadata is intact, so the leaf is an
            // array's or unused; only a whole list rules out the latter.
            Some(ChromaTable::EmbeddingMetadataArray).filter(|_| all_free_known)
        }
    }

    /// Collects the keys of arrays, for leaves that hold only the last row of one.
    fn learn_array_keys(&mut self, leaf: &TreeLeaf<'_>) {
        let keys = self.metadata_keys(leaf);
        if has_repeats(&keys) && self.array_keys.len() < MOST_KEYS {
            self.array_keys.extend(keys.into_iter().map(|(_, key)| key));
        }
    }

    /// Returns the ids and keys of rows that may be metadata.
    fn metadata_keys(&self, leaf: &TreeLeaf<'_>) -> Vec<(i64, Vec<u8>)> {
        let key = |cell: &PageCell| {
            let local = local_bytes(leaf, cell);
            match parse_leading_columns(local)?.as_slice() {
                [ColumnValue::Int(id), ColumnValue::Text(key), ..] => Some((*id, key.to_vec())),
                _ => None,
            }
        };
        leaf.node.cells.iter().filter_map(key).collect()
    }

    fn file_loose_leaf(&mut self, layout: &RowLayout, leaf: &TreeLeaf<'_>) -> Result<()> {
        self.target.ensure_table(layout)?;
        for cell in &leaf.node.cells {
            let row = match self.read_loose_row(leaf, cell) {
                Ok(row) => row,
                Err(fault) => {
                    self.lose_row(layout, leaf.number, cell.rowid, &fault);
                    continue;
                }
            };
            let Some(values) = parse_columns(&row.payload).filter(|values| layout.is_usual(values)) else {
                self.lose_row(layout, leaf.number, cell.rowid, "it does not fit its table");
                continue;
            };
            if self.target.insert_row(layout, row.rowid, &values)? {
                *self.loose.entry(layout.table.name().to_owned()).or_default() += 1;
                self.check_texts(layout, &row, &values);
            }
        }
        Ok(())
    }
}

/// Returns whether two consecutive rows share id and key.
fn has_repeats(keys: &[(i64, Vec<u8>)]) -> bool {
    keys.windows(2).any(|pair| pair.first() == pair.last())
}

/// A trunk page of the list of unused pages.
struct FreeListTrunk {
    next: u32,
    leaves: Vec<u32>,
}

fn local_bytes<'p>(leaf: &TreeLeaf<'p>, cell: &PageCell) -> &'p [u8] {
    leaf.page.get(cell.local.clone()).unwrap_or_default()
}
