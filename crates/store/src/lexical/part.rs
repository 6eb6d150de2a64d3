//! A part of the collection that is scored as one: a sealed segment, or drawers read row by row.

use std::sync::Arc;

use loci_core::Result;
use loci_index::bm25::{LexicalStatistics, term_gain};
use loci_index::postings::{PostingList, PostingListWriter, TermDirectory, WordBag};
use loci_index::rows::RowSet;
use rusqlite::Connection;

use super::best::BestRows;
use crate::failure::corrupt_error;
use crate::words::WordSegment;

/// Some drawers in row order, and the lists of those that hold the terms of the search.
#[derive(Debug)]
pub(super) struct LexicalPart {
    drawers: PartDrawers,
    /// For each drawer whether it is in scope; `None` if all are.
    marks: Option<Vec<bool>>,
    /// For each term the number of drawers that hold it, and the begin and end of their list in `bytes`.
    lists: Vec<(u32, usize, usize)>,
    bytes: Vec<u8>,
}

/// The drawers of a part, in row order.
#[derive(Debug)]
enum PartDrawers {
    /// Those of a sealed segment.
    Sealed(Arc<WordSegment>),
    /// Their rows and lengths.
    Gathered(Vec<i64>, Vec<u32>),
}

impl PartDrawers {
    fn rows(&self) -> &[i64] {
        match self {
            Self::Sealed(segment) => &segment.rows,
            Self::Gathered(rows, _) => rows,
        }
    }

    fn lengths(&self) -> &[u32] {
        match self {
            Self::Sealed(segment) => &segment.lengths,
            Self::Gathered(_, lengths) => lengths,
        }
    }
}

impl LexicalPart {
    /// Reads a segment's lists for the terms; `None` if none of its drawers is in scope, as `all` says where the range of
    /// rows alone decides it.
    pub(super) fn read(
        connection: &Connection,
        projection: i64,
        segment: Arc<WordSegment>,
        terms: &[&[u8]],
        (scope, all): (&RowSet, Option<bool>),
    ) -> Result<Option<Self>> {
        let marks = all.is_none().then(|| scope.mark_members(&segment.rows));
        if marks.as_ref().is_some_and(|marks| !marks.contains(&true)) {
            return Ok(None);
        }
        let mut part = Self {
            marks,
            lists: Vec::with_capacity(terms.len()),
            bytes: Vec::new(),
            drawers: PartDrawers::Sealed(Arc::clone(&segment)),
        };
        // A term stands in at most one block, which the directory names without reading any.
        let places = TermDirectory::new(&segment.directory).find_blocks(terms)?;
        for (term, place) in terms.iter().zip(places) {
            match place {
                Some(place) => segment.with_block(connection, projection, place, |block| {
                    part.push_list(block.find_term(term)?.unwrap_or_default());
                    Ok(())
                })?,
                // Every term keeps its position, so that lists and rarities line up.
                None => part.push_list(PostingList::default()),
            }
        }
        Ok(Some(part))
    }

    fn push_list(&mut self, list: PostingList<'_>) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(list.bytes);
        self.lists.push((list.drawers, begin, self.bytes.len()));
    }

    fn lists(&self) -> impl Iterator<Item = PostingList<'_>> {
        self.lists.iter().map(|(drawers, begin, end)| PostingList {
            drawers: *drawers,
            bytes: self.bytes.get(*begin..*end).unwrap_or_default(),
        })
    }

    /// Returns its rows that are in scope.
    pub(super) fn rows_in_scope(&self) -> impl Iterator<Item = i64> {
        let scoped = |at: usize| {
            self.marks
                .as_ref()
                .is_none_or(|marks| marks.get(at) == Some(&true))
        };
        let rows = self.drawers.rows().iter().enumerate();
        rows.filter_map(move |(at, row)| scoped(at).then_some(*row))
    }

    /// Counts the drawers in scope and their lengths.
    pub(super) fn add_statistics(&self, statistics: &mut LexicalStatistics) {
        let lengths = self.drawers.lengths();
        match &self.marks {
            None => lengths.iter().for_each(|length| statistics.add_drawer(*length)),
            Some(marks) => {
                let lengths = lengths.iter().zip(marks).filter(|(_, mark)| **mark);
                lengths.for_each(|(length, _)| statistics.add_drawer(*length));
            }
        }
    }

    /// Counts the drawers in scope that hold each term.
    pub(super) fn count_holding(&self, holding: &mut [u64]) -> Result<()> {
        for (list, holding) in self.lists().zip(holding) {
            // The stored count is right only where every drawer of the segment counts;
            // otherwise the list is walked.
            let Some(marks) = &self.marks else {
                *holding += u64::from(list.drawers);
                continue;
            };
            let mut stray = false;
            let mut found = 0;
            list.for_each_drawer(|drawer, _| match marks.get(drawer as usize) {
                Some(mark) => found += u64::from(*mark),
                None => stray = true,
            })?;
            refuse_stray(stray)?;
            *holding += found;
        }
        Ok(())
    }

    /// Scores the drawers in scope and offers those that hold any term.
    pub(super) fn score(
        &self,
        statistics: &LexicalStatistics,
        rarities: &[f32],
        slots: &mut Vec<ScoreSlot>,
        best: &mut BestRows,
    ) -> Result<()> {
        let scoped = |at: usize| {
            self.marks
                .as_ref()
                .is_none_or(|marks| marks.get(at) == Some(&true))
        };
        slots.clear();
        let lengths = self.drawers.lengths().iter();
        slots.extend(lengths.enumerate().map(|(at, length)| ScoreSlot {
            // An infinite burden makes the gain of every word zero, without a test in the inner loop.
            burden: if scoped(at) {
                statistics.length_burden(*length)
            } else {
                f32::INFINITY
            },
            score: 0.0,
        }));
        for (list, rarity) in self.lists().zip(rarities) {
            let mut stray = false;
            list.for_each_drawer(|drawer, count| match slots.get_mut(drawer as usize) {
                Some(slot) => slot.score += term_gain(*rarity, count, slot.burden),
                None => stray = true,
            })?;
            refuse_stray(stray)?;
        }
        // Offered only now: a score is complete after the last list.
        for (slot, row) in slots.iter().zip(self.drawers.rows()) {
            if best.wants(slot.score) {
                best.offer(*row, slot.score);
            }
        }
        Ok(())
    }
}

/// The running score of one drawer, and its length as BM25 weighs it.
#[derive(Debug)]
pub(super) struct ScoreSlot {
    burden: f32,
    score: f32,
}

fn refuse_stray(stray: bool) -> Result<()> {
    if stray {
        return Err(corrupt_error(
            "a list of drawers names one that its segment does not have",
        ));
    }
    Ok(())
}

/// Collects drawers in scope that are read row by row into a part.
#[derive(Debug)]
pub(super) struct LexicalPartBuilder<'t> {
    terms: &'t [&'t [u8]],
    rows: Vec<i64>,
    lengths: Vec<u32>,
    lists: Vec<PostingListWriter>,
}

impl<'t> LexicalPartBuilder<'t> {
    pub(super) fn new(terms: &'t [&'t [u8]]) -> Self {
        Self {
            terms,
            rows: Vec::new(),
            lengths: Vec::new(),
            lists: vec![PostingListWriter::default(); terms.len()],
        }
    }

    /// Adds a drawer, whose row must be higher than all before.
    pub(super) fn add(&mut self, row: i64, words: WordBag<'_>) -> Result<()> {
        // Numbered densely in row order, as a sealed segment numbers its drawers.
        let drawer = self.rows.len() as u32;
        self.lengths.push(words.length()?);
        self.rows.push(row);
        words.find_terms(self.terms, |at, count| {
            if let Some(list) = self.lists.get_mut(at) {
                list.push(drawer, count);
            }
        })
    }

    pub(super) fn finish(self) -> LexicalPart {
        let mut part = LexicalPart {
            drawers: PartDrawers::Gathered(self.rows, self.lengths),
            marks: None,
            lists: Vec::new(),
            bytes: Vec::new(),
        };
        for list in &self.lists {
            part.push_list(list.as_list());
        }
        part
    }
}
