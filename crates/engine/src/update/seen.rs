//! A drawer as a person reads it before an edit, and what tells whether it still is the same when the edit arrives.

use loci_core::{
    CollectionReader, Drawer, DrawerId, DrawerPlace, Error, ErrorKind, Metadata, Provenance, Result,
    Timestamp,
};
use serde::Serialize;

use crate::mine::is_mined;
use crate::palace::Palace;
use crate::undo::read_whole;
use crate::view::DrawerView;

/// The state of a drawer: differs if anything of it but its vector does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawerState(String);

/// A drawer to be edited.
#[derive(Debug, Clone, PartialEq)]
pub struct EditableDrawer {
    /// The drawer.
    pub drawer: DrawerView,
    /// Its state, to be given back with the edit.
    pub state: DrawerState,
    /// Whether mining cut it from its source. If that part of the source changes and is mined again, the drawer is
    /// replaced. Its kind and speaker are those of the source again whenever it is mined.
    pub is_mined: bool,
}

/// What a state is made of.
#[derive(Serialize)]
struct StatePart<'a> {
    id: &'a DrawerId,
    document: Option<&'a str>,
    metadata: Option<&'a Metadata>,
    place: &'a DrawerPlace,
    filed_at: Option<Timestamp>,
    provenance: Option<&'a Provenance>,
    uses: u64,
    context: Option<(&'a str, &'a str)>,
}

impl DrawerState {
    /// Takes a state as a form gives it back; one that was changed on the way is equal to no other.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the state as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the state of a drawer that was read with every field.
    pub(crate) fn of_whole(drawer: &Drawer) -> Self {
        // Destructured, so that a new field cannot be forgotten here: an edit relies on it to overwrite nothing.
        let Drawer {
            id,
            document,
            metadata,
            place,
            filed_at,
            provenance,
            uses,
            context,
            embedding: _,
            vector_from: _,
            damage: _,
        } = drawer;
        let part = StatePart {
            id,
            document: document.as_deref(),
            metadata: metadata.as_ref(),
            place,
            filed_at: *filed_at,
            provenance: provenance.as_ref(),
            uses: *uses,
            context: context
                .as_ref()
                .map(|around| (around.before.as_str(), around.after.as_str())),
        };
        let bytes = serde_json::to_vec(&part).expect("texts and numbers can be written as JSON");
        Self(blake3::hash(&bytes).to_hex().to_string())
    }

    /// Refuses a drawer that is not in this state.
    pub(crate) fn check(&self, drawer: &Drawer) -> Result<()> {
        if Self::of_whole(drawer) == *self {
            return Ok(());
        }
        let message = format!("the drawer {} was changed since it was read", drawer.id.as_str());
        Err(Error::new(ErrorKind::Conflict, message).with_hint("nothing was changed; read it again"))
    }
}

impl Palace {
    /// Reads a drawer to be edited; `None` if no drawer has exactly this id.
    pub fn read_editable(&self, id: &DrawerId) -> Result<Option<EditableDrawer>> {
        self.read(|session| {
            let found = read_one_whole(self, session.reader(), id)?;
            Ok(found.map(|drawer| EditableDrawer {
                state: DrawerState::of_whole(&drawer),
                is_mined: is_mined(&drawer),
                drawer: drawer.into(),
            }))
        })
    }
}

/// Reads a drawer with every field.
pub(super) fn read_one_whole(
    palace: &Palace,
    reader: &dyn CollectionReader,
    id: &DrawerId,
) -> Result<Option<Drawer>> {
    Ok(read_whole(palace, reader, [id.clone()])?.pop())
}
