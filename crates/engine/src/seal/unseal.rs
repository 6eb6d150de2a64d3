//! Unsealing: texts with their secrets, for the owner of the key.

use std::collections::HashMap;

use loci_core::{Collection, Drawer, DrawerId, Error, ErrorKind, GetRequest, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::cipher::{decrypt, fingerprint_of};
use super::records::FoundSeals;
use super::span::{SealedSpan, field_text, set_field_text};
use crate::keys::PalaceKey;
use crate::palace::Palace;
use crate::show::resolve_id;
use crate::view::DrawerView;

/// Drawers with their secrets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct UnsealReport {
    /// The drawers, in the order of the request.
    pub drawers: Vec<DrawerView>,
    /// The number of labels that were replaced by their secrets.
    pub unsealed: u64,
    /// Ids that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<DrawerId>,
}

impl Palace {
    /// Returns drawers with their secrets. Fails if the key of one of them is not on this machine.
    pub fn unseal(&self, ids: &[DrawerId]) -> Result<UnsealReport> {
        self.access().check_whole("unsealing")?;
        self.read(|session| {
            let mut report = UnsealReport::default();
            let mut found = Vec::new();
            for id in ids {
                match resolve_id(session.reader(), id)? {
                    Some(id) => found.push(id),
                    None => report.missing.push(id.clone()),
                }
            }
            let mut drawers = session.reader().get(&GetRequest::by_ids(found))?;
            let mut unsealer = Unsealer::new(self, session.collection());
            report.unsealed = unsealer.unseal_all(&mut drawers)?;
            report.drawers = drawers.into_iter().map(DrawerView::from).collect();
            Ok(report)
        })
    }
}

/// Replaces labels by their secrets.
pub(crate) struct Unsealer<'a> {
    palace: &'a Palace,
    collection: &'a dyn Collection,
    /// The keys found so far, by fingerprint.
    keys: HashMap<String, PalaceKey>,
}

impl<'a> Unsealer<'a> {
    /// Prepares to unseal drawers of a collection.
    pub(crate) fn new(palace: &'a Palace, collection: &'a dyn Collection) -> Self {
        Self {
            palace,
            collection,
            keys: HashMap::new(),
        }
    }

    /// Replaces the labels in drawers; returns their number.
    pub(crate) fn unseal_all(&mut self, drawers: &mut [Drawer]) -> Result<u64> {
        let seals = FoundSeals::look_up(self.collection, drawers.iter())?;
        let secrets = seals.find_secrets(self.collection)?;
        let mut unsealed = 0;
        for drawer in drawers {
            let spans = seals.spans_of(&drawer.id).to_vec();
            unsealed += self.unseal_drawer(drawer, spans, &secrets)?;
        }
        Ok(unsealed)
    }

    fn unseal_drawer(
        &mut self,
        drawer: &mut Drawer,
        mut spans: Vec<SealedSpan>,
        secrets: &HashMap<String, String>,
    ) -> Result<u64> {
        let text = drawer.document.as_deref().unwrap_or_default();
        spans.retain(|span| span.is_met_by(text, drawer.metadata.as_ref()));
        // From the back, so that the places before stay as they are; of several at one place, the first.
        spans.sort_by(|one, other| {
            let place = |span: &SealedSpan| (span.field.clone(), span.nth, span.start);
            place(other).cmp(&place(one))
        });
        spans.dedup_by(|one, other| one.is_at_place_of(other));
        for span in &spans {
            let sealed = secrets
                .get(&span.tag)
                .ok_or_else(|| missing_secret_error(&drawer.id, span))?;
            let secret = self.open_secret(&drawer.id, &span.tag, sealed)?;
            match (&span.field, &mut drawer.document, &mut drawer.metadata) {
                (None, Some(document), _) => document.replace_range(span.start..span.end, &secret),
                (Some(key), _, Some(metadata)) => {
                    let mut text = field_text(metadata, key, span.nth).unwrap_or_default().to_owned();
                    text.replace_range(span.start..span.end, &secret);
                    set_field_text(metadata, key, span.nth, text);
                }
                _ => {}
            }
        }
        Ok(spans.len() as u64)
    }

    /// Decrypts a secret of a drawer.
    pub(super) fn open_secret(&mut self, id: &DrawerId, tag: &str, sealed: &str) -> Result<String> {
        let damaged = || {
            Error::new(
                ErrorKind::Corrupt,
                format!("the secret {tag} of the drawer {} is damaged", id.as_str()),
            )
            .with_hint("its words are not affected; the other secrets can still be shown")
        };
        let fingerprint = fingerprint_of(sealed).ok_or_else(damaged)?;
        if !self.keys.contains_key(fingerprint) {
            let key = self.palace.find_key(fingerprint)?;
            self.keys.insert(
                fingerprint.to_owned(),
                key.ok_or_else(|| lost_key_error(fingerprint))?,
            );
        }
        let key = self.keys.get(fingerprint);
        key.and_then(|key| decrypt(key, tag, sealed)).ok_or_else(damaged)
    }
}

fn lost_key_error(fingerprint: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("the key that opens these secrets ({fingerprint}) is not on this machine"),
    )
    .with_hint("bring it with `loci key import FILE`; without it, everything but the secrets can be read")
}

fn missing_secret_error(id: &DrawerId, span: &SealedSpan) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!(
            "the secret {} ({}) of the drawer {} is not in the palace any more",
            span.tag,
            span.kind,
            id.as_str()
        ),
    )
    .with_hint("a backup may still hold it; its words are not affected")
}
