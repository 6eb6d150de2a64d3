//! The drawers that an act is about: chosen ones, or all of a scope.

use std::collections::BTreeSet;

use loci_core::{DrawerId, Error, Result};
use loci_engine::view::DrawerScope;
use maud::{Markup, html};

use super::form_ids::{id_field, read_ids};
use super::links::{PageLink, SCOPE_FIELDS, is_own_path};
use super::scope_form;
use crate::context::{PageContext, read_scope};
use crate::request::{PageFields, PageMethod};

/// The drawers that an act is about, and where its visitor came from.
#[derive(Debug)]
pub(crate) struct ActSelection<'a> {
    /// The whole ids of chosen drawers, each once.
    pub(crate) ids: Vec<DrawerId>,
    /// The scope; only these of the chosen drawers, if there are any.
    pub(crate) scope: DrawerScope,
    /// The number of drawers that the visitor agreed to; none before it is shown.
    pub(crate) agreed: Option<u64>,
    /// The page to return to.
    pub(crate) back: Option<&'a str>,
    fields: &'a PageFields,
}

impl<'a> ActSelection<'a> {
    /// Reads a selection from the query of a GET or the form of a POST.
    pub(crate) fn read(context: PageContext<'a>) -> Result<Self> {
        let fields = match context.request.method {
            PageMethod::Get => context.query(),
            PageMethod::Post => context.form(),
        };
        let mut seen = BTreeSet::new();
        let given = read_ids(fields).filter(|id| seen.insert(id.clone()));
        let agreed = fields.value("expected").map(|number| {
            number.parse().map_err(|_| {
                Error::invalid("the number of drawers in this form is not a number")
                    .with_hint("nothing was changed; open the page again")
            })
        });
        Ok(Self {
            ids: given
                .map(|id| DrawerId::new(id.into_owned()))
                .collect::<Result<_>>()?,
            scope: read_scope(fields, context.now())?,
            agreed: agreed.transpose()?,
            back: fields.value("back").filter(|back| is_own_path(back)),
            fields,
        })
    }

    /// Refuses to mean every drawer of the palace where nothing was chosen.
    pub(crate) fn require_some(self) -> Result<Self> {
        if self.is_everything() {
            return Err(Error::invalid("no drawers were chosen")
                .with_hint("nothing was changed; choose some in a list, or open this page from a drawer"));
        }
        Ok(self)
    }

    /// Returns whether nothing was chosen and nothing is left out.
    pub(crate) fn is_everything(&self) -> bool {
        self.ids.is_empty() && self.scope.asks_nothing()
    }

    /// Returns the fields it was read from.
    pub(crate) fn fields(&self) -> &'a PageFields {
        self.fields
    }

    /// The address of the list of its drawers, if they are those of a scope.
    pub(crate) fn list_link(&self) -> Option<String> {
        let names_scope = SCOPE_FIELDS.iter().any(|name| self.fields.value(name).is_some());
        let is_scope = self.ids.is_empty() && names_scope;
        is_scope.then(|| PageLink::to("/list").with_scope(self.fields).href())
    }

    /// Carries the selection through a form.
    pub(crate) fn hidden_fields(&self, back: Option<&str>) -> Markup {
        html! {
            @for (name, id) in self.ids.iter().map(id_field) { input type="hidden" name=(name) value=(id); }
            (scope_form::hidden_fields(self.fields))
            @if let Some(back) = self.back.or(back) { input type="hidden" name="back" value=(back); }
        }
    }
}
