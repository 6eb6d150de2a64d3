//! Shelving: chooses the wing and room of a source, in the palace's own spelling.

use std::collections::HashMap;
use std::path::Path;

use loci_core::{CollectionReader, FacetKey, FacetRequest, Filter, Result};

use loci_mine::conversation::Conversation;
use loci_mine::name;
use loci_mine::project::{ProjectFinder, fold_name, room_of, tidy_name};

use super::MineRequest;
use super::draft::DraftShelf;

/// The room of a conversation that has neither a title nor a day.
const UNTITLED: &str = "conversations";

/// The name for a wing or room when a source suggests none.
const HOMELESS: &str = "general";

/// Chooses wings and rooms.
#[derive(Debug, Default)]
pub(crate) struct ShelfChooser {
    projects: ProjectFinder,
    /// The spelling of each wing, by its folded name, which all its spellings share.
    wings: HashMap<String, String>,
    learned: bool,
}

impl ShelfChooser {
    /// Learns the collection's spelling of its wings, once.
    pub(crate) fn learn_wings(&mut self, collection: &dyn CollectionReader) -> Result<()> {
        if std::mem::replace(&mut self.learned, true) {
            return Ok(());
        }
        let wings = FacetRequest {
            by: vec![FacetKey::Wing],
            ..FacetRequest::by_room()
        };
        for facet in collection.facets(&wings)? {
            if let Some(wing) = facet.values.into_iter().flatten().next() {
                // Facets are sorted, so among several spellings the same one wins on every run.
                self.wings.entry(fold_name(&wing)).or_insert(wing);
            }
        }
        Ok(())
    }

    /// Returns a wing's name in the palace's spelling; a new name keeps the spelling it first comes in.
    pub(crate) fn spell_wing(&mut self, name: &str) -> String {
        let tidy = tidy_name(name).unwrap_or_else(|| HOMELESS.to_owned());
        self.wings.entry(fold_name(&tidy)).or_insert(tidy).clone()
    }

    /// Chooses the shelf of a file, and its label within its project.
    pub(crate) fn choose_for_file(
        &mut self,
        path: &Path,
        root: &Path,
        request: &MineRequest,
    ) -> (DraftShelf, String) {
        let project = path
            .parent()
            .and_then(|folder| self.projects.project_of_folder(folder));
        let base = match &project {
            Some(project) => project.checkout.as_path(),
            None => containing_folder(root),
        };
        let label = name::name_of_path(path.strip_prefix(base).unwrap_or(path));
        let room = request.room.clone().unwrap_or_else(|| room_of(path, base));
        let wing = match (&request.wing, &project) {
            (Some(wing), _) => wing.clone(),
            (None, Some(project)) => project.name.clone(),
            (None, None) => folder_name(containing_folder(root)),
        };
        let shelf = DraftShelf {
            wing: self.spell_wing(&wing),
            room: tidy_name(&room).unwrap_or_else(|| HOMELESS.to_owned()),
        };
        (shelf, label)
    }

    /// Chooses the shelf of a conversation that was held in the folder `cwd`, if that is certain.
    pub(crate) fn choose_for_conversation(
        &mut self,
        talk: &Conversation,
        cwd: Option<&str>,
        path: &Path,
        root: &Path,
        request: &MineRequest,
    ) -> DraftShelf {
        let cwd = cwd.and_then(|cwd| self.projects.name_of_cwd(cwd));
        // The folder a conversation was held in names its project; the folder of the transcript belongs to the
        // tool.
        let wing = match (&request.wing, cwd) {
            (Some(wing), _) => wing.clone(),
            (None, Some(project)) => project,
            (None, None) => {
                let project = path
                    .parent()
                    .and_then(|folder| self.projects.project_of_folder(folder));
                project.map_or_else(|| folder_name(containing_folder(root)), |project| project.name)
            }
        };
        let day = || {
            let first = talk.messages.iter().find_map(|message| message.at)?;
            Some(first.to_string().chars().take(10).collect())
        };
        let room = request.room.clone().or_else(|| talk.title.clone()).or_else(day);
        DraftShelf {
            wing: self.spell_wing(&wing),
            room: room
                .and_then(|room| tidy_name(&room))
                .unwrap_or_else(|| UNTITLED.to_owned()),
        }
    }
}

/// Returns a wing's name in a collection's spelling: unchanged if the wing exists, else an existing spelling that
/// differs only in case, separators or Unicode form, else unchanged.
pub fn spell_wing(collection: &dyn CollectionReader, wing: &str) -> Result<String> {
    if collection.count(&Filter::text_equals("wing", wing).into())? > 0 {
        return Ok(wing.to_owned());
    }
    // Reads every wing, which is why an exact match is tried first.
    let mut shelving = ShelfChooser::default();
    shelving.learn_wings(collection)?;
    let known = shelving.wings.remove(&fold_name(wing));
    Ok(known.unwrap_or_else(|| wing.to_owned()))
}

/// Returns the root if it is a folder, else the folder that contains it.
fn containing_folder(root: &Path) -> &Path {
    if root.is_dir() {
        root
    } else {
        root.parent().unwrap_or(root)
    }
}

fn folder_name(folder: &Path) -> String {
    folder
        .file_name()
        .map_or_else(|| HOMELESS.to_owned(), |last| name::name_of_path(Path::new(last)))
}
