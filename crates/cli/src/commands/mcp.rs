//! `loci mcp`: the palace served to agents.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, FilingDoor, Result};
use loci_engine::mine::project::tidy_name;
use loci_engine::{AccessPolicy, Palace};
use loci_serve::mcp::{Dialect, Limits, Listening, Server, address, serve_http, serve_stdio};

use crate::errors::{Done, Exit};
use crate::output::Output;
use crate::session::Session;

/// Serve the palace to agents over the Model Context Protocol
///
/// Speaks on standard input and output until the client goes away, or with --http to any number of clients on this machine
/// until it is asked to end. The palace is looked for when the first tool asks for it, and made by the first that files
/// something. Any number of servers, hooks and terminals may use one palace.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci mcp\n  loci mcp --palace work --read-only\n  \
    loci mcp --wing garden --wing kitchen\n  loci mcp --http 8765\n  \nWrite it into the settings of a tool with `loci connect`."
)]
pub(crate) struct Args {
    /// Offer no tool that changes anything
    #[arg(long)]
    read_only: bool,

    /// Serve only this wing; may be given more than once
    ///
    /// Other wings do not exist for the client: they are not found, counted, listed or written.
    #[arg(long, value_name = "WING")]
    wing: Vec<String>,

    /// Give the tools the names, arguments and results of another system
    #[arg(long, value_name = "SYSTEM", value_parser = ["mempalace"])]
    compat: Option<String>,

    /// Serve over streamable HTTP on this machine
    ///
    /// A port, HOST:PORT or [::1]:PORT; port 0 is any that is free. Clients show the token of the token file as
    /// `Authorization: Bearer TOKEN`. Addresses that other machines can reach are refused. With --json the address is
    /// printed as one line once clients are heard.
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:8765")]
    http: Option<String>,

    /// The file with the token that HTTP clients show
    ///
    /// It is made with a new token where it is missing, and refused where others may read it. Usually mcp-token in the
    /// folder where Loci keeps palaces and models.
    #[arg(long, value_name = "PATH", requires = "http")]
    token_file: Option<PathBuf>,
}

/// Serves it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let server = Server::new(served_palace(args, session)?, dialect(args));
    match &args.http {
        Some(http) => serve_http(server, listening(http, args, session)?)?,
        None => {
            let output = own_output().map_err(|cause| {
                Error::new(ErrorKind::Io, "standard output cannot be written").caused_by(cause)
            })?;
            serve_stdio(server, io::stdin(), output)?;
        }
    }
    Ok(Exit::Done)
}

/// Where to serve over HTTP, and how to say so.
fn listening(http: &str, args: &Args, session: &Session) -> Result<Listening> {
    let (globals, environment) = session.origin();
    let usual = || {
        environment
            .data
            .as_ref()
            .map(|data| data.join("loci").join("mcp-token"))
    };
    let token_file = args.token_file.clone().or_else(usual).ok_or_else(|| {
        Error::invalid("no home is known to keep the token in").hint("name a file with --token-file")
    })?;
    let shown = token_file.clone();
    Ok(Listening {
        address: address(http)?,
        token_file,
        limits: Limits::default(),
        ready: Box::new(move |address| {
            announce(&mut Output::standard(&globals, &environment), address, &shown)
        }),
    })
}

/// Says where clients are heard. Where nobody reads that, they are served all the same.
fn announce(out: &mut Output, address: SocketAddr, token_file: &Path) {
    let url = format!("http://{address}/mcp");
    out.note(&format!("listening on {url}"));
    out.note(&format!("the token is in {}", token_file.display()));
    if out.is_json() {
        let said = serde_json::json!({
            "address": address.to_string(),
            "url": url,
            "token_file": token_file.to_string_lossy(),
        });
        let _ = out.json(&said).and_then(|()| out.flush());
    }
}

/// Standard output past the lock that whoever writes to it holds: while a client does not read, writing to it waits, and
/// ending the process must not wait for that.
#[cfg(unix)]
fn own_output() -> io::Result<File> {
    use std::os::fd::AsFd as _;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Standard output past the lock that whoever writes to it holds: while a client does not read, writing to it waits, and
/// ending the process must not wait for that.
#[cfg(windows)]
fn own_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

fn dialect(args: &Args) -> Dialect {
    match args.compat {
        Some(_) => Dialect::Mempalace,
        None => Dialect::Loci,
    }
}

fn wing_named(given: &str) -> Result<String> {
    tidy_name(given).ok_or_else(|| {
        Error::invalid(format!("{given:?} is no name for a wing"))
            .hint("give --wing a name as `loci wings` lists them")
    })
}

/// The palace as its clients may see and change it, looked for when it is needed.
fn served_palace(args: &Args, session: &Session) -> Result<Palace> {
    let wings = args.wing.iter().map(|wing| wing_named(wing));
    let access = AccessPolicy {
        read_only: args.read_only,
        wings: wings.collect::<Result<_>>()?,
    };
    let palace = session.palace_when_needed().through(FilingDoor::Agent);
    Ok(palace.restricted_to(access))
}
