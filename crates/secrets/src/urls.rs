//! Passwords in addresses: `postgres://user:password@host`, `https://user:password@host`, and the keys of Sentry.

use std::ops::Range;

use crate::byte_set::{ByteSet, HEX, LETTERS, WORD};
use crate::judge;
use crate::kind::SecretKind;
use crate::probe::TextProbe;

/// The end of an address's scheme.
pub(crate) const SCHEME_END: &str = "://";

/// The most bytes of a user name and password.
const LONGEST_USER_INFO: usize = 400;
/// Bytes that may stand before the host; of those a password may not contain, programs let `?`, `#` and `<` pass.
const USER_INFO: ByteSet = ByteSet::from_text("!#$%&()*+,-.0123456789:;=?@[]^_{|}~<>").or(LETTERS);
/// Schemes of the web, as opposed to those of databases and queues.
const WEB_SCHEMES: [&str; 6] = ["http", "https", "ftp", "sftp", "ws", "wss"];
/// Passwords that manuals use.
const MANUAL_PASSWORDS: [&str; 22] = [
    "pass",
    "pwd",
    "pw",
    "p",
    "password",
    "passwd",
    "secret",
    "postgres",
    "mysql",
    "root",
    "admin",
    "guest",
    "user",
    "test",
    "foo",
    "bar",
    "baz",
    "x-oauth-basic",
    "token",
    "mypass",
    "redis",
    "credentials",
];

/// Returns the password in the address whose scheme ends at an anchor, and its kind.
pub(crate) fn find_url_password(
    probe: &TextProbe,
    anchor: &Range<usize>,
) -> Option<(Range<usize>, SecretKind)> {
    let start = anchor.end;
    let end = probe.run_end(start, USER_INFO, LONGEST_USER_INFO);
    let info = probe.slice(start..end);
    let at_sign = info.iter().rposition(|byte| *byte == b'@')?;
    let info = info.get(..at_sign)?;
    let Some(colon) = info.iter().position(|byte| *byte == b':') else {
        return find_sentry_key(probe, start, info);
    };
    let (user, password) = (info.get(..colon)?, info.get(colon + 1..)?);
    is_url_password(user, password).then_some(())?;
    let scheme_start = probe.run_start(anchor.start, WORD.or(ByteSet::from_text("+.-")), 24);
    let scheme = probe.slice(scheme_start..anchor.start);
    let web = WEB_SCHEMES.iter().any(|web| scheme.ends_with(web.as_bytes()));
    let kind = if web {
        SecretKind::UrlPassword
    } else {
        SecretKind::ConnectionString
    };
    Some((start + colon + 1..start + at_sign, kind))
}

/// Returns whether a password in an address is one: the address makes that likely, so weak ones count too.
fn is_url_password(user: &[u8], password: &[u8]) -> bool {
    let lower = password.to_ascii_lowercase();
    let manual = MANUAL_PASSWORDS.iter().any(|word| word.as_bytes() == lower);
    // Another address within the text up to the `@` means that the host was passed over.
    let word = password
        .iter()
        .all(|byte| byte.is_ascii_alphabetic() || b"_-.".contains(byte));
    let common = word && !judge::is_random(password);
    password.len() >= 4
        && !manual
        && !common
        && user != password
        && !user.iter().any(|byte| b"<>{}[]()?#,;=&".contains(byte))
        && !judge::is_placeholder(password)
}

/// Returns the key in an address such as `https://0123….@o1.ingest.sentry.io/2`.
fn find_sentry_key(probe: &TextProbe, start: usize, key: &[u8]) -> Option<(Range<usize>, SecretKind)> {
    let is_key = key.len() == 32 && key.iter().all(|byte| HEX.contains(*byte)) && judge::is_varied(key);
    is_key.then_some(())?;
    let host = probe.ahead(start + key.len(), 80);
    judge::contains(host, b"sentry").then_some((start..start + key.len(), SecretKind::SentryDsn))
}
