//! Limits that the host holds a plug-in to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::FRAME_LIMIT;

/// Receives each line that a plug-in writes to standard error, without its end.
pub type PluginListener = Arc<dyn Fn(&str) + Send + Sync>;

/// The times and sizes that a plug-in must keep to. The defaults suit interactive use.
#[derive(Clone)]
pub struct PluginOptions {
    /// The time for the first hello.
    pub hello_time: Duration,
    /// The time for a call without a budget. A write may take the time it waits for other writers besides, and
    /// maintenance, erasure and revisions may take this long between two signs of progress.
    pub call_time: Duration,
    /// The time beyond a call's budget, and again after its cancellation, before the plug-in counts as hung.
    pub grace: Duration,
    /// The time to end after a goodbye.
    pub bye_time: Duration,
    /// The longest frame that is accepted, in bytes.
    pub frame_limit: u32,
    /// The longest answer that is accepted, in bytes over all its frames.
    pub answer_limit: u64,
    /// Receives what the plug-in writes to standard error.
    pub listener: Option<PluginListener>,
}

impl Default for PluginOptions {
    fn default() -> Self {
        Self {
            hello_time: Duration::from_secs(5),
            call_time: Duration::from_secs(60),
            grace: Duration::from_secs(2),
            bye_time: Duration::from_secs(2),
            frame_limit: FRAME_LIMIT,
            // Above every answer of a palace that is read in pages, below what would take a machine down.
            answer_limit: 1 << 30,
            listener: None,
        }
    }
}

impl fmt::Debug for PluginOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginOptions")
            .field("hello_time", &self.hello_time)
            .field("call_time", &self.call_time)
            .field("frame_limit", &self.frame_limit)
            .field("answer_limit", &self.answer_limit)
            .finish_non_exhaustive()
    }
}
