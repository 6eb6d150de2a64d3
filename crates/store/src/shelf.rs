//! A collection's own row: its metric, embedding spaces, projection and counters, as one transaction sees them.

use loci_core::{
    CollectionName, EmbedderIdentity, Error, ErrorKind, IdentityState, Metric, OpenOptions, Result,
    SpaceState,
};
use rusqlite::{Connection, Row, Statement, Transaction, params};

use crate::failure::{corrupt, sqlite};
use crate::space::{Space, state_from};
use crate::{attributes, clock, crash, vectors, words};

/// What a transaction knows of the collection it works on.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    pub(crate) collection: i64,
    pub(crate) name: CollectionName,
    pub(crate) metric: Metric,
    /// The number of the tables that hold its words and attributes.
    pub(crate) projection: i64,
    pub(crate) drawers: i64,
    /// The embedding space that answers queries.
    pub(crate) space: Space,
    /// Every other space: the one being built first, then those set aside, the latest first.
    pub(crate) others: Vec<Space>,
}

const COLUMNS: &str = "c.collection, c.name, c.metric, c.projection, c.drawers, c.space,
    s.space, s.dimension, s.model, s.revision, s.vectors, s.tail, s.sealed, s.turn, s.state
    FROM collections AS c JOIN spaces AS s ON s.collection = c.collection";

impl Shelf {
    /// The collection called `name`, or `NotFound`.
    pub(crate) fn find(connection: &Connection, name: &CollectionName) -> Result<Self> {
        Self::look(connection, name)?.ok_or_else(|| Self::missing(name))
    }

    /// The error for a collection that is not there.
    pub(crate) fn missing(name: &CollectionName) -> Error {
        Error::new(
            ErrorKind::NotFound,
            format!("the palace has no collection {:?}", name.as_str()),
        )
        .hint("see what there is with `loci status`")
    }

    /// The collection called `name`, if there is one.
    pub(crate) fn look(connection: &Connection, name: &CollectionName) -> Result<Option<Self>> {
        let mut statement = connection
            .prepare_cached(&format!("SELECT {COLUMNS} WHERE c.name = ?1"))
            .map_err(sqlite)?;
        Ok(gather(&mut statement, &[&name.as_str()])?.pop())
    }

    /// Every collection of the palace, by name.
    pub(crate) fn all(connection: &Connection) -> Result<Vec<Self>> {
        let mut statement = connection
            .prepare(&format!("SELECT {COLUMNS} ORDER BY c.name"))
            .map_err(sqlite)?;
        gather(&mut statement, &[])
    }

    /// Makes the collection called `name`, which is not there, with its tables.
    pub(crate) fn make(
        transaction: &Transaction<'_>,
        name: &CollectionName,
        how: &OpenOptions,
    ) -> Result<Self> {
        let declared = how.embedder.as_ref();
        let dimension = declared.map(|embedder| embedder.dimension).or(how.dimension);
        // Never given twice: a handle on a dropped collection must not take another for it.
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
            .map_err(sqlite)?;
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
            .map_err(sqlite)?;
        vectors::create(transaction, space)?;
        words::create(transaction, projection)?;
        attributes::create(transaction, projection)?;
        Self::find(transaction, name)
    }

    /// Drops the collection with all its rows and tables.
    pub(crate) fn drop_all(&self, transaction: &Transaction<'_>) -> Result<()> {
        let execute = |sql: &str, number: i64| transaction.execute(sql, [number]).map(drop).map_err(sqlite);
        words::drop_tables(transaction, self.projection)?;
        attributes::drop_table(transaction, self.projection)?;
        for space in self.spaces() {
            vectors::drop_table(transaction, space.number)?;
            for table in ["segments", "dead", "spaces"] {
                execute(&format!("DELETE FROM {table} WHERE space = ?1"), space.number)?;
            }
        }
        crash::point("drop-collection-half");
        for table in [
            "drawers",
            "tombstones",
            "sources",
            "places",
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

    /// What is known of the model behind the vectors that answer.
    pub(crate) fn identity(&self) -> IdentityState {
        self.space.identity()
    }

    /// Every space, the active one first.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = &Space> {
        std::iter::once(&self.space).chain(&self.others)
    }

    /// Every space, the active one first, to be changed.
    pub(crate) fn spaces_mut(&mut self) -> impl Iterator<Item = &mut Space> {
        std::iter::once(&mut self.space).chain(&mut self.others)
    }

    /// The space of this number, if the collection still has it.
    pub(crate) fn numbered(&mut self, number: i64) -> Option<&mut Space> {
        self.spaces_mut().find(|space| space.number == number)
    }

    /// The space being built, paused or not.
    pub(crate) fn being_built(&self) -> Option<&Space> {
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
        match (asked, self.space.dimension) {
            (Some(asked), Some(own)) if asked != own => Err(loci_core::write::dimension_mismatch(own, asked)),
            _ => Ok(()),
        }
    }

    /// Writes the counters back.
    pub(crate) fn store_counters(&self, transaction: &Transaction<'_>) -> Result<()> {
        transaction
            .prepare_cached("UPDATE collections SET drawers = ?2 WHERE collection = ?1")
            .and_then(|mut statement| statement.execute(params![self.collection, self.drawers]))
            .map_err(sqlite)?;
        self.spaces()
            .try_for_each(|space| space.store_counters(transaction))
    }
}

/// A collection's own columns, before its spaces are known.
struct Head {
    collection: i64,
    name: CollectionName,
    metric: Metric,
    projection: i64,
    drawers: i64,
    /// The number of its active space.
    active: i64,
}

/// Reads collections, each with all its spaces; the rows of one collection come one after the other.
fn gather(statement: &mut Statement<'_>, asked: &[&dyn rusqlite::ToSql]) -> Result<Vec<Shelf>> {
    let mut found = statement.query(asked).map_err(sqlite)?;
    let mut shelves = Vec::new();
    let mut open: Option<(Head, Vec<Space>)> = None;
    while let Some(row) = found.next().map_err(sqlite)? {
        let collection: i64 = row.get(0).map_err(sqlite)?;
        if open
            .as_ref()
            .is_none_or(|(head, _)| head.collection != collection)
        {
            if let Some((head, spaces)) = open.take() {
                shelves.push(assemble(head, spaces)?);
            }
            open = Some((read_head(row)?, Vec::new()));
        }
        if let Some((head, spaces)) = &mut open {
            spaces.push(read_space(row, head)?);
        }
    }
    if let Some((head, spaces)) = open {
        shelves.push(assemble(head, spaces)?);
    }
    Ok(shelves)
}

fn assemble(head: Head, mut spaces: Vec<Space>) -> Result<Shelf> {
    let active = spaces.iter().position(|space| space.number == head.active);
    let Some(active) = active else {
        return Err(corrupt(format!(
            "the embedding space of the collection {:?} is gone",
            head.name.as_str()
        )));
    };
    let space = spaces.swap_remove(active);
    spaces.sort_by_key(|space| (!space.is_being_built(), -space.turn, -space.number));
    Ok(Shelf {
        collection: head.collection,
        name: head.name,
        metric: head.metric,
        projection: head.projection,
        drawers: head.drawers,
        space,
        others: spaces,
    })
}

fn read_head(row: &Row<'_>) -> Result<Head> {
    let text = |at: usize| row.get::<_, String>(at).map_err(sqlite);
    let int = |at: usize| row.get::<_, i64>(at).map_err(sqlite);
    let name = text(1)?;
    Ok(Head {
        collection: int(0)?,
        metric: Metric::parse(&text(2)?).map_err(|cause| {
            corrupt(format!("the collection {name:?} has a damaged metric")).caused_by(cause)
        })?,
        name: CollectionName::new(name)?,
        projection: int(3)?,
        drawers: int(4)?,
        active: int(5)?,
    })
}

fn read_space(row: &Row<'_>, head: &Head) -> Result<Space> {
    let int = |at: usize| row.get::<_, i64>(at).map_err(sqlite);
    let text = |at: usize| row.get::<_, Option<String>>(at).map_err(sqlite);
    let dimension: Option<i64> = row.get(7).map_err(sqlite)?;
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
    let state = match number == head.active {
        true => SpaceState::Active,
        // What nobody wrote never answers and is filled by nobody; `verify` names it.
        false => state_from(text(14)?.as_deref()).unwrap_or(SpaceState::Abandoned),
    };
    Ok(Space {
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

/// A number for a new collection or table, never given twice in the life of a palace.
pub(crate) fn next_number(transaction: &Transaction<'_>, of: &str) -> Result<i64> {
    transaction
        .query_row(
            "INSERT INTO palace(key, value) VALUES (?1, 1) ON CONFLICT(key) DO UPDATE SET value = value + 1 RETURNING value",
            [of],
            |row| row.get(0),
        )
        .map_err(sqlite)
}
