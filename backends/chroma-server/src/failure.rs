//! Errors of the server and of its absence, in the words of the contract.

use loci_core::{CollectionName, Error, ErrorKind, PalaceRef};

use crate::address::ChromaUrl;

/// The most characters of a server's own message that are shown.
const SHOWN: usize = 300;

/// A request that failed.
#[derive(Debug)]
pub(crate) struct RequestRefusal {
    /// The status of the answer; none if there was no answer.
    pub(crate) status: Option<u16>,
    pub(crate) error: Error,
}

impl From<RequestRefusal> for Error {
    fn from(refusal: RequestRefusal) -> Self {
        refusal.error
    }
}

impl RequestRefusal {
    /// Whether the server said that the palace, collection or database is not there.
    pub(crate) fn is_missing(&self) -> bool {
        self.error.kind() == ErrorKind::NotFound
    }

    /// Describes an answer other than success.
    pub(crate) fn from_answer(url: &ChromaUrl, status: u16, body: &[u8]) -> Self {
        let said = read_message(body);
        // Releases before 1.0 answer 400 for a collection that is gone.
        let kind = match status {
            404 => ErrorKind::NotFound,
            400 if said.contains("does not exist") => ErrorKind::NotFound,
            409 => ErrorKind::Conflict,
            _ => ErrorKind::Unavailable,
        };
        let server = shown_server(url);
        let error = match status {
            // Its own message is not shown: it may repeat the token.
            401 | 403 => Error::new(
                kind,
                format!("{server} answered {status}: it does not accept the token"),
            )
            .with_hint("nothing was changed; set CHROMA_TOKEN to a token that the server accepts"),
            410 => Error::new(
                kind,
                format!("{server} answered 410: it has no interface of version 2"),
            )
            .with_hint("nothing was changed; use Chroma 0.6 or later"),
            _ => Error::new(kind, format!("{server} answered {status}: {said}")),
        };
        Self {
            status: Some(status),
            error,
        }
    }

    /// Describes a request that got no answer.
    pub(crate) fn from_transport(url: &ChromaUrl, cause: &ureq::Error) -> Self {
        let server = shown_server(url);
        let what = match cause {
            ureq::Error::Timeout(_) => format!("{server} did not answer in time"),
            ureq::Error::HostNotFound => format!("the host of {server} cannot be resolved"),
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                format!("no Chroma server is listening at {}:{}", url.host, url.port)
            }
            ureq::Error::Io(_) => format!("{server} closed the connection before it had answered"),
            other => format!("cannot talk to {server}: {}", clean_text(&other.to_string())),
        };
        let error = Error::new(ErrorKind::Unavailable, what)
            .with_hint("check that the Chroma server is running and that its address is right");
        Self { status: None, error }
    }

    /// Describes an answer that cannot be understood.
    pub(crate) fn from_nonsense(url: &ChromaUrl, cause: &serde_json::Error) -> Self {
        let what = format!("{} gave an answer that is not Chroma's", shown_server(url));
        let error = Error::new(ErrorKind::Unavailable, what)
            .caused_by(cause.to_string())
            .with_hint("check that a Chroma server of 0.6 to 1.5 answers at this address");
        Self {
            status: Some(200),
            error,
        }
    }
}

/// Returns a server as messages name it.
pub(crate) fn shown_server(url: &ChromaUrl) -> String {
    format!("the Chroma server {}:{}", url.host, url.port)
}

fn read_message(body: &[u8]) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let message = json.as_ref().and_then(|json| json.get("message"));
    match message.and_then(serde_json::Value::as_str) {
        Some(message) => clean_text(message),
        None => clean_text(&String::from_utf8_lossy(body)),
    }
}

fn clean_text(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(SHOWN).collect()
}

/// Returns the error of a call after a close.
pub(crate) fn closed_error(what: &str) -> Error {
    Error::new(ErrorKind::Closed, format!("{what} was closed")).with_hint("open it again")
}

/// Returns the error for a palace that does not exist.
pub(crate) fn missing_palace(palace: &PalaceRef) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("the palace {:?} does not exist", palace.id),
    )
    .with_hint("`loci init` creates it")
}

/// Returns the error for a collection that does not exist.
pub(crate) fn missing_collection(name: &CollectionName) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("the collection {:?} does not exist", name.as_str()),
    )
}
