//! MemPalace's arguments: their names and types, and our names for them.

use loci_core::{DrawerId, Error, Result, Timestamp};
use loci_engine::view::{DrawerScope, ScopeFields};
use serde_json::{Map, Value as Json, json};

use crate::mcp::arguments;

/// The most drawers in one call.
const MOST_IDS: usize = 500;

/// An argument of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompatArgument {
    /// MemPalace's name for it.
    theirs: &'static str,
    /// Our name for it.
    ours: &'static str,
    form: ArgumentForm,
    about: &'static str,
    required: bool,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy)]
pub(super) enum ArgumentForm {
    Text,
    Count,
    Number,
    Flag,
    Texts,
    Object(&'static [CompatArgument]),
    Objects(&'static [CompatArgument]),
}

impl CompatArgument {
    /// Makes an argument that MemPalace calls `theirs` and we call `ours`.
    pub(super) const fn new(theirs: &'static str, ours: &'static str, form: ArgumentForm) -> Self {
        Self {
            theirs,
            ours,
            form,
            about: "",
            required: false,
        }
    }

    /// Makes a text argument with the same name on both sides.
    pub(super) const fn text(name: &'static str) -> Self {
        Self::new(name, name, ArgumentForm::Text)
    }

    pub(super) const fn described_as(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    fn schema(&self) -> Json {
        let mut schema = match self.form {
            ArgumentForm::Text => json!({"type": "string"}),
            ArgumentForm::Count => json!({"type": "integer"}),
            ArgumentForm::Number => json!({"type": "number"}),
            ArgumentForm::Flag => json!({"type": "boolean"}),
            ArgumentForm::Texts => json!({"type": "array", "items": {"type": "string"}}),
            ArgumentForm::Object(fields) => Json::Object(build_schema(fields)),
            ArgumentForm::Objects(fields) => json!({"type": "array", "items": build_schema(fields)}),
        };
        if let (Some(schema), false) = (schema.as_object_mut(), self.about.is_empty()) {
            schema.insert("description".into(), self.about.into());
        }
        schema
    }
}

/// Builds the schema of a list of arguments.
pub(super) fn build_schema(takes: &[CompatArgument]) -> Map<String, Json> {
    let properties = takes.iter().map(|one| (one.theirs.to_owned(), one.schema()));
    let properties: Map<String, Json> = properties.collect();
    let required = takes.iter().filter(|one| one.required).map(|one| one.theirs);
    let required: Vec<&str> = required.collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema
}

/// The arguments of a call, under our names.
#[derive(Debug)]
pub(super) struct CompatArguments(Json);

impl CompatArguments {
    /// Parses arguments. Errors about unknown and missing ones use MemPalace's names.
    pub(super) fn read(arguments: Map<String, Json>, takes: &[CompatArgument]) -> Result<Self> {
        // Checked under their names and renamed afterwards: an agent knows only the names it was shown.
        let mut read: Map<String, Json> = arguments::parse_arguments(arguments, &build_schema(takes))?;
        let ours = takes.iter().filter_map(|one| {
            let value = read.remove(one.theirs)?;
            Some((one.ours.to_owned(), value))
        });
        Ok(Self(Json::Object(ours.collect())))
    }

    /// Returns all arguments as one object.
    pub(super) fn as_json(&self) -> &Json {
        &self.0
    }

    /// Returns a text, exactly as given.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Json::as_str).map(str::to_owned)
    }

    /// Returns a required text; parsing has made sure that it is present.
    pub(super) fn required_text(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    /// Returns a name without surrounding space; `None` if it is blank.
    pub(super) fn name(&self, name: &str) -> Option<String> {
        let text = self.text(name)?;
        Some(text.trim())
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    }

    pub(super) fn count(&self, name: &str) -> Option<usize> {
        let count = self.0.get(name).and_then(Json::as_u64)?;
        Some(usize::try_from(count).unwrap_or(usize::MAX))
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Json::as_f64)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Json::as_bool)
    }

    /// Returns an argument that is an object with these fields.
    pub(super) fn object(&self, name: &str, fields: &[CompatArgument]) -> Result<Option<Self>> {
        let object = self.0.get(name).and_then(Json::as_object);
        object
            .map(|object| Self::read(object.clone(), fields))
            .transpose()
    }

    /// Returns an argument that is a list of objects with these fields.
    pub(super) fn objects(&self, name: &str, fields: &[CompatArgument]) -> Result<Vec<Self>> {
        let items = self.0.get(name).and_then(Json::as_array);
        let read = |item: &Json| match item {
            Json::Object(item) => Self::read(item.clone(), fields),
            other => {
                let message = format!("`{name}` must be a list of objects; {other} is not one");
                Err(Error::invalid(message).with_hint("nothing was done; call again with another value"))
            }
        };
        items.into_iter().flatten().map(read).collect()
    }

    /// Returns the drawer ids, each once.
    pub(super) fn ids(&self) -> Result<Vec<DrawerId>> {
        let named = self.0.get("ids").and_then(Json::as_array);
        let named: Vec<&str> = named.into_iter().flatten().filter_map(Json::as_str).collect();
        if named.is_empty() || named.len() > MOST_IDS {
            let message = format!(
                "`drawer_ids` must name 1 to {MOST_IDS} drawers, not {}",
                named.len()
            );
            return Err(Error::invalid(message).with_hint("nothing was done"));
        }
        let mut ids: Vec<DrawerId> = Vec::with_capacity(named.len());
        for one in named {
            let id = DrawerId::new(one)?;
            // Twice the same id would be counted twice as deleted.
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// Returns the scope of the call; relative times are relative to `now`.
    pub(super) fn scope(&self, now: Timestamp) -> Result<DrawerScope> {
        let fields = ScopeFields {
            wing: self.text("wing"),
            room: self.text("room"),
            source: self.text("source"),
            since: self.text("since"),
            before: self.text("before"),
            ..ScopeFields::default()
        };
        fields.parse(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKES: &[CompatArgument] = &[
        CompatArgument::new("drawer_ids", "ids", ArgumentForm::Texts).required(),
        CompatArgument::new("source_file", "source", ArgumentForm::Text).described_as("Path"),
        CompatArgument::new(
            "items",
            "items",
            ArgumentForm::Objects(&[CompatArgument::text("wing").required()]),
        ),
    ];

    #[test]
    fn arguments_are_taken_by_their_names_and_known_by_ours() {
        assert_eq!(
            Json::Object(build_schema(TAKES)),
            json!({"type": "object", "required": ["drawer_ids"], "properties": {
                "drawer_ids": {"type": "array", "items": {"type": "string"}},
                "source_file": {"type": "string", "description": "Path"},
                "items": {"type": "array", "items": {"type": "object", "required": ["wing"],
                    "properties": {"wing": {"type": "string"}}}},
            }})
        );
        let read = |given: Json| CompatArguments::read(given.as_object().unwrap().clone(), TAKES);
        let given = read(json!({"drawer_ids": ["b", "a", "b"], "source_file": "x.md"})).unwrap();
        assert_eq!(given.ids().unwrap().len(), 2);
        assert_eq!(
            given.scope(Timestamp::from_micros(0).unwrap()).unwrap().source,
            ["x.md"]
        );
        let unknown = read(json!({"drawer_ids": "a", "source": "x.md"})).unwrap_err();
        assert!(
            unknown.to_string().contains("unknown arguments: source"),
            "{unknown}"
        );
        let nested = read(json!({"drawer_ids": "a", "items": [{"wing": "w", "colour": 1}]})).unwrap();
        let ArgumentForm::Objects(fields) = TAKES[2].form else {
            unreachable!()
        };
        let unknown = nested.objects("items", fields).unwrap_err();
        assert!(unknown.to_string().contains("colour"), "{unknown}");
    }
}
