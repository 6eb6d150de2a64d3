//! Visitors: the links that sign a browser in, and the cookies of those that are signed in.
//!
//! Both are random, live in memory and end with the process. A link is used up by the first browser that opens it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::header::{COOKIE, HeaderMap};
use loci_core::Result;
use loci_web::Visit;
use subtle::ConstantTimeEq as _;

use crate::http::random::random_hex;

/// The path of the links that sign in.
pub(super) const SIGN_IN_PATH: &str = "/sign-in";
/// The random bytes in a link or a cookie.
const RANDOM_BYTES: usize = 32;
/// The most links that wait to be used; one more replaces the oldest.
const MOST_LINKS: usize = 16;
/// The most visitors; one more replaces the one that signed in first.
const MOST_VISITORS: usize = 32;

/// A random text that is compared in a time that does not depend on where two differ.
struct RandomSecret(String);

impl RandomSecret {
    fn make() -> Result<Self> {
        random_hex(RANDOM_BYTES).map(Self)
    }

    fn matches(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }
}

/// The visitors of a server.
pub(super) struct VisitorList {
    address: SocketAddr,
    cookie_name: String,
    links: Mutex<Vec<RandomSecret>>,
    visitors: Mutex<Vec<(RandomSecret, Arc<Visit>)>>,
}

impl VisitorList {
    /// Makes the list of a server at `address`, without anyone on it.
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            // With the port: the cookies of one address are shared by all servers there, and two of ours must not take
            // each other's away.
            cookie_name: format!("loci-{}", address.port()),
            links: Mutex::default(),
            visitors: Mutex::default(),
        }
    }

    /// Signs in the browser that opened the link with this key, if there is one, and returns its cookie.
    pub(super) fn sign_in(&self, key: &str) -> Result<Option<String>> {
        // Made before the link is used up, so that a failure leaves it.
        let (secret, visit) = (RandomSecret::make()?, Visit::begin()?);
        let mut links = lock(&self.links);
        let Some(at) = links.iter().position(|link| link.matches(key)) else {
            return Ok(None);
        };
        links.remove(at);
        drop(links);
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict",
            self.cookie_name, secret.0
        );
        push_bounded(
            &mut lock(&self.visitors),
            (secret, Arc::new(visit)),
            MOST_VISITORS,
        );
        Ok(Some(cookie))
    }

    /// Finds the visitor whose cookie a request carries.
    pub(super) fn find_visitor(&self, headers: &HeaderMap) -> Option<Arc<Visit>> {
        let shown =
            list_cookies(headers).filter_map(|(name, value)| (name == self.cookie_name).then_some(value));
        let visitors = lock(&self.visitors);
        // Another server at this address may have set a cookie of the same name, so each is tried.
        shown.take(8).find_map(|shown| {
            let known = visitors.iter().find(|(secret, _)| secret.matches(shown));
            known.map(|(_, visit)| visit.clone())
        })
    }

    fn make_link(&self) -> Result<String> {
        let secret = RandomSecret::make()?;
        let url = format!("http://{}{SIGN_IN_PATH}?key={}", self.address, secret.0);
        push_bounded(&mut lock(&self.links), secret, MOST_LINKS);
        Ok(url)
    }
}

/// Makes the links by which browsers sign in. Clones make links to the same server.
#[derive(Clone)]
pub struct SignInLinks {
    visitors: Arc<VisitorList>,
}

impl SignInLinks {
    pub(super) fn new(visitors: Arc<VisitorList>) -> Self {
        Self { visitors }
    }

    /// Makes a link that signs in the first browser that opens it.
    pub fn make_link(&self) -> Result<String> {
        self.visitors.make_link()
    }
}

impl fmt::Debug for SignInLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the links, which must not reach a log.
        f.debug_struct("SignInLinks").finish_non_exhaustive()
    }
}

/// Lists the names and values of the cookies of a request.
pub(super) fn list_cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';'));
    pairs.filter_map(|pair| pair.trim().split_once('='))
}

fn push_bounded<T>(list: &mut Vec<T>, one: T, most: usize) {
    if list.len() >= most {
        list.remove(0);
    }
    list.push(one);
}

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn visitors() -> Arc<VisitorList> {
        Arc::new(VisitorList::new("127.0.0.1:8123".parse().unwrap()))
    }

    fn key_of(link: &str) -> &str {
        link.rsplit_once('=').unwrap().1
    }

    fn with_cookies(cookies: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_str(cookies).unwrap());
        headers
    }

    #[test]
    fn a_link_signs_in_once_and_each_visitor_has_a_cookie() {
        let visitors = visitors();
        let links = SignInLinks::new(visitors.clone());
        let (one, other) = (links.make_link().unwrap(), links.make_link().unwrap());
        assert!(one.starts_with("http://127.0.0.1:8123/sign-in?key="), "{one}");
        assert_eq!(key_of(&one).len(), 64);
        assert_ne!(one, other);
        let cookie = visitors.sign_in(key_of(&one)).unwrap().unwrap();
        assert!(visitors.sign_in(key_of(&one)).unwrap().is_none());
        assert!(visitors.sign_in("").unwrap().is_none());
        assert!(visitors.sign_in(&key_of(&other)[1..]).unwrap().is_none());
        let pair = cookie.split(';').next().unwrap();
        assert!(pair.starts_with("loci-8123="));
        let found = |cookies: &str| visitors.find_visitor(&with_cookies(cookies)).is_some();
        assert!(found(pair));
        assert!(found(&format!("a=b; loci-8123=forged; {pair}; c")));
        let renamed = pair.replace("8123", "8124");
        for wrong in ["", "loci-8123=", "loci-8123", &pair[..pair.len() - 1], &renamed] {
            assert!(!found(wrong), "{wrong}");
        }
        assert!(visitors.sign_in(key_of(&other)).unwrap().is_some());
        assert!(!format!("{links:?}").contains(key_of(&other)));
    }

    #[test]
    fn links_and_visitors_are_bounded() {
        let visitors = visitors();
        let links: Vec<String> = (0..=MOST_LINKS).map(|_| visitors.make_link().unwrap()).collect();
        assert!(visitors.sign_in(key_of(&links[0])).unwrap().is_none());
        assert!(visitors.sign_in(key_of(&links[1])).unwrap().is_some());
        for _ in 0..MOST_VISITORS {
            let link = visitors.make_link().unwrap();
            visitors.sign_in(key_of(&link)).unwrap();
        }
        assert_eq!(lock(&visitors.visitors).len(), MOST_VISITORS);
    }
}
