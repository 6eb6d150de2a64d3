//! Reads every record of a collection in one pass over the table of metadata.
//!
//! Looking each record up costs several times as much as reading the table in its own order. Records that the pass does
//! not give whole are looked up after it: those with queued writes, those whose rows lie apart, and all of a salvaged
//! database, where another table may have the better copy of a text.

use loci_core::{Drawer, DrawerFields, Result};
use rusqlite::Row;

use crate::catalogue::{borrow_text, query_number, read_text};
use crate::drawer::{RecordContent, RecordReader, read_scalar};
use crate::failure;
use crate::shelf::{LiveRecord, RecordShelf};

/// The smallest share of the rows of all collections for which one pass pays: one in this many.
const SMALLEST_SHARE: usize = 16;

/// One pass over the records of a collection.
pub(crate) struct TableSweep<'a> {
    reader: &'a RecordReader<'a>,
    shelf: &'a RecordShelf,
    /// Whether the table is read at all, and not only record by record.
    is_worthwhile: bool,
    /// The records that were passed on whole.
    done: Vec<bool>,
    /// The index in `row_order` of the record that is likely to come next.
    next: usize,
}

impl<'a> TableSweep<'a> {
    /// Prepares a pass over the records of `shelf`.
    pub(crate) fn new(reader: &'a RecordReader<'a>, shelf: &'a RecordShelf) -> Result<Self> {
        let sql = "SELECT max(id) FROM embeddings";
        let highest = query_number(reader.connection, "the rows", sql, &[]);
        // An unreadable number means that the lookups must find out what is damaged.
        let rows = highest.ok().flatten().and_then(|rows| usize::try_from(rows).ok());
        let share = rows.is_some_and(|rows| shelf.records.len() >= rows / SMALLEST_SHARE);
        Ok(Self {
            reader,
            shelf,
            is_worthwhile: share && !reader.has_spare_texts,
            done: vec![false; shelf.records.len()],
            next: 0,
        })
    }

    /// Passes the text of each record that has one to `each`, once.
    pub(crate) fn for_each_text(mut self, each: &mut dyn FnMut(usize, &str) -> Result<()>) -> Result<()> {
        if self.is_worthwhile {
            let sql =
                "SELECT id, string_value FROM embedding_metadata NOT INDEXED WHERE key = 'chroma:document'";
            self.for_each_row("the texts", sql, &mut |sweep, row| {
                let number = row
                    .get(0)
                    .map_err(|cause| failure::sqlite_error("the texts", cause))?;
                let Some((at, _)) = sweep.find_plain_record(number) else {
                    return Ok(());
                };
                let text = borrow_text(row, 1).map_err(|cause| failure::sqlite_error("the texts", cause))?;
                match text {
                    Some(text) if sweep.mark_done(at) => each(at, &text),
                    _ => Ok(()),
                }
            })?;
        }
        self.for_each_left(&mut |reader, at, record| match reader.read_document(record)? {
            Some(text) => each(at, &text),
            None => Ok(()),
        })
    }

    /// Passes each record to `each` as a drawer. A record may come twice; the second time counts.
    pub(crate) fn for_each_drawer(
        mut self,
        include: DrawerFields,
        each: &mut dyn FnMut(usize, Drawer) -> Result<()>,
    ) -> Result<()> {
        if self.is_worthwhile {
            self.sweep_drawers(include, each)?;
        }
        self.for_each_left(&mut |reader, at, record| each(at, reader.read_drawer(record, include)?))
    }

    fn sweep_drawers(
        &mut self,
        include: DrawerFields,
        each: &mut dyn FnMut(usize, Drawer) -> Result<()>,
    ) -> Result<()> {
        let truth = if self.reader.has_truths {
            "bool_value"
        } else {
            "NULL"
        };
        let but = if include.document {
            ""
        } else {
            " WHERE key <> 'chroma:document'"
        };
        let sql = format!(
            "SELECT id, key, string_value, int_value, float_value, {truth} FROM embedding_metadata NOT INDEXED{but}"
        );
        let mut begun = vec![false; self.shelf.records.len()];
        let mut apart = Vec::new();
        let mut group: Option<RecordGroup<'a>> = None;
        self.for_each_row("the metadata", &sql, &mut |sweep, row| {
            let refused = |cause| failure::sqlite_error("the metadata", cause);
            let number: i64 = row.get(0).map_err(refused)?;
            if group.as_ref().is_none_or(|group| group.number != number) {
                sweep.finish_group(group.take(), include, each)?;
                let found = sweep.find_plain_record(number);
                let Some((at, record)) = found else { return Ok(()) };
                match begun.get_mut(at) {
                    // Rows of other records lie in between, so the rest of it was passed on already.
                    Some(true) | None => {
                        apart.push(at);
                        return Ok(());
                    }
                    Some(begun) => *begun = true,
                }
                group = Some(RecordGroup::new(number, at, record));
            }
            if let Some(group) = &mut group {
                let key = read_text(row, 1).map_err(refused)?.unwrap_or_default();
                let value = read_scalar(row, 2).map_err(refused)?;
                group.content.set_value(key, value);
            }
            Ok(())
        })?;
        self.finish_group(group, include, each)?;
        for at in apart {
            if let Some(done) = self.done.get_mut(at) {
                *done = false;
            }
        }
        Ok(())
    }

    fn finish_group(
        &mut self,
        group: Option<RecordGroup<'_>>,
        include: DrawerFields,
        each: &mut dyn FnMut(usize, Drawer) -> Result<()>,
    ) -> Result<()> {
        let Some(mut group) = group else { return Ok(()) };
        if self.reader.has_lists {
            self.reader.read_lists(group.number, &mut group.content)?;
        }
        self.mark_done(group.at);
        let drawer = self.reader.finish_drawer(group.record, group.content, include)?;
        each(group.at, drawer)
    }

    fn for_each_row(
        &mut self,
        what: &str,
        sql: &str,
        each: &mut dyn FnMut(&mut Self, &Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let refused = |cause| failure::sqlite_error(what, cause);
        let mut statement = self.reader.connection.prepare_cached(sql).map_err(refused)?;
        let mut rows = statement.query([]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            each(self, row)?;
        }
        Ok(())
    }

    /// Passes each record that is not done to `each`, in the order of rows.
    fn for_each_left(
        &self,
        each: &mut dyn FnMut(&RecordReader<'_>, usize, &LiveRecord) -> Result<()>,
    ) -> Result<()> {
        let order = self.shelf.row_order.iter().map(|at| *at as usize);
        for at in order.filter(|at| self.done.get(*at) == Some(&false)) {
            if let Some(record) = self.shelf.records.get(at) {
                each(self.reader, at, record)?;
            }
        }
        Ok(())
    }

    /// Marks a record as passed on. Returns whether it was not before.
    fn mark_done(&mut self, at: usize) -> bool {
        self.done
            .get_mut(at)
            .is_some_and(|done| !std::mem::replace(done, true))
    }

    /// Returns the record of a row, if the row alone decides what it holds.
    fn find_plain_record(&mut self, number: i64) -> Option<(usize, &'a LiveRecord)> {
        let shelf = self.shelf;
        let at_place = |place: usize| {
            let at = *shelf.row_order.get(place)? as usize;
            Some((at, shelf.records.get(at)?))
        };
        let row_at = |place: usize| at_place(place).and_then(|(_, record)| record.row);
        let mut place = self.next;
        // Most rows lie in the order of their numbers, with several for each record.
        if row_at(place) != Some(number) {
            place += 1;
        }
        if row_at(place) != Some(number) {
            let row_of = |at: &u32| shelf.records.get(*at as usize).and_then(|record| record.row);
            place = shelf.row_order.partition_point(|at| row_of(at) < Some(number));
        }
        let (at, record) = at_place(place).filter(|(_, record)| record.row == Some(number))?;
        self.next = place;
        record.pending.is_empty().then_some((at, record))
    }
}

/// The rows of one record that were read so far.
struct RecordGroup<'a> {
    /// The number of the record's row.
    number: i64,
    /// Its index.
    at: usize,
    record: &'a LiveRecord,
    content: RecordContent,
}

impl<'a> RecordGroup<'a> {
    fn new(number: i64, at: usize, record: &'a LiveRecord) -> Self {
        Self {
            number,
            at,
            record,
            content: RecordContent::default(),
        }
    }
}
