//! The JSON schema of a type, shortened without changing its meaning: every agent reads it in every session.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// Marks a list whose items agents know from another tool.
const BRIEF: &str = "x-brief";

/// The whole types of a tool, for those who do not pay for each word.
#[derive(Clone, Copy)]
pub(crate) struct ToolTypes {
    /// Makes the schema of the arguments.
    pub(crate) input: fn(&mut SchemaGenerator) -> Schema,
    /// Makes the schema of the result.
    pub(crate) output: fn(&mut SchemaGenerator) -> Schema,
}

/// Returns the schema of a tool's arguments.
pub(crate) fn input_schema<T: JsonSchema>() -> Map<String, Value> {
    generate_schema::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// Returns the schema of a tool's result: names and types only. A list of texts, or of drawers whose fields
/// another tool describes, is just a list.
pub(crate) fn output_schema<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = Value::Object(generate_schema::<T>(
        SchemaSettings::draft2020_12().for_serialize(),
    ));
    // Agents do not fill results in, so descriptions and required fields would be bytes without a use.
    strip_descriptions(&mut schema);
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn strip_descriptions(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    object.remove("description");
    object.remove("required");
    if object.remove(BRIEF).is_some() {
        object.remove("items");
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(strip_descriptions);
    }
    if let Some(items) = object.get_mut("items") {
        strip_descriptions(items);
        // "array" alone already says as much as an array of untyped items.
        if items.get("properties").is_none() {
            object.remove("items");
        }
    }
}

/// Generates the schema of `T`, which must be an object.
fn generate_schema<T: JsonSchema>(mut settings: SchemaSettings) -> Map<String, Value> {
    // Several clients do not resolve `$ref`, and a definition that is used once is longer than its contents.
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    shorten_schema(&mut schema);
    match schema {
        Value::Object(mut schema) => {
            schema.remove("title");
            schema.remove("description");
            // Some clients reject an object schema without `properties`, even for a tool without arguments.
            schema
                .entry("properties")
                .or_insert_with(|| Value::Object(Map::new()));
            schema
        }
        _ => Map::new(),
    }
}

/// Removes what adds no information: number formats, the lower bound of counts, and null as a type of
/// optional fields.
fn shorten_schema(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    object.remove("format");
    object.remove("default");
    object.remove("additionalProperties");
    if object.get("minimum") == Some(&Value::from(0)) {
        object.remove("minimum");
    }
    // `Option<T>` becomes `["T", "null"]`. Absence from `required` says the same, and nulls are accepted
    // anyway.
    if let Some(Value::Array(types)) = object.get("type").cloned()
        && let [one, Value::String(null)] = types.as_slice()
        && null == "null"
    {
        object.insert("type".into(), one.clone());
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(shorten_schema);
    }
    if let Some(items) = object.get_mut("items") {
        shorten_schema(items);
        if let Value::Object(items) = items {
            items.remove("description");
        }
    }
}
