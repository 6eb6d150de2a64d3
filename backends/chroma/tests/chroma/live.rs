//! A folder that is written to while it is read: every answer holds each record with its vector, the writer is not held
//! up to failure, and what was written last is there in the end.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::scene::folder::{Folder, both_kinds};
use loci_chroma::ChromaBackend;
use loci_core::{
    Backend, CollectionName, Drawer, DrawerFields, ErrorKind, GetRequest, OpenOptions, PalaceRef, Result,
};
use loci_testkit::chroma_python;

/// The number of records written, ten at a time; the graph is saved and the queue purged after every sixty.
const WRITTEN: usize = 900;
/// The number of reads before the second half of them is written.
const READ: usize = 5;

/// The number of reads of a graph that is being saved.
const ANSWERS: usize = 6;

const WRITER: &str = "
import sys, chromadb
settings = {'hnsw:sync_threshold': 60, 'hnsw:batch_size': 30}
collection = chromadb.PersistentClient(sys.argv[1]).create_collection('live', metadata=settings)
for start in range(0, int(sys.argv[2]), 10):
    if start == int(sys.argv[2]) // 2:
        sys.stdin.readline()
    numbers = range(start, start + 10)
    collection.add(
        ids=[f'record-{n}' for n in numbers],
        documents=[f'text {n}' for n in numbers],
        embeddings=[[float(n), 1.0, 2.0, 3.0] for n in numbers],
    )
";

fn writer(release: &str, folder: &Path) -> Child {
    chroma_python(release)
        .args(["-c", WRITER])
        .arg(folder)
        .arg(WRITTEN.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Every record there is now.
fn read(chroma: &ChromaBackend, folder: &Path, collection: &str) -> Result<Vec<Drawer>> {
    let name = CollectionName::new(collection).unwrap();
    let everything = GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::default()
    };
    let opened = chroma.open(&PalaceRef::local(folder), &name, &OpenOptions::default());
    opened.and_then(|collection| collection.get(&everything))
}

fn check(drawers: &[Drawer]) {
    for drawer in drawers {
        let number: f32 = drawer
            .id
            .as_str()
            .strip_prefix("record-")
            .unwrap()
            .parse()
            .unwrap();
        assert_eq!(
            drawer.document.as_deref(),
            Some(format!("text {number}").as_str())
        );
        assert_eq!(
            drawer.embedding.as_deref(),
            Some([number, 1.0, 2.0, 3.0].as_slice()),
            "{} of {} records",
            drawer.id,
            drawers.len()
        );
    }
}

#[test]
fn every_answer_beside_a_writer_holds_each_record_with_its_vector() {
    for release in both_kinds() {
        let folder = tempfile::tempdir().unwrap();
        let held = ChromaBackend::new();
        let mut writer = writer(release, folder.path());
        let (mut seen, mut answers) = (0, 0);
        let ended = loop {
            let ended = writer.try_wait().unwrap();
            // One that was opened before and one that is new.
            for chroma in [&held, &ChromaBackend::new()] {
                let drawers = match read(chroma, folder.path(), "live") {
                    Ok(drawers) => drawers,
                    // The file comes first, empty, then the tables, then the collection.
                    Err(error) if answers == 0 && error.kind() == ErrorKind::NotFound => continue,
                    Err(error) if answers == 0 && error.kind() == ErrorKind::Corrupt => continue,
                    Err(error) => panic!("{release}: {error}"),
                };
                check(&drawers);
                assert!(drawers.len() >= seen, "what was there stays there");
                seen = drawers.len();
                answers += 1;
            }
            if answers >= READ {
                drop(writer.stdin.take());
            }
            if let Some(ended) = ended {
                break ended;
            }
        };
        assert!(ended.success(), "the writer of {release} failed");
        assert_eq!(seen, WRITTEN, "{release}");
    }
}

/// A process that has the database open and does nothing, until its input ends.
fn bystander(database: &Path) -> Child {
    let script = format!("exec 7<'{}'; echo ready; read line", database.display());
    let mut shell = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = shell.stdout.as_mut().unwrap();
    BufReader::new(output).read_line(&mut String::new()).unwrap();
    shell
}

/// The files of a graph that saving writes first and last, with what is in them.
fn first_and_last(folder: &Folder) -> [(PathBuf, Vec<u8>); 2] {
    ["header.bin", "index_metadata.pickle"].map(|name| {
        let path = folder.segment().join(name);
        let bytes = fs::read(&path).unwrap();
        (path, bytes)
    })
}

/// Does to the files what saving does, once for each answer: the pickle is empty, or ends too early, before it is whole.
fn save(files: &[(PathBuf, Vec<u8>); 2], answers: &AtomicUsize) {
    let [(header, header_bytes), (pickle, bytes)] = files;
    for round in 0..ANSWERS {
        // This one is written over where it lies.
        let mut header = File::options().write(true).open(header).unwrap();
        header.write_all(header_bytes).unwrap();
        fs::write(pickle, &bytes[..bytes.len() / 2 * (round % 2)]).unwrap();
        // Nothing waits for this: it is a slow writer, and the slower, the surer to be met.
        thread::sleep(Duration::from_millis(300));
        fs::write(pickle, bytes).unwrap();
        // Chroma's next step needs the lock that a reader holds.
        while answers.load(Ordering::SeqCst) <= round {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn without_vector(drawers: &[Drawer]) -> usize {
    drawers.iter().filter(|drawer| drawer.embedding.is_none()).count()
}

#[test]
fn a_graph_that_is_being_saved_is_waited_for() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        let whole = read(&ChromaBackend::new(), folder.path(), "flushed").unwrap();
        assert_eq!(without_vector(&whole), 0, "{release}");
        let mut bystander = bystander(&folder.database());
        let files = first_and_last(&folder);
        let count = AtomicUsize::new(0);
        let answers: Vec<Result<Vec<Drawer>>> = thread::scope(|scope| {
            scope.spawn(|| save(&files, &count));
            let read = |_| {
                let answer = read(&ChromaBackend::new(), folder.path(), "flushed");
                count.fetch_add(1, Ordering::SeqCst);
                answer
            };
            (0..ANSWERS).map(read).collect()
        });
        for drawers in answers {
            assert!(drawers.unwrap() == whole, "{release}");
        }
        drop(bystander.stdin.take());
        bystander.wait().unwrap();
    }
}

#[test]
fn a_graph_that_nobody_finishes_to_save_is_read_as_it_is() {
    let folder = Folder::copy("1.5.9", "flushed");
    let whole = read(&ChromaBackend::new(), folder.path(), "flushed").unwrap();
    let mut bystander = bystander(&folder.database());
    let [_, (pickle, _)] = first_and_last(&folder);
    fs::write(pickle, b"").unwrap();
    let torn = read(&ChromaBackend::new(), folder.path(), "flushed").unwrap();
    assert_eq!(torn.len(), whole.len(), "the texts are all there");
    assert!(without_vector(&torn) > without_vector(&whole));
    drop(bystander.stdin.take());
    bystander.wait().unwrap();
}
