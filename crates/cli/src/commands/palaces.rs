//! `loci palaces`: the palaces in this platform's data folder.

use std::path::Path;

use loci_core::PalaceFinding;
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::page::TextPage;
use crate::palace::{configured_backend, list_palaces, palaces_folder};
use crate::render::count_drawers;
use crate::session::CommandSession;

/// List the palaces in this platform's data folder
///
/// An asterisk marks the palace that is used without --palace. A palace that cannot be opened is listed with the error.
/// Changes nothing. Exits with 1 if there is no palace.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci palaces\n  loci palaces --json")]
pub(crate) struct PalacesArgs {}

/// The palaces in the data folder.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PalaceList {
    /// The palaces, in the order of their names.
    palaces: Vec<PalaceRow>,
}

/// A palace as it is listed.
#[derive(Debug, Serialize, JsonSchema)]
struct PalaceRow {
    /// Its name.
    name: String,
    /// Its folder.
    path: String,
    /// The backend that holds it; null if its settings cannot be read.
    backend: Option<String>,
    /// The number of its drawers; null if they cannot be counted.
    drawers: Option<u64>,
    /// Whether commands use it without --palace.
    default: bool,
    /// The reason it cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Lists the palaces.
pub(crate) fn run(_: &PalacesArgs, session: &mut CommandSession) -> CommandResult {
    let folder = palaces_folder(session.environment())?;
    // A LOCI_PALACE that means nothing is reported by the commands that use it.
    let default = session.locate(None).ok();
    let default = default.and_then(|location| location.folder().map(Path::to_owned));
    let palaces = list_palaces(session.environment(), &session.registry);
    let rows = palaces
        .iter()
        .map(|palace| describe_palace(palace, default.as_deref(), session));
    let list = PalaceList {
        palaces: rows.collect(),
    };
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&list)?;
    } else {
        out.write_page(|page| list.palaces.iter().for_each(|row| print_row(row, page)))?;
    }
    if list.palaces.is_empty() {
        out.note(&format!(
            "no palace in {}; make one with `loci init`, or `loci init --palace NAME`",
            folder.display()
        ));
    } else if let Some(elsewhere) = default.filter(|default| !palaces.contains(default)) {
        // LOCI_PALACE means a palace outside of this folder, or the default one was not made yet.
        out.flush()?;
        out.note(&format!("without --palace, commands use {}", elsewhere.display()));
    }
    Ok(ExitStatus::from_found(!list.palaces.is_empty()))
}

fn describe_palace(palace: &Path, default: Option<&Path>, session: &CommandSession) -> PalaceRow {
    let registry = &session.registry;
    let backend = configured_backend(palace).map(|configured| {
        let recognised = || registry.recognise(palace).map(str::to_owned);
        configured.or_else(recognised).unwrap_or_default()
    });
    // Counting does not open the palace as other commands do: that would bring an older format up to date.
    let counted = match &backend {
        Ok(name) => registry
            .count_drawers(name, palace)
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let name = palace.file_name().unwrap_or_default().to_string_lossy();
    let (drawers, damage) = match &counted {
        Ok((drawers, damage)) => (Some(*drawers), damage.clone()),
        Err(_) => (None, Vec::new()),
    };
    let named = damage.into_iter().map(|finding| PalaceFinding {
        message: format!("the palace {name}: {}", finding.message),
        ..finding
    });
    session.opened.add_damage(named.collect());
    PalaceRow {
        name: name.into_owned(),
        path: palace.to_string_lossy().into_owned(),
        backend: backend.ok(),
        drawers,
        default: default == Some(palace),
        error: counted.err(),
    }
}

fn print_row(row: &PalaceRow, page: &mut TextPage) {
    page.plain(if row.default { "* " } else { "  " }).bold(&row.name);
    match (&row.error, row.drawers) {
        (Some(error), _) => page.plain("  ").red(error),
        (None, count) => page.plain(&format!("  {}", count_drawers(count.unwrap_or(0)))),
    };
    let backend = row.backend.as_deref().unwrap_or("unknown backend");
    page.dim(&format!("  {backend}  {}", row.path)).end();
}
