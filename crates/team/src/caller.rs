//! Callers: who asks, with which rights, and why a sign-in was refused.

use std::fmt;
use std::str::FromStr;

use loci_core::{Error, Result};

use crate::accounts::{TokenId, UserStamp};
use crate::rights::TeamRights;

/// Names that are not users. No user can have them.
pub(crate) const RESERVED_NAMES: [&str; 2] = ["anonymous", "server"];

/// One who acts on the server, as the audit log names it.
///
/// The text is the name of a user, `ISSUER#SUBJECT`, `anonymous` or `server`. No two actors share it: a user's name has no
/// `#` and no `:`, an issuer is a URL without `#`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TeamActor {
    /// A request without credentials.
    Anonymous,
    /// The server itself, and its owner's commands on its machine.
    Server,
    /// A user of the accounts file.
    User(String),
    /// The subject of a token of another issuer.
    Foreign {
        /// The issuer, a URL.
        issuer: String,
        /// The subject as the issuer names it.
        subject: String,
    },
}

impl fmt::Display for TeamActor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("anonymous"),
            Self::Server => f.write_str("server"),
            Self::User(name) => f.write_str(name),
            Self::Foreign { issuer, subject } => write!(f, "{issuer}#{subject}"),
        }
    }
}

impl FromStr for TeamActor {
    type Err = Error;

    /// Reads the text form; never fails on a text that was printed.
    fn from_str(text: &str) -> Result<Self> {
        // The first `#`: an issuer has none, a subject may have any.
        if let Some((issuer, subject)) = text.split_once('#') {
            return Ok(Self::Foreign {
                issuer: issuer.to_owned(),
                subject: subject.to_owned(),
            });
        }
        match text {
            "anonymous" => Ok(Self::Anonymous),
            "server" => Ok(Self::Server),
            "" => Err(Error::invalid("an actor has a name")),
            name => Ok(Self::User(name.to_owned())),
        }
    }
}

/// A caller whose credentials were accepted, with its rights at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamCaller {
    /// Who it is.
    pub actor: TeamActor,
    /// The token that was shown, if it was one of ours.
    pub token: Option<TokenId>,
    /// The rights: those of the user, narrowed by those of the token.
    pub rights: TeamRights,
    /// The state of the user's account, to which a session is bound; `None` for subjects of other issuers.
    pub stamp: Option<UserStamp>,
}

/// The outcome of showing credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignInOutcome {
    /// The credentials are right.
    Granted(TeamCaller),
    /// They are not. The reason is for the audit log; the client is told nothing.
    Refused(SignInRefusal),
}

impl SignInOutcome {
    /// Returns the caller if the credentials were accepted.
    pub fn granted(self) -> Option<TeamCaller> {
        match self {
            Self::Granted(caller) => Some(caller),
            Self::Refused(_) => None,
        }
    }

    /// Returns the reason if they were not.
    pub fn refusal(&self) -> Option<SignInRefusal> {
        match self {
            Self::Granted(_) => None,
            Self::Refused(refusal) => Some(*refusal),
        }
    }
}

impl From<SignInRefusal> for SignInOutcome {
    fn from(refusal: SignInRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The reason why credentials were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignInRefusal {
    /// They do not have the form of credentials.
    Malformed,
    /// There is no such user.
    UnknownUser,
    /// The user has another password, or none.
    WrongPassword,
    /// The user was disabled.
    Disabled,
    /// There is no such token, or its secret is another one.
    UnknownToken,
    /// The token has expired.
    Expired,
    /// The token was revoked.
    Revoked,
    /// The token is not valid yet.
    NotYetValid,
    /// The token's issuer is not one of those configured.
    UnknownIssuer,
    /// The token is signed with an algorithm that is not allowed.
    Algorithm,
    /// The token does not name exactly one key of its issuer.
    UnknownKey,
    /// The token's signature is not its issuer's.
    Signature,
    /// The token was made for another audience.
    Audience,
    /// The token's claims are missing or of the wrong type.
    Claims,
}

impl SignInRefusal {
    /// Returns the reason as the audit log names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UnknownUser => "unknown_user",
            Self::WrongPassword => "wrong_password",
            Self::Disabled => "disabled",
            Self::UnknownToken => "unknown_token",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::NotYetValid => "not_yet_valid",
            Self::UnknownIssuer => "unknown_issuer",
            Self::Algorithm => "algorithm",
            Self::UnknownKey => "unknown_key",
            Self::Signature => "signature",
            Self::Audience => "audience",
            Self::Claims => "claims",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_read_back_from_its_text_and_is_no_other() {
        let foreign = |issuer: &str, subject: &str| TeamActor::Foreign {
            issuer: issuer.into(),
            subject: subject.into(),
        };
        let actors = [
            TeamActor::Anonymous,
            TeamActor::Server,
            TeamActor::User("anna".into()),
            foreign("https://id.example", "anna"),
            foreign("https://id.example", "#x"),
            foreign("https://id.example", "server"),
        ];
        for actor in actors {
            assert_eq!(actor.to_string().parse::<TeamActor>().unwrap(), actor);
        }
        assert!("".parse::<TeamActor>().is_err());
    }
}
