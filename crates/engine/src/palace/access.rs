//! Access policy: where a caller may read, file and remove, and whether it runs the palace.

use std::borrow::Cow;

use loci_core::{
    CollectionReader, Error, ErrorKind, Filter, FilterComparison, MetadataScalar, Result, WingReach,
};

use super::Palace;
use crate::mine::spell_wing;

/// The rights of a caller. The default permits everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessPolicy {
    /// The wings that exist for the caller.
    pub reads: WingReach,
    /// The wings in which it may file and change drawers, as far as they exist for it.
    pub writes: WingReach,
    /// The wings in which it may remove drawers, as far as they exist for it.
    pub deletes: WingReach,
    /// Whether it may do what concerns the whole palace, as far as it may also read, write or remove there.
    pub administers: bool,
    /// Whether files of this machine may be read for it.
    pub reads_files: bool,
    /// The wing of drawers that it files without naming one; else the first in which it may file, unless that is all.
    pub usual_wing: Option<String>,
    /// Whether wings are named here as people type them: in another spelling, a name means the wing that is there. Else
    /// names are compared byte by byte, so that a right never reaches a wing of a similar name.
    pub spells_wings: bool,
    /// The name by which the caller knows the palace, if it is not to learn where that is.
    pub palace_name: Option<String>,
}

impl Default for AccessPolicy {
    fn default() -> Self {
        Self {
            reads: WingReach::Everywhere,
            writes: WingReach::Everywhere,
            deletes: WingReach::Everywhere,
            administers: true,
            reads_files: true,
            usual_wing: None,
            spells_wings: true,
            palace_name: None,
        }
    }
}

/// What an act does to drawers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrawerAct {
    /// It files or changes drawers.
    Changes,
    /// It removes drawers.
    Removes,
    /// It changes some and removes others.
    ChangesAndRemoves,
}

impl AccessPolicy {
    /// Returns the policy of an owner that limits itself: to these wings, all if none is named, and to reading.
    pub fn limited(read_only: bool, wings: Vec<String>) -> Self {
        let is_whole = wings.is_empty();
        let usual_wing = wings.first().cloned();
        let reads = if is_whole {
            WingReach::Everywhere
        } else {
            WingReach::of_wings(wings)
        };
        let changes = if read_only {
            WingReach::Nowhere
        } else {
            reads.clone()
        };
        Self {
            reads,
            writes: changes.clone(),
            deletes: changes,
            administers: is_whole,
            reads_files: is_whole,
            usual_wing,
            spells_wings: true,
            palace_name: None,
        }
    }

    /// Returns whether some wings do not exist for this caller.
    pub fn is_restricted(&self) -> bool {
        !self.reads.is_everywhere()
    }

    /// Returns whether the caller may file and change drawers somewhere.
    pub fn may_write(&self) -> bool {
        !self.writes.is_nowhere()
    }

    /// Returns whether the caller may remove drawers somewhere.
    pub fn may_delete(&self) -> bool {
        !self.deletes.is_nowhere()
    }

    /// Returns whether the caller may change nothing at all.
    pub fn is_read_only(&self) -> bool {
        !self.may_write() && !self.may_delete()
    }

    /// Returns whether sources may be mined for the caller, which files into every wing.
    pub fn may_mine(&self) -> bool {
        self.reads_files && self.administers && self.writes.is_everywhere()
    }

    /// Returns whether the caller may forget drawers, which rewrites the whole palace.
    pub fn may_forget(&self) -> bool {
        self.administers && self.deletes.is_everywhere()
    }

    /// Returns whether the caller may change what concerns the whole palace, such as its model.
    pub fn may_maintain(&self) -> bool {
        self.administers && self.writes.is_everywhere()
    }

    /// Refuses a caller that may not file or change drawers.
    pub fn check_writable(&self) -> Result<()> {
        self.check_act(DrawerAct::Changes)
    }

    /// Refuses a caller that may not remove drawers.
    pub fn check_deletable(&self) -> Result<()> {
        self.check_act(DrawerAct::Removes)
    }

    fn check_act(&self, act: DrawerAct) -> Result<()> {
        if !self.reach_of(act).is_nowhere() {
            return Ok(());
        }
        let error = if self.is_read_only() {
            Error::new(ErrorKind::Unsupported, "this palace is served read-only")
        } else {
            let verb = match act {
                DrawerAct::Changes => "filed or changed",
                DrawerAct::Removes => "removed",
                DrawerAct::ChangesAndRemoves => "replaced",
            };
            let message = format!("drawers may not be {verb} here with these rights");
            Error::new(ErrorKind::Unsupported, message)
        };
        Err(error.with_hint("nothing was changed"))
    }

    /// Refuses a caller that may not do what concerns the whole palace, as `operation` does.
    pub fn check_whole(&self, operation: &str) -> Result<()> {
        let reason = if self.is_restricted() {
            "only some of its wings are open here"
        } else if !self.administers {
            "these rights do not include running it"
        } else {
            return Ok(());
        };
        let message = format!("{operation} concerns the whole palace, and {reason}");
        Err(Error::new(ErrorKind::Unsupported, message).with_hint("nothing was changed"))
    }

    /// Refuses a caller that may not change what concerns the whole palace, as `operation` does.
    pub fn check_upkeep(&self, operation: &str) -> Result<()> {
        self.check_whole(operation)?;
        self.check_writable()?;
        check_reach(&self.writes, operation, "writing everywhere")
    }

    /// Refuses a caller that may not forget drawers.
    pub fn check_forgetting(&self) -> Result<()> {
        self.check_whole("forgetting")?;
        self.check_deletable()?;
        check_reach(&self.deletes, "forgetting", "removing everywhere")
    }

    /// Refuses a caller for which no files of this machine are read.
    pub fn check_mining(&self) -> Result<()> {
        self.check_upkeep("mining")?;
        if self.reads_files {
            return Ok(());
        }
        let error = Error::new(
            ErrorKind::Unsupported,
            "files of the machine that serves this palace are not mined for its clients",
        );
        Err(error.with_hint("nothing was changed; mine on that machine, or add drawers"))
    }

    /// Refuses a wing in which this caller may not file. A caller that may not file everywhere must name a wing.
    pub fn check_wing(&self, reader: &dyn CollectionReader, wing: Option<&str>) -> Result<()> {
        if self.writes.is_everywhere() {
            return Ok(());
        }
        let own = self.writes.named_wings();
        // The store enforces this inside its write transaction as well; checked here for an error that names
        // the wings.
        for own in own {
            if wing == Some(self.spell_own(reader, own)?.as_str()) {
                return Ok(());
            }
        }
        let message = match wing {
            Some(wing) => format!("wing {wing:?} does not exist here"),
            None => "a wing must be named here".to_owned(),
        };
        let verb = if own.len() == 1 { "is" } else { "are" };
        let hint = format!("nothing was changed; there {verb}: {}", own.join(", "));
        Err(Error::new(ErrorKind::NotFound, message).with_hint(hint))
    }

    /// Returns the filter for the drawers that a reach covers, with wings in the collection's own spelling.
    pub(super) fn filter_reach(&self, reach: &WingReach, whole: &dyn CollectionReader) -> Result<Filter> {
        let wings = reach.named_wings().iter().map(|wing| self.spell_own(whole, wing));
        Ok(filter_wings(reach, wings.collect::<Result<_>>()?))
    }

    /// Returns a wing of this policy as the collection spells it.
    fn spell_own(&self, reader: &dyn CollectionReader, wing: &str) -> Result<String> {
        if self.spells_wings {
            spell_wing(reader, wing)
        } else {
            Ok(wing.to_owned())
        }
    }

    /// Returns the wing that a caller means by a name: that of the collection's own spelling. A caller that may file in some
    /// wings only means exactly what it says, or what it names might be filed in another wing that it may write.
    pub(crate) fn spell_named(&self, reader: &dyn CollectionReader, wing: &str) -> Result<String> {
        if self.spells_wings || self.writes.is_everywhere() {
            spell_wing(reader, wing)
        } else {
            Ok(wing.to_owned())
        }
    }

    /// Returns the wing of drawers that are filed without naming one.
    pub(crate) fn first_wing(&self) -> Option<&str> {
        let first = || self.writes.named_wings().first();
        self.usual_wing.as_ref().or_else(first).map(String::as_str)
    }

    /// Returns the wings in which the caller may do this.
    fn reach_of(&self, act: DrawerAct) -> WingReach {
        match act {
            DrawerAct::Changes => self.reads.intersection(&self.writes),
            DrawerAct::Removes => self.reads.intersection(&self.deletes),
            DrawerAct::ChangesAndRemoves => {
                let both = self.writes.intersection(&self.deletes);
                self.reads.intersection(&both)
            }
        }
    }

    /// Returns the policy of an act: no wings exist but those in which it is allowed. `None` if that changes nothing.
    fn narrowed_to(&self, act: DrawerAct) -> Option<Self> {
        let reach = self.reach_of(act);
        if reach == self.reads && reach == self.writes {
            return None;
        }
        Some(Self {
            reads: reach.clone(),
            // The fence of the store, whichever verb the act needs.
            writes: reach.clone(),
            deletes: self.deletes.intersection(&reach),
            usual_wing: self
                .usual_wing
                .clone()
                .filter(|wing| reach.reaches_wing(Some(wing))),
            ..self.clone()
        })
    }
}

fn check_reach(reach: &WingReach, operation: &str, needed: &str) -> Result<()> {
    if reach.is_everywhere() {
        return Ok(());
    }
    let message = format!("{operation} concerns the whole palace, and these rights do not include {needed}");
    Err(Error::new(ErrorKind::Unsupported, message).with_hint("nothing was changed"))
}

/// Returns the filter for the drawers that a reach covers, with wings as the policy names them.
pub(super) fn filter_unspelled(reach: &WingReach) -> Filter {
    filter_wings(reach, reach.named_wings().to_vec())
}

fn filter_wings(reach: &WingReach, wings: Vec<String>) -> Filter {
    if reach.is_everywhere() {
        return Filter::All;
    }
    let wings = wings.into_iter().map(MetadataScalar::Text).collect();
    Filter::Compare("wing".into(), FilterComparison::In(wings))
}

impl Palace {
    /// Returns the name by which the caller knows the palace: its reference, unless that is not for the caller.
    pub fn shown_name(&self) -> Result<String> {
        match &self.access().palace_name {
            Some(name) => Ok(name.clone()),
            None => Ok(self.address()?.reference.id),
        }
    }

    /// Returns the palace as an act may see it: no wings exist but those in which its caller may act so. Refuses a
    /// caller that may act so nowhere.
    pub(crate) fn for_act(&self, act: DrawerAct) -> Result<Cow<'_, Self>> {
        self.access().check_act(act)?;
        Ok(match self.access().narrowed_to(act) {
            Some(access) => Cow::Owned(self.clone().restricted_to(access)),
            None => Cow::Borrowed(self),
        })
    }
}
