//! A collection of which only some wings exist.
//!
//! It is a collection like any other, so that no operation can forget the rule: what is in another wing is not found,
//! counted, changed or removed, and nothing is filed there.

use std::collections::HashSet;
use std::sync::Arc;

use loci_core::{
    Changes, Collection, CollectionInfo, Comparison, Coverage, Cursor, DrawerId, EmbedderIdentity, Error,
    ErrorKind, Facet, Facets, Filter, Get, Hit, IdentityChange, Include, Lexical, MaintenanceKind,
    MaintenanceReport, MaintenanceState, NewDrawer, Patch, Query, Receipt, Result, Scalar, Selection, Value,
    Write,
};

use crate::house::Scope;

/// Some wings of a collection.
#[derive(Debug)]
pub(crate) struct Scoped {
    inner: Arc<dyn Collection>,
    scope: Scope,
}

impl Scoped {
    pub(crate) fn new(inner: Arc<dyn Collection>, scope: Scope) -> Self {
        Self { inner, scope }
    }

    fn within(&self, filter: &Filter) -> Filter {
        let wings = self.scope.wings.iter().cloned().map(Scalar::Text).collect();
        filter
            .clone()
            .and(Filter::Compare("wing".into(), Comparison::In(wings)))
    }

    /// Which of some ids exist here, and which are taken by drawers of other wings.
    fn sorted(&self, ids: Vec<DrawerId>) -> Result<(HashSet<DrawerId>, HashSet<DrawerId>)> {
        let request = Get {
            include: Include::NOTHING,
            ..Get::ids(ids)
        };
        let found = |request: &Get| -> Result<HashSet<DrawerId>> {
            Ok(self
                .inner
                .get(request)?
                .into_iter()
                .map(|drawer| drawer.id)
                .collect())
        };
        let anywhere = found(&request)?;
        let here = found(&Get {
            filter: self.within(&Filter::All),
            ..request
        })?;
        let elsewhere = anywhere.difference(&here).cloned().collect();
        Ok((here, elsewhere))
    }

    fn check_new(&self, new: &NewDrawer, elsewhere: &HashSet<DrawerId>) -> Result<()> {
        let place = new.place.completed_from(&new.metadata)?;
        self.check_wing(place.wing.as_deref())?;
        match elsewhere.contains(&new.id) {
            false => Ok(()),
            true => Err(Error::new(
                ErrorKind::Conflict,
                format!("the id {:?} is taken", new.id.as_str()),
            )
            .hint("nothing was written; give another id or key")),
        }
    }

    fn check_patch(&self, patch: &Patch) -> Result<()> {
        if let Some(wing) = &patch.place.wing {
            self.check_wing(Some(wing))?;
        }
        match patch.metadata.get("wing") {
            None => Ok(()),
            Some(value) => self.check_wing(value.as_ref().and_then(Value::as_text)),
        }
    }

    fn check_wing(&self, wing: Option<&str>) -> Result<()> {
        match self.scope.holds(wing) {
            true => Ok(()),
            false => Err(no_such_wing(wing, &self.scope)),
        }
    }

    /// The part of a batch that concerns drawers which exist here, and the ids that do not.
    fn own_part(&self, batch: &[Write]) -> Result<(Vec<Write>, Vec<DrawerId>)> {
        let (here, elsewhere) = self.sorted(batch.iter().flat_map(named).collect())?;
        let mut own = Vec::with_capacity(batch.len());
        let mut missing = Vec::new();
        for write in batch {
            match write {
                Write::Add(new) | Write::Upsert(new) => {
                    self.check_new(new, &elsewhere)?;
                    own.push(write.clone());
                }
                Write::Update(patch) if here.contains(&patch.id) => {
                    self.check_patch(patch)?;
                    own.push(write.clone());
                }
                Write::Update(patch) => missing.push(patch.id.clone()),
                Write::Delete(Selection::Ids(ids)) => {
                    let (ids, others): (Vec<_>, Vec<_>) =
                        ids.iter().cloned().partition(|id| here.contains(id));
                    missing.extend(others);
                    if !ids.is_empty() {
                        own.push(Write::Delete(Selection::Ids(ids)));
                    }
                }
                Write::Delete(Selection::Matching(filter)) => {
                    own.push(Write::Delete(Selection::Matching(self.within(filter))));
                }
            }
        }
        Ok((own, missing))
    }
}

fn named(write: &Write) -> Vec<DrawerId> {
    match write {
        Write::Add(new) | Write::Upsert(new) => vec![new.id.clone()],
        Write::Update(patch) => vec![patch.id.clone()],
        Write::Delete(Selection::Ids(ids)) => ids.clone(),
        Write::Delete(Selection::Matching(_)) => Vec::new(),
    }
}

/// What is said of a wing that does not exist for a server.
pub(crate) fn no_such_wing(wing: Option<&str>, scope: &Scope) -> Error {
    let message = match wing {
        Some(wing) => format!("there is no wing {wing:?} here"),
        None => "a wing must be named here".to_owned(),
    };
    Error::new(ErrorKind::NotFound, message).hint(format!(
        "nothing was changed; there {}: {}",
        if scope.wings.len() == 1 { "is" } else { "are" },
        scope.wings.join(", ")
    ))
}

fn not_here(what: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("{what} is not offered where only some wings are served"),
    )
}

impl Collection for Scoped {
    fn apply(&self, batch: &[Write]) -> Result<Receipt> {
        let (own, missing) = self.own_part(batch)?;
        let mut receipt = match own.is_empty() && !batch.is_empty() {
            true => Receipt {
                seq: self.inner.info()?.seq.0,
                ..Receipt::default()
            },
            false => self.inner.apply(&own)?,
        };
        receipt.missing.extend(missing);
        Ok(receipt)
    }

    fn get(&self, request: &Get) -> Result<Vec<loci_core::Drawer>> {
        self.inner.get(&Get {
            filter: self.within(&request.filter),
            ..request.clone()
        })
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        self.inner.query(&Query {
            filter: self.within(&request.filter),
            ..request.clone()
        })
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        self.inner.lexical(&Lexical {
            filter: self.within(&request.filter),
            ..request.clone()
        })
    }

    fn count(&self, filter: &Filter) -> Result<u64> {
        self.inner.count(&self.within(filter))
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        self.inner.facets(&Facets {
            filter: self.within(&request.filter),
            ..request.clone()
        })
    }

    /// What is known of the whole, with the figures of what exists here; how far indexes reach is not known better
    /// than for the whole.
    fn info(&self) -> Result<CollectionInfo> {
        let info = self.inner.info()?;
        let drawers = self.count(&Filter::All)?;
        let reached = |whole: u64| drawers.saturating_sub(info.drawers.saturating_sub(whole));
        Ok(CollectionInfo {
            drawers,
            coverage: Coverage {
                nearest: reached(info.coverage.nearest),
                packed: reached(info.coverage.packed),
                lexical: reached(info.coverage.lexical),
            },
            ..info
        })
    }

    fn set_identity(&self, _: &EmbedderIdentity, _: IdentityChange) -> Result<()> {
        Err(not_here("a change of model"))
    }

    fn maintenance(&self) -> Result<MaintenanceState> {
        self.inner.maintenance()
    }

    fn maintain(&self, _: &MaintenanceKind) -> Result<MaintenanceReport> {
        Err(not_here("maintenance"))
    }

    fn changes_since(&self, _: Cursor, _: usize) -> Result<Changes> {
        Err(not_here("the feed of changes"))
    }
}

#[cfg(test)]
mod tests;
