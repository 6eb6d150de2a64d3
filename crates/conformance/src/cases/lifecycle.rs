//! The life of a backend, from construction to closing, and the state after a sudden end.

use std::sync::Arc;

use loci_core::{
    Backend, Capability, Collection, CollectionExt, Cursor, DrawerCondition, ErrorKind, FacetRequest,
    GetRequest, IdentityChange, LexicalRequest, PendingRequest, QueryRequest, SourceRevision, SwitchStep,
};

use crate::case::expect_refusal;
use crate::revising::{every_record, new_revision};
use crate::samples::{all_ids, text_drawer};
use crate::scene::{default_collection, model_called};
use crate::{CaseOutcome, CaseScene};

cases! { "lifecycle":
    "making a backend does no i/o" [+Local] => no_io;
    "the descriptor never changes" [] => descriptor_never_changes;
    "health says whether a palace can be used, and never creates anything" [] => health_creates_nothing;
    "a palace that was not opened, or is sound, has no damage to list" [] => no_damage;
    "closing a palace that was never opened is fine" [] => never_opened;
    "the collections of a closed palace are closed" [] => closed_palace;
    "a closed palace can be opened again" [] => opened_again;
    "closing one palace leaves another open" [] => other_palace;
    "after close every call on the backend is closed" [] => closed_backend;
    "after close every call on its collections is closed" [] => closed_collections;
    "closing twice is fine" [] => closed_twice;
    "closing one instance leaves another open" [+MultiProcess] => other_instance;
    "every acknowledged write is there after everything is dropped without closing" [-ReadOnly] => survives_dropping;
    "every acknowledged write is there after a crash" [-ReadOnly] => survives_a_crash;
}

fn no_io(scene: &CaseScene<'_>) -> CaseOutcome {
    let palace = scene.palace();
    let folder = palace.require_folder()?;
    // Construction must be free of side effects, because programs build every registered backend before
    // they know which one they need.
    scene.world().reopen()?;
    ensure!(
        !folder.exists(),
        "expected no folder at {}, found one",
        folder.display()
    );
    Ok(())
}

fn descriptor_never_changes(scene: &CaseScene<'_>) -> CaseOutcome {
    let before = scene.descriptor().clone();
    scene.open_filled([text_drawer("a", "text")])?;
    same!(*scene.backend().descriptor(), before, "descriptor after writing");
    // The same for every instance: callers choose a backend by its descriptor before they open anything.
    same!(
        *scene.world().reopen()?.descriptor(),
        before,
        "descriptor of another instance"
    );
    scene.backend().close();
    same!(*scene.backend().descriptor(), before, "descriptor after closing");
    Ok(())
}

fn health_creates_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    let backend = scene.backend();
    ensure!(
        backend.health(None).ok,
        "expected a usable backend, found {:?}",
        backend.health(None)
    );
    // The answer for a missing palace is not checked, only that asking leaves no trace; a health check must
    // be safe on a mistyped path.
    backend.health(Some(&scene.palace()));
    if let Some(folder) = &scene.palace().local_path {
        ensure!(
            !folder.exists(),
            "expected no folder at {}, found one",
            folder.display()
        );
    }
    expect_refusal(backend.collections(&scene.palace()), ErrorKind::NotFound, &[])?;
    scene.open_filled([text_drawer("a", "text")])?;
    let found = backend.health(Some(&scene.palace()));
    ensure!(found.ok, "expected a usable palace, found {found:?}");
    backend.close();
    let found = backend.health(None);
    ensure!(
        !found.ok,
        "expected a closed backend not to be usable, found {found:?}"
    );
    Ok(())
}

fn no_damage(scene: &CaseScene<'_>) -> CaseOutcome {
    let listed = || scene.backend().list_damage(&scene.palace());
    same!(listed(), [], "damage of a palace that does not exist");
    let collection = scene.open_filled([text_drawer("a", "text")])?;
    same!(collection.get(&GetRequest::default())?.len(), 1, "drawers");
    same!(listed(), [], "damage of a sound palace");
    Ok(())
}

fn never_opened(scene: &CaseScene<'_>) -> CaseOutcome {
    // Callers close in cleanup code without knowing how far they got.
    scene.backend().close_palace(&scene.palace());
    same!(
        all_ids(scene.open_filled([text_drawer("a", "text")])?.as_ref())?,
        ["a"],
        "ids"
    );
    Ok(())
}

fn closed_palace(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = scene.open_filled([text_drawer("a", "text")])?;
    scene.backend().close_palace(&scene.palace());
    expect_closed(scene, collection.as_ref())
}

fn opened_again(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text")])?;
    // More than once: a flag that is set by close and never reset shows at the second round.
    for _ in 0..3 {
        scene.backend().close_palace(&scene.palace());
        same!(all_ids(scene.open()?.as_ref())?, ["a"], "ids");
    }
    Ok(())
}

fn other_palace(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = scene.open_filled([text_drawer("a", "text")])?;
    // Closed before it was ever opened and again after: neither may touch the palace that is in use.
    scene.backend().close_palace(&scene.world().another_palace());
    scene.open_in(&scene.world().another_palace(), "drawers")?;
    scene.backend().close_palace(&scene.world().another_palace());
    same!(all_ids(collection.as_ref())?, ["a"], "ids");
    Ok(())
}

fn closed_backend(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text")])?;
    let backend: Arc<dyn Backend> = scene.backend();
    backend.close();
    let palace = scene.palace();
    expect_refusal(
        backend.open(&palace, &default_collection(), &scene.usual_options()),
        ErrorKind::Closed,
        &[],
    )?;
    // A read-only open as well; it must not reopen files on the quiet.
    expect_refusal(
        backend.open(&palace, &default_collection(), &loci_core::OpenOptions::default()),
        ErrorKind::Closed,
        &[],
    )?;
    let made = scene.make_collection(&default_collection(), &scene.usual_options());
    expect_refusal(made, ErrorKind::Closed, &[])?;
    expect_refusal(
        backend.drop_collection(&palace, &default_collection()),
        ErrorKind::Closed,
        &[],
    )?;
    expect_refusal(backend.collections(&palace), ErrorKind::Closed, &[])?;
    // Still allowed, as cleanup code may run late.
    backend.close_palace(&palace);
    Ok(())
}

fn closed_collections(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = scene.open_filled([text_drawer("a", "text")])?;
    scene.backend().close();
    expect_closed(scene, collection.as_ref())
}

/// Checks that each method of a collection is refused as closed, regardless of capabilities.
fn expect_closed(scene: &CaseScene<'_>, collection: &dyn Collection) -> CaseOutcome {
    let closed = ErrorKind::Closed;
    expect_refusal(collection.add_drawer(text_drawer("b", "text")), closed, &[])?;
    expect_refusal(collection.get(&GetRequest::default()), closed, &[])?;
    // Also where vectors or words are not supported: closed comes before unsupported, since that is the
    // reason the caller can act on.
    expect_refusal(
        collection.query(&QueryRequest::nearest_to(vec![1.0; 4], 1)),
        closed,
        &[],
    )?;
    expect_refusal(
        collection.lexical(&LexicalRequest::for_words("text", 1)),
        closed,
        &[],
    )?;
    expect_refusal(collection.count(&DrawerCondition::default()), closed, &[])?;
    expect_refusal(collection.facets(&FacetRequest::by_room()), closed, &[])?;
    expect_refusal(collection.info(), closed, &[])?;
    expect_refusal(
        collection.set_identity(&model_called("model-a"), IdentityChange::Confirm),
        closed,
        &[],
    )?;
    expect_refusal(collection.moment(), closed, &[])?;
    expect_sub_traits_closed(scene, collection)
}

/// Checks the same for each advertised sub-trait.
fn expect_sub_traits_closed(scene: &CaseScene<'_>, collection: &dyn Collection) -> CaseOutcome {
    let closed = ErrorKind::Closed;
    if let Some(kind) = scene.descriptor().maintenance.first() {
        expect_refusal(collection.require_upkeep()?.state(), closed, &[])?;
        expect_refusal(collection.require_upkeep()?.run(kind), closed, &[])?;
    }
    if scene.can(Capability::ChangeFeed) {
        let changes = collection.require_feed()?.changes_since(Cursor(0), 1);
        expect_refusal(changes, closed, &[])?;
    }
    if let Some(eraser) = collection.eraser() {
        expect_refusal(eraser.begin(), closed, &[])?;
        expect_refusal(eraser.is_unfinished(), closed, &[])?;
        expect_refusal(eraser.purge(&mut |_, _| {}), closed, &[])?;
        expect_refusal(eraser.find_traces(&["a".to_owned()], &mut |_, _| {}), closed, &[])?;
    }
    if scene.can(Capability::Spaces) {
        expect_refusal(collection.require_spaces()?.list_spaces(), closed, &[])?;
        expect_refusal(
            collection.require_spaces()?.take_step(&SwitchStep::Pause),
            closed,
            &[],
        )?;
        expect_refusal(
            collection
                .require_spaces()?
                .fill_vectors(&model_called("model-a"), &[]),
            closed,
            &[],
        )?;
        let request = PendingRequest {
            identity: model_called("model-a"),
            after: 0,
            limit: 1,
        };
        expect_refusal(collection.require_spaces()?.list_pending(&request), closed, &[])?;
    }
    if scene.can(Capability::Sources) {
        expect_refusal(
            collection.require_sources()?.find_records(&every_record()),
            closed,
            &[],
        )?;
        let forget = SourceRevision {
            stamp: None,
            ..new_revision("a.md", None, "", [])
        };
        expect_refusal(collection.require_sources()?.revise(vec![forget]), closed, &[])?;
        // An empty list changes nothing, but answering it would hide that the handle is dead.
        expect_refusal(collection.require_sources()?.revise(Vec::new()), closed, &[])?;
    }
    Ok(())
}

fn closed_twice(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text")])?;
    scene.backend().close();
    scene.backend().close();
    // The second close must not undo anything; another instance still finds the data.
    same!(
        all_ids(scene.open_afterwards()?.as_ref())?,
        ["a"],
        "ids for another instance"
    );
    Ok(())
}

fn other_instance(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = scene.open_filled([text_drawer("a", "text")])?;
    let other = scene.world().reopen()?;
    let elsewhere = other.open(
        &scene.palace(),
        &default_collection(),
        &loci_core::OpenOptions::default(),
    )?;
    // Locks released by one instance must not be those of the other, as happens with POSIX locks of one
    // process on one file.
    other.close();
    expect_refusal(
        elsewhere.count(&DrawerCondition::default()),
        ErrorKind::Closed,
        &[],
    )?;
    same!(all_ids(collection.as_ref())?, ["a"], "ids");
    Ok(())
}

fn survives_dropping(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open()?;
    // Each instance meets the files as its predecessor left them: a journal that is only merged on close,
    // or a lock file that outlives its process, shows at the second one.
    scene.each_without_closing(5, |n, collection| {
        collection.add_drawer(text_drawer(&format!("d{n}"), "text"))?;
        Ok(())
    })?;
    same!(
        all_ids(scene.open_afterwards()?.as_ref())?,
        ["d0", "d1", "d2", "d3", "d4"],
        "ids"
    );
    Ok(())
}

fn survives_a_crash(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text")])?;
    // Optional for a world: in-memory storage has no disk that could lose its cache.
    if !scene.world().crash() {
        return Err(crate::CaseFailure::NotApplicable(
            "this world cannot crash".into(),
        ));
    }
    same!(all_ids(scene.open_afterwards()?.as_ref())?, ["a"], "ids");
    Ok(())
}
