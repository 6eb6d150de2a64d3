//! Signals that ask the process to end.

use tokio_util::sync::CancellationToken;

/// Waits for SIGTERM or SIGINT, then cancels `end`.
#[cfg(unix)]
pub(crate) async fn cancel_on_signal(end: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    // Both are registered before the first wait: a signal that arrives between the two would otherwise end
    // the process.
    let (Ok(mut term), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    end.cancel();
}

/// Waits for Ctrl-C, then cancels `end`.
#[cfg(not(unix))]
pub(crate) async fn cancel_on_signal(end: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        end.cancel();
    }
}
