//! The palace's own id and sequence number, found by their shape on any page.

use super::node::TreeNode;
use super::record::decode_record;

/// The pages of a file that are searched: the table is among the first ever made.
pub(super) const SEARCHED: u32 = 64;

/// The id of a palace and the last sequence number it gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PalaceStamp {
    pub(super) palace: Vec<u8>,
    pub(super) seq: i64,
}

/// Finds both on a page of the table `palace`; `None` if it is another page.
pub(super) fn find_stamp(page: &[u8]) -> Option<PalaceStamp> {
    // Page 1 is never a page of this table, so any other number will do.
    let node = TreeNode::parse(2, page)?;
    let (mut palace, mut seq) = (None, None);
    for cell in 0..node.cell_count() {
        let Some(payload) = node.payload(cell) else {
            continue;
        };
        let Some(values) = decode_record(payload.local, payload.total) else {
            continue;
        };
        let [key, value] = values.as_slice() else { continue };
        match key.as_text() {
            Some("id") => palace = value.as_blob().filter(|id| id.len() == 16),
            Some("seq") => seq = value.as_int(),
            _ => {}
        }
    }
    Some(PalaceStamp {
        palace: palace?.to_vec(),
        seq: seq?,
    })
}
