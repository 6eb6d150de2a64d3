//! Where a search looks, and what counts there.

use std::ffi::OsString;

use clap::Args;
use loci_core::{Collection, Comparison, Error, Filter, Result, Scalar, Timestamp};
use loci_engine::cat;
use loci_engine::search::SearchRequest;

use crate::commands::cat::names;
use crate::input::Where;

/// Which drawers are searched.
#[derive(Debug, Clone, Args)]
pub(crate) struct Scope {
    #[command(flatten)]
    where_: Where,

    /// Only drawers of this source: a path as it was mined, or the name of a source
    #[arg(long, value_name = "SOURCE")]
    source: Option<OsString>,

    /// Only what was said at this time or later, like 2026-05-01
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,

    /// Only what was said before this time
    #[arg(long, value_name = "TIME")]
    before: Option<Timestamp>,

    /// Only what this speaker said
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,

    /// Only drawers of this kind: human, assistant, tool_call, tool_result, thinking, system, file
    ///
    /// Whoever names a kind, here or with --where, decides about what tools printed too.
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Also what tools printed, which is left out else
    #[arg(long)]
    tools: bool,

    /// The newest first, rather than only among equals
    #[arg(long)]
    recent: bool,

    /// Read no times in the query
    #[arg(long)]
    no_dates: bool,
}

impl Scope {
    /// Refuses what no palace could answer, before one is opened.
    pub(crate) fn check(&self) -> Result<()> {
        if let (Some(since), Some(before)) = (self.since, self.before)
            && since >= before
        {
            return Err(
                Error::invalid(format!("nothing was said from {since} on and before {before}"))
                    .hint("give --since a time before that of --before"),
            );
        }
        self.where_.filter().map(drop)
    }

    /// Makes `request` look there.
    pub(crate) fn apply(&self, collection: &dyn Collection, request: &mut SearchRequest) -> Result<()> {
        let mut filter = self.where_.within(collection)?;
        if let Some(source) = &self.source {
            let sources = cat::resolve(collection, &names(source))?;
            let sources = sources.into_iter().map(Scalar::Text).collect();
            filter = filter.and(Filter::Compare("source".into(), Comparison::In(sources)));
        }
        let said = |comparison| Filter::Compare("said_at".into(), comparison);
        if let Some(since) = self.since {
            filter = filter.and(said(Comparison::Gte(Scalar::Int(since.as_micros()))));
        }
        if let Some(before) = self.before {
            filter = filter.and(said(Comparison::Lt(Scalar::Int(before.as_micros()))));
        }
        for (key, value) in [("speaker", &self.speaker), ("kind", &self.kind)] {
            if let Some(value) = value {
                filter = filter.and(Filter::text(key, value.as_str()));
            }
        }
        request.tools = self.tools;
        request.filter = filter;
        request.recent = self.recent;
        request.dates = !self.no_dates;
        Ok(())
    }
}
