//! Moments: reads that agree with each other, regardless of concurrent writes.

use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionExt, CollectionInfo, CollectionReader, Drawer, DrawerCondition,
    DrawerHit, FacetCount, FacetRequest, Filter, ForeseenRead, GetRequest, LexicalRequest, QueryRequest,
    Write,
};

use crate::samples::{all_ids, delete_write, id, text_drawer, vector_drawer, wing_drawer};
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "moments":
    "a moment answers as its handle does" [+Moment] => like_the_handle;
    "reads of a moment agree with each other whatever is written meanwhile" [+Moment -ReadOnly] => own_writes_are_unseen;
    "reads of a moment agree with each other whatever another process writes meanwhile" [+Moment +MultiProcess -ReadOnly] => foreign_writes_are_unseen;
    "a moment sees every write acknowledged before it began" [+Moment -ReadOnly] => begins_now;
    "a moment keeps no one from writing" [+Moment -ReadOnly] => no_lock;
    "a moment answers every read as if none had been foreseen" [+Moment] => foreseen_reads;
    "reads that were foreseen for an earlier state see the present one" [+Moment -ReadOnly] => foreseen_after_writes;
}

fn open_house(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    // Both drawers answer every kind of question, so that a change shows in each of the answers.
    let drawers = [
        vector_drawer("a", "alpha", &[1.0, 0.0, 0.0, 0.0]),
        vector_drawer("b", "alpha bravo", &[0.0, 1.0, 0.0, 0.0]),
    ];
    scene.open_filled(drawers.map(|drawer| scene.fit_drawer(drawer)))
}

fn open_moment(drawers: &dyn Collection) -> CaseOutcome<Box<dyn CollectionReader + '_>> {
    let moment = drawers.moment()?;
    moment.ok_or_else(|| CaseFailure::new("expected a moment, found none"))
}

/// The answers of a reader to every kind of question.
#[derive(Debug, PartialEq)]
struct ReaderAnswers {
    drawers: Vec<Drawer>,
    nearest: Vec<Vec<DrawerHit>>,
    words: Vec<DrawerHit>,
    count: u64,
    facets: Vec<FacetCount>,
    info: CollectionInfo,
}

fn ask_everything<R: CollectionReader + ?Sized>(
    scene: &CaseScene<'_>,
    reader: &R,
) -> CaseOutcome<ReaderAnswers> {
    // Every method of the reader: a snapshot that covers rows but not the word statistics, counters or info
    // is not a moment.
    let mut answers = ReaderAnswers {
        drawers: reader.get(&GetRequest {
            include: scene.every_field(),
            ..GetRequest::default()
        })?,
        nearest: Vec::new(),
        words: Vec::new(),
        count: reader.count(&DrawerCondition::default())?,
        facets: reader.facets(&FacetRequest::by_room())?,
        info: reader.info()?,
    };
    if scene.can(Capability::EmbeddingsPassthrough) {
        answers.nearest = reader.query(&QueryRequest::nearest_to(vec![1.0, 0.5, 0.0, 0.0], 9))?;
    }
    if scene.can(Capability::Lexical) {
        answers.words = reader.lexical(&LexicalRequest::for_words("alpha", 9))?;
    }
    Ok(answers)
}

fn like_the_handle(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let moment = open_moment(drawers.as_ref())?;
    same!(
        ask_everything(scene, moment.as_ref())?,
        ask_everything(scene, drawers.as_ref())?,
        "answers of the moment"
    );
    Ok(())
}

/// Reads like those that [`ask_everything`] makes, and some that it does not make.
fn foresee_everything(scene: &CaseScene<'_>) -> Vec<ForeseenRead> {
    let mut foreseen = vec![
        ForeseenRead::Count(DrawerCondition::default()),
        ForeseenRead::Count(Filter::text_equals("wing", "nowhere").into()),
    ];
    if scene.can(Capability::EmbeddingsPassthrough) {
        let wanted = QueryRequest::nearest_to(vec![1.0, 0.5, 0.0, 0.0], 11);
        foreseen.push(ForeseenRead::Query(wanted));
        // Refused when it is made, and of no consequence before.
        foreseen.push(ForeseenRead::Query(QueryRequest::nearest_to(vec![1.0], 11)));
    }
    if scene.can(Capability::Lexical) {
        foreseen.push(ForeseenRead::Lexical(LexicalRequest::for_words(
            "bravo alpha",
            11,
        )));
    }
    foreseen
}

fn foreseen_reads(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    expect_foreseen_alike(scene, drawers.as_ref())
}

fn foreseen_after_writes(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    expect_foreseen_alike(scene, drawers.as_ref())?;
    for n in 0..3 {
        let added = vector_drawer(&format!("n{n}"), "alpha charlie", &[0.5, 0.5, n as f32, 0.0]);
        drawers.apply_batch(&[Write::Upsert(scene.fit_drawer(added))])?;
        expect_foreseen_alike(scene, drawers.as_ref())?;
    }
    drawers.apply_batch(&[delete_write("a")])?;
    expect_foreseen_alike(scene, drawers.as_ref())
}

/// Checks that a moment with foreseen reads answers like one without.
fn expect_foreseen_alike(scene: &CaseScene<'_>, drawers: &dyn Collection) -> CaseOutcome {
    let moment = drawers.moment_for(&foresee_everything(scene))?;
    let moment = moment.ok_or_else(|| CaseFailure::new("expected a moment, found none"))?;
    same!(
        ask_everything(scene, moment.as_ref())?,
        ask_everything(scene, open_moment(drawers)?.as_ref())?,
        "answers of a moment with foreseen reads"
    );
    Ok(())
}

/// Checks that a moment of `drawers` does not change while `writer` writes, whether or not it was read before.
fn expect_moment_stays(
    scene: &CaseScene<'_>,
    drawers: &dyn Collection,
    writer: &dyn Collection,
) -> CaseOutcome {
    let expected = ask_everything(scene, drawers)?;
    // Two moments: a database may take its snapshot at the first read and not when the transaction begins,
    // so the one that was never read before the writes is the harder test.
    let (unread, read) = (open_moment(drawers)?, open_moment(drawers)?);
    same!(
        ask_everything(scene, read.as_ref())?,
        expected,
        "answers of the moment before the writes"
    );
    // An addition, a replacement and a removal; each would show in another answer.
    writer.apply_batch(&[
        Write::Add(wing_drawer("c", "new wing")),
        Write::Upsert(text_drawer("a", "alpha alpha replaced")),
        delete_write("b"),
    ])?;
    for moment in [read, unread] {
        same!(
            ask_everything(scene, moment.as_ref())?,
            expected,
            "answers of the moment after the writes"
        );
    }
    // The handle itself must not be pinned to the moment.
    same!(
        all_ids(drawers)?,
        ["a", "c"],
        "ids of the handle after the writes"
    );
    Ok(())
}

fn own_writes_are_unseen(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    expect_moment_stays(scene, drawers.as_ref(), drawers.as_ref())
}

fn foreign_writes_are_unseen(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let elsewhere = scene.open_elsewhere()?;
    expect_moment_stays(scene, drawers.as_ref(), elsewhere.as_ref())
}

fn begins_now(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    // Each moment right after a write: a snapshot reused from a pool would be older than the write.
    for n in 0..5 {
        let called = format!("d{n}");
        drawers.add_drawer(text_drawer(&called, "text"))?;
        let moment = open_moment(drawers.as_ref())?;
        same!(
            moment.get(&GetRequest::by_ids([id(&called)]))?.len(),
            1,
            "drawers filed just before the moment"
        );
    }
    Ok(())
}

fn no_lock(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let held = open_moment(drawers.as_ref())?;
    // Read once, so that a lazily opened snapshot really is open while the writes run.
    held.info()?;
    for n in 0..5 {
        drawers.add_drawer(text_drawer(&format!("d{n}"), "text"))?;
        // Several moments of different ages at once.
        let later = open_moment(drawers.as_ref())?;
        same!(
            later.count(&DrawerCondition::default())?,
            3 + n,
            "drawers of a later moment"
        );
    }
    same!(
        held.count(&DrawerCondition::default())?,
        2,
        "drawers of the first moment"
    );
    Ok(())
}
