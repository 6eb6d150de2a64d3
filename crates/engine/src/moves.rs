//! Records that a migration leaves in the collections it made, kept among the records of sources.

use loci_core::{Collection, CollectionExt, ErrorKind, Result, SourceRecord, Sources};
use serde_json::Value as Json;

/// The beginning of the names of records that are not of a source.
pub const RESERVED: &str = "loci:";

/// The name under which a collection keeps the record of its migration.
pub const MIGRATION_RECORD: &str = "loci:migration";

/// The record of a collection's migration and those of earlier ones, the earliest first; none where it was never moved.
pub fn list_migrations(collection: &dyn Collection) -> Result<Vec<Json>> {
    let found = match find_migration(collection) {
        Err(error) if error.kind() == ErrorKind::Unsupported => None,
        found => found?,
    };
    let record = found.and_then(|found| serde_json::from_str::<Json>(&found.stamp).ok());
    let Some(mut record) = record.filter(|record| record.get("finished_at").is_some()) else {
        return Ok(Vec::new());
    };
    let earlier = record.as_object_mut().and_then(|record| record.remove("earlier"));
    let mut all = match earlier {
        Some(Json::Array(earlier)) => earlier,
        _ => Vec::new(),
    };
    all.push(record);
    Ok(all)
}

/// The record as it is kept, finished or not.
pub fn find_migration(collection: &dyn Collection) -> Result<Option<SourceRecord>> {
    let named = Sources::Named(vec![MIGRATION_RECORD.to_owned()]);
    Ok(collection.require_sources()?.find_records(&named)?.pop())
}
