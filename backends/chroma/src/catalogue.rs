//! The collections in a database, with their metrics and segments, and small helpers for SQL.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use loci_core::{CollectionName, Metric, Result};
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value as Json;

use crate::failure;

/// A collection as the database lists it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListedCollection {
    /// Chroma's id, with which its topic in the queue ends.
    pub(crate) id: String,
    /// The name of the collection here: Chroma's name, qualified by its database if two databases share the name.
    pub(crate) name: CollectionName,
    /// The name that Chroma uses.
    pub(crate) own_name: String,
    /// The metric of its vectors.
    pub(crate) metric: Metric,
    /// The number of values in a vector, once one was written.
    pub(crate) dimension: Option<usize>,
    /// The number of links in an element of its graph, if its settings specify it.
    pub(crate) links: Option<u64>,
    /// The number of writes after which its graph is saved, if its settings specify it.
    pub(crate) threshold: Option<u64>,
    /// The number of writes that are applied to its graph at once, if its settings specify it.
    pub(crate) batch_size: Option<u64>,
    /// The segment that holds its graph; its id names the folder.
    pub(crate) vector_segment: Option<String>,
    /// The segment that holds its rows.
    pub(crate) metadata_segment: Option<String>,
}

/// The tables of a database and their columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChromaSchema {
    tables: BTreeMap<String, BTreeSet<String>>,
}

impl ChromaSchema {
    /// Reads the names of tables and columns.
    pub(crate) fn read(connection: &Connection) -> Result<Self> {
        let mut tables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        // Virtual tables are only named: asking for their columns
        // runs their module on tables that may be damaged.
        let sql =
            "SELECT name, coalesce(sql, '') LIKE 'CREATE VIRTUAL%' FROM sqlite_schema WHERE type = 'table'";
        let mut real = Vec::new();
        for_each_row(connection, "the schema", sql, &[], |row| {
            let name: String = row.get(0)?;
            if !row.get(1)? {
                real.push(name.clone());
            }
            tables.insert(name, BTreeSet::new());
            Ok(())
        })?;
        for table in real {
            let columns = tables.entry(table.clone()).or_default();
            for_each_row(
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

    /// Returns whether there is a table of this name.
    pub(crate) fn has_table(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Returns whether a table has a column.
    pub(crate) fn has_column(&self, table: &str, column: &str) -> bool {
        self.tables
            .get(table)
            .is_some_and(|columns| columns.contains(column))
    }

    /// Returns the column as SQL, or NULL if this release lacks it.
    fn column_or_null(&self, table: &str, column: &'static str) -> String {
        if self.has_column(table, column) {
            format!("t.{column}")
        } else {
            "NULL".to_owned()
        }
    }

    /// Returns whether Chroma 1.0 or newer wrote here last; older releases keep sequence numbers as bytes.
    pub(crate) fn is_since_1(&self) -> bool {
        // No version is stored anywhere; this table came with 1.0 and stays once a folder was upgraded.
        self.has_table("acquire_write")
    }
}

/// Runs a statement and passes each row to `take`.
pub(crate) fn for_each_row(
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
    read().map_err(|cause| failure::sqlite_error(what, cause))
}

/// Returns whether a table has a row, and true if that cannot be read.
pub(crate) fn has_rows(connection: &Connection, table: &str) -> bool {
    let sql = format!("SELECT 1 FROM {table} NOT INDEXED LIMIT 1");
    // Damage is reported by the statement that needs the rows, not here.
    !matches!(query_number(connection, table, &sql, &[]), Ok(None))
}

/// Reads a column as text: invalid UTF-8 is replaced, and numbers are formatted.
pub(crate) fn read_text(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(borrow_text(row, at)?.map(Cow::into_owned))
}

/// Does the same as [`read_text`], without a copy where the column is valid text.
pub(crate) fn borrow_text<'r>(row: &'r Row<'_>, at: usize) -> rusqlite::Result<Option<Cow<'r, str>>> {
    use rusqlite::types::ValueRef;
    Ok(match row.get_ref(at)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
        ValueRef::Integer(int) => Some(Cow::Owned(int.to_string())),
        ValueRef::Real(float) => Some(Cow::Owned(float.to_string())),
    })
}

/// Lists the collections of a database in the order of their names.
pub(crate) fn list_collections(
    connection: &Connection,
    schema: &ChromaSchema,
) -> Result<Vec<ListedCollection>> {
    // A database may lack this table alone; the doctor then counts its rows as orphans.
    if !schema.has_table("collections") {
        return Ok(Vec::new());
    }
    let databases = read_databases(connection, schema)?;
    let settings = CollectionSettings::read(connection, schema)?;
    let mut found: Vec<(ListedCollection, Option<String>)> = Vec::new();
    let column = |name| schema.column_or_null("collections", name);
    let sql = format!(
        "SELECT t.id, t.name, {}, {}, {}, {} FROM collections t ORDER BY t.name, t.id",
        column("dimension"),
        column("database_id"),
        column("config_json_str"),
        column("schema_str")
    );
    for_each_row(connection, "the collections", &sql, &[], |row| {
        let (Some(id), Some(own_name)) = (read_text(row, 0)?, read_text(row, 1)?) else {
            // A row without id or name cannot be addressed.
            return Ok(());
        };
        let config = CollectionConfig {
            config: read_text(row, 4)?.and_then(|json| serde_json::from_str(&json).ok()),
            schema: read_text(row, 5)?.and_then(|json| serde_json::from_str(&json).ok()),
        };
        let segments = settings.segments_of(&id);
        let listed = ListedCollection {
            metric: settings.resolve_metric(&id, segments.0.as_deref(), &config),
            dimension: row
                .get::<_, Option<i64>>(2)?
                .and_then(|n| usize::try_from(n).ok()),
            // The setting has three spellings across releases.
            links: settings.resolve_number(
                &id,
                segments.0.as_deref(),
                &config,
                ["hnsw:M", "max_neighbors", "M"],
            ),
            threshold: settings.resolve_number(
                &id,
                segments.0.as_deref(),
                &config,
                ["hnsw:sync_threshold", "sync_threshold", "sync_threshold"],
            ),
            batch_size: settings.resolve_number(
                &id,
                segments.0.as_deref(),
                &config,
                ["hnsw:batch_size", "batch_size", "batch_size"],
            ),
            vector_segment: segments.0,
            metadata_segment: segments.1,
            name: valid_name(&own_name, &id)?,
            own_name,
            id,
        };
        found.push((
            listed,
            read_text(row, 3)?.and_then(|id| databases.get(&id).cloned()),
        ));
        Ok(())
    })?;
    disambiguate_names(found)
}

/// Returns a valid name for a collection; Chroma allows longer ones.
fn valid_name(own: &str, id: &str) -> rusqlite::Result<CollectionName> {
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
    // Part of the id keeps two names apart that differ only in replaced or cut characters.
    let short: String = id.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let candidates = [
        own.to_owned(),
        format!(
            "{}.{short}",
            // `plain` is ASCII by now, so every byte is a character boundary.
            plain.get(..plain.len().min(100)).unwrap_or_default()
        ),
        format!("c{short}"),
    ];
    let sound = candidates
        .into_iter()
        .find_map(|name| CollectionName::new(name).ok());
    sound.ok_or(rusqlite::Error::InvalidQuery)
}

/// Qualifies collections by their database where two databases share a name, except in the default database.
fn disambiguate_names(found: Vec<(ListedCollection, Option<String>)>) -> Result<Vec<ListedCollection>> {
    let mut counts: BTreeMap<CollectionName, usize> = BTreeMap::new();
    for (listed, _) in &found {
        *counts.entry(listed.name.clone()).or_default() += 1;
    }
    let mut taken = BTreeSet::new();
    let mut all = Vec::new();
    for (mut listed, database) in found {
        let alone = counts.get(&listed.name) == Some(&1);
        // Programs that never chose a database, MemPalace among them, must find their names unchanged.
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
            // Only reached if every candidate is too long or taken; the collection must still be openable.
            None => CollectionName::new(format!("c{}", all.len()))?,
        };
        taken.insert(listed.name.clone());
        all.push(listed);
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// Reads the names of databases by id, prefixed with the tenant unless it is the default one.
fn read_databases(connection: &Connection, schema: &ChromaSchema) -> Result<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    if schema.has_table("databases") {
        let sql = "SELECT id, name, tenant_id FROM databases";
        for_each_row(connection, "the databases", sql, &[], |row| {
            if let (Some(id), Some(name)) = (read_text(row, 0)?, read_text(row, 1)?) {
                let name = match read_text(row, 2)? {
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

/// The settings in the two JSON columns of a collection.
struct CollectionConfig {
    config: Option<Json>,
    schema: Option<Json>,
}

/// The segments and settings that other tables hold of collections.
#[derive(Debug, Default)]
struct CollectionSettings {
    /// The vector and the metadata segment of each collection.
    segments: BTreeMap<String, (Option<String>, Option<String>)>,
    /// The values kept for a collection or a segment, by its id and the key.
    values: BTreeMap<(String, String), String>,
}

impl CollectionSettings {
    fn read(connection: &Connection, schema: &ChromaSchema) -> Result<Self> {
        let mut settings = Self::default();
        if schema.has_table("segments") {
            let sql = "SELECT id, scope, collection FROM segments ORDER BY id";
            for_each_row(connection, "the segments", sql, &[], |row| {
                if let (Some(id), Some(scope), Some(owner)) =
                    (read_text(row, 0)?, read_text(row, 1)?, read_text(row, 2)?)
                {
                    // The order by id makes the choice repeatable, should a scope ever have two segments.
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
            if !schema.has_table(table) {
                continue;
            }
            let sql =
                format!("SELECT {owner}, key, coalesce(str_value, int_value, float_value) FROM {table}");
            for_each_row(connection, "the collections' settings", &sql, &[], |row| {
                if let (Some(id), Some(key), Some(value)) =
                    (read_text(row, 0)?, read_text(row, 1)?, read_text(row, 2)?)
                {
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

    /// Returns the value set for the collection, or else for its segment.
    fn find_value(&self, collection: &str, segment: Option<&str>, key: &str) -> Option<&str> {
        let of = |id: &str| {
            self.values
                .get(&(id.to_owned(), key.to_owned()))
                .map(String::as_str)
        };
        of(collection).or_else(|| segment.and_then(of))
    }

    fn resolve_metric(&self, collection: &str, segment: Option<&str>, config: &CollectionConfig) -> Metric {
        let named = self.resolve_setting(collection, segment, config, ["hnsw:space", "space", "space"]);
        named
            .and_then(|name| Metric::parse(&name).ok())
            // Chroma's default where no place names a metric.
            .unwrap_or(Metric::L2)
    }

    fn resolve_number(
        &self,
        collection: &str,
        segment: Option<&str>,
        config: &CollectionConfig,
        keys: [&str; 3],
    ) -> Option<u64> {
        self.resolve_setting(collection, segment, config, keys)?
            .parse()
            .ok()
    }

    /// Resolves a setting that has the first key in the metadata, the second in the configuration of 1.x, and the third
    /// in that of earlier releases.
    fn resolve_setting(
        &self,
        collection: &str,
        segment: Option<&str>,
        config: &CollectionConfig,
        keys: [&str; 3],
    ) -> Option<String> {
        let [set, configured, earlier] = keys;
        let set = || self.find_value(collection, segment, set).map(str::to_owned);
        // 1.x settles metadata and configuration once, when it creates a collection, and records the result there.
        // Releases 0.5 and 0.6 recorded their defaults whatever the metadata said.
        config
            .settled_setting(configured)
            .or_else(set)
            .or_else(|| config.default_setting(earlier))
    }
}

impl CollectionConfig {
    /// Returns a setting of the vector index as 1.x settled it.
    fn settled_setting(&self, key: &str) -> Option<String> {
        // Where both are present the schema wins, as the newer of the two.
        let schema = self.schema.as_ref().and_then(|schema| {
            let index = schema.pointer("/keys/#embedding/float_list/vector_index/config")?;
            index.get(key).or_else(|| index.pointer("/hnsw")?.get(key))
        });
        let config = || self.config.as_ref()?.pointer("/vector_index/hnsw")?.get(key);
        schema.or_else(config).and_then(format_setting)
    }

    /// Returns a setting of the vector index that releases before 1.0 recorded for every collection.
    fn default_setting(&self, key: &str) -> Option<String> {
        let index = self.config.as_ref()?.get("hnsw_configuration")?;
        index.get(key).and_then(format_setting)
    }
}

fn format_setting(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Reads a single number. Returns `None` if there is no row or no value.
pub(crate) fn query_number(
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
        .map_err(|cause| failure::sqlite_error(what, cause))
}
