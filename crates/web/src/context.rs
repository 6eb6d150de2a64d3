//! One request under way: the site, the request, and the visitor.

use loci_core::{DrawerId, Error, Result, Timestamp};
use loci_engine::undo::PalaceAct;
use loci_engine::view::{DrawerScope, ScopeFields};
use loci_engine::{AccessPolicy, Palace};

use crate::acts::{ActBeginning, ActBoard};
use crate::host::SiteHost;
use crate::jobs::JobBoard;
use crate::parts::form_ids::read_ids;
use crate::reply::PageReply;
use crate::request::{PageFields, PageMethod, PageRequest};
use crate::site::Site;
use crate::visit::{Visit, VisitNotice};

/// The outcome of a page; an error becomes a page with its message and hint.
pub(crate) type PageResult = Result<PageReply>;

/// One request under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageContext<'a> {
    pub(crate) site: &'a Site,
    pub(crate) request: &'a PageRequest,
    pub(crate) visit: &'a Visit,
}

impl<'a> PageContext<'a> {
    /// The palace, with the rights of this visitor.
    pub(crate) fn palace(&self) -> &'a Palace {
        self.site.palace()
    }

    /// The machine around it.
    pub(crate) fn host(&self) -> &'a dyn SiteHost {
        self.site.host()
    }

    /// Long operations that run while the visitor looks elsewhere.
    pub(crate) fn jobs(&self) -> &'a JobBoard {
        self.site.jobs()
    }

    /// The acts of all visits.
    pub(crate) fn acts(&self) -> &'a ActBoard {
        self.site.acts()
    }

    /// The address of this page; a page that answers a form has none to return to.
    pub(crate) fn address(&self) -> Option<String> {
        let request = self.request;
        if request.method == PageMethod::Post {
            return None;
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(request.query.iter());
        Some(match query.finish() {
            query if query.is_empty() => request.path.clone(),
            query => format!("{}?{query}", request.path),
        })
    }

    /// The query of the URL.
    pub(crate) fn query(&self) -> &'a PageFields {
        &self.request.query
    }

    /// The fields of the form.
    pub(crate) fn form(&self) -> &'a PageFields {
        &self.request.form
    }

    /// The current time.
    pub(crate) fn now(&self) -> Timestamp {
        self.palace().now()
    }

    /// What the visitor may do.
    pub(crate) fn access(&self) -> &'a AccessPolicy {
        self.palace().access()
    }

    /// Whether the visitor may file and change drawers somewhere.
    pub(crate) fn may_write(&self) -> bool {
        self.access().may_write()
    }

    /// Whether the visitor sees the whole palace.
    pub(crate) fn sees_whole(&self) -> bool {
        !self.palace().access().is_restricted()
    }

    /// Remembers an act of the visitor; returns whether it can be undone.
    pub(crate) fn remember_act(&self, began: ActBeginning, act: PalaceAct) -> bool {
        self.acts().remember(began, self.visit.acts(), act)
    }

    /// Leaves a sentence for the next page of the visitor.
    pub(crate) fn leave_notice(&self, notice: VisitNotice) {
        self.visit.leave_notice(notice);
    }
}

/// Reads the scope that fields name, under the names of the command line's flags.
pub(crate) fn read_scope(fields: &PageFields, now: Timestamp) -> Result<DrawerScope> {
    scope_fields(fields).parse(now)
}

/// Returns the fields of a scope as they were typed.
pub(crate) fn scope_fields(fields: &PageFields) -> ScopeFields {
    let text = |name: &str| fields.value(name).map(str::to_owned);
    ScopeFields {
        wing: text("wing"),
        room: text("room"),
        source: text("source"),
        speaker: text("speaker"),
        kind: text("kind"),
        since: text("since"),
        before: text("before"),
        contains: text("contains"),
        filter: text("where").map(serde_json::Value::String),
    }
}

/// Returns the id in the field `id`.
pub(crate) fn required_id(fields: &PageFields) -> Result<DrawerId> {
    let id = read_ids(fields).next().ok_or_else(|| {
        Error::invalid("the address of this page names no drawer")
            .with_hint("open a drawer from a search or a list")
    })?;
    DrawerId::new(id.into_owned())
}
