//! Compares two palaces drawer by drawer in one merged walk.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use loci_core::{
    Backend, Capability, Collection, CollectionName, Drawer, Finding, Include, OpenOptions, PalaceRef,
    Result, Severity,
};

use super::findings::Findings;
use crate::Walk;

/// A palace and the backend that holds it.
pub type Side<'a> = (&'a dyn Backend, &'a PalaceRef);

/// Lists in which drawers `here` and `there` differ: those only one has, and which fields differ in the others.
///
/// `progress` is told how many drawers were compared.
pub fn compare(here: Side<'_>, there: Side<'_>, progress: &mut dyn FnMut(u64)) -> Result<Vec<Finding>> {
    let mut findings = Findings::default();
    let mut compared = 0;
    let vectors = [here, there]
        .iter()
        .all(|(backend, _)| backend.descriptor().can(&Capability::EmbeddingsOut));
    let include = Include {
        embedding: vectors,
        ..Include::EVERYTHING
    };
    for name in names(here)?.union(&names(there)?) {
        let (mine, theirs) = (open(here, name)?, open(there, name)?);
        let mut merge = Merge {
            mine: mine.as_deref().map(|collection| Walk::new(collection, include)),
            theirs: theirs.as_deref().map(|collection| Walk::new(collection, include)),
        };
        merge.run(name, &mut findings, &mut || {
            compared += 1;
            progress(compared);
        })?;
    }
    Ok(findings.into_vec())
}

fn names((backend, palace): Side<'_>) -> Result<BTreeSet<CollectionName>> {
    let with_drawers = backend
        .collections(palace)?
        .into_iter()
        .filter(|info| info.drawers > 0);
    Ok(with_drawers.map(|info| info.name).collect())
}

fn open((backend, palace): Side<'_>, name: &CollectionName) -> Result<Option<Arc<dyn Collection>>> {
    let there = backend.collections(palace)?.iter().any(|info| info.name == *name);
    match there {
        true => backend.open(palace, name, &OpenOptions::default()).map(Some),
        false => Ok(None),
    }
}

struct Merge<'a> {
    mine: Option<Walk<'a>>,
    theirs: Option<Walk<'a>>,
}

impl Merge<'_> {
    fn run(&mut self, name: &CollectionName, findings: &mut Findings, tick: &mut dyn FnMut()) -> Result<()> {
        let (mut mine, mut theirs) = (next(&mut self.mine)?, next(&mut self.theirs)?);
        loop {
            let order = match (&mine, &theirs) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => one.id.cmp(&other.id),
            };
            if let Some((code, message)) = difference(order, mine.as_ref(), theirs.as_ref()) {
                findings.push(Finding::new(code, Severity::Error, message).collection(name.as_str()));
            }
            if order.is_le() {
                mine = next(&mut self.mine)?;
            }
            if order.is_ge() {
                theirs = next(&mut self.theirs)?;
            }
            tick();
        }
        for walk in [&self.mine, &self.theirs].into_iter().flatten() {
            for left in walk.left_out() {
                let finding = Finding::new("unreadable_drawer", Severity::Error, left.message.clone());
                findings.push(finding.collection(name.as_str()));
            }
        }
        Ok(())
    }
}

fn next(walk: &mut Option<Walk<'_>>) -> Result<Option<Drawer>> {
    walk.as_mut().and_then(Iterator::next).transpose()
}

fn difference(
    order: Ordering,
    mine: Option<&Drawer>,
    theirs: Option<&Drawer>,
) -> Option<(&'static str, String)> {
    match (order, mine, theirs) {
        (Ordering::Less, Some(one), _) => Some((
            "only_here",
            format!(
                "the drawer {:?} is here and not in the other palace",
                one.id.as_str()
            ),
        )),
        (Ordering::Greater, _, Some(other)) => Some((
            "only_there",
            format!(
                "the drawer {:?} is in the other palace and not here",
                other.id.as_str()
            ),
        )),
        (Ordering::Equal, Some(one), Some(other)) => {
            let fields = differing(one, other);
            (!fields.is_empty()).then(|| {
                let message = format!(
                    "the drawer {:?} differs in its {}",
                    one.id.as_str(),
                    fields.join(", ")
                );
                ("differs", message)
            })
        }
        _ => None,
    }
}

fn differing(one: &Drawer, other: &Drawer) -> Vec<&'static str> {
    let bits = |drawer: &Drawer| -> Option<Vec<u32>> {
        let vector = drawer.embedding.as_ref()?;
        Some(vector.iter().map(|value| value.to_bits()).collect())
    };
    [
        ("document", one.document != other.document),
        ("metadata", one.metadata != other.metadata),
        ("place", one.place != other.place),
        ("filed_at", one.filed_at != other.filed_at),
        ("uses", one.uses != other.uses),
        ("context", one.context != other.context),
        ("embedding", bits(one) != bits(other)),
        ("damage", one.damage != other.damage),
    ]
    .into_iter()
    .filter_map(|(field, differs)| differs.then_some(field))
    .collect()
}
