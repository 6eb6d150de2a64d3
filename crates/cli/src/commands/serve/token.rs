//! `loci serve token`: the tokens by which agents and scripts sign in.

use loci_core::Timestamp;
use loci_team::{AuditAct, MadeToken, TeamToken, TokenId, TokenRequest};
use schemars::JsonSchema;
use serde::Serialize;

use super::files::ServerFiles;
use super::lifetime::parse_end;
use super::user::{list_grants, parse_rights};
use crate::environment::now;
use crate::errors::{CommandResult, ExitStatus};
use crate::output::TerminalOutput;
use crate::page::TextPage;

/// Make tokens for agents and scripts, list them, and revoke them
///
/// A client sends its token as `Authorization: Bearer TOKEN`. Its text is shown once; the server keeps a hash of it.
/// Changes count from the next request on, also for a server that is running.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = false,
    after_long_help = "Examples:\n  loci serve token make anna --label laptop\n  loci serve token list\n  \
    loci serve token revoke 3f1c9a0b77de"
)]
pub(crate) struct TeamTokenArgs {
    #[command(subcommand)]
    command: TeamTokenCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TeamTokenCommand {
    /// Make a token and print its text, once
    ///
    /// It has the rights of its user, or narrower ones. It never has more than its user, whatever happens later.
    #[command(
        after_long_help = "Examples:\n  loci serve token make anna --label laptop\n  \
        loci serve token make anna --label reader --rights work:read --expires 30d"
    )]
    Make {
        /// The user
        #[arg(value_name = "USER")]
        user: String,
        /// A line by which to recognise the token
        #[arg(long, value_name = "TEXT", default_value = "")]
        label: String,
        /// A right of the token, such as work:read; can be repeated [default: all of its user]
        #[arg(long, value_name = "GRANT")]
        rights: Vec<String>,
        /// When it ends: a date, a time, or 12h, 30d, 4w from now [default: never]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// List the tokens without their texts
    ///
    /// Exits with 1 if there is none.
    #[command(
        after_long_help = "Examples:\n  loci serve token list\n  loci serve token list --user anna --json"
    )]
    List {
        /// Only those of this user
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
    },
    /// Give a token a new text and print it, once
    ///
    /// The old text is refused from now on, or later with --keep-old. Label, rights and end stay.
    #[command(after_long_help = "Examples:\n  loci serve token rotate 3f1c9a0b77de\n  \
        loci serve token rotate 3f1c9a0b77de --keep-old 1h")]
    Rotate {
        /// The id of the token: its part after `loci_`
        #[arg(value_name = "ID")]
        id: String,
        /// How long the old text is still accepted: a date, a time, or 1h, 2d, 1w from now
        #[arg(long, value_name = "TIME")]
        keep_old: Option<String>,
    },
    /// Refuse a token from now on
    ///
    /// It stays in the list, so that the audit log can be read.
    #[command(after_long_help = "Example:\n  loci serve token revoke 3f1c9a0b77de")]
    Revoke {
        /// The id of the token: its part after `loci_`
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// A token as it is listed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedToken {
    /// The id, which is a part of its text.
    id: String,
    /// The user.
    user: String,
    /// The line by which it is recognised.
    label: String,
    /// Its own rights; absent if it has those of its user.
    #[serde(skip_serializing_if = "Option::is_none")]
    rights: Option<Vec<String>>,
    /// When it was made.
    created: Timestamp,
    /// From when on it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<Timestamp>,
    /// Until when the text before the last rotation is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_until: Option<Timestamp>,
}

/// The tokens of a server.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TeamTokenList {
    /// The tokens, by id.
    tokens: Vec<ListedToken>,
}

/// A token with its text, which is shown this once.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IssuedToken {
    /// The text that a client sends.
    text: String,
    /// The token.
    token: ListedToken,
    /// Whether the change is in the audit log; one that is made while a server runs is not.
    audited: bool,
}

/// A token that is refused from now on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TokenRevocation {
    /// The token.
    token: ListedToken,
    /// Whether the change is in the audit log; one that is made while a server runs is not.
    audited: bool,
}

impl From<TeamToken> for ListedToken {
    fn from(token: TeamToken) -> Self {
        Self {
            id: token.id.to_string(),
            user: token.user,
            label: token.label,
            rights: token.rights.as_ref().map(list_grants),
            created: token.created,
            expires: token.expires,
            revoked: token.revoked,
            previous_until: token.previous_until,
        }
    }
}

/// Lists or changes tokens.
pub(super) fn run(args: &TeamTokenArgs, files: &ServerFiles, out: &mut TerminalOutput) -> CommandResult {
    let accounts = files.open_accounts()?;
    match &args.command {
        TeamTokenCommand::Make {
            user,
            label,
            rights,
            expires,
        } => {
            let request = TokenRequest {
                label: label.clone(),
                rights: (!rights.is_empty()).then(|| parse_rights(rights)).transpose()?,
                expires: expires.as_deref().map(|end| parse_end(end, now())).transpose()?,
            };
            // Its id is known only once it is made; the user says as much before.
            let make = || accounts.make_token(user, request, now());
            let made = files.change_recorded(AuditAct::TOKEN, user, out, make)?;
            print_issued(made, out)
        }
        TeamTokenCommand::List { user } => list_tokens(accounts.list_tokens(user.as_deref())?, out),
        TeamTokenCommand::Rotate { id, keep_old } => {
            let id: TokenId = id.parse()?;
            let old_until = keep_old.as_deref().map(|end| parse_end(end, now())).transpose()?;
            let rotate = || accounts.rotate_token(&id, old_until, now());
            let made = files.change_recorded(AuditAct::TOKEN, id.as_str(), out, rotate)?;
            print_issued(made, out)
        }
        TeamTokenCommand::Revoke { id } => {
            let id: TokenId = id.parse()?;
            let revoke = || accounts.revoke_token(&id, now());
            let (token, audited) = files.change_recorded(AuditAct::TOKEN, id.as_str(), out, revoke)?;
            print_revocation(token, audited, out)
        }
    }
}

fn print_issued((made, audited): (MadeToken, bool), out: &mut TerminalOutput) -> CommandResult {
    let text = made.text.reveal().to_owned();
    if out.is_json() {
        out.write_json(&IssuedToken {
            text,
            token: made.token.into(),
            audited,
        })?;
    } else {
        // Alone on standard output, so that it can be piped into a file or a store of secrets.
        out.write_line(&text)?;
        out.flush()?;
        out.note("this is the only time that it is shown");
    }
    Ok(ExitStatus::Done)
}

fn print_revocation(token: TeamToken, audited: bool, out: &mut TerminalOutput) -> CommandResult {
    let token = ListedToken::from(token);
    if out.is_json() {
        out.write_json(&TokenRevocation { token, audited })?;
    } else {
        out.note(&format!(
            "the token {} of {} is refused from now on",
            token.id, token.user
        ));
    }
    Ok(ExitStatus::Done)
}

fn list_tokens(tokens: Vec<TeamToken>, out: &mut TerminalOutput) -> CommandResult {
    let list = TeamTokenList {
        tokens: tokens.into_iter().map(ListedToken::from).collect(),
    };
    if out.is_json() {
        out.write_json(&list)?;
    } else {
        let now = now();
        out.write_page(|page| list.tokens.iter().for_each(|token| print_token(token, now, page)))?;
    }
    if list.tokens.is_empty() {
        out.note("there are no tokens; make one with `loci serve token make USER`");
    }
    Ok(ExitStatus::from_found(!list.tokens.is_empty()))
}

fn print_token(token: &ListedToken, now: Timestamp, page: &mut TextPage) {
    page.bold(&token.id).plain("  ").plain(&token.user);
    if !token.label.is_empty() {
        page.plain("  ").plain(&token.label);
    }
    if let Some(rights) = &token.rights {
        page.plain("  ").plain(&rights.join(" "));
    }
    page.dim(&format!("  made {}", token.created.day_text()));
    match (token.revoked, token.expires) {
        (Some(revoked), _) => page
            .plain("  ")
            .yellow(&format!("revoked {}", revoked.day_text())),
        (None, Some(end)) if end <= now => page.plain("  ").yellow(&format!("expired {}", end.day_text())),
        (None, Some(end)) => page.dim(&format!("  expires {}", end.day_text())),
        (None, None) => page,
    };
    page.end();
}
