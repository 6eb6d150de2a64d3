//! The thread that drives connections, and waiting for their answers from any thread.
//!
//! The contract is synchronous and the client is not. One thread owns the runtime and moves bytes; callers poll the
//! futures of the client themselves, which need no runtime. So neither a call nor a drop depends on the thread it
//! happens on, and an async thread may do both.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use loci_core::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The thread with the runtime; it ends when this is dropped.
pub(crate) struct ConnectionDriver {
    runtime: Handle,
    /// Dropping it ends the thread, which then drops the runtime: never the thread that drops this.
    _stop: oneshot::Sender<()>,
}

impl ConnectionDriver {
    /// Starts the thread.
    pub(crate) fn start() -> Result<Self> {
        let failed = |cause: std::io::Error| {
            Error::new(ErrorKind::Io, "cannot start the thread that talks to Postgres").caused_by(cause)
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new()
            .name("loci-postgres".to_owned())
            .spawn(move || {
                // Ends with an error when the sender is dropped, which is the signal.
                let _ = runtime.block_on(stopped);
            })
            .map_err(failed)?;
        Ok(Self {
            runtime: handle,
            _stop: stop,
        })
    }

    /// Runs a future that needs the runtime on the driver's thread, and waits for its result.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let task = self.runtime.spawn(future);
        match wait_until(task, None) {
            Some(Ok(result)) => result,
            _ => Err(Error::new(
                ErrorKind::Internal,
                "the thread that talks to Postgres has ended",
            )),
        }
    }
}

impl fmt::Debug for ConnectionDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionDriver").finish_non_exhaustive()
    }
}

/// Wakes a parked thread.
struct ThreadWaker {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Waits for a future on this thread; `None` once the deadline has passed.
pub(crate) fn wait_until<F: Future>(future: F, deadline: Option<Instant>) -> Option<F::Output> {
    let mut future = pin!(future);
    let wake = Arc::new(ThreadWaker {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let waker = Waker::from(Arc::clone(&wake));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        // Parking may end for no reason, so the flag decides.
        while !wake.woken.swap(false, Ordering::Acquire) {
            match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(left) if left.is_zero() => return None,
                Some(left) => thread::park_timeout(left),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_future_that_never_ends_is_given_up_at_its_deadline() {
        let soon = Instant::now() + Duration::from_millis(5);
        assert_eq!(wait_until(std::future::pending::<()>(), Some(soon)), None);
        assert_eq!(wait_until(async { 7 }, Some(soon)), Some(7));
    }

    #[test]
    fn an_async_thread_may_wait_and_drop() {
        let outer = Builder::new_current_thread().enable_all().build().unwrap();
        outer.block_on(async {
            let driver = ConnectionDriver::start().unwrap();
            let slept = driver.run(async {
                tokio::time::sleep(Duration::from_millis(2)).await;
                Ok(3)
            });
            assert_eq!(slept.unwrap(), 3);
            drop(driver);
        });
    }
}
