//! What was forgotten never comes back from the memory of an act, whichever process forgot it.

use loci_core::ErrorKind;
use loci_engine::forget::ForgetRequest;
use loci_engine::maintain::MaintainRequest;

use super::{UndoScene, delete, edit, note, undo};

#[test]
fn nothing_is_undone_after_another_process_has_forgotten_drawers() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let ids = [
        scene.file("d1", "house", "The code is 4711."),
        scene.file("d2", "house", "two"),
    ];
    let edited = edit(&palace, &ids[0], "The code is not kept here.");
    let deleted = delete(&palace, &[&ids[0]]);
    let (_, added) = note(&palace, "three").unwrap();
    let forgetting = ForgetRequest {
        ids: vec![ids[0].clone()],
        ..ForgetRequest::default()
    };
    scene.open().forget(&forgetting, &mut |_, _, _| {}).unwrap();
    let before = scene.drawers();
    for act in [&edited, &deleted, &added.unwrap()] {
        let refused = palace.undo(act).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert!(refused.message().contains("forgotten"), "{refused}");
    }
    assert_eq!(scene.drawers(), before);
    // What happens afterwards can be undone as always.
    undo(&palace, &delete(&palace, &[&ids[1]]));
    assert_eq!(scene.drawers(), before);
}

#[test]
fn a_sealed_secret_comes_back_with_its_label_after_its_record_was_collected() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let text = "The database is at postgres://ada:Ab3dEf6hIj9kLm2n@db.example.org/garden for now.";
    let (filed, _) = note(&palace, text).unwrap();
    assert!(filed.secrets.is_some(), "{filed:?}");
    let sealed = scene.drawer(&filed.id);
    assert!(!sealed.document.as_ref().unwrap().contains("Ab3dEf6hIj9kLm2n"));
    let edited = edit(&palace, &filed.id, "The database is gone.");
    collect_records(&scene);
    undo(&palace, &edited);
    let deleted = delete(&palace, &[&filed.id]);
    collect_records(&scene);
    undo(&palace, &deleted);
    assert_eq!(scene.drawer(&filed.id), sealed);
    let unsealed = scene.open().unseal(&[filed.id]).unwrap();
    assert_eq!((unsealed.unsealed, unsealed.drawers[0].whole_text()), (1, text));
}

/// Collects the records of secrets that no drawer needs, as upkeep does later.
fn collect_records(scene: &UndoScene) {
    let later = scene
        .open()
        .with_clock(|| "2100-01-01T00:00:00Z".parse().unwrap());
    let compact = MaintainRequest {
        kind: "compact".into(),
        drop_retired: false,
    };
    later.maintain(&compact).unwrap();
}
