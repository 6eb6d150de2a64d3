//! Moments: reads that agree with each other whatever is written meanwhile.

use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionExt, CollectionInfo, CollectionReader, Drawer, DrawerCondition, Facet,
    Facets, Get, Hit, Lexical, Query, Write,
};

use crate::samples::{all_ids, delete, id, plain, vectored, winged};
use crate::{Failure, Outcome, Scene};

cases! { "moments":
    "a moment answers as its handle does" [+Moment] => like_the_handle;
    "reads of a moment agree with each other whatever is written meanwhile" [+Moment -ReadOnly] => agree;
    "reads of a moment agree with each other whatever another process writes meanwhile" [+Moment +MultiProcess -ReadOnly] => agree_elsewhere;
    "a moment sees every write acknowledged before it began" [+Moment -ReadOnly] => begins_now;
    "a moment keeps no one from writing" [+Moment -ReadOnly] => no_lock;
}

fn house(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    let drawers = [
        vectored("a", "alpha", &[1.0, 0.0, 0.0, 0.0]),
        vectored("b", "alpha bravo", &[0.0, 1.0, 0.0, 0.0]),
    ];
    scene.filled(drawers.map(|drawer| scene.fit(drawer)))
}

fn moment(drawers: &dyn Collection) -> Outcome<Box<dyn CollectionReader + '_>> {
    let moment = drawers.moment()?;
    moment.ok_or_else(|| Failure::new("expected a moment, found none"))
}

/// Every answer of a reader.
#[derive(Debug, PartialEq)]
struct Answers {
    drawers: Vec<Drawer>,
    nearest: Vec<Vec<Hit>>,
    words: Vec<Hit>,
    count: u64,
    facets: Vec<Facet>,
    info: CollectionInfo,
}

fn ask<R: CollectionReader + ?Sized>(scene: &Scene<'_>, reader: &R) -> Outcome<Answers> {
    let mut answers = Answers {
        drawers: reader.get(&Get {
            include: scene.everything(),
            ..Get::default()
        })?,
        nearest: Vec::new(),
        words: Vec::new(),
        count: reader.count(&DrawerCondition::default())?,
        facets: reader.facets(&Facets::by_room())?,
        info: reader.info()?,
    };
    if scene.can(Capability::EmbeddingsPassthrough) {
        answers.nearest = reader.query(&Query::nearest(vec![1.0, 0.5, 0.0, 0.0], 9))?;
    }
    if scene.can(Capability::Lexical) {
        answers.words = reader.lexical(&Lexical::words("alpha", 9))?;
    }
    Ok(answers)
}

fn like_the_handle(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let moment = moment(drawers.as_ref())?;
    same!(
        ask(scene, moment.as_ref())?,
        ask(scene, drawers.as_ref())?,
        "answers of the moment"
    );
    Ok(())
}

/// Shows that a moment of `drawers` stays while `writer` writes, whatever was read of it before.
fn stays(scene: &Scene<'_>, drawers: &dyn Collection, writer: &dyn Collection) -> Outcome {
    let expected = ask(scene, drawers)?;
    let (unread, read) = (moment(drawers)?, moment(drawers)?);
    same!(
        ask(scene, read.as_ref())?,
        expected,
        "answers of the moment before the writes"
    );
    writer.apply_batch(&[
        Write::Add(winged("c", "new wing")),
        Write::Upsert(plain("a", "alpha alpha replaced")),
        delete("b"),
    ])?;
    for moment in [read, unread] {
        same!(
            ask(scene, moment.as_ref())?,
            expected,
            "answers of the moment after the writes"
        );
    }
    same!(
        all_ids(drawers)?,
        ["a", "c"],
        "ids of the handle after the writes"
    );
    Ok(())
}

fn agree(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    stays(scene, drawers.as_ref(), drawers.as_ref())
}

fn agree_elsewhere(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let elsewhere = scene.open_elsewhere()?;
    stays(scene, drawers.as_ref(), elsewhere.as_ref())
}

fn begins_now(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    for n in 0..5 {
        let called = format!("d{n}");
        drawers.add(plain(&called, "text"))?;
        let moment = moment(drawers.as_ref())?;
        same!(
            moment.get(&Get::ids([id(&called)]))?.len(),
            1,
            "drawers filed just before the moment"
        );
    }
    Ok(())
}

fn no_lock(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let held = moment(drawers.as_ref())?;
    held.info()?;
    for n in 0..5 {
        drawers.add(plain(&format!("d{n}"), "text"))?;
        let later = moment(drawers.as_ref())?;
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
