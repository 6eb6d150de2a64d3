//! Filters on the wire: `["eq", key, operand]`, `["and", [filter, …]]` and the like.

use loci_core::filter::normalise_operand;
use loci_core::{DocumentFilter, DrawerCondition, Filter, FilterComparison, FilterOperand};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::WireResult;
use super::scalar::{parse_scalar, scalar_json};

/// A condition on drawers as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireCondition {
    filter: Json,
    document: Json,
}

impl WireCondition {
    pub(crate) fn new(filter: &Filter, document: &DocumentFilter) -> Self {
        Self {
            filter: filter_json(filter),
            document: document_json(document),
        }
    }

    pub(crate) fn parse(self) -> WireResult<DrawerCondition> {
        Ok(DrawerCondition {
            filter: parse_filter(self.filter)?,
            document: parse_document(self.document)?,
        })
    }
}

/// Returns the JSON of a filter, with times as microseconds.
pub(crate) fn filter_json(filter: &Filter) -> Json {
    let list = |parts: &[Filter]| parts.iter().map(filter_json).collect::<Vec<_>>();
    match filter {
        Filter::All => json!(["all"]),
        Filter::And(parts) => json!(["and", list(parts)]),
        Filter::Or(parts) => json!(["or", list(parts)]),
        Filter::Compare(key, comparison) => {
            // Normalised here, so that a plug-in compares plain values and needs no reader of times.
            let one = |operand: &FilterOperand| scalar_json(&normalise_operand(key, operand));
            let operand = match comparison {
                FilterComparison::Eq(operand)
                | FilterComparison::Ne(operand)
                | FilterComparison::Contains(operand)
                | FilterComparison::NotContains(operand)
                | FilterComparison::Gt(operand)
                | FilterComparison::Gte(operand)
                | FilterComparison::Lt(operand)
                | FilterComparison::Lte(operand) => one(operand),
                FilterComparison::In(operands) | FilterComparison::Nin(operands) => {
                    operands.iter().map(one).collect()
                }
            };
            json!([comparison.operator().trim_start_matches('$'), key, operand])
        }
    }
}

/// Reads a filter.
pub(crate) fn parse_filter(json: Json) -> WireResult<Filter> {
    let mut items = parse_items(json)?.into_iter();
    let operator = take_text(items.next())?;
    Ok(match operator.as_str() {
        "all" => Filter::All,
        "and" => Filter::And(take_list(items.next(), parse_filter)?),
        "or" => Filter::Or(take_list(items.next(), parse_filter)?),
        comparison => {
            let key = take_text(items.next())?;
            let operand = items.next().ok_or("a comparison has no operand")?;
            Filter::Compare(key, parse_comparison(comparison, operand)?)
        }
    })
}

fn parse_comparison(operator: &str, operand: Json) -> WireResult<FilterComparison> {
    let make = match operator {
        "in" => return take_list(Some(operand), parse_scalar).map(FilterComparison::In),
        "nin" => return take_list(Some(operand), parse_scalar).map(FilterComparison::Nin),
        "eq" => FilterComparison::Eq,
        "ne" => FilterComparison::Ne,
        "contains" => FilterComparison::Contains,
        "not_contains" => FilterComparison::NotContains,
        "gt" => FilterComparison::Gt,
        "gte" => FilterComparison::Gte,
        "lt" => FilterComparison::Lt,
        "lte" => FilterComparison::Lte,
        other => return Err(format!("{other:?} is not a comparison")),
    };
    parse_scalar(operand).map(make)
}

/// Returns the JSON of a filter on texts.
pub(crate) fn document_json(filter: &DocumentFilter) -> Json {
    let list = |parts: &[DocumentFilter]| parts.iter().map(document_json).collect::<Vec<_>>();
    match filter {
        DocumentFilter::All => json!(["all"]),
        DocumentFilter::Contains(text) => json!(["contains", text]),
        DocumentFilter::NotContains(text) => json!(["not_contains", text]),
        DocumentFilter::And(parts) => json!(["and", list(parts)]),
        DocumentFilter::Or(parts) => json!(["or", list(parts)]),
    }
}

fn parse_document(json: Json) -> WireResult<DocumentFilter> {
    let mut items = parse_items(json)?.into_iter();
    let operator = take_text(items.next())?;
    Ok(match operator.as_str() {
        "all" => DocumentFilter::All,
        "contains" => DocumentFilter::Contains(take_text(items.next())?),
        "not_contains" => DocumentFilter::NotContains(take_text(items.next())?),
        "and" => DocumentFilter::And(take_list(items.next(), parse_document)?),
        "or" => DocumentFilter::Or(take_list(items.next(), parse_document)?),
        other => return Err(format!("{other:?} is not a filter on texts")),
    })
}

fn parse_items(json: Json) -> WireResult<Vec<Json>> {
    match json {
        Json::Array(items) => Ok(items),
        other => Err(format!("{other} is not a filter")),
    }
}

fn take_text(json: Option<Json>) -> WireResult<String> {
    match json {
        Some(Json::String(text)) => Ok(text),
        _ => Err("a filter lacks a text".to_owned()),
    }
}

fn take_list<T>(json: Option<Json>, read: impl Fn(Json) -> WireResult<T>) -> WireResult<Vec<T>> {
    match json {
        Some(Json::Array(items)) => items.into_iter().map(read).collect(),
        _ => Err("a filter lacks a list".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::MetadataScalar;

    #[test]
    fn every_filter_reads_back_as_it_was() {
        let int = || MetadataScalar::Int(3);
        let comparisons = [
            FilterComparison::Eq(int()),
            FilterComparison::Ne(MetadataScalar::Float(0.1)),
            FilterComparison::In(vec![int(), MetadataScalar::Bool(true)]),
            FilterComparison::Nin(vec![]),
            FilterComparison::Contains(int()),
            FilterComparison::NotContains(int()),
            FilterComparison::Gt(int()),
            FilterComparison::Gte(int()),
            FilterComparison::Lt(int()),
            FilterComparison::Lte(MetadataScalar::Text("x".into())),
        ];
        let compared = comparisons.map(|comparison| Filter::Compare("key".into(), comparison));
        let filter = Filter::Or(vec![
            Filter::All,
            Filter::And(compared.to_vec()),
            Filter::Or(vec![]),
        ]);
        let document = DocumentFilter::And(vec![
            DocumentFilter::All,
            DocumentFilter::Or(vec![
                DocumentFilter::Contains("a".into()),
                DocumentFilter::NotContains("b".into()),
            ]),
        ]);
        let condition = WireCondition::new(&filter, &document).parse().unwrap();
        assert_eq!(condition, DrawerCondition { filter, document });
    }

    #[test]
    fn times_travel_as_microseconds() {
        let filter = Filter::text_equals("said_at", "1970-01-01T00:00:01Z");
        assert_eq!(filter_json(&filter), json!(["eq", "said_at", 1_000_000]));
    }
}
