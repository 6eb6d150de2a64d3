//! Visibility: the drawers that exist for a handle, and the writes it may therefore make.

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
    /// Creates a visibility of the drawers that `filter` accepts.
    pub fn new(filter: Filter) -> Self {
        Self(filter)
    }

    /// Reports whether any drawer may be out of sight.
    pub fn is_restricted(&self) -> bool {
        !self.0.is_unrestricted()
    }

    /// Returns the filter.
    pub fn filter(&self) -> &Filter {
        &self.0
    }

    /// Reports whether `drawer`, which must hold its metadata, is visible.
    pub fn sees_drawer(&self, drawer: &Drawer) -> bool {
        self.0.accepts(drawer)
    }

    /// Returns a filter for the visible drawers that `filter` accepts.
    pub fn narrow_filter(&self, filter: &Filter) -> Filter {
        if self.is_restricted() {
            filter.clone().and(self.0.clone())
        } else {
            filter.clone()
        }
    }

    /// Refuses a drawer that would be out of sight once written.
    pub fn check_written(&self, drawer: &Drawer) -> Result<()> {
        if self.sees_drawer(drawer) {
            return Ok(());
        }
        let message = format!(
            "the drawer {:?} would be outside what this caller may see",
            drawer.id.as_str()
        );
        Err(Error::invalid(message)
            .with_hint("nothing was written; file it in a wing that is open to this caller"))
    }

    /// Returns the error for an id that a drawer out of sight has taken.
    pub fn id_taken_error(id: &DrawerId) -> Error {
        // Says that the id is taken and nothing more: the text, wing and even the kind of a drawer out of
        // sight stay hidden.
        Error::new(ErrorKind::Conflict, format!("the id {:?} is taken", id.as_str()))
            .with_hint("nothing was written; give another id or key")
    }

    /// Returns the error for a piece of a source that a drawer out of sight has taken.
    pub fn piece_taken_error(id: &DrawerId) -> Error {
        let message = format!(
            "the piece that {:?} names is already filed elsewhere",
            id.as_str()
        );
        Error::new(ErrorKind::Conflict, message)
            .with_hint("nothing was written; leave out the source or the span")
    }

    /// Returns the error for an ability that concerns the collection as a whole.
    pub fn whole_collection_error(what: &str) -> Error {
        Error::new(
            ErrorKind::Unsupported,
            format!("{what} is not offered where only a part of the collection is visible"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DrawerPlace;

    #[test]
    fn only_what_the_filter_accepts_may_be_written() {
        let visibility = Visibility::new(Filter::text_equals("wing", "work"));
        let drawer = |wing: &str| Drawer {
            place: DrawerPlace {
                wing: Some(wing.into()),
                ..DrawerPlace::default()
            },
            ..Drawer::with_id_only(DrawerId::new("a").unwrap())
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
        let visibility = Visibility::new(Filter::text_equals("wing", "work"));
        let both = visibility.narrow_filter(&Filter::text_equals("room", "x"));
        assert_eq!(
            both.to_string(),
            r#"{"$and":[{"room":{"$eq":"x"}},{"wing":{"$eq":"work"}}]}"#
        );
        assert!(Visibility::default().narrow_filter(&Filter::All).is_all());
    }
}
