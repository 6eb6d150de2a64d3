//! `mempalace_checkpoint`: several texts and a diary entry in one call.

use loci_core::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::add_drawer::{self, Note};
use super::check_duplicate::{Match, SAME, matches};
use super::diary_write::{self, Words, Written};
use super::{Namesake, given};
use crate::mcp::tool::{Call, Effect};

/// How many texts one call may file.
const MOST: usize = 200;
/// Who filed them where nobody says.
const SOMEBODY: &str = "checkpoint";

pub(super) struct Checkpoint;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    items: Vec<Item>,
    #[serde(default)]
    #[schemars(with = "Diary")]
    diary: Option<Diary>,
    /// 0 to 1 [0.9]
    dedup_threshold: Option<f64>,
    added_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    wing: String,
    room: String,
    content: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Diary {
    agent_name: String,
    entry: String,
    topic: Option<String>,
    wing: Option<String>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Output {
    success: bool,
    added: Vec<Added>,
    duplicates: Vec<Duplicate>,
    errors: Vec<Failed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diary: Option<Written>,
}

#[derive(Debug, Serialize)]
struct Added {
    index: usize,
    drawer_id: String,
    wing: String,
    room: String,
}

#[derive(Debug, Serialize)]
struct Duplicate {
    index: usize,
    wing: String,
    room: String,
    drawer_id: String,
    matches: Vec<Match>,
}

/// What could not be filed; without an index, the diary entry.
#[derive(Debug, Serialize)]
struct Failed {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    error: String,
}

impl Namesake for Checkpoint {
    const NAME: &'static str = "mempalace_checkpoint";
    const ABOUT: &'static str =
        "Save a session in one call: texts that are not filed yet, and a diary entry.";
    const EFFECT: Effect = Effect::Adds;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Output> {
        if input.items.len() > MOST || (input.items.is_empty() && input.diary.is_none()) {
            let message = format!("`items` must hold 1 to {MOST} texts, not {}", input.items.len());
            return Err(Error::invalid(message).hint("nothing was filed"));
        }
        let least = input.dedup_threshold.unwrap_or(SAME);
        let agent = input.diary.as_ref().map(|diary| diary.agent_name.as_str());
        let added_by = input.added_by.as_deref().or(agent).unwrap_or(SOMEBODY);
        let mut output = Output::default();
        for (index, item) in input.items.iter().enumerate() {
            // What is filed stays filed, whatever becomes of the others.
            if let Err(error) = keep(index, item, least, added_by, call, &mut output) {
                output.errors.push(Failed {
                    index: Some(index),
                    error: error.to_string(),
                });
            }
        }
        if let Some(diary) = &input.diary {
            match write(diary, call) {
                Ok(written) => output.diary = Some(written),
                Err(error) => output.errors.push(Failed {
                    index: None,
                    error: error.to_string(),
                }),
            }
        }
        output.success = output.errors.is_empty();
        Ok(output)
    }
}

/// Files a text unless nearly the same is there.
fn keep(
    index: usize,
    item: &Item,
    least: f64,
    added_by: &str,
    call: &Call<'_>,
    output: &mut Output,
) -> Result<()> {
    let matches = matches(call, &item.content, least)?;
    if let Some(first) = matches.first() {
        output.duplicates.push(Duplicate {
            index,
            wing: item.wing.clone(),
            room: item.room.clone(),
            drawer_id: first.id.clone(),
            matches,
        });
        return Ok(());
    }
    let note = Note {
        wing: &item.wing,
        room: &item.room,
        content: &item.content,
        source_file: None,
        added_by,
    };
    let filed = add_drawer::file(&note, call)?;
    output.added.push(Added {
        index,
        drawer_id: filed.drawer_id,
        wing: filed.wing,
        room: filed.room,
    });
    Ok(())
}

fn write(diary: &Diary, call: &Call<'_>) -> Result<Written> {
    let words = Words {
        agent: &diary.agent_name,
        entry: &diary.entry,
        topic: given(diary.topic.as_deref()),
        wing: given(diary.wing.as_deref()),
    };
    diary_write::write(&words, call)
}
