//! `loci mcp`: serves the palace to agents.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, FilingDoor, Result};
use loci_engine::mine::project::tidy_name;
use loci_engine::{AccessPolicy, Palace};
use loci_serve::mcp::{
    HttpLimits, HttpOptions, McpServer, ToolDialect, parse_listen_address, serve_http, serve_stdio,
};

use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::output::TerminalOutput;
use crate::session::CommandSession;

/// Serve the palace to agents over the Model Context Protocol
///
/// Serves one client on standard input and output until it disconnects, or with --http any number of clients on this
/// machine until it is stopped. The palace is opened by the first tool call that needs it and created by the first that
/// files something. Any number of servers, hooks and terminals can share one palace.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci mcp\n  loci mcp --palace work --read-only\n  \
    loci mcp --wing garden --wing kitchen\n  loci mcp --http 8765\n  \nWrite it into the settings of a tool with `loci connect`."
)]
pub(crate) struct McpArgs {
    /// Offer only tools that do not change anything
    #[arg(long)]
    read_only: bool,

    /// Serve only this wing; can be repeated
    ///
    /// Other wings do not exist for the client: they are not searched, counted, listed or written.
    #[arg(long, value_name = "WING")]
    wing: Vec<String>,

    /// Use the tool names, arguments and results of another system
    #[arg(long, value_name = "SYSTEM", value_parser = ["mempalace"])]
    compat: Option<String>,

    /// Serve over streamable HTTP on this machine
    ///
    /// Takes PORT, HOST:PORT or [::1]:PORT; port 0 picks a free one. Clients send the token from the token file as
    /// `Authorization: Bearer TOKEN`. Addresses that other machines can reach are refused. With --json, the address is
    /// printed on one line once the server accepts connections.
    #[allow(
        rustdoc::broken_intra_doc_links,
        reason = "the text of --help: an address in brackets"
    )]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:8765")]
    http: Option<String>,

    /// The file with the token that HTTP clients send
    ///
    /// Created with a new token if it is missing; refused if other users can read it. Defaults to mcp-token in the folder
    /// of palaces and models.
    #[arg(long, value_name = "PATH", requires = "http")]
    token_file: Option<PathBuf>,
}

/// Serves the palace.
pub(crate) fn run(args: &McpArgs, session: &mut CommandSession) -> CommandResult {
    let server = McpServer::new(served_palace(args, session)?, choose_dialect(args));
    match &args.http {
        Some(http) => serve_http(server, read_http_options(http, args, session)?)?,
        None => {
            let output = own_output().map_err(|cause| {
                Error::new(ErrorKind::Io, "standard output cannot be written").caused_by(cause)
            })?;
            serve_stdio(server, io::stdin(), output)?;
        }
    }
    Ok(ExitStatus::Done)
}

/// The address to serve on and the token file, from the arguments.
fn read_http_options(http: &str, args: &McpArgs, session: &CommandSession) -> Result<HttpOptions> {
    let (globals, environment) = session.origin();
    let usual = || {
        environment
            .data
            .as_ref()
            .map(|data| data.join("loci").join("mcp-token"))
    };
    let token_file = args.token_file.clone().or_else(usual).ok_or_else(|| {
        Error::invalid("no home folder is known to keep the token in")
            .with_hint("name a file with --token-file")
    })?;
    let shown = token_file.clone();
    Ok(HttpOptions {
        address: parse_listen_address(http)?,
        token_file,
        limits: HttpLimits::default(),
        ready: Box::new(move |address| {
            announce_address(
                &mut TerminalOutput::for_standard_streams(&globals, &environment),
                address,
                &shown,
            )
        }),
    })
}

/// The address of a server that accepts connections.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListeningAddress {
    /// The IP address and port.
    address: String,
    /// The URL for clients.
    url: String,
    /// The file with the token that clients send.
    token_file: String,
}

/// Announces the address. A failure to print it does not stop the server.
fn announce_address(out: &mut TerminalOutput, address: SocketAddr, token_file: &Path) {
    let url = format!("http://{address}/mcp");
    out.note(&format!("listening on {url}"));
    out.note(&format!("the token is in {}", token_file.display()));
    if out.is_json() {
        let said = ListeningAddress {
            address: address.to_string(),
            url,
            token_file: token_file.to_string_lossy().into_owned(),
        };
        let _ = out.write_json(&said).and_then(|()| out.flush());
    }
}

/// Standard output without its lock: a writer holds the lock while a client does not read, and ending the process must
/// not wait for that client.
#[cfg(unix)]
fn own_output() -> io::Result<File> {
    use std::os::fd::AsFd as _;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Standard output without its lock: a writer holds the lock while a client does not read, and ending the process must
/// not wait for that client.
#[cfg(windows)]
fn own_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

fn choose_dialect(args: &McpArgs) -> ToolDialect {
    match args.compat {
        Some(_) => ToolDialect::Mempalace,
        None => ToolDialect::Loci,
    }
}

/// Returns the tidy name of a wing that a server is restricted to.
pub(super) fn wing_named(given: &str) -> Result<String> {
    tidy_name(given).ok_or_else(|| {
        Error::invalid(format!("{given:?} is not a valid wing name"))
            .with_hint("`loci wings` lists the wings")
    })
}

/// The palace with the access its clients have, located when first used.
fn served_palace(args: &McpArgs, session: &CommandSession) -> Result<Palace> {
    let wings = args.wing.iter().map(|wing| wing_named(wing));
    let access = AccessPolicy::limited(args.read_only, wings.collect::<Result<_>>()?);
    let palace = session.palace_when_needed().entering_through(FilingDoor::Agent);
    Ok(palace.restricted_to(access))
}
