//! The rows that a filter may accept, from the indexes of attributes and of places.

use std::collections::BTreeMap;

use loci_core::{ErrorKind, Filter, FilterComparison, Result};
use loci_index::rows::RowSet;
use rusqlite::Connection;

use crate::attributes::{self, AttributeListing, RangeEnd};
use crate::places;
use crate::shelf::CollectionShelf;

/// The rows that a filter may accept.
#[derive(Debug)]
pub(crate) struct FilterScope {
    /// A superset of the accepted rows of the collection.
    pub(crate) rows: RowSet,
    /// Whether these are exactly the accepted rows; otherwise each drawer must still be tested.
    pub(crate) exact: bool,
}

impl FilterScope {
    fn everything(exact: bool) -> Self {
        Self {
            rows: RowSet::everything(),
            exact,
        }
    }

    fn exactly(rows: RowSet) -> Self {
        Self { rows, exact: true }
    }
}

/// Resolves `filter` to rows from the indexes. A comparison that is not indexed leaves the scope wide and inexact.
pub(crate) fn resolve_scope(
    connection: &Connection,
    shelf: &CollectionShelf,
    filter: &Filter,
) -> Result<FilterScope> {
    let resolver = ScopeResolver { connection, shelf };
    resolver.resolve(filter)
}

/// Looks filters up in the indexes of one collection.
struct ScopeResolver<'a> {
    connection: &'a Connection,
    shelf: &'a CollectionShelf,
}

impl ScopeResolver<'_> {
    fn resolve(&self, filter: &Filter) -> Result<FilterScope> {
        match filter {
            Filter::All => Ok(FilterScope::everything(true)),
            Filter::Compare(key, comparison) => self.resolve_comparison(key, comparison),
            Filter::And(parts) => self.resolve_all(parts),
            Filter::Or(parts) => {
                parts
                    .iter()
                    .try_fold(FilterScope::exactly(RowSet::nothing()), |all, part| {
                        let one = self.resolve(part)?;
                        Ok(FilterScope {
                            rows: all.rows.or(one.rows),
                            exact: all.exact && one.exact,
                        })
                    })
            }
        }
    }

    /// Resolves conditions that must all be met. A wing with a room, and both ends of a range, are looked up together:
    /// one by one, each would list many rows that the other leaves out.
    fn resolve_all(&self, parts: &[Filter]) -> Result<FilterScope> {
        let mut scope = FilterScope::everything(true);
        let mut rest: Vec<&Filter> = parts.iter().collect();
        if let Some(rows) = self.take_place(&mut rest)? {
            scope.rows = rows;
        }
        let mut ranges: BTreeMap<&str, Vec<RangeEnd<'_>>> = BTreeMap::new();
        rest.retain(|part| match part {
            Filter::Compare(key, comparison) => match range_end(comparison) {
                Some(end) => {
                    ranges.entry(key).or_default().push(end);
                    false
                }
                None => true,
            },
            _ => true,
        });
        let ranges = ranges.iter().map(|(key, ends)| self.resolve_range(key, ends));
        for one in ranges.chain(rest.into_iter().map(|part| self.resolve(part))) {
            let one = one?;
            scope = FilterScope {
                rows: scope.rows.and(one.rows),
                exact: scope.exact && one.exact,
            };
        }
        Ok(scope)
    }

    /// Takes a wing and a room out of the conditions and returns the rows of that place, if both are asked for.
    fn take_place(&self, rest: &mut Vec<&Filter>) -> Result<Option<RowSet>> {
        let find = |key: &str| {
            rest.iter().find_map(|part| {
                let (asked, text) = places::text_equality(part)?;
                (asked == key).then_some((*part, text))
            })
        };
        let (Some((wing, wing_text)), Some((room, room_text))) = (find("wing"), find("room")) else {
            return Ok(None);
        };
        match places::rows_in_room(self.connection, self.shelf, wing_text, room_text) {
            Ok(rows) => {
                rest.retain(|part| !std::ptr::eq(*part, wing) && !std::ptr::eq(*part, room));
                Ok(Some(RowSet::from_rows(rows)))
            }
            // The other index may be readable.
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn resolve_comparison(&self, key: &str, comparison: &FilterComparison) -> Result<FilterScope> {
        use FilterComparison::{Contains, Eq, Gt, Gte, In, Lt, Lte, Ne, Nin, NotContains};
        // `$in` and `$nin` match members of lists as well as single values.
        let of_lists = matches!(comparison, In(_) | Nin(_) | Contains(_) | NotContains(_));
        if !self.is_indexed(key, of_lists)? {
            return Ok(FilterScope::everything(false));
        }
        let listing = self.listing(key);
        let one = std::slice::from_ref;
        let rows = match comparison {
            Eq(operand) => listing.rows_equal_to(one(operand))?,
            // Negations are complements, since a drawer without the key meets them too.
            Ne(operand) => listing.rows_equal_to(one(operand))?.not(),
            In(operands) => listing.rows_among(operands)?,
            Nin(operands) => listing.rows_among(operands)?.not(),
            Contains(operand) => listing.rows_holding(one(operand))?,
            NotContains(operand) => listing.rows_holding(one(operand))?.not(),
            Gt(_) | Gte(_) | Lt(_) | Lte(_) => {
                let ends: Vec<_> = range_end(comparison).into_iter().collect();
                return self.resolve_range(key, &ends);
            }
        };
        Ok(FilterScope::exactly(rows))
    }

    fn resolve_range(&self, key: &str, ends: &[RangeEnd<'_>]) -> Result<FilterScope> {
        let rows = if self.is_indexed(key, false)? {
            self.listing(key).rows_in_range(ends)?
        } else {
            None
        };
        Ok(rows.map_or_else(|| FilterScope::everything(false), FilterScope::exactly))
    }

    /// Returns whether the index lists every drawer under this key, or every member of lists if those are asked for.
    fn is_indexed(&self, key: &str, of_lists: bool) -> Result<bool> {
        Ok(
            !(of_lists || key == "filed_at")
                || attributes::are_whole(self.connection, self.shelf.projection)?,
        )
    }

    fn listing<'k>(&'k self, key: &'k str) -> AttributeListing<'k> {
        AttributeListing {
            connection: self.connection,
            projection: self.shelf.projection,
            key,
        }
    }
}

/// Returns the operator and the operand of a comparison of order.
fn range_end(comparison: &FilterComparison) -> Option<RangeEnd<'_>> {
    match comparison {
        FilterComparison::Gt(operand) => Some((">", operand)),
        FilterComparison::Gte(operand) => Some((">=", operand)),
        FilterComparison::Lt(operand) => Some(("<", operand)),
        FilterComparison::Lte(operand) => Some(("<=", operand)),
        _ => None,
    }
}
