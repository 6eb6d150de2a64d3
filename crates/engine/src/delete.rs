//! Delete: removes drawers by id or scope; a dry run only counts them. Mining does not bring them back.

mod removal;
mod staying;

use std::collections::HashSet;

use loci_core::{
    CollectionReader, DrawerFields, DrawerId, DrawerPosition, Error, ErrorKind, FindingSeverity, GetRequest,
    PalaceFinding, Result,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::{DrawerAct, Palace};
use crate::show::resolve_id;
use crate::undo::RemovalMemory;
use crate::view::DrawerScope;
pub(crate) use removal::{RemovalDepth, remove_drawers};

/// The most ids that a dry run lists.
const SAMPLE: usize = 10;

/// The most drawers that are read at once to list all ids.
const PAGE: usize = 2048;

/// The drawers that a request to remove some means.
#[derive(Debug, Default)]
pub(crate) struct MatchedDrawers {
    pub(crate) found: Vec<DrawerId>,
    /// Ids that no drawer has.
    pub(crate) missing: Vec<DrawerId>,
    /// Names in the scope that no drawer has, if nothing was found.
    pub(crate) warnings: Vec<PalaceFinding>,
}

/// The ids of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AskedIds<'a> {
    /// Ids, or unambiguous prefixes of ids.
    Short(&'a [DrawerId]),
    /// Ids and nothing else.
    Whole(&'a [DrawerId]),
}

impl<'a> AskedIds<'a> {
    pub(crate) fn new(ids: &'a [DrawerId], whole_ids: bool) -> Self {
        if whole_ids {
            Self::Whole(ids)
        } else {
            Self::Short(ids)
        }
    }

    /// Returns the ids they stand for; `None` if none were given.
    fn resolve(self, reader: &dyn CollectionReader) -> Result<Option<Vec<DrawerId>>> {
        let ids = match self {
            Self::Whole(ids) => ids.to_vec(),
            Self::Short(ids) => ids
                .iter()
                .map(|id| Ok(resolve_id(reader, id)?.unwrap_or_else(|| id.clone())))
                .collect::<Result<_>>()?,
        };
        Ok(Some(ids).filter(|ids| !ids.is_empty()))
    }
}

/// Returns the ids that a dry run lists.
pub(crate) fn sample_ids(found: &[DrawerId]) -> Vec<DrawerId> {
    found.iter().take(SAMPLE).cloned().collect()
}

/// The drawers to remove.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeleteRequest {
    /// Their ids or prefixes of ids; if empty, all drawers of the scope.
    pub ids: Vec<DrawerId>,
    /// Takes no id for the beginning of another: a drawer that is gone is missing, and no other stands in for it.
    pub whole_ids: bool,
    /// Only drawers of this scope.
    pub scope: DrawerScope,
    /// The exact number of drawers that must match; otherwise nothing is removed.
    pub expected: Option<u64>,
    /// Only count the drawers.
    pub dry_run: bool,
}

/// The outcome of a deletion.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeleteReport {
    /// The number of drawers that match.
    pub matched: u64,
    /// The number of drawers removed.
    pub deleted: u64,
    /// Ids that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<DrawerId>,
    /// Some of the drawers that a real run would remove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sample: Vec<DrawerId>,
    /// Names in the scope that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<PalaceFinding>,
}

impl Palace {
    /// Finds the drawers with these ids or of this scope, at one moment.
    pub(crate) fn match_drawers(&self, ids: AskedIds<'_>, scope: &DrawerScope) -> Result<MatchedDrawers> {
        self.read(|session| {
            let (found, missing) = find_drawers(session.reader(), ids, scope)?;
            let warnings = if found.is_empty() {
                session.unknown_names(scope)?
            } else {
                Vec::new()
            };
            Ok(MatchedDrawers {
                found,
                missing,
                warnings,
            })
        })
    }

    /// Removes drawers permanently, exactly those that were counted.
    pub fn delete(&self, request: &DeleteRequest) -> Result<DeleteReport> {
        self.delete_remembering(request, &mut RemovalMemory::nothing())
    }

    /// Removes drawers and remembers them.
    pub(crate) fn delete_remembering(
        &self,
        request: &DeleteRequest,
        memory: &mut RemovalMemory,
    ) -> Result<DeleteReport> {
        let palace = self.for_act(DrawerAct::Removes)?;
        // An empty request would otherwise mean the whole palace.
        if request.ids.is_empty() && request.scope.asks_nothing() {
            return Err(Error::invalid("no drawers to remove were named")
                .with_hint("nothing was removed; name ids, or a scope like --wing old"));
        }
        let MatchedDrawers {
            found,
            missing,
            warnings,
        } = palace.match_drawers(AskedIds::new(&request.ids, request.whole_ids), &request.scope)?;
        let report = DeleteReport {
            matched: found.len() as u64,
            deleted: 0,
            missing,
            sample: sample_ids(&found),
            warnings,
        };
        check_expected_count(request.expected, report.matched)?;
        if request.dry_run || found.is_empty() {
            return Ok(report);
        }
        // By id, not by the scope again: a drawer filed since the count must not be removed with the others.
        let removed = palace
            .write(|collection| remove_drawers(&palace, collection, &found, RemovalDepth::Drawers, memory))?;
        let mut warnings = report.warnings.clone();
        warnings.extend(removed.unlisted.map(|why| unlisted_finding(&why)));
        Ok(DeleteReport {
            deleted: removed.deleted,
            sample: Vec::new(),
            warnings,
            ..report
        })
    }
}

/// Refuses to go on if another number of drawers matches than the caller has agreed to.
pub(crate) fn check_expected_count(expected: Option<u64>, matched: u64) -> Result<()> {
    let Some(expected) = expected.filter(|expected| *expected != matched) else {
        return Ok(());
    };
    let message = format!("the number of matching drawers is {matched}, not {expected}");
    Err(Error::new(ErrorKind::Conflict, message)
        .with_hint("nothing was changed; look again, or run it without a count"))
}

/// Returns the finding for a deletion that could not be listed.
pub(crate) fn unlisted_finding(why: &str) -> PalaceFinding {
    let message =
        format!("the drawers are removed, but mining their sources again would bring them back: {why}");
    PalaceFinding::new("deletion_unlisted", FindingSeverity::Warning, message)
}

/// Returns the ids of all drawers. Read in pages: all drawers at once would need several times the memory of their ids.
fn list_all_ids(reader: &dyn CollectionReader) -> Result<Vec<DrawerId>> {
    let mut found: Vec<DrawerId> = Vec::new();
    loop {
        let page = reader.get(&GetRequest {
            after: found.last().cloned().map(DrawerPosition::Id),
            limit: Some(PAGE),
            include: DrawerFields::NOTHING,
            ..GetRequest::default()
        })?;
        if page.is_empty() {
            return Ok(found);
        }
        found.extend(page.into_iter().map(|drawer| drawer.id));
    }
}

/// Returns the drawers of a scope with these ids, or all of the scope if there are none, and the ids that no
/// drawer has.
pub(crate) fn find_drawers(
    reader: &dyn CollectionReader,
    ids: AskedIds<'_>,
    scope: &DrawerScope,
) -> Result<(Vec<DrawerId>, Vec<DrawerId>)> {
    let condition = scope.resolve(reader)?;
    let request = GetRequest {
        ids: ids.resolve(reader)?,
        filter: condition.filter,
        document: condition.document,
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
    };
    let found = if request.ids.is_none() && request.filter.is_all() && request.document.is_all() {
        list_all_ids(reader)?
    } else {
        let drawers = reader.get(&request)?.into_iter();
        drawers.map(|drawer| drawer.id).collect()
    };
    let there: HashSet<&DrawerId> = found.iter().collect();
    let asked = request.ids.unwrap_or_default();
    let mut missing: Vec<DrawerId> = asked.into_iter().filter(|id| !there.contains(id)).collect();
    missing.sort();
    missing.dedup();
    Ok((found, missing))
}
