//! A draft: the drawers a source is to have, made one at a time so that a large source is never in memory twice.

pub(crate) mod file;
pub(crate) mod talk;

use std::collections::HashMap;

use loci_core::{DrawerId, FilingDoor, Filter, NewDrawer, OriginKind, Provenance};

use file::FileBody;
use talk::TalkBody;

/// Where the drawers of a source are filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shelf {
    /// The wing.
    pub(crate) wing: String,
    /// The room.
    pub(crate) room: String,
}

/// The drawers one source is to have.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The source's name.
    pub(crate) source: String,
    /// Where they go.
    pub(crate) shelf: Shelf,
    /// The ids, in order.
    pub(crate) ids: Vec<DrawerId>,
    /// What they are cut from.
    pub(crate) body: Body,
    /// The door they come through.
    door: FilingDoor,
}

/// What drawers are cut from.
#[derive(Debug)]
pub(crate) enum Body {
    /// A file.
    File(FileBody),
    /// A conversation.
    Talk(TalkBody),
}

impl Draft {
    /// Drafts a source.
    pub(crate) fn new(source: String, shelf: Shelf, body: Body, door: FilingDoor) -> Self {
        let mut naming = Naming::new(&source);
        let ids = match &body {
            Body::File(file) => file.texts().map(|text| naming.next("", text)).collect(),
            Body::Talk(talk) => talk
                .texts()
                .map(|(owner, text)| naming.next(&owner, text))
                .collect(),
        };
        Self {
            source,
            shelf,
            ids,
            body,
            door,
        }
    }

    fn provenance(&self) -> Provenance {
        let origin = match (&self.body, self.door) {
            (Body::File(_), _) => OriginKind::File,
            (Body::Talk(_), FilingDoor::Hook) => OriginKind::HarnessTranscript,
            (Body::Talk(_), _) => OriginKind::LooseTranscript,
        };
        Provenance::new(self.door, origin)
    }

    /// How many drawers there are.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Drawer number `n`, without its vector.
    pub(crate) fn drawer(&self, n: usize) -> Option<NewDrawer> {
        let id = self.ids.get(n)?.clone();
        let mut drawer = match &self.body {
            Body::File(file) => file.drawer(n, id)?,
            Body::Talk(talk) => talk.drawer(n, id)?,
        };
        drawer.place.source = Some(self.source.clone());
        drawer.place.wing = Some(self.shelf.wing.clone());
        drawer.place.room = Some(self.shelf.room.clone());
        drawer.provenance = Some(self.provenance());
        Some(drawer)
    }

    /// Which number each id has.
    pub(crate) fn numbers(&self) -> HashMap<&DrawerId, usize> {
        self.ids.iter().enumerate().map(|(n, id)| (id, n)).collect()
    }
}

/// The drawers of a source.
pub(crate) fn of_source(source: &str) -> Filter {
    Filter::text("source", source)
}

/// Gives ids that follow from source, message and text, so that a piece keeps its id when others around it change.
#[derive(Debug)]
struct Naming {
    base: blake3::Hasher,
    seen: HashMap<[u8; 16], u64>,
}

impl Naming {
    fn new(source: &str) -> Self {
        let mut base = blake3::Hasher::new();
        base.update(b"mined!");
        part(&mut base, source);
        Self {
            base,
            seen: HashMap::new(),
        }
    }

    /// The id of the next piece: the same text of the same owner gets another one each time.
    fn next(&mut self, owner: &str, text: &str) -> DrawerId {
        let mut hasher = self.base.clone();
        part(&mut hasher, owner);
        part(&mut hasher, text);
        let mut key = [0; 16];
        hasher.finalize_xof().fill(&mut key);
        let nth = self.seen.entry(key).or_default();
        hasher.update(&nth.to_le_bytes());
        *nth += 1;
        let hex: String = hasher.finalize().to_hex().chars().take(32).collect();
        DrawerId::new(hex).expect("32 hex characters are an id")
    }
}

/// Length before text, so that no two lists of texts run together.
fn part(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_keeps_its_id_when_others_come_and_go_around_it() {
        let ids = |texts: &[&str]| {
            let mut naming = Naming::new("s");
            texts.iter().map(|text| naming.next("", text)).collect::<Vec<_>>()
        };
        let (before, after) = (ids(&["a", "b", "a"]), ids(&["new", "a", "b", "a"]));
        assert_eq!(before, after[1..]);
        assert_ne!(before[0], before[2], "the same text twice is two pieces");
    }

    #[test]
    fn sources_and_messages_have_pieces_of_their_own() {
        let id = |source: &str, owner: &str, text: &str| Naming::new(source).next(owner, text);
        assert_ne!(id("s", "", "ab"), id("t", "", "ab"));
        assert_ne!(id("s", "", "ab"), id("s", "a", "b"));
        assert_ne!(id("s", "m1", "yes"), id("s", "m2", "yes"));
    }

    #[test]
    fn ids_stay_the_same_over_releases() {
        let id = Naming::new("/notes.md").next("", "Ship it.");
        assert_eq!(id.as_str(), "1f584ede51590dba0d36c114f5055a38");
    }
}
