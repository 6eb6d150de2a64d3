//! `loci backends`: the backends of this build and the plug-ins that were found.

use loci_core::{BackendDescriptor, Capability, MaintenanceKind, Metric, SpecVersion};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::page::TextPage;
use crate::plugins::FoundPlugin;
use crate::session::CommandSession;

/// List the backends and their capabilities
///
/// A plug-in is an executable called loci-backend-NAME, on the PATH or in loci/backends of the folder for settings. It is
/// listed with its place and not started, unless --start is given.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci backends --json\n  loci backends --start")]
pub(crate) struct BackendsArgs {
    /// Start each plug-in, to list its version and capabilities too
    #[arg(long)]
    start: bool,
}

/// The backends that a palace reference can name.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BackendList {
    /// The backends.
    backends: Vec<ListedBackend>,
}

/// A backend of this build, or a plug-in. The abilities of a plug-in are listed if it was started.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct ListedBackend {
    /// Its name, as users type it.
    name: String,
    /// The version of the contract that it was built for.
    #[serde(skip_serializing_if = "Option::is_none")]
    spec_version: Option<SpecVersion>,
    /// Its abilities; anything not listed is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<Vec<Capability>>,
    /// The metrics it compares vectors by.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Vec<Metric>>,
    /// The kinds of maintenance that have an effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    maintenance: Option<Vec<MaintenanceKind>>,
    /// The plug-in's own version.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The executable of a plug-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The reason why a plug-in cannot be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ListedBackend {
    fn describe(descriptor: &BackendDescriptor) -> Self {
        Self {
            name: descriptor.name.clone(),
            spec_version: Some(descriptor.spec_version),
            capabilities: Some(descriptor.capabilities.iter().cloned().collect()),
            metrics: Some(descriptor.metrics.clone()),
            maintenance: Some(descriptor.maintenance.clone()),
            ..Self::default()
        }
    }

    fn find(plugin: &FoundPlugin, start: bool) -> Self {
        let found = Self {
            name: plugin.name.clone(),
            path: Some(plugin.path.display().to_string()),
            ..Self::default()
        };
        if !start {
            return found;
        }
        match plugin.start() {
            Ok(backend) => Self {
                path: found.path,
                version: Some(backend.version().to_owned()),
                ..Self::describe(loci_core::Backend::descriptor(&backend))
            },
            // One that is broken must not hide the others.
            Err(error) => Self {
                error: Some(error.to_string()),
                ..found
            },
        }
    }
}

/// Lists them.
pub(crate) fn run(args: &BackendsArgs, session: &mut CommandSession) -> CommandResult {
    let mut backends = Vec::new();
    for name in session.registry.names() {
        backends.push(ListedBackend::describe(
            session.registry.make_backend(name)?.descriptor(),
        ));
    }
    let plugins = session.registry.list_plugins();
    backends.extend(
        plugins
            .iter()
            .map(|plugin| ListedBackend::find(plugin, args.start)),
    );
    let list = BackendList { backends };
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&list)?;
        return Ok(ExitStatus::Done);
    }
    out.write_page(|page| list.backends.iter().for_each(|row| print_backend(row, page)))?;
    Ok(ExitStatus::Done)
}

fn print_backend(row: &ListedBackend, page: &mut TextPage) {
    page.bold(&row.name);
    if let Some(version) = &row.version {
        page.dim(&format!("  {version}"));
    }
    page.end();
    if let Some(path) = &row.path {
        page.plain("    ").dim("plug-in   ").plain(path).end();
    }
    if let Some(error) = &row.error {
        page.plain("    ").red(error).end();
    }
    if let Some(capabilities) = &row.capabilities {
        let names: Vec<&str> = capabilities.iter().map(Capability::name).collect();
        page.plain("    ")
            .dim("can       ")
            .plain(&names.join(", "))
            .end();
    }
    if let Some(maintenance) = &row.maintenance {
        let names: Vec<&str> = maintenance.iter().map(MaintenanceKind::name).collect();
        page.plain("    ")
            .dim("maintain  ")
            .plain(&names.join(", "))
            .end();
    }
}
