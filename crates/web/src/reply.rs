//! A reply as pages give it: a status, a body, and what the carrier must know.

use std::fmt;
use std::io::{self, Write};

use maud::Markup;

use crate::base::SiteBase;
use crate::request::ThemeChoice;

/// Writes a body that is too long to be held in memory.
pub type StreamedBody = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

/// The body of a reply.
pub enum ReplyBody {
    /// All of it.
    Whole(Vec<u8>),
    /// A function that writes it, on a thread of its own. If it fails, the connection is cut off, so that a part is
    /// not taken for the whole.
    Streamed(StreamedBody),
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", bytes.len()),
            Self::Streamed(_) => f.write_str("Streamed"),
        }
    }
}

/// How long a browser may keep a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyCaching {
    /// Not at all: it shows what is stored.
    Never,
    /// For ever: its path changes with its content.
    Forever,
}

/// The reply to a request.
#[derive(Debug)]
pub struct PageReply {
    /// The HTTP status.
    pub status: u16,
    /// The media type of the body.
    pub media_type: &'static str,
    /// The body.
    pub body: ReplyBody,
    /// Where the browser goes next.
    pub location: Option<String>,
    /// The name under which a download is saved.
    pub file_name: Option<String>,
    /// How long a browser may keep it.
    pub caching: ReplyCaching,
    /// The colors to remember.
    pub theme: Option<ThemeChoice>,
}

impl PageReply {
    /// Makes a page.
    pub fn html(markup: Markup) -> Self {
        Self::with_body("text/html; charset=utf-8", markup.into_string().into_bytes())
    }

    /// Makes a reply of this media type.
    pub fn with_body(media_type: &'static str, body: Vec<u8>) -> Self {
        Self {
            status: 200,
            media_type,
            body: ReplyBody::Whole(body),
            location: None,
            file_name: None,
            caching: ReplyCaching::Never,
            theme: None,
        }
    }

    /// Sends the browser to another page, with a GET.
    pub fn see_other(location: impl Into<String>) -> Self {
        Self {
            status: 303,
            location: Some(location.into()),
            ..Self::with_body("text/plain; charset=utf-8", Vec::new())
        }
    }

    /// Makes a download that `write` produces.
    pub fn download(media_type: &'static str, file_name: impl Into<String>, write: StreamedBody) -> Self {
        Self {
            body: ReplyBody::Streamed(write),
            file_name: Some(file_name.into()),
            ..Self::with_body(media_type, Vec::new())
        }
    }

    /// Returns the reply as a site below `base` gives it.
    #[must_use]
    pub(crate) fn below(mut self, base: &SiteBase) -> Self {
        if base.path().is_empty() {
            return self;
        }
        self.location = self.location.map(|own| base.address(&own));
        if self.media_type.starts_with("text/html")
            && let ReplyBody::Whole(page) = &self.body
            && let Ok(page) = std::str::from_utf8(page)
        {
            self.body = ReplyBody::Whole(base.rewrite_page(page).into_bytes());
        }
        self
    }

    /// Sets the status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}
