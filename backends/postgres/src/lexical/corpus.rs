//! The drawers in scope of a search with their postings, and ranking them.

use loci_core::Result;
use loci_index::bm25::{LexicalStatistics, term_gain};
use loci_index::postings::{PostingList, PostingListWriter, WordBag};

use crate::failure::corrupt_error;

/// Every drawer in scope, in parts.
#[derive(Debug)]
pub(super) struct WordCorpus {
    pub(super) terms: usize,
    pub(super) parts: Vec<CorpusPart>,
}

/// Some drawers in row order, and the lists of those that hold the terms of the search.
#[derive(Debug)]
pub(super) struct CorpusPart {
    pub(super) rows: Vec<i64>,
    pub(super) lengths: Vec<u32>,
    /// For each drawer whether it is in scope; `None` if all are.
    pub(super) marks: Option<Vec<bool>>,
    /// For each term the number of drawers that hold it, and the bytes of their list.
    pub(super) lists: Vec<(u32, Vec<u8>)>,
}

/// The rows with the highest scores.
#[derive(Debug, Default)]
pub(super) struct RankedRows {
    /// Those that are among the best whatever their ids are.
    pub(super) certain: Vec<(i64, f32)>,
    /// Those of one score of which only some have a place; the first ids decide.
    pub(super) tied: Vec<(i64, f32)>,
    /// The places that are left for them.
    pub(super) places_left: usize,
}

impl WordCorpus {
    /// Keeps the lists of the terms at these places, in this order.
    pub(super) fn keep_terms(mut self, places: &[usize]) -> Self {
        for part in &mut self.parts {
            let kept = places.iter().filter_map(|place| part.lists.get(*place).cloned());
            part.lists = kept.collect();
        }
        self.terms = places.len();
        self
    }

    /// Ranks the drawers and returns the best `k`.
    pub(super) fn rank_rows(&self, k: usize) -> Result<RankedRows> {
        let mut statistics = LexicalStatistics::default();
        let mut holding = vec![0_u64; self.terms];
        for part in &self.parts {
            part.add_statistics(&mut statistics);
            part.count_holding(&mut holding)?;
        }
        let rarities: Vec<f32> = holding.iter().map(|held| statistics.term_rarity(*held)).collect();
        // How rare a term is must be known over all parts before any drawer can be scored.
        let burdens = BurdenTable::new(statistics);
        let mut best = BestScores::new(k);
        for part in &self.parts {
            part.score_rows(&burdens, &rarities, &mut best)?;
        }
        Ok(best.finish())
    }
}

/// The burdens of the usual lengths, which most drawers share.
struct BurdenTable {
    statistics: LexicalStatistics,
    usual: Vec<f32>,
}

impl BurdenTable {
    /// The number of lengths that are usual.
    const USUAL: u32 = 1024;

    fn new(statistics: LexicalStatistics) -> Self {
        let usual = (0..Self::USUAL).map(|length| statistics.length_burden(length));
        Self {
            usual: usual.collect(),
            statistics,
        }
    }

    fn find(&self, length: u32) -> f32 {
        let usual = self.usual.get(length as usize).copied();
        usual.unwrap_or_else(|| self.statistics.length_burden(length))
    }
}

/// Keeps the rows with the highest scores, and all that score exactly as much as the last of them.
#[derive(Debug)]
struct BestScores {
    k: usize,
    rows: Vec<(i64, f32)>,
    /// The least score with which a row can be among the best.
    least: f32,
    /// The number of rows at which the losers are dropped the next time.
    prune_at: usize,
}

impl BestScores {
    fn new(k: usize) -> Self {
        Self {
            k,
            rows: Vec::new(),
            least: 0.0,
            prune_at: k.saturating_mul(2).saturating_add(1024),
        }
    }

    /// Adds a row; a score of zero is no match.
    fn offer(&mut self, row: i64, score: f32) {
        if score <= 0.0 || score < self.least {
            return;
        }
        self.rows.push((row, score));
        if self.rows.len() >= self.prune_at {
            self.prune();
            // If many rows score the same, few are dropped. Doubling keeps the total work linear even then.
            self.prune_at = self.prune_at.max(self.rows.len().saturating_mul(2));
        }
    }

    fn prune(&mut self) {
        if let Some(last) = self.k.checked_sub(1).filter(|last| *last < self.rows.len()) {
            let (_, worst, _) = self.rows.select_nth_unstable_by(last, |a, b| b.1.total_cmp(&a.1));
            let least = worst.1;
            self.rows.retain(|(_, score)| *score >= least);
            self.least = least;
        }
    }

    /// Splits the rows into those that are surely among the best and those that compete for the last places.
    fn finish(mut self) -> RankedRows {
        self.prune();
        if self.rows.len() <= self.k {
            return RankedRows {
                certain: self.rows,
                ..RankedRows::default()
            };
        }
        let least = self.least;
        let (certain, tied): (Vec<_>, Vec<_>) = self.rows.into_iter().partition(|(_, score)| *score > least);
        RankedRows {
            places_left: self.k - certain.len(),
            certain,
            tied,
        }
    }
}

impl CorpusPart {
    fn lists(&self) -> impl Iterator<Item = PostingList<'_>> {
        self.lists.iter().map(|(drawers, bytes)| PostingList {
            drawers: *drawers,
            bytes,
        })
    }

    fn is_in_scope(&self, at: usize) -> bool {
        self.marks
            .as_ref()
            .is_none_or(|marks| marks.get(at) == Some(&true))
    }

    fn add_statistics(&self, statistics: &mut LexicalStatistics) {
        for (at, length) in self.lengths.iter().enumerate() {
            if self.is_in_scope(at) {
                statistics.add_drawer(*length);
            }
        }
    }

    fn count_holding(&self, holding: &mut [u64]) -> Result<()> {
        for (list, holding) in self.lists().zip(holding) {
            // The stored count is right only where every drawer counts; otherwise the list is walked.
            if self.marks.is_none() {
                *holding += u64::from(list.drawers);
                continue;
            }
            list.for_each_drawer(|drawer, _| *holding += u64::from(self.is_in_scope(drawer as usize)))?;
        }
        Ok(())
    }

    /// Offers the drawers in scope that hold any term, with their scores.
    fn score_rows(&self, burdens: &BurdenTable, rarities: &[f32], best: &mut BestScores) -> Result<()> {
        let slot = |(at, length): (usize, &u32)| {
            // An infinite burden makes the gain of every word zero, without a test in the inner loop.
            let burden = if self.is_in_scope(at) {
                burdens.find(*length)
            } else {
                f32::INFINITY
            };
            (burden, 0.0_f32)
        };
        let mut slots: Vec<(f32, f32)> = self.lengths.iter().enumerate().map(slot).collect();
        for (list, rarity) in self.lists().zip(rarities) {
            let mut is_stray = false;
            list.for_each_drawer(|drawer, count| match slots.get_mut(drawer as usize) {
                Some((burden, score)) => *score += term_gain(*rarity, count, *burden),
                None => is_stray = true,
            })?;
            if is_stray {
                return Err(corrupt_error(
                    "a list of drawers names one that its segment does not have",
                ));
            }
        }
        for ((_, score), row) in slots.iter().zip(&self.rows) {
            best.offer(*row, *score);
        }
        Ok(())
    }
}

/// Collects drawers in scope whose bags were read into a part.
#[derive(Debug)]
pub(super) struct CorpusPartBuilder<'t> {
    terms: &'t [&'t [u8]],
    rows: Vec<i64>,
    lengths: Vec<u32>,
    lists: Vec<PostingListWriter>,
}

impl<'t> CorpusPartBuilder<'t> {
    pub(super) fn new(terms: &'t [&'t [u8]]) -> Self {
        Self {
            terms,
            rows: Vec::new(),
            lengths: Vec::new(),
            lists: vec![PostingListWriter::default(); terms.len()],
        }
    }

    /// Adds a drawer.
    pub(super) fn add(&mut self, row: i64, words: WordBag<'_>) -> Result<()> {
        let drawer = self.rows.len() as u32;
        self.lengths.push(words.length()?);
        self.rows.push(row);
        words.find_terms(self.terms, |at, count| {
            if let Some(list) = self.lists.get_mut(at) {
                list.push(drawer, count);
            }
        })
    }

    pub(super) fn finish(self) -> CorpusPart {
        let list = |list: &PostingListWriter| {
            let list = list.as_list();
            (list.drawers, list.bytes.to_vec())
        };
        CorpusPart {
            lists: self.lists.iter().map(list).collect(),
            rows: self.rows,
            lengths: self.lengths,
            marks: None,
        }
    }
}
