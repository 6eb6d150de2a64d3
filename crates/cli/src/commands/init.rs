//! `loci init`: creates a palace or a collection.

use clap::builder::RangedU64ValueParser;
use loci_core::{Error, ErrorKind, Metric, PalaceRef, Result};
use loci_engine::init::{InitModel, InitReport, InitRequest};
use loci_postgres::{NamespaceRole, PostgresBackend};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::palace::{PalacePlace, remember_backend};
use crate::session::CommandSession;

/// Create a palace, or a collection in one
///
/// An existing palace or collection stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci init\n  loci init --embedder minilm\n  \
    loci init --palace ./notes --dimension 384 --metric cosine\n  \
    loci init --palace 'postgres://admin@db.example.net/memory?palace=team&namespace=acme' --role acme_app")]
pub(crate) struct InitArgs {
    /// The backend of the palace [default: embedded]
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,

    /// The embedder; with `none`, search is by words only, or by vectors that you bring [default: builtin, or none with
    /// --dimension]
    #[arg(long, value_name = "NAME")]
    embedder: Option<String>,

    /// The dimension of its vectors [default: that of the first vector]
    // No model comes near the limit; a larger number is a typing error that every later write would be refused for.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=65_536))]
    dimension: Option<usize>,

    /// The metric: cosine, l2 or ip [default: cosine]
    #[arg(long, value_name = "METRIC", value_parser = Metric::parse)]
    metric: Option<Metric>,

    /// Give the namespace of a palace in Postgres to this role
    ///
    /// The role is created if it does not exist, without a password; it sees the palaces of this namespace and nothing
    /// else. Needs the rights of the owner of the tables.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,

    /// Print the SQL that --role would run, and change nothing
    #[arg(long, requires = "role")]
    print_sql: bool,
}

/// A collection that exists now, and the role that its namespace was given to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InitOutcome {
    #[serde(flatten)]
    report: InitReport,
    /// The role of its namespace, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<RoleOutcome>,
}

/// A role that sees one namespace of a Postgres database.
#[derive(Debug, Serialize, JsonSchema)]
struct RoleOutcome {
    /// Its name.
    name: String,
    /// The namespace; `null` for the palaces without one.
    namespace: Option<String>,
    /// Whether this call created it.
    created: bool,
    /// Whether it can log in; one that was just created cannot.
    can_log_in: bool,
}

impl From<NamespaceRole> for RoleOutcome {
    fn from(role: NamespaceRole) -> Self {
        Self {
            name: role.role,
            namespace: role.namespace,
            created: role.created,
            can_log_in: role.can_log_in,
        }
    }
}

/// Creates the palace and the collection if they are missing.
pub(crate) fn run(args: &InitArgs, session: &mut CommandSession) -> CommandResult {
    let role = match &args.role {
        Some(_) if args.print_sql => return print_sql(args, session),
        // Before the palace: a role that is refused leaves nothing behind.
        Some(role) => {
            let (backend, palace) = find_postgres_palace(session)?;
            Some(RoleOutcome::from(backend.admit_role(&palace, role)?))
        }
        None => None,
    };
    // --backend counts only here: later commands read the backend from the palace itself.
    let address = session.find_address(session.globals.palace.as_deref(), args.backend.as_deref())?;
    // A model that was named must be there; the usual one depends on --dimension and is chosen by the engine.
    let model = match &args.embedder {
        Some(name) => InitModel::Chosen(session.embedders.find_by_name(name)?),
        None => InitModel::Usual,
    };
    let folder = address.reference.local_path.clone();
    let report = session.palace_at(address).init(&InitRequest {
        model,
        dimension: args.dimension,
        metric: args.metric,
    });
    let report = report.map_err(|error| explain_mismatch(error, args.dimension))?;
    if let (Some(folder), Some(plugin)) = (folder, session.registry.find_plugin(&report.backend)) {
        remember_backend(&folder, &plugin.name)?;
    }
    if session.out.is_json() {
        session.out.write_json(&InitOutcome { report, role })?;
        return Ok(ExitStatus::Done);
    }
    session.out.write_page(|page| {
        let done = if report.created {
            "created"
        } else {
            "exists already:"
        };
        page.plain(done).plain(" ").bold(&report.palace);
        page.dim(&format!(
            "  {} · {} · {} · {}",
            report.backend,
            report.collection,
            report.embedder,
            report.metric.name()
        ))
        .end();
    })?;
    if let Some(role) = &role {
        print_role(role, session)?;
    }
    if report.created {
        session.out.note_open_folder(&report.palace);
    }
    Ok(ExitStatus::Done)
}

fn print_role(role: &RoleOutcome, session: &mut CommandSession) -> CommandResult<()> {
    session.out.write_page(|page| {
        page.plain("the role ").bold(&role.name);
        match &role.namespace {
            Some(namespace) => page.plain(" sees the namespace ").bold(namespace).plain(" only"),
            None => page.plain(" sees the palaces without a namespace only"),
        };
        page.end();
    })?;
    if !role.can_log_in {
        session
            .out
            .note("it cannot log in yet: give it LOGIN and a password, or GRANT it to the roles of users");
    }
    Ok(())
}

fn print_sql(args: &InitArgs, session: &mut CommandSession) -> CommandResult {
    if session.out.is_json() {
        return Err(Error::invalid("--print-sql prints SQL, not JSON")
            .with_hint("nothing was changed; leave --json out")
            .into());
    }
    let (backend, palace) = find_postgres_palace(session)?;
    let sql = backend.write_role_sql(&palace, args.role.as_deref().unwrap_or_default())?;
    session.out.write_bytes(sql.as_bytes())?;
    Ok(ExitStatus::Done)
}

fn find_postgres_palace(session: &CommandSession) -> Result<(PostgresBackend, PalaceRef)> {
    match &session.location()?.place {
        PalacePlace::Server(url) => session.registry.find_postgres_palace(url.as_given()),
        PalacePlace::Folder(_) => Err(Error::new(
            ErrorKind::Unsupported,
            "only a palace in Postgres has roles",
        )
        .with_hint("nothing was changed; name one with --palace postgres://HOST/DATABASE?namespace=NAME")),
    }
}

/// Rewords the error of a dimension that is not the collection's: no vector was given.
fn explain_mismatch(error: Error, dimension: Option<usize>) -> Error {
    match dimension {
        Some(dimension) if error.kind() == ErrorKind::DimensionMismatch => Error::new(
            error.kind(),
            format!("the collection exists, and its vectors are not of dimension {dimension}"),
        )
        .with_hint("nothing was changed; leave --dimension out, or name another --collection"),
        _ => error,
    }
}
