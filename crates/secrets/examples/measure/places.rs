//! Places for a secret: prose, code, JSON, settings, logs, chat; and the real text around them.

use std::ops::Range;

use crate::random::PlantRandom;

/// A secret with the text that must stand beside it.
pub(crate) struct Plant {
    pub(crate) before: String,
    pub(crate) secret: String,
    pub(crate) after: String,
    /// Whether it may stand in any place; otherwise `before` and `after` are its place.
    pub(crate) bare: bool,
}

/// A text with one secret in it.
pub(crate) struct PlantedText {
    pub(crate) text: String,
    pub(crate) secret: Range<usize>,
}

/// Text before and after a secret, for those that need no name.
const BARE_PLACES: [(&str, &str); 26] = [
    ("Here is the one we use: ", ""),
    ("please try ", " and tell me if it works."),
    ("I think it was ", "."),
    ("(", ")"),
    ("`", "`"),
    ("**", "**"),
    ("let client = Client::new(\"", "\");"),
    ("    const k = '", "';"),
    ("fetch(url, { headers: { 'X-Thing': `", "` } })"),
    ("{\"id\": 7, \"value\": \"", "\", \"next\": null}"),
    ("{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"use ", "\\\"}"),
    ("line one\\n", "\\nline three"),
    ("$ ./deploy --with ", " --dry-run"),
    ("export SOMETHING=", ""),
    ("SERVICE_X=", ""),
    ("SERVICE_Y=\"", "\""),
    ("  value: ", ""),
    ("  - ", ""),
    (
        "[2024-05-01T10:00:00Z] WARN request failed with ",
        " (status 401)",
    ),
    ("2024-05-01 INFO auth=", " user=12"),
    ("钥匙是", "，请保密"),
    ("🔑", "🔒"),
    ("これは", "です。"),
    ("https://host.internal/path?x=", "&y=2"),
    ("", ""),
    ("> ", "\r"),
];

/// Puts a plant somewhere into a text.
pub(crate) fn plant(random: &mut PlantRandom, carrier: &str, plant: &Plant) -> PlantedText {
    let (place_before, place_after) = if plant.bare {
        BARE_PLACES[random.below(BARE_PLACES.len())]
    } else {
        ("", "")
    };
    if plant.bare && random.below(3) == 0 {
        return plant_between_words(random, carrier, &plant.secret);
    }
    let at = line_break_near(carrier, random.below(carrier.len() + 1));
    let (head, tail) = carrier.split_at(at);
    let joint = if head.is_empty() || head.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let mut text = format!("{head}{joint}{place_before}{}", plant.before);
    let start = text.len();
    text.push_str(&plant.secret);
    let end = text.len();
    text.push_str(&plant.after);
    text.push_str(place_after);
    if !tail.is_empty() {
        text.push('\n');
    }
    text.push_str(tail);
    PlantedText {
        text,
        secret: start..end,
    }
}

/// Puts a secret between two words of a text.
fn plant_between_words(random: &mut PlantRandom, carrier: &str, secret: &str) -> PlantedText {
    let from = random.below(carrier.len() + 1);
    let from = (from..=carrier.len())
        .find(|at| carrier.is_char_boundary(*at))
        .unwrap_or(carrier.len());
    let at = carrier[from..]
        .find(' ')
        .map_or(carrier.len(), |found| from + found);
    let (head, tail) = carrier.split_at(at);
    let text = format!("{head} {secret}{tail}");
    let start = head.len() + 1;
    PlantedText {
        text,
        secret: start..start + secret.len(),
    }
}

/// Returns the first line break from here on, or the end.
fn line_break_near(text: &str, from: usize) -> usize {
    let from = (from..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    text[from..]
        .find('\n')
        .map_or(text.len(), |found| from + found + 1)
}
