//! Files that are found together.

use std::path::PathBuf;

use loci_mine::WalkRequest;
use loci_mine::formats::{BundleFormat, BundleInput, ConversationSink};

use super::{Tree, plain, sources};

/// A folder with an index is a chat, with the attachments beside it; a `.box` goes with its log and its notes.
const CHATS: [BundleFormat; 2] = [
    BundleFormat {
        name: "chat",
        files: |path| {
            let index = path.join("index.json");
            let beside = path.with_file_name("attachments.txt");
            let files = [index.clone(), path.join("sub/one.json"), beside];
            index
                .is_file()
                .then(|| files.into_iter().filter(|file| file.is_file()).collect())
        },
        parse: |_: &BundleInput<'_>, _: &mut ConversationSink<'_>| Ok(Vec::new()),
    },
    BundleFormat {
        name: "box",
        files: |path| {
            let log = path.with_extension("box-log");
            let notes = path.with_extension("a-notes");
            (path.extension()? == "box").then(|| vec![path.to_path_buf(), log, notes])
        },
        parse: |_: &BundleInput<'_>, _: &mut ConversationSink<'_>| Ok(Vec::new()),
    },
];

fn bundled<'a>(roots: &'a [PathBuf]) -> WalkRequest<'a> {
    WalkRequest {
        bundles: &CHATS,
        ..plain(roots)
    }
}

#[test]
fn the_files_of_a_bundle_are_found_together_and_once() {
    let tree = Tree::of(&[
        "attachments.txt",
        "c/index.json",
        "c/sub/one.json",
        "c/other",
        "d/m.box",
        "d/m.box-log",
    ]);
    tree.file("d/m.a-notes", "sorted before the one that claims it");
    tree.file("d/n", "n");
    let expected = [
        "c = chat(c/index.json c/sub/one.json attachments.txt)",
        "d/m.box = box(d/m.box d/m.box-log d/m.a-notes)",
        "d/n",
    ];
    assert_eq!(tree.lines(&bundled(&[tree.at("")])), expected);
    let roots = ["d", "d/m.box", "d/m.box-log", "c/sub", "c"].map(|root| tree.at(root));
    let expected = [
        "c = chat(c/index.json c/sub/one.json attachments.txt)",
        "d/n",
        "d/m.box = box(d/m.box d/m.box-log d/m.a-notes)",
    ];
    assert_eq!(tree.lines(&bundled(&roots)), expected);
}

#[test]
fn a_file_a_bundle_has_lost_is_listed() {
    let tree = Tree::of(&["m.box", "m.box-log"]);
    let expected = [
        "m.a-notes: No such file or directory",
        "m.box = box(m.box m.box-log)",
    ];
    assert_eq!(tree.lines(&bundled(&[tree.at("")])), expected);
}

#[test]
fn a_bundle_may_be_larger_than_a_file() {
    let tree = Tree::of(&["m.box-log", "m.a-notes"]);
    tree.file("m.box", &"a".repeat(2_000));
    let found = sources(&bundled(&[tree.at("")]));
    let (_, files) = found[0].bundle_files().unwrap();
    let sizes: Vec<u64> = files.iter().map(|(_, stat)| stat.size).collect();
    assert_eq!(sizes, [2_000, 9, 9]);
    assert_eq!(found[0].total_bytes(), 2_018);
}

#[test]
fn a_bundle_with_a_file_over_the_limit_is_read_again_under_another_limit() {
    let tree = Tree::of(&["m.box-log", "m.a-notes"]);
    tree.file("m.box", &"a".repeat(2_000));
    let fingerprint = |max_bytes: u64| {
        let roots = [tree.at("")];
        let request = WalkRequest {
            max_bytes,
            ..bundled(&roots)
        };
        sources(&request)[0].fingerprint()
    };
    assert_ne!(fingerprint(1_000), fingerprint(3_000));
    assert_ne!(fingerprint(1_000), fingerprint(1_500));
    assert_eq!(fingerprint(3_000), fingerprint(4_000));
}

#[test]
fn no_format_is_asked_about_a_palace() {
    const GREEDY: [BundleFormat; 1] = [BundleFormat {
        name: "greedy",
        files: |path| path.starts_with("/").then(|| vec![path.to_path_buf()]),
        parse: |_: &BundleInput<'_>, _: &mut ConversationSink<'_>| Ok(Vec::new()),
    }];
    let tree = Tree::of(&["p/palace.db", "q"]);
    let greedy = |roots: &[PathBuf]| {
        tree.lines(&WalkRequest {
            bundles: &GREEDY,
            ..plain(roots)
        })
    };
    assert_eq!(greedy(&[tree.at("p")]), ["p: a palace"]);
    assert_eq!(greedy(&[tree.at("p/palace.db")]), ["p/palace.db: a palace"]);
    tree.file("r/p/palace.db", "a");
    assert_eq!(
        greedy(&[tree.at("r"), tree.at("r/p")]),
        ["r = greedy(r)", "r/p: a palace"]
    );
}
