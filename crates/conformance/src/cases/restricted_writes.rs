//! Writes of a restricted handle: each is decided by what the handle sees, in the same step as the write itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_core::{
    Collection, CollectionExt, DocumentFilter, Drawer, DrawerCondition, Error, ErrorKind, Filter, Get,
    IdentityChange, NewDrawer, OpenOptions, Patch, Receipt, Selection, Write,
};

use super::concurrency::Ended;
use super::visibility::{hidden, work};
use crate::case::refused;
use crate::samples::{all_ids, cut, delete, id, one, plain, read, texts, winged};
use crate::scene::drawers;
use crate::{Failure, Outcome, Scene};

cases! { "restricted_writes":
    "drawers in sight are filed, replaced, changed and removed as ever" [-ReadOnly] => in_sight;
    "an update of a drawer out of sight lists its id as missing and changes nothing" [-ReadOnly] => updates;
    "a delete of a drawer out of sight lists its id as missing and removes nothing" [-ReadOnly] => deletes;
    "a delete by condition removes only drawers in sight" [-ReadOnly] => deletes_by_condition;
    "a new drawer that the filter would not accept is invalid and nothing of the batch is written" [-ReadOnly] => adds_out_of_sight;
    "a replacement that the filter would not accept is invalid and nothing of the batch is written" [-ReadOnly] => replaces_out_of_sight;
    "an update whose result the filter would not accept is invalid and nothing of the batch is written" [-ReadOnly] => moves_out_of_sight;
    "a new drawer or a replacement whose id is taken by a drawer out of sight is a conflict and nothing of the batch is written" [-ReadOnly] => taken_ids;
    "a write whose result is a piece of a source that a drawer out of sight has taken is a conflict and nothing of the batch is written" [-ReadOnly] => taken_pieces;
    "errors and receipts name no id out of sight" [-ReadOnly] => names_nothing;
    "the receipt of a batch that changed nothing is the same whatever was written out of sight" [-ReadOnly] => same_receipt;
    "no model is recorded through a restricted handle" [-ReadOnly] => no_model;
    "a drawer that moves out of sight is never changed by a write that was decided before" [-ReadOnly] => one_step;
    "a drawer that moves out of sight in another process is never changed by a write that was decided before" [+MultiProcess -ReadOnly] => one_step_elsewhere;
}

/// A handle on everything and one that sees the wing `work`.
struct Handles {
    whole: Arc<dyn Collection>,
    restricted: Arc<dyn Collection>,
}

impl Handles {
    /// Two drawers in sight and three out of sight.
    fn open(scene: &Scene<'_>) -> Outcome<Self> {
        let mut given = hidden();
        given.extend([winged("w1", "work"), winged("w2", "work")]);
        Ok(Self {
            whole: scene.filled(given)?,
            restricted: scene.open_seeing(work())?,
        })
    }

    /// Shows that `batch`, with a sound write before it, is refused and leaves everything as it was.
    fn refuse(&self, scene: &Scene<'_>, write: Write, kind: ErrorKind) -> Outcome {
        let given = format!("{write:?}");
        let before = everything(scene, self.whole.as_ref())?;
        for batch in [
            vec![write.clone()],
            vec![Write::Add(winged("new", "work")), write.clone()],
            vec![write, delete("w2")],
        ] {
            let error = match self.restricted.apply_batch(&batch) {
                Ok(receipt) => return Err(Failure::new(format!("expected {kind}, found {receipt:?}"))),
                Err(error) => error,
            };
            silent(&error, &given)?;
            refused(Err::<Receipt, _>(error), kind, &[])?;
            same!(
                everything(scene, self.whole.as_ref())?,
                before,
                "drawers after a refused batch"
            );
        }
        Ok(())
    }
}

fn everything(scene: &Scene<'_>, collection: &dyn Collection) -> Outcome<Vec<Drawer>> {
    Ok(collection.get(&Get {
        include: scene.everything(),
        ..Get::default()
    })?)
}

/// Shows that an error names no drawer out of sight but those that the caller gave.
fn silent(error: &Error, given: &str) -> Outcome {
    let words = format!("{error:?}");
    for secret in ["secret-1", "secret-2", "secret-3"] {
        ensure!(
            given.contains(secret) || !words.contains(secret),
            "expected an error that does not name {secret}, found {words}"
        );
    }
    Ok(())
}

fn document(called: &str, text: &str) -> Patch {
    Patch {
        document: Some(text.into()),
        ..Patch::new(id(called))
    }
}

fn moving(called: &str, wing: &str) -> Patch {
    let mut patch = Patch::new(id(called));
    patch.place.wing = Some(wing.into());
    patch
}

fn in_sight(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    let replacement = NewDrawer {
        document: "replaced".into(),
        ..winged("w2", "work")
    };
    let receipt = handles.restricted.apply_batch(&[
        Write::Add(winged("w3", "work")),
        Write::Add(winged("w1", "work")),
        Write::Upsert(replacement),
    ])?;
    same!(texts(&receipt.added), ["w3"], "added");
    same!(texts(&receipt.kept), ["w1"], "kept");
    same!(texts(&receipt.replaced), ["w2"], "replaced");
    let receipt = handles
        .restricted
        .apply_batch(&[Write::Update(document("w1", "changed")), delete("w3")])?;
    same!(texts(&receipt.updated), ["w1"], "updated");
    same!(texts(&receipt.deleted), ["w3"], "deleted");
    let ids = ["secret-1", "secret-2", "secret-3", "w1", "w2"];
    same!(all_ids(handles.whole.as_ref())?, ids, "ids");
    same!(
        read(handles.whole.as_ref(), "w1")?.document.as_deref(),
        Some("changed"),
        "text"
    );
    Ok(())
}

fn updates(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    let before = everything(scene, handles.whole.as_ref())?;
    let receipt = handles.restricted.apply_batch(&[
        Write::Update(document("secret-1", "changed")),
        Write::Update(moving("secret-2", "work")),
        Write::Update(document("never", "changed")),
    ])?;
    same!(
        texts(&receipt.missing),
        ["secret-1", "secret-2", "never"],
        "missing"
    );
    same!(receipt.updated, [], "updated");
    same!(everything(scene, handles.whole.as_ref())?, before, "drawers");
    Ok(())
}

fn deletes(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    let before = everything(scene, handles.whole.as_ref())?;
    let receipt = handles
        .restricted
        .apply_batch(&[delete("secret-1"), delete("never")])?;
    same!(texts(&receipt.missing), ["secret-1", "never"], "missing");
    same!(receipt.deleted, [], "deleted");
    same!(everything(scene, handles.whole.as_ref())?, before, "drawers");
    Ok(())
}

fn deletes_by_condition(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    let matching = |condition: DrawerCondition| [Write::Delete(Selection::Matching(condition))];
    let receipt = handles
        .restricted
        .apply_batch(&matching(Filter::text("wing", "home").into()))?;
    same!(receipt.deleted, [], "deleted by a wing out of sight");
    let worded = DrawerCondition {
        filter: crate::samples::filter(r#"{"wing":{"$in":["home","work"]}}"#),
        document: DocumentFilter::NotContains("of w2".into()),
    };
    let receipt = handles.restricted.apply_batch(&matching(worded))?;
    same!(texts(&receipt.deleted), ["w1"], "deleted");
    same!(
        all_ids(handles.whole.as_ref())?,
        ["secret-1", "secret-2", "secret-3", "w2"],
        "ids"
    );
    Ok(())
}

fn adds_out_of_sight(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    for drawer in [
        winged("x", "home"),
        plain("x", "text"),
        winged("w1", "home"),
        winged("secret-1", "home"),
    ] {
        handles.refuse(scene, Write::Add(drawer), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn replaces_out_of_sight(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    for drawer in [winged("w1", "home"), plain("w1", "text"), winged("x", "home")] {
        handles.refuse(scene, Write::Upsert(drawer), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn moves_out_of_sight(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    handles.refuse(scene, Write::Update(moving("w1", "home")), ErrorKind::Invalid)?;
    let mut by_metadata = Patch::new(id("w1"));
    by_metadata.metadata.insert("wing".into(), Some("home".into()));
    handles.refuse(scene, Write::Update(by_metadata), ErrorKind::Invalid)
}

fn taken_ids(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    let before = everything(scene, handles.whole.as_ref())?;
    for write in [
        Write::Add(winged("secret-1", "work")),
        Write::Upsert(winged("secret-1", "work")),
    ] {
        for batch in [
            vec![write.clone()],
            vec![Write::Add(winged("new", "work")), write],
        ] {
            refused(
                handles.restricted.apply_batch(&batch),
                ErrorKind::Conflict,
                &["secret-1"],
            )?;
            same!(
                everything(scene, handles.whole.as_ref())?,
                before,
                "drawers after a refused batch"
            );
        }
    }
    Ok(())
}

/// A piece of one source, filed in a wing.
fn piece(called: &str, wing: &str) -> NewDrawer {
    let mut drawer = cut(called, "the same words", "shared.md", 10);
    drawer.place.wing = Some(wing.into());
    drawer
}

fn taken_pieces(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    handles.whole.upsert(piece("secret-2", "home"))?;
    handles.refuse(scene, Write::Add(piece("x", "work")), ErrorKind::Conflict)?;
    handles.refuse(scene, Write::Upsert(piece("x", "work")), ErrorKind::Conflict)?;
    let mut becoming = document("w1", "the same words");
    becoming.place = piece("w1", "work").place;
    handles.refuse(scene, Write::Update(becoming), ErrorKind::Conflict)
}

fn names_nothing(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    handles.whole.upsert(piece("secret-2", "home"))?;
    handles.whole.upsert(piece("secret-3", "home"))?;
    let add = handles.restricted.add(piece("x", "work"));
    silent(
        &add.err()
            .ok_or_else(|| Failure::new("expected a conflict, found none"))?,
        "",
    )?;
    let all = DrawerCondition::from(crate::samples::filter(r#"{"no such key":{"$ne":1}}"#));
    let receipt = handles
        .restricted
        .apply_batch(&[Write::Delete(Selection::Matching(all))])?;
    let words = format!("{receipt:?}");
    ensure!(
        !words.contains("secret"),
        "expected a receipt that names no id out of sight, found {words}"
    );
    same!(texts(&receipt.deleted), ["w1", "w2"], "deleted");
    Ok(())
}

fn same_receipt(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    let nothing = || {
        handles
            .restricted
            .apply_batch(&[Write::Update(document("never", "x")), delete("secret-1")])
    };
    let before = nothing()?;
    handles.whole.add(winged("secret-4", "home"))?;
    handles.whole.delete(id("secret-3"))?;
    same!(nothing()?, before, "the receipt of a batch that changed nothing");
    same!(
        before.seq,
        handles.restricted.info()?.seq.0,
        "its number and the one of info"
    );
    Ok(())
}

fn no_model(scene: &Scene<'_>) -> Outcome {
    let handles = Handles::open(scene)?;
    let before = handles.whole.info()?.identity;
    for why in [IdentityChange::Confirm, IdentityChange::Force] {
        let set = handles
            .restricted
            .set_identity(&crate::scene::model("model-b"), why);
        refused(set, ErrorKind::Unsupported, &[])?;
    }
    same!(handles.whole.info()?.identity, before, "the recorded model");
    Ok(())
}

fn one_step(scene: &Scene<'_>) -> Outcome {
    let restricted = (0..3).map(|_| scene.backend()).collect::<Vec<_>>();
    moved_while_written(scene, &restricted)
}

fn one_step_elsewhere(scene: &Scene<'_>) -> Outcome {
    let restricted = (0..3).map(|_| scene.another()).collect::<Outcome<Vec<_>>>()?;
    moved_while_written(scene, &restricted)
}

/// Moves a drawer out of sight and back again while restricted handles write to it.
fn moved_while_written(scene: &Scene<'_>, backends: &[Arc<dyn loci_core::Backend>]) -> Outcome {
    let whole = scene.filled([winged("a", "work"), winged("b", "work")])?;
    let options = OpenOptions {
        visible: work(),
        ..scene.how()
    };
    let opened = backends
        .iter()
        .map(|backend| backend.open(&scene.palace(), &drawers(), &options));
    let writers = opened.collect::<loci_core::Result<Vec<_>>>()?;
    let ended = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let running: Vec<_> = writers
            .iter()
            .enumerate()
            .map(|(writer, restricted)| {
                let ended = &ended;
                threads.spawn(move || write_until_ended(writer, restricted.as_ref(), ended))
            })
            .collect();
        let watched = {
            let _ended = Ended(&ended);
            (0..40).try_for_each(|_| hide_and_watch(scene, whole.as_ref()))
        };
        for one in running {
            one.join().map_err(|_| Failure::new("a writer panicked"))??;
        }
        watched
    })
}

/// Changes, replaces and removes a drawer again and again; the conflicts of one out of sight are as they should be.
fn write_until_ended(writer: usize, restricted: &dyn Collection, ended: &AtomicBool) -> Outcome {
    let replacement = NewDrawer {
        document: format!("replaced by {writer}"),
        ..winged("a", "work")
    };
    let writes = [
        Write::Update(document("a", &format!("changed by {writer}"))),
        Write::Upsert(replacement),
        Write::Delete(Selection::Matching(Filter::text("wing", "work").into())),
    ];
    for write in writes.iter().cycle() {
        if ended.load(Ordering::SeqCst) {
            return Ok(());
        }
        match restricted.apply_batch(std::slice::from_ref(write)) {
            Err(error) if error.kind() != ErrorKind::Conflict => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// Hides a drawer, shows that nothing happens to it while it is out of sight, and brings it back.
fn hide_and_watch(scene: &Scene<'_>, whole: &dyn Collection) -> Outcome {
    let hidden = NewDrawer {
        document: "kept out of sight".into(),
        ..winged("a", "home")
    };
    whole.upsert(hidden)?;
    let expected = one(whole, "a", scene.everything())?;
    same!(
        expected.document.as_deref(),
        Some("kept out of sight"),
        "text of a drawer out of sight"
    );
    for _ in 0..3 {
        std::thread::yield_now();
        same!(
            one(whole, "a", scene.everything())?,
            expected,
            "a drawer out of sight"
        );
    }
    whole.upsert(winged("a", "work"))?;
    Ok(())
}
