//! Orders: how drawers are listed, and how a later page continues from a position.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DocumentFilter, Drawer, DrawerOrder, ErrorKind, Get, Include, NewDrawer,
    Patch, Write,
};

use crate::case::refused;
use crate::samples::{cut, filter, id, ids, plain, time, winged};
use crate::{Outcome, Scene};

cases! { "orders":
    "the latest filed comes first" [] => newest_filed;
    "the latest said comes first; drawers without a time of saying last" [] => newest_said;
    "by source in byte order, within a source by where the piece starts; pieces without a start after those with one, drawers without a source last" [] => by_source;
    "the byte order of ids breaks every tie" [] => ties;
    "every order agrees with the positions of its drawers" [] => oracle;
    "the pages of each order hold every drawer once" [] => pages;
    "limit and offset count from the position" [] => offsets;
    "only drawers that both filters accept are listed in any order" [] => filtered;
    "fields not included are absent in any order" [] => fields;
    "a page continues at the right place although the drawer it was taken from has been changed or removed since" [-ReadOnly] => continued;
    "pages neither repeat nor skip the drawers that stayed, whatever is written in between" [-ReadOnly] => written_between;
    "a position of another order is refused" [] => other_order;
    "ids together with an order are refused" [] => ids_and_order;
}

/// Drawers that tie, and drawers that lack a key, in every order.
fn shelf() -> Vec<NewDrawer> {
    let mut shelf = vec![
        cut("m", "alpha", "b.md", 10),
        cut("c", "alpha", "b.md", 9),
        cut("k", "bravo", "b.md", 100),
        cut("a", "alpha", "B.md", 0),
        cut("Z", "bravo", "b.md.bak", 0),
        plain("é", "alpha"),
        plain("b", "bravo"),
        plain("抽屉", "alpha bravo"),
        winged("d", "x"),
        plain("e", "text"),
    ];
    let days = [3, 1, 2, 3, 2, 1, 3, 3, 2, 1];
    for (n, (drawer, day)) in shelf.iter_mut().zip(days).enumerate() {
        drawer.filed_at = Some(time(&format!("2026-02-{day:02}T00:00:00.00000{}Z", n % 2)));
        if n % 3 != 0 {
            drawer.place.said_at = Some(time(&format!("2025-02-{day:02}")));
        }
    }
    // Pieces of a source without a start, and one whose time stands before 1970.
    shelf[5].place.source = Some("b.md".into());
    shelf[6].place.source = Some("b.md".into());
    shelf[8].place.said_at = Some(time("1969-07-20T20:17:40Z"));
    shelf
}

fn listed(collection: &dyn Collection, order: DrawerOrder) -> Outcome<Vec<Drawer>> {
    Ok(collection.get(&Get {
        order,
        ..Get::default()
    })?)
}

fn timed(called: &str, filed: &str, said: Option<&str>) -> NewDrawer {
    let mut drawer = plain(called, "text");
    drawer.filed_at = Some(time(filed));
    drawer.place.said_at = said.map(time);
    drawer
}

fn newest_filed(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([
        timed("a", "2026-01-02", None),
        timed("b", "2026-01-02T00:00:00.000001Z", None),
        timed("c", "1969-01-01", None),
        timed("d", "2026-01-03", None),
    ])?;
    let found = listed(drawers.as_ref(), DrawerOrder::NewestFiled)?;
    same!(ids(&found), ["d", "b", "a", "c"], "ids by filing time");
    Ok(())
}

fn newest_said(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([
        timed("a", "2026-01-09", None),
        timed("b", "2026-01-01", Some("2026-01-02")),
        timed("c", "2026-01-01", Some("1969-01-01")),
        timed("d", "2026-01-01", Some("2026-01-03")),
    ])?;
    let found = listed(drawers.as_ref(), DrawerOrder::NewestSaid)?;
    same!(ids(&found), ["d", "b", "c", "a"], "ids by time of saying");
    Ok(())
}

fn by_source(scene: &Scene<'_>) -> Outcome {
    let mut whole = plain("a", "text");
    whole.place.source = Some("x".into());
    let drawers = scene.filled([
        plain("0", "text"),
        whole,
        cut("b", "text", "x", 10),
        cut("c", "text", "x", 9),
        cut("d", "text", "X", 50),
        cut("e", "text", "x y", 0),
    ])?;
    let found = listed(drawers.as_ref(), DrawerOrder::Source)?;
    same!(ids(&found), ["d", "c", "b", "a", "e", "0"], "ids by source");
    Ok(())
}

fn ties(scene: &Scene<'_>) -> Outcome {
    let names = ["é", "b", "抽屉", "a", "Z", "ab", "a\0"];
    let drawers = scene.filled(names.map(|name| timed(name, "2026-01-02", Some("2026-01-01"))))?;
    let mut expected = names;
    expected.sort_unstable();
    for order in DrawerOrder::ALL {
        let found = listed(drawers.as_ref(), order)?;
        same!(ids(&found), expected, "ids that tie by {}", order.name());
    }
    Ok(())
}

/// The drawers in an order, as their positions say.
fn in_order(mut drawers: Vec<Drawer>, order: DrawerOrder) -> Vec<Drawer> {
    let place = |drawer: &Drawer| order.position_of(drawer);
    drawers.sort_by(|a, b| {
        place(a)
            .compare(&place(b))
            .expect("positions of one order compare")
    });
    drawers
}

fn oracle(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(shelf())?;
    let stored = drawers.get(&Get::default())?;
    same!(stored.len(), 10, "drawers");
    for order in DrawerOrder::ALL {
        let expected = in_order(stored.clone(), order);
        same!(
            listed(drawers.as_ref(), order)?,
            expected,
            "drawers by {}",
            order.name()
        );
    }
    Ok(())
}

/// Reads page after page, and does something after each.
fn page_through(
    collection: &dyn Collection,
    mut request: Get,
    mut between: impl FnMut(&Drawer) -> Outcome,
) -> Outcome<Vec<String>> {
    let mut paged = Vec::new();
    loop {
        let page = collection.get(&request)?;
        let Some(last) = page.last() else { return Ok(paged) };
        ensure!(paged.len() < 100, "expected the pages to end, found {paged:?}");
        paged.extend(page.iter().map(|drawer| drawer.id.to_string()));
        request = request.continued_after(last);
        between(last)?;
    }
}

fn by(order: DrawerOrder, limit: usize) -> Get {
    Get {
        order,
        limit: Some(limit),
        ..Get::default()
    }
}

fn pages(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(shelf())?;
    for order in DrawerOrder::ALL {
        let found = listed(drawers.as_ref(), order)?;
        for size in [1, 3, 4, 50] {
            let paged = page_through(drawers.as_ref(), by(order, size), |_| Ok(()))?;
            same!(paged, ids(&found), "ids of pages of {size} by {}", order.name());
        }
    }
    Ok(())
}

fn offsets(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(shelf())?;
    for order in DrawerOrder::ALL {
        let all = listed(drawers.as_ref(), order)?;
        let later = Get {
            offset: 2,
            ..by(order, 3).continued_after(&all[3])
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

fn filtered(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(shelf())?;
    let (accepted, worded) = (
        filter(r#"{"source":{"$in":["b.md","B.md"]}}"#),
        DocumentFilter::Contains("alpha".into()),
    );
    for order in DrawerOrder::ALL {
        let all = listed(drawers.as_ref(), order)?.into_iter();
        let meant = all.filter(|drawer| {
            accepted.accepts(drawer) && worded.accepts(drawer.document.as_deref().unwrap_or_default())
        });
        let meant: Vec<String> = meant.map(|drawer| drawer.id.into()).collect();
        same!(meant.len(), 4, "drawers that both filters accept");
        let request = Get {
            filter: accepted.clone(),
            document: worded.clone(),
            ..by(order, 3)
        };
        let paged = page_through(drawers.as_ref(), request, |_| Ok(()))?;
        same!(paged, meant, "filtered ids by {}", order.name());
    }
    Ok(())
}

fn fields(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(shelf())?;
    for order in DrawerOrder::ALL {
        let request = Get {
            include: Include::NOTHING,
            ..by(order, 20)
        };
        let found = drawers.get(&request)?;
        same!(
            ids(&found),
            ids(&listed(drawers.as_ref(), order)?),
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

/// Changes the sort keys of a drawer, so that it stands elsewhere in every order but that of ids.
fn move_away(drawers: &dyn Collection, called: &str) -> Outcome {
    let mut patch = Patch::new(id(called));
    patch.place.said_at = Some(time("2030-01-01"));
    patch.place.source = Some("A".into());
    drawers.apply_batch(&[Write::Update(patch)])?;
    Ok(())
}

fn continued(scene: &Scene<'_>) -> Outcome {
    for (n, order) in DrawerOrder::ALL.into_iter().enumerate() {
        let drawers = scene.fill_in(&scene.palace(), &format!("c{n}"), shelf())?;
        let all = listed(drawers.as_ref(), order)?;
        let after = by(order, 2).continued_after(&all[4]);
        let expected = ids(&all[5..7]);
        move_away(drawers.as_ref(), all[4].id.as_str())?;
        same!(
            ids(&drawers.get(&after)?),
            expected,
            "ids behind a drawer that was changed, by {}",
            order.name()
        );
        drawers.delete(all[4].id.clone())?;
        same!(
            ids(&drawers.get(&after)?),
            expected,
            "ids behind a drawer that was removed, by {}",
            order.name()
        );
    }
    Ok(())
}

fn written_between(scene: &Scene<'_>) -> Outcome {
    for (n, order) in DrawerOrder::ALL.into_iter().enumerate() {
        let drawers: Arc<dyn Collection> = scene.fill_in(&scene.palace(), &format!("c{n}"), shelf())?;
        let all = listed(drawers.as_ref(), order)?;
        let mut round = 0;
        let paged = page_through(drawers.as_ref(), by(order, 2), |last| {
            // A drawer of those already listed goes, and two come to stand before them all.
            round += 1;
            drawers.delete(last.id.clone())?;
            for n in 0..2 {
                let mut early = timed(&format!("!{round}-{n}"), "2030-01-01", Some("2030-01-01"));
                early.place.source = Some(" ".into());
                drawers.add(early)?;
            }
            Ok(())
        })?;
        same!(
            paged,
            ids(&all),
            "ids of pages with writes in between, by {}",
            order.name()
        );
    }
    Ok(())
}

fn other_order(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let last = drawers.get(&Get::default())?.remove(0);
    for one in DrawerOrder::ALL {
        for other in DrawerOrder::ALL.into_iter().filter(|other| *other != one) {
            let request = Get {
                after: Some(other.position_of(&last)),
                ..by(one, 1)
            };
            refused(drawers.get(&request), ErrorKind::Invalid, &["order"])?;
        }
    }
    Ok(())
}

fn ids_and_order(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    for order in DrawerOrder::ALL
        .into_iter()
        .filter(|order| *order != DrawerOrder::Id)
    {
        let request = Get {
            order,
            ..Get::ids([id("a")])
        };
        refused(drawers.get(&request), ErrorKind::Invalid, &[])?;
    }
    Ok(())
}
