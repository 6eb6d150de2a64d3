//! Visibility: the drawers that exist for a handle, and what it may therefore write.

use crate::{Drawer, DrawerId, Error, ErrorKind, Filter, Result};

/// The `visible` filter of a handle, with the rules every backend applies in the same step as the write itself.
///
/// - A drawer that the filter does not accept is never returned, counted, changed or removed; an update or delete of it
///   lists its id as missing.
/// - A new drawer or a replacement that the filter would not accept is `Invalid`, whether or not its id is taken; so is
///   an update whose result it would not accept.
/// - A new drawer or a replacement whose id is taken by a drawer out of sight is `Conflict`; so is any write whose
///   result is a piece of a source that a drawer out of sight has taken.
/// - Either way nothing of the batch is written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visibility(Filter);

impl Visibility {
    /// Sees the drawers that `filter` accepts.
    pub fn new(filter: Filter) -> Self {
        Self(filter)
    }

    /// Whether drawers may be out of sight.
    pub fn is_restricted(&self) -> bool {
        !self.0.asks_nothing()
    }

    /// The filter.
    pub fn filter(&self) -> &Filter {
        &self.0
    }

    /// Whether `drawer`, which must hold its metadata, is seen.
    pub fn sees(&self, drawer: &Drawer) -> bool {
        self.0.accepts(drawer)
    }

    /// The drawers that are seen and that `filter` accepts.
    pub fn narrow(&self, filter: &Filter) -> Filter {
        if self.is_restricted() {
            filter.clone().and(self.0.clone())
        } else {
            filter.clone()
        }
    }

    /// Refuses a drawer that would be out of sight once written.
    pub fn check_written(&self, drawer: &Drawer) -> Result<()> {
        if self.sees(drawer) {
            return Ok(());
        }
        let message = format!(
            "the drawer {:?} would lie outside what this caller may see",
            drawer.id.as_str()
        );
        Err(Error::invalid(message)
            .hint("nothing was written; file it in a wing that is open to this caller"))
    }

    /// The error for an id that a drawer out of sight has taken.
    pub fn id_taken(id: &DrawerId) -> Error {
        Error::new(ErrorKind::Conflict, format!("the id {:?} is taken", id.as_str()))
            .hint("nothing was written; give another id or key")
    }

    /// The error for a piece of a source that a drawer out of sight has taken.
    pub fn piece_taken(id: &DrawerId) -> Error {
        let message = format!(
            "the piece that {:?} names is already filed elsewhere",
            id.as_str()
        );
        Error::new(ErrorKind::Conflict, message).hint("nothing was written; leave out the source or the span")
    }

    /// The error of an ability that speaks of the collection as a whole.
    pub fn whole_collection_only(what: &str) -> Error {
        Error::new(
            ErrorKind::Unsupported,
            format!("{what} is not offered where only a part of the collection is visible"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    #[test]
    fn only_what_the_filter_accepts_may_be_written() {
        let visibility = Visibility::new(Filter::text("wing", "work"));
        let drawer = |wing: &str| Drawer {
            place: Place {
                wing: Some(wing.into()),
                ..Place::default()
            },
            ..Drawer::bare(DrawerId::new("a").unwrap())
        };
        assert!(visibility.is_restricted() && !Visibility::default().is_restricted());
        assert!(visibility.check_written(&drawer("work")).is_ok());
        assert_eq!(
            visibility.check_written(&drawer("home")).unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }

    #[test]
    fn a_narrowed_filter_asks_for_both() {
        let visibility = Visibility::new(Filter::text("wing", "work"));
        let both = visibility.narrow(&Filter::text("room", "x"));
        assert_eq!(
            both.to_string(),
            r#"{"$and":[{"room":{"$eq":"x"}},{"wing":{"$eq":"work"}}]}"#
        );
        assert!(Visibility::default().narrow(&Filter::All).is_all());
    }
}
