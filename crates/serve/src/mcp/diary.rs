//! The diary: ordinary drawers in the wing of an agent, found by search like any other.

use std::cmp::Reverse;

use loci_core::{
    Collection, Drawer, DrawerId, Error, Filter, Get, Include, Metadata, NewDrawer, Place, Result, Timestamp,
};

use super::receipt::{self, Filed};
use super::tool::Call;

/// The room every diary is in, and the kind its drawers have.
pub(crate) const ROOM: &str = "diary";

/// One entry to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) agent: &'a str,
    pub(crate) text: &'a str,
    pub(crate) topic: Option<&'a str>,
    pub(crate) wing: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
}

/// The wing of an agent's diary: the one that is named, else, where only some exist, the first of those, else its own.
fn wing(given: Option<&str>, agent: &str, collection: &dyn Collection, call: &Call<'_>) -> Result<String> {
    match receipt::wing(given, collection, call)? {
        Some(wing) => Ok(wing),
        None => {
            receipt::wing(Some(agent), collection, call).map(|wing| wing.unwrap_or_else(|| agent.to_owned()))
        }
    }
}

/// Writes an entry and says when it was written.
pub(crate) fn write(entry: Entry<'_>, call: &Call<'_>) -> Result<(Filed, Timestamp)> {
    receipt::check_text("entry", entry.text)?;
    let agent = receipt::name("agent", entry.agent)?;
    let now = call.house.now();
    let filed = receipt::file(call, |collection| {
        let wing = wing(entry.wing, &agent, collection, call)?;
        let id = match entry.key {
            Some(key) => receipt::keyed(key)?,
            None => of_moment(&agent, now, entry.text)?,
        };
        let mut metadata = Metadata::new();
        if let Some(topic) = entry.topic {
            metadata.insert("topic", topic.to_owned());
        }
        Ok(NewDrawer {
            metadata,
            provenance: Some(call.provenance()),
            place: Place {
                wing: Some(wing),
                room: Some(ROOM.into()),
                speaker: Some(agent.clone()),
                kind: Some(ROOM.into()),
                said_at: Some(now),
                ..Place::default()
            },
            ..NewDrawer::new(id, entry.text)
        })
    })?;
    Ok((filed, now))
}

/// The same words at another time are another entry.
fn of_moment(agent: &str, now: Timestamp, text: &str) -> Result<DrawerId> {
    let mut hasher = blake3::Hasher::new_derive_key("loci mcp diary entry");
    for part in [agent, &now.to_string(), text] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    DrawerId::new(hasher.finalize().to_hex().chars().take(32).collect::<String>())
}

/// The entries of an agent, newest first, without their texts.
pub(crate) fn entries(
    agent: &str,
    given: Option<&str>,
    collection: &dyn Collection,
    call: &Call<'_>,
) -> Result<Vec<Drawer>> {
    let wing = wing(given, agent, collection, call)?;
    let filter = Filter::text("wing", wing)
        .and(Filter::text("room", ROOM))
        .and(Filter::text("speaker", agent));
    let mut found = collection.get(&Get {
        filter,
        include: Include::NOTHING,
        ..Get::default()
    })?;
    found.sort_by_key(position);
    Ok(found)
}

/// Where an entry stands in its diary. Others that come or go do not change it.
pub(crate) fn position(entry: &Drawer) -> (Reverse<Option<i64>>, DrawerId) {
    let said = entry.place.said_at.map(Timestamp::as_micros);
    (Reverse(said), entry.id.clone())
}

/// The cursor that goes on after an entry.
pub(crate) fn cursor(entry: &Drawer) -> String {
    let (Reverse(said), id) = position(entry);
    format!("{}.{id}", said.unwrap_or(i64::MIN))
}

/// Where a cursor goes on.
pub(crate) fn after(cursor: &str) -> Result<(Reverse<Option<i64>>, DrawerId)> {
    let parts = cursor.split_once('.');
    let read = parts.and_then(|(said, id)| Some((said.parse::<i64>().ok()?, DrawerId::new(id).ok()?)));
    let (said, id) = read.ok_or_else(|| {
        Error::invalid(format!("{cursor:?} is no cursor of a diary")).hint("give `next` of the answer before")
    })?;
    Ok((Reverse(Some(said).filter(|said| *said != i64::MIN)), id))
}
