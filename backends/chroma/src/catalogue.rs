//! Which collections a database holds, how their vectors are compared, and which segments are theirs.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{CollectionName, Metric, Result};
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value as Json;

use crate::failure;

/// One collection as the database lists it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listed {
    /// Chroma's id, which ends its topic in the queue.
    pub(crate) id: String,
    /// What it is called here: its own name, or that with its database's where two databases have one of the name.
    pub(crate) name: CollectionName,
    /// What Chroma calls it.
    pub(crate) own_name: String,
    /// How its vectors are compared.
    pub(crate) metric: Metric,
    /// How many values vectors have, once one was written.
    pub(crate) dimension: Option<usize>,
    /// How many links elements of its graph have, where its settings say so.
    pub(crate) links: Option<u64>,
    /// After how many writes its graph is saved, where its settings say so.
    pub(crate) threshold: Option<u64>,
    /// The segment that holds its graph; its id names the folder.
    pub(crate) vector_segment: Option<String>,
    /// The segment that holds its rows.
    pub(crate) metadata_segment: Option<String>,
}

/// What a database's tables and columns are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schema {
    tables: BTreeMap<String, BTreeSet<String>>,
}

impl Schema {
    /// Reads the names of tables and columns.
    pub(crate) fn read(connection: &Connection) -> Result<Self> {
        let mut tables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        // Virtual tables are only named: asking for their columns runs their code on what may be damaged.
        let sql =
            "SELECT name, coalesce(sql, '') LIKE 'CREATE VIRTUAL%' FROM sqlite_schema WHERE type = 'table'";
        let mut real = Vec::new();
        rows(connection, "the schema", sql, &[], |row| {
            let name: String = row.get(0)?;
            if !row.get(1)? {
                real.push(name.clone());
            }
            tables.insert(name, BTreeSet::new());
            Ok(())
        })?;
        for table in real {
            let columns = tables.entry(table.clone()).or_default();
            rows(
                connection,
                "the schema",
                "SELECT name FROM pragma_table_info(?1)",
                &[&table],
                |row| {
                    columns.insert(row.get(0)?);
                    Ok(())
                },
            )?;
        }
        Ok(Self { tables })
    }

    /// Whether there is a table of this name.
    pub(crate) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Whether a table has a column.
    pub(crate) fn has_column(&self, table: &str, column: &str) -> bool {
        self.tables
            .get(table)
            .is_some_and(|columns| columns.contains(column))
    }

    /// The column, or NULL where a release does not have it.
    fn column(&self, table: &str, column: &'static str) -> String {
        match self.has_column(table, column) {
            true => format!("t.{column}"),
            false => "NULL".to_owned(),
        }
    }

    /// Whether Chroma 1.0 or newer wrote here last; older releases keep sequence numbers as bytes.
    pub(crate) fn is_since_1(&self) -> bool {
        self.has("acquire_write")
    }
}

/// Runs a statement and hands each row over.
pub(crate) fn rows(
    connection: &Connection,
    what: &str,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
    mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> Result<()> {
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
        Ok(())
    };
    read().map_err(|cause| failure::sqlite(what, cause))
}

/// A text column; what is no UTF-8 is made readable, and numbers become text.
pub(crate) fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    use rusqlite::types::ValueRef;
    Ok(match row.get_ref(at)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(int) => Some(int.to_string()),
        ValueRef::Real(float) => Some(float.to_string()),
    })
}

/// Lists the collections of a database, by name.
pub(crate) fn collections(connection: &Connection, schema: &Schema) -> Result<Vec<Listed>> {
    if !schema.has("collections") {
        return Ok(Vec::new());
    }
    let databases = databases(connection, schema)?;
    let settings = Settings::read(connection, schema)?;
    let mut found: Vec<(Listed, Option<String>)> = Vec::new();
    let column = |name| schema.column("collections", name);
    let sql = format!(
        "SELECT t.id, t.name, {}, {}, {}, {} FROM collections t ORDER BY t.name, t.id",
        column("dimension"),
        column("database_id"),
        column("config_json_str"),
        column("schema_str")
    );
    rows(connection, "the collections", &sql, &[], |row| {
        let (Some(id), Some(own_name)) = (text(row, 0)?, text(row, 1)?) else {
            return Ok(());
        };
        let config = Config {
            config: text(row, 4)?.and_then(|json| serde_json::from_str(&json).ok()),
            schema: text(row, 5)?.and_then(|json| serde_json::from_str(&json).ok()),
        };
        let segments = settings.segments_of(&id);
        let listed = Listed {
            metric: settings.metric(&id, segments.0.as_deref(), &config),
            dimension: row
                .get::<_, Option<i64>>(2)?
                .and_then(|n| usize::try_from(n).ok()),
            links: settings
                .number(&id, segments.0.as_deref(), &config, ["hnsw:M", "max_neighbors"])
                .or_else(|| config.text("M")?.parse().ok()),
            threshold: settings.number(
                &id,
                segments.0.as_deref(),
                &config,
                ["hnsw:sync_threshold", "sync_threshold"],
            ),
            vector_segment: segments.0,
            metadata_segment: segments.1,
            name: sound_name(&own_name, &id)?,
            own_name,
            id,
        };
        found.push((listed, text(row, 3)?.and_then(|id| databases.get(&id).cloned())));
        Ok(())
    })?;
    told_apart(found)
}

/// A name a collection can have here; Chroma allows longer ones.
fn sound_name(own: &str, id: &str) -> rusqlite::Result<CollectionName> {
    let plain: String = own
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') {
                c
            } else {
                '_'
            }
        })
        .collect();
    let plain = plain.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let short: String = id.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let candidates = [
        own.to_owned(),
        format!(
            "{}.{short}",
            plain.get(..plain.len().min(100)).unwrap_or_default()
        ),
        format!("c{short}"),
    ];
    let sound = candidates
        .into_iter()
        .find_map(|name| CollectionName::new(name).ok());
    sound.ok_or(rusqlite::Error::InvalidQuery)
}

/// Names collections that two databases have by both names, but for the default database's.
fn told_apart(found: Vec<(Listed, Option<String>)>) -> Result<Vec<Listed>> {
    let mut counts: BTreeMap<CollectionName, usize> = BTreeMap::new();
    for (listed, _) in &found {
        *counts.entry(listed.name.clone()).or_default() += 1;
    }
    let mut taken = BTreeSet::new();
    let mut all = Vec::new();
    for (mut listed, database) in found {
        let alone = counts.get(&listed.name) == Some(&1);
        let usual = database.as_deref().is_none_or(|name| name == "default_database");
        let mut candidates = Vec::new();
        if alone || usual {
            candidates.push(listed.name.to_string());
        }
        candidates.push(format!("{}.{}", listed.name, database.unwrap_or_default()));
        candidates.push(format!("{}.{}", listed.name, listed.id));
        let name = candidates
            .into_iter()
            .filter_map(|name| CollectionName::new(name).ok())
            .find(|name| !taken.contains(name));
        listed.name = match name {
            Some(name) => name,
            None => CollectionName::new(format!("c{}", all.len()))?,
        };
        taken.insert(listed.name.clone());
        all.push(listed);
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// The names of databases by their ids; a tenant other than the default one stands before.
fn databases(connection: &Connection, schema: &Schema) -> Result<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    if schema.has("databases") {
        let sql = "SELECT id, name, tenant_id FROM databases";
        rows(connection, "the databases", sql, &[], |row| {
            if let (Some(id), Some(name)) = (text(row, 0)?, text(row, 1)?) {
                let name = match text(row, 2)? {
                    Some(tenant) if tenant != "default_tenant" => format!("{tenant}.{name}"),
                    _ => name,
                };
                names.insert(id, name);
            }
            Ok(())
        })?;
    }
    Ok(names)
}

/// What a collection's own two columns of settings say.
struct Config {
    config: Option<Json>,
    schema: Option<Json>,
}

/// What tables say of collections and segments beside the collections' own columns.
#[derive(Debug, Default)]
struct Settings {
    /// The vector and the metadata segment of each collection.
    segments: BTreeMap<String, (Option<String>, Option<String>)>,
    /// Text and numbers kept for a collection or a segment, by its id and the key.
    values: BTreeMap<(String, String), String>,
}

impl Settings {
    fn read(connection: &Connection, schema: &Schema) -> Result<Self> {
        let mut settings = Self::default();
        if schema.has("segments") {
            let sql = "SELECT id, scope, collection FROM segments ORDER BY id";
            rows(connection, "the segments", sql, &[], |row| {
                if let (Some(id), Some(scope), Some(owner)) = (text(row, 0)?, text(row, 1)?, text(row, 2)?) {
                    let (vector, metadata) = settings.segments.entry(owner).or_default();
                    match scope.as_str() {
                        "VECTOR" => *vector = Some(id),
                        "METADATA" => *metadata = Some(id),
                        _ => {}
                    }
                }
                Ok(())
            })?;
        }
        for (table, owner) in [
            ("collection_metadata", "collection_id"),
            ("segment_metadata", "segment_id"),
        ] {
            if !schema.has(table) {
                continue;
            }
            let sql =
                format!("SELECT {owner}, key, coalesce(str_value, int_value, float_value) FROM {table}");
            rows(connection, "the collections' settings", &sql, &[], |row| {
                if let (Some(id), Some(key), Some(value)) = (text(row, 0)?, text(row, 1)?, text(row, 2)?) {
                    settings.values.insert((id, key), value);
                }
                Ok(())
            })?;
        }
        Ok(settings)
    }

    fn segments_of(&self, collection: &str) -> (Option<String>, Option<String>) {
        self.segments.get(collection).cloned().unwrap_or_default()
    }

    /// What is set for the collection, or for its segment.
    fn value(&self, collection: &str, segment: Option<&str>, key: &str) -> Option<&str> {
        let of = |id: &str| {
            self.values
                .get(&(id.to_owned(), key.to_owned()))
                .map(String::as_str)
        };
        of(collection).or_else(|| segment.and_then(of))
    }

    /// What the metadata says counts first: releases 0.5 and 0.6 wrote `l2` into the config of every collection.
    fn metric(&self, collection: &str, segment: Option<&str>, config: &Config) -> Metric {
        let set = self.value(collection, segment, "hnsw:space");
        let named = set.map(str::to_owned).or_else(|| config.text("space"));
        named
            .and_then(|name| Metric::parse(&name).ok())
            .unwrap_or(Metric::L2)
    }

    /// A number that is set under the first key, or that the config holds under the second.
    fn number(
        &self,
        collection: &str,
        segment: Option<&str>,
        config: &Config,
        keys: [&str; 2],
    ) -> Option<u64> {
        let [set, configured] = keys;
        let set = self.value(collection, segment, set).map(str::to_owned);
        set.or_else(|| config.text(configured))?.parse().ok()
    }
}

impl Config {
    /// A setting of the vector index, wherever a release keeps it.
    fn text(&self, key: &str) -> Option<String> {
        let schema = self.schema.as_ref().and_then(|schema| {
            let index = schema.pointer("/keys/#embedding/float_list/vector_index/config")?;
            index.get(key).or_else(|| index.pointer("/hnsw")?.get(key))
        });
        let config = || {
            let config = self.config.as_ref()?;
            let index = config
                .pointer("/vector_index/hnsw")
                .or_else(|| config.get("hnsw_configuration"))?;
            index.get(key)
        };
        match schema.or_else(config)? {
            Json::String(text) => Some(text.clone()),
            Json::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// A single number, `None` where there is no row or no value.
pub(crate) fn number(
    connection: &Connection,
    what: &str,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Option<i64>> {
    let found = connection.prepare_cached(sql).and_then(|mut statement| {
        statement
            .query_row(values, |row| row.get::<_, Option<i64>>(0))
            .optional()
    });
    found
        .map(Option::flatten)
        .map_err(|cause| failure::sqlite(what, cause))
}
