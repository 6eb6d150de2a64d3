//! The pages in use and the trees they belong to, from whatever is left of the pointer map, the freelist and the trees.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::image::{PageImage, USABLE};
use super::node::{NodeKind, TreeNode, read_long};
use crate::vfs;

/// The bytes of an entry of the pointer map: a type and the page above.
const ENTRY: usize = 5;
/// The pages that one page of the pointer map describes.
const DESCRIBED: u32 = (USABLE / ENTRY) as u32;
/// The most levels of a tree that are followed; a damaged file may contain a circle.
const MOST_LEVELS: usize = 32;

/// The use of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageUse {
    /// It is part of a tree.
    Tree,
    /// It continues the payload of a cell.
    Overflow,
    /// It is on the freelist, or holds the pointer map itself.
    Unused,
    /// Nothing readable says so.
    Unknown,
}

/// The structure of the file, as far as it can be read.
#[derive(Debug, Default)]
pub(super) struct FileStructure {
    /// The pages on the freelist, as far as it could be read.
    free: BTreeSet<u32>,
    /// Whether all of the freelist could be read.
    free_is_complete: bool,
    /// For pages that the pointer map no longer describes: the interior page that points to them.
    parents: BTreeMap<u32, u32>,
    /// The page of the pointer map that was read last, by its number.
    map: RefCell<(u32, Vec<u8>, bool)>,
    /// The roots found so far, by page.
    roots: RefCell<HashMap<u32, Option<u32>>>,
}

impl FileStructure {
    /// Reads the freelist, and finds the parents of pages that the pointer map does not describe.
    pub(super) fn read(image: &PageImage, interior: &[u32]) -> Self {
        let mut structure = Self::default();
        structure.read_freelist(image);
        // A page counts as a parent only if it is in use itself, so each one that is found is looked at again.
        let known: HashSet<u32> = interior.iter().copied().collect();
        let mut waiting: Vec<u32> = interior.to_vec();
        while let Some(page) = waiting.pop() {
            let adopted = structure.adopt_children(image, page);
            waiting.extend(adopted.into_iter().filter(|child| known.contains(child)));
        }
        structure
    }

    fn read_freelist(&mut self, image: &PageImage) {
        let mut page = Vec::new();
        if !image.load_newest(1, &mut page) {
            return;
        }
        let mut outdated = image.is_outdated(1);
        let (Some(mut trunk), Some(count)) = (read_long(&page, 32), read_long(&page, 36)) else {
            return;
        };
        while trunk != 0 {
            if !self.free.insert(trunk) || !image.load_newest(trunk, &mut page) {
                return;
            }
            outdated |= image.is_outdated(trunk);
            let leaves = read_long(&page, 4).unwrap_or(0).min(USABLE as u32 / 4);
            self.free
                .extend((0..leaves).filter_map(|n| read_long(&page, 8 + 4 * n as usize)));
            trunk = read_long(&page, 0).unwrap_or(0);
        }
        self.free_is_complete = !outdated && self.free.len() as u64 == u64::from(count);
    }

    /// Notes the children of an interior page in use that nothing else describes; returns those that are new.
    fn adopt_children(&mut self, image: &PageImage, number: u32) -> Vec<u32> {
        let mut page = Vec::new();
        if self.page_use(image, number) != PageUse::Tree || !image.load_newest(number, &mut page) {
            return Vec::new();
        }
        let children = TreeNode::parse(number, &page)
            .map(|node| node.children())
            .unwrap_or_default();
        let mut adopted = Vec::new();
        for (child, _) in children {
            let described = self.mapped_use(image, child);
            let doubted = described.is_none_or(|(used, _)| self.is_disputed(child, used));
            if doubted && self.parents.insert(child, number).is_none() {
                adopted.push(child);
            }
        }
        adopted
    }

    /// Returns the use of a page.
    pub(super) fn page_use(&self, image: &PageImage, number: u32) -> PageUse {
        match self.mapped_use(image, number) {
            Some((used, _)) if self.is_disputed(number, used) => return PageUse::Unknown,
            Some((used, _)) => return used,
            None => {}
        }
        if self.parents.contains_key(&number) {
            return PageUse::Tree;
        }
        match (self.free.contains(&number), self.free_is_complete) {
            (true, _) => PageUse::Unused,
            // In use, as an overflow page or in a tree; its content tells which.
            (false, true) => PageUse::Tree,
            (false, false) => PageUse::Unknown,
        }
    }

    /// Returns whether the pointer map cannot be believed about a page, because the freelist contradicts it: one of them is
    /// an older version of itself. That a page continues a payload is nothing the freelist can confirm, but neither can
    /// such a page be taken for one of a tree by mistake.
    fn is_disputed(&self, number: u32, mapped: PageUse) -> bool {
        let freed = self.free.contains(&number);
        let disputed = match mapped {
            PageUse::Tree => freed,
            PageUse::Overflow | PageUse::Unused => !freed,
            PageUse::Unknown => false,
        };
        disputed && self.free_is_complete && map_place(number).is_some()
    }

    /// Returns the use of a page and the page above it, if the pointer map can be read.
    fn mapped_use(&self, image: &PageImage, number: u32) -> Option<(PageUse, u32)> {
        let Some((map, entry)) = map_place(number) else {
            // Page 1 is the root of the schema; the others that have no entry hold no content.
            let used = if number == 1 {
                PageUse::Tree
            } else {
                PageUse::Unused
            };
            return Some((used, 0));
        };
        let mut cached = self.map.borrow_mut();
        if cached.0 != map {
            let sound = image.load_newest(map, &mut cached.1) && !image.is_outdated(map);
            (cached.0, cached.2) = (map, sound);
        }
        if !cached.2 {
            return None;
        }
        let above = read_long(&cached.1, entry + 1)?;
        let used = match cached.1.get(entry)? {
            1 | 5 => PageUse::Tree,
            3 | 4 => PageUse::Overflow,
            // 2 is a free page, and 0 one that was never used.
            _ => PageUse::Unused,
        };
        Some((used, above))
    }

    /// Returns the root of the tree that a page belongs to.
    pub(super) fn root_of(&self, image: &PageImage, number: u32) -> Option<u32> {
        if let Some(root) = self.roots.borrow().get(&number) {
            return *root;
        }
        let root = self.find_root(image, number);
        self.roots.borrow_mut().insert(number, root);
        root
    }

    fn find_root(&self, image: &PageImage, number: u32) -> Option<u32> {
        let mut page = number;
        for _ in 0..MOST_LEVELS {
            if page == 1 {
                return Some(1);
            }
            let above = match self.mapped_use(image, page) {
                Some((PageUse::Tree, above)) => above,
                Some((used, _)) if !self.is_disputed(page, used) => return None,
                _ => *self.parents.get(&page)?,
            };
            // A root has no page above it.
            if above == 0 {
                return Some(page);
            }
            page = above;
        }
        None
    }
}

/// Returns the page of the pointer map that describes a page, and the place of its entry there.
fn map_place(number: u32) -> Option<(u32, usize)> {
    if number < 3 {
        return None;
    }
    let group = (number - 2) / (DESCRIBED + 1);
    let mut map = group * (DESCRIBED + 1) + 2;
    if vfs::is_lock_page(number, super::image::PAGE) {
        return None;
    }
    // The page of SQLite's locks is skipped, and the map that would be there comes after it.
    if vfs::is_lock_page(map, super::image::PAGE) {
        map += 1;
    }
    let entry = (number.checked_sub(map)?.checked_sub(1)?) as usize * ENTRY;
    Some((map, entry))
}

/// Returns the interior pages among some.
pub(super) fn is_interior(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::TableInterior | NodeKind::IndexInterior)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pointer_map_describes_the_pages_after_it() {
        assert_eq!(map_place(1), None);
        assert_eq!(map_place(2), None);
        assert_eq!(map_place(3), Some((2, 0)));
        assert_eq!(
            map_place(2 + DESCRIBED),
            Some((2, (DESCRIBED as usize - 1) * ENTRY))
        );
        assert_eq!(map_place(3 + DESCRIBED), None, "the next page of the map");
        assert_eq!(map_place(4 + DESCRIBED), Some((3 + DESCRIBED, 0)));
    }
}
