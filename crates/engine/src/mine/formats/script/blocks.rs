//! Content in blocks, as the Messages API has them: text, thinking, calls of tools and their results, images.

use super::super::json::{Fields, Json};
use super::{Script, Stamp, Voice, data_url, decoded_size};

/// Writes down what a record says: a text, or blocks of any kind.
pub(crate) fn content(script: &mut Script, stamp: &Stamp, voice: Voice, value: Json<'_>) {
    match value.text() {
        Some(text) => script.say(stamp, voice, text),
        None => value
            .all()
            .into_iter()
            .for_each(|value| block(script, stamp, voice, value)),
    }
}

fn block(script: &mut Script, stamp: &Stamp, voice: Voice, value: Json<'_>) {
    if let Some(text) = value.text() {
        return script.say(stamp, voice, text);
    }
    let Some(fields) = value.fields() else { return };
    let kind = fields.text("type").unwrap_or_default();
    match kind.as_str() {
        "thinking" | "reasoning" => {
            script.think(stamp, fields.any_text(&["thinking", "text"]).unwrap_or_default());
        }
        "redacted_thinking" => {}
        "image" | "image_url" | "input_image" => image(script, &fields),
        "document" => document(script, stamp, voice, &fields),
        kind if kind.ends_with("tool_use") => {
            let arguments = fields.get("input").map_or("", Json::raw);
            script.call(
                stamp,
                fields.text("name"),
                fields.text("id"),
                arguments.to_owned(),
            );
        }
        kind if kind.ends_with("tool_result") => result(script, stamp, &fields),
        kind => other(script, &fields, kind, |script, text| {
            script.say(stamp, voice, text);
        }),
    }
}

/// A block that says something, or one that nothing is known of.
fn other(script: &mut Script, fields: &Fields<'_>, kind: &str, mut say: impl FnMut(&mut Script, String)) {
    match fields.any_text(&["text", "content"]) {
        Some(text) => say(script, text),
        None if kind.is_empty() => {}
        None => script.note(format!("a block of the kind {kind:?} is not kept")),
    }
}

/// What a tool answered: a text, or blocks of which each is kept for itself.
fn result(script: &mut Script, stamp: &Stamp, fields: &Fields<'_>) {
    let id = fields.text("tool_use_id");
    let mut stamp = stamp.clone();
    if fields.is_true("is_error") {
        stamp.about.insert("error", true);
    }
    let Some(content) = fields.get("content") else {
        return;
    };
    for value in content.all() {
        if let Some(text) = value.text() {
            script.answer(&stamp, None, id.clone(), text);
        } else if let Some(block) = value.fields() {
            result_block(script, &stamp, &id, &block);
        }
    }
}

fn result_block(script: &mut Script, stamp: &Stamp, id: &Option<String>, block: &Fields<'_>) {
    let kind = block.text("type").unwrap_or_default();
    let answer = |script: &mut Script, text| script.answer(stamp, None, id.clone(), text);
    match kind.as_str() {
        "image" | "image_url" | "input_image" => image(script, block),
        "document" => document_source(script, block, answer),
        "tool_reference" => answer(script, block.text("tool_name").unwrap_or_default()),
        kind => other(script, block, kind, answer),
    }
}

/// Notes an image: in a source of its own, as data beside its type, or at an address.
pub(crate) fn image(script: &mut Script, fields: &Fields<'_>) {
    let source = fields.object("source").unwrap_or_else(|| fields.clone());
    let address = source
        .fields("image_url")
        .text("url")
        .or_else(|| source.any_text(&["image_url", "url"]));
    if let Some(address) = address {
        let (media_type, size) = data_url(&address);
        return script.not_kept("an image", media_type, size);
    }
    let media_type = source.any_text(&["media_type", "mimeType", "mime_type"]);
    let size = source.text("data").map(|data| decoded_size(&data));
    script.not_kept("an image", media_type.as_deref(), size);
}

fn document(script: &mut Script, stamp: &Stamp, voice: Voice, fields: &Fields<'_>) {
    document_source(script, fields, |script, text| script.say(stamp, voice, text));
}

/// A document: kept where it is text, noted where it is not.
fn document_source(script: &mut Script, fields: &Fields<'_>, mut say: impl FnMut(&mut Script, String)) {
    let source = fields.fields("source");
    let text = source.text("data").unwrap_or_default();
    if source.text("type").as_deref() == Some("text") {
        return say(script, text);
    }
    let size = Some(decoded_size(&text)).filter(|size| *size > 0);
    script.not_kept("a document", source.text("media_type").as_deref(), size);
}
