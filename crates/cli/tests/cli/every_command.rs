//! Every command with good input and with each kind of bad input, against tables of exit codes.
//!
//! `every_command/errors.txt` holds every error message of the tables, so that they can be read in one place. Write it
//! with `LOCI_UPDATE=1 cargo test -p loci-cli --test cli every_command::`.

mod lost_log;
mod tables;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;

use loci_testkit::CommandOutcome;

use super::*;
use tables::{CLOSED, GROUPS, InputRow, JUNK_RUNS, PLACES, PlaceRow};

/// Two drawers of one source, which are neighbours.
const PARTS: &str = r#"{"id":"part-1","text":"One.","source":"book","span":{"start":0,"end":4,"line_start":1,"line_end":1}}
{"id":"part-2","text":"Two.","source":"book","span":{"start":5,"end":9,"line_start":2,"line_end":2}}"#;

/// The palaces that every command of [`PLACES`] is run on, in the order of its columns.
const PALACES: [&str; 5] = ["./palace", "./empty", "./missing", "./file", "./file/below"];

/// Commands that `loci help` does not list.
const UNLISTED: [&str; 2] = ["help", "help-markdown"];

/// Commands whose standard output is not JSON, or not only JSON, although `--json` is given.
const PLAIN_OUTPUT: [&str; 5] = ["completions", "export", "help", "help-markdown", "mcp"];

/// A home with a filled and an empty palace, and with the files that the tables name.
struct TableHome {
    home: TempHome,
    /// Adds `--json` to every command.
    json: bool,
    /// The hash of the filled palace: equal hashes mean equal drawers.
    hash: Json,
    /// Every violation so far, so that one run of the test shows all of them.
    wrong: Vec<String>,
    /// The error messages for people, each with the command lines that print it.
    errors: Vec<(String, String)>,
}

impl TableHome {
    fn build_home(json: bool) -> Self {
        let home = new_home();
        std::fs::create_dir(home.path("folder")).unwrap();
        home.write("folder/inner.md", "A file in a folder.\n");
        home.write("notes.md", "# Plans\n\nWe ship on Thursdays.\n");
        home.write("w.json", r#"{"rounds": 1, "filters": []}"#);
        home.write("file", "This is a regular file.\n");
        home.write("bad.jsonl", "this is not JSON\n");
        home.write("bytes.jsonl", b"{\"text\":\"\xff\"}\n");
        home.write("vector.json", "[\"one\"]");
        home.json(
            0,
            &["add", "We ship on Fridays.", "--id", "note-1", "--wing", "work"],
        );
        home.json(0, &["mine", "notes.md"]);
        home.json(0, &["export", "--output", "lines.jsonl"]);
        home.json(0, &["init", "--palace", "./new"]);
        home.file_lines(PARTS);
        home.json(0, &["backup", "copy.db"]);
        let closed = home.write("closed", "");
        std::fs::set_permissions(closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        let built = Self {
            hash: hash_palace(&home),
            home,
            json,
            wrong: Vec::new(),
            errors: Vec::new(),
        };
        built.renew_palaces();
        built
    }

    /// Runs a command on each of [`PALACES`], then with a flag that does not exist.
    fn check_places(&mut self, (line, codes): &PlaceRow) {
        for (palace, code) in PALACES.into_iter().zip(codes) {
            self.renew_palaces();
            self.check_row(&(&format!("--palace {palace} {line}"), *code, ""));
        }
        // A hook must not be seen to fail.
        let code = if line.starts_with("hook ") { 0 } else { 2 };
        let named = if code == 2 { "--no-such-flag" } else { "" };
        self.check_row(&(&format!("{line} --no-such-flag"), code, named));
    }

    /// Makes the empty palace empty and the missing one missing, whatever the last command did to them.
    fn renew_palaces(&self) {
        for palace in ["empty", "missing"] {
            let _ = std::fs::remove_dir_all(self.home.path(palace));
        }
        std::fs::create_dir(self.home.path("empty")).unwrap();
        for entry in std::fs::read_dir(self.home.path("new")).unwrap() {
            let path = entry.unwrap().path();
            let copy = self.home.path("empty").join(path.file_name().unwrap());
            std::fs::copy(path, copy).unwrap();
        }
    }

    /// Runs one row of a table and notes every promise that the run breaks.
    fn check_row(&mut self, &(line, code, named): &InputRow) {
        let mut words = split_line(line);
        if self.json {
            words.insert(0, "--json".into());
        }
        let before = self.list_files();
        let ran = self.home.run(&words);
        let mut broken = Vec::new();
        if ran.code != code {
            broken.push(format!("exits with {} instead of {code}", ran.code));
        }
        if ran.err.contains("panicked") || ran.code == 101 {
            broken.push("panics".to_owned());
        }
        if !self.json && (ran.out.contains(is_hostile) || ran.err.contains(is_hostile)) {
            broken.push("prints control characters".to_owned());
        }
        if code == 2 {
            broken.extend(check_error(&ran, named, self.json));
            if self.list_files() != before {
                broken.push("creates or removes files although it fails".to_owned());
            }
        } else if self.json
            && !words
                .iter()
                .any(|word| PLAIN_OUTPUT.iter().any(|plain| word == plain))
        {
            broken.extend(
                serde_json::from_str::<Json>(&ran.out)
                    .err()
                    .map(|error| error.to_string()),
            );
        }
        if code == 2 && !self.json {
            self.keep_error(line, &ran.err);
        }
        if !broken.is_empty() {
            let shown = (cut_text(&ran.out), cut_text(&ran.err));
            self.wrong.push(format!(
                "loci {line} (json: {}): {}\n  {shown:?}",
                self.json,
                broken.join("; ")
            ));
        }
    }

    /// Keeps an error message, once for all command lines that print it.
    fn keep_error(&mut self, line: &str, text: &str) {
        let (text, line) = (self.shorten_text(text), format!("$ loci {line}\n"));
        match self.errors.iter_mut().find(|(known, _)| *known == text) {
            Some((_, lines)) => lines.push_str(&line),
            None => self.errors.push((text, line)),
        }
    }

    /// Checks that no row changed a drawer, and returns every violation and every error message.
    fn close_home(mut self) -> (Vec<String>, String) {
        if hash_palace(&self.home) != self.hash {
            self.wrong
                .push("the palace holds other drawers than before".to_owned());
        }
        let errors = self.errors.into_iter();
        let errors = errors.map(|(text, lines)| format!("{lines}{text}\n")).collect();
        (self.wrong, errors)
    }

    /// Lists the files outside the palaces, whose logs come and go.
    fn list_files(&self) -> Vec<String> {
        let names = self.home.list_names().into_iter();
        // The folder of models holds a lock from the first installation on, also if that one failed.
        let passing = ["palace/", "empty/", "data"];
        let is_passing = |name: &str| passing.iter().any(|start| name.starts_with(start));
        names.filter(|name| !is_passing(name)).collect()
    }

    /// Replaces the parts of a message that differ from machine to machine, and leaves out the usage that clap adds.
    fn shorten_text(&self, text: &str) -> String {
        let text = text.replace(self.home.folder().to_str().unwrap(), "~");
        let text = text.replace(&"x".repeat(LONG_LENGTH), "{long}");
        let is_usage = |line: &str| line.starts_with("Usage: ") || line.starts_with("For more information");
        let lines = text.lines().filter(|line| !line.is_empty() && !is_usage(line));
        lines.map(|line| format!("{line}\n")).collect()
    }
}

/// Returns the hash of the filled palace, which must be sound.
fn hash_palace(home: &TempHome) -> Json {
    home.json(0, &["verify"])["hash"].clone()
}

/// The length of a long argument. Linux refuses one of 128 KiB or more before the program starts.
const LONG_LENGTH: usize = 120_000;

/// The largest 64-bit number.
const HUGE_NUMBER: &str = "18446744073709551615";

/// Splits a command line at spaces outside single quotes, and fills in the values that are awkward to write down.
fn split_line(line: &str) -> Vec<OsString> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.into_iter().map(|word| fill_word(&word)).collect()
}

fn fill_word(word: &str) -> OsString {
    let word = word
        .replace("{huge}", HUGE_NUMBER)
        .replace("{long}", &"x".repeat(LONG_LENGTH))
        .replace("{evil}", "\u{1b}[2J\u{202e}");
    let mut bytes = word.into_bytes();
    if let Some(at) = bytes.windows(7).position(|part| part == b"{bytes}") {
        bytes.splice(at..at + 7, *b"\xff\xfe");
    }
    OsString::from_vec(bytes)
}

/// Returns the promises about errors that a failed run breaks.
fn check_error(ran: &CommandOutcome, named: &str, json: bool) -> Vec<String> {
    let mut broken = Vec::new();
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            broken.push(what.to_owned());
        }
    };
    let text = if json {
        let answer: Json = serde_json::from_str(&ran.out).unwrap_or_default();
        let error = &answer["error"];
        let has_texts = error["kind"].is_string() && error["message"].is_string();
        expect(has_texts, "standard output is not one JSON error");
        expect(!ran.err.contains("error:"), "the error is printed twice");
        format!("{} {}", error["message"], error["hint"]).replace("\\\"", "\"")
    } else {
        expect(!ran.out.contains("error:"), "the error goes to standard output");
        expect(
            ran.err.starts_with("error: "),
            "standard error does not begin with `error: `",
        );
        ran.err.clone()
    };
    let named = named.replace("{huge}", HUGE_NUMBER);
    expect(
        text.contains(&named),
        &format!("the error does not name {named:?}"),
    );
    broken
}

/// Whether a character could control a terminal or hide text on it.
fn is_hostile(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{2069}').contains(&c)
}

fn cut_text(text: &str) -> String {
    text.chars().take(600).collect()
}

/// Runs all rows of one group in words and again with `--json`, each in a home of its own.
fn check_group(places: &[PlaceRow], rows: &[InputRow]) -> (Vec<String>, String) {
    let run = |json| {
        let mut home = TableHome::build_home(json);
        places.iter().for_each(|row| home.check_places(row));
        rows.iter().for_each(|row| home.check_row(row));
        home.close_home()
    };
    let ((mut wrong, errors), (more, _)) = thread::scope(|scope| {
        let with_json = scope.spawn(|| run(true));
        (run(false), with_json.join().unwrap())
    });
    wrong.extend(more);
    (wrong, errors)
}

#[test]
fn every_command_ends_as_the_tables_say() {
    let mut groups: Vec<(&str, &[PlaceRow], &[InputRow])> = Vec::new();
    groups.extend(PLACES.iter().map(|(name, rows)| (*name, *rows, &[][..])));
    groups.extend(GROUPS.iter().map(|(name, rows)| (*name, &[][..], *rows)));
    let results: Vec<_> = thread::scope(|scope| {
        let start = |(_, places, rows): &(&str, &'static [PlaceRow], &'static [InputRow])| {
            let (places, rows) = (*places, *rows);
            scope.spawn(move || check_group(places, rows))
        };
        let running: Vec<_> = groups.iter().map(start).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let wrong: Vec<String> = results.iter().flat_map(|(wrong, _)| wrong.clone()).collect();
    assert!(
        wrong.is_empty(),
        "{} violations:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let named = groups.iter().zip(&results);
    let errors: String = named
        .map(|((name, ..), (_, errors))| format!("# {name}\n\n{errors}\n"))
        .collect();
    compare_errors(errors.trim_end());
}

fn compare_errors(errors: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/every_command/errors.txt");
    if std::env::var_os("LOCI_UPDATE").is_some() {
        std::fs::write(&path, format!("{errors}\n")).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let mut lines = written.lines().zip(errors.lines());
    let differing = lines.find(|(old, new)| old != new);
    assert!(
        written.trim_end() == errors,
        "error messages changed; run `LOCI_UPDATE=1 cargo test -p loci-cli --test cli every_command::` and read \
        errors.txt. The first difference: {differing:?}"
    );
}

/// Root may read everything; a path below a regular file is closed to root as well.
#[test]
fn a_place_without_permission_is_an_error_that_names_it() {
    let mut home = TableHome::build_home(false);
    let is_bound = std::fs::read(home.home.path("closed")).is_err();
    let place = if is_bound { "closed" } else { "file/below" };
    for (line, named) in CLOSED {
        let (line, named) = (line.replace("{closed}", place), named.replace("{closed}", place));
        home.check_row(&(&line, 2, &named));
    }
    let (wrong, _) = home.close_home();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Linux refuses an argument of a megabyte before the program starts, so it comes through standard input.
#[test]
fn a_megabyte_of_junk_is_refused_or_kept() {
    let home = new_home();
    let junk = vec![b'x'; 1 << 20];
    for (line, code) in JUNK_RUNS {
        let ran = home.run_with(&split_line(line), &junk);
        assert_eq!(ran.code, *code, "{line}: {}", cut_text(&ran.err));
        assert!(ran.err.len() < 1000, "{line} prints {} bytes", ran.err.len());
    }
    assert_eq!(home.json(0, &["verify"])["ok"], true);
}

#[test]
fn the_tables_list_every_command() {
    let help = loci_cli::help_markdown();
    let headings = help.lines().filter_map(|line| line.strip_prefix("## loci "));
    let known: BTreeSet<&str> = headings.chain(UNLISTED).collect();
    let lines: Vec<&str> = PLACES
        .iter()
        .flat_map(|(_, rows)| rows.iter().map(|(line, _)| *line))
        .collect();
    let is_listed = |command: &&&str| lines.iter().any(|line| has_prefix(line, command));
    let absent: Vec<_> = known.iter().filter(|command| !is_listed(command)).collect();
    assert!(absent.is_empty(), "tables::PLACES has no row for {absent:?}");
}

/// Whether a command line begins with these words.
fn has_prefix(line: &str, words: &str) -> bool {
    line.strip_prefix(words)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}
