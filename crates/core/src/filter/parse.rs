//! Parses metadata filters from the JSON dialect; errors name the path to the faulty part.

use serde_json::{Map, Value as Json};

use super::{Filter, FilterComparison, FilterOperand};
use crate::metadata::json_kind;
use crate::{Error, ErrorKind, MetadataScalar, Result};

const OPERATORS: &str = "$eq, $ne, $in, $nin, $contains, $not_contains, $gt, $gte, $lt, $lte";

impl Filter {
    /// Parses the JSON dialect; an error names the path to the faulty part.
    pub fn parse(json: &Json) -> Result<Self> {
        parse_node(json, &FilterPath::root("where"), 0)
    }

    /// Parses the JSON dialect from text.
    pub fn parse_str(text: &str) -> Result<Self> {
        let json = serde_json::from_str(text).map_err(|cause| {
            Error::invalid("the filter is not JSON")
                .caused_by(cause)
                .with_hint(r#"write a filter like '{"wing":"work"}' or '{"n":{"$gte":3}}'"#)
        })?;
        Self::parse(&json)
    }
}

fn parse_node(json: &Json, path: &FilterPath, depth: usize) -> Result<Filter> {
    let Json::Object(map) = json else {
        return Err(path.invalid_error(format!("expected an object, found {}", json_kind(json))));
    };
    // Filters arrive from agents and over HTTP: unbounded nesting would overflow the stack here and in
    // every backend.
    if depth > Filter::MAX_DEPTH {
        return Err(path.invalid_error(format!("nested deeper than {}", Filter::MAX_DEPTH)));
    }
    let mut parts = Vec::with_capacity(map.len());
    for (key, operand) in map {
        parse_entry(key, operand, path, depth, &mut parts)?;
    }
    Ok(join_with_and(parts))
}

fn parse_entry(
    key: &str,
    operand: &Json,
    path: &FilterPath,
    depth: usize,
    parts: &mut Vec<Filter>,
) -> Result<()> {
    let at = path.at_key(key);
    let nested = |part: &Json, at: &FilterPath| parse_node(part, at, depth + 1);
    match key {
        "$and" => parts.push(Filter::And(parse_list(operand, &at, nested)?)),
        "$or" => parts.push(Filter::Or(parse_list(operand, &at, nested)?)),
        // A metadata key may not begin with `$` in a filter; otherwise a misspelt operator would silently
        // compare a key that no drawer has.
        _ if key.starts_with('$') => {
            return Err(unknown_operator_error(key, &at, "$and, $or, or a metadata key"));
        }
        _ => match operand {
            Json::Object(operators) => parse_operators(key, operators, &at, parts)?,
            one => parts.push(Filter::Compare(
                key.to_owned(),
                FilterComparison::Eq(parse_scalar(one, &at)?),
            )),
        },
    }
    Ok(())
}

fn parse_operators(
    key: &str,
    operators: &Map<String, Json>,
    path: &FilterPath,
    parts: &mut Vec<Filter>,
) -> Result<()> {
    // Taken literally, no operators would accept everything, which is never the intent of `{"key": {}}`.
    if operators.is_empty() {
        return Err(path.invalid_error(format!("expected one of {OPERATORS}, found an empty object")));
    }
    for (operator, operand) in operators {
        let at = path.at_key(operator);
        let comparison = match operator.as_str() {
            "$eq" => FilterComparison::Eq(parse_scalar(operand, &at)?),
            "$ne" => FilterComparison::Ne(parse_scalar(operand, &at)?),
            "$in" => FilterComparison::In(parse_same_family_list(operand, &at)?),
            "$nin" => FilterComparison::Nin(parse_same_family_list(operand, &at)?),
            "$contains" => FilterComparison::Contains(parse_scalar(operand, &at)?),
            "$not_contains" => FilterComparison::NotContains(parse_scalar(operand, &at)?),
            "$gt" => FilterComparison::Gt(parse_ordered_operand(operand, &at)?),
            "$gte" => FilterComparison::Gte(parse_ordered_operand(operand, &at)?),
            "$lt" => FilterComparison::Lt(parse_ordered_operand(operand, &at)?),
            "$lte" => FilterComparison::Lte(parse_ordered_operand(operand, &at)?),
            other => return Err(unknown_operator_error(other, &at, OPERATORS)),
        };
        parts.push(Filter::Compare(key.to_owned(), comparison));
    }
    Ok(())
}

fn join_with_and(mut parts: Vec<Filter>) -> Filter {
    match parts.len() {
        0 => Filter::All,
        1 => parts.swap_remove(0),
        _ => Filter::And(parts),
    }
}

/// Parses a non-empty list, each part with its own path.
pub(super) fn parse_list<T>(
    json: &Json,
    path: &FilterPath,
    read: impl Fn(&Json, &FilterPath) -> Result<T>,
) -> Result<Vec<T>> {
    match json {
        // Dialects disagree on whether an empty `$or` or `$in` accepts everything or nothing, so it is
        // refused.
        Json::Array(items) if items.is_empty() => Err(path.invalid_error("the list is empty")),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, item)| read(item, &path.at_index(at)))
            .collect(),
        other => Err(path.invalid_error(format!("expected a list, found {}", json_kind(other)))),
    }
}

pub(super) fn unknown_operator_error(operator: &str, path: &FilterPath, known: &str) -> Error {
    Error::new(
        ErrorKind::UnsupportedFilter,
        format!("{path}: {operator:?} is not an operator that is allowed here"),
    )
    .with_hint(format!("allowed here: {known}"))
}

fn parse_scalar(json: &Json, path: &FilterPath) -> Result<FilterOperand> {
    MetadataScalar::from_json(json, &path.to_string())
}

fn parse_ordered_operand(json: &Json, path: &FilterPath) -> Result<FilterOperand> {
    match parse_scalar(json, path)? {
        MetadataScalar::Bool(_) => {
            Err(path.invalid_error("booleans have no order; compare with a number or a string"))
        }
        operand => Ok(operand),
    }
}

fn parse_same_family_list(json: &Json, path: &FilterPath) -> Result<Vec<FilterOperand>> {
    // A list that mixes families is nearly always a mistake: a key rarely holds values of two families.
    let operands = parse_list(json, path, parse_scalar)?;
    let family = |operand: &FilterOperand| match operand {
        MetadataScalar::Text(_) => "strings",
        MetadataScalar::Bool(_) => "booleans",
        MetadataScalar::Int(_) | MetadataScalar::Float(_) => "numbers",
    };
    let mut families: Vec<_> = operands.iter().map(family).collect();
    families.dedup();
    match families.as_slice() {
        [_] => Ok(operands),
        mixed => Err(path.invalid_error(format!("the list mixes {}", mixed.join(" and ")))),
    }
}

/// The path to a part of a filter, such as `where.$and[1].n`.
#[derive(Debug)]
pub(super) struct FilterPath(String);

impl FilterPath {
    pub(super) fn root(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub(super) fn at_key(&self, key: &str) -> Self {
        Self(format!("{}.{key}", self.0))
    }

    fn at_index(&self, at: usize) -> Self {
        Self(format!("{}[{at}]", self.0))
    }

    pub(super) fn invalid_error(&self, what: impl std::fmt::Display) -> Error {
        Error::invalid(format!("{self}: {what}"))
    }
}

impl std::fmt::Display for FilterPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_wrong_is_named_by_its_path() {
        for (json, kind, named) in [
            (r#"{"$regex":"x"}"#, ErrorKind::UnsupportedFilter, "where.$regex"),
            (
                r#"{"n":{"$near":3}}"#,
                ErrorKind::UnsupportedFilter,
                "where.n.$near",
            ),
            (
                r#"{"n":{"$and":[]}}"#,
                ErrorKind::UnsupportedFilter,
                "where.n.$and",
            ),
            (
                r#"{"$and":[{"a":1},{"b":{"$regex":"x"}}]}"#,
                ErrorKind::UnsupportedFilter,
                "where.$and[1].b.$regex",
            ),
            (r#"{"$and":{"a":1}}"#, ErrorKind::Invalid, "where.$and"),
            (r#"{"$or":[]}"#, ErrorKind::Invalid, "where.$or"),
            (r#"{"n":{}}"#, ErrorKind::Invalid, "where.n"),
            (r#"{"n":{"x":1}}"#, ErrorKind::UnsupportedFilter, "where.n.x"),
            (r#"{"n":null}"#, ErrorKind::Invalid, "where.n"),
            (r#"{"n":[1]}"#, ErrorKind::Invalid, "where.n"),
            (
                r#"{"n":{"$contains":[1]}}"#,
                ErrorKind::Invalid,
                "where.n.$contains",
            ),
            (r#"{"n":{"$in":1}}"#, ErrorKind::Invalid, "where.n.$in"),
            (r#"{"n":{"$in":[]}}"#, ErrorKind::Invalid, "where.n.$in"),
            (
                r#"{"n":{"$in":[1,"a"]}}"#,
                ErrorKind::Invalid,
                "mixes numbers and strings",
            ),
            (r#"{"n":{"$gt":true}}"#, ErrorKind::Invalid, "where.n.$gt"),
            (r#"{"n":{"$gt":[1]}}"#, ErrorKind::Invalid, "where.n.$gt"),
            (r#"[]"#, ErrorKind::Invalid, "where"),
            (r#"{"n""#, ErrorKind::Invalid, "not JSON"),
        ] {
            let error = Filter::parse_str(json).unwrap_err();
            assert_eq!(error.kind(), kind, "{json}: {error}");
            assert!(error.message().contains(named), "{json}: {error}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        let deep = format!("{}{{}}{}", r#"{"$and":["#.repeat(40), "]}".repeat(40));
        assert_eq!(Filter::parse_str(&deep).unwrap_err().kind(), ErrorKind::Invalid);
    }

    fn operand() -> impl Strategy<Value = MetadataScalar> {
        prop_oneof![
            any::<i64>().prop_map(MetadataScalar::Int),
            (-1e300..1e300_f64).prop_map(MetadataScalar::Float),
            ".{0,8}".prop_map(MetadataScalar::Text),
        ]
    }

    fn filter() -> impl Strategy<Value = Filter> {
        let key = "[a-z抽\"]{1,6}";
        let leaf = prop_oneof![
            (key, operand()).prop_map(|(k, o)| Filter::Compare(k, FilterComparison::Eq(o))),
            (key, operand()).prop_map(|(k, o)| Filter::Compare(k, FilterComparison::Ne(o))),
            (key, operand()).prop_map(|(k, o)| Filter::Compare(k, FilterComparison::Gte(o))),
            (key, operand()).prop_map(|(k, o)| Filter::Compare(k, FilterComparison::Contains(o))),
            (key, operand()).prop_map(|(k, o)| Filter::Compare(k, FilterComparison::NotContains(o))),
            (
                key,
                prop::collection::vec(any::<i64>().prop_map(MetadataScalar::Int), 1..4)
            )
                .prop_map(|(k, o)| Filter::Compare(k, FilterComparison::In(o))),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(Filter::And),
                prop::collection::vec(inner, 1..4).prop_map(Filter::Or),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_printed_filter_reads_back_equal(filter in filter()) {
            prop_assert_eq!(Filter::parse_str(&filter.to_string()).unwrap(), filter);
        }

        #[test]
        fn any_text_is_read_or_refused_without_panic(text in ".{0,64}") {
            let _ = Filter::parse_str(&text);
        }
    }
}
