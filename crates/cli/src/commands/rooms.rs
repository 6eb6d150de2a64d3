//! `loci rooms`: the rooms, and how much is in each.

use serde::Serialize;

use super::alike::tell_missing;
use super::wings::{Wing, tell_empty, wings};
use crate::errors::{Done, Exit};
use crate::input::Where;
use crate::session::Session;

/// List the rooms
///
/// Each with its wing and how many drawers it has: wings as `loci wings` orders them, in each the room with the most
/// drawers first. `-` stands for what is in no wing or no room. Exits with 1 if there is none.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci rooms\n  loci rooms --wing work")]
pub(crate) struct Args {
    /// Only rooms of this wing
    #[arg(long, value_name = "WING")]
    wing: Option<String>,
}

#[derive(Serialize)]
struct Answer<'a> {
    rooms: Vec<Room<'a>>,
}

#[derive(Serialize)]
struct Room<'a> {
    wing: Option<&'a str>,
    room: Option<&'a str>,
    drawers: u64,
}

/// Lists them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let where_ = Where {
        wing: args.wing.clone(),
        ..Where::default()
    };
    let (_, collection) = session.read()?;
    let wings = wings(collection.as_ref(), where_.within(collection.as_ref())?)?;
    let rooms: Vec<Room<'_>> = wings.iter().flat_map(rooms).collect();
    let found = Exit::found(!rooms.is_empty());
    let out = &mut session.out;
    if out.is_json() {
        out.json(&Answer { rooms })?;
    } else {
        out.page(|page| {
            for room in &rooms {
                page.plain(&format!("{:>8}  ", room.drawers));
                page.plain(room.wing.unwrap_or("-")).plain(" / ");
                page.plain(room.room.unwrap_or("-")).end();
            }
        })?;
    }
    match (wings.is_empty(), &args.wing) {
        (false, _) => {}
        (true, None) => tell_empty(out)?,
        (true, Some(_)) => {
            out.flush()?;
            tell_missing(&where_, collection.as_ref(), out)?;
        }
    }
    Ok(found)
}

fn rooms(wing: &Wing) -> impl Iterator<Item = Room<'_>> {
    wing.rooms.iter().map(|(room, drawers)| Room {
        wing: wing.wing.as_deref(),
        room: room.as_deref(),
        drawers: *drawers,
    })
}
