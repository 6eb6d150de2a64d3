//! Pages of ranked answers: a cursor that counts, and knows the question it belongs to.

use std::fmt;

use loci_core::{Error, Result};

/// The farthest an answer is followed.
const FARTHEST: usize = 1_000_000;

/// The mark of a question, by which a cursor of another question is noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageMark(String);

impl PageMark {
    /// The mark of a question, given as everything that decides its answer.
    pub fn of_question(question: &impl fmt::Debug) -> Self {
        let hash = blake3::hash(format!("{question:?}").as_bytes());
        Self(hash.to_hex().chars().take(8).collect())
    }

    /// The cursor behind the first `shown` items of the answer.
    pub fn write(&self, shown: usize) -> String {
        format!("{shown}.{}", self.0)
    }

    /// The number of items before a cursor; none without one.
    pub fn read(&self, cursor: Option<&str>) -> Result<usize> {
        let Some(cursor) = cursor else { return Ok(0) };
        let parts = cursor.split_once('.').filter(|(_, mark)| *mark == self.0);
        let shown = parts.and_then(|(shown, _)| shown.parse().ok());
        shown.filter(|shown| *shown <= FARTHEST).ok_or_else(|| {
            Error::invalid(format!("{cursor:?} is not a cursor of this question"))
                .hint("give `next` of the answer before, and the same arguments as then")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_for_its_own_question_only() {
        let (mark, other) = (PageMark::of_question(&"a"), PageMark::of_question(&"b"));
        assert_eq!(mark.read(None).unwrap(), 0);
        assert_eq!(mark.read(Some(&mark.write(7))).unwrap(), 7);
        assert!(other.read(Some(&mark.write(7))).is_err());
        for cursor in ["", "7", "7.", "x.y", "-1.x", &mark.write(FARTHEST + 1)] {
            assert!(mark.read(Some(cursor)).is_err(), "{cursor}");
        }
    }
}
