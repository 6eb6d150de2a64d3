//! Reads that an operation foresees: they are asked together with the beginning of its moment, and answered from that.
//!
//! Only the first exchange of a read is foreseen. What it asks for afterwards, such as the drawers of its hits, it asks
//! when it is made.

use loci_core::{DrawerCondition, DrawerHit, ForeseenRead, LexicalRequest, QueryRequest, Result};
use tokio_postgres::Row;

use crate::moment::MomentView;
use crate::read::CountQuestion;
use crate::session::PipelineRows;
use crate::statement::SqlStatement;
use crate::{lexical, nearest};

/// The answers to foreseen reads.
#[derive(Debug, Default)]
pub(crate) struct Foresight {
    reads: Vec<AnsweredRead>,
}

/// A foreseen read and the answers to its first questions.
#[derive(Debug)]
struct AnsweredRead {
    read: ForeseenRead,
    questions: usize,
    answers: PipelineRows,
}

impl Foresight {
    /// Returns the reads that can be foreseen, and their questions. Reads that are refused, or whose questions depend on
    /// an answer, are left for later.
    pub(crate) fn prepare(view: &MomentView<'_>, foreseen: &[ForeseenRead]) -> (Self, Vec<SqlStatement>) {
        let mut reads = Vec::new();
        let mut statements = Vec::new();
        for read in foreseen {
            let Some(questions) = list_questions(view, read) else {
                continue;
            };
            reads.push(AnsweredRead {
                read: read.clone(),
                questions: questions.len(),
                answers: Vec::new(),
            });
            statements.extend(questions);
        }
        (Self { reads }, statements)
    }

    /// Hands each read its answers, which are in the order of the questions.
    pub(crate) fn answered(mut self, answers: PipelineRows) -> Self {
        let mut answers = answers.into_iter();
        for read in &mut self.reads {
            read.answers = answers.by_ref().take(read.questions).collect();
        }
        self
    }

    /// Answers a count.
    pub(crate) fn count(&self, view: &MomentView<'_>, condition: &DrawerCondition) -> Result<u64> {
        let is_counted = |known: &&AnsweredRead| matches!(&known.read, ForeseenRead::Count(counted) if counted == condition);
        let foreseen = self.reads.iter().find(is_counted);
        let question = foreseen.and_then(|_| view.foresee_scope(&condition.filter, &condition.document));
        match (foreseen, question) {
            (Some(known), Some(scope)) => {
                let answer: &[Row] = known.answers.first().map(Vec::as_slice).unwrap_or_default();
                Ok(CountQuestion { scope }.read_count(view, answer))
            }
            _ => view.count(condition),
        }
    }

    /// Answers a query; a foreseen one may have been for more hits.
    pub(crate) fn query(&self, view: &MomentView<'_>, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        let foreseen = self.reads.iter().find_map(|known| match &known.read {
            ForeseenRead::Query(wider) if is_within(request, wider) => Some((wider, &known.answers)),
            _ => None,
        });
        let Some((wider, answers)) = foreseen else {
            return view.query(request);
        };
        let mut found = nearest::find_nearest(view, wider, Some(answers))?;
        found.iter_mut().for_each(|hits| hits.truncate(request.k));
        Ok(found)
    }

    /// Answers a match of words; a foreseen one may have been for more words.
    pub(crate) fn lexical(&self, view: &MomentView<'_>, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        let foreseen = self.reads.iter().find_map(|known| match &known.read {
            ForeseenRead::Lexical(wider)
                if wider.filter == request.filter && wider.document == request.document =>
            {
                Some(lexical::ForeseenWords {
                    words: &wider.words,
                    answers: &known.answers,
                })
            }
            _ => None,
        });
        lexical::search_words(view, request, foreseen)
    }
}

/// Returns whether a query asks for some of the first hits of a wider one.
fn is_within(request: &QueryRequest, wider: &QueryRequest) -> bool {
    let as_wide = QueryRequest {
        k: wider.k,
        budget: wider.budget,
        ..request.clone()
    };
    request.k > 0 && request.k <= wider.k && as_wide == *wider
}

fn list_questions(view: &MomentView<'_>, read: &ForeseenRead) -> Option<Vec<SqlStatement>> {
    match read {
        ForeseenRead::Count(condition) => {
            let scope = view.foresee_scope(&condition.filter, &condition.document)?;
            Some(CountQuestion { scope }.statement(view).into_iter().collect())
        }
        ForeseenRead::Query(request) => nearest::first_questions(view, request),
        ForeseenRead::Lexical(request) => lexical::first_questions(view, request),
    }
}
