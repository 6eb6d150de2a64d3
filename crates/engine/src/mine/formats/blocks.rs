//! Content in blocks, as the Messages API has them: text, thinking, calls of tools and their results, images.

use super::json::{self, Object, Raw};
use super::script::{Script, Stamp, Voice, data_url, decoded_size};

/// Writes down what a record says: a text, or blocks of any kind.
pub(super) fn content(script: &mut Script, stamp: &Stamp, voice: Voice, raw: Raw<'_>) {
    match json::text(raw) {
        Some(text) => script.say(stamp, voice, text),
        None => json::list(raw)
            .unwrap_or_else(|| vec![raw])
            .into_iter()
            .for_each(|raw| block(script, stamp, voice, raw)),
    }
}

fn block(script: &mut Script, stamp: &Stamp, voice: Voice, raw: Raw<'_>) {
    if let Some(text) = json::text(raw) {
        return script.say(stamp, voice, text);
    }
    let Some(fields) = Object::of(raw) else { return };
    let kind = fields.text("type").unwrap_or_default();
    match kind.as_str() {
        "thinking" | "reasoning" => {
            script.think(
                stamp,
                fields.first_text(&["thinking", "text"]).unwrap_or_default(),
            );
        }
        "redacted_thinking" => {}
        "image" | "image_url" | "input_image" => image(script, &fields),
        "document" => document(script, stamp, voice, &fields),
        kind if kind.ends_with("tool_use") => {
            let arguments = fields.raw("input").map_or("", |input| input.get());
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
fn other(script: &mut Script, fields: &Object<'_>, kind: &str, mut say: impl FnMut(&mut Script, String)) {
    match fields.first_text(&["text", "content"]) {
        Some(text) => say(script, text),
        None if kind.is_empty() => {}
        None => script.note(format!("a block of the kind {kind:?} is not kept")),
    }
}

/// What a tool answered: a text, or blocks of which each is kept for itself.
fn result(script: &mut Script, stamp: &Stamp, fields: &Object<'_>) {
    let id = fields.text("tool_use_id");
    let mut stamp = stamp.clone();
    if fields.flag("is_error") {
        stamp.about.insert("error", true);
    }
    let Some(content) = fields.raw("content") else {
        return;
    };
    for raw in json::list(content).unwrap_or_else(|| vec![content]) {
        if let Some(text) = json::text(raw) {
            script.answer(&stamp, None, id.clone(), text);
        } else if let Some(block) = Object::of(raw) {
            result_block(script, &stamp, &id, &block);
        }
    }
}

fn result_block(script: &mut Script, stamp: &Stamp, id: &Option<String>, block: &Object<'_>) {
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
pub(super) fn image(script: &mut Script, fields: &Object<'_>) {
    let source = fields.object("source").unwrap_or_else(|| fields.clone());
    let address = source
        .object("image_url")
        .and_then(|image| image.text("url"))
        .or_else(|| source.first_text(&["image_url", "url"]));
    if let Some(address) = address {
        let (media_type, size) = data_url(&address);
        return script.not_kept("an image", media_type, size);
    }
    let media_type = source.first_text(&["media_type", "mimeType", "mime_type"]);
    let size = source.text("data").map(|data| decoded_size(&data));
    script.not_kept("an image", media_type.as_deref(), size);
}

fn document(script: &mut Script, stamp: &Stamp, voice: Voice, fields: &Object<'_>) {
    document_source(script, fields, |script, text| script.say(stamp, voice, text));
}

/// A document: kept where it is text, noted where it is not.
fn document_source(script: &mut Script, fields: &Object<'_>, mut say: impl FnMut(&mut Script, String)) {
    let source = fields.object("source").unwrap_or_default();
    let text = source.text("data").unwrap_or_default();
    if source.text("type").as_deref() == Some("text") {
        return say(script, text);
    }
    let size = Some(decoded_size(&text)).filter(|size| *size > 0);
    script.not_kept("a document", source.text("media_type").as_deref(), size);
}
