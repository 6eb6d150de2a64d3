//! `loci web`: serves the pages of the palace to its owner.

mod browser;
mod export;
mod host;
mod terminal;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use loci_core::{FilingDoor, Result};
use loci_engine::AccessPolicy;
use loci_serve::web::{WebAddress, WebLimits, WebOptions, serve_web};
use loci_web::Site;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::export::ExportedPage;
use self::export::PageExportArgs;
use self::host::OwnMachine;
pub(super) use self::host::{list_own_backends, list_usable_models, name_palace, open_named_model};
use super::mcp::wing_named;
use crate::environment::ProcessEnvironment;
use crate::errors::{CommandResult, ExitStatus};
use crate::output::TerminalOutput;
use crate::session::CommandSession;

/// The port unless another is named: always the same, so that bookmarks stay valid.
const USUAL_PORT: u16 = 7077;

/// Open the palace in the browser: search, read, correct
///
/// Serves pages on this machine until Ctrl-C, and prints a link that signs one browser in, once. Without the link nothing
/// is shown, not even to other users of this machine. In a terminal, Enter prints a link for another browser.
///
/// With --export, nothing is served: the drawers are written to one HTML file that can be searched offline.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci web\n  loci web --palace work --read-only\n  \
    loci web --wing garden --wing kitchen\n  loci web --no-open --port 0\n  \
    loci web --export garden.html --wing garden --since 2026-01-01\n\n\
    From another machine: `ssh -t -L 7077:127.0.0.1:7077 HOST loci web --no-open --port 7077`"
)]
pub(crate) struct WebArgs {
    /// Do not open the browser; print the link only
    #[arg(long)]
    no_open: bool,

    /// The port to serve on; 0 picks a free one [default: 7077, or a free one if it is in use]
    #[arg(long, value_name = "N")]
    port: Option<u16>,

    /// Offer only pages that do not change anything
    #[arg(long)]
    read_only: bool,

    /// Show only this wing; can be repeated
    ///
    /// Other wings do not exist for the pages: they are not searched, counted, listed or written.
    #[arg(long, value_name = "WING")]
    wing: Vec<String>,

    #[command(flatten)]
    page: PageExportArgs,
}

/// The link to the pages of a palace.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WebLink {
    /// The URL that signs in the first browser that opens it.
    url: String,
    /// The IP address and port.
    address: String,
}

/// Serves the pages until the process is asked to end, or writes them to a file.
pub(crate) fn run(args: &WebArgs, session: &mut CommandSession) -> CommandResult {
    if let Some(file) = args.page.find_file()? {
        return export::write_file(file, &args.page, &args.wing, session);
    }
    let site = build_site(args, session)?;
    let (globals, environment) = session.origin();
    let (opens, wanted) = (!args.no_open, args.port.unwrap_or(USUAL_PORT));
    let options = WebOptions {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, wanted)),
        // A port that was named is one that something else relies on.
        takes_other_port: args.port.is_none(),
        limits: WebLimits::default(),
        ready: Box::new(move |at| {
            let mut out = TerminalOutput::for_standard_streams(&globals, &environment);
            if at.address.port() != wanted && wanted != 0 {
                let port = at.address.port();
                out.note(&format!("port {wanted} is in use; serving on port {port}"));
            }
            // A link that cannot be printed would leave a server that nobody can use.
            if let Err(error) = announce_link(&mut out, &at, opens, &environment) {
                out.warn(&error.to_string());
            }
            terminal::offer_links(at.links, &globals, &environment);
        }),
    };
    serve_web(site, options)?;
    Ok(ExitStatus::Done)
}

fn build_site(args: &WebArgs, session: &CommandSession) -> Result<Site> {
    let wings = args.wing.iter().map(|wing| wing_named(wing));
    let access = AccessPolicy::limited(args.read_only, wings.collect::<Result<_>>()?);
    let host = OwnMachine::new(session)?;
    let palace = session.palace_when_needed().entering_through(FilingDoor::Page);
    Ok(Site::new(palace.restricted_to(access), Arc::new(host)))
}

/// Prints a link, and opens the browser with it.
fn announce_link(
    out: &mut TerminalOutput,
    at: &WebAddress,
    opens: bool,
    environment: &ProcessEnvironment,
) -> Result<()> {
    let url = at.links.make_link()?;
    print_link(out, &url, at.address);
    if opens {
        // A link of its own: other users of this machine can read the arguments of programs.
        browser::open_browser(&at.links.make_own_link()?, environment, out);
    }
    Ok(())
}

/// Prints a link. A failure to print it does not stop the server.
fn print_link(out: &mut TerminalOutput, url: &str, address: SocketAddr) {
    let link = WebLink {
        url: url.to_owned(),
        address: address.to_string(),
    };
    let printed = if out.is_json() {
        out.write_json(&link)
    } else {
        out.write_line(url)
    };
    let _ = printed.and_then(|()| out.flush());
}
