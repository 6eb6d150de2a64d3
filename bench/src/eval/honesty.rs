//! Whether the confidence of an answer tells questions that can be answered from those that cannot.
//!
//! Each question is asked as it is, again without the sessions that hold its evidence, and again of a haystack that never
//! held them. Questions that the set itself calls unanswerable are asked too. The area under the curve is the chance that
//! a question with an answer gets more confidence than one without: 1 if all do, .5 if the confidence says nothing.

use std::fmt::Write as _;

use loci_core::{Filter, FilterComparison, MetadataScalar};
use loci_engine::{SearchRequest, search_collection};
use serde_json::{Map, Value as Json, json};

use super::embedding::EvalEmbedder;
use super::palace::EvalPalace;
use super::sets::{EvalQuestion, EvalSet};
use super::{EvalResult, EvalSettings, WingLayout};

/// Why a question has no answer, or that it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskedVariant {
    /// The evidence is there.
    Answerable,
    /// The sessions with its evidence are taken out.
    EvidenceRemoved,
    /// It is asked of another haystack.
    OtherHaystack,
    /// The set says that nothing answers it.
    Unanswerable,
}

impl AskedVariant {
    const WITHOUT_ANSWER: [Self; 3] = [Self::EvidenceRemoved, Self::OtherHaystack, Self::Unanswerable];

    fn name(self) -> &'static str {
        match self {
            Self::Answerable => "answerable",
            Self::EvidenceRemoved => "evidence removed",
            Self::OtherHaystack => "another haystack",
            Self::Unanswerable => "unanswerable",
        }
    }
}

/// The confidence that one variant of a question got.
#[derive(Debug, Clone)]
pub(crate) struct AskedConfidence {
    pub(crate) question: String,
    pub(crate) variant: AskedVariant,
    pub(crate) confidence: f32,
    pub(crate) likely: bool,
}

/// Asks every variant of every question of a set.
pub(crate) fn ask_variants(
    palace: &EvalPalace,
    embedders: &EvalEmbedder,
    set: &EvalSet,
    how: EvalSettings,
) -> EvalResult<Vec<AskedConfidence>> {
    let mut asked = Vec::new();
    let mut ask = |question: &EvalQuestion, variant, scope: Filter| -> EvalResult<()> {
        let request = SearchRequest {
            scope: scope.into(),
            ..SearchRequest::new(question.text.as_str(), question.now)
        };
        let verdict = search_collection(palace.collection.as_ref(), embedders, &request)?.verdict;
        asked.push(AskedConfidence {
            question: question.id.clone(),
            variant,
            confidence: verdict.confidence,
            likely: verdict.likely,
        });
        Ok(())
    };
    for question in &set.questions {
        let wing = Filter::text_equals("wing", set.wing_of(question, how.wings));
        let sources = palace.sources_of(&question.sessions);
        let sources = sources.into_iter().map(MetadataScalar::Text);
        let removed = FilterComparison::Nin(sources.collect());
        let without = wing.clone().and(Filter::Compare("source".into(), removed));
        ask(question, AskedVariant::Answerable, wing)?;
        ask(question, AskedVariant::EvidenceRemoved, without)?;
        if let Some(other) = other_wing(set, question, how.wings) {
            ask(
                question,
                AskedVariant::OtherHaystack,
                Filter::text_equals("wing", other),
            )?;
        }
    }
    for question in &set.unanswerable {
        let wing = Filter::text_equals("wing", set.wing_of(question, how.wings));
        ask(question, AskedVariant::Unanswerable, wing)?;
    }
    Ok(asked)
}

/// Returns the wing of the next haystack that holds none of a question's evidence, if each has its own wing.
fn other_wing<'a>(set: &'a EvalSet, question: &EvalQuestion, wings: WingLayout) -> Option<&'a str> {
    if wings == WingLayout::One {
        return None;
    }
    let mined = set.wings(wings);
    let at = mined
        .iter()
        .position(|(wing, _)| *wing == set.wing_of(question, wings))?;
    let others = mined.iter().cycle().skip(at + 1).take(mined.len() - 1);
    let holds_evidence = |sessions: &[usize]| {
        let mut sessions = sessions.iter().filter_map(|at| set.sessions.get(*at));
        sessions.any(|session| question.sessions.contains(&session.id))
    };
    others
        .filter(|(_, sessions)| !holds_evidence(sessions))
        .map(|(wing, _)| *wing)
        .next()
}

/// Returns the chance that a value of `with` is larger than one of `without`; equal ones count half.
fn area_under_curve(with: &[f32], without: &[f32]) -> f64 {
    let wins = with.iter().flat_map(|one| {
        without.iter().map(move |other| match one.total_cmp(other) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
    });
    wins.sum::<f64>() / (with.len() * without.len()).max(1) as f64
}

fn confidences(asked: &[AskedConfidence], variant: AskedVariant) -> Vec<f32> {
    let of_variant = asked.iter().filter(|one| one.variant == variant);
    of_variant.map(|one| one.confidence).collect()
}

fn share_likely(asked: &[AskedConfidence], variant: AskedVariant) -> f64 {
    let of_variant = asked.iter().filter(|one| one.variant == variant);
    let (all, likely) = of_variant.fold((0_u32, 0_u32), |(all, likely), one| {
        (all + 1, likely + u32::from(one.likely))
    });
    f64::from(likely) / f64::from(all.max(1))
}

/// One line for each variant of each question.
pub(crate) fn line(set: &str, asked: &AskedConfidence) -> Json {
    json!({
        "set": set, "id": asked.question, "variant": asked.variant.name(), "confidence": asked.confidence,
        "likely": asked.likely,
    })
}

/// The figures of a set.
pub(crate) fn figures(asked: &[AskedConfidence]) -> Json {
    let answerable = confidences(asked, AskedVariant::Answerable);
    let mut figures = Map::new();
    figures.insert(
        AskedVariant::Answerable.name().to_owned(),
        json!({ "questions": answerable.len(), "likely": share_likely(asked, AskedVariant::Answerable) }),
    );
    for variant in AskedVariant::WITHOUT_ANSWER {
        let without = confidences(asked, variant);
        if !without.is_empty() {
            let area = area_under_curve(&answerable, &without);
            let figure =
                json!({ "questions": without.len(), "auroc": area, "likely": share_likely(asked, variant) });
            figures.insert(variant.name().to_owned(), figure);
        }
    }
    Json::Object(figures)
}

/// The same for people to read.
pub(crate) fn table(asked: &[AskedConfidence]) -> String {
    let mut table =
        String::from("| questions | n | called likely | AUROC against answerable |\n|---|---|---|---|\n");
    if let Json::Object(figures) = figures(asked) {
        for (name, figure) in figures {
            let number = |key: &str| figure.get(key).and_then(Json::as_f64);
            let written = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3}"));
            let _ = writeln!(
                table,
                "| {name} | {} | {} | {} |",
                number("questions").unwrap_or_default(),
                written(number("likely")),
                written(number("auroc"))
            );
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_counts_pairs_in_the_right_order() {
        assert_eq!(area_under_curve(&[0.9, 0.8], &[0.1, 0.2]), 1.0);
        assert_eq!(area_under_curve(&[0.1], &[0.9]), 0.0);
        assert_eq!(area_under_curve(&[0.5, 0.7], &[0.5, 0.9]), 0.375);
        assert_eq!(area_under_curve(&[], &[0.5]), 0.0);
    }

    #[test]
    fn figures_name_every_variant_that_was_asked() {
        let asked = |variant, confidence| AskedConfidence {
            question: "q".into(),
            variant,
            confidence,
            likely: confidence > 0.5,
        };
        let all = [
            asked(AskedVariant::Answerable, 0.8),
            asked(AskedVariant::EvidenceRemoved, 0.6),
            asked(AskedVariant::Unanswerable, 0.9),
        ];
        let figures = figures(&all);
        assert_eq!(figures.pointer("/evidence removed/auroc"), Some(&json!(1.0)));
        assert_eq!(figures.pointer("/unanswerable/auroc"), Some(&json!(0.0)));
        assert_eq!(figures.get("another haystack"), None);
        assert!(table(&all).contains("| evidence removed | 1 | 1.000 | 1.000 |"));
    }
}
