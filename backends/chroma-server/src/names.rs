//! The names under which the server keeps tenants, databases and collections.

use loci_core::CollectionName;

/// The beginning of names that Loci makes; a name that begins so is always made.
const MADE: &str = "loci-";

/// The longest name that every release takes.
const LONGEST: usize = 63;

/// Returns the server's name for a tenant, a database or a collection: `name` itself if every release of Chroma takes
/// it, else one made of its hash.
pub(crate) fn server_name(name: &str) -> String {
    if is_plain(name) {
        return name.to_owned();
    }
    hashed_name("named", name)
}

/// Returns the name of the collection beside the collection that the server calls `name`.
pub(crate) fn side_name(name: &str) -> String {
    hashed_name("side", name)
}

/// Returns the name of a collection of the server as users know it; `None` for one that is not a palace's.
pub(crate) fn shown_name(name: &str, recorded: Option<&str>) -> Option<CollectionName> {
    let shown = match recorded {
        // The record counts only for the name that it makes.
        Some(recorded) if server_name(recorded) == name => recorded,
        _ if name.starts_with(MADE) => return None,
        _ => name,
    };
    CollectionName::new(shown).ok()
}

fn hashed_name(kind: &str, name: &str) -> String {
    let hash = blake3::hash(name.as_bytes()).to_hex();
    let digits = hash.as_str().get(..40).unwrap_or_default();
    format!("{MADE}{kind}-{digits}")
}

fn is_plain(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    let allowed = name.chars().all(|c| is_letter(c) || matches!(c, '_' | '-' | '.'));
    (3..=LONGEST).contains(&name.len())
        && allowed
        && name.starts_with(is_letter)
        && name.ends_with(is_letter)
        && !name.contains("..")
        && name.parse::<std::net::Ipv4Addr>().is_err()
        && !name.starts_with(MADE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_chroma_takes_are_kept_and_others_are_made() {
        for plain in ["drawers", "mempalace_drawers", "a-b.c"] {
            assert_eq!(server_name(plain), plain);
            assert_eq!(shown_name(plain, None).unwrap().as_str(), plain);
        }
        let long = "x".repeat(64);
        for odd in [
            "ab",
            "a..b",
            "a-",
            "1.2.3.4",
            "loci-side-x",
            "ü b/'",
            "",
            long.as_str(),
        ] {
            let made = server_name(odd);
            assert!(is_plain(made.trim_start_matches(MADE)), "{made}");
            assert!(made.len() <= LONGEST && made.starts_with("loci-named-"), "{made}");
        }
        assert_eq!(shown_name(&server_name("ab"), Some("ab")).unwrap().as_str(), "ab");
        assert_eq!(shown_name(&server_name("ab"), Some("cd")), None);
        assert_eq!(shown_name(&side_name("drawers"), None), None);
    }
}
