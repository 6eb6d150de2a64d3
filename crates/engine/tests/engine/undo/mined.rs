//! Acts on what was mined: deletions are taken off the list again, and mining neither repeats nor withholds.

use std::fs;

use loci_core::Drawer;
use loci_engine::AccessPolicy;
use loci_engine::mine::MineRequest;

use super::{UndoScene, delete, edit, undo};

impl UndoScene {
    fn notes(&self) -> std::path::PathBuf {
        self.folder.path().join("notes")
    }

    /// Writes a file of three long paragraphs and mines it.
    fn mine(&self, middle: &str) -> Vec<Drawer> {
        fs::create_dir_all(self.notes()).unwrap();
        let paragraph = |word: &str| {
            format!(
                "# {word}\n\n{}\n\n",
                format!("The {word} stands here. ").repeat(60)
            )
        };
        let text = ["door", middle, "roof"].map(paragraph).concat();
        fs::write(self.notes().join("house.md"), text).unwrap();
        self.mine_again();
        self.drawers()
    }

    fn mine_again(&self) {
        let mut request = MineRequest::for_paths([self.notes()]);
        request.wing = Some("house".into());
        self.open().mine(&request, &mut |_| {}).unwrap();
    }
}

fn holding<'d>(drawers: &'d [Drawer], word: &str) -> &'d Drawer {
    let holds = |drawer: &&Drawer| drawer.document.as_ref().unwrap().contains(word);
    drawers.iter().find(holds).unwrap()
}

#[test]
fn a_mined_drawer_comes_back_and_is_mined_as_if_it_had_never_gone() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let before = scene.mine("window");
    assert!(before.len() >= 3, "{}", before.len());
    let gone = holding(&before, "window").id.clone();
    let act = delete(&palace, &[&gone]);
    // Touched, so that it is read again: mining does not bring it back while it is deleted.
    fs::write(scene.notes().join("other.md"), "Another file.\n").unwrap();
    scene.mine_again();
    assert!(scene.drawers().iter().all(|drawer| drawer.id != gone));
    undo(&palace, &act);
    scene.mine("window");
    let after: Vec<Drawer> = scene
        .drawers()
        .into_iter()
        .filter(|drawer| before.contains(drawer))
        .collect();
    assert_eq!(
        after, before,
        "each is there once, to the bit, with what its neighbours repeat"
    );
    // It can be deleted once more, and mining respects that again.
    delete(&palace, &[&gone]);
    scene.mine("window");
    assert!(scene.drawers().iter().all(|drawer| drawer.id != gone));
}

#[test]
fn a_deletion_by_someone_who_sees_one_wing_is_taken_off_the_list_too() {
    let scene = UndoScene::new();
    let before = scene.mine("window");
    let gone = holding(&before, "window").id.clone();
    let housekeeper = scene
        .open()
        .restricted_to(AccessPolicy::limited(false, vec!["house".into()]));
    let act = delete(&housekeeper, &[&gone]);
    undo(&housekeeper, &act);
    assert_eq!(scene.drawers(), before);
    // The other paragraphs change, so that the file is mined anew; what came back is not withheld.
    let text = fs::read_to_string(scene.notes().join("house.md")).unwrap();
    fs::write(
        scene.notes().join("house.md"),
        format!("{text}\nOne line more.\n"),
    )
    .unwrap();
    scene.mine_again();
    holding(&scene.drawers(), "window");
}

#[test]
fn an_edit_of_a_mined_drawer_stays_until_its_part_of_the_source_changes() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let before = scene.mine("window");
    let id = holding(&before, "window").id.clone();
    assert!(palace.read_editable(&id).unwrap().unwrap().is_mined);
    edit(&palace, &id, "The pane is broken.");
    let text = fs::read_to_string(scene.notes().join("house.md")).unwrap();
    fs::write(
        scene.notes().join("house.md"),
        format!("{text}\nOne line more.\n"),
    )
    .unwrap();
    scene.mine_again();
    assert_eq!(scene.drawer(&id).document.as_deref(), Some("The pane is broken."));
    scene.mine("shutter");
    assert!(
        scene.drawers().iter().all(|drawer| drawer.id != id),
        "replaced, as the page warns"
    );
    holding(&scene.drawers(), "shutter");
}

#[test]
fn undoing_the_edit_of_a_mined_drawer_restores_it() {
    let scene = UndoScene::new();
    let palace = scene.open();
    let before = scene.mine("window");
    let id = holding(&before, "window").id.clone();
    let act = edit(&palace, &id, "The pane is broken.");
    undo(&palace, &act);
    assert_eq!(scene.drawers(), before);
}
