//! One message of Slack: its text, and texts that only its blocks and attachments hold.

use super::channels::{SlackUsers, person_name};
use crate::conversation::MessageKind;
use crate::formats::json::{JsonFields, JsonSlice, when};
use crate::formats::transcript::{MessageRecord, TranscriptBuilder};

/// The subtypes of a person's messages; all others are the software's.
const HUMAN_SUBTYPES: [&str; 7] = [
    "thread_broadcast",
    "reply_broadcast",
    "me_message",
    "file_share",
    "file_comment",
    "file_mention",
    "reply",
];

/// The depth limit of nested blocks; Slack's own have a handful of levels.
const DEEPEST: usize = 32;

/// Returns whether an object is a message: a time in Slack's notation, and a text or an author.
pub(super) fn is_message(fields: &JsonFields<'_>) -> bool {
    let timed = fields
        .text("ts")
        .is_some_and(|ts| ts.contains('.') && when::parse_epoch_number(&ts).is_some());
    let spoken = ["text", "user", "bot_id", "username", "subtype", "files"]
        .iter()
        .any(|name| fields.has(name));
    timed && spoken && fields.text("type").is_none_or(|kind| kind == "message")
}

/// Adds a message.
pub(super) fn add_message(said: &mut TranscriptBuilder, message: &JsonFields<'_>, users: &SlackUsers) {
    if !message.has("ts") && !message.has("text") {
        return said.note("an entry is not a message; it was left out");
    }
    let record = message_record(message, users);
    let text = message.text("text").unwrap_or_default();
    // Slack renders most messages twice, as `text` and as blocks; only what the text lacks is added.
    let mut beyond = SaidTexts::new(&text);
    said.push(&record, text);
    for block in message.items("blocks") {
        beyond.add_block(said, &record, block, DEEPEST);
    }
    for attachment in message.objects("attachments") {
        beyond.add_attachment(said, &record, &attachment);
    }
    for file in message
        .items("files")
        .into_iter()
        .chain(message.get("file"))
        .filter_map(JsonSlice::fields)
    {
        beyond.add_if_new(said, &record, file.fields("initial_comment").text("comment"));
        let name = file
            .any_nonempty_text(&["name", "title", "id"])
            .unwrap_or_default();
        let ts = message.text("ts").unwrap_or_default();
        said.note(format!(
            "message {ts}: file {name:?} is not in the export; it was left out"
        ));
    }
    for reply in message.objects("slackdump_thread_replies") {
        // slackdump nests replies one level deep; refusing deeper ones bounds the recursion.
        if !reply.has("slackdump_thread_replies") {
            add_message(said, &reply, users);
        }
    }
}

fn message_record(message: &JsonFields<'_>, users: &SlackUsers) -> MessageRecord {
    let subtype = message.nonempty_text("subtype");
    let ts = message.get("ts").and_then(JsonSlice::text_or_raw);
    let thread = message.get("thread_ts").and_then(JsonSlice::text_or_raw);
    let mut record = MessageRecord::new(
        message_kind(message, subtype.as_deref()),
        speaker_name(message, users),
    )
    .with_about("client_msg_id", message.nonempty_text("client_msg_id"))
    .with_about("subtype", subtype)
    .with_about(
        "reply_to",
        thread.clone().filter(|thread| Some(thread) != ts.as_ref()),
    );
    record.at = ts.as_deref().and_then(when::parse_epoch_number);
    record.id = ts;
    record.thread = thread;
    record
}

fn message_kind(message: &JsonFields<'_>, subtype: Option<&str>) -> MessageKind {
    match subtype {
        Some("bot_message") => MessageKind::Assistant,
        Some(subtype) if !HUMAN_SUBTYPES.contains(&subtype) => MessageKind::System,
        // Apps may post with a person's subtype; `bot_id` gives them away.
        _ if message.get("bot_id").is_some() => MessageKind::Assistant,
        _ => MessageKind::Human,
    }
}

fn speaker_name(message: &JsonFields<'_>, users: &SlackUsers) -> String {
    let user = message
        .nonempty_text("user")
        .or_else(|| message.fields("comment").nonempty_text("user"));
    let listed = user.as_ref().and_then(|id| users.name(id)).map(str::to_owned);
    // From the most reliable name to the bare id: profiles in a message may be older than the user list.
    listed
        .or_else(|| person_name(&message.fields("user_profile")))
        .or_else(|| message.nonempty_text("username"))
        .or_else(|| message.fields("bot_profile").nonempty_text("name"))
        .or(user)
        .or_else(|| message.nonempty_text("bot_id"))
        .unwrap_or_default()
}

/// The texts of a message so far, to skip repetitions.
struct SaidTexts {
    said: String,
}

impl SaidTexts {
    fn new(text: &str) -> Self {
        Self {
            said: unescape_entities(text),
        }
    }

    /// Adds a text, unless the message already has it.
    fn add_if_new(&mut self, said: &mut TranscriptBuilder, record: &MessageRecord, text: Option<String>) {
        let Some(text) = text.filter(|text| !self.holds_text(text)) else {
            return;
        };
        self.said.push('\n');
        self.said.push_str(&unescape_entities(&text));
        said.push(record, text);
    }

    fn holds_text(&self, text: &str) -> bool {
        self.said.contains(unescape_entities(text).trim())
    }

    /// Adds the texts of a block: each text object by itself, each paragraph of rich text as one.
    fn add_block(
        &mut self,
        said: &mut TranscriptBuilder,
        record: &MessageRecord,
        block: JsonSlice<'_>,
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
            return self.add_paragraph(said, record, &fields);
        }
        self.add_if_new(said, record, fields.text("text"));
        for name in ["text", "title", "description"] {
            if let Some(inner) = fields.get(name).filter(|inner| inner.is_object()) {
                self.add_block(said, record, inner, deeper - 1);
            }
        }
        for name in ["elements", "fields"] {
            for inner in fields.items(name) {
                self.add_block(said, record, inner, deeper - 1);
            }
        }
    }

    /// Adds a paragraph of rich text, unless the message's text has its runs with formatting marks between them.
    fn add_paragraph(
        &mut self,
        said: &mut TranscriptBuilder,
        record: &MessageRecord,
        fields: &JsonFields<'_>,
    ) {
        let runs = fields
            .items("elements")
            .into_iter()
            .filter_map(|run| run.fields()?.any_nonempty_text(&["text", "url"]));
        let runs: Vec<String> = runs.collect();
        if !runs
            .iter()
            .all(|run| run.lines().all(|line| self.holds_text(line)))
        {
            self.add_if_new(said, record, Some(runs.concat()));
        }
    }

    /// Adds the texts of an attachment; the preview of a link is Slack's, not the person's.
    fn add_attachment(
        &mut self,
        said: &mut TranscriptBuilder,
        record: &MessageRecord,
        attachment: &JsonFields<'_>,
    ) {
        let shown = record.kind == MessageKind::Human
            && attachment
                .any_nonempty_text(&["from_url", "original_url", "service_name"])
                .is_some();
        let title = attachment.any_nonempty_text(&["title", "from_url", "author_name", "fallback"]);
        let record = match attachment.nonempty_text("service_name").filter(|_| shown) {
            Some(service) => record.spoken_by(service),
            None => record.clone(),
        };
        let record = record.as_kind(if shown { MessageKind::System } else { record.kind });
        let record = record.with_about("attachment", title.or_else(|| Some("attachment".to_owned())));
        let before = said.conversation.messages.len();
        for name in ["pretext", "author_name", "title", "text"] {
            self.add_if_new(said, &record, attachment.text(name));
        }
        for field in attachment.objects("fields") {
            self.add_if_new(said, &record, field.text("title"));
            self.add_if_new(said, &record, field.text("value"));
        }
        for block in attachment.items("blocks") {
            self.add_block(said, &record, block, DEEPEST);
        }
        self.add_if_new(said, &record, attachment.text("footer"));
        // `fallback` is the plain form of the whole attachment, so it counts only if nothing else was found.
        if said.conversation.messages.len() == before {
            self.add_if_new(said, &record, attachment.text("fallback"));
        }
    }
}

/// Unescapes entities, for comparison only: blocks hold the characters that the text escapes.
fn unescape_entities(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        // Last, or `&amp;lt;` would be unescaped twice.
        .replace("&amp;", "&")
}
