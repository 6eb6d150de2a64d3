//! The schema of a type, in as few bytes as say the same: every agent reads them in every session.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of what a tool takes.
pub(crate) fn taken<T: JsonSchema>() -> Map<String, Value> {
    of::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of what a tool gives: names and types. What is always there, and what it means, its words say; a list of
/// texts, or of drawers whose fields another tool describes, is just a list.
pub(crate) fn given<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = Value::Object(of::<T>(SchemaSettings::draft2020_12().for_serialize()));
    bare(&mut schema);
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn bare(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    object.remove("description");
    object.remove("required");
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(bare);
    }
    if let Some(items) = object.get_mut("items") {
        bare(items);
        if items.get("properties").is_none() {
            object.remove("items");
        }
    }
}

/// The schema of `T`, which is an object.
fn of<T: JsonSchema>(mut settings: SchemaSettings) -> Map<String, Value> {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    shorten(&mut schema);
    match schema {
        Value::Object(mut schema) => {
            schema.remove("title");
            schema.remove("description");
            // An object without arguments still says that it is one.
            schema
                .entry("properties")
                .or_insert_with(|| Value::Object(Map::new()));
            schema
        }
        _ => Map::new(),
    }
}

/// Takes out what says nothing: formats of numbers, bounds that every count has, that what is optional may be null.
fn shorten(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    object.remove("format");
    object.remove("default");
    object.remove("additionalProperties");
    if object.get("minimum") == Some(&Value::from(0)) {
        object.remove("minimum");
    }
    if let Some(Value::Array(types)) = object.get("type").cloned()
        && let [one, Value::String(null)] = types.as_slice()
        && null == "null"
    {
        object.insert("type".into(), one.clone());
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(shorten);
    }
    if let Some(items) = object.get_mut("items") {
        shorten(items);
        if let Value::Object(items) = items {
            items.remove("description");
        }
    }
}
