//! Packed segments in the database: listed, read page by page past SQLite's cache, and checked on first use.

use std::cell::OnceCell;

use loci_core::Result;
use loci_index::candidates::NearestCandidates;
use loci_index::distance::QueryProbe;
use loci_index::rows::RowSet;
use loci_index::segment::{self, PieceScan, RowMask, SegmentHead, SegmentSeal};
use rusqlite::blob::Blob;
use rusqlite::{Connection, MAIN_DB};

use crate::failure::{corrupt_error, sqlite_error};
use crate::palace::SoundSegment;
use crate::vfs::{PartTrace, RawPages};

mod body;

pub(crate) use body::BodyPages;

/// A segment as listed in its table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentEntry {
    pub(crate) segment: i64,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) rows: i64,
}

/// Returns the sealed segments of a space, oldest rows first.
pub(crate) fn list_segments(connection: &Connection, space: i64) -> Result<Vec<SegmentEntry>> {
    let mut statement = connection
        // The index covers all four columns, so the table with its large blobs is not touched.
        .prepare_cached("SELECT segment, first, last, rows FROM segments INDEXED BY segments_space WHERE space = ?1 ORDER BY first")
        .map_err(sqlite_error)?;
    let found = statement
        .query_map([space], |row| {
            Ok(SegmentEntry {
                segment: row.get(0)?,
                first: row.get(1)?,
                last: row.get(2)?,
                rows: row.get(3)?,
            })
        })
        .map_err(sqlite_error)?;
    found.collect::<rusqlite::Result<_>>().map_err(sqlite_error)
}

/// Returns the rows that are in a segment but were removed or replaced, ascending.
pub(crate) fn dead_rows(connection: &Connection, space: i64) -> Result<Vec<i64>> {
    let mut statement = connection
        .prepare_cached("SELECT row FROM dead WHERE space = ?1 ORDER BY row")
        .map_err(sqlite_error)?;
    let found = statement
        .query_map([space], |row| row.get(0))
        .map_err(sqlite_error)?;
    found.collect::<rusqlite::Result<_>>().map_err(sqlite_error)
}

/// Reads segments from the database into one reused buffer, which is small enough for a processor's cache.
pub(crate) struct SegmentReader<'a> {
    connection: &'a Connection,
    seal: SegmentSeal,
    blob: Option<Blob<'a>>,
    open_at: Option<i64>,
    head: Vec<u8>,
    body: Vec<u8>,
    raw: OnceCell<Option<RawPages<'a>>>,
}

impl<'a> SegmentReader<'a> {
    pub(crate) fn new(connection: &'a Connection, seal: SegmentSeal) -> Self {
        Self {
            connection,
            seal,
            blob: None,
            open_at: None,
            head: Vec::new(),
            body: Vec::new(),
            raw: OnceCell::new(),
        }
    }

    /// Checks a segment on its first use, offers its rows, and returns its head.
    ///
    /// A damaged segment offers nothing. A segment without a wanted row is not read further, and stays unchecked.
    pub(crate) fn scan_new(
        &mut self,
        entry: &SegmentEntry,
        probes: &[QueryProbe],
        allow: Option<&RowSet>,
        dead: &[i64],
        found: &mut [NearestCandidates],
    ) -> Result<Option<SegmentHead>> {
        let head = self.read_head(entry)?;
        let mask = head.select_rows(allow, dead);
        if mask.is_empty() {
            return Ok(None);
        }
        self.read_body(entry, &head)?;
        // Before any row is offered: bounds from damaged codes could push true hits out of the candidates.
        head.check_body(&self.seal, &self.body)?;
        for (probe, found) in probes.iter().zip(found.iter_mut()) {
            head.scan_body(&self.body, probe, &mask, found);
        }
        Ok(Some(head))
    }

    /// Offers the rows of a segment that was verified before: sealed segments never change, so neither head nor codes
    /// need another check in this process.
    pub(crate) fn scan_known(
        &mut self,
        entry: &SegmentEntry,
        known: &SoundSegment,
        probes: &[QueryProbe],
        mask: &RowMask,
        found: &mut [NearestCandidates],
    ) -> Result<()> {
        let mut scan = PieceScan::new(&known.head, mask);
        if let Some(codes) = known.kept_codes() {
            scan.scan_piece(codes, probes, found);
            return Ok(());
        }
        let pages = known.known_pages();
        if let (Some(pages), Some(raw)) = (&pages, self.raw_pages()?)
            && pages.read_pieces(raw, &mut |piece| scan.scan_piece(piece, probes, found))
            && scan.unscanned_rows().is_empty()
        {
            return Ok(());
        }
        // The rows before a page that is elsewhere now were offered already, and no row may be offered twice.
        let rest = scan.unscanned_rows();
        let trace = PartTrace::begin(self.connection);
        self.read_body(entry, &known.head)?;
        let parts = trace.finish();
        for (probe, found) in probes.iter().zip(found.iter_mut()) {
            known.head.scan_body(&self.body, probe, &rest, found);
        }
        if !known.keep_codes(&self.body) {
            let body = std::mem::take(&mut self.body);
            let learned = self
                .raw_pages()?
                .and_then(|raw| BodyPages::learn(raw, &parts, &body));
            known.remember_pages(learned);
            self.body = body;
        }
        Ok(())
    }

    fn raw_pages(&mut self) -> Result<Option<&mut RawPages<'a>>> {
        if self.raw.get().is_none() {
            let _ = self.raw.set(RawPages::open(self.connection)?);
        }
        Ok(self.raw.get_mut().and_then(Option::as_mut))
    }

    /// Reads and checks the head of a segment, which must cover the rows that its table lists.
    pub(crate) fn read_head(&mut self, entry: &SegmentEntry) -> Result<SegmentHead> {
        self.turn_to(entry.segment)?;
        let mut prefix = [0; segment::PREFIX];
        self.read_at(&mut prefix, 0)?;
        // Taken out for the call, since `read_at` borrows the reader; put back even after a failure.
        let mut bytes = std::mem::take(&mut self.head);
        bytes.resize(segment::head_len(&prefix)?, 0);
        let read = self.read_at(&mut bytes, 0);
        self.head = bytes;
        read?;
        let head = SegmentHead::parse(&self.head, &self.seal, true)?;
        let as_listed =
            head.first() == entry.first && head.last() == entry.last && head.count() as i64 == entry.rows;
        if !as_listed {
            return Err(corrupt_error(format!(
                "segment {} covers other rows than its table says",
                entry.segment
            )));
        }
        Ok(head)
    }

    /// Reads the codes of a segment.
    pub(crate) fn read_body(&mut self, entry: &SegmentEntry, head: &SegmentHead) -> Result<&[u8]> {
        self.turn_to(entry.segment)?;
        let range = head.body_range();
        let mut bytes = std::mem::take(&mut self.body);
        bytes.resize(range.len(), 0);
        let read = self.read_at(&mut bytes, range.start);
        self.body = bytes;
        read?;
        Ok(&self.body)
    }

    fn turn_to(&mut self, segment: i64) -> Result<()> {
        if self.open_at == Some(segment) {
            return Ok(());
        }
        self.open_at = None;
        // Moving an open blob handle to another row is cheaper than opening a new one.
        let turned = self
            .blob
            .as_mut()
            .is_some_and(|blob| blob.reopen(segment).is_ok());
        if !turned {
            // The last argument opens it read-only.
            let opened = self
                .connection
                .blob_open(MAIN_DB, "segments", "data", segment, true);
            self.blob = Some(opened.map_err(sqlite_error)?);
        }
        self.open_at = Some(segment);
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: usize) -> Result<()> {
        let blob = self
            .blob
            .as_ref()
            .ok_or_else(|| corrupt_error("no segment is open"))?;
        blob.read_at_exact(buffer, offset).map_err(sqlite_error)
    }
}
