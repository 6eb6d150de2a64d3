//! A set of row numbers or its complement: the rows that a filter allows.

use std::cmp::Ordering;

/// A sorted set of row numbers or the complement of one.
///
/// Every operation is linear in the lists it holds; a complement never lists its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSet(RowSetKind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum RowSetKind {
    Listed(Vec<i64>),
    Excluded(Vec<i64>),
}

impl RowSet {
    /// Creates the set of all rows.
    pub fn everything() -> Self {
        Self(RowSetKind::Excluded(Vec::new()))
    }

    /// Creates the empty set.
    pub fn nothing() -> Self {
        Self(RowSetKind::Listed(Vec::new()))
    }

    /// Creates the set of these rows, given in any order and with repeats.
    pub fn from_rows(mut rows: Vec<i64>) -> Self {
        // Rows that come from an index are sorted already; checking is much cheaper than sorting again.
        if !rows.is_sorted_by(|a, b| a < b) {
            rows.sort_unstable();
            rows.dedup();
        }
        Self(RowSetKind::Listed(rows))
    }

    /// Reports whether `row` is a member.
    pub fn contains(&self, row: i64) -> bool {
        match &self.0 {
            RowSetKind::Listed(rows) => rows.binary_search(&row).is_ok(),
            RowSetKind::Excluded(rows) => rows.binary_search(&row).is_err(),
        }
    }

    /// Keeps the rows that are in both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(match (self.0, other.0) {
            (RowSetKind::Listed(a), RowSetKind::Listed(b)) => RowSetKind::Listed(intersect_rows(a, &b)),
            (RowSetKind::Listed(a), RowSetKind::Excluded(b))
            | (RowSetKind::Excluded(b), RowSetKind::Listed(a)) => RowSetKind::Listed(subtract_rows(a, &b)),
            (RowSetKind::Excluded(a), RowSetKind::Excluded(b)) => RowSetKind::Excluded(merge_rows(a, b)),
        })
    }

    /// Keeps the rows that are in either set.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(match (self.0, other.0) {
            (RowSetKind::Listed(a), RowSetKind::Listed(b)) => RowSetKind::Listed(merge_rows(a, b)),
            (RowSetKind::Listed(a), RowSetKind::Excluded(b))
            | (RowSetKind::Excluded(b), RowSetKind::Listed(a)) => RowSetKind::Excluded(subtract_rows(b, &a)),
            (RowSetKind::Excluded(a), RowSetKind::Excluded(b)) => RowSetKind::Excluded(intersect_rows(a, &b)),
        })
    }

    /// Returns the complement.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "reads as and, or, not")]
    pub fn not(self) -> Self {
        Self(match self.0 {
            RowSetKind::Listed(rows) => RowSetKind::Excluded(rows),
            RowSetKind::Excluded(rows) => RowSetKind::Listed(rows),
        })
    }

    /// Reports for each of these ascending rows whether it is a member.
    pub fn mark_members(&self, ascending: &[i64]) -> Vec<bool> {
        let (rows, listed) = match &self.0 {
            RowSetKind::Listed(rows) => (rows, true),
            RowSetKind::Excluded(rows) => (rows, false),
        };
        let mut seeker = RowSeeker(rows);
        ascending
            .iter()
            .map(|row| seeker.seek_row(*row) == listed)
            .collect()
    }

    /// Reports whether all rows from `first` to `last` are members, or none is; `None` if that is not certain.
    pub fn membership_between(&self, first: i64, last: i64) -> Option<bool> {
        let (rows, listed) = match &self.0 {
            RowSetKind::Listed(rows) => (rows, true),
            RowSetKind::Excluded(rows) => (rows, false),
        };
        let from = rows.partition_point(|row| *row < first);
        let touched = rows.get(from).is_some_and(|row| *row <= last);
        (!touched).then_some(!listed)
    }

    /// Returns the members in ascending order; `None` if this is a complement.
    pub fn listed_rows(&self) -> Option<&[i64]> {
        match &self.0 {
            RowSetKind::Listed(rows) => Some(rows),
            RowSetKind::Excluded(_) => None,
        }
    }

    /// Returns the rows that are not members, in ascending order; `None` if the members are listed.
    pub fn excluded_rows(&self) -> Option<&[i64]> {
        match &self.0 {
            RowSetKind::Listed(_) => None,
            RowSetKind::Excluded(rows) => Some(rows),
        }
    }
}

/// Returns the rows of ascending `a` that are also in ascending `b`.
fn intersect_rows(mut a: Vec<i64>, b: &[i64]) -> Vec<i64> {
    let mut seeker = RowSeeker(b);
    a.retain(|&row| seeker.seek_row(row));
    a
}

/// Returns the rows of ascending `a` that are not in ascending `b`.
fn subtract_rows(mut a: Vec<i64>, b: &[i64]) -> Vec<i64> {
    let mut seeker = RowSeeker(b);
    a.retain(|&row| !seeker.seek_row(row));
    a
}

/// Merges two ascending lists into one without repeats.
fn merge_rows(a: Vec<i64>, b: Vec<i64>) -> Vec<i64> {
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

/// Looks up ascending rows in an ascending list without ever going back.
pub(crate) struct RowSeeker<'a>(pub(crate) &'a [i64]);

impl RowSeeker<'_> {
    /// Reports whether `row` is in the list; each call must ask for a larger row than the last.
    pub(crate) fn seek_row(&mut self, row: i64) -> bool {
        self.skip_below(row);
        self.0.first() == Some(&row)
    }

    /// Skips rows smaller than `row`, doubling its stride so that long gaps cost little.
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

    fn members(rows: &RowSet) -> BTreeSet<i64> {
        UNIVERSE.filter(|&row| rows.contains(row)).collect()
    }

    fn any_rows() -> impl Strategy<Value = (RowSet, BTreeSet<i64>)> {
        (proptest::collection::vec(UNIVERSE, 0..80), any::<bool>()).prop_map(|(list, complement)| {
            let set: BTreeSet<i64> = list.iter().copied().collect();
            let rows = RowSet::from_rows(list);
            if complement {
                (rows.not(), UNIVERSE.filter(|row| !set.contains(row)).collect())
            } else {
                (rows, set)
            }
        })
    }

    #[test]
    fn everything_holds_all_and_nothing_holds_none() {
        assert!(RowSet::everything().contains(i64::MIN));
        assert!(!RowSet::nothing().contains(0));
        assert_eq!(RowSet::everything().excluded_rows(), Some(&[][..]));
        assert_eq!(RowSet::everything().listed_rows(), None);
        assert_eq!(RowSet::from_rows(vec![3, 1, 3]).listed_rows(), Some(&[1, 3][..]));
        assert_eq!(RowSet::nothing().excluded_rows(), None);
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
            prop_assert_eq!(a.mark_members(&asked), marks);
            let between: Vec<bool> = (10..30).map(|row| left.contains(&row)).collect();
            match a.membership_between(10, 29) {
                Some(all) => prop_assert!(between.iter().all(|one| *one == all)),
                None => prop_assert!(between.contains(&a.listed_rows().is_some())),
            }
        }
    }
}
