//! Passwords: hashed slowly with argon2id, and compared in the same time whether or not the user exists.

use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version};
use loci_core::{Error, ErrorKind, Result};

/// The fewest characters of a password.
pub const SHORTEST_PASSWORD: usize = 10;

/// The most bytes of a password.
pub const LONGEST_PASSWORD: usize = 1024;

/// Memory in KiB, passes and lanes of one hash. Stored with each hash, so that they may be raised later.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// The most that a stored hash may ask for: 256 MiB, 20 passes. More would be a way to stop the server.
const MOST_MEMORY_KIB: u32 = 256 * 1024;
const MOST_PASSES: u32 = 20;

/// The most passwords that are compared at once: each needs its memory.
const MOST_AT_ONCE: usize = 2;

/// Hashes a new password.
pub(super) fn hash_password(password: &str) -> Result<String> {
    let refuse = |what: String| Err(Error::invalid(what).with_hint("nothing was changed"));
    if password.chars().count() < SHORTEST_PASSWORD {
        return refuse(format!("a password has at least {SHORTEST_PASSWORD} characters"));
    }
    if password.len() > LONGEST_PASSWORD {
        return refuse(format!("a password has at most {LONGEST_PASSWORD} bytes"));
    }
    make_hash(password)
}

/// Checks a stored hash without a password; the error continues a sentence about it.
pub(super) fn check_stored(stored: &str) -> std::result::Result<(), &'static str> {
    let hash = PasswordHash::new(stored).map_err(|_| "is not a PHC string")?;
    if hash.algorithm.as_str() != "argon2id" {
        return Err("is not hashed with argon2id");
    }
    let params = Params::try_from(&hash).map_err(|_| "has parameters that argon2id does not know")?;
    if params.m_cost() > MOST_MEMORY_KIB || params.t_cost() > MOST_PASSES || params.p_cost() > 4 {
        return Err("asks for too much memory or time");
    }
    if hash.salt.is_none() || hash.hash.is_none() {
        return Err("has no salt or no hash");
    }
    Ok(())
}

/// Lets a few passwords be compared at a time.
#[derive(Debug, Default)]
pub(super) struct PasswordGate {
    comparing: Mutex<usize>,
    done: Condvar,
}

impl PasswordGate {
    /// Compares a password with a stored hash. Without one, the same work is done for nothing.
    pub(super) fn matches(&self, password: &str, stored: Option<&str>) -> Result<bool> {
        if password.len() > LONGEST_PASSWORD {
            return Ok(false);
        }
        let _place = self.enter();
        let dummy = dummy_hash()?;
        let hash = PasswordHash::new(stored.unwrap_or(dummy)).map_err(|_| broken_hash())?;
        let is_same = argon2()?.verify_password(password.as_bytes(), &hash).is_ok();
        Ok(is_same && stored.is_some())
    }

    fn enter(&self) -> GatePlace<'_> {
        let mut comparing = self.comparing.lock().unwrap_or_else(PoisonError::into_inner);
        while *comparing >= MOST_AT_ONCE {
            comparing = self.done.wait(comparing).unwrap_or_else(PoisonError::into_inner);
        }
        *comparing += 1;
        GatePlace(self)
    }
}

/// A place among those that compare now.
struct GatePlace<'a>(&'a PasswordGate);

impl Drop for GatePlace<'_> {
    fn drop(&mut self) {
        let mut comparing = self.0.comparing.lock().unwrap_or_else(PoisonError::into_inner);
        *comparing -= 1;
        self.0.done.notify_one();
    }
}

fn argon2() -> Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|_| broken_hash())?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn make_hash(password: &str) -> Result<String> {
    let made = argon2()?.hash_password(password.as_bytes());
    made.map(|hash| hash.to_string()).map_err(|cause| {
        Error::new(ErrorKind::Io, "the password cannot be hashed")
            .with_context("cause", cause)
            .with_hint("nothing was changed")
    })
}

/// Returns the hash that unknown users are compared with. No password leads to it.
fn dummy_hash() -> Result<&'static str> {
    static DUMMY: OnceLock<String> = OnceLock::new();
    if let Some(dummy) = DUMMY.get() {
        return Ok(dummy);
    }
    let made = make_hash("")?;
    Ok(DUMMY.get_or_init(|| made))
}

fn broken_hash() -> Error {
    Error::new(ErrorKind::Internal, "argon2id refuses its own parameters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_matches_only_its_own_hash() {
        let stored = hash_password("correct horse").unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert_ne!(
            stored,
            hash_password("correct horse").unwrap(),
            "the salt is random"
        );
        assert_eq!(check_stored(&stored), Ok(()));
        let gate = PasswordGate::default();
        assert!(gate.matches("correct horse", Some(&stored)).unwrap());
        assert!(!gate.matches("correct horse ", Some(&stored)).unwrap());
        // The dummy was made of some text, and still no text opens it.
        assert!(!gate.matches("", None).unwrap());
        assert!(
            !gate
                .matches(&"x".repeat(LONGEST_PASSWORD + 1), Some(&stored))
                .unwrap()
        );
    }

    #[test]
    fn passwords_have_a_sane_length() {
        for wrong in ["", "123456789", &"x".repeat(LONGEST_PASSWORD + 1)] {
            assert!(hash_password(wrong).is_err(), "{}", wrong.len());
        }
        assert!(hash_password("zehn Zeich").is_ok());
    }

    #[test]
    fn a_stored_hash_that_asks_for_too_much_is_refused() {
        let salted = "c2FsdHNhbHRzYWx0$+F0k1gdmsK4vqUVVEzJ5S4N+UGLCOWGPYD1XSCSBPA0";
        let check = |head: &str, expect: std::result::Result<(), &str>| {
            assert_eq!(check_stored(&format!("{head}${salted}")), expect, "{head}");
        };
        check("$argon2id$v=19$m=19456,t=2,p=1", Ok(()));
        check(
            "$argon2i$v=19$m=19456,t=2,p=1",
            Err("is not hashed with argon2id"),
        );
        check(
            "$argon2id$v=19$m=4194304,t=2,p=1",
            Err("asks for too much memory or time"),
        );
        check(
            "$argon2id$v=19$m=19456,t=9999,p=1",
            Err("asks for too much memory or time"),
        );
        assert_eq!(check_stored("secret"), Err("is not a PHC string"));
        assert_eq!(
            check_stored("$argon2id$v=19$m=19456,t=2,p=1"),
            Err("has no salt or no hash")
        );
    }
}
