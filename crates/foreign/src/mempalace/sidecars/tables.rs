//! Reads the rows of a SQLite file as JSON, one drawer each.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::{Map, Value as Json, json};

use super::SidecarFiles;
use crate::ForeignOpener;

/// Reads every row of every table of the file at `path`; a file that cannot be read is recorded as unread.
pub(super) fn read_tables(path: &Path, name: &str, sidecars: &mut SidecarFiles) {
    // From a copy, which `opened` keeps: MemPalace may be writing to the file.
    let taken = ForeignOpener::default()
        .open_copy_of(path)
        .map_err(|error| error.to_string())
        .and_then(|opened| add_rows(&opened.connection, name, sidecars).map_err(|error| error.to_string()));
    if let Err(why) = taken {
        sidecars.add_unread(name, why);
    }
}

fn add_rows(connection: &Connection, name: &str, sidecars: &mut SidecarFiles) -> rusqlite::Result<()> {
    let sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
               AND coalesce(sql, '') NOT LIKE 'CREATE VIRTUAL%' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    let tables: Vec<(String, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (table, made_by) in tables {
        // The statement that made the table goes along, so that the rows can be put back into one.
        sidecars.add_drawer(format!("{name}/{table}"), made_by, name);
        let quoted = table.replace('"', "\"\"");
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{quoted}\""))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut found = statement.query([])?;
        // Counted, since not every table has a rowid.
        let mut number = 0_u64;
        while let Some(row) = found.next()? {
            number += 1;
            let document = row_to_json(row, &columns)?.to_string();
            sidecars.add_drawer(format!("{name}/{table}/{number:09}"), document, name);
        }
    }
    Ok(())
}

fn row_to_json(row: &Row<'_>, columns: &[String]) -> rusqlite::Result<Json> {
    let mut object = Map::new();
    for (at, column) in columns.iter().enumerate() {
        object.insert(column.clone(), value_to_json(row.get_ref(at)?));
    }
    Ok(Json::Object(object))
}

fn value_to_json(value: ValueRef<'_>) -> Json {
    match value {
        ValueRef::Null => Json::Null,
        ValueRef::Integer(int) => json!(int),
        ValueRef::Real(float) => json!(float),
        ValueRef::Text(bytes) => Json::String(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": digits })
        }
    }
}
