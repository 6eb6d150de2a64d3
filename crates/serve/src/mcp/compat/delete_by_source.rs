//! `mempalace_delete_by_source`: every drawer of one source, counted first.

use std::collections::BTreeSet;

use loci_core::{CollectionExt, Error, Filter, Get, Include, Result, Selection, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Namesake, given};
use crate::mcp::tool::{Call, Effect};

/// How many of the places that are meant are named.
const SAMPLE: usize = 5;

pub(super) struct DeleteBySource;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// Exact path, as hits give it in source_path
    source_file: String,
    /// [true]
    dry_run: Option<bool>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Output {
    Counted {
        success: bool,
        dry_run: bool,
        source_file: String,
        match_count: usize,
        /// There are no closets here.
        closet_match_count: u64,
        sample: BTreeSet<Somewhere>,
        hint: String,
    },
    Deleted {
        success: bool,
        dry_run: bool,
        source_file: String,
        deleted: usize,
        closets_deleted: u64,
    },
}

/// A wing and room.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Somewhere {
    wing: String,
    room: String,
}

impl Namesake for DeleteBySource {
    const NAME: &'static str = "mempalace_delete_by_source";
    const ABOUT: &'static str = "Remove every drawer of one source; counts only unless dry_run is false.";
    const EFFECT: Effect = Effect::Removes;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Output> {
        if given(Some(&input.source_file)).is_none() {
            return Err(Error::invalid("`source_file` is empty").hint("nothing was removed"));
        }
        let filter = Filter::text("source", input.source_file.as_str());
        let collection = call.house.read()?;
        if input.dry_run == Some(false) {
            let receipt = call.house.file(|_, collection| {
                collection.apply_batch(&[Write::Delete(Selection::Matching(filter.clone().into()))])
            })?;
            return Ok(Output::Deleted {
                success: true,
                dry_run: false,
                source_file: input.source_file,
                deleted: receipt.deleted.len(),
                closets_deleted: 0,
            });
        }
        let found = collection.get(&Get {
            filter,
            include: Include::NOTHING,
            ..Get::default()
        })?;
        let match_count = found.len();
        let places: BTreeSet<Somewhere> = found
            .into_iter()
            .map(|drawer| Somewhere {
                wing: drawer.place.wing.unwrap_or_default(),
                room: drawer.place.room.unwrap_or_default(),
            })
            .collect();
        let hint = match match_count {
            0 => "no drawer has this source_file".to_owned(),
            _ => format!("nothing was removed; call again with dry_run false to remove these {match_count}"),
        };
        Ok(Output::Counted {
            success: true,
            dry_run: true,
            source_file: input.source_file,
            match_count,
            closet_match_count: 0,
            sample: places.into_iter().take(SAMPLE).collect(),
            hint,
        })
    }
}
