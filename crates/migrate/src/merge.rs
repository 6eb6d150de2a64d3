//! A walk over two collections side by side, in the order of their ids.

use std::cmp::Ordering;

use loci_core::{Drawer, Result};

use loci_engine::CollectionWalk;

/// The next drawer of one or both walks.
pub(crate) enum DrawerPair {
    /// Both collections have it.
    Both(Box<Drawer>, Box<Drawer>),
    /// Only the first collection has it.
    First(Box<Drawer>),
    /// Only the second collection has it.
    Second(Box<Drawer>),
}

/// Two walks merged by id. A missing walk counts as one without drawers.
pub(crate) struct MergedWalk<'a> {
    walks: [Option<CollectionWalk<'a>>; 2],
    next: [Option<Drawer>; 2],
    begun: bool,
}

impl<'a> MergedWalk<'a> {
    pub(crate) fn new(first: Option<CollectionWalk<'a>>, second: Option<CollectionWalk<'a>>) -> Self {
        Self {
            walks: [first, second],
            next: [None, None],
            begun: false,
        }
    }

    /// Returns both walks, which list the drawers they could not read so far.
    pub(crate) fn walks(&self) -> impl Iterator<Item = &CollectionWalk<'a>> {
        self.walks.iter().flatten()
    }

    /// Returns the next pair, or `None` once both walks have ended.
    pub(crate) fn next_pair(&mut self) -> Result<Option<DrawerPair>> {
        // Read on the first step and not in `new`, so that an error of the first read reaches a caller who
        // can report it.
        if !std::mem::replace(&mut self.begun, true) {
            self.advance(true, true)?;
        }
        let order = match &self.next {
            [None, None] => return Ok(None),
            [Some(_), None] => Ordering::Less,
            [None, Some(_)] => Ordering::Greater,
            [Some(one), Some(other)] => one.id.cmp(&other.id),
        };
        // Of two different ids only the smaller one is consumed; the other waits for its turn.
        let [one, other] = &mut self.next;
        let one = if order.is_le() { one.take() } else { None };
        let other = if order.is_ge() { other.take() } else { None };
        self.advance(order.is_le(), order.is_ge())?;
        Ok(match (one, other) {
            (Some(one), Some(other)) => Some(DrawerPair::Both(Box::new(one), Box::new(other))),
            (Some(one), None) => Some(DrawerPair::First(Box::new(one))),
            (None, Some(other)) => Some(DrawerPair::Second(Box::new(other))),
            (None, None) => None,
        })
    }

    fn advance(&mut self, first: bool, second: bool) -> Result<()> {
        for ((walk, next), go) in self.walks.iter_mut().zip(&mut self.next).zip([first, second]) {
            if go {
                *next = walk.as_mut().and_then(Iterator::next).transpose()?;
            }
        }
        Ok(())
    }
}
