//! Paging of ranked answers: a cursor holds a count and a mark of the query it belongs to.

use std::fmt;

use loci_core::{Error, Result};

/// The largest count a cursor may hold.
const FARTHEST: usize = 1_000_000;

/// A mark of a query, by which the cursor of another query is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageMark(String);

impl PageMark {
    /// Makes the mark of a query from everything that determines its answer.
    pub fn from_question(question: &impl fmt::Debug) -> Self {
        // Eight hex digits are enough to notice a cursor pasted from another query; nothing is secret here. The
        // debug form may change between releases, which only ends the life of cursors handed out before.
        let hash = blake3::hash(format!("{question:?}").as_bytes());
        Self(hash.to_hex().chars().take(8).collect())
    }

    /// Writes the cursor that continues after the first `shown` items of the answer.
    pub fn write_cursor(&self, shown: usize) -> String {
        format!("{shown}.{}", self.0)
    }

    /// Reads the number of items before a cursor; 0 without one.
    pub fn read_cursor(&self, cursor: Option<&str>) -> Result<usize> {
        let Some(cursor) = cursor else { return Ok(0) };
        let parts = cursor.split_once('.').filter(|(_, mark)| *mark == self.0);
        let shown = parts.and_then(|(shown, _)| shown.parse().ok());
        shown.filter(|shown| *shown <= FARTHEST).ok_or_else(|| {
            Error::invalid(format!("{cursor:?} is not a cursor of this query"))
                .with_hint("pass `next` of the previous page, with the same arguments")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_for_its_own_question_only() {
        let (mark, other) = (PageMark::from_question(&"a"), PageMark::from_question(&"b"));
        assert_eq!(mark.read_cursor(None).unwrap(), 0);
        assert_eq!(mark.read_cursor(Some(&mark.write_cursor(7))).unwrap(), 7);
        assert!(other.read_cursor(Some(&mark.write_cursor(7))).is_err());
        for cursor in ["", "7", "7.", "x.y", "-1.x", &mark.write_cursor(FARTHEST + 1)] {
            assert!(mark.read_cursor(Some(cursor)).is_err(), "{cursor}");
        }
    }
}
