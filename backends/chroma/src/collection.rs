//! A Chroma folder as a palace whose collections are scanned.

use loci_core::{CollectionInfo, CollectionName, Error, Result};
use loci_foreign::scan::{ForeignPalace, ScannedPalace, ScannedRecords};

use crate::palace::ChromaPalace;
use crate::view::CollectionView;

impl ScannedPalace for ChromaPalace {
    fn with_records(
        &self,
        name: &CollectionName,
        act: &dyn Fn(&dyn ScannedRecords) -> Result<()>,
    ) -> Result<()> {
        self.with_loaded(|loaded, folder| {
            let content = loaded.lay_out_content(folder, name)?;
            act(&CollectionView::new(content))
        })
    }

    fn describe_collection(&self, name: &CollectionName) -> Result<CollectionInfo> {
        self.with_loaded(|loaded, folder| loaded.collection_info(folder, name))
    }

    fn refuse_write(&self) -> Error {
        self.opened.refuse_write(Self::NAME)
    }
}
