//! Secrets that were found, to be recognised where other texts repeat them or a part of them.

use std::collections::HashMap;

use loci_secrets::{SecretKind, SecretSpan};

/// The shortest part of a secret that is recognised where a line begins or a text ends with it.
const LEAST_PART: usize = 6;

/// The most places in secrets that begin with the same bytes and are looked at. A secret of one repeated character has
/// as many as it has bytes.
const MOST_PLACES: usize = 64;

/// A place in a secret: the number of the secret, and the offset.
type SecretPlace = (usize, usize);

/// The secrets of a source, found in a text in time that depends on the text alone.
#[derive(Debug, Default)]
pub(crate) struct KnownSecrets {
    secrets: Vec<(String, SecretKind)>,
    /// Every place of every secret, by the bytes it begins with.
    places: HashMap<[u8; LEAST_PART], Vec<SecretPlace>>,
}

impl KnownSecrets {
    /// Adds a secret.
    pub(crate) fn add(&mut self, secret: &str, kind: SecretKind) {
        let number = self.secrets.len();
        for (offset, window) in secret.as_bytes().windows(LEAST_PART).enumerate() {
            let places = window
                .try_into()
                .map(|key: [u8; LEAST_PART]| self.places.entry(key).or_default());
            if let Ok(places) = places
                && places.len() < MOST_PLACES
                && secret.is_char_boundary(offset)
            {
                places.push((number, offset));
            }
        }
        self.secrets.push((secret.to_owned(), kind));
    }

    /// Finds the secrets in a text: those in `own`, whole ones, and parts of them with which a line begins or the text
    /// ends. The spans are in order and do not overlap.
    pub(crate) fn find_in(&self, text: &str, own: &[SecretSpan]) -> Vec<SecretSpan> {
        let mut found: Vec<SecretSpan> = own.to_vec();
        if !self.secrets.is_empty() {
            let places = text.char_indices().map(|(at, _)| at);
            found.extend(places.filter_map(|at| self.find_at(text, at)));
            found.extend(self.find_at_end(text));
        }
        found.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut joined: Vec<SecretSpan> = Vec::with_capacity(found.len());
        for span in found {
            match joined.last_mut().filter(|last| span.start < last.end) {
                Some(last) => last.end = last.end.max(span.end),
                None => joined.push(span),
            }
        }
        joined
    }

    /// Returns the places in secrets that begin like `bytes`.
    fn places_of(&self, bytes: &[u8]) -> &[SecretPlace] {
        let key = bytes.first_chunk::<LEAST_PART>();
        key.and_then(|key| self.places.get(key))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the longest secret that the text has here or, where a line begins, the longest end of one.
    fn find_at(&self, text: &str, at: usize) -> Option<SecretSpan> {
        let rest = text.get(at..)?;
        let begins_line = at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n');
        let places = self.places_of(rest.as_bytes()).iter();
        let matches = places.filter_map(|(number, offset)| {
            let (secret, kind) = self.secrets.get(*number)?;
            let part = secret.get(*offset..)?;
            let fits = (*offset == 0 || begins_line) && rest.starts_with(part);
            fits.then_some((part.len(), *kind))
        });
        matches
            .max_by_key(|(length, _)| *length)
            .map(|(length, kind)| SecretSpan {
                start: at,
                end: at + length,
                kind,
            })
    }

    /// Returns the longest beginning of a secret that the text ends with.
    fn find_at_end(&self, text: &str) -> Option<SecretSpan> {
        let last = text.len().checked_sub(LEAST_PART)?;
        let places = self.places_of(text.as_bytes().get(last..)?).iter();
        let matches = places.filter_map(|(number, offset)| {
            let (secret, kind) = self.secrets.get(*number)?;
            let part = secret.get(..offset + LEAST_PART)?;
            text.ends_with(part).then_some((part.len(), *kind))
        });
        matches
            .max_by_key(|(length, _)| *length)
            .map(|(length, kind)| SecretSpan {
                start: text.len() - length,
                end: text.len(),
                kind,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_their_ends_and_beginnings_are_found_in_what_repeats_them() {
        let mut known = KnownSecrets::default();
        known.add("abcdefghij", SecretKind::Password);
        let find = |text: &str| -> Vec<String> {
            let found = known.find_in(text, &[]);
            found
                .iter()
                .map(|span| text[span.start..span.end].to_owned())
                .collect()
        };
        assert_eq!(find("x abcdefghij y abcdefghij"), ["abcdefghij", "abcdefghij"]);
        assert_eq!(find("title\nefghij, then more"), ["efghij"]);
        assert_eq!(find("and it begins abcdef"), ["abcdef"]);
        assert_eq!(find("fghij too short abcde"), [""; 0]);
        assert_eq!(find("in the middle defghij it may be a word"), [""; 0]);
    }
}
