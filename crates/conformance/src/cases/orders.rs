//! Orders: the order in which drawers are listed, and the continuation of a list from a position.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DocumentFilter, Drawer, DrawerFields, DrawerOrder, DrawerPatch, ErrorKind,
    GetRequest, NewDrawer, Write,
};

use crate::case::expect_refusal;
use crate::samples::{drawer_ids, id, parse_filter, parse_time, source_piece, text_drawer, wing_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "orders":
    "the latest filed comes first" [] => newest_filed;
    "the latest said comes first; drawers without a time of saying last" [] => newest_said;
    "by source in byte order, within a source by where the piece starts; pieces without a start after those with one, drawers without a source last" [] => by_source;
    "the byte order of ids breaks every tie" [] => ids_break_ties;
    "every order agrees with the positions of its drawers" [] => agrees_with_positions;
    "the pages of each order hold every drawer once" [] => pages_hold_each_once;
    "limit and offset count from the position" [] => offsets_count_from_position;
    "only drawers that both filters accept are listed in any order" [] => lists_accepted_only;
    "fields not included are absent in any order" [] => leaves_fields_out;
    "a page continues at the right place although the drawer it was taken from has been changed or removed since" [-ReadOnly] => continues_after_change;
    "pages neither repeat nor skip the drawers that stayed, whatever is written in between" [-ReadOnly] => pages_survive_writes;
    "a position of another order is refused" [] => other_order;
    "ids together with an order are refused" [] => ids_and_order;
}

/// Drawers that tie, and drawers that lack a key, in every order.
fn tied_drawers() -> Vec<NewDrawer> {
    let mut shelf = vec![
        source_piece("m", "alpha", "b.md", 10),
        source_piece("c", "alpha", "b.md", 9),
        source_piece("k", "bravo", "b.md", 100),
        source_piece("a", "alpha", "B.md", 0),
        source_piece("Z", "bravo", "b.md.bak", 0),
        text_drawer("é", "alpha"),
        text_drawer("b", "bravo"),
        text_drawer("抽屉", "alpha bravo"),
        wing_drawer("d", "x"),
        text_drawer("e", "text"),
    ];
    // Few distinct days, so that every order by time has ties; the microsecond below splits some of them.
    let days = [3, 1, 2, 3, 2, 1, 3, 3, 2, 1];
    for (n, (drawer, day)) in shelf.iter_mut().zip(days).enumerate() {
        drawer.filed_at = Some(parse_time(&format!("2026-02-{day:02}T00:00:00.00000{}Z", n % 2)));
        if n % 3 != 0 {
            drawer.place.said_at = Some(parse_time(&format!("2025-02-{day:02}")));
        }
    }
    // Pieces of a source without a start, and one whose time stands before 1970.
    shelf[5].place.source = Some("b.md".into());
    shelf[6].place.source = Some("b.md".into());
    shelf[8].place.said_at = Some(parse_time("1969-07-20T20:17:40Z"));
    shelf
}

fn list_in_order(collection: &dyn Collection, order: DrawerOrder) -> CaseOutcome<Vec<Drawer>> {
    Ok(collection.get(&GetRequest {
        order,
        ..GetRequest::default()
    })?)
}

fn timed_drawer(called: &str, filed: &str, said: Option<&str>) -> NewDrawer {
    let mut drawer = text_drawer(called, "text");
    drawer.filed_at = Some(parse_time(filed));
    drawer.place.said_at = said.map(parse_time);
    drawer
}

fn newest_filed(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        timed_drawer("a", "2026-01-02", None),
        // One microsecond later than `a`: times kept in seconds or milliseconds would tie.
        timed_drawer("b", "2026-01-02T00:00:00.000001Z", None),
        // Negative as a Unix time; an unsigned column would make it the newest.
        timed_drawer("c", "1969-01-01", None),
        timed_drawer("d", "2026-01-03", None),
    ])?;
    let found = list_in_order(drawers.as_ref(), DrawerOrder::NewestFiled)?;
    same!(drawer_ids(&found), ["d", "b", "a", "c"], "ids by filing time");
    Ok(())
}

fn newest_said(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        // Filed last but never said: falling back to the time of filing would put it first.
        timed_drawer("a", "2026-01-09", None),
        timed_drawer("b", "2026-01-01", Some("2026-01-02")),
        timed_drawer("c", "2026-01-01", Some("1969-01-01")),
        timed_drawer("d", "2026-01-01", Some("2026-01-03")),
    ])?;
    let found = list_in_order(drawers.as_ref(), DrawerOrder::NewestSaid)?;
    same!(drawer_ids(&found), ["d", "b", "c", "a"], "ids by time of saying");
    Ok(())
}

fn by_source(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut whole = text_drawer("a", "text");
    whole.place.source = Some("x".into());
    let drawers = scene.open_filled([
        text_drawer("0", "text"),
        whole,
        // 10 and 9: starts compared as text come in the wrong order.
        source_piece("b", "text", "x", 10),
        source_piece("c", "text", "x", 9),
        source_piece("d", "text", "X", 50),
        // A source whose name begins with that of another must not mix with its pieces.
        source_piece("e", "text", "x y", 0),
    ])?;
    let found = list_in_order(drawers.as_ref(), DrawerOrder::Source)?;
    same!(
        drawer_ids(&found),
        ["d", "c", "b", "a", "e", "0"],
        "ids by source"
    );
    Ok(())
}

fn ids_break_ties(scene: &CaseScene<'_>) -> CaseOutcome {
    // Ids that sort differently by bytes, by letters, by case and if cut at a NUL.
    let names = ["é", "b", "抽屉", "a", "Z", "ab", "a\0"];
    let drawers =
        scene.open_filled(names.map(|name| timed_drawer(name, "2026-01-02", Some("2026-01-01"))))?;
    let mut expected = names;
    expected.sort_unstable();
    for order in DrawerOrder::ALL {
        let found = list_in_order(drawers.as_ref(), order)?;
        same!(drawer_ids(&found), expected, "ids that tie by {}", order.name());
    }
    Ok(())
}

/// Sorts the drawers by their positions in an order.
fn sort_by_position(mut drawers: Vec<Drawer>, order: DrawerOrder) -> Vec<Drawer> {
    let place = |drawer: &Drawer| order.position_of(drawer);
    drawers.sort_by(|a, b| {
        place(a)
            .compare(&place(b))
            .expect("positions of one order compare")
    });
    drawers
}

fn agrees_with_positions(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(tied_drawers())?;
    let stored = drawers.get(&GetRequest::default())?;
    // Guards the case itself: were some of the drawers twins of each other, fewer would be stored.
    same!(stored.len(), 10, "drawers");
    for order in DrawerOrder::ALL {
        let expected = sort_by_position(stored.clone(), order);
        same!(
            list_in_order(drawers.as_ref(), order)?,
            expected,
            "drawers by {}",
            order.name()
        );
    }
    Ok(())
}

/// Reads page after page and calls `between` after each; returns the ids of all pages.
fn page_through(
    collection: &dyn Collection,
    mut request: GetRequest,
    mut between: impl FnMut(&Drawer) -> CaseOutcome,
) -> CaseOutcome<Vec<String>> {
    let mut paged = Vec::new();
    loop {
        let page = collection.get(&request)?;
        let Some(last) = page.last() else { return Ok(paged) };
        // A position that does not advance would loop for ever.
        ensure!(paged.len() < 100, "expected the pages to end, found {paged:?}");
        paged.extend(page.iter().map(|drawer| drawer.id.to_string()));
        request = request.continued_after(last);
        between(last)?;
    }
}

fn page_by(order: DrawerOrder, limit: usize) -> GetRequest {
    GetRequest {
        order,
        limit: Some(limit),
        ..GetRequest::default()
    }
}

fn pages_hold_each_once(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(tied_drawers())?;
    for order in DrawerOrder::ALL {
        let found = list_in_order(drawers.as_ref(), order)?;
        // One drawer per page makes every tie a page boundary; 50 is a single page.
        for size in [1, 3, 4, 50] {
            let paged = page_through(drawers.as_ref(), page_by(order, size), |_| Ok(()))?;
            same!(
                paged,
                drawer_ids(&found),
                "ids of pages of {size} by {}",
                order.name()
            );
        }
    }
    Ok(())
}

fn offsets_count_from_position(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(tied_drawers())?;
    for order in DrawerOrder::ALL {
        let all = list_in_order(drawers.as_ref(), order)?;
        // Drawers 0 to 3 lie before the position and two more are skipped.
        let later = GetRequest {
            offset: 2,
            ..page_by(order, 3).continued_after(&all[3])
        };
        same!(
            drawers.get(&later)?,
            all[6..9],
            "three drawers by {} from the third behind one",
            order.name()
        );
    }
    Ok(())
}

fn lists_accepted_only(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(tied_drawers())?;
    let (accepted, worded) = (
        parse_filter(r#"{"source":{"$in":["b.md","B.md"]}}"#),
        DocumentFilter::Contains("alpha".into()),
    );
    for order in DrawerOrder::ALL {
        let all = list_in_order(drawers.as_ref(), order)?.into_iter();
        let meant = all.filter(|drawer| {
            accepted.accepts(drawer) && worded.accepts(drawer.document.as_deref().unwrap_or_default())
        });
        let meant: Vec<String> = meant.map(|drawer| drawer.id.into()).collect();
        // More than one page of three, so that the position works together with the filters.
        same!(meant.len(), 4, "drawers that both filters accept");
        let request = GetRequest {
            filter: accepted.clone(),
            document: worded.clone(),
            ..page_by(order, 3)
        };
        let paged = page_through(drawers.as_ref(), request, |_| Ok(()))?;
        same!(paged, meant, "filtered ids by {}", order.name());
    }
    Ok(())
}

fn leaves_fields_out(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(tied_drawers())?;
    for order in DrawerOrder::ALL {
        let request = GetRequest {
            include: DrawerFields::NOTHING,
            ..page_by(order, 20)
        };
        let found = drawers.get(&request)?;
        same!(
            drawer_ids(&found),
            drawer_ids(&list_in_order(drawers.as_ref(), order)?),
            "ids by {}",
            order.name()
        );
        for drawer in found {
            same!(
                (drawer.document, drawer.metadata),
                (None, None),
                "text and metadata"
            );
        }
    }
    Ok(())
}

/// Changes the source and the time of saying of a drawer, so that it moves in the orders that sort by them.
fn move_away(drawers: &dyn Collection, called: &str) -> CaseOutcome {
    let mut patch = DrawerPatch::new(id(called));
    patch.place.said_at = Some(parse_time("2030-01-01"));
    patch.place.source = Some("A".into());
    drawers.apply_batch(&[Write::Update(patch)])?;
    Ok(())
}

fn continues_after_change(scene: &CaseScene<'_>) -> CaseOutcome {
    // A fresh collection for each order, because the case removes drawers.
    for (n, order) in DrawerOrder::ALL.into_iter().enumerate() {
        let drawers = scene.fill_in(&scene.palace(), &format!("c{n}"), tied_drawers())?;
        let all = list_in_order(drawers.as_ref(), order)?;
        let after = page_by(order, 2).continued_after(&all[4]);
        let expected = drawer_ids(&all[5..7]);
        // The position holds the old sort key. A backend that looks the drawer up by its id would continue
        // from its new place, and after the removal from nowhere.
        move_away(drawers.as_ref(), all[4].id.as_str())?;
        same!(
            drawer_ids(&drawers.get(&after)?),
            expected,
            "ids behind a drawer that was changed, by {}",
            order.name()
        );
        drawers.delete_drawer(all[4].id.clone())?;
        same!(
            drawer_ids(&drawers.get(&after)?),
            expected,
            "ids behind a drawer that was removed, by {}",
            order.name()
        );
    }
    Ok(())
}

fn pages_survive_writes(scene: &CaseScene<'_>) -> CaseOutcome {
    for (n, order) in DrawerOrder::ALL.into_iter().enumerate() {
        let drawers: Arc<dyn Collection> =
            scene.fill_in(&scene.palace(), &format!("c{n}"), tied_drawers())?;
        let all = list_in_order(drawers.as_ref(), order)?;
        let mut round = 0;
        let paged = page_through(drawers.as_ref(), page_by(order, 2), |last| {
            // A drawer of those already listed goes, and two come to stand before them all.
            round += 1;
            drawers.delete_drawer(last.id.clone())?;
            for n in 0..2 {
                let mut early = timed_drawer(&format!("!{round}-{n}"), "2030-01-01", Some("2030-01-01"));
                // Before all others in every order: an offset into the list would now point at drawers
                // already seen.
                early.place.source = Some(" ".into());
                drawers.add_drawer(early)?;
            }
            Ok(())
        })?;
        same!(
            paged,
            drawer_ids(&all),
            "ids of pages with writes in between, by {}",
            order.name()
        );
    }
    Ok(())
}

fn other_order(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let last = drawers.get(&GetRequest::default())?.remove(0);
    for one in DrawerOrder::ALL {
        for other in DrawerOrder::ALL.into_iter().filter(|other| *other != one) {
            // Interpreting such a position would skip or repeat drawers without an error.
            let request = GetRequest {
                after: Some(other.position_of(&last)),
                ..page_by(one, 1)
            };
            expect_refusal(drawers.get(&request), ErrorKind::Invalid, &["order"])?;
        }
    }
    Ok(())
}

fn ids_and_order(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    for order in DrawerOrder::ALL
        .into_iter()
        .filter(|order| *order != DrawerOrder::Id)
    {
        let request = GetRequest {
            order,
            ..GetRequest::by_ids([id("a")])
        };
        expect_refusal(drawers.get(&request), ErrorKind::Invalid, &[])?;
    }
    Ok(())
}
