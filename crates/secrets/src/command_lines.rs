//! Passwords that commands take without a name: `curl -u user:…`, `sshpass -p …`, `mysql -p…`.

use std::ops::Range;

use crate::byte_set::{BLANKS, ByteSet, LETTERS};
use crate::judge::{self, ValuePlace};
use crate::kind::SecretKind;
use crate::probe::TextProbe;

/// Commands that take `user:password` after `-u`.
pub(crate) const USER_COMMANDS: &[&str] = &["curl ", "wget ", "http "];
/// Commands that take a password after `-p`, with or without a blank.
pub(crate) const PASSWORD_COMMANDS: &[&str] =
    &["sshpass ", "mysql ", "mysqldump ", "mysqladmin ", "mariadb "];

/// The most bytes of a command that are searched for the flag.
const LONGEST_COMMAND: usize = 240;
const LONGEST_ARGUMENT: usize = 120;
const BARE: ByteSet = ByteSet::from_text("!#$%&()*+,-./0123456789:;=?@[]^_{}~").or(LETTERS);

/// Returns the password after `-u user:` in the command at an anchor.
pub(crate) fn find_user_password(
    probe: &TextProbe,
    anchor: &Range<usize>,
) -> Option<(Range<usize>, SecretKind)> {
    let flag = find_flag(probe, anchor, &[b" -u ", b" --user "])?;
    let argument = read_argument(probe, flag)?;
    let bytes = probe.slice(argument.clone());
    let colon = bytes.iter().position(|byte| *byte == b':')?;
    let password = bytes.get(colon + 1..)?;
    let secret = judge::is_password(password, ValuePlace::Literal);
    secret.then_some((argument.start + colon + 1..argument.end, SecretKind::BasicAuth))
}

/// Returns the password after `-p` in the command at an anchor.
pub(crate) fn find_flag_password(
    probe: &TextProbe,
    anchor: &Range<usize>,
) -> Option<(Range<usize>, SecretKind)> {
    let flag = find_flag(probe, &(anchor.start..anchor.end - 1), &[b" -p"])?;
    let start = if probe.starts_with(anchor.start, "sshpass") {
        probe.run_end(flag, BLANKS, 2)
    } else {
        flag
    };
    let argument = read_argument(probe, start)?;
    let secret = judge::is_password(probe.slice(argument.clone()), ValuePlace::Literal);
    secret.then_some((argument, SecretKind::Password))
}

/// Returns the end of the first of these flags on the command's line.
fn find_flag(probe: &TextProbe, command: &Range<usize>, flags: &[&[u8]]) -> Option<usize> {
    probe.begins_token(command.start).then_some(())?;
    let from = command.end.saturating_sub(1);
    let bytes = probe.ahead(from, LONGEST_COMMAND);
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    flags.iter().find_map(|flag| {
        let at = line.windows(flag.len()).position(|window| window == *flag)?;
        Some(from + at + flag.len())
    })
}

/// Returns the range of the argument that begins here, without its quotes.
fn read_argument(probe: &TextProbe, at: usize) -> Option<Range<usize>> {
    let at = if probe.byte(at)? == b'\\' { at + 1 } else { at };
    if let Some(quote @ (b'"' | b'\'')) = probe.byte(at) {
        let bytes = probe.ahead(at + 1, LONGEST_ARGUMENT);
        let length = bytes.iter().position(|byte| *byte == quote || *byte == b'\n')?;
        let escaped = bytes.get(..length)?.ends_with(b"\\");
        return Some(at + 1..at + 1 + length - usize::from(escaped));
    }
    let end = probe.run_end(at, BARE, LONGEST_ARGUMENT);
    (end > at && end - at < LONGEST_ARGUMENT).then_some(at..end)
}
