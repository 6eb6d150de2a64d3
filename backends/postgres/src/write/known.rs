//! The stored drawers that a batch concerns, looked up together and kept in step with the batch.

use std::collections::{BTreeSet, HashMap};

use loci_core::{DeleteSelection, Drawer, DrawerFields, DrawerId, NewDrawer, Result, Write};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::row::{self, ServerDrawer};
use crate::statement::SqlStatement;

/// A drawer that is stored, or was stored earlier in the same batch.
#[derive(Debug, Clone)]
pub(super) struct BatchDrawer {
    /// As stored; only its id and place if no more was needed.
    pub(super) stored: ServerDrawer,
    pub(super) piece: Option<Vec<u8>>,
}

/// The drawers that a batch concerns, by id and by piece; `None` for those that are known not to exist.
#[derive(Debug, Default)]
pub(super) struct BatchDrawers {
    by_id: HashMap<DrawerId, Option<BatchDrawer>>,
    by_piece: HashMap<Vec<u8>, Option<DrawerId>>,
}

/// The ids and pieces of a batch that must be looked up.
#[derive(Debug, Default)]
pub(super) struct BatchLookup {
    ids: BTreeSet<DrawerId>,
    pieces: BTreeSet<Vec<u8>>,
    /// Whether whole drawers are needed, to be changed or to tell whether the caller sees them.
    whole: bool,
}

impl BatchLookup {
    /// Returns what a batch needs; a caller that does not see everything needs whole drawers.
    pub(super) fn for_batch(batch: &[Write], restricted: bool) -> Self {
        let mut lookup = Self {
            whole: restricted,
            ..Self::default()
        };
        for write in batch {
            match write {
                Write::Add(new) | Write::Upsert(new) => lookup.add_new(new),
                Write::Update(patch) => {
                    lookup.ids.insert(patch.id.clone());
                    lookup.whole = true;
                }
                Write::Delete(DeleteSelection::Ids(ids)) => lookup.ids.extend(ids.iter().cloned()),
                Write::Delete(DeleteSelection::Matching(_)) => {}
            }
        }
        lookup
    }

    /// Returns the lookup of whole drawers.
    pub(super) fn for_drawers(drawers: &[Drawer]) -> Self {
        Self {
            ids: drawers.iter().map(|drawer| drawer.id.clone()).collect(),
            whole: true,
            ..Self::default()
        }
    }

    /// Returns the lookup of one piece.
    pub(super) fn for_piece(piece: Vec<u8>) -> Self {
        Self {
            pieces: BTreeSet::from([piece]),
            whole: true,
            ..Self::default()
        }
    }

    fn add_new(&mut self, new: &NewDrawer) {
        self.ids.insert(new.id.clone());
        // A place that contradicts the metadata is refused later, with its reason.
        let piece = new
            .to_filed_drawer(loci_core::Timestamp::from_micros(0).expect("1970 is a time"))
            .ok()
            .and_then(|drawer| row::piece_hash(&drawer));
        self.pieces.extend(piece);
    }

    /// Returns the question.
    pub(super) fn question(&self, collection: i64) -> SqlStatement {
        let include = if self.whole {
            DrawerFields::EVERYTHING
        } else {
            DrawerFields::NOTHING
        };
        let ids: Vec<Vec<u8>> = self
            .ids
            .iter()
            .map(|id| id.as_str().as_bytes().to_vec())
            .collect();
        let pieces: Vec<Vec<u8>> = self.pieces.iter().cloned().collect();
        // Two searches by index; one condition with OR would become a scan.
        let select = |condition: &str| {
            format!(
                "SELECT {}, d.piece FROM {} WHERE d.collection = $1 AND {condition}",
                row::columns(include),
                row::tables(include)
            )
        };
        SqlStatement::new(format!(
            "{} UNION ALL {} AND NOT d.id = ANY($2)",
            select("d.id = ANY($2)"),
            select("d.piece = ANY($3)")
        ))
        .with_int(collection)
        .with(ids, Type::BYTEA_ARRAY)
        .with(pieces, Type::BYTEA_ARRAY)
    }
}

impl BatchDrawers {
    /// Takes over the answer to a lookup.
    pub(super) fn learn(&mut self, lookup: &BatchLookup, rows: &[Row]) -> Result<()> {
        for id in &lookup.ids {
            self.by_id.insert(id.clone(), None);
        }
        for piece in &lookup.pieces {
            self.by_piece.insert(piece.clone(), None);
        }
        for row in rows {
            self.insert(BatchDrawer {
                stored: ServerDrawer::read(row)?,
                piece: row.get(20),
            });
        }
        Ok(())
    }

    /// Returns the drawer called `id`, if it is stored.
    pub(super) fn find(&self, id: &DrawerId) -> Option<&BatchDrawer> {
        self.by_id.get(id)?.as_ref()
    }

    /// Returns whether a piece has been looked up.
    pub(super) fn knows_piece(&self, piece: &[u8]) -> bool {
        self.by_piece.contains_key(piece)
    }

    /// Returns the drawer that is this piece, if one is stored.
    pub(super) fn find_piece(&self, piece: &[u8]) -> Option<&BatchDrawer> {
        self.find(self.by_piece.get(piece)?.as_ref()?)
    }

    /// Notes that a drawer is stored now.
    pub(super) fn insert(&mut self, known: BatchDrawer) {
        let id = known.stored.drawer.id.clone();
        self.remove(&id);
        if let Some(piece) = &known.piece {
            self.by_piece.insert(piece.clone(), Some(id.clone()));
        }
        self.by_id.insert(id, Some(known));
    }

    /// Notes that a drawer is not stored any more.
    pub(super) fn remove(&mut self, id: &DrawerId) {
        if let Some(Some(old)) = self.by_id.insert(id.clone(), None)
            && let Some(piece) = old.piece
        {
            self.by_piece.insert(piece, None);
        }
    }
}
