//! Counts of drawers by day, source and wing, answered from the table of days.

use loci_core::filter::normalise_operand;
use loci_core::{
    Drawer, DrawerId, FacetCount, FacetKey, Filter, FilterComparison, MetadataScalar, Result, Timestamp,
};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params};

use super::{DAY, DayClock, EVERY_WING, NO_DAY, are_whole};
use crate::attributes;
use crate::failure::{corrupt_error, sqlite_error};
use crate::shelf::CollectionShelf;

/// A request that the table of days can answer.
pub(crate) struct DayQuery<'a> {
    by: &'a [FacetKey],
    clock: DayClock,
    span: TimeSpan,
    /// The conditions on source and wing.
    filter: Filter,
}

/// The moments from the first, up to but without the second; all moments, and no moment, if it has no ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimeSpan {
    since: i64,
    before: i64,
}

impl TimeSpan {
    const ALL: Self = Self {
        since: i64::MIN,
        before: i64::MAX,
    };

    /// Returns the days that lie in the span as a whole: the first, and the one after the last.
    fn whole_days(self) -> (i64, i64) {
        let started = i64::from(self.since.rem_euclid(DAY) > 0);
        // An open end has no day that is only partly in the span.
        let from = if self.since == Self::ALL.since {
            NO_DAY + 1
        } else {
            self.since.div_euclid(DAY) + started
        };
        let to = if self.before == Self::ALL.before {
            i64::MAX
        } else {
            self.before.div_euclid(DAY)
        };
        (from, to)
    }

    /// Returns the parts of the span before and after its whole days.
    fn edges(self) -> Vec<Self> {
        if self == Self::ALL {
            return Vec::new();
        }
        let (from, to) = self.whole_days();
        if from > to {
            return vec![self];
        }
        let (first, last) = (from.saturating_mul(DAY), to.saturating_mul(DAY));
        let ends = [(self.since, first), (last, self.before)];
        let parts = ends.map(|(since, before)| Self { since, before });
        parts
            .into_iter()
            .filter(|part| part.since < part.before)
            .collect()
    }

    /// Narrows the span by a comparison of the time; `false` if it is not one of order with a whole number.
    fn narrow(&mut self, key: &str, comparison: &FilterComparison) -> bool {
        use FilterComparison::{Gt, Gte, Lt, Lte};
        let (Gt(operand) | Gte(operand) | Lt(operand) | Lte(operand)) = comparison else {
            return false;
        };
        let MetadataScalar::Int(micros) = normalise_operand(key, operand) else {
            return false;
        };
        match comparison {
            Gte(_) => self.since = self.since.max(micros),
            Gt(_) => self.since = self.since.max(micros.saturating_add(1)),
            Lt(_) => self.before = self.before.min(micros),
            _ => self.before = self.before.min(micros.saturating_add(1)),
        }
        true
    }
}

impl<'a> DayQuery<'a> {
    /// Returns the query for a request, or `None` if days, sources and wings do not answer it.
    pub(crate) fn plan(
        connection: &Connection,
        shelf: &CollectionShelf,
        by: &'a [FacetKey],
        filter: &Filter,
    ) -> Result<Option<Self>> {
        use FacetKey::{FiledDay, SaidDay, Source, Wing};
        let counted = by
            .iter()
            .all(|key| matches!(key, SaidDay | FiledDay | Source | Wing));
        let (said, filed) = (by.contains(&SaidDay), by.contains(&FiledDay));
        // Wings alone are counted in the table of places, which is shorter.
        if !counted || said && filed || !(said || filed || by.contains(&Source)) {
            return Ok(None);
        }
        let clock = if filed { DayClock::Filed } else { DayClock::Said };
        let mut query = Self {
            by,
            clock,
            span: TimeSpan::ALL,
            filter: Filter::All,
        };
        let taken = query.take_condition(filter);
        Ok((taken && !has_listed_places(connection, shelf, &query.filter)?).then_some(query))
    }

    /// Takes over one condition; `false` if it is about something else than times, sources and wings.
    fn take_condition(&mut self, filter: &Filter) -> bool {
        match filter {
            Filter::All => true,
            Filter::And(parts) => parts.iter().all(|part| self.take_condition(part)),
            Filter::Compare(key, comparison) if key == self.clock.key() => self.span.narrow(key, comparison),
            other if is_about_place(other) => {
                let taken = std::mem::replace(&mut self.filter, Filter::All);
                self.filter = taken.and(other.clone());
                true
            }
            _ => false,
        }
    }

    /// Returns filters for the drawers that the table cannot count: those on days of which only a part is asked for.
    pub(crate) fn edge_filters(&self) -> Vec<Filter> {
        let bound = |comparison| Filter::Compare(self.clock.key().to_owned(), comparison);
        let part = |edge: TimeSpan| {
            let since = bound(FilterComparison::Gte(MetadataScalar::Int(edge.since)));
            let before = bound(FilterComparison::Lt(MetadataScalar::Int(edge.before)));
            self.filter.clone().and(since).and(before)
        };
        self.span.edges().into_iter().map(part).collect()
    }

    /// Counts the drawers of whole days, sorted by values; `None` if the table does not count every drawer.
    pub(crate) fn count_whole_days(
        &self,
        connection: &Connection,
        shelf: &CollectionShelf,
    ) -> Result<Option<Vec<FacetCount>>> {
        if !are_whole(connection, shelf.collection)? {
            return Ok(None);
        }
        // A span with an end excludes drawers without a time, whose day lies before every other.
        let (from, to) = if self.span == TimeSpan::ALL {
            (NO_DAY, i64::MAX)
        } else {
            self.span.whole_days()
        };
        if self.span != TimeSpan::ALL && self.meets_numbers(connection, shelf, from, to)? {
            return Ok(None);
        }
        let wings = self.counted_wings();
        let (columns, grouping) = if self.is_by_day_alone() {
            ("0, 0, sum(drawers)", "GROUP BY wing, day")
        } else {
            ("source, wing, drawers", "")
        };
        let condition = wings.condition();
        let sql = format!(
            "SELECT day, {columns} FROM days
             WHERE collection = ?1 AND clock = ?2 AND day >= ?3 AND day < ?4 AND {condition} {grouping}"
        );
        let mut statement = connection.prepare_cached(&sql).map_err(sqlite_error)?;
        let asked = params![shelf.collection, self.clock as i64, from, to, wings.bound_value()];
        let mut found = statement.query(asked).map_err(sqlite_error)?;
        let mut groups = DayGroups::new(self)?;
        while let Some(row) = found.next().map_err(sqlite_error)? {
            groups.add_row(row)?;
        }
        Ok(Some(merge_facets(groups.counts)))
    }
}

impl DayQuery<'_> {
    /// Returns whether the counts of a day can be added up before a filter looks at them.
    fn is_by_day_alone(&self) -> bool {
        let decided = match self.counted_wings() {
            CountedWings::Together => self.filter.is_unrestricted(),
            CountedWings::One(_) => text_of_wing(&self.filter).is_some(),
            CountedWings::Apart => false,
        };
        decided && matches!(self.by, [FacetKey::SaidDay | FacetKey::FiledDay])
    }

    /// Returns which counts answer the query.
    fn counted_wings(&self) -> CountedWings<'_> {
        if !self.by.contains(&FacetKey::Wing) && !mentions_wing(&self.filter) {
            return CountedWings::Together;
        }
        let parts = match &self.filter {
            Filter::And(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        let one = parts.iter().find_map(text_of_wing);
        one.map_or(CountedWings::Apart, CountedWings::One)
    }

    /// Sums the drawers from one day on, up to but without another.
    fn sum_days(&self, connection: &Connection, shelf: &CollectionShelf, from: i64, to: i64) -> Result<i64> {
        connection
            .prepare_cached(
                "SELECT ifnull(sum(drawers), 0) FROM days
                 WHERE collection = ?1 AND clock = ?2 AND wing = ?3 AND day >= ?4 AND day < ?5",
            )
            .and_then(|mut statement| {
                let asked = params![shelf.collection, self.clock as i64, EVERY_WING, from, to];
                statement.query_row(asked, |row| row.get(0))
            })
            .map_err(sqlite_error)
    }

    /// Returns whether a drawer without a time has a number under its name in the metadata that lies between two
    /// days: a filter compares that number too, and the table does not know it.
    fn meets_numbers(
        &self,
        connection: &Connection,
        shelf: &CollectionShelf,
        from: i64,
        to: i64,
    ) -> Result<bool> {
        let undated = self.sum_days(connection, shelf, NO_DAY, NO_DAY + 1)?;
        let Some(key) = attributes::known_key(connection, self.clock.key())?.filter(|_| undated > 0) else {
            return Ok(false);
        };
        let sql = format!(
            "SELECT count(*) FROM attributes_{} WHERE key = ?1 AND value >= ?2 AND value < ?3",
            shelf.projection
        );
        let (since, before) = (from.saturating_mul(DAY), to.saturating_mul(DAY));
        let listed: i64 = connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row(params![key, since, before], |row| row.get(0)))
            .map_err(sqlite_error)?;
        Ok(listed != self.sum_days(connection, shelf, from, to)?)
    }
}

/// The counts that answer a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountedWings<'f> {
    /// Those over all wings.
    Together,
    /// Those of one wing.
    One(&'f str),
    /// Those of each wing, and of none.
    Apart,
}

impl CountedWings<'_> {
    /// Returns the condition on the wing, with the value of [`CountedWings::bound_value`] as `?5`.
    fn condition(self) -> &'static str {
        match self {
            Self::Together | Self::One(_) => "wing = ?5",
            Self::Apart => "wing <> ?5",
        }
    }

    fn bound_value(self) -> Value {
        match self {
            Self::One(wing) => Value::Text(wing.to_owned()),
            Self::Together | Self::Apart => Value::Integer(EVERY_WING),
        }
    }
}

/// Returns the wing that a filter asks for, if that is all it asks for.
fn text_of_wing(filter: &Filter) -> Option<&str> {
    match filter {
        Filter::Compare(key, FilterComparison::Eq(MetadataScalar::Text(wing))) if key == "wing" => Some(wing),
        _ => None,
    }
}

fn mentions_wing(filter: &Filter) -> bool {
    match filter {
        Filter::All => false,
        Filter::And(parts) | Filter::Or(parts) => parts.iter().any(mentions_wing),
        Filter::Compare(key, _) => key == "wing",
    }
}

/// Returns whether a filter only compares source and wing with texts, for equality.
fn is_about_place(filter: &Filter) -> bool {
    use FilterComparison::{Eq, In, Ne, Nin};
    let is_text = |operand: &MetadataScalar| matches!(operand, MetadataScalar::Text(_));
    match filter {
        Filter::All => true,
        Filter::And(parts) | Filter::Or(parts) => parts.iter().all(is_about_place),
        Filter::Compare(key, comparison) => {
            let texts = match comparison {
                Eq(operand) | Ne(operand) => is_text(operand),
                In(operands) | Nin(operands) => operands.iter().all(is_text),
                _ => false,
            };
            texts && (key == "source" || key == "wing")
        }
    }
}

/// Returns the last moment of the newest day on which a drawer of a wing was said or filed, if the table knows it.
pub(crate) fn find_newest(
    connection: &Connection,
    shelf: &CollectionShelf,
    filed: bool,
    wing: &str,
) -> Result<Option<i64>> {
    let named = Filter::text_equals("wing", wing);
    if !are_whole(connection, shelf.collection)? || has_listed_places(connection, shelf, &named)? {
        return Ok(None);
    }
    let clock = if filed { DayClock::Filed } else { DayClock::Said };
    let sql = "SELECT max(day) FROM days WHERE collection = ?1 AND clock = ?2 AND wing = ?3 AND day > ?4";
    let newest: Option<i64> = connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.query_row(params![shelf.collection, clock as i64, wing, NO_DAY], |row| {
                row.get(0)
            })
        })
        .map_err(sqlite_error)?;
    Ok(newest.map(|day| day.saturating_add(1).saturating_mul(DAY).saturating_sub(1)))
}

/// Returns whether some drawer has a list in its metadata under the name of a place that the filter mentions: a filter
/// looks at its members too, and the table does not know them.
fn has_listed_places(connection: &Connection, shelf: &CollectionShelf, filter: &Filter) -> Result<bool> {
    if filter.is_unrestricted() {
        return Ok(false);
    }
    if !attributes::are_whole(connection, shelf.projection)? {
        return Ok(true);
    }
    for name in ["source", "wing"] {
        let Some(key) = attributes::known_key(connection, name)? else {
            continue;
        };
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM attributes_{} WHERE key = ?1)",
            shelf.projection
        );
        let listed: bool = connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([-key], |row| row.get(0)))
            .map_err(sqlite_error)?;
        if listed {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sorts counts by their values and adds up those of equal values.
pub(crate) fn merge_facets(mut counts: Vec<FacetCount>) -> Vec<FacetCount> {
    if counts.is_sorted_by(|a, b| a.values < b.values) {
        return counts;
    }
    // Stable, because rows come in few sorted runs, which such a sort merges.
    counts.sort_by(|a, b| a.values.cmp(&b.values));
    counts.dedup_by(|next, kept| {
        let same = next.values == kept.values;
        if same {
            kept.drawers += next.drawers;
        }
        same
    });
    counts
}

/// Rows of the table, grouped as they come.
struct DayGroups<'a> {
    query: &'a DayQuery<'a>,
    counts: Vec<FacetCount>,
    /// The day of the last row, and its text.
    day: Option<(i64, Option<String>)>,
    /// A drawer for the filter to look at.
    sample: Drawer,
    /// Whether the counts read are already those that the filter accepts.
    accepts_all: bool,
}

impl<'a> DayGroups<'a> {
    fn new(query: &'a DayQuery<'a>) -> Result<Self> {
        Ok(Self {
            accepts_all: query.filter.is_unrestricted() || text_of_wing(&query.filter).is_some(),
            query,
            counts: Vec::new(),
            day: None,
            sample: Drawer::with_id_only(DrawerId::new("sample")?),
        })
    }

    fn add_row(&mut self, row: &Row<'_>) -> Result<()> {
        let day: i64 = row.get(0).map_err(sqlite_error)?;
        let (source, wing) = (read_place(row, 1)?, read_place(row, 2)?);
        let drawers = u64::try_from(row.get::<_, i64>(3).map_err(sqlite_error)?).unwrap_or(0);
        if !self.accepts_all {
            let place = &mut self.sample.place;
            (place.source, place.wing) = (source.map(str::to_owned), wing.map(str::to_owned));
            if !self.query.filter.accepts(&self.sample) {
                return Ok(());
            }
        }
        if self.day.as_ref().is_none_or(|(last, _)| *last != day) {
            self.day = Some((day, day_text(day)?));
        }
        let day = self.day.as_ref().and_then(|(_, text)| text.as_deref());
        let value_of = |key: &FacetKey| match key {
            FacetKey::Source => source,
            FacetKey::Wing => wing,
            _ => day,
        };
        let by = self.query.by;
        match self.counts.last_mut() {
            // Compared before any value is copied: by day alone, most rows belong to the group before them.
            Some(last)
                if by
                    .iter()
                    .zip(&last.values)
                    .all(|(key, value)| value_of(key) == value.as_deref()) =>
            {
                last.drawers += drawers;
            }
            _ => {
                let values = by.iter().map(|key| value_of(key).map(str::to_owned)).collect();
                self.counts.push(FacetCount { values, drawers });
            }
        }
        Ok(())
    }
}

/// Returns a part of a place; a number stands for none.
fn read_place<'r>(row: &'r Row<'_>, at: usize) -> Result<Option<&'r str>> {
    match row.get_ref(at).map_err(sqlite_error)? {
        ValueRef::Integer(_) => Ok(None),
        value => value
            .as_str()
            .map(Some)
            .map_err(|_| corrupt_error("a count by day has a damaged source or wing")),
    }
}

fn day_text(day: i64) -> Result<Option<String>> {
    if day == NO_DAY {
        return Ok(None);
    }
    let first = Timestamp::from_micros(day.saturating_mul(DAY));
    let first = first.map_err(|_| corrupt_error("a count by day has a damaged day"))?;
    Ok(Some(first.day_text()))
}
