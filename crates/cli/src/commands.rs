//! The commands, one file each.

mod add;
mod backend;
mod backends;
mod backup;
mod bench;
mod cat;
mod changes;
mod completions;
mod connect;
mod count;
mod delete;
mod doctor;
mod embedder;
mod export;
mod forget;
mod help_markdown;
mod hook;
mod import;
mod init;
mod json_markdown;
mod key;
mod list;
mod maintain;
mod man;
mod mcp;
mod migrate;
mod mine;
mod model;
mod neighbours;
mod palaces;
mod refile;
mod rescue;
mod restore;
pub(crate) mod schemas;
mod seal;
mod search;
mod serve;
mod show;
mod status;
mod sync;
mod timeline;
mod unseal;
mod verify;
mod wake_up;
mod web;
mod why_not;
mod wings;

use clap::Subcommand;

use crate::errors::CommandResult;
use crate::session::CommandSession;

pub(crate) use hook::{fail_open, is_hook};

/// The commands. `help` lists them by purpose; their order here does not show.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Init(init::InitArgs),
    Mine(mine::MineArgs),
    Search(search::SearchArgs),
    WhyNot(why_not::WhyNotArgs),
    Cat(cat::CatArgs),
    Move(refile::MoveArgs),
    Sync(sync::SyncArgs),
    WakeUp(wake_up::WakeUpArgs),
    Web(web::WebArgs),
    Serve(serve::ServeArgs),
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Neighbours(neighbours::NeighboursArgs),
    Palaces(palaces::PalacesArgs),
    Wings(wings::WingsArgs),
    Timeline(timeline::TimelineArgs),
    Delete(delete::DeleteArgs),
    Forget(forget::ForgetArgs),
    Seal(seal::SealArgs),
    Unseal(unseal::UnsealArgs),
    Key(key::KeyArgs),
    Count(count::CountArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Changes(changes::ChangesArgs),
    Backup(backup::BackupArgs),
    Restore(restore::RestoreArgs),
    Rescue(rescue::RescueArgs),
    Migrate(migrate::MigrateArgs),
    Verify(verify::VerifyArgs),
    Maintain(maintain::MaintainArgs),
    Status(status::StatusArgs),
    Backends(backends::BackendsArgs),
    Backend(backend::BackendArgs),
    Doctor(doctor::DoctorArgs),
    Bench(bench::BenchArgs),
    Model(model::ModelArgs),
    Embedder(embedder::EmbedderArgs),
    Mcp(mcp::McpArgs),
    Connect(connect::ConnectArgs),
    Hook(hook::HookArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    #[command(hide = true)]
    HookDrain(hook::DrainerArgs),
    #[command(hide = true)]
    HelpMarkdown(help_markdown::HelpMarkdownArgs),
    #[command(hide = true)]
    JsonMarkdown(json_markdown::JsonMarkdownArgs),
}

impl CliCommand {
    /// Whether the command answers from what is stored, so that damage makes its answer doubtful. The others write, and
    /// an acknowledged write is done, or they do not read drawers.
    pub(crate) fn is_answer(&self) -> bool {
        // Without a wildcard: each new command must be decided.
        match self {
            Self::Search(_)
            | Self::WhyNot(_)
            | Self::Cat(_)
            | Self::Unseal(_)
            | Self::WakeUp(_)
            | Self::List(_)
            | Self::Show(_)
            | Self::Neighbours(_)
            | Self::Palaces(_)
            | Self::Wings(_)
            | Self::Timeline(_)
            | Self::Count(_)
            | Self::Export(_)
            | Self::Changes(_)
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::Rescue(_)
            | Self::Migrate(_)
            | Self::Verify(_)
            | Self::Status(_)
            | Self::Doctor(_) => true,
            Self::Embedder(args) => args.is_answer(),
            Self::Forget(args) => args.is_answer(),
            Self::Init(_)
            | Self::Mine(_)
            | Self::Move(_)
            | Self::Sync(_)
            | Self::Add(_)
            | Self::Delete(_)
            | Self::Seal(_)
            | Self::Key(_)
            | Self::Import(_)
            | Self::Maintain(_)
            | Self::Backends(_)
            | Self::Backend(_)
            | Self::Bench(_)
            | Self::Model(_)
            | Self::Mcp(_)
            | Self::Web(_)
            | Self::Serve(_)
            | Self::Connect(_)
            | Self::Hook(_)
            | Self::HookDrain(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::HelpMarkdown(_)
            | Self::JsonMarkdown(_) => false,
        }
    }
}

/// Runs a command.
pub(crate) fn run(command: &CliCommand, session: &mut CommandSession) -> CommandResult {
    match command {
        CliCommand::Init(args) => init::run(args, session),
        CliCommand::Mine(args) => mine::run(args, session),
        CliCommand::Search(args) => search::run(args, session),
        CliCommand::WhyNot(args) => why_not::run(args, session),
        CliCommand::Cat(args) => cat::run(args, session),
        CliCommand::Move(args) => refile::run(args, session),
        CliCommand::Sync(args) => sync::run(args, session),
        CliCommand::WakeUp(args) => wake_up::run(args, session),
        CliCommand::Web(args) => web::run(args, session),
        CliCommand::Serve(args) => serve::run(args, session),
        CliCommand::Add(args) => add::run(args, session),
        CliCommand::List(args) => list::run(args, session),
        CliCommand::Show(args) => show::run(args, session),
        CliCommand::Neighbours(args) => neighbours::run(args, session),
        CliCommand::Palaces(args) => palaces::run(args, session),
        CliCommand::Wings(args) => wings::run(args, session),
        CliCommand::Timeline(args) => timeline::run(args, session),
        CliCommand::Delete(args) => delete::run(args, session),
        CliCommand::Forget(args) => forget::run(args, session),
        CliCommand::Seal(args) => seal::run(args, session),
        CliCommand::Unseal(args) => unseal::run(args, session),
        CliCommand::Key(args) => key::run(args, session),
        CliCommand::Count(args) => count::run(args, session),
        CliCommand::Export(args) => export::run(args, session),
        CliCommand::Import(args) => import::run(args, session),
        CliCommand::Changes(args) => changes::run(args, session),
        CliCommand::Backup(args) => backup::run(args, session),
        CliCommand::Restore(args) => restore::run(args, session),
        CliCommand::Rescue(args) => rescue::run(args, session),
        CliCommand::Migrate(args) => migrate::run(args, session),
        CliCommand::Verify(args) => verify::run(args, session),
        CliCommand::Maintain(args) => maintain::run(args, session),
        CliCommand::Status(args) => status::run(args, session),
        CliCommand::Backends(args) => backends::run(args, session),
        CliCommand::Backend(args) => backend::run(args, session),
        CliCommand::Doctor(args) => doctor::run(args, session),
        CliCommand::Bench(args) => bench::run(args, session),
        CliCommand::Model(args) => model::run(args, session),
        CliCommand::Embedder(args) => embedder::run(args, session),
        CliCommand::Mcp(args) => mcp::run(args, session),
        CliCommand::Connect(args) => connect::run(args, session),
        CliCommand::Hook(args) => hook::run(args, session),
        CliCommand::HookDrain(args) => hook::drain(args, session),
        CliCommand::Completions(args) => completions::run(args, session),
        CliCommand::Man(args) => man::run(args, session),
        CliCommand::HelpMarkdown(args) => help_markdown::run(args, session),
        CliCommand::JsonMarkdown(args) => json_markdown::run(args, session),
    }
}
