//! A set of row numbers, or everything but one: what a filter allows.

use std::cmp::Ordering;

/// A sorted set of row numbers or the complement of one.
///
/// Every operation is linear in the lists it holds; a complement never lists its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Listed(Vec<i64>),
    Excluded(Vec<i64>),
}

impl Rows {
    /// Holds every row there is.
    pub fn everything() -> Self {
        Self(Kind::Excluded(Vec::new()))
    }

    /// Holds no row.
    pub fn nothing() -> Self {
        Self(Kind::Listed(Vec::new()))
    }

    /// Holds exactly these rows, given in any order and with repeats.
    pub fn of(mut rows: Vec<i64>) -> Self {
        if !rows.is_sorted_by(|a, b| a < b) {
            rows.sort_unstable();
            rows.dedup();
        }
        Self(Kind::Listed(rows))
    }

    /// Tells whether `row` is a member.
    pub fn contains(&self, row: i64) -> bool {
        match &self.0 {
            Kind::Listed(rows) => rows.binary_search(&row).is_ok(),
            Kind::Excluded(rows) => rows.binary_search(&row).is_err(),
        }
    }

    /// Keeps the rows that are in both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(match (self.0, other.0) {
            (Kind::Listed(a), Kind::Listed(b)) => Kind::Listed(shared(a, &b)),
            (Kind::Listed(a), Kind::Excluded(b)) | (Kind::Excluded(b), Kind::Listed(a)) => {
                Kind::Listed(without(a, &b))
            }
            (Kind::Excluded(a), Kind::Excluded(b)) => Kind::Excluded(joined(a, b)),
        })
    }

    /// Keeps the rows that are in either set.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(match (self.0, other.0) {
            (Kind::Listed(a), Kind::Listed(b)) => Kind::Listed(joined(a, b)),
            (Kind::Listed(a), Kind::Excluded(b)) | (Kind::Excluded(b), Kind::Listed(a)) => {
                Kind::Excluded(without(b, &a))
            }
            (Kind::Excluded(a), Kind::Excluded(b)) => Kind::Excluded(shared(a, &b)),
        })
    }

    /// Turns members into strangers and strangers into members.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "reads as and, or, not")]
    pub fn not(self) -> Self {
        Self(match self.0 {
            Kind::Listed(rows) => Kind::Excluded(rows),
            Kind::Excluded(rows) => Kind::Listed(rows),
        })
    }

    /// For each of these ascending rows whether it is a member.
    pub fn marks(&self, ascending: &[i64]) -> Vec<bool> {
        let (rows, listed) = match &self.0 {
            Kind::Listed(rows) => (rows, true),
            Kind::Excluded(rows) => (rows, false),
        };
        let mut seeker = Seeker(rows);
        ascending.iter().map(|row| seeker.finds(*row) == listed).collect()
    }

    /// What may be said of all rows from `first` to `last` at once: members, strangers, or neither.
    pub fn all_between(&self, first: i64, last: i64) -> Option<bool> {
        let (rows, listed) = match &self.0 {
            Kind::Listed(rows) => (rows, true),
            Kind::Excluded(rows) => (rows, false),
        };
        let from = rows.partition_point(|row| *row < first);
        let touched = rows.get(from).is_some_and(|row| *row <= last);
        (!touched).then_some(!listed)
    }

    /// The members in ascending order; `None` if this is a complement.
    pub fn listed(&self) -> Option<&[i64]> {
        match &self.0 {
            Kind::Listed(rows) => Some(rows),
            Kind::Excluded(_) => None,
        }
    }

    /// The rows that are not members, in ascending order; `None` if the members are listed.
    pub fn excluded(&self) -> Option<&[i64]> {
        match &self.0 {
            Kind::Listed(_) => None,
            Kind::Excluded(rows) => Some(rows),
        }
    }
}

/// Keeps of ascending `a` what is also in ascending `b`.
fn shared(mut a: Vec<i64>, b: &[i64]) -> Vec<i64> {
    let mut seeker = Seeker(b);
    a.retain(|&row| seeker.finds(row));
    a
}

/// Keeps of ascending `a` what is not in ascending `b`.
fn without(mut a: Vec<i64>, b: &[i64]) -> Vec<i64> {
    let mut seeker = Seeker(b);
    a.retain(|&row| !seeker.finds(row));
    a
}

/// Merges two ascending lists into one without repeats.
fn joined(a: Vec<i64>, b: Vec<i64>) -> Vec<i64> {
    if a.is_empty() {
        return b;
    }
    if b.is_empty() {
        return a;
    }
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut left, mut right) = (a.into_iter().peekable(), b.into_iter().peekable());
    while let (Some(x), Some(y)) = (left.peek(), right.peek()) {
        match x.cmp(y) {
            Ordering::Less => merged.extend(left.next()),
            Ordering::Greater => merged.extend(right.next()),
            Ordering::Equal => {
                merged.extend(left.next());
                right.next();
            }
        }
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// Answers ascending questions about an ascending list, never looking back.
pub(crate) struct Seeker<'a>(pub(crate) &'a [i64]);

impl Seeker<'_> {
    /// Tells whether `row` is in the list; each call must ask for a larger row than the last.
    pub(crate) fn finds(&mut self, row: i64) -> bool {
        self.skip_below(row);
        self.0.first() == Some(&row)
    }

    /// Drops what is smaller than `row`, doubling its stride so that long gaps cost little.
    fn skip_below(&mut self, row: i64) {
        let mut stride = 1;
        while self.0.get(stride).is_some_and(|&next| next < row) {
            self.0 = self.0.get(stride..).unwrap_or_default();
            stride *= 2;
        }
        let near = self.0.get(..=stride).unwrap_or(self.0);
        let below = near.partition_point(|&next| next < row);
        self.0 = self.0.get(below..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const UNIVERSE: std::ops::Range<i64> = -4..60;

    fn members(rows: &Rows) -> BTreeSet<i64> {
        UNIVERSE.filter(|&row| rows.contains(row)).collect()
    }

    fn any_rows() -> impl Strategy<Value = (Rows, BTreeSet<i64>)> {
        (proptest::collection::vec(UNIVERSE, 0..80), any::<bool>()).prop_map(|(list, complement)| {
            let set: BTreeSet<i64> = list.iter().copied().collect();
            let rows = Rows::of(list);
            if complement {
                (rows.not(), UNIVERSE.filter(|row| !set.contains(row)).collect())
            } else {
                (rows, set)
            }
        })
    }

    #[test]
    fn everything_holds_all_and_nothing_holds_none() {
        assert!(Rows::everything().contains(i64::MIN));
        assert!(!Rows::nothing().contains(0));
        assert_eq!(Rows::everything().excluded(), Some(&[][..]));
        assert_eq!(Rows::everything().listed(), None);
        assert_eq!(Rows::of(vec![3, 1, 3]).listed(), Some(&[1, 3][..]));
        assert_eq!(Rows::nothing().excluded(), None);
    }

    proptest! {
        #[test]
        fn sets_of_rows_behave_like_sets((a, left) in any_rows(), (b, right) in any_rows()) {
            prop_assert_eq!(members(&a), left.clone());
            prop_assert_eq!(members(&a.clone().and(b.clone())), &left & &right);
            prop_assert_eq!(members(&a.clone().or(b)), &left | &right);
            let outside: BTreeSet<i64> = UNIVERSE.filter(|row| !left.contains(row)).collect();
            prop_assert_eq!(members(&a.clone().not()), outside);
            let asked: Vec<i64> = right.iter().copied().collect();
            let marks: Vec<bool> = asked.iter().map(|row| left.contains(row)).collect();
            prop_assert_eq!(a.marks(&asked), marks);
            let between: Vec<bool> = (10..30).map(|row| left.contains(&row)).collect();
            match a.all_between(10, 29) {
                Some(all) => prop_assert!(between.iter().all(|one| *one == all)),
                None => prop_assert!(between.contains(&a.listed().is_some())),
            }
        }
    }
}
