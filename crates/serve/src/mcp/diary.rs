//! The diary: ordinary drawers in the wing of an agent, found by search like any other.

use loci_core::{Collection, DrawerId, Filter, Get, Include, Metadata, NewDrawer, Place, Result, Timestamp};

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

/// The ids of an agent's entries, newest first.
pub(crate) fn entries(
    agent: &str,
    given: Option<&str>,
    collection: &dyn Collection,
    call: &Call<'_>,
) -> Result<Vec<DrawerId>> {
    let wing = wing(given, agent, collection, call)?;
    let filter = Filter::text("wing", wing)
        .and(Filter::text("room", ROOM))
        .and(Filter::text("speaker", agent));
    let mut found = collection.get(&Get {
        filter,
        include: Include::NOTHING,
        ..Get::default()
    })?;
    found.sort_by_key(|drawer| (std::cmp::Reverse(drawer.place.said_at), drawer.id.clone()));
    Ok(found.into_iter().map(|drawer| drawer.id).collect())
}
