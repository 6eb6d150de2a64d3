//! Drafts: the drawers a source will have, built one at a time so that a large source is never in memory twice.

pub(crate) mod file;
pub(crate) mod talk;

use std::collections::HashMap;

use loci_core::{DrawerId, Filter, NewDrawer, Provenance};

use crate::seal::{DrawerSeals, SealedSpan};
use file::FileBody;
use talk::TalkBody;

/// The wing and room for the drawers of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DraftShelf {
    /// The wing.
    pub(crate) wing: String,
    /// The room.
    pub(crate) room: String,
}

/// The drawers one source will have.
#[derive(Debug)]
pub(crate) struct SourceDraft {
    /// The source's name.
    pub(crate) source: String,
    /// The wing and room they go to.
    pub(crate) shelf: DraftShelf,
    /// Their ids, in order.
    pub(crate) ids: Vec<DrawerId>,
    /// The document they are cut from.
    pub(crate) body: DraftBody,
    /// Where they come from.
    pub(crate) provenance: Provenance,
}

/// The labels in a drawer that is about to be filed.
#[derive(Debug)]
pub(crate) struct PieceSeals {
    /// Its id.
    pub(crate) id: DrawerId,
    /// Its text, with labels.
    pub(crate) text: String,
    /// The spans of the labels.
    pub(crate) spans: Vec<SealedSpan>,
}

impl PieceSeals {
    /// Returns what its records need.
    pub(crate) fn as_seals(&self) -> DrawerSeals<'_> {
        DrawerSeals {
            id: &self.id,
            text: &self.text,
            spans: &self.spans,
        }
    }
}

/// The document that drawers are cut from.
#[derive(Debug)]
pub(crate) enum DraftBody {
    /// A file.
    File(FileBody),
    /// A conversation.
    Talk(TalkBody),
}

impl SourceDraft {
    /// Drafts the drawers of a source.
    pub(crate) fn new(source: String, shelf: DraftShelf, body: DraftBody, provenance: Provenance) -> Self {
        let mut draft = Self {
            source,
            shelf,
            ids: Vec::new(),
            body,
            provenance,
        };
        draft.name_pieces();
        draft
    }

    /// Gives every piece its id, anew if pieces have changed.
    pub(crate) fn name_pieces(&mut self) {
        let mut naming = PieceNaming::new(&self.source);
        self.ids = match &self.body {
            DraftBody::File(file) => file.piece_texts().map(|text| naming.next_id("", text)).collect(),
            DraftBody::Talk(talk) => talk
                .piece_texts()
                .map(|(owner, text)| naming.next_id(&owner, text))
                .collect(),
        };
    }

    /// Returns the number of drawers.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Builds drawer number `n`, without its vector.
    pub(crate) fn make_drawer(&self, n: usize) -> Option<NewDrawer> {
        let id = self.ids.get(n)?.clone();
        let mut drawer = match &self.body {
            DraftBody::File(file) => file.make_drawer(n, id)?,
            DraftBody::Talk(talk) => talk.make_drawer(n, id)?,
        };
        drawer.place.source = Some(self.source.clone());
        drawer.place.wing = Some(self.shelf.wing.clone());
        drawer.place.room = Some(self.shelf.room.clone());
        drawer.provenance = Some(self.provenance.clone());
        Some(drawer)
    }

    /// Returns the text of drawer number `n`.
    pub(crate) fn piece_text_at(&self, n: usize) -> &str {
        match &self.body {
            DraftBody::File(file) => file.piece_text_at(n),
            DraftBody::Talk(talk) => talk.piece_text_at(n),
        }
    }

    /// Returns the drawers that have labels, with the spans of those.
    pub(crate) fn list_seals(&self) -> Vec<PieceSeals> {
        let spans_of = |n: usize| match &self.body {
            DraftBody::File(file) => (file.spans_of(n), file.piece_text_at(n)),
            DraftBody::Talk(talk) => (talk.spans_of(n), talk.piece_text_at(n)),
        };
        let pieces = self.ids.iter().enumerate().map(|(n, id)| (id, spans_of(n)));
        pieces
            .filter(|(_, (spans, _))| !spans.is_empty())
            .map(|(id, (spans, text))| PieceSeals {
                id: id.clone(),
                text: text.to_owned(),
                spans,
            })
            .collect()
    }

    /// Returns the number of each id.
    pub(crate) fn number_by_id(&self) -> HashMap<&DrawerId, usize> {
        self.ids.iter().enumerate().map(|(n, id)| (id, n)).collect()
    }
}

/// Returns the filter for the drawers of a source.
pub(crate) fn source_filter(source: &str) -> Filter {
    Filter::text_equals("source", source)
}

/// Derives ids from source, message and text, so that a piece keeps its id when others around it change.
#[derive(Debug)]
struct PieceNaming {
    base: blake3::Hasher,
    seen: HashMap<[u8; 16], u64>,
}

impl PieceNaming {
    fn new(source: &str) -> Self {
        // Not from the span: a line inserted at the top of a file would give every piece a new id and a new
        // vector.
        let mut base = blake3::Hasher::new();
        base.update(b"mined!");
        hash_part(&mut base, source);
        Self {
            base,
            seen: HashMap::new(),
        }
    }

    /// Derives the id of the next piece. Equal texts of one owner are numbered, so each gets its own id.
    fn next_id(&mut self, owner: &str, text: &str) -> DrawerId {
        let mut hasher = self.base.clone();
        hash_part(&mut hasher, owner);
        hash_part(&mut hasher, text);
        let mut key = [0; 16];
        hasher.finalize_xof().fill(&mut key);
        let nth = self.seen.entry(key).or_default();
        hasher.update(&nth.to_le_bytes());
        *nth += 1;
        let hex: String = hasher.finalize().to_hex().chars().take(32).collect();
        DrawerId::new(hex).expect("32 hex characters are an id")
    }
}

/// Hashes the length before the text, so that different lists of texts never hash alike.
fn hash_part(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_keeps_its_id_when_others_come_and_go_around_it() {
        let ids = |texts: &[&str]| {
            let mut naming = PieceNaming::new("s");
            texts
                .iter()
                .map(|text| naming.next_id("", text))
                .collect::<Vec<_>>()
        };
        let (before, after) = (ids(&["a", "b", "a"]), ids(&["new", "a", "b", "a"]));
        assert_eq!(before, after[1..]);
        assert_ne!(before[0], before[2], "the same text twice is two pieces");
    }

    #[test]
    fn sources_and_messages_have_pieces_of_their_own() {
        let id = |source: &str, owner: &str, text: &str| PieceNaming::new(source).next_id(owner, text);
        assert_ne!(id("s", "", "ab"), id("t", "", "ab"));
        assert_ne!(id("s", "", "ab"), id("s", "a", "b"));
        assert_ne!(id("s", "m1", "yes"), id("s", "m2", "yes"));
    }

    #[test]
    fn ids_stay_the_same_over_releases() {
        let id = PieceNaming::new("/notes.md").next_id("", "Ship it.");
        assert_eq!(id.as_str(), "1f584ede51590dba0d36c114f5055a38");
    }
}
