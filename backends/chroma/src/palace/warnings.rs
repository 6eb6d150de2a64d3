//! What every reader of a folder is told: other users, unfinished writes, and what is damaged or lost.

use loci_core::{FindingSeverity, PalaceFinding};

use super::LoadedFolder;
use crate::catalogue::ListedCollection;
use crate::database::ReadingMode;
use crate::users;

impl LoadedFolder {
    /// Returns the warnings for readers of any collection.
    pub(crate) fn warnings(&self) -> Vec<PalaceFinding> {
        let mut warnings: Vec<PalaceFinding> = self.users().iter().map(users::FileUser::finding).collect();
        let rowless = self
            .listed
            .iter()
            .filter(|listed| listed.metadata_segment.is_none());
        warnings.extend(rowless.map(missing_segment));
        match &self.database.reading {
            ReadingMode::InPlace => {}
            ReadingMode::Copied { beside, .. } => warnings.push(unfinished_write(beside)),
            ReadingMode::Salvaged { salvage, why } => {
                let message = format!(
                    "the database is damaged ({why}); its salvaged rows are read, and {} things were lost",
                    salvage.losses.len()
                );
                let hint = "`loci doctor` lists the losses; `loci migrate` moves the rest to a sound palace";
                warnings.push(
                    PalaceFinding::new("database_damaged", FindingSeverity::Error, message).with_hint(hint),
                );
                if salvage.log_pages > 0 {
                    warnings.push(unfinished_write("-wal"));
                }
            }
        }
        warnings
    }
}

/// Reports the log or journal beside the database, which was settled in a private copy.
fn unfinished_write(beside: &str) -> PalaceFinding {
    match beside {
        "-wal" => PalaceFinding::new(
            "wal_pending",
            FindingSeverity::Note,
            "writes in the log beside the database are read with it; the folder stays unchanged",
        ),
        _ => PalaceFinding::new(
            "hot_journal",
            FindingSeverity::Warning,
            "a process died during a write; the database is read as it was before that write",
        ),
    }
}

/// Reports a collection whose rows cannot be told from those of others.
fn missing_segment(listed: &ListedCollection) -> PalaceFinding {
    let name = listed.name.as_str();
    let message = format!("{name:?} has no metadata segment, so its rows cannot be identified");
    PalaceFinding::new("segment_missing", FindingSeverity::Error, message).in_collection(name)
}
