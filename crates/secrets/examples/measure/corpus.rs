//! Real texts from folders: the messages of `.jsonl` files, and every other text file as one text.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A text and where it comes from.
pub(crate) struct CorpusText {
    pub(crate) folder: String,
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Files beyond this size are left out.
const LARGEST_FILE: u64 = 32 << 20;

/// Reads every text below the folders, in the order of their paths.
pub(crate) fn read_texts(folders: &[PathBuf]) -> Vec<CorpusText> {
    let mut texts = Vec::new();
    for folder in folders {
        let mut files = Vec::new();
        list_files(folder, &mut files);
        files.sort();
        for file in files {
            read_file(folder, &file, &mut texts);
        }
    }
    texts
}

fn list_files(folder: &Path, files: &mut Vec<PathBuf>) {
    if folder.is_file() {
        files.push(folder.to_path_buf());
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let hidden = matches!(
            path.file_name().and_then(|name| name.to_str()),
            Some(".git" | "target")
        );
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !hidden => list_files(&path, files),
            Ok(kind) if kind.is_file() => files.push(path),
            _ => {}
        }
    }
}

fn read_file(folder: &Path, file: &Path, texts: &mut Vec<CorpusText>) {
    let small = fs::metadata(file).is_ok_and(|stat| stat.len() <= LARGEST_FILE);
    let Some(text) = small.then(|| fs::read_to_string(file).ok()).flatten() else {
        return;
    };
    let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
    let lines = file.extension().is_some_and(|ending| ending == "jsonl");
    let mut add = |name: String, text: String| {
        texts.push(CorpusText {
            folder: folder.display().to_string(),
            name,
            text,
        });
    };
    if !lines {
        return add(name, text);
    }
    for (number, line) in text.lines().enumerate() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        for (part, message) in messages(&value).into_iter().enumerate() {
            add(format!("{name}:{}.{part}", number + 1), message);
        }
    }
}

/// Returns the texts of a line: one for each of its `messages` or `turns`, or one of all its strings.
fn messages(value: &Value) -> Vec<String> {
    let items = ["messages", "turns"]
        .iter()
        .find_map(|name| value.get(name)?.as_array());
    let values: Vec<&Value> = items.map_or_else(|| vec![value], |items| items.iter().collect());
    values
        .into_iter()
        .map(|value| {
            let mut strings = Vec::new();
            collect_strings(value, &mut strings);
            strings.join("\n")
        })
        .collect()
}

fn collect_strings(value: &Value, strings: &mut Vec<String>) {
    match value {
        Value::String(text) => strings.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, strings)),
        Value::Object(fields) => fields.values().for_each(|field| collect_strings(field, strings)),
        _ => {}
    }
}

/// Returns a range of a text with what stands around it, on one line.
pub(crate) fn excerpt(text: &str, range: Range<usize>) -> String {
    let before: String = text[..range.start].chars().rev().take(40).collect();
    let before: String = before.chars().rev().collect();
    let after: String = text[range.end..].chars().take(12).collect();
    let secret: String = text[range.clone()].chars().take(90).collect();
    format!("{before}⟪{secret}⟫{after}").escape_debug().to_string()
}
