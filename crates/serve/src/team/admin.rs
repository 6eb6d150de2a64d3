//! The page on which users and tokens are kept.

use std::sync::Arc;

use hyper::{Method, StatusCode};
use loci_core::{Error, Result, Timestamp};
use loci_team::{
    AuditAct, AuditOutcome, AuditSubject, MadeToken, TeamAccounts, TeamRights, TeamToken, TokenRequest,
};
use loci_web::PageFields;
use loci_web::lobby::{AdminPage, MadeSecret, TokenRow, UserRow};

use super::lobby::lobby_visitor;
use super::pages::refuse_for;
use super::router::{CallerRequest, TeamRouter, run_blocking};
use super::trail::outcome_of;
use crate::web::carrier::{PageOutcome, render_reply};

/// The microseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1_000_000;

impl TeamRouter {
    /// Shows users and tokens, and changes them.
    pub(super) async fn answer_admin(
        self: &Arc<Self>,
        request: CallerRequest,
        form: PageFields,
    ) -> PageOutcome {
        let is_post = request.parts.method == Method::POST;
        let (router, from) = (Arc::clone(self), request.trail_subject(None));
        let done = run_blocking(move || {
            let now = (router.desk.clock())();
            let accounts = router.desk.accounts();
            let made = if is_post {
                let (act, subject) = describe_act(&form);
                router.trail.begin(&from, act.clone(), subject.clone())?;
                let done = change_accounts(accounts, &form, now);
                let outcome = done.as_ref().map_or_else(outcome_of, |_| AuditOutcome::Done);
                router.trail.note(&from, act, subject, outcome);
                done
            } else {
                Ok(None)
            };
            Ok::<_, Error>((list_users(accounts, now)?, made))
        });
        let (users, made) = done.await?.map_err(|error| refuse_for(&error))?;
        let who = request.known.caller.actor.to_string();
        let page = AdminPage {
            users: &users,
            made: made
                .as_ref()
                .ok()
                .and_then(Option::as_ref)
                .map(|made| MadeSecret {
                    user: &made.token.user,
                    text: made.text.reveal(),
                }),
            problem: made.as_ref().err(),
            visitor: lobby_visitor(&request, &who)?,
        };
        let mut reply = page.render();
        if made.is_err() {
            reply = reply.with_status(StatusCode::BAD_REQUEST.as_u16());
        }
        render_reply(reply, request.parts.method == Method::HEAD, &self.streams).await
    }
}

fn describe_act(form: &PageFields) -> (AuditAct, AuditSubject) {
    let token = form.value("token");
    let act = match form.value("act") {
        Some("token" | "revoke") => AuditAct::TOKEN,
        _ => AuditAct::USER,
    };
    let subject = AuditSubject {
        name: token.or(form.value("user")).map(str::to_owned),
        ..AuditSubject::default()
    };
    (act, subject)
}

/// Makes the change that a form asks for.
fn change_accounts(accounts: &TeamAccounts, form: &PageFields, now: Timestamp) -> Result<Option<MadeToken>> {
    let user = form.value("user").unwrap_or_default().trim();
    let rights = || TeamRights::parse(form.value("rights").unwrap_or_default().split_whitespace());
    match form.value("act") {
        Some("add") => {
            accounts.add_user(user, rights()?, now)?;
            if let Some(password) = form
                .exact_value("password")
                .filter(|password| !password.is_empty())
                && let Err(error) = accounts.set_password(user, Some(password))
            {
                // Whoever fills in both means a user with a password.
                accounts.remove_user(user)?;
                return Err(error);
            }
        }
        Some("rights") => accounts.set_rights(user, rights()?)?,
        Some("password") => accounts.set_password(user, form.exact_value("password"))?,
        Some("enable") => accounts.enable_user(user)?,
        Some("disable") => accounts.disable_user(user, now)?,
        Some("token") => {
            let request = TokenRequest {
                label: form.value("label").unwrap_or_default().to_owned(),
                expires: read_days(form)?.map(|days| after_days(now, days)).transpose()?,
                ..TokenRequest::default()
            };
            return accounts.make_token(user, request, now).map(Some);
        }
        Some("revoke") => {
            let id = form.value("token").unwrap_or_default().parse()?;
            accounts.revoke_token(&id, now)?;
        }
        _ => return Err(Error::invalid("the form does not say what to do").with_hint("nothing was changed")),
    }
    Ok(None)
}

fn read_days(form: &PageFields) -> Result<Option<u32>> {
    let Some(days) = form.value("days") else {
        return Ok(None);
    };
    let parsed = days.trim().parse().ok().filter(|days| (1..=3650).contains(days));
    parsed
        .map(Some)
        .ok_or_else(|| Error::invalid("a token lives from 1 to 3650 days").with_hint("no token was made"))
}

fn after_days(now: Timestamp, days: u32) -> Result<Timestamp> {
    Timestamp::from_micros(now.as_micros() + DAY * i64::from(days))
}

fn list_users(accounts: &TeamAccounts, now: Timestamp) -> Result<Vec<UserRow>> {
    let tokens = accounts.list_tokens(None)?;
    let users = accounts.list_users()?.into_iter().map(|user| {
        let own = tokens.iter().filter(|token| token.user == user.name);
        UserRow {
            grants: user.rights.grants().iter().map(ToString::to_string).collect(),
            has_password: user.has_password,
            is_disabled: user.disabled.is_some(),
            tokens: own.map(|token| describe_token(token, now)).collect(),
            name: user.name,
        }
    });
    Ok(users.collect())
}

fn describe_token(token: &TeamToken, now: Timestamp) -> TokenRow {
    let is_over = token.expires.is_some_and(|expires| expires <= now);
    let state = match (token.revoked, token.expires) {
        (Some(when), _) => format!("revoked {when}"),
        (None, Some(expires)) if is_over => format!("expired {expires}"),
        (None, Some(expires)) => format!("until {expires}"),
        (None, None) => "does not expire".to_owned(),
    };
    let grants = |rights: &TeamRights| rights.grants().iter().map(ToString::to_string).collect();
    TokenRow {
        id: token.id.to_string(),
        label: token.label.clone(),
        grants: token.rights.as_ref().map(grants),
        state,
        is_live: token.revoked.is_none() && !is_over,
    }
}
