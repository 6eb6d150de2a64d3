//! The first pass: every page is read once, and every row on it is recognised by its shape.

use std::collections::{BTreeMap, HashMap};

use loci_core::DrawerFields;

use super::image::{PageImage, PageVersion};
use super::node::{CellPayload, NodeKind, TreeNode};
use super::payload::{BrokenChain, read_payload};
use super::pointers::{FileStructure, PageUse, is_interior};
use super::record::decode_record;
use super::rows::{self, CollectionRow, DrawerHead, SmallRow, SpaceRow};
use super::trouble;

/// The place of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CellSpot {
    pub(super) page: u32,
    pub(super) cell: u16,
    pub(super) version: PageVersion,
}

/// A drawer that can be read.
#[derive(Debug)]
pub(super) struct FoundDrawer {
    pub(super) collection: i64,
    pub(super) id: Box<str>,
    pub(super) row: i64,
    pub(super) seq: i64,
    pub(super) spot: CellSpot,
    /// Whether its page is known to be in use and the newest version.
    pub(super) sure: bool,
    /// Whether an index lists a newer state of it.
    pub(super) older: bool,
    pub(super) vector: Option<CellSpot>,
}

impl FoundDrawer {
    /// Returns a number that grows with every change of a drawer.
    pub(super) fn rank(&self) -> i64 {
        self.row.max(self.seq)
    }
}

/// A drawer whose row can be read in part only.
#[derive(Debug)]
pub(super) struct BrokenDrawer {
    pub(super) row: i64,
    pub(super) head: DrawerHead,
    pub(super) page: u32,
    pub(super) broken: Option<u32>,
    pub(super) reason: &'static str,
}

/// A vector that can be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundVector {
    pub(super) row: i64,
    pub(super) dimension: usize,
    pub(super) spot: CellSpot,
}

/// Everything that the first pass finds.
#[derive(Debug, Default)]
pub(super) struct PageSurvey {
    pub(super) drawers: Vec<FoundDrawer>,
    pub(super) broken: Vec<BrokenDrawer>,
    pub(super) vectors: Vec<FoundVector>,
    /// The names of tables and indexes, by root.
    pub(super) names: HashMap<u32, String>,
    pub(super) collections: BTreeMap<i64, CollectionRow>,
    pub(super) spaces: BTreeMap<i64, SpaceRow>,
    /// The newest removal of each drawer.
    pub(super) tombstones: HashMap<(i64, String), i64>,
    /// The pages of indexes, in use or not.
    pub(super) index_pages: Vec<u32>,
    pub(super) interior_pages: Vec<u32>,
    pub(super) damaged: Vec<u32>,
    /// The number of pages that are part of a palace.
    pub(super) sound: u64,
}

/// Buffers that are used for every page.
#[derive(Debug, Default)]
struct SurveyBuffers {
    page: Vec<u8>,
    payload: Vec<u8>,
    vector: Vec<f32>,
    /// Whether the page is known to be in use and the newest version.
    sure: bool,
}

impl PageSurvey {
    /// Reads every page; `watch` receives the number of pages read and their total.
    pub(super) fn take(image: &PageImage, watch: &mut dyn FnMut(u64, u64)) -> Self {
        let mut survey = Self::default();
        let mut buffers = SurveyBuffers::default();
        let total = image.present_pages().count() as u64;
        // Without the trees, which this pass has yet to find; a page of the pointer map comes before those it describes.
        let structure = FileStructure::read(image, &[]);
        for (done, number) in (1..).zip(image.present_pages()) {
            survey.read_page(image, &structure, number, &mut buffers);
            watch(done, total);
        }
        survey
    }

    fn read_page(
        &mut self,
        image: &PageImage,
        structure: &FileStructure,
        number: u32,
        buffers: &mut SurveyBuffers,
    ) {
        if crate::vfs::is_lock_page(number, super::image::PAGE) {
            return;
        }
        let mut page = std::mem::take(&mut buffers.page);
        if image.load_newest(number, &mut page) {
            self.sound += 1;
        } else {
            self.damaged.push(number);
        }
        let used = structure.page_use(image, number);
        buffers.sure = used == PageUse::Tree && !image.is_outdated(number);
        for version in image.versions(number) {
            // A free page keeps the rows that were on it, some of which were removed.
            if matches!(used, PageUse::Tree | PageUse::Unknown)
                && image.load(number, *version, &mut page)
                && let Some(node) = TreeNode::parse(number, &page)
            {
                self.read_node(image, number, *version, node, buffers);
            }
        }
        for version in image.replaced_versions(number) {
            if matches!(used, PageUse::Tree | PageUse::Unknown) && image.load(number, version, &mut page) {
                self.read_replaced(image, number, version, &page, buffers);
            }
        }
        buffers.page = page;
    }

    /// Reads the drawers of an earlier version of a page, and nothing else: whatever became of them is told elsewhere, and
    /// an earlier vector may not be that of the text.
    fn read_replaced(
        &mut self,
        image: &PageImage,
        number: u32,
        version: PageVersion,
        page: &[u8],
        buffers: &mut SurveyBuffers,
    ) {
        let Some(node) = TreeNode::parse(number, page).filter(|node| node.kind == NodeKind::TableLeaf) else {
            return;
        };
        let mut earlier = Self::default();
        earlier.read_node(image, number, version, node, buffers);
        self.drawers.append(&mut earlier.drawers);
    }

    fn read_node(
        &mut self,
        image: &PageImage,
        number: u32,
        version: PageVersion,
        node: TreeNode<'_>,
        buffers: &mut SurveyBuffers,
    ) {
        if is_interior(node.kind) {
            self.interior_pages.push(number);
        }
        match node.kind {
            NodeKind::IndexLeaf | NodeKind::IndexInterior => self.index_pages.push(number),
            NodeKind::TableInterior => {}
            NodeKind::TableLeaf => {
                for cell in 0..node.cell_count() {
                    let spot = CellSpot {
                        page: number,
                        cell: u16::try_from(cell).unwrap_or(u16::MAX),
                        version,
                    };
                    if let Some(payload) = node.payload(cell) {
                        self.read_cell(image, spot, payload, buffers);
                    }
                }
            }
        }
    }

    fn read_cell(
        &mut self,
        image: &PageImage,
        spot: CellSpot,
        cell: CellPayload<'_>,
        buffers: &mut SurveyBuffers,
    ) {
        let SurveyBuffers {
            payload,
            vector,
            sure,
            ..
        } = buffers;
        // The columns on the page itself show whether it is worth reading the rest.
        let Some(local) = decode_record(cell.local, cell.total) else {
            return;
        };
        let head = rows::read_head(&local);
        let is_vector = local.len() == 2;
        if head.is_none() && !is_vector && cell.overflow == 0 {
            if let Some(small) = rows::read_small_row(cell.row, &local) {
                self.add_small_row(small, *sure);
            }
            return;
        }
        let whole = read_payload(image, cell, payload);
        let values = decode_record(payload, cell.total).unwrap_or_default();
        // A long id is not on the page itself.
        match (head.or_else(|| rows::read_head(&values)), whole) {
            (Some(head), whole) => {
                let read = whole
                    .is_ok()
                    .then(|| rows::read_drawer(&values, DrawerFields::NOTHING));
                self.add_drawer(spot, cell.row, head, read.flatten().is_some(), whole);
            }
            (None, Ok(())) if is_vector => {
                if let Some(dimension) = rows::read_vector(cell.row, &values, vector) {
                    self.vectors.push(FoundVector {
                        row: cell.row,
                        dimension,
                        spot,
                    });
                }
            }
            (None, Ok(())) => {
                if let Some(small) = rows::read_small_row(cell.row, &values) {
                    self.add_small_row(small, *sure);
                }
            }
            (None, Err(_)) => {}
        }
    }

    fn add_drawer(
        &mut self,
        spot: CellSpot,
        row: i64,
        head: DrawerHead,
        readable: bool,
        whole: Result<(), BrokenChain>,
    ) {
        if readable {
            self.drawers.push(FoundDrawer {
                collection: head.collection,
                id: head.id.into_boxed_str(),
                row,
                seq: head.seq,
                spot,
                sure: false,
                older: false,
                vector: None,
            });
            return;
        }
        let broken = whole.err().map(|BrokenChain(page)| page);
        self.broken.push(BrokenDrawer {
            row,
            head,
            page: spot.page,
            broken,
            reason: if broken.is_some() {
                trouble::TEXT_DAMAGED
            } else {
                trouble::TEXT_DIFFERS
            },
        });
    }

    fn add_small_row(&mut self, small: SmallRow, sure: bool) {
        match small {
            SmallRow::Schema { name, root } if sure => drop(self.names.insert(root, name)),
            SmallRow::Collection(row) if sure => drop(self.collections.insert(row.collection, row)),
            SmallRow::Space(row) if sure => drop(self.spaces.insert(row.space, row)),
            // A page that may not be in use any more never overrules one that is.
            SmallRow::Schema { name, root } => drop(self.names.entry(root).or_insert(name)),
            SmallRow::Collection(row) => drop(self.collections.entry(row.collection).or_insert(row)),
            SmallRow::Space(row) => drop(self.spaces.entry(row.space).or_insert(row)),
            SmallRow::Tombstone { seq, collection, id } => {
                let newest = self.tombstones.entry((collection, id)).or_insert(seq);
                *newest = (*newest).max(seq);
            }
        }
    }

    /// Marks the drawers whose pages turned out to be in use, once the trees are known.
    pub(super) fn mark_sure(&mut self, image: &PageImage, structure: &FileStructure) {
        for drawer in &mut self.drawers {
            let CellSpot { page, version, .. } = drawer.spot;
            drawer.sure = structure.page_use(image, page) == PageUse::Tree && image.is_newest(page, version);
        }
    }
}
