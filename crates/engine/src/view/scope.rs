//! A scope: the drawers a caller selects, by the same fields in every interface.

use loci_core::{
    CollectionReader, DocumentFilter, DrawerCondition, DrawerFields, Error, FacetKey, FacetRequest, Filter,
    FilterComparison, FindingSeverity, GetRequest, MetadataScalar, PalaceFinding, Result, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::suggest_names;
use crate::mine::spell_wing;
use loci_mine::name::CONVERSATION_SEPARATOR;
use loci_when::{TimeExactness, find_mentions};

/// A scope as callers write it. An absent field restricts nothing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct ScopeFields {
    /// Project, person or agent
    pub wing: Option<String>,
    /// Topic
    pub room: Option<String>,
    /// Path as mined, or its end
    pub source: Option<String>,
    /// Speaker
    pub speaker: Option<String>,
    /// human, assistant, tool_result, file, note, diary…
    pub kind: Option<String>,
    /// Said at or after, like 2026-05-01 or yesterday
    pub since: Option<String>,
    /// Said before
    pub before: Option<String>,
    /// Text it holds, letter for letter
    pub contains: Option<String>,
    /// Filter on metadata, like {"n":{"$gte":3}}
    #[serde(rename = "where")]
    #[schemars(with = "Option<serde_json::Map<String, Json>>")]
    pub filter: Option<Json>,
}

impl ScopeFields {
    /// Parses the fields, with relative times counted from `now`; refuses a scope that cannot contain a drawer.
    pub fn parse(&self, now: Timestamp) -> Result<DrawerScope> {
        let scope = DrawerScope {
            wing: self.wing.clone(),
            room: self.room.clone(),
            source: self.source.iter().cloned().collect(),
            speaker: self.speaker.clone(),
            kind: self.kind.clone(),
            since: parse_bound("since", self.since.as_deref(), now)?,
            before: parse_bound("before", self.before.as_deref(), now)?,
            filter: match &self.filter {
                // The command line passes its filter as the text of a JSON object.
                Some(Json::String(text)) => Filter::parse_str(text)?,
                Some(filter) => Filter::parse(filter)?,
                None => Filter::All,
            },
            document: match &self.contains {
                Some(text) => DocumentFilter::parse(&json!({ "$contains": text }))?,
                None => DocumentFilter::All,
            },
        };
        scope.check()?;
        Ok(scope)
    }
}

/// Parses a bound in time: a timestamp, or words like `yesterday` or `last week`, which mean the first moment of that
/// time.
pub fn parse_bound(name: &str, text: Option<&str>, now: Timestamp) -> Result<Option<Timestamp>> {
    let Some(words) = text.map(str::trim) else {
        return Ok(None);
    };
    // The words must be one exact time and nothing else. A filter excludes silently, so a vague or half understood
    // bound is refused; only a search may guess.
    if let [mention] = find_mentions(words, now).as_slice()
        && words.parse::<Timestamp>().is_err()
        && mention.exact == TimeExactness::Named
        && words.get(mention.words.clone()) == Some(words)
    {
        return Ok(Some(mention.from));
    }
    parse_time(name, text)
}

/// Parses the time given in the field `name`.
pub fn parse_time(name: &str, text: Option<&str>) -> Result<Option<Timestamp>> {
    let Some(text) = text else { return Ok(None) };
    text.parse().map(Some).map_err(|error: Error| {
        Error::invalid(format!("cannot read `{name}`: {error}"))
            .with_hint("write a time such as 2026-05-01, 2026-05-01T09:30:00Z, yesterday or 'last May'")
    })
}

/// The drawers a caller selects. An absent field restricts nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrawerScope {
    /// Only this wing, in any spelling of it.
    pub wing: Option<String>,
    /// Only this room.
    pub room: Option<String>,
    /// Only this source, by the first of these names that matches one: a path as mined, a file that contains several
    /// sources, or the end of such a path.
    pub source: Vec<String>,
    /// Only this speaker.
    pub speaker: Option<String>,
    /// Only this kind.
    pub kind: Option<String>,
    /// Only drawers said at this time or later.
    pub since: Option<Timestamp>,
    /// Only drawers said before this time.
    pub before: Option<Timestamp>,
    /// Only drawers that this filter accepts.
    pub filter: Filter,
    /// Only drawers with a text that this filter accepts.
    pub document: DocumentFilter,
}

/// A name in a scope that no drawer has, and the most similar names among those this caller may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScopeNote {
    /// wing, room, source, speaker or kind.
    pub field: &'static str,
    /// The name as given.
    pub asked: String,
    /// The nearest names.
    pub nearest: Vec<String>,
}

impl ScopeNote {
    /// Returns the note as a sentence.
    pub fn to_message(&self) -> String {
        let Self {
            field,
            asked,
            nearest,
        } = self;
        if nearest.is_empty() {
            return format!("{field} {asked:?} does not exist");
        }
        let nearest: Vec<String> = nearest.iter().map(|name| format!("{name:?}")).collect();
        format!(
            "{field} {asked:?} does not exist; did you mean {}?",
            nearest.join(" or ")
        )
    }

    /// Returns whether a warning was made from such a note.
    pub fn is_unknown_name_warning(finding: &PalaceFinding) -> bool {
        let keys = ["wing", "room", "source", "speaker", "kind"];
        let field = finding.code.strip_prefix("unknown_");
        field.is_some_and(|field| keys.contains(&field))
    }

    /// Returns the note as a warning.
    pub fn to_finding(&self) -> PalaceFinding {
        PalaceFinding::new(
            format!("unknown_{}", self.field),
            FindingSeverity::Warning,
            self.to_message(),
        )
    }
}

impl From<Filter> for DrawerScope {
    fn from(filter: Filter) -> Self {
        Self {
            filter,
            ..Self::default()
        }
    }
}

impl DrawerScope {
    /// Returns whether the scope restricts nothing, so that it selects every drawer.
    pub fn asks_nothing(&self) -> bool {
        // Destructured, so that a new field cannot be forgotten here: callers treat this as "the whole palace".
        let Self {
            wing,
            room,
            source,
            speaker,
            kind,
            since,
            before,
            filter,
            document,
        } = self;
        let names = [wing, room, speaker, kind];
        names.iter().all(|name| name.is_none())
            && source.is_empty()
            && since.is_none()
            && before.is_none()
            && filter.is_unrestricted()
            && document.is_unrestricted()
    }

    /// Refuses a scope that cannot contain a drawer.
    pub fn check(&self) -> Result<()> {
        match (self.since, self.before) {
            (Some(since), Some(before)) if since >= before => Err(Error::invalid(format!(
                "`since` ({since}) is not earlier than `before` ({before})"
            ))
            .with_hint("nothing was done; swap the two times, or leave one out")),
            _ => Ok(()),
        }
    }

    /// Resolves the scope to a condition in one collection, which spells wings as that collection does and has sources
    /// by their full names.
    pub fn resolve(&self, reader: &dyn CollectionReader) -> Result<DrawerCondition> {
        self.check()?;
        let wing = self.wing.as_ref().map(|wing| spell_wing(reader, wing));
        let sources = match self.source.last() {
            Some(_) => find_sources(reader, &self.source)?,
            None => Vec::new(),
        };
        Ok(self.compose_condition(wing.transpose()?, &sources))
    }

    /// Resolves the scope without a collection, with its wing as it is given; `None` if it names sources, which may be
    /// shortened, or contradicts itself.
    pub(crate) fn resolve_as_given(&self) -> Option<DrawerCondition> {
        let is_simple = self.source.is_empty() && self.check().is_ok();
        is_simple.then(|| self.compose_condition(self.wing.clone(), &[]))
    }

    fn compose_condition(&self, wing: Option<String>, sources: &[String]) -> DrawerCondition {
        let mut filter = self.filter.clone();
        let mut narrow = |part: Filter| filter = std::mem::take(&mut filter).and(part);
        if let Some(wing) = wing {
            narrow(Filter::text_equals("wing", wing));
        }
        for (key, name) in [
            ("room", &self.room),
            ("speaker", &self.speaker),
            ("kind", &self.kind),
        ] {
            if let Some(name) = name {
                narrow(Filter::text_equals(key, name.as_str()));
            }
        }
        if let Some(given) = self.source.last() {
            narrow(match sources {
                // An unknown name still filters: the scope must come out empty, not unrestricted.
                [] => Filter::text_equals("source", given.as_str()),
                [one] => Filter::text_equals("source", one.as_str()),
                several => {
                    let several = several.iter().cloned().map(MetadataScalar::Text).collect();
                    Filter::Compare("source".into(), FilterComparison::In(several))
                }
            });
        }
        let said = |comparison| Filter::Compare("said_at".into(), comparison);
        if let Some(since) = self.since {
            narrow(said(FilterComparison::Gte(MetadataScalar::Int(
                since.as_micros(),
            ))));
        }
        if let Some(before) = self.before {
            narrow(said(FilterComparison::Lt(MetadataScalar::Int(
                before.as_micros(),
            ))));
        }
        DrawerCondition {
            filter,
            document: self.document.clone(),
        }
    }

    /// Lists the names in this scope that no drawer has. Called only if nothing was found, since it may read every
    /// name.
    pub fn find_unknown_names(&self, reader: &dyn CollectionReader) -> Result<Vec<ScopeNote>> {
        let wing = self
            .wing
            .as_ref()
            .map(|wing| spell_wing(reader, wing))
            .transpose()?;
        let source = match self.source.last() {
            Some(given) if find_sources(reader, &self.source)?.is_empty() => Some(given.clone()),
            _ => None,
        };
        let names = [
            (FacetKey::Wing, wing),
            (FacetKey::Room, self.room.clone()),
            (FacetKey::Source, source),
            (FacetKey::Speaker, self.speaker.clone()),
            (FacetKey::Kind, self.kind.clone()),
        ];
        let mut notes = Vec::new();
        for (key, name) in names {
            let Some(name) = name else { continue };
            if has_drawers(reader, Filter::text_equals(key.name(), name.as_str()))? {
                continue;
            }
            let known = list_names(reader, key)?;
            let nearest = suggest_names(&name, known.iter().map(String::as_str));
            notes.push(ScopeNote {
                field: key.name(),
                nearest: nearest.into_iter().map(str::to_owned).collect(),
                asked: name,
            });
        }
        Ok(notes)
    }
}

/// Returns the sources that one of these names matches: the first name that has drawers, or the conversations in the
/// first that is a file of several; else every source with a path that ends with the last name.
pub(crate) fn find_sources(reader: &dyn CollectionReader, candidates: &[String]) -> Result<Vec<String>> {
    for name in candidates {
        if has_drawers(reader, Filter::text_equals("source", name.as_str()))? {
            return Ok(vec![name.clone()]);
        }
    }
    // Only now: an exact name costs one short read, while this reads the names of all sources.
    let known = list_names(reader, FacetKey::Source)?;
    for name in candidates {
        let prefix = format!("{name}{CONVERSATION_SEPARATOR}");
        let within: Vec<String> = known
            .iter()
            .filter(|source| source.starts_with(&prefix))
            .cloned()
            .collect();
        if !within.is_empty() {
            return Ok(within);
        }
    }
    // The last candidate is the path as the caller typed it, without line numbers. The slash keeps "b.md" from
    // matching "ab.md".
    let ending = match candidates.last().map(|last| last.trim_start_matches("./")) {
        Some(last) if !last.is_empty() => format!("/{last}"),
        _ => return Ok(Vec::new()),
    };
    let is_meant = |source: &String| {
        let file = source
            .split_once(CONVERSATION_SEPARATOR)
            .map_or(source.as_str(), |(file, _)| file);
        file.ends_with(&ending) || source.ends_with(&ending)
    };
    Ok(known.into_iter().filter(is_meant).collect())
}

fn has_drawers(reader: &dyn CollectionReader, filter: Filter) -> Result<bool> {
    let found = reader.get(&GetRequest {
        limit: Some(1),
        include: DrawerFields::NOTHING,
        ..GetRequest::by_filter(filter)
    })?;
    Ok(!found.is_empty())
}

/// Lists the names that drawers have under a key.
fn list_names(reader: &dyn CollectionReader, key: FacetKey) -> Result<Vec<String>> {
    let facets = reader.facets(&FacetRequest {
        by: vec![key],
        ..FacetRequest::by_room()
    })?;
    Ok(facets
        .into_iter()
        .flat_map(|facet| facet.values)
        .flatten()
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_times_or_words_that_name_one() {
        let now = "2026-05-20T12:00:00Z".parse().unwrap();
        let check = |text: &str, expect: Option<&str>| {
            let bound = parse_bound("since", Some(text), now).ok().flatten();
            let expect = expect.map(|time| time.parse::<Timestamp>().unwrap());
            assert_eq!(bound, expect, "{text}");
        };
        check("2026-05-01", Some("2026-05-01"));
        check("2026-05-01T09:30:00Z", Some("2026-05-01T09:30:00Z"));
        check("yesterday", Some("2026-05-19"));
        check(" yesterday ", Some("2026-05-19"));
        check("last week", Some("2026-05-11"));
        check("3 days ago", Some("2026-05-17"));
        for text in [
            "",
            "someday",
            "recently",
            "yesterday or today",
            "the ferry yesterday",
        ] {
            check(text, None);
        }
    }
}
