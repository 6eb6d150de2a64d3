//! Cursor's SQLite file in every state it is found in, made here, read, and left as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use loci_mine::formats::BundleInput;

use super::{bundle_format, check, folder, read_bundle, read_bundle_up_to, render};

const CHATS: [(&str, &str); 14] = [
    (
        "composerData:c1",
        r#"{"_v":3,"composerId":"c1","name":"Dark mode","createdAt":1714953600000,
        "workspaceIdentifier":{"uri":{"fsPath":"/home/ada/p"}},"subagentInfo":{"parentComposerId":"c0"},
        "conversationMap":{"b5":{"type":2,"bubbleId":"b5","text":"kept in the map"}},
        "fullConversationHeadersOnly":[{"bubbleId":"b1","type":1},{"bubbleId":"b2"},{"bubbleId":"own-3"},{"bubbleId":"b5"},{"bubbleId":"gone"},{"bubbleId":"b6"}]}"#,
    ),
    (
        "bubbleId:c1:b2",
        r#"{"type":2,"bubbleId":"b2","createdAt":"2024-05-06T00:00:02.000Z","thinking":{"text":"Let me see.","signature":"x"},"text":"Here:\n```css\na {}\n```","codeBlocks":[{"content":"a {}"},{"content":"b {}","uri":{"fsPath":"/b.css"}}],"modelInfo":{"modelName":"m-1"}}"#,
    ),
    (
        "bubbleId:c1:b1",
        r#"{"type":1,"bubbleId":"b1","timingInfo":{"clientStartTime":1714953601000,"clientEndTime":12.5},"text":"Add dark mode ","richText":"{}","images":[{"path":"/shot.png"}]}"#,
    ),
    (
        "bubbleId:c1:key-3",
        r#"{"type":2,"bubbleId":"own-3","createdAt":1714953603000,"text":"","toolFormerData":{"toolCallId":"t1","name":"read_file","status":"completed","rawArgs":"{\"path\": \"a.css\"}","params":"{\"targetFile\":\"a.css\"}","result":"{\"contents\":\"a {}\"}"}}"#,
    ),
    (
        "bubbleId:c1:b6",
        r#"{"type":2,"text":"","errorDetails":{"message":"Too many requests"},"toolFormerData":{"name":"run","params":{"b":1.0,"a":2},"error":"refused"}}"#,
    ),
    (
        "bubbleId:c1:before",
        r#"{"type":1,"text":"Add light mode","createdAt":"2024-05-06T00:00:00Z"}"#,
    ),
    ("bubbleId:c1:broken", "{\"type\":1,\"te"),
    (
        "composerData:c2",
        r#"{"composerId":"c2","name":"Inline","conversation":[{"type":1,"bubbleId":"i1","text":"Old style"},{"type":2,"bubbleId":"i2","text":"Old answer"}]}"#,
    ),
    (
        "bubbleId:c2:i1",
        r#"{"type":1,"bubbleId":"i1","text":"Old style"}"#,
    ),
    (
        "bubbleId:orphan:o2",
        r#"{"type":2,"text":"second","createdAt":"2024-05-06T00:00:05Z"}"#,
    ),
    (
        "bubbleId:orphan:o1",
        r#"{"type":1,"text":"first","createdAt":"2024-05-06T00:00:04Z"}"#,
    ),
    (
        "composerData:empty",
        r#"{"composerId":"empty","fullConversationHeadersOnly":[]}"#,
    ),
    ("composerData:torn", "{\"composerId\":"),
    ("checkpointId:x", "{}"),
];

const TABS: (&str, &str) = (
    "workbench.panel.aichat.view.aichat.chatdata",
    r#"{"tabs":[{"tabId":"t1","chatTitle":"Oldest","bubbles":[{"type":"user","id":"u","text":"From the panel"},{"type":"ai","id":"a","rawText":"To the panel","modelType":"gpt-4"}]},{"tabId":"t2","bubbles":[]}]}"#,
);

const PROMPTS: (&str, &str) = (
    "aiService.prompts",
    r#"[{"text":"Only the prompt is left","commandType":4},{"text":""}]"#,
);

fn fill(connection: &Connection, table: &str, rows: &[(&str, &str)]) {
    let create =
        format!("CREATE TABLE IF NOT EXISTS {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
    connection.execute_batch(&create).unwrap();
    for (number, (key, value)) in rows.iter().enumerate() {
        let insert = format!("INSERT INTO {table} VALUES (?1, ?2)");
        // Cursor writes text in one version and bytes in another.
        if number % 2 == 0 {
            connection.execute(&insert, (key, value)).unwrap();
        } else {
            connection.execute(&insert, (key, value.as_bytes())).unwrap();
        }
    }
}

fn read(path: &Path) -> String {
    let (conversations, notes) = read_bundle(bundle_format("cursor-vscdb"), path);
    render::named(&conversations, &notes)
}

/// Every file of a folder and its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// Reads the file and makes sure that nothing beside it or in it has changed.
fn read_without_a_trace(path: &Path) -> String {
    let before = contents(path.parent().unwrap());
    assert!(
        (bundle_format("cursor-vscdb").files)(path).is_some(),
        "{}",
        path.display()
    );
    let found = read(path);
    assert_eq!(
        contents(path.parent().unwrap()).keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    assert!(contents(path.parent().unwrap()) == before, "a file was changed");
    found
}

/// Makes a file with chats of every version.
pub(crate) fn fixture(folder: &Path) -> PathBuf {
    let path = folder.join("state.vscdb");
    let connection = Connection::open(&path).unwrap();
    fill(&connection, "cursorDiskKV", &CHATS);
    connection
        .execute("INSERT INTO cursorDiskKV VALUES ('bubbleId:c1:null', NULL)", ())
        .unwrap();
    connection
        .execute(
            "INSERT INTO cursorDiskKV VALUES ('bubbleId:c1:bytes', x'ff00')",
            (),
        )
        .unwrap();
    fill(&connection, "ItemTable", &[TABS, PROMPTS]);
    connection.close().unwrap();
    path
}

#[test]
fn chats_of_every_version_are_read_in_their_order() {
    let place = tempfile::tempdir().unwrap();
    let path = fixture(place.path());
    assert_eq!(
        (bundle_format("cursor-vscdb").files)(&path).unwrap(),
        std::slice::from_ref(&path)
    );
    check(
        &folder().join("cursor-vscdb.expected.txt"),
        &read_without_a_trace(&path),
    );
}

#[test]
fn prompts_are_read_only_where_nothing_else_is_left() {
    let place = tempfile::tempdir().unwrap();
    fs::write(
        place.path().join("workspace.json"),
        r#"{"folder":"file:///home/ada/p"}"#,
    )
    .unwrap();
    let path = place.path().join("odd name?#%20.vscdb");
    let connection = Connection::open(&path).unwrap();
    fill(&connection, "ItemTable", &[PROMPTS]);
    connection.close().unwrap();
    let expect = "conversation key=\"aiService.prompts\" cwd=\"/home/ada/p\"\n  human by=\"user\"\n    \"Only the prompt is left\"\n";
    assert_eq!(read_without_a_trace(&path), expect);
}

#[test]
fn what_is_only_in_the_write_ahead_log_is_read_too() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("state.vscdb");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;")
        .unwrap();
    fill(&connection, "cursorDiskKV", &CHATS[7..8]);
    assert_eq!(
        (bundle_format("cursor-vscdb").files)(&path).unwrap().len(),
        2,
        "the file and its log"
    );
    let while_open = read_without_a_trace(&path);
    assert!(
        while_open.contains("Old answer") && !while_open.contains("note"),
        "{while_open}"
    );

    // As after a crash, with what is left of the index, and as a copy of the log without it.
    for names in [["", "-wal", "-shm"].as_slice(), &["", "-wal"]] {
        let copy = tempfile::tempdir().unwrap();
        for name in names.iter().map(|ending| format!("state.vscdb{ending}")) {
            fs::copy(place.path().join(&name), copy.path().join(&name)).unwrap();
        }
        assert_eq!(
            read_without_a_trace(&copy.path().join("state.vscdb")),
            while_open,
            "{names:?}"
        );
    }

    // As after Cursor was closed: no log, but a file that says it keeps one.
    connection.close().unwrap();
    assert_eq!(contents(place.path()).len(), 1);
    assert_eq!(read_without_a_trace(&path), while_open);
}

#[test]
fn a_file_of_another_kind_or_without_chats_is_none() {
    let place = tempfile::tempdir().unwrap();
    let text = place.path().join("text.vscdb");
    fs::write(&text, "SQLite format 2").unwrap();
    assert_eq!((bundle_format("cursor-vscdb").files)(&text), None);
    let torn = place.path().join("torn.vscdb");
    fs::write(&torn, [b"SQLite format 3\0".as_slice(), &[7; 5000]].concat()).unwrap();
    assert_eq!((bundle_format("cursor-vscdb").files)(&torn), None);
    let given = BundleInput {
        path: &torn,
        max_bytes: u64::MAX,
    };
    assert!((bundle_format("cursor-vscdb").parse)(&given, &mut |_| Ok(())).is_err());
    let other = place.path().join("other.vscdb");
    let connection = Connection::open(&other).unwrap();
    fill(
        &connection,
        "ItemTable",
        &[("theme", "dark"), ("aiService.prompts", "[]")],
    );
    connection.close().unwrap();
    assert_eq!((bundle_format("cursor-vscdb").files)(&other), None);
    let named = place.path().join("chats.db");
    fs::copy(&other, &named).unwrap();
    assert_eq!((bundle_format("cursor-vscdb").files)(&named), None);
}

#[test]
fn a_value_over_the_limit_is_left_out_with_a_note_and_the_others_are_read() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("state.vscdb");
    let connection = Connection::open(&path).unwrap();
    let large = |head: &str| format!("{head}\"text\":\"{}\"}}", "long ".repeat(600_000));
    let (message, chat) = (
        large(r#"{"type":2,"#),
        large(r#"{"composerId":"c2","name":"Large","#),
    );
    let list = large(r#"{"tabs":[],"#);
    fill(
        &connection,
        "cursorDiskKV",
        &[
            ("composerData:c1", r#"{"composerId":"c1","name":"One"}"#),
            ("bubbleId:c1:b1", r#"{"type":1,"text":"small and kept"}"#),
            ("bubbleId:c1:b2", &message),
            ("composerData:c2", &chat),
            ("bubbleId:c2:b3", r#"{"type":1,"text":"kept as well"}"#),
            ("workbench.panel.aichat.view.aichat.chatdata", &list),
        ],
    );
    connection.close().unwrap();
    let format = bundle_format("cursor-vscdb");
    let (chats, notes) = read_bundle_up_to(format, &path, 1_000_000);
    let texts = |chats: &[loci_mine::conversation::Conversation]| -> Vec<usize> {
        chats
            .iter()
            .flat_map(|chat| &chat.messages)
            .map(|message| message.text.len())
            .collect()
    };
    assert_eq!(texts(&chats), ["small and kept".len(), "kept as well".len()]);
    let notes: Vec<String> = notes.into_iter().map(|note| note.text).collect();
    for part in ["message b2", "chat c2", "aichat.chatdata"] {
        let note = notes.iter().find(|note| note.contains(part)).unwrap();
        assert!(note.contains("3.0 MB") && note.contains("--max-size"), "{note}");
    }
    let (chats, notes) = read_bundle(format, &path);
    assert_eq!(texts(&chats).iter().max(), Some(&3_000_000), "{notes:?}");
}
