//! `mempalace_diary_read`: the newest entries of an agent's diary, in whatever wing it wrote them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loci_core::{Drawer, Filter, Get, Metadata, Result, Timestamp, Value};
use loci_engine::mine::spelled;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use super::diary_write::{TOPIC, agent};
use super::drawer::{index, parent};
use super::fit::{self, Cut, Fitted};
use crate::mcp::diary::ROOM;
use crate::mcp::shown::beginning;
use crate::mcp::tool::{Call, Effect};

/// How many entries there are where nobody says, and at most.
const USUAL: i64 = 10;
const MOST: i64 = 100;
/// Microseconds in a day.
const DAY: i64 = 86_400_000_000;

pub(super) struct DiaryRead;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    agent_name: String,
    /// 1 to 100 [10]
    last_n: Option<i64>,
    wing: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    agent: String,
    /// Newest first.
    entries: Vec<Shown>,
    total: usize,
    showing: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
    #[serde(flatten)]
    cut: Option<Cut>,
}

#[derive(Debug, Serialize)]
struct Shown {
    date: String,
    timestamp: String,
    topic: String,
    content: String,
    entry_id: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl Namesake for DiaryRead {
    const NAME: &'static str = "mempalace_diary_read";
    const ABOUT: &'static str = "The newest entries of an agent's diary.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Output> {
        let agent = agent(&input.agent_name)?;
        let collection = call.house.read()?;
        let mut filter = Filter::text("room", ROOM).and(Filter::Or(vec![
            Filter::text("speaker", agent.as_str()),
            // MemPalace's own entries, as they were brought over.
            Filter::text("agent", agent.as_str()),
        ]));
        if let Some(wing) = &input.wing {
            filter = filter.and(Filter::text("wing", spelled(collection.as_ref(), wing)?));
        }
        let entries = entries(collection.get(&Get {
            filter,
            ..Get::default()
        })?);
        let last = input.last_n.unwrap_or(USUAL).clamp(1, MOST) as usize;
        let newest = entries.get(..last).unwrap_or(&entries);
        let Fitted { values, cut } = fit::fit(fit::budget()?, newest, Entry::shown);
        Ok(Output {
            agent,
            total: entries.len(),
            showing: values.len(),
            message: entries.is_empty().then_some("No diary entries yet."),
            entries: values,
            cut,
        })
    }
}

/// An entry, put together from the pieces MemPalace cut it into, if it did.
struct Entry {
    id: String,
    time: Option<Timestamp>,
    topic: String,
    text: String,
}

impl Entry {
    fn of(id: &str, mut pieces: Vec<Drawer>) -> Self {
        pieces.sort_by_key(index);
        let first = pieces.first();
        let topic = |metadata: &Metadata| metadata.get("topic").and_then(Value::as_text).map(str::to_owned);
        Self {
            id: id.to_owned(),
            time: first.and_then(|drawer| written(drawer).or(drawer.filed_at)),
            topic: first
                .and_then(|drawer| drawer.metadata.as_ref().and_then(topic))
                .unwrap_or_else(|| TOPIC.to_owned()),
            text: pieces
                .iter()
                .filter_map(|drawer| drawer.document.as_deref())
                .collect(),
        }
    }

    /// At most so many bytes of its text.
    fn shown(&self, size: usize) -> Shown {
        let content = beginning(&self.text, size);
        let timestamp = self.time.map(|time| time.to_string()).unwrap_or_default();
        Shown {
            date: timestamp.get(..10).unwrap_or_default().to_owned(),
            timestamp,
            topic: self.topic.clone(),
            content: content.to_owned(),
            entry_id: self.id.clone(),
            truncated: content.len() < self.text.len(),
        }
    }
}

/// When an entry was written. MemPalace notes the day as said and the moment as filed.
fn written(drawer: &Drawer) -> Option<Timestamp> {
    let (said, filed) = (drawer.place.said_at?, drawer.filed_at);
    let day = |time: Timestamp| time.as_micros().div_euclid(DAY);
    let moment = filed.filter(|filed| said.as_micros() % DAY == 0 && day(*filed) == day(said));
    moment.or(Some(said))
}

/// Drawers as entries, newest first.
fn entries(found: Vec<Drawer>) -> Vec<Entry> {
    let mut pieces: BTreeMap<String, Vec<Drawer>> = BTreeMap::new();
    for drawer in found {
        pieces.entry(parent(&drawer).to_owned()).or_default().push(drawer);
    }
    let mut entries: Vec<Entry> = pieces
        .into_iter()
        .map(|(id, pieces)| Entry::of(&id, pieces))
        .collect();
    entries.sort_by_key(|entry| Reverse(entry.time));
    entries
}
