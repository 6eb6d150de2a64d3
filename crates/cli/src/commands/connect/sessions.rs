//! The offer to mine the past sessions of a tool that was just connected.

use std::path::Path;

use loci_connect::{AgentTool, PastSessions, ToolFolders};

use super::ask_person;
use super::documents::OfferedSessions;
use crate::commands::mine::{self, MineArgs};
use crate::errors::CommandResult;
use crate::escape::quote_for_shell;
use crate::page::format_count;
use crate::session::CommandSession;

/// The past sessions of a tool, and the command that mines them.
pub(super) struct SessionOffer {
    sessions: PastSessions,
    shown_root: String,
    command: String,
}

impl SessionOffer {
    /// The offer for a tool; `None` if it has no past sessions.
    pub(super) fn find(tool: AgentTool, folders: &ToolFolders, palace_args: &[String]) -> Option<Self> {
        let sessions = PastSessions::find(tool, folders)?;
        // The palace is named as in the settings just written, so that both mean the same one.
        let mut words = vec!["loci mine".to_owned(), quote_pattern(&sessions)];
        words.extend(palace_args.iter().map(|word| quote_for_shell(word)));
        Some(Self {
            shown_root: shorten_home(&sessions.root, &folders.home),
            command: words.join(" "),
            sessions,
        })
    }

    /// The offer for scripts.
    pub(super) fn describe(&self) -> OfferedSessions {
        OfferedSessions {
            folder: self.sessions.root.to_string_lossy().into_owned(),
            sessions: self.sessions.count,
            command: self.command.clone(),
        }
    }

    /// Mines the sessions if a person says so; else notes the command that does.
    pub(super) fn make(&self, may_ask: bool, session: &mut CommandSession) -> CommandResult<()> {
        let sessions = format_count(self.sessions.count as u64, "past session");
        let question = format!("Mine {sessions} in {} now? [y/N] ", self.shown_root);
        // A failure while mining ends the command with its error; the settings stay written.
        if may_ask && ask_person(&question)? {
            mine::run(&MineArgs::of_paths(self.sessions.folders.clone()), session)?;
        } else {
            session
                .out
                .note(&format!("mine {sessions} of it with `{}`", self.command));
        }
        Ok(())
    }
}

/// The folders as one word of a command line. The pattern stays outside of the quotes, or the shell would not expand it.
fn quote_pattern(sessions: &PastSessions) -> String {
    let root = quote_for_shell(&sessions.root.to_string_lossy());
    match sessions.pattern {
        Some(pattern) => format!("{root}/{pattern}"),
        None => root,
    }
}

fn shorten_home(path: &Path, home: &Path) -> String {
    // Only shown to people; commands name the whole path, which quotes leave intact.
    match path.strip_prefix(home) {
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.display().to_string(),
    }
}
