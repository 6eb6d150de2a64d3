//! Cursors for paging: a drawer id in a form that survives a command line.

use std::fmt::Write as _;

use loci_core::{DrawerId, Error, Result};

/// Ids that no command line can carry are written as this and hexadecimal digits.
const ENCODED: &str = "hex:";

/// The cursor that goes on after `id`.
pub(crate) fn after(id: &DrawerId) -> String {
    let text = id.as_str();
    if !text.starts_with(ENCODED) && !text.starts_with('-') && !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.bytes().fold(ENCODED.to_owned(), |mut cursor, byte| {
        let _ = write!(cursor, "{byte:02x}");
        cursor
    })
}

/// `cursor` as it can be pasted into a shell.
pub(crate) fn quoted(cursor: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    match cursor.chars().all(plain) {
        true => cursor.to_owned(),
        false => format!("'{}'", cursor.replace('\'', r"'\''")),
    }
}

/// The id a cursor goes on after.
pub(crate) fn read(cursor: &str) -> Result<DrawerId> {
    let Some(hex) = cursor.strip_prefix(ENCODED) else {
        return DrawerId::new(cursor);
    };
    let wrong =
        || Error::invalid(format!("{cursor:?} is not a cursor")).hint("use `next` of an earlier answer");
    let digits: Option<Vec<u8>> = hex.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let digits = digits
        .filter(|digits| digits.len().is_multiple_of(2))
        .ok_or_else(wrong)?;
    let bytes = digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit));
    let text = String::from_utf8(bytes.collect()).map_err(|_| wrong())?;
    DrawerId::new(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_comes_back_from_its_cursor() {
        for id in [
            "a",
            "it's",
            "抽屉",
            "🗄️",
            "a\0b",
            "line\nbreak",
            "hex:61",
            "-n",
            "--",
        ] {
            let id = DrawerId::new(id).unwrap();
            let cursor = after(&id);
            assert_eq!(read(&cursor).unwrap(), id);
            assert!(!cursor.contains('\0') && !cursor.starts_with('-'), "{cursor}");
        }
        assert_eq!(after(&DrawerId::new("plain").unwrap()), "plain");
    }

    #[test]
    fn a_cursor_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("plain-1"), "plain-1");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for cursor in ["", "hex:", "hex:6", "hex:zz", "hex:ff"] {
            assert!(read(cursor).is_err(), "{cursor}");
        }
    }
}
