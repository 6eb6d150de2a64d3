//! What an act would touch, before it happens.

use loci_core::{Capability, DrawerFields, DrawerId, GetRequest, PalaceFinding, Result};

use super::{MOST_REMEMBERED_BYTES, MOST_REMEMBERED_DRAWERS};
use crate::delete::{AskedIds, find_drawers};
use crate::mine::is_mined;
use crate::palace::Palace;
use crate::view::{DrawerScope, DrawerView};

/// The drawers shown of those that an act would touch.
const SAMPLE: usize = 10;
/// The drawers read at once.
const PAGE: usize = 512;

/// What an act would touch.
#[derive(Debug, Clone, PartialEq)]
pub struct ActPreview {
    /// The number of drawers.
    pub matched: u64,
    /// Ids that no drawer has.
    pub missing: Vec<DrawerId>,
    /// Some of the drawers.
    pub sample: Vec<DrawerView>,
    /// Whether mining filed some of the drawers; counted among those that were looked at.
    pub has_mined: bool,
    /// Whether deletions are remembered here, so that mining does not bring them back.
    pub lists_removals: bool,
    /// Whether a move of them can be undone.
    pub can_undo_move: bool,
    /// Whether a deletion of them can be undone.
    pub can_undo_removal: bool,
    /// Names in the scope that no drawer has, if nothing was found.
    pub warnings: Vec<PalaceFinding>,
}

impl Palace {
    /// Looks at the drawers that an act on these whole ids, or on this scope, would touch.
    pub fn preview_act(&self, ids: &[DrawerId], scope: &DrawerScope) -> Result<ActPreview> {
        let has_ledger = self
            .address()?
            .backend
            .descriptor()
            .has_capability(&Capability::Sources);
        let lists_removals = has_ledger && self.key_folder().is_some();
        self.read(|session| {
            let reader = session.reader();
            let (found, missing) = find_drawers(reader, AskedIds::Whole(ids), scope)?;
            let mut preview = ActPreview {
                matched: found.len() as u64,
                missing,
                sample: Vec::new(),
                has_mined: false,
                lists_removals,
                can_undo_move: found.len() as u64 <= MOST_REMEMBERED_DRAWERS,
                can_undo_removal: found.len() as u64 <= MOST_REMEMBERED_DRAWERS,
                warnings: Vec::new(),
            };
            if found.is_empty() {
                preview.warnings = session.unknown_names(scope)?;
            }
            let mut bytes = 0;
            for (nth, page) in found.chunks(PAGE).enumerate() {
                // Too many to be remembered however long they are: only the sample is read.
                if nth > 0 && !preview.can_undo_removal {
                    break;
                }
                let drawers = reader.get(&GetRequest {
                    include: DrawerFields {
                        context: true,
                        ..DrawerFields::default()
                    },
                    ..GetRequest::by_ids(page.iter().cloned())
                })?;
                for drawer in drawers {
                    bytes += super::text_bytes(&drawer) as u64;
                    preview.has_mined |= is_mined(&drawer);
                    if preview.sample.len() < SAMPLE {
                        preview.sample.push(drawer.into());
                    }
                }
                preview.can_undo_removal &= bytes <= MOST_REMEMBERED_BYTES;
            }
            Ok(preview)
        })
    }
}
