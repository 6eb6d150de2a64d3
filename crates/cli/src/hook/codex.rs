//! Codex: hooks like Claude Code's, and the older `notify` program, whose event is the last argument and names no file.

use std::path::{Path, PathBuf};

use super::{HarnessHomes, HarnessKind, HookEvent, HookFields, HookMoment, claude_code, usual_home};

/// Codex.
pub(super) static CODEX: HarnessKind = HarnessKind {
    name: "codex",
    moments: &[
        ("sessionstart", HookMoment::Start),
        ("userpromptsubmit", HookMoment::Prompt),
        ("stop", HookMoment::Turn),
        ("notify", HookMoment::Turn),
        ("agentturncomplete", HookMoment::Turn),
        ("precompact", HookMoment::Compact),
        ("sessionend", HookMoment::End),
    ],
    read,
    answer: claude_code::answer,
    find: find_transcript,
    transcripts_name_their_folder: true,
};

/// The depth of the folders of sessions: year, month and day.
const DEPTH: usize = 3;

fn read(fields: &HookFields) -> HookEvent {
    let told = usual_home(fields);
    HookEvent {
        session: told.session.or_else(|| fields.text("thread-id")),
        ..told
    }
}

/// The newest rollout whose name ends with the session. Those of today are found first.
fn find_transcript(homes: HarnessHomes<'_>, told: &HookEvent) -> Option<PathBuf> {
    let session = told.session.as_deref().filter(|id| is_plain(id))?;
    let ending = format!("-{session}.jsonl");
    search_below(&homes.codex?.join("sessions"), &ending, DEPTH)
}

/// Whether a session's name may stand in a path.
pub(super) fn is_plain(session: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !session.is_empty() && session.chars().all(plain)
}

fn search_below(folder: &Path, ending: &str, depth: usize) -> Option<PathBuf> {
    let entries = folder.read_dir().ok()?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut newest_first = paths.into_iter().rev();
    match depth {
        0 => newest_first.find(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.ends_with(ending)) && path.is_file()
        }),
        _ => newest_first.find_map(|path| search_below(&path, ending, depth - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_tells_its_thread_and_folder() {
        let fields = HookFields::read(
            br#"{"type":"agent-turn-complete","thread-id":"0199-a","turn-id":"1","cwd":"/w"}"#,
        );
        let told = read(&fields);
        assert_eq!(
            (told.session.as_deref(), told.cwd.as_deref()),
            (Some("0199-a"), Some("/w"))
        );
        assert_eq!(told.transcript, None);
    }

    #[test]
    fn the_transcript_of_a_thread_is_found_by_its_name_and_no_name_leads_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/11/16");
        std::fs::create_dir_all(&day).unwrap();
        let rollout = day.join("rollout-2026-11-16T12-00-00-0199-a.jsonl");
        std::fs::write(&rollout, "").unwrap();
        let homes = HarnessHomes {
            user: None,
            codex: Some(home.path()),
        };
        let found = |session: &str| {
            let told = HookEvent {
                session: Some(session.into()),
                ..HookEvent::default()
            };
            find_transcript(homes, &told)
        };
        assert_eq!(found("0199-a"), Some(rollout));
        assert_eq!(found("0199-b"), None);
        assert_eq!(found("../0199-a"), None);
        assert_eq!(found(""), None);
    }
}
