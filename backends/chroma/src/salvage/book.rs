//! Who each page belongs to, and what was lost: the two lists a rescue keeps.

use super::Loss;

/// The most losses that are listed one by one.
const MOST_LOSSES: usize = 1000;

/// Nobody was found to own the page.
const UNOWNED: u16 = 0;
/// A sound tree leads to it.
const CLAIMED: u16 = 1;
/// Two different rows on loose pages spill over to it.
const CONTESTED: u16 = 2;
/// The file lists it as unused.
const FREE: u16 = 3;
/// The lowest mark of a row.
const FIRST_MARK: u16 = 4;

/// Who each page belongs to: two bytes a page.
pub(super) struct Book {
    owners: Vec<u16>,
    claimed: u32,
}

impl Book {
    pub(super) fn new(pages: u32) -> Self {
        let length = usize::try_from(pages).unwrap_or(0) + 1;
        Self {
            owners: vec![UNOWNED; length],
            claimed: 0,
        }
    }

    fn owner(&self, page: u32) -> u16 {
        let index = usize::try_from(page).unwrap_or(usize::MAX);
        self.owners.get(index).copied().unwrap_or(CLAIMED)
    }

    fn own(&mut self, page: u32, owner: u16) {
        let index = usize::try_from(page).unwrap_or(usize::MAX);
        if let Some(place) = self.owners.get_mut(index) {
            *place = owner;
        }
    }

    /// Claims a page for a sound tree; `false` where another has it, or there is no such page.
    pub(super) fn claim(&mut self, page: u32) -> bool {
        let unclaimed = !self.is_claimed(page);
        if unclaimed {
            self.own(page, CLAIMED);
            self.claimed += 1;
        }
        unclaimed
    }

    pub(super) fn is_claimed(&self, page: u32) -> bool {
        self.owner(page) == CLAIMED
    }

    /// How many pages are claimed.
    pub(super) fn claimed(&self) -> u32 {
        self.claimed
    }

    /// Notes that the file lists the page as unused; `false` where a sound tree has it or it was listed before.
    pub(super) fn set_free(&mut self, page: u32) -> bool {
        let possible = self.owner(page) == UNOWNED;
        if possible {
            self.own(page, FREE);
        }
        possible
    }

    /// Whether nobody owns the page, not even the list of unused pages.
    pub(super) fn is_loose(&self, page: u32) -> bool {
        !matches!(self.owner(page), CLAIMED | FREE)
    }

    /// Notes that a row on a loose page spills over to `page`; `false` where the page is not the row's alone.
    pub(super) fn mark(&mut self, page: u32, row: &[u8], rowid: i64) -> bool {
        let mark = mark(row, rowid);
        match self.owner(page) {
            UNOWNED => self.own(page, mark),
            CLAIMED | FREE | CONTESTED => return false,
            owner if owner != mark => {
                self.own(page, CONTESTED);
                return false;
            }
            _ => {}
        }
        true
    }

    /// Whether the page was marked as this row's, and as no other's.
    pub(super) fn is_marked(&self, page: u32, row: &[u8], rowid: i64) -> bool {
        self.owner(page) == mark(row, rowid)
    }
}

/// Tells rows apart well enough for pages that two of them claim. A stale copy of a row has the row's own mark.
fn mark(row: &[u8], rowid: i64) -> u16 {
    let bytes = rowid.to_le_bytes();
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = bytes.iter().chain(row).fold(0xcbf2_9ce4_8422_2325, step);
    let folded = (hash >> 32) % u64::from(u16::MAX - FIRST_MARK);
    FIRST_MARK + u16::try_from(folded).unwrap_or(0)
}

/// What was lost, up to a number; after it, only how much more.
#[derive(Default)]
pub(super) struct Losses {
    listed: Vec<Loss>,
    more: u64,
}

impl Losses {
    pub(super) fn add(&mut self, page: Option<u32>, table: Option<&str>, message: impl Into<String>) {
        if self.listed.len() >= MOST_LOSSES {
            self.more += 1;
            return;
        }
        let table = table.map(str::to_owned);
        self.listed.push(Loss {
            page,
            table,
            message: message.into(),
        });
    }

    /// How many there were so far.
    pub(super) fn count(&self) -> u64 {
        self.listed.len() as u64 + self.more
    }

    /// Forgets what was added since there were `count`: losses of things that are not saved anyway.
    pub(super) fn forget_after(&mut self, count: u64) {
        let listed = usize::try_from(count)
            .unwrap_or(usize::MAX)
            .min(self.listed.len());
        self.listed.truncate(listed);
        self.more = count.saturating_sub(self.listed.len() as u64);
    }

    pub(super) fn finish(mut self) -> Vec<Loss> {
        if self.more > 0 {
            let message = format!("and {} more losses that are not listed", self.more);
            self.listed.push(Loss {
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
        let mut book = Book::new(9);
        assert!(
            book.mark(5, b"one", 1) && book.mark(5, b"one", 1),
            "a stale copy is the same row"
        );
        assert!(book.is_marked(5, b"one", 1) && !book.is_marked(5, b"one", 2));
        assert!(!book.mark(5, b"other", 1));
        assert!(!book.is_marked(5, b"one", 1) && !book.is_marked(5, b"other", 1));
    }

    #[test]
    fn what_a_tree_has_is_neither_free_nor_loose() {
        let mut book = Book::new(9);
        assert!(book.claim(3) && !book.claim(3));
        assert!(!book.set_free(3) && !book.is_loose(3) && !book.mark(3, b"row", 1));
        assert!(book.set_free(4) && !book.set_free(4) && !book.is_loose(4));
        assert!(!book.claim(10), "there is no such page");
        assert_eq!(book.claimed(), 1);
    }

    #[test]
    fn losses_beyond_a_number_are_counted() {
        let mut losses = Losses::default();
        (0..1003).for_each(|page| losses.add(Some(page), None, "gone"));
        let before = losses.count();
        losses.add(None, None, "of no account");
        losses.forget_after(before);
        let listed = losses.finish();
        assert_eq!(listed.len(), 1001);
        assert!(listed.last().is_some_and(|loss| loss.message.contains("3 more")));
    }
}
