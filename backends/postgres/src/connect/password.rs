//! Passwords: one that is never shown, and the password file of libpq.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A password. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SecretPassword(Vec<u8>);

impl SecretPassword {
    /// Takes a password; an empty one counts as none, as in libpq.
    pub(super) fn new(password: impl Into<Vec<u8>>) -> Option<Self> {
        let password = password.into();
        (!password.is_empty()).then_some(Self(password))
    }

    /// Returns the bytes for the server.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretPassword(hidden)")
    }
}

/// The lines of a password file.
#[derive(Default)]
pub(super) struct PasswordFile {
    contents: Vec<u8>,
    /// The reason why the file was left out, with its name; shown when the server then refuses the user.
    pub(super) ignored: Option<String>,
}

/// The connection for which a password is looked up.
pub(super) struct PasswordQuery<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

impl PasswordFile {
    /// Reads the file at `path`. A missing file is an empty one; a file that others may read is left out.
    pub(super) fn read(path: &Path) -> Self {
        let ignore = |reason: &str| Self {
            ignored: Some(format!("the password file {} {reason}", path.display())),
            ..Self::default()
        };
        let Ok(metadata) = fs::metadata(path) else {
            return Self::default();
        };
        if !metadata.is_file() {
            return ignore("was ignored because it is not a plain file");
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            return ignore("was ignored because group or others have access to it (`chmod 600` it)");
        }
        match fs::read(path) {
            Ok(contents) => Self {
                contents,
                ignored: None,
            },
            Err(error) => ignore(&format!("could not be read: {error}")),
        }
    }

    /// Returns the password of the first line that matches.
    pub(super) fn find(&self, query: &PasswordQuery<'_>) -> Option<SecretPassword> {
        let port = query.port.to_string();
        let wanted = [query.host, &port, query.database, query.user];
        let mut lines = self.contents.split(|byte| *byte == b'\n');
        let password = lines.find_map(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.first() == Some(&b'#') {
                return None;
            }
            match_line(line, &wanted)
        })?;
        SecretPassword::new(password)
    }
}

/// Returns the password of a line if its fields match.
fn match_line(line: &[u8], wanted: &[&str]) -> Option<Vec<u8>> {
    let mut rest = line;
    for wanted in wanted {
        let (raw, behind) = split_field(rest)?;
        // Only a bare star is a wildcard; `\*` is a star.
        if raw != b"*" && unescape(raw) != wanted.as_bytes() {
            return None;
        }
        rest = behind;
    }
    Some(unescape(rest))
}

/// Splits at the first colon that is not escaped.
fn split_field(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut is_escaped = false;
    for (at, byte) in text.iter().enumerate() {
        if is_escaped {
            is_escaped = false;
        } else if *byte == b'\\' {
            is_escaped = true;
        } else if *byte == b':' {
            let (field, rest) = text.split_at_checked(at)?;
            return Some((field, rest.get(1..)?));
        }
    }
    None
}

/// Removes the backslash before each escaped character.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        let escaped = if *byte == b'\\' { bytes.next() } else { None };
        plain.push(*escaped.unwrap_or(byte));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(contents: &str, host: &str, port: u16, database: &str, user: &str) -> Option<String> {
        let file = PasswordFile {
            contents: contents.as_bytes().to_vec(),
            ignored: None,
        };
        let query = PasswordQuery {
            host,
            port,
            database,
            user,
        };
        let password = file.find(&query)?;
        Some(String::from_utf8(password.bytes().to_vec()).unwrap())
    }

    #[test]
    fn the_first_line_that_matches_gives_the_password() {
        let contents =
            "# note\n\nother:5432:*:ada:no\ndb:5432:palaces:ada:first\r\ndb:*:*:ada:second\n*:*:*:*:last";
        assert_eq!(find(contents, "db", 5432, "palaces", "ada").unwrap(), "first");
        assert_eq!(find(contents, "db", 5433, "palaces", "ada").unwrap(), "second");
        assert_eq!(find(contents, "db", 5432, "palaces", "bob").unwrap(), "last");
        assert_eq!(find("db:1:d:u:p", "db", 2, "d", "u"), None);
        assert_eq!(find("db:1:d\nrubbish", "db", 1, "d", "u"), None);
    }

    #[test]
    fn a_backslash_escapes_colons_stars_and_itself() {
        let contents = r"\:\:1:5432:a\\b:\*:pa\:ss\\wo:rd";
        assert_eq!(find(contents, "::1", 5432, r"a\b", "*").unwrap(), r"pa:ss\wo:rd");
        assert_eq!(find(contents, "::1", 5432, r"a\b", "ada"), None);
    }

    #[test]
    fn an_empty_password_is_none() {
        assert_eq!(find("*:*:*:*:", "db", 1, "d", "u"), None);
    }

    #[test]
    fn a_file_that_others_may_read_is_left_out_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        fs::write(&path, "*:*:*:*:secret").unwrap();
        let query = PasswordQuery {
            host: "h",
            port: 1,
            database: "d",
            user: "u",
        };
        for (mode, is_read) in [
            (0o600, true),
            (0o400, true),
            (0o640, false),
            (0o604, false),
            (0o610, false),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let file = PasswordFile::read(&path);
            assert_eq!(file.find(&query).is_some(), is_read, "{mode:o}");
            let named = file
                .ignored
                .is_some_and(|reason| reason.contains("pgpass") && reason.contains("chmod 600"));
            assert_eq!(named, !is_read, "{mode:o}");
        }
        assert!(
            PasswordFile::read(folder.path())
                .ignored
                .unwrap()
                .contains("not a plain file")
        );
        assert!(
            PasswordFile::read(&folder.path().join("missing"))
                .ignored
                .is_none()
        );
    }
}
