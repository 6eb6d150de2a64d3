//! The digests of palaces: one over every drawer, and those of two palaces that are walked side by side, calculated once
//! for as long as they agree.

use loci_core::{CollectionName, Drawer, Metric};

use crate::canonical::{have_same_content, write_canonical};

/// The bytes that are hashed at once: many short pieces one by one would take several times as long.
const BLOCK: usize = 1 << 16;

/// The digest of a palace so far: equal for palaces of equal content, whatever backend holds them.
#[derive(Debug, Clone, Default)]
pub(crate) struct PalaceDigest {
    hasher: blake3::Hasher,
    /// Bytes that wait to be hashed.
    waiting: Vec<u8>,
}

impl PalaceDigest {
    /// Adds a drawer of a collection by this metric, in canonical form or not.
    pub(crate) fn add_drawer(&mut self, name: &CollectionName, metric: Metric, drawer: &Drawer) {
        write_canonical(&mut self.waiting, name, metric, drawer);
        self.hash_full_block();
    }

    /// Adds bytes.
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        self.hash_full_block();
    }

    /// Returns the digest, in hexadecimal.
    pub(crate) fn finish(mut self) -> String {
        self.hasher.update(&self.waiting);
        self.hasher.finalize().to_hex().to_string()
    }

    fn hash_full_block(&mut self) {
        if self.waiting.len() >= BLOCK {
            self.hasher.update(&self.waiting);
            self.waiting.clear();
        }
    }
}

/// The digests of two palaces so far.
#[derive(Debug, Default)]
pub(crate) struct PairedDigests {
    first: PalaceDigest,
    /// That of the second palace, once a drawer differed; before that, both are the same.
    second: Option<PalaceDigest>,
}

impl PairedDigests {
    /// Adds a drawer that both palaces have, in canonical form.
    pub(crate) fn add_pair(
        &mut self,
        name: &CollectionName,
        metric: Metric,
        first: &Drawer,
        second: &Drawer,
    ) {
        if !have_same_content(first, second) {
            self.add_first(name, metric, first);
            self.add_second(name, metric, second);
            return;
        }
        match &mut self.second {
            None => self.first.add_drawer(name, metric, first),
            Some(digest) => {
                let mut bytes = Vec::new();
                write_canonical(&mut bytes, name, metric, first);
                self.first.add_bytes(&bytes);
                digest.add_bytes(&bytes);
            }
        }
    }

    /// Adds a drawer of the first palace.
    pub(crate) fn add_first(&mut self, name: &CollectionName, metric: Metric, drawer: &Drawer) {
        self.part();
        self.first.add_drawer(name, metric, drawer);
    }

    /// Adds a drawer of the second palace.
    pub(crate) fn add_second(&mut self, name: &CollectionName, metric: Metric, drawer: &Drawer) {
        self.part().add_drawer(name, metric, drawer);
    }

    /// Returns both digests, in hexadecimal.
    pub(crate) fn finish(self) -> [String; 2] {
        let first = self.first.finish();
        let second = self.second.map_or_else(|| first.clone(), PalaceDigest::finish);
        [first, second]
    }

    /// Begins to calculate the second digest on its own, and returns it.
    fn part(&mut self) -> &mut PalaceDigest {
        self.second.get_or_insert_with(|| self.first.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::to_canonical;
    use loci_core::DrawerId;

    fn drawer(id: &str, text: &str) -> Drawer {
        to_canonical(Drawer {
            document: Some(text.to_owned()),
            ..Drawer::with_id_only(DrawerId::new(id).unwrap())
        })
    }

    /// The digest of drawers on their own.
    fn digest_alone(drawers: &[&Drawer]) -> String {
        let name = CollectionName::new("drawers").unwrap();
        let mut digest = PalaceDigest::default();
        for drawer in drawers {
            digest.add_drawer(&name, Metric::Cosine, drawer);
        }
        digest.finish()
    }

    #[test]
    fn both_digests_are_those_of_either_palace_alone() {
        let name = CollectionName::new("drawers").unwrap();
        let (a, b, c) = (drawer("a", "one"), drawer("b", "two"), drawer("c", "three"));
        let other = drawer("b", "changed");
        let digests = |walk: &dyn Fn(&mut PairedDigests)| {
            let mut digests = PairedDigests::default();
            walk(&mut digests);
            digests.finish()
        };
        let equal = digests(&|digests| {
            for drawer in [&a, &b, &c] {
                digests.add_pair(&name, Metric::Cosine, drawer, drawer);
            }
        });
        assert_eq!(equal, [digest_alone(&[&a, &b, &c]), digest_alone(&[&a, &b, &c])]);
        let changed = digests(&|digests| {
            digests.add_pair(&name, Metric::Cosine, &a, &a);
            digests.add_pair(&name, Metric::Cosine, &b, &other);
            digests.add_pair(&name, Metric::Cosine, &c, &c);
        });
        assert_eq!(
            changed,
            [digest_alone(&[&a, &b, &c]), digest_alone(&[&a, &other, &c])]
        );
        let missing = digests(&|digests| {
            digests.add_pair(&name, Metric::Cosine, &a, &a);
            digests.add_first(&name, Metric::Cosine, &b);
            digests.add_second(&name, Metric::Cosine, &other);
            digests.add_second(&name, Metric::Cosine, &c);
        });
        assert_eq!(
            missing,
            [digest_alone(&[&a, &b]), digest_alone(&[&a, &other, &c])]
        );
        let only_first = digests(&|digests| digests.add_first(&name, Metric::Cosine, &a));
        assert_eq!(only_first, [digest_alone(&[&a]), digest_alone(&[])]);
    }

    #[test]
    fn a_digest_does_not_depend_on_how_many_bytes_wait() {
        let name = CollectionName::new("drawers").unwrap();
        let drawers: Vec<Drawer> = (0..40)
            .map(|n| drawer(&format!("{n:02}"), &"word ".repeat(n * 100)))
            .collect();
        let mut digest = PalaceDigest::default();
        let mut bytes = Vec::new();
        for drawer in &drawers {
            digest.add_drawer(&name, Metric::Cosine, drawer);
            write_canonical(&mut bytes, &name, Metric::Cosine, drawer);
        }
        assert!(bytes.len() > 2 * BLOCK, "several blocks");
        assert_eq!(digest.finish(), blake3::hash(&bytes).to_hex().to_string());
    }
}
