//! The balance: which drawers come back, which are in doubt, and which are lost.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{DoubtfulDrawer, LostDrawers};

use super::image::PageImage;
use super::indexes::{IndexSurvey, IndexedDrawer};
use super::node::{NodeKind, TreeNode};
use super::pointers::{FileStructure, PageUse};
use super::survey::{FoundDrawer, PageSurvey};
use super::trouble;

/// The rows that a damaged page held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DamagedRange {
    /// The last of them; the last page below another has no bound there.
    last: i64,
    /// The row before the first of them; the first page below another has no bound there.
    above: i64,
    page: u32,
}

/// The ranges of all damaged pages, ordered by their ends.
#[derive(Debug, Default)]
struct DamagedRanges(Vec<DamagedRange>);

impl DamagedRanges {
    fn new(mut ranges: Vec<DamagedRange>) -> Self {
        ranges.sort_unstable();
        Self(ranges)
    }

    /// Returns the page that held a row.
    fn find_page(&self, row: i64) -> Option<u32> {
        let (bounded, unbounded) = self
            .0
            .split_at_checked(self.0.partition_point(|range| range.last < i64::MAX))?;
        // No two pages share a row, so that the range that ends first is the right one, or else the one that begins last.
        let nearest = bounded.get(bounded.partition_point(|range| range.last < row));
        let begun = unbounded.partition_point(|range| range.above < row);
        let open = begun.checked_sub(1).and_then(|place| unbounded.get(place));
        let found = nearest.filter(|range| range.above < row).or(open);
        found.map(|range| range.page)
    }
}

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
        // The row of a drawer is never used again, so an index in use that has it proves that it is current.
        drawer.sure |= indexes.rows.contains(&drawer.row);
        let dropped = known && !collections.contains_key(&drawer.collection);
        if !drawer.sure && (dropped || complete.contains(&drawer.collection)) {
            return false;
        }
        // A change in place keeps the row, so the page may be one whose last write was lost.
        let listed = indexes.seqs.get(&drawer.row);
        drawer.older = listed.is_some_and(|seq| *seq > drawer.seq);
        drawer.sure &= !drawer.older;
        true
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

/// Lists drawers that were read although they may have been removed or replaced.
pub(super) fn list_doubtful(drawers: &[FoundDrawer], names: &BTreeMap<i64, String>) -> Vec<DoubtfulDrawer> {
    let doubtful = drawers.iter().filter(|drawer| !drawer.sure);
    doubtful
        .map(|drawer| DoubtfulDrawer {
            collection: names.get(&drawer.collection).cloned().unwrap_or_default(),
            id: drawer.id.to_string(),
            reason: if drawer.older {
                trouble::OLDER_STATE.to_owned()
            } else {
                trouble::MAYBE_REMOVED.to_owned()
            },
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
        let found = MissingDrawer {
            known: entry.clone(),
            pages: ranges.find_page(*row).into_iter().collect(),
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
    let harmed = !survey.damaged.is_empty() || image.lacks_pages();
    lost.extend(count_unnamed(survey, &missing, names, harmed));
    if names.is_empty() && harmed {
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

/// Counts the drawers that a collection has lost and no page names; `harmed` if any page is lost.
fn count_unnamed(
    survey: &PageSurvey,
    missing: &BTreeMap<i64, MissingDrawer>,
    names: &BTreeMap<i64, String>,
    harmed: bool,
) -> Vec<LostDrawers> {
    let mut lost = Vec::new();
    for (number, name) in names {
        let read = survey
            .drawers
            .iter()
            .filter(|drawer| drawer.collection == *number && (drawer.sure || drawer.older));
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
            None if harmed => lost.push(entry(None, trouble::NOT_COUNTED)),
            None => {}
        }
    }
    lost
}

/// Returns the rows that damaged pages of the table of drawers held, from the pages above them.
fn damaged_ranges(image: &PageImage, structure: &FileStructure, survey: &PageSurvey) -> DamagedRanges {
    let Some(root) = survey
        .names
        .iter()
        .find_map(|(root, name)| (name == "drawers").then_some(*root))
    else {
        return DamagedRanges::default();
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
            if damaged.contains(&child) || image.is_absent(child) {
                ranges.push(DamagedRange {
                    last,
                    above,
                    page: child,
                });
            }
            above = last;
        }
    }
    DamagedRanges::new(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_searched_on_the_one_page_that_can_have_held_it() {
        let range = |above, last, page| DamagedRange { last, above, page };
        let ranges = DamagedRanges::new(vec![
            range(10, 20, 3),
            // The last page below one page, and the first below the next: each has only one bound.
            range(70, i64::MAX, 4),
            range(i64::MIN, 100, 5),
            range(200, i64::MAX, 6),
        ]);
        let cases = [
            (10, None),
            (11, Some(3)),
            (20, Some(3)),
            (90, Some(5)),
            (101, Some(4)),
            (201, Some(6)),
        ];
        for (row, page) in cases {
            assert_eq!(ranges.find_page(row), page, "row {row}");
        }
        assert_eq!(DamagedRanges::default().find_page(7), None);
    }
}
