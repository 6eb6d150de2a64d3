//! Sync: which sources are no longer where they were, and taking their drawers away once somebody insists.
//!
//! A file that cannot be seen is not always a file that is gone: its volume may not be mounted, its folder may have
//! moved, the whole disk may be another one. Only what certainly vanished can be removed, and never most of it at once.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use loci_core::{
    Collection, CollectionExt, Error, ErrorKind, Result, Revised, Revision, Selection, SourceRecord, Sources,
    Write,
};
use serde::Serialize;

use crate::mine::stamp::Stamp;
use crate::moves::RESERVED;
use crate::palace::Palace;
use loci_mine::SourceFingerprint;
use loci_mine::name::{self, WITHIN};

/// How many records are read together.
const PAGE: usize = 1024;

/// Up to this many sources may vanish together, however few there are.
const FEW: usize = 10;

/// What became of the sources that were mined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SyncReport {
    /// How many sources were looked at.
    pub checked: u64,
    /// Those that are gone, with how many drawers each has.
    pub vanished: Vec<Vanished>,
    /// Those that cannot be seen, for reasons that do not mean they are gone.
    pub unresolved: Vec<Unresolved>,
    /// Why nothing can be removed, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The sources and drawers that were removed.
    pub removed: Removed,
}

/// A source that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Vanished {
    /// The source.
    pub source: String,
    /// How many drawers were filed from it.
    pub drawers: u64,
}

/// A source that cannot be seen now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unresolved {
    /// The source.
    pub source: String,
    /// Why.
    pub reason: String,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// Sources.
    pub sources: u64,
    /// Drawers.
    pub drawers: u64,
}

enum State {
    Present,
    Gone,
    Unclear(String),
}

impl Palace {
    /// Looks at every source mined from these paths, or at all of them; changes nothing.
    pub fn sync(&self, paths: &[PathBuf]) -> Result<SyncReport> {
        self.read(|session| sync(session.collection(), paths))
    }

    /// Removes the drawers of the sources that `report` calls vanished, which must be `expected` sources.
    pub fn remove_vanished(&self, report: &SyncReport, expected: u64) -> Result<Removed> {
        self.access().check_whole("removing vanished sources")?;
        self.write(|collection| remove(collection, report, expected))
    }
}

/// Looks at every source mined from these paths, or at all of them; changes nothing.
pub fn sync(collection: &dyn Collection, paths: &[PathBuf]) -> Result<SyncReport> {
    let mut report = SyncReport::default();
    let mut files = Files::default();
    each_record(collection, paths, &mut |record| {
        let Some(stamp) = Stamp::from_text(&record.stamp) else {
            return Ok(());
        };
        report.checked += 1;
        match files.state(collection, &record.source, &stamp)? {
            State::Present => {}
            State::Gone => report.vanished.push(Vanished {
                source: record.source,
                drawers: stamp.drawers,
            }),
            State::Unclear(reason) => report.unresolved.push(Unresolved {
                source: record.source,
                reason,
            }),
        }
        Ok(())
    })?;
    report.refused = too_many(&report, paths);
    Ok(report)
}

/// The names of the sources that are gone from these paths.
pub(crate) fn vanished(collection: &dyn Collection, paths: &[PathBuf]) -> Result<Vec<String>> {
    let report = sync(collection, paths)?;
    Ok(report.vanished.into_iter().map(|gone| gone.source).collect())
}

fn too_many(report: &SyncReport, paths: &[PathBuf]) -> Option<String> {
    let is_named = |gone: &Vanished| paths.iter().any(|path| name::of_path(path) == gone.source);
    let gone = report.vanished.iter().filter(|gone| !is_named(gone)).count();
    let most = gone > FEW && gone as u64 * 2 > report.checked;
    most.then(|| {
        format!(
            "{gone} of {} sources are gone at once, which looks like a folder that moved or a disk that is not mounted",
            report.checked
        )
    })
}

/// Removes the drawers of vanished sources. `count` is how many sources the user expects to go: any other number, or a
/// report that refuses, removes nothing. Each is looked at once more before it goes.
pub fn remove(collection: &dyn Collection, report: &SyncReport, count: u64) -> Result<Removed> {
    if let Some(why) = &report.refused {
        return Err(Error::new(ErrorKind::Conflict, why.clone()).hint(
            "nothing was removed; name the sources that may go one by one, or remove drawers with `loci delete --where`",
        ));
    }
    let there = report.vanished.len() as u64;
    if count != there {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!("{there} sources are gone, and {count} were to be removed"),
        )
        .hint("nothing was removed; look at them with `loci sync` and give their number"));
    }
    let mut removed = Removed::default();
    let mut files = Files::default();
    for gone in &report.vanished {
        let Some(record) = record_of(collection, &gone.source)? else {
            continue;
        };
        let Some(stamp) = Stamp::from_text(&record.stamp) else {
            continue;
        };
        if !matches!(files.state(collection, &gone.source, &stamp)?, State::Gone) {
            continue;
        }
        let drawers = crate::mine::mined(collection, &gone.source)?.into_iter();
        let ids: Vec<_> = drawers.map(|drawer| drawer.id).collect();
        let drawers = ids.len() as u64;
        let revision = Revision {
            source: gone.source.clone(),
            expects: Some(record.revision),
            stamp: None,
            parts: Box::new(
                std::iter::once(ids)
                    .filter(|ids| !ids.is_empty())
                    .map(|ids| vec![Write::Delete(Selection::Ids(ids))]),
            ),
        };
        let done = collection.require_sources()?.revise(vec![revision])?;
        if matches!(done.first(), Some(Revised::Done { .. })) {
            removed.sources += 1;
            removed.drawers += drawers;
        }
    }
    Ok(removed)
}

fn record_of(collection: &dyn Collection, name: &str) -> Result<Option<SourceRecord>> {
    Ok(collection
        .require_sources()?
        .find_records(&Sources::Named(vec![name.to_owned()]))?
        .pop())
}

/// Calls `each` with the record of every source mined from these paths, or of all.
fn each_record(
    collection: &dyn Collection,
    paths: &[PathBuf],
    each: &mut dyn FnMut(SourceRecord) -> Result<()>,
) -> Result<()> {
    for prefix in outermost(paths) {
        let mut after = None;
        loop {
            let page = collection.require_sources()?.find_records(&Sources::Under {
                prefix: prefix.clone(),
                after: after.take(),
                limit: PAGE,
            })?;
            after = page
                .last()
                .filter(|_| page.len() == PAGE)
                .map(|last| last.source.clone());
            for record in page {
                // What Loci keeps for itself is no source.
                if is_below(&record.source, &prefix) && !record.source.starts_with(RESERVED) {
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

/// How the names of the sources below these paths begin, each source once; below no path in particular, all.
fn outermost(paths: &[PathBuf]) -> Vec<String> {
    let mut prefixes: Vec<String> = paths.iter().map(|path| name::of_path(path)).collect();
    if prefixes.is_empty() {
        return vec![String::new()];
    }
    // What lies within another comes after it.
    prefixes.sort();
    let mut outer: Vec<String> = Vec::new();
    for prefix in prefixes {
        if !outer.iter().any(|other| is_below(&prefix, other)) {
            outer.push(prefix);
        }
    }
    outer
}

/// Whether a source is `prefix`, lies in it, or is a conversation within it.
fn is_below(source: &str, prefix: &str) -> bool {
    match source.strip_prefix(prefix) {
        Some(rest) => {
            rest.is_empty() || prefix.is_empty() || prefix.ends_with('/') || rest.starts_with(['/', WITHIN])
        }
        None => false,
    }
}

/// Looks at files, and remembers what it saw of those that hold several sources.
#[derive(Debug, Default)]
struct Files {
    hashes: HashMap<String, Option<String>>,
}

impl Files {
    fn state(&mut self, collection: &dyn Collection, source: &str, stamp: &Stamp) -> Result<State> {
        let Some(within) = &stamp.within else {
            return Ok(look_at(&name::to_path(source), &stamp.look.seen));
        };
        match look_at(&name::to_path(&within.file), &stamp.look.seen) {
            State::Present => {}
            elsewhere => return Ok(elsewhere),
        }
        if !self.hashes.contains_key(&within.file) {
            let record = record_of(collection, &within.file)?;
            let stamp = record.and_then(|record| Stamp::from_text(&record.stamp));
            self.hashes
                .insert(within.file.clone(), stamp.map(|stamp| stamp.hash));
        }
        Ok(match self.hashes.get(&within.file) {
            Some(Some(hash)) if *hash != within.hash => State::Gone,
            _ => State::Present,
        })
    }
}

fn look_at(path: &Path, seen: &SourceFingerprint) -> State {
    let device = seen.device();
    let was_file = matches!(seen, SourceFingerprint::File(_));
    let missing = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    };
    match path.symlink_metadata() {
        Ok(now) if was_file && now.is_dir() => return State::Gone,
        Ok(now) if was_file && !now.is_file() => {
            return State::Unclear("something else than a file is in its place".into());
        }
        Ok(_) => return State::Present,
        Err(error) if !missing(&error) => return State::Unclear(error.to_string()),
        Err(_) => {}
    }
    match path.parent().map(Path::metadata) {
        Some(Ok(folder)) if folder.dev() != device => {
            State::Unclear("its folder is on another volume now; perhaps its own is not mounted".into())
        }
        Some(Ok(_)) => State::Gone,
        Some(Err(error)) if !missing(&error) => State::Unclear(error.to_string()),
        Some(Err(_)) | None => State::Unclear("its folder is not there either".into()),
    }
}
