//! Tests of the accounts file: tokens, passwords, changes by several processes, and files that are not as they should be.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use loci_core::{ErrorKind, Timestamp};
use tempfile::TempDir;

use super::*;
use crate::caller::{SignInOutcome, SignInRefusal};
use crate::rights::TeamRights;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    time("2026-05-01T09:00:00Z")
}

fn rights(grants: &[&str]) -> TeamRights {
    TeamRights::parse(grants.iter().copied()).unwrap()
}

fn folder_with_anna() -> (TempDir, TeamAccounts) {
    let folder = tempfile::tempdir().unwrap();
    let accounts = TeamAccounts::open_or_create(folder.path().join("accounts.json")).unwrap();
    accounts
        .add_user("anna", rights(&["work:write", "home:read"]), now())
        .unwrap();
    (folder, accounts)
}

fn refusal(accounts: &TeamAccounts, text: &str, at: Timestamp) -> Option<SignInRefusal> {
    accounts.check_token(text, at).unwrap().refusal()
}

#[test]
fn a_token_has_the_rights_of_its_user_narrowed_by_its_own() {
    let (_folder, accounts) = folder_with_anna();
    let request = TokenRequest {
        label: "laptop".into(),
        rights: Some(rights(&["work/garden:read", "home:read"])),
        expires: None,
    };
    let made = accounts.make_token("anna", request, now()).unwrap();
    let caller = accounts
        .check_token(made.text.reveal(), now())
        .unwrap()
        .granted()
        .unwrap();
    assert_eq!(caller.rights, rights(&["work/garden:read", "home:read"]));
    assert_eq!(caller.token, Some(made.token.id.clone()));
    // The user loses a right, and so does the token, at once.
    accounts.set_rights("anna", rights(&["work:read"])).unwrap();
    let caller = accounts
        .check_token(made.text.reveal(), now())
        .unwrap()
        .granted()
        .unwrap();
    assert_eq!(caller.rights, rights(&["work/garden:read"]));
}

#[test]
fn a_token_cannot_be_given_more_than_its_user_has() {
    let (_folder, accounts) = folder_with_anna();
    for wide in ["*:read", "home:write", "work:admin", "work/garden:delete"] {
        let request = TokenRequest {
            rights: Some(rights(&[wide])),
            ..TokenRequest::default()
        };
        let error = accounts.make_token("anna", request, now()).unwrap_err();
        assert!(error.message().contains("does not have the right"), "{error}");
    }
    assert!(accounts.list_tokens(None).unwrap().is_empty());
}

#[test]
fn a_token_is_refused_once_it_is_over() {
    let (_folder, accounts) = folder_with_anna();
    let expires = Some(time("2026-06-01"));
    let request = TokenRequest {
        expires,
        ..TokenRequest::default()
    };
    let made = accounts.make_token("anna", request.clone(), now()).unwrap();
    let text = made.text.reveal();
    assert_eq!(refusal(&accounts, text, time("2026-05-31T23:59:59Z")), None);
    assert_eq!(
        refusal(&accounts, text, time("2026-06-01")),
        Some(SignInRefusal::Expired)
    );
    accounts.disable_user("anna", now()).unwrap();
    assert_eq!(refusal(&accounts, text, now()), Some(SignInRefusal::Disabled));
    accounts.enable_user("anna").unwrap();
    assert_eq!(refusal(&accounts, text, now()), None);
    accounts.revoke_token(&made.token.id, now()).unwrap();
    assert_eq!(refusal(&accounts, text, now()), Some(SignInRefusal::Revoked));
    assert!(accounts.make_token("anna", request, time("2026-06-01")).is_err());
    assert!(accounts.rotate_token(&made.token.id, None, now()).is_err());
}

#[test]
fn a_secret_of_another_token_opens_nothing() {
    let (_folder, accounts) = folder_with_anna();
    let make = || {
        accounts
            .make_token("anna", TokenRequest::default(), now())
            .unwrap()
    };
    let (one, other) = (make(), make());
    // The id of one with the secret of the other, and a checksum that fits.
    let (id, secret) = (one.token.id, &other.text.reveal()[18..82]);
    let mixed = token_text::TokenText::generate(&id).unwrap().0;
    assert_eq!(
        refusal(&accounts, mixed.reveal(), now()),
        Some(SignInRefusal::UnknownToken)
    );
    let unchecked = format!("loci_{id}_{secret}_00000000");
    assert_eq!(
        refusal(&accounts, &unchecked, now()),
        Some(SignInRefusal::Malformed)
    );
    accounts.remove_user("anna").unwrap();
    assert_eq!(
        refusal(&accounts, other.text.reveal(), now()),
        Some(SignInRefusal::UnknownToken)
    );
}

#[test]
fn after_a_rotation_the_old_secret_is_accepted_for_as_long_as_asked() {
    let (_folder, accounts) = folder_with_anna();
    let first = accounts
        .make_token("anna", TokenRequest::default(), now())
        .unwrap();
    let id = &first.token.id;
    let until = time("2026-05-02");
    let second = accounts.rotate_token(id, Some(until), now()).unwrap();
    assert_eq!(second.token.previous_until, Some(until));
    assert_eq!(refusal(&accounts, first.text.reveal(), now()), None);
    assert_eq!(refusal(&accounts, second.text.reveal(), now()), None);
    assert_eq!(
        refusal(&accounts, first.text.reveal(), until),
        Some(SignInRefusal::UnknownToken)
    );
    let third = accounts.rotate_token(id, None, now()).unwrap();
    for old in [first, second] {
        assert_eq!(
            refusal(&accounts, old.text.reveal(), now()),
            Some(SignInRefusal::UnknownToken)
        );
    }
    assert_eq!(refusal(&accounts, third.text.reveal(), now()), None);
}

#[test]
fn a_password_signs_in_until_it_is_changed() {
    let (_folder, accounts) = folder_with_anna();
    let check = |name: &str, password: &str| accounts.check_password(name, password).unwrap();
    let refused = |name: &str, password: &str| check(name, password).refusal();
    assert_eq!(refused("anna", ""), Some(SignInRefusal::WrongPassword));
    accounts.set_password("anna", Some("correct horse")).unwrap();
    let SignInOutcome::Granted(caller) = check("Anna", "correct horse") else {
        panic!("the password is right");
    };
    assert_eq!(caller.stamp, accounts.find_stamp("anna").unwrap());
    assert_eq!(
        refused("anna", "correct hors"),
        Some(SignInRefusal::WrongPassword)
    );
    assert_eq!(refused("ben", "correct horse"), Some(SignInRefusal::UnknownUser));
    accounts.set_password("anna", Some("another horse")).unwrap();
    assert_ne!(caller.stamp, accounts.find_stamp("anna").unwrap());
    assert_eq!(
        refused("anna", "correct horse"),
        Some(SignInRefusal::WrongPassword)
    );
    accounts.disable_user("anna", now()).unwrap();
    assert_eq!(refused("anna", "another horse"), Some(SignInRefusal::Disabled));
    assert_eq!(accounts.find_stamp("anna").unwrap(), None);
}

#[test]
fn every_change_that_ends_sessions_changes_the_stamp() {
    let (_folder, accounts) = folder_with_anna();
    let mut stamps = vec![accounts.find_stamp("anna").unwrap().unwrap()];
    let mut note = || {
        let stamp = accounts.find_stamp("anna").unwrap().unwrap();
        assert!(!stamps.contains(&stamp));
        stamps.push(stamp);
    };
    accounts.set_rights("anna", rights(&["work:read"])).unwrap();
    note();
    accounts.disable_user("anna", now()).unwrap();
    accounts.enable_user("anna").unwrap();
    note();
    accounts.set_password("anna", None).unwrap();
    note();
    accounts.remove_user("anna").unwrap();
    accounts.add_user("anna", rights(&["work:read"]), now()).unwrap();
    note();
}

#[test]
fn a_change_by_another_process_is_seen_by_the_next_lookup() {
    let (folder, server) = folder_with_anna();
    // Another instance stands for another process: it shares nothing but the file.
    let command = TeamAccounts::open(folder.path().join("accounts.json")).unwrap();
    for _ in 0..200 {
        let made = command
            .make_token("anna", TokenRequest::default(), now())
            .unwrap();
        assert_eq!(refusal(&server, made.text.reveal(), now()), None);
        command.revoke_token(&made.token.id, now()).unwrap();
        assert_eq!(
            refusal(&server, made.text.reveal(), now()),
            Some(SignInRefusal::Revoked)
        );
    }
}

#[test]
fn changes_at_once_lose_none() {
    let (folder, _accounts) = folder_with_anna();
    let path: PathBuf = folder.path().join("accounts.json");
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let path = path.clone();
            scope.spawn(move || {
                let accounts = TeamAccounts::open_or_create(path).unwrap();
                for nth in 0..25 {
                    let name = format!("user-{worker}-{nth}");
                    accounts.add_user(&name, TeamRights::default(), now()).unwrap();
                    accounts
                        .make_token("anna", TokenRequest::default(), now())
                        .unwrap();
                }
            });
        }
    });
    let accounts = TeamAccounts::open(path).unwrap();
    assert_eq!(accounts.list_users().unwrap().len(), 101);
    assert_eq!(accounts.list_tokens(Some("anna")).unwrap().len(), 100);
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left.len(), 2, "the file and its lock: {left:?}");
}

#[test]
fn the_file_holds_no_secret_and_only_its_owner_can_read_it() {
    let (_folder, accounts) = folder_with_anna();
    let made = accounts
        .make_token("anna", TokenRequest::default(), now())
        .unwrap();
    accounts.set_password("anna", Some("correct horse")).unwrap();
    let text = fs::read_to_string(accounts.path()).unwrap();
    assert!(!text.contains(&made.text.reveal()[18..82]) && !text.contains("correct horse"));
    let mode = fs::metadata(accounts.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let shown = format!("{accounts:?}");
    assert!(
        !shown.contains("argon2id") && !shown.contains(&made.text.reveal()[18..]),
        "{shown}"
    );
    assert!(!format!("{made:?}").contains(&made.text.reveal()[18..]));
    for mode in [0o640, 0o604, 0o620, 0o602, 0o601] {
        fs::set_permissions(accounts.path(), fs::Permissions::from_mode(mode)).unwrap();
        let error = accounts.list_users().unwrap_err();
        assert!(error.hint_text().unwrap().contains("chmod 600"), "{error:?}");
        assert!(accounts.disable_user("anna", now()).is_err());
    }
}

#[test]
fn a_file_that_is_damaged_or_newer_is_refused_and_left_alone() {
    let (_folder, accounts) = folder_with_anna();
    let made = accounts
        .make_token("anna", TokenRequest::default(), now())
        .unwrap();
    let whole = fs::read_to_string(accounts.path()).unwrap();
    let check = |text: &str, kind: ErrorKind, what: &str| {
        fs::write(accounts.path(), text).unwrap();
        let error = accounts.check_token(made.text.reveal(), now()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(what), "{error}");
        assert!(accounts.add_user("ben", TeamRights::default(), now()).is_err());
        assert!(TeamAccounts::open_or_create(accounts.path()).is_err());
        assert_eq!(fs::read_to_string(accounts.path()).unwrap(), text);
    };
    check("", ErrorKind::Corrupt, "line 1");
    check(&whole[..whole.len() / 2], ErrorKind::Corrupt, "damaged");
    check(
        &whole.replace("\"version\": 1", "\"version\": 2"),
        ErrorKind::Format,
        "has version 2",
    );
    check(
        &whole.replace("loci-accounts", "other"),
        ErrorKind::Corrupt,
        "not a file of accounts",
    );
    check(
        &whole.replace("\"label\"", "\"lable\""),
        ErrorKind::Corrupt,
        "damaged",
    );
    check(
        &whole.replace("\"user\": \"anna\"", "\"user\": \"ben\""),
        ErrorKind::Corrupt,
        "has no user",
    );
    check(
        &whole.replace("\"password\": null", "\"password\": \"x\""),
        ErrorKind::Corrupt,
        "not a PHC string",
    );
    check(
        &whole.replace("work:read,write", "work:reed"),
        ErrorKind::Corrupt,
        "damaged",
    );
    fs::write(accounts.path(), &whole).unwrap();
    assert_eq!(refusal(&accounts, made.text.reveal(), now()), None);
    fs::remove_file(accounts.path()).unwrap();
    assert_eq!(accounts.list_users().unwrap_err().kind(), ErrorKind::NotFound);
    assert!(TeamAccounts::open(accounts.path()).is_err());
}

#[test]
fn a_name_that_could_be_taken_for_another_is_refused() {
    let (_folder, accounts) = folder_with_anna();
    for wrong in [
        "",
        "Anna",
        "аnna",
        "an na",
        "a#b",
        "a:b",
        "-a",
        "anonymous",
        "server",
        "https://x",
        &"a".repeat(65),
    ] {
        let error = accounts
            .add_user(wrong, TeamRights::default(), now())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{wrong:?}");
    }
    let taken = accounts
        .add_user("anna", TeamRights::default(), now())
        .unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::Conflict);
    accounts
        .add_user("ben@garden.example", TeamRights::default(), now())
        .unwrap();
    assert_eq!(
        accounts.remove_user("carla").unwrap_err().kind(),
        ErrorKind::NotFound
    );
}
