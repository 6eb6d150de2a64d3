//! Two collections walked side by side in the order of their ids.

use std::cmp::Ordering;

use loci_core::{Drawer, Result};

use loci_engine::Walk;

/// The next drawers of two walks.
pub(crate) enum Pair {
    /// Both have it.
    Both(Box<Drawer>, Box<Drawer>),
    /// Only the first has it.
    First(Box<Drawer>),
    /// Only the second has it.
    Second(Box<Drawer>),
}

/// Two walks; one that is missing is one without drawers.
pub(crate) struct Merge<'a> {
    walks: [Option<Walk<'a>>; 2],
    next: [Option<Drawer>; 2],
    begun: bool,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(first: Option<Walk<'a>>, second: Option<Walk<'a>>) -> Self {
        Self {
            walks: [first, second],
            next: [None, None],
            begun: false,
        }
    }

    /// What neither walk could read so far.
    pub(crate) fn walks(&self) -> impl Iterator<Item = &Walk<'a>> {
        self.walks.iter().flatten()
    }

    /// The next drawers, or `None` once both walks have ended.
    pub(crate) fn step(&mut self) -> Result<Option<Pair>> {
        if !std::mem::replace(&mut self.begun, true) {
            self.advance(true, true)?;
        }
        let order = match &self.next {
            [None, None] => return Ok(None),
            [Some(_), None] => Ordering::Less,
            [None, Some(_)] => Ordering::Greater,
            [Some(one), Some(other)] => one.id.cmp(&other.id),
        };
        let [one, other] = &mut self.next;
        let one = if order.is_le() { one.take() } else { None };
        let other = if order.is_ge() { other.take() } else { None };
        self.advance(order.is_le(), order.is_ge())?;
        Ok(match (one, other) {
            (Some(one), Some(other)) => Some(Pair::Both(Box::new(one), Box::new(other))),
            (Some(one), None) => Some(Pair::First(Box::new(one))),
            (None, Some(other)) => Some(Pair::Second(Box::new(other))),
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
