//! Writes of a restricted handle: visibility is checked in the same step as the write itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_core::{
    Collection, CollectionExt, DeleteSelection, DocumentFilter, Drawer, DrawerCondition, DrawerPatch, Error,
    ErrorKind, Filter, GetRequest, IdentityChange, NewDrawer, OpenOptions, Receipt, Write,
};

use super::concurrency::EndFlagGuard;
use super::visibility::{drawers_out_of_sight, work_filter};
use crate::case::expect_refusal;
use crate::samples::{
    all_ids, delete_write, id, id_texts, read_drawer, read_fields, source_piece, text_drawer, wing_drawer,
};
use crate::scene::default_collection;
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "restricted_writes":
    "drawers in sight are filed, replaced, changed and removed as ever" [-ReadOnly] => in_sight;
    "an update of a drawer out of sight lists its id as missing and changes nothing" [-ReadOnly] => update_out_of_sight;
    "a delete of a drawer out of sight lists its id as missing and removes nothing" [-ReadOnly] => delete_out_of_sight;
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

/// An unrestricted handle and one that sees only the wing `work`.
struct RestrictedHandles {
    whole: Arc<dyn Collection>,
    restricted: Arc<dyn Collection>,
}

impl RestrictedHandles {
    /// Files two drawers in sight and three out of sight.
    fn open(scene: &CaseScene<'_>) -> CaseOutcome<Self> {
        let mut given = drawers_out_of_sight();
        given.extend([wing_drawer("w1", "work"), wing_drawer("w2", "work")]);
        Ok(Self {
            whole: scene.open_filled(given)?,
            restricted: scene.open_seeing(work_filter())?,
        })
    }

    /// Checks that `write` is refused, alone and with a valid write before or after it, and leaves everything unchanged.
    fn expect_refused(&self, scene: &CaseScene<'_>, write: Write, kind: ErrorKind) -> CaseOutcome {
        let given = format!("{write:?}");
        let before = read_everything(scene, self.whole.as_ref())?;
        // Alone, after a valid write and before one: the batch is refused as a whole wherever the bad write
        // stands.
        for batch in [
            vec![write.clone()],
            vec![Write::Add(wing_drawer("new", "work")), write.clone()],
            vec![write, delete_write("w2")],
        ] {
            let error = match self.restricted.apply_batch(&batch) {
                Ok(receipt) => return Err(CaseFailure::new(format!("expected {kind}, found {receipt:?}"))),
                Err(error) => error,
            };
            expect_silent(&error, &given)?;
            expect_refusal(Err::<Receipt, _>(error), kind, &[])?;
            same!(
                read_everything(scene, self.whole.as_ref())?,
                before,
                "drawers after a refused batch"
            );
        }
        Ok(())
    }
}

fn read_everything(scene: &CaseScene<'_>, collection: &dyn Collection) -> CaseOutcome<Vec<Drawer>> {
    Ok(collection.get(&GetRequest {
        include: scene.every_field(),
        ..GetRequest::default()
    })?)
}

/// Checks that an error names no drawer out of sight, except ids that the caller gave.
fn expect_silent(error: &Error, given: &str) -> CaseOutcome {
    // Debug output includes context, hint and source, which reach logs even if the message is clean.
    let words = format!("{error:?}");
    for secret in ["secret-1", "secret-2", "secret-3"] {
        ensure!(
            given.contains(secret) || !words.contains(secret),
            "expected an error that does not name {secret}, found {words}"
        );
    }
    Ok(())
}

fn text_patch(called: &str, text: &str) -> DrawerPatch {
    DrawerPatch {
        document: Some(text.into()),
        ..DrawerPatch::new(id(called))
    }
}

fn wing_patch(called: &str, wing: &str) -> DrawerPatch {
    let mut patch = DrawerPatch::new(id(called));
    patch.place.wing = Some(wing.into());
    patch
}

fn in_sight(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    let replacement = NewDrawer {
        document: "replaced".into(),
        ..wing_drawer("w2", "work")
    };
    let receipt = handles.restricted.apply_batch(&[
        Write::Add(wing_drawer("w3", "work")),
        Write::Add(wing_drawer("w1", "work")),
        Write::Upsert(replacement),
    ])?;
    same!(id_texts(&receipt.added), ["w3"], "added");
    same!(id_texts(&receipt.kept), ["w1"], "kept");
    same!(id_texts(&receipt.replaced), ["w2"], "replaced");
    let receipt = handles
        .restricted
        .apply_batch(&[Write::Update(text_patch("w1", "changed")), delete_write("w3")])?;
    same!(id_texts(&receipt.updated), ["w1"], "updated");
    same!(id_texts(&receipt.deleted), ["w3"], "deleted");
    let ids = ["secret-1", "secret-2", "secret-3", "w1", "w2"];
    same!(all_ids(handles.whole.as_ref())?, ids, "ids");
    same!(
        read_drawer(handles.whole.as_ref(), "w1")?.document.as_deref(),
        Some("changed"),
        "text"
    );
    Ok(())
}

fn update_out_of_sight(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    let before = read_everything(scene, handles.whole.as_ref())?;
    let receipt = handles.restricted.apply_batch(&[
        Write::Update(text_patch("secret-1", "changed")),
        // Would move the drawer into sight; that must not be a way to reach it.
        Write::Update(wing_patch("secret-2", "work")),
        Write::Update(text_patch("never", "changed")),
    ])?;
    // A hidden drawer and one that does not exist must look the same.
    same!(
        id_texts(&receipt.missing),
        ["secret-1", "secret-2", "never"],
        "missing"
    );
    same!(receipt.updated, [], "updated");
    same!(read_everything(scene, handles.whole.as_ref())?, before, "drawers");
    Ok(())
}

fn delete_out_of_sight(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    let before = read_everything(scene, handles.whole.as_ref())?;
    let receipt = handles
        .restricted
        .apply_batch(&[delete_write("secret-1"), delete_write("never")])?;
    same!(id_texts(&receipt.missing), ["secret-1", "never"], "missing");
    same!(receipt.deleted, [], "deleted");
    same!(read_everything(scene, handles.whole.as_ref())?, before, "drawers");
    Ok(())
}

fn deletes_by_condition(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    let matching = |condition: DrawerCondition| [Write::Delete(DeleteSelection::Matching(condition))];
    let receipt = handles
        .restricted
        .apply_batch(&matching(Filter::text_equals("wing", "home").into()))?;
    same!(receipt.deleted, [], "deleted by a wing out of sight");
    // The condition accepts hidden drawers as well; visibility narrows it.
    let worded = DrawerCondition {
        filter: crate::samples::parse_filter(r#"{"wing":{"$in":["home","work"]}}"#),
        document: DocumentFilter::NotContains("of w2".into()),
    };
    let receipt = handles.restricted.apply_batch(&matching(worded))?;
    same!(id_texts(&receipt.deleted), ["w1"], "deleted");
    same!(
        all_ids(handles.whole.as_ref())?,
        ["secret-1", "secret-2", "secret-3", "w2"],
        "ids"
    );
    Ok(())
}

fn adds_out_of_sight(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    for drawer in [
        wing_drawer("x", "home"),
        text_drawer("x", "text"),
        wing_drawer("w1", "home"),
        // Invalid although the id is taken: a conflict would tell that the hidden drawer exists.
        wing_drawer("secret-1", "home"),
    ] {
        handles.expect_refused(scene, Write::Add(drawer), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn replaces_out_of_sight(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    for drawer in [
        wing_drawer("w1", "home"),
        text_drawer("w1", "text"),
        wing_drawer("x", "home"),
    ] {
        handles.expect_refused(scene, Write::Upsert(drawer), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn moves_out_of_sight(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    handles.expect_refused(scene, Write::Update(wing_patch("w1", "home")), ErrorKind::Invalid)?;
    // The wing can also be changed through the metadata key of its name.
    let mut by_metadata = DrawerPatch::new(id("w1"));
    by_metadata.metadata.insert("wing".into(), Some("home".into()));
    handles.expect_refused(scene, Write::Update(by_metadata), ErrorKind::Invalid)
}

fn taken_ids(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    let before = read_everything(scene, handles.whole.as_ref())?;
    for write in [
        Write::Add(wing_drawer("secret-1", "work")),
        Write::Upsert(wing_drawer("secret-1", "work")),
    ] {
        for batch in [
            vec![write.clone()],
            vec![Write::Add(wing_drawer("new", "work")), write],
        ] {
            // The id may be named here, since the caller gave it.
            expect_refusal(
                handles.restricted.apply_batch(&batch),
                ErrorKind::Conflict,
                &["secret-1"],
            )?;
            same!(
                read_everything(scene, handles.whole.as_ref())?,
                before,
                "drawers after a refused batch"
            );
        }
    }
    Ok(())
}

/// A piece of one source, filed in a wing.
fn shared_piece(called: &str, wing: &str) -> NewDrawer {
    let mut drawer = source_piece(called, "the same words", "shared.md", 10);
    drawer.place.wing = Some(wing.into());
    drawer
}

fn taken_pieces(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    handles.whole.upsert_drawer(shared_piece("secret-2", "home"))?;
    handles.expect_refused(scene, Write::Add(shared_piece("x", "work")), ErrorKind::Conflict)?;
    handles.expect_refused(
        scene,
        Write::Upsert(shared_piece("x", "work")),
        ErrorKind::Conflict,
    )?;
    // By an update as well: a drawer in sight must not become the twin of a hidden one.
    let mut becoming = text_patch("w1", "the same words");
    becoming.place = shared_piece("w1", "work").place;
    handles.expect_refused(scene, Write::Update(becoming), ErrorKind::Conflict)
}

fn names_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    handles.whole.upsert_drawer(shared_piece("secret-2", "home"))?;
    handles.whole.upsert_drawer(shared_piece("secret-3", "home"))?;
    let add = handles.restricted.add_drawer(shared_piece("x", "work"));
    expect_silent(
        &add.err()
            .ok_or_else(|| CaseFailure::new("expected a conflict, found none"))?,
        "",
    )?;
    // Accepts every drawer, so a receipt that lists matches before visibility applies would name the hidden
    // ones.
    let all = DrawerCondition::from(crate::samples::parse_filter(r#"{"no such key":{"$ne":1}}"#));
    let receipt = handles
        .restricted
        .apply_batch(&[Write::Delete(DeleteSelection::Matching(all))])?;
    let words = format!("{receipt:?}");
    ensure!(
        !words.contains("secret"),
        "expected a receipt that names no id out of sight, found {words}"
    );
    same!(id_texts(&receipt.deleted), ["w1", "w2"], "deleted");
    Ok(())
}

fn same_receipt(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    let nothing = || {
        handles
            .restricted
            .apply_batch(&[Write::Update(text_patch("never", "x")), delete_write("secret-1")])
    };
    // If the number moved, a restricted caller could count the writes of others by sending batches that
    // change nothing.
    let before = nothing()?;
    handles.whole.add_drawer(wing_drawer("secret-4", "home"))?;
    handles.whole.delete_drawer(id("secret-3"))?;
    same!(nothing()?, before, "the receipt of a batch that changed nothing");
    same!(
        before.seq,
        handles.restricted.info()?.seq.0,
        "its number and the one of info"
    );
    Ok(())
}

fn no_model(scene: &CaseScene<'_>) -> CaseOutcome {
    let handles = RestrictedHandles::open(scene)?;
    let before = handles.whole.info()?.identity;
    for why in [IdentityChange::Confirm, IdentityChange::Force] {
        let set = handles
            .restricted
            .set_identity(&crate::scene::model_called("model-b"), why);
        expect_refusal(set, ErrorKind::Unsupported, &[])?;
    }
    same!(handles.whole.info()?.identity, before, "the recorded model");
    Ok(())
}

fn one_step(scene: &CaseScene<'_>) -> CaseOutcome {
    let restricted = (0..3).map(|_| scene.backend()).collect::<Vec<_>>();
    moved_while_written(scene, &restricted)
}

fn one_step_elsewhere(scene: &CaseScene<'_>) -> CaseOutcome {
    let restricted = (0..3)
        .map(|_| scene.another_backend())
        .collect::<CaseOutcome<Vec<_>>>()?;
    moved_while_written(scene, &restricted)
}

/// Moves a drawer out of sight and back again while restricted handles write to it.
fn moved_while_written(scene: &CaseScene<'_>, backends: &[Arc<dyn loci_core::Backend>]) -> CaseOutcome {
    let whole = scene.open_filled([wing_drawer("a", "work"), wing_drawer("b", "work")])?;
    let options = OpenOptions {
        visible: work_filter(),
        ..scene.usual_options()
    };
    let opened = backends
        .iter()
        .map(|backend| backend.open(&scene.palace(), &default_collection(), &options));
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
            let _ended = EndFlagGuard(&ended);
            // Forty rounds against three writers: the window between a check and a write is small.
            (0..40).try_for_each(|_| hide_and_watch(scene, whole.as_ref()))
        };
        for one in running {
            one.join().map_err(|_| CaseFailure::new("a writer panicked"))??;
        }
        watched
    })
}

/// Changes, replaces and removes a drawer repeatedly; conflicts are expected while it is out of sight.
fn write_until_ended(writer: usize, restricted: &dyn Collection, ended: &AtomicBool) -> CaseOutcome {
    let replacement = NewDrawer {
        document: format!("replaced by {writer}"),
        ..wing_drawer("a", "work")
    };
    let writes = [
        Write::Update(text_patch("a", &format!("changed by {writer}"))),
        Write::Upsert(replacement),
        // A delete by filter may select first and remove then, so that a drawer which moves in between is
        // lost.
        Write::Delete(DeleteSelection::Matching(
            Filter::text_equals("wing", "work").into(),
        )),
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

/// Hides a drawer, checks that it does not change while it is out of sight, and brings it back.
fn hide_and_watch(scene: &CaseScene<'_>, whole: &dyn Collection) -> CaseOutcome {
    let hidden = NewDrawer {
        document: "kept out of sight".into(),
        ..wing_drawer("a", "home")
    };
    whole.upsert_drawer(hidden)?;
    let expected = read_fields(whole, "a", scene.every_field())?;
    same!(
        expected.document.as_deref(),
        Some("kept out of sight"),
        "text of a drawer out of sight"
    );
    for _ in 0..3 {
        // Gives the writers a chance to run between the checks.
        std::thread::yield_now();
        same!(
            read_fields(whole, "a", scene.every_field())?,
            expected,
            "a drawer out of sight"
        );
    }
    whole.upsert_drawer(wing_drawer("a", "work"))?;
    Ok(())
}
