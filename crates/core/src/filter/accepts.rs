//! The oracle: evaluates a filter on one drawer.

use std::cmp::Ordering;

use super::{Filter, FilterComparison, normalise_operand};
use crate::{Drawer, MetadataScalar};

impl Filter {
    /// Reports whether the filter accepts `drawer`, which must hold its metadata.
    pub fn accepts(&self, drawer: &Drawer) -> bool {
        match self {
            Self::All => true,
            Self::Compare(key, comparison) => {
                comparison.accepts(key, drawer.attribute(key).as_deref(), drawer.list_members(key))
            }
            Self::And(parts) => parts.iter().all(|part| part.accepts(drawer)),
            Self::Or(parts) => parts.iter().any(|part| part.accepts(drawer)),
        }
    }
}

impl FilterComparison {
    /// Reports whether `value`, the single attribute under `key`, or `members`, those of a list there, satisfy the
    /// comparison.
    pub fn accepts(&self, key: &str, value: Option<&MetadataScalar>, members: &[MetadataScalar]) -> bool {
        let order =
            |operand: &MetadataScalar| value.and_then(|v| v.compare(&normalise_operand(key, operand)));
        let equals = |operand: &MetadataScalar| order(operand) == Some(Ordering::Equal);
        // Lists are matched by member. `$eq` still matches no list: one that equals a scalar would
        // surprise more often than it helps (decision 019).
        let holds = |operand: &MetadataScalar| {
            let operand = normalise_operand(key, operand);
            members
                .iter()
                .any(|member| member.compare(&operand) == Some(Ordering::Equal))
        };
        match self {
            Self::Eq(operand) => equals(operand),
            // Negations are exact complements, so they also accept drawers without the key or with a
            // value of another family.
            Self::Ne(operand) => !equals(operand),
            Self::In(operands) => operands.iter().any(|operand| equals(operand) || holds(operand)),
            Self::Nin(operands) => !operands.iter().any(|operand| equals(operand) || holds(operand)),
            Self::Contains(operand) => holds(operand),
            Self::NotContains(operand) => !holds(operand),
            Self::Gt(operand) => order(operand).is_some_and(Ordering::is_gt),
            Self::Gte(operand) => order(operand).is_some_and(Ordering::is_ge),
            Self::Lt(operand) => order(operand).is_some_and(Ordering::is_lt),
            Self::Lte(operand) => order(operand).is_some_and(Ordering::is_le),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DrawerId, DrawerPlace, Metadata, MetadataValue};

    fn drawer() -> Drawer {
        let metadata = Metadata::new()
            .with_entry("n", 3_i64)
            .with_entry("f", 2.5)
            .with_entry("t", "text")
            .with_entry("b", true)
            .with_entry("tags", MetadataValue::Many(vec![MetadataScalar::Int(3)]));
        let place = DrawerPlace {
            wing: Some("work".into()),
            said_at: Some("2026-05-01T10:00:00.5Z".parse().unwrap()),
            ..DrawerPlace::default()
        };
        Drawer {
            metadata: Some(metadata),
            place,
            ..Drawer::with_id_only(DrawerId::new("a").unwrap())
        }
    }

    fn check(json: &str, expect: bool) {
        let filter = Filter::parse_str(json).unwrap();
        assert_eq!(filter.accepts(&drawer()), expect, "{json}");
    }

    #[test]
    fn comparisons_follow_type_families() {
        check(r#"{"n":3}"#, true);
        check(r#"{"n":3.0}"#, true);
        check(r#"{"n":"3"}"#, false);
        check(r#"{"n":true}"#, false);
        check(r#"{"b":1}"#, false);
        check(r#"{"f":{"$gt":2}}"#, true);
        check(r#"{"t":{"$gte":"tex"}}"#, true);
        check(r#"{"t":{"$gt":3}}"#, false);
        check(r#"{"n":{"$in":[1,3]}}"#, true);
        check(r#"{"tags":3}"#, false);
        check(r#"{"tags":{"$ne":3}}"#, true);
    }

    #[test]
    fn lists_are_asked_by_their_members() {
        check(r#"{"tags":{"$contains":3}}"#, true);
        check(r#"{"tags":{"$contains":3.0}}"#, true);
        check(r#"{"tags":{"$contains":"3"}}"#, false);
        check(r#"{"tags":{"$not_contains":3}}"#, false);
        check(r#"{"tags":{"$not_contains":4}}"#, true);
        check(r#"{"tags":{"$in":[1,3]}}"#, true);
        check(r#"{"tags":{"$nin":[1,3]}}"#, false);
        check(r#"{"tags":{"$gte":3}}"#, false);
        check(r#"{"n":{"$contains":3}}"#, false);
        check(r#"{"n":{"$not_contains":3}}"#, true);
        check(r#"{"gone":{"$contains":3}}"#, false);
    }

    #[test]
    fn negations_accept_missing_keys() {
        check(r#"{"gone":{"$ne":1}}"#, true);
        check(r#"{"gone":{"$nin":[1,2]}}"#, true);
        check(r#"{"gone":{"$lt":1}}"#, false);
        check(r#"{"n":{"$nin":[3]}}"#, false);
    }

    #[test]
    fn places_and_times_are_attributes() {
        check(r#"{"wing":"work"}"#, true);
        check(r#"{"room":"x"}"#, false);
        check(r#"{"said_at":{"$gte":"2026-05-01T10:00:00Z"}}"#, true);
        check(r#"{"said_at":{"$lt":"2026-05-01T12:00:00+02:00"}}"#, false);
        check(r#"{"said_at":{"$gte":"2026-05-02"}}"#, false);
    }

    #[test]
    fn conjunctions_nest() {
        check(r#"{}"#, true);
        check(r#"{"n":3,"wing":"work"}"#, true);
        check(r#"{"n":{"$gte":3,"$lt":3}}"#, false);
        check(r#"{"$or":[{"n":9},{"$and":[{"n":3},{"t":"text"}]}]}"#, true);
    }
}
