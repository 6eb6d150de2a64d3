//! The figures of examined collections, one line each.

use loci_core::CollectionDiagnosis;
use serde_json::Value as Json;

use crate::page::Page;

/// Figures that a format may give, with what stands above them.
const COLUMNS: [(&str, &str); 6] = [
    ("documents", "documents"),
    ("vectors_from_graph", "in graph"),
    ("vectors_from_queue", "in queue"),
    ("rows_without_vector", "no vector"),
    ("metric", "metric"),
    ("dimension", "dimension"),
];

/// Sets down a table of collections; columns that no collection has a figure for are left out.
pub(super) fn collections(collections: &[CollectionDiagnosis], page: &mut Page) {
    let given = |key: &str| collections.iter().any(|one| one.figures.contains_key(key));
    let columns: Vec<(&str, &str)> = COLUMNS.into_iter().filter(|(key, _)| given(key)).collect();
    if !columns.is_empty() {
        page.dim(&format!("{:>8}", "rows"));
        for (_, above) in &columns {
            page.dim(&format!("  {above:>9}"));
        }
        page.dim("  collection").end();
    }
    for one in collections {
        page.plain(&format!("{:>8}", one.rows));
        for (key, _) in &columns {
            page.plain(&format!("  {:>9}", figure(one.figures.get(*key))));
        }
        page.plain("  ").plain(&one.name).end();
    }
}

fn figure(value: Option<&Json>) -> String {
    match value {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Number(number)) => number.to_string(),
        _ => "-".to_owned(),
    }
}
