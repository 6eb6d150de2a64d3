//! The reads that a search is going to make, as far as they follow from the request alone. A backend on a server answers
//! them in one exchange.

use loci_core::{CollectionInfo, DrawerCondition, Filter, ForeseenRead, IdentityState};
use loci_when as when;

use super::legs::{self, QueryVector};
use super::plan::{choose_depth, choose_matched_text};
use super::{SearchRequest, SearchRetriever};
use crate::EmbedderCatalog;

/// A search before anything was read for it.
#[derive(Debug)]
pub(super) struct ForeseenSearch {
    /// The query as a vector of the model that the collection had when it was seen last.
    question: Option<(IdentityState, QueryVector)>,
}

impl ForeseenSearch {
    /// Embeds the query for a collection that was seen before. Nothing is foreseen of a search by one retriever.
    pub(super) fn new(
        info: &CollectionInfo,
        embedders: &dyn EmbedderCatalog,
        request: &SearchRequest,
    ) -> Self {
        let is_fused = request.single_retriever() != Some(SearchRetriever::Words) && request.vector.is_none();
        // A model that is missing is reported by the search itself.
        let question = is_fused.then(|| QueryVector::new(info, embedders, &request.query).ok());
        Self {
            question: question
                .flatten()
                .map(|question| (info.identity.clone(), question)),
        }
    }

    /// Returns the embedded query, if the collection still has the same model.
    pub(super) fn question_for(&self, identity: &IdentityState) -> Option<&QueryVector> {
        let (embedded, question) = self.question.as_ref()?;
        (embedded == identity).then_some(question)
    }

    /// Lists the reads of a search: the counts of its scope, and both legs unless they depend on an answer.
    pub(super) fn list_reads(&self, info: &CollectionInfo, request: &SearchRequest) -> Vec<ForeseenRead> {
        // Names are spelled as given, which is nearly always how they are stored.
        let Some(asked) = request.scope.resolve_as_given() else {
            return Vec::new();
        };
        let searched = request.searched_condition(&asked);
        let wing = request.scope.wing.as_deref();
        let wing = wing.map(|wing| DrawerCondition::from(Filter::text_equals("wing", wing)));
        let mut reads: Vec<ForeseenRead> = wing
            .into_iter()
            .chain([asked, searched.clone()])
            .map(ForeseenRead::Count)
            .collect();
        // A time in the query may narrow the scope, depending on the drawers of that time.
        let has_times = request.dates && !when::find_mentions(&request.query, request.now).is_empty();
        if has_times || request.single_retriever().is_some() {
            return reads;
        }
        let depth = choose_depth(info.drawers);
        if let Some((_, question)) = &self.question {
            let is_approximate = info.approximate && !request.exact;
            let depth = legs::choose_nearest_depth(depth, depth, is_approximate);
            let nearest = question.to_request(searched.clone(), depth, request.exact);
            reads.push(ForeseenRead::Query(nearest));
        }
        let text = choose_matched_text(&request.query);
        reads.push(ForeseenRead::Lexical(legs::words_request(&text, searched, depth)));
        reads
    }
}
