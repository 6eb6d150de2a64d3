//! Reads metadata filters from the JSON dialect, naming the path to whatever is wrong.

use serde_json::{Map, Value as Json};

use super::{Comparison, Filter, Operand};
use crate::metadata::json_kind;
use crate::{Error, ErrorKind, Result, Scalar};

const OPERATORS: &str = "$eq, $ne, $in, $nin, $contains, $not_contains, $gt, $gte, $lt, $lte";

impl Filter {
    /// Reads the JSON dialect; an error names the path to the part that is wrong.
    pub fn parse(json: &Json) -> Result<Self> {
        parse_node(json, &Path::root("where"), 0)
    }

    /// Reads the JSON dialect from text.
    pub fn parse_str(text: &str) -> Result<Self> {
        let json = serde_json::from_str(text).map_err(|cause| {
            Error::invalid("the filter is not JSON")
                .caused_by(cause)
                .hint(r#"write a filter like '{"wing":"work"}' or '{"n":{"$gte":3}}'"#)
        })?;
        Self::parse(&json)
    }
}

fn parse_node(json: &Json, path: &Path, depth: usize) -> Result<Filter> {
    let Json::Object(map) = json else {
        return Err(path.invalid(format!("expected an object, found {}", json_kind(json))));
    };
    if depth > Filter::MAX_DEPTH {
        return Err(path.invalid(format!("nested deeper than {}", Filter::MAX_DEPTH)));
    }
    let mut parts = Vec::with_capacity(map.len());
    for (key, operand) in map {
        parse_entry(key, operand, path, depth, &mut parts)?;
    }
    Ok(one_or_and(parts))
}

fn parse_entry(key: &str, operand: &Json, path: &Path, depth: usize, parts: &mut Vec<Filter>) -> Result<()> {
    let at = path.key(key);
    let nested = |part: &Json, at: &Path| parse_node(part, at, depth + 1);
    match key {
        "$and" => parts.push(Filter::And(list(operand, &at, nested)?)),
        "$or" => parts.push(Filter::Or(list(operand, &at, nested)?)),
        _ if key.starts_with('$') => {
            return Err(refuse_unknown(key, &at, "$and, $or, or a metadata key"));
        }
        _ => match operand {
            Json::Object(operators) => parse_operators(key, operators, &at, parts)?,
            one => parts.push(Filter::Compare(key.to_owned(), Comparison::Eq(scalar(one, &at)?))),
        },
    }
    Ok(())
}

fn parse_operators(
    key: &str,
    operators: &Map<String, Json>,
    path: &Path,
    parts: &mut Vec<Filter>,
) -> Result<()> {
    if operators.is_empty() {
        return Err(path.invalid(format!("expected one of {OPERATORS}, found an empty object")));
    }
    for (operator, operand) in operators {
        let at = path.key(operator);
        let comparison = match operator.as_str() {
            "$eq" => Comparison::Eq(scalar(operand, &at)?),
            "$ne" => Comparison::Ne(scalar(operand, &at)?),
            "$in" => Comparison::In(one_family(operand, &at)?),
            "$nin" => Comparison::Nin(one_family(operand, &at)?),
            "$contains" => Comparison::Contains(scalar(operand, &at)?),
            "$not_contains" => Comparison::NotContains(scalar(operand, &at)?),
            "$gt" => Comparison::Gt(ordered(operand, &at)?),
            "$gte" => Comparison::Gte(ordered(operand, &at)?),
            "$lt" => Comparison::Lt(ordered(operand, &at)?),
            "$lte" => Comparison::Lte(ordered(operand, &at)?),
            other => return Err(refuse_unknown(other, &at, OPERATORS)),
        };
        parts.push(Filter::Compare(key.to_owned(), comparison));
    }
    Ok(())
}

fn one_or_and(mut parts: Vec<Filter>) -> Filter {
    match parts.len() {
        0 => Filter::All,
        1 => parts.swap_remove(0),
        _ => Filter::And(parts),
    }
}

/// Reads a non-empty list, each part with its own path.
pub(super) fn list<T>(json: &Json, path: &Path, read: impl Fn(&Json, &Path) -> Result<T>) -> Result<Vec<T>> {
    match json {
        Json::Array(items) if items.is_empty() => Err(path.invalid("the list is empty")),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, item)| read(item, &path.index(at)))
            .collect(),
        other => Err(path.invalid(format!("expected a list, found {}", json_kind(other)))),
    }
}

pub(super) fn refuse_unknown(operator: &str, path: &Path, known: &str) -> Error {
    Error::new(
        ErrorKind::UnsupportedFilter,
        format!("{path}: {operator:?} is not an operator that stands here"),
    )
    .hint(format!("known here: {known}"))
}

fn scalar(json: &Json, path: &Path) -> Result<Operand> {
    Scalar::from_json(json, &path.to_string())
}

fn ordered(json: &Json, path: &Path) -> Result<Operand> {
    match scalar(json, path)? {
        Scalar::Bool(_) => Err(path.invalid("booleans have no order; compare with a number or a string")),
        operand => Ok(operand),
    }
}

fn one_family(json: &Json, path: &Path) -> Result<Vec<Operand>> {
    let operands = list(json, path, scalar)?;
    let family = |operand: &Operand| match operand {
        Scalar::Text(_) => "strings",
        Scalar::Bool(_) => "booleans",
        Scalar::Int(_) | Scalar::Float(_) => "numbers",
    };
    let mut families: Vec<_> = operands.iter().map(family).collect();
    families.dedup();
    match families.as_slice() {
        [_] => Ok(operands),
        mixed => Err(path.invalid(format!("the list mixes {}", mixed.join(" and ")))),
    }
}

/// Where in a filter something stands, as `where.$and[1].n`.
#[derive(Debug)]
pub(super) struct Path(String);

impl Path {
    pub(super) fn root(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub(super) fn key(&self, key: &str) -> Self {
        Self(format!("{}.{key}", self.0))
    }

    fn index(&self, at: usize) -> Self {
        Self(format!("{}[{at}]", self.0))
    }

    pub(super) fn invalid(&self, what: impl std::fmt::Display) -> Error {
        Error::invalid(format!("{self}: {what}"))
    }
}

impl std::fmt::Display for Path {
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

    fn operand() -> impl Strategy<Value = Scalar> {
        prop_oneof![
            any::<i64>().prop_map(Scalar::Int),
            (-1e300..1e300_f64).prop_map(Scalar::Float),
            ".{0,8}".prop_map(Scalar::Text),
        ]
    }

    fn filter() -> impl Strategy<Value = Filter> {
        let key = "[a-z抽\"]{1,6}";
        let leaf = prop_oneof![
            (key, operand()).prop_map(|(k, o)| Filter::Compare(k, Comparison::Eq(o))),
            (key, operand()).prop_map(|(k, o)| Filter::Compare(k, Comparison::Ne(o))),
            (key, operand()).prop_map(|(k, o)| Filter::Compare(k, Comparison::Gte(o))),
            (key, operand()).prop_map(|(k, o)| Filter::Compare(k, Comparison::Contains(o))),
            (key, operand()).prop_map(|(k, o)| Filter::Compare(k, Comparison::NotContains(o))),
            (
                key,
                prop::collection::vec(any::<i64>().prop_map(Scalar::Int), 1..4)
            )
                .prop_map(|(k, o)| Filter::Compare(k, Comparison::In(o))),
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
