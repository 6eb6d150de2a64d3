//! What the file says about its own tables: names, roots and columns, from its first page or wherever it is found.

use loci_core::Result;
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::Rescue;
use super::layout::Layout;
use super::node::{Cell, Kind, Node};
use super::record::{Value, columns, start};
use super::table::Table;
use super::walk::{Leaf, Tree};

/// The longest statement that makes a table of Chroma, with room to spare.
const LONGEST_STATEMENT: usize = 65_536;

/// A table or an index of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) is_table: bool,
    pub(super) root: u32,
    /// The statement that made it.
    statement: String,
    /// Whether the first page leads to it, so that it is not a leftover.
    pub(super) is_sure: bool,
}

/// All entries that were found.
pub(super) struct Schema {
    pub(super) entries: Vec<Entry>,
    /// Whether those are all the file ever had.
    pub(super) is_complete: bool,
}

impl Schema {
    /// The entries for a table, those that are sure first.
    pub(super) fn of(&self, table: Table) -> Vec<&Entry> {
        let named = |entry: &&Entry| entry.is_table && entry.name == table.name();
        let mut found: Vec<_> = self.entries.iter().filter(named).collect();
        found.sort_by_key(|entry| !entry.is_sure);
        found
    }
}

impl Entry {
    fn read(payload: &[u8], pages: u32, is_sure: bool) -> Option<Self> {
        let values = columns(payload)?;
        let [kind, name, _, Value::Int(root), statement] = values.as_slice() else {
            return None;
        };
        let is_table = match kind.text()? {
            "table" => true,
            "index" => false,
            _ => return None,
        };
        Some(Self {
            name: name.text()?.to_owned(),
            is_table,
            root: u32::try_from(*root)
                .ok()
                .filter(|root| *root >= 2 && *root <= pages)?,
            statement: statement.text().unwrap_or_default().to_owned(),
            is_sure,
        })
    }

    /// Tables that are kept as an index.
    pub(super) fn is_kept_as_table(&self) -> bool {
        self.is_table && !self.statement.to_ascii_uppercase().contains("WITHOUT ROWID")
    }

    /// How the rows of this table lie, in its own words or else as some release laid them.
    pub(super) fn layouts(&self, table: Table) -> Vec<Layout> {
        let own = declared_columns(&self.statement);
        let pairs = own
            .iter()
            .map(|(name, declared)| (name.as_str(), declared.as_str()));
        match Layout::new(table, pairs) {
            Some(layout) => vec![layout],
            None => Layout::known()
                .into_iter()
                .filter(|layout| layout.table == table)
                .collect(),
        }
    }
}

impl Rescue<'_> {
    /// Reads what the first page leads to, and where that is not everything, looks at every page for the rest.
    pub(super) fn schema(&mut self) -> Result<Schema> {
        let before = self.losses.count();
        let mut entries = Vec::new();
        let mut readable = true;
        let count = self.pages.count;
        let tree = Tree {
            name: "sqlite_schema",
            root: 1,
            is_table: true,
        };
        let whole = self.walk(&tree, &mut |rescue, leaf| {
            let before = entries.len();
            for cell in &leaf.node.cells {
                let payload = rescue
                    .pages
                    .payload(leaf.page, cell, &mut |_| true)
                    .unwrap_or_default();
                readable &= columns(&payload).is_some_and(|values| values.len() == 5);
                entries.extend(Entry::read(&payload, count, true));
            }
            Ok(leaf.node.cells.is_empty() || entries.len() > before)
        })?;
        let is_complete = whole && readable && self.losses.count() == before && !entries.is_empty();
        if !is_complete {
            self.leftover_entries(&mut entries);
        }
        Ok(Schema { entries, is_complete })
    }

    fn leftover_entries(&self, entries: &mut Vec<Entry>) {
        let mut page = Vec::new();
        for number in 1..=self.pages.count {
            let Some(node) = self.pages.node(number, &mut page) else {
                continue;
            };
            if node.kind != Kind::TableLeaf || (number != 1 && self.book.is_claimed(number)) {
                continue;
            }
            for entry in self.entries_of(&Leaf {
                number,
                page: &page,
                node: &node,
            }) {
                let known = |other: &Entry| (&other.name, other.root) == (&entry.name, entry.root);
                if !entries.iter().any(known) {
                    entries.push(entry);
                }
            }
        }
    }

    fn entries_of(&self, leaf: &Leaf<'_>) -> Vec<Entry> {
        let entry = |cell| {
            let payload = self.pages.payload(leaf.page, cell, &mut |_| true).ok()?;
            Entry::read(&payload, self.pages.count, false)
        };
        let cells = leaf.node.cells.iter().filter(|cell| is_entry(leaf, cell));
        cells.filter_map(entry).collect()
    }

    /// Whether a tree that begins at the entry's root can hold rows of this layout: its first leaf is asked.
    pub(super) fn is_plausible(&self, entry: &Entry, layout: &Layout) -> bool {
        let mut page = Vec::new();
        let mut number = entry.root;
        for _ in 0..20 {
            let Some(node) = self
                .pages
                .node(number, &mut page)
                .filter(|node| node.kind.is_table())
            else {
                return false;
            };
            match node.cells.first().and_then(|cell| cell.child).or(node.right) {
                Some(child) => number = child,
                None => return self.fits_all(&page, &node, layout),
            }
        }
        false
    }

    fn fits_all(&self, page: &[u8], node: &Node, layout: &Layout) -> bool {
        node.cells.iter().all(|cell| {
            let payload = self.pages.payload(page, cell, &mut |_| true);
            payload.is_ok_and(|payload| columns(&payload).is_some_and(|values| layout.fits(&values)))
        })
    }
}

/// Whether a row begins as entries do; most rows of other tables need not be read whole.
fn is_entry(leaf: &Leaf<'_>, cell: &Cell) -> bool {
    let local = leaf.page.get(cell.local.clone()).unwrap_or_default();
    let values = start(local).unwrap_or_default();
    matches!(
        values.first().and_then(|kind| kind.text()),
        Some("table" | "index")
    )
}

/// Names and types of the columns that a statement gives a table. SQLite itself reads the statement, in memory, and
/// may do nothing but make that one table.
pub(super) fn declared_columns(statement: &str) -> Vec<(String, String)> {
    read_columns(statement).unwrap_or_default()
}

fn read_columns(statement: &str) -> rusqlite::Result<Vec<(String, String)>> {
    if statement.len() > LONGEST_STATEMENT {
        return Ok(Vec::new());
    }
    let mut memory = Connection::open_in_memory()?;
    memory.authorizer(Some(permit))?;
    memory.execute(statement, [])?;
    memory.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    let question =
        "SELECT info.name, info.type FROM sqlite_schema AS made, pragma_table_info(made.name) AS info
                    WHERE made.type = 'table' ORDER BY info.cid";
    let mut rows = memory.prepare(question)?;
    let columns = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    columns.collect()
}

fn permit(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::CreateTable { .. }
        | AuthAction::CreateIndex { .. }
        | AuthAction::Insert { .. }
        | AuthAction::Update { .. }
        | AuthAction::Read { .. } => Authorization::Allow,
        _ => Authorization::Deny,
    }
}
