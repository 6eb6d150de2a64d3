//! Tokens of other issuers: JSON web tokens of an identity provider that the server is told to trust.

use std::sync::Arc;
use std::time::Instant;

use loci_core::{Error, Result, Timestamp};

mod algorithm;
mod claims;
mod config;
mod fetch;
mod jwks;
mod key_cache;
mod signed_token;
mod strict_json;

pub use algorithm::TokenAlgorithm;
pub use config::{ClaimGrant, TokenIssuerConfig};

use crate::caller::{SignInOutcome, SignInRefusal, TeamActor, TeamCaller};
use key_cache::KeyCache;
use signed_token::SignedToken;

/// The issuers whose tokens are accepted.
///
/// A token is accepted if its issuer is configured, it is signed with an allowed algorithm by exactly one key of that issuer,
/// it was made for this server, and it is valid now. Keys come only from the configuration, never from the token. Whatever is
/// ambiguous is refused: keys twice in one object, a header that must be understood and is not, a token without the name of
/// its key where several would do.
#[derive(Debug)]
pub struct TokenIssuers {
    issuers: Vec<KnownIssuer>,
}

/// One issuer and its keys.
#[derive(Debug)]
struct KnownIssuer {
    config: TokenIssuerConfig,
    keys: KeyCache,
}

impl TokenIssuers {
    /// Checks the configuration of some issuers. No file is read and nothing is fetched yet.
    pub fn new(configs: Vec<TokenIssuerConfig>) -> Result<Self> {
        let mut issuers: Vec<KnownIssuer> = Vec::new();
        for config in configs {
            let keys = KeyCache::new(config.check()?);
            if issuers.iter().any(|known| known.config.issuer == config.issuer) {
                let message = format!("the issuer {:?} is configured twice", config.issuer);
                return Err(Error::invalid(message)
                    .with_hint("give it once, with all its audiences; the server was not changed"));
            }
            issuers.push(KnownIssuer { config, keys });
        }
        Ok(Self { issuers })
    }

    /// Reports whether no issuer is configured.
    pub fn is_empty(&self) -> bool {
        self.issuers.is_empty()
    }

    /// Returns the issuers, as resource metadata lists them.
    pub fn list_issuers(&self) -> impl Iterator<Item = &str> {
        self.issuers.iter().map(|known| known.config.issuer.as_str())
    }

    /// Reads or fetches the keys of every issuer now; returns those whose keys cannot be had. Their tokens are refused until
    /// they can.
    pub fn load_keys(&self) -> Vec<(String, Error)> {
        let now = Instant::now();
        let loaded = self.issuers.iter().map(|known| (known, known.keys.load(now)));
        loaded
            .filter_map(|(known, loaded)| Some((known.config.issuer.clone(), loaded.err()?)))
            .collect()
    }

    /// Returns the caller whom a token stands for. It may have no rights at all.
    ///
    /// Fails only if the keys of the token's issuer are not to be had. Mostly it takes less than a millisecond; up to five
    /// seconds, at most once a minute, when keys are fetched.
    pub fn check_token(&self, text: &str, now: Timestamp) -> Result<SignInOutcome> {
        self.check_token_at(text, now, Instant::now())
    }

    /// Returns the caller, with the clock by which keys grow old.
    fn check_token_at(&self, text: &str, now: Timestamp, instant: Instant) -> Result<SignInOutcome> {
        let token = match SignedToken::parse(text) {
            Ok(token) => token,
            Err(refusal) => return Ok(refusal.into()),
        };
        let known = self
            .issuers
            .iter()
            .find(|known| token.issuer() == Some(known.config.issuer.as_str()));
        let Some(known) = known else {
            return Ok(SignInRefusal::UnknownIssuer.into());
        };
        let allowed = known.config.algorithms.iter().copied();
        let Some(algorithm) = allowed
            .into_iter()
            .find(|allowed| allowed.name() == token.algorithm)
        else {
            return Ok(SignInRefusal::Algorithm.into());
        };
        let key = known.keys.find_key(token.key_id.as_deref(), algorithm, instant)?;
        let Some(key) = key else {
            return Ok(SignInRefusal::UnknownKey.into());
        };
        if !key.verifies(algorithm, token.signed, &token.signature) {
            return Ok(SignInRefusal::Signature.into());
        }
        Ok(match known.config.check_claims(&token.claims, now) {
            Ok(accepted) => SignInOutcome::Granted(TeamCaller {
                actor: TeamActor::Foreign {
                    issuer: known.config.issuer.clone(),
                    subject: accepted.subject,
                },
                token: None,
                rights: accepted.rights,
                stamp: None,
            }),
            Err(refusal) => refusal.into(),
        })
    }
}

/// A set of keys that several requests use at once.
type SharedKeys = Arc<jwks::IssuerKeys>;

#[cfg(test)]
mod tests;
