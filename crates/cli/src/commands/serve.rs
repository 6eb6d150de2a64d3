//! `loci serve`: one server for many palaces, people and agents; its users, tokens and audit log.

mod audit;
mod config;
mod files;
mod host;
mod lifetime;
mod listen;
mod palaces;
mod password;
mod plan;
mod token;
mod user;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;

use loci_core::Error;
use loci_serve::team::{ServedPalace, TeamOptions, TeamSettings, serve_team};
use schemars::JsonSchema;
use serde::Serialize;

use self::files::ServerPlaceArgs;
use self::palaces::ServedCatalog;
use self::plan::{TeamServerArgs, TeamServerPlan};
use crate::environment::now;
use crate::errors::{CommandResult, ExitStatus};
use crate::escape::escape_line;
use crate::output::TerminalOutput;
use crate::session::CommandSession;

pub(crate) use self::audit::{AuditVerification, AuditedActs, PrintedHead};
pub(crate) use self::token::{IssuedToken, TeamTokenList, TokenRevocation};
pub(crate) use self::user::{TeamUserChange, TeamUserList, TeamUserRemoval};

/// Serve palaces to a team: pages, a JSON interface and MCP, with rights
///
/// Serves until it is stopped. People sign in with a password, agents with a token, and each sees only the palaces and wings
/// of its rights. SIGHUP makes the server read its config again; a certificate is read again when its file changes.
///
/// Without --config, everything is told by options; they also take the place of what the config says. docs/serve.md has a
/// config, a systemd unit and a Dockerfile.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci serve user add anna --rights 'work:read,write'\n  \
    loci serve --palace work --palace shared=postgres://db/loci?palace=shared\n  \
    loci serve --config /etc/loci/serve.toml\n  \
    loci serve --palace work --listen 0.0.0.0:7443 --tls-cert cert.pem --tls-key key.pem --public-url https://loci.example.org:7443\n  \
    loci serve --palace work --listen 10.0.0.5:7070 --behind-proxy 10.0.0.1 --public-url https://loci.example.org"
)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    server: TeamServerArgs,
    #[command(flatten)]
    place: ServerPlaceArgs,
    #[command(subcommand)]
    command: Option<ServeSubcommand>,
}

#[derive(Debug, clap::Subcommand)]
enum ServeSubcommand {
    User(user::TeamUserArgs),
    Token(token::TeamTokenArgs),
    Audit(audit::TeamAuditArgs),
}

/// The address of a server that accepts connections.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TeamServerAddress {
    /// The IP address and port.
    address: String,
    /// The URL for browsers.
    url: String,
    /// The palaces that are served.
    palaces: Vec<ServedPalaceAddress>,
}

/// A palace that is served.
#[derive(Debug, Serialize, JsonSchema)]
struct ServedPalaceAddress {
    /// Its name.
    name: String,
    /// The URL for clients of the Model Context Protocol.
    mcp: String,
}

/// Serves palaces, or lists and changes users, tokens and the audit log.
pub(crate) fn run(args: &ServeArgs, session: &mut CommandSession) -> CommandResult {
    let Some(command) = &args.command else {
        return start_server(args, session);
    };
    if let Some(option) = args.server.list_given().first() {
        let error = Error::invalid(format!("{option} is an option of the server itself"));
        return Err(error
            .with_hint("nothing was done; leave it out, or leave out the words after `loci serve`")
            .into());
    }
    let files = args.place.locate_files(session.environment())?;
    let out = &mut session.out;
    match command {
        ServeSubcommand::User(args) => user::run(args, &files, out),
        ServeSubcommand::Token(args) => token::run(args, &files, out),
        ServeSubcommand::Audit(args) => audit::run(args, &files, out),
    }
}

fn start_server(args: &ServeArgs, session: &mut CommandSession) -> CommandResult {
    let plan = TeamServerPlan::read(&args.server, &args.place, session.environment())?;
    let catalog = ServedCatalog::new(session);
    let settings = catalog.build_settings(&plan)?;
    let accounts = plan.files.make_accounts()?;
    if accounts.list_users()?.is_empty() && settings.issuers.is_empty() {
        session
            .out
            .warn("there are no users yet; add one with `loci serve user add NAME --rights '*:admin'`");
    }
    let options = TeamOptions {
        address: plan.address,
        tls: plan.tls.clone(),
        accounts: Arc::new(accounts),
        audit: Arc::new(plan.files.open_audit()?),
        clock: Arc::new(now),
        limits: plan.limits.clone(),
        ready: announce_when_ready(&plan, &settings, session),
        reload: reload_settings(args, plan, catalog, session),
        log: Arc::new(write_log_line),
    };
    serve_team(settings, options)?;
    Ok(ExitStatus::Done)
}

/// Reads options and config again, for a server that runs.
fn reload_settings(
    args: &ServeArgs,
    running: TeamServerPlan,
    catalog: ServedCatalog,
    session: &CommandSession,
) -> Box<dyn Fn() -> loci_core::Result<TeamSettings> + Send + Sync> {
    let (server, place) = (args.server.clone(), args.place.clone());
    let environment = session.environment().clone();
    Box::new(move || {
        let plan = TeamServerPlan::read(&server, &place, &environment)?;
        let settings = catalog.build_settings(&plan)?;
        for name in plan.list_unheeded(&running) {
            write_log_line(&format!("the new {name} counts once the server is started again"));
        }
        Ok(settings)
    })
}

/// Prints the address once the server listens. A failure to print it does not stop the server.
fn announce_when_ready(
    plan: &TeamServerPlan,
    settings: &TeamSettings,
    session: &CommandSession,
) -> Box<dyn FnOnce(SocketAddr) + Send> {
    let (globals, environment) = session.origin();
    let scheme = if plan.tls.is_some() { "https" } else { "http" };
    let public_url = plan.public_url.clone();
    let names: Vec<String> = settings.palaces.iter().map(find_name).collect();
    Box::new(move |address| {
        let mut out = TerminalOutput::for_standard_streams(&globals, &environment);
        let url = public_url.unwrap_or_else(|| format!("{scheme}://{address}"));
        out.note(&format!("listening on {address}; open {url}"));
        let palaces = names.into_iter().map(|name| ServedPalaceAddress {
            mcp: format!("{url}/p/{name}/mcp"),
            name,
        });
        let palaces: Vec<ServedPalaceAddress> = palaces.collect();
        for palace in &palaces {
            out.note(&format!("{}: {}", palace.name, palace.mcp));
        }
        if out.is_json() {
            let said = TeamServerAddress {
                address: address.to_string(),
                url,
                palaces,
            };
            let _ = out.write_json(&said).and_then(|()| out.flush());
        }
    })
}

fn find_name(palace: &ServedPalace) -> String {
    palace.name.clone()
}

/// Writes a line of the server's log to standard error. That it cannot be written stops nothing.
fn write_log_line(text: &str) {
    let _ = writeln!(io::stderr(), "{} {}", now(), escape_line(text));
}
