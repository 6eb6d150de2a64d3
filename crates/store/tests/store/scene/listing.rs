//! Lists drawers page by page in each order, and what they must be as core's own oracles say.

use loci_core::*;

/// The ids of all drawers that a filter accepts, in an order, a page at a time.
pub(crate) fn paged(
    reader: &(impl CollectionReader + ?Sized),
    order: DrawerOrder,
    filter: &Filter,
    page: usize,
) -> Vec<DrawerId> {
    let mut request = GetRequest {
        filter: filter.clone(),
        order,
        limit: Some(page),
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
    };
    let mut ids = Vec::new();
    loop {
        let found = reader.get(&request).unwrap();
        ids.extend(found.iter().map(|drawer| drawer.id.clone()));
        match found.last() {
            Some(last) => request = request.continued_after(last),
            None => return ids,
        }
    }
}

/// The ids that [`paged`] must give of these drawers, which hold their metadata.
pub(crate) fn expected<'a>(
    drawers: impl IntoIterator<Item = &'a Drawer>,
    order: DrawerOrder,
    filter: &Filter,
) -> Vec<DrawerId> {
    let mut accepted: Vec<&Drawer> = drawers
        .into_iter()
        .filter(|drawer| filter.accepts(drawer))
        .collect();
    accepted.sort_by(|a, b| order.position_of(a).compare(&order.position_of(b)).unwrap());
    accepted.into_iter().map(|drawer| drawer.id.clone()).collect()
}

/// Filters of every kind of comparison, on lists, times and single values.
pub(crate) fn filters() -> Vec<Filter> {
    let long = "x".repeat(300);
    [
        "{}",
        r#"{"wing": "wing1"}"#,
        r#"{"$and": [{"wing": "wing2"}, {"said_at": {"$lt": "2020-09-15T00:00:00Z"}}]}"#,
        r#"{"source": "notes/a.md"}"#,
        r#"{"tags": {"$contains": "tag1"}}"#,
        r#"{"tags": {"$not_contains": "tag1"}}"#,
        r#"{"tags": {"$contains": 1}}"#,
        r#"{"tags": {"$contains": 1.0}}"#,
        r#"{"tags": {"$contains": true}}"#,
        &format!(r#"{{"tags": {{"$contains": "{long}"}}}}"#),
        r#"{"tags": {"$in": ["tag0", "tag2"]}}"#,
        r#"{"tags": {"$in": [3, 0.0]}}"#,
        r#"{"tags": {"$nin": ["tag0", "tag2"]}}"#,
        r#"{"tags": {"$eq": "tag0"}}"#,
        r#"{"n": {"$in": [1, 2, 3, 5, 8]}}"#,
        r#"{"n": {"$contains": 3}}"#,
        r#"{"room": {"$contains": "den"}}"#,
        r#"{"room": {"$in": ["den", "room1"]}}"#,
        r#"{"wing": {"$nin": ["wing1"]}}"#,
        r#"{"said_at": {"$gte": "2020-09-13T12:26:42Z"}}"#,
        r#"{"said_at": {"$in": ["2020-09-13T12:26:42Z", "some day"]}}"#,
        r#"{"said_at": {"$in": [5, 1600000002000000]}}"#,
        r#"{"filed_at": {"$lt": 1700000000000004}}"#,
        r#"{"filed_at": {"$eq": 1700000000000004}}"#,
        r#"{"filed_at": {"$ne": 1700000000000004}}"#,
        r#"{"filed_at": {"$in": ["2023-11-14T22:13:20.000001Z", "2023-11-14T22:13:20.000002Z"]}}"#,
        r#"{"$and": [{"filed_at": {"$gt": 1700000000000001}}, {"tags": {"$contains": 2}}]}"#,
        r#"{"$or": [{"source": "notes/a.md"}, {"tags": {"$contains": 4}}]}"#,
    ]
    .iter()
    .map(|json| Filter::parse_str(json).unwrap())
    .collect()
}
