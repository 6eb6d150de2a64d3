//! A session by hand: frames written and read without the host.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use crate::hub::PLUGIN;

/// A plug-in and what was said so far, for people.
pub(crate) struct RawSession {
    pub(crate) process: Child,
    pub(crate) spoken: String,
}

const NAMES: [&str; 12] = [
    "", "hello", "call", "part", "credit", "cancel", "bye", "piece", "answer", "failure", "next", "progress",
];

impl RawSession {
    pub(crate) fn start() -> Self {
        let process = Command::new(PLUGIN)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            process,
            spoken: String::new(),
        }
    }

    /// Writes one frame; a header of `null` is a frame without a body.
    pub(crate) fn say(&mut self, kind: u8, call: u32, header: &Json, values: &[f32]) {
        let blob: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut body = vec![kind];
        body.extend(call.to_le_bytes());
        if !header.is_null() {
            let text = header.to_string();
            body.extend((text.len() as u32).to_le_bytes());
            body.extend(text.as_bytes());
            body.extend(&blob);
        }
        let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
        bytes.extend(body);
        self.process.stdin.as_mut().unwrap().write_all(&bytes).unwrap();
        self.note('>', kind, call, header, &blob);
    }

    /// Reads one frame and returns its kind and header.
    pub(crate) fn hear(&mut self) -> (u8, Json) {
        let output = self.process.stdout.as_mut().unwrap();
        let mut length = [0; 4];
        output.read_exact(&mut length).unwrap();
        let mut body = vec![0; u32::from_le_bytes(length) as usize];
        output.read_exact(&mut body).unwrap();
        let call = u32::from_le_bytes(body[1..5].try_into().unwrap());
        let size = u32::from_le_bytes(body[5..9].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&body[9..9 + size]).unwrap();
        self.note('<', body[0], call, &header, &body[9 + size..]);
        (body[0], header)
    }

    fn note(&mut self, way: char, kind: u8, call: u32, header: &Json, blob: &[u8]) {
        let name = NAMES[kind as usize];
        self.spoken.push_str(&format!("{way} {name} {call}"));
        if !header.is_null() {
            self.spoken.push_str(&format!(" {header}"));
        }
        if !blob.is_empty() {
            let bytes: Vec<String> = blob.iter().map(|byte| format!("{byte:02x}")).collect();
            self.spoken.push_str(&format!(" + {}", bytes.join(" ")));
        }
        self.spoken.push('\n');
    }
}
