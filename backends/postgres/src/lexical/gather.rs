//! Reading the postings of a search: segments, tail and scope in one wait, or every bag if those cannot be used.

use std::collections::HashMap;

use loci_core::Result;
use loci_index::postings::WordBag;
use loci_index::rows::RowSet;
use tokio_postgres::Row;

use super::corpus::{CorpusPart, CorpusPartBuilder, WordCorpus};
use crate::failure::corrupt_error;
use crate::moment::MomentView;
use crate::scope::RowScope;
use crate::session::PipelineRows;
use crate::statement::SqlStatement;
use crate::words::{BAG_COLUMNS, StoredWordBlock, StoredWordSegment, WordBags};

/// A search for terms, which must be in byte order.
pub(super) struct WordSearch<'v> {
    pub(super) view: &'v MomentView<'v>,
    pub(super) scope: RowScope,
    pub(super) terms: Vec<&'v [u8]>,
}

/// The lists of the terms by segment, each in the place of its term.
type SegmentLists = HashMap<i64, Vec<Option<(u32, Vec<u8>)>>>;

impl WordSearch<'_> {
    /// Reads the segments and the tail; `Corrupt` if they do not cover the collection exactly or are damaged.
    pub(super) fn gather_sealed(&self) -> Result<WordCorpus> {
        let answers = self.view.session.ask_all(&self.questions(), self.view.deadline)?;
        self.read_sealed(&answers)
    }

    /// Reads the answers to the questions of a search for more terms in the same scope; `None` if a term is not one of
    /// its `terms`.
    pub(super) fn read_foreseen(
        &self,
        terms: &[String],
        answers: &PipelineRows,
    ) -> Option<Result<WordCorpus>> {
        let place = |own: &&[u8]| terms.iter().position(|term| term.as_bytes() == *own);
        let places = self.terms.iter().map(place).collect::<Option<Vec<usize>>>()?;
        let wider = WordSearch {
            view: self.view,
            scope: self.scope.clone(),
            terms: terms.iter().map(String::as_bytes).collect(),
        };
        Some(
            wider
                .read_sealed(answers)
                .map(|corpus| corpus.keep_terms(&places)),
        )
    }

    /// Returns the questions for the segments and the tail.
    pub(super) fn questions(&self) -> Vec<SqlStatement> {
        let collection = self.view.shelf.collection;
        let mut questions = vec![
            StoredWordSegment::select_all(collection),
            StoredWordBlock::select_for(collection, &self.terms),
            SqlStatement::new(
                "SELECT array_agg(\"row\" ORDER BY \"row\") FROM loci.word_gone WHERE collection = $1",
            )
            .with_int(collection),
            SqlStatement::new(format!(
                "SELECT {BAG_COLUMNS} FROM loci.bags b WHERE b.collection = $1 AND b.\"row\" > $2 ORDER BY b.\"row\""
            ))
            .with_int(collection)
            .with_int(self.view.shelf.words.sealed),
        ];
        if !self.scope.is_everything() {
            let mut rows =
                SqlStatement::new("SELECT array_agg(d.\"row\") FROM loci.drawers d WHERE d.collection = $1")
                    .with_int(collection);
            // The few that are left out are listed rather than all the others.
            let left_out = self.scope.left_out();
            left_out.as_ref().unwrap_or(&self.scope).push_condition(&mut rows);
            questions.push(rows);
        }
        questions
    }

    fn read_sealed(&self, answers: &PipelineRows) -> Result<WordCorpus> {
        let mut answers = answers.iter().map(Vec::as_slice);
        let mut next = || answers.next().unwrap_or_default();
        let (segments, blocks, gone, tail) = (next(), next(), read_rows(next()), next());
        let scope = if self.scope.is_everything() {
            RowSet::everything()
        } else if self.scope.left_out().is_some() {
            RowSet::from_rows(read_rows(next())).not()
        } else {
            RowSet::from_rows(read_rows(next()))
        };
        let segments = segments
            .iter()
            .map(StoredWordSegment::read)
            .collect::<Result<Vec<_>>>()?;
        self.check_coverage(&segments, gone.len(), tail.len())?;
        let standing = scope.clone().and(RowSet::from_rows(gone).not());
        let mut parts = self.read_segments(segments, blocks, &standing)?;
        parts.push(self.read_tail(tail, &scope)?);
        Ok(self.corpus(parts))
    }

    /// Checks that every drawer is in a segment or in the tail: all of it is written in the same transactions.
    fn check_coverage(&self, segments: &[StoredWordSegment], gone: usize, tail: usize) -> Result<()> {
        let shelf = self.view.shelf;
        let in_order = segments.windows(2).all(|two| match two {
            [one, next] => next.rows.first() > Some(&one.number),
            _ => true,
        });
        let last = segments.last().map_or(0, |segment| segment.number);
        let sealed: usize = segments.iter().map(|segment| segment.rows.len()).sum();
        let standing = sealed as i64 - gone as i64;
        let is_whole = standing == shelf.drawers - shelf.words.tail && tail as i64 == shelf.words.tail;
        if in_order && is_whole && last == shelf.words.sealed {
            return Ok(());
        }
        Err(corrupt_error(
            "the word index does not cover the drawers of its collection",
        ))
    }

    fn read_segments(
        &self,
        segments: Vec<StoredWordSegment>,
        blocks: &[Row],
        standing: &RowSet,
    ) -> Result<Vec<CorpusPart>> {
        let mut lists = SegmentLists::new();
        for row in blocks {
            let block = StoredWordBlock::read(row);
            if let Some(term) = self.terms.get(block.term) {
                let list = block.find_list(term)?;
                let own = lists
                    .entry(block.segment)
                    .or_insert_with(|| vec![None; self.terms.len()]);
                if let Some(place) = own.get_mut(block.term) {
                    *place = Some((list.drawers, list.bytes.to_vec()));
                }
            }
        }
        let mut parts = Vec::with_capacity(segments.len() + 1);
        for StoredWordSegment {
            number,
            rows,
            lengths,
        } in segments
        {
            let lists: Option<Vec<_>> = lists.remove(&number).into_iter().flatten().collect();
            let lists = lists.filter(|lists| lists.len() == self.terms.len());
            let first = rows.first().copied().unwrap_or(number);
            let marks = match standing.membership_between(first, number) {
                Some(true) => None,
                Some(false) => continue,
                None => Some(standing.mark_members(&rows)),
            };
            parts.push(CorpusPart {
                rows,
                lengths,
                marks,
                lists: lists
                    .ok_or_else(|| corrupt_error("a block of words is missing from the word index"))?,
            });
        }
        Ok(parts)
    }

    fn read_tail(&self, tail: &[Row], scope: &RowSet) -> Result<CorpusPart> {
        let bags = WordBags::from_rows(tail);
        if !bags.are_sound() {
            return Err(corrupt_error("the words of a drawer are damaged"));
        }
        let mut part = CorpusPartBuilder::new(&self.terms);
        for (row, words) in bags.rows().iter().filter(|(row, _)| scope.contains(*row)) {
            part.add(*row, WordBag::new(words))?;
        }
        Ok(part.finish())
    }

    /// Reads the bags of all drawers in scope, and the drawers whose bags are missing or damaged.
    pub(super) fn gather_bags(&self) -> Result<WordCorpus> {
        let view = self.view;
        let mut statement = SqlStatement::new(
            "SELECT d.\"row\", b.words FROM loci.drawers d
             LEFT JOIN loci.bags b ON b.collection = d.collection AND b.\"row\" = d.\"row\" WHERE d.collection = $1",
        )
        .with_int(view.shelf.collection);
        self.scope.push_condition(&mut statement);
        statement.push(" ORDER BY d.\"row\"");
        let mut bags = WordBags::default();
        view.session.stream(&statement, view.deadline, &mut |row| {
            bags.push(row);
            Ok(())
        })?;
        bags.mend(view.session, view.shelf.collection, view.deadline)?;
        let mut part = CorpusPartBuilder::new(&self.terms);
        for (row, words) in bags.rows() {
            part.add(*row, WordBag::new(words))?;
        }
        Ok(self.corpus(vec![part.finish()]))
    }

    fn corpus(&self, parts: Vec<CorpusPart>) -> WordCorpus {
        WordCorpus {
            terms: self.terms.len(),
            parts,
        }
    }
}

/// Reads the one answer of a question for a list of rows.
fn read_rows(answer: &[Row]) -> Vec<i64> {
    let rows: Option<Vec<i64>> = answer.first().and_then(|row| row.get(0));
    rows.unwrap_or_default()
}
