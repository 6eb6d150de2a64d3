//! `loci model verify`: compares every file of a model with its pinned hash, and tests the model.

use loci_core::{Error, ErrorKind, Result};
use loci_embed::builtin;
use loci_embed::models::{ModelFileFinding, ModelState};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::session::CommandSession;

/// Check models against their pinned hashes
///
/// Compares the SHA-256 of every file of a model, then embeds a text with a known vector. Without a name, checks every
/// installed model and server. Exits with 1 if something is wrong.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci model verify\n  loci model verify minilm --json")]
pub(crate) struct ModelVerifyArgs {
    /// The model or server [default: all that are installed]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// The result of checking models.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelVerifyReport {
    /// Whether every model is sound.
    ok: bool,
    /// The models that were checked.
    models: Vec<CheckedModel>,
}

/// A model that was checked, as scripts see it.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckedModel {
    /// Its name.
    name: String,
    /// Whether it is sound.
    ok: bool,
    /// Its files; empty for the built-in model and for servers.
    files: Vec<CheckedModelFile>,
    /// The error that keeps it from being used.
    error: Option<String>,
}

/// A file of a model, compared with its pinned hash.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckedModelFile {
    /// Its name.
    file: String,
    /// Whether both hashes are equal.
    ok: bool,
    /// The pinned SHA-256.
    expected: String,
    /// The SHA-256 that was found; null if the file is missing.
    found: Option<String>,
}

/// The check of one model.
struct ModelCheck {
    name: String,
    files: Vec<ModelFileFinding>,
    /// The error that keeps it from being used, if there is one.
    trouble: Option<Error>,
}

impl ModelCheck {
    fn is_good(&self) -> bool {
        self.trouble.is_none() && self.files.iter().all(ModelFileFinding::is_good)
    }
}

/// Checks the models.
pub(crate) fn run(args: &ModelVerifyArgs, session: &mut CommandSession) -> CommandResult {
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => list_installed(session)?,
    };
    let mut all = Vec::new();
    let mut progress = session.out.progress("models checked");
    let total = names.len() as u64;
    for (number, name) in names.into_iter().enumerate() {
        progress.tick(number as u64, Some(total));
        all.push(check_model(name, session)?);
    }
    drop(progress);
    let good = all.iter().all(ModelCheck::is_good);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&ModelVerifyReport {
            ok: good,
            models: all.iter().map(describe_check).collect(),
        })?;
        return Ok(ExitStatus::from_found(good));
    }
    out.write_page(|page| {
        for one in &all {
            page.bold(&one.name)
                .plain("  ")
                .plain(if one.is_good() { "ok" } else { "not ok" })
                .end();
            // Sound files are not worth a line; --json lists them all.
            for file in one.files.iter().filter(|file| !file.is_good()) {
                let found = file.found.as_deref().unwrap_or("missing");
                page.plain("    ")
                    .red(&file.file)
                    .plain(&format!("  {found}, not {}", file.expected))
                    .end();
            }
            if let Some(trouble) = &one.trouble {
                page.plain("    ").red(&trouble.to_string()).end();
            }
        }
    })?;
    Ok(ExitStatus::from_found(good))
}

/// Every model and server on this machine, whole or damaged.
fn list_installed(session: &CommandSession) -> Result<Vec<String>> {
    let models = session.embedders.models()?;
    let listed = models
        .list_models()
        .into_iter()
        .filter(|one| one.state != ModelState::Absent);
    let servers = models.list_servers()?.into_iter().map(|(name, _)| name);
    Ok(listed.map(|one| one.name).chain(servers).collect())
}

fn check_model(name: String, session: &CommandSession) -> Result<ModelCheck> {
    let models = session.embedders.models()?;
    let listed = models.list_models().into_iter().any(|one| one.name == name);
    // Whatever is not a model of this build is a server, or an error that lists the known names.
    if !listed {
        let trouble = session.embedders.find_server(&name)?.self_check().err();
        return Ok(ModelCheck {
            name,
            files: Vec::new(),
            trouble,
        });
    }
    // The built-in model has no files; its table is checked when it is loaded.
    let files = if name == builtin::NAME {
        Vec::new()
    } else {
        models.verify_model(&name)?
    };
    // A damaged file would only give a worse error when the model is loaded.
    let good = files.iter().all(ModelFileFinding::is_good);
    let trouble = good.then(|| test_model(&name, session)).and_then(Result::err);
    Ok(ModelCheck { name, files, trouble })
}

/// Embeds two texts. Every model first checks itself against a known vector, and fails if that differs.
fn test_model(name: &str, session: &CommandSession) -> Result<()> {
    let embedder = session.embedders.find_by_name(name)?;
    let embedder = embedder.ok_or_else(|| Error::new(ErrorKind::Internal, "a model makes no vectors"))?;
    embedder
        .embed_passages(&["A known text.", "Something else entirely."])
        .map(drop)
}

fn describe_check(one: &ModelCheck) -> CheckedModel {
    let files = one.files.iter().map(|file| CheckedModelFile {
        file: file.file.clone(),
        ok: file.is_good(),
        expected: file.expected.clone(),
        found: file.found.clone(),
    });
    CheckedModel {
        name: one.name.clone(),
        ok: one.is_good(),
        files: files.collect(),
        error: one.trouble.as_ref().map(ToString::to_string),
    }
}
