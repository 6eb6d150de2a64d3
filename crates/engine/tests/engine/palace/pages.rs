//! Pages of lists and searches.

use super::*;

/// Drawers that differ in every key that lists go by, some without one.
fn listed(backend: &Reference) -> Palace {
    let palace = open_palace(backend, &machine());
    for n in 0..23_u64 {
        let mut drawer = NewDrawer::new(id(&format!("d{n:02}.~")), format!("text {n}"));
        drawer.filed_at = Some(format!("2026-01-{:02}", 1 + n * 7 % 20).parse().unwrap());
        drawer.place.said_at = (n % 4 > 0).then(|| format!("2025-02-{:02}", 1 + n * 5 % 9).parse().unwrap());
        drawer.place.source = (n % 3 > 0).then(|| format!("/t/{}.md", n * 3 % 5));
        drawer.place.span = (n % 3 > 1).then_some(SourceSpan {
            start: 100 - n,
            end: 200,
            line_start: 1,
            line_end: 2,
        });
        add(&palace, drawer);
    }
    palace
}

#[test]
fn pages_of_every_order_give_each_drawer_once_in_that_order() {
    let palace = listed(&reference());
    for order in DrawerOrder::ALL {
        let page = |cursor: Option<String>, limit| {
            let request = ListRequest {
                order,
                cursor,
                limit,
                total: true,
                ..listing(DrawerScope::default())
            };
            palace.list(&request).unwrap()
        };
        let ids = |report: &loci_engine::list::ListReport| {
            report
                .drawers
                .iter()
                .map(|drawer| drawer.id.clone())
                .collect::<Vec<_>>()
        };
        let whole = page(None, 100);
        assert_eq!(
            (whole.drawers.len(), whole.next.as_ref(), whole.total),
            (23, None, Some(23))
        );
        let (mut paged, mut cursor) = (Vec::new(), None);
        loop {
            let one = page(cursor, 5);
            assert_eq!(one.total, Some(23));
            paged.extend(ids(&one));
            cursor = one.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(paged, ids(&whole), "{}", order.name());
    }
    let wrong = ListRequest {
        cursor: Some("said.~.a".into()),
        ..listing(DrawerScope::default())
    };
    assert_eq!(palace.list(&wrong).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn pages_of_a_search_neither_repeat_nor_leave_out() {
    let palace = listed(&reference());
    let mut request = search_of(&palace, "text", DrawerScope::default());
    request.limit = 4;
    let mut seen = Vec::new();
    loop {
        let report = palace.search(&request).unwrap();
        assert!(report.hits.len() <= 4 && !report.hits.is_empty());
        seen.extend(report.hits.into_iter().map(|hit| hit.drawer.id));
        request.cursor = report.next;
        if request.cursor.is_none() {
            break;
        }
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((seen.len(), count), (23, 23));
    request.cursor = Some("4.00000000".into());
    let error = palace.search(&request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}
