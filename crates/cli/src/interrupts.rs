//! Ctrl-C for commands that leave something half done if they are killed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loci_core::Result;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::errors::io_error;

/// Returns a flag that the first Ctrl-C sets, so that a command can remove what it has
/// begun; the second one ends the process at once.
pub(crate) fn watch_interrupts() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters: the handler that ends the process must not see the flag of the same signal.
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
            .map_err(|cause| io_error("cannot watch for interrupts".to_owned(), cause))?;
    }
    Ok(interrupted)
}
