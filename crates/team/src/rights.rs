//! Rights: the grants of a user or token, and their reach in one palace.

use std::collections::BTreeMap;

use loci_core::{Error, Result, WingReach};
use serde::{Deserialize, Serialize};

mod grant;
mod verbs;

pub use grant::TeamGrant;
pub use verbs::{RightsVerb, VerbSet};

/// The most grants of one user or token: narrowing compares each with each.
const MOST_GRANTS: usize = 500;

/// The rights of a user or token: a list of grants, of which each adds to the others.
///
/// As JSON it is a list of grants in their text form: `["work/garden:read,write","home:read"]`.
///
/// ```
/// use loci_team::TeamRights;
///
/// let rights = TeamRights::parse(["work/garden:write", "home:read"])?;
/// let work = rights.on_palace("work").expect("a wing of it may be read");
/// assert!(work.writes.reaches_wing(Some("garden")) && !work.reads.reaches_wing(Some("desk")));
/// assert!(rights.on_palace("attic").is_none());
/// # Ok::<(), loci_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<TeamGrant>", into = "Vec<TeamGrant>")]
pub struct TeamRights(Vec<TeamGrant>);

impl TeamRights {
    /// Combines grants. Their order does not matter, and grants for the same place become one.
    pub fn new(grants: impl IntoIterator<Item = TeamGrant>) -> Result<Self> {
        let rights = Self::combine(grants);
        if rights.0.len() > MOST_GRANTS {
            let message = format!(
                "{} grants are more than the {MOST_GRANTS} that a user or token may have",
                rights.0.len()
            );
            return Err(Error::invalid(message)
                .with_hint("nothing was changed; grant whole palaces instead of each of their wings"));
        }
        Ok(rights)
    }

    /// Parses grants in their text form.
    pub fn parse<'a>(grants: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let grants = grants.into_iter().map(str::parse);
        Self::new(grants.collect::<Result<Vec<TeamGrant>>>()?)
    }

    /// Returns the grants, sorted by palace and wing.
    pub fn grants(&self) -> &[TeamGrant] {
        &self.0
    }

    /// Reports whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the rights in one palace; `None` if nothing of it may be read, so that it does not exist for the caller.
    pub fn on_palace(&self, name: &str) -> Option<PalaceRights> {
        let grants = self.0.iter().filter(|grant| grant.concerns_palace(name));
        let rights = grants.fold(PalaceRights::default(), |rights, grant| rights.add(grant));
        (!rights.reads.is_nowhere()).then_some(rights)
    }

    /// Reports whether every palace may be administered, and with them the server: its users, tokens and audit log.
    pub fn administers_server(&self) -> bool {
        let everywhere = self.0.iter().filter(|grant| grant.palace().is_none());
        everywhere
            .into_iter()
            .any(|grant| grant.verbs().contains(RightsVerb::Admin))
    }

    /// Returns what both allow: the rights of a token with `other` as its own, made by a user with these.
    ///
    /// It never allows anything that one of the two does not. For each palace it is the intersection of both:
    /// `a.narrow(&b).on_palace(p)` reaches what both `a.on_palace(p)` and `b.on_palace(p)` do.
    #[must_use]
    pub fn narrow(&self, other: &Self) -> Self {
        let pairs = self
            .0
            .iter()
            .flat_map(|own| other.0.iter().map(move |its| own.meet(its)));
        Self::combine(pairs.flatten())
    }

    /// Reports whether everything that `other` allows is allowed.
    pub fn cover(&self, other: &Self) -> bool {
        // A grant may be covered by several together: `a:read` and `a:write`. So verbs are compared one by one.
        other.0.iter().all(|grant| {
            let held = self.0.iter().filter(|own| own.surrounds(grant));
            let held = held.fold(VerbSet::default(), |verbs, own| verbs | own.verbs());
            held.contains_all(grant.verbs())
        })
    }

    fn combine(grants: impl IntoIterator<Item = TeamGrant>) -> Self {
        let mut places = BTreeMap::new();
        for grant in grants {
            let (place, verbs) = grant.into_parts();
            let held: &mut VerbSet = places.entry(place).or_default();
            *held = *held | verbs;
        }
        let grants = places.into_iter().filter(|(_, verbs)| !verbs.is_empty());
        Self(
            grants
                .map(|(place, verbs)| TeamGrant::from_parts(place, verbs))
                .collect(),
        )
    }
}

impl TryFrom<Vec<TeamGrant>> for TeamRights {
    type Error = Error;
    fn try_from(grants: Vec<TeamGrant>) -> Result<Self> {
        Self::new(grants)
    }
}

impl From<TeamRights> for Vec<TeamGrant> {
    fn from(rights: TeamRights) -> Self {
        rights.0
    }
}

/// The rights in one palace. Whatever may be written or deleted may also be read, and an administrator reads everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PalaceRights {
    /// The wings that may be read; the others do not exist for the caller.
    pub reads: WingReach,
    /// The wings in which drawers may be filed and changed.
    pub writes: WingReach,
    /// The wings in which drawers may be deleted and forgotten.
    pub deletes: WingReach,
    /// Whether the palace itself may be administered. It implies neither writing nor deleting.
    pub administers: bool,
}

impl PalaceRights {
    /// Returns what both allow.
    #[must_use]
    pub fn narrow(&self, other: &Self) -> Self {
        Self {
            reads: self.reads.intersection(&other.reads),
            writes: self.writes.intersection(&other.writes),
            deletes: self.deletes.intersection(&other.deletes),
            administers: self.administers && other.administers,
        }
    }

    /// Reports whether everything that `other` allows is allowed.
    pub fn cover(&self, other: &Self) -> bool {
        self.reads.covers(&other.reads)
            && self.writes.covers(&other.writes)
            && self.deletes.covers(&other.deletes)
            && (self.administers || !other.administers)
    }

    fn add(self, grant: &TeamGrant) -> Self {
        let place = grant.reach();
        let widen = |reach: WingReach, verb| {
            if grant.verbs().contains(verb) {
                reach.union(&place)
            } else {
                reach
            }
        };
        Self {
            reads: widen(self.reads, RightsVerb::Read),
            writes: widen(self.writes, RightsVerb::Write),
            deletes: widen(self.deletes, RightsVerb::Delete),
            administers: self.administers
                || (place.is_everywhere() && grant.verbs().contains(RightsVerb::Admin)),
        }
    }
}

#[cfg(test)]
mod tests;
