//! What the palace of the page tests holds: wings of a person's life and work, conversations, files, many scripts, and
//! names that try to be more than names.

use std::fs;
use std::path::Path;

use loci_testkit::{TempHome, made_once};
use serde_json::{Value as Json, json};

use crate::new_home;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The files that are mined: their place in the repository, and where they lie in the home.
const MINED: [(&str, &str); 5] = [
    ("examples/claude-code/login-test.jsonl", "shop/login-test.jsonl"),
    ("examples/chatgpt/conversations.json", "chats/conversations.json"),
    ("docs/times.md", "notes/times.md"),
    ("docs/hooks.md", "notes/hooks.md"),
    ("crates/when/src/lib.rs", "notes/code/when.rs"),
];

/// The text that no stranger may ever see.
pub(crate) const SECRET_TEXT: &str = "The roof was mended by Casa do Beco in the rain.";

/// Makes a home with the sample palace. It is filled once for all tests of a build, and copied.
#[track_caller]
pub(crate) fn home_with_sample_palace() -> TempHome {
    let home = new_home();
    if home.is_on_server() {
        fill_palace(&home);
        return home;
    }
    let filled = made_once("web-palace", |folder| {
        let home = new_home();
        fill_palace(&home);
        copy_folder(&home.palace(), &folder.join("palace"));
    });
    copy_folder(&filled.join("palace"), &home.palace());
    home
}

fn fill_palace(home: &TempHome) {
    for (from, to) in MINED {
        home.write(to, fs::read(Path::new(REPOSITORY).join(from)).unwrap());
    }
    home.run(&["mine", "shop", "--wing", "shop", "--trusted"])
        .expect_code(0);
    home.run(&["mine", "chats", "--wing", "ada", "--trusted"])
        .expect_code(0);
    home.run(&["mine", "notes"]).expect_code(0);
    let lines: String = sample_drawers().iter().map(|line| format!("{line}\n")).collect();
    home.file_lines(&lines);
}

/// Returns the drawers that are filed by hand, as lines of `loci add --jsonl`.
fn sample_drawers() -> Vec<Json> {
    let mut lines = vec![
        json!({"id": "roof-1", "wing": "house", "room": "roof", "document": SECRET_TEXT, "said_at": "2026-03-04T17:20:00Z"}),
        json!({"id": "bean-1", "wing": "garden", "room": "beans", "speaker": "Ada", "kind": "note",
            "document": "The runner beans go in after the last frost in May.", "said_at": "2025-05-02T10:00:00Z",
            "metadata": {"rows": 3, "tags": ["beans", "spring"], "dry": false}}),
        json!({"id": "bean-2", "wing": "garden", "room": "beans", "speaker": "Ben", "said_at": "2026-04-02T10:00:00Z",
            "document": "Beans climb on hazel sticks.\n\nTie them twice:\n\t1. at the foot\n\t2. at the hand"}),
        json!({"id": "抽屉-1", "wing": "旅行", "room": "大阪", "speaker": "美咲", "said_at": "2026-02-11T03:00:00Z",
            "document": "大阪の朝市で、七輪と小さな急須を買いました。駅から歩いて十分です。"}),
        json!({"id": "רשימה", "wing": "משפחה", "room": "שבת", "speaker": "סבתא", "said_at": "2026-01-17T12:00:00Z",
            "document": "הטלפון של סבתא הוא 02-555-0199, ולא אחרי שמונה בערב (8 PM)."}),
        json!({"id": "🗄️", "wing": "garden", "room": "🌱 seeds", "document": "🧑‍🌾 sowed 🥕🥕 and 🫛; 👩‍👩‍👧 helped."}),
        json!({"id": "no-wing", "document": "A note that was filed nowhere."}),
        json!({"id": "<b id=x>", "wing": "<img src=x onerror=alert(1)>", "room": "\" onclick=\"alert(1)", "speaker": "</title>",
            "kind": "a\u{202e}b", "source": "../../etc/passwd?<&#x27;>", "document": "Names that try to be more than names."}),
        json!({"id": "long-1", "wing": "shop", "room": "a-room-with-a-name-that-nobody-would-ever-type-twice-because-it-is-far-too-long",
            "document": "w".repeat(300)}),
    ];
    lines.extend((0..60).map(|n| {
        let (day, hour) = (1 + n % 28, n % 24);
        json!({
            "id": format!("shed-{n:02}"), "wing": "garden", "room": if n % 3 == 0 { "shed" } else { "beans" },
            "source": format!("notes/garden/{}.md", n / 20), "speaker": if n % 2 == 0 { "Ada" } else { "Ben" },
            "said_at": format!("2026-05-{day:02}T{hour:02}:30:00Z"),
            "document": format!("Shed note {n}: {} jars of beans on shelf {}, and the {} rake.", n * 7 % 31, n % 5,
                ["old", "new", "borrowed", "broken"][n % 4]),
        })
    }));
    lines
}

/// Copies a folder with all that is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let place = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &place);
        } else {
            fs::copy(&path, place).unwrap();
        }
    }
}
