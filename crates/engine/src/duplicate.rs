//! Duplicates: drawers of nearly the same words as a text that is about to be filed.

use loci_core::{Drawer, DrawerCondition, Finding, Hit, Include, Lexical, Query, Result};
use serde::Serialize;

use crate::note::check_text;
use crate::palace::{Palace, PalaceSession, cosine};
use crate::search::Why;
use crate::view::{DrawerScope, HitView};

/// The least similarity at which texts count as the same where none is given.
pub const USUAL_SIMILARITY: f32 = 0.9;
/// The number of drawers compared.
const COMPARED: usize = 5;
/// How much of a text is looked for by its words, in bytes.
const LOOKED_FOR: usize = 400;

/// A text, and how like it a drawer must be.
#[derive(Debug, Clone, PartialEq)]
pub struct DuplicateRequest {
    /// The text.
    pub text: String,
    /// The drawers compared with it.
    pub scope: DrawerScope,
    /// The least similarity, from 0 to 1.
    pub least: f32,
}

/// Drawers of nearly the same words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DuplicateReport {
    /// The drawers, likest first, their similarity as the score.
    pub matches: Vec<HitView>,
    /// Damage, and names in the scope that no drawer has.
    pub warnings: Vec<Finding>,
}

impl Palace {
    /// Finds drawers of nearly the same words: by vector, or letter for letter where the collection has no model.
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
                    why: Why::default(),
                    also_in: None,
                    before: Vec::new(),
                    after: Vec::new(),
                })
                .collect();
            let mut warnings = session.noticed();
            if matches.is_empty() {
                warnings.extend(session.unknown_names(&request.scope)?);
            }
            Ok(DuplicateReport { matches, warnings })
        })
    }
}

/// The drawers most like a text, each with its similarity.
fn compare_nearest(
    session: &PalaceSession<'_>,
    text: &str,
    condition: DrawerCondition,
) -> Result<Vec<(Drawer, f32)>> {
    let vector = match session.question_embedder() {
        Ok(embedder) => embedder.passages(&[text])?.pop(),
        // Without the model only equal texts are found, which is better than no answer.
        Err(_) => None,
    };
    let hits = match &vector {
        Some(vector) => {
            let answers = session.reader().query(&Query {
                filter: condition.filter,
                document: condition.document,
                include: Include {
                    embedding: true,
                    ..Include::default()
                },
                ..Query::nearest(vector.clone(), COMPARED)
            })?;
            answers.into_iter().next().unwrap_or_default()
        }
        None => session.reader().lexical(&Lexical {
            filter: condition.filter,
            document: condition.document,
            ..Lexical::words(
                text.get(..text.floor_char_boundary(LOOKED_FOR)).unwrap_or(text),
                COMPARED,
            )
        })?,
    };
    let compare = |Hit { drawer, .. }: Hit| {
        let similarity = match (&drawer.embedding, &vector) {
            _ if drawer.document.as_deref() == Some(text) => 1.0,
            (Some(own), Some(asked)) => cosine(own, asked),
            _ => 0.0,
        };
        (drawer, similarity)
    };
    Ok(hits.into_iter().map(compare).collect())
}
