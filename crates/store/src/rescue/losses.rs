//! The balance: which drawers come back, which are in doubt, and which are lost.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{DoubtfulDrawer, LostDrawers};

use super::image::PageImage;
use super::indexes::{IndexSurvey, IndexedDrawer};
use super::node::{NodeKind, TreeNode};
use super::pointers::{FileStructure, PageUse};
use super::survey::{FoundDrawer, PageSurvey};
use super::trouble;

/// The rows that a damaged page held: above the first number, up to the second.
type DamagedRange = (i64, i64, u32);

/// Keeps the newest state of each drawer and drops those that were removed.
pub(super) fn keep_newest(survey: &mut PageSurvey, indexes: &IndexSurvey) {
    let tombstones = std::mem::take(&mut survey.tombstones);
    let complete = complete_collections(survey, indexes);
    let known = !survey.collections.is_empty();
    let collections = &survey.collections;
    survey.drawers.retain_mut(|drawer| {
        let key = (drawer.collection, drawer.id.to_string());
        if tombstones
            .get(&key)
            .is_some_and(|removed| *removed > drawer.rank())
        {
            return false;
        }
        if drawer.sure {
            return true;
        }
        // The row of a drawer is never used again, so an index in use that has it proves that it is current.
        if indexes.rows.contains(&drawer.row) {
            drawer.sure = true;
            return true;
        }
        let dropped = known && !collections.contains_key(&drawer.collection);
        !dropped && !complete.contains(&drawer.collection)
    });
    survey.tombstones = tombstones;
    // The best of several states of a drawer comes first: one that is certain, else the newest.
    survey.drawers.sort_by(|a, b| {
        let order = (a.collection, &a.id).cmp(&(b.collection, &b.id));
        order.then_with(|| (b.sure, b.rank(), b.spot).cmp(&(a.sure, a.rank(), a.spot)))
    });
    survey
        .drawers
        .dedup_by(|next, kept| (next.collection, &next.id) == (kept.collection, &kept.id));
}

/// Returns the collections whose index of ids is complete: it has as many entries as the collection counts drawers.
fn complete_collections(survey: &PageSurvey, indexes: &IndexSurvey) -> HashSet<i64> {
    let counted = survey.collections.values();
    counted
        .filter(|row| {
            u64::try_from(row.drawers).ok() == Some(indexes.ids.get(&row.collection).copied().unwrap_or(0))
        })
        .map(|row| row.collection)
        .collect()
}

/// Lists drawers that were read although they may have been removed.
pub(super) fn list_doubtful(drawers: &[FoundDrawer], names: &BTreeMap<i64, String>) -> Vec<DoubtfulDrawer> {
    let doubtful = drawers.iter().filter(|drawer| !drawer.sure);
    doubtful
        .map(|drawer| DoubtfulDrawer {
            collection: names.get(&drawer.collection).cloned().unwrap_or_default(),
            id: drawer.id.to_string(),
            reason: trouble::MAYBE_REMOVED.to_owned(),
        })
        .collect()
}

/// A lost drawer before its collection has a name.
#[derive(Debug, Default)]
struct MissingDrawer {
    known: IndexedDrawer,
    pages: Vec<u32>,
    reason: &'static str,
}

/// Lists the drawers that cannot be read.
pub(super) fn list_lost(
    image: &PageImage,
    structure: &FileStructure,
    survey: &PageSurvey,
    indexes: &IndexSurvey,
    names: &BTreeMap<i64, String>,
) -> Vec<LostDrawers> {
    let mut missing = BTreeMap::new();
    let ranges = damaged_ranges(image, structure, survey);
    for (row, entry) in &indexes.missing {
        // The last page below another has no upper bound there, so the narrowest range is the right one.
        let holding = ranges
            .iter()
            .filter(|(above, last, _)| row > above && row <= last);
        let page = holding.min_by_key(|(above, last, _)| last.saturating_sub(*above));
        let found = MissingDrawer {
            known: entry.clone(),
            pages: page.map(|(_, _, page)| *page).into_iter().collect(),
            reason: if entry.sure {
                trouble::PAGE_DAMAGED
            } else {
                trouble::MAYBE_REMOVED
            },
        };
        missing.insert(*row, found);
    }
    for broken in &survey.broken {
        let entry: &mut MissingDrawer = missing.entry(broken.row).or_default();
        let (wing, room, source) = broken.head.place.clone();
        entry.known = IndexedDrawer {
            collection: Some(broken.head.collection),
            id: Some(broken.head.id.clone()),
            wing,
            room,
            source,
            sure: structure.page_use(image, broken.page) == PageUse::Tree && !image.is_outdated(broken.page),
        };
        entry.pages = broken.broken.into_iter().collect();
        entry.reason = broken.reason;
    }
    drop_superseded(&mut missing, survey);
    let mut lost: Vec<LostDrawers> = missing
        .values()
        .map(|missing| name_missing(missing, names))
        .collect();
    lost.extend(count_unnamed(survey, &missing, names));
    if names.is_empty() && !survey.damaged.is_empty() {
        lost.push(LostDrawers {
            reason: trouble::NOT_COUNTED.to_owned(),
            ..LostDrawers::default()
        });
    }
    lost
}

/// Drops entries of drawers that were removed or have a newer state that can be read.
fn drop_superseded(missing: &mut BTreeMap<i64, MissingDrawer>, survey: &PageSurvey) {
    let current: HashMap<(i64, &str), i64> = survey
        .drawers
        .iter()
        .map(|drawer| ((drawer.collection, &*drawer.id), drawer.rank()))
        .collect();
    missing.retain(|row, drawer| {
        let (Some(collection), Some(id)) = (drawer.known.collection, &drawer.known.id) else {
            return true;
        };
        let removed = survey.tombstones.get(&(collection, id.clone()));
        let newer = current.get(&(collection, id.as_str()));
        removed.is_none_or(|seq| seq <= row) && newer.is_none_or(|rank| rank <= row)
    });
}

fn name_missing(missing: &MissingDrawer, names: &BTreeMap<i64, String>) -> LostDrawers {
    let known = missing.known.clone();
    LostDrawers {
        collection: known
            .collection
            .or_else(|| only_key(names))
            .and_then(|number| names.get(&number).cloned()),
        id: known.id,
        wing: known.wing,
        room: known.room,
        source: known.source,
        count: Some(1),
        pages: missing.pages.clone(),
        reason: missing.reason.to_owned(),
    }
}

/// Returns the only key of a map.
fn only_key(names: &BTreeMap<i64, String>) -> Option<i64> {
    names.keys().next().copied().filter(|_| names.len() == 1)
}

/// Counts the drawers that a collection has lost and no page names.
fn count_unnamed(
    survey: &PageSurvey,
    missing: &BTreeMap<i64, MissingDrawer>,
    names: &BTreeMap<i64, String>,
) -> Vec<LostDrawers> {
    let mut lost = Vec::new();
    for (number, name) in names {
        let read = survey
            .drawers
            .iter()
            .filter(|drawer| drawer.collection == *number && drawer.sure);
        let listed = missing.values().filter(|missing| {
            let owner = missing.known.collection.or_else(|| only_key(names));
            missing.known.sure && owner == Some(*number)
        });
        let accounted = (read.count() + listed.count()) as u64;
        let counted = survey
            .collections
            .get(number)
            .and_then(|row| u64::try_from(row.drawers).ok());
        let entry = |count, reason: &str| LostDrawers {
            collection: Some(name.clone()),
            count,
            pages: Vec::new(),
            reason: reason.to_owned(),
            ..LostDrawers::default()
        };
        match counted {
            Some(counted) if counted > accounted => {
                lost.push(entry(Some(counted - accounted), trouble::ONLY_COUNTED));
            }
            Some(_) => {}
            None if !survey.damaged.is_empty() => lost.push(entry(None, trouble::NOT_COUNTED)),
            None => {}
        }
    }
    lost
}

/// Returns the rows that damaged pages of the table of drawers held, from the pages above them.
fn damaged_ranges(image: &PageImage, structure: &FileStructure, survey: &PageSurvey) -> Vec<DamagedRange> {
    let Some(root) = survey
        .names
        .iter()
        .find_map(|(root, name)| (name == "drawers").then_some(*root))
    else {
        return Vec::new();
    };
    let damaged: HashSet<u32> = survey.damaged.iter().copied().collect();
    let (mut page, mut ranges) = (Vec::new(), Vec::new());
    for number in &survey.interior_pages {
        if structure.root_of(image, *number) != Some(root) || !image.load_newest(*number, &mut page) {
            continue;
        }
        let node = TreeNode::parse(*number, &page).filter(|node| node.kind == NodeKind::TableInterior);
        let mut above = i64::MIN;
        for (child, last) in node.map(|node| node.children()).unwrap_or_default() {
            if damaged.contains(&child) {
                ranges.push((above, last, child));
            }
            above = last;
        }
    }
    ranges
}
