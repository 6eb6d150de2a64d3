//! Any text is read as a transcript of each agent, or refused; recognising and reading never fail otherwise.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use loci_engine::mine::formats::{
    Given, TextFormat, claude_code::CLAUDE_CODE, cline::CLINE, codex::CODEX, deepseek::DEEPSEEK,
    gemini_cli::GEMINI_CLI, gemini_web::GEMINI_WEB, kimi::KIMI, pi::PI,
};

const FORMATS: [&TextFormat; 8] = [
    &CLAUDE_CODE,
    &CODEX,
    &GEMINI_CLI,
    &PI,
    &CLINE,
    &KIMI,
    &DEEPSEEK,
    &GEMINI_WEB,
];

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let given = Given { path: Path::new("-a-b/s/subagents/agent-1.jsonl"), text: &text };
    for format in FORMATS {
        (format.recognise)(&given);
        let _ = (format.parse)(&given, &mut |conversation| {
            assert!(conversation.messages.iter().all(|message| !message.text.is_empty()));
            Ok(())
        });
    }
});
