//! The key: without it the secrets are closed and everything else is open; nothing is filed in the clear for want of it.

use loci_core::{Backend, CollectionName, OpenOptions, PalaceRef, SourceRecordQuery, SourceRevision};
use loci_store::EmbeddedBackend;

use super::*;

fn run_elsewhere(home: &TempHome, args: &[&str]) -> loci_testkit::CommandOutcome {
    let mut command = home.command(args);
    command.env("LOCI_KEYS", home.path("other-machine"));
    run_command(command, b"")
}

#[test]
fn on_another_machine_secrets_stay_closed_until_the_key_is_brought() {
    let home = new_home();
    let file = home.write("p/a.md", format!("token {}\nwords\n", token(1)));
    home.json(0, &["mine", &file]);
    home.json(0, &["add", &format!("note {}", token(1)), "--id", "note"]);
    let shown = run_elsewhere(&home, &["cat", &file]).expect_code(0);
    assert!(shown.out.contains("⟦sealed github-token"));
    for args in [&["unseal", "note"][..], &["cat", &file, "--unseal"]] {
        let refused = run_elsewhere(&home, args).expect_code(2);
        assert!(refused.err.contains("not on this machine") && refused.err.contains("loci key import"));
    }
    let refused = run_elsewhere(&home, &["add", &format!("new {}", token(2)), "--id", "new"]).expect_code(2);
    assert!(refused.err.contains("nothing was filed"), "{}", refused.err);
    run_elsewhere(&home, &["show", "new"]).expect_code(1);
    run_elsewhere(&home, &["add", "plain words", "--id", "plain"]).expect_code(0);
    let other = home.write("p/b.md", format!("token {}\n", token(3)));
    let clean = home.write("p/c.md", "clean\n");
    let mined = run_elsewhere(&home, &["mine", &other, &clean, "--json"])
        .expect_code(1)
        .json();
    assert_eq!(
        (&mined["sources_mined"], &mined["sources_failed"][0]["source"]),
        (&json!(1), &json!(other))
    );
    assert_eq!(
        count_in_files(&home.palace(), &token(2)) + count_in_files(&home.palace(), &token(3)),
        0
    );
    let made = home.path("made.key").display().to_string();
    let refused = run_elsewhere(&home, &["key", "export", &made]).expect_code(2);
    assert!(refused.err.contains("not on this machine"), "{}", refused.err);
    assert!(!Path::new(&made).exists(), "a key that opens nothing is not made");
    let exported = home.path("k.key").display().to_string();
    home.json(0, &["key", "export", &exported]);
    run_elsewhere(&home, &["key", "import", &exported]).expect_code(0);
    let opened = run_elsewhere(&home, &["unseal", "note", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(text_of(&opened["drawers"][0]), format!("note {}", token(1)));
    let mined = run_elsewhere(&home, &["mine", &other, "--json"])
        .expect_code(0)
        .json();
    assert_eq!(mined["sources_mined"], json!(1));
}

#[test]
fn losing_the_key_loses_the_secrets_and_nothing_else() {
    let home = new_home();
    home.json(0, &["add", &format!("old {}", token(1)), "--id", "old"]);
    let shown = home.json(0, &["key", "show"]);
    std::fs::remove_file(shown["key_file"].as_str().unwrap()).unwrap();
    let refused = home
        .run(&["add", &format!("new {}", token(2)), "--id", "new"])
        .expect_code(2);
    assert!(refused.err.contains("loci key rotate"), "{}", refused.err);
    let rotated = home.json(0, &["key", "rotate"]);
    assert_eq!(rotated["rotated"]["left"], json!(1));
    home.json(0, &["add", &format!("new {}", token(2)), "--id", "new"]);
    let opened = home.json(0, &["unseal", "new"]);
    assert_eq!(text_of(&opened["drawers"][0]), format!("new {}", token(2)));
    home.run(&["unseal", "old"]).expect_code(2);
    assert!(text_of(&home.json(0, &["show", "old"])["drawers"][0]).starts_with("old ⟦sealed"));
}

#[test]
fn a_restored_backup_opens_with_the_key_of_its_palace() {
    let home = new_home();
    home.json(0, &["add", &format!("note {}", token(1)), "--id", "note"]);
    let backup = home.path("backup.db").display().to_string();
    home.json(0, &["backup", &backup]);
    assert_eq!(count_in_files(Path::new(&backup), &token(1)), 0);
    let copy = home.path("restored").display().to_string();
    home.json(0, &["restore", &backup, "--palace", &copy]);
    let opened = home.json(0, &["unseal", "note", "--palace", &copy]);
    assert_eq!(text_of(&opened["drawers"][0]), format!("note {}", token(1)));
}

#[test]
fn after_a_rotation_the_old_key_opens_nothing_in_the_palace() {
    let home = new_home();
    home.json(0, &["add", &format!("note {}", token(1)), "--id", "note"]);
    let before = home.json(0, &["key", "show"]);
    let rotated = home.json(0, &["key", "rotate"]);
    assert_eq!(rotated["rotated"]["secrets"], json!(1), "{rotated}");
    assert_eq!(rotated["rotated"]["purged"], json!(true));
    let (old, new) = (
        before["keys"][0].as_str().unwrap(),
        rotated["keys"][0].as_str().unwrap(),
    );
    assert_ne!(old, new);
    assert_eq!(count_in_files(&home.palace(), &format!("1:{old}:")), 0);
    assert!(count_in_files(&home.palace(), &format!("1:{new}:")) > 0);
    // The label stays, so that mining again changes nothing.
    home.json(0, &["add", &format!("note {}", token(1)), "--id", "again"]);
    let label = |id: &str| text_of(&home.json(0, &["show", id])["drawers"][0]).to_owned();
    assert_eq!(label("note"), label("again"));
    let opened = home.json(0, &["unseal", "note", "again"]);
    assert!(
        opened["drawers"]
            .as_array()
            .unwrap()
            .iter()
            .all(|drawer| text_of(drawer).contains(&token(1)))
    );
}

/// Removes the encrypted secrets and leaves the labels.
fn remove_secrets(home: &TempHome) {
    let backend = EmbeddedBackend::new();
    let name = CollectionName::new(CollectionName::DEFAULT).unwrap();
    let collection = backend
        .open(
            &PalaceRef::local(home.palace()),
            &name,
            &OpenOptions::for_writing(),
        )
        .unwrap();
    let ledger = collection.sources().unwrap();
    let all = SourceRecordQuery::Under {
        prefix: "loci:secret:".to_owned(),
        after: None,
        limit: 10,
    };
    let removals = ledger
        .find_records(&all)
        .unwrap()
        .into_iter()
        .map(|record| SourceRevision {
            source: record.source,
            expects: Some(record.revision),
            stamp: None,
            parts: Box::new(std::iter::empty()),
        });
    ledger.revise(removals.collect()).unwrap();
}

#[test]
fn a_secret_that_is_gone_is_named_and_the_words_stay() {
    let home = new_home();
    home.json(0, &["add", &format!("note {}", token(1)), "--id", "note"]);
    home.run(&["verify"]).expect_code(0);
    remove_secrets(&home);
    let found = home.json(1, &["verify"]);
    assert!(found.to_string().contains("secret_missing"), "{found}");
    let refused = home.run(&["unseal", "note"]).expect_code(2);
    assert!(
        refused.err.contains("not in the palace any more"),
        "{}",
        refused.err
    );
    assert!(text_of(&home.json(0, &["show", "note"])["drawers"][0]).starts_with("note ⟦sealed"));
}

#[test]
fn forgetting_the_last_drawer_of_a_secret_forgets_the_secret() {
    let home = new_home();
    for id in ["one", "two"] {
        home.json(0, &["add", &format!("{id} {}", token(1)), "--id", id]);
    }
    assert_eq!(
        (
            count_records(&home, "loci:secret:%"),
            count_records(&home, "loci:seal:%")
        ),
        (1, 2)
    );
    home.json(0, &["forget", "one", "--yes"]);
    assert_eq!(
        (
            count_records(&home, "loci:secret:%"),
            count_records(&home, "loci:seal:%")
        ),
        (1, 1)
    );
    assert!(text_of(&home.json(0, &["unseal", "two"])["drawers"][0]).contains(&token(1)));
    home.json(0, &["forget", "two", "--yes"]);
    assert_eq!(
        (
            count_records(&home, "loci:secret:%"),
            count_records(&home, "loci:seal:%")
        ),
        (0, 0)
    );
}
