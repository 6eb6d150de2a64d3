//! Filters as conditions of SQL on a row `d` of the drawers.
//!
//! Every comparison is answered by the server exactly as [`Filter::accepts`] answers it, with one exception: texts that
//! are too long for an entry have no order there. A filter that compares by such an order is resolved to rows first.

use loci_core::filter::normalise_operand;
use loci_core::{DocumentFilter, Filter, FilterComparison, MetadataScalar};
use tokio_postgres::types::Type;

use crate::attributes::{family_bounds, is_cut, member_entry, single_entry, text_column};
use crate::statement::SqlStatement;

/// The drawers of a collection that a call concerns.
#[derive(Debug, Clone)]
pub(crate) enum RowScope {
    /// Those that both filters accept.
    Filtered(Filter, DocumentFilter),
    /// Those in these rows.
    Listed(Vec<i64>),
}

impl RowScope {
    /// Returns whether it is the whole collection.
    pub(crate) fn is_everything(&self) -> bool {
        match self {
            Self::Filtered(filter, document) => filter.is_unrestricted() && document.is_unrestricted(),
            Self::Listed(_) => false,
        }
    }

    /// Returns whether it only leaves out the drawers with certain values, as the scope of most searches does: then nearly
    /// everything is in it.
    pub(crate) fn is_broad(&self) -> bool {
        match self {
            Self::Filtered(filter, document) => is_exclusion(filter) && document.is_unrestricted(),
            Self::Listed(_) => false,
        }
    }

    /// Returns the drawers that are not in it, if it leaves out those with one value.
    pub(crate) fn left_out(&self) -> Option<Self> {
        match self {
            Self::Filtered(filter, document) if document.is_unrestricted() => {
                Some(Self::Filtered(excluded_value(filter)?, DocumentFilter::All))
            }
            _ => None,
        }
    }

    /// Appends ` AND …` with the condition on the row `d`.
    pub(crate) fn push_condition(&self, statement: &mut SqlStatement) {
        match self {
            Self::Filtered(filter, document) => {
                if !filter.is_all() {
                    let text = filter_sql(filter, statement);
                    statement.push(" AND ").push(&text);
                }
                if !document.is_all() {
                    let text = document_sql(document, statement);
                    statement.push(" AND ").push(&text);
                }
            }
            Self::Listed(rows) => {
                statement
                    .push(" AND d.\"row\" = ANY(")
                    .bind(rows.clone(), Type::INT8_ARRAY)
                    .push(")");
            }
        }
    }
}

/// Returns the filter of the drawers that this one leaves out, if it leaves out one value.
fn excluded_value(filter: &Filter) -> Option<Filter> {
    match filter {
        Filter::Compare(key, FilterComparison::Ne(value)) => {
            Some(Filter::Compare(key.clone(), FilterComparison::Eq(value.clone())))
        }
        Filter::And(parts) => match parts.as_slice() {
            [part] => excluded_value(part),
            _ => None,
        },
        _ => None,
    }
}

fn is_exclusion(filter: &Filter) -> bool {
    match filter {
        Filter::All => true,
        Filter::Compare(_, comparison) => matches!(
            comparison,
            FilterComparison::Ne(_) | FilterComparison::Nin(_) | FilterComparison::NotContains(_)
        ),
        Filter::And(parts) => parts.iter().all(is_exclusion),
        Filter::Or(_) => false,
    }
}

/// Returns whether the server can answer a filter by itself.
pub(crate) fn is_exact(filter: &Filter) -> bool {
    match filter {
        Filter::All => true,
        Filter::Compare(key, comparison) => {
            let ordered = match comparison {
                FilterComparison::Gt(operand)
                | FilterComparison::Gte(operand)
                | FilterComparison::Lt(operand)
                | FilterComparison::Lte(operand) => Some(operand),
                _ => None,
            };
            // A column holds its text whole.
            text_column(key).is_some() || !ordered.is_some_and(is_cut)
        }
        Filter::And(parts) | Filter::Or(parts) => parts.iter().all(is_exact),
    }
}

/// Returns a filter that the server can answer and that accepts at least the same drawers.
pub(crate) fn widen(filter: &Filter) -> Filter {
    match filter {
        Filter::And(parts) => Filter::And(parts.iter().map(widen).collect()),
        Filter::Or(parts) => Filter::Or(parts.iter().map(widen).collect()),
        exact if is_exact(exact) => exact.clone(),
        _ => Filter::All,
    }
}

fn filter_sql(filter: &Filter, statement: &mut SqlStatement) -> String {
    match filter {
        Filter::All => "true".to_owned(),
        Filter::Compare(key, comparison) => comparison_sql(key, comparison, statement),
        Filter::And(parts) => join_parts(parts, " AND ", "true", |part| filter_sql(part, statement)),
        Filter::Or(parts) => join_parts(parts, " OR ", "false", |part| filter_sql(part, statement)),
    }
}

fn join_parts<T>(parts: &[T], word: &str, empty: &str, mut each: impl FnMut(&T) -> String) -> String {
    if parts.is_empty() {
        return empty.to_owned();
    }
    let parts: Vec<String> = parts.iter().map(&mut each).collect();
    format!("({})", parts.join(word))
}

/// Returns a condition that is true or false, never null: its negation must be exact.
fn comparison_sql(key: &str, comparison: &FilterComparison, statement: &mut SqlStatement) -> String {
    use FilterComparison as Is;
    let normal = |operand: &MetadataScalar| normalise_operand(key, operand);
    let all = |operands: &[MetadataScalar]| operands.iter().map(normal).collect::<Vec<_>>();
    match comparison {
        Is::Eq(operand) => equals_sql(key, &[normal(operand)], false, statement),
        Is::Ne(operand) => format!("NOT {}", equals_sql(key, &[normal(operand)], false, statement)),
        Is::In(operands) => equals_sql(key, &all(operands), true, statement),
        Is::Nin(operands) => format!("NOT {}", equals_sql(key, &all(operands), true, statement)),
        Is::Contains(operand) => holds_sql(vec![member_entry(key, &normal(operand))], statement),
        Is::NotContains(operand) => {
            format!(
                "NOT {}",
                holds_sql(vec![member_entry(key, &normal(operand))], statement)
            )
        }
        Is::Gt(operand) => order_sql(key, ">", &normal(operand), statement),
        Is::Gte(operand) => order_sql(key, ">=", &normal(operand), statement),
        Is::Lt(operand) => order_sql(key, "<", &normal(operand), statement),
        Is::Lte(operand) => order_sql(key, "<=", &normal(operand), statement),
    }
}

/// Returns the condition that the value, or with `members` a member of the list, equals one of the operands.
fn equals_sql(key: &str, operands: &[MetadataScalar], members: bool, statement: &mut SqlStatement) -> String {
    let mut choices = Vec::new();
    if let Some(column) = text_column(key) {
        let texts: Vec<Vec<u8>> = operands.iter().filter_map(text_bytes).collect();
        if !texts.is_empty() {
            choices.push(column_equals_sql(column, texts, statement));
        }
    }
    if let Some(column) = time_column(key) {
        let times: Vec<i64> = operands.iter().filter_map(whole_number).collect();
        if !times.is_empty() {
            let times = statement.name_value(times, Type::INT8_ARRAY);
            choices.push(format!("(d.{column} IS NOT NULL AND d.{column} = ANY({times}))"));
        }
    }
    let mut entries: Vec<Vec<u8>> = Vec::new();
    // A text in a field of the place is never an entry too, and a filing time never.
    let has_entries = |operand: &&MetadataScalar| {
        key != "filed_at" && !(text_column(key).is_some() && text_bytes(operand).is_some())
    };
    entries.extend(
        operands
            .iter()
            .filter(has_entries)
            .map(|operand| single_entry(key, operand)),
    );
    if members {
        entries.extend(operands.iter().map(|operand| member_entry(key, operand)));
    }
    if !entries.is_empty() {
        choices.push(holds_sql(entries, statement));
    }
    any_of(&choices)
}

fn column_equals_sql(column: &str, texts: Vec<Vec<u8>>, statement: &mut SqlStatement) -> String {
    let Some((start, length)) = indexed_start(column) else {
        let texts = statement.name_value(texts, Type::BYTEA_ARRAY);
        return format!("(d.{column} IS NOT NULL AND d.{column} = ANY({texts}))");
    };
    // The index holds the beginnings of the texts; of a longer one, the whole text decides. A text that is shorter than
    // a beginning is the whole text: then the server need not look at the drawers at all.
    let is_whole = texts.iter().all(|text| text.len() < length);
    let starts: Vec<Vec<u8>> = texts
        .iter()
        .map(|text| text.iter().take(length).copied().collect())
        .collect();
    let starts = statement.name_value(starts, Type::BYTEA_ARRAY);
    if is_whole {
        return format!("({start} IS NOT NULL AND {start} = ANY({starts}))");
    }
    let texts = statement.name_value(texts, Type::BYTEA_ARRAY);
    format!("({start} IS NOT NULL AND {start} = ANY({starts}) AND d.{column} = ANY({texts}))")
}

/// Returns the beginning of a column that its index holds, and its length in bytes.
fn indexed_start(column: &str) -> Option<(&'static str, usize)> {
    match column {
        "wing" => Some(("d.wing_start", 200)),
        "room" => Some(("d.room_start", 200)),
        "source" => Some(("substring(d.source, 1, 500)", 500)),
        "kind" => Some(("substring(d.kind, 1, 200)", 200)),
        _ => None,
    }
}

/// Returns the condition that the drawer has one of these entries.
fn holds_sql(entries: Vec<Vec<u8>>, statement: &mut SqlStatement) -> String {
    let entries = statement.name_value(entries, Type::BYTEA_ARRAY);
    format!("(d.entries && {entries})")
}

fn order_sql(
    key: &str,
    sign: &'static str,
    operand: &MetadataScalar,
    statement: &mut SqlStatement,
) -> String {
    if let (Some(column), Some(text)) = (text_column(key), text_bytes(operand)) {
        let text = statement.name_value(text, Type::BYTEA);
        return format!("(d.{column} IS NOT NULL AND d.{column} {sign} {text})");
    }
    let mut choices = Vec::new();
    if let Some(column) = time_column(key)
        && let Some((sign, bound)) = time_bound(sign, operand)
    {
        let bound = statement.name_value(bound, Type::INT8);
        choices.push(format!("(d.{column} IS NOT NULL AND d.{column} {sign} {bound})"));
    }
    if key != "filed_at" {
        choices.push(entry_order_sql(key, sign, operand, statement));
    }
    any_of(&choices)
}

fn entry_order_sql(key: &str, sign: &str, operand: &MetadataScalar, statement: &mut SqlStatement) -> String {
    let (first, beyond) = family_bounds(key, operand);
    let first = statement.name_value(first, Type::BYTEA);
    let beyond = statement.name_value(beyond, Type::BYTEA);
    let entry = statement.name_value(single_entry(key, operand), Type::BYTEA);
    format!(
        "EXISTS (SELECT 1 FROM unnest(d.entries) AS e(entry)
            WHERE e.entry >= {first} AND e.entry < {beyond} AND e.entry {sign} {entry})"
    )
}

fn any_of(choices: &[String]) -> String {
    if choices.is_empty() {
        return "false".to_owned();
    }
    format!("({})", choices.join(" OR "))
}

fn text_bytes(scalar: &MetadataScalar) -> Option<Vec<u8>> {
    match scalar {
        MetadataScalar::Text(text) => Some(text.as_bytes().to_vec()),
        _ => None,
    }
}

fn time_column(key: &str) -> Option<&'static str> {
    ["said_at", "filed_at"].into_iter().find(|column| *column == key)
}

/// Returns the integer that a number equals, if there is one.
fn whole_number(scalar: &MetadataScalar) -> Option<i64> {
    match scalar {
        MetadataScalar::Int(int) => Some(*int),
        MetadataScalar::Float(float) if float.fract() == 0.0 && float.abs() < 9.2e18 => Some(*float as i64),
        _ => None,
    }
}

/// Returns the comparison with an integer that is true of the same integers; `None` if none satisfies it.
fn time_bound(sign: &'static str, operand: &MetadataScalar) -> Option<(&'static str, i64)> {
    match operand {
        MetadataScalar::Int(int) => Some((sign, *int)),
        // Casts of floats out of range give the nearest integer, beyond every possible time.
        MetadataScalar::Float(float) => Some(match sign {
            ">" | "<=" => (sign, float.floor() as i64),
            _ => (sign, float.ceil() as i64),
        }),
        _ => None,
    }
}

fn document_sql(filter: &DocumentFilter, statement: &mut SqlStatement) -> String {
    match filter {
        DocumentFilter::All => "true".to_owned(),
        DocumentFilter::Contains(text) => contains_sql(text, statement),
        DocumentFilter::NotContains(text) => format!("NOT {}", contains_sql(text, statement)),
        DocumentFilter::And(parts) => {
            join_parts(parts, " AND ", "true", |part| document_sql(part, statement))
        }
        DocumentFilter::Or(parts) => join_parts(parts, " OR ", "false", |part| document_sql(part, statement)),
    }
}

fn contains_sql(text: &str, statement: &mut SqlStatement) -> String {
    let text = statement.name_value(text.as_bytes().to_vec(), Type::BYTEA);
    format!("(position({text} IN coalesce(d.document, ''::bytea)) > 0)")
}
