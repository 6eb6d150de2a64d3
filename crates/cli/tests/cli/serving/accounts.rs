//! Users and tokens: what the commands write is what the server accepts.

use loci_core::Timestamp;
use loci_team::{SignInRefusal, TeamAccounts};

use super::*;

fn open_accounts(home: &TempHome) -> TeamAccounts {
    TeamAccounts::open(home.path("data/loci/serve/accounts.json")).unwrap()
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp::from_micros(i64::try_from(since.unwrap().as_micros()).unwrap()).unwrap()
}

#[test]
fn a_user_signs_in_with_the_password_that_was_piped_in() {
    let home = new_home();
    let add = [
        "serve",
        "user",
        "add",
        "anna",
        "--rights",
        "work:write",
        "--password-stdin",
    ];
    let added = home.run_with(&add, b"correct horse\nand more\n").expect_code(0);
    assert_eq!(added.out, "anna  work:read,write  password\n");
    let accounts = open_accounts(&home);
    let sign_in = |password| accounts.check_password("anna", password).unwrap().granted();
    assert_eq!(sign_in("correct horse").unwrap().actor.to_string(), "anna");
    assert!(sign_in("correct horse\n").is_none());
    home.run_with(&["serve", "user", "password", "anna"], b"another horse")
        .expect_code(0);
    assert!(sign_in("correct horse").is_none() && sign_in("another horse").is_some());
    home.run(&["serve", "user", "password", "anna", "--remove"])
        .expect_code(0);
    assert!(sign_in("another horse").is_none());
    assert_eq!(mode_of(&home, "accounts.json"), 0o600);
    assert_eq!(mode_of(&home, ""), 0o700);
}

#[test]
fn a_password_that_is_refused_leaves_no_user_behind() {
    let home = new_home();
    home.json(0, &["serve", "user", "add", "ben"]);
    for (password, named) in [
        (&b"short\n"[..], "at least"),
        (b"", "standard input"),
        (b"\xff\xfe\xfd\n", "UTF-8"),
    ] {
        let add = ["--json", "serve", "user", "add", "anna", "--password-stdin"];
        let (_, error) = home.run_with(&add, password).expect_error();
        assert!(error.contains(named), "{error}");
    }
    let long = vec![b'x'; 1 << 20];
    let add = ["--json", "serve", "user", "add", "anna", "--password-stdin"];
    let (_, error) = home.run_with(&add, &long).expect_error();
    assert!(error.contains("at most 1024 bytes"), "{error}");
    let names: Vec<String> = open_accounts(&home)
        .list_users()
        .unwrap()
        .into_iter()
        .map(|user| user.name)
        .collect();
    assert_eq!(names, ["ben"]);
}

#[test]
fn a_token_is_printed_once_and_alone_and_stored_nowhere() {
    let home = new_home();
    home.json(0, &["serve", "user", "add", "anna", "--rights", "work:read"]);
    let made = home
        .run(&["serve", "token", "make", "anna", "--label", "laptop"])
        .expect_code(0);
    let text = made.out.trim_end();
    assert_eq!(made.out.lines().count(), 1, "{made:?}");
    let secret = text.split('_').nth(2).unwrap();
    let listed = home.run(&["serve", "token", "list"]).expect_code(0);
    assert!(
        listed.out.contains("laptop") && !listed.out.contains(secret),
        "{listed:?}"
    );
    assert_eq!(count_in_files(&home.path("data"), secret), 0);
    let caller = open_accounts(&home)
        .check_token(text, now())
        .unwrap()
        .granted()
        .unwrap();
    assert_eq!(caller.rights.grants()[0].to_string(), "work:read");
}

#[test]
fn what_is_rotated_revoked_or_disabled_is_refused_at_once() {
    let home = new_home();
    home.json(0, &["serve", "user", "add", "anna", "--rights", "work:read"]);
    let accounts = open_accounts(&home);
    let refusal = |text: &str| accounts.check_token(text, now()).unwrap().refusal();
    let (first, id) = make_token(&home, "anna");
    let rotate = |more: &[&str]| {
        let rotated = home.json(0, &[&["serve", "token", "rotate", &id], more].concat());
        rotated["text"].as_str().unwrap().to_owned()
    };
    let second = rotate(&["--keep-old", "1h"]);
    assert_eq!((refusal(&first), refusal(&second)), (None, None));
    let third = rotate(&[]);
    assert_eq!(refusal(&second), Some(SignInRefusal::UnknownToken));
    home.json(0, &["serve", "user", "disable", "anna"]);
    assert_eq!(refusal(&third), Some(SignInRefusal::Disabled));
    home.json(0, &["serve", "user", "enable", "anna"]);
    assert_eq!(refusal(&third), None);
    home.json(0, &["serve", "token", "revoke", &id]);
    assert_eq!(refusal(&third), Some(SignInRefusal::Revoked));
    let (fourth, _) = make_token(&home, "anna");
    let removed = home.json(0, &["serve", "user", "remove", "anna"]);
    assert_eq!(removed["tokens"], 2);
    assert_eq!(refusal(&fourth), Some(SignInRefusal::UnknownToken));
}

#[test]
fn a_token_has_no_right_that_its_user_lacks_and_ends_when_it_was_told_to() {
    let home = new_home();
    home.json(
        0,
        &["serve", "user", "add", "anna", "--rights", "work/garden:write"],
    );
    for wider in ["work:read", "work/garden:delete", "home:read", "*:read"] {
        let make = ["--json", "serve", "token", "make", "anna", "--rights", wider];
        let (_, error) = home.run(&make).expect_error();
        assert!(error.contains(wider.split(':').next().unwrap()), "{error}");
    }
    home.json(1, &["serve", "token", "list"]);
    let narrow = ["--rights", "work/garden:read", "--expires", "30d"];
    let made = home.json(0, &[&["serve", "token", "make", "anna"], &narrow[..]].concat());
    let text = made["text"].as_str().unwrap();
    let caller = open_accounts(&home)
        .check_token(text, now())
        .unwrap()
        .granted()
        .unwrap();
    assert_eq!(caller.rights.grants()[0].to_string(), "work/garden:read");
    let ends: Timestamp = made["token"]["expires"].as_str().unwrap().parse().unwrap();
    let days = (ends.as_micros() - now().as_micros()) / 86_400_000_000;
    assert_eq!(days, 29, "{ends}");
    home.json(0, &["serve", "user", "rights", "anna", "home:read"]);
    let narrowed = open_accounts(&home).check_token(text, now()).unwrap().granted();
    assert!(narrowed.unwrap().rights.is_empty());
}

#[test]
fn a_file_that_others_may_read_is_refused_with_the_command_that_fixes_it() {
    let home = new_home();
    home.json(0, &["serve", "user", "add", "anna"]);
    let file = home.path("data/loci/serve/accounts.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (_, error) = home.run(&["--json", "serve", "user", "list"]).expect_error();
    assert!(error.contains("chmod 600"), "{error}");
}
