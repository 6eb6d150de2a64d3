//! The side of the plug-in: serves a backend over a pair of streams.

mod answering;
mod calls;
mod handles;
mod inbox;
mod session;
mod workers;

use std::io::{self, Read, Write};
use std::process::exit;
use std::sync::Arc;

use loci_core::{Backend, Error, ErrorKind, Result};

use session::ServeSession;

/// Serves a backend on standard input and output until the host says goodbye; the `main` of a plug-in.
///
/// `version` is the plug-in's own version, for people. Nothing else may write to standard output meanwhile; standard
/// error is shown to the user with the plug-in's name. When the host is gone without a goodbye, the process ends at
/// once, so that nothing half done is completed.
pub fn serve_backend(backend: impl Backend + 'static, version: &str) -> Result<()> {
    let (input, output) =
        open_pipes().map_err(|error| host_error(format!("its pipes cannot be used: {error}")))?;
    let orderly = serve_streams(Arc::new(backend), version, input, output)?;
    if !orderly {
        exit(1);
    }
    Ok(())
}

/// Returns standard input and output without the buffers of the standard library, which look for ends of lines.
#[cfg(unix)]
fn open_pipes() -> io::Result<(impl Read, impl Write + Send + 'static)> {
    use std::fs::File;
    use std::os::fd::AsFd as _;
    // As many bytes as a pipe holds.
    const READ_AHEAD: usize = 64 << 10;
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    Ok((io::BufReader::with_capacity(READ_AHEAD, input), output))
}

#[cfg(not(unix))]
fn open_pipes() -> io::Result<(impl Read, impl Write + Send + 'static)> {
    Ok((io::stdin(), io::stdout()))
}

/// Serves a backend on a pair of streams; returns whether the host said goodbye before `input` ended.
///
/// After a goodbye, the calls under way are finished and the backend is closed. Without one, they are left to
/// themselves, and revisions whose parts are still to come are given up by unwinding.
pub fn serve_streams(
    backend: Arc<dyn Backend>,
    version: &str,
    mut input: impl Read,
    output: impl Write + Send + 'static,
) -> Result<bool> {
    let session = ServeSession::begin(backend, version, &mut input, Box::new(output))?;
    session.run(&mut input)
}

/// Returns the error for a host that breaks the protocol.
fn host_error(words: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("the host broke the protocol: {words}"),
    )
}
