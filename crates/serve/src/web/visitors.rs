//! Visitors: the links that sign a browser in, and the cookies of those that are signed in.
//!
//! Both are random, live in memory and end with the process. A link is used up by the first browser that opens it. One
//! that is given to a program as an argument can be read by other users of this machine for as long as that runs, so it
//! signs in only browsers of the user who runs the server.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::header::{COOKIE, HeaderMap};
use loci_core::Result;
use loci_web::Visit;
use subtle::ConstantTimeEq as _;

use crate::http::peer_user::{PeerUser, find_peer_user};
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

/// Who may use a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkHolder {
    /// Every browser that has it.
    Anyone,
    /// The user who runs the server.
    OwnUser,
}

/// What becomes of a link that was opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkOutcome {
    /// It is used up, and this cookie is for the browser.
    SignedIn(String),
    /// There is no such link, or no longer.
    Unknown,
    /// It is left as it was, because another user of this machine opened it.
    OtherUser,
    /// It is left as it was, because the system did not tell at this moment who opened it.
    Untold,
}

/// The visitors of a server.
pub(super) struct VisitorList {
    address: SocketAddr,
    cookie_name: String,
    links: Mutex<Vec<(RandomSecret, LinkHolder)>>,
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

    /// Signs in the browser at `peer` that opened the link with this key.
    pub(super) fn sign_in(&self, key: &str, peer: SocketAddr) -> Result<LinkOutcome> {
        // Made before the link is used up, so that a failure leaves it.
        let (secret, visit) = (RandomSecret::make()?, Visit::begin()?);
        let mut links = lock(&self.links);
        let Some(at) = links.iter().position(|(link, _)| link.matches(key)) else {
            return Ok(LinkOutcome::Unknown);
        };
        if links
            .get(at)
            .is_some_and(|(_, holder)| *holder == LinkHolder::OwnUser)
        {
            match find_peer_user(self.address, peer) {
                PeerUser::Own | PeerUser::Untold => {}
                PeerUser::Other => return Ok(LinkOutcome::OtherUser),
                PeerUser::Gone => return Ok(LinkOutcome::Untold),
            }
        }
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
        Ok(LinkOutcome::SignedIn(cookie))
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

    fn make_link(&self, holder: LinkHolder) -> Result<String> {
        let secret = RandomSecret::make()?;
        let url = format!("http://{}{SIGN_IN_PATH}?key={}", self.address, secret.0);
        push_bounded(&mut lock(&self.links), (secret, holder), MOST_LINKS);
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
        self.visitors.make_link(LinkHolder::Anyone)
    }

    /// Makes a link that other users of this machine cannot use even if they see it: for the argument of a program.
    pub fn make_own_link(&self) -> Result<String> {
        self.visitors.make_link(LinkHolder::OwnUser)
    }
}

impl fmt::Debug for SignInLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the links, which must not reach a log.
        f.debug_struct("SignInLinks").finish_non_exhaustive()
    }
}

/// Lists the names and values of the cookies of a request. Those that are not text are left out: programs at other ports
/// of this machine set cookies for all.
pub(crate) fn list_cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(COOKIE).iter();
    let pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    let pairs = pairs.filter_map(|pair| std::str::from_utf8(pair).ok());
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

    fn peer() -> SocketAddr {
        "127.0.0.1:9".parse().unwrap()
    }

    fn cookie_of(outcome: Result<LinkOutcome>) -> Option<String> {
        match outcome.unwrap() {
            LinkOutcome::SignedIn(cookie) => Some(cookie),
            _ => None,
        }
    }

    #[test]
    fn a_link_signs_in_once_and_each_visitor_has_a_cookie() {
        let visitors = visitors();
        let links = SignInLinks::new(visitors.clone());
        let (one, other) = (links.make_link().unwrap(), links.make_link().unwrap());
        assert!(one.starts_with("http://127.0.0.1:8123/sign-in?key="), "{one}");
        assert_eq!(key_of(&one).len(), 64);
        assert_ne!(one, other);
        let cookie = cookie_of(visitors.sign_in(key_of(&one), peer())).unwrap();
        for wrong in [key_of(&one), "", &key_of(&other)[1..]] {
            assert_eq!(visitors.sign_in(wrong, peer()).unwrap(), LinkOutcome::Unknown);
        }
        let pair = cookie.split(';').next().unwrap();
        assert!(pair.starts_with("loci-8123="));
        let found = |cookies: &str| visitors.find_visitor(&with_cookies(cookies)).is_some();
        assert!(found(pair));
        assert!(found(&format!("a=b; loci-8123=forged; {pair}; c")));
        let renamed = pair.replace("8123", "8124");
        for wrong in ["", "loci-8123=", "loci-8123", &pair[..pair.len() - 1], &renamed] {
            assert!(!found(wrong), "{wrong}");
        }
        assert!(cookie_of(visitors.sign_in(key_of(&other), peer())).is_some());
        assert!(!format!("{links:?}").contains(key_of(&other)));
    }

    #[test]
    fn cookies_of_other_programs_hide_none_of_ours() {
        let visitors = visitors();
        let link = visitors.make_link(LinkHolder::Anyone).unwrap();
        let cookie = cookie_of(visitors.sign_in(key_of(&link), peer())).unwrap();
        let mut cookies = b"name=\xc3\xa9\xff; ".to_vec();
        cookies.extend_from_slice(cookie.split(';').next().unwrap().as_bytes());
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_bytes(&cookies).unwrap());
        assert!(visitors.find_visitor(&headers).is_some());
    }

    #[test]
    fn links_and_visitors_are_bounded() {
        let visitors = visitors();
        let make_link = || visitors.make_link(LinkHolder::Anyone).unwrap();
        let sign_in = |link: &str| cookie_of(visitors.sign_in(key_of(link), peer()));
        let links: Vec<String> = (0..=MOST_LINKS).map(|_| make_link()).collect();
        assert!(sign_in(&links[0]).is_none());
        assert!(sign_in(&links[1]).is_some());
        for _ in 0..MOST_VISITORS {
            sign_in(&make_link());
        }
        assert_eq!(lock(&visitors.visitors).len(), MOST_VISITORS);
    }
}
