//! Sync: finds mined sources that no longer exist, and removes their drawers on request.
//!
//! A file that cannot be seen is not always gone: its volume may not be mounted, its folder may have moved, the
//! whole disk may be another one. Only sources that certainly vanished can be removed, and never most of them
//! at once.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use loci_core::{
    Collection, CollectionExt, DeleteSelection, Error, ErrorKind, Result, RevisionOutcome, SourceRecord,
    SourceRecordQuery, SourceRevision, Write,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::migration_records::RESERVED_PREFIX;
use crate::mine::stamp::SourceStamp;
use crate::palace::Palace;
use loci_mine::SourceFingerprint;
use loci_mine::name::{self, CONVERSATION_SEPARATOR};

/// The number of records read in one call.
const PAGE: usize = 1024;

/// Up to this many sources may vanish at once, however few there are.
const FEW: usize = 10;

/// The state of the mined sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SyncReport {
    /// The number of sources checked.
    pub checked: u64,
    /// The sources that are gone, each with its number of drawers.
    pub vanished: Vec<VanishedSource>,
    /// The sources that cannot be seen, for reasons that do not prove they are gone.
    pub unresolved: Vec<UnresolvedSource>,
    /// The reason nothing can be removed, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The sources and drawers that were removed.
    pub removed: RemovedCounts,
}

/// A source that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VanishedSource {
    /// The source.
    pub source: String,
    /// The number of drawers filed from it.
    pub drawers: u64,
}

/// A source that cannot be seen at present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnresolvedSource {
    /// The source.
    pub source: String,
    /// The reason.
    pub reason: String,
}

/// The numbers of removed sources and drawers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemovedCounts {
    /// Sources.
    pub sources: u64,
    /// Drawers.
    pub drawers: u64,
}

enum SourcePresence {
    Present,
    Gone,
    Unclear(String),
}

impl Palace {
    /// Checks every source mined from these paths, or all sources if there are none; changes nothing.
    pub fn check_sources(&self, paths: &[PathBuf]) -> Result<SyncReport> {
        self.read(|session| check_sources(session.collection(), paths))
    }

    /// Removes the drawers of the sources that `report` lists as vanished; their number must be `expected`.
    pub fn remove_vanished(&self, report: &SyncReport, expected: u64) -> Result<RemovedCounts> {
        self.access().check_upkeep("removing vanished sources")?;
        self.write(|collection| remove_vanished(collection, report, expected))
    }
}

/// Checks every source mined from these paths, or all sources if there are none; changes nothing.
pub fn check_sources(collection: &dyn Collection, paths: &[PathBuf]) -> Result<SyncReport> {
    let mut report = SyncReport::default();
    let mut files = SourceFileProbe::default();
    visit_records(collection, paths, &mut |record| {
        // A record without a readable stamp may come from another build; nothing certain is known of its source.
        let Some(stamp) = SourceStamp::from_text(&record.stamp) else {
            return Ok(());
        };
        report.checked += 1;
        match files.find_presence(collection, &record.source, &stamp)? {
            SourcePresence::Present => {}
            SourcePresence::Gone => report.vanished.push(VanishedSource {
                source: record.source,
                drawers: stamp.drawers,
            }),
            SourcePresence::Unclear(reason) => report.unresolved.push(UnresolvedSource {
                source: record.source,
                reason,
            }),
        }
        Ok(())
    })?;
    report.refused = refuse_mass_removal(&report, paths);
    Ok(report)
}

/// Returns the names of vanished sources below these paths.
pub(crate) fn list_vanished(collection: &dyn Collection, paths: &[PathBuf]) -> Result<Vec<String>> {
    let report = check_sources(collection, paths)?;
    Ok(report.vanished.into_iter().map(|gone| gone.source).collect())
}

fn refuse_mass_removal(report: &SyncReport, paths: &[PathBuf]) -> Option<String> {
    // A source named by itself on the command line is meant, however many others are gone.
    let is_named = |gone: &VanishedSource| paths.iter().any(|path| name::name_of_path(path) == gone.source);
    let gone = report.vanished.iter().filter(|gone| !is_named(gone)).count();
    let most = gone > FEW && gone as u64 * 2 > report.checked;
    most.then(|| {
        format!(
            "{gone} of {} sources are gone at once, which looks like a folder that moved or a disk that is not mounted",
            report.checked
        )
    })
}

/// Removes the drawers of vanished sources. `count` is the number of sources the user expects to be removed:
/// with any other number, or with a report that refuses, nothing is removed. Each source is checked once more
/// before it goes.
pub fn remove_vanished(
    collection: &dyn Collection,
    report: &SyncReport,
    count: u64,
) -> Result<RemovedCounts> {
    if let Some(why) = &report.refused {
        return Err(Error::new(ErrorKind::Conflict, why.clone()).with_hint(
            "nothing was removed; name the sources to remove one by one, or remove drawers with `loci delete --where`",
        ));
    }
    let there = report.vanished.len() as u64;
    if count != there {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!("the number of vanished sources is {there}, not {count}"),
        )
        .with_hint("nothing was removed; list them with `loci sync` and give their number"));
    }
    let mut removed = RemovedCounts::default();
    let mut files = SourceFileProbe::default();
    for gone in &report.vanished {
        let Some(record) = find_record(collection, &gone.source)? else {
            continue;
        };
        let Some(stamp) = SourceStamp::from_text(&record.stamp) else {
            continue;
        };
        // The report may be minutes old: a volume may have been mounted since.
        if !matches!(
            files.find_presence(collection, &gone.source, &stamp)?,
            SourcePresence::Gone
        ) {
            continue;
        }
        let drawers = crate::mine::read_mined_drawers(collection, &gone.source)?.into_iter();
        let ids: Vec<_> = drawers.map(|drawer| drawer.id).collect();
        let drawers = ids.len() as u64;
        let revision = SourceRevision {
            source: gone.source.clone(),
            // A source that is mined again in this very moment has a new revision, and is passed over.
            expects: Some(record.revision),
            stamp: None,
            parts: Box::new(
                std::iter::once(ids)
                    .filter(|ids| !ids.is_empty())
                    .map(|ids| vec![Write::Delete(DeleteSelection::Ids(ids))]),
            ),
        };
        let done = collection.require_sources()?.revise(vec![revision])?;
        if matches!(done.first(), Some(RevisionOutcome::Done { .. })) {
            removed.sources += 1;
            removed.drawers += drawers;
        }
    }
    Ok(removed)
}

fn find_record(collection: &dyn Collection, name: &str) -> Result<Option<SourceRecord>> {
    Ok(collection
        .require_sources()?
        .find_records(&SourceRecordQuery::Named(vec![name.to_owned()]))?
        .pop())
}

/// Calls `each` with the record of every source mined from these paths, or of all sources.
fn visit_records(
    collection: &dyn Collection,
    paths: &[PathBuf],
    each: &mut dyn FnMut(SourceRecord) -> Result<()>,
) -> Result<()> {
    for prefix in outermost_prefixes(paths) {
        let mut after = None;
        loop {
            let page = collection
                .require_sources()?
                .find_records(&SourceRecordQuery::Under {
                    prefix: prefix.clone(),
                    after: after.take(),
                    limit: PAGE,
                })?;
            after = page
                .last()
                .filter(|_| page.len() == PAGE)
                .map(|last| last.source.clone());
            for record in page {
                // Reserved names are Loci's own records, not sources. A prefix also matches siblings like
                // `notes.old`.
                if is_below(&record.source, &prefix) && !record.source.starts_with(RESERVED_PREFIX) {
                    each(record)?;
                }
            }
            if after.is_none() {
                break;
            }
        }
    }
    Ok(())
}

/// Returns the name prefixes of the sources below these paths, without nested ones, so that no source is
/// visited twice; without paths, one empty prefix.
fn outermost_prefixes(paths: &[PathBuf]) -> Vec<String> {
    let mut prefixes: Vec<String> = paths.iter().map(|path| name::name_of_path(path)).collect();
    if prefixes.is_empty() {
        return vec![String::new()];
    }
    // Sorted, so that a folder comes before the paths inside it.
    prefixes.sort();
    let mut outer: Vec<String> = Vec::new();
    for prefix in prefixes {
        if !outer.iter().any(|other| is_below(&prefix, other)) {
            outer.push(prefix);
        }
    }
    outer
}

/// Returns whether a source is `prefix`, lies in it, or is a conversation within it.
fn is_below(source: &str, prefix: &str) -> bool {
    match source.strip_prefix(prefix) {
        Some(rest) => {
            rest.is_empty()
                || prefix.is_empty()
                || prefix.ends_with('/')
                || rest.starts_with(['/', CONVERSATION_SEPARATOR])
        }
        None => false,
    }
}

/// Checks files, and caches the hashes of those that hold several conversations.
#[derive(Debug, Default)]
struct SourceFileProbe {
    hashes: HashMap<String, Option<String>>,
}

impl SourceFileProbe {
    fn find_presence(
        &mut self,
        collection: &dyn Collection,
        source: &str,
        stamp: &SourceStamp,
    ) -> Result<SourcePresence> {
        let Some(within) = &stamp.within else {
            return Ok(probe_path(&name::path_of_name(source), &stamp.look.seen));
        };
        match probe_path(&name::path_of_name(&within.file), &stamp.look.seen) {
            SourcePresence::Present => {}
            elsewhere => return Ok(elsewhere),
        }
        if !self.hashes.contains_key(&within.file) {
            let record = find_record(collection, &within.file)?;
            let stamp = record.and_then(|record| SourceStamp::from_text(&record.stamp));
            self.hashes
                .insert(within.file.clone(), stamp.map(|stamp| stamp.hash));
        }
        // The file was mined in a newer version than the one this conversation was last seen in: it is no
        // longer there.
        Ok(match self.hashes.get(&within.file) {
            Some(Some(hash)) if *hash != within.hash => SourcePresence::Gone,
            _ => SourcePresence::Present,
        })
    }
}

fn probe_path(path: &Path, seen: &SourceFingerprint) -> SourcePresence {
    let device = seen.device();
    let was_file = matches!(seen, SourceFingerprint::File(_));
    let missing = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    };
    match path.symlink_metadata() {
        Ok(now) if was_file && now.is_dir() => return SourcePresence::Gone,
        Ok(now) if was_file && !now.is_file() => {
            return SourcePresence::Unclear("it is not a regular file any more".into());
        }
        Ok(_) => return SourcePresence::Present,
        Err(error) if !missing(&error) => return SourcePresence::Unclear(error.to_string()),
        Err(_) => {}
    }
    // Only a file that is missing from a folder which exists on the same volume is certainly gone.
    match path.parent().map(Path::metadata) {
        Some(Ok(folder)) if folder.dev() != device => {
            SourcePresence::Unclear("its folder is now on another volume; its own may not be mounted".into())
        }
        Some(Ok(_)) => SourcePresence::Gone,
        Some(Err(error)) if !missing(&error) => SourcePresence::Unclear(error.to_string()),
        Some(Err(_)) | None => SourcePresence::Unclear("its folder is missing, too".into()),
    }
}
