//! Names for what a fix leaves in a folder: each carries its second in UTC, and none is given twice.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use loci_core::{Result, Timestamp};

/// A second in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment(i64);

impl Moment {
    /// The present one.
    pub(super) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_secs()).unwrap_or_default())
    }

    /// As names carry it: `YYYYMMDD-HHMMSS`.
    pub(super) fn text(self) -> Result<String> {
        let written = Timestamp::from_micros(self.0.saturating_mul(1_000_000))?.to_string();
        let digits: String = written.chars().filter(char::is_ascii_digit).collect();
        let (day, time) = digits.split_at(digits.len().min(8));
        Ok(format!("{day}-{time}"))
    }
}

/// The first second from `moment` on whose names are all free in `folder`, as names carry it.
pub(super) fn free<const N: usize>(
    folder: &Path,
    moment: Moment,
    names: impl Fn(&str) -> [String; N],
) -> Result<String> {
    let mut second = moment;
    loop {
        let text = second.text()?;
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
        assert_eq!(Moment(1_776_535_445).text().unwrap(), "20260418-180405");
    }

    #[test]
    fn a_name_that_is_taken_gets_the_next_free_second() {
        let folder = tempfile::tempdir().unwrap();
        let name = |text: &str| [format!("a.drift-{text}")];
        for second in 5..8 {
            let text = free(folder.path(), Moment(1_776_535_445), name).unwrap();
            assert_eq!(text, format!("20260418-18040{second}"));
            fs::create_dir(folder.path().join(name(&text).concat())).unwrap();
        }
    }
}
