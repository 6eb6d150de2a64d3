//! A part of the collection that is scored at once: a sealed segment, or drawers read one by one.

use loci_core::Result;
use loci_index::bm25::{Statistics, gain};
use loci_index::postings::{Bag, Directory, List, ListWriter};
use loci_index::rows::Rows;
use rusqlite::Connection;

use super::best::Best;
use crate::failure::corrupt;
use crate::words::{Entry, Segment};

/// Some drawers in the order of their rows, and which of them hold the terms that are asked for.
#[derive(Debug)]
pub(super) struct Part {
    rows: Vec<i64>,
    lengths: Vec<u32>,
    /// Which of the drawers are in scope; `None` if all are.
    marks: Option<Vec<bool>>,
    /// For each term how many drawers hold it, and where their list begins and ends in `bytes`.
    lists: Vec<(u32, usize, usize)>,
    bytes: Vec<u8>,
}

impl Part {
    /// Reads what a segment has of the terms; `None` if none of its drawers is in scope.
    pub(super) fn read(
        connection: &Connection,
        projection: i64,
        entry: &Entry,
        terms: &[&[u8]],
        scope: &Rows,
    ) -> Result<Option<Self>> {
        let all = scope.all_between(entry.first, entry.last);
        if all == Some(false) {
            return Ok(None);
        }
        let segment = Segment::read(connection, projection, entry)?;
        let marks = all.is_none().then(|| scope.marks(&segment.rows));
        if marks.as_ref().is_some_and(|marks| !marks.contains(&true)) {
            return Ok(None);
        }
        let mut part = Self {
            marks,
            lists: Vec::with_capacity(terms.len()),
            bytes: Vec::new(),
            rows: Vec::new(),
            lengths: Vec::new(),
        };
        let places = Directory::new(&segment.directory).blocks_of(terms)?;
        for (term, place) in terms.iter().zip(places) {
            match place {
                Some(place) => segment.block(connection, projection, place, |block| {
                    part.push_list(block.find(term)?.unwrap_or_default());
                    Ok(())
                })?,
                None => part.push_list(List::default()),
            }
        }
        (part.rows, part.lengths) = (segment.rows, segment.lengths);
        Ok(Some(part))
    }

    fn push_list(&mut self, list: List<'_>) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(list.bytes);
        self.lists.push((list.drawers, begin, self.bytes.len()));
    }

    fn lists(&self) -> impl Iterator<Item = List<'_>> {
        self.lists.iter().map(|(drawers, begin, end)| List {
            drawers: *drawers,
            bytes: self.bytes.get(*begin..*end).unwrap_or_default(),
        })
    }

    /// Its rows that are in scope.
    pub(super) fn rows_in_scope(&self) -> impl Iterator<Item = i64> {
        let scoped = |at: usize| {
            self.marks
                .as_ref()
                .is_none_or(|marks| marks.get(at) == Some(&true))
        };
        let rows = self.rows.iter().enumerate();
        rows.filter_map(move |(at, row)| scoped(at).then_some(*row))
    }

    /// Counts the drawers in scope and their lengths.
    pub(super) fn count(&self, statistics: &mut Statistics) {
        match &self.marks {
            None => self.lengths.iter().for_each(|length| statistics.add(*length)),
            Some(marks) => {
                let lengths = self.lengths.iter().zip(marks).filter(|(_, mark)| **mark);
                lengths.for_each(|(length, _)| statistics.add(*length));
            }
        }
    }

    /// Counts the drawers in scope that hold each term.
    pub(super) fn count_holding(&self, holding: &mut [u64]) -> Result<()> {
        for (list, holding) in self.lists().zip(holding) {
            let Some(marks) = &self.marks else {
                *holding += u64::from(list.drawers);
                continue;
            };
            let mut stray = false;
            let mut found = 0;
            list.each(|drawer, _| match marks.get(drawer as usize) {
                Some(mark) => found += u64::from(*mark),
                None => stray = true,
            })?;
            refuse(stray)?;
            *holding += found;
        }
        Ok(())
    }

    /// Scores the drawers in scope and offers those that hold any term.
    pub(super) fn score(
        &self,
        statistics: &Statistics,
        rarities: &[f32],
        slots: &mut Vec<Slot>,
        best: &mut Best,
    ) -> Result<()> {
        let scoped = |at: usize| {
            self.marks
                .as_ref()
                .is_none_or(|marks| marks.get(at) == Some(&true))
        };
        slots.clear();
        slots.extend(self.lengths.iter().enumerate().map(|(at, length)| Slot {
            // A drawer out of scope has a burden that no word outweighs.
            burden: if scoped(at) {
                statistics.burden(*length)
            } else {
                f32::INFINITY
            },
            score: 0.0,
        }));
        for (list, rarity) in self.lists().zip(rarities) {
            let mut stray = false;
            list.each(|drawer, count| match slots.get_mut(drawer as usize) {
                Some(slot) => slot.score += gain(*rarity, count, slot.burden),
                None => stray = true,
            })?;
            refuse(stray)?;
        }
        for (slot, row) in slots.iter().zip(&self.rows) {
            if best.wants(slot.score) {
                best.offer(*row, slot.score);
            }
        }
        Ok(())
    }
}

/// What is known of one drawer while it is scored.
#[derive(Debug)]
pub(super) struct Slot {
    burden: f32,
    score: f32,
}

fn refuse(stray: bool) -> Result<()> {
    match stray {
        true => Err(corrupt(
            "a list of drawers names one that its segment does not have",
        )),
        false => Ok(()),
    }
}

/// Drawers in scope that are read one by one.
#[derive(Debug)]
pub(super) struct Gathering<'t> {
    terms: &'t [&'t [u8]],
    rows: Vec<i64>,
    lengths: Vec<u32>,
    lists: Vec<ListWriter>,
}

impl<'t> Gathering<'t> {
    pub(super) fn new(terms: &'t [&'t [u8]]) -> Self {
        Self {
            terms,
            rows: Vec::new(),
            lengths: Vec::new(),
            lists: vec![ListWriter::default(); terms.len()],
        }
    }

    /// Adds a drawer with a higher row than all before.
    pub(super) fn add(&mut self, row: i64, words: Bag<'_>) -> Result<()> {
        let drawer = self.rows.len() as u32;
        self.lengths.push(words.length()?);
        self.rows.push(row);
        words.find(self.terms, |at, count| {
            if let Some(list) = self.lists.get_mut(at) {
                list.push(drawer, count);
            }
        })
    }

    pub(super) fn finish(self) -> Part {
        let mut part = Part {
            rows: self.rows,
            lengths: self.lengths,
            marks: None,
            lists: Vec::new(),
            bytes: Vec::new(),
        };
        for list in &self.lists {
            part.push_list(list.list());
        }
        part
    }
}
