//! Messages that are stored and no longer in their source. What was said was said: they stay.
//!
//! A message that has an id of its own is in the source as long as the id is. One that has none is told by its text; if
//! that is gone, nobody can say whether it was edited or pruned, so it stays, unless it only grew.

use std::collections::HashMap;

use loci_core::{Collection, Drawer, DrawerId, Get, Result, Scalar, Span, Value};

use super::draft::talk::{Gone, TalkBody};
use super::draft::{Body, Draft};
use super::stored::{Stored, is_mined};

/// Finds the messages that left; `after` ties each to one that is still there.
pub(crate) fn gone_from(
    collection: &dyn Collection,
    stored: &Stored<'_>,
    draft: &Draft,
) -> Result<Vec<Gone>> {
    let Body::Talk(talk) = &draft.body else {
        return Ok(Vec::new());
    };
    let groups = groups(stored, draft, talk)?;
    if groups.iter().all(|group| group.message.is_some()) {
        return Ok(Vec::new());
    }
    let own: HashMap<&str, usize> = talk.own_ids().collect();
    let mut gone = Vec::new();
    let mut anchor = None;
    for group in groups {
        let message = match (group.message, &group.owner) {
            (Some(message), _) => Some(message),
            // No message at all: the source was taken for something else before.
            (None, None) => continue,
            (None, Some(owner)) => match own.get(owner.as_str()) {
                Some(message) => Some(*message),
                None => grown(collection, talk, &group, owner)?,
            },
        };
        match message {
            Some(_) => anchor = anchor.max(message),
            None => gone.push(Gone {
                after: anchor,
                pieces: group.pieces,
            }),
        }
    }
    Ok(gone)
}

/// The stored pieces of one message.
struct Group {
    pieces: Vec<(DrawerId, Span)>,
    /// Which message of the draft one of them is a piece of.
    message: Option<usize>,
    /// The id the message has.
    owner: Option<String>,
}

/// The stored messages, in order.
fn groups(stored: &Stored<'_>, draft: &Draft, talk: &TalkBody) -> Result<Vec<Group>> {
    let numbers = draft.numbers();
    let mut all = Vec::new();
    stored.each(&mut |old| {
        if let Some(span) = old.place.span.filter(|_| is_mined(old)) {
            let message = numbers.get(&old.id).and_then(|n| talk.message_of(*n));
            all.push((span, old.id.clone(), message, message_id(old)));
        }
    })?;
    all.sort_by_key(|(span, ..)| (span.start, span.end));
    let mut groups: Vec<Group> = Vec::new();
    let mut ended = None;
    for (span, id, message, owner) in all {
        let follows = ended == Some(span.start);
        ended = Some(span.end);
        match groups.last_mut().filter(|last| follows && last.owner == owner) {
            Some(last) => {
                last.pieces.push((id, span));
                last.message = last.message.max(message);
            }
            None => groups.push(Group {
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
        Value::One(Scalar::Text(id)) => Some(id.clone()),
        _ => None,
    }
}

/// The message that stands where this one stood and begins with all it said, if there is one.
fn grown(collection: &dyn Collection, talk: &TalkBody, group: &Group, owner: &str) -> Result<Option<usize>> {
    let place = owner.strip_prefix('#').and_then(|number| number.parse().ok());
    let Some((place, now)) = place.and_then(|place| Some((place, talk.unnamed(place)?))) else {
        return Ok(None);
    };
    let was: u64 = group.pieces.iter().map(|(_, span)| span.end - span.start).sum();
    if was > now.len() as u64 {
        return Ok(None);
    }
    let pieces = collection.get(&Get::ids(group.pieces.iter().map(|(id, _)| id.clone())))?;
    let text: String = pieces.into_iter().filter_map(|piece| piece.document).collect();
    Ok(now.starts_with(&text).then_some(place))
}
