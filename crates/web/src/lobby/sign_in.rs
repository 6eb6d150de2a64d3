//! The page by which people sign in.

use maud::html;

use super::frame;
use crate::reply::PageReply;
use crate::request::ThemeChoice;

/// The page by which people sign in.
#[derive(Debug, Clone, Copy)]
pub struct SignInPage<'a> {
    /// Why the last attempt was refused.
    pub problem: Option<&'a str>,
    /// The name that was typed.
    pub name: &'a str,
    /// The path to go to afterwards.
    pub next: &'a str,
    /// The colors the visitor chose.
    pub theme: ThemeChoice,
}

impl SignInPage<'_> {
    /// Renders the page.
    pub fn render(&self) -> PageReply {
        let content = html! {
            section.panel.sign-in aria-labelledby="sign-in" {
                h1 #sign-in { "Sign in" }
                @if let Some(problem) = self.problem { p.warning role="alert" { (problem) } }
                form.stack method="post" action="/sign-in" data-once {
                    input type="hidden" name="next" value=(self.next);
                    label { span { "Name" }
                        input name="name" value=(self.name) required maxlength="64" autocomplete="username" autocapitalize="none"
                            spellcheck="false" autofocus[self.name.is_empty()];
                    }
                    label { span { "Password or token" }
                        input name="password" type="password" required maxlength="1024" autocomplete="current-password"
                            autofocus[!self.name.is_empty()];
                    }
                    button.primary { "Sign in" }
                }
                p.muted.small { "Whoever runs this server gives you a name, and a password or a token." }
            }
        };
        let reply = frame::render("Sign in", self.theme, None, &content);
        reply.with_status(if self.problem.is_some() { 403 } else { 200 })
    }
}
