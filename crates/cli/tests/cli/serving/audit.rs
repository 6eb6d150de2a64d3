//! The audit log as the commands write, show and verify it.

use super::*;

/// A home whose log holds the records of three changes.
fn home_with_records() -> TempHome {
    let home = new_home();
    home.json(0, &["serve", "user", "add", "anna", "--rights", "work:read"]);
    home.json(0, &["serve", "token", "make", "anna"]);
    home.run(&["serve", "user", "remove", "none"]).expect_code(2);
    home
}

fn log_of(home: &TempHome) -> PathBuf {
    home.path("data/loci/serve/audit.log")
}

#[test]
fn changes_of_users_and_tokens_are_recorded_and_found() {
    let home = home_with_records();
    assert_eq!(
        (mode_of(&home, "audit.log"), mode_of(&home, "audit.key")),
        (0o600, 0o600)
    );
    let all = home.json(0, &["serve", "audit", "show"]);
    let told: Vec<String> = all["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|act| format!("{} {} {}", act["act"], act["outcome"], act["name"]).replace('"', ""))
        .collect();
    let expect = [
        "user failed:not_found none",
        "user asked none",
        "token done anna",
        "token asked anna",
        "user done anna",
        "user asked anna",
        "chain_begun done null",
    ];
    assert_eq!(told, expect);
    let numbers = |args: &[&str]| {
        let shown = home
            .run(&[&["--json", "serve", "audit", "show"], args].concat())
            .json();
        let records = shown["records"].as_array().unwrap().iter();
        records
            .map(|act| act["number"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&["--act", "token"]), [5, 4]);
    assert_eq!(numbers(&["--outcome", "failed"]), [7]);
    assert_eq!(numbers(&["--subject", "anna", "-n", "2"]), [5, 4]);
    assert_eq!(numbers(&["--before", "4", "--user", "server", "-n", "1"]), [3]);
    assert!(numbers(&["--user", "anna"]).is_empty());
    assert!(numbers(&["--until", "2020-01-01"]).is_empty());
    let shown = home.run(&["serve", "audit", "show", "-n", "1"]).expect_code(0);
    assert!(
        shown.out.contains("server  user  failed:not_found  none"),
        "{shown:?}"
    );
    assert!(shown.err.contains("--before 7"), "{shown:?}");
}

#[test]
fn an_edit_a_gap_and_a_missing_end_are_found() {
    let home = home_with_records();
    let head = home.run(&["serve", "audit", "head"]).expect_code(0).out;
    let head = head.trim_end();
    let verify = |code| {
        let verified = home.json(code, &["serve", "audit", "verify", "--head", head]);
        let breaks = verified["breaks"].as_array().unwrap().iter();
        breaks
            .map(|found| found["problem"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(verify(0).is_empty());
    let whole = std::fs::read_to_string(log_of(&home)).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    std::fs::write(log_of(&home), whole.replacen("anna", "bert", 1)).unwrap();
    assert_eq!(verify(1), ["record 2 was changed or does not belong here"]);
    let (_, error) = home.run(&["--json", "serve", "audit", "head"]).expect_error();
    assert!(error.contains("corrupt"), "{error}");
    let gap = format!("{}\n{}\n", lines[..2].join("\n"), lines[4..].join("\n"));
    std::fs::write(log_of(&home), gap).unwrap();
    assert_eq!(verify(1), ["records 3 to 4 are missing"]);
    let cut = format!("{}\n", lines[..5].join("\n"));
    std::fs::write(log_of(&home), cut).unwrap();
    assert_eq!(verify(1), ["record 7 of a known head is not in the log"]);
    let unaware = home.run(&["serve", "audit", "verify"]).expect_code(0);
    assert!(unaware.err.contains("--head"), "{unaware:?}");
    std::fs::write(log_of(&home), whole).unwrap();
    assert!(verify(0).is_empty());
}

#[test]
fn a_change_is_made_even_if_it_cannot_be_recorded() {
    let home = home_with_records();
    let key = home.path("data/loci/serve/audit.key");
    std::fs::rename(&key, home.path("elsewhere.key")).unwrap();
    let revoked = home
        .run(&["--json", "serve", "user", "disable", "anna"])
        .expect_code(0);
    assert_eq!(revoked.json()["audited"], false);
    assert!(revoked.err.contains("not recorded"), "{revoked:?}");
    // No new key was made in its place, under which the log would look forged.
    assert!(!key.exists());
    let (_, error) = home.run(&["--json", "serve", "audit", "verify"]).expect_error();
    assert!(error.contains("audit.key"), "{error}");
    std::fs::rename(home.path("elsewhere.key"), &key).unwrap();
    home.json(0, &["serve", "audit", "verify"]);
}

#[test]
fn a_change_beside_a_running_server_is_made_and_says_that_it_is_not_recorded() {
    let home = home_with_records();
    let folder = home.path("data/loci/serve");
    let key = loci_team::AuditKey::open(&folder.join("audit.key")).unwrap();
    let held = loci_team::AuditLog::open(folder.join("audit.log"), key, Default::default()).unwrap();
    let changed = home.run(&["serve", "user", "disable", "anna"]).expect_code(0);
    assert!(
        changed.err.contains("a running server has the audit log open"),
        "{changed:?}"
    );
    assert!(changed.out.contains("disabled since"), "{changed:?}");
    drop(held);
    let changed = home.json(0, &["serve", "user", "enable", "anna"]);
    assert_eq!(changed["audited"], true);
}
