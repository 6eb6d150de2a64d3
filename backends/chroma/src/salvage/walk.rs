//! Walks a b-tree from its root as far as it is readable, and copies the rows of its leaves.

use loci_core::Result;

use super::layout::RowLayout;
use super::node::{BtreeNode, PageCell};
use super::record::{ColumnValue, parse_columns};
use super::{DatabaseRescue, SalvagedRow};

/// The greatest depth of a tree; SQLite's own are never deeper.
const DEEPEST: usize = 40;

/// The root of a tree in the file.
pub(super) struct BtreeRoot<'a> {
    pub(super) name: &'a str,
    pub(super) root: u32,
    /// Whether it is a table, and not an index.
    pub(super) is_table: bool,
}

/// A page to visit: its rowids must be greater than `low` and at most `high`.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkStep {
    pub(super) page: u32,
    depth: usize,
    low: Option<i64>,
    high: Option<i64>,
}

impl WalkStep {
    fn admits(&self, rowid: i64) -> bool {
        self.low.is_none_or(|low| rowid > low) && self.high.is_none_or(|high| rowid <= high)
    }
}

/// A leaf with its bytes.
pub(super) struct TreeLeaf<'a> {
    pub(super) number: u32,
    pub(super) page: &'a [u8],
    pub(super) node: &'a BtreeNode,
}

/// The callback of a walk for each leaf; returns `false` if the leaf belongs to another table.
pub(super) type LeafVisitor<'v, 'a> = dyn FnMut(&mut DatabaseRescue<'a>, &TreeLeaf<'_>) -> Result<bool> + 'v;

/// The part of a tree that a walk reached.
#[derive(Default)]
struct WalkCoverage {
    /// The depth of the leaves.
    leaf_depth: Option<usize>,
    /// The depths of unreadable pages.
    lost_depths: Vec<usize>,
    /// Whether a branch was partly unreadable or led elsewhere.
    torn: bool,
}

impl WalkCoverage {
    /// Returns whether every readable leaf was reached: an unreadable page at the depth of the leaves was a leaf
    /// itself and has nothing below it.
    fn reached_every_leaf(&self) -> bool {
        !self.torn
            && self
                .lost_depths
                .iter()
                .all(|depth| Some(*depth) == self.leaf_depth)
    }
}

impl<'a> DatabaseRescue<'a> {
    /// Walks a tree, passes its leaves to `visit`, and returns whether all readable ones were reached.
    pub(super) fn walk_tree(
        &mut self,
        tree: &BtreeRoot<'_>,
        visit: &mut LeafVisitor<'_, 'a>,
    ) -> Result<bool> {
        let mut seen = WalkCoverage::default();
        let mut steps = vec![WalkStep {
            page: tree.root,
            depth: 0,
            low: None,
            high: None,
        }];
        let mut page = Vec::new();
        while let Some(step) = steps.pop() {
            // The arms that distrust the step come first: a cycle
            // or a stray pointer may well lead to a readable page.
            let fault = match self.pages.read_node(step.page, &mut page) {
                _ if step.depth > DEEPEST => Some("lies deeper than any tree is"),
                _ if step.page > self.pages.count => Some("lies beyond the end of the file"),
                _ if self.ledger.is_claimed(step.page) => Some("is already a part of a tree"),
                None => Some("cannot be read"),
                Some(node) if node.kind.is_table() != tree.is_table => Some("belongs to something else"),
                Some(node) if node.kind.is_branch() => {
                    self.ledger.claim_page(step.page);
                    self.queue_children(tree, step, &node, &mut steps, &mut seen);
                    None
                }
                Some(node) => self.visit_leaf(tree, step, &page, &node, visit, &mut seen)?,
            };
            if let Some(fault) = fault {
                seen.lost_depths.push(step.depth);
                self.losses.add(
                    Some(step.page),
                    Some(tree.name),
                    format!("page {} {fault}", step.page),
                );
            }
            self.report_progress();
        }
        Ok(seen.reached_every_leaf())
    }

    fn queue_children(
        &mut self,
        tree: &BtreeRoot<'_>,
        step: WalkStep,
        node: &BtreeNode,
        steps: &mut Vec<WalkStep>,
        seen: &mut WalkCoverage,
    ) {
        let torn = !node.sound || node.cells.len() < node.promised_cells;
        if torn {
            seen.torn = true;
            let message = format!("page {} is torn: some pages below it are not known", step.page);
            self.losses.add(Some(step.page), Some(tree.name), message);
        }
        // A torn branch may lack cells, so the keys of those that are left bound nothing.
        let bound = |limit: i64| (tree.is_table && !torn).then_some(limit);
        let mut low = step.low.filter(|_| !torn);
        let mut below = Vec::new();
        for cell in &node.cells {
            let high = bound(cell.rowid);
            below.extend(cell.child.map(|page| WalkStep {
                page,
                depth: step.depth + 1,
                low,
                high,
            }));
            low = high;
            // In an index, branches hold rows as well, with overflow pages of their own.
            if !tree.is_table {
                self.claim_spill(cell);
            }
        }
        let high = step.high.filter(|_| !torn);
        below.extend(node.right.map(|page| WalkStep {
            page,
            depth: step.depth + 1,
            low,
            high,
        }));
        // The steps are a stack, and pages are visited in the order of their keys.
        below.reverse();
        steps.extend(below);
    }

    /// Passes a leaf to `visit`, and returns the fault if it was not accepted.
    fn visit_leaf(
        &mut self,
        tree: &BtreeRoot<'_>,
        step: WalkStep,
        page: &[u8],
        node: &BtreeNode,
        visit: &mut LeafVisitor<'_, 'a>,
        seen: &mut WalkCoverage,
    ) -> Result<Option<&'static str>> {
        // A page that was lost and reused elsewhere is readable, but its rowids give it away.
        let in_place = !tree.is_table || node.cells.iter().all(|cell| step.admits(cell.rowid));
        let leaf = TreeLeaf {
            number: step.page,
            page,
            node,
        };
        if !in_place || !visit(self, &leaf)? {
            seen.torn = true;
            return Ok(Some("is not the page that belongs there"));
        }
        // All leaves of a b-tree lie equally deep, so the first one tells for all.
        seen.leaf_depth.get_or_insert(step.depth);
        self.ledger.claim_page(step.page);
        if node.cells.len() < node.promised_cells {
            let lost = node.promised_cells - node.cells.len();
            let message = format!(
                "page {} is torn: {lost} of {} rows are lost",
                step.page, node.promised_cells
            );
            self.losses.add(Some(step.page), Some(tree.name), message);
        }
        Ok(None)
    }

    /// Copies the rows of a leaf. Returns `false` if the leaf does not belong to this table.
    pub(super) fn file_leaf(&mut self, layout: &RowLayout, leaf: &TreeLeaf<'_>) -> Result<bool> {
        if !leaf.node.cells.is_empty() && !self.holds_rows_of(layout, leaf) {
            return Ok(false);
        }
        for cell in &leaf.node.cells {
            match self.claim_row(leaf, cell) {
                Ok(row) => self.file_row(layout, &row)?,
                Err(fault) => self.lose_row(layout, leaf.number, cell.rowid, &fault),
            }
        }
        Ok(true)
    }

    /// Returns whether a leaf holds a row that fits this table.
    fn holds_rows_of(&self, layout: &RowLayout, leaf: &TreeLeaf<'_>) -> bool {
        let fits = |cell: &PageCell| {
            let payload = self
                .pages
                .read_payload(leaf.page, cell, &mut |_| true)
                .unwrap_or_default();
            parse_columns(&payload).is_some_and(|values| layout.fits(&values))
        };
        leaf.node.cells.iter().any(fits)
    }

    fn file_row(&mut self, layout: &RowLayout, row: &SalvagedRow) -> Result<()> {
        match parse_columns(&row.payload).filter(|values| layout.fits(values)) {
            None => self.lose_row(layout, row.page, row.rowid, "it does not fit its table"),
            Some(values) if !self.target.insert_row(layout, row.rowid, &values)? => {
                self.lose_row(layout, row.page, row.rowid, "another row has its key");
            }
            Some(values) => self.check_texts(layout, row, &values),
        }
        Ok(())
    }

    /// Reports texts that are visibly damaged.
    pub(super) fn check_texts(&mut self, layout: &RowLayout, row: &SalvagedRow, values: &[ColumnValue<'_>]) {
        for (column, value) in layout.columns.iter().zip(values) {
            let ColumnValue::Text(bytes) = value else { continue };
            let fault = match std::str::from_utf8(bytes) {
                Err(_) => "is not UTF-8; invalid bytes were replaced",
                Ok(text) if text.contains('\0') => "contains zero bytes, as in a wiped page",
                Ok(_) => continue,
            };
            let message = format!("row {}: its {} {fault}", row.rowid, column.name);
            self.losses
                .add(Some(row.page), Some(layout.table.name()), message);
        }
    }

    pub(super) fn lose_row(&mut self, layout: &RowLayout, page: u32, rowid: i64, fault: &str) {
        let message = format!("row {rowid} is lost: {fault}");
        self.losses.add(Some(page), Some(layout.table.name()), message);
    }

    /// Reads a row and claims its overflow pages; a broken row claims none.
    fn claim_row(
        &mut self,
        leaf: &TreeLeaf<'_>,
        cell: &PageCell,
    ) -> std::result::Result<SalvagedRow, String> {
        let mut pages = Vec::new();
        let payload = self.pages.read_payload(leaf.page, cell, &mut |page| {
            // Only noted here: the pages of a chain that breaks off
            // must stay free for the row they really belong to.
            pages.push(page);
            !self.ledger.is_claimed(page)
        })?;
        self.claim_all(&pages);
        Ok(SalvagedRow {
            page: leaf.number,
            rowid: cell.rowid,
            payload,
        })
    }

    /// Claims the overflow pages of a row that is not salvaged, if it is complete.
    pub(super) fn claim_spill(&mut self, cell: &PageCell) {
        let mut pages = Vec::new();
        let take = &mut |page| {
            pages.push(page);
            !self.ledger.is_claimed(page)
        };
        if self.pages.follow_spill(cell, take, &mut |_| {}).is_ok() {
            self.claim_all(&pages);
        }
    }

    fn claim_all(&mut self, pages: &[u32]) {
        for page in pages {
            self.ledger.claim_page(*page);
        }
    }
}
