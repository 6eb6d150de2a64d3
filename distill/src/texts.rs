//! The texts to learn from: one passage a line, in files named after their source.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};
use loci_embed::wordpiece;

use crate::chance::SeededChance;

/// The most tokens a lesson has: the teacher's window without its two marks.
const LONGEST: usize = 254;

/// A text as the tokens that student and teacher see.
pub(crate) type TokenIds = Vec<u16>;

/// Every distinct passage of the `.txt` files in `folder`, shuffled by `seed`, at most `most` of each file.
pub(crate) fn read(folder: &Path, most: usize, seed: u64) -> Result<Vec<TokenIds>> {
    let listed = fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    let mut files: Vec<_> = listed.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    files.sort();
    let mut chance = SeededChance::new(seed);
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        let mut passages: Vec<TokenIds> = text.lines().map(tokens).collect();
        passages.retain(|tokens| tokens.len() >= 3 && seen.insert(tokens.clone()));
        chance.shuffle(&mut passages);
        passages.truncate(most);
        all.append(&mut passages);
    }
    chance.shuffle(&mut all);
    Ok(all)
}

fn tokens(passage: &str) -> TokenIds {
    let mut ids = Vec::new();
    wordpiece::encode(passage, &mut ids);
    ids.truncate(LONGEST);
    ids
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot read {}", path.display())).caused_by(error)
}
