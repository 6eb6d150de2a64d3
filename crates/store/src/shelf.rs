//! A collection's own row: its metric, embedding space, projection and counters, as one transaction sees them.

use loci_core::{
    CollectionName, EmbedderIdentity, Error, ErrorKind, IdentityState, Metric, OpenOptions, Result,
};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::failure::{corrupt, sqlite};
use crate::{attributes, clock, vectors, words};

/// What a transaction knows of the collection it works on.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    pub(crate) collection: i64,
    pub(crate) name: CollectionName,
    pub(crate) metric: Metric,
    /// The embedding space that answers queries.
    pub(crate) space: i64,
    /// The number of the tables that hold its words and attributes.
    pub(crate) projection: i64,
    pub(crate) drawers: i64,
    pub(crate) dimension: Option<usize>,
    pub(crate) embedder: Option<EmbedderIdentity>,
    /// How many drawers have a vector.
    pub(crate) vectors: i64,
    /// How many of those are not in a sealed segment.
    pub(crate) tail: i64,
    /// The highest row that sealed segments reach.
    pub(crate) sealed: i64,
}

const COLUMNS: &str =
    "collection, name, metric, space, projection, drawers, dimension, model, revision, vectors, tail, sealed
    FROM collections JOIN spaces USING (collection, space)";

impl Shelf {
    /// The collection called `name`, or `NotFound`.
    pub(crate) fn find(connection: &Connection, name: &CollectionName) -> Result<Self> {
        Self::look(connection, name)?.ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("the palace has no collection {:?}", name.as_str()),
            )
            .hint("see what there is with `loci status`")
        })
    }

    fn look(connection: &Connection, name: &CollectionName) -> Result<Option<Self>> {
        let mut statement = connection
            .prepare_cached(&format!("SELECT {COLUMNS} WHERE name = ?1"))
            .map_err(sqlite)?;
        let found = statement
            .query_row([name.as_str()], |row| Ok(read(row)))
            .optional()
            .map_err(sqlite)?;
        found.transpose()
    }

    /// Every collection of the palace, by name.
    pub(crate) fn all(connection: &Connection) -> Result<Vec<Self>> {
        let mut statement = connection
            .prepare(&format!("SELECT {COLUMNS} ORDER BY name"))
            .map_err(sqlite)?;
        let shelves = statement.query_map([], |row| Ok(read(row))).map_err(sqlite)?;
        shelves.map(|shelf| shelf.map_err(sqlite)?).collect()
    }

    /// The collection called `name`, made with its tables if it is missing.
    pub(crate) fn ensure(
        transaction: &Transaction<'_>,
        name: &CollectionName,
        how: &OpenOptions,
    ) -> Result<Self> {
        if let Some(shelf) = Self::look(transaction, name)? {
            return Ok(shelf);
        }
        let declared = how.embedder.as_ref();
        let dimension = declared.map(|embedder| embedder.dimension).or(how.dimension);
        let projection = next_number(transaction, "projection")?;
        let space = next_number(transaction, "space")?;
        let metric = how.metric.unwrap_or_default().name();
        transaction
            .execute(
                "INSERT INTO collections(name, metric, space, projection, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![name.as_str(), metric, space, projection, clock::now().as_micros()],
            )
            .map_err(sqlite)?;
        transaction
            .execute(
                "INSERT INTO spaces(space, collection, dimension, model, revision) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    space,
                    transaction.last_insert_rowid(),
                    dimension.map(|n| n as i64),
                    declared.map(|embedder| &embedder.model),
                    declared.map(|embedder| &embedder.revision),
                ],
            )
            .map_err(sqlite)?;
        vectors::create(transaction, space)?;
        words::create(transaction, projection)?;
        attributes::create(transaction, projection)?;
        Self::find(transaction, name)
    }

    /// What is known of the model behind the vectors.
    pub(crate) fn identity(&self) -> IdentityState {
        match &self.embedder {
            Some(embedder) => IdentityState::Known(embedder.clone()),
            None if self.vectors == 0 => IdentityState::Unset,
            None => IdentityState::Unknown,
        }
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
        match (asked, self.dimension) {
            (Some(asked), Some(own)) if asked != own => Err(loci_core::write::dimension_mismatch(own, asked)),
            _ => Ok(()),
        }
    }

    /// Records which model the vectors are of.
    pub(crate) fn record_embedder(
        &mut self,
        transaction: &Transaction<'_>,
        embedder: &EmbedderIdentity,
    ) -> Result<()> {
        transaction
            .execute(
                "UPDATE spaces SET model = ?2, revision = ?3, dimension = ?4 WHERE space = ?1",
                params![
                    self.space,
                    embedder.model,
                    embedder.revision,
                    embedder.dimension as i64
                ],
            )
            .map_err(sqlite)?;
        self.dimension = Some(embedder.dimension);
        self.embedder = Some(embedder.clone());
        Ok(())
    }

    /// Records how many values the vectors have.
    pub(crate) fn record_dimension(&mut self, transaction: &Transaction<'_>, dimension: usize) -> Result<()> {
        transaction
            .execute(
                "UPDATE spaces SET dimension = ?2 WHERE space = ?1",
                params![self.space, dimension as i64],
            )
            .map_err(sqlite)?;
        self.dimension = Some(dimension);
        Ok(())
    }

    /// Writes the counters back.
    pub(crate) fn store_counters(&self, transaction: &Transaction<'_>) -> Result<()> {
        transaction
            .prepare_cached("UPDATE collections SET drawers = ?2 WHERE collection = ?1")
            .and_then(|mut statement| statement.execute(params![self.collection, self.drawers]))
            .map_err(sqlite)?;
        transaction
            .prepare_cached("UPDATE spaces SET vectors = ?2, tail = ?3, sealed = ?4 WHERE space = ?1")
            .and_then(|mut statement| {
                statement.execute(params![self.space, self.vectors, self.tail, self.sealed])
            })
            .map_err(sqlite)?;
        Ok(())
    }
}

fn read(row: &rusqlite::Row<'_>) -> Result<Shelf> {
    let text = |at: usize| row.get::<_, String>(at).map_err(sqlite);
    let int = |at: usize| row.get::<_, i64>(at).map_err(sqlite);
    let dimension = row
        .get::<_, Option<i64>>(6)
        .map_err(sqlite)?
        .and_then(|n| usize::try_from(n).ok());
    let model: Option<String> = row.get(7).map_err(sqlite)?;
    let revision: Option<String> = row.get(8).map_err(sqlite)?;
    let name = text(1)?;
    let embedder = match (model, revision, dimension) {
        (Some(model), Some(revision), Some(dimension)) => Some(EmbedderIdentity {
            model,
            revision,
            dimension,
        }),
        _ => None,
    };
    Ok(Shelf {
        collection: int(0)?,
        metric: Metric::parse(&text(2)?).map_err(|cause| {
            corrupt(format!("the collection {name:?} has a damaged metric")).caused_by(cause)
        })?,
        name: CollectionName::new(name)?,
        space: int(3)?,
        projection: int(4)?,
        drawers: int(5)?,
        dimension,
        embedder,
        vectors: int(9)?,
        tail: int(10)?,
        sealed: int(11)?,
    })
}

/// A number for a new table, never given twice in the life of a palace.
pub(crate) fn next_number(transaction: &Transaction<'_>, of: &str) -> Result<i64> {
    transaction
        .query_row(
            "INSERT INTO palace(key, value) VALUES (?1, 1) ON CONFLICT(key) DO UPDATE SET value = value + 1 RETURNING value",
            [of],
            |row| row.get(0),
        )
        .map_err(sqlite)
}
