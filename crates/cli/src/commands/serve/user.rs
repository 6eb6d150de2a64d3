//! `loci serve user`: the users of a server, their passwords and rights.

use loci_core::{Error, ErrorKind, Result, Timestamp};
use loci_team::{AuditAct, TeamAccounts, TeamRights, TeamUser};
use schemars::JsonSchema;
use serde::Serialize;

use super::files::ServerFiles;
use super::password::{ask_password, is_asked, read_password};
use crate::environment::now;
use crate::errors::{CommandResult, ExitStatus};
use crate::output::TerminalOutput;
use crate::page::{TextPage, format_count};

/// Add users, list them, and change their passwords and rights
///
/// Changes count from the next request on, also for a server that is running. The commands need the server's files: run
/// them as the user that the server runs as, with its --data or --config.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = false,
    after_long_help = "Examples:\n  loci serve user add anna --rights 'work:read,write'\n  loci serve user list\n\n\
    A right is PALACE:VERBS or PALACE/WING:VERBS, with `*` for all palaces. The verbs are read, write, delete and admin; \
    each implies read. `*:admin` also administers users and tokens."
)]
pub(crate) struct TeamUserArgs {
    #[command(subcommand)]
    command: TeamUserCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TeamUserCommand {
    /// Add a user
    ///
    /// At a terminal the password is asked for; an empty one leaves the user without, so that only tokens sign in.
    #[command(
        after_long_help = "Examples:\n  loci serve user add anna --rights 'work:read,write' --rights home:read\n  \
        loci serve user add ben --rights '*:read,write,delete,admin'\n  \
        pass show loci/ci | loci serve user add ci --rights work/builds:write --password-stdin"
    )]
    Add {
        /// The name: a-z, 0-9 and . _ - + @
        #[arg(value_name = "NAME")]
        name: String,
        /// A right, such as work:read or work/garden:read,write; can be repeated
        #[arg(long, value_name = "GRANT")]
        rights: Vec<String>,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// List the users with their rights
    ///
    /// Exits with 1 if there is none.
    #[command(after_long_help = "Example:\n  loci serve user list --json")]
    List,
    /// Remove a user and all its tokens
    ///
    /// Its sessions end, and its tokens are refused from now on.
    #[command(after_long_help = "Example:\n  loci serve user remove anna")]
    Remove {
        /// The user
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Refuse a user and its tokens until it is enabled
    ///
    /// Its sessions end. Its tokens and rights are kept.
    #[command(after_long_help = "Example:\n  loci serve user disable anna")]
    Disable {
        /// The user
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Let a user that was disabled sign in again
    ///
    /// Its tokens work again, except for those that were revoked or have expired.
    #[command(after_long_help = "Example:\n  loci serve user enable anna")]
    Enable {
        /// The user
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Set the password of a user
    ///
    /// Asks for it at a terminal; otherwise reads the first line of standard input. Sessions of the user end.
    #[command(
        after_long_help = "Examples:\n  loci serve user password anna\n  loci serve user password anna --remove"
    )]
    Password {
        /// The user
        #[arg(value_name = "NAME")]
        name: String,
        /// Take the password away, so that only tokens sign in
        #[arg(long)]
        remove: bool,
    },
    /// Replace the rights of a user
    ///
    /// Tokens of the user never have more than these, from now on.
    #[command(
        after_long_help = "Examples:\n  loci serve user rights anna work:read,write home:read\n  loci serve user rights anna --none"
    )]
    Rights {
        /// The user
        #[arg(value_name = "NAME")]
        name: String,
        /// All rights of the user from now on
        #[arg(value_name = "GRANT", required_unless_present = "none")]
        grants: Vec<String>,
        /// Leave the user without any right
        #[arg(long, conflicts_with = "grants")]
        none: bool,
    },
}

/// A user as it is listed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedUser {
    /// The name.
    name: String,
    /// Whether a password signs the user in.
    has_password: bool,
    /// The rights, as they are written in grants.
    rights: Vec<String>,
    /// Whether the user administers the server: users, tokens and the audit log.
    administers_server: bool,
    /// When the user was added.
    created: Timestamp,
    /// Since when the user and its tokens are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled: Option<Timestamp>,
}

/// The users of a server.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TeamUserList {
    /// The users, by name.
    users: Vec<ListedUser>,
    /// The file that they are in.
    file: String,
}

/// A change of a user.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TeamUserChange {
    /// The change: `added`, `disabled`, `enabled`, `password` or `rights`.
    change: &'static str,
    /// The user as it is now.
    user: ListedUser,
    /// Whether the change is in the audit log; one that is made while a server runs is not.
    audited: bool,
}

/// A user that was removed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TeamUserRemoval {
    /// The name.
    removed: String,
    /// The number of its tokens, which are removed with it.
    tokens: u64,
    /// Whether the change is in the audit log; one that is made while a server runs is not.
    audited: bool,
}

impl From<TeamUser> for ListedUser {
    fn from(user: TeamUser) -> Self {
        Self {
            administers_server: user.rights.administers_server(),
            rights: list_grants(&user.rights),
            name: user.name,
            has_password: user.has_password,
            created: user.created,
            disabled: user.disabled,
        }
    }
}

/// Rights as they are written.
pub(super) fn list_grants(rights: &TeamRights) -> Vec<String> {
    rights.grants().iter().map(ToString::to_string).collect()
}

/// Rights from the words of a command line.
pub(super) fn parse_rights(grants: &[String]) -> Result<TeamRights> {
    TeamRights::parse(grants.iter().map(String::as_str))
}

/// Lists or changes users.
pub(super) fn run(args: &TeamUserArgs, files: &ServerFiles, out: &mut TerminalOutput) -> CommandResult {
    let changing = UserChanging { files, out };
    match &args.command {
        TeamUserCommand::Add {
            name,
            rights,
            password_stdin,
        } => changing.add_user(name, rights, *password_stdin),
        TeamUserCommand::List => list_users(files, changing.out),
        TeamUserCommand::Remove { name } => changing.remove_user(name),
        TeamUserCommand::Disable { name } => {
            changing.change_user(name, "disabled", |accounts| accounts.disable_user(name, now()))
        }
        TeamUserCommand::Enable { name } => {
            changing.change_user(name, "enabled", |accounts| accounts.enable_user(name))
        }
        TeamUserCommand::Password { name, remove } => changing.set_password(name, *remove),
        TeamUserCommand::Rights { name, grants, .. } => {
            let rights = parse_rights(grants)?;
            changing.change_user(name, "rights", |accounts| accounts.set_rights(name, rights))
        }
    }
}

/// The files and output of a command that changes a user.
struct UserChanging<'a> {
    files: &'a ServerFiles,
    out: &'a mut TerminalOutput,
}

impl UserChanging<'_> {
    fn add_user(self, name: &str, rights: &[String], password_stdin: bool) -> CommandResult {
        let rights = parse_rights(rights)?;
        let is_idle = rights.is_empty();
        let password = if password_stdin {
            Some(read_password()?)
        } else if is_asked() {
            ask_password(name)?
        } else {
            None
        };
        let accounts = self.files.make_accounts()?;
        let (_, audited) = self.files.change_recorded(AuditAct::USER, name, self.out, || {
            accounts.add_user(name, rights, now())?;
            let Some(password) = &password else { return Ok(()) };
            accounts.set_password(name, Some(password)).inspect_err(|_| {
                // One step for people: a user whose password was refused was not added.
                let _ = accounts.remove_user(name);
            })
        })?;
        if password.is_none() {
            self.out.note(&format!(
                "without a password, {name} signs in by tokens: `loci serve token make {name}`"
            ));
        }
        if is_idle {
            self.out.note(&format!(
                "{name} has no rights yet: `loci serve user rights {name} PALACE:read`"
            ));
        }
        self.report(&accounts, name, "added", audited)
    }

    fn set_password(self, name: &str, remove: bool) -> CommandResult {
        let accounts = self.files.open_accounts()?;
        if accounts.find_user(name)?.is_none() {
            return Err(unknown_user(name).into());
        }
        let password = if remove {
            None
        } else if is_asked() {
            Some(ask_password(name)?.ok_or_else(|| {
                Error::invalid("the password is empty")
                    .with_hint("nothing was changed; --remove takes the password away")
            })?)
        } else {
            Some(read_password()?)
        };
        self.change_user(name, "password", |accounts| {
            accounts.set_password(name, password.as_deref())
        })
    }

    fn remove_user(self, name: &str) -> CommandResult {
        let accounts = self.files.open_accounts()?;
        let remove = || accounts.remove_user(name);
        let (tokens, audited) = self
            .files
            .change_recorded(AuditAct::USER, name, self.out, remove)?;
        let removal = TeamUserRemoval {
            removed: name.to_owned(),
            tokens: tokens as u64,
            audited,
        };
        if self.out.is_json() {
            self.out.write_json(&removal)?;
        } else {
            let tokens = format_count(removal.tokens, "token");
            self.out.note(&format!("removed {name} and {tokens}"));
        }
        Ok(ExitStatus::Done)
    }

    fn change_user(
        self,
        name: &str,
        change: &'static str,
        apply: impl FnOnce(&TeamAccounts) -> Result<()>,
    ) -> CommandResult {
        let accounts = self.files.open_accounts()?;
        let apply = || apply(&accounts);
        let ((), audited) = self
            .files
            .change_recorded(AuditAct::USER, name, self.out, apply)?;
        self.report(&accounts, name, change, audited)
    }

    fn report(
        self,
        accounts: &TeamAccounts,
        name: &str,
        change: &'static str,
        audited: bool,
    ) -> CommandResult {
        let user = accounts.find_user(name)?.ok_or_else(|| unknown_user(name))?;
        let changed = TeamUserChange {
            change,
            user: user.into(),
            audited,
        };
        if self.out.is_json() {
            self.out.write_json(&changed)?;
        } else {
            self.out.write_page(|page| print_user(&changed.user, page))?;
        }
        Ok(ExitStatus::Done)
    }
}

fn list_users(files: &ServerFiles, out: &mut TerminalOutput) -> CommandResult {
    let users = files.open_accounts()?.list_users()?;
    let list = TeamUserList {
        users: users.into_iter().map(ListedUser::from).collect(),
        file: files.accounts.to_string_lossy().into_owned(),
    };
    if out.is_json() {
        out.write_json(&list)?;
    } else {
        out.write_page(|page| list.users.iter().for_each(|user| print_user(user, page)))?;
    }
    if list.users.is_empty() {
        out.note("there are no users; add one with `loci serve user add NAME`");
    }
    Ok(ExitStatus::from_found(!list.users.is_empty()))
}

fn print_user(user: &ListedUser, page: &mut TextPage) {
    page.bold(&user.name);
    let rights = if user.rights.is_empty() {
        "no rights".to_owned()
    } else {
        user.rights.join(" ")
    };
    page.plain("  ").plain(&rights);
    page.dim(if user.has_password {
        "  password"
    } else {
        "  tokens only"
    });
    if let Some(since) = user.disabled {
        page.plain("  ")
            .yellow(&format!("disabled since {}", since.day_text()));
    }
    page.end();
}

fn unknown_user(name: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("user {name:?} does not exist"))
        .with_hint("nothing was changed; `loci serve user list` lists the users")
}
