//! Rescue: brings the readable drawers of a damaged palace into a new one, and lists the others.
//!
//! The remains are a palace like any other to read from, so they are moved as [`crate::migrate()`] moves palaces: built
//! beside the target, compared drawer by drawer, and put in place once complete.

use loci_core::{
    DoubtfulDrawer, Error, ErrorKind, FindingSeverity, LostDrawers, PalaceFinding, PalaceRemains, Result,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::migrate::record::{CollectionRecord, MigrateFlags};
use crate::migrate::{CollectionRows, MigrateReport, MigrateRequest, MigrateStep, migrate};
use loci_engine::palace::{BorrowedAddress, Palace};

/// The result of a rescue.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RescueReport {
    /// The number of drawers in the new palace.
    pub drawers: u64,
    /// Drawers that the damaged palace held and that could not be read.
    pub lost: Vec<LostDrawers>,
    /// Drawers that were brought along although the damaged palace may have removed or replaced them.
    pub doubtful: Vec<DoubtfulDrawer>,
    /// The number of drawers in the new palace that have no vector.
    pub without_vector: u64,
    /// The drawers by collection.
    pub collections: Vec<CollectionRows>,
    /// Whether nothing is lost or in doubt, vectors included.
    pub ok: bool,
    /// Other things that were found on the way.
    pub findings: Vec<PalaceFinding>,
    /// The location of the new palace.
    pub target: String,
}

/// Brings the remains of a palace into `target`, which must not exist yet. `watch` receives every step.
pub fn rescue_palace(
    remains: PalaceRemains,
    target: &Palace,
    watch: &mut dyn FnMut(MigrateStep<'_>),
) -> Result<RescueReport> {
    if remains.backend.collections(&remains.palace)?.is_empty() {
        return Err(nothing_left_error(&remains));
    }
    let to = target.address()?;
    let request = MigrateRequest {
        from: BorrowedAddress {
            backend: remains.backend.as_ref(),
            reference: &remains.palace,
        },
        to: to.as_borrowed(),
        flags: MigrateFlags::default(),
        embedder: None,
        embedders: target.embedders(),
        now: target.now(),
    };
    let moved = migrate(&request, watch).map_err(|error| match error.kind() {
        // A migration may move an old palace aside; a rescue never touches one.
        ErrorKind::Conflict => error.with_hint("nothing was written; name another place with --to"),
        _ => error,
    })?;
    Ok(build_report(remains, moved))
}

fn nothing_left_error(remains: &PalaceRemains) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("no drawer in {} can be read", remains.palace.id),
    )
    .with_hint("nothing was written; go back to a backup with `loci restore`")
}

fn build_report(remains: PalaceRemains, moved: MigrateReport) -> RescueReport {
    let PalaceRemains {
        mut lost,
        doubtful,
        mut findings,
        ..
    } = remains;
    for collection in &moved.record.collections {
        lost.extend(list_refused(collection));
    }
    // Vectors that are missing have a count of their own, and drawers that were refused are among the lost.
    let told = |finding: &PalaceFinding| matches!(finding.code.as_str(), "missing_vector" | "not_carried");
    findings.extend(moved.findings.into_iter().filter(|finding| !told(finding)));
    let without_vector = moved.collections.iter().map(|rows| rows.without_vector).sum();
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == FindingSeverity::Error);
    RescueReport {
        drawers: moved.rows,
        without_vector,
        collections: moved.collections,
        ok: lost.is_empty() && doubtful.is_empty() && errors.count() == 0,
        lost,
        doubtful,
        findings,
        target: moved.target,
    }
}

/// Lists the drawers that were read but that the target refused.
fn list_refused(collection: &CollectionRecord) -> Vec<LostDrawers> {
    let lists = [&collection.lists.not_carried, &collection.lists.unreadable];
    let entry = |count, reason: String| LostDrawers {
        collection: Some(collection.name.to_string()),
        count: Some(count),
        reason,
        ..LostDrawers::default()
    };
    let refused = lists.iter().flat_map(|list| &list.ids);
    let mut lost: Vec<LostDrawers> = refused
        .map(|line| entry(1, format!("the new palace refused {line}")))
        .collect();
    let more: u64 = lists.iter().map(|list| list.more).sum();
    if more > 0 {
        lost.push(entry(more, "the new palace refused them".to_owned()));
    }
    lost
}
