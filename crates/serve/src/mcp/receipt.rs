//! Filing notes: places, ids that make a retry write once, and what is said when it is durable.

use loci_core::{
    Collection, CollectionExt, Drawer, DrawerId, Error, ErrorKind, Get, NewDrawer, Place, Receipt, Result,
    Write,
};
use loci_engine::derive_id;
use loci_engine::mine::project::tidy_name;
use loci_engine::mine::spelled;
use schemars::JsonSchema;
use serde::Serialize;

use super::address;
use super::tool::Call;

/// The longest text one call may file, in bytes.
const LONGEST: usize = 1 << 20;
/// How many characters the name of a wing or room may have.
const LONGEST_NAME: usize = 128;
/// How much is told of ids that are not there, in bytes.
pub(crate) const TOLD: usize = 2_000;

/// How many drawers that were filed under one text and then changed are passed over.
const MOST_CHANGED: usize = 100;

/// What became of a drawer that was to be filed. It is durable.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Filed {
    pub(crate) id: String,
    pub(crate) address: String,
    /// added, or kept: it was there already
    pub(crate) outcome: &'static str,
    /// The number of the change; it counts the whole palace, and is not told to those who see some wings of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seq: Option<u64>,
}

/// Refuses texts that say nothing, or too much for one drawer.
pub(crate) fn check_text(name: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(format!("`{name}` is empty")).hint("nothing was filed"));
    }
    if text.len() > LONGEST {
        let message = format!(
            "`{name}` has {} bytes; one call files {LONGEST} at most",
            text.len()
        );
        return Err(Error::invalid(message).hint("nothing was filed; write it to a file and use `mine`"));
    }
    Ok(())
}

/// The name of a wing or room as it is stored.
pub(crate) fn name(what: &str, given: &str) -> Result<String> {
    if given.chars().count() > LONGEST_NAME {
        let message = format!("the name of a {what} has {LONGEST_NAME} characters at most");
        return Err(Error::invalid(message).hint("nothing was changed; give a shorter one"));
    }
    tidy_name(given).ok_or_else(|| {
        Error::invalid(format!("{given:?} is no name for a {what}")).hint("nothing was changed")
    })
}

/// The wing something is filed in: the one that is named, spelled as the collection spells it; else, where only some
/// exist, the first of those.
pub(crate) fn wing(
    given: Option<&str>,
    collection: &dyn Collection,
    call: &Call<'_>,
) -> Result<Option<String>> {
    match given {
        Some(given) => spelled(collection, &name("wing", given)?).map(Some),
        None => {
            let first = call.house.scope.wings.first();
            first.map(|wing| spelled(collection, wing)).transpose()
        }
    }
}

/// The id of a drawer that is filed under a key, so that whoever tries again writes once.
pub(crate) fn keyed(key: &str) -> Result<DrawerId> {
    if key.len() > 1024 {
        return Err(Error::invalid("`idempotency_key` is longer than 1,024 bytes").hint("nothing was filed"));
    }
    let hash = blake3::Hasher::new_derive_key("loci mcp idempotency key")
        .update(key.as_bytes())
        .finalize();
    DrawerId::new(hash.to_hex().chars().take(32).collect::<String>())
}

/// The id of a drawer that follows from its place and text. Where a drawer that was filed under it says something else by
/// now, because it was changed, another one that follows from that.
pub(crate) fn derived(collection: &dyn Collection, place: &Place, text: &str) -> Result<DrawerId> {
    let mut id = derive_id(place, text);
    for _ in 0..MOST_CHANGED {
        let there = collection.get(&Get::ids([id.clone()]))?.pop();
        match there {
            Some(other) if other.document.as_deref() != Some(text) => id = keyed(id.as_str())?,
            _ => break,
        }
    }
    Ok(id)
}

/// Files one drawer and says what became of it.
pub(crate) fn file(call: &Call<'_>, new: impl Fn(&dyn Collection) -> Result<NewDrawer>) -> Result<Filed> {
    call.house.file(|filing, collection| {
        let new = new(collection)?;
        let place = new.place.completed_from(&new.metadata)?;
        call.house.scope.check_wing(collection, place.wing.as_deref())?;
        let mut batch = vec![Write::Add(new)];
        filing.embed(&mut batch)?;
        let receipt = apply(collection, &mut batch, call)?;
        let Some(Write::Add(new)) = batch.pop() else {
            return Err(Error::new(ErrorKind::Internal, "what was filed was lost"));
        };
        let filed = filed(collection, &new, &receipt)?;
        Ok(Filed {
            seq: filed.seq.filter(|_| call.house.scope.wings.is_empty()),
            ..filed
        })
    })
}

/// Files it. An id that a drawer of a wing has which does not exist here is passed over without a word, for another one
/// that follows from it.
fn apply(collection: &dyn Collection, batch: &mut [Write], call: &Call<'_>) -> Result<Receipt> {
    for _ in 0..MOST_CHANGED {
        match collection.apply_batch(batch) {
            Err(error) if error.kind() == ErrorKind::Conflict && !call.house.scope.wings.is_empty() => {
                for write in batch.iter_mut() {
                    if let Write::Add(new) = write {
                        new.id = keyed(new.id.as_str())?;
                    }
                }
            }
            done => return done,
        }
    }
    collection.apply_batch(batch)
}

fn filed(collection: &dyn Collection, new: &NewDrawer, receipt: &Receipt) -> Result<Filed> {
    let twin = receipt.twins.iter().find(|twin| twin.given == new.id);
    let id = twin.map_or(&new.id, |twin| &twin.existing);
    let added = receipt.added.contains(&new.id);
    let mut drawer = Drawer::bare(id.clone());
    drawer.place = Place {
        span: None,
        ..new.place.clone()
    };
    if !added {
        let there = collection.get(&Get::ids([id.clone()]))?.pop();
        if let Some(there) = there {
            if there.document.as_deref() != Some(new.document.as_str()) {
                return Err(taken(id));
            }
            drawer = there;
        }
    }
    Ok(Filed {
        id: id.to_string(),
        address: address::of_drawer(&drawer),
        outcome: if added { "added" } else { "kept" },
        seq: Some(receipt.seq),
    })
}

fn taken(id: &DrawerId) -> Error {
    let message = format!(
        "this idempotency key was used for another text, which is {:?}",
        id.as_str()
    );
    Error::new(ErrorKind::Conflict, message)
        .with("id", id)
        .hint("nothing was filed; use a new key for a new text, or `update` to change that one")
}

/// What is said of drawers that are not there.
pub(crate) fn missing(ids: &[DrawerId]) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("no drawer has the id {}", list(ids, &told(ids, TOLD))),
    )
    .hint("nothing was changed; ids come from `search` and `list`")
}

/// As many of some ids as may be told in so many bytes, from the first on.
pub(crate) fn told(ids: &[DrawerId], bytes: usize) -> Vec<String> {
    let mut left = bytes;
    let fits = |id: &&DrawerId| {
        let rest = left.checked_sub(id.as_str().len() + 4);
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    ids.iter().take_while(fits).map(ToString::to_string).collect()
}

/// Ids in words: those that are told, and how many more there are.
pub(crate) fn list(ids: &[DrawerId], told: &[String]) -> String {
    let more = match ids.len() - told.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_conformance::Reference;
    use loci_core::{Backend, CollectionName, CreateMode, OpenOptions, PalaceRef, Patch};

    #[test]
    fn a_text_whose_drawer_was_changed_since_gets_an_id_of_its_own() {
        let name = CollectionName::new("drawers").unwrap();
        let collection = Reference::new()
            .create(
                &PalaceRef::named("p"),
                &name,
                CreateMode::OpenExisting,
                &OpenOptions::default(),
            )
            .unwrap();
        let place = Place::default();
        let id = || derived(collection.as_ref(), &place, "first").unwrap();
        let first = id();
        collection.add(NewDrawer::new(first.clone(), "first")).unwrap();
        assert_eq!(id(), first, "the same text in the same place is filed once");
        let mut patch = Patch::new(first.clone());
        patch.document = Some("changed".into());
        collection.apply_batch(&[Write::Update(patch)]).unwrap();
        let second = id();
        assert_ne!(second, first);
        collection.add(NewDrawer::new(second.clone(), "first")).unwrap();
        assert_eq!(id(), second, "and so is the second");
    }
}
