//! Walks every drawer of a collection in id order, a page at a time, going around what cannot be read.

mod probe;

use std::collections::VecDeque;

use loci_core::{
    CollectionReader, DocumentFilter, Drawer, DrawerId, DrawerPosition, Error, ErrorKind, Filter, Get,
    Include, Result,
};

/// Something a walk could not read and went around.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The drawer, where at least its id could be read.
    pub id: Option<DrawerId>,
    /// What was left out and why, in words.
    pub message: String,
}

/// An iterator over the drawers of a collection in ascending order of their ids.
///
/// Each page is one read, so a drawer written meanwhile may or may not be seen. Where a page cannot be read
/// because stored bytes are damaged, the walk goes on behind the damage and keeps what it [left out](Walk::left_out).
#[derive(Debug)]
pub struct Walk<'a> {
    collection: &'a dyn CollectionReader,
    request: Get,
    page: usize,
    read: VecDeque<Drawer>,
    left_out: Vec<LeftOut>,
    ended: bool,
}

/// The most drawers read at once.
const MAX_PAGE: usize = 1024;
/// How much text and vector one page aims at, in bytes.
const PAGE_BYTES: usize = 8 << 20;
/// How many drawers without a readable id are passed over one by one before the walk looks farther ahead.
const MAX_BLIND: usize = 64;
/// How often a walk closes in on the place where ids can be read again.
const CLOSER: usize = 200;

impl<'a> Walk<'a> {
    /// Starts a walk that returns `include` of each drawer.
    pub fn new(collection: &'a dyn CollectionReader, include: Include) -> Self {
        Self::matching(collection, include, Filter::All, DocumentFilter::All)
    }

    /// Starts a walk over the drawers both filters accept.
    pub fn matching(
        collection: &'a dyn CollectionReader,
        include: Include,
        filter: Filter,
        document: DocumentFilter,
    ) -> Self {
        let request = Get {
            filter,
            document,
            include,
            ..Get::default()
        };
        Self {
            collection,
            request,
            page: 64,
            read: VecDeque::new(),
            left_out: Vec::new(),
            ended: false,
        }
    }

    /// This walk, going on behind the drawer `id`, or from the beginning.
    #[must_use]
    pub fn after(mut self, id: Option<DrawerId>) -> Self {
        self.request.after = id.map(DrawerPosition::Id);
        self
    }

    /// What could not be read so far.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    fn fetch(&self, limit: usize, include: Include) -> Result<Vec<Drawer>> {
        self.collection.get(&Get {
            limit: Some(limit),
            include,
            ..self.request.clone()
        })
    }

    /// Reads the next page, or takes one step around damage.
    fn fill(&mut self) -> Result<()> {
        match self.fetch(self.page, self.request.include) {
            Ok(drawers) => self.take(drawers),
            Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
            Err(_) if self.page > 1 => self.page /= 2,
            Err(error) => self.step_over(&error)?,
        }
        Ok(())
    }

    fn take(&mut self, drawers: Vec<Drawer>) {
        let bytes: usize = drawers.iter().map(size).sum();
        match drawers.last() {
            Some(last) => self.request.after = Some(DrawerPosition::Id(last.id.clone())),
            None => self.ended = true,
        }
        let each = (bytes / drawers.len().max(1)).max(1);
        self.page = (PAGE_BYTES / each).clamp(1, MAX_PAGE).min(self.page * 2);
        self.read.extend(drawers);
    }

    /// Passes over the one drawer that cannot be read, by its id if that much is readable.
    fn step_over(&mut self, error: &Error) -> Result<()> {
        match self.fetch(1, Include::NOTHING) {
            Ok(mut found) => match found.pop() {
                Some(bare) => {
                    self.leave_out(&bare.id, error);
                    self.request.after = Some(DrawerPosition::Id(bare.id));
                }
                None => self.give_up(error),
            },
            Err(blind) if blind.kind() == ErrorKind::Corrupt => self.step_blindly(error)?,
            Err(other) => return Err(other),
        }
        Ok(())
    }

    /// Looks for the next drawer whose id can be read behind some that cannot.
    fn step_blindly(&mut self, error: &Error) -> Result<()> {
        for skipped in 1..=MAX_BLIND {
            let Some(mut found) = self.try_after(self.last_id().cloned(), skipped)? else {
                continue;
            };
            self.left_out.push(LeftOut {
                id: None,
                message: format!("{skipped} drawer(s) {} cannot be read: {error}", self.behind()),
            });
            match found.pop() {
                Some(bare) => self.land_on(bare.id)?,
                None => self.ended = true,
            }
            return Ok(());
        }
        self.look_ahead(error)
    }

    /// Looks for a place farther ahead where ids can be read again, and closes in on where that begins.
    fn look_ahead(&mut self, error: &Error) -> Result<()> {
        let mut low = self.last_id().map_or_else(String::new, ToString::to_string);
        let mut readable = None;
        for _ in 0..CLOSER {
            let (farthest, found) = self.probe_from(&low)?;
            readable = found.or(readable);
            match farthest {
                Some(farthest) => low = farthest.into(),
                None => break,
            }
        }
        let Some(readable) = readable else {
            self.give_up(error);
            return Ok(());
        };
        self.left_out.push(LeftOut {
            id: None,
            message: format!(
                "drawers {} and up to {:?} cannot be read: {error}",
                self.behind(),
                readable.as_str()
            ),
        });
        self.request.after = Some(DrawerPosition::Id(readable));
        Ok(())
    }

    /// Tries ids ahead of `low`, farther and farther: the last from which nothing, and the first from which
    /// something can be read.
    fn probe_from(&self, low: &str) -> Result<(Option<DrawerId>, Option<DrawerId>)> {
        let mut farthest = None;
        for id in probe::ahead(low) {
            if self.try_after(Some(id.clone()), 0)?.is_some() {
                return Ok((farthest, Some(id)));
            }
            farthest = Some(id);
        }
        Ok((None, None))
    }

    /// The next id behind `after` and `skipped` more; `None` where damage keeps it from being read.
    fn try_after(&self, after: Option<DrawerId>, skipped: usize) -> Result<Option<Vec<Drawer>>> {
        let request = Get {
            after: after.map(DrawerPosition::Id),
            limit: Some(1),
            offset: skipped,
            include: Include::NOTHING,
            ..self.request.clone()
        };
        match self.collection.get(&request) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            Err(other) => Err(other),
        }
    }

    fn give_up(&mut self, error: &Error) {
        self.left_out.push(LeftOut {
            id: None,
            message: format!("everything {} cannot be read: {error}", self.behind()),
        });
        self.ended = true;
    }

    /// The last id the walk has come to.
    fn last_id(&self) -> Option<&DrawerId> {
        match &self.request.after {
            Some(DrawerPosition::Id(id)) => Some(id),
            _ => None,
        }
    }

    /// The walk's position, in words.
    fn behind(&self) -> String {
        match self.last_id() {
            Some(id) => format!("after {:?}", id.as_str()),
            None => "at the beginning".to_owned(),
        }
    }

    /// Goes on with the drawer `id`, which was reached without knowing the one before it.
    fn land_on(&mut self, id: DrawerId) -> Result<()> {
        let request = Get {
            include: self.request.include,
            ..Get::ids([id.clone()])
        };
        match self.collection.get(&request) {
            Ok(drawers) => self.read.extend(drawers),
            Err(error) if error.kind() == ErrorKind::Corrupt => self.leave_out(&id, &error),
            Err(other) => return Err(other),
        }
        self.request.after = Some(DrawerPosition::Id(id));
        Ok(())
    }

    fn leave_out(&mut self, id: &DrawerId, error: &Error) {
        self.left_out.push(LeftOut {
            id: Some(id.clone()),
            message: format!("the drawer {:?} cannot be read: {error}", id.as_str()),
        });
    }
}

fn size(drawer: &Drawer) -> usize {
    drawer.document.as_ref().map_or(0, String::len)
        + drawer.embedding.as_ref().map_or(0, |vector| vector.len() * 4)
        + 256
}

impl Iterator for Walk<'_> {
    type Item = Result<Drawer>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.read.is_empty() && !self.ended {
            if let Err(error) = self.fill() {
                self.ended = true;
                return Some(Err(error));
            }
        }
        self.read.pop_front().map(Ok)
    }
}
