//! The configuration of an issuer.

use std::path::PathBuf;

use loci_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::algorithm::TokenAlgorithm;
use super::fetch::KeyAddress;
use super::key_cache::KeySource;
use crate::rights::TeamRights;

/// The longest leeway: five minutes. Longer would keep expired tokens alive.
const LONGEST_LEEWAY: u64 = 300;

/// The most bytes of an issuer's name.
const LONGEST_ISSUER: usize = 500;

/// An issuer of tokens, such as the identity provider of a company.
///
/// ```
/// let config: loci_team::TokenIssuerConfig = serde_json::from_str(r#"{
///     "issuer": "https://id.example",
///     "audiences": ["https://memory.example"],
///     "jwks_url": "https://id.example/keys",
///     "grants": [{"claim": "groups", "value": "garden-team", "grants": ["work/garden:read,write"]}]
/// }"#)?;
/// assert_eq!((config.user_claim.as_str(), config.leeway_seconds), ("sub", 60));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenIssuerConfig {
    /// The issuer's URL, exactly as its tokens name it.
    pub issuer: String,
    /// The names that this server has for the issuer; a token must be made for one of them.
    pub audiences: Vec<String>,
    /// The file with the issuer's public keys; either this or `jwks_url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_file: Option<PathBuf>,
    /// The address of the issuer's public keys: https, or http on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_url: Option<String>,
    /// The algorithms that are allowed; RS256, ES256 and EdDSA unless others are named.
    #[serde(default = "usual_algorithms")]
    pub algorithms: Vec<TokenAlgorithm>,
    /// The seconds by which clocks may differ.
    #[serde(default = "usual_leeway")]
    pub leeway_seconds: u64,
    /// The claim that names the user.
    #[serde(default = "usual_user_claim")]
    pub user_claim: String,
    /// The rights that follow from claims; each grant adds to the others.
    #[serde(default)]
    pub grants: Vec<ClaimGrant>,
}

/// Rights for those whose token has a claim with this value, or with a list that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimGrant {
    /// The name of the claim. One that begins with `/` is a path of keys: `/realm_access/roles`.
    pub claim: String,
    /// The value.
    pub value: String,
    /// The rights.
    pub grants: TeamRights,
}

fn usual_algorithms() -> Vec<TokenAlgorithm> {
    TokenAlgorithm::USUAL.to_vec()
}

fn usual_leeway() -> u64 {
    60
}

fn usual_user_claim() -> String {
    "sub".to_owned()
}

impl TokenIssuerConfig {
    /// Checks the configuration and returns the place of the keys.
    pub(super) fn check(&self) -> Result<KeySource> {
        let refuse = |what: &str| {
            Err(Error::invalid(format!("the issuer {:?} {what}", self.issuer))
                .with_hint("correct the configuration; the server was not changed"))
        };
        // A `#` would make two actors of the audit log look the same, and no issuer's URL has one.
        let is_url = self.issuer.starts_with("https://") || self.issuer.starts_with("http://");
        let has_odd = |c: char| c == '#' || c.is_whitespace() || c.is_control();
        if !is_url || self.issuer.len() > LONGEST_ISSUER || self.issuer.contains(has_odd) {
            return refuse("is not an http or https URL without `#`");
        }
        if self.audiences.is_empty() || self.audiences.iter().any(String::is_empty) {
            return refuse("needs at least one audience, the name that it has for this server");
        }
        if self.algorithms.is_empty() {
            return refuse("allows no algorithm");
        }
        if self.leeway_seconds > LONGEST_LEEWAY {
            return refuse(&format!("has a leeway of more than {LONGEST_LEEWAY} seconds"));
        }
        let has_empty = |grant: &ClaimGrant| grant.claim.is_empty() || grant.value.is_empty();
        if self.user_claim.is_empty() || self.grants.iter().any(has_empty) {
            return refuse("has a claim or value without a name");
        }
        match (&self.jwks_file, &self.jwks_url) {
            (Some(file), None) => Ok(KeySource::File(file.clone())),
            (None, Some(url)) => KeyAddress::parse(url).map(KeySource::Url),
            _ => refuse("needs either jwks_file or jwks_url"),
        }
    }
}
