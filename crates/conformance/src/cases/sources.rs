//! Source records: which records a request lists, in which order, and that none of them is a drawer.

use loci_core::{
    Capability, Collection, CollectionExt, Cursor, DrawerCondition, ErrorKind, FacetRequest, Filter,
    GetRequest, LexicalRequest, QueryRequest, SourceRecordQuery,
};

use crate::case::expect_refusal;
use crate::revising::{
    every_record, forgetting_revision, new_revision, read_stamps, record_names, records_under, revise_one,
    store_records,
};
use crate::samples::{all_ids, id, text_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "sources":
    "the records of some sources come in byte order of their names" [+Sources -ReadOnly] => byte_order;
    "names without a record are left out" [+Sources -ReadOnly] => left_out;
    "a record holds the stamp, the revision and when it was stored" [+Sources -ReadOnly] => record_holds_stamp;
    "records are listed whose name begins with the prefix" [+Sources -ReadOnly] => lists_by_prefix;
    "records are listed that come after a name in byte order, at most as many as asked for" [+Sources -ReadOnly] => lists_in_pages;
    "a list of sources without room for one is refused" [+Sources] => no_room;
    "a record is not a drawer: it is not counted, found, exported or listed among the changes" [+Sources -ReadOnly] => no_drawer;
    "a record is seen by every handle and process once it is acknowledged" [+Sources -ReadOnly] => seen_elsewhere;
    "writes and maintenance leave every record as it is" [+Sources -ReadOnly] => left_alone;
    "records of another collection are never seen, changed or removed" [+Sources -ReadOnly] => other_collections;
    "records of another palace are never seen, changed or removed" [+Sources -ReadOnly] => other_palaces;
    "records of another namespace are never seen, changed or removed" [+Sources +NamespaceIsolation -ReadOnly] => other_namespaces;
    "every acknowledged record is there after everything is dropped without closing" [+Sources -ReadOnly] => survives_dropping;
}

/// Names whose order differs between bytes, locales, case folding and UTF-16.
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

fn byte_order(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    store_records(
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
        record_names(&drawers.require_sources()?.find_records(&every_record())?),
        NAMES,
        "every name"
    );
    // Out of order and with a repetition; the answer is sorted and each name occurs once.
    let asked = SourceRecordQuery::Named(["a0", "B.md", "a", "a0"].map(str::to_owned).to_vec());
    same!(
        record_names(&drawers.require_sources()?.find_records(&asked)?),
        ["B.md", "a", "a0"],
        "the names asked for"
    );
    Ok(())
}

fn left_out(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let asked =
        |names: &[&str]| SourceRecordQuery::Named(names.iter().map(|&name| name.to_owned()).collect());
    same!(
        drawers.require_sources()?.find_records(&asked(&["a.md"]))?,
        [],
        "records before there are any"
    );
    store_records(drawers.as_ref(), &["a.md", "b.md"])?;
    let found = drawers
        .require_sources()?
        // Other case, a prefix, a trailing space and the empty name: close to a record, but not one.
        .find_records(&asked(&["A.md", "b.md", "b", "b.md ", ""]))?;
    same!(record_names(&found), ["b.md"], "records found");
    same!(
        drawers.require_sources()?.find_records(&asked(&[]))?,
        [],
        "records of no names"
    );
    Ok(())
}

fn record_holds_stamp(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    // The stamp belongs to the caller: any text, also one that looks like JSON or SQL, comes back as it
    // was.
    for stamp in ["", "12 1700000000", "{\"size\": 1,\n\t\"\u{1f3db}\": \"'%_\"}"] {
        let before = drawers.require_sources()?.find_records(&every_record())?.pop();
        let expects = before.as_ref().map(|record| record.revision);
        let (_, given) = revise_one(drawers.as_ref(), new_revision("a b.md", expects, stamp, []))?;
        let records = drawers.require_sources()?.find_records(&every_record())?;
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

fn lists_by_prefix(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    store_records(drawers.as_ref(), &NAMES)?;
    // `_` and `%` are wildcards of LIKE; U+10FFFF has no successor, which breaks ranges that end at the
    // next character.
    store_records(
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
            .find_records(&records_under(prefix, None, 100))?;
        same!(record_names(&found), expected, "records under {prefix:?}");
    }
    same!(
        drawers.require_sources()?.find_records(&every_record())?.len(),
        14,
        "records under nothing"
    );
    Ok(())
}

fn lists_in_pages(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    store_records(drawers.as_ref(), &NAMES)?;
    for size in [1, 2, 5, 100] {
        let (mut after, mut seen) = (None, Vec::new());
        // One page more than there can be, so that a list without an end is a failure like any other.
        for _ in 0..=NAMES.len() {
            let page = drawers
                .require_sources()?
                .find_records(&records_under("", after.as_deref(), size))?;
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
        // After a name that has no record, and below after names outside the prefix on either side.
        ("a/", "a/c", &["a/\u{e9}.md", "a/\u{ff5e}"]),
        ("a/", "B", &["a/", "a/b.md"]),
        ("a/", "a/\u{10ffff}", &[]),
        ("a/", "b", &[]),
    ] {
        let found = drawers
            .require_sources()?
            .find_records(&records_under(prefix, Some(after), 2))?;
        same!(
            record_names(&found),
            expected,
            "records under {prefix:?} after {after:?}"
        );
    }
    Ok(())
}

fn no_room(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    expect_refusal(
        drawers
            .require_sources()?
            .find_records(&records_under("", None, 0)),
        ErrorKind::Invalid,
        &[],
    )
}

fn no_drawer(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "alpha")])?;
    let feed = scene.can(Capability::ChangeFeed);
    let changes = || {
        if feed {
            drawers.require_feed()?.changes_since(Cursor(0), 100).map(Some)
        } else {
            Ok(None)
        }
    };
    let (before, info) = (changes()?, drawers.info()?);
    // Names and stamps made of searchable words, in case a backend files records as hidden drawers.
    store_records(drawers.as_ref(), &["alpha", "beta.md"])?;
    revise_one(drawers.as_ref(), new_revision("gamma", None, "alpha beta", []))?;
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    same!(
        drawers.get(&GetRequest::by_ids([id("alpha"), id("beta.md")]))?,
        [],
        "drawers by the names of sources"
    );
    same!(drawers.count(&DrawerCondition::default())?, 1, "count");
    same!(
        drawers.count(&Filter::text_equals("source", "alpha").into())?,
        0,
        "count by source"
    );
    let facets = drawers.facets(&FacetRequest::by_room())?;
    same!(
        facets.iter().map(|facet| facet.drawers).sum::<u64>(),
        1,
        "drawers in facets"
    );
    if scene.can(Capability::Lexical) {
        same!(
            drawers
                .lexical(&LexicalRequest::for_words("alpha beta gamma", 10))?
                .len(),
            1,
            "hits by words"
        );
    }
    if scene.can(Capability::EmbeddingsPassthrough) {
        let hits = drawers.query(&QueryRequest::nearest_to(vec![1.0, 0.0, 0.0, 0.0], 10))?;
        same!(hits, [Vec::new()], "hits by a vector");
    }
    same!(changes()?, before, "changes");
    same!(drawers.info()?, info, "what the collection says of itself");
    Ok(())
}

fn seen_elsewhere(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let (second, other) = (scene.open()?, scene.open_elsewhere()?);
    // The writers take turns, and each expects the number that another one wrote.
    for (round, writer) in [&drawers, &other, &second, &drawers].into_iter().enumerate() {
        let before = writer.require_sources()?.find_records(&every_record())?.pop();
        let expects = before.map(|record| record.revision);
        let stamp = round.to_string();
        revise_one(writer.as_ref(), new_revision("a.md", expects, &stamp, []))?;
        let expected = drawers.require_sources()?.find_records(&every_record())?;
        same!(expected[0].stamp, stamp, "the stamp of round {round}");
        for reader in [&second, &other, &scene.open_elsewhere()?] {
            same!(
                reader.require_sources()?.find_records(&every_record())?,
                expected,
                "records for another handle"
            );
        }
    }
    Ok(())
}

fn left_alone(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let batch = vec![loci_core::Write::Add(crate::samples::source_piece(
        "a", "text", "a.md", 0,
    ))];
    revise_one(drawers.as_ref(), new_revision("a.md", None, "1", [batch]))?;
    let before = drawers.require_sources()?.find_records(&every_record())?;
    drawers.upsert_drawer(text_drawer("a", "another text"))?;
    drawers.add_drawer(crate::samples::source_piece("b", "text", "a.md", 10))?;
    // No drawer of the source is left; its record stays, because only `revise` changes records.
    drawers.delete_drawer(id("a"))?;
    drawers.delete_drawer(id("b"))?;
    same!(
        drawers.require_sources()?.find_records(&every_record())?,
        before,
        "records after writes"
    );
    for kind in &scene.descriptor().maintenance {
        drawers.require_upkeep()?.run(kind)?;
        same!(
            drawers.require_sources()?.find_records(&every_record())?,
            before,
            "records after {}",
            kind.name()
        );
    }
    Ok(())
}

/// Checks that records of the same names in two places are independent of each other.
fn expect_apart(here: &dyn Collection, there: &dyn Collection) -> CaseOutcome {
    store_records(here, &["a.md", "b.md"])?;
    same!(
        there.require_sources()?.find_records(&every_record())?,
        [],
        "records there before any was stored"
    );
    // The same name in both places, written and forgotten in one of them.
    let (_, first) = revise_one(there, new_revision("a.md", None, "there", []))?;
    let ours = here.require_sources()?.find_records(&every_record())?;
    same!(record_names(&ours), ["a.md", "b.md"], "names here");
    same!(ours[0].stamp, "of a.md", "the stamp here");
    revise_one(there, forgetting_revision("a.md", first))?;
    same!(
        here.require_sources()?.find_records(&every_record())?,
        ours,
        "records here"
    );
    same!(
        there.require_sources()?.find_records(&every_record())?,
        [],
        "records there after forgetting"
    );
    Ok(())
}

fn other_collections(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_apart(scene.open()?.as_ref(), scene.open_named("others")?.as_ref())
}

fn other_palaces(scene: &CaseScene<'_>) -> CaseOutcome {
    let there = scene.open_in(&scene.world().another_palace(), "drawers")?;
    expect_apart(scene.open()?.as_ref(), there.as_ref())
}

fn other_namespaces(scene: &CaseScene<'_>) -> CaseOutcome {
    let within = |namespace: &str| scene.open_in(&scene.palace().in_namespace(namespace), "drawers");
    expect_apart(within("one")?.as_ref(), within("two")?.as_ref())
}

fn survives_dropping(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open()?;
    scene.each_without_closing(3, |n, collection| {
        store_records(collection, &[&format!("{n}.md")])
    })?;
    let expected: Vec<(String, String)> = (0..3)
        .map(|n| (format!("{n}.md"), format!("of {n}.md")))
        .collect();
    same!(
        read_stamps(scene.open_afterwards()?.as_ref())?,
        expected,
        "records"
    );
    Ok(())
}
