//! Notes: words that an agent files, stored once however often it retries.

use loci_core::{
    Collection, CollectionExt, CollectionReader, Drawer, DrawerId, DrawerPlace, Error, ErrorKind, GetRequest,
    Metadata, NewDrawer, OriginKind, Provenance, Receipt, Result, Timestamp, Write,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ids::derive_id;
use crate::palace::{DrawerAct, Palace};
use crate::seal::{DrawerSeals, SealedDrawer, SecretGuard};
use crate::view::address;
use loci_mine::project::tidy_name;

/// The longest text of one call, in bytes.
pub const LONGEST_TEXT: usize = 1 << 20;
/// The longest name of a wing, room or agent, in characters.
const LONGEST_NAME: usize = 128;
/// The longest idempotency key, in bytes.
const LONGEST_KEY: usize = 1024;
/// The most ids in a row that may be taken by other texts.
const MOST_TAKEN: usize = 100;
/// The kind of a note.
const NOTE: &str = "note";

/// A note to file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NoteRequest {
    /// The words, kept verbatim.
    pub text: String,
    /// The wing, in any spelling; for a restricted caller that names none, the first of its wings.
    pub wing: Option<String>,
    /// The room.
    pub room: Option<String>,
    /// The file, conversation or page the words come from.
    pub source: Option<String>,
    /// The speaker.
    pub speaker: Option<String>,
    /// The kind; `note` if none is given.
    pub kind: Option<String>,
    /// The time they were said; now if not given.
    pub said_at: Option<Timestamp>,
    /// Further metadata.
    pub metadata: Metadata,
    /// A key under which retries write once. Without one, the id is derived from the words and their place.
    pub idempotency_key: Option<String>,
    /// The agent that files them, as its client names itself.
    pub by: Option<String>,
    /// Whether the owner of the palace wrote them, and not an agent.
    pub by_hand: bool,
}

/// The outcome of filing a note, which is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoteReport {
    /// The drawer's id.
    #[schemars(with = "String")]
    pub id: DrawerId,
    /// Its address.
    pub address: String,
    /// `added`, or `kept` if it existed already.
    pub outcome: &'static str,
    /// The sequence number of the change. It counts changes of the whole palace, so restricted callers do not
    /// get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Secrets found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub secrets: Option<String>,
    /// The wing the drawer is in.
    #[serde(skip)]
    pub wing: Option<String>,
    /// The room the drawer is in.
    #[serde(skip)]
    pub room: Option<String>,
}

impl Palace {
    /// Files a note, creating the palace if it does not exist. The same words in the same place, or under the
    /// same key, are filed once; another text under a used key is a conflict.
    pub fn file_note(&self, request: &NoteRequest) -> Result<NoteReport> {
        self.file_note_remembering(request).map(|(report, _)| report)
    }

    /// Files a note, and returns the drawer that was filed if there was none before.
    pub(crate) fn file_note_remembering(
        &self,
        request: &NoteRequest,
    ) -> Result<(NoteReport, Option<NewDrawer>)> {
        check_text(&request.text)?;
        let wing = parse_optional_name("wing", request.wing.as_deref())?;
        let room = parse_optional_name("room", request.room.as_deref())?;
        let key = request
            .idempotency_key
            .as_deref()
            .map(derive_id_from_key)
            .transpose()?;
        // Taken once: the closure below may run twice, and both runs must file the same note.
        let said_at = request.said_at.unwrap_or_else(|| self.now());
        let palace = self.for_act(DrawerAct::Changes)?;
        file_words(&palace, &|reader, guard| {
            let place = DrawerPlace {
                wing: choose_wing(&palace, reader, wing.as_deref())?,
                room: room.clone(),
                source: request.source.clone(),
                speaker: request.speaker.clone(),
                kind: Some(request.kind.clone().unwrap_or_else(|| NOTE.to_owned())),
                said_at: Some(said_at),
                span: None,
            };
            let draft = NewDrawer {
                metadata: request.metadata.clone(),
                provenance: Some(note_provenance(&palace, request.by.as_deref(), request.by_hand)),
                ..NewDrawer::new(derive_id(&place, &request.text), request.text.clone())
            };
            let mut sealed = guard.guard_drawer(NewDrawer { place, ..draft }, Vec::new())?;
            let new = &sealed.drawer;
            sealed.drawer.id = match &key {
                Some(id) => id.clone(),
                None => find_free_id(reader, &new.place, &new.document)?,
            };
            Ok(sealed)
        })
    }
}

/// Returns the provenance of words that an agent files, or the owner by hand.
pub(crate) fn note_provenance(palace: &Palace, by: Option<&str>, by_hand: bool) -> Provenance {
    let origin = if by_hand {
        OriginKind::Hand
    } else {
        OriginKind::Note
    };
    Provenance {
        by: by.map(str::to_owned),
        ..Provenance::new(palace.door(), origin)
    }
}

/// Refuses an empty text and a text that is too long for one call.
pub(crate) fn check_text(text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid("the text is empty").with_hint("nothing was filed"));
    }
    if text.len() > LONGEST_TEXT {
        let message = format!(
            "the text has {} bytes; one call files at most {LONGEST_TEXT}",
            text.len()
        );
        return Err(Error::invalid(message).with_hint("nothing was filed; write it to a file and use `mine`"));
    }
    Ok(())
}

/// Returns the stored form of the name of a wing, room or agent.
pub(crate) fn parse_name(what: &str, given: &str) -> Result<String> {
    if given.chars().count() > LONGEST_NAME {
        let message = format!("a {what} name has at most {LONGEST_NAME} characters");
        return Err(Error::invalid(message).with_hint("nothing was changed; give a shorter one"));
    }
    tidy_name(given).ok_or_else(|| {
        Error::invalid(format!("{given:?} is not a valid {what} name")).with_hint("nothing was changed")
    })
}

/// Returns the stored form of an optional name.
pub(crate) fn parse_optional_name(what: &str, given: Option<&str>) -> Result<Option<String>> {
    given.map(|given| parse_name(what, given)).transpose()
}

/// Chooses the wing to file in: the named one in the collection's spelling; else, for a restricted caller, the
/// first of its wings.
pub(crate) fn choose_wing(
    palace: &Palace,
    reader: &dyn CollectionReader,
    named: Option<&str>,
) -> Result<Option<String>> {
    let wing = named.or_else(|| palace.access().first_wing());
    wing.map(|wing| palace.access().spell_named(reader, wing))
        .transpose()
}

/// Derives the id of a drawer that is filed under a key.
pub(crate) fn derive_id_from_key(key: &str) -> Result<DrawerId> {
    if key.len() > LONGEST_KEY {
        let message = format!("the idempotency key is longer than {LONGEST_KEY} bytes");
        return Err(Error::invalid(message).with_hint("nothing was filed"));
    }
    // The derivation context is part of every id that was ever handed out; changing it would file retries twice.
    let hash = blake3::Hasher::new_derive_key("loci mcp idempotency key")
        .update(key.as_bytes())
        .finalize();
    DrawerId::new(hash.to_hex().chars().take(32).collect::<String>())
}

/// Derives an id from a place and a text. If the drawer with that id holds another text by now, the next id is
/// derived from it.
fn find_free_id(reader: &dyn CollectionReader, place: &DrawerPlace, text: &str) -> Result<DrawerId> {
    let mut id = derive_id(place, text);
    for _ in 0..MOST_TAKEN {
        let there = reader.get(&GetRequest::by_ids([id.clone()]))?.pop();
        match there {
            Some(other) if other.document.as_deref() != Some(text) => id = derive_id_from_key(id.as_str())?,
            _ => break,
        }
    }
    Ok(id)
}

/// Files the drawer that `draft` builds from the current state of the collection, and returns it if it is new.
pub(crate) fn file_words(
    palace: &Palace,
    draft: &dyn Fn(&dyn CollectionReader, &SecretGuard<'_>) -> Result<SealedDrawer>,
) -> Result<(NoteReport, Option<NewDrawer>)> {
    palace.run_filing(None, |filing| {
        let guard = SecretGuard::new(palace);
        let SealedDrawer {
            drawer: new,
            spans,
            found,
        } = draft(filing.reader(), &guard)?;
        let place = new.place.complete_from(&new.metadata)?;
        palace
            .access()
            .check_wing(filing.reader(), place.wing.as_deref())?;
        let mut batch = [Write::Add(new)];
        // Embedded once, before the loop over ids: the text is the same whichever id it gets.
        filing.embed(&mut batch)?;
        let restricted = palace.access().is_restricted();
        let store_seals = |new: &NewDrawer| {
            guard.store_seals(&[DrawerSeals {
                id: &new.id,
                text: &new.document,
                spans: &spans,
            }])
        };
        let receipt = add_under_free_id(filing.collection().as_ref(), &mut batch, restricted, &store_seals)?;
        let [Write::Add(new)] = &batch else {
            return Err(Error::new(ErrorKind::Internal, "the drawer to be filed was lost"));
        };
        // Once more, in case another process has collected the records before the drawer was there.
        store_seals(new)?;
        let report = report_filed(filing.reader(), new, &receipt)?;
        let report = NoteReport {
            seq: report.seq.filter(|_| !restricted),
            secrets: found.describe(),
            ..report
        };
        let is_new = receipt.added.contains(&new.id);
        Ok((report, is_new.then(|| new.clone())))
    })
}

/// Applies the batch. An id that is taken in a wing hidden from the caller is replaced silently by one derived
/// from it, since an error would reveal the hidden drawer.
fn add_under_free_id(
    collection: &dyn Collection,
    batch: &mut [Write],
    restricted: bool,
    prepare: &dyn Fn(&NewDrawer) -> Result<()>,
) -> Result<Receipt> {
    for _ in 0..MOST_TAKEN {
        if let [Write::Add(new)] = &*batch {
            prepare(new)?;
        }
        match collection.apply_batch(batch) {
            Err(error) if error.kind() == ErrorKind::Conflict && restricted => {
                for write in batch.iter_mut() {
                    if let Write::Add(new) = write {
                        new.id = derive_id_from_key(new.id.as_str())?;
                    }
                }
            }
            done => return done,
        }
    }
    collection.apply_batch(batch)
}

fn report_filed(reader: &dyn CollectionReader, new: &NewDrawer, receipt: &Receipt) -> Result<NoteReport> {
    let twin = receipt.twins.iter().find(|twin| twin.given == new.id);
    let id = twin.map_or(&new.id, |twin| &twin.existing);
    let added = receipt.added.contains(&new.id);
    let mut drawer = Drawer::with_id_only(id.clone());
    drawer.place = new.place.clone();
    if !added && let Some(there) = reader.get(&GetRequest::by_ids([id.clone()]))?.pop() {
        // Kept instead of added: either a retry of the same note, or a key that was used for another one.
        if there.document.as_deref() != Some(new.document.as_str()) {
            return Err(refuse_used_key(id));
        }
        drawer = there;
    }
    let (wing, room) = (drawer.place.wing.clone(), drawer.place.room.clone());
    Ok(NoteReport {
        id: id.clone(),
        address: address::format_drawer_address(&drawer.into()),
        outcome: if added { "added" } else { "kept" },
        seq: Some(receipt.seq),
        secrets: None,
        wing,
        room,
    })
}

fn refuse_used_key(id: &DrawerId) -> Error {
    let message = format!(
        "this idempotency key was already used for another text, the drawer {:?}",
        id.as_str()
    );
    Error::new(ErrorKind::Conflict, message)
        .with_context("id", id)
        .with_hint("nothing was filed; use a new key for a new text, or `update` to change that one")
}
