//! Where sources are filed: the wing of their project, spelled as the palace spells it already.

use std::collections::HashMap;
use std::path::Path;

use loci_core::{CollectionReader, FacetKey, Facets, Filter, Result};

use loci_mine::conversation::Conversation;
use loci_mine::name;
use loci_mine::project::{Projects, folded, room_of, tidy_name};

use super::MineRequest;
use super::draft::Shelf;

/// The room of a conversation that has neither a title nor a day.
const UNTITLED: &str = "conversations";

/// The wing of what belongs to nothing.
const HOMELESS: &str = "general";

/// Decides on wings and rooms.
#[derive(Debug, Default)]
pub(crate) struct Shelving {
    projects: Projects,
    /// How each wing is spelled, by what all its spellings have in common.
    wings: HashMap<String, String>,
    learned: bool,
}

impl Shelving {
    /// Learns how a collection spells its wings, once.
    pub(crate) fn learn(&mut self, collection: &dyn CollectionReader) -> Result<()> {
        if std::mem::replace(&mut self.learned, true) {
            return Ok(());
        }
        let wings = Facets {
            by: vec![FacetKey::Wing],
            ..Facets::by_room()
        };
        for facet in collection.facets(&wings)? {
            if let Some(wing) = facet.values.into_iter().flatten().next() {
                self.wings.entry(folded(&wing)).or_insert(wing);
            }
        }
        Ok(())
    }

    /// A wing's name as the palace spells it.
    pub(crate) fn spelled(&mut self, name: &str) -> String {
        let tidy = tidy_name(name).unwrap_or_else(|| HOMELESS.to_owned());
        self.wings.entry(folded(&tidy)).or_insert(tidy).clone()
    }

    /// Where a file goes.
    pub(crate) fn of_file(&mut self, path: &Path, root: &Path, request: &MineRequest) -> (Shelf, String) {
        let project = path.parent().and_then(|folder| self.projects.of_folder(folder));
        let base = match &project {
            Some(project) => project.checkout.as_path(),
            None => folder_of(root),
        };
        let label = name::of_path(path.strip_prefix(base).unwrap_or(path));
        let room = request.room.clone().unwrap_or_else(|| room_of(path, base));
        let wing = match (&request.wing, &project) {
            (Some(wing), _) => wing.clone(),
            (None, Some(project)) => project.name.clone(),
            (None, None) => last_name(folder_of(root)),
        };
        let shelf = Shelf {
            wing: self.spelled(&wing),
            room: tidy_name(&room).unwrap_or_else(|| HOMELESS.to_owned()),
        };
        (shelf, label)
    }

    /// Where a conversation goes.
    pub(crate) fn of_talk(
        &mut self,
        talk: &Conversation,
        path: &Path,
        root: &Path,
        request: &MineRequest,
    ) -> Shelf {
        let cwd = talk.cwd.as_deref().and_then(|cwd| self.projects.of_cwd(cwd));
        let wing = match (&request.wing, cwd) {
            (Some(wing), _) => wing.clone(),
            (None, Some(project)) => project,
            (None, None) => {
                let project = path.parent().and_then(|folder| self.projects.of_folder(folder));
                project.map_or_else(|| last_name(folder_of(root)), |project| project.name)
            }
        };
        let day = || {
            let first = talk.messages.iter().find_map(|message| message.at)?;
            Some(first.to_string().chars().take(10).collect())
        };
        let room = request.room.clone().or_else(|| talk.title.clone()).or_else(day);
        Shelf {
            wing: self.spelled(&wing),
            room: room
                .and_then(|room| tidy_name(&room))
                .unwrap_or_else(|| UNTITLED.to_owned()),
        }
    }
}

/// A wing's name as a collection spells it: as given where there is such a wing, else as another spelling of it.
pub fn spelled(collection: &dyn CollectionReader, wing: &str) -> Result<String> {
    if collection.count(&Filter::text("wing", wing).into())? > 0 {
        return Ok(wing.to_owned());
    }
    let mut shelving = Shelving::default();
    shelving.learn(collection)?;
    let known = shelving.wings.remove(&folded(wing));
    Ok(known.unwrap_or_else(|| wing.to_owned()))
}

/// The folder a root is, or lies in.
fn folder_of(root: &Path) -> &Path {
    match root.is_dir() {
        true => root,
        false => root.parent().unwrap_or(root),
    }
}

fn last_name(folder: &Path) -> String {
    folder
        .file_name()
        .map_or_else(|| HOMELESS.to_owned(), |last| name::of_path(Path::new(last)))
}
