//! The verbs of a grant.

use std::fmt;
use std::ops::{BitAnd, BitOr};
use std::str::FromStr;

use loci_core::{Error, Result};

/// One thing that a grant allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RightsVerb {
    /// Search and read drawers.
    Read,
    /// File and change drawers.
    Write,
    /// Delete and forget drawers.
    Delete,
    /// Administer a whole palace.
    Admin,
}

impl RightsVerb {
    /// Every verb, in the order in which they are printed.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Delete, Self::Admin];

    /// Returns the verb as it is written in a grant.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Admin => "admin",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::Read => 1,
            Self::Write => 2,
            Self::Delete => 4,
            Self::Admin => 8,
        }
    }
}

impl FromStr for RightsVerb {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let verb = Self::ALL.into_iter().find(|verb| verb.name() == text);
        verb.ok_or_else(|| {
            Error::invalid(format!("{text:?} is not a right"))
                .with_hint("the rights are read, write, delete and admin")
        })
    }
}

/// Some verbs. With any verb in it, `read` is in it, too.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct VerbSet(u8);

impl VerbSet {
    /// Reports whether no verb is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Reports whether `verb` is in the set.
    pub fn contains(self, verb: RightsVerb) -> bool {
        self.0 & verb.bit() != 0
    }

    /// Reports whether every verb of `other` is in the set.
    pub fn contains_all(self, other: Self) -> bool {
        self & other == other
    }

    /// Returns the verbs of the set in their usual order.
    pub fn iter(self) -> impl Iterator<Item = RightsVerb> {
        RightsVerb::ALL
            .into_iter()
            .filter(move |verb| self.contains(*verb))
    }
}

impl FromIterator<RightsVerb> for VerbSet {
    fn from_iter<I: IntoIterator<Item = RightsVerb>>(verbs: I) -> Self {
        // Every verb brings `read`: a right to change what may not be seen would tell about it by its errors.
        let bits = verbs.into_iter().map(|verb| verb.bit() | RightsVerb::Read.bit());
        Self(bits.fold(0, |all, bits| all | bits))
    }
}

impl BitOr for VerbSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for VerbSet {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Display for VerbSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(RightsVerb::name).collect();
        f.write_str(&names.join(","))
    }
}

impl fmt::Debug for VerbSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}
