//! Duplicates: finds drawers with nearly the same words as a text that is about to be filed.

use loci_core::{
    Drawer, DrawerCondition, DrawerFields, DrawerHit, LexicalRequest, PalaceFinding, QueryRequest, Result,
};
use serde::Serialize;

use crate::note::check_text;
use crate::palace::{Palace, PalaceSession, cosine_similarity};
use crate::search::HitEvidence;
use crate::view::{DrawerScope, HitView};

/// The default threshold of similarity.
pub const USUAL_SIMILARITY: f32 = 0.9;
/// The number of drawers compared.
const COMPARED: usize = 5;
/// The number of bytes of a text that are searched for by words.
const LOOKED_FOR: usize = 400;

/// A text, and the similarity a drawer must have.
#[derive(Debug, Clone, PartialEq)]
pub struct DuplicateRequest {
    /// The text.
    pub text: String,
    /// The drawers to compare with it.
    pub scope: DrawerScope,
    /// The least similarity, from 0 to 1.
    pub least: f32,
}

/// Drawers with nearly the same words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DuplicateReport {
    /// The drawers, most similar first, with their similarity as the score.
    pub matches: Vec<HitView>,
    /// Damage, and names in the scope that no drawer has.
    pub warnings: Vec<PalaceFinding>,
}

impl Palace {
    /// Finds drawers with nearly the same words: by vector, or by exact text if the collection's model is not
    /// available.
    pub fn find_duplicates(&self, request: &DuplicateRequest) -> Result<DuplicateReport> {
        check_text(&request.text)?;
        request.scope.check()?;
        self.read(|session| {
            let condition = request.scope.resolve(session.reader())?;
            let alike = compare_nearest(session, &request.text, condition)?;
            let matches: Vec<HitView> = alike
                .into_iter()
                .filter(|(_, similarity)| *similarity >= request.least)
                .map(|(drawer, score)| HitView {
                    drawer: drawer.into(),
                    score,
                    distance: None,
                    why: HitEvidence::default(),
                    also_in: None,
                    before: Vec::new(),
                    after: Vec::new(),
                })
                .collect();
            let mut warnings = session.collect_findings();
            if matches.is_empty() {
                warnings.extend(session.unknown_names(&request.scope)?);
            }
            Ok(DuplicateReport { matches, warnings })
        })
    }
}

/// Returns the drawers most similar to a text, each with its similarity.
fn compare_nearest(
    session: &PalaceSession<'_>,
    text: &str,
    condition: DrawerCondition,
) -> Result<Vec<(Drawer, f32)>> {
    let vector = match session.question_embedder() {
        Ok(embedder) => embedder.embed_passages(&[text])?.pop(),
        // Without the model only equal texts are found, which is better than an error before filing.
        Err(_) => None,
    };
    let hits = match &vector {
        Some(vector) => {
            let answers = session.reader().query(&QueryRequest {
                filter: condition.filter,
                document: condition.document,
                include: DrawerFields {
                    embedding: true,
                    ..DrawerFields::default()
                },
                ..QueryRequest::nearest_to(vector.clone(), COMPARED)
            })?;
            answers.into_iter().next().unwrap_or_default()
        }
        None => session.reader().lexical(&LexicalRequest {
            filter: condition.filter,
            document: condition.document,
            ..LexicalRequest::for_words(
                text.get(..text.floor_char_boundary(LOOKED_FOR)).unwrap_or(text),
                COMPARED,
            )
        })?,
    };
    let compare = |DrawerHit { drawer, .. }: DrawerHit| {
        let similarity = match (&drawer.embedding, &vector) {
            // Stored vectors include the context, so even an equal text may fall short of a cosine of 1.
            _ if drawer.document.as_deref() == Some(text) => 1.0,
            (Some(own), Some(asked)) => cosine_similarity(own, asked),
            _ => 0.0,
        };
        (drawer, similarity)
    };
    Ok(hits.into_iter().map(compare).collect())
}
