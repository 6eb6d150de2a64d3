//! The claims of a verified token: whom it is for, when, about whom, and the rights that follow.

use loci_core::Timestamp;
use serde_json::{Map, Value};

use super::config::TokenIssuerConfig;
use crate::caller::SignInRefusal;
use crate::rights::TeamRights;

/// The most bytes of a subject.
const LONGEST_SUBJECT: usize = 256;

/// Claims that were accepted.
#[derive(Debug)]
pub(super) struct AcceptedClaims {
    pub(super) subject: String,
    pub(super) rights: TeamRights,
}

impl TokenIssuerConfig {
    /// Checks the claims of a token whose issuer and signature are right.
    pub(super) fn check_claims(
        &self,
        claims: &Map<String, Value>,
        now: Timestamp,
    ) -> Result<AcceptedClaims, SignInRefusal> {
        self.check_audience(claims.get("aud"))?;
        self.check_times(claims, now)?;
        let subject = claims.get(&self.user_claim).and_then(Value::as_str);
        let is_name = |subject: &&str| {
            (1..=LONGEST_SUBJECT).contains(&subject.len()) && !subject.chars().any(char::is_control)
        };
        let subject = subject.filter(is_name).ok_or(SignInRefusal::Claims)?;
        Ok(AcceptedClaims {
            subject: subject.to_owned(),
            rights: self.rights_of(claims)?,
        })
    }

    /// One of our audiences must be named exactly, alone or in a list of names.
    fn check_audience(&self, audience: Option<&Value>) -> Result<(), SignInRefusal> {
        let is_ours = |name: &Value| {
            name.as_str()
                .is_some_and(|name| self.audiences.iter().any(|own| own == name))
        };
        let is_named = match audience {
            Some(one @ Value::String(_)) => is_ours(one),
            Some(Value::Array(list)) => list.iter().all(Value::is_string) && list.iter().any(is_ours),
            _ => false,
        };
        if is_named {
            Ok(())
        } else {
            Err(SignInRefusal::Audience)
        }
    }

    /// A token must say when it expires. Clocks may differ by the leeway.
    fn check_times(&self, claims: &Map<String, Value>, now: Timestamp) -> Result<(), SignInRefusal> {
        let now = now.as_micros() as f64 / 1e6;
        let leeway = self.leeway_seconds as f64;
        let expires = read_time(claims, "exp")?.ok_or(SignInRefusal::Claims)?;
        if now >= expires + leeway {
            return Err(SignInRefusal::Expired);
        }
        for name in ["nbf", "iat"] {
            if read_time(claims, name)?.is_some_and(|begins| begins > now + leeway) {
                return Err(SignInRefusal::NotYetValid);
            }
        }
        Ok(())
    }

    fn rights_of(&self, claims: &Map<String, Value>) -> Result<TeamRights, SignInRefusal> {
        let granted = self
            .grants
            .iter()
            .filter(|grant| holds_value(claims, &grant.claim, &grant.value))
            .flat_map(|grant| grant.grants.grants().iter().cloned());
        // Each list was checked; only all of them together may be too many.
        TeamRights::new(granted).map_err(|_| SignInRefusal::Claims)
    }
}

/// Reads a time in seconds since 1970. A time of another type is refused rather than ignored.
fn read_time(claims: &Map<String, Value>, name: &str) -> Result<Option<f64>, SignInRefusal> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = value.as_f64().filter(|seconds| seconds.abs() < 1e12);
    seconds.map(Some).ok_or(SignInRefusal::Claims)
}

/// Reports whether a claim is this value, or a list with it. The claim `scope` is a list with spaces between. A claim that
/// begins with `/` is a path of keys, such as `/realm_access/roles`.
fn holds_value(claims: &Map<String, Value>, claim: &str, value: &str) -> bool {
    match find_claim(claims, claim) {
        Some(Value::String(text)) if claim == "scope" => text.split(' ').any(|word| word == value),
        Some(Value::String(text)) => text == value,
        Some(Value::Array(list)) => list.iter().any(|one| one == value),
        _ => false,
    }
}

fn find_claim<'a>(claims: &'a Map<String, Value>, claim: &str) -> Option<&'a Value> {
    let Some(path) = claim.strip_prefix('/') else {
        return claims.get(claim);
    };
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let mut value = claims.get(first)?;
    for key in rest.split('/').filter(|key| !key.is_empty()) {
        value = value.as_object()?.get(key)?;
    }
    Some(value)
}
