//! `loci mcp`: the palace served to agents.

use loci_core::{Error, Result};
use loci_serve::mcp::{Dialect, Server, serve_stdio};
use loci_serve::{Found, House, Scope};

use crate::embedders::Installed;
use crate::environment::now;
use crate::errors::{Done, Exit};
use crate::session::Session;

/// Serve the palace to agents over the Model Context Protocol
///
/// Speaks on standard input and output until the client goes away. The palace is looked for when the first tool asks for
/// it, and made by the first that files something. Any number of servers, hooks and terminals may use one palace.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci mcp\n  loci mcp --palace work --read-only\n  \
    loci mcp --wing garden --wing kitchen\n  \nWrite it into the settings of a tool with `loci connect`."
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
}

/// Serves it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let server = Server::new(house(args, session)?, dialect(args));
    serve_stdio(server, std::io::stdin(), std::io::stdout())?;
    Ok(Exit::Done)
}

fn dialect(args: &Args) -> Dialect {
    match args.compat {
        Some(_) => Dialect::Mempalace,
        None => Dialect::Loci,
    }
}

/// The palace that is meant, to be looked for when it is needed.
fn house(args: &Args, session: &Session) -> Result<House> {
    if let Some(empty) = args.wing.iter().find(|wing| wing.trim().is_empty()) {
        return Err(Error::invalid(format!("{empty:?} is no name for a wing"))
            .hint("give --wing a name as `loci wings` lists them"));
    }
    let scope = Scope {
        read_only: args.read_only,
        wings: args.wing.clone(),
    };
    let (globals, environment) = session.origin();
    let embedders = Installed::new(&environment);
    let find = move || {
        let session = Session::silent(globals.clone(), environment.clone());
        let palace = session.palace()?;
        Ok(Found {
            collection: session.collection(&palace)?,
            backend: palace.kit.backend,
            palace: palace.reference,
        })
    };
    Ok(House::new(Box::new(find), Box::new(embedders), now, scope))
}
