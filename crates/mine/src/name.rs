//! Names of sources: a path as text, and back.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The separator between the name of a file and the key of a conversation in it.
pub const CONVERSATION_SEPARATOR: char = '#';

/// Returns the source name of a file: its path. Bytes that are not UTF-8 are written `\xHH`, and so is a backslash that
/// would read as such an escape, so that no two paths share a name.
pub fn name_of_path(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find("\\x") {
            name.push_str(rest.get(..at).unwrap_or_default());
            // Only a backslash before an `x` is escaped, so that ordinary Windows paths stay readable.
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

/// Returns the path that a source is named after.
pub fn path_of_name(name: &str) -> PathBuf {
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
                // Not an escape that this module wrote; a name from elsewhere is kept as it stands.
                bytes.extend_from_slice(b"\\x");
                2
            }
        };
        rest = escape.get(taken..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    PathBuf::from(OsString::from_vec(bytes))
}

/// Returns the name of a conversation within a file.
pub fn name_within(file: &str, key: &str) -> String {
    format!("{file}{CONVERSATION_SEPARATOR}{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], name: &str) {
        let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
        assert_eq!(name_of_path(&path), name);
        assert_eq!(path_of_name(name), path);
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
