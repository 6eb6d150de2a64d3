//! The schema of the damaged file: names, roots and columns of its tables, from its first page or from any other.

use loci_core::Result;
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::DatabaseRescue;
use super::layout::RowLayout;
use super::node::{BtreeNode, PageCell, PageKind};
use super::record::{ColumnValue, parse_columns, parse_leading_columns};
use super::table::ChromaTable;
use super::walk::{BtreeRoot, TreeLeaf};

/// The length of the longest statement that is parsed, far beyond any of Chroma's.
const LONGEST_STATEMENT: usize = 65_536;

/// A table or an index of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaEntry {
    pub(super) name: String,
    pub(super) is_table: bool,
    pub(super) root: u32,
    /// The statement that created it.
    statement: String,
    /// Whether the first page references it, so that it is not a leftover.
    pub(super) is_sure: bool,
}

/// The entries that were found.
pub(super) struct SalvagedSchema {
    pub(super) entries: Vec<SchemaEntry>,
    /// Whether these are all entries of the file.
    pub(super) is_complete: bool,
}

impl SalvagedSchema {
    /// Returns the entries of a table, certain ones first.
    pub(super) fn entries_for(&self, table: ChromaTable) -> Vec<&SchemaEntry> {
        let named = |entry: &&SchemaEntry| entry.is_table && entry.name == table.name();
        let mut found: Vec<_> = self.entries.iter().filter(named).collect();
        found.sort_by_key(|entry| !entry.is_sure);
        found
    }
}

impl SchemaEntry {
    fn read(payload: &[u8], pages: u32, is_sure: bool) -> Option<Self> {
        let values = parse_columns(payload)?;
        // The five columns of `sqlite_schema`: type, name, table, root page, statement.
        let [kind, name, _, ColumnValue::Int(root), statement] = values.as_slice() else {
            return None;
        };
        let is_table = match kind.as_text()? {
            "table" => true,
            "index" => false,
            _ => return None,
        };
        Some(Self {
            name: name.as_text()?.to_owned(),
            is_table,
            root: u32::try_from(*root)
                .ok()
                .filter(|root| *root >= 2 && *root <= pages)?,
            statement: statement.as_text().unwrap_or_default().to_owned(),
            is_sure,
        })
    }

    /// Returns whether it is stored as a table: tables without rowid are stored as indexes.
    pub(super) fn is_kept_as_table(&self) -> bool {
        self.is_table && !self.statement.to_ascii_uppercase().contains("WITHOUT ROWID")
    }

    /// Returns the layout in the table's own statement, or else those of all releases.
    pub(super) fn row_layouts(&self, table: ChromaTable) -> Vec<RowLayout> {
        let own = declared_columns(&self.statement);
        let pairs = own
            .iter()
            .map(|(name, declared)| (name.as_str(), declared.as_str()));
        match RowLayout::new(table, pairs) {
            Some(layout) => vec![layout],
            None => RowLayout::known_layouts()
                .into_iter()
                .filter(|layout| layout.table == table)
                .collect(),
        }
    }
}

impl DatabaseRescue<'_> {
    /// Reads the entries that the first page references; if some are missing, searches every page for the rest.
    pub(super) fn read_schema(&mut self) -> Result<SalvagedSchema> {
        let before = self.losses.count();
        let mut entries = Vec::new();
        let mut readable = true;
        let count = self.pages.count;
        let tree = BtreeRoot {
            name: "sqlite_schema",
            root: 1,
            is_table: true,
        };
        let whole = self.walk_tree(&tree, &mut |rescue, leaf| {
            let before = entries.len();
            for cell in &leaf.node.cells {
                let payload = rescue
                    .pages
                    .read_payload(leaf.page, cell, &mut |_| true)
                    .unwrap_or_default();
                readable &= parse_columns(&payload).is_some_and(|values| values.len() == 5);
                entries.extend(SchemaEntry::read(&payload, count, true));
            }
            // A leaf without a single entry belongs to something else.
            Ok(leaf.node.cells.is_empty() || entries.len() > before)
        })?;
        let is_complete = whole && readable && self.losses.count() == before && !entries.is_empty();
        if !is_complete {
            self.find_leftover_entries(&mut entries);
        }
        Ok(SalvagedSchema { entries, is_complete })
    }

    fn find_leftover_entries(&self, entries: &mut Vec<SchemaEntry>) {
        let mut page = Vec::new();
        for number in 1..=self.pages.count {
            let Some(node) = self.pages.read_node(number, &mut page) else {
                continue;
            };
            if node.kind != PageKind::TableLeaf || (number != 1 && self.ledger.is_claimed(number)) {
                continue;
            }
            for entry in self.entries_of(&TreeLeaf {
                number,
                page: &page,
                node: &node,
            }) {
                let known = |other: &SchemaEntry| (&other.name, other.root) == (&entry.name, entry.root);
                if !entries.iter().any(known) {
                    entries.push(entry);
                }
            }
        }
    }

    fn entries_of(&self, leaf: &TreeLeaf<'_>) -> Vec<SchemaEntry> {
        let entry = |cell| {
            let payload = self.pages.read_payload(leaf.page, cell, &mut |_| true).ok()?;
            SchemaEntry::read(&payload, self.pages.count, false)
        };
        let cells = leaf.node.cells.iter().filter(|cell| is_entry(leaf, cell));
        cells.filter_map(entry).collect()
    }

    /// Returns whether the tree at the entry's root can hold rows of this layout, judged by its first leaf.
    pub(super) fn is_plausible(&self, entry: &SchemaEntry, layout: &RowLayout) -> bool {
        let mut page = Vec::new();
        let mut number = entry.root;
        // Deeper than any real tree; damaged child pointers may form a cycle.
        for _ in 0..20 {
            let Some(node) = self
                .pages
                .read_node(number, &mut page)
                .filter(|node| node.kind.is_table())
            else {
                return false;
            };
            match node.cells.first().and_then(|cell| cell.child).or(node.right) {
                Some(child) => number = child,
                None => return self.all_rows_fit(&page, &node, layout),
            }
        }
        false
    }

    fn all_rows_fit(&self, page: &[u8], node: &BtreeNode, layout: &RowLayout) -> bool {
        node.cells.iter().all(|cell| {
            let payload = self.pages.read_payload(page, cell, &mut |_| true);
            payload.is_ok_and(|payload| parse_columns(&payload).is_some_and(|values| layout.fits(&values)))
        })
    }
}

/// Returns whether a row begins like an entry; most rows of other tables then need not be read in full.
fn is_entry(leaf: &TreeLeaf<'_>, cell: &PageCell) -> bool {
    let local = leaf.page.get(cell.local.clone()).unwrap_or_default();
    let values = parse_leading_columns(local).unwrap_or_default();
    matches!(
        values.first().and_then(|kind| kind.as_text()),
        Some("table" | "index")
    )
}

/// Returns the names and types of the columns in a statement. SQLite itself parses it, in memory, and may do nothing
/// but create that one table.
pub(super) fn declared_columns(statement: &str) -> Vec<(String, String)> {
    read_columns(statement).unwrap_or_default()
}

fn read_columns(statement: &str) -> rusqlite::Result<Vec<(String, String)>> {
    if statement.len() > LONGEST_STATEMENT {
        return Ok(Vec::new());
    }
    let mut memory = Connection::open_in_memory()?;
    // The statement comes from a damaged file and may be anything, such as an ATTACH of another database.
    memory.authorizer(Some(permit_create_only))?;
    memory.execute(statement, [])?;
    memory.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    let question =
        "SELECT info.name, info.type FROM sqlite_schema AS made, pragma_table_info(made.name) AS info
                    WHERE made.type = 'table' ORDER BY info.cid";
    let mut rows = memory.prepare(question)?;
    let columns = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    columns.collect()
}

fn permit_create_only(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::CreateTable { .. }
        // CREATE TABLE also makes the indexes of its keys and writes its own entry into the schema.
        | AuthAction::CreateIndex { .. }
        | AuthAction::Insert { .. }
        | AuthAction::Update { .. }
        | AuthAction::Read { .. } => Authorization::Allow,
        _ => Authorization::Deny,
    }
}
