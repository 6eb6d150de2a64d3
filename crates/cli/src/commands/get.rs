//! `loci get`: drawers by id.

use clap::ValueEnum;
use loci_core::{Drawer, DrawerId, Get, Include};
use serde::Serialize;

use crate::errors::{Done, Exit};
use crate::output::Output;
use crate::render::{self, DrawerJson};
use crate::session::Session;

/// Show drawers by their ids
///
/// Exits with 1 if none of them is there.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci get 533da3687d741789776f6929b2c70fce\n  \
    loci get note-1 note-2 --include embeddings --json"
)]
pub(crate) struct Args {
    /// The ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<DrawerId>,

    /// What else to show
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    include: Vec<Extra>,
}

#[derive(Serialize)]
struct Answer<'a> {
    drawers: Vec<DrawerJson<'a>>,
    missing: Vec<&'a DrawerId>,
}

/// What can be shown beside text and metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Extra {
    /// The exact vectors.
    Embeddings,
}

/// What to read of each drawer, with the extras that were asked for.
pub(super) fn include(extras: &[Extra]) -> Include {
    Include {
        embedding: extras.contains(&Extra::Embeddings),
        ..Include::default()
    }
}

/// Warns of drawers whose stored bytes are damaged.
pub(super) fn warn_of_damage(drawers: &[Drawer], out: &mut Output) {
    for drawer in drawers {
        for damage in &drawer.damage {
            out.warn(&format!(
                "the drawer {:?} is damaged: {damage}",
                drawer.id.as_str()
            ));
        }
    }
}

/// Shows them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let (_, collection) = session.read()?;
    let include = include(&args.include);
    let drawers = collection.get(&Get {
        include,
        ..Get::ids(args.ids.iter().cloned())
    })?;
    let mut missing: Vec<&DrawerId> = Vec::new();
    for id in &args.ids {
        if !missing.contains(&id) && !drawers.iter().any(|drawer| drawer.id == *id) {
            missing.push(id);
        }
    }
    let out = &mut session.out;
    if out.is_json() {
        let drawers = drawers.iter().map(|one| DrawerJson::of(one, include.embedding));
        out.json(&Answer {
            drawers: drawers.collect(),
            missing,
        })?;
    } else {
        out.page(|page| drawers.iter().for_each(|drawer| render::whole(drawer, page)))?;
        for id in missing {
            out.note(&format!("there is no drawer {:?}", id.as_str()));
        }
    }
    warn_of_damage(&drawers, out);
    Ok(Exit::found(!drawers.is_empty()))
}
