//! Names for the files of a fix: each carries its second in UTC, and none is used twice.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use loci_core::{Result, Timestamp};

/// A second in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UtcSecond(i64);

impl UtcSecond {
    /// Returns the current second.
    pub(super) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_secs()).unwrap_or_default())
    }

    /// Formats the second as in names: `YYYYMMDD-HHMMSS`.
    pub(super) fn format_name(self) -> Result<String> {
        let written = Timestamp::from_micros(self.0.saturating_mul(1_000_000))?.to_string();
        // A whole second is written without a fraction, so exactly fourteen digits remain.
        let digits: String = written.chars().filter(char::is_ascii_digit).collect();
        let (day, time) = digits.split_at(digits.len().min(8));
        Ok(format!("{day}-{time}"))
    }
}

/// Returns the first second from `moment` on for which all names are free in `folder`, formatted as in names.
pub(super) fn first_free_moment<const N: usize>(
    folder: &Path,
    moment: UtcSecond,
    names: impl Fn(&str) -> [String; N],
) -> Result<String> {
    let mut second = moment;
    loop {
        let text = second.format_name()?;
        // A dangling link takes a name, too, which `exists` would not see.
        let taken = |name: &String| fs::symlink_metadata(folder.join(name)).is_ok();
        if !names(&text).iter().any(taken) {
            return Ok(text);
        }
        second.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_written_in_utc() {
        assert_eq!(UtcSecond(1_776_535_445).format_name().unwrap(), "20260418-180405");
    }

    #[test]
    fn a_name_that_is_taken_gets_the_next_free_second() {
        let folder = tempfile::tempdir().unwrap();
        let name = |text: &str| [format!("a.drift-{text}")];
        for second in 5..8 {
            let text = first_free_moment(folder.path(), UtcSecond(1_776_535_445), name).unwrap();
            assert_eq!(text, format!("20260418-18040{second}"));
            fs::create_dir(folder.path().join(name(&text).concat())).unwrap();
        }
    }
}
