//! One real `loci add --jsonl` process, fed line by line, whose receipts are written down as they come.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// How many values the vectors have.
pub(crate) const DIMENSION: usize = 16;

/// A drawer of the campaign; all of it follows from its id.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) word: String,
    pub(crate) vector: Vec<f32>,
}

/// The sample with this id.
pub(crate) fn sample(id: &str) -> Sample {
    let mut state = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let vector = (0..DIMENSION)
        .map(|_| (next() >> 40) as f32 / 16_777_216.0 - 0.5)
        .collect();
    // Digits only, so that no stemmer changes it and no other text holds it.
    let word = format!("{:020}", next());
    Sample {
        id: id.to_owned(),
        text: format!("drawer {id} says {word} and nothing else"),
        word,
        vector,
    }
}

/// A running writer.
pub(crate) struct Writer {
    child: Child,
    feeding: JoinHandle<()>,
    receipts: JoinHandle<Vec<Vec<String>>>,
    /// The batches it was given, in order.
    pub(crate) batches: Vec<Vec<String>>,
}

/// What is left of a writer that has ended.
pub(crate) struct Ended {
    pub(crate) batches: Vec<Vec<String>>,
    /// The ids of each receipt that was printed.
    pub(crate) acknowledged: Vec<Vec<String>>,
    pub(crate) succeeded: bool,
}

impl Writer {
    /// Starts a process that adds `batches` batches of `size` drawers; `crash` names a point where it ends itself.
    pub(crate) fn start(palace: &Path, name: &str, batches: usize, size: usize, crash: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
        command.arg("--palace").arg(palace);
        if let Some(point) = crash {
            command.env("LOCI_CRASH_AT", point);
        }
        Self::start_with(command, name, batches, size)
    }

    /// Starts the process of `command`, which names the palace, and feeds it as above.
    pub(crate) fn start_with(mut command: Command, name: &str, batches: usize, size: usize) -> Self {
        let size_text = size.to_string();
        command
            .args(["add", "--json", "--jsonl", "-", "--batch", &size_text])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let batches: Vec<Vec<String>> = (0..batches)
            .map(|batch| (0..size).map(|n| format!("{name}-{batch}-{n}")).collect())
            .collect();
        let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let ids: Vec<String> = batches.iter().flatten().cloned().collect();
        let feeding = std::thread::spawn(move || {
            for id in ids {
                let Sample { id, text, vector, .. } = sample(&id);
                let line = json!({"id": id, "document": text, "embedding": vector, "wing": "kill"});
                if writeln!(input, "{line}").is_err() {
                    return;
                }
            }
        });
        let receipts = std::thread::spawn(move || {
            let whole = BufReader::new(output).lines().map_while(Result::ok);
            whole
                .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
                .map(|receipt| ids_of(&receipt))
                .collect()
        });
        Self {
            child,
            feeding,
            receipts,
            batches,
        }
    }

    /// Returns the number of the process.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Ends the process at once, as kill −9 does.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Waits until the process has ended and everything it printed is read.
    pub(crate) fn end(mut self) -> Ended {
        let acknowledged = self.receipts.join().unwrap();
        let succeeded = self.child.wait().unwrap().success();
        self.feeding.join().unwrap();
        Ended {
            batches: self.batches,
            acknowledged,
            succeeded,
        }
    }
}

fn ids_of(receipt: &Value) -> Vec<String> {
    let list = |key: &str| receipt[key].as_array().cloned().unwrap_or_default();
    let ids = list("added").into_iter().chain(list("kept"));
    ids.map(|id| id.as_str().unwrap_or_default().to_owned()).collect()
}
