//! `loci model verify`: reads every file of a model, compares it with what is pinned, and asks for a known answer.

use loci_core::{Error, ErrorKind, Result};
use loci_embed::builtin;
use loci_embed::models::{Finding, State};
use serde_json::{Value as Json, json};

use crate::errors::{Done, Exit};
use crate::session::Session;

/// Check models against what is pinned
///
/// Reads every file of a model and compares its SHA-256, then asks the model for a known answer. Without a name,
/// everything that is here is checked. Exits with 1 if something is wrong.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci model verify\n  loci model verify minilm --json")]
pub(crate) struct Args {
    /// The model [default: all that are here]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// What was found of one model.
struct Checked {
    name: String,
    files: Vec<Finding>,
    /// Why it cannot be used, if it cannot.
    trouble: Option<Error>,
}

impl Checked {
    fn is_good(&self) -> bool {
        self.trouble.is_none() && self.files.iter().all(Finding::is_good)
    }
}

/// Checks them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => here(session)?,
    };
    let mut all = Vec::new();
    for name in names {
        all.push(check(name, session)?);
    }
    let good = all.iter().all(Checked::is_good);
    let out = &mut session.out;
    if out.is_json() {
        let rows: Vec<Json> = all.iter().map(row).collect();
        out.json(&json!({ "ok": good, "models": rows }))?;
        return Ok(Exit::found(good));
    }
    out.page(|page| {
        for one in &all {
            page.bold(&one.name)
                .plain("  ")
                .plain(if one.is_good() { "ok" } else { "not ok" })
                .end();
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
    Ok(Exit::found(good))
}

/// Every model that is here, whole or damaged.
fn here(session: &Session) -> Result<Vec<String>> {
    let models = session.embedders.models()?;
    let listed = models.list().into_iter().filter(|one| one.state != State::Absent);
    let servers = models.servers()?.into_iter().map(|(name, _)| name);
    Ok(listed.map(|one| one.name).chain(servers).collect())
}

fn check(name: String, session: &Session) -> Result<Checked> {
    let models = session.embedders.models()?;
    let listed = models.list().into_iter().any(|one| one.name == name);
    if !listed {
        let trouble = session.embedders.server(&name)?.self_check().err();
        return Ok(Checked {
            name,
            files: Vec::new(),
            trouble,
        });
    }
    let files = if name == builtin::NAME {
        Vec::new()
    } else {
        models.verify(&name)?
    };
    let good = files.iter().all(Finding::is_good);
    let trouble = good.then(|| answer(&name, session)).and_then(Result::err);
    Ok(Checked { name, files, trouble })
}

/// Asks for two vectors; every model refuses to give one before its known answer came out right.
fn answer(name: &str, session: &Session) -> Result<()> {
    let embedder = session.embedders.named(name)?;
    let embedder = embedder.ok_or_else(|| Error::new(ErrorKind::Internal, "a model makes no vectors"))?;
    embedder
        .passages(&["A known text.", "Something else entirely."])
        .map(drop)
}

fn row(one: &Checked) -> Json {
    let files = one.files.iter().map(|file| {
        json!({ "file": file.file, "ok": file.is_good(), "expected": file.expected, "found": file.found })
    });
    json!({
        "name": one.name,
        "ok": one.is_good(),
        "files": files.collect::<Vec<_>>(),
        "error": one.trouble.as_ref().map(ToString::to_string),
    })
}
