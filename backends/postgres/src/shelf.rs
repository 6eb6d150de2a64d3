//! A collection as the server knows it: its numbers, its spaces and its counters at one moment.

use loci_core::{
    CollectionInfo, CollectionName, Cursor, EmbedderIdentity, FindingSeverity, IdentityState, IndexCoverage,
    Metric, OpenOptions, PalaceFinding, Result, SpaceState,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::failure::{corrupt_error, missing_collection};
use crate::statement::SqlStatement;
use crate::words::WordCounters;

/// The columns of a collection with one of its spaces; a row for each space.
const COLUMNS: &str = "SELECT c.collection, c.name, c.metric, c.space, c.drawers, c.seq,
    s.space, s.dimension, s.model, s.revision, s.state, s.vectors, s.near, w.value,
    CASE WHEN w.value IS NOT NULL
        THEN (SELECT substring(array_to_string(k.reloptions, ',') FROM 'lists=([0-9]+)')::bigint
            FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid
            WHERE i.indisvalid AND i.indexrelid = to_regclass('loci.near_space_' || s.space)) END,
    c.sealed, c.merged, c.tail, c.tail_bytes, c.small, c.small_bytes
    FROM loci.collections c JOIN loci.spaces s USING (collection)
    LEFT JOIN loci.settings w ON w.key = 'approximate ' || c.palace WHERE c.palace = $1";

/// A collection at one moment.
#[derive(Debug, Clone)]
pub(crate) struct ServerShelf {
    pub(crate) collection: i64,
    pub(crate) name: CollectionName,
    pub(crate) metric: Metric,
    pub(crate) drawers: i64,
    /// The sequence number of its newest change.
    pub(crate) seq: i64,
    /// How far its words are sealed.
    pub(crate) words: WordCounters,
    /// The number of vectors from which the palace wants approximate answers; `None` if it wants none.
    pub(crate) approximate_from: Option<i64>,
    /// The space that answers.
    pub(crate) space: ServerSpace,
    /// The others: the one being built first, then those set aside, the latest first.
    pub(crate) others: Vec<ServerSpace>,
}

/// An embedding space at one moment.
#[derive(Debug, Clone)]
pub(crate) struct ServerSpace {
    pub(crate) number: i64,
    pub(crate) dimension: Option<usize>,
    pub(crate) embedder: Option<EmbedderIdentity>,
    pub(crate) state: SpaceState,
    pub(crate) vectors: i64,
    /// The number of vectors whose codes the server compares by itself; `None` if it keeps none for this space.
    pub(crate) near: Option<i64>,
    /// The number of lists of its valid approximate index, if it has one; read only where the palace wants one.
    pub(crate) lists: Option<i64>,
}

impl ServerSpace {
    fn read(row: &Row) -> Result<Self> {
        let dimension: Option<i32> = row.get(7);
        let dimension = dimension.and_then(|dimension| usize::try_from(dimension).ok());
        let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let (model, revision) = (text(row.get(8)), text(row.get(9)));
        let state: &str = row.get(10);
        let states = [
            SpaceState::Active,
            SpaceState::Building,
            SpaceState::Paused,
            SpaceState::Retired,
            SpaceState::Abandoned,
        ];
        let known = states.into_iter().find(|known| known.name() == state);
        Ok(Self {
            number: row.get(6),
            dimension,
            embedder: match (model, revision, dimension) {
                (Some(model), Some(revision), Some(dimension)) => Some(EmbedderIdentity {
                    model,
                    revision,
                    dimension,
                }),
                _ => None,
            },
            state: known.ok_or_else(|| corrupt_error(format!("{state:?} is not the state of a space")))?,
            vectors: row.get(11),
            near: row.get(12),
            lists: row.get(14),
        })
    }

    /// Returns the model of its vectors, as far as it is known.
    pub(crate) fn identity(&self) -> IdentityState {
        match &self.embedder {
            Some(embedder) => IdentityState::Known(embedder.clone()),
            None if self.vectors > 0 => IdentityState::Unknown,
            None => IdentityState::Unset,
        }
    }

    /// Returns the name of its model for messages.
    pub(crate) fn model(&self) -> &str {
        self.embedder
            .as_ref()
            .map_or("an unnamed model", |embedder| embedder.model.as_str())
    }

    pub(crate) fn is_being_built(&self) -> bool {
        matches!(self.state, SpaceState::Building | SpaceState::Paused)
    }
}

impl ServerShelf {
    /// Returns the question for the collection with this number.
    pub(crate) fn select_by_number(palace: i64, collection: i64) -> SqlStatement {
        SqlStatement::new(format!("{COLUMNS} AND c.collection = $2 ORDER BY s.turn DESC"))
            .with_int(palace)
            .with_int(collection)
    }

    /// Returns the question for the collection of this name.
    pub(crate) fn select_by_name(palace: i64, name: &CollectionName) -> SqlStatement {
        SqlStatement::new(format!("{COLUMNS} AND c.name = $2 ORDER BY s.turn DESC"))
            .with_int(palace)
            .with(name.as_str().to_owned(), Type::TEXT)
    }

    /// Returns the question for all collections of a palace.
    pub(crate) fn select_all(palace: i64) -> SqlStatement {
        SqlStatement::new(format!("{COLUMNS} ORDER BY c.name, s.turn DESC")).with_int(palace)
    }

    /// Reads the collection from the answer to a question for one; `NotFound` if it does not exist.
    pub(crate) fn read_one(rows: &[Row], name: &CollectionName) -> Result<Self> {
        Self::read_all(rows)?
            .pop()
            .ok_or_else(|| missing_collection(name))
    }

    /// Reads collections from rows that are grouped by collection.
    pub(crate) fn read_all(rows: &[Row]) -> Result<Vec<Self>> {
        rows.chunk_by(|a, b| a.get::<_, i64>(0) == b.get::<_, i64>(0))
            .map(Self::read_group)
            .collect()
    }

    fn read_group(rows: &[Row]) -> Result<Self> {
        let first = rows.first().expect("a group has at least one row");
        let active: i64 = first.get(3);
        let mut spaces = rows.iter().map(ServerSpace::read).collect::<Result<Vec<_>>>()?;
        let at = spaces.iter().position(|space| space.number == active);
        let at = at.ok_or_else(|| corrupt_error("the active space of a collection is gone"))?;
        let space = spaces.remove(at);
        // Stable: those set aside stay in the order of their turns.
        spaces.sort_by_key(|space| !space.is_being_built());
        Ok(Self {
            collection: first.get(0),
            name: CollectionName::new(first.get::<_, &str>(1))?,
            metric: Metric::parse(first.get(2))?,
            drawers: first.get(4),
            seq: first.get(5),
            words: WordCounters::read(first, 15),
            approximate_from: first
                .get::<_, Option<&str>>(13)
                .and_then(|from| from.parse().ok()),
            space,
            others: spaces,
        })
    }

    /// Returns every space, the active one first.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = &ServerSpace> {
        std::iter::once(&self.space).chain(&self.others)
    }

    /// Returns the space that is being built or paused.
    pub(crate) fn being_built(&self) -> Option<&ServerSpace> {
        self.others.iter().find(|space| space.is_being_built())
    }

    /// Returns the number of lists of the index, if queries may be answered by it: the palace wants that, and it is there.
    pub(crate) fn usable_lists(&self) -> Option<i64> {
        let space = &self.space;
        let is_wanted = self.approximate_from.is_some_and(|from| space.vectors >= from);
        let is_whole = space.near == Some(space.vectors);
        space.lists.filter(|_| is_wanted && is_whole)
    }

    /// Returns whether the same reads of both would ask the server the same.
    pub(crate) fn asks_like(&self, other: &Self) -> bool {
        let plan = |shelf: &Self| {
            let space = &shelf.space;
            let is_coded = space.near == Some(space.vectors);
            let words = (shelf.words.sealed, shelf.words.merged);
            let answering = (space.number, space.dimension, is_coded);
            (
                shelf.collection,
                shelf.metric,
                answering,
                shelf.usable_lists(),
                words,
            )
        };
        plan(self) == plan(other)
    }

    /// Returns whether the server keeps codes for any of its spaces.
    pub(crate) fn has_codes(&self) -> bool {
        self.spaces().any(|space| space.near.is_some())
    }

    /// Refuses declared options that contradict this collection.
    pub(crate) fn check_options(&self, options: &OpenOptions) -> Result<()> {
        self.space.identity().check_open(options.embedder.as_ref())?;
        let declared = options.embedder.as_ref().map(|embedder| embedder.dimension);
        for dimension in [options.dimension, declared].into_iter().flatten() {
            match self.space.dimension {
                Some(stored) if stored != dimension => {
                    return Err(loci_core::vector::dimension_mismatch(stored, dimension));
                }
                _ => {}
            }
        }
        match options.metric {
            Some(metric) if metric != self.metric => Err(loci_core::Error::invalid(format!(
                "the collection {:?} compares by {}, not by {}",
                self.name.as_str(),
                self.metric.name(),
                metric.name()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the figures of the collection for a handle that sees all of it.
    pub(crate) fn info(&self) -> CollectionInfo {
        CollectionInfo {
            name: self.name.clone(),
            metric: self.metric,
            dimension: self.space.dimension,
            identity: self.space.identity(),
            drawers: count(self.drawers),
            coverage: IndexCoverage {
                nearest: count(self.space.vectors),
                packed: count(self.space.near.unwrap_or(0)),
                lexical: count(self.drawers),
            },
            approximate: self.usable_lists().is_some(),
            seq: Cursor(count(self.seq)),
            warnings: self
                .unknown_model()
                .into_iter()
                .chain(self.switch_under_way())
                .collect(),
        }
    }

    /// Returns the warning that the model of the vectors is not recorded.
    pub(crate) fn unknown_model(&self) -> Option<PalaceFinding> {
        let unknown = self.space.identity() == IdentityState::Unknown;
        unknown.then(|| {
            let message = format!(
                "the model that made the vectors of {:?} is not recorded",
                self.name.as_str()
            );
            PalaceFinding::new("embedder_unknown", FindingSeverity::Warning, message)
                .with_hint("name it with `loci embedder set MODEL`")
                .in_collection(self.name.as_str())
        })
    }

    fn switch_under_way(&self) -> Option<PalaceFinding> {
        let space = self.being_built()?;
        let (severity, how) = match space.state {
            SpaceState::Paused => (FindingSeverity::Warning, "is paused"),
            _ => (FindingSeverity::Note, "is under way"),
        };
        let (model, made, drawers) = (space.model(), space.vectors, self.drawers);
        let message = format!("a switch to {model} {how}: {made} of {drawers} drawers have its vectors");
        Some(
            PalaceFinding::new("switch_under_way", severity, message)
                .with_hint(format!(
                    "continue with `loci embedder switch {model}`, or abandon it with `loci embedder switch --rollback`"
                ))
                .in_collection(self.name.as_str()),
        )
    }
}

/// Returns a count that the server keeps as a signed number.
pub(crate) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
