//! Which drawers an argument list means.

use loci_core::{Collection, Comparison, Error, Filter, Result, Scalar, Timestamp};
use loci_engine::mine::spelled;

/// The arguments that narrow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Within<'a> {
    pub(crate) wing: Option<&'a str>,
    pub(crate) room: Option<&'a str>,
    pub(crate) source: Option<&'a str>,
    pub(crate) since: Option<&'a str>,
    pub(crate) before: Option<&'a str>,
    pub(crate) kind: Option<&'a str>,
}

impl Within<'_> {
    /// The filter they make together, the wing spelled as the collection spells it.
    pub(crate) fn filter(&self, collection: &dyn Collection) -> Result<Filter> {
        let wing = self.wing.map(|wing| spelled(collection, wing)).transpose()?;
        let mut filter = Filter::All;
        let texts = [
            ("wing", wing.as_deref()),
            ("room", self.room),
            ("source", self.source),
            ("kind", self.kind),
        ];
        for (key, value) in texts {
            if let Some(value) = value {
                filter = filter.and(Filter::text(key, value));
            }
        }
        if let Some(since) = time("since", self.since)? {
            filter = filter.and(said(Comparison::Gte(Scalar::Int(since.as_micros()))));
        }
        if let Some(before) = time("before", self.before)? {
            filter = filter.and(said(Comparison::Lt(Scalar::Int(before.as_micros()))));
        }
        Ok(filter)
    }
}

fn said(comparison: Comparison) -> Filter {
    Filter::Compare("said_at".into(), comparison)
}

/// A time, given as text.
pub(crate) fn time(name: &str, text: Option<&str>) -> Result<Option<Timestamp>> {
    let Some(text) = text else { return Ok(None) };
    text.parse().map(Some).map_err(|error: Error| {
        Error::invalid(format!("`{name}` is no time: {error}"))
            .hint("nothing was done; write it like 2026-05-01 or 2026-05-01T09:30:00Z")
    })
}
