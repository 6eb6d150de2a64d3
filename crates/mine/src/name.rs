//! Names of sources: a path as text, and back.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What separates a file from one of the conversations in it.
pub const WITHIN: char = '#';

/// The name of a file as a source: its path. Bytes that are no text are written `\xHH`, and so is a backslash that
/// would read like one, so that every path has a name of its own.
pub fn of_path(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find("\\x") {
            name.push_str(rest.get(..at).unwrap_or_default());
            name.push_str("\\x5c");
            rest = rest.get(at + 1..).unwrap_or_default();
        }
        name.push_str(rest);
        for byte in chunk.invalid() {
            name.push_str(&format!("\\x{byte:02x}"));
        }
    }
    name
}

/// The path a source is named after.
pub fn to_path(name: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("\\x") {
        let (before, escape) = rest.split_at(at);
        bytes.extend_from_slice(before.as_bytes());
        let byte = escape.get(2..4).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let taken = match byte {
            Some(byte) => {
                bytes.push(byte);
                4
            }
            None => {
                bytes.extend_from_slice(b"\\x");
                2
            }
        };
        rest = escape.get(taken..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    PathBuf::from(OsString::from_vec(bytes))
}

/// The name of a conversation within a file.
pub fn within(file: &str, key: &str) -> String {
    format!("{file}{WITHIN}{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], name: &str) {
        let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
        assert_eq!(of_path(&path), name);
        assert_eq!(to_path(name), path);
    }

    #[test]
    fn every_path_has_a_name_and_every_name_its_path() {
        check(b"/a/b.txt", "/a/b.txt");
        check("/ä/抽屉".as_bytes(), "/ä/抽屉");
        check(b"/a/\xff\xfe.txt", "/a/\\xff\\xfe.txt");
        check(b"/a/\\xff.txt", "/a/\\x5cxff.txt");
        check(b"/a/\\\\x", "/a/\\\\x5cx");
        check(b"C:\\temp", "C:\\temp");
        check("/ends in half \u{e4}".as_bytes(), "/ends in half ä");
    }
}
