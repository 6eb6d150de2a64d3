//! One message of Slack: its text, and what its blocks and attachments say beyond it.

use super::channels::{Users, name};
use crate::conversation::Kind;
use crate::formats::json::{Fields, Json, when};
use crate::formats::transcript::{MessageRecord, TranscriptBuilder};

/// What a message of a person may be marked as; every other mark is the software's.
const PEOPLES: [&str; 7] = [
    "thread_broadcast",
    "reply_broadcast",
    "me_message",
    "file_share",
    "file_comment",
    "file_mention",
    "reply",
];

/// How deep blocks are followed; Slack's own are a handful of levels.
const DEEPEST: usize = 32;

/// Whether these are the members of a message: its time in Slack's notation, and something it says or whose it is.
pub(super) fn is_one(fields: &Fields<'_>) -> bool {
    let timed = fields
        .text("ts")
        .is_some_and(|ts| ts.contains('.') && when::number(&ts).is_some());
    let spoken = ["text", "user", "bot_id", "username", "subtype", "files"]
        .iter()
        .any(|name| fields.has(name));
    timed && spoken && fields.text("type").is_none_or(|kind| kind == "message")
}

/// Adds what a message says.
pub(super) fn add(said: &mut TranscriptBuilder, message: &Fields<'_>, users: &Users) {
    if !message.has("ts") && !message.has("text") {
        return said.note("something is no message; it was left out");
    }
    let record = record(message, users);
    let text = message.text("text").unwrap_or_default();
    let mut beyond = Beyond::new(&text);
    said.push(&record, text);
    for block in message.items("blocks") {
        beyond.block(said, &record, block, DEEPEST);
    }
    for attachment in message.objects("attachments") {
        beyond.attachment(said, &record, &attachment);
    }
    for file in message
        .items("files")
        .into_iter()
        .chain(message.get("file"))
        .filter_map(Json::fields)
    {
        beyond.say(said, &record, file.fields("initial_comment").text("comment"));
        let name = file.any_word(&["name", "title", "id"]).unwrap_or_default();
        let ts = message.text("ts").unwrap_or_default();
        said.note(format!(
            "message {ts}: file {name:?} is not in the export; it was left out"
        ));
    }
    for reply in message.objects("slackdump_thread_replies") {
        if !reply.has("slackdump_thread_replies") {
            add(said, &reply, users);
        }
    }
}

fn record(message: &Fields<'_>, users: &Users) -> MessageRecord {
    let subtype = message.word("subtype");
    let ts = message.get("ts").and_then(Json::text_or_raw);
    let thread = message.get("thread_ts").and_then(Json::text_or_raw);
    let mut record = MessageRecord::new(kind(message, subtype.as_deref()), speaker(message, users))
        .about("client_msg_id", message.word("client_msg_id"))
        .about("subtype", subtype)
        .about(
            "reply_to",
            thread.clone().filter(|thread| Some(thread) != ts.as_ref()),
        );
    record.at = ts.as_deref().and_then(when::number);
    record.id = ts;
    record.thread = thread;
    record
}

fn kind(message: &Fields<'_>, subtype: Option<&str>) -> Kind {
    match subtype {
        Some("bot_message") => Kind::Assistant,
        Some(subtype) if !PEOPLES.contains(&subtype) => Kind::System,
        _ if message.get("bot_id").is_some() => Kind::Assistant,
        _ => Kind::Human,
    }
}

fn speaker(message: &Fields<'_>, users: &Users) -> String {
    let user = message
        .word("user")
        .or_else(|| message.fields("comment").word("user"));
    let listed = user.as_ref().and_then(|id| users.name(id)).map(str::to_owned);
    listed
        .or_else(|| name(&message.fields("user_profile")))
        .or_else(|| message.word("username"))
        .or_else(|| message.fields("bot_profile").word("name"))
        .or(user)
        .or_else(|| message.word("bot_id"))
        .unwrap_or_default()
}

/// Tells what was said already from what was not.
struct Beyond {
    said: String,
}

impl Beyond {
    fn new(text: &str) -> Self {
        Self {
            said: unescaped(text),
        }
    }

    /// Adds a text that has not been said.
    fn say(&mut self, said: &mut TranscriptBuilder, record: &MessageRecord, text: Option<String>) {
        let Some(text) = text.filter(|text| !self.knows(text)) else {
            return;
        };
        self.said.push('\n');
        self.said.push_str(&unescaped(&text));
        said.push(record, text);
    }

    fn knows(&self, text: &str) -> bool {
        self.said.contains(unescaped(text).trim())
    }

    /// Adds the texts of a block: each text object by itself, each paragraph of rich text as one.
    fn block(
        &mut self,
        said: &mut TranscriptBuilder,
        record: &MessageRecord,
        block: Json<'_>,
        deeper: usize,
    ) {
        let Some(fields) = block.fields().filter(|_| deeper > 0) else {
            return;
        };
        let kind = fields.text("type").unwrap_or_default();
        if matches!(
            kind.as_str(),
            "rich_text_section" | "rich_text_preformatted" | "rich_text_quote"
        ) {
            return self.paragraph(said, record, &fields);
        }
        self.say(said, record, fields.text("text"));
        for name in ["text", "title", "description"] {
            if let Some(inner) = fields.get(name).filter(|inner| inner.is_object()) {
                self.block(said, record, inner, deeper - 1);
            }
        }
        for name in ["elements", "fields"] {
            for inner in fields.items(name) {
                self.block(said, record, inner, deeper - 1);
            }
        }
    }

    /// A paragraph of rich text comes in runs; the message's text has the same words with marks between them.
    fn paragraph(&mut self, said: &mut TranscriptBuilder, record: &MessageRecord, fields: &Fields<'_>) {
        let runs = fields
            .items("elements")
            .into_iter()
            .filter_map(|run| run.fields()?.any_word(&["text", "url"]));
        let runs: Vec<String> = runs.collect();
        if !runs.iter().all(|run| run.lines().all(|line| self.knows(line))) {
            self.say(said, record, Some(runs.concat()));
        }
    }

    /// Adds what an attachment says; for a page that a link was shown with, Slack says it.
    fn attachment(&mut self, said: &mut TranscriptBuilder, record: &MessageRecord, attachment: &Fields<'_>) {
        let shown = record.kind == Kind::Human
            && attachment
                .any_word(&["from_url", "original_url", "service_name"])
                .is_some();
        let title = attachment.any_word(&["title", "from_url", "author_name", "fallback"]);
        let record = match attachment.word("service_name").filter(|_| shown) {
            Some(service) => record.spoken_by(service),
            None => record.clone(),
        };
        let record = record.of_kind(if shown { Kind::System } else { record.kind });
        let record = record.about("attachment", title.or_else(|| Some("attachment".to_owned())));
        let before = said.conversation.messages.len();
        for name in ["pretext", "author_name", "title", "text"] {
            self.say(said, &record, attachment.text(name));
        }
        for field in attachment.objects("fields") {
            self.say(said, &record, field.text("title"));
            self.say(said, &record, field.text("value"));
        }
        for block in attachment.items("blocks") {
            self.block(said, &record, block, DEEPEST);
        }
        self.say(said, &record, attachment.text("footer"));
        if said.conversation.messages.len() == before {
            self.say(said, &record, attachment.text("fallback"));
        }
    }
}

/// For comparison only: blocks hold the characters that the text escapes.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}
