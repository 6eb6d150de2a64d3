//! The digests of two palaces that are walked side by side, calculated once for as long as they agree.

use loci_core::{CollectionName, Drawer, Metric};

use crate::canonical::{canonical_line, have_same_line};

/// The digests of two palaces so far.
#[derive(Debug, Default)]
pub(crate) struct PairedDigests {
    first: blake3::Hasher,
    /// That of the second palace, once a line differed; before that, both are the same.
    second: Option<blake3::Hasher>,
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
        if have_same_line(first, second) {
            let line = canonical_line(name, metric, first);
            for hasher in std::iter::once(&mut self.first).chain(&mut self.second) {
                update_digest(hasher, &line);
            }
        } else {
            self.add_first(name, metric, first);
            self.add_second(name, metric, second);
        }
    }

    /// Adds a drawer of the first palace.
    pub(crate) fn add_first(&mut self, name: &CollectionName, metric: Metric, drawer: &Drawer) {
        self.part();
        update_digest(&mut self.first, &canonical_line(name, metric, drawer));
    }

    /// Adds a drawer of the second palace.
    pub(crate) fn add_second(&mut self, name: &CollectionName, metric: Metric, drawer: &Drawer) {
        update_digest(self.part(), &canonical_line(name, metric, drawer));
    }

    /// Returns both digests, in hexadecimal.
    pub(crate) fn finish(self) -> [String; 2] {
        let first = self.first.finalize();
        let second = self.second.map_or(first, |second| second.finalize());
        [first, second].map(|digest| digest.to_hex().to_string())
    }

    /// Begins to calculate the second digest on its own, and returns it.
    fn part(&mut self) -> &mut blake3::Hasher {
        self.second.get_or_insert_with(|| self.first.clone())
    }
}

fn update_digest(hasher: &mut blake3::Hasher, line: &str) {
    hasher.update(line.as_bytes());
    hasher.update(b"\n");
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
        let mut hasher = blake3::Hasher::new();
        for drawer in drawers {
            update_digest(&mut hasher, &canonical_line(&name, Metric::Cosine, drawer));
        }
        hasher.finalize().to_hex().to_string()
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
}
