//! The commands, one file each.

mod add;
mod backends;
mod backup;
mod cat;
mod changes;
mod completions;
mod connect;
mod count;
mod delete;
mod doctor;
mod embedder;
mod export;
mod facets;
mod get;
mod help_markdown;
mod hook;
mod import;
mod init;
mod list;
mod maintain;
mod man;
mod matching;
mod mcp;
mod migrate;
mod mine;
mod model;
mod neighbours;
mod query;
mod refile;
mod restore;
mod rooms;
mod search;
mod show;
mod status;
mod sync;
mod timeline;
mod verify;
mod wake_up;
mod why_not;
mod wings;

use clap::Subcommand;

use crate::errors::Done;
use crate::session::Session;

pub(crate) use hook::{fail_open, is_hook};

/// What can be done with a palace.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Mine(mine::Args),
    Search(search::Args),
    WhyNot(why_not::Args),
    Cat(cat::Args),
    Move(refile::Args),
    Sync(sync::Args),
    WakeUp(wake_up::Args),
    Add(add::Args),
    Get(get::Args),
    List(list::Args),
    Show(show::Args),
    Neighbours(neighbours::Args),
    Wings(wings::Args),
    Rooms(rooms::Args),
    Timeline(timeline::Args),
    Delete(delete::Args),
    Query(query::Args),
    Match(matching::Args),
    Count(count::Args),
    Facets(facets::Args),
    Export(export::Args),
    Import(import::Args),
    Changes(changes::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Migrate(migrate::Args),
    Verify(verify::Args),
    Maintain(maintain::Args),
    Status(status::Args),
    Backends(backends::Args),
    Doctor(doctor::Args),
    Model(model::Args),
    Embedder(embedder::Args),
    Mcp(mcp::Args),
    Connect(connect::Args),
    Hook(hook::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    HookDrain(hook::DrainArgs),
    #[command(hide = true)]
    HelpMarkdown(help_markdown::Args),
}

/// Runs a command.
pub(crate) fn run(command: &Command, session: &mut Session) -> Done {
    match command {
        Command::Init(args) => init::run(args, session),
        Command::Mine(args) => mine::run(args, session),
        Command::Search(args) => search::run(args, session),
        Command::WhyNot(args) => why_not::run(args, session),
        Command::Cat(args) => cat::run(args, session),
        Command::Move(args) => refile::run(args, session),
        Command::Sync(args) => sync::run(args, session),
        Command::WakeUp(args) => wake_up::run(args, session),
        Command::Add(args) => add::run(args, session),
        Command::Get(args) => get::run(args, session),
        Command::List(args) => list::run(args, session),
        Command::Show(args) => show::run(args, session),
        Command::Neighbours(args) => neighbours::run(args, session),
        Command::Wings(args) => wings::run(args, session),
        Command::Rooms(args) => rooms::run(args, session),
        Command::Timeline(args) => timeline::run(args, session),
        Command::Delete(args) => delete::run(args, session),
        Command::Query(args) => query::run(args, session),
        Command::Match(args) => matching::run(args, session),
        Command::Count(args) => count::run(args, session),
        Command::Facets(args) => facets::run(args, session),
        Command::Export(args) => export::run(args, session),
        Command::Import(args) => import::run(args, session),
        Command::Changes(args) => changes::run(args, session),
        Command::Backup(args) => backup::run(args, session),
        Command::Restore(args) => restore::run(args, session),
        Command::Migrate(args) => migrate::run(args, session),
        Command::Verify(args) => verify::run(args, session),
        Command::Maintain(args) => maintain::run(args, session),
        Command::Status(args) => status::run(args, session),
        Command::Backends(args) => backends::run(args, session),
        Command::Doctor(args) => doctor::run(args, session),
        Command::Model(args) => model::run(args, session),
        Command::Embedder(args) => embedder::run(args, session),
        Command::Mcp(args) => mcp::run(args, session),
        Command::Connect(args) => connect::run(args, session),
        Command::Hook(args) => hook::run(args, session),
        Command::HookDrain(args) => hook::drain(args, session),
        Command::Completions(args) => completions::run(args, session),
        Command::Man(args) => man::run(args, session),
        Command::HelpMarkdown(args) => help_markdown::run(args, session),
    }
}
