//! The folders in which the harnesses of a palace's owner keep transcripts.

use super::Palace;
use crate::mine::TranscriptFolder;

impl Palace {
    /// Names the folders in which harnesses keep transcripts. Without them, mining takes every transcript for a file.
    #[must_use]
    pub fn with_transcript_folders(mut self, folders: Vec<TranscriptFolder>) -> Self {
        self.transcripts = folders.into();
        self
    }

    /// Returns the folders in which harnesses keep transcripts.
    pub(crate) fn transcript_folders(&self) -> &[TranscriptFolder] {
        &self.transcripts
    }
}
