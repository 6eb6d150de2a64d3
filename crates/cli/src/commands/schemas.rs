//! The documents that `--json` prints, as JSON schemas: one list for `docs/json.md` and for its tests.

mod entries;
mod markdown;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value as Json;

pub use entries::list_schemas;
pub use markdown::write_markdown;

/// The schema of the `--json` output of one command line.
#[derive(Debug, Clone)]
pub struct CommandSchema {
    /// The command line, without options that do not change the document.
    pub command: &'static str,
    /// One sentence about the document.
    pub about: &'static str,
    /// Whether the output is any number of lines, each of which is such a document.
    pub is_lines: bool,
    /// The schema, with every definition it refers to.
    pub schema: Json,
}

impl CommandSchema {
    /// Describes a command that prints one document.
    fn of_document<T: JsonSchema>(command: &'static str, about: &'static str) -> Self {
        Self {
            command,
            about,
            is_lines: false,
            schema: generate_schema::<T>(),
        }
    }

    /// Describes a command that prints a document on each line.
    fn of_lines<T: JsonSchema>(command: &'static str, about: &'static str) -> Self {
        Self {
            is_lines: true,
            ..Self::of_document::<T>(command, about)
        }
    }
}

/// Generates the schema of what `T` serialises to.
fn generate_schema<T: JsonSchema>() -> Json {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.meta_schema = None;
    let schema: Schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    tidy_schema(&mut schema);
    schema
}

/// Removes the sizes of numbers, and null from fields that are absent instead.
fn tidy_schema(schema: &mut Json) {
    match schema {
        Json::Array(parts) => parts.iter_mut().for_each(tidy_schema),
        Json::Object(object) => {
            // The width of a number in this program means nothing to a reader of JSON; that a string is a time does.
            let format = object.get("format").and_then(Json::as_str);
            if format.is_some_and(|format| format != "date-time") {
                object.remove("format");
            }
            let required = object.get("required").cloned().unwrap_or_default();
            let is_required = |name: &str| {
                required
                    .as_array()
                    .is_some_and(|all| all.iter().any(|one| one == name))
            };
            if let Some(Json::Object(properties)) = object.get_mut("properties") {
                let optional = properties.iter_mut().filter(|(name, _)| !is_required(name));
                optional.for_each(|(_, property)| drop_null(property));
            }
            object.values_mut().for_each(tidy_schema);
        }
        _ => {}
    }
}

/// Removes null from the schema of an `Option` that is not written when it is `None`.
fn drop_null(property: &mut Json) {
    let Json::Object(property) = property else { return };
    if let Some(Json::Array(types)) = property.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            property.insert("type".to_owned(), one);
        }
    }
    // An optional reference is written as a choice between the reference and null.
    if let Some(Json::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|one| one.get("type").is_none_or(|kind| kind != "null"));
        if let [Json::Object(one)] = choices.as_slice() {
            let one = one.clone();
            property.remove("anyOf");
            property.extend(one);
        }
    }
}
