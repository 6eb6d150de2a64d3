//! Standard input within bounds: at most so many bytes, and for at most so long.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::HookFields;

/// The bytes read of an event. The short fields come first, so cutting a long prompt loses none of them.
const MOST: usize = 1 << 20;

/// The wait for an event in all, and for the rest of one that is incomplete.
const PATIENCE: StdinPatience = StdinPatience {
    all: Duration::from_secs(1),
    more: Duration::from_millis(250),
};

#[derive(Debug, Clone, Copy)]
struct StdinPatience {
    all: Duration,
    more: Duration,
}

/// Reads standard input until its end or until it holds a complete event, within the bounds above.
///
/// Some harnesses keep the pipe open after the event, so waiting for its end alone would hang. A terminal sends nothing.
pub(crate) fn read() -> Vec<u8> {
    if io::stdin().is_terminal() {
        return Vec::new();
    }
    read_from(io::stdin(), MOST, PATIENCE)
}

/// Reads in a separate thread: a blocking read has no timeout, and if the writer never closes the pipe the thread ends with
/// the process.
fn read_from(mut input: impl Read + Send + 'static, most: usize, patience: StdinPatience) -> Vec<u8> {
    let began = Instant::now();
    let (tell, told) = mpsc::channel();
    let reader = std::thread::Builder::new().spawn(move || {
        let mut chunk = vec![0; 1 << 16];
        loop {
            let read = match input.read(&mut chunk) {
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => return,
                Ok(count) => chunk.get(..count).unwrap_or_default().to_vec(),
            };
            if tell.send(read).is_err() {
                return;
            }
        }
    });
    let mut bytes = Vec::new();
    let mut wait = patience.all;
    while reader.is_ok() && bytes.len() < most && !is_whole(&bytes) {
        let left = patience.all.saturating_sub(began.elapsed());
        match told.recv_timeout(wait.min(left)) {
            Ok(read) => bytes.extend_from_slice(&read),
            // Closed, or out of time: an incomplete event is still read as far as it goes.
            Err(_) => break,
        }
        wait = patience.more;
    }
    bytes.truncate(most);
    bytes
}

fn is_whole(bytes: &[u8]) -> bool {
    bytes.trim_ascii_end().ends_with(b"}") && HookFields::read(bytes).trouble.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So long that a test which waits for it is red.
    const FOR_EVER: StdinPatience = StdinPatience {
        all: Duration::from_secs(3600),
        more: Duration::from_secs(3600),
    };

    /// Gives its text and then waits for ever.
    struct Hanging(&'static [u8]);

    impl Read for Hanging {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            while self.0.is_empty() {
                std::thread::park();
            }
            self.0.read(into)
        }
    }

    #[test]
    fn a_writer_that_never_ends_is_not_waited_for() {
        let short = StdinPatience {
            all: Duration::from_secs(2),
            more: Duration::from_millis(1),
        };
        // On a busy machine its thread may come too late; then there is nothing yet.
        let read = || read_from(Hanging(b"half"), 100, short);
        assert!((0..20).any(|_| read() == b"half"));
    }

    #[test]
    fn a_whole_event_is_enough_whoever_keeps_the_pipe_open() {
        assert_eq!(
            read_from(Hanging(b"{\"a\":{}}\n"), 100, FOR_EVER),
            b"{\"a\":{}}\n"
        );
    }

    #[test]
    fn what_is_too_much_is_cut() {
        assert_eq!(read_from(io::repeat(b'x'), 1000, FOR_EVER).len(), 1000);
        assert_eq!(read_from(&b"short"[..], 1000, FOR_EVER), b"short");
    }
}
