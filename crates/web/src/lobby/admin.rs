//! The page on which an administrator keeps users and tokens.

use loci_core::Error;
use maud::{Markup, html};

use super::frame::secret;
use super::{LobbyVisitor, frame};
use crate::parts::shown;
use crate::reply::PageReply;

/// A user as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRow {
    /// The name.
    pub name: String,
    /// The grants, in their text form.
    pub grants: Vec<String>,
    /// Whether the user can sign in with a password.
    pub has_password: bool,
    /// Whether the account is disabled.
    pub is_disabled: bool,
    /// The tokens.
    pub tokens: Vec<TokenRow>,
}

/// A token as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Its id, which is no secret.
    pub id: String,
    /// What it is for.
    pub label: String,
    /// Its own grants, if it has fewer rights than its user.
    pub grants: Option<Vec<String>>,
    /// When it expires or was revoked, in words.
    pub state: String,
    /// Whether it can still be used.
    pub is_live: bool,
}

/// The text of a token that has just been made. It is shown once.
#[derive(Debug, Clone, Copy)]
pub struct MadeSecret<'a> {
    /// Whose it is.
    pub user: &'a str,
    /// The text.
    pub text: &'a str,
}

/// The page of users and tokens.
#[derive(Debug, Clone, Copy)]
pub struct AdminPage<'a> {
    /// Every user.
    pub users: &'a [UserRow],
    /// The token that was made by this request.
    pub made: Option<MadeSecret<'a>>,
    /// Why the last act was refused.
    pub problem: Option<&'a Error>,
    /// Who looks at it.
    pub visitor: LobbyVisitor<'a>,
}

impl AdminPage<'_> {
    /// Renders the page.
    pub fn render(&self) -> PageReply {
        let content = html! {
            div.page-head { h1 { "Users and tokens" } }
            @if let Some(error) = self.problem {
                p.warning role="alert" dir="auto" {
                    (shown::text(&error.to_string()))
                    @if let Some(hint) = error.hint_text() { " (" (shown::text(hint)) ")" }
                }
            }
            @if let Some(made) = self.made { (made_token(made)) }
            @for user in self.users { (self.user(user)) }
            (self.new_user())
        };
        frame::render(
            "Users and tokens",
            self.visitor.theme,
            Some(self.visitor),
            &content,
        )
    }

    fn user(&self, user: &UserRow) -> Markup {
        let name = user.name.as_str();
        html! {
            section.panel aria-label=(format!("User {name}")) {
                div.row.apart {
                    h2 { (shown::name(name)) }
                    span.muted.small {
                        @if user.is_disabled { "disabled" } @else if user.has_password { "signs in with a password" } @else { "has no password" }
                    }
                }
                form.row method="post" action="/admin" {
                    (self.act("rights", name))
                    label.grow { span { "Rights, separated by spaces" }
                        input name="rights" value=(user.grants.join(" ")) spellcheck="false" autocapitalize="none";
                    }
                    button { "Save rights" }
                }
                form.row method="post" action="/admin" {
                    (self.act("password", name))
                    input type="text" autocomplete="username" value=(name) hidden;
                    label { span { "New password" } input type="password" name="password" autocomplete="new-password" maxlength="1024"; }
                    button { "Set password" }
                }
                @if !user.tokens.is_empty() { (self.tokens(user)) }
                form.row method="post" action="/admin" {
                    (self.act("token", name))
                    label { span { "Token for" } input name="label" maxlength="100"; }
                    label { span { "Days until it expires" } input type="number" name="days" min="1" max="3650"; }
                    button { "Make a token" }
                }
                form.row method="post" action="/admin" {
                    (self.act(if user.is_disabled { "enable" } else { "disable" }, name))
                    button { @if user.is_disabled { "Enable" } @else { "Disable" } }
                }
            }
        }
    }

    fn tokens(&self, user: &UserRow) -> Markup {
        html! {
            table.table {
                thead { tr { th scope="col" { "Token" } th scope="col" { "For" } th scope="col" { "Rights" } th scope="col" { "State" } th scope="col" { span.visually-hidden { "Act" } } } }
                tbody {
                    @for token in &user.tokens {
                        tr {
                            td { code { (token.id) } }
                            td dir="auto" { (shown::name(&token.label)) }
                            td { @match &token.grants { Some(grants) => code { (grants.join(" ")) }, None => "those of the user" } }
                            td { (token.state) }
                            td {
                                @if token.is_live {
                                    form.inline method="post" action="/admin" {
                                        (self.act("revoke", &user.name))
                                        input type="hidden" name="token" value=(token.id);
                                        button aria-label=(format!("Revoke {}", token.id)) { "Revoke" }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn new_user(&self) -> Markup {
        html! {
            section.panel aria-labelledby="new-user" {
                h2 #new-user { "New user" }
                form.stack method="post" action="/admin" {
                    (secret(self.visitor))
                    input type="hidden" name="act" value="add";
                    label { span { "Name" } input name="user" required maxlength="64" autocomplete="username" autocapitalize="none" spellcheck="false"; }
                    label { span { "Rights, as in " code { "work/garden:read,write" } } input name="rights" autocomplete="off" spellcheck="false" autocapitalize="none"; }
                    label { span { "Password, if the user signs in with one" } input type="password" name="password" autocomplete="new-password" maxlength="1024"; }
                    button.primary { "Add the user" }
                }
            }
        }
    }

    fn act(&self, act: &str, user: &str) -> Markup {
        html! {
            (secret(self.visitor))
            input type="hidden" name="act" value=(act);
            input type="hidden" name="user" value=(user);
        }
    }
}

fn made_token(made: MadeSecret<'_>) -> Markup {
    html! {
        section.notice role="status" aria-label="New token" {
            p { "The new token of " (shown::name(made.user)) ". It is shown only now:" }
            pre tabindex="0" aria-label="Token" { (made.text) }
        }
    }
}
