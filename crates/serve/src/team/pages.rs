//! The pages of a palace for a caller who has signed in, and what they leave in the audit log.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, StatusCode};
use loci_core::{Error, ErrorKind};
use loci_team::{AuditAct, AuditOutcome, AuditReason, AuditSubject};
use loci_web::{PageFields, PageMethod, PageReply, PageRequest, SiteBase};

use super::hall::CallerPalace;
use super::router::{CallerRequest, TeamRouter, not_found, run_blocking, see_other};
use super::trail::TrailSubject;
use crate::http::bodies::drain_body;
use crate::http::refusal::HttpRefusal;
use crate::web::carrier::{PageOutcome, read_form, read_theme, render_reply};

impl TeamRouter {
    /// Answers a request for a page.
    pub(super) async fn answer_page(
        self: &Arc<Self>,
        request: CallerRequest,
        body: Incoming,
        palace: &str,
        path: &str,
    ) -> PageOutcome {
        let head = hyper::Request::from_parts(request.parts.clone(), ());
        let admitted = self.gate.check_page(&head);
        let form_secret = request.form_secret().map(str::to_owned);
        let opened = request.hall.open(palace, &request.known.caller);
        let (form_secret, opened) = match (admitted, form_secret, opened) {
            (Ok(()), Ok(secret), Some(opened)) => (secret, opened),
            (Err(refusal), ..) | (_, Err(refusal), _) => {
                drain_body(body);
                return Err(refusal);
            }
            (.., None) => {
                drain_body(body);
                return Err(not_found());
            }
        };
        let method = request.parts.method.clone();
        let form = match method {
            Method::POST => read_form(&request.parts.headers, body, self.body_limits()).await?,
            Method::GET | Method::HEAD => {
                drain_body(body);
                PageFields::default()
            }
            _ => {
                drain_body(body);
                return Err(HttpRefusal::method_not_allowed("GET, HEAD, POST"));
            }
        };
        // A palace without the slash after its name would have other relative addresses.
        if path == "/" && !request.parts.uri.path().ends_with('/') {
            return Ok(see_other(&format!("/p/{palace}/")));
        }
        let page = PageRequest {
            method: if method == Method::POST {
                PageMethod::Post
            } else {
                PageMethod::Get
            },
            path: path.to_owned(),
            query: PageFields::parse(request.parts.uri.query().unwrap_or_default().as_bytes()),
            form,
            theme: read_theme(&request.parts.headers),
            base: SiteBase::of_palace(palace),
        };
        let from = request.trail_subject(Some(palace));
        let (router, hall) = (Arc::clone(self), Arc::clone(&request.hall));
        let waiting = self.metrics.wait_for_turn();
        let reply = run_blocking(move || {
            drop(waiting);
            let visit = hall.visit(&form_secret, &opened.name)?;
            router.answer_audited(&opened, &page, &visit, &from)
        })
        .await?;
        let reply = reply.map_err(|error| {
            let words = format!("{error}; nothing was done");
            HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, &words)
        })?;
        render_reply(reply, method == Method::HEAD, &self.streams).await
    }

    /// Answers a page between its records in the audit log.
    fn answer_audited(
        &self,
        opened: &CallerPalace,
        page: &PageRequest,
        visit: &loci_web::Visit,
        from: &TrailSubject,
    ) -> loci_core::Result<PageReply> {
        let Some((act, subject)) = describe_act(page) else {
            return Ok(opened.site.answer(page, visit));
        };
        if page.method == PageMethod::Post && act != AuditAct::READ {
            self.trail.begin(from, act.clone(), subject.clone())?;
        }
        let reply = opened.site.answer(page, visit);
        let outcome = outcome_of_status(reply.status);
        if page.method == PageMethod::Post && act != AuditAct::READ {
            self.metrics
                .note_write(&opened.name, outcome == AuditOutcome::Done);
        }
        self.trail.note(from, act, subject, outcome);
        Ok(reply)
    }
}

/// Returns the act that a page is, and what it concerns; `None` for what shows and changes nothing of the palace.
fn describe_act(page: &PageRequest) -> Option<(AuditAct, AuditSubject)> {
    let is_post = page.method == PageMethod::Post;
    let fields = if is_post { &page.form } else { &page.query };
    let act = match page.path.as_str() {
        path if path.starts_with("/assets/") => return None,
        "/theme" | "/job" | "/job/stop" => return None,
        "/search" | "/why-not" => AuditAct::SEARCH,
        "/export" | "/export/file" => AuditAct::READ,
        _ if !is_post => AuditAct::READ,
        "/add" => AuditAct::ADD,
        "/delete" => AuditAct::DELETE,
        "/forget" => AuditAct::FORGET,
        "/edit" | "/move" | "/undo" => AuditAct::UPDATE,
        _ => AuditAct::ADMIN,
    };
    let drawers: Vec<String> = fields.values("id").map(str::to_owned).collect();
    let subject = AuditSubject {
        count: Some(drawers.len() as u64).filter(|count| *count > 0),
        drawers,
        wings: fields
            .values("wing")
            .filter(|wing| !wing.is_empty())
            .map(str::to_owned)
            .collect(),
        query_chars: fields.value("q").map(|words| words.chars().count() as u64),
        name: None,
    };
    Some((act, subject))
}

fn outcome_of_status(status: u16) -> AuditOutcome {
    match status {
        0..=399 => AuditOutcome::Done,
        404 => AuditOutcome::Refused(AuditReason::from(ErrorKind::NotFound)),
        400..=499 => AuditOutcome::Refused(AuditReason::from(ErrorKind::Unsupported)),
        _ => AuditOutcome::Failed(AuditReason::from(ErrorKind::Internal)),
    }
}

/// Turns an error into a refusal in words.
pub(super) fn refuse_for(error: &Error) -> HttpRefusal {
    let hint = error
        .hint_text()
        .map_or_else(String::new, |hint| format!(" ({hint})"));
    HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, &format!("{error}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_are_named_without_their_words() {
        let mut page = PageRequest::get("/search?q=secret+words&wing=garden");
        let (act, subject) = describe_act(&page).unwrap();
        assert_eq!(act, AuditAct::SEARCH);
        assert_eq!(
            (subject.query_chars, subject.wings),
            (Some(12), vec!["garden".to_owned()])
        );
        let form = PageFields::parse(b"text=secret&id=a&id=b");
        page = PageRequest::post("/delete", form);
        let (act, subject) = describe_act(&page).unwrap();
        assert_eq!(act, AuditAct::DELETE);
        assert_eq!(subject.drawers, ["a", "b"]);
        assert!(!format!("{subject:?}").contains("secret"));
        assert!(describe_act(&PageRequest::get("/assets/loci-1.css")).is_none());
        assert_eq!(
            describe_act(&PageRequest::get("/edit?id=a")).unwrap().0,
            AuditAct::READ
        );
    }
}
