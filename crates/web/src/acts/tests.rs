//! Acts that meet a forgetting: none is remembered or undone before it has ended, and none from before it afterwards.

use loci_core::{Embedder, EmbedderIdentity, PalaceRef};
use loci_engine::note::NoteRequest;
use loci_engine::{EmbedderCatalog, PalaceAddress};
use loci_store::EmbeddedBackend;

use super::*;

/// A machine without a model.
#[derive(Debug)]
struct NoModel;

impl EmbedderCatalog for NoModel {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(None)
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        Err(Error::invalid(identity.to_string()))
    }
}

fn open_palace(folder: &tempfile::TempDir) -> Palace {
    let address = PalaceAddress {
        backend: Arc::new(EmbeddedBackend::new()),
        reference: PalaceRef::local(folder.path().join("palace")),
    };
    Palace::new(address, Arc::new(NoModel), || {
        "2026-05-01T09:30:00Z".parse().unwrap()
    })
}

fn add(palace: &Palace, text: &str) -> PalaceAct {
    let request = NoteRequest {
        text: text.to_owned(),
        ..NoteRequest::default()
    };
    palace.file_note_undoable(&request).unwrap().1.unwrap()
}

#[test]
fn an_act_that_meets_a_forgetting_is_not_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let palace = open_palace(&folder);
    let (board, history) = (ActBoard::default(), Arc::new(ActHistory::default()));
    let before = board.note_beginning();
    let mut turn = board.begin_forgetting().unwrap();
    turn.forget_acts();
    assert!(
        !board.remember(before, &history, add(&palace, "one")),
        "it began before"
    );
    let during = board.note_beginning();
    assert!(
        !board.remember(during, &history, add(&palace, "two")),
        "it began meanwhile"
    );
    assert_eq!(
        board.undo_last(&history, &palace).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    assert_eq!(board.begin_forgetting().unwrap_err().kind(), ErrorKind::Conflict);
    drop(turn);
    assert!(
        !board.remember(during, &history, add(&palace, "three")),
        "it ended after"
    );
    assert_eq!(history.describe_last(), None);
    let after = board.note_beginning();
    assert!(board.remember(after, &history, add(&palace, "four")));
    assert!(board.undo_last(&history, &palace).unwrap().is_some());
}

#[test]
fn a_forgetting_that_does_not_begin_costs_nobody_an_act() {
    let folder = tempfile::tempdir().unwrap();
    let palace = open_palace(&folder);
    let (board, mine, other) = (
        ActBoard::default(),
        Arc::new(ActHistory::default()),
        Arc::new(ActHistory::default()),
    );
    for (history, text) in [(&mine, "one"), (&other, "two")] {
        let began = board.note_beginning();
        assert!(board.remember(began, history, add(&palace, text)));
    }
    drop(board.begin_forgetting().unwrap());
    assert!(mine.describe_last().is_some() && other.describe_last().is_some());
    board.begin_forgetting().unwrap().forget_acts();
    assert_eq!((mine.describe_last(), other.describe_last()), (None, None));
}
