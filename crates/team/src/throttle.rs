//! Lock-out by rate: how often a user or an address may try to sign in.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// The most entries of each of the two tables. The longest unused ones are forgotten.
const MOST_ENTRIES: usize = 8192;

/// Wrong attempts of one address at one user's account that cost no wait.
const FREE_ATTEMPTS: u32 = 5;

/// The first wait of an address at one account, doubled with each further attempt, and the longest.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// The time without attempts after which those of an address at an account are forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60 * 60);

/// Attempts that an address may make at once, at any accounts, and the time after which it may make one more.
const ADDRESS_BURST: u32 = 30;
const ADDRESS_PAUSE: Duration = Duration::from_secs(6);

/// The longest part of a user's name that is kept: it is text of an attacker.
const LONGEST_NAME: usize = 64;

/// The time to wait before the next attempt to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryAfter(pub Duration);

impl RetryAfter {
    /// Returns whole seconds, rounded up, as a `Retry-After` header has them.
    pub fn whole_seconds(self) -> u64 {
        self.0.as_secs() + u64::from(self.0.subsec_nanos() > 0)
    }
}

impl fmt::Display for RetryAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "too many attempts to sign in; try again in {} s",
            self.whole_seconds()
        )
    }
}

/// The attempts to sign in of late, by account and address.
///
/// - An address that fails at one account waits longer and longer: five attempts are free, then 2 s, 4 s, up to 15 min.
/// - An address that fails anywhere has thirty attempts, and one more every 6 s.
/// - No address waits because of another: an attacker cannot lock out a user elsewhere, however long it goes on. An
///   attacker with many addresses gets some guesses from each; against that helps a password of ten characters or more.
/// - An attempt counts as failed from the moment it is admitted, so that many at once gain nothing.
///
/// Addresses of IPv6 count by their /64, which one subscriber has as a whole. Memory is bounded: the entries that were not
/// used for longest are forgotten. The clock is handed in.
#[derive(Debug, Default)]
pub struct SignInThrottle {
    accounts: AttemptTable<(IpAddr, String), AccountAttempts>,
    addresses: AttemptTable<IpAddr, AddressAttempts>,
}

/// The attempts of one address at one account.
#[derive(Debug, Clone, Copy, Default)]
struct AccountAttempts {
    count: u32,
    last: Option<Instant>,
}

/// The attempts of one address: `used` of its burst at the moment `since`.
#[derive(Debug, Clone, Copy, Default)]
struct AddressAttempts {
    used: Duration,
    since: Option<Instant>,
}

impl SignInThrottle {
    /// Admits an attempt to sign in and counts it as failed, or tells how long to wait. A refused attempt is not counted.
    pub fn admit(&mut self, user: &str, address: IpAddr, now: Instant) -> Result<(), RetryAfter> {
        let (user, address) = (shorten(user), widen_address(address));
        let account = self.accounts.get_or_add((address, user));
        let place = self.addresses.get_or_add(address);
        let wait = account.wait(now).max(place.wait(now));
        if !wait.is_zero() {
            return Err(RetryAfter(wait));
        }
        account.count(now);
        place.count(now);
        Ok(())
    }

    /// Forgives the attempt that was admitted, and those before it at this account: the credentials were right.
    pub fn note_success(&mut self, user: &str, address: IpAddr) {
        let (user, address) = (shorten(user), widen_address(address));
        self.accounts.remove(&(address, user));
        // Only this attempt is given back: an attacker with one account of its own must not clear its address by it.
        self.addresses.get_or_add(address).forgive();
    }

    /// Returns how many entries are kept.
    pub fn entries(&self) -> usize {
        self.accounts.entries.len() + self.addresses.entries.len()
    }
}

impl AccountAttempts {
    fn wait(&self, now: Instant) -> Duration {
        let Some(last) = self.last else {
            return Duration::ZERO;
        };
        let since = now.saturating_duration_since(last);
        let Some(over) = self.count.checked_sub(FREE_ATTEMPTS) else {
            return Duration::ZERO;
        };
        if since >= FORGOTTEN_AFTER {
            return Duration::ZERO;
        }
        let wait = FIRST_WAIT
            .saturating_mul(2_u32.saturating_pow(over))
            .min(LONGEST_WAIT);
        wait.saturating_sub(since)
    }

    fn count(&mut self, now: Instant) {
        let is_old = self
            .last
            .is_some_and(|last| now.saturating_duration_since(last) >= FORGOTTEN_AFTER);
        self.count = if is_old { 1 } else { self.count.saturating_add(1) };
        self.last = Some(now);
    }
}

impl AddressAttempts {
    /// Returns the time that its attempts are worth, less what has passed since.
    fn used_at(&self, now: Instant) -> Duration {
        let passed = self
            .since
            .map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.used.saturating_sub(passed)
    }

    fn wait(&self, now: Instant) -> Duration {
        let room = ADDRESS_PAUSE * (ADDRESS_BURST - 1);
        self.used_at(now).saturating_sub(room)
    }

    fn count(&mut self, now: Instant) {
        self.used = self.used_at(now) + ADDRESS_PAUSE;
        self.since = Some(now);
    }

    fn forgive(&mut self) {
        self.used = self.used.saturating_sub(ADDRESS_PAUSE);
    }
}

/// A table that forgets the entries that were not used for longest.
#[derive(Debug)]
struct AttemptTable<K, V> {
    entries: HashMap<K, (V, u64)>,
    /// The keys by the turn in which they were used last.
    order: BTreeMap<u64, K>,
    turn: u64,
}

impl<K, V> Default for AttemptTable<K, V> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            order: BTreeMap::new(),
            turn: 0,
        }
    }
}

impl<K: Hash + Eq + Clone, V: Default> AttemptTable<K, V> {
    fn get_or_add(&mut self, key: K) -> &mut V {
        self.turn += 1;
        let turn = self.turn;
        if !self.entries.contains_key(&key)
            && self.entries.len() >= MOST_ENTRIES
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.order.insert(turn, key.clone());
        match self.entries.entry(key) {
            Entry::Occupied(entry) => {
                let (value, used) = entry.into_mut();
                self.order.remove(used);
                *used = turn;
                value
            }
            Entry::Vacant(entry) => &mut entry.insert((V::default(), turn)).0,
        }
    }

    fn remove(&mut self, key: &K) {
        if let Some((_, turn)) = self.entries.remove(key) {
            self.order.remove(&turn);
        }
    }
}

/// Returns the address by which attempts are counted.
fn widen_address(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else {
        return address;
    };
    if let Some(four) = six.to_ipv4_mapped() {
        return IpAddr::V4(four);
    }
    IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() >> 64 << 64))
}

/// Returns the name by which attempts are counted: as the accounts compare it, and short.
fn shorten(user: &str) -> String {
    user.chars()
        .take(LONGEST_NAME)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "192.0.2.1";
    const AWAY: &str = "198.51.100.7";

    fn at(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn an_address_that_fails_at_an_account_waits_longer_and_longer() {
        let mut throttle = SignInThrottle::default();
        let mut now = Instant::now();
        for _ in 0..FREE_ATTEMPTS {
            assert_eq!(throttle.admit("anna", at(HOME), now), Ok(()));
        }
        for wait in [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            assert_eq!(
                throttle.admit("anna", at(HOME), now),
                Err(RetryAfter(seconds(wait)))
            );
            now += seconds(wait) - Duration::from_millis(1);
            assert_eq!(
                throttle.admit("Anna", at(HOME), now).unwrap_err().whole_seconds(),
                1
            );
            now += Duration::from_millis(1);
            assert_eq!(throttle.admit("anna", at(HOME), now), Ok(()));
        }
        now += FORGOTTEN_AFTER;
        for _ in 0..FREE_ATTEMPTS {
            assert_eq!(throttle.admit("anna", at(HOME), now), Ok(()));
        }
        assert!(throttle.admit("anna", at(HOME), now).is_err());
    }

    #[test]
    fn nobody_waits_because_of_another_address() {
        let mut throttle = SignInThrottle::default();
        let now = Instant::now();
        for nth in 0..200_u32 {
            let attacker = IpAddr::V4(std::net::Ipv4Addr::from_bits(0xc633_6400 + nth));
            for _ in 0..50 {
                let _ = throttle.admit("anna", attacker, now);
            }
        }
        assert_eq!(throttle.admit("anna", at(HOME), now), Ok(()));
        throttle.note_success("anna", at(HOME));
        assert_eq!(throttle.admit("anna", at(HOME), now), Ok(()));
    }

    #[test]
    fn a_success_forgives_the_attempts_before_it() {
        let mut throttle = SignInThrottle::default();
        let now = Instant::now();
        for _ in 0..100 {
            assert_eq!(throttle.admit("anna", at(HOME), now), Ok(()));
            throttle.note_success("anna", at(HOME));
        }
    }

    #[test]
    fn an_address_that_tries_many_accounts_is_slowed_down_as_a_whole() {
        let mut throttle = SignInThrottle::default();
        let mut now = Instant::now();
        let try_next =
            |throttle: &mut SignInThrottle, nth: u32, now| throttle.admit(&format!("u{nth}"), at(AWAY), now);
        for nth in 0..ADDRESS_BURST {
            assert_eq!(try_next(&mut throttle, nth, now), Ok(()));
        }
        assert_eq!(try_next(&mut throttle, 99, now), Err(RetryAfter(ADDRESS_PAUSE)));
        // One account of its own does not help it.
        for nth in 100..110 {
            now += ADDRESS_PAUSE;
            assert_eq!(throttle.admit("own", at(AWAY), now), Ok(()));
            throttle.note_success("own", at(AWAY));
            assert_eq!(try_next(&mut throttle, nth, now), Ok(()));
            assert!(try_next(&mut throttle, nth + 100, now).is_err());
        }
        assert_eq!(throttle.admit("u1", at(HOME), now), Ok(()));
    }

    #[test]
    fn a_subscriber_is_one_address_however_many_it_has() {
        let mut throttle = SignInThrottle::default();
        let now = Instant::now();
        let mut admitted = 0;
        for nth in 0..1000 {
            let address = at(&format!("2001:db8:1:2::{nth:x}"));
            admitted += u32::from(throttle.admit("anna", address, now).is_ok());
        }
        assert_eq!(admitted, FREE_ATTEMPTS);
        assert!(throttle.admit("anna", at("2001:db8:1:3::1"), now).is_ok());
        assert_eq!(widen_address(at("::ffff:192.0.2.1")), at(HOME));
    }

    #[test]
    fn the_tables_stay_small() {
        let mut throttle = SignInThrottle::default();
        let now = Instant::now();
        for nth in 0..20_000_u32 {
            let address = IpAddr::V4(std::net::Ipv4Addr::from_bits(nth));
            let _ = throttle.admit(&"x".repeat(10_000), address, now);
        }
        assert_eq!(throttle.entries(), 2 * MOST_ENTRIES);
        assert_eq!(throttle.accounts.order.len(), throttle.accounts.entries.len());
        assert!(
            throttle
                .accounts
                .entries
                .keys()
                .all(|(_, user)| user.len() == LONGEST_NAME)
        );
    }

    #[test]
    fn a_clock_that_stands_still_or_goes_back_is_no_way_around() {
        let mut throttle = SignInThrottle::default();
        let now = Instant::now() + seconds(100);
        for _ in 0..=FREE_ATTEMPTS {
            let _ = throttle.admit("anna", at(HOME), now);
        }
        assert!(
            throttle
                .admit("anna", at(HOME), now.checked_sub(seconds(50)).unwrap())
                .is_err()
        );
    }
}
