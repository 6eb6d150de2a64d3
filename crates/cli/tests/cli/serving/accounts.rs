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

/// A terminal at which a program runs: its standard input and standard error.
#[cfg(target_os = "linux")]
struct AskingTerminal {
    ours: std::fs::File,
    shown: Vec<u8>,
    child: std::process::Child,
}

#[cfg(target_os = "linux")]
impl AskingTerminal {
    fn run(home: &TempHome, args: &[&str]) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = std::fs::File::options()
            .read(true)
            .write(true)
            .open(name)
            .unwrap();
        let mut command = home.command(args);
        command
            .stdin(theirs.try_clone().unwrap())
            .stderr(theirs)
            .stdout(Stdio::null());
        Self {
            ours: std::fs::File::from(ours),
            shown: Vec::new(),
            child: command.spawn().unwrap(),
        }
    }

    /// Waits for a question and for the terminal to hide what is typed, then types an answer.
    fn answer(&mut self, question: &str, answer: &str) {
        use std::io::{Read as _, Write as _};
        let mut bytes = [0; 4096];
        while !String::from_utf8_lossy(&self.shown).contains(question) {
            let read = self.ours.read(&mut bytes).unwrap();
            self.shown.extend_from_slice(&bytes[..read]);
        }
        let echoes = || rustix::termios::tcgetattr(&self.ours).unwrap().local_modes;
        while echoes().contains(rustix::termios::LocalModes::ECHO) {
            std::thread::yield_now();
        }
        self.ours.write_all(format!("{answer}\n").as_bytes()).unwrap();
    }

    /// Returns the exit status and everything that was shown.
    fn end(mut self) -> (Option<i32>, String) {
        use std::io::Read as _;
        // A terminal that nothing writes to any more ends with an error.
        let _ = self.ours.read_to_end(&mut self.shown);
        let code = self.child.wait().unwrap().code();
        (code, String::from_utf8(self.shown).unwrap())
    }
}

#[cfg(target_os = "linux")]
#[test]
fn at_a_terminal_a_password_is_asked_for_twice_and_not_shown() {
    let home = new_home();
    let add = ["serve", "user", "add", "anna", "--rights", "work:read"];
    let mut terminal = AskingTerminal::run(&home, &add);
    terminal.answer("password of anna: ", "correct horse");
    terminal.answer("the same again: ", "correct house");
    let (code, shown) = terminal.end();
    assert!(
        code == Some(2) && shown.contains("the two passwords differ"),
        "{shown}"
    );
    assert!(!home.path("data").exists());
    let mut terminal = AskingTerminal::run(&home, &add);
    terminal.answer("password of anna: ", "correct horse");
    terminal.answer("the same again: ", "correct horse");
    let (code, shown) = terminal.end();
    assert!(code == Some(0) && !shown.contains("horse"), "{shown}");
    let accounts = open_accounts(&home);
    assert!(
        accounts
            .check_password("anna", "correct horse")
            .unwrap()
            .granted()
            .is_some()
    );
    let mut terminal = AskingTerminal::run(&home, &["serve", "user", "add", "ben"]);
    terminal.answer("password of ben: ", "");
    let (code, shown) = terminal.end();
    assert!(
        code == Some(0) && shown.contains("loci serve token make ben"),
        "{shown}"
    );
}
