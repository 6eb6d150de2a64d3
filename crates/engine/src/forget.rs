//! Forget: removes drawers to the last byte, from the palace and from the copies that were made of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use loci_core::{
    Capability, CollectionExt, DrawerFields, DrawerId, Error, ErrorKind, GetRequest, OpenOptions,
    PalaceFinding, PalaceId, PalaceRef, PurgeReport, Result, StoredTrace, UnreachedPart,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::delete::{
    AskedIds, RemovalDepth, check_expected_count, find_drawers, remove_drawers, sample_ids, unlisted_finding,
};
use crate::palace::{Palace, PalaceAddress};
use crate::seal::collect_unused;
use crate::undo::{RemovalMemory, begin_erasure};
use crate::view::DrawerScope;

/// The number of ids that are looked for in a copy at once.
const PAGE: usize = 512;

/// The drawers to forget, and where.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForgetRequest {
    /// Their ids or prefixes of ids; if empty, all drawers of the scope.
    pub ids: Vec<DrawerId>,
    /// Takes no id for the beginning of another: a drawer that is gone is missing, and no other stands in for it.
    pub whole_ids: bool,
    /// Only drawers of this scope.
    pub scope: DrawerScope,
    /// The exact number of drawers of the palace that must match; otherwise nothing is removed.
    pub expected: Option<u64>,
    /// Copies of the palace, or folders of them, besides those the palace remembers.
    pub copies: Vec<PathBuf>,
    /// Remove no drawer and look at no copy, only finish rewriting the palace.
    pub finish: bool,
    /// Only count the drawers.
    pub dry_run: bool,
}

/// The outcome of forgetting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ForgetReport {
    /// The number of drawers of the palace that match.
    pub matched: u64,
    /// The number of drawers removed from the palace.
    pub forgotten: u64,
    /// The number of drawers removed from its copies.
    #[serde(skip_serializing_if = "is_zero")]
    pub forgotten_in_copies: u64,
    /// The parts and files that hold nothing of them any more; in a dry run, those that would be rewritten.
    pub reached: Vec<String>,
    /// The parts and files that may still hold some of them.
    pub not_reached: Vec<UnreachedPart>,
    /// Ids that no drawer of the palace has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<DrawerId>,
    /// Some of the drawers that a real run would remove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sample: Vec<DrawerId>,
    /// Names in the scope that no drawer has, and deletions that mining may undo.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<PalaceFinding>,
}

/// The progress of forgetting: what is being rewritten, the steps done and their total.
pub type WatchForgetting<'a> = dyn FnMut(&str, u64, u64) + 'a;

impl Palace {
    /// Removes drawers so that no byte of them is left in the palace or in its copies.
    pub fn forget(&self, request: &ForgetRequest, watch: &mut WatchForgetting<'_>) -> Result<ForgetReport> {
        self.access().check_forgetting()?;
        let address = self.existing_address()?;
        address
            .backend
            .descriptor()
            .require_capability(&Capability::Erasure)?;
        if !request.finish && request.ids.is_empty() && request.scope.asks_nothing() {
            return Err(Error::invalid("no drawers to forget were named")
                .with_hint("nothing was removed; name ids, or a scope like --wing old"));
        }
        let (found, mut report) = self.find_forgotten(request)?;
        check_expected_count(request.expected, report.matched)?;
        // An erasure that was cut off says nothing about copies: which drawers it was about is not known any more.
        let copies = if request.finish {
            CopiesFound::default()
        } else {
            self.find_copies(&address, &request.copies)?
        };
        if request.dry_run {
            let own = address
                .reference
                .require_folder()
                .map(|folder| folder.display().to_string());
            report.reached.extend(
                own.into_iter()
                    .chain(copies.files.iter().map(|file| file.display().to_string())),
            );
            report.not_reached = copies.not_reached;
            return Ok(report);
        }
        report.sample.clear();
        let removed = self.forget_here(request, &found, &mut |done, total| watch("palace", done, total))?;
        report.forgotten = removed.drawers;
        report.add(removed);
        report.not_reached.extend(copies.not_reached);
        // Those that are gone from the palace may still be in a copy.
        let asked: BTreeSet<DrawerId> = found.into_iter().chain(report.missing.iter().cloned()).collect();
        let asked: Vec<DrawerId> = asked.into_iter().collect();
        for file in copies.files {
            let name = file.display().to_string();
            let reached = self.forget_in_copy(&address, &file, request, &asked, &mut |done, total| {
                watch(&name, done, total);
            });
            match reached {
                Ok(removed) => {
                    report.forgotten_in_copies += removed.drawers;
                    report.add(removed);
                }
                Err(error) => report.not_reached.push(UnreachedPart {
                    part: name,
                    reason: error.to_string(),
                }),
            }
        }
        Ok(report)
    }

    /// Looks for texts in every byte of the palace and of its copies, and for their words in the indexes.
    pub fn find_traces(
        &self,
        texts: &[String],
        copies: &[PathBuf],
        watch: &mut WatchForgetting<'_>,
    ) -> Result<TraceReport> {
        self.access().check_whole("looking for traces")?;
        let address = self.existing_address()?;
        let copies = self.find_copies(&address, copies)?;
        let mut report = TraceReport {
            found: self.find_traces_here(texts, &mut |done, total| watch("palace", done, total))?,
            not_searched: copies.not_reached,
        };
        for file in copies.files {
            let name = file.display().to_string();
            let copy = self.copy_at(&address, &file);
            let found = copy.find_traces_here(texts, &mut |done, total| watch(&name, done, total));
            address.backend.close_palace(&PalaceRef::local(&file));
            match found {
                Ok(found) => report.found.extend(found),
                Err(error) => report.not_searched.push(UnreachedPart {
                    part: name,
                    reason: error.to_string(),
                }),
            }
        }
        Ok(report)
    }

    fn find_traces_here(
        &self,
        texts: &[String],
        watch: &mut dyn FnMut(u64, u64),
    ) -> Result<Vec<StoredTrace>> {
        let collection = self.open(&OpenOptions::default())?;
        collection.require_eraser()?.find_traces(texts, watch)
    }

    /// Returns the drawers of the palace that are meant.
    fn find_forgotten(&self, request: &ForgetRequest) -> Result<(Vec<DrawerId>, ForgetReport)> {
        if request.finish {
            return Ok((Vec::new(), ForgetReport::default()));
        }
        let matched = self.match_drawers(AskedIds::new(&request.ids, request.whole_ids), &request.scope)?;
        let report = ForgetReport {
            matched: matched.found.len() as u64,
            missing: matched.missing,
            sample: sample_ids(&matched.found),
            warnings: matched.warnings,
            ..ForgetReport::default()
        };
        Ok((matched.found, report))
    }

    /// Removes drawers of this palace and rewrites it; one that holds nothing of them is left as it is.
    fn forget_here(
        &self,
        request: &ForgetRequest,
        ids: &[DrawerId],
        watch: &mut dyn FnMut(u64, u64),
    ) -> Result<ForgottenHere> {
        let collection = self.open_whole(&OpenOptions::for_writing())?;
        let eraser = collection.require_eraser()?;
        // Drawers that were deleted before may have left bytes, so that ids without a drawer are a reason as well.
        let is_due =
            !ids.is_empty() || request.finish || !request.ids.is_empty() || eraser.is_unfinished()?;
        if !is_due {
            return Ok(ForgottenHere::default());
        }
        begin_erasure(collection.as_ref())?;
        let removed = remove_drawers(
            self,
            collection.as_ref(),
            ids,
            RemovalDepth::SourceRecords,
            &mut RemovalMemory::nothing(),
        )?;
        collect_unused(collection.as_ref(), self.now(), ids)?;
        Ok(ForgottenHere {
            drawers: removed.deleted,
            unlisted: removed.unlisted,
            purge: eraser.purge(watch).map_err(explain_unfinished)?,
        })
    }

    /// Removes drawers from a copy of this palace.
    fn forget_in_copy(
        &self,
        address: &PalaceAddress,
        file: &Path,
        request: &ForgetRequest,
        asked: &[DrawerId],
        watch: &mut dyn FnMut(u64, u64),
    ) -> Result<ForgottenHere> {
        let copy = self
            .copy_at(address, file)
            .in_collection(Some(self.collection_name()?));
        let done = copy.find_in_copy(request, asked).and_then(|found| match found {
            Some(found) => copy.forget_here(request, &found, watch),
            None => Ok(ForgottenHere::default()),
        });
        address.backend.close_palace(&PalaceRef::local(file));
        let mut done = done?;
        if done.purge.not_reached.is_empty() {
            done.purge.reached = vec![file.display().to_string()];
        }
        Ok(done)
    }

    /// Returns the drawers of a copy that are meant; `None` if it lacks the collection.
    fn find_in_copy(&self, request: &ForgetRequest, asked: &[DrawerId]) -> Result<Option<Vec<DrawerId>>> {
        let found = self.read(|session| {
            // What the palace has lost since it was copied is found by the scope, not by an id.
            let mut found: BTreeSet<DrawerId> = BTreeSet::new();
            for page in asked.chunks(PAGE) {
                // Whole ids only: one that the copy lacks must not be taken for the beginning of another.
                let there = session.reader().get(&GetRequest {
                    include: DrawerFields::NOTHING,
                    ..GetRequest::by_ids(page.iter().cloned())
                })?;
                found.extend(there.into_iter().map(|drawer| drawer.id));
            }
            if request.ids.is_empty() {
                found.extend(find_drawers(session.reader(), AskedIds::Whole(&[]), &request.scope)?.0);
            }
            Ok(found.into_iter().collect())
        });
        match found {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    pub(crate) fn copy_at(&self, address: &PalaceAddress, file: &Path) -> Self {
        self.at_address(PalaceAddress {
            backend: address.backend.clone(),
            reference: PalaceRef::local(file),
        })
    }

    /// Finds the copies of this palace: those it remembers, and those in the given places.
    pub(crate) fn find_copies(&self, address: &PalaceAddress, given: &[PathBuf]) -> Result<CopiesFound> {
        let own = address.backend.palace_id(&address.reference)?;
        let remembered = match address.backend.snapshots() {
            Some(snapshots) => snapshots.list_copies(&address.reference)?,
            None => Vec::new(),
        };
        let mut found = CopiesFound::default();
        for file in remembered.iter().chain(given) {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            if file.is_dir() {
                let mut inside: Vec<PathBuf> = std::fs::read_dir(&file)
                    .map_err(|cause| {
                        Error::new(
                            ErrorKind::Io,
                            format!("cannot read the folder {}", file.display()),
                        )
                        .caused_by(cause)
                    })?
                    .flatten()
                    .map(|entry| entry.path())
                    .filter(|path| path.is_file())
                    .collect();
                inside.sort();
                for path in inside {
                    found.add(address, own, path);
                }
            } else {
                found.add(address, own, file);
            }
        }
        Ok(found)
    }
}

/// The copies of a palace.
#[derive(Debug, Default)]
pub(crate) struct CopiesFound {
    /// The files that can be changed.
    pub(crate) files: Vec<PathBuf>,
    /// Those that cannot, with reasons.
    pub(crate) not_reached: Vec<UnreachedPart>,
}

impl CopiesFound {
    fn add(&mut self, address: &PalaceAddress, own: Option<PalaceId>, file: PathBuf) {
        let name = file.display().to_string();
        if self.files.contains(&file) || self.not_reached.iter().any(|part| part.part == name) {
            return;
        }
        let copy = PalaceRef::local(&file);
        let problem = if file.exists() {
            match address.backend.palace_id(&copy) {
                Ok(id) if id == own => None,
                Ok(_) => Some("it is not a copy of this palace".to_owned()),
                Err(error) => Some(error.to_string()),
            }
        } else {
            Some("it was moved or removed; name its new place with --backups".to_owned())
        };
        address.backend.close_palace(&copy);
        match problem {
            None => self.files.push(file),
            Some(reason) => self.not_reached.push(UnreachedPart { part: name, reason }),
        }
    }
}

/// The outcome of forgetting in one palace or copy.
#[derive(Debug, Default)]
struct ForgottenHere {
    drawers: u64,
    unlisted: Option<String>,
    purge: PurgeReport,
}

impl ForgetReport {
    fn add(&mut self, done: ForgottenHere) {
        self.reached.extend(done.purge.reached);
        self.not_reached.extend(done.purge.not_reached);
        self.warnings
            .extend(done.unlisted.map(|why| unlisted_finding(&why)));
    }
}

/// Says what is done and what is not after an erasure that failed half-way.
fn explain_unfinished(error: Error) -> Error {
    if error.hint_text().is_some() {
        return error;
    }
    error.with_hint("the drawers are removed, but not every byte of them; run the same command again")
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The outcome of looking for texts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct TraceReport {
    /// The places at which a text or its words are stored.
    pub found: Vec<StoredTrace>,
    /// The copies that could not be searched.
    pub not_searched: Vec<UnreachedPart>,
}
