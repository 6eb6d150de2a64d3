//! The list of sources, where a name means several: the conversations in one file, or files with the same ending.

use loci_core::{
    CollectionReader, Drawer, DrawerOrder, DrawerPosition, FacetKey, FacetRequest, Filter, FilterComparison,
    GetRequest, MetadataScalar, Result, Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{PassageReport, PassageRequest};
use crate::mine::draft::source_filter;
use crate::palace::PalaceSession;
use crate::view::DrawerScope;

/// The most sources on a page of the list.
const PAGE: usize = 50;

/// One of several sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceEntry {
    /// Its name.
    pub source: String,
    /// Its title, if it is a conversation with one.
    pub title: Option<String>,
    /// The time of its first drawer.
    pub begun_at: Option<Timestamp>,
    /// The number of its drawers.
    pub drawers: u64,
}

pub(super) fn list_sources(
    session: &PalaceSession<'_>,
    request: &PassageRequest,
    sources: &[String],
) -> Result<PassageReport> {
    let reader = session.reader();
    let shown: Vec<&String> = sources.iter().skip(request.skipped).take(PAGE).collect();
    let mut entries = Vec::with_capacity(shown.len());
    let counts = if shown.is_empty() {
        Vec::new()
    } else {
        count_drawers(reader, &shown)?
    };
    for source in shown {
        let first = first_drawer(reader, source)?;
        let title = first
            .as_ref()
            .and_then(|drawer| drawer.metadata.as_ref()?.get("title")?.as_text());
        entries.push(SourceEntry {
            title: title.map(str::to_owned),
            begun_at: first.as_ref().and_then(|drawer| drawer.place.said_at),
            drawers: counts
                .iter()
                .find(|(name, _)| name == source)
                .map_or(0, |(_, count)| *count),
            source: source.clone(),
        });
    }
    let mut warnings = session.collect_findings();
    if sources.is_empty() {
        let scope = DrawerScope {
            source: request.names.clone(),
            ..DrawerScope::default()
        };
        warnings.extend(session.unknown_names(&scope)?);
    }
    Ok(PassageReport {
        sources: entries,
        sources_total: sources.len() as u64,
        warnings,
        ..PassageReport::empty(request)
    })
}

fn count_drawers(reader: &dyn CollectionReader, sources: &[&String]) -> Result<Vec<(String, u64)>> {
    let names = sources
        .iter()
        .map(|name| MetadataScalar::Text((*name).clone()))
        .collect();
    let facets = reader.facets(&FacetRequest {
        by: vec![FacetKey::Source],
        filter: Filter::Compare("source".into(), FilterComparison::In(names)),
        ..FacetRequest::by_room()
    })?;
    let counted = facets
        .into_iter()
        .filter_map(|facet| Some((facet.values.into_iter().next()??, facet.drawers)));
    Ok(counted.collect())
}

fn first_drawer(reader: &dyn CollectionReader, source: &str) -> Result<Option<Drawer>> {
    let start = DrawerPosition::Source(Some(source.to_owned()), Some(0), loci_core::DrawerId::new("\0")?);
    let found = reader.get(&GetRequest {
        order: DrawerOrder::Source,
        after: Some(start),
        limit: Some(1),
        ..GetRequest::by_filter(source_filter(source))
    })?;
    Ok(found.into_iter().next())
}
