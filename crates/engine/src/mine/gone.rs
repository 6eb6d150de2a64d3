//! Messages that are stored but no longer in their source. Tools compact, rotate and prune transcripts; words
//! that were said stay.
//!
//! A message with its own id is in the source as long as the id is. A message without one is identified by its
//! text; if the text is gone, an edit cannot be told from a pruning, so the message stays unless it only grew.

use std::collections::HashMap;

use loci_core::{
    Collection, Drawer, DrawerId, GetRequest, MetadataScalar, MetadataValue, Result, SourceSpan,
};

use super::draft::talk::{GoneMessage, TalkBody};
use super::draft::{DraftBody, SourceDraft};
use super::stored::{StoredSource, is_mined};

/// Finds the messages that left the source; `after` ties each to a message that is still there.
pub(crate) fn find_gone_messages(
    collection: &dyn Collection,
    stored: &StoredSource<'_>,
    draft: &SourceDraft,
) -> Result<Vec<GoneMessage>> {
    let DraftBody::Talk(talk) = &draft.body else {
        return Ok(Vec::new());
    };
    let groups = group_stored_messages(stored, draft, talk)?;
    if groups.iter().all(|group| group.message.is_some()) {
        return Ok(Vec::new());
    }
    let own: HashMap<&str, usize> = talk.own_ids().collect();
    let mut gone = Vec::new();
    let mut anchor = None;
    for group in groups {
        let message = match (group.message, &group.owner) {
            (Some(message), _) => Some(message),
            // Not a message: the source was read as a file before.
            (None, None) => continue,
            (None, Some(owner)) => match own.get(owner.as_str()) {
                Some(message) => Some(*message),
                // A message may have been filed while it was still being written, and be longer now.
                None => find_grown_message(collection, talk, &group, owner)?,
            },
        };
        match message {
            // Messages may have been reordered; the anchor never moves backwards, so places stay ascending.
            Some(_) => anchor = anchor.max(message),
            None => gone.push(GoneMessage {
                after: anchor,
                pieces: group.pieces,
            }),
        }
    }
    Ok(gone)
}

/// The stored pieces of one message.
struct StoredMessage {
    pieces: Vec<(DrawerId, SourceSpan)>,
    /// The number of the draft's message that one of them is a piece of.
    message: Option<usize>,
    /// The id of the message.
    owner: Option<String>,
}

/// Groups the stored pieces into messages, in order.
fn group_stored_messages(
    stored: &StoredSource<'_>,
    draft: &SourceDraft,
    talk: &TalkBody,
) -> Result<Vec<StoredMessage>> {
    let numbers = draft.number_by_id();
    let mut all = Vec::new();
    stored.for_each_drawer(&mut |old| {
        if let Some(span) = old.place.span.filter(|_| is_mined(old)) {
            let message = numbers.get(&old.id).and_then(|n| talk.message_number(*n));
            all.push((span, old.id.clone(), message, message_id(old)));
        }
    })?;
    all.sort_by_key(|(span, ..)| (span.start, span.end));
    let mut groups: Vec<StoredMessage> = Vec::new();
    let mut ended = None;
    for (span, id, message, owner) in all {
        // Pieces of one message touch; two messages have a line end between them.
        let follows = ended == Some(span.start);
        ended = Some(span.end);
        match groups.last_mut().filter(|last| follows && last.owner == owner) {
            Some(last) => {
                last.pieces.push((id, span));
                last.message = last.message.max(message);
            }
            None => groups.push(StoredMessage {
                pieces: vec![(id, span)],
                message,
                owner,
            }),
        }
    }
    Ok(groups)
}

fn message_id(drawer: &Drawer) -> Option<String> {
    match drawer.metadata.as_ref()?.get("message_id")? {
        MetadataValue::One(MetadataScalar::Text(id)) => Some(id.clone()),
        _ => None,
    }
}

/// Returns the message at the same position that begins with the whole text of this one, if there is one.
fn find_grown_message(
    collection: &dyn Collection,
    talk: &TalkBody,
    group: &StoredMessage,
    owner: &str,
) -> Result<Option<usize>> {
    let place = owner.strip_prefix('#').and_then(|number| number.parse().ok());
    let Some((place, (now, said))) = place.and_then(|place| Some((place, talk.texts_without_id(place)?)))
    else {
        return Ok(None);
    };
    let was: u64 = group.pieces.iter().map(|(_, span)| span.end - span.start).sum();
    // Compared by length first, which needs no text from the store.
    if was > said.unwrap_or(now).len() as u64 {
        return Ok(None);
    }
    let pieces = collection.get(&GetRequest::by_ids(group.pieces.iter().map(|(id, _)| id.clone())))?;
    let text: String = pieces.into_iter().filter_map(|piece| piece.document).collect();
    // It may have been filed before its secrets were sealed.
    let grew = now.starts_with(&text) || said.is_some_and(|said| said.starts_with(&text));
    Ok(grew.then_some(place))
}
