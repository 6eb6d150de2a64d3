//! The schemas of a description: every named type once, under `components/schemas`.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Where references to types begin while a description is made: what the server takes and what it sends may have
/// different schemas under one name.
const TAKEN: &str = "#/taken/";
const SENT: &str = "#/sent/";
/// Where they begin once it is made.
const SHELVED: &str = "#/components/schemas/";

/// Collects the types of a description.
#[derive(Debug)]
pub(super) struct SchemaShelf {
    taken: SchemaGenerator,
    sent: SchemaGenerator,
    /// The names of the types that tools return.
    results: Vec<String>,
}

impl SchemaShelf {
    pub(super) fn new() -> Self {
        let generator = |mut settings: SchemaSettings, path: &'static str| {
            settings.definitions_path = path.into();
            settings.meta_schema = None;
            settings.into_generator()
        };
        Self {
            taken: generator(SchemaSettings::draft2020_12().for_deserialize(), "/taken"),
            sent: generator(SchemaSettings::draft2020_12().for_serialize(), "/sent"),
            results: Vec::new(),
        }
    }

    /// Returns the schema of what a tool takes.
    pub(super) fn add_taken(&mut self, make: fn(&mut SchemaGenerator) -> Schema) -> Value {
        make(&mut self.taken).to_value()
    }

    /// Returns the schema of what a tool returns.
    pub(super) fn add_sent(&mut self, make: fn(&mut SchemaGenerator) -> Schema) -> Value {
        let schema = make(&mut self.sent).to_value();
        let reference = schema.get("$ref").and_then(Value::as_str);
        let name = reference.and_then(|reference| reference.strip_prefix(SENT));
        self.results.extend(name.map(str::to_owned));
        schema
    }

    /// Returns the schema of another type that is sent.
    pub(super) fn add_type<T: JsonSchema>(&mut self) -> Value {
        self.sent.subschema_for::<T>().to_value()
    }

    /// Puts the types into a description, each under a name of its own, and points every reference at them.
    pub(super) fn place(mut self, document: &mut Value) {
        let mut shelf = self.taken.take_definitions(true);
        shelf.values_mut().for_each(refuse_unknown_fields);
        let mut sent = self.sent.take_definitions(true);
        sent.values_mut().for_each(require_what_is_sent);
        for name in &self.results {
            sent.get_mut(name).into_iter().for_each(allow_warnings);
        }
        let mut names = Map::new();
        for (name, schema) in sent {
            let own = choose_name(&name, &shelf);
            names.insert(name, own.clone().into());
            shelf.insert(own, schema);
        }
        if let Some(Value::Object(components)) = document.get_mut("components") {
            components.insert("schemas".into(), Value::Object(shelf));
        }
        point_references(document, &names);
    }
}

/// Returns a name that is not taken yet.
fn choose_name(name: &str, shelf: &Map<String, Value>) -> String {
    let more = (2..).map(|number| format!("{name}{number}"));
    let mut names = [name.to_owned(), format!("{name}Sent")].into_iter().chain(more);
    names
        .find(|name| !shelf.contains_key(name))
        .expect("there are more numbers than types")
}

/// Points every reference in `value` at the place where its type is in the end.
fn point_references(value: &mut Value, sent_names: &Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get_mut("$ref") {
                if let Some(name) = reference.strip_prefix(TAKEN) {
                    *reference = format!("{SHELVED}{name}");
                } else if let Some(name) = reference.strip_prefix(SENT) {
                    let own = sent_names.get(name).and_then(Value::as_str).unwrap_or(name);
                    *reference = format!("{SHELVED}{own}");
                }
            }
            fields
                .values_mut()
                .for_each(|field| point_references(field, sent_names));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| point_references(item, sent_names)),
        _ => {}
    }
}

/// Says of arguments what is true of them: an unknown one is refused. Their descriptions are those of types that they
/// include.
fn refuse_unknown_fields(schema: &mut Value) {
    if let Value::Object(schema) = schema
        && schema.get("type") == Some(&"object".into())
    {
        schema.remove("description");
        schema.entry("properties").or_insert_with(|| json!({}));
        schema.insert("additionalProperties".into(), false.into());
    }
}

/// Says of results what is true of them: a field without a value is left out.
fn require_what_is_sent(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    fields.remove("x-brief");
    let mut optional = Vec::new();
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, property) in properties {
            if drop_null(property) {
                optional.push(name.clone());
            }
            require_what_is_sent(property);
        }
    }
    if let Some(Value::Array(required)) = fields.get_mut("required") {
        required.retain(|name| !optional.iter().any(|one| name == one));
    }
    if let Some(items) = fields.get_mut("items") {
        require_what_is_sent(items);
    }
}

/// Says that warnings may come with a result: every reply tells the damage that its call has met.
fn allow_warnings(schema: &mut Value) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let warnings = properties
            .entry("warnings")
            .or_insert_with(|| json!({ "type": "array", "items": { "type": "string" } }));
        warnings["description"] = "What keeps the reply from being whole, such as damage.".into();
    }
}

/// Removes null from the types of a field. Returns whether it was one of them.
fn drop_null(property: &mut Value) -> bool {
    let Some(Value::Array(types)) = property.get_mut("type") else {
        let Some(Value::Array(choices)) = property.get_mut("anyOf") else {
            return false;
        };
        let before = choices.len();
        choices.retain(|choice| choice["type"] != "null");
        return choices.len() < before;
    };
    let before = types.len();
    types.retain(|one| one != "null");
    let is_optional = types.len() < before;
    if let [one] = types.as_slice() {
        property["type"] = one.clone();
    }
    is_optional
}
