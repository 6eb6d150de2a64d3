//! The text of `docs/json.md`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::entries::ERROR;
use super::{CommandSchema, list_schemas};

/// Real output of every command, below a heading with its command line.
const EXAMPLES: &str = include_str!("examples.txt");

const INTRODUCTION: &str = "# JSON output

Written by a test (`LOCI_UPDATE=1 cargo test -p loci-cli --test cli json_schemas::`) from the types that the commands
print; do not edit it by hand. With `--json`, a command prints one JSON document on one line of standard output, or one
document per line where its section says so. Narration goes to standard error.

- The exit status is 0 if something was done or found, 1 if nothing was found, there are findings or the answer is from
  a damaged palace, and 2 for trouble. With status 2 the document is [an error](#an-error); lines that were printed before it are durable.
- Times are RFC 3339 in UTC. Ids are strings; a unique prefix of one is accepted wherever an id is.
- A field without a value is `null` if the schema requires the field, and absent otherwise.
- If damage was met, any document may have `warnings`, whether its schema lists them or not: findings as
  [PalaceFinding](#palacefinding) describes them. Lines of an export have none; theirs go to standard error.
- Later versions may add fields, so a reader must ignore those it does not know. None is removed or renamed.

The schemas are [JSON Schema 2020-12](https://json-schema.org/draft/2020-12). Definitions that several commands use are
listed once, under [shared definitions](#shared-definitions).
";

/// Returns the text of `docs/json.md`.
pub fn write_markdown() -> String {
    let all = list_schemas();
    let shared = find_shared(&all);
    let mut text = String::from(INTRODUCTION);
    text.push_str("\n## Shared definitions\n");
    for (name, schema) in &shared {
        text.push_str(&format!("\n### {name}\n\n"));
        write_block(schema, &mut text);
    }
    for entry in &all {
        let heading = if entry.command == ERROR {
            "An error".to_owned()
        } else {
            entry.command.to_owned()
        };
        text.push_str(&format!("\n## {heading}\n\n{}\n", entry.about));
        if let Some(example) = find_example(entry.command) {
            text.push_str(&format!("\n```json\n{example}\n```\n"));
        }
        text.push_str(if entry.is_lines {
            "\nEach line:\n\n"
        } else {
            "\nSchema:\n\n"
        });
        write_block(&without_shared(&entry.schema, &shared), &mut text);
    }
    text
}

/// The example of a command, as it was printed.
pub(super) fn find_example(command: &str) -> Option<&'static str> {
    // A line break inside of a document is escaped, so only a heading can follow one.
    let mut sections = EXAMPLES.split("\n# ");
    sections.find_map(|section| {
        let (heading, lines) = section.trim_start_matches("# ").split_once('\n')?;
        (heading == command).then(|| lines.trim_end())
    })
}

fn write_block(schema: &Json, text: &mut String) {
    text.push_str(&format!("```json\n{schema:#}\n```\n"));
}

/// The definitions that more than one command refers to.
fn find_shared(all: &[CommandSchema]) -> BTreeMap<String, Json> {
    let mut uses: BTreeMap<&String, (usize, &Json)> = BTreeMap::new();
    for (name, schema) in all.iter().filter_map(definitions).flatten() {
        uses.entry(name).or_insert((0, schema)).0 += 1;
    }
    let shared = uses.into_iter().filter(|(_, (count, _))| *count > 1);
    shared
        .map(|(name, (_, schema))| (name.clone(), schema.clone()))
        .collect()
}

fn definitions(entry: &CommandSchema) -> Option<&Map<String, Json>> {
    entry.schema.get("$defs")?.as_object()
}

fn without_shared(schema: &Json, shared: &BTreeMap<String, Json>) -> Json {
    let mut schema = schema.clone();
    if let Json::Object(object) = &mut schema {
        if let Some(Json::Object(own)) = object.get_mut("$defs") {
            own.retain(|name, _| !shared.contains_key(name));
        }
        // An empty list would only say that the definitions are elsewhere.
        if object
            .get("$defs")
            .and_then(Json::as_object)
            .is_some_and(Map::is_empty)
        {
            object.remove("$defs");
        }
    }
    schema
}
