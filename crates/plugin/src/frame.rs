//! Frames: the unit both sides write, with its length, kind and call in front.

use std::io::{ErrorKind as IoErrorKind, Read};

use serde::{Deserialize, Serialize};

/// The longest frame either side accepts unless its hello says otherwise, in bytes after the length.
pub const FRAME_LIMIT: u32 = 64 << 20;

/// The bytes of a frame's kind and call, which its length counts.
const FRAME_HEAD: usize = 5;

/// The bytes that are set aside for a frame before any of them has arrived.
const FIRST_BODY: usize = 512 << 10;

/// The number of frames of one call, besides its last, that may be on the way without a credit returned.
pub(crate) const CALL_WINDOW: u32 = 4;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// Both ways, first: versions and limits, and the abilities of the plug-in.
    Hello = 1,
    /// To the plug-in: one call of the contract.
    Call = 2,
    /// To the plug-in: the part of a revision that it asked for.
    Part = 3,
    /// To the plug-in: one more frame of this call may be sent.
    Credit = 4,
    /// To the plug-in: the answer of this call is no longer wanted.
    Cancel = 5,
    /// To the plug-in: finish the calls under way, then end.
    Bye = 6,
    /// From the plug-in: rows of an answer, with more to follow.
    Piece = 7,
    /// From the plug-in: the rest of an answer; the call is done.
    Answer = 8,
    /// From the plug-in: the call failed and is done.
    Failure = 9,
    /// From the plug-in: asks for the next part of a revision.
    Next = 10,
    /// From the plug-in: the work done so far and its total.
    Progress = 11,
}

impl FrameKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Hello,
        Self::Call,
        Self::Part,
        Self::Credit,
        Self::Cancel,
        Self::Bye,
        Self::Piece,
        Self::Answer,
        Self::Failure,
        Self::Next,
        Self::Progress,
    ];

    /// Returns its name in the documentation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Call => "call",
            Self::Part => "part",
            Self::Credit => "credit",
            Self::Cancel => "cancel",
            Self::Bye => "bye",
            Self::Piece => "piece",
            Self::Answer => "answer",
            Self::Failure => "failure",
            Self::Next => "next",
            Self::Progress => "progress",
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// One frame as it was read.
#[derive(Debug)]
pub(crate) struct ReceivedFrame {
    pub(crate) kind: FrameKind,
    pub(crate) call: u32,
    pub(crate) body: Vec<u8>,
}

/// A reason why no further frame can be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrameFault {
    /// The stream ended between two frames.
    Ended,
    /// The stream broke these rules; says which.
    Broken(String),
}

/// Reads one frame of at most `limit` bytes after its length.
pub(crate) fn read_frame(input: &mut impl Read, limit: u32) -> Result<ReceivedFrame, FrameFault> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == IoErrorKind::UnexpectedEof => return Err(FrameFault::Ended),
        Err(error) => return Err(FrameFault::Broken(format!("the pipe failed: {error}"))),
    }
    let claimed = u32::from_le_bytes(length);
    if claimed > limit {
        return Err(FrameFault::Broken(format!(
            "a frame claims {claimed} bytes, and at most {limit} are accepted; it begins with {:?}",
            String::from_utf8_lossy(&length)
        )));
    }
    if (claimed as usize) < FRAME_HEAD {
        return Err(FrameFault::Broken(format!(
            "a frame claims {claimed} bytes, too few for its kind and call"
        )));
    }
    let mut head = [0; FRAME_HEAD];
    input.read_exact(&mut head).map_err(|_| cut_short())?;
    let [kind, call @ ..] = head;
    let wanted = claimed as usize - FRAME_HEAD;
    // Grows with the bytes that arrive and not with those that were promised, so that a lie costs little memory.
    let mut body = Vec::with_capacity(wanted.min(FIRST_BODY));
    let got = input.take(wanted as u64).read_to_end(&mut body);
    if !matches!(got, Ok(read) if read == wanted) {
        return Err(cut_short());
    }
    let kind = FrameKind::from_byte(kind)
        .ok_or_else(|| FrameFault::Broken(format!("a frame has the unknown kind {kind}")))?;
    Ok(ReceivedFrame {
        kind,
        call: u32::from_le_bytes(call),
        body,
    })
}

fn cut_short() -> FrameFault {
    FrameFault::Broken("a frame ended before the length it claims".to_owned())
}

/// Returns the bytes of a frame without a body.
pub(crate) fn encode_signal(kind: FrameKind, call: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FRAME_HEAD + 4);
    begin_frame(&mut bytes, kind, call);
    finish_frame(&mut bytes);
    bytes
}

/// Returns the bytes of a frame whose body is `header` as JSON, with its length in front, and `blob`.
pub(crate) fn encode_frame(kind: FrameKind, call: u32, header: &impl Serialize, blob: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256 + blob.len());
    begin_frame(&mut bytes, kind, call);
    let start = bytes.len();
    bytes.extend([0; 4]);
    serde_json::to_writer(&mut bytes, header).expect("the headers of this crate are JSON");
    let length = (bytes.len() - start - 4) as u32;
    if let Some(place) = bytes.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    bytes.extend_from_slice(blob);
    finish_frame(&mut bytes);
    bytes
}

fn begin_frame(bytes: &mut Vec<u8>, kind: FrameKind, call: u32) {
    bytes.extend([0; 4]);
    bytes.push(kind as u8);
    bytes.extend(call.to_le_bytes());
}

fn finish_frame(bytes: &mut [u8]) {
    let length = (bytes.len() - 4) as u32;
    if let Some(place) = bytes.get_mut(..4) {
        place.copy_from_slice(&length.to_le_bytes());
    }
}

/// Reads the header and the blob of a body.
pub(crate) fn split_body<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<(T, BlobReader<'a>), String> {
    let (length, rest) = body
        .split_first_chunk::<4>()
        .ok_or_else(|| "a body is too short for a header".to_owned())?;
    let (header, blob) = rest
        .split_at_checked(u32::from_le_bytes(*length) as usize)
        .ok_or_else(|| "a header is longer than its frame".to_owned())?;
    let header = serde_json::from_slice(header).map_err(|error| format!("a header is not valid: {error}"))?;
    Ok((header, BlobReader { rest: blob }))
}

/// Takes numbers from the binary part of a body, in order.
#[derive(Debug, Default)]
pub(crate) struct BlobReader<'a> {
    rest: &'a [u8],
}

impl BlobReader<'_> {
    /// Returns the next `count` values.
    pub(crate) fn take_values(&mut self, count: usize) -> Result<Vec<f32>, String> {
        let bytes = count
            .checked_mul(4)
            .and_then(|bytes| self.rest.split_at_checked(bytes));
        let (taken, rest) = bytes.ok_or_else(|| {
            format!(
                "a vector claims {count} values, and only {} bytes are left",
                self.rest.len()
            )
        })?;
        self.rest = rest;
        let chunks = taken.as_chunks::<4>().0.iter();
        Ok(chunks.map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// Checks that nothing is left over.
    pub(crate) fn check_end(&self) -> Result<(), String> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(format!(
            "a frame has {} bytes that no row claims",
            self.rest.len()
        ))
    }
}

/// Appends values to the binary part of a body.
pub(crate) fn put_values(blob: &mut Vec<u8>, values: &[f32]) {
    let start = blob.len();
    blob.resize(start + values.len() * 4, 0);
    let places = blob.get_mut(start..).unwrap_or_default().as_chunks_mut::<4>().0;
    for (place, value) in places.iter_mut().zip(values) {
        *place = value.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_reads_back_as_it_was_written() {
        let mut blob = Vec::new();
        put_values(&mut blob, &[1.5, -0.0]);
        let bytes = encode_frame(FrameKind::Piece, 7, &("head", 3), &blob);
        let frame = read_frame(&mut bytes.as_slice(), 1000).unwrap();
        assert_eq!((frame.kind, frame.call), (FrameKind::Piece, 7));
        let (header, mut rest) = split_body::<(String, u32)>(&frame.body).unwrap();
        assert_eq!(header, ("head".to_owned(), 3));
        assert_eq!(
            rest.take_values(2).unwrap().map_bits(),
            [1.5_f32, -0.0].map(f32::to_bits)
        );
        rest.check_end().unwrap();
        assert!(rest.take_values(1).is_err(), "nothing is left");
    }

    trait Bits {
        fn map_bits(self) -> Vec<u32>;
    }
    impl Bits for Vec<f32> {
        fn map_bits(self) -> Vec<u32> {
            self.into_iter().map(f32::to_bits).collect()
        }
    }

    #[test]
    fn a_lie_about_a_length_is_named_and_reserves_nothing() {
        let broken = |bytes: &[u8]| match read_frame(&mut &*bytes, 100) {
            Err(FrameFault::Broken(words)) => words,
            other => panic!("{other:?}"),
        };
        assert!(
            broken(b"Hello, world").contains("Hell"),
            "the first bytes are shown"
        );
        assert!(broken(&[4, 0, 0, 0, 1, 0, 0, 0]).contains("too few"));
        assert!(broken(&[50, 0, 0, 0, 8, 1, 0, 0, 0, 9]).contains("before the length"));
        assert!(broken(&[5, 0, 0, 0, 99, 1, 0, 0, 0]).contains("kind 99"));
        assert_eq!(
            read_frame(&mut [].as_slice(), 100).unwrap_err(),
            FrameFault::Ended
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(frame) = read_frame(&mut bytes.as_slice(), 100) {
                let _ = split_body::<serde_json::Value>(&frame.body);
            }
        }
    }
}
