//! What a visitor typed of a drawer, and what of it differs from the stored one.

use loci_core::{Error, Result};
use loci_engine::update::{EditableDrawer, UpdateRequest};
use loci_engine::view::DrawerView;
use maud::{Markup, html};

use crate::parts::text_box;
use crate::request::PageFields;

/// The names that can be edited.
const NAMES: [&str; 4] = ["wing", "room", "kind", "speaker"];

/// The fields of a drawer as they stand in the boxes of a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypedDrawer {
    /// None if the page had no box for it.
    text: Option<String>,
    /// In the order of [`NAMES`].
    names: [String; 4],
    /// What told each field apart when the page was opened: the text, and then the names.
    origin: Vec<Option<String>>,
}

impl TypedDrawer {
    /// Reads the boxes of a form.
    pub(super) fn read(fields: &PageFields) -> Self {
        let name = |name: &str| as_box(fields.exact_value(name).unwrap_or_default());
        let origin = |name: &str| fields.exact_value(&origin_field(name)).map(str::to_owned);
        Self {
            text: fields.exact_value("text").map(text_box::as_returned),
            names: NAMES.map(name),
            origin: std::iter::once("text").chain(NAMES).map(origin).collect(),
        }
    }

    /// Returns a stored drawer as it stands in boxes that have not been touched.
    pub(super) fn of_drawer(drawer: &DrawerView) -> Self {
        Self {
            text: Some(text_box::as_returned(drawer.whole_text())),
            names: NAMES.map(|name| as_box(stored_name(drawer, name).unwrap_or_default())),
            origin: Vec::new(),
        }
    }

    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    pub(super) fn name(&self, name: &str) -> Option<&str> {
        NAMES
            .iter()
            .position(|one| *one == name)
            .and_then(|at| self.names.get(at))
            .map(String::as_str)
    }

    /// Carries what tells each field apart through a form.
    pub(super) fn hidden_origin(&self) -> Markup {
        let names = NAMES.into_iter().zip(&self.names);
        let fields =
            std::iter::once(("text", self.text())).chain(names.map(|(name, value)| (name, value.as_str())));
        html! {
            @for (name, value) in fields {
                input type="hidden" name=(origin_field(name)) value=(hash(value));
            }
        }
    }

    /// Returns the same with the fields of another version where the visitor has not changed them.
    pub(super) fn merged_with(&self, other: &Self) -> Self {
        let is_untouched = |at: usize, value: &str| {
            let origin = self.origin.get(at).and_then(Option::as_deref);
            origin == Some(hash(value).as_str())
        };
        let mut merged = self.clone();
        if self.text.as_deref().is_none_or(|text| is_untouched(0, text)) {
            merged.text.clone_from(&other.text);
        }
        for (at, (name, theirs)) in merged.names.iter_mut().zip(&other.names).enumerate() {
            if is_untouched(at + 1, name) {
                name.clone_from(theirs);
            }
        }
        merged
    }

    /// Names the fields in which two versions differ.
    pub(super) fn differing_fields(&self, other: &Self) -> Vec<&'static str> {
        let names = NAMES.into_iter().zip(self.names.iter().zip(&other.names));
        let text = (self.text() != other.text()).then_some("text");
        let names = names.filter_map(|(name, (mine, theirs))| (mine != theirs).then_some(name));
        text.into_iter().chain(names).collect()
    }

    /// Returns the change that makes of a drawer what was typed.
    pub(super) fn to_request(&self, now: &EditableDrawer) -> Result<UpdateRequest> {
        let drawer = &now.drawer;
        let stored = Self::of_drawer(drawer);
        let text = self.text.as_ref().filter(|text| **text != stored.text());
        if text.is_some_and(|text| text.trim().is_empty()) {
            return Err(Error::invalid("the text is empty")
                .with_hint("write what it shall say, or delete the drawer on its page"));
        }
        let mut request = UpdateRequest {
            text: text.map(|text| text_box::with_breaks_of(drawer.whole_text(), text)),
            by_hand: true,
            seen: Some(now.state.clone()),
            ..UpdateRequest::new(drawer.id.clone())
        };
        for (name, (typed, stored)) in NAMES.into_iter().zip(self.names.iter().zip(&stored.names)) {
            if typed == stored {
                continue;
            }
            if typed.is_empty() {
                request.cleared.push(name);
                continue;
            }
            let field = match name {
                "wing" => &mut request.wing,
                "room" => &mut request.room,
                "kind" => &mut request.kind,
                _ => &mut request.speaker,
            };
            *field = Some(typed.clone());
        }
        Ok(request)
    }
}

fn stored_name<'d>(drawer: &'d DrawerView, name: &str) -> Option<&'d str> {
    match name {
        "wing" => drawer.wing.as_deref(),
        "room" => drawer.room.as_deref(),
        "kind" => drawer.kind.as_deref(),
        "speaker" => drawer.speaker.as_deref(),
        _ => None,
    }
}

/// Returns a name as a box of one line gives it back. Blanks around it are not meant.
fn as_box(name: &str) -> String {
    let line = name.replace(['\r', '\n'], "").replace('\0', "\u{fffd}");
    line.trim().to_owned()
}

fn origin_field(name: &str) -> String {
    format!("was_{name}")
}

fn hash(value: &str) -> String {
    let hash = blake3::hash(value.as_bytes()).to_hex();
    hash.chars().take(32).collect()
}
