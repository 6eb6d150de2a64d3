//! Records that a migration leaves in the collections it created, stored among the records of sources.

use loci_core::{Collection, CollectionExt, ErrorKind, Result, SourceRecord, SourceRecordQuery};
use serde_json::Value as Json;

/// The prefix of record names that do not belong to a source.
pub const RESERVED_PREFIX: &str = "loci:";

/// The name under which a collection keeps the record of its migration.
pub const MIGRATION_RECORD: &str = "loci:migration";

/// Returns the records of a collection's migrations, earliest first; empty if it was never migrated.
pub fn list_migrations(collection: &dyn Collection) -> Result<Vec<Json>> {
    // A backend without a source ledger cannot have been the target of a migration.
    let found = match find_migration(collection) {
        Err(error) if error.kind() == ErrorKind::Unsupported => None,
        found => found?,
    };
    let record = found.and_then(|found| serde_json::from_str::<Json>(&found.stamp).ok());
    // An unfinished record belongs to a migration that is still copying or was interrupted.
    let Some(mut record) = record.filter(|record| record.get("finished_at").is_some()) else {
        return Ok(Vec::new());
    };
    // The newest record carries its predecessors inside it; they are unpacked so that each is listed once.
    let earlier = record.as_object_mut().and_then(|record| record.remove("earlier"));
    let mut all = match earlier {
        Some(Json::Array(earlier)) => earlier,
        _ => Vec::new(),
    };
    all.push(record);
    Ok(all)
}

/// Returns the stored record of the migration, finished or not.
pub fn find_migration(collection: &dyn Collection) -> Result<Option<SourceRecord>> {
    let named = SourceRecordQuery::Named(vec![MIGRATION_RECORD.to_owned()]);
    Ok(collection.require_sources()?.find_records(&named)?.pop())
}
