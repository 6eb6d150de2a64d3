//! The session id and working folder of a file, from its records and the names of the folders around it.

use std::path::Path;

use super::super::json::JsonFields;
use super::super::workspace::utf8_file_name;
use crate::conversation::Conversation;

/// The sessions and folders that the records name.
#[derive(Debug, Default)]
pub(super) struct SessionPlace {
    sessions: Vec<String>,
    folders: Vec<String>,
    agent: Option<String>,
}

impl SessionPlace {
    /// Registers the session and folder of a record.
    pub(super) fn note_record(&mut self, fields: &JsonFields<'_>) {
        push_new(&mut self.sessions, fields.any_text(&["sessionId", "session_id"]));
        push_new(&mut self.folders, fields.text("cwd"));
        if self.agent.is_none() {
            self.agent = fields.text("agentId");
        }
    }

    /// Fills in the ids and the folder of the conversation. A sub-agent's file is known by its name or by its folder.
    pub(super) fn fill_in(self, path: &Path, conversation: &mut Conversation) {
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let above = folders_above(path);
        let session = self
            .sessions
            .iter()
            // A resumed session begins with records of the one before it; the file is named after the session
            // it holds.
            .find(|id| *id == stem)
            .or_else(|| self.sessions.first());
        let beside = above.iter().position(|name| *name == "subagents");
        let agent = stem.strip_prefix("agent-");
        conversation.cwd = self.project_folder(&above);
        if agent.is_some() || beside.is_some() {
            let folder = beside.and_then(|at| above.get(at + 1).copied());
            conversation.parent = session.cloned().or_else(|| folder.map(str::to_owned));
            conversation.id = self.agent.or_else(|| Some(agent.unwrap_or(stem).to_owned()));
        } else {
            conversation.id = session.cloned();
        }
    }

    /// Returns the folder that the project's folder is named after, or else the first working folder.
    fn project_folder(&self, above: &[&str]) -> Option<String> {
        self.folders
            .iter()
            .flat_map(|folder| path_ancestors(folder))
            // `cwd` changes when the model runs `cd`. The slug of the project's folder tells where the
            // session was started, but cannot be reversed, so candidates are slugged and compared.
            .find(|folder| above.contains(&project_slug(folder).as_str()))
            .map(str::to_owned)
            .or_else(|| self.folders.first().cloned())
    }
}

fn push_new(known: &mut Vec<String>, new: Option<String>) {
    if let Some(new) = new.filter(|new| !known.contains(new)) {
        known.push(new);
    }
}

/// Returns the names of the folders above a file, the nearest first.
fn folders_above(path: &Path) -> Vec<&str> {
    path.ancestors()
        .skip(1)
        .filter_map(|path| utf8_file_name(Some(path)))
        .collect()
}

/// Returns a folder and its ancestors, the nearest first, with either separator.
fn path_ancestors(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| {
        folder
            .rfind(['/', '\\'])
            .and_then(|at| folder.get(..at))
            .filter(|rest| !rest.is_empty())
    })
}

/// Returns the name of a project's folder: every character but ASCII letters and digits becomes a dash.
fn project_slug(folder: &str) -> String {
    folder
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, cwd: &[&str], expect: &str) {
        let place = SessionPlace {
            folders: cwd.iter().map(|&folder| folder.to_owned()).collect(),
            ..SessionPlace::default()
        };
        let mut conversation = Conversation::default();
        place.fill_in(Path::new(path), &mut conversation);
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
