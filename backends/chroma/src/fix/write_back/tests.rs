//! Which copy of a vector is written back, tried on the graph of a real release.

use std::fs;
use std::path::Path;

use loci_testkit::chroma_folder;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::folder;

/// Writes to the record that are put into the queue, the first with the vector of the graph.
const SAME: i64 = 1;
const OTHER: i64 = 2;

/// A folder with a saved graph, and one of the records in it.
struct GraphScene {
    _root: TempDir,
    book: FixSession,
    shelf: RecordShelf,
    record: LiveRecord,
    element: u32,
}

impl GraphScene {
    fn open() -> Self {
        let root = tempfile::tempdir().unwrap();
        copy_folder(&chroma_folder().join("1.5.9/flushed/db"), root.path());
        let (book, shelf) = read(root.path());
        let in_graph = |record: &&LiveRecord| matches!(record.vector, VectorLocation::Graph(_));
        let record = shelf.records.iter().find(in_graph).unwrap().clone();
        let VectorLocation::Graph(element) = record.vector else {
            unreachable!("it was searched for")
        };
        let vector = read_vector(&shelf, VectorSource::Graph(element))
            .unwrap()
            .unwrap();
        drop(book);
        let connection = Connection::open(folder::database_path(root.path())).unwrap();
        let turned: Vec<f32> = vector.iter().map(|value| -value).collect();
        for (number, vector) in [(SAME, &vector), (OTHER, &turned)] {
            let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
            let sql = "INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding) \
                       VALUES (?1, 2, 'elsewhere', ?2, ?3, 'FLOAT32')";
            connection.execute(sql, (number, record.own_id(), bytes)).unwrap();
        }
        drop(connection);
        let (book, shelf) = read(root.path());
        Self {
            _root: root,
            book,
            shelf,
            record,
            element,
        }
    }

    /// Overwrites the vector of the record in the graph.
    fn damage_vector(&mut self) {
        let graph = self.shelf.graph.as_ref().unwrap();
        let layout = graph.layout.unwrap();
        let path = graph.folder.join("data_level0.bin");
        let mut bytes = fs::read(&path).unwrap();
        let at = (u64::from(self.element) * layout.size + layout.vector) as usize;
        bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        fs::write(path, bytes).unwrap();
        self.shelf = self.book.read_shelf(&self.book.listed[0]).unwrap();
    }

    /// Chooses for the record, of which a new graph would hold the write `held`; returns the choice, and whether the
    /// vector is called damaged.
    fn choose(&self, source: VectorSource, held: Option<i64>) -> (Option<VectorSource>, bool) {
        let segment = self.shelf.listed.vector_segment.clone().unwrap();
        let mut numbers = QueueNumbers::read(&self.book).unwrap();
        let mut plan = WriteBack::plan(&self.book, &self.shelf, &segment, &mut numbers).unwrap();
        plan.damaged.clear();
        let held = held.map(|write| (self.record.own_id().to_owned(), write));
        let held: HashMap<String, i64> = held.into_iter().collect();
        let connection = self.book.connection();
        let chosen = plan.choose_source(connection, &self.shelf, (&self.record, source), &held);
        let is_named = plan.damaged == [self.record.own_id()];
        assert!(is_named || plan.damaged.is_empty(), "{:?}", plan.damaged);
        (chosen.unwrap(), is_named)
    }
}

fn read(folder: &Path) -> (FixSession, RecordShelf) {
    let book = FixSession::open_read_only(folder).unwrap();
    let shelf = book.read_shelf(&book.listed[0]).unwrap();
    (book, shelf)
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy_folder(&path, &to.join(name));
        } else {
            fs::copy(path, to.join(name)).unwrap();
        }
    }
}

#[test]
fn a_write_in_the_queue_is_moved_as_it_is() {
    let scene = GraphScene::open();
    let queued = VectorSource::Queue(OTHER);
    assert_eq!(scene.choose(queued, Some(SAME)), (Some(queued), false));
}

#[test]
fn a_sound_vector_is_written_back_unless_a_new_graph_would_hold_it() {
    let scene = GraphScene::open();
    let graph = VectorSource::Graph(scene.element);
    assert_eq!(scene.choose(graph, None), (Some(graph), false));
    assert_eq!(scene.choose(graph, Some(OTHER)), (Some(graph), false));
    assert_eq!(scene.choose(graph, Some(SAME)), (None, false));
}

#[test]
fn a_damaged_vector_gives_way_to_the_write_it_was_made_from() {
    let mut scene = GraphScene::open();
    scene.damage_vector();
    let graph = VectorSource::Graph(scene.element);
    assert_eq!(scene.choose(graph, None), (None, true));
    // Another write is no substitute, even if a new graph would hold it.
    assert_eq!(scene.choose(graph, Some(OTHER)), (None, true));
    scene.record.written = Some(SAME);
    assert_eq!(scene.choose(graph, Some(SAME)), (None, false));
    let write = VectorSource::Queue(SAME);
    assert_eq!(scene.choose(graph, None), (Some(write), false));
    assert_eq!(scene.choose(graph, Some(OTHER)), (Some(write), false));
}

#[test]
fn a_vector_that_was_set_aside_is_written_back_only_if_it_is_sound() {
    let mut scene = GraphScene::open();
    let aside = VectorSource::SetAside(0, scene.element);
    let set_aside = |scene: &mut GraphScene| {
        let graph = scene.shelf.graph.take().unwrap();
        scene.shelf.set_aside = vec![graph];
    };
    set_aside(&mut scene);
    assert_eq!(scene.choose(aside, None), (Some(aside), false));
    assert_eq!(scene.choose(aside, Some(SAME)), (None, false));
    scene.shelf = scene.book.read_shelf(&scene.book.listed[0]).unwrap();
    scene.damage_vector();
    set_aside(&mut scene);
    // The write belongs to the graph in use, not to the one that was set aside.
    scene.record.written = Some(SAME);
    assert_eq!(scene.choose(aside, None), (None, true));
}
