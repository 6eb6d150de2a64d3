//! Access policy: the wings a caller may see, and whether it may write.

use loci_core::{CollectionReader, Error, ErrorKind, Filter, FilterComparison, MetadataScalar, Result};

use crate::mine::spell_wing;

/// The rights of a caller. The default permits everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessPolicy {
    /// Every write is refused.
    pub read_only: bool,
    /// The only wings that exist for the caller; all if empty.
    pub wings: Vec<String>,
}

impl AccessPolicy {
    /// Returns whether some wings do not exist for this caller.
    pub fn is_restricted(&self) -> bool {
        !self.wings.is_empty()
    }

    /// Refuses a caller that may only read.
    pub fn check_writable(&self) -> Result<()> {
        if !self.read_only {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Unsupported, "this palace is served read-only");
        Err(error.with_hint("nothing was changed"))
    }

    /// Refuses a restricted caller, because `operation` concerns the whole palace.
    pub fn check_whole(&self, operation: &str) -> Result<()> {
        if !self.is_restricted() {
            return Ok(());
        }
        let message =
            format!("{operation} concerns the whole palace, and only some of its wings are open here");
        Err(Error::new(ErrorKind::Unsupported, message).with_hint("nothing was changed"))
    }

    /// Refuses a wing that does not exist for this caller. A restricted caller must name a wing.
    pub fn check_wing(&self, reader: &dyn CollectionReader, wing: Option<&str>) -> Result<()> {
        if !self.is_restricted() {
            return Ok(());
        }
        // The store enforces this inside its write transaction as well; checked here for an error that names
        // the wings.
        for own in &self.wings {
            if wing == Some(spell_wing(reader, own)?.as_str()) {
                return Ok(());
            }
        }
        let message = match wing {
            Some(wing) => format!("wing {wing:?} does not exist here"),
            None => "a wing must be named here".to_owned(),
        };
        let verb = if self.wings.len() == 1 { "is" } else { "are" };
        let hint = format!("nothing was changed; there {verb}: {}", self.wings.join(", "));
        Err(Error::new(ErrorKind::NotFound, message).with_hint(hint))
    }

    /// Returns the filter for the drawers that exist for this caller, with wings in the collection's own
    /// spelling.
    pub(crate) fn visible_filter(&self, whole: &dyn CollectionReader) -> Result<Filter> {
        let wings = self.wings.iter().map(|wing| spell_wing(whole, wing));
        Ok(filter_wings(wings.collect::<Result<_>>()?))
    }

    /// Returns the same filter with wings as configured, for a collection that does not exist yet.
    pub(crate) fn visible_filter_unspelled(&self) -> Filter {
        filter_wings(self.wings.clone())
    }
}

fn filter_wings(wings: Vec<String>) -> Filter {
    if wings.is_empty() {
        return Filter::All;
    }
    let wings = wings.into_iter().map(MetadataScalar::Text).collect();
    Filter::Compare("wing".into(), FilterComparison::In(wings))
}
