//! The tools, one file each, in the order agents see them.

mod add;
pub(crate) mod check_duplicate;
mod delete;
mod diary_read;
mod diary_write;
mod get;
mod list;
pub(crate) mod mine;
mod refile;
pub(crate) mod search;
mod status;
mod update;
mod wake_up;
pub(crate) mod wings;

use super::tool::{Effect, Entry};
use crate::house::Scope;

/// The tools a server of this scope has.
pub(crate) fn all(scope: &Scope) -> Vec<Entry> {
    let tools = [
        Entry::of::<search::Search>(),
        Entry::of::<get::Get>(),
        Entry::of::<list::List>(),
        Entry::of::<add::Add>(),
        Entry::of::<update::Update>(),
        Entry::of::<refile::Move>(),
        Entry::of::<delete::Delete>(),
        Entry::of::<check_duplicate::CheckDuplicate>(),
        Entry::of::<mine::Mine>(),
        Entry::of::<status::Status>(),
        Entry::of::<wings::Wings>(),
        Entry::of::<wake_up::WakeUp>(),
        Entry::of::<diary_write::DiaryWrite>(),
        Entry::of::<diary_read::DiaryRead>(),
    ];
    tools.into_iter().filter(|tool| offered(tool, scope)).collect()
}

/// Whether a tool is there at all: what writes is withheld from readers, and what goes by source wherever it is filed
/// (mining, sync) from those who see only some wings.
pub(crate) fn offered(tool: &Entry, scope: &Scope) -> bool {
    let withheld = match goes_by_source(tool) {
        true => scope.read_only || !scope.wings.is_empty(),
        false => scope.read_only && tool.effect != Effect::Reads,
    };
    !withheld
}

/// Whether a tool reads sources, which takes as long as there are many.
pub(crate) fn goes_by_source(tool: &Entry) -> bool {
    ["mine", "sync"].iter().any(|name| tool.name.ends_with(name))
}
