//! One grant and its text form, `PALACE[/WING]:VERB[,VERB…]`.

use std::fmt;
use std::str::FromStr;

use loci_core::{Error, Result, WingReach};
use serde::{Deserialize, Serialize};

use super::verbs::{RightsVerb, VerbSet};

/// The most bytes of a palace's or wing's name; wings have at most 128 characters.
const LONGEST_NAME: usize = 1024;

/// The palace, or all of them, and the wing, or all of them.
pub(super) type GrantPlace = (Option<String>, Option<String>);

/// Some verbs for a palace, or for one wing of it.
///
/// The text form is `PALACE:VERBS` or `PALACE/WING:VERBS`, with `*` for all palaces: `work:read`, `work/garden:read,write`,
/// `*:admin`. Within a name, `/`, `:`, `,`, `*` and `%` are written as `%2F`, `%3A`, `%2C`, `%2A` and `%25`; any other byte
/// may be written so. Characters that cannot be seen are always printed so. Parsing what was printed gives an equal grant.
///
/// Names are kept as they are given. A palace is compared byte by byte; the wing is resolved by the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TeamGrant {
    palace: Option<String>,
    wing: Option<String>,
    verbs: VerbSet,
}

impl TeamGrant {
    /// Makes a grant for a palace, or all if `None`, and a wing of it, or all if `None`.
    pub fn new(palace: Option<&str>, wing: Option<&str>, verbs: VerbSet) -> Result<Self> {
        for name in [palace, wing].into_iter().flatten() {
            if name.is_empty() || name.len() > LONGEST_NAME {
                return Err(refuse(&format!(
                    "a name in a grant has 1 to {LONGEST_NAME} bytes"
                )));
            }
        }
        if verbs.is_empty() {
            return Err(refuse("a grant needs at least one right"));
        }
        if wing.is_some() && verbs.contains(RightsVerb::Admin) {
            return Err(refuse("admin is a right for a whole palace, not for a wing"));
        }
        Ok(Self {
            palace: palace.map(str::to_owned),
            wing: wing.map(str::to_owned),
            verbs,
        })
    }

    /// Returns the palace; `None` for all.
    pub fn palace(&self) -> Option<&str> {
        self.palace.as_deref()
    }

    /// Returns the wing; `None` for all.
    pub fn wing(&self) -> Option<&str> {
        self.wing.as_deref()
    }

    /// Returns the verbs, with those that others imply.
    pub fn verbs(&self) -> VerbSet {
        self.verbs
    }

    pub(super) fn concerns_palace(&self, name: &str) -> bool {
        self.palace.as_deref().is_none_or(|palace| palace == name)
    }

    pub(super) fn reach(&self) -> WingReach {
        match &self.wing {
            Some(wing) => WingReach::of_wings([wing.clone()]),
            None => WingReach::Everywhere,
        }
    }

    /// Reports whether the place of this grant contains that of the other.
    pub(super) fn surrounds(&self, other: &Self) -> bool {
        let contains = |own: &Option<String>, its: &Option<String>| own.is_none() || own == its;
        contains(&self.palace, &other.palace) && contains(&self.wing, &other.wing)
    }

    /// Returns what both grants allow; `None` if their places are apart.
    pub(super) fn meet(&self, other: &Self) -> Option<Self> {
        let palace = meet_names(&self.palace, &other.palace)?;
        let wing = meet_names(&self.wing, &other.wing)?;
        let verbs = self.verbs & other.verbs;
        (!verbs.is_empty()).then_some(Self { palace, wing, verbs })
    }

    pub(super) fn into_parts(self) -> (GrantPlace, VerbSet) {
        ((self.palace, self.wing), self.verbs)
    }

    pub(super) fn from_parts((palace, wing): GrantPlace, verbs: VerbSet) -> Self {
        Self { palace, wing, verbs }
    }
}

/// Returns the smaller of two places; the outer `None` if they are apart.
fn meet_names(one: &Option<String>, other: &Option<String>) -> Option<Option<String>> {
    match (one, other) {
        (None, any) | (any, None) => Some(any.clone()),
        (Some(one), Some(other)) => (one == other).then(|| Some(one.clone())),
    }
}

impl FromStr for TeamGrant {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |what: &str| refuse(&format!("{text:?} is not a grant: {what}"));
        let (place, verbs) = text.split_once(':').ok_or_else(|| wrong("it has no `:`"))?;
        if verbs.contains(':') {
            return Err(wrong("it has a second `:`; within a name it is written %3A"));
        }
        let verbs = verbs.split(',').map(str::parse::<RightsVerb>);
        let verbs: VerbSet = verbs.collect::<Result<_>>()?;
        let (palace, wing) = match place.split_once('/') {
            Some((_, wing)) if wing.contains('/') => {
                return Err(wrong("it has a second `/`; within a name it is written %2F"));
            }
            Some((palace, wing)) => (palace, Some(wing)),
            None => (place, None),
        };
        let read_name = |name: &str| unescape_name(name).map_err(&wrong);
        let palace = if palace == "*" {
            None
        } else {
            Some(read_name(palace)?)
        };
        let wing = wing.map(read_name).transpose()?;
        Self::new(palace.as_deref(), wing.as_deref(), verbs)
    }
}

impl fmt::Display for TeamGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.palace {
            Some(palace) => write_name(f, palace)?,
            None => f.write_str("*")?,
        }
        if let Some(wing) = &self.wing {
            f.write_str("/")?;
            write_name(f, wing)?;
        }
        write!(f, ":{}", self.verbs)
    }
}

impl TryFrom<String> for TeamGrant {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<TeamGrant> for String {
    fn from(grant: TeamGrant) -> Self {
        grant.to_string()
    }
}

fn refuse(what: &str) -> Error {
    Error::invalid(what).with_hint(
        "nothing was changed; write grants like work:read, work/garden:read,write or *:admin for all palaces",
    )
}

fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let last = name.chars().count().saturating_sub(1);
    for (place, c) in name.chars().enumerate() {
        // A space at an end is lost where texts are trimmed; one within a name is what people type.
        let is_lost = c == ' ' && (place == 0 || place == last);
        if matches!(c, '/' | ':' | ',' | '*' | '%') || is_lost || is_unseen(c) {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                write!(f, "%{byte:02X}")?;
            }
        } else {
            write!(f, "{c}")?;
        }
    }
    Ok(())
}

/// Reports whether a reader cannot see the character, so that two names would look the same.
fn is_unseen(c: char) -> bool {
    (c != ' ' && (c.is_control() || c.is_whitespace()))
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn unescape_name(name: &str) -> std::result::Result<String, &'static str> {
    const BROKEN: &str = "a `%` in a name is followed by two hexadecimal digits";
    if name.contains('*') {
        return Err("`*` stands only for all palaces; within a name it is written %2A");
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else {
            return Err(BROKEN);
        };
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let value = digit(high).zip(digit(low)).map(|(high, low)| high * 16 + low);
        bytes.push(value.and_then(|value| u8::try_from(value).ok()).ok_or(BROKEN)?);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| "a name in it is not UTF-8")
}
