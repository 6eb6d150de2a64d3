//! The facets beside a list: how many drawers of the scope each wing, room, source, speaker, kind and year has.

use loci_core::{FacetKey, Result};
use loci_engine::facets::FacetsRequest;
use loci_engine::timeline::{CalendarPeriod, TimelineClock, TimelineRequest};
use loci_engine::view::DrawerScope;
use maud::{Markup, html};

use crate::context::PageContext;
use crate::parts::links::PageLink;
use crate::parts::shown;

/// The values shown of a facet.
const SHOWN: usize = 8;
/// The largest scope of which every key is counted unasked: wings and rooms are counted as they are filed, the others by
/// reading an index of the whole scope.
const COUNTED_UNASKED: u64 = 6_000;
/// The field that asks for every key.
const ASK: &str = "facets";
/// The years shown.
const YEARS: usize = 12;

/// The keys of the facets, with the field of a scope that each narrows.
const KEYS: [(FacetKey, &str); 5] = [
    (FacetKey::Wing, "Wing"),
    (FacetKey::Room, "Room"),
    (FacetKey::Source, "Source"),
    (FacetKey::Speaker, "Speaker"),
    (FacetKey::Kind, "Kind"),
];

/// The values of one key, most drawers first.
#[derive(Debug)]
struct KeyFacet {
    field: &'static str,
    label: &'static str,
    /// The values and their drawers.
    values: Vec<(String, u64)>,
    /// The values that are not shown.
    more: usize,
}

impl KeyFacet {
    /// Returns a value as the narrow list shows it: of the path of a source its end, which tells it from others.
    fn short_name<'a>(&self, value: &'a str) -> &'a str {
        let starts = value.rmatch_indices('/').map(|(at, _)| at + 1);
        let start = starts.filter(|start| *start < value.len()).nth(1);
        match start {
            Some(start) if self.field == FacetKey::Source.name() => value.get(start..).unwrap_or(value),
            _ => value,
        }
    }
}

/// A year and its drawers.
#[derive(Debug)]
struct YearFacet {
    since: String,
    before: String,
    drawers: u64,
}

/// The facets of a scope.
#[derive(Debug)]
pub(crate) struct FacetList {
    keys: Vec<KeyFacet>,
    years: Vec<YearFacet>,
    /// Whether some keys were left out, because the scope is large.
    is_partial: bool,
}

impl FacetList {
    /// Counts the drawers of a scope of this size by every key; of a large one by wing and room, unless the visitor asks
    /// for more.
    pub(crate) fn count(context: PageContext<'_>, scope: &DrawerScope, size: u64) -> Result<Self> {
        let is_partial = size > COUNTED_UNASKED && !context.query().is_ticked(ASK);
        let by_place = are_counted_as_filed(scope);
        let counted = |key| !is_partial || by_place && matches!(key, FacetKey::Wing | FacetKey::Room);
        let keys = KEYS.into_iter().filter(|(key, _)| counted(*key));
        Ok(Self {
            keys: keys
                .map(|(key, label)| count_key(context, scope, key, label))
                .collect::<Result<_>>()?,
            years: if is_partial {
                Vec::new()
            } else {
                count_years(context, scope)?
            },
            is_partial,
        })
    }

    /// Shows the facets. Each value leads to the same page, narrowed to it; `keep` names its other fields.
    pub(crate) fn render(&self, context: PageContext<'_>, path: &'static str, keep: &[&str]) -> Markup {
        let fields = context.query();
        let narrow = |left_out: &str| {
            let link = keep.iter().fold(PageLink::to(path), |link, name| {
                link.with_some(name, fields.value(name))
            });
            link.with_scope_except(fields, left_out)
        };
        html! {
            aside.facets aria-label="Narrow the results" {
                details.facet-fold open data-fold-narrow {
                    summary { "Narrow" }
                    @for facet in self.keys.iter().filter(|facet| !facet.values.is_empty()) {
                        section {
                            h2 { (facet.label) }
                            ul {
                                @for (value, drawers) in &facet.values {
                                    @let chosen = fields.value(facet.field) == Some(value.as_str());
                                    li {
                                        a href=(narrow(facet.field).with(facet.field, value).href()) aria-current=[chosen.then_some("true")]
                                            title=(shown::plain_name(value)) { (shown::name(facet.short_name(value))) }
                                        span.num { (shown::digits(*drawers)) }
                                    }
                                }
                                @if facet.more > 0 { li.muted { "and " (shown::digits(facet.more as u64)) " more" } }
                            }
                        }
                    }
                    @if self.is_partial {
                        p { a.text-link href=(narrow(ASK).with(ASK, "all").href()) {
                            @if self.keys.is_empty() { "Count wings, rooms, sources, speakers, kinds and years" }
                            @else { "Count sources, speakers, kinds and years" }
                        } }
                    }
                    @if self.years.len() > 1 {
                        section {
                            h2 { "Time" }
                            ul {
                                @for year in &self.years {
                                    @let link = narrow("since").without("before").with("since", &year.since).with("before", &year.before);
                                    li {
                                        a href=(link.href()) { (year.since.get(..4).unwrap_or(&year.since)) }
                                        span.num { (shown::digits(year.drawers)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns whether the drawers of a scope are counted by wing and room when they are filed: nothing else narrows it.
fn are_counted_as_filed(scope: &DrawerScope) -> bool {
    let by_place = DrawerScope {
        wing: scope.wing.clone(),
        room: scope.room.clone(),
        ..DrawerScope::default()
    };
    *scope == by_place
}

fn count_key(
    context: PageContext<'_>,
    scope: &DrawerScope,
    key: FacetKey,
    label: &'static str,
) -> Result<KeyFacet> {
    let request = FacetsRequest {
        by: vec![key],
        scope: scope.clone(),
    };
    let report = context.palace().count_facets(&request)?;
    let mut values: Vec<(String, u64)> = report
        .facets
        .iter()
        .filter_map(|row| {
            let drawers = row.get("drawers")?.as_u64()?;
            Some((row.get(key.name())?.as_str()?.to_owned(), drawers))
        })
        .collect();
    values.sort_by(|(name, drawers), (other, more)| more.cmp(drawers).then_with(|| name.cmp(other)));
    let more = values.len().saturating_sub(SHOWN);
    values.truncate(SHOWN);
    Ok(KeyFacet {
        field: key.name(),
        label,
        values,
        more,
    })
}

fn count_years(context: PageContext<'_>, scope: &DrawerScope) -> Result<Vec<YearFacet>> {
    let request = TimelineRequest {
        scope: scope.clone(),
        by: CalendarPeriod::Year,
        clock: TimelineClock::Said,
        newest: true,
        limit: YEARS,
        sources: 0,
    };
    let report = context.palace().count_timeline(&request, &mut |_| {})?;
    let years = report.periods.into_iter().map(|period| YearFacet {
        since: period.from.day_text(),
        before: period.before.day_text(),
        drawers: period.drawers,
    });
    Ok(years.collect())
}
