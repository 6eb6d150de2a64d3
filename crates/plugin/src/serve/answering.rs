//! How a call answers: rows in pieces, single values, progress, and questions for parts.

use loci_core::{Drawer, DrawerHit, Error, ErrorKind, Result, Write};
use serde::Serialize;

use super::inbox::CallInbox;
use super::session::ServeSession;
use crate::frame::{FrameKind, encode_frame, split_body};
use crate::wire::answer::{RowsAnswer, ValueAnswer};
use crate::wire::call::{NextHeader, PartHeader, ProgressHeader};
use crate::wire::drawer::{WireDrawer, WireHit};
use crate::wire::write::read_batch;

/// The bytes of rows after which a frame is sent: enough to make the frame's own cost vanish, few enough that both
/// sides work at once.
const PIECE_BYTES: usize = 256 << 10;

/// A call that is being answered.
pub(super) struct CallAnswering<'a> {
    pub(super) session: &'a ServeSession,
    pub(super) inbox: &'a CallInbox,
    pub(super) call: u32,
}

impl CallAnswering<'_> {
    fn send_frame(&self, kind: FrameKind, header: &impl Serialize, blob: &[u8]) -> Result<()> {
        let bytes = encode_frame(kind, self.call, header, blob);
        let limit = self.session.host_limit as usize;
        if bytes.len() - 4 > limit {
            let message =
                format!("one row of the answer has more than the {limit} bytes that the host accepts");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.session.send(&bytes);
        Ok(())
    }

    /// Answers with one value.
    pub(super) fn answer(&self, value: impl Serialize) -> Result<()> {
        self.send_frame(FrameKind::Answer, &ValueAnswer { value }, &[])
    }

    /// Answers with the rows that `form` makes of `items`, in as many frames as they need.
    fn stream<'i, T, R: Serialize>(
        &self,
        items: &'i [T],
        bytes_of: impl Fn(&T) -> usize,
        mut form: impl FnMut(&'i T, &mut Vec<u8>) -> R,
    ) -> Result<()> {
        let (mut rows, mut blob, mut bytes) = (Vec::new(), Vec::new(), 0);
        for item in items {
            let more = bytes_of(item);
            if bytes + more > PIECE_BYTES && !rows.is_empty() {
                // Waits for the host to take what it has: an answer never piles up between the two.
                if !self.inbox.take_credit() {
                    return Err(cancelled());
                }
                self.send_frame(FrameKind::Piece, &RowsAnswer { rows }, &blob)?;
                (rows, bytes) = (Vec::new(), 0);
                blob.clear();
            }
            rows.push(form(item, &mut blob));
            bytes += more;
        }
        self.send_frame(FrameKind::Answer, &RowsAnswer { rows }, &blob)
    }

    /// Answers with rows without vectors.
    pub(super) fn answer_rows<T, R: Serialize + From<T>>(
        &self,
        items: Vec<T>,
        bytes_of: impl Fn(&R) -> usize,
    ) -> Result<()> {
        let rows: Vec<R> = items.into_iter().map(R::from).collect();
        self.stream(&rows, bytes_of, |row, _| row)
    }

    pub(super) fn answer_drawers(&self, drawers: &[Drawer]) -> Result<()> {
        self.stream(drawers, WireDrawer::estimated_bytes, WireDrawer::from_drawer)
    }

    pub(super) fn answer_hits(&self, lists: &[Vec<DrawerHit>]) -> Result<()> {
        let hits = lists.iter().enumerate();
        let hits: Vec<(usize, &DrawerHit)> = hits
            .flat_map(|(list, hits)| hits.iter().map(move |hit| (list, hit)))
            .collect();
        self.stream(
            &hits,
            |(_, hit)| WireDrawer::estimated_bytes(&hit.drawer),
            |(list, hit), blob| WireHit::from_hit(*list, hit, blob),
        )
    }

    /// Reports progress, if the host has taken the reports before.
    pub(super) fn report(&self, done: u64, total: u64) {
        if self.inbox.try_credit() {
            drop(self.send_frame(FrameKind::Progress, &ProgressHeader { done, total }, &[]));
        }
    }

    /// Returns the next part of a revision, or `None` after its last.
    ///
    /// If the host is gone, this unwinds: an iterator that just ended would complete half a revision.
    pub(super) fn next_part(&self, revision: usize) -> Option<Vec<Write>> {
        let part = self.ask_part(revision);
        part.unwrap_or_else(|| {
            self.inbox.give_up();
            std::panic::resume_unwind(Box::new("the parts of a revision stopped coming"))
        })
    }

    fn ask_part(&self, revision: usize) -> Option<Option<Vec<Write>>> {
        if !self.inbox.take_credit() {
            return None;
        }
        self.send_frame(FrameKind::Next, &NextHeader { revision }, &[])
            .ok()?;
        let body = self.inbox.take_part()?;
        let (part, blob) = split_body::<PartHeader<'_>>(&body).ok()?;
        match part.writes {
            Some(writes) => read_batch(writes, blob).ok().map(Some),
            None => Some(None),
        }
    }
}

/// Returns the error of a call whose answer the host no longer wants.
pub(super) fn cancelled() -> Error {
    Error::new(ErrorKind::TimedOut, "the call was cancelled by the host")
}
