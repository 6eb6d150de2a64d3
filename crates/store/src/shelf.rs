//! A collection's own row: its metric, embedding spaces, projection and counters, as one transaction sees them.

use loci_core::{
    CollectionName, EmbedderIdentity, Error, ErrorKind, IdentityState, Metric, OpenOptions, Result,
    SpaceState,
};
use rusqlite::{Connection, Row, Statement, Transaction, params};

use crate::failure::{corrupt_error, sqlite_error};
use crate::space::{StoredSpace, state_from};
use crate::{attributes, clock, crash, vectors, words};

/// The state of a collection as one transaction sees it.
#[derive(Debug, Clone)]
pub(crate) struct CollectionShelf {
    pub(crate) collection: i64,
    pub(crate) name: CollectionName,
    pub(crate) metric: Metric,
    /// The number of the tables that hold its words and attributes.
    pub(crate) projection: i64,
    pub(crate) drawers: i64,
    /// The embedding space that answers queries.
    pub(crate) space: StoredSpace,
    /// Every other space: the one being built first, then those set aside, the latest first.
    pub(crate) others: Vec<StoredSpace>,
}

const COLUMNS: &str = "c.collection, c.name, c.metric, c.projection, c.drawers, c.space,
    s.space, s.dimension, s.model, s.revision, s.vectors, s.tail, s.sealed, s.turn, s.state
    FROM collections AS c JOIN spaces AS s ON s.collection = c.collection";

impl CollectionShelf {
    /// Returns the collection called `name`, or `NotFound`.
    pub(crate) fn find(connection: &Connection, name: &CollectionName) -> Result<Self> {
        Self::look_up(connection, name)?.ok_or_else(|| Self::missing_error(name))
    }

    /// Returns the error for a collection that does not exist.
    pub(crate) fn missing_error(name: &CollectionName) -> Error {
        Error::new(
            ErrorKind::NotFound,
            format!("the palace has no collection {:?}", name.as_str()),
        )
        .with_hint("list the collections with `loci status`")
    }

    /// Returns the collection called `name`, if there is one.
    pub(crate) fn look_up(connection: &Connection, name: &CollectionName) -> Result<Option<Self>> {
        let mut statement = connection
            .prepare_cached(&format!("SELECT {COLUMNS} WHERE c.name = ?1"))
            .map_err(sqlite_error)?;
        Ok(read_shelves(&mut statement, &[&name.as_str()])?.pop())
    }

    /// Returns every collection of the palace, ordered by name.
    pub(crate) fn list_all(connection: &Connection) -> Result<Vec<Self>> {
        let mut statement = connection
            .prepare(&format!("SELECT {COLUMNS} ORDER BY c.name"))
            .map_err(sqlite_error)?;
        read_shelves(&mut statement, &[])
    }

    /// Creates the collection called `name`, which must not exist, with its tables.
    pub(crate) fn create(
        transaction: &Transaction<'_>,
        name: &CollectionName,
        how: &OpenOptions,
    ) -> Result<Self> {
        let declared = how.embedder.as_ref();
        // A named embedder decides the dimension; a bare dimension counts only without one.
        let dimension = declared.map(|embedder| embedder.dimension).or(how.dimension);
        // Numbers are never reused: a handle on a dropped collection must not find another
        // one under its number.
        let collection = next_number(transaction, "collection")?;
        let projection = next_number(transaction, "projection")?;
        let space = next_number(transaction, "space")?;
        let metric = how.metric.unwrap_or_default().name();
        transaction
            .execute(
                "INSERT INTO collections(collection, name, metric, space, projection, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    collection,
                    name.as_str(),
                    metric,
                    space,
                    projection,
                    clock::now().as_micros()
                ],
            )
            .map_err(sqlite_error)?;
        transaction
            .execute(
                "INSERT INTO spaces(space, collection, dimension, model, revision) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    space,
                    collection,
                    dimension.map(|n| n as i64),
                    declared.map(|embedder| &embedder.model),
                    declared.map(|embedder| &embedder.revision),
                ],
            )
            .map_err(sqlite_error)?;
        vectors::create_table(transaction, space)?;
        words::create_tables(transaction, projection)?;
        attributes::create_table(transaction, projection)?;
        Self::find(transaction, name)
    }

    /// Drops the collection with all its rows and tables.
    pub(crate) fn drop_collection(&self, transaction: &Transaction<'_>) -> Result<()> {
        let execute =
            |sql: &str, number: i64| transaction.execute(sql, [number]).map(drop).map_err(sqlite_error);
        words::drop_tables(transaction, self.projection)?;
        attributes::drop_table(transaction, self.projection)?;
        for space in self.spaces() {
            vectors::drop_table(transaction, space.number)?;
            for table in ["segments", "dead", "spaces"] {
                execute(&format!("DELETE FROM {table} WHERE space = ?1"), space.number)?;
            }
        }
        crash::point("drop-collection-half");
        // `collections` comes last: foreign keys of the other tables refer to its row.
        for table in [
            "drawers",
            "tombstones",
            "sources",
            "places",
            "days",
            "receipts",
            "collections",
        ] {
            execute(
                &format!("DELETE FROM {table} WHERE collection = ?1"),
                self.collection,
            )?;
        }
        Ok(())
    }

    /// Returns the recorded model of the active space.
    pub(crate) fn identity(&self) -> IdentityState {
        self.space.identity()
    }

    /// Returns every space, the active one first.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = &StoredSpace> {
        std::iter::once(&self.space).chain(&self.others)
    }

    /// Returns every space mutably, the active one first.
    pub(crate) fn spaces_mut(&mut self) -> impl Iterator<Item = &mut StoredSpace> {
        std::iter::once(&mut self.space).chain(&mut self.others)
    }

    /// Returns the space of this number, if the collection still has it.
    pub(crate) fn space_by_number(&mut self, number: i64) -> Option<&mut StoredSpace> {
        self.spaces_mut().find(|space| space.number == number)
    }

    /// Returns the space being built, paused or not.
    pub(crate) fn being_built(&self) -> Option<&StoredSpace> {
        self.others.iter().find(|space| space.is_being_built())
    }

    /// Refuses options that contradict what is stored.
    pub(crate) fn check_options(&self, how: &OpenOptions) -> Result<()> {
        if let Some(metric) = how.metric.filter(|metric| *metric != self.metric) {
            return Err(Error::invalid(format!(
                "the collection {:?} compares by {}, not by {}",
                self.name.as_str(),
                self.metric.name(),
                metric.name()
            )));
        }
        self.identity().check_open(how.embedder.as_ref())?;
        let asked = how
            .dimension
            .or(how.embedder.as_ref().map(|embedder| embedder.dimension));
        // A collection without vectors may have no dimension yet, and then any is welcome.
        match (asked, self.space.dimension) {
            (Some(asked), Some(own)) if asked != own => {
                Err(loci_core::vector::dimension_mismatch(own, asked))
            }
            _ => Ok(()),
        }
    }

    /// Writes the counters back.
    pub(crate) fn store_counters(&self, transaction: &Transaction<'_>) -> Result<()> {
        transaction
            .prepare_cached("UPDATE collections SET drawers = ?2 WHERE collection = ?1")
            .and_then(|mut statement| statement.execute(params![self.collection, self.drawers]))
            .map_err(sqlite_error)?;
        self.spaces()
            .try_for_each(|space| space.store_counters(transaction))
    }
}

/// A collection's own columns, before its spaces are known.
struct CollectionColumns {
    collection: i64,
    name: CollectionName,
    metric: Metric,
    projection: i64,
    drawers: i64,
    /// The number of its active space.
    active: i64,
}

/// Reads collections, each with all its spaces; the rows of one collection must be adjacent.
fn read_shelves(
    statement: &mut Statement<'_>,
    asked: &[&dyn rusqlite::ToSql],
) -> Result<Vec<CollectionShelf>> {
    let mut found = statement.query(asked).map_err(sqlite_error)?;
    let mut shelves = Vec::new();
    let mut open: Option<(CollectionColumns, Vec<StoredSpace>)> = None;
    while let Some(row) = found.next().map_err(sqlite_error)? {
        let collection: i64 = row.get(0).map_err(sqlite_error)?;
        if open
            .as_ref()
            .is_none_or(|(head, _)| head.collection != collection)
        {
            if let Some((head, spaces)) = open.take() {
                shelves.push(assemble_shelf(head, spaces)?);
            }
            open = Some((read_head(row)?, Vec::new()));
        }
        if let Some((head, spaces)) = &mut open {
            spaces.push(read_space(row, head)?);
        }
    }
    if let Some((head, spaces)) = open {
        shelves.push(assemble_shelf(head, spaces)?);
    }
    Ok(shelves)
}

fn assemble_shelf(head: CollectionColumns, mut spaces: Vec<StoredSpace>) -> Result<CollectionShelf> {
    let active = spaces.iter().position(|space| space.number == head.active);
    let Some(active) = active else {
        return Err(corrupt_error(format!(
            "the embedding space of the collection {:?} is gone",
            head.name.as_str()
        )));
    };
    let space = spaces.swap_remove(active);
    // The order that `others` promises. `turn` grows, so the space set aside last comes first.
    spaces.sort_by_key(|space| (!space.is_being_built(), -space.turn, -space.number));
    Ok(CollectionShelf {
        collection: head.collection,
        name: head.name,
        metric: head.metric,
        projection: head.projection,
        drawers: head.drawers,
        space,
        others: spaces,
    })
}

fn read_head(row: &Row<'_>) -> Result<CollectionColumns> {
    let text = |at: usize| row.get::<_, String>(at).map_err(sqlite_error);
    let int = |at: usize| row.get::<_, i64>(at).map_err(sqlite_error);
    let name = text(1)?;
    Ok(CollectionColumns {
        collection: int(0)?,
        metric: Metric::parse(&text(2)?).map_err(|cause| {
            corrupt_error(format!("the collection {name:?} has a damaged metric")).caused_by(cause)
        })?,
        name: CollectionName::new(name)?,
        projection: int(3)?,
        drawers: int(4)?,
        active: int(5)?,
    })
}

fn read_space(row: &Row<'_>, head: &CollectionColumns) -> Result<StoredSpace> {
    let int = |at: usize| row.get::<_, i64>(at).map_err(sqlite_error);
    let text = |at: usize| row.get::<_, Option<String>>(at).map_err(sqlite_error);
    let dimension: Option<i64> = row.get(7).map_err(sqlite_error)?;
    let dimension = dimension.and_then(|n| usize::try_from(n).ok());
    let embedder = match (text(8)?, text(9)?, dimension) {
        (Some(model), Some(revision), Some(dimension)) => Some(EmbedderIdentity {
            model,
            revision,
            dimension,
        }),
        _ => None,
    };
    let number = int(6)?;
    let state = if number == head.active {
        SpaceState::Active
    } else {
        // A state that no release wrote counts as abandoned: such a space neither answers nor is filled, and
        // `verify` reports it.
        state_from(text(14)?.as_deref()).unwrap_or(SpaceState::Abandoned)
    };
    Ok(StoredSpace {
        number,
        collection: head.collection,
        metric: head.metric,
        state,
        turn: int(13)?,
        dimension,
        embedder,
        vectors: int(10)?,
        tail: int(11)?,
        sealed: int(12)?,
    })
}

/// Returns a number for a new collection or table, which is never reused in the life of a palace.
pub(crate) fn next_number(transaction: &Transaction<'_>, of: &str) -> Result<i64> {
    transaction
        .query_row(
            "INSERT INTO palace(key, value) VALUES (?1, 1) ON CONFLICT(key) DO UPDATE SET value = value + 1 RETURNING value",
            [of],
            |row| row.get(0),
        )
        .map_err(sqlite_error)
}
