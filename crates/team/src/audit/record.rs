//! One record of the audit log. Its types have no place for the text of a drawer or the words of a query.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use loci_core::{Error, ErrorKind, Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::head::AuditHead;
use crate::accounts::TokenId;
use crate::caller::{SignInRefusal, TeamActor};

/// The most drawers and wings that a record lists; it counts all of them.
const MOST_DRAWERS: usize = 100;
const MOST_WINGS: usize = 20;

/// The most bytes of an id or name in a record; more is cut off.
const LONGEST_NAME: usize = 200;

/// One act, before it is numbered and chained.
///
/// An act that writes has two records: `asked`, which is durable before the act begins, and its outcome. So an act is in the
/// log whatever happens in between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// The time of the act, by the server's clock.
    pub time: Timestamp,
    /// Who acted.
    #[serde(with = "actor_text")]
    pub who: TeamActor,
    /// The token that was shown, if it was one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
    /// The address that the request came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The palace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub palace: Option<String>,
    /// The act.
    pub act: AuditAct,
    /// The things that it concerned.
    #[serde(default, skip_serializing_if = "AuditSubject::is_empty")]
    pub subject: AuditSubject,
    /// How it ended, or that it was asked for.
    pub outcome: AuditOutcome,
}

impl AuditRecord {
    /// Makes a record of an act without a subject, address or palace; set those that are known.
    pub fn new(time: Timestamp, who: TeamActor, act: AuditAct, outcome: AuditOutcome) -> Self {
        Self {
            time,
            who,
            token: None,
            address: None,
            palace: None,
            act,
            subject: AuditSubject::default(),
            outcome,
        }
    }

    /// Cuts whatever a caller may have made too long, so that a line has a longest length.
    pub(super) fn cut(mut self) -> Self {
        let subject = &mut self.subject;
        if subject.drawers.len() > MOST_DRAWERS {
            subject.count = subject.count.or(Some(subject.drawers.len() as u64));
            subject.drawers.truncate(MOST_DRAWERS);
        }
        subject.wings.truncate(MOST_WINGS);
        let names = subject.drawers.iter_mut().chain(&mut subject.wings);
        names
            .chain(&mut subject.name)
            .chain(&mut self.palace)
            .for_each(cut_name);
        match &mut self.who {
            TeamActor::User(name) => cut_name(name),
            TeamActor::Foreign { issuer, subject } => {
                cut_name(issuer);
                cut_name(subject);
            }
            TeamActor::Anonymous | TeamActor::Server => {}
        }
        self
    }
}

/// The things that an act concerned: ids, names and counts; never a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuditSubject {
    /// The ids of drawers; at most a hundred are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drawers: Vec<String>,
    /// The number of drawers that were found, read or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The wings that were asked for by name; at most twenty are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wings: Vec<String>,
    /// The number of characters of a query. Its words are not kept: people search for what they would not write down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_chars: Option<u64>,
    /// The name of a user or the id of a token that was administered or tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl AuditSubject {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The name of an act: lower-case words joined by `_`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AuditAct(Cow<'static, str>);

impl AuditAct {
    /// A user signed in, or tried to.
    pub const SIGN_IN: Self = Self(Cow::Borrowed("sign_in"));
    /// A user signed out.
    pub const SIGN_OUT: Self = Self(Cow::Borrowed("sign_out"));
    /// Drawers were searched.
    pub const SEARCH: Self = Self(Cow::Borrowed("search"));
    /// Drawers were read, listed or exported.
    pub const READ: Self = Self(Cow::Borrowed("read"));
    /// Drawers were filed.
    pub const ADD: Self = Self(Cow::Borrowed("add"));
    /// Drawers were changed.
    pub const UPDATE: Self = Self(Cow::Borrowed("update"));
    /// Drawers were deleted.
    pub const DELETE: Self = Self(Cow::Borrowed("delete"));
    /// Drawers were erased.
    pub const FORGET: Self = Self(Cow::Borrowed("forget"));
    /// A palace was administered.
    pub const ADMIN: Self = Self(Cow::Borrowed("admin"));
    /// A user was added, changed or removed.
    pub const USER: Self = Self(Cow::Borrowed("user"));
    /// A token was made, rotated or revoked.
    pub const TOKEN: Self = Self(Cow::Borrowed("token"));
    /// The server started.
    pub const START: Self = Self(Cow::Borrowed("start"));
    /// The server stopped in good order.
    pub const STOP: Self = Self(Cow::Borrowed("stop"));

    /// The first record of a chain.
    pub(super) const CHAIN_BEGUN: Self = Self(Cow::Borrowed("chain_begun"));
    /// The first record of a new file.
    pub(super) const CHAIN_CONTINUED: Self = Self(Cow::Borrowed("chain_continued"));
    /// The record after a line that was cut off by a crash.
    pub(super) const LINE_TORN: Self = Self(Cow::Borrowed("line_torn"));
    /// The record after acts that could not be recorded.
    pub(super) const RECORDS_MISSED: Self = Self(Cow::Borrowed("records_missed"));

    /// Names another act.
    pub fn new(name: &'static str) -> Result<Self> {
        check_word(name).map(|()| Self(Cow::Borrowed(name)))
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Reports whether only the log itself writes records of this act.
    pub(super) fn is_of_chain(&self) -> bool {
        let own = [
            Self::CHAIN_BEGUN,
            Self::CHAIN_CONTINUED,
            Self::LINE_TORN,
            Self::RECORDS_MISSED,
        ];
        own.contains(self)
    }
}

impl TryFrom<String> for AuditAct {
    type Error = Error;
    fn try_from(name: String) -> Result<Self> {
        check_word(&name).map(|()| Self(Cow::Owned(name)))
    }
}

impl From<AuditAct> for String {
    fn from(act: AuditAct) -> Self {
        act.0.into_owned()
    }
}

/// The kind of a failure or refusal; a word, because messages may quote what they are about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AuditReason(String);

impl AuditReason {
    /// Names a reason that is neither the kind of an error nor of a refused sign-in.
    pub fn new(word: &'static str) -> Result<Self> {
        check_word(word).map(|()| Self(word.to_owned()))
    }

    /// Returns the word.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl From<ErrorKind> for AuditReason {
    fn from(kind: ErrorKind) -> Self {
        Self(kind.name().to_owned())
    }
}

impl From<SignInRefusal> for AuditReason {
    fn from(refusal: SignInRefusal) -> Self {
        Self(refusal.name().to_owned())
    }
}

/// How an act ended. The text form is `asked`, `done`, `refused:REASON` or `failed:KIND`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AuditOutcome {
    /// It is about to begin; another record tells how it ended.
    Asked,
    /// It was done.
    Done,
    /// It was not allowed.
    Refused(AuditReason),
    /// It failed.
    Failed(AuditReason),
}

impl AuditOutcome {
    /// Returns the word without the reason: `asked`, `done`, `refused` or `failed`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Done => "done",
            Self::Refused(_) => "refused",
            Self::Failed(_) => "failed",
        }
    }
}

impl fmt::Display for AuditOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked | Self::Done => f.write_str(self.name()),
            Self::Refused(reason) | Self::Failed(reason) => write!(f, "{}:{}", self.name(), reason.0),
        }
    }
}

impl TryFrom<String> for AuditOutcome {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        let reason = |word: &str| check_word(word).map(|()| AuditReason(word.to_owned()));
        match text.split_once(':') {
            None if text == "asked" => Ok(Self::Asked),
            None if text == "done" => Ok(Self::Done),
            Some(("refused", word)) => reason(word).map(Self::Refused),
            Some(("failed", word)) => reason(word).map(Self::Failed),
            _ => Err(Error::invalid("an outcome is asked, done, refused:… or failed:…")),
        }
    }
}

impl From<AuditOutcome> for String {
    fn from(outcome: AuditOutcome) -> Self {
        outcome.to_string()
    }
}

/// A record as it stands in the log, with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The number, from 1 on, without gaps.
    #[serde(rename = "n")]
    pub number: u64,
    /// The record.
    #[serde(flatten)]
    pub record: AuditRecord,
    /// What a record of the log itself says about the chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) chain: Option<ChainNote>,
}

/// What a record of the log itself says about the chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ChainNote {
    /// A random name of the chain, in its first record, so that no record of one chain fits into another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    /// The fingerprint of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    /// The head after which this record stands, so that a file can be verified without those before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<AuditHead>,
    /// The number of bytes of the torn line before this record, and their hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) torn_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) torn_hash: Option<String>,
    /// The number of acts that could not be recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) missed: Option<u64>,
}

fn check_word(word: &str) -> Result<()> {
    let is_word = (1..=40).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    if is_word {
        return Ok(());
    }
    Err(Error::invalid(
        "acts and reasons are at most 40 lower-case letters and `_`",
    ))
}

fn cut_name(name: &mut String) {
    if name.len() > LONGEST_NAME {
        let end = (0..=LONGEST_NAME).rev().find(|end| name.is_char_boundary(*end));
        name.truncate(end.unwrap_or(0));
        name.push('…');
    }
}

/// Actors in their text form.
mod actor_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use crate::caller::TeamActor;

    pub(super) fn serialize<S: Serializer>(actor: &TeamActor, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(actor)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TeamActor, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
