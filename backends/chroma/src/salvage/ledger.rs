//! The two lists of a salvage: the owners of pages, and the losses.

use super::SalvageLoss;

/// The most losses that are listed individually.
const MOST_LOSSES: usize = 1000;

/// No owner of the page was found.
const UNOWNED: u16 = 0;
/// An intact tree references it.
const CLAIMED: u16 = 1;
/// Two different rows on loose pages overflow to it.
const CONTESTED: u16 = 2;
/// The file lists it as unused.
const FREE: u16 = 3;
/// The lowest mark of a row.
const FIRST_MARK: u16 = 4;

/// The owner of each page, in two bytes.
pub(super) struct PageLedger {
    owners: Vec<u16>,
    claimed: u32,
}

impl PageLedger {
    pub(super) fn new(pages: u32) -> Self {
        // SQLite counts pages from 1, so the first entry stays unused.
        let length = usize::try_from(pages).unwrap_or(0) + 1;
        Self {
            owners: vec![UNOWNED; length],
            claimed: 0,
        }
    }

    fn owner_of(&self, page: u32) -> u16 {
        let index = usize::try_from(page).unwrap_or(usize::MAX);
        // A page beyond the file counts as claimed: nothing may take it.
        self.owners.get(index).copied().unwrap_or(CLAIMED)
    }

    fn set_owner(&mut self, page: u32, owner: u16) {
        let index = usize::try_from(page).unwrap_or(usize::MAX);
        if let Some(place) = self.owners.get_mut(index) {
            *place = owner;
        }
    }

    /// Claims a page for an intact tree. Returns `false` if another tree has it, or if it does not exist.
    pub(super) fn claim_page(&mut self, page: u32) -> bool {
        let unclaimed = !self.is_claimed(page);
        if unclaimed {
            self.set_owner(page, CLAIMED);
            self.claimed += 1;
        }
        unclaimed
    }

    pub(super) fn is_claimed(&self, page: u32) -> bool {
        self.owner_of(page) == CLAIMED
    }

    /// Returns the number of claimed pages.
    pub(super) fn claimed_count(&self) -> u32 {
        self.claimed
    }

    /// Marks the page as unused by the file's own list. Returns `false` if a tree has it or it was listed before.
    pub(super) fn set_free(&mut self, page: u32) -> bool {
        let possible = self.owner_of(page) == UNOWNED;
        if possible {
            self.set_owner(page, FREE);
        }
        possible
    }

    /// Returns whether no tree and no list of unused pages owns the page.
    pub(super) fn is_loose(&self, page: u32) -> bool {
        !matches!(self.owner_of(page), CLAIMED | FREE)
    }

    /// Marks `page` as an overflow page of a row on a loose page. Returns `false` if the row is not its only owner.
    pub(super) fn mark_spill(&mut self, page: u32, row: &[u8], rowid: i64) -> bool {
        let mark = row_mark(row, rowid);
        match self.owner_of(page) {
            UNOWNED => self.set_owner(page, mark),
            // Once contested, a page stays so: the first of the two rows may be the stale one.
            CLAIMED | FREE | CONTESTED => return false,
            owner if owner != mark => {
                self.set_owner(page, CONTESTED);
                return false;
            }
            _ => {}
        }
        true
    }

    /// Returns whether the page is marked for this row and no other.
    pub(super) fn is_marked(&self, page: u32, row: &[u8], rowid: i64) -> bool {
        self.owner_of(page) == row_mark(row, rowid)
    }
}

/// Returns a hash that separates two rows claiming one page. A stale copy of a row has the same mark.
fn row_mark(row: &[u8], rowid: i64) -> u16 {
    let bytes = rowid.to_le_bytes();
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = bytes.iter().chain(row).fold(0xcbf2_9ce4_8422_2325, step);
    // Sixteen bits: a collision only lets a wrong overflow page
    // pass, and then the row's own shape is still checked.
    let folded = (hash >> 32) % u64::from(u16::MAX - FIRST_MARK);
    FIRST_MARK + u16::try_from(folded).unwrap_or(0)
}

/// The losses up to a limit, and the number of further ones.
#[derive(Default)]
pub(super) struct LossList {
    listed: Vec<SalvageLoss>,
    more: u64,
}

impl LossList {
    pub(super) fn add(&mut self, page: Option<u32>, table: Option<&str>, message: impl Into<String>) {
        if self.listed.len() >= MOST_LOSSES {
            self.more += 1;
            return;
        }
        let table = table.map(str::to_owned);
        self.listed.push(SalvageLoss {
            page,
            table,
            message: message.into(),
        });
    }

    /// Returns the number of losses so far.
    pub(super) fn count(&self) -> u64 {
        self.listed.len() as u64 + self.more
    }

    /// Forgets the losses after the first `count`: those of parts that are not salvaged anyway.
    pub(super) fn forget_after(&mut self, count: u64) {
        let listed = usize::try_from(count)
            .unwrap_or(usize::MAX)
            .min(self.listed.len());
        self.listed.truncate(listed);
        self.more = count.saturating_sub(self.listed.len() as u64);
    }

    pub(super) fn into_losses(mut self) -> Vec<SalvageLoss> {
        if self.more > 0 {
            let message = format!("and {} more losses that are not listed", self.more);
            self.listed.push(SalvageLoss {
                page: None,
                table: None,
                message,
            });
        }
        self.listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_two_rows_spill_over_to_is_neither_s() {
        let mut book = PageLedger::new(9);
        assert!(
            book.mark_spill(5, b"one", 1) && book.mark_spill(5, b"one", 1),
            "a stale copy is the same row"
        );
        assert!(book.is_marked(5, b"one", 1) && !book.is_marked(5, b"one", 2));
        assert!(!book.mark_spill(5, b"other", 1));
        assert!(!book.is_marked(5, b"one", 1) && !book.is_marked(5, b"other", 1));
    }

    #[test]
    fn what_a_tree_has_is_neither_free_nor_loose() {
        let mut book = PageLedger::new(9);
        assert!(book.claim_page(3) && !book.claim_page(3));
        assert!(!book.set_free(3) && !book.is_loose(3) && !book.mark_spill(3, b"row", 1));
        assert!(book.set_free(4) && !book.set_free(4) && !book.is_loose(4));
        assert!(!book.claim_page(10), "there is no such page");
        assert_eq!(book.claimed_count(), 1);
    }

    #[test]
    fn losses_beyond_a_number_are_counted() {
        let mut losses = LossList::default();
        (0..1003).for_each(|page| losses.add(Some(page), None, "gone"));
        let before = losses.count();
        losses.add(None, None, "of no account");
        losses.forget_after(before);
        let listed = losses.into_losses();
        assert_eq!(listed.len(), 1001);
        assert!(listed.last().is_some_and(|loss| loss.message.contains("3 more")));
    }
}
