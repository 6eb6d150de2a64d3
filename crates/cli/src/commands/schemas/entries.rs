//! Every command that prints JSON, with the type of its document.

use loci_benchmark::{BenchmarkComparison, BenchmarkReport};
use loci_core::{ChangePage, PalaceDiagnosis};
use loci_engine::add::AddReport;
use loci_engine::cat::CatReport;
use loci_engine::delete::DeleteReport;
use loci_engine::embedder::{EmbedderReport, SetEmbedderReport};
use loci_engine::facets::{CountReport, FacetsReport};
use loci_engine::forget::ForgetReport;
use loci_engine::line::ExportHeader;
use loci_engine::list::ListReport;
use loci_engine::maintain::MaintainReport;
use loci_engine::mine::MineReport;
use loci_engine::neighbours::NeighboursReport;
use loci_engine::refile::MoveReport;
use loci_engine::seal::{SealReport, UnsealReport};
use loci_engine::search::{SearchReport, WhyNotReport};
use loci_engine::show::{ShowInContextReport, ShowReport};
use loci_engine::status::StatusReport;
use loci_engine::sync::SyncReport;
use loci_engine::timeline::TimelineReport;
use loci_engine::view::DrawerView;
use loci_engine::wake_up::WakeUpReport;
use loci_engine::{CommittedBatch, ImportReport, SwitchReport};
use loci_migrate::{MigrateReport, RescueReport, VerifyReport};
use schemars::JsonSchema;

use super::CommandSchema;
use crate::commands::backend::BackendTestReport;
use crate::commands::backends::BackendList;
use crate::commands::backup::BackupReport;
use crate::commands::completions::CompletionScript;
use crate::commands::connect::{PrintedSettings, ToolConnection, ToolList};
use crate::commands::doctor::FixOutcome;
use crate::commands::export::ExportedFile;
use crate::commands::forget::CheckedTraces;
use crate::commands::import::MemtomemReport;
use crate::commands::init::InitOutcome;
use crate::commands::key::KeyReport;
use crate::commands::man::{ManualPage, WrittenManual};
use crate::commands::mcp::ListeningAddress;
use crate::commands::model::{AddedServer, InstalledModel, ModelList, ModelRemoval, ModelVerifyReport};
use crate::commands::palaces::PalaceList;
use crate::commands::restore::RestoreReport;
use crate::commands::serve::{
    AuditVerification, AuditedActs, IssuedToken, PrintedHead, TeamServerAddress, TeamTokenList,
    TeamUserChange, TeamUserList, TeamUserRemoval, TokenRevocation,
};
use crate::commands::web::{ExportedPage, WebLink};
use crate::errors::ErrorDocument;

/// A line of an export.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ExportLine {
    /// The line before the drawers of a collection.
    Header(ExportHeader),
    /// A drawer.
    Drawer(Box<DrawerView>),
}

/// Lists the schema of every document that `--json` prints.
pub fn list_schemas() -> Vec<CommandSchema> {
    // In the order of `loci --help`; an error may take the place of every other document, so it comes first.
    let mut all = vec![CommandSchema::of_document::<ErrorDocument>(
        ERROR,
        "The document of every command that ends with exit status 2.",
    )];
    all.extend(list_start());
    all.extend(list_lookups());
    all.extend(list_changes());
    all.extend(list_keeping());
    all.extend(list_repairs());
    all.extend(list_servers());
    all.extend(list_team());
    all
}

/// The entry of the error document, which belongs to no command.
pub(super) const ERROR: &str = "an error";

fn list_start() -> Vec<CommandSchema> {
    vec![
        CommandSchema::of_document::<MineReport>("loci mine PATH", "The sources that were found and filed."),
        CommandSchema::of_document::<SearchReport>("loci search QUERY", "A page of hits, best first."),
        CommandSchema::of_document::<WebLink>(
            "loci web",
            "The link that signs in, printed once the server accepts connections.",
        ),
        CommandSchema::of_document::<ExportedPage<'_>>(
            "loci web --export FILE",
            "The file that was written, and what could not be read in full.",
        ),
        CommandSchema::of_document::<WakeUpReport>(
            "loci wake-up",
            "A page to read at the start of a session.",
        ),
        CommandSchema::of_document::<ToolList>("loci connect", "The tools that can be connected."),
        CommandSchema::of_document::<ToolConnection>("loci connect TOOL", "The change to a tool's settings."),
        CommandSchema::of_document::<PrintedSettings>(
            "loci connect TOOL --print",
            "The entries to paste into a tool's settings.",
        ),
    ]
}

fn list_lookups() -> Vec<CommandSchema> {
    vec![
        CommandSchema::of_document::<ShowReport>("loci show ID", "The drawers with these ids."),
        CommandSchema::of_document::<ShowInContextReport>(
            "loci show ID --context N",
            "The drawers with these ids, each with its neighbours.",
        ),
        CommandSchema::of_document::<ListReport>("loci list", "A page of drawers."),
        CommandSchema::of_document::<NeighboursReport>(
            "loci neighbours ID",
            "A drawer among its neighbours.",
        ),
        CommandSchema::of_document::<CatReport>("loci cat SOURCE", "A source as it was mined."),
        CommandSchema::of_document::<UnsealReport>("loci unseal ID", "Drawers with their secrets."),
        CommandSchema::of_document::<TimelineReport>("loci timeline", "Counts of drawers by period."),
        CommandSchema::of_document::<FacetsReport>("loci wings", "Counts of drawers by wing or other keys."),
        CommandSchema::of_document::<CountReport>("loci count", "The number of drawers in a scope."),
        CommandSchema::of_document::<ChangePage>("loci changes", "The changes after a cursor, oldest first."),
        CommandSchema::of_document::<WhyNotReport>(
            "loci why-not ID QUERY",
            "The fate of a drawer in a search.",
        ),
        CommandSchema::of_document::<StatusReport>("loci status", "The status of the palace."),
    ]
}

fn list_changes() -> Vec<CommandSchema> {
    vec![
        CommandSchema::of_document::<AddReport>(
            "loci add TEXT",
            "The receipt of a drawer, once it is durable.",
        ),
        CommandSchema::of_lines::<CommittedBatch>(
            "loci add --jsonl FILE",
            "One line per batch, printed once the batch is durable.",
        ),
        CommandSchema::of_document::<MoveReport>(
            "loci move ID",
            "The drawers that match and those that moved.",
        ),
        CommandSchema::of_document::<DeleteReport>(
            "loci delete ID",
            "The drawers that match and those that were removed.",
        ),
        CommandSchema::of_document::<ForgetReport>(
            "loci forget ID",
            "The drawers that match, and the files and parts that hold nothing of them any more.",
        ),
        CommandSchema::of_document::<CheckedTraces>(
            "loci forget --check FILE",
            "The places at which a line of the file, or its words, are stored.",
        ),
        CommandSchema::of_document::<SealReport>(
            "loci seal",
            "The drawers that hold secrets in the clear, and those that were sealed.",
        ),
        CommandSchema::of_document::<SyncReport>("loci sync", "The sources that are gone."),
    ]
}

fn list_keeping() -> Vec<CommandSchema> {
    vec![
        CommandSchema::of_document::<PalaceList>("loci palaces", "The palaces in the data folder."),
        CommandSchema::of_document::<InitOutcome>("loci init", "The collection that exists now."),
        CommandSchema::of_document::<KeyReport>("loci key show", "The palace and the file of its key."),
        CommandSchema::of_document::<KeyReport>(
            "loci key export FILE",
            "The palace and the file of its key, once a copy is written.",
        ),
        CommandSchema::of_document::<KeyReport>(
            "loci key rotate",
            "The palace, the file of its keys, and the secrets that were encrypted again.",
        ),
        CommandSchema::of_document::<KeyReport>(
            "loci key import FILE",
            "The palace and the file of its keys, with the new one.",
        ),
        CommandSchema::of_document::<BackupReport>("loci backup DEST", "The copy, as it was read back."),
        CommandSchema::of_document::<RestoreReport>(
            "loci restore FILE",
            "The palace that was made from a copy.",
        ),
        CommandSchema::of_lines::<ExportLine>(
            "loci export",
            "One header line per collection, followed by one line per drawer; with and without `--json`.",
        ),
        CommandSchema::of_document::<ExportedFile<'_>>("loci export -o FILE", "The file that was written."),
        CommandSchema::of_document::<ImportReport>("loci import FILE", "The outcome of reading JSON lines."),
        CommandSchema::of_document::<MemtomemReport>(
            "loci import DATABASE",
            "The outcome of reading a database of memtomem.",
        ),
        CommandSchema::of_document::<MigrateReport>(
            "loci migrate --from REF --to REF",
            "The outcome of a migration, with its record.",
        ),
    ]
}

fn list_repairs() -> Vec<CommandSchema> {
    vec![
        CommandSchema::of_document::<VerifyReport>(
            "loci verify",
            "The findings, and a digest over every drawer.",
        ),
        CommandSchema::of_document::<RescueReport>(
            "loci rescue PATH --to REF",
            "The drawers that came back, and those that did not.",
        ),
        CommandSchema::of_document::<PalaceDiagnosis>("loci doctor REF", "The state of a palace's files."),
        CommandSchema::of_document::<FixOutcome>(
            "loci doctor REF --fix STEP",
            "The changes that a step made or would make.",
        ),
        CommandSchema::of_document::<MaintainReport>("loci maintain KIND", "The outcome of upkeep."),
    ]
}

fn list_servers() -> Vec<CommandSchema> {
    vec![
        CommandSchema::of_document::<ListeningAddress>(
            "loci mcp --http",
            "The address, printed once the server accepts connections.",
        ),
        CommandSchema::of_document::<EmbedderReport>("loci embedder show", "The model behind the vectors."),
        CommandSchema::of_document::<SetEmbedderReport>(
            "loci embedder set MODEL",
            "The model that is recorded now.",
        ),
        CommandSchema::of_document::<SwitchReport>("loci embedder switch MODEL", "The outcome of a switch."),
        CommandSchema::of_document::<ModelList>("loci model list", "The models and servers of this machine."),
        CommandSchema::of_document::<InstalledModel>(
            "loci model install NAME",
            "The model that is installed now.",
        ),
        CommandSchema::of_document::<AddedServer>(
            "loci model install NAME --url URL",
            "The embedding server that is known now.",
        ),
        CommandSchema::of_document::<ModelVerifyReport>(
            "loci model verify",
            "The result of checking models.",
        ),
        CommandSchema::of_document::<ModelRemoval>(
            "loci model remove NAME",
            "Whether there was one to remove.",
        ),
        CommandSchema::of_document::<BackendTestReport>(
            "loci backend test",
            "The promises of the contract that a backend keeps and breaks.",
        ),
        CommandSchema::of_document::<BackendList>("loci backends", "The backends of this build."),
        CommandSchema::of_document::<BenchmarkReport>(
            "loci bench",
            "The figures of each phase, with all their samples.",
        ),
        CommandSchema::of_document::<BenchmarkComparison>(
            "loci bench compare A B",
            "Two reports, figure by figure.",
        ),
        CommandSchema::of_document::<CompletionScript>("loci completions SHELL", "A completion script."),
        CommandSchema::of_document::<ManualPage>("loci man", "The manual page."),
        CommandSchema::of_document::<WrittenManual>("loci man DIR", "The manual pages that were written."),
    ]
}

fn list_team() -> Vec<CommandSchema> {
    const USER: &str = "The user as it is after the change.";
    vec![
        CommandSchema::of_document::<TeamServerAddress>(
            "loci serve",
            "The address, printed once the server accepts connections.",
        ),
        CommandSchema::of_document::<TeamUserChange>("loci serve user add NAME", USER),
        CommandSchema::of_document::<TeamUserList>("loci serve user list", "The users with their rights."),
        CommandSchema::of_document::<TeamUserRemoval>(
            "loci serve user remove NAME",
            "The user that is gone.",
        ),
        CommandSchema::of_document::<TeamUserChange>("loci serve user disable NAME", USER),
        CommandSchema::of_document::<TeamUserChange>("loci serve user enable NAME", USER),
        CommandSchema::of_document::<TeamUserChange>("loci serve user password NAME", USER),
        CommandSchema::of_document::<TeamUserChange>("loci serve user rights NAME GRANT", USER),
        CommandSchema::of_document::<IssuedToken>(
            "loci serve token make USER",
            "The token with its text, which is shown this once.",
        ),
        CommandSchema::of_document::<TeamTokenList>(
            "loci serve token list",
            "The tokens without their texts.",
        ),
        CommandSchema::of_document::<IssuedToken>(
            "loci serve token rotate ID",
            "The token with its new text, which is shown this once.",
        ),
        CommandSchema::of_document::<TokenRevocation>(
            "loci serve token revoke ID",
            "The token, now refused.",
        ),
        CommandSchema::of_document::<AuditedActs>("loci serve audit show", "Records, newest first."),
        CommandSchema::of_document::<AuditVerification>(
            "loci serve audit verify",
            "What was found in the audit log.",
        ),
        CommandSchema::of_document::<PrintedHead>("loci serve audit head", "The head, to be kept elsewhere."),
    ]
}
