//! Being asked to end.

use tokio_util::sync::CancellationToken;

/// Waits until the process is asked to end, and passes it on.
#[cfg(unix)]
pub(crate) async fn end_when_asked(end: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
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

/// Waits until the process is asked to end, and passes it on.
#[cfg(not(unix))]
pub(crate) async fn end_when_asked(end: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        end.cancel();
    }
}
