//! The reference as a plug-in: alone in its process, or in front of storage that several processes share.

use std::env;
use std::io;
use std::path::Path;
use std::sync::Arc;

use loci_core::Metric;
use loci_plugin::{serve_backend, serve_streams};

use crate::Reference;

/// The version that the plug-in says it has.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the plug-in `loci-backend-reference` with the arguments of this process.
///
/// Without arguments it serves an empty reference in memory. `--hub SOCKET [PROFILE]` keeps one in this process for all
/// that `--join SOCKET` connects to it, as clients of a database share a server. The profile `minimal` offers nothing optional.
pub fn serve_reference() -> Result<(), String> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => serve_backend(Reference::new(), VERSION).map_err(|error| error.to_string()),
        ["--hub", socket] => share_reference(Path::new(socket), Reference::new()),
        ["--hub", socket, "minimal"] => share_reference(Path::new(socket), minimal_reference()),
        ["--join", socket] => join_hub(Path::new(socket)),
        other => Err(format!("these are not arguments of this plug-in: {other:?}")),
    }
}

/// Returns a reference without any optional capability, which must refuse each of them by name.
pub fn minimal_reference() -> Reference {
    Reference::with_capabilities([])
        .comparing_by(&[Metric::Cosine])
        .maintaining_only(&[])
}

/// Serves each connection from the same storage, until standard input ends.
#[cfg(unix)]
fn share_reference(socket: &Path, reference: Reference) -> Result<(), String> {
    use std::os::unix::net::UnixListener;
    let listener = UnixListener::bind(socket).map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Ok(input) = stream.try_clone() else { continue };
            let backend = Arc::new(reference.reopened());
            std::thread::spawn(move || serve_streams(backend, VERSION, input, stream));
        }
    });
    // Ends with the test that holds the other end, however that ends.
    io::copy(&mut io::stdin(), &mut io::sink()).map_err(|error| error.to_string())?;
    Ok(())
}

/// Passes bytes between the host and the hub.
#[cfg(unix)]
fn join_hub(socket: &Path) -> Result<(), String> {
    use std::os::unix::net::UnixStream;
    let joined =
        UnixStream::connect(socket).map_err(|error| format!("no hub at {}: {error}", socket.display()))?;
    let mut to_hub = joined.try_clone().map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        drop(io::copy(&mut io::stdin().lock(), &mut to_hub));
        drop(to_hub.shutdown(std::net::Shutdown::Write));
    });
    pass_answers(joined).map_err(|error| error.to_string())
}

/// Passes answers on as they come, a whole buffer at a time.
#[cfg(unix)]
fn pass_answers(mut from_hub: impl io::Read) -> io::Result<()> {
    use std::io::Write as _;
    let mut buffer = vec![0; 64 << 10];
    let mut output = io::stdout().lock();
    loop {
        let read = from_hub.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        output.write_all(&buffer[..read])?;
        output.flush()?;
    }
}

#[cfg(not(unix))]
fn share_reference(_socket: &Path, _reference: Reference) -> Result<(), String> {
    Err("a shared reference needs Unix sockets".into())
}

#[cfg(not(unix))]
fn join_hub(_socket: &Path) -> Result<(), String> {
    Err("a shared reference needs Unix sockets".into())
}
