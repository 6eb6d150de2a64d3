//! Walking a b-tree from its root as far as it can be read, and filing the rows of the leaves it leads to.

use loci_core::Result;

use super::layout::Layout;
use super::node::{Cell, Node};
use super::record::{Value, columns};
use super::{Rescue, Row};

/// SQLite's trees are never deeper.
const DEEPEST: usize = 40;

/// A tree of the file.
pub(super) struct Tree<'a> {
    pub(super) name: &'a str,
    pub(super) root: u32,
    /// Whether it is a table, not an index.
    pub(super) is_table: bool,
}

/// A page that a walk comes to: its rows must lie above `low` and not above `high`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) page: u32,
    depth: usize,
    low: Option<i64>,
    high: Option<i64>,
}

impl Step {
    fn admits(&self, rowid: i64) -> bool {
        self.low.is_none_or(|low| rowid > low) && self.high.is_none_or(|high| rowid <= high)
    }
}

/// A leaf that a walk found, with its bytes.
pub(super) struct Leaf<'a> {
    pub(super) number: u32,
    pub(super) page: &'a [u8],
    pub(super) node: &'a Node,
}

/// What a walk is asked to do with each leaf; `false` where the leaf is of another table.
pub(super) type Visit<'v, 'a> = dyn FnMut(&mut Rescue<'a>, &Leaf<'_>) -> Result<bool> + 'v;

/// How much of a tree was seen.
#[derive(Default)]
struct Seen {
    /// How deep the leaves lie.
    leaves: Option<usize>,
    /// How deep the unreadable pages lie.
    lost: Vec<usize>,
    /// Whether a part of a branch was unreadable, or led elsewhere.
    torn: bool,
}

impl Seen {
    /// Whether every leaf was reached that can still be read: an unreadable page as deep as the leaves was one
    /// itself, and nothing hangs below it.
    fn every_leaf(&self) -> bool {
        !self.torn && self.lost.iter().all(|depth| Some(*depth) == self.leaves)
    }
}

impl<'a> Rescue<'a> {
    /// Walks a tree, hands over its leaves and says whether all that are still readable were reached.
    pub(super) fn walk(&mut self, tree: &Tree<'_>, visit: &mut Visit<'_, 'a>) -> Result<bool> {
        let mut seen = Seen::default();
        let mut steps = vec![Step {
            page: tree.root,
            depth: 0,
            low: None,
            high: None,
        }];
        let mut page = Vec::new();
        while let Some(step) = steps.pop() {
            let fault = match self.pages.node(step.page, &mut page) {
                _ if step.depth > DEEPEST => Some("lies deeper than any tree grows"),
                _ if step.page > self.pages.count => Some("lies beyond the end of the file"),
                _ if self.book.is_claimed(step.page) => Some("is already a part of a tree"),
                None => Some("cannot be read"),
                Some(node) if node.kind.is_table() != tree.is_table => Some("is a page of something else"),
                Some(node) if node.kind.is_branch() => {
                    self.book.claim(step.page);
                    self.branch(tree, step, &node, &mut steps, &mut seen);
                    None
                }
                Some(node) => self.leaf(tree, step, &page, &node, visit, &mut seen)?,
            };
            if let Some(fault) = fault {
                seen.lost.push(step.depth);
                self.losses.add(
                    Some(step.page),
                    Some(tree.name),
                    format!("page {} {fault}", step.page),
                );
            }
            self.report();
        }
        Ok(seen.every_leaf())
    }

    fn branch(&mut self, tree: &Tree<'_>, step: Step, node: &Node, steps: &mut Vec<Step>, seen: &mut Seen) {
        let torn = !node.sound || node.cells.len() < node.promised;
        if torn {
            seen.torn = true;
            let message = format!("page {} is torn: some pages below it are not known", step.page);
            self.losses.add(Some(step.page), Some(tree.name), message);
        }
        let bound = |limit: i64| (tree.is_table && !torn).then_some(limit);
        let mut low = step.low.filter(|_| !torn);
        let mut below = Vec::new();
        for cell in &node.cells {
            let high = bound(cell.rowid);
            below.extend(cell.child.map(|page| Step {
                page,
                depth: step.depth + 1,
                low,
                high,
            }));
            low = high;
            if !tree.is_table {
                self.claim_spill(cell);
            }
        }
        let high = step.high.filter(|_| !torn);
        below.extend(node.right.map(|page| Step {
            page,
            depth: step.depth + 1,
            low,
            high,
        }));
        below.reverse();
        steps.extend(below);
    }

    /// Hands over a leaf; says what is wrong with it where it was not taken.
    fn leaf(
        &mut self,
        tree: &Tree<'_>,
        step: Step,
        page: &[u8],
        node: &Node,
        visit: &mut Visit<'_, 'a>,
        seen: &mut Seen,
    ) -> Result<Option<&'static str>> {
        let in_place = !tree.is_table || node.cells.iter().all(|cell| step.admits(cell.rowid));
        let leaf = Leaf {
            number: step.page,
            page,
            node,
        };
        if !in_place || !visit(self, &leaf)? {
            seen.torn = true;
            return Ok(Some("is not the page that belongs there"));
        }
        seen.leaves.get_or_insert(step.depth);
        self.book.claim(step.page);
        if node.cells.len() < node.promised {
            let lost = node.promised - node.cells.len();
            let message = format!(
                "page {} is torn: {lost} of {} rows are lost",
                step.page, node.promised
            );
            self.losses.add(Some(step.page), Some(tree.name), message);
        }
        Ok(None)
    }

    /// Files the rows of a leaf that belongs to this table; `false` where it does not.
    pub(super) fn file_leaf(&mut self, layout: &Layout, leaf: &Leaf<'_>) -> Result<bool> {
        if !leaf.node.cells.is_empty() && !self.is_of(layout, leaf) {
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

    /// Whether a leaf holds a row that can be a row of this table.
    fn is_of(&self, layout: &Layout, leaf: &Leaf<'_>) -> bool {
        let fits = |cell: &Cell| {
            let payload = self
                .pages
                .payload(leaf.page, cell, &mut |_| true)
                .unwrap_or_default();
            columns(&payload).is_some_and(|values| layout.fits(&values))
        };
        leaf.node.cells.iter().any(fits)
    }

    fn file_row(&mut self, layout: &Layout, row: &Row) -> Result<()> {
        match columns(&row.payload).filter(|values| layout.fits(values)) {
            None => self.lose_row(layout, row.page, row.rowid, "it does not fit its table"),
            Some(values) if !self.target.file(layout, row.rowid, &values)? => {
                self.lose_row(layout, row.page, row.rowid, "another row has its key");
            }
            Some(values) => self.check_texts(layout, row, &values),
        }
        Ok(())
    }

    /// Lists texts that are no longer what was written.
    pub(super) fn check_texts(&mut self, layout: &Layout, row: &Row, values: &[Value<'_>]) {
        for (column, value) in layout.columns.iter().zip(values) {
            let Value::Text(bytes) = value else { continue };
            let fault = match std::str::from_utf8(bytes) {
                Err(_) => "is not UTF-8; what is not was replaced",
                Ok(text) if text.contains('\0') => "holds zeros, which a wiped page leaves",
                Ok(_) => continue,
            };
            let message = format!("row {}: its {} {fault}", row.rowid, column.name);
            self.losses
                .add(Some(row.page), Some(layout.table.name()), message);
        }
    }

    pub(super) fn lose_row(&mut self, layout: &Layout, page: u32, rowid: i64, fault: &str) {
        let message = format!("row {rowid} is lost: {fault}");
        self.losses.add(Some(page), Some(layout.table.name()), message);
    }

    /// Reads a row and claims the pages it spills over to; one that is broken claims none.
    fn claim_row(&mut self, leaf: &Leaf<'_>, cell: &Cell) -> std::result::Result<Row, String> {
        let mut pages = Vec::new();
        let payload = self.pages.payload(leaf.page, cell, &mut |page| {
            pages.push(page);
            !self.book.is_claimed(page)
        })?;
        self.claim_all(&pages);
        Ok(Row {
            page: leaf.number,
            rowid: cell.rowid,
            payload,
        })
    }

    /// Claims the pages that a row which is not saved spills over to, if it is whole.
    pub(super) fn claim_spill(&mut self, cell: &Cell) {
        let mut pages = Vec::new();
        let take = &mut |page| {
            pages.push(page);
            !self.book.is_claimed(page)
        };
        if self.pages.spill(cell, take, &mut |_| {}).is_ok() {
            self.claim_all(&pages);
        }
    }

    fn claim_all(&mut self, pages: &[u32]) {
        for page in pages {
            self.book.claim(*page);
        }
    }
}
