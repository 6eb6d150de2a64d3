//! The wings that a right reaches: none, some, or all of a palace.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The wings that a right reaches in one palace.
///
/// Names are compared byte by byte. Two spellings of one wing are two names here: a collection knows its own spelling,
/// and resolves each name on its own. So a look-alike of a name is another name, and narrowing a reach can only lose wings.
///
/// `Everywhere` also covers drawers without a wing and wings that do not exist yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WingReach {
    /// No wing.
    #[default]
    Nowhere,
    /// These wings: sorted, each once, at least one. Make it with [`WingReach::of_wings`].
    Wings(Vec<String>),
    /// The whole palace.
    Everywhere,
}

impl WingReach {
    /// Returns the reach of these wings: `Nowhere` for none, and the same for every order and repetition of them.
    pub fn of_wings(wings: impl IntoIterator<Item = String>) -> Self {
        let wings: BTreeSet<String> = wings.into_iter().collect();
        if wings.is_empty() {
            Self::Nowhere
        } else {
            Self::Wings(wings.into_iter().collect())
        }
    }

    /// Reports whether no wing is reached.
    pub fn is_nowhere(&self) -> bool {
        match self {
            Self::Nowhere => true,
            Self::Wings(wings) => wings.is_empty(),
            Self::Everywhere => false,
        }
    }

    /// Reports whether the whole palace is reached.
    pub fn is_everywhere(&self) -> bool {
        *self == Self::Everywhere
    }

    /// Reports whether the wing of a drawer is reached; a drawer without a wing only by `Everywhere`.
    pub fn reaches_wing(&self, wing: Option<&str>) -> bool {
        match (self, wing) {
            (Self::Everywhere, _) => true,
            (Self::Wings(wings), Some(wing)) => wings.iter().any(|own| own == wing),
            (Self::Nowhere, _) | (Self::Wings(_), None) => false,
        }
    }

    /// Reports whether everything that `other` reaches is reached.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Everywhere, _) => true,
            (_, Self::Everywhere) => false,
            (_, other) => other
                .named_wings()
                .iter()
                .all(|wing| self.reaches_wing(Some(wing))),
        }
    }

    /// Returns everything that either reaches.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Everywhere, _) | (_, Self::Everywhere) => Self::Everywhere,
            _ => Self::of_wings(self.named_wings().iter().chain(other.named_wings()).cloned()),
        }
    }

    /// Returns everything that both reach.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Everywhere, Self::Everywhere) => Self::Everywhere,
            (Self::Everywhere, some) | (some, Self::Everywhere) => {
                Self::of_wings(some.named_wings().iter().cloned())
            }
            _ => {
                let wings = self.named_wings().iter();
                Self::of_wings(wings.filter(|wing| other.reaches_wing(Some(wing))).cloned())
            }
        }
    }

    /// Returns the wings that are named; none for `Nowhere` and `Everywhere`.
    pub fn named_wings(&self) -> &[String] {
        match self {
            Self::Wings(wings) => wings,
            Self::Nowhere | Self::Everywhere => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Wings that look alike among them: each is a name of its own.
    const NAMES: [&str; 6] = [
        "work",
        "Work",
        "w\u{43e}rk",
        "wo\u{200b}rk",
        "wörk",
        "wo\u{308}rk",
    ];

    fn wings() -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec(proptest::sample::select(&NAMES[..]).prop_map(str::to_owned), 0..5)
    }

    fn reaches() -> impl Strategy<Value = WingReach> {
        prop_oneof![
            1 => Just(WingReach::Everywhere),
            1 => Just(WingReach::Nowhere),
            6 => wings().prop_map(WingReach::of_wings),
        ]
    }

    /// Everything whose reach can differ: a drawer without a wing, each name, and a name that no reach has.
    fn places() -> impl Iterator<Item = Option<&'static str>> {
        NAMES.into_iter().chain(["elsewhere"]).map(Some).chain([None])
    }

    proptest! {
        #[test]
        fn a_union_reaches_what_either_does_and_an_intersection_what_both_do(a in reaches(), b in reaches()) {
            for place in places() {
                let (in_a, in_b) = (a.reaches_wing(place), b.reaches_wing(place));
                prop_assert_eq!(a.union(&b).reaches_wing(place), in_a || in_b);
                prop_assert_eq!(a.intersection(&b).reaches_wing(place), in_a && in_b);
            }
        }

        #[test]
        fn a_reach_covers_another_if_it_reaches_every_place_that_the_other_does(a in reaches(), b in reaches()) {
            let every = places().all(|place| a.reaches_wing(place) || !b.reaches_wing(place));
            prop_assert_eq!(a.covers(&b), every);
            prop_assert!(a.covers(&a.intersection(&b)) && a.union(&b).covers(&a));
            prop_assert_eq!(a.covers(&b), a.union(&b) == a);
        }

        #[test]
        fn order_grouping_and_repetition_change_nothing(a in reaches(), b in reaches(), c in reaches()) {
            prop_assert_eq!(a.union(&b), b.union(&a));
            prop_assert_eq!(a.intersection(&b), b.intersection(&a));
            prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
            prop_assert_eq!(a.intersection(&b).intersection(&c), a.intersection(&b.intersection(&c)));
            prop_assert_eq!(a.union(&a), a.clone());
            prop_assert_eq!(a.intersection(&a), a.clone());
            prop_assert_eq!(
                a.intersection(&b.union(&c)),
                a.intersection(&b).union(&a.intersection(&c))
            );
        }
    }

    #[test]
    fn a_look_alike_of_a_wing_is_another_wing() {
        let one = WingReach::of_wings(["work".to_owned()]);
        for name in &NAMES[1..] {
            assert!(!one.reaches_wing(Some(name)), "{name:?}");
            let other = WingReach::of_wings([(*name).to_owned()]);
            assert!(
                one.intersection(&other).is_nowhere() && !one.covers(&other),
                "{name:?}"
            );
        }
    }

    #[test]
    fn a_reach_of_an_empty_list_reaches_nothing_however_it_was_made() {
        let made = WingReach::Wings(Vec::new());
        assert!(made.is_nowhere() && WingReach::Nowhere.covers(&made) && !made.is_everywhere());
        assert_eq!(WingReach::of_wings([]), WingReach::Nowhere);
    }

    #[test]
    fn a_reach_is_json_that_says_which() {
        let check = |reach: WingReach, json: &str| {
            assert_eq!(serde_json::to_string(&reach).unwrap(), json);
            assert_eq!(serde_json::from_str::<WingReach>(json).unwrap(), reach);
        };
        check(WingReach::Nowhere, r#""nowhere""#);
        check(WingReach::Everywhere, r#""everywhere""#);
        check(
            WingReach::of_wings(["b", "a", "b"].map(str::to_owned)),
            r#"{"wings":["a","b"]}"#,
        );
    }
}
