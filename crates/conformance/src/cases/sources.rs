//! What a collection remembers of sources: which records a request lists, in which order, and that none is a drawer.

use loci_core::{
    Capability, Collection, CollectionExt, Cursor, DrawerCondition, ErrorKind, Facets, Filter, Get, Lexical,
    Query, Sources,
};

use crate::case::refused;
use crate::revising::{all, forgetting, names, remember, revise_one, revision, stamps, under};
use crate::samples::{all_ids, id, plain};
use crate::{Outcome, Scene};

cases! { "sources":
    "the records of some sources come in byte order of their names" [+Sources -ReadOnly] => byte_order;
    "names without a record are left out" [+Sources -ReadOnly] => left_out;
    "a record holds the stamp, the revision and when it was stored" [+Sources -ReadOnly] => held;
    "records are listed whose name begins with the prefix" [+Sources -ReadOnly] => prefixes;
    "records are listed that come after a name in byte order, at most as many as asked for" [+Sources -ReadOnly] => pages;
    "a list of sources without room for one is refused" [+Sources] => no_room;
    "a record is no drawer: it is not counted, found, exported or listed among the changes" [+Sources -ReadOnly] => no_drawer;
    "a record is seen by every handle and process once it is acknowledged" [+Sources -ReadOnly] => seen_elsewhere;
    "writes and maintenance leave every record as it is" [+Sources -ReadOnly] => left_alone;
    "records of another collection are never seen, changed or removed" [+Sources -ReadOnly] => other_collections;
    "records of another palace are never seen, changed or removed" [+Sources -ReadOnly] => other_palaces;
    "records of another namespace are never seen, changed or removed" [+Sources +NamespaceIsolation -ReadOnly] => other_namespaces;
    "every acknowledged record is there after everything is dropped without closing" [+Sources -ReadOnly] => dropped;
}

/// Names whose order differs between bytes, letters, cases and UTF-16.
const NAMES: [&str; 9] = [
    "B.md",
    "a",
    "a/",
    "a/b.md",
    "a/\u{e9}.md",
    "a/\u{ff5e}",
    "a/\u{10ffff}",
    "a0",
    "\u{e9}.md",
];

fn byte_order(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    remember(
        drawers.as_ref(),
        &[
            "a0",
            "a/",
            "\u{e9}.md",
            "a",
            "a/\u{10ffff}",
            "B.md",
            "a/\u{ff5e}",
            "a/b.md",
            "a/\u{e9}.md",
        ],
    )?;
    same!(
        names(&drawers.require_sources()?.find_records(&all())?),
        NAMES,
        "every name"
    );
    let asked = Sources::Named(["a0", "B.md", "a", "a0"].map(str::to_owned).to_vec());
    same!(
        names(&drawers.require_sources()?.find_records(&asked)?),
        ["B.md", "a", "a0"],
        "the names asked for"
    );
    Ok(())
}

fn left_out(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let asked = |names: &[&str]| Sources::Named(names.iter().map(|&name| name.to_owned()).collect());
    same!(
        drawers.require_sources()?.find_records(&asked(&["a.md"]))?,
        [],
        "records before there are any"
    );
    remember(drawers.as_ref(), &["a.md", "b.md"])?;
    let found = drawers
        .require_sources()?
        .find_records(&asked(&["A.md", "b.md", "b", "b.md ", ""]))?;
    same!(names(&found), ["b.md"], "records found");
    same!(
        drawers.require_sources()?.find_records(&asked(&[]))?,
        [],
        "records of no names"
    );
    Ok(())
}

fn held(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    for stamp in ["", "12 1700000000", "{\"size\": 1,\n\t\"\u{1f3db}\": \"'%_\"}"] {
        let before = drawers.require_sources()?.find_records(&all())?.pop();
        let expects = before.as_ref().map(|record| record.revision);
        let (_, given) = revise_one(drawers.as_ref(), revision("a b.md", expects, stamp, []))?;
        let records = drawers.require_sources()?.find_records(&all())?;
        same!(records.len(), 1, "records of one source");
        let record = &records[0];
        same!(
            (record.source.as_str(), record.stamp.as_str()),
            ("a b.md", stamp),
            "name and stamp"
        );
        same!(Some(record.revision), given, "the revision that was given");
        if let Some(before) = before {
            ensure!(
                record.revised_at >= before.revised_at,
                "expected a time not before {:?}, found {record:?}",
                before.revised_at
            );
        }
    }
    Ok(())
}

fn prefixes(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    remember(drawers.as_ref(), &NAMES)?;
    remember(
        drawers.as_ref(),
        &["a_b", "axb", "a%b", "\u{10ffff}x", "\u{10ffff}"],
    )?;
    for (prefix, expected) in [
        (
            "a/",
            ["a/", "a/b.md", "a/\u{e9}.md", "a/\u{ff5e}", "a/\u{10ffff}"].as_slice(),
        ),
        ("A", &[]),
        ("a/b.md", &["a/b.md"]),
        ("a/b.md/", &[]),
        ("a_", &["a_b"]),
        ("a%", &["a%b"]),
        ("\u{e9}", &["\u{e9}.md"]),
        ("\u{10ffff}", &["\u{10ffff}", "\u{10ffff}x"]),
        ("0", &[]),
    ] {
        let found = drawers
            .require_sources()?
            .find_records(&under(prefix, None, 100))?;
        same!(names(&found), expected, "records under {prefix:?}");
    }
    same!(
        drawers.require_sources()?.find_records(&all())?.len(),
        14,
        "records under nothing"
    );
    Ok(())
}

fn pages(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    remember(drawers.as_ref(), &NAMES)?;
    for size in [1, 2, 5, 100] {
        let (mut after, mut seen) = (None, Vec::new());
        // One page more than there can be, so that a list without an end is a failure like any other.
        for _ in 0..=NAMES.len() {
            let page = drawers
                .require_sources()?
                .find_records(&under("", after.as_deref(), size))?;
            ensure!(
                page.len() <= size,
                "expected at most {size} records, found {}",
                page.len()
            );
            after = page.last().map(|last| last.source.clone()).or(after);
            seen.extend(page.into_iter().map(|record| record.source));
        }
        same!(seen, NAMES, "names in pages of {size}");
    }
    for (prefix, after, expected) in [
        ("a/", "a/", ["a/b.md", "a/\u{e9}.md"].as_slice()),
        ("a/", "a/c", &["a/\u{e9}.md", "a/\u{ff5e}"]),
        ("a/", "B", &["a/", "a/b.md"]),
        ("a/", "a/\u{10ffff}", &[]),
        ("a/", "b", &[]),
    ] {
        let found = drawers
            .require_sources()?
            .find_records(&under(prefix, Some(after), 2))?;
        same!(
            names(&found),
            expected,
            "records under {prefix:?} after {after:?}"
        );
    }
    Ok(())
}

fn no_room(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    refused(
        drawers.require_sources()?.find_records(&under("", None, 0)),
        ErrorKind::Invalid,
        &[],
    )
}

fn no_drawer(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "alpha")])?;
    let feed = scene.can(Capability::ChangeFeed);
    let changes = || match feed {
        true => drawers.require_feed()?.changes_since(Cursor(0), 100).map(Some),
        false => Ok(None),
    };
    let (before, info) = (changes()?, drawers.info()?);
    remember(drawers.as_ref(), &["alpha", "beta.md"])?;
    revise_one(drawers.as_ref(), revision("gamma", None, "alpha beta", []))?;
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    same!(
        drawers.get(&Get::ids([id("alpha"), id("beta.md")]))?,
        [],
        "drawers by the names of sources"
    );
    same!(drawers.count(&DrawerCondition::default())?, 1, "count");
    same!(
        drawers.count(&Filter::text("source", "alpha").into())?,
        0,
        "count by source"
    );
    let facets = drawers.facets(&Facets::by_room())?;
    same!(
        facets.iter().map(|facet| facet.drawers).sum::<u64>(),
        1,
        "drawers in facets"
    );
    if scene.can(Capability::Lexical) {
        same!(
            drawers.lexical(&Lexical::words("alpha beta gamma", 10))?.len(),
            1,
            "hits by words"
        );
    }
    if scene.can(Capability::EmbeddingsPassthrough) {
        let hits = drawers.query(&Query::nearest(vec![1.0, 0.0, 0.0, 0.0], 10))?;
        same!(hits, [Vec::new()], "hits by a vector");
    }
    same!(changes()?, before, "changes");
    same!(drawers.info()?, info, "what the collection says of itself");
    Ok(())
}

fn seen_elsewhere(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let (second, other) = (scene.open()?, scene.open_elsewhere()?);
    for (round, writer) in [&drawers, &other, &second, &drawers].into_iter().enumerate() {
        let before = writer.require_sources()?.find_records(&all())?.pop();
        let expects = before.map(|record| record.revision);
        let stamp = round.to_string();
        revise_one(writer.as_ref(), revision("a.md", expects, &stamp, []))?;
        let expected = drawers.require_sources()?.find_records(&all())?;
        same!(expected[0].stamp, stamp, "the stamp of round {round}");
        for reader in [&second, &other, &scene.open_elsewhere()?] {
            same!(
                reader.require_sources()?.find_records(&all())?,
                expected,
                "records for another handle"
            );
        }
    }
    Ok(())
}

fn left_alone(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let batch = vec![loci_core::Write::Add(crate::samples::cut("a", "text", "a.md", 0))];
    revise_one(drawers.as_ref(), revision("a.md", None, "1", [batch]))?;
    let before = drawers.require_sources()?.find_records(&all())?;
    drawers.upsert(plain("a", "another text"))?;
    drawers.add(crate::samples::cut("b", "text", "a.md", 10))?;
    drawers.delete(id("a"))?;
    drawers.delete(id("b"))?;
    same!(
        drawers.require_sources()?.find_records(&all())?,
        before,
        "records after writes"
    );
    for kind in &scene.descriptor().maintenance {
        drawers.require_upkeep()?.run(kind)?;
        same!(
            drawers.require_sources()?.find_records(&all())?,
            before,
            "records after {}",
            kind.name()
        );
    }
    Ok(())
}

/// Shows that records of the same names in two places know nothing of each other.
fn apart(here: &dyn Collection, there: &dyn Collection) -> Outcome {
    remember(here, &["a.md", "b.md"])?;
    same!(
        there.require_sources()?.find_records(&all())?,
        [],
        "records there before any was stored"
    );
    let (_, first) = revise_one(there, revision("a.md", None, "there", []))?;
    let ours = here.require_sources()?.find_records(&all())?;
    same!(names(&ours), ["a.md", "b.md"], "names here");
    same!(ours[0].stamp, "of a.md", "the stamp here");
    revise_one(there, forgetting("a.md", first))?;
    same!(
        here.require_sources()?.find_records(&all())?,
        ours,
        "records here"
    );
    same!(
        there.require_sources()?.find_records(&all())?,
        [],
        "records there after forgetting"
    );
    Ok(())
}

fn other_collections(scene: &Scene<'_>) -> Outcome {
    apart(scene.open()?.as_ref(), scene.open_named("others")?.as_ref())
}

fn other_palaces(scene: &Scene<'_>) -> Outcome {
    let there = scene.open_in(&scene.world().another_palace(), "drawers")?;
    apart(scene.open()?.as_ref(), there.as_ref())
}

fn other_namespaces(scene: &Scene<'_>) -> Outcome {
    let within = |namespace: &str| scene.open_in(&scene.palace().in_namespace(namespace), "drawers");
    apart(within("one")?.as_ref(), within("two")?.as_ref())
}

fn dropped(scene: &Scene<'_>) -> Outcome {
    scene.open()?;
    scene.each_without_closing(3, |n, collection| remember(collection, &[&format!("{n}.md")]))?;
    let expected: Vec<(String, String)> = (0..3)
        .map(|n| (format!("{n}.md"), format!("of {n}.md")))
        .collect();
    same!(stamps(scene.open_afterwards()?.as_ref())?, expected, "records");
    Ok(())
}
