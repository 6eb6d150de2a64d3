//! Access policy: what a caller may see and do in a palace.

use loci_core::{CollectionReader, Comparison, Error, ErrorKind, Filter, Result, Scalar};

use crate::mine::spelled;

/// The rights of a caller. The default may do everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessPolicy {
    /// Nothing is changed.
    pub read_only: bool,
    /// Only these wings exist; all if empty.
    pub wings: Vec<String>,
}

impl AccessPolicy {
    /// Whether some wings do not exist for this caller.
    pub fn is_restricted(&self) -> bool {
        !self.wings.is_empty()
    }

    /// Refuses a caller who may only read.
    pub fn check_writable(&self) -> Result<()> {
        if !self.read_only {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Unsupported, "this palace is served read-only");
        Err(error.hint("nothing was changed"))
    }

    /// Refuses a caller for whom some wings do not exist: `operation` concerns the palace as a whole.
    pub fn check_whole(&self, operation: &str) -> Result<()> {
        if !self.is_restricted() {
            return Ok(());
        }
        let message =
            format!("{operation} concerns the whole palace, and only some of its wings are open here");
        Err(Error::new(ErrorKind::Unsupported, message).hint("nothing was changed"))
    }

    /// Refuses a wing that does not exist for this caller, and a missing one where a wing must be named.
    pub fn check_wing(&self, reader: &dyn CollectionReader, wing: Option<&str>) -> Result<()> {
        if !self.is_restricted() {
            return Ok(());
        }
        for own in &self.wings {
            if wing == Some(spelled(reader, own)?.as_str()) {
                return Ok(());
            }
        }
        let message = match wing {
            Some(wing) => format!("there is no wing {wing:?} here"),
            None => "a wing must be named here".to_owned(),
        };
        let verb = if self.wings.len() == 1 { "is" } else { "are" };
        let hint = format!("nothing was changed; there {verb}: {}", self.wings.join(", "));
        Err(Error::new(ErrorKind::NotFound, message).hint(hint))
    }

    /// The drawers that exist for this caller, wings spelled as the collection spells them.
    pub(crate) fn visible(&self, whole: &dyn CollectionReader) -> Result<Filter> {
        let wings = self.wings.iter().map(|wing| spelled(whole, wing));
        Ok(filter_wings(wings.collect::<Result<_>>()?))
    }

    /// The same where there is no collection yet that could spell them.
    pub(crate) fn visible_unspelled(&self) -> Filter {
        filter_wings(self.wings.clone())
    }
}

fn filter_wings(wings: Vec<String>) -> Filter {
    if wings.is_empty() {
        return Filter::All;
    }
    let wings = wings.into_iter().map(Scalar::Text).collect();
    Filter::Compare("wing".into(), Comparison::In(wings))
}
