//! Signing in and out, and the pages that belong to no palace.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::SET_COOKIE;
use hyper::{Method, Request, Response, StatusCode};
use loci_team::{AuditAct, AuditOutcome, AuditReason, AuditSubject, TeamActor};
use loci_web::PageFields;
use loci_web::lobby::{LobbyPalaceRow, LobbyVisitor, PalaceChoice, SignInPage};
use subtle::ConstantTimeEq as _;

use super::callers::SignInProblem;
use super::gate::RequestPlace;
use super::hall::describe_rights;
use super::pages::refuse_for;
use super::router::{CallerRequest, TeamRoute, TeamRouter, not_found, retry_after, run_blocking, see_other};
use super::trail::TrailSubject;
use crate::http::bodies::{BodyLimits, drain_body};
use crate::http::refusal::HttpRefusal;
use crate::web::carrier::{PageOutcome, read_form, read_theme, render_reply};
use crate::web::headers::add_header;
use crate::web::page_body::PageBody;

/// The largest form by which one signs in, in bytes.
const LONGEST_SIGN_IN: usize = 16 << 10;

impl TeamRouter {
    /// Shows the page by which people sign in, and signs them in.
    pub(super) async fn answer_sign_in(
        self: &Arc<Self>,
        head: Request<()>,
        body: Incoming,
        place: RequestPlace,
    ) -> PageOutcome {
        if let Err(refusal) = self.gate.check_page(&head) {
            drain_body(body);
            return Err(refusal);
        }
        let theme = read_theme(head.headers());
        match *head.method() {
            Method::GET | Method::HEAD => {
                drain_body(body);
                let query = PageFields::parse(head.uri().query().unwrap_or_default().as_bytes());
                let page = SignInPage {
                    problem: None,
                    name: "",
                    next: own_path(query.value("next")),
                    theme,
                };
                render_reply(page.render(), *head.method() == Method::HEAD, &self.streams).await
            }
            Method::POST => {
                let limits = BodyLimits {
                    size: LONGEST_SIGN_IN,
                    ..self.body_limits()
                };
                let form = read_form(head.headers(), body, limits).await?;
                self.sign_in(form, place, theme).await
            }
            _ => {
                drain_body(body);
                Err(HttpRefusal::method_not_allowed("GET, HEAD, POST"))
            }
        }
    }

    async fn sign_in(
        self: &Arc<Self>,
        form: PageFields,
        place: RequestPlace,
        theme: loci_web::ThemeChoice,
    ) -> PageOutcome {
        let name = form.value("name").unwrap_or_default().trim().to_owned();
        let secret = form.exact_value("password").unwrap_or_default().to_owned();
        let (router, typed) = (Arc::clone(self), name.clone());
        let done = run_blocking(move || router.desk.sign_in(&typed, &secret, place.address)).await?;
        let done = done.map_err(|error| refuse_for(&error))?;
        let from = TrailSubject {
            who: match &done {
                Ok((caller, _)) => caller.actor.clone(),
                Err(_) => TeamActor::Anonymous,
            },
            token: done.as_ref().ok().and_then(|(caller, _)| caller.token.clone()),
            address: place.address,
            palace: None,
        };
        let subject = AuditSubject {
            name: Some(name.clone()),
            ..AuditSubject::default()
        };
        match done {
            Ok((_, cookie)) => {
                self.trail
                    .note(&from, AuditAct::SIGN_IN, subject, AuditOutcome::Done);
                let mut response = see_other(own_path(form.value("next")));
                add_header(response.headers_mut(), SET_COOKIE, &cookie);
                Ok(response)
            }
            Err(problem) => {
                let (reason, words, wait) = match problem {
                    SignInProblem::Refused(refusal) => {
                        let words = "This name and password do not belong together.".to_owned();
                        (AuditReason::from(refusal), words, None)
                    }
                    SignInProblem::Throttled(wait) => {
                        let words = format!("Too many attempts. Try again in {} s.", wait.whole_seconds());
                        let reason = AuditReason::from(loci_core::ErrorKind::Locked);
                        (reason, words, Some(wait.whole_seconds()))
                    }
                };
                self.trail
                    .note(&from, AuditAct::SIGN_IN, subject, AuditOutcome::Refused(reason));
                let page = SignInPage {
                    problem: Some(&words),
                    name: &name,
                    next: own_path(form.value("next")),
                    theme,
                };
                let mut response = render_reply(page.render(), false, &self.streams).await?;
                if let Some(seconds) = wait {
                    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                    retry_after(response.headers_mut(), seconds);
                }
                Ok(response)
            }
        }
    }

    /// Answers the pages for which one must have signed in and that belong to no palace.
    pub(super) async fn answer_lobby(
        self: &Arc<Self>,
        request: CallerRequest,
        body: Incoming,
        route: &TeamRoute,
    ) -> PageOutcome {
        let head = Request::from_parts(request.parts.clone(), ());
        if let Err(refusal) = self.gate.check_page(&head).and(request.form_secret().map(drop)) {
            drain_body(body);
            return Err(refusal);
        }
        let is_post = head.method() == Method::POST;
        let form = if is_post {
            let form = read_form(head.headers(), body, self.body_limits()).await?;
            check_form(&request, &form)?;
            form
        } else {
            drain_body(body);
            PageFields::default()
        };
        match (route, is_post) {
            (TeamRoute::SignOut, true) => self.sign_out(&request),
            (TeamRoute::Palaces, false) => {
                let reply = self.list_palaces(&request)?;
                render_reply(reply, *head.method() == Method::HEAD, &self.streams).await
            }
            (TeamRoute::Admin, _) if !request.known.caller.rights.administers_server() => Err(not_found()),
            (TeamRoute::Admin, _) => self.answer_admin(request, form).await,
            _ => Err(HttpRefusal::method_not_allowed(if *route == TeamRoute::SignOut {
                "POST"
            } else {
                "GET, HEAD"
            })),
        }
    }

    fn sign_out(&self, request: &CallerRequest) -> Result<Response<PageBody>, HttpRefusal> {
        let cookie = self.desk.sign_out(&request.parts.headers, request.form_secret()?);
        let from = request.trail_subject(None);
        let subject = AuditSubject::default();
        self.trail
            .note(&from, AuditAct::SIGN_OUT, subject, AuditOutcome::Done);
        let mut response = see_other("/sign-in");
        add_header(response.headers_mut(), SET_COOKIE, &cookie);
        Ok(response)
    }

    fn list_palaces(&self, request: &CallerRequest) -> Result<loci_web::PageReply, HttpRefusal> {
        let listed = request.hall.list(&request.known.caller);
        let palaces: Vec<LobbyPalaceRow> = listed
            .into_iter()
            .map(|(name, rights)| LobbyPalaceRow {
                name,
                rights: describe_rights(&rights),
            })
            .collect();
        let who = request.known.caller.actor.to_string();
        let choice = PalaceChoice {
            palaces: &palaces,
            visitor: lobby_visitor(request, &who)?,
        };
        Ok(choice.render())
    }
}

/// Returns what the frame of a page shows of its visitor.
pub(super) fn lobby_visitor<'a>(
    request: &'a CallerRequest,
    name: &'a str,
) -> Result<LobbyVisitor<'a>, HttpRefusal> {
    Ok(LobbyVisitor {
        name,
        form_secret: request.form_secret()?,
        administers: request.known.caller.rights.administers_server(),
        theme: read_theme(&request.parts.headers),
    })
}

/// Refuses a form that another site sent.
fn check_form(request: &CallerRequest, form: &PageFields) -> Result<(), HttpRefusal> {
    let shown = form.exact_value("form_secret").unwrap_or_default().as_bytes();
    if shown.ct_eq(request.form_secret()?.as_bytes()).into() {
        return Ok(());
    }
    let words = "this form does not belong to your session; nothing was changed, open the page again";
    Err(HttpRefusal::new(StatusCode::CONFLICT, words))
}

/// Returns a path of this server to go on to.
fn own_path(next: Option<&str>) -> &str {
    let is_own = |path: &&str| {
        let mut chars = path.chars();
        chars.next() == Some('/')
            && !matches!(chars.next(), Some('/' | '\\'))
            && path.chars().all(|c| c.is_ascii_graphic() && c != '\\')
    };
    next.filter(is_own).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_on_to_paths_of_this_server_only() {
        for own in ["/", "/p/work/search?q=a%20b"] {
            assert_eq!(own_path(Some(own)), own);
        }
        for foreign in ["//evil", "/\\evil", "http://evil", "", "/a\r\nb", "javascript:x"] {
            assert_eq!(own_path(Some(foreign)), "/", "{foreign}");
        }
    }
}
