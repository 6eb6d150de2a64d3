//! HTTP in bytes: a request as it is written, an answer as it is read.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value as Json;

/// How long an answer may take on the slowest machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    /// A request with nothing but its first line.
    pub(crate) fn bare(method: &str, target: &str) -> Self {
        Self {
            line: format!("{method} {target} HTTP/1.1"),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// A request to localhost.
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self::bare(method, target).with("Host", "localhost")
    }

    /// A message to the server, as a client with this token sends it.
    pub(crate) fn message(token: &str, message: &Json) -> Self {
        Self::posted(token, message.to_string().as_bytes())
    }

    /// Bytes in the place of a message.
    pub(crate) fn posted(token: &str, body: &[u8]) -> Self {
        let mut ask = Self::new("POST", "/mcp")
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream")
            .with("Content-Length", &body.len().to_string())
            .bearing(token);
        ask.body = body.to_vec();
        ask
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a body and its length.
    pub(crate) fn with_body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self.having("Content-Length", &body.len().to_string())
    }

    /// With another value in the place of those there are.
    pub(crate) fn having(self, name: &str, value: &str) -> Self {
        self.without(name).with(name, value)
    }

    /// Without the values of a header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn bearing(self, token: &str) -> Self {
        self.with("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{}\r\n", self.line);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend(&self.body);
        bytes
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|(name, _)| name.as_str())
    }

    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// The messages it carries, whether as events or as JSON.
    #[track_caller]
    pub(crate) fn messages(&self) -> Vec<Json> {
        let read =
            |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        match self.header("content-type") {
            Some("text/event-stream") => {
                let lines = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
                lines
                    .map(str::trim)
                    .filter(|line| !line.is_empty())
                    .map(read)
                    .collect()
            }
            _ => vec![read(&self.body)],
        }
    }

    /// The one message it carries.
    #[track_caller]
    pub(crate) fn message(&self) -> Json {
        let mut messages = self.messages();
        assert_eq!(messages.len(), 1, "{self:?}");
        messages.remove(0)
    }
}

/// A connection.
pub(crate) struct Wire {
    pub(crate) stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Wire {
    #[track_caller]
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        Self {
            reader: BufReader::new(stream.try_clone().unwrap()),
            stream,
        }
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, ask: &Ask) -> Answer {
        self.send(&ask.bytes());
        self.answer()
    }

    /// Sends a request; none if the server is gone before it has answered.
    pub(crate) fn try_ask(&mut self, ask: &Ask) -> Option<Answer> {
        self.stream.write_all(&ask.bytes()).ok()?;
        let mut answer = self.head().ok()?;
        let mut body = vec![0; answer.header("content-length")?.parse().ok()?];
        self.reader.read_exact(&mut body).ok()?;
        answer.body = String::from_utf8(body).ok()?;
        Some(answer)
    }

    #[track_caller]
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next answer, all of it.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = self.head().unwrap();
        let mut body = Vec::new();
        if answer.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().unwrap() {
                body.extend(chunk);
            }
        } else if let Some(length) = answer.header("content-length") {
            body.resize(length.parse().unwrap(), 0);
            self.reader.read_exact(&mut body).unwrap();
        }
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    /// The status and headers of the next answer.
    pub(crate) fn head(&mut self) -> io::Result<Answer> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(Answer {
            status: status.unwrap_or_else(|| panic!("no answer: {first:?}")),
            headers,
            body: String::new(),
        })
    }

    /// The next piece of an answer without a length; none at its end.
    pub(crate) fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.line()?;
        let length = usize::from_str_radix(&line, 16).unwrap_or_else(|_| panic!("no length: {line:?}"));
        let mut chunk = vec![0; length];
        self.reader.read_exact(&mut chunk)?;
        self.line()?;
        Ok((length > 0).then_some(chunk))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Waits until the other side closes, and says what it sent before.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.reader.read_to_end(&mut rest) {
            Err(cause) if cause.kind() != io::ErrorKind::ConnectionReset => panic!("still open: {cause}"),
            _ => rest,
        }
    }
}

/// One request on a connection of its own.
#[track_caller]
pub(crate) fn ask(address: SocketAddr, ask: &Ask) -> Answer {
    Wire::open(address).ask(ask)
}
