//! The table of examined collections, one line each.

use loci_core::CollectionDiagnosis;
use serde_json::Value as Json;

use crate::page::TextPage;

/// The figures that a format may give, with the heading of each.
const COLUMNS: [(&str, &str); 8] = [
    ("documents", "documents"),
    ("vectors", "vectors"),
    ("codes", "codes"),
    ("vectors_from_graph", "in graph"),
    ("vectors_from_queue", "in queue"),
    ("rows_without_vector", "no vector"),
    ("metric", "metric"),
    ("dimension", "dimension"),
];

/// Prints a table of collections, with those columns for which at least one collection has a figure.
pub(super) fn print_collections(collections: &[CollectionDiagnosis], page: &mut TextPage) {
    let given = |key: &str| collections.iter().any(|one| one.figures.contains_key(key));
    let columns: Vec<(&str, &str)> = COLUMNS.into_iter().filter(|(key, _)| given(key)).collect();
    // Embedded palaces have none of these figures, and a table with one column needs no heading.
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
            page.plain(&format!("  {:>9}", show_figure(one.figures.get(*key))));
        }
        page.plain("  ").plain(&one.name).end();
    }
}

fn show_figure(value: Option<&Json>) -> String {
    match value {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Number(number)) => number.to_string(),
        _ => "-".to_owned(),
    }
}
