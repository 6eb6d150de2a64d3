//! Walks every drawer of a collection in id order, page by page, skipping drawers that cannot be read.

mod probe;

use std::collections::VecDeque;

use loci_core::{
    CollectionReader, DocumentFilter, Drawer, DrawerFields, DrawerId, DrawerPosition, Error, ErrorKind,
    Filter, GetRequest, Result,
};

/// One or more drawers that a walk could not read and skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkOmission {
    /// The drawer, if at least its id could be read.
    pub id: Option<DrawerId>,
    /// A description of the skipped drawers and the reason.
    pub message: String,
}

/// An iterator over the drawers of a collection in ascending order of their ids.
///
/// Each page is one read, so a drawer written meanwhile may or may not be seen. If a page cannot be read
/// because stored bytes are damaged, the walk continues behind the damage and lists the [skipped
/// drawers](CollectionWalk::left_out).
#[derive(Debug)]
pub struct CollectionWalk<'a> {
    collection: &'a dyn CollectionReader,
    request: GetRequest,
    page: usize,
    read: VecDeque<Drawer>,
    left_out: Vec<WalkOmission>,
    ended: bool,
}

/// The most drawers read at once.
const MAX_PAGE: usize = 1024;
/// The target size of a page, in bytes of text and vectors.
const PAGE_BYTES: usize = 8 << 20;
/// The most drawers without a readable id that are skipped one by one before the walk looks farther ahead.
const MAX_BLIND: usize = 64;
/// The most rounds of narrowing down where ids become readable again.
const CLOSER: usize = 200;

impl<'a> CollectionWalk<'a> {
    /// Starts a walk that returns `include` of each drawer.
    pub fn new(collection: &'a dyn CollectionReader, include: DrawerFields) -> Self {
        Self::matching(collection, include, Filter::All, DocumentFilter::All)
    }

    /// Starts a walk over the drawers both filters accept.
    pub fn matching(
        collection: &'a dyn CollectionReader,
        include: DrawerFields,
        filter: Filter,
        document: DocumentFilter,
    ) -> Self {
        let request = GetRequest {
            filter,
            document,
            include,
            ..GetRequest::default()
        };
        Self {
            collection,
            request,
            // Small at first; it doubles while drawers turn out to be small.
            page: 64,
            read: VecDeque::new(),
            left_out: Vec::new(),
            ended: false,
        }
    }

    /// Continues the walk behind the drawer `id`, or starts at the beginning.
    #[must_use]
    pub fn starting_after(mut self, id: Option<DrawerId>) -> Self {
        self.request.after = id.map(DrawerPosition::Id);
        self
    }

    /// Returns the drawers that could not be read so far.
    pub fn left_out(&self) -> &[WalkOmission] {
        &self.left_out
    }

    fn fetch_page(&self, limit: usize, include: DrawerFields) -> Result<Vec<Drawer>> {
        self.collection.get(&GetRequest {
            limit: Some(limit),
            include,
            ..self.request.clone()
        })
    }

    /// Reads the next page, or takes one step past damage.
    fn fill_buffer(&mut self) -> Result<()> {
        match self.fetch_page(self.page, self.request.include) {
            Ok(drawers) => self.buffer_page(drawers),
            Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
            // Halved down to a single drawer, so that everything readable before the damage is returned first.
            Err(_) if self.page > 1 => self.page /= 2,
            Err(error) => self.step_over(&error)?,
        }
        Ok(())
    }

    fn buffer_page(&mut self, drawers: Vec<Drawer>) {
        let bytes: usize = drawers.iter().map(drawer_size).sum();
        match drawers.last() {
            Some(last) => self.request.after = Some(DrawerPosition::Id(last.id.clone())),
            None => self.ended = true,
        }
        let each = (bytes / drawers.len().max(1)).max(1);
        self.page = (PAGE_BYTES / each).clamp(1, MAX_PAGE).min(self.page * 2);
        self.read.extend(drawers);
    }

    /// Skips the one drawer that cannot be read, by its id if that is readable.
    fn step_over(&mut self, error: &Error) -> Result<()> {
        match self.fetch_page(1, DrawerFields::NOTHING) {
            Ok(mut found) => match found.pop() {
                Some(bare) => {
                    self.omit_drawer(&bare.id, error);
                    self.request.after = Some(DrawerPosition::Id(bare.id));
                }
                None => self.give_up(error),
            },
            Err(blind) if blind.kind() == ErrorKind::Corrupt => self.step_blindly(error)?,
            Err(other) => return Err(other),
        }
        Ok(())
    }

    /// Skips drawers without a readable id until one can be read.
    fn step_blindly(&mut self, error: &Error) -> Result<()> {
        // Without the id of the damaged drawer there is no position to continue from, so it is skipped by
        // offset. Each try reads the skipped rows again, hence the bound.
        for skipped in 1..=MAX_BLIND {
            let Some(mut found) = self.try_after(self.last_id().cloned(), skipped)? else {
                continue;
            };
            self.left_out.push(WalkOmission {
                id: None,
                message: format!(
                    "{skipped} drawer(s) {} cannot be read: {error}",
                    self.describe_position()
                ),
            });
            match found.pop() {
                Some(bare) => self.land_on(bare.id)?,
                None => self.ended = true,
            }
            return Ok(());
        }
        self.look_ahead(error)
    }

    /// Looks for a position farther ahead where ids can be read again, and narrows down where that begins.
    fn look_ahead(&mut self, error: &Error) -> Result<()> {
        let mut low = self.last_id().map_or_else(String::new, ToString::to_string);
        let mut readable = None;
        for _ in 0..CLOSER {
            // Each round starts at the farthest unreadable id, so the gap to the first readable one shrinks.
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
        self.left_out.push(WalkOmission {
            id: None,
            message: format!(
                "drawers {} and up to {:?} cannot be read: {error}",
                self.describe_position(),
                readable.as_str()
            ),
        });
        self.request.after = Some(DrawerPosition::Id(readable));
        Ok(())
    }

    /// Tries ids ahead of `low` at growing distances; returns the last one after which nothing can be read, and
    /// the first one after which something can.
    fn probe_from(&self, low: &str) -> Result<(Option<DrawerId>, Option<DrawerId>)> {
        let mut farthest = None;
        for id in probe::ids_ahead(low) {
            if self.try_after(Some(id.clone()), 0)?.is_some() {
                return Ok((farthest, Some(id)));
            }
            farthest = Some(id);
        }
        Ok((None, None))
    }

    /// Reads the next id behind `after` and `skipped` more drawers; `None` if damage prevents that.
    fn try_after(&self, after: Option<DrawerId>, skipped: usize) -> Result<Option<Vec<Drawer>>> {
        let request = GetRequest {
            after: after.map(DrawerPosition::Id),
            limit: Some(1),
            offset: skipped,
            include: DrawerFields::NOTHING,
            ..self.request.clone()
        };
        match self.collection.get(&request) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            Err(other) => Err(other),
        }
    }

    fn give_up(&mut self, error: &Error) {
        self.left_out.push(WalkOmission {
            id: None,
            message: format!("everything {} cannot be read: {error}", self.describe_position()),
        });
        self.ended = true;
    }

    /// Returns the last id the walk has reached.
    fn last_id(&self) -> Option<&DrawerId> {
        match &self.request.after {
            Some(DrawerPosition::Id(id)) => Some(id),
            _ => None,
        }
    }

    /// Describes the walk's position.
    fn describe_position(&self) -> String {
        match self.last_id() {
            Some(id) => format!("after {:?}", id.as_str()),
            None => "at the beginning".to_owned(),
        }
    }

    /// Continues with the drawer `id`, which was reached without knowing its predecessor.
    fn land_on(&mut self, id: DrawerId) -> Result<()> {
        let request = GetRequest {
            include: self.request.include,
            ..GetRequest::by_ids([id.clone()])
        };
        match self.collection.get(&request) {
            Ok(drawers) => self.read.extend(drawers),
            Err(error) if error.kind() == ErrorKind::Corrupt => self.omit_drawer(&id, &error),
            Err(other) => return Err(other),
        }
        self.request.after = Some(DrawerPosition::Id(id));
        Ok(())
    }

    fn omit_drawer(&mut self, id: &DrawerId, error: &Error) {
        self.left_out.push(WalkOmission {
            id: Some(id.clone()),
            message: format!("the drawer {:?} cannot be read: {error}", id.as_str()),
        });
    }
}

fn drawer_size(drawer: &Drawer) -> usize {
    // The constant stands for ids, metadata and allocation, so that drawers without text count, too.
    drawer.document.as_ref().map_or(0, String::len)
        + drawer.embedding.as_ref().map_or(0, |vector| vector.len() * 4)
        + 256
}

impl Iterator for CollectionWalk<'_> {
    type Item = Result<Drawer>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.read.is_empty() && !self.ended {
            if let Err(error) = self.fill_buffer() {
                self.ended = true;
                return Some(Err(error));
            }
        }
        self.read.pop_front().map(Ok)
    }
}
