//! A drawer on its way in: the secrets in its text, its metadata and its context.

use loci_core::{DrawerId, DrawerPlace, Metadata, MetadataScalar, MetadataValue, NewDrawer, Result};

use super::guard::{SecretGuard, SecretTally};
use super::span::{SealedSpan, field_text, set_field_text};
use crate::ids::derive_id;

/// A drawer with labels, and their spans.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrawerSeals<'d> {
    /// The id of the drawer.
    pub(crate) id: &'d DrawerId,
    /// Its text, with labels.
    pub(crate) text: &'d str,
    /// The spans, with the encrypted secrets.
    pub(crate) spans: &'d [SealedSpan],
}

/// A drawer whose secrets are sealed.
#[derive(Debug, Clone)]
pub(crate) struct SealedDrawer {
    /// The drawer, to be filed.
    pub(crate) drawer: NewDrawer,
    /// The spans of its labels.
    pub(crate) spans: Vec<SealedSpan>,
    /// The secrets that were found.
    pub(crate) found: SecretTally,
}

impl SealedDrawer {
    /// Returns what its records need.
    pub(crate) fn seals(&self) -> DrawerSeals<'_> {
        DrawerSeals {
            id: &self.drawer.id,
            text: &self.drawer.document,
            spans: &self.spans,
        }
    }
}

impl SecretGuard<'_> {
    /// Seals the secrets of a drawer. `spans` are labels it has already, as an export line brings them; those that are
    /// not where they should be are dropped.
    pub(crate) fn guard_drawer(&self, mut drawer: NewDrawer, spans: Vec<SealedSpan>) -> Result<SealedDrawer> {
        let mut found = SecretTally::default();
        let mut spans = spans;
        spans.retain(|span| span.is_met_by(&drawer.document, Some(&drawer.metadata)));
        let has_derived_id = drawer
            .place
            .complete_from(&drawer.metadata)
            .is_ok_and(|place| drawer.id == derive_id(&place, &drawer.document));
        if let Some(sealed) = self.guard_text(&drawer.document, &mut found)? {
            for span in spans.iter_mut().filter(|span| span.is_in_text()) {
                *span = sealed.move_span(span);
            }
            spans.extend(sealed.spans());
            drawer.document = sealed.text;
            // A vector of the words as they were would tell about the secret; the collection's model makes another.
            drawer.embedding = None;
        }
        self.guard_metadata(&mut drawer.metadata, &mut spans, &mut found)?;
        if let Some(context) = &mut drawer.context {
            for part in [&mut context.before, &mut context.after] {
                if let Some(sealed) = self.guard_text(part, &mut SecretTally::default())? {
                    *part = sealed.text;
                    drawer.embedding = None;
                }
            }
        }
        if has_derived_id && let Ok(place) = drawer.place.complete_from(&drawer.metadata) {
            // An id that is a hash of the words as they were would let a short secret be guessed.
            drawer.id = derive_id(&place, &drawer.document);
        }
        Ok(SealedDrawer { drawer, spans, found })
    }

    /// Seals the secrets in metadata, except in fields that say where the drawer is; adds the labels to `spans`.
    pub(crate) fn guard_metadata(
        &self,
        metadata: &mut Metadata,
        spans: &mut Vec<SealedSpan>,
        found: &mut SecretTally,
    ) -> Result<()> {
        for (key, nth) in list_texts(metadata) {
            let Some(text) = field_text(metadata, &key, nth) else {
                continue;
            };
            let Some(sealed) = self.guard_text(text, found)? else {
                continue;
            };
            sealed.add_field_spans(spans, &key, nth);
            set_field_text(metadata, &key, nth, sealed.text);
        }
        Ok(())
    }
}

/// Lists the texts in metadata by key and, in a list, by number.
pub(super) fn list_texts(metadata: &Metadata) -> Vec<(String, Option<usize>)> {
    let mut found = Vec::new();
    for (key, value) in metadata.iter() {
        // The place repeats these, and filters compare them as they are.
        if DrawerPlace::TEXT_KEYS.contains(&key) {
            continue;
        }
        match value {
            MetadataValue::One(MetadataScalar::Text(_)) => found.push((key.to_owned(), None)),
            MetadataValue::One(_) => {}
            MetadataValue::Many(members) => {
                let texts = members.iter().enumerate();
                let texts = texts.filter(|(_, member)| matches!(member, MetadataScalar::Text(_)));
                found.extend(texts.map(|(nth, _)| (key.to_owned(), Some(nth))));
            }
        }
    }
    found
}
