//! Cursor: conversations and workspaces instead of sessions and folders; its command line names no transcript.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::codex::is_plain;
use super::{HarnessHomes, HarnessKind, HookEvent, HookFields, HookMoment};

/// Cursor.
pub(super) static CURSOR: HarnessKind = HarnessKind {
    name: "cursor",
    moments: &[
        ("sessionstart", HookMoment::Start),
        ("beforesubmitprompt", HookMoment::Prompt),
        ("afteragentresponse", HookMoment::Turn),
        ("stop", HookMoment::Turn),
        ("precompact", HookMoment::Compact),
        ("sessionend", HookMoment::End),
    ],
    read,
    answer,
    find: find_transcript,
    transcripts_name_their_folder: false,
};

fn read(fields: &HookFields) -> HookEvent {
    HookEvent {
        session: fields
            .text("conversation_id")
            .or_else(|| fields.text("session_id")),
        transcript: fields.text("transcript_path"),
        cwd: fields.first("workspace_roots").or_else(|| fields.text("cwd")),
        prompt: fields.text("prompt"),
    }
}

/// A prompt must be told to go on, and takes no text; only the start does.
fn answer(moment: HookMoment, context: Option<&str>) -> Json {
    match (moment, context) {
        (HookMoment::Start, Some(context)) => json!({ "additional_context": context }),
        (HookMoment::Prompt, _) => json!({ "continue": true }),
        _ => json!({}),
    }
}

/// The command line's transcript lies in the folder of its project, the editor's in a folder of its own there.
fn find_transcript(homes: HarnessHomes<'_>, told: &HookEvent) -> Option<PathBuf> {
    let id = told.session.as_deref().filter(|id| is_plain(id))?;
    let project = spell_folder(Path::new(told.cwd.as_deref()?));
    let folder = homes.user?.join(".cursor/projects").join(project);
    let folder = folder.join("agent-transcripts");
    let file = format!("{id}.jsonl");
    let places = [folder.join(&file), folder.join(id).join(&file)];
    places.into_iter().find(|path| path.is_file())
}

/// A folder as Cursor spells it in names: whatever is no letter or digit is a hyphen.
fn spell_folder(folder: &Path) -> String {
    let text = folder.to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    text.trim_start_matches('/').chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_tells_its_conversation_and_the_first_of_its_workspaces() {
        let told = read(&HookFields::read(
            br#"{"conversation_id":"c","generation_id":"g","workspace_roots":["/w","/x"],"transcript_path":null}"#,
        ));
        let expected = HookEvent {
            session: Some("c".into()),
            cwd: Some("/w".into()),
            ..HookEvent::default()
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn a_prompt_is_always_let_through_and_only_the_start_takes_a_text() {
        assert_eq!(
            answer(HookMoment::Prompt, Some("text")),
            json!({"continue": true})
        );
        assert_eq!(answer(HookMoment::Prompt, None), json!({"continue": true}));
        assert_eq!(
            answer(HookMoment::Start, Some("text")),
            json!({"additional_context": "text"})
        );
        assert_eq!(answer(HookMoment::Turn, Some("text")), json!({}));
    }

    #[test]
    fn a_transcript_that_is_not_named_is_found_where_cursor_keeps_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home
            .path()
            .join(".cursor/projects/home-ada-my-garden/agent-transcripts");
        std::fs::create_dir_all(folder.join("ide")).unwrap();
        let homes = HarnessHomes {
            user: Some(home.path()),
            codex: None,
        };
        let (flat, nested) = (folder.join("cli.jsonl"), folder.join("ide/ide.jsonl"));
        for (id, path) in [("cli", &flat), ("ide", &nested)] {
            std::fs::write(path, "").unwrap();
            let told = HookEvent {
                session: Some(id.into()),
                cwd: Some("/home/ada/my.garden".into()),
                ..HookEvent::default()
            };
            assert_eq!(find_transcript(homes, &told).as_ref(), Some(path));
        }
        assert_eq!(find_transcript(homes, &HookEvent::default()), None);
    }
}
