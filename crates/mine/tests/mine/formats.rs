//! The formats conversations come in: each reads its fixtures as written down beside them, is told by its structure
//! alone, and survives any bytes.
//!
//! `LOCI_UPDATE=1` writes what is found as what is expected; read the difference before you keep it.

mod blocks;
mod chaos;
mod documented;
mod opencode;
mod recognised;
mod render;
mod slack;
mod vscdb;

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::Result;
use loci_mine::conversation::{Conversation, ReadingNote};
use loci_mine::formats::{BundleFormat, BundleInput, ParserInput, TextFormat, bundle_formats, text_formats};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats")
}

/// A fixture and the format it is of.
struct Fixture {
    format: &'static TextFormat,
    path: PathBuf,
    text: String,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let own = name.split('/').next().unwrap();
        let path = folder().join(name);
        Self {
            format: text_format(own),
            text: fs::read_to_string(&path).unwrap(),
            path,
        }
    }

    fn given(&self) -> ParserInput<'_> {
        ParserInput {
            path: &self.path,
            text: &self.text,
        }
    }
}

/// The fixtures of text formats, each in a folder named for its format: every file with its expectation beside it.
fn fixture_names() -> Vec<String> {
    let mut names = Vec::new();
    for format in text_formats() {
        let before = names.len();
        collect(&folder().join(format.name), &mut names);
        assert!(names.len() > before, "{} has no fixture", format.name);
    }
    names.sort();
    names
}

fn collect(from: &Path, names: &mut Vec<String>) {
    for path in fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(&path, names);
        } else if [".txt", ".expected.txt"]
            .iter()
            .any(|ending| beside(&path, ending).is_file())
        {
            let name = path.strip_prefix(folder()).unwrap();
            names.push(name.to_str().unwrap().to_owned());
        }
    }
}

fn fixtures() -> impl Iterator<Item = Fixture> {
    fixture_names().into_iter().map(|name| Fixture::new(&name))
}

fn text_format(name: &str) -> &'static TextFormat {
    text_formats().find(|format| format.name == name).unwrap()
}

fn bundle_format(name: &str) -> &'static BundleFormat {
    bundle_formats()
        .iter()
        .find(|format| format.name == name)
        .unwrap()
}

fn read(format: &TextFormat, given: &ParserInput<'_>) -> Result<(Vec<Conversation>, Vec<ReadingNote>)> {
    let mut conversations = Vec::new();
    let notes = (format.parse)(given, &mut |conversation| {
        conversations.push(conversation);
        Ok(())
    })?;
    Ok((conversations, notes))
}

fn read_bundle(format: &BundleFormat, root: &Path) -> (Vec<Conversation>, Vec<ReadingNote>) {
    read_bundle_up_to(format, root, u64::MAX)
}

/// Reads a bundle whose parts may have so many bytes.
fn read_bundle_up_to(
    format: &BundleFormat,
    path: &Path,
    max_bytes: u64,
) -> (Vec<Conversation>, Vec<ReadingNote>) {
    let mut conversations = Vec::new();
    let given = BundleInput { path, max_bytes };
    let notes = (format.parse)(&given, &mut |conversation| {
        conversations.push(conversation);
        Ok(())
    });
    (conversations, notes.unwrap())
}

/// The file beside a fixture with this behind its name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Compares with what is expected, or writes it where that is asked for.
fn check(expected: &Path, found: &str) {
    if std::env::var_os("LOCI_UPDATE").is_some() {
        fs::write(expected, found).unwrap();
    }
    let expect = fs::read_to_string(expected).unwrap_or_default();
    assert!(expect == found, "{} differs; found:\n{found}", expected.display());
}

#[test]
fn every_fixture_is_read_as_written_beside_it() {
    for fixture in fixtures() {
        let (conversations, notes) = read(fixture.format, &fixture.given()).unwrap();
        let columns = beside(&fixture.path, ".txt");
        if columns.is_file() {
            check(&columns, &render::columns(&conversations, &notes));
        } else {
            let found = render::named(&conversations, &notes);
            check(&beside(&fixture.path, ".expected.txt"), &found);
        }
    }
}

#[test]
fn an_error_of_the_sink_ends_the_reading_and_comes_back() {
    for fixture in fixtures() {
        let (conversations, _) = read(fixture.format, &fixture.given()).unwrap();
        let mut taken = 0;
        let stopped = (fixture.format.parse)(&fixture.given(), &mut |_| {
            taken += 1;
            Err(loci_core::Error::invalid("the disk is full"))
        });
        let name = fixture.path.display();
        assert_eq!(taken, conversations.len().min(1), "{name}");
        match stopped {
            Ok(_) => assert_eq!(taken, 0, "{name}"),
            Err(error) => assert!(error.to_string().contains("the disk is full"), "{name}"),
        }
    }
}

#[test]
fn what_is_not_json_at_all_is_refused_by_name() {
    for name in ["gemini-cli", "cline", "deepseek", "gemini-web"] {
        let format = text_format(name);
        let given = ParserInput {
            path: Path::new("talk.json"),
            text: "[{\"role\":",
        };
        let error = read(format, &given).unwrap_err();
        assert!(error.message().contains("talk.json"), "{error}");
    }
}
