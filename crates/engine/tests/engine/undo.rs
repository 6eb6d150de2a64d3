//! Undo: what an act replaced comes back to the bit, and nothing that changed since is overwritten.

mod erased;
mod mined;
mod refused;

use std::sync::Arc;

use loci_core::{Drawer, DrawerContext, DrawerFields, ErrorKind, GetRequest, Metadata, Result};
use loci_engine::delete::DeleteRequest;
use loci_engine::keys::KeyFolder;
use loci_engine::note::{NoteReport, NoteRequest};
use loci_engine::refile::MoveRequest;
use loci_engine::undo::{PalaceAct, UndoReport};
use loci_engine::update::UpdateRequest;
use tempfile::TempDir;

use crate::embedders::{Bag, Machine};
use crate::scene::*;

/// A palace on disk, with its keys and a folder to mine beside it.
pub(crate) struct UndoScene {
    pub(crate) folder: TempDir,
    machine: Machine,
}

impl UndoScene {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            machine: Machine(vec![Bag::new("old", 8), Bag::new("new", 16)]),
        }
    }

    /// Returns the palace as one more process has it.
    pub(crate) fn open(&self) -> Palace {
        let address = PalaceAddress {
            backend: Arc::new(EmbeddedBackend::new()),
            reference: PalaceRef::local(self.folder.path().join("palace")),
        };
        Palace::new(address, Arc::new(self.machine.clone()), || {
            "2026-05-01T09:30:00Z".parse().unwrap()
        })
        .entering_through(FilingDoor::Page)
        .with_keys(KeyFolder::new(self.folder.path().join("keys")))
    }

    /// Returns every drawer whole, as it is stored.
    pub(crate) fn drawers(&self) -> Vec<Drawer> {
        let collection = self.open().open(&OpenOptions::default()).unwrap();
        let all = GetRequest {
            include: DrawerFields::EVERYTHING,
            ..GetRequest::default()
        };
        collection.get(&all).unwrap()
    }

    pub(crate) fn drawer(&self, id: &DrawerId) -> Drawer {
        self.drawers()
            .into_iter()
            .find(|drawer| drawer.id == *id)
            .unwrap()
    }

    /// Files a drawer that has a value in every field.
    pub(crate) fn file(&self, name: &str, wing: &str, text: &str) -> DrawerId {
        let filing = self.open().open_filing(None).unwrap();
        let mut new = NewDrawer::new(id(name), text);
        new.metadata = Metadata::new()
            .with_entry("topic", "weather")
            .with_entry("n", 3_i64);
        new.place.wing = Some(wing.into());
        new.place.room = Some("attic".into());
        new.place.said_at = Some("2024-02-29T12:00:00Z".parse().unwrap());
        new.filed_at = Some("2025-01-01T00:00:00Z".parse().unwrap());
        new.provenance = Some(Provenance::new(FilingDoor::Agent, OriginKind::Note).filed_by("tester"));
        new.uses = 7;
        new.context = Some(DrawerContext {
            before: "before".into(),
            after: "after".into(),
        });
        filing.apply(vec![Write::Add(new)]).unwrap();
        id(name)
    }
}

pub(crate) fn note(palace: &Palace, text: &str) -> Result<(NoteReport, Option<PalaceAct>)> {
    palace.file_note_undoable(&NoteRequest {
        text: text.to_owned(),
        wing: Some("house".into()),
        by_hand: true,
        ..NoteRequest::default()
    })
}

pub(crate) fn delete(palace: &Palace, ids: &[&DrawerId]) -> PalaceAct {
    let request = DeleteRequest {
        ids: ids.iter().map(|id| (*id).clone()).collect(),
        whole_ids: true,
        expected: Some(ids.len() as u64),
        ..DeleteRequest::default()
    };
    palace.delete_undoable(&request).unwrap().1.unwrap()
}

pub(crate) fn move_to(palace: &Palace, ids: &[&DrawerId], wing: &str) -> Option<PalaceAct> {
    let request = MoveRequest {
        ids: ids.iter().map(|id| (*id).clone()).collect(),
        whole_ids: true,
        to_wing: Some(wing.into()),
        ..MoveRequest::default()
    };
    palace.move_undoable(&request).unwrap().1
}

/// Edits a drawer as it is now.
pub(crate) fn edit(palace: &Palace, id: &DrawerId, text: &str) -> PalaceAct {
    let request = UpdateRequest {
        text: Some(text.to_owned()),
        seen: Some(palace.read_editable(id).unwrap().unwrap().state),
        by_hand: true,
        ..UpdateRequest::new(id.clone())
    };
    palace.update_undoable(&request).unwrap().1.unwrap()
}

/// Undoes an act of which nothing may be left.
#[track_caller]
pub(crate) fn undo(palace: &Palace, act: &PalaceAct) -> UndoReport {
    let report = palace.undo(act).unwrap();
    assert_eq!((report.undone, &report.left), (act.drawers(), &Vec::new()));
    report
}

#[test]
fn an_added_drawer_goes_again() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let (report, act) = note(&palace, "The gutter leaks.").unwrap();
    let act = act.unwrap();
    let filed = scene.drawer(&report.id);
    assert_eq!(
        filed.provenance.unwrap(),
        Provenance::new(FilingDoor::Page, OriginKind::Hand)
    );
    assert_eq!((act.describe(), act.drawers()), ("adding a drawer".to_owned(), 1));
    undo(&palace, &act);
    assert_eq!(scene.drawers(), []);
}

#[test]
fn words_that_were_there_already_are_no_act() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let (first, _) = note(&palace, "The gutter leaks.").unwrap();
    let (again, act) = note(&palace, "The gutter leaks.").unwrap();
    assert_eq!((again.outcome, &again.id), ("kept", &first.id));
    assert_eq!(act, None, "undoing it would remove what was filed before");
}

#[test]
fn an_edited_drawer_is_again_as_it_was_to_the_bit() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let id = scene.file("d1", "house", "The roof is slate.");
    let before = scene.drawer(&id);
    let request = UpdateRequest {
        text: Some("A barn has none.".into()),
        wing: Some("barn".into()),
        kind: Some("human".into()),
        speaker: Some("Ada".into()),
        cleared: vec!["room"],
        seen: Some(palace.read_editable(&id).unwrap().unwrap().state),
        by_hand: true,
        ..UpdateRequest::new(id.clone())
    };
    let (_, act) = palace.update_undoable(&request).unwrap();
    let edited = scene.drawer(&id);
    assert_eq!(edited.document.as_deref(), Some("A barn has none."));
    assert_eq!(
        (edited.place.wing.as_deref(), edited.place.room.as_deref()),
        (Some("barn"), None)
    );
    assert_eq!(
        (edited.place.kind.as_deref(), edited.place.speaker.as_deref()),
        (Some("human"), Some("Ada"))
    );
    assert_eq!(edited.provenance.as_ref().unwrap().origin, OriginKind::Hand);
    assert_ne!(edited.embedding, before.embedding);
    let report = undo(&palace, &act.unwrap());
    assert_eq!(report.embedded, 0, "the old vector was kept");
    assert_eq!(scene.drawer(&id), before);
}

#[test]
fn moved_drawers_return_each_to_its_own_place() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let ids = [
        scene.file("d1", "house", "one"),
        scene.file("d2", "garden", "two"),
        scene.file("d3", "barn", "three"),
    ];
    let before = scene.drawers();
    let act = move_to(&palace, &[&ids[0], &ids[1], &ids[2]], "barn").unwrap();
    assert_eq!(act.drawers(), 2, "the third was there");
    undo(&palace, &act);
    assert_eq!(scene.drawers(), before);
}

#[test]
fn deleted_drawers_return_with_ids_vectors_and_times() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let ids = [scene.file("d1", "house", "one"), scene.file("d2", "house", "two")];
    scene.file("d3", "house", "three");
    let before = scene.drawers();
    let act = delete(&palace, &[&ids[0], &ids[1]]);
    assert_eq!(
        (scene.drawers().len(), act.describe().as_str()),
        (1, "deleting 2 drawers")
    );
    let report = undo(&palace, &act);
    assert_eq!(report.embedded, 0);
    assert_eq!(scene.drawers(), before);
}

#[test]
fn acts_are_undone_one_after_the_other() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let id = scene.file("d1", "house", "The roof is slate.");
    let mut states = vec![scene.drawers()];
    let mut acts = Vec::new();
    acts.push(edit(&palace, &id, "The roof is tin."));
    states.push(scene.drawers());
    acts.push(move_to(&palace, &[&id], "barn").unwrap());
    states.push(scene.drawers());
    acts.push(delete(&palace, &[&id]));
    for (act, state) in acts.iter().zip(&states).rev() {
        undo(&palace, act);
        assert_eq!(scene.drawers(), *state);
    }
}

#[test]
fn after_a_change_of_model_what_returns_gets_vectors_of_the_new_one() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let ids = [scene.file("d1", "house", "one"), scene.file("d2", "house", "two")];
    let edited = edit(&palace, &ids[0], "three");
    let deleted = delete(&palace, &[&ids[1]]);
    let new = &scene.machine.0[1];
    scene.open().switch_embedder(new, &mut |_| true).unwrap();
    for act in [&edited, &deleted] {
        let report = undo(&palace, act);
        assert_eq!(report.embedded, 1);
    }
    let vectors = scene
        .drawers()
        .into_iter()
        .map(|drawer| drawer.embedding.unwrap());
    assert_eq!(
        vectors.collect::<Vec<_>>(),
        [new.of("before\none\nafter"), new.of("before\ntwo\nafter")]
    );
}

#[test]
fn an_edit_over_a_change_that_was_not_seen_is_refused_and_writes_nothing() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let id = scene.file("d1", "house", "The roof is slate.");
    let seen = palace.read_editable(&id).unwrap().unwrap().state;
    let request = UpdateRequest {
        text: Some("mine".into()),
        seen: Some(seen),
        ..UpdateRequest::new(id.clone())
    };
    move_to(&scene.open(), &[&id], "barn");
    let between = scene.drawers();
    let refused = palace.update_undoable(&request).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
    assert_eq!(scene.drawers(), between);
    assert_eq!(
        palace.read_editable(&DrawerId::new("nobody").unwrap()).unwrap(),
        None
    );
}
