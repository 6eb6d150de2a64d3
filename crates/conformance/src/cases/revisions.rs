//! New states of sources: drawers and record in one step, or not at all where somebody else was first.

use std::sync::atomic::{AtomicBool, Ordering};

use loci_core::{
    Capability, CollectionExt, Cursor, Filter, Get, Lexical, NewDrawer, Patch, Revised, Revision, Selection,
    Write,
};

use super::concurrency::{Ended, at_once};
use crate::revising::{all, done, forgetting, names, remember, revise_one, revision, stamps};
use crate::samples::{all_ids, cut, delete, filter, hit_ids, id, plain, read, texts};
use crate::{Outcome, Scene};

cases! { "revisions":
    "parts are applied one after the other, as apply applies batches" [+Sources -ReadOnly] => in_order;
    "an empty part is passed over, and a revision may change nothing at all" [+Sources -ReadOnly] => no_writes;
    "revisions are applied in order, and each answer tells of its own" [+Sources -ReadOnly] => several;
    "drawers of a revision are found, counted and listed among the changes like any others" [+Sources -ReadOnly] => like_others;
    "a revision whose source has another record by now is overtaken, nothing of it is written, and the others go on" [+Sources -ReadOnly] => overtaken;
    "a revision that expects a record is overtaken where there is none" [+Sources -ReadOnly] => gone;
    "of two revisions of one source for the same record in one list the second is overtaken" [+Sources -ReadOnly] => twice;
    "a revision without a stamp forgets the record" [+Sources -ReadOnly] => forgotten;
    "a revision has a number that no earlier record of the collection had, not even a forgotten one" [+Sources -ReadOnly] => growing;
    "a reader sees all revisions of a list whole or not at all" [+Sources -ReadOnly] => one_step;
    "of those who revise a source at once one is done and the others are overtaken" [+Sources -ReadOnly] => one_wins;
    "every acknowledged revision is there with its drawers after a crash" [+Sources -ReadOnly] => crashed;
}

pub(super) fn add(called: &str, text: &str) -> Write {
    Write::Add(plain(called, text))
}

pub(super) fn adds(called: &[&str]) -> Vec<Write> {
    called.iter().map(|called| add(called, "text")).collect()
}

fn in_order(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("old", "text")])?;
    let reworded = Patch {
        document: Some("third".into()),
        ..Patch::new(id("a"))
    };
    let parts = [
        vec![add("a", "first"), add("b", "first"), add("old", "never")],
        vec![Write::Upsert(plain("a", "second")), delete("b")],
        vec![Write::Update(reworded), delete("nobody")],
        vec![
            Write::Add(plain("c", "text")),
            Write::Delete(Selection::Matching(filter(r#"{"wing": "none"}"#).into())),
        ],
    ];
    let (receipt, _) = revise_one(drawers.as_ref(), revision("a.md", None, "1", parts))?;
    same!(texts(&receipt.added), ["a", "b", "c"], "added");
    same!(texts(&receipt.kept), ["old"], "kept");
    same!(texts(&receipt.replaced), ["a"], "replaced");
    same!(texts(&receipt.updated), ["a"], "updated");
    same!(texts(&receipt.deleted), ["b"], "deleted");
    same!(texts(&receipt.missing), ["nobody"], "missing");
    same!(all_ids(drawers.as_ref())?, ["a", "c", "old"], "ids");
    same!(
        read(drawers.as_ref(), "a")?.document.as_deref(),
        Some("third"),
        "the last text"
    );
    same!(
        read(drawers.as_ref(), "old")?.document.as_deref(),
        Some("text"),
        "the text of one that was kept"
    );
    Ok(())
}

fn no_writes(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let before = drawers.info()?;
    let empty: [Vec<Vec<Write>>; 3] = [vec![], vec![vec![]], vec![vec![], vec![]]];
    for (n, parts) in empty.into_iter().enumerate() {
        let (receipt, number) = revise_one(
            drawers.as_ref(),
            revision(&format!("{n}.md"), None, "unchanged", parts),
        )?;
        ensure!(
            receipt.added.is_empty() && number.is_some(),
            "expected a record and no drawer, found {receipt:?} and {number:?}"
        );
    }
    same!(drawers.info()?, before, "what the collection says of itself");
    let parts = [vec![], adds(&["b"]), vec![], adds(&["c"]), vec![]];
    let (receipt, _) = revise_one(drawers.as_ref(), revision("last.md", None, "new", parts))?;
    same!(texts(&receipt.added), ["b", "c"], "added between empty parts");
    same!(
        names(&drawers.require_sources()?.find_records(&all())?),
        ["0.md", "1.md", "2.md", "last.md"],
        "records"
    );
    Ok(())
}

fn several(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let revised = drawers.require_sources()?.revise(vec![
        revision("a.md", None, "1", [adds(&["a1"]), adds(&["a2"])]),
        revision("b.md", None, "2", [vec![delete("a1"), add("b1", "text")]]),
        revision("c.md", None, "3", []),
    ])?;
    same!(revised.len(), 3, "answers");
    let mut numbers = Vec::new();
    for (revised, expected) in revised.into_iter().zip([(2, 0), (1, 1), (0, 0)]) {
        let (receipt, number) = done(revised)?;
        same!(
            (receipt.added.len(), receipt.deleted.len()),
            expected,
            "added and deleted"
        );
        numbers.push(number);
    }
    let records = drawers.require_sources()?.find_records(&all())?;
    same!(names(&records), ["a.md", "b.md", "c.md"], "records");
    let stored: Vec<Option<u64>> = records.iter().map(|record| Some(record.revision)).collect();
    same!(stored, numbers, "the revisions that were given");
    same!(all_ids(drawers.as_ref())?, ["a2", "b1"], "ids");
    Ok(())
}

fn like_others(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let piece = |called: &str, start| cut(called, &format!("alpha {called}"), "a.md", start);
    let parts = [
        vec![Write::Add(piece("a", 0)), Write::Add(piece("b", 10))],
        vec![Write::Add(piece("c", 20)), delete("b")],
    ];
    let (receipt, _) = revise_one(drawers.as_ref(), revision("a.md", None, "1", parts))?;
    same!(
        drawers.count(&Filter::text("source", "a.md").into())?,
        2,
        "count by source"
    );
    if scene.can(Capability::Lexical) {
        let hits = drawers.lexical(&Lexical::words("alpha", 10))?;
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
    let twin = Write::Add(cut("other", "alpha a", "a.md", 0));
    let expects = drawers.require_sources()?.find_records(&all())?[0].revision;
    let (receipt, _) = revise_one(
        drawers.as_ref(),
        revision("a.md", Some(expects), "2", [vec![twin]]),
    )?;
    same!(receipt.twins.len(), 1, "twins");
    Ok(())
}

fn overtaken(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    remember(drawers.as_ref(), &["a.md", "c.md"])?;
    let read = drawers.require_sources()?.find_records(&all())?;
    let (ours, others) = (read[0].revision, read[1].revision);
    revise_one(drawers.as_ref(), revision("a.md", Some(ours), "newer", []))?;
    let late = |expects| revision("a.md", expects, "late", [adds(&["late"]), vec![delete("b")]]);
    let revised = drawers.require_sources()?.revise(vec![
        revision("b.md", None, "1", [adds(&["b"])]),
        late(Some(ours)),
        late(None),
        late(Some(u64::MAX)),
        forgetting("a.md", Some(ours)),
        revision("c.md", Some(others), "2", [adds(&["c"])]),
    ])?;
    let kinds: Vec<bool> = revised.iter().map(|one| *one == Revised::Overtaken).collect();
    same!(
        kinds,
        [false, true, true, true, true, false],
        "which of them were overtaken"
    );
    same!(all_ids(drawers.as_ref())?, ["b", "c"], "ids");
    let expected = [("a.md", "newer"), ("b.md", "1"), ("c.md", "2")];
    let expected = expected.map(|(name, stamp)| (name.to_owned(), stamp.to_owned()));
    same!(stamps(drawers.as_ref())?, expected, "records");
    Ok(())
}

fn gone(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let (_, number) = revise_one(drawers.as_ref(), revision("a.md", None, "1", []))?;
    revise_one(drawers.as_ref(), forgetting("a.md", number))?;
    for late in [
        revision("a.md", number, "late", [adds(&["late"])]),
        revision("new.md", Some(1), "late", [adds(&["late"])]),
        forgetting("a.md", number),
    ] {
        same!(
            drawers.require_sources()?.revise(vec![late])?,
            [Revised::Overtaken],
            "what became of it"
        );
    }
    same!(drawers.require_sources()?.find_records(&all())?, [], "records");
    same!(all_ids(drawers.as_ref())?.len(), 0, "drawers");
    Ok(())
}

fn twice(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let revised = drawers.require_sources()?.revise(vec![
        revision("a.md", None, "first", [adds(&["a"])]),
        revision("a.md", None, "second", [adds(&["b"])]),
    ])?;
    ensure!(
        matches!(revised.as_slice(), [Revised::Done { .. }, Revised::Overtaken]),
        "expected the second to be overtaken, found {revised:?}"
    );
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn forgotten(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    remember(drawers.as_ref(), &["b.md"])?;
    let (_, number) = revise_one(drawers.as_ref(), revision("a.md", None, "1", [adds(&["a", "b"])]))?;
    let last = Revision {
        stamp: None,
        ..revision("a.md", number, "", [vec![delete("a")]])
    };
    let (receipt, number) = revise_one(drawers.as_ref(), last)?;
    same!(number, None, "the revision of a record that is gone");
    same!(texts(&receipt.deleted), ["a"], "deleted");
    same!(
        names(&drawers.require_sources()?.find_records(&all())?),
        ["b.md"],
        "records"
    );
    same!(all_ids(drawers.as_ref())?, ["b"], "ids");
    let (_, number) = revise_one(drawers.as_ref(), forgetting("never.md", None))?;
    same!(number, None, "the revision of a record that never was");
    same!(
        names(&drawers.require_sources()?.find_records(&all())?),
        ["b.md"],
        "records"
    );
    Ok(())
}

fn growing(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let mut highest = 0;
    let mut grows = |number: Option<u64>, what: &str| -> Outcome<Option<u64>> {
        let given = number.unwrap_or(0);
        ensure!(
            given > highest,
            "expected a number over {highest} for {what}, found {number:?}"
        );
        highest = given;
        Ok(number)
    };
    for round in 0..3 {
        let parts = [adds(&[&format!("a{round}"), &format!("b{round}")])];
        let (_, first) = revise_one(drawers.as_ref(), revision("a.md", None, "1", parts))?;
        grows(first, "a new record")?;
        let (_, other) = revise_one(drawers.as_ref(), revision(&format!("{round}.md"), None, "1", []))?;
        grows(other, "a record of another source")?;
        let (_, second) = revise_one(drawers.as_ref(), revision("a.md", first, "1", []))?;
        let second = grows(second, "a record that changes nothing")?;
        revise_one(drawers.as_ref(), forgetting("a.md", second))?;
    }
    let (_, last) = revise_one(scene.open_elsewhere()?.as_ref(), revision("a.md", None, "1", []))?;
    grows(last, "a record of another process")?;
    Ok(())
}

fn one_step(scene: &Scene<'_>) -> Outcome {
    const PART: usize = 5;
    scene.open()?;
    let ended = AtomicBool::new(false);
    let ids_only = Get {
        include: loci_core::Include::NOTHING,
        ..Get::default()
    };
    at_once(scene, |who, drawers| {
        if who == 0 {
            let _ended = Ended(&ended);
            for round in 0..8 {
                let part = |source: usize, part: usize| {
                    let called = |n: usize| format!("r{round}-{source}-{part}-{n}");
                    (0..PART).map(|n| add(&called(n), "text")).collect::<Vec<_>>()
                };
                let name = |source: usize| format!("{round}-{source}.md");
                let both = [0, 1].map(|source| {
                    let parts = [0, 1].map(|at| part(source, at));
                    revision(&name(source), None, "1", parts)
                });
                drawers.require_sources()?.revise(both.into())?;
            }
            return Ok(());
        }
        loop {
            let last = ended.load(Ordering::SeqCst);
            let (seen, records) = match who {
                1 => (0, drawers.require_sources()?.find_records(&all())?.len()),
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

fn one_wins(scene: &Scene<'_>) -> Outcome {
    const ROUNDS: usize = 10;
    let drawers = scene.open()?;
    for round in 0..ROUNDS {
        let expects = drawers
            .require_sources()?
            .find_records(&all())?
            .first()
            .map(|record| record.revision);
        let won = at_once(scene, |writer, drawers| {
            let old = Write::Delete(Selection::Matching(Filter::text("source", "a.md").into()));
            let piece = |n: u64| -> NewDrawer {
                cut(
                    &format!("{round}-{writer}-{n}"),
                    &format!("by {writer}"),
                    "a.md",
                    n * 10,
                )
            };
            let new = vec![Write::Add(piece(0)), Write::Add(piece(1))];
            let stamp = format!("round {round} by {writer}");
            let revised = drawers.require_sources()?.revise(vec![revision(
                "a.md",
                expects,
                &stamp,
                [vec![old], new],
            )])?;
            Ok(revised != [Revised::Overtaken])
        })?;
        let winners: Vec<usize> = (0..won.len()).filter(|writer| won[*writer]).collect();
        same!(winners.len(), 1, "who won round {round}");
        let stamp = format!("round {round} by {}", winners[0]);
        same!(
            stamps(drawers.as_ref())?,
            [("a.md".to_owned(), stamp)],
            "the record after round {round}"
        );
        let own = [0, 1].map(|n| format!("{round}-{}-{n}", winners[0]));
        same!(all_ids(drawers.as_ref())?, own, "drawers after round {round}");
    }
    Ok(())
}

fn crashed(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let parts = [adds(&["a"]), adds(&["b"])];
    revise_one(drawers.as_ref(), revision("a.md", None, "1", parts))?;
    if !scene.world().crash() {
        return Err(crate::Failure::NotApplicable("this world cannot crash".into()));
    }
    let after = scene.open_afterwards()?;
    same!(all_ids(after.as_ref())?, ["a", "b"], "ids");
    same!(
        names(&after.require_sources()?.find_records(&all())?),
        ["a.md"],
        "records"
    );
    Ok(())
}
