//! A garden of drawers: notes, a conversation, a file, several scripts, and texts that try to break out.

use loci_testkit::TempHome;
use serde_json::json;

/// Texts that try to leave their place, for every field there is.
pub(super) const HOSTILE: [&str; 8] = [
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>",
    "<!-- ]]> <script>",
    "\u{2028}\u{202e}gpj.exe\u{202c}\u{200b} end",
    "nul \0 escape \u{1b}[2J\u{7}",
    "lone \" and ' and `",
    "javascript:alert(document.domain)",
    "&lt;b&gt;&amp;\\u003c/script\\u003e",
    "\" onmouseover=\"alert(3)\" style=\"position:fixed",
];

/// Files the drawers.
pub(super) fn furnish_garden(home: &TempHome) {
    let mut lines = vec![
        json!({"id": "bean-1", "document": "The runner beans go in after the last frost in May, beside the Café.",
            "wing": "garden", "room": "beans", "speaker": "Ada", "kind": "human", "said_at": "2025-05-02T10:00:00Z"}),
        json!({"id": "bean-2", "document": "Beans climb on hazel sticks; the last of the frost kills them.",
            "wing": "garden", "room": "beans", "speaker": "Bob", "kind": "note", "said_at": "2026-04-02T10:00:00Z"}),
        json!({"id": "roof-1", "document": "The roof was mended by Casa do Beco.", "wing": "house"}),
        json!({"id": "arabic", "document": "زرعت جدتي الفاصوليا بعد آخر صقيع.", "wing": "حديقة", "room": "بذور",
            "speaker": "ليلى"}),
        json!({"id": "hebrew", "document": "השעועית נזרעת אחרי הכפור.", "wing": "garden", "speaker": "נועה"}),
        json!({"id": "japanese", "document": "庭の大きい木の下に豆を植えた。", "wing": "garden", "room": "豆"}),
    ];
    for at in 0..130 {
        let words = if at % 2 == 0 {
            "When do we turn the heap?"
        } else {
            "Turn the compost every second week."
        };
        lines.push(json!({
            "id": format!("talk-{at:03}"), "document": format!("{words} Message {at}."), "wing": "garden",
            "room": "compost", "source": "/home/ada/chats/compost.jsonl", "kind": if at % 2 == 0 { "human" } else { "assistant" },
            "speaker": if at % 2 == 0 { "Ada" } else { "assistant" },
            "said_at": format!("2026-03-01T{:02}:{:02}:00Z", 8 + at / 60, at % 60),
            "span": {"start": at * 40, "end": at * 40 + 40, "line_start": at + 1, "line_end": at + 1},
        }));
    }
    for (at, text) in HOSTILE.into_iter().enumerate() {
        lines.push(json!({
            "id": format!("hostile-{at} {text}"), "document": format!("hostile {text}"), "wing": format!("w{at} {text}"),
            "room": text, "source": format!("{at} {text}"), "speaker": text, "kind": text, "metadata": {text: text},
        }));
    }
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    home.file_lines(&lines.join("\n"));
}
