//! The table of formats decides: the documentation lists what it holds, no more and no less.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use loci_mine::formats::{FILE_FORMAT, FORMATS, choose_format, format_names, is_conversation_format};

/// The names in the first column of the first table behind a heading.
fn documented(heading: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let text = fs::read_to_string(page).unwrap();
    let section = text.split(heading).nth(1).expect("the heading is there");
    let rows = section.lines().skip_while(|line| !line.starts_with("|---"));
    rows.skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('`').nth(1).unwrap().to_owned())
        .collect()
}

#[test]
fn the_documentation_lists_every_format_once_and_in_order() {
    let mut known: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
    known.sort_unstable();
    assert_eq!(documented("\n## Conversations\n"), known);
}

#[test]
fn every_name_is_one_formats_alone_and_can_be_asked_for() {
    let names = format_names();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    for name in names {
        assert!(choose_format(Some(name)).unwrap().is_some(), "{name}");
        assert_eq!(is_conversation_format(name), name != FILE_FORMAT, "{name}");
    }
}
