//! Codex: hooks like Claude Code's, and the older `notify` program, whose event is the last argument and names no file.

use std::path::{Path, PathBuf};

use super::{Fields, Harness, Homes, Moment, Told, claude_code, usual};

/// Codex.
pub(super) static CODEX: Harness = Harness {
    name: "codex",
    moments: &[
        ("sessionstart", Moment::Start),
        ("userpromptsubmit", Moment::Prompt),
        ("stop", Moment::Turn),
        ("notify", Moment::Turn),
        ("agentturncomplete", Moment::Turn),
        ("precompact", Moment::Compact),
        ("sessionend", Moment::End),
    ],
    read,
    answer: claude_code::answer,
    find,
    transcripts_name_their_folder: true,
};

/// How many folders deep the sessions lie: by year, month and day.
const DEPTH: usize = 3;

fn read(fields: &Fields) -> Told {
    let told = usual(fields);
    Told {
        session: told.session.or_else(|| fields.text("thread-id")),
        ..told
    }
}

/// The newest rollout whose name ends with the session. Those of today are found first.
fn find(homes: Homes<'_>, told: &Told) -> Option<PathBuf> {
    let session = told.session.as_deref().filter(|id| is_plain(id))?;
    let ending = format!("-{session}.jsonl");
    below(&homes.codex?.join("sessions"), &ending, DEPTH)
}

/// Whether a session's name may stand in a path.
pub(super) fn is_plain(session: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !session.is_empty() && session.chars().all(plain)
}

fn below(folder: &Path, ending: &str, depth: usize) -> Option<PathBuf> {
    let entries = folder.read_dir().ok()?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut newest_first = paths.into_iter().rev();
    match depth {
        0 => newest_first.find(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.ends_with(ending)) && path.is_file()
        }),
        _ => newest_first.find_map(|path| below(&path, ending, depth - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_tells_its_thread_and_folder() {
        let fields =
            Fields::read(br#"{"type":"agent-turn-complete","thread-id":"0199-a","turn-id":"1","cwd":"/w"}"#);
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
        let homes = Homes {
            user: None,
            codex: Some(home.path()),
        };
        let found = |session: &str| {
            let told = Told {
                session: Some(session.into()),
                ..Told::default()
            };
            find(homes, &told)
        };
        assert_eq!(found("0199-a"), Some(rollout));
        assert_eq!(found("0199-b"), None);
        assert_eq!(found("../0199-a"), None);
        assert_eq!(found(""), None);
    }
}
