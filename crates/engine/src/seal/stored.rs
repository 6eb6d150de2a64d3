//! Sealing what was filed before: the secrets of stored drawers are sealed, and no byte of them is left in the palace or
//! in its copies.

use std::collections::BTreeMap;
use std::path::PathBuf;

use loci_core::{
    Capability, Collection, CollectionExt, Drawer, DrawerFields, DrawerId, Error, ErrorKind, GetRequest,
    OpenOptions, PalaceFinding, PalaceRef, PurgeReport, Result, RevisionOutcome, SourceRevision,
    UnreachedPart, Write,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::DrawerSeals;
use super::guard::{SecretGuard, SecretTally};
use super::policy::SecretPolicy;
use super::records::FoundSeals;
use super::resealing::SourceSealing;
use super::suspects::SecretSuspects;
use crate::delete::{AskedIds, MatchedDrawers};
use crate::forget::WatchForgetting;
use crate::ledger::find_named;
use crate::palace::{FilingSession, MODEL_CHANGES, Palace, PalaceAddress};
use crate::undo::begin_erasure;
use crate::view::DrawerScope;

/// The number of times a source is tried again because another process has mined it.
const TRIES: usize = 20;

/// The drawers read at once to learn where they are.
const PAGE: usize = 2048;

/// The drawers without a source that are read at once.
const GROUP: usize = 256;

/// The drawers to seal.
#[derive(Debug, Clone, Default)]
pub struct SealRequest {
    /// The scope; all drawers if it asks nothing.
    pub scope: DrawerScope,
    /// Further copies of the palace: backup files, or folders of them.
    pub copies: Vec<PathBuf>,
    /// Only count.
    pub dry_run: bool,
    /// The drawers that may hold secrets, if all were looked at before; only for counting.
    pub suspects: Option<SecretSuspects>,
}

/// The outcome of sealing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct SealReport {
    /// The number of drawers of the palace that hold secrets in the clear.
    pub matched: u64,
    /// The number of drawers that were sealed.
    pub sealed: u64,
    /// The secrets found in the palace, by kind.
    pub kinds: BTreeMap<String, u64>,
    /// The number of drawers that were sealed in its copies.
    #[serde(skip_serializing_if = "is_zero")]
    pub sealed_in_copies: u64,
    /// The parts and files that hold none of these secrets in the clear any more; in a dry run, those that would be
    /// rewritten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<String>,
    /// The parts and files that may still hold some of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_reached: Vec<UnreachedPart>,
    /// The policy for secrets in words that will be filed.
    pub policy: SecretPolicy,
    /// Names in the scope that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<PalaceFinding>,
}

impl Palace {
    /// Sets the policy for secrets in words that will be filed, in every collection.
    pub fn set_secret_policy(&self, policy: SecretPolicy) -> Result<()> {
        self.access().check_upkeep("setting a policy")?;
        for info in self.collections()? {
            let palace = self.clone().in_collection(Some(info.name));
            policy.store(palace.open_whole(&OpenOptions::for_writing())?.as_ref())?;
        }
        Ok(())
    }

    /// Returns the policy for secrets in words that will be filed.
    pub fn secret_policy(&self) -> Result<SecretPolicy> {
        SecretGuard::new(self).policy()
    }

    /// Seals the secrets of stored drawers, of all collections if none is named, and rewrites the palace and its copies so
    /// that none is left in the clear.
    pub fn seal(&self, request: &SealRequest, watch: &mut WatchForgetting<'_>) -> Result<SealReport> {
        if self.named_collection().is_some() {
            return self.seal_collection(request, watch);
        }
        let mut whole = SealReport::default();
        for info in self.collections()? {
            let palace = self.clone().in_collection(Some(info.name));
            whole.add(palace.seal_collection(request, watch)?);
        }
        Ok(whole)
    }

    fn seal_collection(&self, request: &SealRequest, watch: &mut WatchForgetting<'_>) -> Result<SealReport> {
        self.access().check_upkeep("sealing")?;
        let address = self.existing_address()?;
        let descriptor = address.backend.descriptor();
        descriptor.require_capability(&Capability::Erasure)?;
        descriptor.require_capability(&Capability::Sources)?;
        if self.key_folder().is_none() || self.palace_id()?.is_none() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this palace cannot have a key, so that nothing can be sealed in it",
            )
            .with_hint("nothing was changed"));
        }
        let (found, here) = self.seal_here(request, &mut |done, total| watch("palace", done, total))?;
        let mut report = SealReport {
            matched: here.matched,
            sealed: here.sealed,
            kinds: here.kinds.kinds,
            policy: self.secret_policy()?,
            warnings: found,
            ..SealReport::default()
        };
        report.add_purge(here.purge);
        let copies = self.find_copies(&address, &request.copies)?;
        report.not_reached.extend(copies.not_reached);
        for file in copies.files {
            let name = file.display().to_string();
            if request.dry_run {
                report.reached.push(name);
                continue;
            }
            match self.seal_copy(&address, &file, request, &mut |done, total| {
                watch(&name, done, total)
            }) {
                Ok(sealed) => {
                    report.sealed_in_copies += sealed;
                    report.reached.push(name);
                }
                Err(error) => report.not_reached.push(UnreachedPart {
                    part: name,
                    reason: error.to_string(),
                }),
            }
        }
        Ok(report)
    }

    fn seal_copy(
        &self,
        address: &PalaceAddress,
        file: &std::path::Path,
        request: &SealRequest,
        watch: &mut dyn FnMut(u64, u64),
    ) -> Result<u64> {
        let copy = self
            .copy_at(address, file)
            .in_collection(Some(self.collection_name()?));
        let sealed = copy.seal_here(request, watch);
        address.backend.close_palace(&PalaceRef::local(file));
        match sealed {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
            sealed => Ok(sealed?.1.sealed),
        }
    }

    /// Returns the only drawers that a count need look at, if they are known.
    fn find_suspects(&self, request: &SealRequest) -> Result<Option<Vec<DrawerId>>> {
        match &request.suspects {
            Some(suspects) if request.dry_run => {
                self.read(|session| suspects.find_drawers(session.collection()))
            }
            _ => Ok(None),
        }
    }

    /// Seals in this palace alone.
    fn seal_here(
        &self,
        request: &SealRequest,
        watch: &mut dyn FnMut(u64, u64),
    ) -> Result<(Vec<PalaceFinding>, SealedHere)> {
        let matched = match self.find_suspects(request)? {
            Some(found) => MatchedDrawers {
                found,
                ..MatchedDrawers::default()
            },
            None => self.match_drawers(AskedIds::Whole(&[]), &request.scope)?,
        };
        let guard = SecretGuard::new(self)
            .rehearsing(request.dry_run)
            .insisting_on(SecretPolicy::Seal);
        let groups = self.read(|session| group_by_source(session.collection(), &matched.found))?;
        let mut here = SealedHere::default();
        let mut filing = if request.dry_run {
            None
        } else {
            Some(self.open_existing_filing()?)
        };
        let total = matched.found.len() as u64;
        let mut done = 0;
        let whole = self.open_whole(&OpenOptions::default())?;
        for (source, ids) in groups {
            watch(done, total);
            done += ids.len() as u64;
            let mut reopened = 0;
            loop {
                let group = SealedGroup {
                    whole: whole.as_ref(),
                    filing: filing.as_ref(),
                    source: source.as_deref(),
                    ids: &ids,
                };
                match group.seal(&guard, &mut here) {
                    // Another process switched the model meanwhile; nothing of the group was changed.
                    Err(error) if error.kind() == ErrorKind::IdentityMismatch && reopened < MODEL_CHANGES => {
                        reopened += 1;
                        filing = Some(self.open_existing_filing()?);
                    }
                    sealed => break sealed?,
                }
            }
        }
        if let Some(filing) = filing {
            let eraser = filing.collection().require_eraser()?;
            if here.sealed > 0 || eraser.is_unfinished()? {
                here.purge = eraser.purge(watch).map_err(explain_unfinished)?;
            }
        }
        Ok((matched.warnings, here))
    }
}

/// Drawers that are sealed together: those of one source, or some without a source.
struct SealedGroup<'g> {
    whole: &'g dyn Collection,
    /// The collection opened for changes; absent in a dry run.
    filing: Option<&'g FilingSession>,
    source: Option<&'g str>,
    ids: &'g [DrawerId],
}

impl SealedGroup<'_> {
    fn read_drawers(&self) -> Result<Vec<Drawer>> {
        self.whole.get(&GetRequest {
            include: DrawerFields {
                embedding: false,
                ..DrawerFields::EVERYTHING
            },
            ..GetRequest::by_ids(self.ids.iter().cloned())
        })
    }

    fn seal(&self, guard: &SecretGuard<'_>, here: &mut SealedHere) -> Result<()> {
        for _ in 0..TRIES {
            let record = match self.source {
                Some(source) => find_named(self.whole, vec![source.to_owned()])?.pop(),
                None => None,
            };
            let drawers = self.read_drawers()?;
            let mut tally = SecretTally::default();
            let seals = FoundSeals::look_up(self.whole, drawers.iter())?;
            let mut sealing = SourceSealing::plan(guard, drawers.clone(), &seals, &mut tally)?;
            let Some(filing) = self.filing.filter(|_| !sealing.is_empty()) else {
                here.count(sealing.len() as u64, 0, &tally);
                return Ok(());
            };
            // Before the first change, so that a run that is cut off is known to be unfinished.
            if here.sealed == 0 {
                begin_erasure(filing.collection().as_ref())?;
            }
            let number = sealing.len() as u64;
            for one in &mut sealing.drawers {
                filing.embed_patch(&mut one.patch)?;
            }
            // Embedding takes time in which a drawer may have got another text, which must not be undone.
            if self.read_drawers()? != drawers {
                continue;
            }
            if apply_sealing(guard, filing, self.source.zip(record), sealing)? {
                here.count(number, number, &tally);
                return Ok(());
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "other processes kept filing {:?}",
                self.source.unwrap_or_default()
            ),
        )
        .with_hint("what was sealed before is kept; run the same command again"))
    }
}

/// Writes sealed drawers; returns false if their source was mined meanwhile and nothing was written.
fn apply_sealing(
    guard: &SecretGuard<'_>,
    filing: &FilingSession,
    record: Option<(&str, loci_core::SourceRecord)>,
    sealing: SourceSealing,
) -> Result<bool> {
    let mut writes = Vec::new();
    let mut seals = Vec::new();
    for one in sealing.drawers {
        seals.push((one.patch.id.clone(), one.text, one.spans));
        writes.push(Write::Update(one.patch));
    }
    let seals: Vec<DrawerSeals<'_>> = seals
        .iter()
        .map(|(id, text, spans)| DrawerSeals { id, text, spans })
        .collect();
    guard.store_seals(&seals)?;
    let Some((source, record)) = record else {
        filing.collection().apply_batch(&writes)?;
        return Ok(true);
    };
    let outcome = filing
        .collection()
        .require_sources()?
        .revise(vec![SourceRevision {
            source: source.to_owned(),
            expects: Some(record.revision),
            stamp: Some(record.stamp),
            parts: Box::new(std::iter::once(writes)),
        }])?;
    Ok(!matches!(outcome.first(), Some(RevisionOutcome::Overtaken)))
}

/// The outcome of sealing in one palace or copy.
#[derive(Debug, Default)]
struct SealedHere {
    matched: u64,
    sealed: u64,
    kinds: SecretTally,
    purge: PurgeReport,
}

impl SealedHere {
    fn count(&mut self, matched: u64, sealed: u64, tally: &SecretTally) {
        self.matched += matched;
        self.sealed += sealed;
        self.kinds.add(tally);
    }
}

impl SealReport {
    /// Adds the outcome of another collection.
    fn add(&mut self, other: Self) {
        self.matched += other.matched;
        self.sealed += other.sealed;
        self.sealed_in_copies += other.sealed_in_copies;
        self.policy = other.policy;
        for (kind, number) in other.kinds {
            *self.kinds.entry(kind).or_default() += number;
        }
        for part in other.reached {
            if !self.reached.contains(&part) {
                self.reached.push(part);
            }
        }
        for part in other.not_reached {
            if !self.not_reached.contains(&part) {
                self.not_reached.push(part);
            }
        }
        self.warnings.extend(other.warnings);
        if self.matched > 0 {
            // A name that one collection lacks is not a mistake if another has it.
            self.warnings.clear();
        }
    }

    fn add_purge(&mut self, purge: PurgeReport) {
        self.reached.extend(purge.reached);
        self.not_reached.extend(purge.not_reached);
    }
}

/// Groups drawers by their source; those without one are in groups that fit in memory.
fn group_by_source(
    collection: &dyn Collection,
    ids: &[DrawerId],
) -> Result<Vec<(Option<String>, Vec<DrawerId>)>> {
    let mut by_source: BTreeMap<String, Vec<DrawerId>> = BTreeMap::new();
    let mut sourceless = Vec::new();
    for page in ids.chunks(PAGE) {
        let drawers = collection.get(&GetRequest {
            include: DrawerFields::NOTHING,
            ..GetRequest::by_ids(page.iter().cloned())
        })?;
        for drawer in drawers {
            match drawer.place.source {
                Some(source) => by_source.entry(source).or_default().push(drawer.id),
                None => sourceless.push(drawer.id),
            }
        }
    }
    let groups = sourceless.chunks(GROUP).map(|some| (None, some.to_vec()));
    let sources = by_source.into_iter().map(|(source, ids)| (Some(source), ids));
    Ok(groups.chain(sources).collect())
}

fn explain_unfinished(error: Error) -> Error {
    if error.hint_text().is_some() {
        return error;
    }
    error.with_hint("the secrets are sealed, but old bytes of them are left; run the same command again")
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
