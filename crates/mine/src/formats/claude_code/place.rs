//! Whose session it is and where it was had: from the records and from the names of the folders around the file.

use std::path::Path;

use super::super::json::Fields;
use super::super::workspace::name;
use crate::conversation::Conversation;

/// What the records say about their place.
#[derive(Debug, Default)]
pub(super) struct Place {
    sessions: Vec<String>,
    folders: Vec<String>,
    agent: Option<String>,
}

impl Place {
    /// Takes note of where a record says it belongs.
    pub(super) fn see(&mut self, fields: &Fields<'_>) {
        add(&mut self.sessions, fields.any_text(&["sessionId", "session_id"]));
        add(&mut self.folders, fields.text("cwd"));
        if self.agent.is_none() {
            self.agent = fields.text("agentId");
        }
    }

    /// Says in the conversation whose it is. A sub-agent's file is known by its name or by its folder.
    pub(super) fn settle(self, path: &Path, conversation: &mut Conversation) {
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let above = folders_above(path);
        let session = self
            .sessions
            .iter()
            .find(|id| *id == stem)
            .or_else(|| self.sessions.first());
        let beside = above.iter().position(|name| *name == "subagents");
        let agent = stem.strip_prefix("agent-");
        conversation.cwd = self.cwd(&above);
        if agent.is_some() || beside.is_some() {
            let folder = beside.and_then(|at| above.get(at + 1).copied());
            conversation.parent = session.cloned().or_else(|| folder.map(str::to_owned));
            conversation.id = self.agent.or_else(|| Some(agent.unwrap_or(stem).to_owned()));
        } else {
            conversation.id = session.cloned();
        }
    }

    /// The folder that the project's folder is named after, or else the first that was worked in.
    fn cwd(&self, above: &[&str]) -> Option<String> {
        self.folders
            .iter()
            .flat_map(|folder| ancestors(folder))
            .find(|folder| above.contains(&slug(folder).as_str()))
            .map(str::to_owned)
            .or_else(|| self.folders.first().cloned())
    }
}

fn add(known: &mut Vec<String>, new: Option<String>) {
    if let Some(new) = new.filter(|new| !known.contains(new)) {
        known.push(new);
    }
}

/// The names of the folders above a file, the nearest first.
fn folders_above(path: &Path) -> Vec<&str> {
    path.ancestors()
        .skip(1)
        .filter_map(|path| name(Some(path)))
        .collect()
}

/// A folder and those it lies in, the nearest first; written with either separator.
fn ancestors(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| {
        folder
            .rfind(['/', '\\'])
            .and_then(|at| folder.get(..at))
            .filter(|rest| !rest.is_empty())
    })
}

/// What a project's folder is called: every character that is no letter and no digit becomes a dash.
fn slug(folder: &str) -> String {
    folder
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, cwd: &[&str], expect: &str) {
        let place = Place {
            folders: cwd.iter().map(|&folder| folder.to_owned()).collect(),
            ..Place::default()
        };
        let mut conversation = Conversation::default();
        place.settle(Path::new(path), &mut conversation);
        assert_eq!(conversation.cwd.as_deref(), Some(expect), "{path}");
    }

    #[test]
    fn the_folder_is_the_one_the_project_is_named_after() {
        check(
            "p/-home-a-my-app/s.jsonl",
            &["/home/a/my-app/src"],
            "/home/a/my-app",
        );
        check("p/-home-a-b/s.jsonl", &["/tmp", "/home/a.b/c"], "/home/a.b");
        check(
            "p/C--Users-a-app/s.jsonl",
            &["C:\\Users\\a\\app\\src"],
            "C:\\Users\\a\\app",
        );
        check("p/-home-a/s/subagents/agent-1.jsonl", &["/home/a/x"], "/home/a");
        check("elsewhere/s.jsonl", &["/home/a/x", "/home/a"], "/home/a/x");
    }
}
