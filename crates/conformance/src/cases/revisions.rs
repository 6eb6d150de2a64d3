//! New states of sources: drawers and record change in one step, or not at all if another writer was first.

use std::sync::atomic::{AtomicBool, Ordering};

use loci_core::{
    Capability, CollectionExt, Cursor, DeleteSelection, DrawerPatch, Filter, GetRequest, LexicalRequest,
    NewDrawer, RevisionOutcome, SourceRevision, Write,
};

use super::concurrency::{EndFlagGuard, run_at_once};
use crate::revising::{
    every_record, expect_done, forgetting_revision, new_revision, read_stamps, record_names, revise_one,
    store_records,
};
use crate::samples::{
    all_ids, delete_write, hit_ids, id, id_texts, parse_filter, read_drawer, source_piece, text_drawer,
};
use crate::{CaseOutcome, CaseScene};

cases! { "revisions":
    "parts are applied one after the other, as apply applies batches" [+Sources -ReadOnly] => in_order;
    "an empty part is passed over, and a revision may change nothing at all" [+Sources -ReadOnly] => no_writes;
    "revisions are applied in order, and each answer tells of its own" [+Sources -ReadOnly] => applies_in_list_order;
    "drawers of a revision are found, counted and listed among the changes like any others" [+Sources -ReadOnly] => like_others;
    "a revision whose source has another record by now is overtaken, nothing of it is written, and the others go on" [+Sources -ReadOnly] => overtaken_writes_nothing;
    "a revision that expects a record is overtaken where there is none" [+Sources -ReadOnly] => missing_record_overtakes;
    "of two revisions of one source for the same record in one list the second is overtaken" [+Sources -ReadOnly] => second_is_overtaken;
    "a revision without a stamp forgets the record" [+Sources -ReadOnly] => forgets_the_record;
    "a revision has a number that no earlier record of the collection had, not even a forgotten one" [+Sources -ReadOnly] => numbers_grow;
    "a reader sees all revisions of a list whole or not at all" [+Sources -ReadOnly] => one_step;
    "of those who revise a source at once one is done and the others are overtaken" [+Sources -ReadOnly] => one_wins;
    "every acknowledged revision is there with its drawers after a crash" [+Sources -ReadOnly] => survives_a_crash;
}

pub(super) fn add_write(called: &str, text: &str) -> Write {
    Write::Add(text_drawer(called, text))
}

pub(super) fn add_writes(called: &[&str]) -> Vec<Write> {
    called.iter().map(|called| add_write(called, "text")).collect()
}

fn in_order(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("old", "text")])?;
    let reworded = DrawerPatch {
        document: Some("third".into()),
        ..DrawerPatch::new(id("a"))
    };
    // Each part depends on the one before: `a` is added, replaced and then updated, `b` is added and
    // removed.
    let parts = [
        vec![
            add_write("a", "first"),
            add_write("b", "first"),
            add_write("old", "never"),
        ],
        vec![Write::Upsert(text_drawer("a", "second")), delete_write("b")],
        vec![Write::Update(reworded), delete_write("absent")],
        vec![
            Write::Add(text_drawer("c", "text")),
            Write::Delete(DeleteSelection::Matching(
                parse_filter(r#"{"wing": "none"}"#).into(),
            )),
        ],
    ];
    let (receipt, _) = revise_one(drawers.as_ref(), new_revision("a.md", None, "1", parts))?;
    same!(id_texts(&receipt.added), ["a", "b", "c"], "added");
    same!(id_texts(&receipt.kept), ["old"], "kept");
    same!(id_texts(&receipt.replaced), ["a"], "replaced");
    same!(id_texts(&receipt.updated), ["a"], "updated");
    same!(id_texts(&receipt.deleted), ["b"], "deleted");
    same!(id_texts(&receipt.missing), ["absent"], "missing");
    same!(all_ids(drawers.as_ref())?, ["a", "c", "old"], "ids");
    same!(
        read_drawer(drawers.as_ref(), "a")?.document.as_deref(),
        Some("third"),
        "the last text"
    );
    same!(
        read_drawer(drawers.as_ref(), "old")?.document.as_deref(),
        Some("text"),
        "the text of one that was kept"
    );
    Ok(())
}

fn no_writes(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let before = drawers.info()?;
    let empty: [Vec<Vec<Write>>; 3] = [vec![], vec![vec![]], vec![vec![], vec![]]];
    for (n, parts) in empty.into_iter().enumerate() {
        let (receipt, number) = revise_one(
            drawers.as_ref(),
            new_revision(&format!("{n}.md"), None, "unchanged", parts),
        )?;
        ensure!(
            receipt.added.is_empty() && number.is_some(),
            "expected a record and no drawer, found {receipt:?} and {number:?}"
        );
    }
    // A record alone is not a change of the collection; a mine run over unchanged files must not wake
    // followers.
    same!(drawers.info()?, before, "what the collection says of itself");
    let parts = [vec![], add_writes(&["b"]), vec![], add_writes(&["c"]), vec![]];
    let (receipt, _) = revise_one(drawers.as_ref(), new_revision("last.md", None, "new", parts))?;
    same!(id_texts(&receipt.added), ["b", "c"], "added between empty parts");
    same!(
        record_names(&drawers.require_sources()?.find_records(&every_record())?),
        ["0.md", "1.md", "2.md", "last.md"],
        "records"
    );
    Ok(())
}

fn applies_in_list_order(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let revised = drawers.require_sources()?.revise(vec![
        new_revision("a.md", None, "1", [add_writes(&["a1"]), add_writes(&["a2"])]),
        // Removes a drawer of the first revision, so their order shows in the result.
        new_revision(
            "b.md",
            None,
            "2",
            [vec![delete_write("a1"), add_write("b1", "text")]],
        ),
        new_revision("c.md", None, "3", []),
    ])?;
    same!(revised.len(), 3, "answers");
    let mut numbers = Vec::new();
    for (revised, expected) in revised.into_iter().zip([(2, 0), (1, 1), (0, 0)]) {
        let (receipt, number) = expect_done(revised)?;
        same!(
            (receipt.added.len(), receipt.deleted.len()),
            expected,
            "added and deleted"
        );
        numbers.push(number);
    }
    let records = drawers.require_sources()?.find_records(&every_record())?;
    same!(record_names(&records), ["a.md", "b.md", "c.md"], "records");
    let stored: Vec<Option<u64>> = records.iter().map(|record| Some(record.revision)).collect();
    same!(stored, numbers, "the revisions that were given");
    same!(all_ids(drawers.as_ref())?, ["a2", "b1"], "ids");
    Ok(())
}

fn like_others(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let piece = |called: &str, start| source_piece(called, &format!("alpha {called}"), "a.md", start);
    let parts = [
        vec![Write::Add(piece("a", 0)), Write::Add(piece("b", 10))],
        vec![Write::Add(piece("c", 20)), delete_write("b")],
    ];
    let (receipt, _) = revise_one(drawers.as_ref(), new_revision("a.md", None, "1", parts))?;
    same!(
        drawers.count(&Filter::text_equals("source", "a.md").into())?,
        2,
        "count by source"
    );
    if scene.can(Capability::Lexical) {
        let hits = drawers.lexical(&LexicalRequest::for_words("alpha", 10))?;
        same!(hit_ids(&hits).len(), 2, "hits by words");
    }
    if scene.can(Capability::ChangeFeed) {
        let changes = drawers.require_feed()?.changes_since(Cursor(0), 10)?.changes;
        let mut listed: Vec<&str> = changes.iter().map(|change| change.id.as_str()).collect();
        same!(
            changes.iter().map(|change| change.seq).max(),
            Some(receipt.seq),
            "the last change"
        );
        listed.sort_unstable();
        same!(listed, ["a", "b", "c"], "changes");
    }
    // The twin rule applies to revisions, too; mining is where twins come from.
    let twin = Write::Add(source_piece("other", "alpha a", "a.md", 0));
    let expects = drawers.require_sources()?.find_records(&every_record())?[0].revision;
    let (receipt, _) = revise_one(
        drawers.as_ref(),
        new_revision("a.md", Some(expects), "2", [vec![twin]]),
    )?;
    same!(receipt.twins.len(), 1, "twins");
    Ok(())
}

fn overtaken_writes_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    store_records(drawers.as_ref(), &["a.md", "c.md"])?;
    let read = drawers.require_sources()?.find_records(&every_record())?;
    let (ours, others) = (read[0].revision, read[1].revision);
    // Another process files a newer state between our reading of the record and our revision.
    revise_one(drawers.as_ref(), new_revision("a.md", Some(ours), "newer", []))?;
    // With the old number, as if there were no record, and with an invented number.
    let late = |expects| {
        new_revision(
            "a.md",
            expects,
            "late",
            [add_writes(&["late"]), vec![delete_write("b")]],
        )
    };
    let revised = drawers.require_sources()?.revise(vec![
        // Valid revisions before and after the overtaken ones must still be applied.
        new_revision("b.md", None, "1", [add_writes(&["b"])]),
        late(Some(ours)),
        late(None),
        late(Some(u64::MAX)),
        forgetting_revision("a.md", Some(ours)),
        new_revision("c.md", Some(others), "2", [add_writes(&["c"])]),
    ])?;
    let kinds: Vec<bool> = revised
        .iter()
        .map(|one| *one == RevisionOutcome::Overtaken)
        .collect();
    same!(
        kinds,
        [false, true, true, true, true, false],
        "which of them were overtaken"
    );
    same!(all_ids(drawers.as_ref())?, ["b", "c"], "ids");
    let expected = [("a.md", "newer"), ("b.md", "1"), ("c.md", "2")];
    let expected = expected.map(|(name, stamp)| (name.to_owned(), stamp.to_owned()));
    same!(read_stamps(drawers.as_ref())?, expected, "records");
    Ok(())
}

fn missing_record_overtakes(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let (_, number) = revise_one(drawers.as_ref(), new_revision("a.md", None, "1", []))?;
    revise_one(drawers.as_ref(), forgetting_revision("a.md", number))?;
    for late in [
        new_revision("a.md", number, "late", [add_writes(&["late"])]),
        // A source that never had a record: a default of zero or one must not match.
        new_revision("new.md", Some(1), "late", [add_writes(&["late"])]),
        forgetting_revision("a.md", number),
    ] {
        same!(
            drawers.require_sources()?.revise(vec![late])?,
            [RevisionOutcome::Overtaken],
            "what became of it"
        );
    }
    same!(
        drawers.require_sources()?.find_records(&every_record())?,
        [],
        "records"
    );
    same!(all_ids(drawers.as_ref())?.len(), 0, "drawers");
    Ok(())
}

fn second_is_overtaken(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let revised = drawers.require_sources()?.revise(vec![
        new_revision("a.md", None, "first", [add_writes(&["a"])]),
        // The first has created the record by then; comparing against the state before the list would
        // accept both.
        new_revision("a.md", None, "second", [add_writes(&["b"])]),
    ])?;
    ensure!(
        matches!(
            revised.as_slice(),
            [RevisionOutcome::Done { .. }, RevisionOutcome::Overtaken]
        ),
        "expected the second to be overtaken, found {revised:?}"
    );
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn forgets_the_record(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    store_records(drawers.as_ref(), &["b.md"])?;
    let (_, number) = revise_one(
        drawers.as_ref(),
        new_revision("a.md", None, "1", [add_writes(&["a", "b"])]),
    )?;
    let last = SourceRevision {
        stamp: None,
        ..new_revision("a.md", number, "", [vec![delete_write("a")]])
    };
    let (receipt, number) = revise_one(drawers.as_ref(), last)?;
    same!(number, None, "the revision of a record that is gone");
    same!(id_texts(&receipt.deleted), ["a"], "deleted");
    same!(
        record_names(&drawers.require_sources()?.find_records(&every_record())?),
        ["b.md"],
        "records"
    );
    same!(all_ids(drawers.as_ref())?, ["b"], "ids");
    // Forgetting what was never remembered is done, not overtaken: the expectation holds.
    let (_, number) = revise_one(drawers.as_ref(), forgetting_revision("never.md", None))?;
    same!(number, None, "the revision of a record that never was");
    same!(
        record_names(&drawers.require_sources()?.find_records(&every_record())?),
        ["b.md"],
        "records"
    );
    Ok(())
}

fn numbers_grow(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let mut highest = 0;
    let mut grows = |number: Option<u64>, what: &str| -> CaseOutcome<Option<u64>> {
        let given = number.unwrap_or(0);
        ensure!(
            given > highest,
            "expected a number over {highest} for {what}, found {number:?}"
        );
        highest = given;
        Ok(number)
    };
    for round in 0..3 {
        let parts = [add_writes(&[&format!("a{round}"), &format!("b{round}")])];
        let (_, first) = revise_one(drawers.as_ref(), new_revision("a.md", None, "1", parts))?;
        grows(first, "a new record")?;
        let (_, other) = revise_one(
            drawers.as_ref(),
            new_revision(&format!("{round}.md"), None, "1", []),
        )?;
        grows(other, "a record of another source")?;
        let (_, second) = revise_one(drawers.as_ref(), new_revision("a.md", first, "1", []))?;
        let second = grows(second, "a record that changes nothing")?;
        // If numbers started again after a record was forgotten, a slow writer with an old number could
        // overwrite a newer state.
        revise_one(drawers.as_ref(), forgetting_revision("a.md", second))?;
    }
    let (_, last) = revise_one(
        scene.open_elsewhere()?.as_ref(),
        new_revision("a.md", None, "1", []),
    )?;
    grows(last, "a record of another process")?;
    Ok(())
}

fn one_step(scene: &CaseScene<'_>) -> CaseOutcome {
    const PART: usize = 5;
    scene.open()?;
    let ended = AtomicBool::new(false);
    let ids_only = GetRequest {
        include: loci_core::DrawerFields::NOTHING,
        ..GetRequest::default()
    };
    run_at_once(scene, |who, drawers| {
        if who == 0 {
            let _ended = EndFlagGuard(&ended);
            for round in 0..8 {
                let part = |source: usize, part: usize| {
                    let called = |n: usize| format!("r{round}-{source}-{part}-{n}");
                    (0..PART)
                        .map(|n| add_write(&called(n), "text"))
                        .collect::<Vec<_>>()
                };
                let name = |source: usize| format!("{round}-{source}.md");
                // Two sources of two parts each: a commit per part or per source would be visible in
                // between.
                let both = [0, 1].map(|source| {
                    let parts = [0, 1].map(|at| part(source, at));
                    new_revision(&name(source), None, "1", parts)
                });
                drawers.require_sources()?.revise(both.into())?;
            }
            return Ok(());
        }
        loop {
            let last = ended.load(Ordering::SeqCst);
            // One reader watches the records and the others the drawers; each read is one call, because two
            // calls may see two states.
            let (seen, records) = match who {
                1 => (0, drawers.require_sources()?.find_records(&every_record())?.len()),
                _ => (drawers.get(&ids_only)?.len(), 0),
            };
            ensure!(
                seen.is_multiple_of(4 * PART) && records.is_multiple_of(2),
                "expected whole revisions, found {seen} drawers and {records} records"
            );
            if last {
                same!(
                    seen + records,
                    if who == 1 { 16 } else { 32 * PART },
                    "seen at last"
                );
                return Ok(());
            }
        }
    })
    .map(drop)
}

fn one_wins(scene: &CaseScene<'_>) -> CaseOutcome {
    const ROUNDS: usize = 10;
    let drawers = scene.open()?;
    for round in 0..ROUNDS {
        let expects = drawers
            .require_sources()?
            .find_records(&every_record())?
            .first()
            .map(|record| record.revision);
        let won = run_at_once(scene, |writer, drawers| {
            // The usual shape of a new state: remove the old pieces and file the new ones.
            let old = Write::Delete(DeleteSelection::Matching(
                Filter::text_equals("source", "a.md").into(),
            ));
            let piece = |n: u64| -> NewDrawer {
                source_piece(
                    &format!("{round}-{writer}-{n}"),
                    &format!("by {writer}"),
                    "a.md",
                    n * 10,
                )
            };
            let new = vec![Write::Add(piece(0)), Write::Add(piece(1))];
            let stamp = format!("round {round} by {writer}");
            let revised = drawers.require_sources()?.revise(vec![new_revision(
                "a.md",
                expects,
                &stamp,
                [vec![old], new],
            )])?;
            Ok(revised != [RevisionOutcome::Overtaken])
        })?;
        let winners: Vec<usize> = (0..won.len()).filter(|writer| won[*writer]).collect();
        same!(winners.len(), 1, "winners of round {round}");
        let stamp = format!("round {round} by {}", winners[0]);
        same!(
            read_stamps(drawers.as_ref())?,
            [("a.md".to_owned(), stamp)],
            "the record after round {round}"
        );
        let own = [0, 1].map(|n| format!("{round}-{}-{n}", winners[0]));
        // Drawers of two writers side by side would mean that a source is old and new at once.
        same!(all_ids(drawers.as_ref())?, own, "drawers after round {round}");
    }
    Ok(())
}

fn survives_a_crash(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let parts = [add_writes(&["a"]), add_writes(&["b"])];
    revise_one(drawers.as_ref(), new_revision("a.md", None, "1", parts))?;
    if !scene.world().crash() {
        return Err(crate::CaseFailure::NotApplicable(
            "this world cannot crash".into(),
        ));
    }
    let after = scene.open_afterwards()?;
    same!(all_ids(after.as_ref())?, ["a", "b"], "ids");
    same!(
        record_names(&after.require_sources()?.find_records(&every_record())?),
        ["a.md"],
        "records"
    );
    Ok(())
}
