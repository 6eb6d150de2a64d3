//! What is not undone: drawers that changed since, acts that are too large, and those of callers who may not.

use loci_core::{ErrorKind, Write};
use loci_engine::AccessPolicy;
use loci_engine::delete::DeleteRequest;
use loci_engine::export::ExportRequest;
use loci_engine::refile::MoveRequest;
use loci_engine::undo::{MOST_REMEMBERED_DRAWERS, UndoReport};
use loci_engine::view::DrawerScope;

use super::{UndoScene, delete, edit, move_to, note, undo};
use crate::scene::*;

/// Returns the reason for which the only drawer of an act was left.
#[track_caller]
fn reason(report: &UndoReport) -> &'static str {
    assert_eq!((report.undone, report.left.len()), (0, 1), "{report:?}");
    report.left[0].reason
}

#[test]
fn a_drawer_that_was_changed_since_stays_as_it_is() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let (added, add) = note(&palace, "The gutter leaks.").unwrap();
    let id = scene.file("d1", "house", "The roof is slate.");
    let edited = edit(&palace, &id, "The roof is tin.");
    let moved = move_to(&palace, &[&id], "barn").unwrap();
    // Another process goes on with both.
    let other = scene.open();
    edit(&other, &added.id, "The gutter is mended.");
    move_to(&other, &[&id], "garden").unwrap();
    let before = scene.drawers();
    assert!(reason(&palace.undo(&add.unwrap()).unwrap()).contains("changed since"));
    assert!(reason(&palace.undo(&edited).unwrap()).contains("changed since"));
    assert!(reason(&palace.undo(&moved).unwrap()).contains("moved again"));
    assert_eq!(scene.drawers(), before);
    delete(&other, &[&added.id, &id]);
    assert!(reason(&palace.undo(&edited).unwrap()).contains("removed"));
    assert!(reason(&palace.undo(&moved).unwrap()).contains("removed"));
    assert_eq!(scene.drawers(), []);
}

#[test]
fn a_deleted_drawer_that_was_filed_again_is_not_overwritten() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let ids = [scene.file("d1", "house", "one"), scene.file("d2", "house", "two")];
    let act = delete(&palace, &[&ids[0], &ids[1]]);
    scene.file("d1", "barn", "another one");
    let anew = scene.drawer(&ids[0]);
    let report = palace.undo(&act).unwrap();
    assert_eq!((report.undone, report.left.len()), (1, 1));
    assert_eq!(report.left[0].id, ids[0]);
    assert_eq!(scene.drawer(&ids[0]), anew);
    assert_eq!(scene.drawer(&ids[1]).document.as_deref(), Some("two"));
}

#[test]
fn an_id_that_is_gone_never_stands_for_a_longer_one() {
    let scene = UndoScene::new();
    let palace = scene.open();
    scene.file("note-10", "house", "ten");
    let gone = id("note-1");
    let request = DeleteRequest {
        ids: vec![gone.clone()],
        whole_ids: true,
        ..DeleteRequest::default()
    };
    let (report, act) = palace.delete_undoable(&request).unwrap();
    assert_eq!(
        (report.matched, report.missing, act),
        (0, vec![gone.clone()], None)
    );
    let preview = palace
        .preview_act(std::slice::from_ref(&gone), &DrawerScope::default())
        .unwrap();
    assert_eq!((preview.matched, preview.missing), (0, vec![gone.clone()]));
    assert_eq!(move_to(&palace, &[&gone], "barn"), None);
    assert_eq!(palace.read_editable(&gone).unwrap(), None);
    assert_eq!(scene.drawers().len(), 1);
}

#[test]
fn more_drawers_than_are_remembered_cannot_be_undone() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let writes = |from: u64, to: u64| {
        let one = |n: u64| {
            let mut new = NewDrawer::new(id(&format!("d{n:05}")), format!("{n}"));
            new.place.wing = Some("many".into());
            new.embedding = Some(vec![0.5; 8]);
            Write::Add(new)
        };
        (from..to).map(one).collect::<Vec<Write>>()
    };
    let filing = palace.open_filing(None).unwrap();
    filing.apply(writes(0, MOST_REMEMBERED_DRAWERS)).unwrap();
    let many = DrawerScope {
        wing: Some("many".into()),
        ..DrawerScope::default()
    };
    let moving = |wing: &str| MoveRequest {
        scope: DrawerScope::default(),
        ids: scene.drawers().into_iter().map(|drawer| drawer.id).collect(),
        whole_ids: true,
        to_room: Some(wing.into()),
        ..MoveRequest::default()
    };
    assert!(palace.preview_act(&[], &many).unwrap().can_undo_removal);
    let (_, act) = palace.move_undoable(&moving("a")).unwrap();
    assert_eq!(act.unwrap().drawers(), MOST_REMEMBERED_DRAWERS);
    filing
        .apply(writes(MOST_REMEMBERED_DRAWERS, MOST_REMEMBERED_DRAWERS + 1))
        .unwrap();
    let preview = palace.preview_act(&[], &many).unwrap();
    assert!(!preview.can_undo_removal && !preview.can_undo_move);
    assert_eq!(
        (preview.matched, preview.sample.len()),
        (MOST_REMEMBERED_DRAWERS + 1, 10)
    );
    assert_eq!(palace.move_undoable(&moving("b")).unwrap().1, None);
    let deleting = DeleteRequest {
        scope: many,
        ..DeleteRequest::default()
    };
    let (report, act) = palace.delete_undoable(&deleting).unwrap();
    assert_eq!((report.deleted, act), (MOST_REMEMBERED_DRAWERS + 1, None));
}

#[test]
fn who_may_only_read_or_sees_another_wing_undoes_nothing() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let id = scene.file("d1", "house", "one");
    let act = edit(&palace, &id, "two");
    let reader = scene
        .open()
        .restricted_to(AccessPolicy::limited(true, Vec::new()));
    assert_eq!(reader.undo(&act).unwrap_err().kind(), ErrorKind::Unsupported);
    let gardener = scene
        .open()
        .restricted_to(AccessPolicy::limited(false, vec!["garden".into()]));
    assert!(
        reason(&gardener.undo(&act).unwrap()).contains("removed"),
        "it does not exist for them"
    );
    assert_eq!(gardener.read_editable(&id).unwrap(), None);
    undo(&palace, &act);
}

#[test]
fn chosen_drawers_are_exported_in_their_order_and_the_missing_are_named() {
    let scene = UndoScene::new();
    let ids = [scene.file("d1", "house", "one"), scene.file("d2", "house", "two")];
    scene.file("d3", "house", "three");
    let request = ExportRequest {
        ids: vec![ids[1].clone(), id("gone"), ids[0].clone()],
        ..ExportRequest::default()
    };
    let mut lines = Vec::new();
    let mut sink = |line: &str| {
        lines.push(line.to_owned());
        Ok::<(), loci_core::Error>(())
    };
    let report = scene.open().export(&request, &mut sink).unwrap();
    assert_eq!((report.drawers, report.warnings.len()), (2, 1), "{report:?}");
    assert!(report.warnings[0].message.contains("\"gone\""));
    assert_eq!(lines.len(), 3, "a header and two drawers");
    assert!(
        lines[1].contains("\"two\"") && lines[2].contains("\"one\""),
        "{lines:?}"
    );
}
